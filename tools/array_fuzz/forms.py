"""Storage of random arrays: a whole batch of equal type and shape is made at once, and results are read back.

Nothing here is shared with the conversions of the library.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

import finchsched as fs
from finchsched.algebra.dtypes import DType, Scalar, as_dtype, cast_scalar
from finchsched.api.format_text import parse_format
from finchsched.ast.format import Level, TensorType
from finchsched.formats.fiber_tensor import FiberTensor, tensor_type
from finchsched.formats.levels import Dense, SparseCOO

__all__ = ["FORMS", "Spec", "build", "read"]

Array = NDArray[Any]
Mask = NDArray[np.bool]

FORMS: dict[int, tuple[str, ...]] = {
    0: ("dense",),
    1: ("dense", "csf", "coo"),
    2: (
        *("dense", "csr", "csr", "csc", "csc", "dcsr", "dcsc", "coo", "coo, perm=(1, 0)", "dense, perm=(1, 0)"),
        *("SparseList(Dense)", "SparseList(Dense), perm=(1, 0)"),
    ),
    3: (
        *(
            "dense",
            "csf",
            "csf",
            "csf, perm=(2, 0, 1)",
            "coo",
            "dense, perm=(1, 2, 0)",
            "Dense(SparseList(SparseList))",
        ),
        *("SparseList(Dense(SparseList))", "SparseList(SparseList(Dense))"),
        *("Dense(SparseCOO(2))", "SparseCOO(2)(Dense)", "SparseCOO(2)(SparseList)", "SparseList(SparseCOO(2))"),
    ),
}
"""Storage formats by number of axes."""


@dataclass(frozen=True, slots=True)
class Spec:
    """What the arrays of a batch have in common.

    fill: of the element type.  widths: element types of pointers and coordinates.  domain: which values are stored, see
    `values.draw`.
    """

    dtype: str
    shape: tuple[int, ...]
    form: str = "dense"
    fill: Scalar = 0
    widths: tuple[str, str] = ("int32", "int32")
    domain: str = "any"

    @property
    def numpy(self) -> "np.dtype[Any]":
        return np.dtype(self.dtype)

    @property
    def numpy_fill(self) -> Any:
        return self.numpy.type(self.fill)

    def __str__(self) -> str:
        widths = "" if self.widths == ("int32", "int32") else f" {'/'.join(self.widths)}"
        fill = "" if self.fill == 0 and self.fill is not False else f" fill {self.fill!r}"
        return f"{self.dtype}{list(self.shape)} {self.form}{widths}{fill} ({self.domain})"


@lru_cache(maxsize=4096)
def storage(spec: Spec) -> tuple[TensorType, Scalar]:
    """The static type, one object for equal specs, and the fill."""
    dtype = DType(spec.dtype)
    levels, perm = parse_format(spec.form, len(spec.shape), narrow=True)
    fill = cast_scalar(spec.fill, dtype)
    return tensor_type(tuple(_widened(level, *spec.widths) for level in levels), perm, dtype, fill), fill


def _widened(level: Level, pos: str, crd: str) -> Level:
    return level if isinstance(level, Dense) else level.replace(pos=as_dtype(pos), crd=as_dtype(crd))


@dataclass(slots=True)
class _Cut:
    """An array over all cases of a batch, of which case n has `ends[n]:ends[n + 1]`; pointers have one entry more."""

    array: Array
    ends: list[int]
    pointers: bool = False

    def __getitem__(self, n: int) -> Array:
        start, stop = self.ends[n], self.ends[n + 1]
        if not self.pointers:
            return self.array[start:stop]
        piece = self.array[start : stop + 1]
        return piece - piece[0]


def build(spec: Spec, values: Array, stored: Mask) -> tuple[list[fs.Tensor], Array, Mask]:
    """The tensor of each case, and values and mask as their format has them, of shape (cases, *spec.shape).

    `values` holds the fill wherever `stored` is False.  A Dense level below a compressed one stores more than asked.
    """
    kind, fill = storage(spec)
    cases = len(values)
    order = (0, *(axis + 1 for axis in kind.perm))
    kept, held = stored.transpose(order), values.transpose(order)
    extents = held.shape[1:]
    nodes = np.arange(cases)
    ends = list(range(cases + 1))
    pos: list[_Cut | None] = []
    crd: list[_Cut | None] = []
    number = 0
    while number < len(extents):
        level = kind.levels[number]
        span = level.of if isinstance(level, SparseCOO) else 1
        below = prod(extents[number : number + span])
        number += span
        if isinstance(level, Dense):
            nodes = (nodes[:, None] * below + np.arange(below)).reshape(-1)
            ends = [end * below for end in ends]
            pos.append(None)
            crd.append(None)
            continue
        occupied = kept.any(axis=tuple(range(number + 1, kept.ndim)))
        rows = occupied.reshape(cases * prod(extents[: number - span]), below)[nodes]
        fiber, coordinate = np.nonzero(rows)
        counts = np.append(0, rows.sum(axis=1).cumsum()).astype(spec.widths[0])
        pos.append(_Cut(counts, ends, pointers=True))
        pos.extend([None] * (span - 1))
        ends = counts[ends].tolist()
        nodes = nodes[fiber] * below + coordinate
        for axis in np.unravel_index(coordinate, extents[number - span : number]) if below else [coordinate] * span:
            crd.append(_Cut(np.ascontiguousarray(axis, spec.widths[1]), ends))
    held = np.ascontiguousarray(held)
    val = _Cut(held.reshape(-1)[nodes], ends)
    mask = np.zeros(held.shape, np.bool)
    mask.reshape(-1)[nodes] = True
    tensors = []
    for n in range(cases):
        pointers = tuple([None if cut is None else cut[n] for cut in pos])
        coordinates = tuple([None if cut is None else cut[n] for cut in crd])
        tensors.append(fs.Tensor(FiberTensor(kind, spec.shape, fill, pointers, coordinates, val[n])))
    return tensors, values, mask.transpose(np.argsort(order))


def read(tensor: FiberTensor) -> tuple[Array, Mask]:
    """(values, whether they are stored) of a tensor, over its logical axes."""
    kind = tensor.type
    extents = [tensor.shape[axis] for axis in kind.perm]
    at = np.zeros(1, np.int64)
    for extent, pos, crd in zip(extents, tensor.pos, tensor.crd, strict=True):
        if crd is None:
            at = (at[:, None] * extent + np.arange(extent)).reshape(-1)
        elif pos is None:  # a further axis of a coordinate list
            at = at * extent + crd
        else:
            at = np.repeat(at, np.diff(pos)) * extent + crd
    values = np.full(prod(extents), tensor.fill, kind.dtype.numpy)
    stored = np.zeros(len(values), np.bool)
    values[at], stored[at] = tensor.val, True
    back = np.argsort(kind.perm)
    return values.reshape(extents).transpose(back), stored.reshape(extents).transpose(back)
