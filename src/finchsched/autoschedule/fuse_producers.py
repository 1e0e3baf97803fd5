"""Fuse a producer reduction into the scope of the one query that consumes it, where that is cheaper than storing it.

    T[i, j] := sum over k of X[i, k] * Y[j, k];  S[i, j] := A[i, j] * T[i, j]
      ->  S[i, j] := A[i, j] * (sum over k of X[i, k] * Y[j, k])

The sum then runs only where A is stored (an SDDMM), and T is never made.  No algebraic law is needed: the same sums
are taken in the same order.  The choice compares symbolic costs; a stored element counts as much as STORE iterations.
"""

from typing import NamedTuple

from finchsched.ast.facts import fields
from finchsched.ast.format import TensorType
from finchsched.ast.logic import Aggregate, Alias, Field, LogicExpr, Plan, Query, Reformat, Reorder, Table
from finchsched.ast.node import Node, walk
from finchsched.autoschedule.loop_order import choose_loop_order
from finchsched.autoschedule.output_format import choose_output_type
from finchsched.autoschedule.structure import NONE_HUGE, Huge, entries, huge_result
from finchsched.errors import LoweringError
from finchsched.passes.loop.query_form import query_form
from finchsched.rewrite import PostWalk, RuleContext, rewrite

__all__ = ["fuse_producers", "with_types"]

STORE = 4
IMPOSSIBLE = 1 << 200


def with_types(node: Query, types: dict[str, TensorType]) -> Query:
    """A query whose aliases have the types chosen so far."""

    def retype(here: Node, _: RuleContext) -> Node | None:
        if isinstance(here, Alias) and here.name in types:
            return Alias(here.name, types[here.name])
        return None

    return rewrite(node, PostWalk(retype))


def fuse_producers(plan: Plan, ctx: RuleContext, *, wide: bool, huge: Huge = NONE_HUGE) -> Plan:
    """Fuse every producer for which it pays, first to last.

    huge: axes along which nothing should be dense.
    """
    results = {alias.name for alias in plan.result.aliases}
    bodies = list(plan.bodies)
    types: dict[str, TensorType] = {}
    sizes = dict(huge)
    for name in [query.alias.name for query in plan.bodies]:
        producer = next(q for q in bodies if q.alias.name == name)  # something may have been fused into it already
        consumers = [q for q in bodies if q is not producer and _uses(q, producer.alias)]
        typed = with_types(producer, types)
        form = query_form(typed)
        types[producer.alias.name] = choose_output_type(form, wide=wide, huge=sizes)
        sizes[producer.alias.name] = huge_result(form, sizes)
        if producer.alias.name in results or len(consumers) != 1 or not _is_reduction(producer):
            continue
        fused = _fused(producer, consumers[0], ctx)
        if fused is not None and _pays(typed, consumers[0], fused, types, _Choice(wide, sizes)):
            bodies[bodies.index(consumers[0])] = fused
            bodies.remove(producer)
    return Plan(tuple(bodies), plan.result)


def _uses(query: Query, alias: Alias) -> bool:
    return any(isinstance(n, Table) and n.tensor.name == alias.name for n in walk(query.rhs))


def _core(query: Query) -> LogicExpr:
    rhs = query.rhs.arg if isinstance(query.rhs, Reformat) else query.rhs
    return rhs.arg if isinstance(rhs, Reorder) else rhs


def _is_reduction(query: Query) -> bool:
    core = _core(query)
    if isinstance(query.rhs, Reformat) or not isinstance(core, Aggregate) or not core.over:
        return False
    return not any(isinstance(n, Aggregate) for n in walk(core.arg))


def _fused(producer: Query, consumer: Query, ctx: RuleContext) -> Query | None:
    """The consumer with the producer's reduction in place of its one use, or None if that cannot be written."""
    uses = [n for n in walk(consumer.rhs) if isinstance(n, Table) and n.tensor.name == producer.alias.name]
    core = _core(producer)
    if len(uses) != 1 or not isinstance(core, Aggregate) or _core(consumer) == uses[0]:
        return None
    index = uses[0].index
    if not all(isinstance(i, Field) for i in index) or len(set(index)) != len(index):
        return None
    names = {n.name: None for n in walk(consumer) if isinstance(n, Field)}
    renamed = dict(zip((f.name for f in fields(producer.rhs)), index, strict=True))
    for f in core.over:
        fresh = ctx.names.fresh(f.name)
        while fresh in names:
            fresh = ctx.names.fresh(f.name)
        renamed[f.name] = Field(fresh)
    moved = rewrite(core, PostWalk(lambda n, _: renamed.get(n.name) if isinstance(n, Field) else None), ctx)
    return rewrite(consumer, PostWalk(lambda n, _: moved if n == uses[0] else None), ctx)


class _Choice(NamedTuple):
    """What the choice of formats and loop orders goes by."""

    wide: bool
    huge: Huge


def _pays(producer: Query, consumer: Query, fused: Query, types: dict[str, TensorType], choice: _Choice) -> bool:
    apart = _cost(producer, choice) + _cost(with_types(consumer, types), choice)
    stored = STORE * entries(types[producer.alias.name])
    return _cost(with_types(fused, types), choice) < apart + stored


def _cost(query: Query, choice: _Choice) -> int:
    """Symbolic cost of a query, or more than any other if it cannot be written."""
    form = query_form(query)
    try:
        target = choose_output_type(form, wide=choice.wide, huge=choice.huge)
        return choose_loop_order(form, target, choice.huge).cost
    except LoweringError:
        return IMPOSSIBLE
