"""What a file of coordinates holds, and fiber tensors made of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from finchsched.algebra.dtypes import ELEMENT_DTYPES, DType, Scalar, as_dtype
from finchsched.ast.format import Level
from finchsched.errors import DtypeError
from finchsched.formats.coordinates import from_coordinates, index_width
from finchsched.formats.fiber_tensor import FiberTensor, tensor_type
from finchsched.formats.levels import Dense, SparseList
from finchsched.settings import current

__all__ = [
    "CoordinateArray",
    "cast_values",
    "check_elements",
    "default_layout",
    "dense_tensor",
    "element_zero",
    "sparse_tensor",
]

Layout: TypeAlias = tuple[tuple[Level, ...], tuple[int, ...]]
"""Levels, outermost first, and the logical axis that each one stores."""

_FREE_ROWS = 1 << 20
_ROWS_PER_ENTRY = 16


@dataclass(frozen=True, slots=True, eq=False)
class CoordinateArray:
    """An array as a list of entries, in any order; a coordinate may come several times, its values then add up.

    `coordinates` has an int64 array of shape (entries,) for each axis, zero-based; `values` has that shape too and any
    NumPy dtype.
    """

    shape: tuple[int, ...]
    coordinates: tuple[NDArray[np.int64], ...]
    values: NDArray[Any]


def cast_values(values: NDArray[Any], dtype: np.dtype[Any], path: str) -> NDArray[Any]:
    """`values` in another type that can hold them; a floating point type rounds.

    Raises DtypeError naming a value that would change otherwise.
    """
    if values.dtype == dtype:
        return values
    if values.dtype.kind == "c" and dtype.kind != "c":
        _refuse_change(values, values.imag != 0, dtype, path)
        return cast_values(values.real, dtype, path)
    with np.errstate(all="ignore"):
        cast = values.astype(dtype)
    if dtype.kind in "fc":
        return cast
    wrong = cast != values
    if values.dtype.kind == "f" and dtype.kind in "iu":  # the largest integer is not a float, the one above is
        wrong |= values >= float(np.iinfo(dtype).max) + 1
    _refuse_change(values, wrong, dtype, path)
    return cast


def _refuse_change(values: NDArray[Any], wrong: NDArray[np.bool], dtype: np.dtype[Any], path: str) -> None:
    if wrong.any():
        value = values.reshape(-1)[int(wrong.reshape(-1).argmax())]
        raise DtypeError(f"{path}: found the value {value}, which {dtype} cannot hold")


def check_elements(dtype: np.dtype[Any], path: str) -> DType:
    """The element type of tensors for a NumPy type.  Raises DtypeError naming the file if there is none."""
    try:
        found = as_dtype(dtype.newbyteorder("="))
    except DtypeError:
        found = None
    if found is None or found not in ELEMENT_DTYPES:
        known = ", ".join(d.name for d in ELEMENT_DTYPES)
        raise DtypeError(
            f"{path}: element type {dtype} is not supported; supported are {known}\n"
            "hint: dtype= converts the values while they are read"
        )
    return found


def element_zero(dtype: DType) -> Scalar:
    """Zero of the type, as a plain Python scalar."""
    zero: Scalar = dtype.numpy.type(0).item()
    return zero


def default_layout(shape: Sequence[int], stored: int) -> Layout:
    """How entries that come from a file are stored: csr, or csf if there are not two axes.

    A matrix whose row pointers would be most of it is stored as dcsr, which has none for empty rows: one of more than
    2**20 rows plus 16 for each entry, or of more rows than the densify limit of the settings.
    """
    index = index_width(shape, stored)
    sparse = SparseList(index, index)
    if len(shape) != 2 or shape[0] > min(current().densify, _FREE_ROWS + _ROWS_PER_ENTRY * stored):
        return (sparse,) * len(shape), tuple(range(len(shape)))
    return (Dense(), sparse), (0, 1)


def sparse_tensor(entries: CoordinateArray, layout: Layout | None, path: str) -> FiberTensor:
    """The entries as a tensor, repeated ones added up, in `layout`, or else in the default one.

    Raises DtypeError for values that tensors cannot hold, DensifyError for dense levels that are too large.
    """
    dtype = check_elements(entries.values.dtype, path)
    levels, perm = layout or default_layout(entries.shape, len(entries.values))
    zero = element_zero(dtype)
    return from_coordinates(entries.coordinates, entries.values, entries.shape, levels, perm, fill=zero)


def dense_tensor(values: NDArray[Any], path: str) -> FiberTensor:
    """An array that nobody else holds, as a tensor of Dense levels.  Raises DtypeError as `sparse_tensor` does."""
    dtype = check_elements(values.dtype, path)
    val = np.ascontiguousarray(values, dtype.numpy).reshape(math.prod(values.shape))
    val.setflags(write=False)
    rank = values.ndim
    kind = tensor_type((Dense(),) * rank, tuple(range(rank)), dtype, element_zero(dtype))
    return FiberTensor(kind, tuple(map(int, values.shape)), element_zero(dtype), (None,) * rank, (None,) * rank, val)
