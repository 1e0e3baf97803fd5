"""The entries of a tensor within a range of its outermost storage level, found without looking at the others."""

from finchsched.formats.fiber_tensor import Buffer, FiberTensor
from finchsched.formats.levels import Dense, SparseList

__all__ = ["outer_range"]


def outer_range(tensor: FiberTensor, low: int, high: int) -> FiberTensor:
    """The part of a tensor whose coordinates on its outermost storage axis lie in low .. high - 1, moved to begin at 0.

    Buffers of values and of the inner levels' coordinates are shared.  O(log) for a sparse outermost level, plus the
    pointers in the range.  Gives the tensor itself if there is another level than Dense and SparseList.
    """
    levels = tensor.type.levels
    extent = tensor.shape[tensor.type.perm[0]]
    if (low, high) == (0, extent) or not all(isinstance(level, Dense | SparseList) for level in levels):
        return tensor
    shape = list(tensor.shape)
    shape[tensor.type.perm[0]] = high - low
    pos: list[Buffer | None] = []
    crd: list[Buffer | None] = []
    first, last = 0, 1  # the fibers of the level that are kept
    for number, axis in enumerate(tensor.type.perm):
        old_pos, old_crd = tensor.pos[number], tensor.crd[number]
        if old_pos is None or old_crd is None:
            inner = tensor.shape[axis]
            first, last = (low, high) if number == 0 else (first * inner, last * inner)
            pos.append(None)
            crd.append(None)
            continue
        begin, end = int(old_pos[first]), int(old_pos[last])
        kept = old_crd[begin:end]
        if number == 0:
            begin, end = (begin + int(kept.searchsorted(bound)) for bound in (low, high))
            kept = (old_crd[begin:end] - old_crd.dtype.type(low)).astype(old_crd.dtype, copy=False)
            pos.append(old_pos.dtype.type(end - begin) * (old_pos[:2] != old_pos[0]))
        else:
            pos.append(old_pos[first : last + 1] - old_pos[first])
        crd.append(kept)
        first, last = begin, end
    return FiberTensor(tensor.type, tuple(shape), tensor.fill, tuple(pos), tuple(crd), tensor.val[first:last])
