"""Whole fibers of a tensor's outermost storage level, taken or joined without looking at coordinates inside them.

For nests of Dense and SparseList levels; other levels go the general way, through coordinates.
"""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from finchsched.api.rearrange.entries import Index
from finchsched.formats.coordinates import index_width
from finchsched.formats.fiber_tensor import Buffer, FiberTensor, tensor_type
from finchsched.formats.levels import Dense, SparseList

__all__ = ["join_outer", "take_outer", "without_outer"]


def take_outer(tensor: FiberTensor, taken: range | Index) -> FiberTensor | None:
    """The tensor with these coordinates of its outermost storage axis only, in this order.  Buffers are new.

    O(entries taken), and for a Dense outermost level O(coordinates taken).  None where only the general way is left: an
    outermost SparseList gives ranges of step 1 only.
    """
    levels = tensor.type.levels
    if not all(isinstance(level, Dense | SparseList) for level in levels):
        return None
    axis = tensor.type.perm[0]
    pos, crd = tensor.pos[0], tensor.crd[0]
    parts: list[tuple[Buffer | None, Buffer | None]] = [(None, None)]
    if pos is None or crd is None:
        fibers = np.arange(taken.start, taken.stop, taken.step) if isinstance(taken, range) else taken
    elif isinstance(taken, range) and taken.step == 1:
        low, high = _bounds(crd, taken)
        fibers = np.arange(low, high)
        parts = [(np.array([0, high - low]), crd[low:high].astype(np.int64) - taken.start)]
    else:
        return None
    for number in range(1, tensor.ndim):
        pos, crd = tensor.pos[number], tensor.crd[number]
        if pos is None or crd is None:
            extent = tensor.shape[tensor.type.perm[number]]
            fibers = (fibers[:, None] * extent + np.arange(extent)).reshape(-1)
            parts.append((None, None))
            continue
        first = pos[fibers]
        counts = pos[fibers + 1] - first
        ends = np.zeros(len(fibers) + 1, np.int64)
        np.cumsum(counts, out=ends[1:])
        fibers = np.repeat(first - ends[:-1], counts) + np.arange(ends[-1])
        parts.append((ends, crd[fibers]))
    shape = [len(taken) if each == axis else extent for each, extent in enumerate(tensor.shape)]
    return _made(tensor, shape, parts, tensor.val[fibers])


def _bounds(crd: Buffer, taken: range) -> tuple[int, int]:
    """Where a range of coordinates stands in a sorted list.  Searched for in the list's own type, which copies less."""
    largest = np.iinfo(crd.dtype).max
    if not taken or taken.start > largest:
        return 0, 0
    last = crd.dtype.type(min(taken.stop - 1, largest))
    return int(crd.searchsorted(crd.dtype.type(taken.start))), int(crd.searchsorted(last, side="right"))


def without_outer(tensor: FiberTensor) -> FiberTensor | None:
    """The one fiber of a tensor whose outermost storage axis has the extent 1, without that axis.

    None if that fiber is not stored, and if the result would be dense although the tensor is not.
    """
    levels, perm = tensor.type.levels, tensor.type.perm
    pos = tensor.pos[0]
    if len(levels) < 2 or isinstance(levels[-1], Dense) or (pos is not None and pos[-1] != 1):
        return None
    axes = tuple([axis - (axis > perm[0]) for axis in perm[1:]])
    kind = tensor_type(levels[1:], axes, tensor.type.dtype, tensor.fill)
    shape = (*tensor.shape[: perm[0]], *tensor.shape[perm[0] + 1 :])
    return FiberTensor(kind, shape, tensor.fill, tensor.pos[1:], tensor.crd[1:], tensor.val)


def join_outer(tensors: Sequence[FiberTensor], shape: Sequence[int]) -> FiberTensor | None:
    """Tensors of one element type and fill one after the other along their outermost storage axis.

    `shape` is that of the result.  None unless all have the same kinds of levels in the same order.  O(stored).
    """
    first = tensors[0]
    kinds = [type(level) for level in first.type.levels]
    if any(kind not in (Dense, SparseList) for kind in kinds):
        return None
    if any(t.type.perm != first.type.perm or [type(level) for level in t.type.levels] != kinds for t in tensors):
        return None
    parts: list[tuple[Buffer | None, Buffer | None]] = []
    for number, kind in enumerate(kinds):
        if kind is Dense:
            parts.append((None, None))
            continue
        counts = [np.diff(pos) for tensor in tensors if (pos := tensor.pos[number]) is not None]
        crds = [crd.astype(np.int64) for tensor in tensors if (crd := tensor.crd[number]) is not None]
        if number == 0:
            counts = [np.array([sum(len(crd) for crd in crds)])]
            moves = accumulate((tensor.shape[first.type.perm[0]] for tensor in tensors), initial=0)
            crds = [crd + move for crd, move in zip(crds, moves, strict=False)]
        ends = np.append(0, np.cumsum(np.concatenate(counts), dtype=np.int64))
        parts.append((ends, np.concatenate(crds)))
    return _made(first, shape, parts, np.concatenate([t.val for t in tensors]))


def _made(
    like: FiberTensor, shape: Sequence[int], parts: Sequence[tuple[Buffer | None, Buffer | None]], val: Buffer
) -> FiberTensor:
    """A tensor of the same kind from fresh buffers, index arrays as narrow as they may be."""
    width = index_width(shape, len(val))
    levels = tuple([level if isinstance(level, Dense) else SparseList(width, width) for level in like.type.levels])
    kind = tensor_type(levels, like.type.perm, like.type.dtype, like.fill)
    pos = tuple([None if p is None else p.astype(width.numpy, copy=False) for p, _ in parts])
    crd = tuple([None if c is None else c.astype(width.numpy, copy=False) for _, c in parts])
    for buffer in (*pos, *crd, val):
        if buffer is not None:
            buffer.setflags(write=False)
    return FiberTensor(kind, tuple(shape), like.fill, pos, crd, val)
