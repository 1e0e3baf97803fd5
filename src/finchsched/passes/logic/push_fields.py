"""Push Relabel and Reorder down to the Tables and Coordinates; one Reorder stays, at the root.

    R[a] := Relabel(Aggregate(add, 0.0: float64, Relabel(MapJoin(mul, A[i, j], x[j]), [k, l]), [l]), [a])
      ->
    R[a] := Reorder(Aggregate(add, 0.0: float64, MapJoin(mul, A[a, l], x[l]), [l]), [a])

A field that a Reorder leaves out has extent 1: below, it becomes the coordinate 0.  A field that a Reorder adds is
kept at the root only, because maps repeat by field; an Aggregate over such a field reads it from a query of its own.

Needs: no Subquery (`lift_subqueries`), no Reformat but at the root (`isolate_reformats`); RewriteError otherwise.  A
field whose extent no table of its query gives is known by its name, also after a Relabel.  Keeps: expression trees,
all aliases and types; bound fields get fresh names only where one would be captured.

Source: `push_fields` of Finch's logical compiler.
"""

from finchsched.ast.facts import fields
from finchsched.ast.logic import Aggregate, LogicExpr, Plan, Query, Reformat, Reorder
from finchsched.ast.names import Names
from finchsched.passes.logic.own_query import own_query
from finchsched.passes.logic.query_root import transform
from finchsched.passes.logic.substitute_fields import substitute_fields
from finchsched.rewrite.rule import RuleContext

__all__ = ["push_fields"]


def push_fields(plan: Plan, ctx: RuleContext) -> Plan:
    """Query(S, x)  ->  Query(S, Reorder(x without Relabel and Reorder, fields of x))"""
    bodies: list[Query] = []
    for query in plan.bodies:
        rhs = query.rhs
        if isinstance(rhs, Reformat):
            rhs = rhs.replace(arg=_push(rhs.arg, ctx.names, bodies))
        else:
            rhs = _push(rhs, ctx.names, bodies)
        bodies.append(query if rhs == query.rhs else query.replace(rhs=rhs))
    return plan if tuple(bodies) == plan.bodies else Plan(tuple(bodies), plan.result)


def _push(expr: LogicExpr, names: Names, bodies: list[Query]) -> LogicExpr:
    order = fields(expr)
    core = substitute_fields(expr, {f: f for f in order}, names, frozenset(order))
    return Reorder(_materialize_repetition(core, names, bodies), order)


def _materialize_repetition(root: LogicExpr, names: Names, bodies: list[Query]) -> LogicExpr:
    """Aggregate(f, x, I)  ->  S := Reorder(x, fields of x and I);  Aggregate(f, S, I)      where x lacks some of I"""

    def change(node: LogicExpr) -> LogicExpr:
        if not isinstance(node, Aggregate) or all(f in fields(node.arg) for f in node.over):
            return node
        query, table = own_query(node.arg, tuple(dict.fromkeys(fields(node.arg) + node.over)), names)
        bodies.append(query)
        return node.replace(arg=table)

    return transform(root, change)
