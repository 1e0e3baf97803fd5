"""Facts as formulas of Z3, with their definedness beside them.

Python rounds quotients down; Z3 leaves a remainder that is not negative, also for a negative divisor.  So
by a constant, `a // b` is `a div b` for `b > 0`, else `-a div -b`, where both round down.  Logic is short-circuit as
in `finchsched.prove.evaluate`: each formula has a second one that says where it is defined.

Promises about arrays are quantified in one step, "for all i < k", with patterns on the reads; stated for neighbours
only, Z3 would need an induction that it does not do.
"""

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from finchsched.ast.node import Node, distinct
from finchsched.ast.proof import (
    And,
    Compare,
    ElementOf,
    Fact,
    Implies,
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
from finchsched.prove.evaluate import compare

__all__ = ["Translator"]

_Both = tuple[Any, Any]
"""An expression, and where it is defined: a formula, or None for everywhere."""


@dataclass(slots=True)
class Translator:
    """Facts of one query as formulas of one context.

    reads: the elements that are spoken of by index.  laws: what defines quotients by divisors that are not constant.
    """

    z3: ModuleType
    ctx: Any
    symbols: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, Any] = field(default_factory=dict)
    reads: dict[Node, Any] = field(default_factory=dict)
    laws: list[Any] = field(default_factory=list)
    _quotients: dict[tuple[Node, Node], Any] = field(default_factory=dict)
    _known: dict[Node, _Both] = field(default_factory=dict)

    def holds(self, fact: Fact) -> Any:
        """That a fact is defined and true."""
        for node in distinct(fact):
            if node not in self._known:
                self._known[node] = self._one(node)
        value, defined = self._known[fact]
        return value if defined is None else self.z3.And(defined, value)

    def array(self, name: str) -> Any:
        """An array, as a function from integers to integers."""
        if name not in self.arrays:
            sort = self.z3.IntSort(self.ctx)
            self.arrays[name] = self.z3.Function(name, sort, sort)
        return self.arrays[name]

    def _one(self, node: Node) -> _Both:
        match node:
            case Number(value):
                return self.z3.IntVal(value, self.ctx), None
            case Symbol(name):
                found = self.symbols[name] = self.z3.Int(name, self.ctx)
                return found, None
            case And(facts):
                return self._short_circuit([self._known[f] for f in facts], decisive=False)
            case Or(facts):
                return self._short_circuit([self._known[f] for f in facts], decisive=True)
            case Implies(premise, conclusion):
                value, defined = self._known[premise]
                return self._short_circuit([(self.z3.Not(value), defined), self._known[conclusion]], decisive=True)
            case Not(fact):
                value, defined = self._known[fact]
                return self.z3.Not(value), defined
            case _:
                return self._strict(node)

    def _short_circuit(self, parts: list[_Both], *, decisive: bool) -> _Both:
        """A conjunction or disjunction; it is defined if no part is reached that is not."""
        values = [value for value, _ in parts]
        joined = self.z3.Or if decisive else self.z3.And
        defined = None
        for value, own in reversed(parts):
            if defined is not None:
                defined = self.z3.Or(value if decisive else self.z3.Not(value), defined)
            defined = self._all([own, defined])
        return joined(*values, self.ctx) if values else self.z3.BoolVal(not decisive, self.ctx), defined

    def _all(self, conditions: list[Any]) -> Any:
        """The conjunction of conditions, where None is true."""
        found = [condition for condition in conditions if condition is not None]
        return None if not found else found[0] if len(found) == 1 else self.z3.And(*found)

    def _strict(self, node: Node) -> _Both:
        """A node that is defined where all its operands are, and no divisor is 0."""
        match node:
            case Sum(args) | Product(args) | Smallest(args) | Largest(args):
                terms: tuple[Node, ...] = args
            case Quotient(a, b) | Remainder(a, b) | Compare(_, a, b):
                terms = (a, b)
            case ElementOf(_, index):
                terms = (index,)
            case Nondecreasing(_, lo, hi) | StrictlyRising(_, lo, hi):
                terms = (lo, hi)
            case Within(_, lo, hi, low, high):
                terms = (lo, hi, low, high)
            case _:
                raise TypeError(f"{type(node).__name__} is not a fact or a term of one")
        both = [self._known[term] for term in terms]
        conditions = [defined for _, defined in both]
        values = [value for value, _ in both]
        if isinstance(node, Quotient | Remainder) and not _is_nonzero(node.divisor):
            conditions.append(values[1] != 0)
        return self._value(node, values), self._all(conditions)

    def _value(self, node: Node, args: list[Any]) -> Any:
        match node:
            case Sum():
                return self.z3.Sum(args) if args else self.z3.IntVal(0, self.ctx)
            case Product():
                return self.z3.Product(args) if args else self.z3.IntVal(1, self.ctx)
            case Smallest():
                return self._extreme(args, smallest=True)
            case Largest():
                return self._extreme(args, smallest=False)
            case Quotient(a, b):
                return self._quotient(args[0], args[1], a, b)
            case Remainder(a, b):
                return self._remainder(args[0], args[1], a, b)
            case ElementOf(array):
                self.reads[node] = self.array(array)(args[0])
                return self.reads[node]
            case Compare(name):
                return compare(name, *args)
            case Nondecreasing(array) | StrictlyRising(array):
                return self._ordered(self.array(array), *args, strictly=isinstance(node, StrictlyRising))
            case Within(array):
                return self._bounded(self.array(array), *args)
            case _:
                raise TypeError(f"{type(node).__name__} is not a fact or a term of one")

    def _extreme(self, args: list[Any], *, smallest: bool) -> Any:
        found = args[0]
        for arg in args[1:]:
            found = self.z3.If(arg < found if smallest else arg > found, arg, found)
        return found

    def _quotient(self, a: Any, b: Any, dividend: Node, divisor: Node) -> Any:
        """By a constant, Z3's; else a new variable that is defined by its remainder, which Z3 reasons about better."""
        if isinstance(divisor, Number):
            return a / b if divisor.value >= 0 else -a / -b
        found = self._quotients.get((dividend, divisor))
        if found is None:
            found = self._quotients[dividend, divisor] = self.z3.Int(f"?q{len(self._quotients)}", self.ctx)
            rest = a - b * found
            self.laws.append(self.z3.Implies(b > 0, self.z3.And(rest >= 0, rest < b)))
            self.laws.append(self.z3.Implies(b < 0, self.z3.And(rest <= 0, b < rest)))
        return found

    def _remainder(self, a: Any, b: Any, dividend: Node, divisor: Node) -> Any:
        if isinstance(divisor, Number):
            return a % b if divisor.value >= 0 else -(-a % -b)
        return a - b * self._quotient(a, b, dividend, divisor)

    def _ordered(self, array: Any, lo: Any, hi: Any, *, strictly: bool) -> Any:
        """Of a strictly rising array the elements differ by at least as much as the indices, being integers."""
        i, k = self.z3.Int("?i", self.ctx), self.z3.Int("?k", self.ctx)
        rise = array(i) + k - i <= array(k) if strictly else array(i) <= array(k)
        body = self.z3.Implies(self.z3.And(lo <= i, i < k, k < hi), rise)
        return self.z3.ForAll([i, k], body, patterns=[self.z3.MultiPattern(array(i), array(k))])

    def _bounded(self, array: Any, lo: Any, hi: Any, low: Any, high: Any) -> Any:
        i = self.z3.Int("?i", self.ctx)
        inside = self.z3.And(low <= array(i), array(i) < high)
        body = self.z3.Implies(self.z3.And(lo <= i, i < hi), inside)
        return self.z3.ForAll([i], body, patterns=[array(i)])


def _is_nonzero(divisor: Node) -> bool:
    return isinstance(divisor, Number) and divisor.value != 0
