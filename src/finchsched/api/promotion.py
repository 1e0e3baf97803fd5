"""Which type a pointwise operator works in, with Python's weak scalars as in NumPy (NEP 50).

A Python scalar is *weak*: beside a tensor it takes the tensor's type, unless its kind is wider (`bool < int <
float`).  Among themselves weak scalars stay weak, so `2 * 3 * A` keeps the type of a float32 `A`.
"""

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from finchsched.algebra.dtypes import BOOL, FLOAT64, INT64, DType, Scalar, cast_scalar, result_dtype
from finchsched.algebra.operators import Operator, operator, result_type
from finchsched.errors import DtypeError

__all__ = ["ElementType", "Weak", "fit_scalar", "kind_of", "kinds_of", "promote", "strong", "weak_type"]


@dataclass(frozen=True, slots=True)
class Weak:
    """The type of a Python scalar that has met no tensor yet; `default` is the type that it has if it never does."""

    default: DType


ElementType: TypeAlias = DType | Weak

_WEAK = {d: Weak(d) for d in (BOOL, INT64, FLOAT64)}
_BOOL_MEANING = {"add": "or", "mul": "and"}


def weak_type(value: Scalar) -> Weak:
    """The type of a Python scalar."""
    return _WEAK[BOOL if isinstance(value, bool) else INT64 if isinstance(value, int) else FLOAT64]


def strong(kind: ElementType) -> DType:
    """The element type that an expression has by itself."""
    return kind.default if isinstance(kind, Weak) else kind


@lru_cache(maxsize=4096)
def promote(op: Operator, types: tuple[ElementType, ...]) -> tuple[Operator, DType, ElementType]:
    """(the operator, the type its arguments are cast to, the type of the result) for arguments of these types.

    Among bools `add` is `or` and `mul` is `and`.  The condition of `where` is cast to bool and stands outside.  Raises
    DtypeError where NumPy has no such operation.
    """
    counted = types[1:] if op.name == "where" else types
    wanted = result_dtype(*(strong(t) for t in counted if isinstance(t, Weak))) if _has_weak(counted) else None
    firm = [t for t in counted if isinstance(t, DType)]
    common = result_dtype(*firm) if firm else wanted
    assert common is not None  # an operator has arguments
    if firm and wanted is not None and _rank(wanted) > _rank(common):
        common = wanted
    if common.is_bool and op.name in ("add", "minplus_add", "maxplus_add", "mul"):
        op = operator(_BOOL_MEANING.get(op.name, "or"))
    argument, result = result_type(op, *((BOOL, common, common) if op.name == "where" else (common,) * op.arity))
    if firm or op.name.startswith("to_"):
        return op, argument, result
    return op, argument, _WEAK.get(result, result)


def _has_weak(types: tuple[ElementType, ...]) -> bool:
    return any(isinstance(t, Weak) for t in types)


def _rank(dtype: DType) -> int:
    return 2 if dtype.is_float else 0 if dtype.is_bool else 1


def fit_scalar(value: Scalar, dtype: DType) -> Scalar:
    """`value` as a scalar of `dtype`.  Raises DtypeError for an integer that int64 cannot hold."""
    try:
        if dtype.is_integer and not np.iinfo(dtype.numpy).min <= value <= np.iinfo(dtype.numpy).max:
            raise DtypeError(f"the scalar {value!r} does not fit {dtype}")
        return cast_scalar(value, dtype)
    except OverflowError as error:
        raise DtypeError("a scalar is too large for a floating point number") from error


def kind_of(value: Scalar) -> str:
    """The class of a scalar that a plan may rely on: zero, one, finite, inf or nan."""
    if value == 0:
        return "zero"
    if value == 1:
        return "one"
    if isinstance(value, float):
        if value != value:
            return "nan"
        if value in (float("inf"), float("-inf")):
            return "inf"
    return "finite"


def kinds_of(value: Scalar) -> tuple[str, str]:
    """Its class in float64 (or as an integer), and rounded to float32, where it may become 0, 1 or infinite."""
    if isinstance(value, float):
        return kind_of(value), kind_of(ctypes.c_float(value).value)
    if isinstance(value, bool) or -(1 << 24) <= value <= 1 << 24:
        kind = kind_of(value)
        return kind, kind
    return "finite", "inf" if abs(value) >= 1 << 128 else "finite"
