"""Between fiber tensors and lists of coordinates, vectorised: what rearranging, building and files have in common.

Nothing here makes a dense array of a sparse tensor; everything is linear in the stored entries, but for sorting.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finchsched.algebra.dtypes import INT32, INT64, DType, Scalar, as_dtype
from finchsched.algebra.operators import Operator, operator
from finchsched.ast.format import Level
from finchsched.errors import DensifyError, FormatError
from finchsched.formats.fiber_tensor import Buffer, FiberTensor, cast_fill, tensor_type
from finchsched.formats.levels import Dense, SparseCOO, SparseList
from finchsched.formats.levels.sparse_coo import counted_at
from finchsched.settings import current

__all__ = [
    "coordinates_of",
    "count_nonfill",
    "from_coordinates",
    "index_width",
    "merge_duplicates",
    "reduce_repeated",
    "sort_order",
]

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
        if crd is None:
            extent = t.shape[axis]
            fiber = np.repeat(np.arange(fibers), extent)
            coordinate = np.tile(np.arange(extent), fibers)
        elif pos is None:  # a further axis of a coordinate list: one coordinate per entry
            at = (*at, crd.astype(np.int64))
            continue
        else:
            fiber, coordinate = np.repeat(np.arange(fibers), np.diff(pos)), crd.astype(np.int64)
        at = (*(c[fiber] for c in at), coordinate)
        fibers = len(coordinate)
    return tuple(at[t.type.perm.index(axis)] for axis in range(t.ndim))


def sort_order(keys: Sequence[Buffer], extents: Sequence[int]) -> NDArray[np.intp] | None:
    """The stable permutation that sorts entries by `keys`, the first one outermost; None if they are in order.

    `keys[k]` holds int64 numbers in 0 .. extents[k] - 1.  O(n) for each 16 bits of a number made of all keys, where it
    cannot overflow, else O(n log n).  Keys that are in order by themselves from the last one on cost nothing: a matrix
    in order of columns is sorted by rows only.  Short runs of a first key that is in order are
    merged by themselves.
    """
    if not keys or len(keys[0]) < 2 or _in_order(keys):
        return None
    while _in_order(keys[-1:]):  # it stays so among entries with equal other keys
        keys, extents = keys[:-1], extents[:-1]
    largest = math.prod(extents) - 1
    if largest > _INT64_MAX:  # Python integers
        return np.lexsort(tuple(reversed(keys)))
    whole = keys[0]
    for key, extent in zip(keys[1:], extents[1:], strict=True):
        whole = whole * extent
        whole += key
    return np.argsort(whole, kind="stable") if _in_short_runs(keys[0]) else _radix_order(whole, largest)


def _in_short_runs(key: Buffer) -> bool:
    """Whether equal numbers are next to each other, in order, and few: up to 1000 merging is as fast as counting."""
    runs = 1 + int(np.count_nonzero(key[1:] != key[:-1]))
    return len(key) <= 1000 * runs and _in_order((key,))


def _in_order(keys: Sequence[Buffer]) -> bool:
    """Whether no entry is less than the one before, comparing tuples."""
    rising = keys[-1][1:] >= keys[-1][:-1]
    for key in reversed(keys[:-1]):
        rising &= key[1:] == key[:-1]
        rising |= key[1:] > key[:-1]
    return bool(rising.all())


def _radix_order(key: Buffer, largest: int) -> NDArray[np.intp]:
    """The stable permutation that sorts numbers in 0 .. `largest`, 16 bits at a time, the lowest first.

    NumPy's stable sort counts for up to 16 bits and merges for more: this is 1.5 to 8 times as fast.
    """
    order = np.argsort(key.astype(np.uint16), kind="stable")
    for shift in range(16, largest.bit_length(), 16):
        digit = (key >> shift).astype(np.uint16)
        order = order[np.argsort(digit[order], kind="stable")]
    return order


def merge_duplicates(keys: Sequence[Buffer], val: Buffer) -> tuple[Coordinates, Buffer]:
    """Entries sorted by `keys`, repeated ones added up (bool: or; integers wrap around)."""
    merged, total = reduce_repeated(keys, val, operator("add"))
    return tuple(merged), total


def reduce_repeated(keys: Sequence[Buffer], val: Buffer, op: Operator) -> tuple[list[Buffer], Buffer]:
    """Entries sorted by `keys`, the values of repeated ones combined with `op`, an operator that is a ufunc."""
    if len(val) < 2:
        return list(keys), val
    new = _changes(keys, len(val))
    if new.all():
        return list(keys), val
    first = np.flatnonzero(new)
    with np.errstate(all="ignore"):
        total = getattr(np, op.numpy).reduceat(val, first, dtype=val.dtype)
    return [key[first] for key in keys], total


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
    lie inside the shape.  The arguments are not changed, and shared with the result only where they are read-only.

    O(n log n) in the entries, linear if they are in order.  Raises DensifyError if Dense levels would store more
    elements than the limit of the settings and more than there are entries.
    """
    shape = tuple(int(extent) for extent in shape)
    dtype = as_dtype(val.dtype)
    fill = cast_fill(fill, dtype)
    kind = tensor_type(tuple(levels), tuple(perm), dtype, fill)
    extents = [shape[axis] for axis in perm]
    arguments = (val, *map(np.asarray, coordinates))
    keys = [arguments[1 + axis].astype(np.int64, copy=False) for axis in perm]
    order = sort_order(keys, extents)
    if order is not None:
        keys, val = [key[order] for key in keys], val[order]
    merged, val = merge_duplicates(keys, val)
    pos: list[Buffer | None] = []
    crd: list[Buffer | None] = []
    fiber = np.zeros(len(val), np.int64)
    fibers = 1
    first: slice | NDArray[np.intp] = slice(None)  # of a compressed level: the first entry at each of its positions
    for number, (level, key, extent) in enumerate(zip(levels, merged, extents, strict=True)):
        match level:
            case Dense():
                fibers *= extent
                _check_dense(fibers, len(val), shape)
                fiber = fiber * extent + key if number else key
                pos.append(None)
                crd.append(None)
            case SparseCOO(_, crd_type) if not level.is_first:
                pos.append(None)
                crd.append(_narrowed(key[first], crd_type))
            case SparseList(pos_type, crd_type) | SparseCOO(pos_type, crd_type):
                last = counted_at(levels, number)
                if last + 1 == len(levels):  # entries differ
                    first, parents = slice(None), fiber
                else:
                    new = _changes((fiber, *merged[number : last + 1]), len(key))
                    first = np.flatnonzero(new)
                    parents, fiber = fiber[first], np.cumsum(new) - 1
                ends = np.zeros(fibers + 1, np.int64)
                np.cumsum(np.bincount(parents, minlength=fibers), out=ends[1:])
                fibers = len(parents)
                pos.append(_narrowed(ends, pos_type))
                crd.append(_narrowed(key[first], crd_type))
            case _:
                raise FormatError(f"a tensor cannot be held in a {level.name} level")
    held = val
    if fibers != len(val):
        held = np.full(fibers, fill, dtype.numpy)
        held[fiber] = val
    held = np.ascontiguousarray(held, dtype.numpy)
    frozen = [None if buffer is None else _frozen(buffer, arguments) for buffer in (*pos, *crd)]
    rank = len(levels)
    return FiberTensor(kind, shape, fill, tuple(frozen[:rank]), tuple(frozen[rank:]), _frozen(held, arguments))


def _frozen(buffer: Buffer, arguments: Sequence[Buffer]) -> Buffer:
    """The buffer, read-only; a copy if it is an argument that its owner can change."""
    if buffer.flags.writeable:
        if any(np.may_share_memory(buffer, argument) for argument in arguments):
            buffer = buffer.copy()
        buffer.setflags(write=False)
    return buffer


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
