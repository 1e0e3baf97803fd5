"""Indexing, `A[...]`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finchsched.api.host import HostOperation, Shape
from finchsched.api.rearrange.entries import Coordinates, Index, as_array, dense_of, from_array, is_dense
from finchsched.api.rearrange.layout import same_layout
from finchsched.api.rearrange.parse_subscript import check_bounds
from finchsched.api.rearrange.subscript import At, Gather, Item, NewAxis, Placed, Span, place, takes_axis
from finchsched.api.rearrange.take_out import outer_range
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
        placed = place(self.items, tensor.shape, [index.shape for index in arrays])
        return _sparse(tensor, self.items, arrays, placed)

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
        case Gather(argument):
            return names[argument]


def _sparse(tensor: FiberTensor, items: Sequence[Item], arrays: Sequence[Index], placed: Placed) -> FiberTensor:
    """Filter by integers and slices, then join with the index arrays."""
    extents = tensor.shape
    by_axis = _by_axis(items)
    low, high = _range_of(by_axis[tensor.type.perm[0]][1], extents[tensor.type.perm[0]])
    tensor = outer_range(tensor, low, high)
    moved = low if tensor.shape != extents else 0
    found = coordinates_of(tensor)
    at = {axis: c + moved if axis == tensor.type.perm[0] and moved else c for axis, c in enumerate(found)}
    val, at = _filtered(tensor.val, at, by_axis, extents)
    gathers = {axis: arrays[item.argument] for axis, item in by_axis if isinstance(item, Gather)}
    common = placed.shape[placed.gathered[0] : placed.gathered[1]]
    made: Coordinates = ()
    if arrays:
        entry, number = _joined(at, gathers, extents, common, len(val))
        val, at = val[entry], {axis: c[entry] for axis, c in at.items()}
        made = tuple(c.astype(np.int64) for c in np.unravel_index(number, common)) if common else ()
    columns = [at[axis] for axis, item in by_axis if isinstance(item, Span)]
    spans = iter(columns)
    rest = [
        next(spans) if isinstance(item, Span) else np.zeros(len(val), np.int64)
        for item in items
        if isinstance(item, Span | NewAxis)
    ]
    start = placed.gathered[0]
    layout = same_layout(tensor.type, placed.sources)
    if len(gathers) > 1:
        layout = layout.sparse_inside()
    return layout.tensor([*rest[:start], *made, *rest[start:]], val, placed.shape, tensor.fill)


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

    Coordinates are ranked among those that are asked for, axis by axis, so that no number exceeds the square of how
    many positions there are.
    """
    count = prod(common)
    rank_asked = np.zeros(count, np.int64)
    rank_found = np.zeros(entries, np.int64)
    kept = np.arange(entries)
    for axis, array in arrays.items():
        asked = np.broadcast_to(np.where(array < 0, array + extents[axis], array), common).reshape(-1)
        values, place_asked = np.unique(asked, return_inverse=True)
        mine = at[axis][kept]
        place_found = np.minimum(np.searchsorted(values, mine), max(len(values) - 1, 0))
        hit = values[place_found] == mine if len(values) else np.zeros(len(mine), np.bool)
        kept, rank_found, place_found = kept[hit], rank_found[hit], place_found[hit]
        known, rank_asked = np.unique(rank_asked * len(values) + place_asked.reshape(-1), return_inverse=True)
        whole = rank_found * len(values) + place_found
        rank_found = np.minimum(np.searchsorted(known, whole), max(len(known) - 1, 0))
        hit = known[rank_found] == whole if len(known) else np.zeros(len(whole), np.bool)
        kept, rank_found = kept[hit], rank_found[hit]
    order = np.argsort(rank_asked, kind="stable")
    sorted_ranks = rank_asked[order]
    first = np.searchsorted(sorted_ranks, rank_found, "left")
    hits = np.searchsorted(sorted_ranks, rank_found, "right") - first
    within = np.arange(hits.sum()) - np.repeat(np.cumsum(hits) - hits, hits)
    return np.repeat(kept, hits), order[np.repeat(first, hits) + within]
