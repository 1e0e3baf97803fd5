"""Schedule a normalized plan: result types, loop orders, and the transposed copies that make every access
concordant.
"""

from finchsched.ast.facts import fields, one_fill
from finchsched.ast.format import TensorType
from finchsched.ast.logic import Alias, Field, Plan, Produces, Query, Reformat, Reorder, Table
from finchsched.ast.loop import Access, Index
from finchsched.ast.node import Node, walk
from finchsched.ast.scalar import Size, Value
from finchsched.autoschedule.fuse_producers import with_types
from finchsched.autoschedule.loop_order import choose_loop_order, is_concordant, loop_depths
from finchsched.autoschedule.output_format import choose_output_type, listed_type
from finchsched.autoschedule.structure import NONE_HUGE, Huge, huge_result
from finchsched.autoschedule.transposes import Transposes
from finchsched.passes.loop.query_form import QueryForm, query_form
from finchsched.rewrite import PostWalk, RuleContext, rewrite

__all__ = ["schedule_plan"]


def schedule_plan(plan: Plan, *, wide: bool, huge: Huge = NONE_HUGE) -> Plan:
    """`plan` with final types and loop orders, and with queries that make transposed copies before their first use.

    huge: axes along which nothing should be dense.
    """
    types: dict[str, TensorType] = {}
    sizes = dict(huge)
    transposes = Transposes(wide, sizes)
    bodies: list[Query] = []
    for query in [part for body in plan.bodies for part in _reduce_then_drop(body)]:
        query = _with_fill(with_types(query, types))
        form = query_form(query)
        type_ = choose_output_type(form, wide=wide, huge=sizes)
        chosen = choose_loop_order(form, type_, sizes)
        listed = listed_type(form, type_, sizes)
        if listed is not None:
            other = choose_loop_order(form, listed, sizes)
            if other.cost < chosen.cost:
                type_, chosen = listed, other
        sizes[query.alias.name] = huge_result(form, sizes)
        query = _with_copies(query, form, chosen.order, transposes)
        bodies += transposes.take()
        types[query.alias.name] = type_
        order = tuple(Field(name) for name in chosen.order)
        bodies.append(Query(Alias(query.alias.name, type_), query.rhs, order))
    results = tuple(Alias(alias.name, types[alias.name]) for alias in plan.result.aliases)
    return Plan(tuple(bodies), Produces(results))


def _reduce_then_drop(query: Query) -> tuple[Query, ...]:
    """Split a reduction whose result is to be stored without its fills: reduce first, then copy what differs."""
    rhs = query.rhs
    if not isinstance(rhs, Reformat) or not rhs.drop_fill or not query_form(query).op:
        return (query,)
    whole = Alias(f"{query.alias.name}_whole", query.alias.type)
    index = fields(rhs.arg)
    copy = Reformat(rhs.type, Reorder(Table(whole, index), index), True)
    return Query(whole, rhs.arg, ()), Query(query.alias, copy, ())


def _with_fill(query: Query) -> Query:
    """The query with a fill that is known while it runs.

    A fill that depends on extents is a number only once the query has run; inside the plan it is a Value of that name.
    """
    type_ = query.alias.type
    found = type_.fill
    if any(isinstance(n, Size) for n in walk(found)):
        found = Value(f"{query.alias.name}_fill", type_.dtype, "any")
    else:
        found = one_fill(found, type_.dtype)
    return query.replace(alias=Alias(query.alias.name, type_.replace(fill=found)))


def _with_copies(query: Query, form: QueryForm, order: tuple[str, ...], transposes: Transposes) -> Query:
    """The query reading transposed copies where an access would not be concordant."""
    copies: dict[tuple[str, tuple[str, ...]], Alias] = {}
    tables = {_key(t): t for t in walk(query.rhs) if isinstance(t, Table)}
    for access in form.accesses():
        if is_concordant(access, order):
            continue
        depths = loop_depths(access, order)
        wanted = tuple(axis for _, axis in sorted(zip(depths, access.tensor.type.perm, strict=True)))
        copies[_key(access)] = transposes.copy_of(tables[_key(access)].tensor, wanted)

    def reroute(node: Node, _: RuleContext) -> Node | None:
        if isinstance(node, Table) and _key(node) in copies:
            return Table(copies[_key(node)], node.index)
        return None

    return rewrite(query, PostWalk(reroute)) if copies else query


def _key(read: Table | Access) -> tuple[str, tuple[str, ...]]:
    """What a Table has in common with the Access it is lowered to: tensor and index names, "" for a constant."""
    return read.tensor.name, tuple(i.name if isinstance(i, Field | Index) else "" for i in read.index)
