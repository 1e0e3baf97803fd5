"""Moving elements along their axes: flip and roll."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finchsched.api.host import HostOperation, Shape
from finchsched.api.rearrange.entries import as_array, from_array, is_dense
from finchsched.api.rearrange.flat_index import flatten, unflatten
from finchsched.api.rearrange.layout import same_layout
from finchsched.formats.coordinates import coordinates_of
from finchsched.formats.fiber_tensor import FiberTensor

__all__ = ["Flip", "Roll", "RollFlat"]


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
        return layout.tensor(at, tensor.val, tensor.shape, tensor.fill, operand=tensor)

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
            at[axis] = _rolled(at[axis], count, tensor.shape[axis])
        layout = same_layout(tensor.type, range(tensor.ndim))
        return layout.tensor(at, tensor.val, tensor.shape, tensor.fill, operand=tensor)

    def describe(self, names: Sequence[str]) -> str:
        moves = ", ".join(f"{count} along axis {axis}" for axis, count in self.shifts)
        return f"{names[0]} rolled by {moves}"


@dataclass(frozen=True, slots=True)
class RollFlat(HostOperation):
    """The elements moved by so many places in C order, whatever the axes.  O(stored · log)."""

    places: int

    def shape(self, shapes: Sequence[Shape]) -> Shape:
        return shapes[0]

    def run(self, *tensors: FiberTensor) -> FiberTensor:
        tensor = tensors[0]
        size = prod(tensor.shape)
        count = self.places % max(size, 1)
        if is_dense(tensor):
            return from_array(np.roll(as_array(tensor), count), tensor.fill)
        flat = flatten(coordinates_of(tensor), tensor.shape)
        at = unflatten(_rolled(flat, count, size), tensor.shape)
        layout = same_layout(tensor.type, range(tensor.ndim)).sparse_inside()
        return layout.tensor(at, tensor.val, tensor.shape, tensor.fill, operand=tensor)

    def describe(self, names: Sequence[str]) -> str:
        return f"{names[0]} rolled by {self.places} in C order"


def _rolled(at: NDArray[Any], count: int, extent: int) -> NDArray[Any]:
    """(at + count) modulo the extent, for 0 <= count < extent, without a sum beyond the extent."""
    if count == 0:
        return at
    if at.dtype == object:
        return (at + count) % extent
    rest = np.int64(extent - count)
    return np.where(at < rest, at + np.int64(count), at - rest)
