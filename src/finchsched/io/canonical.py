"""Coordinates in any order, with repetitions, to compressed sparse rows."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from finchsched.errors import DtypeError, FormatError

__all__ = ["coordinates_to_csr"]

_Array: TypeAlias = NDArray[Any]

_INT32_MAX = 2**31 - 1
_INT64_MAX = 2**63 - 1


def coordinates_to_csr(
    shape: tuple[int, int], row: _Array, col: _Array, values: _Array
) -> tuple[_Array, _Array, _Array]:
    """Compressed sparse rows `(pos, crd, val)` of the matrix whose entry k is `values[k]` at `(row[k], col[k])`.

    Row i holds columns `crd[pos[i]:pos[i + 1]]`, zero-based and strictly rising, with `val` beside `crd`; `pos` has
    shape (rows + 1,).  Values of a repeated coordinate are added (bool: or; integers wrap around).  Explicit zeros
    stay.  `pos` and `crd` are int32 if rows, columns and the number of stored entries fit, else int64;
    `val` keeps its dtype.  The results are fresh arrays; the arguments are not changed.

    Takes time O(n log n) in the number of entries (linear if they are in order) plus O(rows), space O(n + rows).

    Raises FormatError if the arguments are not 1-D and equally long, a size is negative, or an index is out of range;
    DtypeError if indices are not integers or values are not bool or numbers.

    >>> pos, crd, val = coordinates_to_csr((2, 3), np.array([1, 0, 1]), np.array([2, 1, 2]), np.array([5, 7, 6]))
    >>> pos.tolist(), crd.tolist(), val.tolist()
    ([0, 1, 2], [1, 2], [7, 11])
    """
    _check_arguments(shape, row, col, values)
    shape = (int(shape[0]), int(shape[1]))  # NumPy integers would overflow in products
    order = _row_major_order(shape, row.astype(np.int64), col.astype(np.int64))
    row, col, val = row[order], col[order], values[order]
    if row.size > 1:
        new = np.ones(row.size, dtype=np.bool_)
        np.not_equal(row[1:], row[:-1], out=new[1:])
        new[1:] |= col[1:] != col[:-1]
        if not new.all():
            first = np.flatnonzero(new)
            row, col, val = row[first], col[first], _sum_runs(val, first)
    index = np.int32 if max(*shape, row.size) <= _INT32_MAX else np.int64
    pos = np.zeros(shape[0] + 1, dtype=index)
    np.cumsum(np.bincount(row, minlength=shape[0]), out=pos[1:])
    return pos, col.astype(index, copy=False), val


def _row_major_order(shape: tuple[int, int], row: NDArray[np.int64], col: NDArray[np.int64]) -> NDArray[np.intp]:
    """The stable permutation that sorts by row, then by column."""
    if shape[0] * shape[1] - 1 <= _INT64_MAX:  # Python integers: the largest key, row * columns + col, cannot overflow
        return np.argsort(row * shape[1] + col, kind="stable")
    return np.lexsort((col, row))


def _sum_runs(values: _Array, first: NDArray[np.intp]) -> _Array:
    """The sum (of bool: or, which is NumPy's sum of them) of each run of `values`; run k starts at `first[k]`."""
    return np.add.reduceat(values, first, dtype=values.dtype)


def _check_arguments(shape: tuple[int, int], row: _Array, col: _Array, values: _Array) -> None:
    if not row.shape == col.shape == values.shape or row.ndim != 1:
        raise FormatError(
            f"row, col and values have shapes {row.shape}, {col.shape} and {values.shape}; expected one length"
        )
    if row.dtype.kind not in "iu" or col.dtype.kind not in "iu":
        raise DtypeError(f"row and col have dtypes {row.dtype} and {col.dtype}; expected integers")
    if values.dtype.kind not in "biufc":
        raise DtypeError(f"values have dtype {values.dtype}; expected bool or a number")
    for name, index, extent in (("row", row, shape[0]), ("col", col, shape[1])):
        if not 0 <= extent <= _INT64_MAX:
            raise FormatError(f"shape is {shape}; expected sizes from 0 to {_INT64_MAX}")
        bad = (index < 0) | (index >= extent)
        if bad.any():
            k = int(np.argmax(bad))
            raise FormatError(f"{name}[{k}] is {index[k]}; expected 0 <= {name} < {extent}")
