"""What is always true of the atoms of a query, and what its arrays' levels promise, as clauses about those atoms.

A level promises that `pos` is nondecreasing everywhere, that `crd` rises strictly inside a fiber and stays within the
extent.  A promise speaks of all elements; here it is applied to the elements that occur, two at a time, which is all
that everyday questions need: `pos[q] <= p < pos[q + 1]` gives `p < pos[n]`, and `crd[p] != crd[q]` inside a fiber.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

from finchsched.ast.proof import Fact, IntTerm, Nondecreasing, StrictlyRising, Within
from finchsched.prove.affine import Atom, Atoms, Poly, add, constant, scale
from finchsched.prove.formulas import AnyOf, AtLeastZero, Formula, at_most, less

__all__ = ["instances", "laws_of_atoms", "mention"]

_MAX_CLAUSES = 160


def laws_of_atoms(atoms: Atoms, promises: Sequence[Fact] = ()) -> list[Formula]:
    """What holds of quotients, extremes and equally indexed elements, whatever is assumed.

    promises: what orders arrays, whose equally indexed elements need no law of their own.
    """
    ordered = [promise.array for promise in promises if isinstance(promise, Nondecreasing | StrictlyRising)]
    found: list[Formula] = []
    for number, atom in enumerate(list(atoms.table)):
        value: Poly = {(number,): 1}
        args = [dict(arg) for arg in atom.args]
        match atom.kind:
            case "quotient":
                found += _quotient(value, *args)
            case "smallest":
                found += [at_most(value, arg) for arg in args]
                found.append(AnyOf(tuple(at_most(arg, value) for arg in args)))
            case "largest":
                found += [at_most(arg, value) for arg in args]
                found.append(AnyOf(tuple(at_most(value, arg) for arg in args)))
    for (_, first), (_, second) in _pairs(atoms, None):
        if first.name not in ordered:
            found += _congruent(atoms, first, second)
    return found[:_MAX_CLAUSES]


def mention(promises: Sequence[Fact], atoms: Atoms) -> None:
    """Make the elements that bound a promise, such as `pos[q]`, elements of the query.  Raises TooLarge."""
    for promise in promises:
        for term in _bounds(promise):
            atoms.poly(term)


def _bounds(promise: Fact) -> tuple[IntTerm, ...]:
    match promise:
        case Nondecreasing(_, lo, hi) | StrictlyRising(_, lo, hi):
            return (lo, hi)
        case Within(_, lo, hi, low, high):
            return (lo, hi, low, high)
        case _:
            return ()


def instances(promises: Sequence[Fact], atoms: Atoms) -> list[Formula]:
    """The promises for the elements that occur in the query.  Raises TooLarge."""
    found: list[Formula] = []
    for promise in promises:
        match promise:
            case Nondecreasing(array, lo, hi):
                found += _ordered(atoms, array, atoms.poly(lo), atoms.poly(hi), strictly=False)
            case StrictlyRising(array, lo, hi):
                found += _ordered(atoms, array, atoms.poly(lo), atoms.poly(hi), strictly=True)
            case Within(array, lo, hi, low, high):
                bounds = [atoms.poly(term) for term in (lo, hi, low, high)]
                for number, atom in _elements(atoms, array):
                    found += _bounded(dict(atom.args[0]), {(number,): 1}, *bounds)
    return found[:_MAX_CLAUSES]


def _quotient(q: Poly, a: Poly, b: Poly) -> Iterator[Formula]:
    """`0 <= a - b*q < b` for a positive divisor, and mirrored for a negative one."""
    product = _times(q, b)
    rest = add(a, scale(product, -1))
    positive = [AtLeastZero.of(rest), less(rest, b)]
    negative = [at_most(rest, {}), less(b, rest)]
    value = constant(b)
    if value is not None:
        yield from positive if value > 0 else negative if value < 0 else []
        return
    for law in positive:
        yield AnyOf((at_most(b, {}), law))
    for law in negative:
        yield AnyOf((AtLeastZero.of(b), law))


def _times(q: Poly, b: Poly) -> Poly:
    (monomial,) = q
    return {tuple(sorted(monomial + m)): c for m, c in b.items()}


def _elements(atoms: Atoms, array: str | None) -> list[tuple[int, Atom]]:
    return [
        (number, atom)
        for number, atom in enumerate(atoms.table)
        if atom.kind == "element" and (array is None or atom.name == array)
    ]


def _pairs(atoms: Atoms, array: str | None) -> Iterator[tuple[tuple[int, Atom], tuple[int, Atom]]]:
    for first, second in combinations(_elements(atoms, array), 2):
        if first[1].name == second[1].name:
            yield first, second


def _congruent(atoms: Atoms, first: Atom, second: Atom) -> Iterator[Formula]:
    """Equal indices have equal elements."""
    i, j = dict(first.args[0]), dict(second.args[0])
    if constant(add(i, scale(j, -1))) is not None:
        return  # the indices differ
    a: Poly = {(atoms.number(first),): 1}
    b: Poly = {(atoms.number(second),): 1}
    yield AnyOf((less(i, j), less(j, i), AtLeastZero.of(add(a, scale(b, -1)))))
    yield AnyOf((less(i, j), less(j, i), AtLeastZero.of(add(b, scale(a, -1)))))


def _ordered(atoms: Atoms, array: str, lo: Poly, hi: Poly, *, strictly: bool) -> Iterator[Formula]:
    """For two elements in range, in either order of their indices.

    Of a strictly rising array the elements differ by at least as much as the indices.
    """
    for (m, first), (n, second) in _pairs(atoms, array):
        for (k, i), (l, j) in (((m, first), (n, second)), ((n, second), (m, first))):
            low, high = dict(i.args[0]), dict(j.args[0])
            gap = add(high, scale(low, -1))
            distance = constant(gap)
            if distance is not None and distance < 0:
                continue
            rise = add({(l,): 1}, {(k,): -1}, scale(gap, -1) if strictly else {})
            yield AnyOf((less(low, lo), at_most(hi, high), less(high, low), AtLeastZero.of(rise)))


def _bounded(index: Poly, value: Poly, lo: Poly, hi: Poly, low: Poly, high: Poly) -> Iterator[Formula]:
    outside = (less(index, lo), at_most(hi, index))
    yield AnyOf((*outside, at_most(low, value)))
    yield AnyOf((*outside, less(value, high)))
