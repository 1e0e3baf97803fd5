"""The normal form of Logic IR, and the passes that reach it.

In normal form a plan has no Subquery, and every right-hand side is

    rhs        ::=  Reorder(core, output fields)  |  Reformat(type, Reorder(core, output fields))
    core       ::=  Aggregate(op, init, pointwise, over)  |  pointwise
    pointwise  ::=  MapJoin(op, pointwise, ...)  |  Table  |  Coordinate  |  Literal  |  Value

where `over` is not empty, no reduced field is called like an output field, and an output field that a pointwise core
does not have is an axis along which it is repeated.

The order is Finch's, except that Reformats are isolated first, because no label crosses one, and fields are named
last, because earlier passes make new ones.  `normalize_names` comes after it, on its own, since its caller needs the
old names. Passes of Finch's normal form that this IR leaves nothing to do for:

 * isolate_tables: a Table may stand beside maps, with its indices in any order;
 * propagate_fields: a Query's fields are those of its right-hand side; no list of them is held apart;
 * push_fields a second and third time: Reorder and Relabel never come back below the root;
 * propagate_into_reformats: a Reformat is at the root of the query that makes its argument (`isolate_reformats`);
 * materialize_squeeze_expand_productions: a squeezed axis is a constant coordinate, an added one stays at the root;
 * set_loop_order, concordize: loop orders and storage are the physical autoscheduler's matter.

Source: the pipeline of Finch's `LogicStandardizer` (normalization before lowering).
"""

from collections.abc import Callable
from typing import TypeAlias

from finchsched.ast.facts import fields
from finchsched.ast.logic import Aggregate, Coordinate, LogicExpr, MapJoin, Plan, Query, Reformat, Reorder, Table
from finchsched.ast.scalar import Literal, Value
from finchsched.passes.logic.drop_unused_queries import drop_unused_queries
from finchsched.passes.logic.isolate_aggregates import isolate_aggregates
from finchsched.passes.logic.isolate_reformats import isolate_reformats
from finchsched.passes.logic.lift_subqueries import lift_subqueries
from finchsched.passes.logic.pretty_labels import pretty_labels
from finchsched.passes.logic.propagate_copy_queries import propagate_copy_queries
from finchsched.passes.logic.propagate_map_queries import propagate_map_queries
from finchsched.passes.logic.propagate_transpose_queries import propagate_transpose_queries
from finchsched.passes.logic.push_fields import push_fields
from finchsched.passes.logic.query_root import subexpressions
from finchsched.passes.logic.split_wide_unions import split_wide_unions
from finchsched.rewrite.rule import RuleContext

__all__ = ["NORMAL_FORM", "LogicPass", "is_normal_form", "normalize"]

LogicPass: TypeAlias = Callable[[Plan, RuleContext], Plan]

NORMAL_FORM: tuple[tuple[str, LogicPass], ...] = (
    ("lift_subqueries", lift_subqueries),
    ("isolate_reformats", isolate_reformats),
    ("push_fields", push_fields),
    ("drop_unused_queries", drop_unused_queries),
    ("propagate_map_queries", propagate_map_queries),
    ("isolate_aggregates", isolate_aggregates),
    ("propagate_copy_queries", propagate_copy_queries),
    ("propagate_transpose_queries", propagate_transpose_queries),
    ("split_wide_unions", split_wide_unions),
    ("pretty_labels", pretty_labels),
)
"""The passes by name, in order.  Each takes a valid plan and gives a valid plan that means the same."""


def normalize(plan: Plan, ctx: RuleContext) -> tuple[Plan, list[tuple[str, Plan]]]:
    """The plan in normal form, and the plan after each pass.

    The names of `ctx` must be seeded with those of the plan (`finchsched.passes.logic.query_root.all_names`).
    """
    stages: list[tuple[str, Plan]] = []
    for name, logic_pass in NORMAL_FORM:
        plan = logic_pass(plan, ctx)
        stages.append((name, plan))
    return plan, stages


def is_normal_form(plan: Plan) -> bool:
    """Whether every query of the plan has the form above."""
    return all(_is_normal(query) for query in plan.bodies)


def _is_normal(query: Query) -> bool:
    root = query.rhs.arg if isinstance(query.rhs, Reformat) else query.rhs
    if not isinstance(root, Reorder):
        return False
    core, order = root.arg, root.fields
    inside = core.arg if isinstance(core, Aggregate) else core
    if not all(_is_pointwise(node) for node in subexpressions(inside)):
        return False
    if isinstance(core, Aggregate):
        return bool(core.over) and set(fields(core)) == set(order) and not any(f in order for f in core.over)
    return set(fields(core)) <= set(order)


def _is_pointwise(node: LogicExpr) -> bool:
    return isinstance(node, MapJoin | Table | Coordinate | Literal | Value)
