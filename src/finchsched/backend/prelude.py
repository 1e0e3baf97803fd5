"""The lines above a kernel: short names of element types, typed constants and the two helpers.

A constant is a module-level NumPy scalar (`U_1 = U(1)`), because in Numba a plain `1` is a signed integer, and
uint64 with int64 is float64.  Numba freezes such globals, which also compiles faster than a call `U(1)` in the
function.
"""

import keyword
import re

import numpy as np

from finchsched.algebra.dtypes import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    UINT8,
    UINT32,
    UINT64,
    DType,
    Scalar,
    cast_scalar,
)
from finchsched.errors import LoweringError

__all__ = ["HELPERS", "Prelude", "is_free_name"]

_CAST_NAMES = {
    BOOL: "B",
    INT32: "I32",
    INT64: "I",
    UINT8: "U8",
    UINT32: "U32",
    UINT64: "U",
    FLOAT32: "F32",
    FLOAT64: "F",
}

HELPERS = ("minimum", "maximum")
"""Names bound to NumPy's functions in the text, and to intrinsics of the same meaning when the text is compiled."""

_TAKEN = {"np", "range", "abs", "TRUE", "FALSE", "_", *_CAST_NAMES.values(), *HELPERS}
_CONSTANT = re.compile(r"(U|I|F|U8|I32|U32|F32)_")


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
        value = cast_scalar(value, dtype)
        kind = self.cast(dtype)
        if dtype.is_bool:
            name, text = ("TRUE", "True") if value else ("FALSE", "False")
        elif dtype.is_float:
            name, text = _spell_float(kind, dtype, float(value))
        else:
            info = np.iinfo(dtype.numpy)
            if not info.min <= value <= info.max:
                raise LoweringError(f"constant {value} does not fit {dtype}, which holds {info.min} .. {info.max}")
            name, text = f"{kind}_{value}".replace("-", "m"), str(value)
        self._constants[name] = f"{kind}({text})"
        return name

    def helper(self, name: str) -> str:
        """The name of one of HELPERS."""
        self._helpers[name] = f"np.{name}"
        return name

    def lines(self) -> list[str]:
        """`name = value` for everything used."""
        return [f"{n} = {v}" for part in (self._casts, self._constants, self._helpers) for n, v in part.items()]


def _spell_float(kind: str, dtype: DType, value: float) -> tuple[str, str]:
    digits = repr(value) if dtype == FLOAT64 else str(dtype.numpy.type(value))
    text = digits if np.isfinite(value) else f'"{digits}"'
    short = digits.removesuffix(".0").replace("+", "").replace("-", "m").replace(".", "p")
    return f"{kind}_{short}", text
