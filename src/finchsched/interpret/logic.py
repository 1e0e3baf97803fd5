"""The meaning of Logic IR: dense arrays with masks, broadcast over named fields.

Every query is evaluated in the order of the plan, whatever its loop order and the formats of its aliases.  Memory is
that of the dense iteration space of each MapJoin and Aggregate, so this is for small tensors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import assert_never, cast

import numpy as np

from finchsched.algebra.dtypes import INT64, Scalar, as_dtype
from finchsched.algebra.operators import Operator, result_type
from finchsched.ast.logic import (
    Aggregate,
    Coordinate,
    Field,
    IndexExpr,
    LogicExpr,
    MapJoin,
    Plan,
    Query,
    Reformat,
    Relabel,
    Reorder,
    Subquery,
    Table,
)
from finchsched.ast.node import Node
from finchsched.ast.scalar import Literal, Value, constant_coordinate
from finchsched.errors import IndexNameError, ShapeMismatchError, ValidationError
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.numpy_convert import stored_mask, to_dense
from finchsched.interpret.masked import (
    Array,
    Masked,
    Term,
    depends_on_coordinate,
    evaluate_scalar,
    map_terms,
    postorder,
    same_values,
    settle,
)

__all__ = ["run_logic"]

_REDUCERS: dict[str, np.ufunc] = {
    "add": np.add,
    "minplus_add": np.add,
    "maxplus_add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def run_logic(
    plan: Plan,
    slots: Mapping[str, FiberTensor],
    values: Mapping[str, Scalar],
    extents: Mapping[str, int] | None = None,
) -> list[Masked]:
    """The tensors that `plan` produces.

    slots: the tensor of each Slot.  values: the scalar of each Value; a fill that a Slot's type names as a Value is
    taken from the tensor.  extents: of fields that no table has, which only Coordinate, Reorder, Size or a repeated
    reduction name.
    Raises ShapeMismatchError where operands disagree about an extent, IndexNameError for what is not
    given.
    """
    context = _Context({}, {**_slot_fills(plan, slots), **values}, dict(extents or {}))
    for name, tensor in slots.items():
        context.tensors[name] = Masked(to_dense(tensor), stored_mask(tensor), tensor.fill)
    for query in plan.bodies:
        _run_query(context, query)
    return [_tensor(context, alias.name) for alias in plan.result.aliases]


@dataclass(slots=True)
class _Context:
    """tensors by name; values; extents that were given; extents that each field was found to have in tables."""

    tensors: dict[str, Masked]
    values: dict[str, Scalar]
    given: dict[str, int]
    found: dict[str, dict[int, None]] = field(default_factory=dict)

    def note(self, name: str, extent: int) -> None:
        self.found.setdefault(name, {})[extent] = None

    def extent(self, name: str) -> int:
        if name in self.given:
            return self.given[name]
        candidates = list(self.found.get(name, ()))
        if len(candidates) == 1:
            return candidates[0]
        what = "no table has it" if not candidates else f"tables have {', '.join(map(str, candidates))}"
        raise IndexNameError(f"the extent of field {name!r} is not known: {what}\nhint: pass it in `extents`")


@dataclass(frozen=True, slots=True, eq=False)
class _Named:
    """A term with one axis per field."""

    fields: tuple[str, ...]
    term: Term

    @property
    def shape(self) -> tuple[int, ...]:
        return self.term.values.shape


def _slot_fills(plan: Plan, slots: Mapping[str, FiberTensor]) -> dict[str, Scalar]:
    """Values that are the fill of a slot; a name under which two slots have different fills is left out."""
    found: dict[str, dict[Scalar, None]] = {}
    for node in postorder([query.rhs for query in plan.bodies], _operands):
        if isinstance(node, Table) and isinstance(node.tensor.type.fill, Value) and node.tensor.name in slots:
            found.setdefault(node.tensor.type.fill.name, {})[slots[node.tensor.name].fill] = None
    return {name: next(iter(fills)) for name, fills in found.items() if len(fills) == 1}


def _operands(node: Node) -> Sequence[Node]:
    """The subexpressions of a Logic expression."""
    match node:
        case MapJoin(_, args):
            return args
        case Aggregate(_, _, arg, _) | Reorder(arg, _) | Relabel(arg, _) | Reformat(_, arg, _) | Subquery(_, arg):
            return (arg,)
        case _:
            return ()


def _run_query(context: _Context, query: Query) -> None:
    if query.alias.name in context.tensors:
        raise ValidationError(f"{query.alias.name!r} is computed although a tensor has that name")
    nodes = postorder([query.rhs], _operands)
    for node in nodes:
        if isinstance(node, Table):
            _note_extents(context, node)
    done: dict[Node, _Named] = {}
    for node in nodes:
        done[node] = _evaluate(context, cast(LogicExpr, node), done)
    term = done[query.rhs].term
    kind = query.alias.type
    stored = np.ones(term.values.shape, np.bool) if term.stored is None else term.stored
    fill: Scalar = 0
    if not depends_on_coordinate(kind.fill, context.values):
        fill = evaluate_scalar(kind.fill, context.values, context.extent)
    elif term.stored is not None and term.fill.size > 0 and same_values(term.fill, term.fill.flat[0]).all():
        fill = term.fill.flat[0].item()
    else:
        stored = np.ones_like(stored)
    context.tensors[query.alias.name] = settle(term.values.astype(kind.dtype.numpy), stored, fill)


def _tensor(context: _Context, name: str) -> Masked:
    if name not in context.tensors:
        raise IndexNameError(f"no tensor is given for {name!r}; given are {', '.join(context.tensors) or 'none'}")
    return context.tensors[name]


def _note_extents(context: _Context, table: Table) -> None:
    shape = _tensor(context, table.tensor.name).values.shape
    if len(shape) != len(table.index):
        raise ShapeMismatchError(f"{table.tensor.name} has {len(shape)} axes; found {len(table.index)} indices")
    for index, extent in zip(table.index, shape, strict=True):
        if isinstance(index, Field):
            context.note(index.name, extent)


def _evaluate(context: _Context, expr: LogicExpr, done: Mapping[Node, _Named]) -> _Named:
    match expr:
        case Literal(_, dtype) | Value(_, dtype, _):
            value = np.asarray(evaluate_scalar(expr, context.values, context.extent), dtype.numpy)
            return _Named((), Term(value, None, value))
        case Coordinate(index):
            value = np.arange(context.extent(index.name), dtype=INT64.numpy)
            return _Named((index.name,), Term(value, None, value))
        case Table(tensor, indices):
            return _read(_tensor(context, tensor.name), tensor.name, indices)
        case MapJoin(op, args):
            return _map(op, [done[arg] for arg in args])
        case Aggregate(op, init, arg, over):
            return _aggregate(context, op, init, done[arg], tuple(f.name for f in over))
        case Reorder(arg, order):
            return _reorder(context, done[arg], tuple(f.name for f in order))
        case Relabel(arg, fields):
            return _relabel(context, done[arg], tuple(f.name for f in fields))
        case Reformat(_, arg, drop_fill):
            return _drop_fill(done[arg]) if drop_fill else done[arg]
        case Subquery(_, arg):
            return done[arg]
        case _:
            assert_never(expr)


def _read(tensor: Masked, name: str, index: tuple[IndexExpr, ...]) -> _Named:
    """The elements that a Table names: constant coordinates taken, a repeated field read along the diagonal."""
    fields = tuple(dict.fromkeys(i.name for i in index if isinstance(i, Field)))
    extents: dict[str, int] = {}
    for axis, (i, extent) in enumerate(zip(index, tensor.values.shape, strict=True)):
        if isinstance(i, Field):
            if extents.setdefault(i.name, extent) != extent:
                raise ShapeMismatchError(f"{name} repeats field {i.name!r} over extents {extents[i.name]} and {extent}")
        elif not 0 <= constant_coordinate(i) < extent:
            raise ShapeMismatchError(f"{name} is read at {i.value} of axis {axis}, whose extent is {extent}")
    grid = dict(zip(fields, np.ix_(*(np.arange(extents[f]) for f in fields)), strict=True))
    where = tuple(grid[i.name] if isinstance(i, Field) else constant_coordinate(i) for i in index)
    fill = np.full((1,) * len(fields), tensor.fill, tensor.values.dtype)
    return _Named(fields, Term(np.asarray(tensor.values[where]), np.asarray(tensor.stored[where]), fill))


def _map(op: Operator, args: Sequence[_Named]) -> _Named:
    fields = tuple(dict.fromkeys(f for arg in args for f in arg.fields))
    extents: dict[str, int] = {}
    for arg in args:
        for f, extent in zip(arg.fields, arg.shape, strict=True):
            if extents.setdefault(f, extent) != extent:
                raise ShapeMismatchError(f"{op.name}: field {f!r} has extents {extents[f]} and {extent}")
    terms = [_align(arg, fields) for arg in args]
    out = result_type(op, *(as_dtype(term.values.dtype) for term in terms))[1]
    return _Named(fields, map_terms(op, terms, out))


def _align(named: _Named, fields: Sequence[str]) -> Term:
    """The term with its axes in the order of `fields`, which include its own, and extent 1 along the others."""
    order = [named.fields.index(f) for f in fields if f in named.fields]
    missing = tuple(axis for axis, f in enumerate(fields) if f not in named.fields)

    def lay(array: Array) -> Array:
        return np.expand_dims(array.transpose(order), missing)

    term = named.term
    return Term(lay(term.values), None if term.stored is None else lay(term.stored), lay(term.fill))


def _spread(context: _Context, named: _Named, fields: Sequence[str]) -> Term:
    """`_align`, with the values and mask repeated along fields that `named` does not have."""
    term = _align(named, fields)
    known = dict(zip(named.fields, named.shape, strict=True))
    shape = tuple(known[f] if f in known else context.extent(f) for f in fields)
    stored = None if term.stored is None else np.broadcast_to(term.stored, shape)
    return Term(np.broadcast_to(term.values, shape), stored, term.fill)


def _aggregate(context: _Context, op: Operator, init: Literal, arg: _Named, over: tuple[str, ...]) -> _Named:
    """Every reduced coordinate counts, structural ones with their value; fills fold in the same way."""
    kept = tuple(f for f in arg.fields if f not in over)
    term = _spread(context, arg, kept + over)
    shape = term.values.shape
    rows = (*shape[: len(kept)], prod(shape[len(kept) :]))
    values = _reduce(op, init, term.values.reshape(rows))
    fill = _reduce(op, init, np.broadcast_to(term.fill, shape).reshape(rows))
    stored = None if term.stored is None else np.asarray(term.stored.reshape(rows).any(axis=-1))
    return _Named(kept, Term(values, stored, values if stored is None else fill))


def _reduce(op: Operator, init: Literal, rows: Array) -> Array:
    """`op` along the last axis, from init, in init's type."""
    reducer = _REDUCERS.get(op.name)
    if reducer is None:
        raise ValidationError(f"operator {op.name} cannot reduce")
    dtype = init.dtype.numpy
    with np.errstate(all="ignore"):
        held = np.ascontiguousarray(rows.astype(dtype))
        return np.asarray(reducer.reduce(held, axis=-1, dtype=dtype, initial=dtype.type(init.value)))


def _reorder(context: _Context, arg: _Named, order: tuple[str, ...]) -> _Named:
    left_out = [f for f in arg.fields if f not in order]
    for f in left_out:
        extent = arg.shape[arg.fields.index(f)]
        if extent != 1:
            raise ShapeMismatchError(f"field {f!r} is left out although its extent is {extent}, not 1")
    term = _spread(context, arg, (*order, *left_out))
    axes = tuple(range(len(order), len(order) + len(left_out)))
    stored = None if term.stored is None else term.stored.squeeze(axes)
    values = term.values.squeeze(axes)
    return _Named(order, Term(values, stored, values if stored is None else term.fill.squeeze(axes)))


def _relabel(context: _Context, arg: _Named, fields: tuple[str, ...]) -> _Named:
    if len(fields) != len(arg.fields):
        raise ValidationError(f"{len(arg.fields)} fields cannot be renamed to {len(fields)}")
    for f, extent in zip(fields, arg.shape, strict=True):
        context.note(f, extent)
    return _Named(fields, arg.term)


def _drop_fill(arg: _Named) -> _Named:
    term = arg.term
    if term.stored is None:
        return arg
    return _Named(arg.fields, Term(term.values, term.stored & ~same_values(term.values, term.fill), term.fill))
