"""Checks of what a tensor's buffers hold, vectorised, O(nnz)."""

import numpy as np

from finchsched.errors import FormatError
from finchsched.formats.fiber_tensor import Buffer, FiberTensor

__all__ = ["check_tensor", "rows_sorted_unique"]


def check_tensor(t: FiberTensor) -> None:
    """Raise FormatError, naming the level, unless the buffers of `t` keep what their levels promise.

    Checked: lengths of all buffers; `pos` starts at 0 and never decreases; coordinates are in range and strictly rising
    inside each fiber.  O(nnz), no Python loop over entries.
    """
    for number, (pos, crd) in enumerate(zip(t.pos, t.crd, strict=True)):
        if pos is None or crd is None:
            continue
        _check_pos(number, pos, t.positions(number), len(crd))
        _check_crd(number, pos, crd, t.shape[t.type.perm[number]])
    if len(t.val) != t.positions(t.ndim):
        raise FormatError(f"val must have {t.positions(t.ndim)} elements, one per position; found {len(t.val)}")


def rows_sorted_unique(pos: Buffer, crd: Buffer) -> bool:
    """Whether the coordinates of every fiber are strictly rising.  `pos` must be valid for `crd`."""
    return bool(_rising(pos, crd).all())


def _rising(pos: Buffer, crd: Buffer) -> Buffer:
    """For each entry of `crd` but the last: whether the next one is greater, or begins another fiber."""
    rising: Buffer = crd[1:] > crd[:-1]
    starts = pos[1:-1]
    inner = starts[(starts > 0) & (starts < len(crd))]
    rising[inner - 1] = True
    return rising


def _check_pos(number: int, pos: Buffer, fibers: int, stored: int) -> None:
    if len(pos) != fibers + 1:
        raise FormatError(f"level {number}: pos must have {fibers + 1} entries for {fibers} fibers; found {len(pos)}")
    if pos[0] != 0:
        raise FormatError(f"level {number}: pos must start at 0; found {pos[0]}")
    falling = pos[1:] < pos[:-1]
    if falling.any():
        at = int(falling.argmax())
        raise FormatError(f"level {number}: pos must not decrease; found {pos[at]}, {pos[at + 1]} at fiber {at}")
    if stored != pos[-1]:
        raise FormatError(f"level {number}: crd must have {pos[-1]} entries, as pos ends; found {stored}")


def _check_crd(number: int, pos: Buffer, crd: Buffer, extent: int) -> None:
    if len(crd) == 0:
        return
    if crd.min() < 0 or crd.max() >= extent:
        at = int(((crd < 0) | (crd >= extent)).argmax())
        raise FormatError(f"level {number}: crd must lie in 0 .. {extent - 1}; found {crd[at]} at position {at}")
    rising = _rising(pos, crd)
    if rising.all():
        return
    at = int(rising.argmin())
    fiber = int(np.searchsorted(pos, at, side="right")) - 1
    what = "twice" if crd[at] == crd[at + 1] else f"before {crd[at + 1]}"
    raise FormatError(
        f"level {number}: coordinates must rise strictly inside a fiber; fiber {fiber} has {crd[at]} {what} "
        f"at position {at}\nhint: sort each fiber and add up duplicates"
    )
