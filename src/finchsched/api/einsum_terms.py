"""From the terms of an einsum to Logic IR."""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias, assert_never

from finchsched.algebra.dtypes import INT64, DType
from finchsched.algebra.operators import Operator, operator
from finchsched.api.einsum_program import Access, Constant, IndexValue, Operation, Term
from finchsched.api.graph import GraphNode
from finchsched.api.promotion import ElementType, weak_type
from finchsched.ast.logic import Coordinate, Field, LogicExpr
from finchsched.ast.scalar import Literal, int_literal

__all__ = ["EinsumTerms", "Expressions", "Index", "Operand"]

Index: TypeAlias = tuple[Field | None, ...]
"""The field of each axis; an axis of extent 1 that is stretched has none."""

Operand: TypeAlias = LogicExpr | GraphNode
"""An expression, or a scalar leaf whose type its reader decides."""


class Expressions(Protocol):
    """What the terms of an einsum need from the building of the plan around them."""

    def read(self, node: GraphNode, index: Index) -> Operand:
        """A node under the fields that its reader wants."""

    def cast(self, expr: Operand, target: DType) -> LogicExpr:
        """An operand in another type."""

    def apply(self, op: Operator, args: Sequence[tuple[Operand, ElementType]]) -> tuple[LogicExpr, ElementType]:
        """`op` on arguments cast to their promoted type."""


class EinsumTerms:
    """The expression of one einsum.

    letters: the field of each index, None for one of extent 1 that is stretched.  keep: what operands are cast to
    first, in NumPy's notation.
    """

    def __init__(
        self, builder: Expressions, node: GraphNode, letters: Mapping[str, Field | None], keep: DType | None
    ) -> None:
        self.builder = builder
        self.node = node
        self.letters = letters
        self.keep = keep

    def term(self, term: Term) -> tuple[Operand, ElementType]:
        """The expression of a term, and its type."""
        match term:
            case Access(number, index, _):
                arg = self.node.args[number]
                expr = self.builder.read(arg, tuple(self.letters[name] for name in index))
                return (expr, arg.type) if self.keep is None else (self.builder.cast(expr, self.keep), self.keep)
            case IndexValue(name, _):
                found = self.letters[name]
                return int_literal(0) if found is None else Coordinate(found), INT64
            case Constant(value):
                kind = weak_type(value)
                return Literal(value, kind.default), kind
            case Operation(name, args, _):
                return self.builder.apply(operator(name), [self.term(arg) for arg in args])
            case _:
                assert_never(term)
