"""Where the least or greatest element stands: argmin and argmax."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finchsched.algebra.dtypes import INT64, DType
from finchsched.api.host import HostOperation, Shape
from finchsched.api.rearrange.entries import AXIS_LIMIT, Index, as_array, from_array, group_starts, is_dense
from finchsched.api.rearrange.flat_index import flatten
from finchsched.api.rearrange.layout import same_layout
from finchsched.errors import ShapeMismatchError
from finchsched.formats.coordinates import coordinates_of, sort_order
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.settings import current

__all__ = ["ArgExtreme"]


@dataclass(frozen=True, slots=True)
class ArgExtreme(HostOperation):
    """The first coordinate, along an axis, not negative, or in C order if None, of the least or greatest element.

    NaN counts as the extreme.  Elements that are not stored count with the fill.  The result is int64: dense if the
    operand is or if it has at most one axis, else sparse with the fill 0.  O(stored · log) for a sparse operand.
    """

    greatest: bool
    axis: int | None
    keepdims: bool

    def shape(self, shapes: Sequence[Shape]) -> Shape:
        shape = shapes[0]
        along = prod(shape) if self.axis is None else shape[self.axis]
        if along == 0:
            raise ShapeMismatchError(f"{self._name()} of no elements has no value: the shape is {shape}")
        if self.axis is None:
            return (1,) * len(shape) if self.keepdims else ()
        return (*shape[: self.axis], *([1] if self.keepdims else []), *shape[self.axis + 1 :])

    def dtype(self, types: Sequence[DType]) -> DType:
        return INT64

    def run(self, *tensors: FiberTensor) -> FiberTensor:
        tensor = tensors[0]
        shape = self.shape([tensor.shape])
        if is_dense(tensor):
            find = np.argmax if self.greatest else np.argmin
            return from_array(np.asarray(find(as_array(tensor), axis=self.axis, keepdims=self.keepdims), np.int64), 0)
        at = coordinates_of(tensor)
        if self.axis is None or tensor.ndim == 1:
            return self._flat(tensor, flatten(at, tensor.shape), shape)
        keys = [*at[: self.axis], *at[self.axis + 1 :]]
        extents = [*tensor.shape[: self.axis], *tensor.shape[self.axis + 1 :]]
        along = at[self.axis]
        order = sort_order([*keys, along], [*extents, tensor.shape[self.axis]])
        val = tensor.val
        if order is not None:
            keys, along, val = [key[order] for key in keys], along[order], val[order]
        starts = group_starts(keys, len(val))
        found = self._firsts(val, along, starts, tensor.shape[self.axis], tensor.fill).astype(np.int64)
        groups = [key[starts] for key in keys]
        sources: list[int | None] = [axis for axis in range(tensor.ndim) if axis != self.axis]
        if self.keepdims:
            groups.insert(self.axis, np.zeros(len(starts), np.int64))
            sources.insert(self.axis, None)
        return _result(tensor, groups, found, shape, sources)

    def _flat(self, tensor: FiberTensor, along: NDArray[Any], shape: Shape) -> FiberTensor:
        order = np.argsort(along, kind="stable")
        val = tensor.val[order]
        starts = np.zeros(min(len(val), 1), np.int64)
        found = self._firsts(val, along[order], starts, prod(tensor.shape), tensor.fill)
        first = int(found[0]) if len(found) else 0
        if first > AXIS_LIMIT:
            raise ShapeMismatchError(
                f"{self._name()} of shape {tensor.shape} is the position {first}, which int64 cannot hold\n"
                "hint: give an axis"
            )
        return from_array(np.full(shape, first, np.int64), 0)

    def _firsts(self, val: NDArray[Any], along: NDArray[Any], starts: Index, extent: int, fill: Any) -> NDArray[Any]:
        """For each group of entries the first coordinate of its extreme, the structural ones with it.

        Entries are sorted by group and `along`, which holds coordinates below `extent`.
        """
        if not len(starts):
            return np.zeros(0, along.dtype)
        counts = np.diff(np.append(starts, len(val)))
        group = np.repeat(np.arange(len(starts)), counts)
        reduce = np.maximum if self.greatest else np.minimum
        filled = counts < extent
        fill = val.dtype.type(fill)
        best = reduce.reduceat(val, starts)
        best = np.where(filled, reduce(best, fill), best)
        stored = _first_where(_same(val, best[group]), along, starts)
        gap = np.arange(len(val)) - starts[group]
        structural = _first_where(along != gap, gap.astype(along.dtype), starts)
        structural = np.where(structural < 0, counts, structural)
        takes_fill = filled & _same(np.full(len(starts), fill), best) & ((stored < 0) | (structural < stored))
        return np.where(takes_fill, structural, stored)

    def _name(self) -> str:
        return "argmax" if self.greatest else "argmin"

    def describe(self, names: Sequence[str]) -> str:
        along = "" if self.axis is None else f" along axis {self.axis}"
        return f"{self._name()} of {names[0]}{along}"


def _first_where(holds: NDArray[np.bool], what: NDArray[Any], starts: Index) -> NDArray[Any]:
    """For each group `what` at the first entry where it holds; -1 if there is no such entry."""
    place = np.where(holds, np.arange(len(holds)), len(holds))
    first = np.minimum.reduceat(place, starts)
    ends = np.append(starts[1:], len(holds))
    found = what[np.minimum(first, len(holds) - 1)]
    return np.where(first < ends, found, np.array(-1, what.dtype))


def _same(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.bool]:
    return np.asarray((a == b) | ((a != a) & (b != b)), np.bool)


def _result(
    tensor: FiberTensor, at: Sequence[Index], found: Index, shape: Shape, sources: Sequence[int | None]
) -> FiberTensor:
    """Where nothing is stored along the axis, all elements are equal and the first is at 0."""
    if len(shape) < 2 and prod(shape) <= current().densify:
        whole = np.zeros(shape, np.int64)
        whole[tuple(at)] = found
        return from_array(whole, 0)
    return same_layout(tensor.type, sources).sparse_inside().tensor(at, found, shape, 0, operand=tensor)
