"""Substitute indices for the fields of an expression, through all Relabels and Reorders and past bound fields."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from finchsched.ast.facts import fields
from finchsched.ast.logic import (
    Aggregate,
    Coordinate,
    Field,
    IndexExpr,
    LogicExpr,
    MapJoin,
    Reformat,
    Relabel,
    Reorder,
    Subquery,
    Table,
)
from finchsched.ast.names import Names
from finchsched.ast.scalar import Literal, Value, int_literal
from finchsched.errors import RewriteError
from finchsched.passes.logic.query_root import operands

__all__ = ["substitute_fields"]

_Indices: TypeAlias = Mapping[Field, IndexExpr]


@dataclass(frozen=True, slots=True)
class _Visit:
    """An expression to rewrite: what stands for its fields, and the fields that a bound one must not be called."""

    expr: LogicExpr
    indices: _Indices
    scope: frozenset[Field]


@dataclass(frozen=True, slots=True)
class _Build:
    """A MapJoin or Aggregate to build over the results of its operands; `over` are the new bound fields."""

    expr: MapJoin | Aggregate
    over: tuple[Field, ...] = ()


def substitute_fields(
    expr: LogicExpr, indices: _Indices, names: Names, scope: frozenset[Field] = frozenset()
) -> LogicExpr:
    """`expr` with `indices` in the place of its fields; no Relabel or Reorder is left.

    A field that a Reorder leaves out has extent 1 and becomes the coordinate 0.  A field that a Reorder adds
    disappears, since maps repeat by field; an Aggregate over one is left with a field in `over` that its argument
    does not have.  A bound field that would meet one of `scope` or of `indices` gets a fresh name.  Raises
    RewriteError for a Subquery or a Reformat, which must have queries of their own by then.
    """
    results: list[LogicExpr] = []
    stack: list[_Visit | _Build] = [_Visit(expr, indices, scope)]
    while stack:
        step = stack.pop()
        if isinstance(step, _Build):
            start = len(results) - len(operands(step.expr))
            built = _build(step, tuple(results[start:]))
            del results[start:]
            results.append(built)
        elif isinstance(step.expr, MapJoin):
            stack.append(_Build(step.expr))
            stack.extend(_Visit(arg, step.indices, step.scope) for arg in reversed(step.expr.args))
        elif isinstance(step.expr, Aggregate):
            stack.extend(_enter_aggregate(step.expr, step, names))
        elif isinstance(step.expr, Relabel | Reorder):
            stack.append(_Visit(step.expr.arg, _inner(step.expr, step.indices), step.scope))
        else:
            results.append(_leaf(step.expr, step.indices))
    return results[0]


def _build(step: _Build, args: tuple[LogicExpr, ...]) -> LogicExpr:
    match step.expr:
        case MapJoin(op, _):
            return MapJoin(op, args)
        case Aggregate(op, init, _, _):
            return Aggregate(op, init, args[0], step.over)


def _inner(expr: Relabel | Reorder, indices: _Indices) -> _Indices:
    """The indices of the argument's fields."""
    inner = fields(expr.arg)
    if isinstance(expr, Relabel):
        return {old: indices[new] for old, new in zip(inner, expr.fields, strict=True)}
    return {f: indices[f] if f in expr.fields else int_literal(0) for f in inner}


def _enter_aggregate(expr: Aggregate, step: _Visit, names: Names) -> tuple[_Build, _Visit]:
    free = {f: step.indices[f] for f in fields(expr.arg) if f not in expr.over}
    taken = step.scope | {index for index in free.values() if isinstance(index, Field)}
    bound = {f: Field(names.fresh(f.name)) if f in taken else f for f in expr.over}
    over = tuple(bound.values())
    return _Build(expr, over), _Visit(expr.arg, {**free, **bound}, taken | set(over))


def _leaf(expr: LogicExpr, indices: _Indices) -> LogicExpr:
    match expr:
        case Literal() | Value():
            return expr
        case Coordinate(field):
            index = indices[field]
            return Coordinate(index) if isinstance(index, Field) else index
        case Table(tensor, index):
            return Table(tensor, tuple(indices[i] if isinstance(i, Field) else i for i in index))
        case Subquery(alias, _):
            raise RewriteError(f"subquery {alias.name} has no query of its own yet\nhint: run lift_subqueries first")
        case Reformat(type_, _, _):
            raise RewriteError(f"a Reformat to {type_} is not at the root\nhint: run isolate_reformats first")
        case _:
            raise TypeError(f"{type(expr).__name__} is not a leaf of Logic IR")
