"""Facts in negation normal form over linear literals.

Built from the leaves up, each fact together with its negation, so depth costs no recursion.  A promise about a whole
array stays as it is where it is assumed; denied, it becomes an example that breaks it, at fresh indices.
"""

from dataclasses import dataclass
from typing import TypeAlias

from finchsched.ast.node import distinct
from finchsched.ast.proof import (
    And,
    Compare,
    Fact,
    Implies,
    IntTerm,
    Nondecreasing,
    Not,
    Or,
    Quotient,
    Remainder,
    StrictlyRising,
    Within,
)
from finchsched.prove.affine import Atoms, Key, Poly, add, constant, key_of, scale

__all__ = [
    "AllOf",
    "AnyOf",
    "AtLeastZero",
    "Formula",
    "IsZero",
    "Promised",
    "at_most",
    "conjuncts",
    "divisors",
    "equal",
    "formula_of",
    "less",
    "negation_of",
]


@dataclass(frozen=True, slots=True)
class AtLeastZero:
    """A polynomial is not negative."""

    poly: Key

    @classmethod
    def of(cls, poly: Poly) -> "AtLeastZero":
        """The literal of a polynomial."""
        return cls(key_of(poly))


@dataclass(frozen=True, slots=True)
class IsZero:
    """A polynomial is 0."""

    poly: Key


@dataclass(frozen=True, slots=True)
class Promised:
    """An assumed promise about a whole array."""

    fact: Fact


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part holds."""

    parts: tuple["Formula", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Some part holds."""

    parts: tuple["Formula", ...]


Formula: TypeAlias = AtLeastZero | IsZero | Promised | AllOf | AnyOf

Both: TypeAlias = tuple[Formula, Formula]
"""A fact and its negation."""


def at_most(a: Poly, b: Poly) -> AtLeastZero:
    """`a <= b`."""
    return AtLeastZero.of(add(b, scale(a, -1)))


def less(a: Poly, b: Poly) -> AtLeastZero:
    """`a < b`."""
    return AtLeastZero.of(add(b, scale(a, -1), {(): -1}))


def formula_of(fact: Fact, atoms: Atoms) -> Formula:
    """The normal form of a fact.  Raises TooLarge."""
    return _both(fact, atoms)[0]


def negation_of(fact: Fact, atoms: Atoms) -> Formula:
    """The normal form of what denies a fact, where its terms are defined.  Raises TooLarge."""
    return _both(fact, atoms)[1]


def conjuncts(fact: Fact) -> list[Fact]:
    """The facts whose conjunction a fact is."""
    found: list[Fact] = []
    stack = [fact]
    while stack:
        here = stack.pop()
        if isinstance(here, And):
            stack.extend(reversed(here.facts))
        else:
            found.append(here)
    return found


def divisors(fact: Fact) -> list[IntTerm]:
    """Every divisor in a fact: it is defined if none of them is 0."""
    found: dict[IntTerm, None] = {}
    for node in distinct(fact):
        if isinstance(node, Quotient | Remainder):
            found[node.divisor] = None
    return list(found)


def _both(fact: Fact, atoms: Atoms) -> Both:
    known: dict[int, Both] = {}
    for node in distinct(fact):
        if isinstance(node, Compare | And | Or | Not | Implies | Nondecreasing | StrictlyRising | Within):
            known[id(node)] = _one(node, known, atoms)
    return known[id(fact)]


def _one(fact: Fact, known: dict[int, Both], atoms: Atoms) -> Both:
    match fact:
        case Compare(name, left, right):
            return _compare(name, atoms.poly(left), atoms.poly(right))
        case And(facts):
            return AllOf(tuple(known[id(f)][0] for f in facts)), AnyOf(tuple(known[id(f)][1] for f in facts))
        case Or(facts):
            return AnyOf(tuple(known[id(f)][0] for f in facts)), AllOf(tuple(known[id(f)][1] for f in facts))
        case Not(inner):
            yes, no = known[id(inner)]
            return no, yes
        case Implies(premise, conclusion):
            (before, not_before), (after, not_after) = known[id(premise)], known[id(conclusion)]
            return AnyOf((not_before, after)), AllOf((before, not_after))
        case Nondecreasing(array, lo, hi) | StrictlyRising(array, lo, hi):
            return Promised(fact), _out_of_order(fact, atoms, array, atoms.poly(lo), atoms.poly(hi))
        case Within(array, lo, hi, low, high):
            index = atoms.fresh()
            value = atoms.variable("element", array, index)
            outside = AnyOf((less(value, atoms.poly(low)), at_most(atoms.poly(high), value)))
            return Promised(fact), AllOf((at_most(atoms.poly(lo), index), less(index, atoms.poly(hi)), outside))


def _out_of_order(fact: Nondecreasing | StrictlyRising, atoms: Atoms, array: str, lo: Poly, hi: Poly) -> Formula:
    """Two neighbours in the range that are not in order: there are some if any two elements are not."""
    index = atoms.fresh()
    following = add(index, {(): 1})
    a, b = atoms.variable("element", array, index), atoms.variable("element", array, following)
    wrong = less(b, a) if isinstance(fact, Nondecreasing) else at_most(b, a)
    return AllOf((at_most(lo, index), less(following, hi), wrong))


def _compare(name: str, a: Poly, b: Poly) -> Both:
    match name:
        case "eq":
            return equal(a, b), AnyOf((less(a, b), less(b, a)))
        case "ne":
            return AnyOf((less(a, b), less(b, a))), equal(a, b)
        case "lt":
            return less(a, b), at_most(b, a)
        case "le":
            return at_most(a, b), less(b, a)
        case "gt":
            return less(b, a), at_most(a, b)
        case "ge":
            return at_most(b, a), less(a, b)
        case _:
            raise ValueError(f"no comparison is called {name!r}; expected eq, ne, lt, le, gt or ge")


def equal(a: Poly, b: Poly) -> Formula:
    """`a == b`."""
    difference = add(a, scale(b, -1))
    value = constant(difference)
    if value is not None:
        return AnyOf(()) if value else AllOf(())
    return IsZero(key_of(difference))
