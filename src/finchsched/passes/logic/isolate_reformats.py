"""Give every Reformat that is not at a query's root a query of its own.

    R[i] := MapJoin(add, x[i], Reformat(SparseList[int64,int64](Element(0.0: float64)), y[i], drop_fill))
      ->
    S[i] := Reformat(SparseList[int64,int64](Element(0.0: float64)), y[i], drop_fill)
    R[i] := MapJoin(add, x[i], S[i])

A Reformat under nothing but Relabels, permutations and other Reformats moves up to the root first, its `perm`
following the axes, so that no copy is made for it.

Needs: no Subquery.  Keeps: expression trees, the order of evaluation.  The alias of a new query has the Reformat's
type.

Source: `isolate_reformats` and `propagate_into_reformats` of Finch's logical compiler.
"""

from finchsched.ast.facts import fields
from finchsched.ast.logic import LogicExpr, Plan, Query, Reformat, Relabel, Reorder
from finchsched.ast.names import Names
from finchsched.ast.node import Node
from finchsched.passes.logic.own_query import own_query
from finchsched.passes.logic.query_root import transform
from finchsched.rewrite import Chain, PostWalk, RuleContext, rewrite, rule

__all__ = ["isolate_reformats"]


@rule
def lift_reformat_over_relabel(node: Node, ctx: RuleContext) -> Node | None:
    """Relabel(Reformat(T, x), F)  ->  Reformat(T, Relabel(x, F))"""
    match node:
        case Relabel(Reformat(type_, x, drop_fill), order):
            return Reformat(type_, Relabel(x, order), drop_fill)
        case _:
            return None


@rule
def lift_reformat_over_permutation(node: Node, ctx: RuleContext) -> Node | None:
    """Reorder(Reformat(T, x), F)  ->  Reformat(T permuted, Reorder(x, F))      when F permutes the fields of x"""
    match node:
        case Reorder(Reformat(type_, x, drop_fill), order) if set(order) == set(fields(x)):
            perm = tuple(order.index(fields(x)[axis]) for axis in type_.perm)
            return Reformat(type_.replace(perm=perm), Reorder(x, order), drop_fill)
        case _:
            return None


@rule
def merge_reformats(node: Node, ctx: RuleContext) -> Node | None:
    """Reformat(T, Reformat(U, x))  ->  Reformat(T, x)      which drops the fill if either does"""
    match node:
        case Reformat(type_, Reformat(_, x, inner), outer):
            return Reformat(type_, x, inner or outer)
        case _:
            return None


_LIFT = PostWalk(Chain((lift_reformat_over_relabel, lift_reformat_over_permutation, merge_reformats)))


def isolate_reformats(plan: Plan, ctx: RuleContext) -> Plan:
    """f(Reformat(T, x))  ->  S := Reformat(T, x);  f(S)"""
    bodies: list[Query] = []
    for query in plan.bodies:
        rhs = rewrite(query.rhs, _LIFT, ctx)
        if isinstance(rhs, Reformat):
            rhs = rhs.replace(arg=_isolate(rhs.arg, ctx.names, bodies))
        else:
            rhs = _isolate(rhs, ctx.names, bodies)
        bodies.append(query if rhs == query.rhs else query.replace(rhs=rhs))
    return plan if tuple(bodies) == plan.bodies else Plan(tuple(bodies), plan.result)


def _isolate(root: LogicExpr, names: Names, bodies: list[Query]) -> LogicExpr:
    def change(node: LogicExpr) -> LogicExpr:
        if not isinstance(node, Reformat):
            return node
        query, table = own_query(node, fields(node), names)
        bodies.append(query)
        return table

    return transform(root, change)
