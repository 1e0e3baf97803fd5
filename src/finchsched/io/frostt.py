"""Reading and writing FROSTT text: a line for each entry, its one-based coordinates and its value (frostt.io).

There is no header: a file says neither its extents nor what its values are.
"""

import os
from collections.abc import Sequence
from contextlib import closing
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from finchsched.ast.format import is_sparse
from finchsched.errors import DtypeError, FileFormatError, FormatError
from finchsched.formats.coordinates import coordinates_of
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.io.entries import CoordinateArray, cast_values
from finchsched.io.text_numbers import INT64_MAX, Column, parse_rows
from finchsched.io.text_source import TextSource, open_text, shown
from finchsched.io.text_write import create_text, write_comment, write_rows

__all__ = ["read_frostt", "write_frostt"]

_Pieces: TypeAlias = list[list[NDArray[Any]]]

_COMMENT = b"#"


def read_frostt(
    path: str | os.PathLike[str], shape: Sequence[int] | None = None, dtype: np.dtype[Any] | None = None
) -> CoordinateArray:
    """Read a `.tns` file; a name that ends in `.gz`, `.bz2` or `.xz` is decompressed.

    The first entry says how many axes there are.  Without `shape`, each extent is the largest coordinate.  Values are
    float64, or `dtype`: integers and bools are then read exactly, and must be written as such.  Repeated entries and
    explicit zeros are kept.  Lines that begin with # are comments.

    Time and memory are linear in the length of the text.

    Raises FileFormatError, naming the line, for one that is malformed or has another number of words than the first,
    and for a coordinate outside the shape; for a file without entries if there is no `shape`; and if the file has
    another number of axes than `shape`.  Raises DtypeError for a value that `dtype` cannot hold, FormatError for a
    negative extent.
    """
    name = os.fspath(path)
    extents = None if shape is None else _checked(shape)
    kind = "integer" if dtype is not None and dtype.kind in "iub" else "real"
    if dtype is not None and dtype.kind not in "iubfc":
        raise DtypeError(f"{name}: values are numbers; found the element type {dtype}")
    with open_text(path, comment=_COMMENT) as source:
        rank, pieces = _read_pieces(source, extents, kind)
    if rank is None:
        if extents is None:
            raise FileFormatError(f"{name}: found no entries, so that the shape is unknown\nhint: pass shape=")
        rank = len(extents)
        pieces = [[np.empty(0, np.int64)] for _ in range(rank)] + [
            [np.empty(0, np.float64 if kind == "real" else np.int64)]
        ]
    *coordinates, values = (_joined(piece, name) for piece in pieces)
    if extents is None:
        extents = tuple(int(coordinate.max()) for coordinate in coordinates)
    for axis, coordinate in enumerate(coordinates):
        _check_range(source, coordinate, axis, extents[axis])
        coordinate -= 1
    if dtype is not None:
        values = cast_values(values, dtype, name)
    return CoordinateArray(extents, tuple(coordinates), values)


def _checked(shape: Sequence[int]) -> tuple[int, ...]:
    try:
        extents = tuple(int(extent) for extent in shape)
    except (TypeError, ValueError) as error:
        raise FormatError(f"shape must be a sequence of extents; found {shape!r}") from error
    if not extents or not all(0 <= extent <= INT64_MAX for extent in extents):
        raise FormatError(f"shape must have one extent or more, none negative; found {tuple(shape)}")
    return extents


def _read_pieces(source: TextSource, shape: tuple[int, ...] | None, kind: Any) -> tuple[int | None, _Pieces]:
    """The number of axes, None in a file without entries, and the columns of the entries in pieces."""
    columns: list[Column] = []
    pieces: _Pieces = []
    with closing(source.blocks()) as blocks:
        for block in blocks:
            first = next(block.data_lines(), None)
            if first is None:
                continue
            if not columns:
                columns = _columns(source, *first, shape, kind)
                pieces = [[] for _ in columns]
            for piece, array in zip(pieces, parse_rows(source, block, columns), strict=True):
                piece.append(array)
    return (len(columns) - 1 if columns else None), pieces


def _columns(
    source: TextSource, line: int, words: list[bytes], shape: tuple[int, ...] | None, kind: Any
) -> list[Column]:
    rank = len(words) - 1
    text = shown(b" ".join(words))
    if rank < 1:
        raise source.refusal(line, text, "coordinates, each from 1, and a value")
    if shape is not None and rank != len(shape):
        raise source.refusal(
            line, f"{len(words)} words in {text}", f"{len(shape)} coordinates and a value, as shape= says"
        )
    value = Column("integer value" if kind == "integer" else "value", kind)
    return [*(Column(f"coordinate {axis + 1}", "index") for axis in range(rank)), value]


def _joined(pieces: list[NDArray[Any]], path: str) -> NDArray[Any]:
    """One array of the pieces; integers that need it are uint64."""
    if any(piece.dtype.kind in "uO" for piece in pieces):
        if any((piece < 0).any() for piece in pieces):
            raise DtypeError(f"{path}: found values below 0 and above {INT64_MAX}, which no integer type can hold")
        return np.concatenate([piece.astype(np.uint64) for piece in pieces])
    return np.concatenate(pieces)


def _check_range(source: TextSource, coordinate: NDArray[np.int64], axis: int, extent: int) -> None:
    bad = (coordinate < 1) | (coordinate > extent)
    if not bad.any():
        return
    entry = int(np.argmax(bad))
    found = f"coordinate {axis + 1} of {coordinate[entry]}"
    expected = "a coordinate from 1 on" if coordinate[entry] < 1 else f"1 to {extent}" if extent else "no entries"
    hint = "coordinates count from 1" if coordinate[entry] == 0 else None
    with open_text(source.path, comment=_COMMENT) as again, closing(again.blocks()) as blocks:
        for block in blocks:
            for line, _ in block.data_lines():
                if entry == 0:
                    raise source.refusal(line, found, expected, hint)
                entry -= 1
    raise source.refusal(source.line, found, expected, hint)  # the file has changed meanwhile


def write_frostt(path: str | os.PathLike[str], t: FiberTensor, *, comment: str = "") -> None:
    """Write every stored entry of a tensor, in storage order; bools as 0 and 1.

    The shape is not written: reading the file back needs `shape=` unless every last slice has an entry, and `dtype=`
    unless values are float64.  Raises FormatError for a tensor without axes and for a fill other than 0, DtypeError for
    complex numbers.
    """
    name = os.fspath(path)
    if t.ndim == 0:
        raise FormatError(f"{name}: a .tns file holds one axis or more, this tensor has none\nhint: use .npz")
    if is_sparse(t.type) and t.fill != 0:
        raise FormatError(f"{name}: a .tns file has the fill 0, this tensor has {t.fill!r}\nhint: use .npz")
    if t.val.dtype.kind == "c":
        raise DtypeError(f"{name}: a .tns file holds real numbers, this tensor is {t.val.dtype}\nhint: use .npz")
    with create_text(path) as stream:
        write_comment(stream, comment, _COMMENT.decode())
        write_rows(stream, [*(coordinate + 1 for coordinate in coordinates_of(t)), t.val])
