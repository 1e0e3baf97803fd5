"""Call the fields of each query i, j, k, ...: those of the output first, in order, then the rest as they appear.

    R[f7, f2] := Reorder(Aggregate(add, 0.0: float64, MapJoin(mul, A[f7, f4], B[f4, f2]), [f4]), [f7, f2])
      ->
    R[i, j] := Reorder(Aggregate(add, 0.0: float64, MapJoin(mul, A[i, k], B[k, j]), [k]), [i, j])

Fields whose extent is asked for by name keep theirs in all queries: those of Coordinates, those that a Size in a fill
names, and those that no Table of some query has (an axis along which it repeats).

Needs: a valid plan.  Keeps: everything but names of fields; two queries may use one letter for different extents.

Source: `pretty_labels` of Finch's logical compiler.
"""

from collections.abc import Iterator
from itertools import count

from finchsched.ast.facts import fields
from finchsched.ast.logic import Coordinate, Field, Plan, Query, Table
from finchsched.ast.node import Node, walk
from finchsched.ast.scalar import Size
from finchsched.passes.logic.query_root import subexpressions
from finchsched.rewrite import PostWalk, RuleContext, rewrite, rule

__all__ = ["pretty_labels"]

_LETTERS = "ijklmnopqrstuvwxyzabcdefgh"


def pretty_labels(plan: Plan, ctx: RuleContext) -> Plan:
    """S[f7, f2] := x[f7, f2]  ->  S[i, j] := x[i, j]"""
    kept = _kept_names(plan)
    bodies = tuple(_relabeled(query, kept, ctx) for query in plan.bodies)
    return plan if bodies == plan.bodies else Plan(bodies, plan.result)


def _kept_names(plan: Plan) -> frozenset[str]:
    names = {node.index for node in walk(plan) if isinstance(node, Size)}
    for query in plan.bodies:
        parts = subexpressions(query.rhs)
        held = {i for part in parts if isinstance(part, Table) for i in part.index}
        names |= {part.field.name for part in parts if isinstance(part, Coordinate)}
        names |= {node.name for node in walk(query) if isinstance(node, Field) and node not in held}
    return frozenset(names)


def _relabeled(query: Query, kept: frozenset[str], ctx: RuleContext) -> Query:
    occurring = dict.fromkeys(fields(query.rhs))
    occurring |= dict.fromkeys(node for node in walk(query) if isinstance(node, Field))
    letters = (name for name in _labels() if name not in kept)
    labels = {f: f if f.name in kept else Field(next(letters)) for f in occurring}

    @rule
    def relabel(node: Node, ctx: RuleContext) -> Node | None:
        """Field(f7)  ->  Field(i)"""
        return labels[node] if isinstance(node, Field) else None

    return rewrite(query, PostWalk(relabel), ctx)


def _labels() -> Iterator[str]:
    """i, j, ..., z, a, ..., h, i1, j1, ..."""
    yield from _LETTERS
    for number in count(1):
        yield from (f"{letter}{number}" for letter in _LETTERS)
