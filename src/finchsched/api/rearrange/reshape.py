"""Reshaping in C order."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from finchsched.api.host import HostOperation, Shape
from finchsched.api.rearrange.entries import Coordinates, Index, as_array, check_extents, from_array, is_dense
from finchsched.api.rearrange.flat_index import flatten, unflatten
from finchsched.api.rearrange.layout import fresh_layout
from finchsched.errors import ShapeMismatchError
from finchsched.formats.coordinates import coordinates_of
from finchsched.formats.fiber_tensor import FiberTensor

__all__ = ["Reshape", "regrouped"]


@dataclass(frozen=True, slots=True)
class Reshape(HostOperation):
    """The elements in C order, in another shape; one extent may be -1, which is what the others leave.

    O(stored) for a sparse operand, and sorting if it is not stored in C order.  No size is too large as long as every
    axis of the result is shorter than 2**63.
    """

    wanted: tuple[int, ...]

    def shape(self, shapes: Sequence[Shape]) -> Shape:
        found, size = shapes[0], prod(shapes[0])
        if any(extent < -1 for extent in self.wanted) or self.wanted.count(-1) > 1:
            raise ShapeMismatchError(
                f"cannot reshape {found} to {self.wanted}: extents are at least 0, and one may be -1"
            )
        known = prod(extent for extent in self.wanted if extent != -1)
        if -1 in self.wanted and known and size % known == 0:
            given = tuple([size // known if extent == -1 else extent for extent in self.wanted])
        elif -1 not in self.wanted and known == size:
            given = self.wanted
        else:
            left = f", {known} of them beside the -1" if -1 in self.wanted else f", that shape has {known}"
            raise ShapeMismatchError(f"cannot reshape {found} to {self.wanted}: the array has {size} elements{left}")
        check_extents(given)
        return given

    def run(self, *tensors: FiberTensor) -> FiberTensor:
        tensor = tensors[0]
        shape = self.shape([tensor.shape])
        if is_dense(tensor):
            return from_array(as_array(tensor).reshape(shape), tensor.fill)
        at = regrouped(coordinates_of(tensor), tensor.shape, shape)
        return fresh_layout(tensor.type, shape, tensor.stored).tensor(
            at, tensor.val, shape, tensor.fill, operand=tensor
        )

    def describe(self, names: Sequence[str]) -> str:
        return f"{names[0]} reshaped to {self.wanted}"


def regrouped(at: Sequence[Index], old: Shape, new: Shape) -> Coordinates:
    """Coordinates of a shape as those of another one of the same size, in C order.

    Axes are cut into the shortest groups of equal size; an axis that is a group by itself keeps its coordinates, and
    numbers grow no larger than a group.
    """
    entries = len(at[0]) if at else 1
    if prod(old) == 0:
        return (np.zeros(0, np.int64),) * len(new)
    found: list[Index] = []
    a = b = 0
    while a < len(old) and b < len(new):
        first, second = a, b
        here, there = old[a], new[b]
        a, b = a + 1, b + 1
        while here != there:  # ends: the products of all extents are equal, and no extent is 0
            if here < there:
                here, a = here * old[a], a + 1
            else:
                there, b = there * new[b], b + 1
        if a == first + 1 and b == second + 1:
            found.append(at[first])
        else:
            found += unflatten(flatten(at[first:a], old[first:a]), new[second:b])
    return (*found, *[np.zeros(entries, np.int64)] * (len(new) - b))
