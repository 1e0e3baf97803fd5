"""Facts that compilers ask for, built from terms: one function for each kind of question.

    in_range, empty, one_trip, equal, divisible     of extents and sizes
    within_bounds, fits_int64, fits_uint64          of subscripts and addresses
    disjoint, injective, commute                    of memory that iterations touch
    covers_once                                     of the chunks of a split loop
    dense_positions, fiber                          what levels promise, as assumptions

Ranges are half-open.  A subscript is a term over the index of its loop; a second iteration is the same term with
another symbol in the index's place (`substitute`).

The obligations are those of A. Ikarashi et al., "Exocompilation for productive programming of hardware accelerators"
(2022), with what levels promise added, so that indirect subscripts are decided too.
"""

from collections.abc import Mapping, Sequence

from finchsched.ast.node import Node, children, distinct, rebuild
from finchsched.ast.proof import (
    And,
    Compare,
    ElementOf,
    Fact,
    Implies,
    IntTerm,
    Nondecreasing,
    Number,
    Or,
    Product,
    Remainder,
    Smallest,
    StrictlyRising,
    Sum,
    Symbol,
    Within,
)

__all__ = [
    "commute",
    "covers_once",
    "dense_positions",
    "difference",
    "disjoint",
    "divisible",
    "empty",
    "equal",
    "fiber",
    "fits_int64",
    "fits_uint64",
    "in_range",
    "injective",
    "one_trip",
    "substitute",
    "within_bounds",
]

Range = tuple[IntTerm, IntTerm]
"""From the first to before the second."""

_ZERO, _ONE = Number(0), Number(1)
_INT64 = 1 << 63


def difference(a: IntTerm, b: IntTerm) -> IntTerm:
    """`a - b`."""
    return Sum((a, Product((Number(-1), b))))


def in_range(index: IntTerm, lo: IntTerm, hi: IntTerm) -> Fact:
    """`lo <= index < hi`."""
    return And((Compare("le", lo, index), Compare("lt", index, hi)))


def empty(lo: IntTerm, hi: IntTerm) -> Fact:
    """A loop over `lo .. hi` does nothing."""
    return Compare("le", hi, lo)


def one_trip(lo: IntTerm, hi: IntTerm) -> Fact:
    """A loop over `lo .. hi` runs once."""
    return Compare("eq", hi, Sum((lo, _ONE)))


def equal(a: IntTerm, b: IntTerm) -> Fact:
    """Two extents, bounds or subscripts are the same."""
    return Compare("eq", a, b)


def divisible(extent: IntTerm, factor: IntTerm) -> Fact:
    """A split by `factor` leaves no tail.  Not proved unless the factor is known to differ from 0."""
    return Compare("eq", Remainder(extent, factor), _ZERO)


def within_bounds(subscripts: Sequence[IntTerm], shape: Sequence[IntTerm]) -> Fact:
    """Every subscript lies in its axis.  Raises ValueError if there is not one for each axis."""
    if len(subscripts) != len(shape):
        raise ValueError(f"found {len(subscripts)} subscripts of an array with {len(shape)} axes; expected as many")
    return And(tuple(in_range(subscript, _ZERO, extent) for subscript, extent in zip(subscripts, shape, strict=True)))


def fits_int64(*factors: IntTerm) -> Fact:
    """The product, and so every address below it, does not wrap around as an int64."""
    return in_range(_product(factors), Number(-_INT64), Number(_INT64))


def fits_uint64(*factors: IntTerm) -> Fact:
    """The product does not wrap around as a uint64."""
    return in_range(_product(factors), _ZERO, Number(2 * _INT64))


def _product(factors: tuple[IntTerm, ...]) -> IntTerm:
    return factors[0] if len(factors) == 1 else Product(factors)


def disjoint(first: Range, second: Range) -> Fact:
    """Two ranges have no element in common: one is empty, or one ends before the other begins."""
    (a, b), (c, d) = first, second
    return Or((Compare("le", b, c), Compare("le", d, a), empty(a, b), empty(c, d)))


def injective(subscripts: Sequence[IntTerm], index: str, lo: IntTerm, hi: IntTerm, *, other: str) -> Fact:
    """No two iterations of a loop touch the same element: of any two indices, some subscript differs.

    other: a name for the second iteration's index, which occurs nowhere else.  Iterations are taken in order, which
    loses nothing, since a difference is symmetric.
    """
    first, second = Symbol(index), Symbol(other)
    moved = [substitute(subscript, {index: second}) for subscript in subscripts]
    apart = Or(tuple(Compare("ne", a, b) for a, b in zip(subscripts, moved, strict=True)))
    return Implies(And((Compare("le", lo, first), Compare("lt", first, second), Compare("lt", second, hi))), apart)


def commute(
    writes: Sequence[IntTerm], others: Sequence[IntTerm], index: str, lo: IntTerm, hi: IntTerm, *, other: str
) -> Fact:
    """What an iteration writes at `writes`, no other touches at `others`; both are subscripts of one array."""
    first, second = Symbol(index), Symbol(other)
    moved = [substitute(subscript, {index: second}) for subscript in others]
    apart = Or(tuple(Compare("ne", a, b) for a, b in zip(writes, moved, strict=True)))
    different = And((in_range(first, lo, hi), in_range(second, lo, hi), Compare("ne", first, second)))
    return Implies(different, apart)


def covers_once(index: IntTerm, chunk: IntTerm, size: IntTerm, lo: IntTerm, hi: IntTerm) -> Fact:
    """Chunks `lo + chunk*size .. min(lo + (chunk + 1)*size, hi)` cover `lo .. hi` exactly once.

    For an index and a chunk at hand: the index lies in the chunk exactly if the chunk is the one that its distance from
    `lo` gives, so it is in one chunk and in no other.  The size must be known to be positive.
    """
    start = Sum((lo, Product((chunk, size))))
    stop = Smallest((Sum((start, size)), hi))
    inside = in_range(index, start, stop)
    # chunk*size <= index - lo < (chunk + 1)*size is what `chunk == (index - lo) // size` means, free of the division.
    distance = difference(index, lo)
    own = And(
        (
            Compare("le", Product((chunk, size)), distance),
            Compare("lt", distance, Product((Sum((chunk, _ONE)), size))),
        )
    )
    here = in_range(index, lo, hi)
    return Implies(here, And((Implies(own, inside), Implies(inside, own))))


def dense_positions(array: str, fibers: IntTerm) -> tuple[Fact, ...]:
    """What a compressed level promises of `pos`: it begins at 0 and never falls, over all `fibers + 1` elements."""
    return (
        Compare("le", _ZERO, fibers),
        Compare("eq", ElementOf(array, _ZERO), _ZERO),
        Nondecreasing(array, _ZERO, Sum((fibers, _ONE))),
    )


def fiber(pos: str, crd: str, parent: IntTerm, extent: IntTerm) -> tuple[Fact, ...]:
    """What a compressed level promises of the fiber under a parent: `crd` rises strictly and stays in the extent."""
    lo, hi = ElementOf(pos, parent), ElementOf(pos, Sum((parent, _ONE)))
    return (StrictlyRising(crd, lo, hi), Within(crd, lo, hi, _ZERO, extent))


def substitute(term: IntTerm, values: Mapping[str, IntTerm]) -> IntTerm:
    """A term with other terms in the place of some symbols."""
    known: dict[int, Node] = {}
    for node in distinct(term):
        if isinstance(node, Symbol):
            known[id(node)] = values.get(node.name, node)
        else:
            known[id(node)] = rebuild(node, [known[id(child)] for child in children(node)])
    return known[id(term)]  # type: ignore[return-value]  # of a term comes a term
