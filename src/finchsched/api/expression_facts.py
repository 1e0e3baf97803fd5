"""Fields, types and fills of Logic expressions while they are being built."""

from finchsched.algebra.dtypes import DType
from finchsched.ast.fact_table import FactTable
from finchsched.ast.facts import fill, fold_call, fold_repeat
from finchsched.ast.logic import (
    Aggregate,
    Field,
    LogicExpr,
    MapJoin,
    Reformat,
    Relabel,
    Reorder,
    Subquery,
)
from finchsched.ast.node import Node

__all__ = ["ExpressionFacts"]


class ExpressionFacts:
    """Fields, types and fills of the expressions made so far, by identity; it keeps them alive.

    Each expression is added after its arguments, so depth costs neither recursion nor comparisons of trees.
    """

    def __init__(self) -> None:
        self._table = FactTable()
        self._fills: dict[int, Node] = {}
        self._alive: list[LogicExpr] = []

    def add(self, expr: LogicExpr) -> LogicExpr:
        """`expr`, whose arguments were added before."""
        self._table.add(expr)
        self._fills[id(expr)] = self._fill_of(expr)
        self._alive.append(expr)
        return expr

    def _fill_of(self, expr: LogicExpr) -> Node:
        match expr:
            case MapJoin(op, args):
                return fold_call(op, tuple(self.fill(arg) for arg in args))
            case Aggregate(op, init, arg, over):
                return fold_repeat(op, init, self.fill(arg), tuple(f.name for f in over))
            case Reorder(arg, _) | Relabel(arg, _) | Reformat(_, arg, _) | Subquery(_, arg):
                return self.fill(arg)
            case _:
                return fill(expr)

    def fill(self, expr: LogicExpr) -> Node:
        """The value of what is not stored."""
        return self._fills[id(expr)]

    def fields(self, expr: LogicExpr) -> tuple[Field, ...]:
        """The fields, in order."""
        return self._table.fields(expr)

    def dtype(self, expr: LogicExpr) -> DType:
        """The element type."""
        return self._table.dtype(expr)
