"""Questions as scheduling asks them, each with the verdict that is right, stated before any prover was asked.

Most come in pairs: an obligation that holds, and a twin with one thing missing or off by one, which does not.
"""

from dataclasses import dataclass
from typing import Literal

from fact_text import fact, facts
from finchsched.ast.node import Node
from finchsched.prove.obligations import (
    commute,
    covers_once,
    dense_positions,
    disjoint,
    divisible,
    empty,
    equal,
    fiber,
    fits_int64,
    injective,
    one_trip,
    within_bounds,
)


@dataclass(frozen=True)
class Case:
    """quick: whether it is decided without Z3."""

    name: str
    verdict: Literal["proved", "refuted", "unknown"]
    fact: Node
    assumptions: tuple[Node, ...] = ()
    quick: bool = True


def _proved(name: str, what: Node | str, *given: str | Node, quick: bool = True) -> Case:
    return _case(name, "proved", what, given, quick)


def _refuted(name: str, what: Node | str, *given: str | Node, quick: bool = True) -> Case:
    return _case(name, "refuted", what, given, quick)


def _case(name: str, verdict: str, what: Node | str, given: tuple[str | Node, ...], quick: bool) -> Case:
    def read(each: str | Node) -> Node:
        return fact(each) if isinstance(each, str) else each

    return Case(name, verdict, read(what), tuple(map(read, given)), quick)


def _terms(*texts: str) -> list[Node]:
    return list(facts(*texts))


i, j, n, m, k, lo, hi, p, q, t = _terms("i", "j", "n", "m", "k", "lo", "hi", "p", "q", "t")
zero = fact("0")

CSR = (*dense_positions("pos", n), *facts("0 <= q < n"), *fiber("pos", "crd", q, m))
"""A compressed row q of an n by m matrix."""

IN_ROW = fact("pos[q] <= p < pos[q + 1]")

EXTENTS = [
    _proved("an empty loop", empty(n, n)),
    _proved("a loop below its beginning", empty(fact("n + 1"), n)),
    _refuted("a loop that may run", empty(zero, n), "n >= 0"),
    _proved("one trip of a chunk of one", one_trip(fact("i * 1"), fact("i * 1 + 1"))),
    _proved("one trip between bounds", one_trip(zero, n), "0 < n < 2"),
    _refuted("two trips may be", one_trip(zero, n), "0 < n <= 2"),
    _proved("equal extents by a chain", equal(n, k), "n == m", "m == k"),
    _refuted("equal extents unlinked", equal(n, k), "n == m"),
    _proved("equal extents from both sides", equal(n, m), "n <= m", "m <= n"),
    _proved("the sizes of a concatenation", equal(fact("(n + m) - n"), m)),
]

BOUNDS = [
    _proved("a gather in bounds", within_bounds([fact("crd[p]")], [m]), *CSR, IN_ROW),
    _refuted("a gather one behind the row", within_bounds([fact("crd[p]")], [m]), *CSR, "pos[q] <= p <= pos[q + 1]"),
    _proved("an interchanged access", within_bounds([j, i], [m, n]), "0 <= i < n", "0 <= j < m"),
    _refuted("an interchanged access of a wrong shape", within_bounds([i, j], [m, n]), "0 <= i < n", "0 <= j < m"),
    _proved("a tile of four", "0 <= io * 4 + ii < n", "n % 4 == 0", "0 <= io < n // 4", "0 <= ii < 4"),
    _refuted("a tile of four over a ragged end", "io * 4 + ii < n", "0 <= io < (n + 3) // 4", "0 <= ii < 4"),
    _proved("a row-major address", "0 <= i * m + j < n * m", "0 <= i < n", "0 <= j < m"),
    _refuted("a row-major address with a column too many", "i * m + j < n * m", "0 <= i < n", "0 <= j <= m", "0 <= m"),
    _proved("a window", "lo <= i + lo < hi", "0 <= i < hi - lo"),
    _refuted("a window that is shifted twice", "i + 2 * lo < hi", "0 <= i < hi - lo"),
    _proved("a stencil with a halo", "0 <= i - 1 and i + 1 < n", "1 <= i < n - 1"),
    _refuted("a stencil without a halo", "0 <= i - 1", "0 <= i < n"),
    _proved("a reversed axis", "0 <= n - 1 - i < n", "0 <= i < n"),
    _refuted("a reversed axis off by one", "n - i < n", "0 <= i < n"),
    _proved("a histogram's bin", "0 <= x % b < b", "b > 0"),
    _refuted("a histogram's bin of unknown count", "0 <= x % b < b", "b != 0"),
    _proved("a convolution", "0 <= i + r < n + k - 1", "0 <= i < n", "0 <= r < k"),
]

POSITIONS = [
    _proved("positions begin at or after 0", "0 <= pos[q]", *CSR),
    _proved("a fiber does not end before it begins", "pos[q] <= pos[q + 1]", *CSR),
    _proved("a position is below the last", "p < pos[n]", *CSR, IN_ROW),
    _refuted("a position that may be the last", "p < pos[n]", *CSR, "pos[q] <= p <= pos[q + 1]"),
    _proved("fibers in order", "pos[q] <= pos[r]", *CSR, "q <= r < n"),
    _refuted("fibers out of order", "pos[r] <= pos[q]", *CSR, "q <= r < n"),
    _proved("coordinates rise", "crd[p] < crd[p + 1]", *CSR, "pos[q] <= p", "p + 1 < pos[q + 1]"),
    _refuted("coordinates rise past the end", "crd[p] < crd[p + 1]", *CSR, IN_ROW),
    _proved(
        "rows do not overlap",
        disjoint((fact("pos[q]"), fact("pos[q + 1]")), (fact("pos[r]"), fact("pos[r + 1]"))),
        *CSR,
        "q < r < n",
    ),
    _refuted(
        "a row overlaps itself",
        disjoint((fact("pos[q]"), fact("pos[q + 1]")), (fact("pos[r]"), fact("pos[r + 1]"))),
        *CSR,
        "q <= r < n",
        quick=False,
    ),
    _proved("rising implies nondecreasing", "nondecreasing(crd, 0, n)", "rising(crd, 0, n)"),
    _refuted("nondecreasing does not imply rising", "rising(crd, 0, n)", "nondecreasing(crd, 0, n)"),
    _proved("a part of what rises", "rising(crd, lo, hi)", "rising(crd, 0, n)", "0 <= lo", "hi <= n"),
    _proved("a fiber holds at most the extent", "pos[q + 1] - pos[q] <= m", *CSR, "0 <= m", quick=False),
    _refuted("an empty fiber of a negative extent", "pos[q + 1] - pos[q] <= m", *CSR, quick=False),
]

RACES = [
    _proved("a row for each iteration", injective([i], "i", zero, n, other="i2")),
    _refuted("a row for two iterations", injective([fact("i // 2")], "i", zero, n, other="i2")),
    _proved(
        "a scatter within a fiber", injective([fact("crd[p]")], "p", *_terms("pos[q]", "pos[q + 1]"), other="p2"), *CSR
    ),
    _refuted(
        "a scatter across fibers", injective([fact("crd[p]")], "p", zero, fact("pos[n]"), other="p2"), *CSR, quick=False
    ),
    _refuted("a histogram", injective([fact("x[i]")], "i", zero, n, other="i2")),
    _proved("strided rows", injective([fact("2 * i + 1")], "i", zero, n, other="i2")),
    _proved("blocks of rows", injective([fact("i * m + j")], "i", zero, n, other="i2"), "m > 0"),
    _refuted("blocks of rows of no size", injective([fact("i * m + j")], "i", zero, n, other="i2"), "m >= 0"),
    _proved("a pair of subscripts", injective([fact("i // 4"), fact("i % 4")], "i", zero, n, other="i2")),
    _refuted("one of a pair", injective([fact("i % 4")], "i", zero, n, other="i2")),
    _proved("reads of its own row", commute([i], [i], "i", zero, n, other="i2")),
    _refuted("reads of the row before", commute([i], [fact("i - 1")], "i", zero, n, other="i2")),
    _proved(
        "reads of odd rows, writes of even", commute(_terms("2 * i"), _terms("2 * i + 1"), "i", zero, n, other="i2")
    ),
    _proved("reads far away", commute([i], [fact("i + n")], "i", zero, n, other="i2")),
    _proved("halves do not meet", disjoint((zero, fact("n // 2")), (fact("n // 2"), n))),
    _refuted("halves that meet", disjoint((zero, fact("n // 2 + 1")), (fact("n // 2"), n))),
]

SPLITS = [
    _proved("chunks of four", covers_once(i, k, fact("4"), zero, n)),
    _proved("chunks of a symbolic size", covers_once(i, k, t, zero, n), "t > 0"),
    _proved("chunks of a range of positions", covers_once(p, k, fact("64"), *_terms("pos[q]", "pos[q + 1]"))),
    _proved("a tail is shorter than a chunk", "0 <= n - (n // 4) * 4 < 4"),
    _refuted("a tail may be empty", "0 < n - (n // 4) * 4", "n >= 0"),
    _proved("a split without a tail", equal(fact("(n // 8) * 8"), n), divisible(n, fact("8"))),
    _refuted("a split by a half only", divisible(n, fact("8")), divisible(n, fact("4")), quick=False),
    _proved("a split by a factor of the factor", divisible(n, fact("4")), divisible(n, fact("8"))),
    _proved("a tile of tiles", divisible(fact("n * 6"), fact("3"))),
    _proved("the last chunk ends in time", "min((k + 1) * 16, n) <= n"),
    _proved("chunks rounded up", "n <= (n + 7) // 8 * 8"),
    _refuted("chunks rounded down", "n <= n // 8 * 8", "n >= 0"),
]

INTEGERS = [
    _proved("a collapsed index is recovered", equal(fact("(i * 8 + j) // 8"), i), "0 <= j < 8"),
    _refuted("a collapsed index with a wide inner one", equal(fact("(i * 8 + j) // 8"), i), "0 <= j <= 8"),
    _proved("a collapsed inner index is recovered", equal(fact("(i * 8 + j) % 8"), j), "0 <= j < 8"),
    _proved("a collapsed symbolic index", equal(fact("(i * m + j) // m"), i), "0 <= j < m"),
    _proved("a collapsed extent fits", fits_int64(n, m), "0 <= n < 2147483648", "0 <= m < 2147483648"),
    _refuted(
        "a collapsed extent overflows", fits_int64(n, m), "0 <= n < 9223372036854775808", "0 <= m < 3", quick=False
    ),
    _proved("a diagonal mask above", "not i == j", "i < k", "k <= j"),
    _proved("a mask that is decided inside its region", "i <= j", "i < lo", "lo <= j"),
    _refuted("a mask at its edge", "i < j", "i <= lo", "lo <= j"),
    _proved("the smallest stop comes first", "min(a, b) <= b and min(a, b) <= a"),
    _proved("clamping", "lo <= max(lo, min(i, hi)) <= hi", "lo <= hi"),
    _refuted("clamping between crossed bounds", "max(lo, min(i, hi)) <= hi"),
    _proved("division rounds down", "i // 4 * 4 <= i"),
    _refuted("division does not round towards 0", "-i // 2 == -(i // 2)"),
    _proved("a remainder by a negative number", "-3 < i % -3 and i % -3 <= 0"),
    _refuted("a division by what may be 0", "i // n * n <= i", "n >= 0"),
    _proved("a guarded division", "implies(n != 0, i // n <= i)", "i >= 0", quick=False),
    _refuted("a guard that comes too late", "i // n <= i or n == 0", "i >= 0"),
    _proved("contradicting assumptions", "i < 0", "i < n", "n < i"),
    _refuted("cubes", "i * i * i != 8"),
    _proved("squares", "i * i >= 0"),
    Case(
        "Fermat's theorem for cubes",
        "unknown",
        fact("i * i * i + j * j * j != k * k * k"),
        facts("i > 0", "j > 0", "k > 0"),
        False,
    ),
]

CORPUS = [*EXTENTS, *BOUNDS, *POSITIONS, *RACES, *SPLITS, *INTEGERS]
