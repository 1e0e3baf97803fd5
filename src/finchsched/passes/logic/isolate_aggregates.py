"""Give every Aggregate that is not all of a query's core a query of its own.

    R[i] := Reorder(MapJoin(mul, x[i], Aggregate(add, 0.0: float64, A[i, j], [j])), [i])
      ->
    S[i] := Reorder(Aggregate(add, 0.0: float64, A[i, j], [j]), [i])
    R[i] := Reorder(MapJoin(mul, x[i], S[i]), [i])

Equal Aggregates of one query share one.  An Aggregate that the root repeats along further axes is computed once, in a
query of its own, too.

Needs: `push_fields`.  Keeps: expression trees.  A new alias has a provisional type.  Where its fill names the extent
of a reduced field, that field gets a name that occurs nowhere else in the plan.

Source: `isolate_aggregates` of Finch's logical compiler.
"""

from finchsched.ast.facts import fields
from finchsched.ast.logic import Aggregate, Field, LogicExpr, Plan, Query, Table
from finchsched.ast.names import Names
from finchsched.ast.node import walk
from finchsched.ast.scalar import Size
from finchsched.passes.logic.own_query import own_query, provisional_type
from finchsched.passes.logic.query_root import Root, subexpressions, transform, with_core
from finchsched.passes.logic.substitute_fields import substitute_fields
from finchsched.rewrite.rule import RuleContext

__all__ = ["isolate_aggregates"]


def isolate_aggregates(plan: Plan, ctx: RuleContext) -> Plan:
    """f(Aggregate(g, x, I))  ->  S := Aggregate(g, x, I);  f(S)"""
    bodies: list[Query] = []
    for query in plan.bodies:
        root = Root.of(query)
        core = root.core
        if isinstance(core, Aggregate) and set(fields(core)) == set(root.order):
            core = core.replace(arg=_isolate(core.arg, plan, ctx.names, bodies))
        else:
            core = _isolate(core, plan, ctx.names, bodies)
        bodies.append(with_core(query, core))
    return plan if tuple(bodies) == plan.bodies else Plan(tuple(bodies), plan.result)


def _isolate(root: LogicExpr, plan: Plan, names: Names, bodies: list[Query]) -> LogicExpr:
    """`root` reading its Aggregates; their queries are appended to `bodies`, inner ones first."""
    made: dict[Aggregate, Table] = {}

    def change(node: LogicExpr) -> LogicExpr:
        if not isinstance(node, Aggregate):
            return node
        if node not in made:
            query, made[node] = own_query(_with_own_sizes(node, plan, names), fields(node), names)
            bodies.append(query)
        return made[node]

    return transform(root, change)


def _with_own_sizes(node: Aggregate, plan: Plan, names: Names) -> Aggregate:
    """The Aggregate with fresh names for reduced fields whose extent its fill names, if they occur elsewhere too."""
    sizes = {n.index for n in walk(provisional_type(node, len(fields(node))).fill) if isinstance(n, Size)}
    held = {i for e in subexpressions(node) if isinstance(e, Table) for i in e.index}
    clashing = [f for f in node.over if f.name in sizes and f in held and _count(plan, f) > _count(node, f)]
    if not clashing:
        return node
    fresh = {f: Field(names.fresh(f.name)) for f in clashing}
    indices = {f: fresh.get(f, f) for f in fields(node.arg)}
    over = tuple(fresh.get(f, f) for f in node.over)
    return node.replace(arg=substitute_fields(node.arg, indices, names), over=over)


def _count(node: Plan | LogicExpr, field: Field) -> int:
    return sum(1 for n in walk(node) if n == field)
