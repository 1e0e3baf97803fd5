"""Element types, and NumPy's promotion among them.

Public element types are bool, the signed and unsigned integers of 8 to 64 bits, float32, float64, complex64 and
complex128.
"""

import cmath
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from finchsched.errors import DtypeError

__all__ = [
    "BOOL",
    "COMPLEX64",
    "COMPLEX128",
    "ELEMENT_DTYPES",
    "FLOAT32",
    "FLOAT64",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "UINT8",
    "UINT16",
    "UINT32",
    "UINT64",
    "DType",
    "Scalar",
    "accumulator_dtype",
    "as_dtype",
    "cast_scalar",
    "has_in_range",
    "is_finite",
    "result_dtype",
    "scalar_key",
    "scalar_text",
]

Scalar = bool | int | float | complex
"""What a literal may hold: a plain Python scalar, never a NumPy one."""


@dataclass(frozen=True, slots=True)
class DType:
    """An element type, known by its NumPy name."""

    name: str

    @property
    def numpy(self) -> np.dtype:
        """The NumPy dtype of the same name."""
        return np.dtype(self.name)

    @property
    def is_float(self) -> bool:
        """Whether this is a real binary floating point type."""
        return self.name.startswith("float")

    @property
    def is_complex(self) -> bool:
        """Whether this is a type of pairs of floating point numbers."""
        return self.name.startswith("complex")

    @property
    def is_inexact(self) -> bool:
        """Whether this is a real or complex floating point type."""
        return self.is_float or self.is_complex

    @property
    def is_bool(self) -> bool:
        """Whether this is the type of truth values."""
        return self.name == "bool"

    @property
    def is_integer(self) -> bool:
        """Whether this is a signed or unsigned integer type."""
        return "int" in self.name

    @property
    def is_unsigned(self) -> bool:
        """Whether this is an unsigned integer type."""
        return self.name.startswith("uint")

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return int(self.numpy.itemsize)

    @property
    def real(self) -> "DType":
        """The type of the real part: of a complex type the float type of half its size, else the type itself."""
        return _REAL.get(self, self)

    @property
    def python(self) -> type[Scalar]:
        """The class of a literal of this type."""
        return bool if self.is_bool else int if self.is_integer else float if self.is_float else complex

    def __str__(self) -> str:
        return self.name


BOOL = DType("bool")
INT8 = DType("int8")
INT16 = DType("int16")
INT32 = DType("int32")
INT64 = DType("int64")
UINT8 = DType("uint8")
UINT16 = DType("uint16")
UINT32 = DType("uint32")
UINT64 = DType("uint64")
FLOAT32 = DType("float32")
FLOAT64 = DType("float64")
COMPLEX64 = DType("complex64")
COMPLEX128 = DType("complex128")

ELEMENT_DTYPES = (
    BOOL,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    FLOAT32,
    FLOAT64,
    COMPLEX64,
    COMPLEX128,
)
"""Every element type, in NumPy's order."""

_BY_NAME = {d.name: d for d in ELEMENT_DTYPES}
_REAL = {COMPLEX64: FLOAT32, COMPLEX128: FLOAT64}


def as_dtype(dtype: object) -> DType:
    """The DType for a NumPy dtype, a type or a name.  Raises DtypeError for one that is not supported."""
    if isinstance(dtype, DType):
        return dtype
    try:
        name = np.dtype(dtype).name  # type: ignore[call-overload]  # any dtype-like object is welcome
    except TypeError as error:
        raise DtypeError(f"{dtype!r} is not an element type") from error
    found = _BY_NAME.get(name)
    if found is None:
        known = ", ".join(d.name for d in ELEMENT_DTYPES)
        raise DtypeError(f"element type {name} is not supported; supported are {known}\nhint: convert with .astype()")
    return found


@lru_cache(maxsize=1024)
def result_dtype(*dtypes: DType) -> DType:
    """NumPy's promotion of several element types."""
    return as_dtype(np.result_type(*(d.numpy for d in dtypes)))


def accumulator_dtype(dtype: DType) -> DType:
    """The type in which `np.sum` and `np.prod` add up elements of `dtype`.

    Bools and integers widen to 64 bits, signed or unsigned as they are (bool: int64); other types stay.
    """
    if dtype.is_unsigned:
        return UINT64
    return dtype if dtype.is_inexact else INT64


def cast_scalar(value: Scalar, dtype: DType) -> Scalar:
    """`value` as a plain Python scalar of `dtype`, converted as NumPy's `astype` does.

    An integer wraps around in a narrower type, a float loses its fraction, a complex number its imaginary part, NaN its
    sign: NaN equals NaN in types and plan keys, so there must be one of them only.  Raises
    OverflowError for an integer that is too large for a floating point number.
    """
    if dtype is FLOAT64 and type(value) is float and value == value:  # many times faster than by way of NumPy
        return value
    if dtype.is_bool:
        return bool(value)
    if isinstance(value, complex) and not dtype.is_complex:
        value = value.real
    if dtype.is_integer:
        if not isinstance(value, int):
            with np.errstate(invalid="ignore"):
                return int(np.asarray(value).astype(dtype.numpy))
        return _wrapped(value, dtype)
    if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**64:
        # By way of an integer of 64 bits, so that the value is rounded once.
        held: np.generic = np.uint64(value) if value >= 2**63 else np.int64(value)
    else:
        held = np.complex128(value) if isinstance(value, complex) else np.float64(value)
    with np.errstate(over="ignore"):
        found = dtype.python(np.asarray(held).astype(dtype.numpy)[()])
    return math.nan if found != found and dtype.is_float else found


def has_in_range(dtype: DType, value: Scalar) -> bool:
    """Whether a number lies in the range of an integer type."""
    least, largest = _range(dtype)
    return not isinstance(value, complex) and least <= value <= largest


@lru_cache(maxsize=32)
def _range(dtype: DType) -> tuple[int, int]:
    info = np.iinfo(dtype.numpy)
    return int(info.min), int(info.max)


def _wrapped(value: int, dtype: DType) -> int:
    """An integer modulo the range of `dtype`."""
    bits = 8 * dtype.itemsize
    value &= (1 << bits) - 1
    return value if dtype.is_unsigned or value < 1 << (bits - 1) else value - (1 << bits)


def is_finite(value: Scalar) -> bool:
    """Whether a scalar is neither infinite nor NaN, in both parts if it is complex."""
    if isinstance(value, complex):
        return cmath.isfinite(value)
    return not isinstance(value, float) or math.isfinite(value)


def scalar_key(value: Scalar) -> tuple[str, str]:
    """A key under which 1, 1.0, 1+0j, True, 0.0 and -0.0 are six different scalars and NaN equals NaN."""
    if isinstance(value, complex):
        return ("complex", f"{scalar_key(value.real)[1]} {scalar_key(value.imag)[1]}")
    if isinstance(value, float):
        return ("float", "nan" if value != value else value.hex())
    return (type(value).__name__, repr(value))


def scalar_text(value: Scalar) -> str:
    """A scalar as printed IR spells it.  A complex one has both parts and no blanks: `1.5-2.0j`, `nan+infj`."""
    if not isinstance(value, complex):
        return repr(value)
    sign = "-" if math.copysign(1.0, value.imag) < 0 and not math.isnan(value.imag) else "+"
    return f"{value.real!r}{sign}{abs(value.imag)!r}j"
