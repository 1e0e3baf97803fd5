"""Functions that compiled kernels need beside Numba's own, in Python that Numba compiles.

Numba's functions of complex numbers differ from NumPy's at infinities, NaN and near overflow.  NumPy's are mostly the C
library's; the rest is written out here as NumPy has it.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = [
    "LIBM",
    "LOG_BASES",
    "WRITTEN_OUT",
    "divide",
    "is_power_by_products",
    "power_by_products",
    "real_power",
    "signed_power",
    "unsigned_power",
]

LIBM = {
    "sqrt": "csqrt",
    "exp": "cexp",
    "log": "clog",
    "sin": "csin",
    "cos": "ccos",
    "tan": "ctan",
    "arcsin": "casin",
    "arccos": "cacos",
    "arctan": "catan",
    "sinh": "csinh",
    "cosh": "ccosh",
    "tanh": "ctanh",
    "arcsinh": "casinh",
    "arccosh": "cacosh",
    "arctanh": "catanh",
}
"""Names of helpers, and the C library's functions of double complex."""

LOG_BASES = {"log2": math.log2(math.e), "log10": math.log10(math.e)}
"""What the natural logarithm is multiplied with."""

_MOST_PRODUCTS = 100


def signed_power(base: Any, exponent: Any) -> Any:
    """int64 by squaring, modulo 2**64; the exponent is at least 0."""
    result = np.int64(1)
    while exponent > 0:
        if exponent & 1:
            result = result * base
        base = base * base
        exponent = exponent >> 1
    return result


def unsigned_power(base: Any, exponent: Any) -> Any:
    """uint64 by squaring, modulo 2**64."""
    result = np.uint64(1)
    while exponent > np.uint64(0):
        if exponent & np.uint64(1):
            result = result * base
        base = base * base
        exponent = exponent >> np.uint64(1)
    return result


def real_power(base: Any, exponent: Any) -> Any:
    """The C library's `pow`."""
    return base**exponent


def divide(a: Any, b: Any) -> Any:
    """Complex division by Smith's method, which scales."""
    real, imag = b.real, b.imag
    if abs(real) >= abs(imag):
        if real == 0 and imag == 0:
            return complex(a.real / abs(real), a.imag / abs(real))
        ratio = imag / real
        scale = 1.0 / (real + imag * ratio)
        return complex((a.real + a.imag * ratio) * scale, (a.imag - a.real * ratio) * scale)
    ratio = real / imag
    scale = 1.0 / (imag + real * ratio)
    return complex((a.real * ratio + a.imag) * scale, (a.imag * ratio - a.real) * scale)


def is_power_by_products(base: Any, exponent: Any) -> Any:
    """Whether `base ** exponent` has an exponent that is a small integer, or a base of 0."""
    if base.real == 0 and base.imag == 0:
        return True
    small = exponent.imag == 0 and abs(exponent.real) < _MOST_PRODUCTS
    return small and exponent.real == math.floor(exponent.real)


def power_by_products(base: Any, exponent: Any) -> Any:
    """A complex power where `is_power_by_products` holds."""
    if exponent.real == 0 and exponent.imag == 0:
        return complex(1.0, 0.0)
    if base.real == 0 and base.imag == 0:
        return complex(0.0, 0.0) if exponent.real > 0 else complex(math.nan, math.nan)
    left = int(abs(exponent.real))
    if exponent.real == left and left <= 3:
        return base if left == 1 else base * base if left == 2 else base * (base * base)
    result, factor = complex(1.0, 0.0), base
    while True:
        if left & 1:
            result = result * factor
        left >>= 1
        if left == 0:
            break
        factor = factor * factor
    return np.true_divide(complex(1.0, 0.0), result) if exponent.real < 0 else result


def _absolute(x: Any) -> Any:
    """The length, scaled against overflow."""
    return np.absolute(x)


def _sign(x: Any) -> Any:
    """`x / abs(x)`; an infinite number has the sign of its infinite part."""
    real, imag = x.real, x.imag
    size = np.absolute(x)
    if size == 0:
        return complex(0.0, 0.0)
    if np.isnan(size) or (np.isinf(real) and np.isinf(imag)):
        return complex(math.nan, math.nan)
    if np.isinf(real):
        return complex(math.copysign(1.0, real), 0.0)
    if np.isinf(size):
        return complex(0.0, math.copysign(1.0, imag))
    return complex(real / size, imag / size)


def _reciprocal(x: Any) -> Any:
    """By Smith's method, which scales."""
    real, imag = x.real, x.imag
    if abs(imag) <= abs(real):
        ratio = imag / real
        size = real + imag * ratio
        return complex(1.0 / size, -ratio / size)
    ratio = real / imag
    size = real * ratio + imag
    return complex(ratio / size, -1.0 / size)


def _rint(x: Any) -> Any:
    """Each part rounded, halves to the even neighbour."""
    return complex(np.rint(x.real), np.rint(x.imag))


def _expm1(x: Any) -> Any:
    """`exp(x) - 1` without cancellation near 0."""
    half = math.sin(x.imag / 2)
    real = math.expm1(x.real) * math.cos(x.imag) - 2 * half * half
    return complex(real, math.exp(x.real) * math.sin(x.imag))


def _log1p(x: Any) -> Any:
    """`log(1 + x)`."""
    return complex(math.log(math.hypot(x.real + 1, x.imag)), math.atan2(x.imag, x.real + 1))


WRITTEN_OUT: dict[str, Callable[[Any], Any]] = {
    "absolute": _absolute,
    "sign": _sign,
    "reciprocal": _reciprocal,
    "rint": _rint,
    "expm1": _expm1,
    "log1p": _log1p,
}
"""Helpers of one double complex argument."""
