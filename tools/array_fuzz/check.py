"""Whether a result is what the model says."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import finchsched as fs
from array_fuzz.forms import read
from array_fuzz.model import Batch, same
from finchsched.formats.checks import check_tensor

__all__ = ["difference", "refusal"]

Array = NDArray[Any]


def difference(result: Any, expected: "Batch | list[Any]", n: int) -> str:
    """What is wrong with the result of case n; empty if nothing is."""
    if isinstance(result, fs.Tensor):
        check_tensor(result.data)
        values, stored = read(result.data)
    else:
        values, stored = result, np.ones(result.shape, np.bool)
    wanted = expected.values[n] if isinstance(expected, Batch) else expected[n]
    if values.dtype != wanted.dtype or values.shape != wanted.shape:
        return f"found {values.dtype} of shape {values.shape}, expected {wanted.dtype} of shape {wanted.shape}"
    if isinstance(result, fs.Tensor) and (result.dtype, result.shape) != (values.dtype, values.shape):
        return f"says {result.dtype} of shape {result.shape}, holds {values.dtype} of shape {values.shape}"
    right = _close(values, wanted, expected.ulps if isinstance(expected, Batch) else 0)
    if not right.all():
        at = tuple(int(axis[0]) for axis in np.nonzero(~right))
        return f"found {values[at]!r} at {at}, expected {wanted[at]!r}{'' if stored[at] else ' (not stored)'}"
    if isinstance(result, fs.Tensor) and isinstance(expected, Batch):
        return _structure(result, stored, expected, n)
    return ""


def _close(values: Array, wanted: Array, ulps: float) -> Any:
    """Element by element, where NaN equals NaN, 0.0 equals -0.0, and floating point may differ by some ulps.

    A complex number that is infinite or NaN in some part equals any other: `1 * (inf+0j)` is `inf+nanj` in NumPy.
    """
    right = np.asarray(same(values, wanted))
    if wanted.dtype.kind == "c":
        right |= ~np.isfinite(values) & ~np.isfinite(wanted)
    if not ulps or right.all():
        return right
    size = np.abs(wanted)
    with np.errstate(all="ignore"):
        room = ulps * np.finfo(wanted.dtype).eps * np.maximum(size, 1e-3)
        return right | (np.isfinite(wanted) & (np.abs(values - wanted) <= room))


def _structure(result: fs.Tensor, stored: Any, expected: Batch, n: int) -> str:
    """The fill of a sparse result; its stored positions too, if all of them are chosen one by one."""
    levels = result.data.type.levels
    if all(level.stores_all for level in levels):
        return ""
    fill = result.data.val.dtype.type(result.fill_value)
    if not np.all(_close(np.asarray(fill), np.asarray(expected.fill), expected.ulps)):
        return f"found the fill {result.fill_value!r}, expected {expected.fill!r}"
    if expected.mask == "any":
        return ""
    wanted = expected.stored[n]
    wrong = wanted & ~stored if expected.mask == "least" or levels[-1].stores_all else wanted != stored
    if not wrong.any():
        return ""
    at = tuple(int(axis[0]) for axis in np.nonzero(wrong))
    return f"found {'an' if stored[at] else 'no'} entry at {at} of a {result.format} result, expected otherwise"


def refusal(error: Exception | None, wanted: Exception | None) -> str:
    """What is wrong with an operation that raised, or should have; empty if nothing is."""
    if error is None:
        return "" if wanted is None else f"not refused, expected {type(wanted).__name__}: {wanted}"
    if wanted is not None and isinstance(error, fs.errors.FinchschedError):
        kinds = [kind for kind in (TypeError, ValueError, IndexError) if isinstance(wanted, kind)]
        if any(isinstance(error, kind) for kind in kinds):
            return ""
    told = f", expected {type(wanted).__name__}: {wanted}" if wanted is not None else ""
    return f"{type(error).__name__}: {error}{told}"
