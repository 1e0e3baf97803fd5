"""The operators that eager and lazy arrays share: each makes a node of the graph; an eager array then runs it."""

import importlib
import math
import operator as python_operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from finchsched.algebra.dtypes import DType
from finchsched.api.convert import element_dtype, given_dtype, to_fiber_tensor
from finchsched.api.deferred import is_scipy_sparse
from finchsched.api.graph import (
    GraphNode,
    cast_node,
    map_node,
    number_node,
    permute_node,
    reduce_node,
    scalar_node,
    tensor_node,
)
from finchsched.api.graph_products import last_two_swapped, matmul_node
from finchsched.api.graph_reductions import Axis, mean_node, sum_node, truth_node, var_node
from finchsched.api.promotion import strong
from finchsched.api.rearrange.methods import Rearranging
from finchsched.errors import DtypeError

__all__ = ["ArrayOperators", "as_node", "optional_dtype"]


def as_node(value: object) -> GraphNode | None:
    """The node of an operand: arrays as leaves, Python scalars weak, NumPy scalars of their type; None if unknown."""
    if isinstance(value, ArrayOperators):
        return value.node
    if isinstance(value, np.generic):
        return scalar_node(value.item(), element_dtype(value.dtype))
    if isinstance(value, bool | int | float | complex):
        return number_node(value)
    if isinstance(value, np.ndarray | list) or is_scipy_sparse(value):
        return tensor_node(to_fiber_tensor(value, None, False))
    return None


def _protocol() -> Any:
    """`numpy_protocol`, which needs all named functions, and they need this module."""
    return importlib.import_module("finchsched.api.numpy_protocol")


class ArrayOperators(Rearranging):
    """An array as a node of a graph.

    Operators broadcast as in NumPy and follow its promotion; Python scalars are weak.  Beside a lazy operand the result
    is lazy.  NumPy arrays and SciPy matrices may stand on either side.
    """

    __slots__ = ()
    __array_priority__ = 1000.0
    __hash__ = None  # type: ignore[assignment]  # == is elementwise

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

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return _protocol().array_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return _protocol().array_function(function, args, options)

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
        """A power; a square is a product."""
        if type(other) is int and other == 2:
            return (
                self._unary("square")
                if self.dtype == np.bool
                else self._finish(map_node("mul", self._node, self._node))
            )
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

    def __lshift__(self, other: object) -> Any:
        return self._binary("left_shift", other)

    def __rlshift__(self, other: object) -> Any:
        return self._binary("left_shift", other, True)

    def __rshift__(self, other: object) -> Any:
        return self._binary("right_shift", other)

    def __rrshift__(self, other: object) -> Any:
        return self._binary("right_shift", other, True)

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

    def __divmod__(self, other: object) -> Any:
        quotient = self._binary("floordiv", other)
        return quotient if quotient is NotImplemented else (quotient, self._binary("mod", other))

    def __rdivmod__(self, other: object) -> Any:
        quotient = self._binary("floordiv", other, True)
        return quotient if quotient is NotImplemented else (quotient, self._binary("mod", other, True))

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
        """The matrix product, as `matmul`."""
        node = as_node(other)
        if node is None:
            return NotImplemented
        a, b = (node, self._node) if swapped else (self._node, node)
        return self._lead(other)._finish(matmul_node(a, b))

    def sum(self, axis: Axis = None, dtype: object = None, *, keepdims: bool = False) -> Any:
        """The sum along `axis` (all if None), of nothing 0; without `dtype`, bools and integers in 64 bits."""
        return self._finish(sum_node("add", self._node, axis, keepdims, optional_dtype(dtype)))

    def prod(self, axis: Axis = None, dtype: object = None, *, keepdims: bool = False) -> Any:
        """The product along `axis` (all if None), of nothing 1; without `dtype`, bools and integers in 64 bits."""
        return self._finish(sum_node("mul", self._node, axis, keepdims, optional_dtype(dtype)))

    def min(self, axis: Axis = None, *, keepdims: bool = False) -> Any:
        """The least element along `axis` (all if None), unstored ones count; NaN if there is one."""
        return self._finish(reduce_node("min", self._node, axis, keepdims))

    def max(self, axis: Axis = None, *, keepdims: bool = False) -> Any:
        """The greatest element along `axis` (all if None), unstored ones count; NaN if there is one."""
        return self._finish(reduce_node("max", self._node, axis, keepdims))

    def any(self, axis: Axis = None, *, keepdims: bool = False) -> Any:
        """Whether some element along `axis` (all if None) is true: not 0."""
        return self._finish(truth_node("or", self._node, axis, keepdims))

    def all(self, axis: Axis = None, *, keepdims: bool = False) -> Any:
        """Whether all elements along `axis` (all if None) are true: not 0."""
        return self._finish(truth_node("and", self._node, axis, keepdims))

    def mean(self, axis: Axis = None, *, keepdims: bool = False) -> Any:
        """The mean along `axis` (all if None), of nothing NaN; of integers and bools as float64."""
        return self._finish(mean_node(self._node, axis, keepdims))

    def var(
        self, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False, correction: float | None = None
    ) -> Any:
        """The variance along `axis` (all if None), over their number less `ddof`, also called `correction`."""
        return self._finish(var_node(self._node, axis, keepdims, ddof if correction is None else correction))

    def std(
        self, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False, correction: float | None = None
    ) -> Any:
        """The standard deviation along `axis` (all if None): the square root of `var`."""
        var = var_node(self._node, axis, keepdims, ddof if correction is None else correction)
        return self._finish(map_node("sqrt", var))

    def astype(self, dtype: object) -> Any:
        """The elements in another type, stored in the same places.  Raises DtypeError for a type not supported."""
        target = optional_dtype(dtype)
        if target is None:
            raise DtypeError("astype needs an element type, found None")
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

    @property
    def mT(self) -> Any:
        """The array with its last two axes swapped.  No data moves.  Raises ShapeMismatchError for fewer than two."""
        return self._permuted(last_two_swapped(self.shape))


def optional_dtype(dtype: object) -> DType | None:
    """An element type that may be left out."""
    return None if dtype is None else given_dtype(dtype)
