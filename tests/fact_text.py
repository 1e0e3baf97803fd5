"""Facts from text, for tests: Python's expressions, with promises written as calls.

0 <= i < n and crd[p] != i // 4
implies(i < j, y[i] < y[j])
nondecreasing(pos, 0, n + 1)    rising(crd, lo, hi)    within(crd, lo, hi, 0, m)
"""

import ast
from itertools import pairwise

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
    Quotient,
    Remainder,
    Smallest,
    StrictlyRising,
    Sum,
    Symbol,
    Within,
)

_COMPARISONS = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
_PROMISES = {"nondecreasing": Nondecreasing, "rising": StrictlyRising, "within": Within}


def fact(text: str) -> Node:
    """The fact, or the term, that a text spells."""
    return _node(ast.parse(text, mode="eval").body)


def facts(*texts: str) -> tuple[Node, ...]:
    """Several facts."""
    return tuple(map(fact, texts))


def _node(here: ast.expr) -> Node:
    match here:
        case ast.Constant(value=int(value)):
            return Number(value)
        case ast.Name(id=name):
            return Symbol(name)
        case ast.Subscript(value=ast.Name(id=array), slice=index):
            return ElementOf(array, _node(index))
        case ast.BinOp(left=left, op=op, right=right):
            return _arithmetic(op, _node(left), _node(right))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _node(operand)
            return Number(-inner.value) if isinstance(inner, Number) else Product((Number(-1), inner))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return Not(_node(operand))
        case ast.BoolOp(op=op, values=values):
            return (And if isinstance(op, ast.And) else Or)(tuple(map(_node, values)))
        case ast.Compare(left=left, ops=ops, comparators=right):
            terms = [_node(term) for term in (left, *right)]
            parts = [Compare(_COMPARISONS[type(op)], a, b) for op, (a, b) in zip(ops, pairwise(terms), strict=True)]
            return parts[0] if len(parts) == 1 else And(tuple(parts))
        case ast.Call(func=ast.Name(id="min"), args=args):
            return Smallest(tuple(map(_node, args)))
        case ast.Call(func=ast.Name(id="max"), args=args):
            return Largest(tuple(map(_node, args)))
        case ast.Call(func=ast.Name(id="implies"), args=[premise, conclusion]):
            return Implies(_node(premise), _node(conclusion))
        case ast.Call(func=ast.Name(id=promise), args=[ast.Name(id=array), *bounds]) if promise in _PROMISES:
            return _PROMISES[promise](array, *map(_node, bounds))
    raise ValueError(f"no fact is written {ast.unparse(here)}")


def _arithmetic(op: ast.operator, left: Node, right: Node) -> Node:
    match op:
        case ast.Add():
            return Sum((left, right))
        case ast.Sub():
            return Sum((left, Number(-right.value) if isinstance(right, Number) else Product((Number(-1), right))))
        case ast.Mult():
            return Product((left, right))
        case ast.FloorDiv():
            return Quotient(left, right)
        case ast.Mod():
            return Remainder(left, right)
    raise ValueError(f"no term has the operator {type(op).__name__}")
