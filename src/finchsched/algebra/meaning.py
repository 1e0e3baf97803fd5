"""What operators mean where NumPy has no ufunc for it, or one that asks for care; on NumPy scalars and arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np

from finchsched.errors import DtypeError

__all__ = ["imaginary_part", "keep_whole", "phase_angle", "power", "real_part", "repeat_add", "repeat_multiply"]


def power(base: Any, exponent: Any) -> Any:
    """`base ** exponent`; integers by squaring, modulo their width.  Raises DtypeError for integer ** negative."""
    kind = np.result_type(base, exponent).kind
    if kind == "i" and np.any(np.asarray(exponent) < 0):
        least = int(np.min(exponent))
        raise DtypeError(
            f"integers to negative powers are no integers; found the exponent {least}\n"
            "hint: cast the base with .astype('float64')"
        )
    return np.power(base, exponent)


def repeat_add(term: Any, count: Any) -> Any:
    """`term` added up `count` >= 0 times.  Each part by itself: an infinite one must not make NaN of the other."""
    held = np.asarray(term)
    if held.dtype.kind != "c":
        return (held * np.asarray(count).astype(held.dtype))[()]
    times = np.asarray(count).astype(held.real.dtype)
    total = np.empty(np.broadcast_shapes(held.shape, times.shape), held.dtype)
    total.real, total.imag = held.real * times, held.imag * times
    return total[()]


def repeat_multiply(base: Any, count: Any) -> Any:
    """`base` multiplied `count` >= 0 times, by squaring: exact modulo the width of integers."""
    factor = np.asarray(base)
    left = np.asarray(count, np.int64)
    total = np.ones(np.broadcast_shapes(factor.shape, left.shape), factor.dtype)
    while (left > 0).any():
        total = np.where((left & 1) == 1, total * factor, total)
        factor = factor * factor
        left = left >> 1
    return total[()]


def keep_whole(ufunc: Callable[[Any], Any], x: Any) -> Any:
    """Rounding, which leaves integers and bools as they are."""
    return ufunc(x) if np.asarray(x).dtype.kind in "fc" else x


def real_part(x: Any) -> Any:
    """The real part; of a real number itself."""
    return np.real(x)


def imaginary_part(x: Any) -> Any:
    """The imaginary part; of a real number 0 of its type."""
    array = np.asarray(x)
    return array.imag[()] if array.dtype.kind == "c" else np.zeros_like(array)[()]


def phase_angle(x: Any) -> Any:
    """The angle of a number seen from the positive real axis, in (-pi, pi]: 0 or pi of a real one."""
    return np.angle(x)
