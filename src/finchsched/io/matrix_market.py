"""Reading Matrix Market files, the text format of the SuiteSparse and NIST collections."""

import os
from contextlib import closing
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from finchsched.errors import FileFormatError
from finchsched.io.entries import CoordinateArray, cast_values
from finchsched.io.matrix_market_header import Header, Symmetry, read_header
from finchsched.io.text_numbers import INT64_MAX, INT64_MIN, Column, parse_rows
from finchsched.io.text_source import TextSource, open_text

__all__ = ["read_matrix_market"]

_Values: TypeAlias = NDArray[Any]
_Indices: TypeAlias = NDArray[np.int64]
_Dtype: TypeAlias = np.dtype[Any] | None


def read_matrix_market(path: str | os.PathLike[str], dtype: _Dtype = None) -> CoordinateArray | NDArray[Any]:
    """Read a Matrix Market file; a name that ends in `.gz`, `.bz2` or `.xz` is decompressed.

    Layout `coordinate` gives a CoordinateArray of two axes, `array` a C-contiguous NumPy array.  The field `real` (or
    `double`) gives float64, `integer` exact int64, or exact uint64 if a value needs it and none is negative,
    `unsigned-integer` uint64, `complex` complex128, `pattern` float64 ones.  `dtype` converts values, which must stay
    what they are; a floating point type rounds them, and integers of any size are then read.

    A symmetric, skew-symmetric or hermitian file is expanded: the stored entries come first, in file order, then the
    mirrored ones.  Entries may stand above the diagonal, though the format asks for below; an entry together with its
    own mirror image is refused.  On real numbers hermitian means symmetric; on complex ones the diagonal is kept as
    stored.  Explicit zeros and repeated entries are kept.  Comments and blank lines may stand anywhere after the first
    line.

    Time and memory are linear in the length of the text, whatever sizes the header declares.

    Raises FileFormatError for a file that is malformed, truncated or too long, that holds an index out of range, a
    value that its field cannot hold, or a nonzero on the diagonal of a skew-symmetric matrix; DtypeError for a value
    that `dtype` cannot hold.  Raises an OSError, such as FileNotFoundError or IsADirectoryError, when the file cannot
    be opened.
    """
    with open_text(path) as source:
        header = read_header(source)
        columns = _read_entries(source, header, dtype)
    values = _join_values(source, header, columns)
    _check_negatable(source, header, values)
    if header.layout == "array":
        full = _unpack(header.shape, header.symmetry, values)
        return full if dtype is None else cast_values(full, dtype, source.path)
    found = _expanded(source, header, _index(columns[0]), _index(columns[1]), values)
    if dtype is None:
        return found
    return CoordinateArray(found.shape, found.coordinates, cast_values(found.values, dtype, source.path))


def _expanded(source: TextSource, header: Header, row: _Indices, col: _Indices, values: _Values) -> CoordinateArray:
    """The entries with one-based indices, and their mirror images.  The index arrays are changed."""
    _check_range(source, header, row, "row", header.shape[0])
    _check_range(source, header, col, "column", header.shape[1])
    row -= 1
    col -= 1
    if header.symmetry == "general":
        return CoordinateArray(header.shape, (row, col), values)
    _check_skew_diagonal(source, header, np.flatnonzero(row == col), values)
    _check_one_triangle(source, header, row, col)
    off = np.flatnonzero(row != col)
    both = np.concatenate([row, col[off]]), np.concatenate([col, row[off]])
    return CoordinateArray(header.shape, both, np.concatenate([values, _mirrored(values[off], header.symmetry)]))


def _columns_of(header: Header, dtype: _Dtype) -> tuple[Column, ...]:
    match header.field:
        case "real":
            values: tuple[Column, ...] = (Column("value", "real"),)
        case "integer" | "unsigned-integer" if dtype is not None and dtype.kind in "fc":
            values = (Column("value", "real"),)
        case "integer" | "unsigned-integer":
            values = (Column("integer value", "integer"),)
        case "complex":
            values = (Column("real part", "real"), Column("imaginary part", "real"))
        case "pattern":
            values = ()
    if header.layout == "array":
        return values
    return (Column("row index", "index"), Column("column index", "index"), *values)


def _read_entries(source: TextSource, header: Header, dtype: _Dtype) -> list[list[NDArray[Any]]]:
    """The columns of the body in pieces, header.entries long in all.  There is at least one piece, maybe an empty one.

    Only columns of integer values have pieces of several types.
    """
    columns = _columns_of(header, dtype)
    pieces: list[list[NDArray[Any]]] = [[np.empty(0, dtype=column.dtype)] for column in columns]
    found = 0
    with closing(source.blocks()) as blocks:
        for block in blocks:
            parsed = parse_rows(source, block, columns)
            if found + parsed[0].size > header.entries:
                lines = [line for line, _ in block.data_lines()]
                what = f"entry number {header.entries + 1}"
                raise source.refusal(lines[header.entries - found], what, _declared(header))
            found += parsed[0].size
            for piece, array in zip(pieces, parsed, strict=True):
                piece.append(array)
    if found < header.entries:
        what = f"the end of the file after {found} entries"
        raise source.refusal(source.line, what, _declared(header), "the file may be truncated")
    return pieces


def _declared(header: Header) -> str:
    return f"{header.entries} as line {header.size_line} declares"


def _index(pieces: list[NDArray[Any]]) -> _Indices:
    return np.concatenate(pieces)


def _join_values(source: TextSource, header: Header, columns: list[list[NDArray[Any]]]) -> _Values:
    match header.field:
        case "real":
            return np.concatenate(columns[-1])
        case "integer" | "unsigned-integer":
            return _join_integers(source, header, columns[-1])
        case "complex":
            real, imaginary = np.concatenate(columns[-2]), np.concatenate(columns[-1])
            values = np.empty(len(real), dtype=np.complex128)
            values.real, values.imag = real, imaginary  # re + 1j * im would make nan of an infinite part
            return values
        case "pattern":
            return np.ones(sum(map(len, columns[-1])), dtype=np.float64)


def _join_integers(source: TextSource, header: Header, pieces: list[NDArray[Any]]) -> _Values:
    """One array of int64 or uint64 (or of float64, if they were read as such)."""
    unsigned = header.field == "unsigned-integer"
    kinds = {piece.dtype.kind for piece in pieces if piece.size}
    if "f" in kinds or (kinds <= {"i"} and not unsigned):
        return np.concatenate([piece for piece in pieces if piece.size] or pieces)
    negative = np.concatenate([np.asarray(piece < 0, np.bool) for piece in pieces])
    if negative.any():
        large = np.concatenate([np.asarray(piece > INT64_MAX, np.bool) for piece in pieces])
        entry = int(np.argmax(negative if unsigned else large))
        value = [number for piece in pieces for number in piece.tolist()][entry]
        allowed = "an integer that is not negative" if unsigned else f"an integer up to {INT64_MAX}"
        expected = allowed if unsigned else f"{allowed}, as there are negative ones"
        hint = None if unsigned else "they can be read, rounded, with dtype=float"
        raise _refuse_entry(source, header, entry, f"{value} as integer value", expected, hint)
    return np.concatenate([piece.astype(np.uint64) for piece in pieces])


def _mirrored(values: _Values, symmetry: Symmetry) -> _Values:
    """The values of the mirror images of entries with these `values`."""
    match symmetry:
        case "general" | "symmetric":
            return values
        case "skew-symmetric":
            return np.negative(values)
        case "hermitian":
            return np.conjugate(values)


def _unpack(shape: tuple[int, int], symmetry: Symmetry, packed: _Values) -> _Values:
    """The full array of `shape` from values stored column by column, only below the diagonal if there is a symmetry."""
    if symmetry == "general":
        return np.ascontiguousarray(packed.reshape(shape[1], shape[0]).T)
    full = np.zeros(shape, dtype=packed.dtype)
    col, row = np.triu_indices(shape[0], k=int(symmetry == "skew-symmetric"))
    full[col, row] = _mirrored(packed, symmetry)
    full[row, col] = packed
    return full


def _check_range(source: TextSource, header: Header, index: _Indices, what: str, extent: int) -> None:
    bad = (index < 1) | (index > extent)
    if bad.any():
        entry = int(np.argmax(bad))
        allowed = f"1 to {extent}" if extent else f"no entries, as there are no {what}s"
        hint = "indices count from 1" if index[entry] == 0 else None
        raise _refuse_entry(source, header, entry, f"{what} index {index[entry]}", allowed, hint)


def _check_skew_diagonal(source: TextSource, header: Header, diagonal: NDArray[np.intp], values: _Values) -> None:
    nonzero = values[diagonal] != 0
    if header.symmetry == "skew-symmetric" and nonzero.any():
        entry = int(diagonal[np.argmax(nonzero)])
        expected = "zero on the diagonal of a skew-symmetric matrix"
        raise _refuse_entry(source, header, entry, f"the value {values[entry]}", expected)


def _check_negatable(source: TextSource, header: Header, values: _Values) -> None:
    """Refuse a value of a skew-symmetric matrix whose negative wraps around."""
    if header.symmetry != "skew-symmetric" or values.dtype.kind not in "iu":
        return
    bad = values == INT64_MIN if values.dtype.kind == "i" else values != 0
    if bad.any():
        entry = int(np.argmax(bad))
        expected = f"a value whose mirror image, its negative, fits {values.dtype}"
        raise _refuse_entry(source, header, entry, f"the value {values[entry]}", expected)


def _check_one_triangle(source: TextSource, header: Header, row: _Indices, col: _Indices) -> None:
    """Refuse an entry whose mirror image is stored too: expanding both would count them twice."""
    upper = row < col
    if not upper.any() or not (row > col).any():
        return
    low, high = np.minimum(row, col), np.maximum(row, col)
    order = np.lexsort((upper, high, low))
    a, b = order[:-1], order[1:]
    clash = (low[a] == low[b]) & (high[a] == high[b]) & (upper[a] != upper[b])
    if clash.any():
        entry = int(np.maximum(a, b)[clash].min())
        found = f"entry ({row[entry] + 1}, {col[entry] + 1}) besides its mirror image"
        hint = "if both were written, the file is general, and its first line should say so"
        raise _refuse_entry(source, header, entry, found, f"one of the two, as the matrix is {header.symmetry}", hint)


def _refuse_entry(
    source: TextSource, header: Header, entry: int, found: str, expected: str, hint: str | None = None
) -> FileFormatError:
    """The error for the entry with zero-based number `entry`; reads the file again to learn its line."""
    line = header.size_line
    with open_text(source.path) as again:
        read_header(again)
        for block in again.blocks():
            for line, _ in block.data_lines():
                if entry == 0:
                    return source.refusal(line, found, expected, hint)
                entry -= 1
    return source.refusal(line, found, expected, hint)
