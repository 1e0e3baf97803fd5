"""Operators and casts on expressions of Logic IR, with NumPy's promotion."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from finchsched.algebra.dtypes import DType, cast_scalar
from finchsched.algebra.operators import Operator, cast_operator, cast_target, is_comparison
from finchsched.api.graph import GraphNode
from finchsched.api.logic_leaves import Leaves
from finchsched.api.promotion import ElementType, Weak, comparable, fit_scalar, is_wider, promote, strong
from finchsched.ast import facts
from finchsched.ast.logic import LogicExpr, MapJoin
from finchsched.ast.scalar import Literal

__all__ = ["Casts", "Operand"]

Operand: TypeAlias = LogicExpr | GraphNode
"""An expression, or a scalar leaf whose type its reader decides."""


class Casts:
    """Applies operators to operands; a run-time scalar becomes a Value of the type that is wanted."""

    def __init__(self, leaves: Leaves) -> None:
        self._leaves = leaves

    def apply(self, op: Operator, args: Sequence[tuple[Operand, ElementType]]) -> tuple[LogicExpr, ElementType]:
        """`op` on arguments cast to their promoted type."""
        if is_comparison(op):
            args = self._comparable(op, args)
        op, wanted, result = promote(op, tuple(kind for _, kind in args))
        if cast_target(op) is not None:
            return self.convert(args[0][0], strong(result)), result
        cast = tuple(self.cast(expr, target) for (expr, _), target in zip(args, wanted, strict=True))
        return MapJoin(op, cast), result

    def _comparable(
        self, op: Operator, args: Sequence[tuple[Operand, ElementType]]
    ) -> Sequence[tuple[Operand, ElementType]]:
        """The arguments of a comparison; a Python integer beyond the other's type is compared in a wider one."""
        wanted = promote(op, tuple(kind for _, kind in args))[1]
        found: list[tuple[Operand, ElementType]] = []
        for (expr, kind), dtype in zip(args, wanted, strict=True):
            known = expr.data if isinstance(expr, GraphNode) else expr.value if isinstance(expr, Literal) else None
            if isinstance(kind, Weak) and dtype.is_integer and known is not None:
                value, wide = comparable(known, dtype)
                if wide.is_float:
                    found.append((Literal(value, wide), wide))
                    continue
                kind = wide
            found.append((expr, kind))
        return found

    def cast(self, expr: Operand, target: DType) -> LogicExpr:
        """A literal or a scalar in another type is another literal or Value; anything else gets a cast operator."""
        if isinstance(expr, GraphNode):
            found = strong(expr.type)
            if (isinstance(expr.type, Weak) and is_wider(target, found)) or np.can_cast(
                found.numpy, target.numpy, "safe"
            ):
                return self._leaves.value(expr, target)
            expr = self._leaves.value(expr, found)
        if isinstance(expr, Literal):
            return Literal(fit_scalar(expr.value, target), target)
        return expr if facts.dtype(expr) == target else MapJoin(cast_operator(target), (expr,))

    def convert(self, expr: Operand, target: DType) -> LogicExpr:
        """An explicit cast, in which integers wrap around."""
        if isinstance(expr, GraphNode):
            expr = self._leaves.value(expr, strong(expr.type))
        if isinstance(expr, Literal):
            return Literal(cast_scalar(expr.value, target), target)
        return self.cast(expr, target)
