"""Integer terms as polynomials over atoms, so that equal terms become equal and linear reasoning can start.

`i*4 + j - (2*i + j)` is `2*i`.  An *atom* is what a polynomial cannot look into: a symbol, an array element, a
quotient, a minimum or maximum; its arguments are polynomials in turn.  A remainder is `a - b * (a // b)`.

Where a divisor is 0 the quotient stands for no particular number.  What is concluded here is right for every value of
every term that is defined; `finchsched.prove.ranges` shows separately that the terms of a goal are.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import gcd

from finchsched.ast.node import Node, distinct
from finchsched.ast.proof import (
    ElementOf,
    IntTerm,
    Largest,
    Number,
    Product,
    Quotient,
    Remainder,
    Smallest,
    Sum,
    Symbol,
)

__all__ = [
    "Atom",
    "Atoms",
    "Key",
    "Monomial",
    "Poly",
    "TooLarge",
    "add",
    "constant",
    "content",
    "key_of",
    "scale",
    "times",
]

Monomial = tuple[int, ...]
"""Numbers of atoms, sorted, with repetitions; () for the constant."""

Poly = dict[Monomial, int]
"""Coefficients that are not 0."""

Key = tuple[tuple[Monomial, int], ...]
"""A polynomial that can be hashed."""

_MAX_WORK = 60_000
_MAX_BITS = 4096
_MAX_DEGREE = 6
_MAX_MONOMIALS = 400


class TooLarge(Exception):
    """A term whose polynomial is not worth having."""


@dataclass(frozen=True, slots=True)
class Atom:
    """kind: symbol, element, quotient, smallest, largest or hidden.  name: of a symbol or array, else empty."""

    kind: str
    name: str
    args: tuple[Key, ...] = ()


@dataclass(slots=True)
class Atoms:
    """The atoms of a query, numbered as they are met, and the polynomials of the terms seen so far."""

    table: list[Atom] = field(default_factory=list)
    _numbers: dict[Atom, int] = field(default_factory=dict)
    _known: dict[Node, Poly] = field(default_factory=dict)
    _work: int = 0

    def poly(self, term: IntTerm) -> Poly:
        """The polynomial of a term.  Raises TooLarge."""
        found = self._known.get(term)
        if found is not None:
            return found
        for node in distinct(term):
            if node not in self._known:
                self._known[node] = self._checked(self._one(node))  # type: ignore[arg-type]  # terms have terms below
        return self._known[term]

    def number(self, atom: Atom) -> int:
        """The number of an atom, a new one if it was not met before."""
        found = self._numbers.get(atom)
        if found is None:
            found = self._numbers[atom] = len(self.table)
            self.table.append(atom)
        return found

    def variable(self, kind: str, name: str, *args: Poly) -> Poly:
        """The polynomial of an atom alone."""
        return {(self.number(Atom(kind, name, tuple(map(key_of, args)))),): 1}

    def fresh(self) -> Poly:
        """A value that nothing is known about yet."""
        return self.variable("hidden", str(len(self.table)))

    def quotient(self, a: Poly, b: Poly) -> Poly:
        """`a // b`; the part of `a` that `b` divides term by term is divided out."""
        divisor = constant(b)
        if divisor == 0:
            return self.variable("quotient", "", a, b)
        if len(b) == 1:
            exact, rest = _divide(a, *next(iter(b.items())))
        else:
            exact, rest = ({(): 1}, {}) if a == b else ({}, a)
        if not rest:
            return exact
        value = constant(rest)
        if value is not None and divisor is not None:
            return add(exact, {(): value // divisor})
        return add(exact, self.variable("quotient", "", rest, b))

    def _one(self, term: IntTerm) -> Poly:
        match term:
            case Number(value):
                return {(): value} if value else {}
            case Symbol(name):
                return self.variable("symbol", name)
            case ElementOf(array, index):
                return self.variable("element", array, self._known[index])
            case Sum(args):
                return add(*[self._known[arg] for arg in args])
            case Product(args):
                return self._product([self._known[arg] for arg in args])
            case Quotient(a, b):
                return self.quotient(self._known[a], self._known[b])
            case Remainder(a, b):
                whole = self.quotient(self._known[a], self._known[b])
                return add(self._known[a], scale(times(whole, self._known[b]), -1))
            case Smallest(args):
                return self._extreme("smallest", [self._known[arg] for arg in args])
            case Largest(args):
                return self._extreme("largest", [self._known[arg] for arg in args])

    def _product(self, factors: list[Poly]) -> Poly:
        found: Poly = {(): 1}
        for factor in factors:
            found = self._checked(times(found, factor))
        return found

    def _extreme(self, kind: str, args: list[Poly]) -> Poly:
        """Arguments that differ from another by a constant only are decided; the rest become an atom."""
        better = min if kind == "smallest" else max
        shapes: dict[Key, int] = {}
        for arg in args:
            shape = key_of({m: c for m, c in arg.items() if m})
            value = arg.get((), 0)
            shapes[shape] = better(shapes[shape], value) if shape in shapes else value
        if not shapes:
            raise TooLarge("an extreme of no arguments")
        rest = [add(dict(shape), {(): value} if value else {}) for shape, value in sorted(shapes.items())]
        return rest[0] if len(rest) == 1 else self.variable(kind, "", *rest)

    def _checked(self, poly: Poly) -> Poly:
        self._work += len(poly) + 1
        if self._work > _MAX_WORK or len(poly) > _MAX_MONOMIALS:
            raise TooLarge("too many terms")
        for monomial, coefficient in poly.items():
            if coefficient.bit_length() > _MAX_BITS or len(monomial) > _MAX_DEGREE:
                raise TooLarge("too large a product")
        return poly


def key_of(poly: Poly) -> Key:
    """A hashable form of a polynomial, the same for equal ones."""
    return tuple(sorted(poly.items()))


def constant(poly: Poly) -> int | None:
    """The value of a polynomial without variables."""
    if not poly:
        return 0
    return poly.get(()) if len(poly) == 1 else None


def add(*polys: Mapping[Monomial, int]) -> Poly:
    """The sum."""
    found: Poly = {}
    for poly in polys:
        for monomial, coefficient in poly.items():
            total = found.get(monomial, 0) + coefficient
            if total:
                found[monomial] = total
            else:
                found.pop(monomial, None)
    return found


def scale(poly: Poly, factor: int) -> Poly:
    """A multiple."""
    return {monomial: coefficient * factor for monomial, coefficient in poly.items()} if factor else {}


def times(a: Poly, b: Poly) -> Poly:
    """The product.  Raises TooLarge when it has too many terms to be worth making."""
    if len(a) * len(b) > _MAX_MONOMIALS * 4:
        raise TooLarge("too large a product")
    return add(*[{tuple(sorted(m + n)): c * d} for m, c in _ordered(a) for n, d in _ordered(b)])


def _ordered(poly: Poly) -> Iterable[tuple[Monomial, int]]:
    return sorted(poly.items())


def _divide(a: Poly, monomial: Monomial, coefficient: int) -> tuple[Poly, Poly]:
    """The terms of `a` that a single term divides, divided; and the rest."""
    exact: Poly = {}
    rest: Poly = {}
    for over, c in a.items():
        left = _without(over, monomial)
        if left is None:
            rest[over] = c
            continue
        if c % coefficient == 0:
            exact[left] = c // coefficient
        else:
            rest[over] = c
    return exact, rest


def _without(whole: Monomial, part: Monomial) -> Monomial | None:
    """The monomial that times `part` is `whole`."""
    left = list(whole)
    for atom in part:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def content(coefficients: Iterable[int]) -> int:
    """The greatest common divisor; 0 of none."""
    return gcd(*coefficients)
