"""Triangles of matrices: tril and triu."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from finchsched.api.host import HostOperation, Shape
from finchsched.api.rearrange.entries import dense_of, from_array, is_dense
from finchsched.api.rearrange.layout import same_layout
from finchsched.errors import ShapeMismatchError
from finchsched.formats.coordinates import coordinates_of
from finchsched.formats.fiber_tensor import FiberTensor

__all__ = ["Triangle"]


@dataclass(frozen=True, slots=True)
class Triangle(HostOperation):
    """The matrices of the last two axes with zeros above (`lower`) or below diagonal number `k`.

    O(stored · log) for a sparse operand with the fill 0.  With another fill the zeros are stored, so the result is
    dense; DensifyError if it would be larger than the limit of the settings.
    """

    lower: bool
    k: int

    def shape(self, shapes: Sequence[Shape]) -> Shape:
        if len(shapes[0]) < 2:
            raise ShapeMismatchError(f"a triangle is of a matrix: expected 2 axes or more, found shape {shapes[0]}")
        return shapes[0]

    def run(self, *tensors: FiberTensor) -> FiberTensor:
        tensor = tensors[0]
        rows, columns = tensor.shape[-2:]
        k = min(max(self.k, -rows - 1), columns + 1)
        if is_dense(tensor) or tensor.fill != 0:
            return from_array((np.tril if self.lower else np.triu)(dense_of(tensor), k), tensor.fill)
        at = coordinates_of(tensor)
        beside = at[-1] - at[-2]
        kept = np.flatnonzero(beside <= k if self.lower else beside >= k)
        layout = same_layout(tensor.type, range(tensor.ndim)).sparse_inside()
        return layout.tensor([c[kept] for c in at], tensor.val[kept], tensor.shape, tensor.fill, operand=tensor)

    def describe(self, names: Sequence[str]) -> str:
        return f"the {'lower' if self.lower else 'upper'} triangle of {names[0]} (diagonal {self.k})"
