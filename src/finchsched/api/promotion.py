"""Which type a pointwise operator works in, with Python's weak scalars as in NumPy (NEP 50).

A Python scalar is *weak*: beside a tensor it takes the tensor's type, unless its kind is wider (`bool < int < float <
complex`).  Among themselves weak scalars stay weak, so `2 * 3 * A` keeps the type of a float32 `A`.
"""

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from finchsched.algebra.dtypes import (
    BOOL,
    COMPLEX64,
    COMPLEX128,
    FLOAT64,
    INT64,
    UINT64,
    DType,
    Scalar,
    cast_scalar,
    has_in_range,
    is_finite,
    result_dtype,
)
from finchsched.algebra.operators import Operator, cast_target, is_comparison, operator, result_type
from finchsched.errors import DtypeError

__all__ = [
    "ElementType",
    "Weak",
    "check_scalars",
    "comparable",
    "fit_scalar",
    "is_wider",
    "kind_of",
    "kinds_of",
    "promote",
    "strong",
    "weak_type",
]


@dataclass(frozen=True, slots=True)
class Weak:
    """The type of a Python scalar that has met no tensor yet; `default` is the type that it has if it never does."""

    default: DType


ElementType: TypeAlias = DType | Weak

_WEAK = {d: Weak(d) for d in (BOOL, INT64, FLOAT64, COMPLEX128)}
_DEFAULT = {bool: BOOL, int: INT64, float: FLOAT64, complex: COMPLEX128}
_BOOL_MEANING = {"add": "or", "mul": "and"}


def weak_type(value: Scalar) -> Weak:
    """The type of a Python scalar."""
    return _WEAK[next(dtype for kind, dtype in _DEFAULT.items() if isinstance(value, kind))]


def strong(kind: ElementType) -> DType:
    """The element type that an expression has by itself."""
    return kind.default if isinstance(kind, Weak) else kind


@lru_cache(maxsize=4096)
def promote(op: Operator, types: tuple[ElementType, ...]) -> tuple[Operator, tuple[DType, ...], ElementType]:
    """(the operator, the types its arguments are cast to, the type of the result) for arguments of these types.

    Among bools `add` is `or` and `mul` is `and`.  The condition of `where` is cast to bool and stands outside.  Raises
    DtypeError where NumPy has no such operation.
    """
    counted = types[1:] if op.name == "where" else types
    firm = [t for t in counted if isinstance(t, DType)]
    common = result_dtype(*(firm or map(strong, counted)))
    given = tuple(_beside(common, t) if isinstance(t, Weak) else t for t in types)
    if all(t.is_bool for t in given) and op.name in ("add", "minplus_add", "maxplus_add", "mul"):
        op = operator(_BOOL_MEANING.get(op.name, "or"))
    arguments, result = result_type(op, *given)
    if firm or cast_target(op) is not None:
        return op, arguments, result
    return op, arguments, _WEAK.get(result, result)


def _beside(common: DType, scalar: Weak) -> DType:
    """The type that a weak scalar takes beside tensors of the type `common`."""
    wanted = scalar.default
    if _rank(wanted) <= _rank(common):
        return common
    if wanted.is_complex and common.is_float:
        return result_dtype(common, COMPLEX64)
    return wanted


def is_wider(dtype: DType, other: DType) -> bool:
    """Whether `dtype` is of the same kind as `other` or a wider one: bool < integers < floats < complex numbers."""
    return _rank(dtype) >= _rank(other)


def _rank(dtype: DType) -> int:
    return 3 if dtype.is_complex else 2 if dtype.is_float else 0 if dtype.is_bool else 1


def fit_scalar(value: Scalar, dtype: DType) -> Scalar:
    """`value` as a scalar of `dtype`.  Raises DtypeError for one that the type cannot hold."""
    try:
        if dtype.is_integer and not has_in_range(dtype, value):
            raise DtypeError(f"the scalar {value!r} does not fit {dtype}\nhint: cast the array, or the scalar")
        return cast_scalar(value, dtype)
    except OverflowError as error:
        raise DtypeError("a scalar is too large for a floating point number") from error


def comparable(value: Scalar, dtype: DType) -> tuple[Scalar, DType]:
    """An integer and the type in which it can be compared with integers of `dtype`; beyond 64 bits an infinity."""
    for kind in (dtype, INT64, UINT64):
        if has_in_range(kind, value):
            return value, kind
    assert not isinstance(value, complex)
    return (float("inf") if value > 0 else float("-inf")), FLOAT64


def check_scalars(op: Operator, types: tuple[ElementType, ...], values: tuple[Scalar | None, ...]) -> None:
    """Raise DtypeError as NumPy does: for a Python scalar that the type it takes cannot hold, and for integers to a
    negative power.

    `values`: of the arguments that are scalars; None for the others.
    """
    promoted, arguments, _ = promote(op, types)
    for kind, value, dtype in zip(types, values, arguments, strict=True):
        if isinstance(kind, Weak) and value is not None and not is_comparison(op):
            fit_scalar(value, dtype)
    exponent = values[-1]
    if promoted.name == "pow" and arguments[-1].is_integer and exponent is not None:
        assert not isinstance(exponent, complex)
        if exponent < 0:
            raise DtypeError(
                f"integers to negative powers are no integers; found the exponent {exponent}\n"
                "hint: cast the base with .astype('float64')"
            )


def kind_of(value: Scalar) -> str:
    """The class of a scalar that a plan may rely on: zero, one, finite, inf or nan."""
    if value == 0:
        return "zero"
    if value == 1:
        return "one"
    if value != value:
        return "nan"
    return "finite" if is_finite(value) else "inf"


def kinds_of(value: Scalar) -> tuple[str, ...]:
    """What a plan may rely on: its class in double precision (or as an integer) and rounded to single precision, where
    it may become 0, 1 or infinite; and of an integer beyond int8, which types hold it.
    """
    if isinstance(value, float):
        return kind_of(value), kind_of(ctypes.c_float(value).value)
    if isinstance(value, complex):
        return kind_of(value), kind_of(cast_scalar(value, COMPLEX64))
    if isinstance(value, bool) or -(1 << 7) <= value < 1 << 7:
        kind = kind_of(value)
        return kind, kind, "" if value >= 0 else "-"
    return "finite", "inf" if abs(value) >= 1 << 128 else "finite", _width(value)


def _width(value: int) -> str:
    """The sign of an integer, and the bytes that it takes without one and with one."""
    unsigned = next((n for n in (1, 2, 4, 8) if 0 <= value < 1 << (8 * n)), 9)
    signed = next((n for n in (1, 2, 4, 8) if -(1 << (8 * n - 1)) <= value < 1 << (8 * n - 1)), 9)
    return f"{'-' if value < 0 else ''}{unsigned}{signed}"
