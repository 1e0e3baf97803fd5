"""Give an expression a query of its own."""

from finchsched.ast.facts import dtype, fill, one_fill
from finchsched.ast.format import TensorType
from finchsched.ast.logic import Alias, Field, LogicExpr, Query, Reformat, Reorder, Table
from finchsched.ast.names import Names
from finchsched.formats.levels import Dense

__all__ = ["own_query", "provisional_type"]


def own_query(expr: LogicExpr, order: tuple[Field, ...], names: Names) -> tuple[Query, Table]:
    """A query that makes `expr` under a fresh alias with the axes `order`, and the Table that reads it.

    The alias of a Reformat has the type that it asks for; of anything else the provisional one.  `order` has all
    fields of `expr`; more are axes along which it is repeated.
    """
    name = names.fresh("S")
    if isinstance(expr, Reformat):
        alias = Alias(name, expr.type)
        return Query(alias, expr, ()), Table(alias, order)
    alias = Alias(name, provisional_type(expr, len(order)))
    return Query(alias, Reorder(expr, order), ()), Table(alias, order)


def provisional_type(expr: LogicExpr, rank: int) -> TensorType:
    """All-Dense, in the order of the fields, with the element type and the fill of `expr`.

    A fill that differs from place to place is no scalar; zero stands for it.
    """
    element = dtype(expr)
    return TensorType((Dense(),) * rank, tuple(range(rank)), element, one_fill(fill(expr), element))
