"""The data container: a fiber tree held in flat arrays.

A tensor of n axes has n levels.  Level l stores the logical axis `perm[l]`.  Level 0 has one fiber; the children of
level l are the fibers of level l + 1; the children of the last level are the elements.  Fibers are numbered within
their level, and that number is their position.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from finchsched.algebra.dtypes import INT32, INT64, DType, Scalar, cast_scalar, is_finite
from finchsched.algebra.operators import same_scalar
from finchsched.ast.format import Level, TensorType
from finchsched.ast.node import Node
from finchsched.ast.scalar import Literal, Value
from finchsched.errors import DtypeError, FormatError, ShapeMismatchError
from finchsched.formats.levels import Dense, SparseCOO, SparseList
from finchsched.formats.levels.sparse_coo import check_groups

__all__ = ["Buffer", "FiberTensor", "cast_fill", "fill_node", "shared_type", "tensor_type"]

Buffer: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FiberTensor:
    """A tensor's static type, extents, fill and buffers.  Nothing in it is changed after construction.

    shape: extents of the logical axes.  fill: the value of coordinates that are not stored, a plain Python scalar of
    the element type (the type may know only its class).  pos, crd: one entry per storage level, None for Dense; for
    SparseList and SparseCOO `pos[l]` has `positions(l) + 1` and `crd[l]` has `positions(l + 1)` entries, in the element
    types that the level names; parts of a SparseCOO after the first have the `pos` None.  val: the `positions(ndim)`
    elements.  All arrays are one-dimensional, aligned and contiguous.

    Construction checks types and counts of buffers, O(ndim), and raises FormatError; `check_tensor` checks what they
    hold.
    """

    type: TensorType
    shape: tuple[int, ...]
    fill: Scalar
    pos: tuple[Buffer | None, ...]
    crd: tuple[Buffer | None, ...]
    val: Buffer

    def __post_init__(self) -> None:
        """Raise FormatError unless the parts fit the type."""
        need = _need(self.type)
        if not (len(self.shape) == len(self.pos) == len(self.crd) == len(need.widths)):
            raise FormatError(
                f"a type of {len(need.widths)} levels needs as many extents, pos and crd; "
                f"found {len(self.shape)}, {len(self.pos)} and {len(self.crd)}"
            )
        for extent in self.shape:
            if extent < 0:
                raise FormatError(f"extents must not be negative; found shape {self.shape}")
        if not _fits(self.val, need.val):
            _refuse("val", self.val, need.val)
        for pos, crd, width in zip(self.pos, self.crd, need.widths, strict=True):
            if width is None:
                fits = pos is None and crd is None
            elif width[0] is None:
                fits = pos is None and _fits(crd, width[1])
            else:
                fits = _fits(pos, width[0]) and _fits(crd, width[1]) and len(pos) > 0  # type: ignore[arg-type]
            if not fits:
                self._refuse_levels(need)
        if self.fill.__class__ is not need.fill:
            raise FormatError(f"a fill of {self.type.dtype} must be a {need.fill.__name__}; found {self.fill!r}")
        fill = self.type.fill
        if isinstance(fill, Literal) and fill.value != self.fill and not same_scalar(fill.value, self.fill):
            raise FormatError(f"the type says that the fill is {fill.value!r}; found {self.fill!r}")

    def _refuse_levels(self, need: "_Need") -> None:
        for number, (pos, crd, width) in enumerate(zip(self.pos, self.crd, need.widths, strict=True)):
            if width is None and (pos is not None or crd is not None):
                raise FormatError(f"level {number} is Dense and has neither pos nor crd")
            if width is None:
                continue
            _refuse(f"level {number}: crd", crd, width[1])
            if width[0] is None and pos is not None:
                raise FormatError(f"level {number} is a further axis of a coordinate list and has no pos")
            if width[0] is not None:
                _refuse(f"level {number}: pos", pos, width[0])
                if len(pos) == 0:  # type: ignore[arg-type]
                    raise FormatError(f"level {number}: pos must have at least one entry")

    def __repr__(self) -> str:
        return f"FiberTensor({self.type}, shape={self.shape}, fill={self.fill!r}, stored={self.stored})"

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def stored(self) -> int:
        """Number of stored elements."""
        return len(self.val)

    @property
    def nbytes(self) -> int:
        """Bytes of all buffers; one that serves several levels counts each time."""
        index = sum(buffer.nbytes for buffer in self.pos + self.crd if buffer is not None)
        return int(self.val.nbytes + index)

    def positions(self, level: int) -> int:
        """Number of fibers of a level: 1 for level 0; for level `ndim` the number of elements that the buffers promise.

        O(level).  Python integers, so a shape whose product exceeds 2**63 does not overflow.
        """
        count = 1
        for number in range(level):
            pos = self.pos[number]
            if pos is not None:
                count = int(pos[-1])
            elif self.crd[number] is None:  # Dense; a further axis of a coordinate list has its parent's positions
                count *= self.shape[self.type.perm[number]]
        return count

    def copy(self) -> "FiberTensor":
        """The same tensor with buffers of its own."""
        pos = tuple(None if buffer is None else buffer.copy() for buffer in self.pos)
        crd = tuple(None if buffer is None else buffer.copy() for buffer in self.crd)
        return FiberTensor(self.type, self.shape, self.fill, pos, crd, self.val.copy())

    def transpose(self, axes: Sequence[int]) -> "FiberTensor":
        """The tensor whose axis a is this one's axis `axes[a]`.  No data moves: buffers are shared.

        Raises ShapeMismatchError unless `axes` is a permutation of all axes.
        """
        if sorted(axes) != list(range(self.ndim)):
            raise ShapeMismatchError(f"axes must be a permutation of 0 .. {self.ndim - 1}; found {tuple(axes)}")
        shape = tuple([self.shape[axis] for axis in axes])
        return FiberTensor(_transposed(self.type, tuple(axes)), shape, self.fill, self.pos, self.crd, self.val)


@lru_cache(maxsize=1024)
def _transposed(type_: TensorType, axes: tuple[int, ...]) -> TensorType:
    """Equal types are one object, so that plan keys compare by identity."""
    return shared_type(type_.replace(perm=tuple(axes.index(axis) for axis in type_.perm)))


def tensor_type(levels: tuple[Level, ...], perm: tuple[int, ...], dtype: DType, fill: Scalar) -> TensorType:
    """The static type of a tensor with a known fill; equal types are one object."""
    return _tensor_type(levels, perm, dtype, fill, repr(fill))


@lru_cache(maxsize=1024)
def _tensor_type(
    levels: tuple[Level, ...], perm: tuple[int, ...], dtype: DType, fill: Scalar, _text: str
) -> TensorType:
    """`_text` tells 0.0 from -0.0 and True from 1."""
    return shared_type(TensorType(levels, perm, dtype, fill_node(fill, dtype)))


@lru_cache(maxsize=4096)
def shared_type(type_: TensorType) -> TensorType:
    """The object that stands for all types equal to this one: looking it up compares nothing."""
    return type_


def fill_node(value: Scalar, dtype: DType) -> Node:
    """A fill as part of a static type.

    Structural constants (0, 1, infinities, NaN, truth values) become a Literal, any other value a finite Value named
    "fill".
    """
    value = cast_scalar(value, dtype)
    if value in (0, 1):
        return Literal(cast_scalar(int(value == 1), dtype), dtype)
    if not is_finite(value):
        return Literal(value, dtype)
    return Value("fill", dtype, "finite")


def cast_fill(value: Scalar, dtype: DType) -> Scalar:
    """`value` as a plain scalar of `dtype`.

    Raises DtypeError where the type cannot hold it: a number beyond its range, a fraction or NaN in a bool or integer
    type, an imaginary part in a real one.  A floating point type rounds.
    """
    refusal = f"{dtype} cannot hold the fill {value!r}"
    if isinstance(value, complex) and not dtype.is_complex:
        if value.imag != 0:
            raise DtypeError(refusal)
        value = value.real
    try:
        cast = cast_scalar(value, dtype)
    except (OverflowError, ValueError) as error:
        raise DtypeError(refusal) from error
    if is_finite(cast) != is_finite(value) or (not dtype.is_inexact and cast != value):
        raise DtypeError(refusal)
    return cast


class _Need(NamedTuple):
    """What a type demands: element types of (pos, crd) per level, or None; of val; and the Python class of the fill."""

    widths: tuple[tuple[np.dtype[Any] | None, np.dtype[Any]] | None, ...]
    val: np.dtype[Any]
    fill: type


@lru_cache(maxsize=4096)
def _need(t: TensorType) -> _Need:
    """Kept per type, so that constructing a tensor is cheap.  Raises FormatError for a type that no tensor can have."""
    if sorted(t.perm) != list(range(len(t.levels))):
        raise FormatError(f"perm must be a permutation of 0 .. {len(t.levels) - 1}; found {t.perm}")
    check_groups(t.levels)
    widths = tuple(_index_types(number, level) for number, level in enumerate(t.levels))
    return _Need(widths, t.dtype.numpy, t.dtype.python)


def _index_types(number: int, level: Level) -> tuple[np.dtype[Any] | None, np.dtype[Any]] | None:
    match level:
        case Dense():
            return None
        case SparseList(pos, crd) if pos in (INT32, INT64) and crd in (INT32, INT64):
            return pos.numpy, crd.numpy
        case SparseCOO(pos, crd) if pos in (INT32, INT64) and crd in (INT32, INT64):
            return pos.numpy if level.is_first else None, crd.numpy
        case SparseList(pos, crd) | SparseCOO(pos, crd):
            raise FormatError(f"level {number}: pos and crd must be int32 or int64; found {pos} and {crd}")
        case _:
            raise FormatError(f"level {number}: a tensor cannot be held in a {level.name} level")


def _fits(buffer: object, dtype: np.dtype[Any]) -> bool:
    """Whether a kernel may take the array as a buffer of `dtype`."""
    if not isinstance(buffer, np.ndarray) or buffer.ndim != 1 or buffer.dtype != dtype:
        return False
    flags = buffer.flags
    return flags.c_contiguous and flags.aligned


def _refuse(name: str, buffer: object, dtype: np.dtype[Any]) -> None:
    """Raise FormatError, saying why, unless the array fits."""
    if not isinstance(buffer, np.ndarray):
        raise FormatError(f"{name} must be an array of {dtype}; found {buffer!r}")
    if buffer.dtype != dtype:
        raise FormatError(f"{name} must have the element type {dtype}; found {buffer.dtype}")
    if not _fits(buffer, dtype):
        raise FormatError(f"{name} must be one-dimensional, contiguous and aligned; found shape {buffer.shape}")
