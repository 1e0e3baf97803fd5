"""The archives of `scipy.sparse.save_npz`.

Every one has `format`, `shape` and `data`; csr, csc and bsr have `indptr` and `indices`, coo has `row` and `col`, or
`coords` for all axes, dia has `offsets`.
"""

import os
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from finchsched.ast.format import is_sparse
from finchsched.errors import FileFormatError, FormatError
from finchsched.formats.coordinates import coordinates_of
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.levels import Dense, SparseList
from finchsched.io.archive import Arrays, write_archive
from finchsched.io.entries import CoordinateArray, cast_values, default_layout, sparse_tensor

__all__ = ["FORMAT_KEY", "entries_of_archive", "tensor_of_scipy", "write_scipy_npz"]

_Array: TypeAlias = NDArray[Any]

FORMAT_KEY = "format"
_FORMATS = ("csr", "csc", "bsr", "coo", "dia")
_INT32_MAX = 2**31 - 1


def tensor_of_scipy(path: str, arrays: Arrays, dtype: np.dtype[Any] | None) -> FiberTensor:
    """The tensor in an archive: csc as csc, any other matrix as csr, other numbers of axes as csf.

    Repeated entries are added up; explicit zeros stay, but for those of dia, whose diagonals are padded with zeros.
    Linear in the arrays, but for sorting entries that are out of order.

    Raises FileFormatError for arrays that are missing, or that break what the format promises, DtypeError for an
    element type that tensors do not have, and for a value that `dtype` cannot hold.
    """
    kind, entries = entries_of_archive(path, arrays)
    if dtype is not None:
        entries = CoordinateArray(entries.shape, entries.coordinates, cast_values(entries.values, dtype, path))
    layout = default_layout(entries.shape, len(entries.values))
    if kind == "csc" and len(entries.shape) == 2:
        levels, perm = default_layout(entries.shape[::-1], len(entries.values))
        layout = levels, perm[::-1]
    return sparse_tensor(entries, layout, path)


def entries_of_archive(path: str, arrays: Arrays) -> tuple[str, CoordinateArray]:
    """SciPy's name of the format, and the entries with checked coordinates.  Raises FileFormatError."""
    kind = _format(path, arrays)
    shape = _shape(path, arrays)
    data = _get(path, arrays, "data", "biufc")
    if kind != "coo" and len(shape) != 2 and (kind, len(shape)) != ("csr", 1):
        raise FileFormatError(f"{path}: found {len(shape)} axes (shape {shape}), expected 2 axes of a {kind} matrix")
    match kind:
        case "coo":
            coordinates = _listed(path, arrays, len(shape))
        case "dia":
            coordinates, data = _diagonals(path, arrays, shape, data)
        case "bsr":
            coordinates, data = _blocks(path, arrays, shape, data)
        case _:
            coordinates, data = _compressed(path, arrays, shape, data, by_columns=kind == "csc")
    if data.ndim != 1 or any(len(coordinate) != len(data) for coordinate in coordinates):
        found = ", ".join(str(len(coordinate)) for coordinate in coordinates)
        raise FileFormatError(f"{path}: found data of shape {data.shape} for {found} coordinates, expected as many")
    for axis, coordinate in enumerate(coordinates):
        _check_range(path, coordinate, axis, shape[axis])
    return kind, CoordinateArray(shape, tuple(coordinates), data)


def _format(path: str, arrays: Arrays) -> str:
    array = arrays[FORMAT_KEY]
    name = array.item() if array.ndim == 0 and array.dtype.kind in "SU" else None
    kind = name.decode("ascii", "backslashreplace") if isinstance(name, bytes) else name
    if kind not in _FORMATS:
        raise FileFormatError(f"{path}: found the sparse format {kind!r}, expected one of {', '.join(_FORMATS)}")
    return str(kind)


def _shape(path: str, arrays: Arrays) -> tuple[int, ...]:
    shape = tuple(int(extent) for extent in _get(path, arrays, "shape", "iu", 1))
    if not shape or min(shape) < 0 or max(shape) > np.iinfo(np.int64).max:
        raise FileFormatError(f"{path}: found the shape {shape}, expected one extent or more, none negative")
    return shape


def _get(path: str, arrays: Arrays, name: str, kinds: str, rank: int | None = None) -> _Array:
    array = arrays.get(name)
    if array is None:
        raise FileFormatError(f"{path}: found no array {name!r}, which scipy.sparse.save_npz writes")
    if array.dtype.kind not in kinds or (rank is not None and array.ndim != rank):
        raise FileFormatError(
            f"{path}: found the array {name!r} with element type {array.dtype} and shape {array.shape}, "
            f"expected {'numbers' if 'f' in kinds else 'integers'}" + ("" if rank is None else f" and {rank} axes")
        )
    return array


def _index(path: str, arrays: Arrays, name: str, rank: int = 1) -> NDArray[np.int64]:
    """An array of coordinates as int64; unsigned ones beyond become negative, and are refused as such."""
    return _get(path, arrays, name, "iu", rank).astype(np.int64)


def _listed(path: str, arrays: Arrays, rank: int) -> list[NDArray[np.int64]]:
    if "coords" in arrays:
        coords = _index(path, arrays, "coords", 2)
        if len(coords) != rank:
            raise FileFormatError(f"{path}: found coordinates of {len(coords)} axes, expected {rank}")
        return list(coords)
    if rank != 2:
        raise FileFormatError(f"{path}: found no array 'coords', which a coo array of {rank} axes has")
    return [_index(path, arrays, "row"), _index(path, arrays, "col")]


def _compressed(
    path: str, arrays: Arrays, shape: tuple[int, ...], data: _Array, *, by_columns: bool
) -> tuple[list[NDArray[np.int64]], _Array]:
    """csr, csc, and csr of one axis."""
    major = 1 if len(shape) == 1 else shape[1] if by_columns else shape[0]
    outer, inner = _pointed(path, arrays, major, len(data) if data.ndim else 0)
    both = [inner, outer] if by_columns else [outer, inner]
    return both[-1:] if len(shape) == 1 else both, data[: len(inner)]


def _pointed(path: str, arrays: Arrays, major: int, stored: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The row and the column of each entry (or block); room at the end of `indices` is left out."""
    indptr, indices = _index(path, arrays, "indptr"), _index(path, arrays, "indices")
    if len(indptr) != major + 1 or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise FileFormatError(
            f"{path}: indptr must have {major + 1} entries that rise from 0; found {len(indptr)} entries"
        )
    if indptr[-1] > min(len(indices), stored):
        raise FileFormatError(
            f"{path}: indptr promises {indptr[-1]} entries; found {len(indices)} indices and {stored} values"
        )
    return np.repeat(np.arange(major), np.diff(indptr)), indices[: indptr[-1]]


def _blocks(path: str, arrays: Arrays, shape: tuple[int, ...], data: _Array) -> tuple[list[NDArray[np.int64]], _Array]:
    """All of each block is stored, zeros too."""
    high, wide = data.shape[1:] if data.ndim == 3 else (0, 0)
    if not high or not wide or shape[0] % high or shape[1] % wide:
        raise FileFormatError(f"{path}: blocks of shape {data.shape[1:]} do not fill a matrix of shape {shape}")
    row, col = _pointed(path, arrays, shape[0] // high, len(data))
    _check_range(path, col, 1, shape[1] // wide)
    rows = (row * high)[:, None, None] + np.arange(high)[:, None]
    cols = (col * wide)[:, None, None] + np.arange(wide)
    full = (len(row), high, wide)
    return [np.broadcast_to(part, full).reshape(-1) for part in (rows, cols)], data[: len(row)].reshape(-1)


def _diagonals(
    path: str, arrays: Arrays, shape: tuple[int, ...], data: _Array
) -> tuple[list[NDArray[np.int64]], _Array]:
    """`data[k, j]` is at row j - offsets[k] and column j, where there is such a place; zeros are not stored."""
    offsets = _index(path, arrays, "offsets")
    if data.ndim != 2 or len(data) != len(offsets) or len(np.unique(offsets)) != len(offsets):
        raise FileFormatError(f"{path}: found data of shape {data.shape} for the diagonals {offsets.tolist()}")
    if len(offsets) and not -(2**62) < offsets.min() <= offsets.max() < 2**62:
        raise FileFormatError(f"{path}: found diagonals from {offsets.min()} to {offsets.max()}, too far out")
    number, column = np.nonzero(data[:, : shape[1]])
    row = column - offsets[number]
    inside = (row >= 0) & (row < shape[0])
    number, column, row = number[inside], column[inside], row[inside]
    return [row, column], data[number, column]


def _check_range(path: str, coordinate: NDArray[np.int64], axis: int, extent: int) -> None:
    bad = (coordinate < 0) | (coordinate >= extent)
    if bad.any():
        entry = int(bad.argmax())
        raise FileFormatError(
            f"{path}: found coordinate {coordinate[entry]} on axis {axis} at entry {entry}, expected 0 .. {extent - 1}"
        )


def write_scipy_npz(path: str | os.PathLike[str], t: FiberTensor, *, compressed: bool = True) -> None:
    """Write a tensor so that `scipy.sparse.load_npz` reads it: csr and csc as such, any other one as coo.

    Every stored entry is written; of a dense tensor, those that are not 0.  Raises FormatError for a tensor without
    axes and for a fill other than 0.
    """
    name = os.fspath(path)
    if t.ndim == 0:
        raise FormatError(f"{name}: SciPy's arrays have one axis or more, this tensor has none")
    if is_sparse(t.type) and t.fill != 0:
        raise FormatError(f"{name}: SciPy's arrays have the fill 0, this tensor has {t.fill!r}\nhint: leave scipy= out")
    arrays: dict[str, Any] = {"shape": np.array(t.shape, np.int64), "_is_array": np.array(True)}
    match t.type.levels:
        case (Dense(), SparseList()):
            pos, crd = t.pos[1], t.crd[1]
            assert pos is not None
            assert crd is not None
            width = np.promote_types(pos.dtype, crd.dtype)
            by_rows = t.type.perm == (0, 1)
            arrays |= {"indptr": pos.astype(width), "indices": crd.astype(width), "data": t.val}
            arrays[FORMAT_KEY] = np.array(b"csr" if by_rows else b"csc")
        case _:
            arrays |= _as_coo(t)
    write_archive(path, arrays, compressed=compressed)


def _as_coo(t: FiberTensor) -> dict[str, Any]:
    coordinates, values = coordinates_of(t), t.val
    if not is_sparse(t.type):
        stored = np.flatnonzero(values)
        coordinates, values = tuple(coordinate[stored] for coordinate in coordinates), values[stored]
    width = np.int32 if max(t.shape) <= _INT32_MAX else np.int64
    named = {"coords": np.array(coordinates, width)}
    if t.ndim == 2:
        named = {"row": coordinates[0].astype(width), "col": coordinates[1].astype(width)}
    return {**named, "data": values, FORMAT_KEY: np.array(b"coo")}
