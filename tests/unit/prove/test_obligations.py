"""Builders of facts, against what they say: loops that are run, in a box of small numbers."""

from itertools import product

import pytest

from fact_text import fact, facts
from finchsched.ast.proof import Number, Symbol
from finchsched.prove.evaluate import Values, holds_under
from finchsched.prove.obligations import (
    commute,
    covers_once,
    dense_positions,
    disjoint,
    divisible,
    empty,
    fiber,
    fits_int64,
    injective,
    one_trip,
    substitute,
    within_bounds,
)

BOX = range(-2, 6)
ZERO = Number(0)
i, n, lo, hi, a, b = (Symbol(name) for name in ("i", "n", "lo", "hi", "a", "b"))


def says(what, **symbols):
    return holds_under(what, Values(symbols))


@pytest.mark.parametrize(("low", "high"), list(product(BOX, BOX)))
def test_ranges(low, high):
    trips = len(range(low, high))
    assert says(empty(lo, hi), lo=low, hi=high) == (trips == 0)
    assert says(one_trip(lo, hi), lo=low, hi=high) == (trips == 1)


def test_disjoint():
    for values in product(range(4), repeat=4):
        first, second = range(*values[:2]), range(*values[2:])
        names = dict(zip(("lo", "hi", "a", "b"), values, strict=True))
        assert says(disjoint((lo, hi), (a, b)), **names) == (not set(first) & set(second))


@pytest.mark.parametrize("divisor", [-3, -1, 1, 2, 3])
def test_divisible(divisor):
    for extent in BOX:
        assert says(divisible(n, a), n=extent, a=divisor) == (extent % divisor == 0)
    assert not says(divisible(n, a), n=6, a=0)


def test_bounds():
    inside = within_bounds([i, a], [n, b])
    for values in product(range(-1, 3), repeat=4):
        row, column, rows, columns = values
        assert says(inside, i=row, a=column, n=rows, b=columns) == (0 <= row < rows and 0 <= column < columns)
    with pytest.raises(ValueError, match="found 1 subscripts of an array with 2 axes"):
        within_bounds([i], [n, b])


def test_int64():
    assert says(fits_int64(a, b), a=1 << 31, b=(1 << 32) - 1)
    assert not says(fits_int64(a, b), a=1 << 31, b=1 << 32)
    assert says(fits_int64(a), a=-(1 << 63))
    assert not says(fits_int64(a), a=-(1 << 63) - 1)


@pytest.mark.parametrize("text", ["i", "i // 2", "i * i", "i % 3", "(i - 2) * (i - 2)", "-i"])
def test_injective(text):
    subscript = fact(text)
    what = injective([subscript], "i", ZERO, n, other="other")
    for extent in range(6):
        found = [eval(text, {"i": each}) for each in range(extent)]
        pairs = [says(what, i=x, other=y, n=extent) for x in BOX for y in BOX]
        assert all(pairs) == (len(set(found)) == len(found))


@pytest.mark.parametrize(("writes", "reads"), [("i", "i"), ("i", "i - 1"), ("2 * i", "2 * i + 1"), ("i", "4 - i")])
def test_commute(writes, reads):
    what = commute([fact(writes)], [fact(reads)], "i", ZERO, n, other="other")
    for extent in range(5):
        clash = any(
            eval(writes, {"i": x}) == eval(reads, {"i": y}) for x in range(extent) for y in range(extent) if x != y
        )
        assert all(says(what, i=x, other=y, n=extent) for x in BOX for y in BOX) == (not clash)


def test_chunks_cover_once():
    what = covers_once(i, Symbol("chunk"), Symbol("size"), lo, hi)
    for low, high, size in product(range(-1, 3), range(-1, 6), (1, 2, 3)):
        for index, chunk in product(range(-2, 8), range(-3, 8)):
            assert says(what, i=index, chunk=chunk, size=size, lo=low, hi=high)


def test_promises_hold_of_a_level():
    """The arrays of the rows {1, 3}, {}, {0, 1, 2} of a matrix with 4 columns."""
    pos, crd = [0, 2, 2, 5], [1, 3, 0, 1, 2]
    elements = {("pos", at): value for at, value in enumerate(pos)} | {("crd", at): v for at, v in enumerate(crd)}
    for row in range(3):
        values = Values({"q": row, "n": 3, "m": 4}, dict(elements))
        for promise in (*dense_positions("pos", n), *fiber("pos", "crd", Symbol("q"), Symbol("m"))):
            assert holds_under(promise, values)
    worse = Values({"q": 2, "n": 3, "m": 2}, dict(elements))
    assert not all(holds_under(promise, worse) for promise in fiber("pos", "crd", Symbol("q"), Symbol("m")))


def test_substitute():
    assert substitute(fact("i // 4 + crd[i]"), {"i": fact("p + 1")}) == fact("(p + 1) // 4 + crd[p + 1]")
    (unchanged,) = facts("n < m")
    assert substitute(unchanged, {"i": Symbol("p")}) is unchanged
