"""Inline pointwise queries into their consumers, and merge nested reductions by one operator, to a fixpoint.

    S[i, k] := Reorder(MapJoin(exp, A[i, k]), [i, k])
    T[a, b, c] := Reorder(MapJoin(mul, S[a, b], B[b, c]), [a, b, c])
    R[i, j] := Reorder(Aggregate(add, 0.0: float64, T[i, k, j], [k]), [i, j])
      ->
    R[i, j] := Reorder(Aggregate(add, 0.0: float64, MapJoin(mul, MapJoin(exp, A[i, k]), B[k, j]), [k]), [i, j])

A query that is no result and has no Reformat is inlined
 * if it is pointwise and used once, or so cheap that computing it again costs no more than reading it: one leaf under
   casts and unary operators;
 * if it is an Aggregate that is used once, where it is all of a consumer's core and not repeated along further axes, or
   a mergeable Aggregate reduces it.
Where that would lose a field that only the query's Reorder adds, the consumer reads the query as before.

Needs: `push_fields`.  Keeps: expression trees as they are, by the mask rule: an alias inherits the mask of its
right-hand side.  A query without tables becomes a scalar operand, of which a fully stored temporary is the other
licensed reading.

Source: `propagate_map_queries` and `propagate_map_queries_backward` of Finch's logical compiler.
"""

from collections import Counter
from collections.abc import Mapping

from finchsched.ast.facts import fields, is_identity
from finchsched.ast.logic import Aggregate, Field, LogicExpr, MapJoin, Plan, Query, Table
from finchsched.ast.names import Names
from finchsched.ast.node import Node
from finchsched.passes.logic.query_root import (
    Root,
    count_uses,
    named_fields,
    result_names,
    subexpressions,
    transform,
    with_core,
)
from finchsched.passes.logic.substitute_fields import substitute_fields
from finchsched.rewrite import Chain, PostWalk, RuleContext, rewrite, rule

__all__ = ["propagate_map_queries"]


@rule
def merge_nested_aggregates(node: Node, ctx: RuleContext) -> Node | None:
    """Aggregate(f, Aggregate(f, x, I), J)  ->  Aggregate(f, x, I + J)      when `_mergeable`"""
    match node:
        case Aggregate(op, init, Aggregate(_, _, x, inner) as producer, outer) if _mergeable(node, producer):
            return Aggregate(op, init, x, inner + outer)
        case _:
            return None


@rule
def drop_empty_aggregate(node: Node, ctx: RuleContext) -> Node | None:
    """Aggregate(f, init, x, [])  ->  MapJoin(f, init, x), or x      when init is the identity"""
    match node:
        case Aggregate(op, init, x, ()):
            return x if is_identity(op, init) else MapJoin(op, (init, x))
        case _:
            return None


_SIMPLIFY = PostWalk(Chain((drop_empty_aggregate, merge_nested_aggregates)))


def _mergeable(consumer: Aggregate, producer: LogicExpr) -> bool:
    """Whether both reduce by one associative and commutative operator in one type, the inner from its identity."""
    return (
        isinstance(producer, Aggregate)
        and producer.op == consumer.op
        and consumer.op.associative
        and consumer.op.commutative
        and producer.init.dtype == consumer.init.dtype
        and is_identity(producer.op, producer.init)
    )


def propagate_map_queries(plan: Plan, ctx: RuleContext) -> Plan:
    """S := f(x);  g(S)  ->  g(f(x))"""
    while True:
        after = _propagate_once(plan, ctx)
        if after == plan:
            return plan
        plan = after


def _propagate_once(plan: Plan, ctx: RuleContext) -> Plan:
    uses, results = count_uses(plan), result_names(plan)
    producers: dict[str, Root] = {}
    bodies: list[Query] = []
    for query in plan.bodies:
        root = Root.of(query)
        core = rewrite(_inline(root, producers, ctx.names), _SIMPLIFY, ctx)
        query = with_core(query, core)
        bodies.append(query)
        name = query.alias.name
        if name not in results and root.reformat is None and (uses[name] == 1 or _is_cheap(core)):
            producers[name] = Root.of(query)
    return _without_unused(Plan(tuple(bodies), plan.result), producers)


def _is_cheap(expr: LogicExpr) -> bool:
    """One leaf under casts and unary operators."""
    while isinstance(expr, MapJoin) and expr.op.arity == 1:
        expr = expr.args[0]
    return not isinstance(expr, MapJoin | Aggregate)


def _inline(root: Root, producers: Mapping[str, Root], names: Names) -> LogicExpr:
    """The consumer's core with producers in it; those that add fields only where no field gets lost."""
    core = _substitute_producers(root, producers, names)
    if core is root.core or _keeps_fields(root.core, core):
        return core
    plain = {name: p for name, p in producers.items() if set(p.order) == set(fields(p.core))}
    return _substitute_producers(root, plain, names)


def _keeps_fields(before: LogicExpr, after: LogicExpr) -> bool:
    """Whether the core has its fields still, and every Aggregate those that it reduces."""
    lost: list[Field] = []

    def check(node: LogicExpr) -> LogicExpr:
        if isinstance(node, Aggregate):
            lost.extend(f for f in node.over if f not in fields(node.arg))
        return node

    after = transform(after, check)
    return not lost and set(fields(after)) == set(fields(before))


def _substitute_producers(root: Root, producers: Mapping[str, Root], names: Names) -> LogicExpr:
    scope = frozenset(root.order) | {f for e in subexpressions(root.core) for f in named_fields(e)}

    def expand(table: Table) -> LogicExpr:
        producer = producers[table.tensor.name]
        return substitute_fields(producer.core, dict(zip(producer.order, table.index, strict=True)), names, scope)

    def change(node: LogicExpr) -> LogicExpr:
        match node:
            case Table() if node.tensor.name in pointwise:
                return expand(node)
            case Aggregate(_, _, Table() as table, _) if table.tensor.name in producers:
                return node.replace(arg=expand(table)) if _mergeable(node, producers[table.tensor.name].core) else node
            case _:
                return node

    pointwise = {name for name, producer in producers.items() if not isinstance(producer.core, Aggregate)}
    whole = root.core
    if isinstance(whole, Table) and whole.tensor.name in producers and set(fields(whole)) == set(root.order):
        return expand(whole)
    return transform(whole, change)


def _without_unused(plan: Plan, producers: Mapping[str, Root]) -> Plan:
    """The plan without the producers that nothing reads any more."""
    uses: Counter[str] = count_uses(plan)
    kept = tuple(q for q in plan.bodies if q.alias.name not in producers or uses[q.alias.name] > 0)
    return Plan(kept, plan.result)
