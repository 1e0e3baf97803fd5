"""The operators that eager and lazy arrays share: each makes a node of the graph; an eager array then runs it."""

import math
import operator as python_operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from finchsched.algebra.dtypes import as_dtype
from finchsched.api.convert import element_dtype, to_fiber_tensor
from finchsched.api.deferred import is_scipy_sparse
from finchsched.api.einsum_numpy import parse_numpy
from finchsched.api.graph import (
    GraphNode,
    cast_node,
    einsum_node,
    map_node,
    permute_node,
    reduce_node,
    scalar_node,
    tensor_node,
)
from finchsched.api.promotion import strong, weak_type
from finchsched.errors import DtypeError, FormatError, ShapeMismatchError

__all__ = ["ArrayOperators", "as_node"]


def as_node(value: object) -> GraphNode | None:
    """The node of an operand: arrays as leaves, Python scalars weak, NumPy scalars of their type; None if unknown."""
    if isinstance(value, ArrayOperators):
        return value.node
    if isinstance(value, np.generic):
        return _numpy_scalar(value)
    if isinstance(value, bool | int | float):
        return scalar_node(value, weak_type(value))
    if isinstance(value, np.ndarray | list) or is_scipy_sparse(value):
        return tensor_node(to_fiber_tensor(value, None, False))
    return None


def _numpy_scalar(value: np.generic) -> GraphNode:
    kind = value.dtype.kind
    if kind in "iu" and -(2**63) <= int(value) < 2**63:
        return scalar_node(int(value), as_dtype("int64"))
    return scalar_node(value.item(), element_dtype(value.dtype))


class ArrayOperators:
    """An array as a node of a graph.

    Operators broadcast as in NumPy and follow its promotion; Python scalars are weak.  Beside a lazy operand the result
    is lazy.  NumPy arrays and SciPy matrices may stand on either side.
    """

    __slots__ = ("_node",)
    __array_priority__ = 1000.0
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]  # == is elementwise

    _node: GraphNode

    @property
    def node(self) -> GraphNode:
        """The node of this array."""
        return self._node

    def _finish(self, node: GraphNode) -> Any:
        """The array of a new node: lazy stays lazy, eager computes."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the axes."""
        return self._node.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._node.shape)

    @property
    def size(self) -> int:
        """Number of elements, stored or not."""
        return math.prod(self._node.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type, as NumPy's."""
        return strong(self._node.type).numpy

    def _unary(self, name: str) -> Any:
        return self._finish(map_node(name, self._node))

    def _binary(self, name: str, other: object, swapped: bool = False) -> Any:
        node = as_node(other)
        if node is None:
            return NotImplemented
        made = map_node(name, node, self._node) if swapped else map_node(name, self._node, node)
        return self._lead(other)._finish(made)

    def _lead(self, other: object) -> "ArrayOperators":
        """The operand that decides whether the result is lazy."""
        return other if isinstance(other, ArrayOperators) and other.is_lazy else self

    @property
    def is_lazy(self) -> bool:
        """Whether operators postpone their work."""
        return False

    def __add__(self, other: object) -> Any:
        return self._binary("add", other)

    def __radd__(self, other: object) -> Any:
        return self._binary("add", other, True)

    def __sub__(self, other: object) -> Any:
        return self._binary("sub", other)

    def __rsub__(self, other: object) -> Any:
        return self._binary("sub", other, True)

    def __mul__(self, other: object) -> Any:
        return self._binary("mul", other)

    def __rmul__(self, other: object) -> Any:
        return self._binary("mul", other, True)

    def __truediv__(self, other: object) -> Any:
        return self._binary("truediv", other)

    def __rtruediv__(self, other: object) -> Any:
        return self._binary("truediv", other, True)

    def __floordiv__(self, other: object) -> Any:
        return self._binary("floordiv", other)

    def __rfloordiv__(self, other: object) -> Any:
        return self._binary("floordiv", other, True)

    def __mod__(self, other: object) -> Any:
        return self._binary("mod", other)

    def __rmod__(self, other: object) -> Any:
        return self._binary("mod", other, True)

    def __pow__(self, other: object) -> Any:
        """A power; the square of numbers is a product, which integers have too."""
        if type(other) is int and other == 2 and not strong(self._node.type).is_bool:
            return self._finish(map_node("mul", self._node, self._node))
        return self._binary("pow", other)

    def __rpow__(self, other: object) -> Any:
        return self._binary("pow", other, True)

    def __and__(self, other: object) -> Any:
        return self._binary("and", other)

    def __rand__(self, other: object) -> Any:
        return self._binary("and", other, True)

    def __or__(self, other: object) -> Any:
        return self._binary("or", other)

    def __ror__(self, other: object) -> Any:
        return self._binary("or", other, True)

    def __xor__(self, other: object) -> Any:
        return self._binary("xor", other)

    def __rxor__(self, other: object) -> Any:
        return self._binary("xor", other, True)

    def __eq__(self, other: object) -> Any:
        return self._binary("eq", other)

    def __ne__(self, other: object) -> Any:
        return self._binary("ne", other)

    def __lt__(self, other: object) -> Any:
        return self._binary("lt", other)

    def __le__(self, other: object) -> Any:
        return self._binary("le", other)

    def __gt__(self, other: object) -> Any:
        return self._binary("gt", other)

    def __ge__(self, other: object) -> Any:
        return self._binary("ge", other)

    def __neg__(self) -> Any:
        return self._unary("neg")

    def __pos__(self) -> Any:
        return self._finish(self._node)

    def __abs__(self) -> Any:
        return self._unary("abs")

    def __invert__(self) -> Any:
        return self._unary("not")

    def __matmul__(self, other: object) -> Any:
        return self._product(other, False)

    def __rmatmul__(self, other: object) -> Any:
        return self._product(other, True)

    def _product(self, other: object, swapped: bool) -> Any:
        """The matrix product; bools give or of and.  Raises ShapeMismatchError naming both shapes."""
        node = as_node(other)
        if node is None:
            return NotImplemented
        a, b = (node, self._node) if swapped else (self._node, node)
        return self._lead(other)._finish(_matmul_node(a, b))

    def sum(self, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Any:
        """The sum along `axis` (all if None); bool counts as int64."""
        return self._reduce("add", axis, keepdims)

    def prod(self, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Any:
        """The product along `axis` (all if None); bool counts as int64."""
        return self._reduce("mul", axis, keepdims)

    def min(self, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Any:
        """The least element along `axis` (all if None), unstored ones count; NaN if there is one."""
        return self._reduce("min", axis, keepdims)

    def max(self, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Any:
        """The greatest element along `axis` (all if None), unstored ones count; NaN if there is one."""
        return self._reduce("max", axis, keepdims)

    def _reduce(self, name: str, axis: int | Sequence[int] | None, keepdims: bool) -> Any:
        if axis is not None:
            axis = (
                tuple(map(python_operator.index, axis)) if isinstance(axis, Sequence) else python_operator.index(axis)
            )
        return self._finish(reduce_node(name, self._node, axis, keepdims))

    def astype(self, dtype: object) -> Any:
        """The elements in another type, stored in the same places.  Raises DtypeError for a type not supported."""
        try:
            target = element_dtype(np.dtype(dtype))  # type: ignore[call-overload]  # any dtype-like object is welcome
        except TypeError as error:
            if isinstance(error, DtypeError):
                raise
            raise DtypeError(f"{dtype!r} is not an element type") from error
        return self._finish(cast_node(self._node, target))

    def transpose(self, *axes: int | Sequence[int]) -> Any:
        """The array whose axis a is this one's axis `axes[a]` (reversed if none are given).  No data moves."""
        if len(axes) == 1 and isinstance(axes[0], Sequence):
            axes = tuple(axes[0])
        order = [python_operator.index(axis) for axis in axes]  # type: ignore[arg-type]  # a nested sequence raises
        return self._permuted(order or list(reversed(range(self.ndim))))

    def permute(self, axes: Sequence[int]) -> Any:
        """The array whose axis a is this one's axis `axes[a]`.  No data moves."""
        return self._permuted(list(axes))

    def _permuted(self, axes: Sequence[int]) -> Any:
        return self._finish(permute_node(self._node, axes))

    @property
    def T(self) -> Any:
        """The transpose: axes in reverse order.  No data moves."""
        return self._permuted(tuple(reversed(range(self.ndim))))

    def __iter__(self) -> Any:
        raise FormatError(f"a {type(self).__name__} cannot be iterated over\nhint: use .to_numpy()")


def _matmul_node(a: GraphNode, b: GraphNode) -> GraphNode:
    ranks = (len(a.shape), len(b.shape))
    text = {(1, 1): "i,i->", (1, 2): "j,jk->k", (2, 1): "ij,j->i", (2, 2): "ij,jk->ik"}.get(ranks)
    if text is None:
        raise ShapeMismatchError(
            f"@ takes arrays of 1 or 2 axes; found shapes {a.shape} and {b.shape}\nhint: use einsum"
        )
    if a.shape[-1] != b.shape[0]:
        raise ShapeMismatchError(
            f"@ of shapes {a.shape} and {b.shape}: the left operand has {a.shape[-1]} columns, the right one "
            f"{b.shape[0]} rows"
        )
    return einsum_node(parse_numpy(text, ranks), (a, b))
