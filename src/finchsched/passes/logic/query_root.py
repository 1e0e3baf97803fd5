"""A query's right-hand side, taken apart at its root: `[Reformat(type, ·)] (Reorder(core, order))`."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from finchsched.ast.facts import fields
from finchsched.ast.logic import (
    Aggregate,
    Alias,
    Coordinate,
    Field,
    LogicExpr,
    MapJoin,
    Plan,
    Query,
    Reformat,
    Relabel,
    Reorder,
    Slot,
    Subquery,
    Table,
)
from finchsched.ast.node import Node, walk
from finchsched.ast.scalar import Size, Value

__all__ = [
    "Root",
    "all_names",
    "count_uses",
    "named_fields",
    "operands",
    "result_names",
    "subexpressions",
    "transform",
    "with_core",
    "with_operands",
]


@dataclass(frozen=True, slots=True)
class Root:
    """The parts of a right-hand side.  `order` are its fields, those that `core` does not have included."""

    core: LogicExpr
    order: tuple[Field, ...]
    reformat: Reformat | None

    @staticmethod
    def of(query: Query) -> "Root":
        """The parts of a query.  A root without Reorder has its fields in order already."""
        reformat, expr = None, query.rhs
        if isinstance(expr, Reformat):
            reformat, expr = expr, expr.arg
        if isinstance(expr, Reorder):
            return Root(expr.arg, expr.fields, reformat)
        return Root(expr, fields(expr), reformat)


def with_core(query: Query, core: LogicExpr) -> Query:
    """The query with another core, its order and Reformat as they were."""
    root = Root.of(query)
    rhs: LogicExpr = Reorder(core, root.order)
    if root.reformat is not None:
        rhs = root.reformat.replace(arg=rhs)
    return query if rhs == query.rhs else query.replace(rhs=rhs)


def operands(expr: Node) -> tuple[LogicExpr, ...]:
    """The direct subexpressions of a Logic expression."""
    match expr:
        case MapJoin(_, args):
            return args
        case Aggregate(_, _, arg, _) | Reorder(arg, _) | Relabel(arg, _) | Reformat(_, arg, _) | Subquery(_, arg):
            return (arg,)
        case _:
            return ()


def with_operands(expr: LogicExpr, args: Sequence[LogicExpr]) -> LogicExpr:
    """`expr` over other operands; the same object if they are the same."""
    if all(a is b for a, b in zip(operands(expr), args, strict=True)):
        return expr
    return expr.replace(args=tuple(args)) if isinstance(expr, MapJoin) else expr.replace(arg=args[0])


def subexpressions(expr: LogicExpr) -> list[LogicExpr]:
    """Every occurrence of every subexpression, parents first, left to right, without recursion."""
    found: list[LogicExpr] = []
    stack = [expr]
    while stack:
        here = stack.pop()
        found.append(here)
        stack.extend(reversed(operands(here)))
    return found


def transform(root: LogicExpr, change: Callable[[LogicExpr], LogicExpr]) -> LogicExpr:
    """`change` applied to every subexpression, operands first, left to right, without recursion."""
    results: list[LogicExpr] = []
    stack: list[tuple[LogicExpr, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if not ready:
            stack.append((node, True))
            stack.extend((arg, False) for arg in reversed(operands(node)))
            continue
        start = len(results) - len(operands(node))
        built = with_operands(node, results[start:])
        del results[start:]
        results.append(change(built))
    return results[0]


def named_fields(expr: LogicExpr) -> tuple[Field, ...]:
    """The fields that an expression names itself, not through its operands."""
    match expr:
        case Coordinate(field):
            return (field,)
        case Table(_, index):
            return tuple(i for i in index if isinstance(i, Field))
        case Aggregate(_, _, _, found) | Reorder(_, found) | Relabel(_, found):
            return found
        case _:
            return ()


def count_uses(plan: Plan) -> Counter[str]:
    """How many Tables read each alias."""
    return Counter(
        node.tensor.name
        for query in plan.bodies
        for node in subexpressions(query.rhs)
        if isinstance(node, Table) and isinstance(node.tensor, Alias)
    )


def result_names(plan: Plan) -> frozenset[str]:
    """Names of the aliases that the plan returns; for membership only."""
    return frozenset(alias.name for alias in plan.result.aliases)


def all_names(plan: Plan) -> tuple[str, ...]:
    """Names of fields, tensors and values of a plan, by first appearance: what `Names` is to be seeded with."""
    found: dict[str, None] = {}
    for node in walk(plan):
        if isinstance(node, Field | Slot | Alias | Value):
            found[node.name] = None
        elif isinstance(node, Size):
            found[node.index] = None
    return tuple(found)
