"""Conversions between NumPy arrays and fiber tensors for tests and interpreters.

They are slow, need memory for the whole dense array, and share no code with compiled conversions, which they help to
check.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finchsched.algebra.dtypes import Scalar, as_dtype
from finchsched.ast.format import Level, TensorType
from finchsched.errors import FormatError, ShapeMismatchError
from finchsched.formats.fiber_tensor import Buffer, FiberTensor, cast_fill, fill_node
from finchsched.formats.levels import Dense, SparseCOO, SparseList

__all__ = ["from_dense", "stored_mask", "to_dense"]

_Coordinates = tuple[NDArray[np.int64], ...]


def from_dense(
    array: Buffer,
    levels: Sequence[Level],
    perm: Sequence[int],
    *,
    fill: Scalar,
    mask: NDArray[np.bool] | None = None,
) -> FiberTensor:
    """The entries of `array` where `mask` holds, stored as `levels` and `perm` (storage level -> logical axis) say.

    The default mask holds where an entry differs from `fill` (NaN equals NaN).  A SparseList or SparseCOO keeps a
    coordinate iff something in its subfiber is stored; a Dense level stores every coordinate, those outside the mask
    with the fill as their value.  Raises ShapeMismatchError where mask, levels or perm do not fit the array,
    FormatError for a level that holds no tensor.
    """
    array = np.asarray(array)
    dtype = as_dtype(array.dtype)
    fill = cast_fill(fill, dtype)
    if len(levels) != array.ndim or sorted(perm) != list(range(array.ndim)):
        raise ShapeMismatchError(f"{len(levels)} levels with perm {tuple(perm)} do not fit {array.ndim} axes")
    kept = ~_same(array, dtype.numpy.type(fill)) if mask is None else np.asarray(mask, np.bool)
    if kept.shape != array.shape:
        raise ShapeMismatchError(f"the mask must have the shape {array.shape}; found {kept.shape}")
    held = np.where(kept, array, dtype.numpy.type(fill)).transpose(perm)
    kept = kept.transpose(perm)
    pos: list[Buffer | None] = []
    crd: list[Buffer | None] = []
    at: _Coordinates = ()
    for number, level in enumerate(levels):
        below = tuple(range(number + 1, array.ndim))
        rows = _chosen(level, np.asarray(kept.any(axis=below)))[at].reshape(len(at[0]) if at else 1, held.shape[number])
        fiber, coordinate = np.nonzero(rows)
        at = (*(c[fiber] for c in at), coordinate)
        sparse = level if isinstance(level, SparseList | SparseCOO) else None
        pos.append(np.append(0, rows.sum(axis=1).cumsum()).astype(sparse.pos.numpy) if sparse else None)
        crd.append(coordinate.astype(sparse.crd.numpy) if sparse else None)
        if isinstance(level, SparseCOO):
            _flatten_list(level, pos, crd, rows)
    val = np.ascontiguousarray(held[at]).reshape(-1)
    tensor_type = TensorType(tuple(levels), tuple(perm), dtype, fill_node(fill, dtype))
    return FiberTensor(tensor_type, array.shape, fill, tuple(pos), tuple(crd), val)


def to_dense(t: FiberTensor) -> NDArray[Any]:
    """The tensor as an array over its logical axes."""
    storage = np.full(tuple(t.shape[axis] for axis in t.type.perm), t.fill, t.type.dtype.numpy)
    storage[_storage_coordinates(t)] = t.val if t.ndim else t.val[0]
    return np.ascontiguousarray(storage.transpose(np.argsort(t.type.perm))).reshape(t.shape)


def stored_mask(t: FiberTensor) -> NDArray[np.bool]:
    """Which coordinates are stored, over the logical axes; below a stored one a Dense level stores all of its own."""
    storage = np.zeros(tuple(t.shape[axis] for axis in t.type.perm), np.bool)
    storage[_storage_coordinates(t)] = True
    return np.ascontiguousarray(storage.transpose(np.argsort(t.type.perm))).reshape(t.shape)


def _chosen(level: Level, occupied: NDArray[np.bool]) -> NDArray[np.bool]:
    """Which coordinates `level` stores, of those with something stored below."""
    match level:
        case Dense():
            return np.ones_like(occupied)
        case SparseList() | SparseCOO():
            return occupied
        case _:
            raise FormatError(f"a tensor cannot be held in a {level.name} level")


def _flatten_list(level: SparseCOO, pos: list[Buffer | None], crd: list[Buffer | None], rows: NDArray[np.bool]) -> None:
    """Make the newest level, so far like a SparseList, a further axis of its coordinate list: the axes before it repeat
    each coordinate once per child, and the list's fibers end where their last child does.
    """
    if level.is_first:
        return
    children = rows.sum(axis=1)
    ends, first = np.append(0, children.cumsum()), len(pos) - 1 - level.part
    for number in range(first, len(pos) - 1):
        above = crd[number]
        assert above is not None
        crd[number] = above.repeat(children)
    outer = pos[first]
    assert outer is not None
    pos[first], pos[-1] = ends[outer].astype(outer.dtype), None


def _storage_coordinates(t: FiberTensor) -> _Coordinates:
    """The coordinates of every stored element, one array per storage level."""
    at: _Coordinates = ()
    fibers = 1
    for axis, pos, crd in zip(t.type.perm, t.pos, t.crd, strict=True):
        extent = t.shape[axis]
        if crd is None:
            fiber, coordinate = np.divmod(np.arange(fibers * extent), max(extent, 1))
        elif pos is None:  # a further axis of a coordinate list
            fiber, coordinate = np.arange(fibers), crd.astype(np.int64)
        else:
            fiber, coordinate = np.repeat(np.arange(fibers), np.diff(pos)), crd.astype(np.int64)
        at = (*(c[fiber] for c in at), coordinate)
        fibers = len(coordinate)
    return at


def _same(a: Buffer, b: Any) -> NDArray[np.bool]:
    """Elementwise equality where NaN equals NaN."""
    return np.asarray((a == b) | ((a != a) & (b != b)), np.bool)
