"""Where a tensor is not zero."""

import numpy as np

from finchsched.api.rearrange.entries import Coordinates, dense_of, from_array, is_dense
from finchsched.formats.coordinates import coordinates_of, sort_order
from finchsched.formats.fiber_tensor import FiberTensor

__all__ = ["argwhere", "nonzero", "true_coordinates"]


def true_coordinates(tensor: FiberTensor) -> Coordinates:
    """The coordinates of the elements that are not zero, in C order, one array per axis; there is one axis at least.

    NaN is not zero; a stored zero is.  O(stored · log) for a fill that is zero; otherwise every element is looked at,
    and DensifyError is raised if they are more than the limit of the settings.
    """
    if is_dense(tensor) or tensor.fill:
        return tuple(found.astype(np.int64, copy=False) for found in np.nonzero(dense_of(tensor)))
    kept = np.flatnonzero(tensor.val)
    at = tuple(coordinate[kept] for coordinate in coordinates_of(tensor))
    order = sort_order(at, tensor.shape)
    return at if order is None else tuple(coordinate[order] for coordinate in at)


def nonzero(tensor: FiberTensor) -> tuple[FiberTensor, ...]:
    """`true_coordinates` as dense tensors of int64."""
    return tuple(from_array(coordinate, 0) for coordinate in true_coordinates(tensor))


def argwhere(tensor: FiberTensor) -> FiberTensor:
    """`true_coordinates` as the columns of a dense matrix."""
    if not tensor.ndim:
        return from_array(np.zeros((int(np.count_nonzero(tensor.val)), 0), np.int64), 0)
    return from_array(np.stack(true_coordinates(tensor), axis=1), 0)
