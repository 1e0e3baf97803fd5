"""What a fact says of given numbers: the meaning of the language, which every counterexample is checked against.

Logic is short-circuit, left to right, so `n != 0 and i // n == 0` is defined for n = 0 and `i // n == 0` is not.  An
undefined fact does not hold.  Works on explicit stacks, shared parts once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from finchsched.ast.node import Node, distinct
from finchsched.ast.proof import (
    And,
    Compare,
    ElementOf,
    Fact,
    Implies,
    IntTerm,
    Largest,
    Nondecreasing,
    Not,
    Number,
    Or,
    Product,
    Quotient,
    Remainder,
    Smallest,
    StrictlyRising,
    Sum,
    Symbol,
    Within,
)

__all__ = ["CannotEvaluate", "Values", "compare", "evaluate", "holds_under", "is_counterexample"]

_MAX_BITS = 8192
_MAX_ELEMENTS = 2048


class CannotEvaluate(Exception):
    """A value is missing, or too large to compute with; says which."""


@dataclass(slots=True)
class Values:
    """Integers for symbols, by name, and for elements of arrays, by array and index.

    missing: what to take for an element that has no value; it is then kept.  By default that is an error.
    """

    symbols: Mapping[str, int]
    elements: dict[tuple[str, int], int] = field(default_factory=dict)
    missing: Callable[["Values", str, int], int] | None = None
    read: dict[tuple[str, int], int] = field(default_factory=dict)

    @classmethod
    def of_model(cls, model: tuple[tuple[str, int], ...]) -> "Values":
        """The values that `Refuted.model` lists."""
        symbols: dict[str, int] = {}
        elements: dict[tuple[str, int], int] = {}
        for name, value in model:
            array, bracket, index = name.partition("[")
            if bracket:
                elements[array, int(index[:-1])] = value
            else:
                symbols[name] = value
        return cls(symbols, elements)

    def symbol(self, name: str) -> int:
        """The value of a symbol.  Raises CannotEvaluate if it has none."""
        if name not in self.symbols:
            raise CannotEvaluate(f"no value for {name}")
        return self.symbols[name]

    def element(self, array: str, index: int) -> int:
        """The value of an element.  Raises CannotEvaluate if it has none."""
        key = (array, index)
        value = self.elements.get(key)
        if value is None:
            if self.missing is None:
                raise CannotEvaluate(f"no value for {array}[{index}]")
            value = self.elements[key] = self.missing(self, array, index)
        self.read[key] = value
        return value


def is_counterexample(fact: Fact, assumptions: tuple[Fact, ...], values: Values) -> bool:
    """Whether all assumptions hold and the fact does not.  Raises CannotEvaluate."""
    return all(holds_under(assumption, values) for assumption in assumptions) and not holds_under(fact, values)


def holds_under(fact: Fact, values: Values) -> bool:
    """Whether the fact is defined and true.  Raises CannotEvaluate."""
    return evaluate(fact, values) is True


def evaluate(root: Fact | IntTerm, values: Values) -> bool | int | None:
    """The value of a fact or term; None if it is undefined.  Raises CannotEvaluate."""
    found: dict[int, bool | int | None] = {}
    for node in distinct(root):
        value = _one(node, found, values)
        if type(value) is int and value.bit_length() > _MAX_BITS:
            raise CannotEvaluate(f"a number of more than {_MAX_BITS} bits")
        found[id(node)] = value
    return found[id(root)]


def _one(node: Node, found: dict[int, bool | int | None], values: Values) -> bool | int | None:
    match node:
        case Number(value):
            return value
        case Symbol(name):
            return values.symbol(name)
        case And(facts):
            return _first(False, [found[id(f)] for f in facts])
        case Or(facts):
            return _first(True, [found[id(f)] for f in facts])
        case Implies(premise, conclusion):
            before, after = found[id(premise)], found[id(conclusion)]
            return None if before is None else after if before else True
        case Not(fact):
            inner = found[id(fact)]
            return None if inner is None else not inner
    args = [found[id(child)] for child in _operands(node)]
    if any(arg is None for arg in args):
        return None
    return _strict(node, args, values)  # type: ignore[arg-type]  # no None is left


def _operands(node: Node) -> tuple[Node, ...]:
    match node:
        case Sum(args) | Product(args) | Smallest(args) | Largest(args):
            return args
        case Quotient(a, b) | Remainder(a, b) | Compare(_, a, b):
            return (a, b)
        case ElementOf(_, index):
            return (index,)
        case Nondecreasing(_, lo, hi) | StrictlyRising(_, lo, hi):
            return (lo, hi)
        case Within(_, lo, hi, low, high):
            return (lo, hi, low, high)
        case _:
            raise TypeError(f"{type(node).__name__} is not a fact or a term of one")


def _strict(node: Node, args: list[int], values: Values) -> bool | int | None:
    """A node whose value is undefined if that of an operand is."""
    match node:
        case Sum():
            return sum(args)
        case Product():
            return _product(args)
        case Smallest():
            return min(args)
        case Largest():
            return max(args)
        case Quotient():
            return args[0] // args[1] if args[1] else None
        case Remainder():
            return args[0] % args[1] if args[1] else None
        case Compare(name):
            holds: bool = compare(name, args[0], args[1])
            return holds
        case ElementOf(array):
            return values.element(array, args[0])
        case Nondecreasing(array):
            row = _row(array, args[0], args[1], values)
            return all(a <= b for a, b in pairwise(row))
        case StrictlyRising(array):
            row = _row(array, args[0], args[1], values)
            return all(a < b for a, b in pairwise(row))
        case Within(array):
            return all(args[2] <= a < args[3] for a in _row(array, args[0], args[1], values))
        case _:
            raise TypeError(f"{type(node).__name__} is not a fact or a term of one")


def compare(name: str, a: Any, b: Any) -> Any:
    """The comparison of two numbers, or of what overloads comparisons as numbers do, by its name in `Compare`."""
    match name:
        case "eq":
            return a == b
        case "ne":
            return a != b
        case "lt":
            return a < b
        case "le":
            return a <= b
        case "gt":
            return a > b
        case "ge":
            return a >= b
        case _:
            raise ValueError(f"no comparison is called {name!r}; expected eq, ne, lt, le, gt or ge")


def _first(decisive: bool, facts: list[bool | int | None]) -> bool | None:
    """`decisive` if a fact has that value before any is undefined."""
    for fact in facts:
        if fact is None:
            return None
        if fact is decisive:
            return decisive
    return not decisive


def _product(args: list[int]) -> int:
    found = 1
    for arg in args:
        found *= arg
        if found.bit_length() > _MAX_BITS:
            raise CannotEvaluate(f"a number of more than {_MAX_BITS} bits")
    return found


def _row(array: str, lo: int, hi: int, values: Values) -> list[int]:
    if hi - lo > _MAX_ELEMENTS:
        raise CannotEvaluate(f"more than {_MAX_ELEMENTS} elements of {array}")
    return [values.element(array, index) for index in range(lo, hi)]
