"""From the terms of an einsum to Logic IR."""

from collections.abc import Callable, Mapping
from typing import assert_never

from finchsched.algebra.dtypes import INT64, DType
from finchsched.algebra.operators import operator
from finchsched.api.einsum_program import Access, Constant, IndexValue, Operation, Term
from finchsched.api.graph import GraphNode
from finchsched.api.logic_casts import Casts, Operand
from finchsched.api.logic_fields import Index
from finchsched.api.promotion import ElementType, weak_type
from finchsched.ast.logic import Coordinate, Field
from finchsched.ast.scalar import Literal, int_literal

__all__ = ["EinsumTerms"]


class EinsumTerms:
    """The expression of one einsum.

    read: gives a node under the fields that its reader wants.  letters: the field of each index, None for one of
    extent 1 that is stretched.  keep: what operands are cast to first, in NumPy's notation.
    """

    def __init__(
        self,
        read: Callable[[GraphNode, Index], Operand],
        casts: Casts,
        node: GraphNode,
        letters: Mapping[str, Field | None],
        keep: DType | None,
    ) -> None:
        self.read = read
        self.casts = casts
        self.node = node
        self.letters = letters
        self.keep = keep

    def term(self, term: Term) -> tuple[Operand, ElementType]:
        """The expression of a term, and its type."""
        match term:
            case Access(number, index, _):
                arg = self.node.args[number]
                expr = self.read(arg, tuple(self.letters[name] for name in index))
                return (expr, arg.type) if self.keep is None else (self.casts.cast(expr, self.keep), self.keep)
            case IndexValue(name, _):
                found = self.letters[name]
                return int_literal(0) if found is None else Coordinate(found), INT64
            case Constant(value):
                kind = weak_type(value)
                return Literal(value, kind.default), kind
            case Operation(name, args, _):
                return self.casts.apply(operator(name), [self.term(arg) for arg in args])
            case _:
                assert_never(term)
