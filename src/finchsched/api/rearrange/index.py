"""Indexing, `A[...]`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finchsched.api.host import HostOperation, Shape
from finchsched.api.rearrange.entries import AXIS_LIMIT, Coordinates, Index, as_array, dense_of, from_array, is_dense
from finchsched.api.rearrange.fibers import take_outer, without_outer
from finchsched.api.rearrange.flat_index import flatten, unflatten
from finchsched.api.rearrange.layout import same_layout
from finchsched.api.rearrange.parse_subscript import check_bounds
from finchsched.api.rearrange.subscript import Apart, At, Gather, Item, NewAxis, Span, place, takes_axis
from finchsched.formats.coordinates import coordinates_of
from finchsched.formats.fiber_tensor import FiberTensor

__all__ = ["Subscript"]


@dataclass(frozen=True, slots=True)
class Subscript(HostOperation):
    """The first argument at a complete subscript; the others are its index arrays.

    Of a sparse operand only the entries are looked at, of slices and integers on its outermost axis only those inside:
    O(stored · log), and with index arrays the entries of the result.
    """

    items: tuple[Item, ...]

    def shape(self, shapes: Sequence[Shape]) -> Shape:
        return place(self.items, shapes[0], shapes[1:]).shape

    def run(self, *tensors: FiberTensor) -> FiberTensor:
        tensor = tensors[0]
        arrays = [dense_of(index) for index in tensors[1:]]
        for axis, item in _by_axis(self.items):
            if isinstance(item, Gather):
                check_bounds(arrays[item.argument], axis, tensor.shape[axis])
        if is_dense(tensor):
            return from_array(as_array(tensor)[tuple([_numpy_item(item, arrays) for item in self.items])], tensor.fill)
        return _sparse(tensor, self.items, arrays)

    def describe(self, names: Sequence[str]) -> str:
        return f"{names[0]}[{', '.join(_text(item, names[1:]) for item in self.items)}]"


def _by_axis(items: Sequence[Item]) -> list[tuple[int, Item]]:
    """The items that take an axis, each with that axis."""
    return list(enumerate(item for item in items if takes_axis(item)))


def _numpy_item(item: Item, arrays: Sequence[Index]) -> Any:
    match item:
        case At(coordinate):
            return coordinate
        case Span(start, stop, step):
            return slice(start, stop, step)
        case NewAxis():
            return None
        case Apart():
            return Ellipsis
        case Gather(argument):
            return arrays[argument] if item.takes_axis else np.bool(len(arrays[argument]))


def _text(item: Item, names: Sequence[str]) -> str:
    match item:
        case At(coordinate):
            return str(coordinate)
        case Span(start, stop, step):
            ends = ["" if end is None else str(end) for end in (start, stop, step)]
            return ":".join(ends if step is not None else ends[:2])
        case NewAxis():
            return "None"
        case Apart():
            return "..."
        case Gather(argument):
            return names[argument]


def _sparse(tensor: FiberTensor, items: Sequence[Item], arrays: Sequence[Index]) -> FiberTensor:
    """Whole fibers where that is all, else filter by integers and slices, then join with the index arrays."""
    tensor, items = _narrowed(tensor, items, arrays)
    if all(item == Span() for item in items):
        return tensor
    by_axis = _by_axis(items)
    at = dict(enumerate(coordinates_of(tensor)))
    val, at = _filtered(tensor.val, at, by_axis, tensor.shape)
    gathers = {axis: arrays[item.argument] for axis, item in by_axis if isinstance(item, Gather)}
    has_arrays = any(isinstance(item, Gather) for item in items)
    placed = place(items, tensor.shape, [index.shape for index in arrays] if has_arrays else ())
    start, stop = placed.gathered
    made: Coordinates = ()
    if has_arrays:
        common = placed.shape[start:stop]
        entry, number = _joined(at, gathers, tensor.shape, common, len(val))
        val, at = val[entry], {axis: c[entry] for axis, c in at.items()}
        made = unflatten(number, common)
    spans = iter([at[axis] for axis, item in by_axis if isinstance(item, Span)])
    rest = [
        next(spans) if isinstance(item, Span) else np.zeros(len(val), np.int64)
        for item in items
        if isinstance(item, Span | NewAxis)
    ]
    layout = same_layout(tensor.type, placed.sources)
    if len(gathers) > 1:
        layout = layout.sparse_inside()
    return layout.tensor([*rest[:start], *made, *rest[start:]], val, placed.shape, tensor.fill, operand=tensor)


def _narrowed(
    tensor: FiberTensor, items: Sequence[Item], arrays: Sequence[Index]
) -> tuple[FiberTensor, Sequence[Item]]:
    """The tensor cut to what is taken of its outermost storage axis, if that is easy, and what is left to do.

    An axis is left out, or an index array done with, only where no other item decides where the result's axes stand.
    """
    axis = tensor.type.perm[0]
    place = [number for number, item in enumerate(items) if takes_axis(item)][axis]
    item, extent = items[place], tensor.shape[axis]
    others = [*items[:place], *items[place + 1 :]]
    alone = all(isinstance(other, Span) for other in others)
    last = all(other == Span() for other in others)
    match item:
        case At(coordinate):
            found = take_outer(tensor, range(coordinate % extent, coordinate % extent + 1))
            if found is not None and alone and (one := without_outer(found)) is not None:
                return one, others
            left: Item = At(0)
        case Span():
            taken = item.range(extent)
            found, left = (take_outer(tensor, taken) if last or taken != range(extent) else None), Span()
        case Gather(argument) if alone and arrays[argument].ndim == 1:
            index = arrays[argument]
            found, left = take_outer(tensor, np.where(index < 0, index + extent, index)), Span()
        case _:
            return tensor, items
    return (tensor, items) if found is None else (found, [*items[:place], left, *items[place + 1 :]])


def _range_of(item: Item, extent: int) -> tuple[int, int]:
    """Bounds of the coordinates that an item takes; all of them if it is an index array."""
    match item:
        case At(coordinate):
            return coordinate % extent, coordinate % extent + 1
        case Span():
            taken = item.range(extent)
            return (min(taken[0], taken[-1]), max(taken[0], taken[-1]) + 1) if taken else (0, 0)
        case _:
            return 0, extent


def _filtered(
    val: NDArray[Any], at: dict[int, Index], by_axis: Sequence[tuple[int, Item]], extents: Shape
) -> tuple[NDArray[Any], dict[int, Index]]:
    """The entries inside all integers and slices, slices' coordinates counted along them."""
    inside = np.ones(len(val), np.bool)
    at = dict(at)
    for axis, item in by_axis:
        match item:
            case At(coordinate):
                inside &= at[axis] == coordinate % extents[axis]
            case Span() if (taken := item.range(extents[axis])) != range(extents[axis]):
                low, high = _range_of(item, extents[axis])
                inside &= (at[axis] >= low) & (at[axis] < high)
                steps, beside = np.divmod(at[axis] - taken.start, taken.step)
                inside &= beside == 0
                at[axis] = steps
            case _:
                pass
    if inside.all():
        return val, at
    kept = np.flatnonzero(inside)
    return val[kept], {axis: coordinate[kept] for axis, coordinate in at.items()}


def _joined(
    at: Mapping[int, Index], arrays: Mapping[int, Index], extents: Shape, common: Shape, entries: int
) -> tuple[Index, Index]:
    """Pairs (entry, position in the broadcast index arrays) with equal coordinates, entries rising.

    at: the entries' coordinates by axis.  arrays: the index arrays by the axis that each takes.
    """
    axes = list(arrays)
    whole = [extents[axis] for axis in axes]
    asked = [
        np.broadcast_to(np.where(a < 0, a + n, a), common).reshape(-1)
        for a, n in zip(arrays.values(), whole, strict=True)
    ]
    found = [at[axis] for axis in axes]
    kept = np.arange(entries)
    if not axes:
        wanted, mine = np.zeros(prod(common), np.int64), np.zeros(entries, np.int64)
    elif prod(whole) - 1 <= AXIS_LIMIT:
        wanted, mine = flatten(asked, whole), flatten(found, whole)
    else:
        wanted, mine, kept = _ranked(asked, found)
    order = None
    if not (wanted[1:] >= wanted[:-1]).all():
        order = np.argsort(wanted, kind="stable")
        wanted = wanted[order]
    first = np.searchsorted(wanted, mine, "left")
    hits = np.searchsorted(wanted, mine, "right") - first
    within = np.arange(hits.sum()) - np.repeat(np.cumsum(hits) - hits, hits)
    number = np.repeat(first, hits) + within
    return np.repeat(kept, hits), number if order is None else order[number]


def _ranked(asked: Sequence[Index], found: Sequence[Index]) -> tuple[Index, Index, Index]:
    """A number for each tuple that is asked for, those of the entries that have one, and which entries have one.

    Coordinates are ranked among those that are asked for, axis by axis, so no number exceeds the square of how many
    tuples there are.
    """
    kept = np.arange(len(found[0]))
    wanted, mine = np.zeros(len(asked[0]), np.int64), np.zeros(len(kept), np.int64)
    for ask, coordinate in zip(asked, found, strict=True):
        values, place = np.unique(ask, return_inverse=True)
        inside, rank = _located(values, coordinate[kept])
        kept, mine = kept[inside], mine[inside] * len(values) + rank
        known, wanted = np.unique(wanted * len(values) + place, return_inverse=True)
        inside, mine = _located(known, mine)
        kept = kept[inside]
    return wanted, mine, kept


def _located(values: Index, wanted: Index) -> tuple[Index, Index]:
    """Which of the wanted numbers are among the values, which rise, and the places of those."""
    place = np.searchsorted(values, wanted)
    inside = np.flatnonzero(np.append(values, -1)[place] == wanted)
    return inside, place[inside]
