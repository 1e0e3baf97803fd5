"""Element types, and NumPy's promotion among them.

Public element types are bool, int64, float32 and float64; the unsigned and narrow integers are for index arrays and
masks.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from finchsched.errors import DtypeError

__all__ = [
    "BOOL",
    "ELEMENT_DTYPES",
    "FLOAT32",
    "FLOAT64",
    "INT32",
    "INT64",
    "UINT8",
    "UINT32",
    "UINT64",
    "DType",
    "Scalar",
    "accumulator_dtype",
    "as_dtype",
    "cast_scalar",
    "result_dtype",
    "scalar_key",
]

Scalar = bool | int | float
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
        """Whether this is a binary floating point type."""
        return self.name.startswith("float")

    @property
    def is_bool(self) -> bool:
        """Whether this is the type of truth values."""
        return self.name == "bool"

    @property
    def is_integer(self) -> bool:
        """Whether this is a signed or unsigned integer type."""
        return not self.is_float and not self.is_bool

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return int(self.numpy.itemsize)

    def __str__(self) -> str:
        return self.name


BOOL = DType("bool")
INT32 = DType("int32")
INT64 = DType("int64")
UINT8 = DType("uint8")
UINT32 = DType("uint32")
UINT64 = DType("uint64")
FLOAT32 = DType("float32")
FLOAT64 = DType("float64")

ELEMENT_DTYPES = (BOOL, INT64, FLOAT32, FLOAT64)
_BY_NAME = {d.name: d for d in (BOOL, INT32, INT64, UINT8, UINT32, UINT64, FLOAT32, FLOAT64)}


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
    """The type in which `np.sum` and `np.prod` add up elements of `dtype`: bool widens to int64."""
    return INT64 if dtype.is_bool else dtype


def cast_scalar(value: Scalar, dtype: DType) -> Scalar:
    """`value` rounded to `dtype`, as a plain Python scalar."""
    if dtype.is_bool:
        return bool(value)
    if dtype.is_integer:
        return int(value)
    with np.errstate(over="ignore"):
        return float(dtype.numpy.type(value))


def scalar_key(value: Scalar) -> tuple[str, str]:
    """A key under which 1, 1.0, True, 0.0 and -0.0 are five different scalars and NaN equals NaN."""
    if isinstance(value, float):
        return ("float", "nan" if value != value else value.hex())
    return (type(value).__name__, repr(value))
