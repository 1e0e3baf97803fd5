"""Checks of what a tensor's buffers hold, vectorised, O(nnz)."""

from collections.abc import Sequence

import numpy as np

from finchsched.errors import FormatError
from finchsched.formats.fiber_tensor import Buffer, FiberTensor
from finchsched.formats.levels.sparse_coo import counted_at

__all__ = ["check_tensor", "rows_sorted_unique"]


def check_tensor(t: FiberTensor) -> None:
    """Raise FormatError, naming the level, unless the buffers of `t` keep what their levels promise.

    Checked: lengths of all buffers; `pos` starts at 0 and never decreases; coordinates, or tuples of them in a
    coordinate list, are in range and strictly rising inside each fiber.  O(nnz), no Python loop over entries.
    """
    for number, (pos, crd) in enumerate(zip(t.pos, t.crd, strict=True)):
        if crd is None:
            continue
        if pos is not None:
            _check_pos(number, pos, t.positions(number))
        _check_crd(number, crd, t.positions(number + 1), t.shape[t.type.perm[number]])
    for number, pos in enumerate(t.pos):
        if pos is not None:
            last = counted_at(t.type.levels, number)
            _check_order(number, pos, [crd for crd in t.crd[number : last + 1] if crd is not None])
    if len(t.val) != t.positions(t.ndim):
        raise FormatError(f"val must have {t.positions(t.ndim)} elements, one per position; found {len(t.val)}")


def rows_sorted_unique(pos: Buffer, crd: Buffer) -> bool:
    """Whether the coordinates of every fiber are strictly rising.  `pos` must be valid for `crd`."""
    return bool(_rising(pos, [crd]).all())


def _rising(pos: Buffer, coordinates: Sequence[Buffer]) -> Buffer:
    """For each entry but the last: whether the next one is greater, or begins another fiber.

    coordinates: of the entries, one array per axis, compared as tuples.
    """
    stored = len(coordinates[-1])
    rising: Buffer = coordinates[-1][1:] > coordinates[-1][:-1]
    for crd in reversed(coordinates[:-1]):
        rising &= crd[1:] == crd[:-1]
        rising |= crd[1:] > crd[:-1]
    starts = pos[1:-1]
    inner = starts[(starts > 0) & (starts < stored)]
    rising[inner - 1] = True
    return rising


def _check_pos(number: int, pos: Buffer, fibers: int) -> None:
    if len(pos) != fibers + 1:
        raise FormatError(f"level {number}: pos must have {fibers + 1} entries for {fibers} fibers; found {len(pos)}")
    if pos[0] != 0:
        raise FormatError(f"level {number}: pos must start at 0; found {pos[0]}")
    falling = pos[1:] < pos[:-1]
    if falling.any():
        at = int(falling.argmax())
        raise FormatError(f"level {number}: pos must not decrease; found {pos[at]}, {pos[at + 1]} at fiber {at}")


def _check_crd(number: int, crd: Buffer, stored: int, extent: int) -> None:
    if stored != len(crd):
        raise FormatError(f"level {number}: crd must have {stored} entries, as pos ends; found {len(crd)}")
    if stored == 0:
        return
    if crd.min() < 0 or crd.max() >= extent:
        at = int(((crd < 0) | (crd >= extent)).argmax())
        raise FormatError(f"level {number}: crd must lie in 0 .. {extent - 1}; found {crd[at]} at position {at}")


def _check_order(number: int, pos: Buffer, coordinates: Sequence[Buffer]) -> None:
    rising = _rising(pos, coordinates)
    if rising.all():
        return
    at = int(rising.argmin())
    fiber = int(np.searchsorted(pos, at, side="right")) - 1
    here, after = (tuple(int(crd[n]) for crd in coordinates) for n in (at, at + 1))
    shown, following = (one[0] if len(one) == 1 else one for one in (here, after))
    what = "twice" if here == after else f"before {following}"
    raise FormatError(
        f"level {number}: coordinates must rise strictly inside a fiber; fiber {fiber} has {shown} {what} "
        f"at position {at}\nhint: sort each fiber and add up duplicates"
    )
