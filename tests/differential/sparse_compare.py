"""Results of the library against CSR matrices of SciPy's: which positions are stored, and their values."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import finchsched as fs

Array = NDArray[Any]

TOLERANCE = 1e-10


def check_structure(pos: Array, crd: Array, rows: int, columns: int) -> None:
    """Index arrays of integers, pointers that do not fall, coordinates in range that rise in each row."""
    assert pos.dtype in (np.int32, np.int64) and crd.dtype in (np.int32, np.int64), (pos.dtype, crd.dtype)
    assert len(pos) == rows + 1 and pos[0] == 0 and pos[-1] == len(crd), (len(pos), rows, len(crd))
    assert (pos[1:] >= pos[:-1]).all(), "pointers fall"
    if len(crd) == 0:
        return
    assert crd.min() >= 0 and crd.max() < columns, (int(crd.min()), int(crd.max()), columns)
    rises = crd[1:] > crd[:-1]
    starts = pos[1:-1]
    rises[starts[(starts > 0) & (starts < len(crd))] - 1] = True
    assert rises.all(), f"row order is broken at entry {int(rises.argmin())}"


def check_sparse(result: fs.Tensor, values: Any, size: Any = None, *, by_columns: bool = False) -> None:
    """`result` stores the positions of `size`, and what `values` has there (0 where it has nothing).

    values, size: CSR arrays with sorted rows; without `size` the positions are those of `values`, which are exact. With
    `by_columns`, the result is stored by columns and they are its transpose.
    """
    shape = result.shape[::-1] if by_columns else result.shape
    assert result.format == ("csc" if by_columns else "csr"), result.format
    assert shape == values.shape
    assert result.dtype == values.dtype, (result.dtype, values.dtype)
    pos, crd, val = result.data.pos[1], result.data.crd[1], result.data.val
    assert pos is not None and crd is not None
    check_structure(pos, crd, *shape)
    positions = values if size is None else size
    assert len(crd) == len(val) == positions.nnz, f"{len(crd)} entries are stored, expected {positions.nnz}"
    assert np.array_equal(pos, positions.indptr)
    assert np.array_equal(crd, positions.indices)
    check_values(val, aligned(values, positions), None if size is None else size.data)


def aligned(values: Any, positions: Any) -> Array:
    """The values at each of the positions, which are at least those that `values` stores."""
    if values.nnz == positions.nnz:
        assert np.array_equal(values.indices, positions.indices)
        return np.asarray(values.data)
    found = np.searchsorted(keys(positions), keys(values))
    full = np.zeros(positions.nnz, values.dtype)
    assert np.array_equal(keys(positions)[found], keys(values))
    full[found] = values.data
    return full


def keys(matrix: Any) -> Array:
    """One rising number per stored entry."""
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    return np.asarray(rows * matrix.shape[1] + matrix.indices)


def check_values(got: Array, expected: Array, size: Array | None) -> None:
    """Equal where `size` is None or values are integers, else up to TOLERANCE times `size`."""
    assert got.dtype == expected.dtype, (got.dtype, expected.dtype)
    assert got.shape == expected.shape, (got.shape, expected.shape)
    if size is None or got.dtype.kind not in "fc":
        wrong = got != expected
    else:
        wrong = ~(np.abs(got - expected) <= TOLERANCE * size)
    if wrong.any():
        at = np.unravel_index(int(np.argmax(wrong)), got.shape)
        raise AssertionError(
            f"{int(wrong.sum())} values differ; entry {at}: got {got[at]!r}, expected {expected[at]!r}"
        )


def check_dense(result: fs.Tensor, values: Array, size: Array | None = None) -> None:
    """`result` is dense and has these values."""
    assert result.format == "dense", result.format
    check_values(result.to_numpy(), np.asarray(values), size)
