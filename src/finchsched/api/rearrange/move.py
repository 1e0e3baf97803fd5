"""Moving elements along their axes: flip and roll."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from finchsched.api.host import HostOperation, Shape
from finchsched.api.rearrange.entries import as_array, from_array, is_dense
from finchsched.api.rearrange.layout import same_layout
from finchsched.formats.coordinates import coordinates_of
from finchsched.formats.fiber_tensor import FiberTensor

__all__ = ["Flip", "Roll"]


@dataclass(frozen=True, slots=True)
class Flip(HostOperation):
    """The elements in reverse order along some axes, not negative.  O(stored · log)."""

    axes: tuple[int, ...]

    def shape(self, shapes: Sequence[Shape]) -> Shape:
        return shapes[0]

    def run(self, *tensors: FiberTensor) -> FiberTensor:
        tensor = tensors[0]
        if is_dense(tensor):
            return from_array(np.flip(as_array(tensor), self.axes), tensor.fill)
        at = list(coordinates_of(tensor))
        for axis in self.axes:
            at[axis] = tensor.shape[axis] - 1 - at[axis]
        layout = same_layout(tensor.type, range(tensor.ndim))
        return layout.tensor(at, tensor.val, tensor.shape, tensor.fill)

    def describe(self, names: Sequence[str]) -> str:
        return f"{names[0]} reversed along axes {self.axes}"


@dataclass(frozen=True, slots=True)
class Roll(HostOperation):
    """The elements moved along some axes, each by so many places; those that leave come back at the other end.

    O(stored · log).
    """

    shifts: tuple[tuple[int, int], ...]
    """(axis, places): an axis may come several times."""

    def shape(self, shapes: Sequence[Shape]) -> Shape:
        return shapes[0]

    def run(self, *tensors: FiberTensor) -> FiberTensor:
        tensor = tensors[0]
        places = [0] * tensor.ndim
        for axis, count in self.shifts:
            places[axis] += count
        places = [count % max(extent, 1) for count, extent in zip(places, tensor.shape, strict=True)]
        if is_dense(tensor):
            return from_array(np.roll(as_array(tensor), places, tuple(range(tensor.ndim))), tensor.fill)
        at = list(coordinates_of(tensor))
        for axis, count in enumerate(places):
            rest = tensor.shape[axis] - count  # subtracted where it can be, so that no sum exceeds the extent
            at[axis] = np.where(at[axis] < rest, at[axis] + np.int64(count), at[axis] - np.int64(rest))
        layout = same_layout(tensor.type, range(tensor.ndim))
        return layout.tensor(at, tensor.val, tensor.shape, tensor.fill)

    def describe(self, names: Sequence[str]) -> str:
        moves = ", ".join(f"{count} along axis {axis}" for axis, count in self.shifts)
        return f"{names[0]} rolled by {moves}"
