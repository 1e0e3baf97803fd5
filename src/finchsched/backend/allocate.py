"""Arrays for kernels: 64-byte aligned, untouched pages cost nothing."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from finchsched.algebra.dtypes import Scalar

__all__ = ["ALIGNMENT", "empty", "filled", "zeros"]

ALIGNMENT = 64
"""Bytes: a cache line, and the width of the widest vector store."""


_SMALL = 512
"""Up to this count alignment buys nothing, and asking for the address costs more than the kernel."""


def _aligned(raw: NDArray[np.uint8], count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """`count` elements of `dtype` in a buffer that is ALIGNMENT bytes longer, from an aligned address."""
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + count * dtype.itemsize].view(dtype)


def empty(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """An array of `count` elements with arbitrary contents."""
    if count <= _SMALL:
        return np.empty(count, dtype)
    return _aligned(np.empty(count * dtype.itemsize + ALIGNMENT, np.uint8), count, dtype)


def zeros(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """An array of `count` zeros."""
    if count <= _SMALL:
        return np.zeros(count, dtype)
    return _aligned(np.zeros(count * dtype.itemsize + ALIGNMENT, np.uint8), count, dtype)


def filled(count: int, dtype: np.dtype[Any], value: Scalar) -> NDArray[Any]:
    """An array of `count` elements equal to `value`."""
    if value == 0 and str(value) != "-0.0":
        return zeros(count, dtype)
    array = empty(count, dtype)
    array.fill(value)
    return array
