"""Queries that only copy or transpose: consumers read the source, or a result takes the place of the source."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from finchsched.ast.logic import Alias, Field, LogicExpr, Plan, Query, Reformat, Reorder, Slot, Table
from finchsched.passes.logic.query_root import Root, result_names, transform, with_core

__all__ = ["redirect_tables"]


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Source:
    """What to read instead of an alias: axis k of `tensor` is axis `axes[k]` of the alias."""

    tensor: Slot | Alias
    axes: tuple[int, ...]

    def index(self, index: tuple[T, ...]) -> tuple[T, ...]:
        """The indices of the alias, rearranged for the source."""
        return tuple(index[axis] for axis in self.axes)


def redirect_tables(plan: Plan, *, permuted: bool) -> Plan:
    """Read the sources of queries that are copies (or, with `permuted`, transposes) and nothing else.

    S := x[perm];  f(S)  ->  f(x[perm]).  A result keeps its query, unless it copies an alias that is none: then it
    takes over the query that makes that alias, and what reads the alias reads the result.
    """
    results = result_names(plan)
    sources: dict[str, _Source] = {}
    taken: dict[str, _Source] = {}
    bodies: list[Query] = []
    for query in plan.bodies:
        query = _reading(query, sources)
        source = _source_of(query)
        if source is None or (source.axes != tuple(range(len(source.axes)))) != permuted:
            bodies.append(query)
            continue
        old = source.tensor
        if query.alias.name not in results:
            sources[query.alias.name] = source
        elif isinstance(old, Slot) or old.name in results or old.name in taken:
            sources[query.alias.name] = source
            bodies.append(query)
        else:
            inverse = tuple(source.axes.index(axis) for axis in range(len(source.axes)))
            taken[old.name] = _Source(query.alias, inverse)
    after = tuple(_reading(_taken_over(query, taken), taken) for query in bodies)
    return plan if after == plan.bodies else Plan(after, plan.result)


def _source_of(query: Query) -> _Source | None:
    """What a query copies or transposes, if it does nothing else."""
    root = Root.of(query)
    if root.reformat is not None or not isinstance(root.core, Table):
        return None
    index = tuple(i for i in root.core.index if isinstance(i, Field))
    if len(index) < len(root.core.index) or len(set(index)) < len(index) or set(index) != set(root.order):
        return None
    return _Source(root.core.tensor, tuple(root.order.index(i) for i in index))


def _reading(query: Query, sources: Mapping[str, _Source]) -> Query:
    def change(node: LogicExpr) -> LogicExpr:
        match node:
            case Table(Alias(name, _), index) if name in sources:
                return Table(sources[name].tensor, sources[name].index(index))
            case _:
                return node

    return with_core(query, transform(Root.of(query).core, change))


def _taken_over(query: Query, taken: Mapping[str, _Source]) -> Query:
    """The query under the name of the result that takes it over, its axes in the result's order."""
    result = taken.get(query.alias.name)
    if result is None or not isinstance(result.tensor, Alias):
        return query
    root = Root.of(query)
    rhs: LogicExpr = Reorder(root.core, result.index(root.order))
    if root.reformat is not None:
        rhs = _reformat(root.reformat, result.axes, rhs)
    return Query(result.tensor, rhs, query.loop_order)


def _reformat(old: Reformat, axes: tuple[int, ...], arg: LogicExpr) -> Reformat:
    perm = tuple(axes.index(axis) for axis in old.type.perm)
    return Reformat(old.type.replace(perm=perm), arg, old.drop_fill)
