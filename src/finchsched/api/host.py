"""Host operations: steps of a program that NumPy does on whole tensors, beside the compiled ones.

A host operation rearranges what its arguments store.  It is described by a small frozen dataclass, which is the node's
`params` in the graph and its part of a plan key: shape and element type follow from those of the arguments, and `run`
computes it.  A description holds no data; arrays that an operation needs, as indices, are further arguments.

`run` works on coordinates and values alone, so an operation may later be compiled instead: the graph stays the same.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeAlias

from finchsched.algebra.dtypes import DType
from finchsched.formats.fiber_tensor import FiberTensor

__all__ = ["HostOperation", "Shape"]

Shape: TypeAlias = tuple[int, ...]


class HostOperation(ABC):
    """What a host node does.  Implementations are frozen dataclasses: equal ones do the same."""

    __slots__ = ()

    @abstractmethod
    def shape(self, shapes: Sequence[Shape]) -> Shape:
        """The shape of the result.  Raises an error in the user's terms if the arguments do not fit."""

    def dtype(self, types: Sequence[DType]) -> DType:
        """The element type of the result; that of the first argument unless an operation says otherwise."""
        return types[0]

    @abstractmethod
    def run(self, *tensors: FiberTensor) -> FiberTensor:
        """The result.  The arguments are not changed; the same ones in the same order give the same bytes."""

    @abstractmethod
    def describe(self, names: Sequence[str]) -> str:
        """The operation in words, on arguments that are called so."""
