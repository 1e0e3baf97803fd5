"""Between fiber tensors and lists of coordinates, vectorised: what rearranging, building and files have in common.

Nothing here makes a dense array of a sparse tensor; everything is linear in the stored entries, but for sorting.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finchsched.algebra.dtypes import INT32, INT64, DType, Scalar, as_dtype
from finchsched.ast.format import Level
from finchsched.errors import DensifyError, FormatError
from finchsched.formats.fiber_tensor import Buffer, FiberTensor, cast_fill, tensor_type
from finchsched.formats.levels import Dense, SparseList
from finchsched.settings import current

__all__ = ["coordinates_of", "count_nonfill", "from_coordinates", "index_width", "merge_duplicates", "sort_order"]

Coordinates = tuple[NDArray[np.int64], ...]

_INT32_MAX = 2**31 - 1
_INT64_MAX = 2**63 - 1


def index_width(shape: Sequence[int], stored: int) -> DType:
    """The narrowest element type of index arrays that holds every coordinate of `shape` and every count up to `stored`.

    >>> index_width((3, 4), 12), index_width((1 << 40,), 1)
    (DType(name='int32'), DType(name='int64'))
    """
    return INT32 if max((*shape, stored), default=stored) <= _INT32_MAX else INT64


def coordinates_of(t: FiberTensor) -> Coordinates:
    """The coordinate of every stored entry, one int64 array per logical axis, in storage order as `t.val` is.

    O(stored entries).  A Dense level stores all of its coordinates.
    """
    at: Coordinates = ()
    fibers = 1
    for axis, pos, crd in zip(t.type.perm, t.pos, t.crd, strict=True):
        if pos is None or crd is None:
            extent = t.shape[axis]
            fiber = np.repeat(np.arange(fibers), extent)
            coordinate = np.tile(np.arange(extent), fibers)
        else:
            fiber, coordinate = np.repeat(np.arange(fibers), np.diff(pos)), crd.astype(np.int64)
        at = (*(c[fiber] for c in at), coordinate)
        fibers = len(coordinate)
    return tuple(at[t.type.perm.index(axis)] for axis in range(t.ndim))


def sort_order(keys: Sequence[Buffer], extents: Sequence[int]) -> NDArray[np.intp] | None:
    """The stable permutation that sorts entries by `keys`, the first one outermost; None if they are in order.

    `keys[k]` holds int64 numbers in 0 .. extents[k] - 1.  O(n log n); one key is made of all where it cannot overflow.
    """
    if not keys or len(keys[0]) < 2:
        return None
    if math.prod(extents) - 1 <= _INT64_MAX:  # Python integers
        whole = keys[0]
        for key, extent in zip(keys[1:], extents[1:], strict=True):
            whole = whole * extent + key
        return None if (whole[1:] >= whole[:-1]).all() else np.argsort(whole, kind="stable")
    return np.lexsort(tuple(reversed(keys)))


def merge_duplicates(keys: Sequence[Buffer], val: Buffer) -> tuple[Coordinates, Buffer]:
    """Entries sorted by `keys`, repeated ones added up (bool: or; integers wrap around)."""
    if len(val) < 2:
        return tuple(keys), val
    new = _changes(keys, len(val))
    if new.all():
        return tuple(keys), val
    first = np.flatnonzero(new)
    with np.errstate(all="ignore"):
        total = np.add.reduceat(val, first, dtype=val.dtype)
    return tuple(key[first] for key in keys), total


def _changes(keys: Sequence[Buffer], entries: int) -> NDArray[np.bool]:
    """For each entry, whether it is the first one or differs from the one before in some key."""
    new = np.zeros(entries, np.bool)
    new[:1] = True
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    return new


def count_nonfill(t: FiberTensor) -> int:
    """How many stored entries differ from the fill (NaN equals NaN), O(stored entries)."""
    if t.fill != t.fill:
        return int(np.count_nonzero(t.val == t.val))
    return int(np.count_nonzero(t.val != t.fill))


def from_coordinates(
    coordinates: Sequence[Buffer],
    val: Buffer,
    shape: Sequence[int],
    levels: Sequence[Level],
    perm: Sequence[int],
    *,
    fill: Scalar,
) -> FiberTensor:
    """The tensor with `val[k]` at `coordinates[.][k]` (one integer array per logical axis), stored in these levels.

    Entries come in any order; repeated ones are added up (bool: or).  Entries equal to the fill stay.  Coordinates must
    lie inside the shape.  The arguments are not changed; buffers of the result may be theirs only if read-only.

    O(n log n) in the entries, linear if they are in order.  Raises DensifyError if Dense levels would store more
    elements than the limit of the settings and more than there are entries.
    """
    shape = tuple(int(extent) for extent in shape)
    dtype = as_dtype(val.dtype)
    fill = cast_fill(fill, dtype)
    kind = tensor_type(tuple(levels), tuple(perm), dtype, fill)
    extents = [shape[axis] for axis in perm]
    keys = [np.asarray(coordinates[axis]).astype(np.int64) for axis in perm]
    given = val
    order = sort_order(keys, extents)
    if order is not None:
        keys, val = [key[order] for key in keys], val[order]
    merged, val = merge_duplicates(keys, val)
    pos: list[Buffer | None] = []
    crd: list[Buffer | None] = []
    fiber = np.zeros(len(val), np.int64)
    fibers = 1
    for level, key, extent in zip(levels, merged, extents, strict=True):
        match level:
            case Dense():
                fibers *= extent
                _check_dense(fibers, len(val), shape)
                fiber = fiber * extent + key
                pos.append(None)
                crd.append(None)
            case SparseList(pos_type, crd_type):
                new = _changes((fiber, key), len(key))
                first = np.flatnonzero(new)
                ends = np.zeros(fibers + 1, np.int64)
                np.cumsum(np.bincount(fiber[first], minlength=fibers), out=ends[1:])
                pos.append(_narrowed(ends, pos_type))
                crd.append(_narrowed(key[first], crd_type))
                fiber = np.cumsum(new) - 1
                fibers = len(first)
            case _:
                raise FormatError(f"a tensor cannot be held in a {level.name} level")
    held = val
    if fibers != len(val):
        held = np.full(fibers, fill, dtype.numpy)
        held[fiber] = val
    held = np.ascontiguousarray(held, dtype.numpy)
    for buffer in (*pos, *crd, held):
        if buffer is not None and buffer.base is None and buffer is not given:
            buffer.setflags(write=False)
    return FiberTensor(kind, shape, fill, tuple(pos), tuple(crd), held)


def _narrowed(array: NDArray[Any], dtype: DType) -> Buffer:
    if len(array) and int(array.max()) > np.iinfo(dtype.numpy).max:
        raise FormatError(f"{dtype} index arrays cannot hold {array.max()}\nhint: use int64 index arrays")
    return np.ascontiguousarray(array, dtype.numpy)


def _check_dense(fibers: int, stored: int, shape: tuple[int, ...]) -> None:
    limit = max(current().densify, stored)
    if fibers > limit:
        raise DensifyError(
            f"dense levels of a tensor of shape {shape} would hold {fibers} entries, more than the limit {limit}\n"
            "hint: choose a sparser format such as csf, or raise the limit with finchsched.config(densify=...)"
        )
