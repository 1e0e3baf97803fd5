"""Writing Matrix Market files."""

import os
from typing import Any, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from finchsched.ast.format import is_sparse
from finchsched.errors import FormatError
from finchsched.formats.coordinates import coordinates_of
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.io.matrix_market_header import Symmetry
from finchsched.io.text_write import create_text, write_comment, write_rows

__all__ = ["write_matrix_market"]

_Array: TypeAlias = NDArray[Any]
_Entries: TypeAlias = tuple[_Array, _Array, _Array]

_FIELDS = {"b": "integer", "i": "integer", "u": "unsigned-integer", "f": "real", "c": "complex"}


def write_matrix_market(
    path: str | os.PathLike[str], t: FiberTensor, *, symmetry: str = "general", comment: str = ""
) -> None:
    """Write a tensor of two axes: layout `array` of one with Dense levels only, else `coordinate`, in storage order.

    Fields: `real`, `integer`, `unsigned-integer`, `complex` by the element type; of bool, `pattern` if it is sparse and
    all that is stored is True, else `integer`.  `symmetry`: which one to use, so that only the lower triangle is
    written, or "auto": the first of symmetric, hermitian and skew-symmetric that holds, else general.  NaN equals NaN
    there, and 0.0 equals -0.0, so that one of the two may be read back as the other.

    Raises FormatError unless there are two axes, the fill is 0 and the symmetry holds.
    """
    name = os.fspath(path)
    if t.ndim != 2:
        raise FormatError(
            f"{name}: a Matrix Market file holds 2 axes, this tensor has {t.ndim} (shape {t.shape})\nhint: use .npz"
            + (" or .tns" if t.ndim else "")
        )
    sparse = is_sparse(t.type)
    if sparse and t.fill != 0:
        raise FormatError(f"{name}: a Matrix Market file has the fill 0, this tensor has {t.fill!r}\nhint: use .npz")
    row, col = coordinates_of(t)
    entries = (row, col, t.val)
    chosen = _chosen(name, symmetry, t.shape, entries)
    if not sparse:
        by_columns = np.lexsort((row, col))
        entries = (row[by_columns], col[by_columns], t.val[by_columns])
    entries = _written(entries, chosen, strict=not sparse)
    pattern = sparse and t.val.dtype == np.bool and bool(t.val.all())
    field = "pattern" if pattern else _FIELDS[t.val.dtype.kind]
    with create_text(path) as stream:
        stream.write(f"%%MatrixMarket matrix {'coordinate' if sparse else 'array'} {field} {chosen}\n".encode())
        write_comment(stream, comment, "%")
        rows, cols, values = entries
        if not sparse:
            stream.write(f"{t.shape[0]} {t.shape[1]}\n".encode())
            write_rows(stream, [values])
            return
        stream.write(f"{t.shape[0]} {t.shape[1]} {len(values)}\n".encode())
        write_rows(stream, [rows + 1, cols + 1, *([] if pattern else [values])])


def _written(entries: _Entries, symmetry: Symmetry, *, strict: bool) -> _Entries:
    """The entries that stand for all; `strict`: without the diagonal of a skew-symmetric matrix."""
    if symmetry == "general":
        return entries
    row, col, values = entries
    lower = row > col if symmetry == "skew-symmetric" and strict else row >= col
    return row[lower], col[lower], values[lower]


def _chosen(path: str, wanted: str, shape: tuple[int, ...], entries: _Entries) -> Symmetry:
    if wanted == "general":
        return "general"
    tried: tuple[Symmetry, ...] = ("symmetric", "hermitian", "skew-symmetric")
    if wanted != "auto" and wanted not in tried:
        raise FormatError(f"found symmetry={wanted!r}, expected auto or {' or '.join(get_args(Symmetry))}")
    mirror = _mirror(entries) if shape[0] == shape[1] else None
    for symmetry in tried:
        if wanted in ("auto", symmetry) and mirror is not None and _holds(symmetry, entries, mirror):
            return symmetry
    if wanted == "auto":
        return "general"
    raise FormatError(f'{path}: the matrix is not {wanted}\nhint: symmetry="auto" finds out what holds')


def _mirror(entries: _Entries) -> tuple[_Array, _Array] | None:
    """The numbers of entries by row and of those by column; None unless these are mirror images of each other."""
    row, col, _ = entries
    by_row, by_col = np.lexsort((col, row)), np.lexsort((row, col))
    if np.array_equal(row[by_row], col[by_col]) and np.array_equal(col[by_row], row[by_col]):
        return by_row, by_col
    return None


def _holds(symmetry: Symmetry, entries: _Entries, mirror: tuple[_Array, _Array]) -> bool:
    values = entries[2]
    kind, (by_row, by_col) = values.dtype.kind, mirror
    match symmetry:
        case "general":
            return True
        case "symmetric":
            return _same(values[by_row], values[by_col])
        case "hermitian":
            return _same(values[by_row], np.conjugate(values[by_col]) if kind == "c" else values[by_col])
        case "skew-symmetric":
            if kind in "bu" or (kind == "i" and (values == np.iinfo(values.dtype).min).any()):
                return not values.any()  # a negative would not fit
            return _same(values[by_row], np.negative(values[by_col])) and not _diagonal(entries).any()


def _diagonal(entries: _Entries) -> _Array:
    """The values on the diagonal.  A NaN there is its own mirror image, but no zero."""
    row, col, values = entries
    found: _Array = values[row == col]
    return found


def _same(a: _Array, b: _Array) -> bool:
    return bool(((a == b) | ((a != a) & (b != b))).all())
