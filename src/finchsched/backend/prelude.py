"""The lines above a kernel: short names of element types, typed constants and helpers.

A constant is a module-level NumPy scalar (`U_1 = U(1)`), because in Numba a plain `1` is a signed integer, and
uint64 with int64 is float64.  Numba freezes such globals, which also compiles faster than a call `U(1)` in the
function.
"""

import keyword
import re

import numpy as np

from finchsched.algebra.dtypes import (
    BOOL,
    COMPLEX64,
    COMPLEX128,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    DType,
    Scalar,
    cast_scalar,
    has_in_range,
)
from finchsched.errors import LoweringError

__all__ = ["HELPERS", "Prelude", "is_free_name"]

_CAST_NAMES = {
    BOOL: "B",
    INT8: "I8",
    INT16: "I16",
    INT32: "I32",
    INT64: "I",
    UINT8: "U8",
    UINT16: "U16",
    UINT32: "U32",
    UINT64: "U",
    FLOAT32: "F32",
    FLOAT64: "F",
    COMPLEX64: "C64",
    COMPLEX128: "C",
}

HELPERS = {
    **{
        name: f"np.{name}"
        for name in (
            "minimum maximum fmin fmax power left_shift right_shift reciprocal sign absolute rint true_divide "
            "sqrt exp expm1 log log1p log2 log10 sin cos tan arcsin arccos arctan "
            "sinh cosh tanh arcsinh arccosh arctanh"
        ).split()
    },
    "to_uint64": "np.uint64",
}
"""Names bound to NumPy's functions in the text, and to functions of the same meaning when the text is compiled: where
Numba has none, or one that differs."""

_TAKEN = {"np", "range", "abs", "complex", "float", "TRUE", "FALSE", "_", *_CAST_NAMES.values(), *HELPERS}
_CONSTANT = re.compile(r"([UIF]|[UI](8|16|32)|F32|C64|C)_")


def is_free_name(name: str) -> bool:
    """Whether a kernel may call a variable `name` without hiding what its text relies on."""
    return name.isidentifier() and not keyword.iskeyword(name) and name not in _TAKEN and not _CONSTANT.match(name)


class Prelude:
    """Collects what a kernel's text uses; `lines()` writes it in order of first use."""

    def __init__(self) -> None:
        self._casts: dict[str, str] = {}
        self._constants: dict[str, str] = {}
        self._helpers: dict[str, str] = {}

    def cast(self, dtype: DType) -> str:
        """The name of the function that converts to `dtype`."""
        name = _CAST_NAMES[dtype]
        self._casts[name] = "np.bool_" if dtype.is_bool else f"np.{dtype.name}"
        return name

    def constant(self, value: Scalar, dtype: DType) -> str:
        """The name of a typed constant.  Raises LoweringError for an integer out of range."""
        _check_fits(value, dtype)
        value = cast_scalar(value, dtype)
        kind = self.cast(dtype)
        match value:
            case bool():
                name, text = ("TRUE", "True") if value else ("FALSE", "False")
            case float():
                digits = _digits(value, dtype)
                name, text = _short(digits), digits if np.isfinite(value) else f'"{digits}"'
            case complex():
                parts = [_digits(part, dtype.real) for part in (value.real, value.imag)]
                name = "_".join(map(_short, parts)) + "j"
                text = f"complex({', '.join(d if d[-1].isdigit() else f'float({d!r})' for d in parts)})"
            case _:
                name, text = str(value).replace("-", "m"), str(value)
        name = name if isinstance(value, bool) else f"{kind}_{name}"
        self._constants[name] = f"{kind}({text})"
        return name

    def helper(self, name: str) -> str:
        """The name of one of HELPERS."""
        self._helpers[name] = HELPERS[name]
        return name

    def lines(self) -> list[str]:
        """`name = value` for everything used."""
        return [f"{n} = {v}" for part in (self._casts, self._constants, self._helpers) for n, v in part.items()]


def _check_fits(value: Scalar, dtype: DType) -> None:
    if dtype.is_integer and not has_in_range(dtype, value):
        info = np.iinfo(dtype.numpy)
        raise LoweringError(f"constant {value} does not fit {dtype}, which holds {info.min} .. {info.max}")


def _digits(value: float, dtype: DType) -> str:
    """As few digits as tell the value from its neighbours in `dtype`; inf and nan by name."""
    return repr(value) if dtype == FLOAT64 else str(dtype.numpy.type(value))


def _short(digits: str) -> str:
    """Digits as part of a name."""
    return digits.removesuffix(".0").replace("+", "").replace("-", "m").replace(".", "p")
