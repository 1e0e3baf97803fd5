"""Positions in C order: between coordinates over several axes and one number, whatever the size.

NumPy's int64 arithmetic is used where the size proves that it cannot overflow, Python's integers in arrays of objects
where it may.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finchsched.api.rearrange.entries import AXIS_LIMIT, Coordinates, Index

__all__ = ["flatten", "unflatten"]


def flatten(at: Sequence[Index], shape: Sequence[int]) -> NDArray[Any]:
    """The position of each coordinate: int64, or Python integers for 2**63 elements and more.

    `at` has one array at least.
    """
    exact = np.int64 if math.prod(shape) - 1 <= AXIS_LIMIT else object
    flat = at[0].astype(exact)
    for coordinate, extent in zip(at[1:], shape[1:], strict=True):
        flat = flat * extent + coordinate.astype(exact)
    return flat


def unflatten(flat: NDArray[Any], shape: Sequence[int]) -> Coordinates:
    """The coordinates at these positions."""
    at: list[Index] = []
    for extent in reversed(shape):
        at.append((flat % max(extent, 1)).astype(np.int64))
        flat = flat // max(extent, 1)
    return tuple(reversed(at))
