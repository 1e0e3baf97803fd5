"""Reading Matrix Market files, the text format of the SuiteSparse and NIST collections."""

import os
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from finchsched.errors import FileFormatError
from finchsched.io.matrix_market_header import Header, Symmetry, read_header
from finchsched.io.text_numbers import Column, parse_rows
from finchsched.io.text_source import TextSource, open_text

__all__ = ["CoordinateMatrix", "DenseMatrix", "read_matrix_market"]

_Values: TypeAlias = NDArray[Any]
_Indices: TypeAlias = NDArray[np.int64]

_INT64_MIN = -(2**63)


@dataclass(frozen=True, slots=True, eq=False)
class CoordinateMatrix:
    """A sparse matrix as a list of entries, in any order; a coordinate may come several times, its values then add up.

    `shape` is (rows, columns); `row` and `col` are int64, zero-based, of shape (entries,); `values` has that shape too,
    and dtype float64, int64 or complex128 when read from a file (bool is allowed).
    """

    shape: tuple[int, int]
    row: _Indices
    col: _Indices
    values: _Values


@dataclass(frozen=True, slots=True, eq=False)
class DenseMatrix:
    """A dense matrix: `values` has shape `shape` = (rows, columns), is C-contiguous, float64, int64 or complex128."""

    shape: tuple[int, int]
    values: _Values


def read_matrix_market(path: str | os.PathLike[str]) -> CoordinateMatrix | DenseMatrix:
    """Read a Matrix Market file; a name that ends in `.gz` is decompressed.

    Layout `coordinate` gives a CoordinateMatrix, `array` a DenseMatrix.  The field `real` gives float64, `integer`
    exact int64, `complex` complex128, `pattern` float64 ones.  A symmetric, skew-symmetric or hermitian file is
    expanded: the stored entries come first, in file order, then the mirrored ones.  Entries may stand above the
    diagonal, though the format asks for below; an entry together with its own mirror image is refused.  On real numbers
    hermitian means symmetric; on complex ones the diagonal is kept as stored.  Explicit zeros and repeated entries are
    kept.  Comments and blank lines may stand anywhere after the first line.

    Time and memory are linear in the length of the text, whatever sizes the header declares.

    Raises FileFormatError for a file that is malformed, truncated or too long, that holds an index out of range, a
    value that its field cannot hold, or a nonzero on the diagonal of a skew-symmetric matrix.  Raises an OSError, such
    as FileNotFoundError or IsADirectoryError, when the file cannot be opened.
    """
    with open_text(path) as source:
        header = read_header(source)
        columns = _read_entries(source, header)
    values = _join_values(columns, header)
    if header.layout == "array":
        _check_negatable(source, header, values)
        return DenseMatrix(header.shape, _unpack(header.shape, header.symmetry, values))
    row, col = columns[0], columns[1]
    _check_range(source, header, row, "row", header.shape[0])
    _check_range(source, header, col, "column", header.shape[1])
    row -= 1
    col -= 1
    _check_skew_diagonal(source, header, np.flatnonzero(row == col), values)
    _check_negatable(source, header, values)
    if header.symmetry == "general":
        return CoordinateMatrix(header.shape, row, col, values)
    _check_one_triangle(source, header, row, col)
    off = np.flatnonzero(row != col)
    return CoordinateMatrix(
        header.shape,
        np.concatenate([row, col[off]]),
        np.concatenate([col, row[off]]),
        np.concatenate([values, _mirrored(values[off], header.symmetry)]),
    )


def _columns_of(header: Header) -> tuple[Column, ...]:
    match header.field:
        case "real":
            values: tuple[Column, ...] = (Column("value", "real"),)
        case "integer":
            values = (Column("integer value", "integer"),)
        case "complex":
            values = (Column("real part", "real"), Column("imaginary part", "real"))
        case "pattern":
            values = ()
    if header.layout == "array":
        return values
    return (Column("row index", "integer"), Column("column index", "integer"), *values)


def _read_entries(source: TextSource, header: Header) -> list[NDArray[Any]]:
    """The columns of the body, each a fresh array of shape (header.entries,)."""
    columns = _columns_of(header)
    pieces: list[list[NDArray[Any]]] = [[np.empty(0, dtype=column.dtype)] for column in columns]
    found = 0
    for block in source.blocks():
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
    return [np.concatenate(piece) for piece in pieces]


def _declared(header: Header) -> str:
    return f"{header.entries} as line {header.size_line} declares"


def _join_values(columns: list[NDArray[Any]], header: Header) -> _Values:
    match header.field:
        case "real" | "integer":
            return columns[-1]
        case "complex":
            values = np.empty(columns[-1].size, dtype=np.complex128)
            values.real, values.imag = columns[-2], columns[-1]  # re + 1j * im would make nan of an infinite part
            return values
        case "pattern":
            return np.ones(columns[-1].size, dtype=np.float64)


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
    if header.field == "integer" and header.symmetry == "skew-symmetric" and (bad := values == _INT64_MIN).any():
        expected = "a value whose mirror image, its negative, fits int64"
        raise _refuse_entry(source, header, int(np.argmax(bad)), f"the value {_INT64_MIN}", expected)


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
