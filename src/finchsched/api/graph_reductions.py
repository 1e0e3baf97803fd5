"""Reductions that are made of several nodes of the graph: means, variances, counts, truth, norms.

Sums over sparse operands follow what is stored.  A variance reads its operand twice, because the formula that reads it
once loses all digits where the mean is large beside the spread.
"""

import math
from collections.abc import Sequence
from typing import TypeAlias

from finchsched.algebra.dtypes import BOOL, COMPLEX128, FLOAT64, INT64, DType
from finchsched.api.graph import (
    GraphNode,
    NewAxis,
    cast_node,
    map_node,
    normal_axes,
    normal_axis,
    number_node,
    reduce_node,
    size_node,
    topological,
    view_node,
)
from finchsched.api.promotion import strong
from finchsched.ast.format import is_sparse
from finchsched.errors import DtypeError, ShapeMismatchError

__all__ = [
    "Axis",
    "count_node",
    "matrix_norm_node",
    "mean_node",
    "sum_node",
    "truth_node",
    "var_node",
    "vector_norm_node",
]

Axis: TypeAlias = int | Sequence[int] | None
"""An axis, several, or None for all."""


def sum_node(name: str, x: GraphNode, axis: Axis, keepdims: bool, dtype: DType | None = None) -> GraphNode:
    """The `add` or `mul` reduction; with a `dtype`, of the elements cast to it, and in it."""
    if dtype is None:
        return reduce_node(name, x, axis, keepdims)
    return reduce_node(name, cast_node(x, dtype), axis, keepdims, dtype)


def truth_node(name: str, x: GraphNode, axis: Axis, keepdims: bool) -> GraphNode:
    """Whether any (`or`) or all (`and`) elements are true."""
    return reduce_node(name, cast_node(x, BOOL), axis, keepdims)


def count_node(x: GraphNode, axis: Axis, keepdims: bool) -> GraphNode:
    """How many elements are not 0, as int64."""
    return reduce_node("add", _is_nonzero(x), axis, keepdims, INT64)


def mean_node(x: GraphNode, axis: Axis, keepdims: bool) -> GraphNode:
    """The mean, added up in at least float64: in float32, a sum of ones stops at 2**24."""
    result, wide = _types_of_mean(x)
    axes = normal_axes(axis, x.shape)
    return cast_node(_mean(cast_node(x, wide), axes, keepdims), result)


def var_node(x: GraphNode, axis: Axis, keepdims: bool, correction: float) -> GraphNode:
    """The mean of |x - mean|**2 over n - `correction`, which is NaN or infinite where that is not positive."""
    result, wide = _types_of_mean(x)
    axes = normal_axes(axis, x.shape)
    x = cast_node(x, wide)
    mean = _mean(x, axes, False)
    deviation = _modulus_squared(map_node("sub", x, _stretchable(mean, axes)))
    total = _sum_of_sparse(x, deviation, mean, axes) if _reads_sparse(x) else reduce_node("add", deviation, axes, False)
    var = map_node("truediv", total, size_node(x, axes, correction))
    return cast_node(_stretchable(var, axes) if keepdims else var, result.real)


def vector_norm_node(x: GraphNode, axis: Axis, keepdims: bool, order: float) -> GraphNode:
    """(sum of |x|**order)**(1/order); order 0 counts what is not 0, inf and -inf take the extremes."""
    result, wide = _types_of_mean(x)
    real = result.real
    if order == 0:
        return cast_node(count_node(x, axis, keepdims), real)
    if order == 2:
        total = reduce_node("add", _modulus_squared(cast_node(x, wide)), axis, keepdims)
        return cast_node(map_node("sqrt", total), real)
    size = map_node("abs", cast_node(x, result))
    if order == math.inf or order == -math.inf:
        return reduce_node("max" if order > 0 else "min", size, axis, keepdims)
    size = cast_node(size, wide.real)
    if order == 1:
        return cast_node(reduce_node("add", size, axis, keepdims), real)
    total = reduce_node("add", _power(size, order), axis, keepdims)
    return cast_node(map_node("pow", total, number_node(1 / order)), real)


def matrix_norm_node(x: GraphNode, axis: tuple[int, int], keepdims: bool, order: float | str) -> GraphNode:
    """The norm of the matrices in two axes: "fro", 1 and -1 (sums of columns), inf and -inf (sums of rows).

    Raises ShapeMismatchError for axes that are not there, DtypeError for a norm that needs singular values.
    """
    rank = len(x.shape)
    row, column = (normal_axis(a, x.shape) for a in axis)
    if row == column:
        raise ShapeMismatchError(f"the axes of a matrix norm are two; found {axis} of shape {x.shape}")
    if order == "fro":
        return vector_norm_node(x, (row, column), keepdims, 2)
    if isinstance(order, str) or order not in (1, -1, math.inf, -math.inf):
        raise DtypeError(f"matrix norm of order {order!r} is not supported; supported are 'fro', 1, -1, inf and -inf")
    inner, outer = (row, column) if order in (1, -1) else (column, row)
    sums = vector_norm_node(x, inner, True, 1)
    extreme = reduce_node("max" if order > 0 else "min", sums, outer, True)
    return extreme if keepdims else view_node(extreme, [a for a in range(rank) if a not in (row, column)])


# ---------------------------------------------------------------------------------------------------- parts


def _mean(x: GraphNode, axes: tuple[int, ...], keepdims: bool) -> GraphNode:
    return map_node("truediv", reduce_node("add", x, axes, keepdims), size_node(x, axes))


def _stretchable(reduced: GraphNode, axes: tuple[int, ...]) -> GraphNode:
    """A reduction along `axes` with an axis of extent 1 for each of them."""
    kept = iter(range(len(reduced.shape)))
    rank = len(reduced.shape) + len(axes)
    return view_node(reduced, [NewAxis(1) if axis in axes else next(kept) for axis in range(rank)])


def _sum_of_sparse(x: GraphNode, deviation: GraphNode, mean: GraphNode, axes: tuple[int, ...]) -> GraphNode:
    """The sum of |x - mean|**2, over the elements that are not 0 and those that are: these all add |mean|**2.

    It holds for every operand; where the fill is 0, it visits only what is stored.
    """
    nonzero = _is_nonzero(x)
    zeros = map_node("sub", size_node(x, axes), reduce_node("add", nonzero, axes, False, INT64))
    rest = map_node("mul", zeros, _modulus_squared(mean))
    # Where there are none, |mean|**2 must not count even if it overflowed.
    rest = map_node("where", zeros, rest, number_node(0.0))
    apart = _only_nonzero(x, deviation)
    return map_node("add", reduce_node("add", apart, axes, False), rest)


def _only_nonzero(x: GraphNode, value: GraphNode) -> GraphNode:
    """`value` where `x` is not 0, else 0: a product, which is stored where `x` is; the choice alone is everywhere."""
    nonzero = _is_nonzero(x)
    return map_node("mul", nonzero, map_node("where", nonzero, value, number_node(0.0)))


def _modulus_squared(x: GraphNode) -> GraphNode:
    if not strong(x.type).is_complex:
        return map_node("square", x)
    return map_node("add", *(map_node("square", map_node(part, x)) for part in ("real", "imag")))


def _power(size: GraphNode, order: float) -> GraphNode:
    """`size ** order`; where that is 0 for 0, it is not stored where `size` is not."""
    power = map_node("pow", size, number_node(order))
    return _only_nonzero(size, power) if order > 0 else power


def _is_nonzero(x: GraphNode) -> GraphNode:
    return cast_node(x, BOOL)


def _types_of_mean(x: GraphNode) -> tuple[DType, DType]:
    """(the type of a mean, the type in which it is added up)."""
    found = strong(x.type)
    if found.is_complex:
        return found, COMPLEX128
    return (found if found.is_float else FLOAT64), FLOAT64


def _reads_sparse(x: GraphNode) -> bool:
    return any(n.kind == "tensor" and is_sparse(n.data.type) for n in topological([x]))
