"""Tensors as SciPy sparse arrays."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from finchsched.api.deferred import scipy_sparse
from finchsched.errors import FormatError
from finchsched.formats.coordinates import coordinates_of, index_width
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.levels import SparseCOO

__all__ = ["to_scipy_array"]

_Array = NDArray[Any]
_COMPRESSED = ("csr", "csc")
_FORMATS = ("csr", "csc", "coo", "bsr", "dia", "dok", "lil")


class Stored(Protocol):
    """What is used of a tensor."""

    @property
    def data(self) -> FiberTensor:
        """Its buffers."""

    @property
    def format(self) -> str:
        """The name of its format."""

    def asformat(self, text: str) -> "Stored":
        """It in another format."""


def to_scipy_array(tensor: Stored, format: str | None, *, copy: bool) -> Any:
    """A sparse tensor with the fill 0 as a SciPy array; see `Tensor.to_scipy`."""
    rank = tensor.data.ndim
    if format is not None and format not in _FORMATS:
        raise FormatError(f"found the format {format!r}, expected one of SciPy's: {', '.join(_FORMATS)}")
    if format is None:
        format = _default(tensor) if rank == 2 else "coo"
    if rank == 2 and format in _COMPRESSED:
        return _compressed(_in_format(tensor, format), format, copy)
    if format == "coo":
        return _coordinates(tensor.data, copy)
    through = _compressed(_in_format(tensor, "csr"), "csr", copy) if rank == 2 else _coordinates(tensor.data, copy)
    try:
        return through.asformat(format)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise FormatError(f"SciPy has no {format} arrays of {rank} axes\nhint: use coo") from error


def _default(tensor: Stored) -> str:
    levels = tensor.data.type.levels
    if all(isinstance(level, SparseCOO) for level in levels):
        return "coo"
    return "csc" if tensor.format == "csc" else "csr"


def _in_format(tensor: Stored, format: str) -> FiberTensor:
    """The tensor's own buffers, of whatever index width, if it has the format already."""
    return tensor.data if tensor.format == format else tensor.asformat(format).data


def _compressed(data: FiberTensor, format: str, copy: bool) -> Any:
    pos, crd = data.pos[1], data.crd[1]
    assert pos is not None and crd is not None
    if pos.dtype != crd.dtype:
        pos, crd = _one_width(pos, crd)
    made = getattr(scipy_sparse(), f"{format}_array")(data.shape, dtype=data.val.dtype)
    made.data, made.indices, made.indptr = (b.copy() if copy else b for b in (data.val, crd, pos))
    made.has_canonical_format = True
    return made


def _one_width(pos: _Array, crd: _Array) -> tuple[_Array, _Array]:
    """Both index arrays in one type: the pointers take the indices' if they fit."""
    if pos[-1] <= np.iinfo(crd.dtype).max:
        return pos.astype(crd.dtype), crd
    return pos, crd.astype(pos.dtype)


def _coordinates(data: FiberTensor, copy: bool) -> Any:
    """A COO array.  Its coordinates are the tensor's own if that is a list of them."""
    own: tuple[Any, ...] = tuple(data.crd[data.type.perm.index(axis)] for axis in range(data.ndim))
    if any(crd is None for crd in own) or not all(isinstance(level, SparseCOO) for level in data.type.levels):
        dtype = index_width(data.shape, data.stored).numpy
        own = tuple(at.astype(dtype) for at in coordinates_of(data))
    elif copy:
        own = tuple(crd.copy() for crd in own if crd is not None)
    try:
        made = scipy_sparse().coo_array(data.shape, dtype=data.val.dtype)
    except ValueError as error:
        raise FormatError(f"this version of SciPy has no sparse arrays of {data.ndim} axes") from error
    made.coords, made.data = own, data.val.copy() if copy else data.val
    made.has_canonical_format = data.type.perm == tuple(range(data.ndim))
    return made
