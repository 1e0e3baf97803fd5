"""Joining arrays along an axis: concat and stack."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from finchsched.algebra.dtypes import DType, Scalar, result_dtype
from finchsched.algebra.operators import same_scalar
from finchsched.api.host import HostOperation, Shape
from finchsched.api.rearrange.entries import (
    Coordinates,
    as_array,
    check_extents,
    dense_of,
    every_coordinate,
    from_array,
    is_dense,
)
from finchsched.api.rearrange.fibers import join_outer
from finchsched.api.rearrange.layout import Layout, fresh_layout, same_layout
from finchsched.ast.format import TensorType
from finchsched.errors import ShapeMismatchError
from finchsched.formats.coordinates import coordinates_of
from finchsched.formats.fiber_tensor import Buffer, FiberTensor, cast_fill
from finchsched.formats.levels import Dense

__all__ = ["Concat", "Stack"]


@dataclass(frozen=True, slots=True)
class Concat(HostOperation):
    """The arguments one after the other along an axis, not negative.

    The result has the first sparse argument's kind of format and its fill, or the fill asked for (`fill`, with its
    `repr` so that 0.0 and -0.0 are two).  Elements of an argument with another fill are all stored.

    O(stored · log) for sparse arguments; DensifyError if an argument would have to store more elements than the limit.
    """

    axis: int
    fill: Scalar | None = None
    fill_text: str = ""

    def shape(self, shapes: Sequence[Shape]) -> Shape:
        first, axis = shapes[0], self.axis
        for number, shape in enumerate(shapes):
            if len(shape) != len(first) or (shape[:axis], shape[axis + 1 :]) != (first[:axis], first[axis + 1 :]):
                raise ShapeMismatchError(
                    f"arrays joined along axis {axis} agree in all other axes; array 0 has the shape {first}, "
                    f"array {number} {shape}"
                )
        joined = (*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :])
        check_extents(joined)
        return joined

    def dtype(self, types: Sequence[DType]) -> DType:
        return result_dtype(*types)

    def run(self, *tensors: FiberTensor) -> FiberTensor:
        dtype = self.dtype([tensor.type.dtype for tensor in tensors])
        leading = next((tensor for tensor in tensors if not is_dense(tensor)), tensors[0])
        fill = cast_fill(leading.fill if self.fill is None else self.fill, dtype)
        if is_dense(leading):
            whole = np.concatenate([as_array(tensor) for tensor in tensors], axis=self.axis, dtype=dtype.numpy)
            return from_array(whole, fill)
        shape = self.shape([tensor.shape for tensor in tensors])
        whole_fibers = leading.type.perm[0] == self.axis and all(_agree(tensor, fill, dtype) for tensor in tensors)
        if whole_fibers and (joined := join_outer(tensors, shape)) is not None:
            return joined
        pieces, offset = [], 0
        for tensor in tensors:
            at, val = _stored(tensor, fill, dtype)
            pieces.append(((*at[: self.axis], at[self.axis] + offset, *at[self.axis + 1 :]), val))
            offset += tensor.shape[self.axis]
        at = tuple(np.concatenate([piece[0][axis] for piece in pieces]) for axis in range(len(shape)))
        val = np.concatenate([piece[1] for piece in pieces])
        return _layout(leading.type, shape, len(val)).tensor(at, val, shape, fill, operand=leading)

    def describe(self, names: Sequence[str]) -> str:
        return f"{', '.join(names)} joined along axis {self.axis}"


@dataclass(frozen=True, slots=True)
class Stack(HostOperation):
    """The arguments, all of one shape, one after the other along a new axis.  Otherwise as Concat."""

    axis: int
    fill: Scalar | None = None
    fill_text: str = ""

    def shape(self, shapes: Sequence[Shape]) -> Shape:
        first = shapes[0]
        for number, shape in enumerate(shapes):
            if shape != first:
                raise ShapeMismatchError(
                    f"arrays that are stacked have one shape; array 0 has {first}, array {number} {shape}"
                )
        return (*first[: self.axis], len(shapes), *first[self.axis :])

    def dtype(self, types: Sequence[DType]) -> DType:
        return result_dtype(*types)

    def run(self, *tensors: FiberTensor) -> FiberTensor:
        return Concat(self.axis, self.fill, self.fill_text).run(*[_with_axis(tensor, self.axis) for tensor in tensors])

    def describe(self, names: Sequence[str]) -> str:
        return f"{', '.join(names)} stacked along a new axis {self.axis}"


def _agree(tensor: FiberTensor, fill: Scalar, dtype: DType) -> bool:
    """Whether a tensor has this fill and element type already."""
    return tensor.type.dtype == dtype and same_scalar(tensor.fill, fill)


def _with_axis(tensor: FiberTensor, axis: int) -> FiberTensor:
    """The tensor with a new axis of extent 1."""
    shape = (*tensor.shape[:axis], 1, *tensor.shape[axis:])
    if is_dense(tensor):
        return from_array(as_array(tensor).reshape(shape), tensor.fill)
    at = coordinates_of(tensor)
    sources = (*range(axis), None, *range(axis, tensor.ndim))
    layout = same_layout(tensor.type, sources)
    at = (*at[:axis], np.zeros(tensor.stored, np.int64), *at[axis:])
    return layout.tensor(at, tensor.val, shape, tensor.fill, operand=tensor)


def _stored(tensor: FiberTensor, fill: Scalar, dtype: DType) -> tuple[Coordinates, Buffer]:
    """The entries of a tensor, all of its elements if its own fill is another than `fill`."""
    if is_dense(tensor) or same_scalar(cast_fill(tensor.fill, dtype), fill):
        return coordinates_of(tensor), tensor.val.astype(dtype.numpy)
    at = every_coordinate(tensor.shape, f"an array with the fill {tensor.fill!r} is joined to one with {fill!r}")
    return at, dense_of(tensor).reshape(-1).astype(dtype.numpy)


def _layout(found: TensorType, shape: Shape, stored: int) -> Layout:
    """As the operand's where Dense levels stand outside only and are not too long, with nothing dense inside a sparse
    level: what is stored densely in one argument need not be in the next.
    """
    layout = same_layout(found, range(len(shape)))
    dense = [kind is Dense for kind in layout.kinds]
    rows = 1
    for is_outer, axis in zip(dense, layout.axes, strict=True):
        rows *= shape[axis] if is_outer else 1
    orderly = sorted(dense, reverse=True) == dense and not all(dense)
    return layout if orderly and rows <= max(1 << 16, 4 * stored) else fresh_layout(found, shape, stored)
