"""How the operands of a program become the tensors and scalars of its plan."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from finchsched.algebra.dtypes import DType, Scalar
from finchsched.api.promotion import fit_scalar
from finchsched.formats.fiber_tensor import FiberTensor

__all__ = ["Binding", "Bound", "ValueBinding", "bind"]


class ValueBinding(NamedTuple):
    """The Value `name` is scalar number `scalar` cast to `dtype` (None: as it is).

    If `scalar` is -1, it is the fill of tensor number `tensor`.
    """

    name: str
    scalar: int
    tensor: int
    dtype: DType | None


class Binding(NamedTuple):
    """slots: the name of each tensor, by its number.  values: one per Value."""

    slots: tuple[str, ...]
    values: tuple[ValueBinding, ...]


class Bound(Protocol):
    """What has the parts of a Binding, such as a BuiltPlan."""

    @property
    def slots(self) -> tuple[str, ...]:
        """The name of each tensor, by its number."""

    @property
    def values(self) -> tuple[ValueBinding, ...]:
        """One per Value."""


def bind(
    binding: Bound, tensors: Sequence[FiberTensor], scalars: Sequence[Scalar]
) -> tuple[dict[str, FiberTensor], dict[str, Scalar]]:
    """The tensor of each slot and the scalar of each value."""
    values: dict[str, Scalar] = {}
    for value in binding.values:
        if value.scalar < 0:
            values[value.name] = tensors[value.tensor].fill
        else:
            given = scalars[value.scalar]
            values[value.name] = given if value.dtype is None else fit_scalar(given, value.dtype)
    return dict(zip(binding.slots, tensors, strict=True)), values
