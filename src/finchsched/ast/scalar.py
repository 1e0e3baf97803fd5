"""Scalar expressions shared by Logic IR, Loop IR and tensor types.

Grammar (generated from the dataclasses):

    Literal(value: Scalar, dtype: DType)
    Value(name: str, dtype: DType, kind: str)
    Call(op: Operator, args: tuple[Node, ...])
    Size(index: str)
"""

from dataclasses import dataclass

from finchsched.algebra.dtypes import INT64, DType, Scalar
from finchsched.algebra.operators import Operator
from finchsched.ast.node import Node

__all__ = ["VALUE_KINDS", "Call", "Literal", "Size", "Value", "int_literal"]

VALUE_KINDS = ("zero", "one", "finite", "inf", "nan")
"""Classes of run-time scalars that a plan may rely on; "inf" has either sign."""


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
