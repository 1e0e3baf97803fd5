"""Text of facts, in the notation of Python: `0 <= i < n` is `0 <= i and i < n`, with `=>` for an implication.

    Compare             i * 4 + j < n
    ElementOf           crd[p + 1]
    Quotient, Remainder (i // 4, i % 4)
    Smallest, Largest   min(i, n)  max(i, 0)
    Implies             i < n => crd[i] < m
    Nondecreasing       nondecreasing(pos[0 .. n + 1])
    StrictlyRising      rising(crd[pos[q] .. pos[q + 1]])
    Within              within(crd[0 .. k], 0 .. n)

There is no parser: facts are made by the compiler, and read by people.  A verdict is `proved by ranges`,
`refuted: i = 3, crd[2] = 5`, or `unknown:` and the reason.
"""

from collections.abc import Sequence

from finchsched.ast.node import Node
from finchsched.ast.proof import (
    And,
    Compare,
    ElementOf,
    Implies,
    Largest,
    Nondecreasing,
    Not,
    Number,
    Or,
    Product,
    Proved,
    Quotient,
    Refuted,
    Remainder,
    Smallest,
    StrictlyRising,
    Sum,
    Symbol,
    Unknown,
    Verdict,
    Within,
)
from finchsched.ast.syntax import Piece, commas, write

__all__ = ["print_fact", "print_verdict"]

_SYMBOL = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}

# Binding strengths, weakest first.
_IMPLIES, _OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _ATOM = range(8)


def print_fact(fact: Node) -> str:
    """A fact, or a term, on one line."""
    return write(fact, _pieces)


def print_verdict(verdict: Verdict) -> str:
    """A verdict, on one line."""
    match verdict:
        case Proved(by):
            return f"proved by {'Z3' if by == 'z3' else by}"
        case Refuted(model):
            values = ", ".join(f"{name} = {value}" for name, value in model)
            return f"refuted: {values}" if values else "refuted: it is false"
        case Unknown(reason):
            return f"unknown: {reason}"


def _pieces(node: Node) -> list[Piece]:
    match node:
        case Number(value):
            return [str(value)]
        case Symbol(name):
            return [name]
        case ElementOf(array, index):
            return [f"{array}[", index, "]"]
        case Sum(args):
            return _joined(args, " + ", _SUM, "0")
        case Product(args):
            return _joined(args, " * ", _PRODUCT, "1")
        case Quotient(a, b):
            return [*_within(a, _PRODUCT), " // ", *_within(b, _ATOM)]
        case Remainder(a, b):
            return [*_within(a, _PRODUCT), " % ", *_within(b, _ATOM)]
        case Smallest(args):
            return ["min(", *commas(args), ")"]
        case Largest(args):
            return ["max(", *commas(args), ")"]
        case Compare(name, left, right):
            return [*_within(left, _SUM), f" {_SYMBOL[name]} ", *_within(right, _SUM)]
        case And(facts):
            return _joined(facts, " and ", _AND, "true")
        case Or(facts):
            return _joined(facts, " or ", _OR, "false")
        case Not(fact):
            return ["not ", *_within(fact, _NOT)]
        case Implies(premise, conclusion):
            return [*_within(premise, _OR), " => ", *_within(conclusion, _OR)]
        case Nondecreasing(array, lo, hi):
            return [f"nondecreasing({array}[", lo, " .. ", hi, "])"]
        case StrictlyRising(array, lo, hi):
            return [f"rising({array}[", lo, " .. ", hi, "])"]
        case Within(array, lo, hi, low, high):
            return [f"within({array}[", lo, " .. ", hi, "], ", low, " .. ", high, ")"]
        case _:
            raise TypeError(f"{type(node).__name__} is not a fact or a term of one")


def _strength(node: Node) -> int:
    match node:
        case Implies():
            return _IMPLIES
        case Or(args) | And(args) | Sum(args) | Product(args) if len(args) < 2:
            # Alone it prints as its argument; in parentheses, so that nothing must be known of that.
            return _IMPLIES if args else _ATOM
        case Or():
            return _OR
        case And():
            return _AND
        case Not():
            return _NOT
        case Compare():
            return _COMPARE
        case Sum():
            return _SUM
        case Product() | Quotient() | Remainder():
            return _PRODUCT
        case Number(value) if value < 0:
            return _SUM
        case _:
            return _ATOM


def _within(node: Node, strength: int) -> list[Piece]:
    """A node as an operand: in parentheses if it binds weaker."""
    return [node] if _strength(node) >= strength else ["(", node, ")"]


def _joined(args: Sequence[Node], between: str, strength: int, nothing: str) -> list[Piece]:
    if not args:
        return [nothing]
    if len(args) == 1:
        return [args[0]]
    found: list[Piece] = []
    for position, arg in enumerate(args):
        # The same operator again is put in parentheses, so that different nestings print differently.
        found += [between] if position else []
        found += _within(arg, strength + 1)
    return found
