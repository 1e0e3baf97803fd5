"""Coordinate lists as users give them: checked, and made a tensor in a format that suits their shape."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finchsched.algebra.dtypes import INT32, Scalar
from finchsched.api.format_text import parse_format
from finchsched.errors import FormatError, ShapeMismatchError
from finchsched.formats.coordinates import from_coordinates, index_width
from finchsched.formats.fiber_tensor import FiberTensor

__all__ = ["checked_shape", "coordinate_tensor", "default_format", "index_arrays"]

_Array = NDArray[Any]

_INT64_MAX = 2**63 - 1
_POINTERS_PER_ENTRY = 16
"""A CSR matrix has a pointer per row.  With more than so many rows per entry they are most of what it holds, and most
of what a loop over it visits."""
_FEW = 1 << 16
"""So many pointers cost nothing that is noticed, however few entries there are."""


def default_format(shape: Sequence[int], stored: int) -> str:
    """The format of coordinates when the user asks for none.

    A matrix is csr: kernels find a row at once, and SciPy shares its buffers.  One with far more rows than entries, and
    any tensor of more axes, is coo: it takes one number per axis and entry, whatever the extents are, and its kernels
    visit nothing but the entries.

    >>> default_format((1000, 1000), 50), default_format((1 << 30, 20), 50), default_format((3, 4, 5), 7)
    ('csr', 'coo', 'coo')
    """
    if not shape:
        return "dense"
    if len(shape) == 1:
        return "csf"
    return "csr" if len(shape) == 2 and shape[0] <= max(_FEW, _POINTERS_PER_ENTRY * stored) else "coo"


def checked_shape(shape: Any) -> tuple[int, ...]:
    """Extents as Python integers; one integer is a shape of one axis.  Raises ShapeMismatchError for anything else."""
    try:
        extents = tuple(operator.index(extent) for extent in (shape if hasattr(shape, "__iter__") else (shape,)))
    except TypeError as error:
        raise ShapeMismatchError(f"a shape is made of integers; found {shape!r}") from error
    if not all(0 <= extent <= _INT64_MAX for extent in extents):
        raise ShapeMismatchError(f"extents must lie in 0 .. {_INT64_MAX}; found the shape {extents}")
    return extents


def index_arrays(coords: Any) -> list[_Array]:
    """One integer array per axis, from an array of shape (axes, entries) or a sequence of arrays; neither is copied.

    Raises FormatError for other shapes and for numbers that are no integers.
    """
    parts = list(coords) if isinstance(coords, list | tuple) else None
    if parts is None or not parts:
        whole = np.asarray(coords)
        if whole.ndim != 2:
            raise FormatError(
                f"coords must have the shape (axes, entries); found {whole.shape}\n"
                "hint: pass one array of coordinates per axis, as in (rows, columns)"
            )
        parts = list(whole)
    arrays = [np.asarray(part) for part in parts]
    for axis, array in enumerate(arrays):
        if array.ndim != 1:
            raise FormatError(
                f"coordinates on axis {axis} must be one-dimensional; found shape {array.shape}\n"
                "hint: pass one array of coordinates per axis, as in (rows, columns)"
            )
        if array.dtype.kind not in "iu" and len(array):
            raise FormatError(f"coordinates on axis {axis} must be integers; found {array.dtype}")
    return [array if array.dtype.kind in "iu" else array.astype(np.int64) for array in arrays]


def coordinate_tensor(
    arrays: Sequence[_Array], val: _Array, shape: tuple[int, ...], fill: Scalar, format: str | None
) -> FiberTensor:
    """The tensor with `val[k]` at coordinate `arrays[.][k]`; repeated coordinates are added up (bool: or).

    No buffer of the arguments is changed or shared.  O(n log n) in the entries, O(n) if they are in order.  Raises
    FormatError unless the coordinates fit the shape, DensifyError where the format would store far more than that.
    """
    if len(arrays) != len(shape):
        raise FormatError(f"coordinates on {len(arrays)} axes do not fit the shape {shape}")
    for axis, (array, extent) in enumerate(zip(arrays, shape, strict=True)):
        if len(array) != len(val):
            raise FormatError(f"found {len(array)} coordinates on axis {axis} and {len(val)} values")
        _check_range(array, axis, extent)
    if format is None:
        format = default_format(shape, len(val))
    narrow = index_width(shape, len(val)) == INT32
    levels, perm = parse_format(format, len(shape), narrow=narrow)
    made = from_coordinates(arrays, val, shape, levels, perm, fill=fill)
    if not np.may_share_memory(made.val, val):
        return made
    own = made.val.copy()
    own.setflags(write=False)
    return FiberTensor(made.type, made.shape, made.fill, made.pos, made.crd, own)


def _check_range(array: _Array, axis: int, extent: int) -> None:
    """Compared in the array's own type, so that no integer wraps around."""
    if not len(array):
        return
    least, most = int(array.min()), int(array.max())
    if least >= 0 and most < extent:
        return
    wrong = array < 0 if least < 0 else array >= extent
    at = int(wrong.argmax())
    allowed = f"lie in 0 .. {extent - 1}" if extent else "be absent, as the extent is 0"
    raise FormatError(f"coordinates on axis {axis} must {allowed}; found {array[at]} at position {at}")
