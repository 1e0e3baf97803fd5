"""Repeating elements: repeat and tile."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from finchsched.api.host import HostOperation, Shape
from finchsched.api.rearrange.entries import Index, as_array, check_extents, from_array, is_dense
from finchsched.api.rearrange.layout import same_layout
from finchsched.errors import ShapeMismatchError
from finchsched.formats.coordinates import coordinates_of
from finchsched.formats.fiber_tensor import FiberTensor

__all__ = ["Repeat", "Tile"]


@dataclass(frozen=True, slots=True)
class Repeat(HostOperation):
    """Each coordinate of an axis, not negative, so many times in a row: all alike, or one count for each.

    O(entries of the result · log).
    """

    counts: int | tuple[int, ...]
    axis: int

    def shape(self, shapes: Sequence[Shape]) -> Shape:
        shape, axis = shapes[0], self.axis
        if isinstance(self.counts, int):
            extent = shape[axis] * self.counts
        elif len(self.counts) == shape[axis]:
            extent = sum(self.counts)
        else:
            raise ShapeMismatchError(
                f"repeat takes one count, or one for each of the {shape[axis]} coordinates of axis {axis}; "
                f"found {len(self.counts)}"
            )
        made = (*shape[:axis], extent, *shape[axis + 1 :])
        check_extents(made)
        return made

    def run(self, *tensors: FiberTensor) -> FiberTensor:
        tensor = tensors[0]
        if is_dense(tensor):
            return from_array(np.repeat(as_array(tensor), self.counts, self.axis), tensor.fill)
        at = coordinates_of(tensor)
        mine = at[self.axis]
        if isinstance(self.counts, int):
            times = np.full(len(mine), self.counts, np.int64)
            first = mine * self.counts
        else:
            every = np.array(self.counts, np.int64)
            times, first = every[mine], (np.cumsum(every) - every)[mine]
        entry = np.repeat(np.arange(len(mine)), times)
        made = [coordinate[entry] for coordinate in at]
        made[self.axis] = first[entry] + _counted(times)
        layout = same_layout(tensor.type, range(tensor.ndim))
        return layout.tensor(made, tensor.val[entry], self.shape([tensor.shape]), tensor.fill, operand=tensor)

    def describe(self, names: Sequence[str]) -> str:
        times = f"{self.counts} times" if isinstance(self.counts, int) else "so many times each"
        return f"{names[0]} with every coordinate of axis {self.axis} repeated {times}"


def _counted(times: Index) -> Index:
    """0, 1, ... for each number of times, one after the other."""
    return np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)


@dataclass(frozen=True, slots=True)
class Tile(HostOperation):
    """The array so many times along each of its axes, new ones in front if there are more counts than axes.

    O(entries of the result · log).
    """

    counts: tuple[int, ...]

    def shape(self, shapes: Sequence[Shape]) -> Shape:
        missing = len(self.counts) - len(shapes[0])
        made = (*self.counts[:missing], *[n * times for n, times in zip(shapes[0], self.counts[missing:], strict=True)])
        check_extents(made)
        return made

    def run(self, *tensors: FiberTensor) -> FiberTensor:
        tensor = tensors[0]
        if is_dense(tensor):
            return from_array(np.tile(as_array(tensor), self.counts), tensor.fill)
        missing = len(self.counts) - tensor.ndim
        at = [*[np.zeros(tensor.stored, np.int64)] * missing, *coordinates_of(tensor)]
        val = tensor.val
        for axis, times in enumerate(self.counts):
            extent = 1 if axis < missing else tensor.shape[axis - missing]
            stored = len(val)
            at = [np.tile(coordinate, times) for coordinate in at]
            at[axis] += np.repeat(np.arange(times) * extent, stored)
            val = np.tile(val, times)
        sources = (*[None] * missing, *range(tensor.ndim))
        shape = self.shape([tensor.shape])
        layout = same_layout(tensor.type, sources)
        return layout.tensor(at, val, shape, tensor.fill, operand=tensor)

    def describe(self, names: Sequence[str]) -> str:
        return f"{names[0]} tiled {self.counts} times"
