"""Scalar expressions shared by Logic IR, Loop IR and tensor types.

Grammar (generated from the dataclasses):

    Literal(value: Scalar, dtype: DType)
    Value(name: str, dtype: DType, kind: str)
    Call(op: Operator, args: tuple[Node, ...])
    Size(index: str)
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from finchsched.algebra.dtypes import INT64, DType, Scalar
from finchsched.algebra.operators import Operator
from finchsched.ast.node import Node

__all__ = [
    "VALUE_KINDS",
    "Call",
    "Literal",
    "Size",
    "Value",
    "constant_coordinate",
    "coordinate_name",
    "coordinate_value",
    "fold_calls",
    "int_literal",
]

T = TypeVar("T")

VALUE_KINDS = ("zero", "one", "finite", "inf", "nan", "number", "any")
"""What a plan may rely on of a run-time scalar: it is 0, 1, another finite number, infinite with either sign, NaN; or a
finite number that may be 0 or 1 ("number"); or nothing is known ("any")."""


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Node):
    """A constant baked into the program."""

    value: Scalar
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False)
class Value(Node):
    """A scalar given when the program runs, of which only the class `kind` (one of VALUE_KINDS) is known."""

    name: str
    dtype: DType
    kind: str


@dataclass(frozen=True, slots=True, eq=False)
class Call(Node):
    """`op` applied to scalar expressions of one promoted type."""

    op: Operator
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Size(Node):
    """The extent of an index, as int64."""

    index: str


def int_literal(value: int) -> Literal:
    """An int64 literal."""
    return Literal(value, INT64)


def constant_coordinate(literal: Literal) -> int:
    """The coordinate that an int64 literal among the indices of an access stands for."""
    assert isinstance(literal.value, int)
    return literal.value


_COORDINATE = "index_"


def coordinate_value(index: str) -> Value:
    """The coordinate of an index as it stands inside a fill: an int64 Value, finite and otherwise unknown."""
    return Value(f"{_COORDINATE}{index}", INT64, "number")


def coordinate_name(node: Node) -> str:
    """The index whose coordinate a node of a fill stands for; "" for any other node.

    No user's scalar is of the class "number", so a name that begins alike is not taken for a coordinate.
    """
    if isinstance(node, Value) and node.kind == "number" and node.name.startswith(_COORDINATE):
        return node.name.removeprefix(_COORDINATE)
    return ""


def fold_calls(root: Node, leaf: Callable[[Node], T | None], combine: Callable[[Call, tuple[T, ...]], T]) -> T:
    """Work out a tree of Calls from the leaves up, without recursion.

    `leaf` gives the result for a node, or None for a Call that is to be taken apart; `combine` gives the result for a
    Call from those of its arguments.
    """
    results: list[T] = []
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            assert isinstance(node, Call)
            start = len(results) - len(node.args)
            results[start:] = [combine(node, tuple(results[start:]))]
            continue
        found = leaf(node)
        if found is not None:
            results.append(found)
            continue
        assert isinstance(node, Call), f"{type(node).__name__} has neither a result nor arguments"
        stack.append((node, True))
        stack.extend((arg, False) for arg in reversed(node.args))
    return results[0]
