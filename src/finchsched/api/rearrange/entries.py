"""What rearranging operations work on: the stored entries of a tensor as coordinates, and dense tensors as arrays."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finchsched.algebra.dtypes import Scalar, as_dtype
from finchsched.ast.format import is_sparse
from finchsched.errors import DensifyError, ShapeMismatchError
from finchsched.formats.coordinates import coordinates_of, from_coordinates
from finchsched.formats.fiber_tensor import Buffer, FiberTensor, cast_fill, tensor_type
from finchsched.formats.levels import Dense
from finchsched.settings import current

__all__ = [
    "AXIS_LIMIT",
    "Coordinates",
    "Index",
    "as_array",
    "check_extents",
    "dense_of",
    "every_coordinate",
    "from_array",
    "group_starts",
    "is_dense",
]

Index = NDArray[np.int64]
Coordinates = tuple[Index, ...]

AXIS_LIMIT = 2**63 - 1
"""Largest extent of an axis: coordinates are int64."""


def is_dense(tensor: FiberTensor) -> bool:
    """Whether every coordinate is stored."""
    return not is_sparse(tensor.type)


def as_array(tensor: FiberTensor) -> NDArray[Any]:
    """A dense tensor as an array over its axes; a view."""
    perm = tensor.type.perm
    stored = tensor.val.reshape([tensor.shape[axis] for axis in perm])
    return stored.transpose([perm.index(axis) for axis in range(len(perm))])


def from_array(array: NDArray[Any], fill: Scalar) -> FiberTensor:
    """A dense tensor of `array`, which is copied unless it owns its elements and has them in C order."""
    array = np.asarray(array)
    if array.base is not None or not array.flags.c_contiguous:
        array = array.copy(order="C")
    array.setflags(write=False)
    dtype = as_dtype(array.dtype)
    none = (None,) * array.ndim
    kind = tensor_type((Dense(),) * array.ndim, tuple(range(array.ndim)), dtype, cast_fill(fill, dtype))
    return FiberTensor(kind, tuple(map(int, array.shape)), cast_fill(fill, dtype), none, none, array.reshape(-1))


def dense_of(tensor: FiberTensor) -> NDArray[Any]:
    """The tensor as an array.  Raises DensifyError if it is sparse and larger than the limit of the settings."""
    if is_dense(tensor):
        return as_array(tensor)
    rank = tensor.ndim
    dense = (Dense(),) * rank
    return as_array(
        from_coordinates(coordinates_of(tensor), tensor.val, tensor.shape, dense, range(rank), fill=tensor.fill)
    )


def every_coordinate(shape: Sequence[int], why: str) -> Coordinates:
    """Every coordinate of a shape in C order.

    Raises DensifyError, saying `why` all are needed, if there are more than the limit of the settings.
    """
    size, limit = math.prod(shape), current().densify
    if size > limit:
        raise DensifyError(
            f"{why}: its {size} elements, shape {tuple(shape)}, would all be stored, more than the limit {limit}\n"
            "hint: raise the limit with finchsched.config(densify=...)"
        )
    return tuple(np.indices(tuple(shape), np.int64).reshape(len(shape), size)) if shape else ()


def group_starts(keys: Sequence[Buffer], entries: int) -> Index:
    """Where each run of entries with equal keys begins."""
    new = np.zeros(entries, np.bool)
    new[:1] = True
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(new)


def check_extents(shape: Sequence[int]) -> None:
    """Raise ShapeMismatchError for an axis whose coordinates int64 cannot hold."""
    for extent in shape:
        if extent > AXIS_LIMIT:
            raise ShapeMismatchError(
                f"an axis would have the extent {extent}; the largest is 2**63 - 1\nhint: keep more axes"
            )
