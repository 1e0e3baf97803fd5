"""The reductions by name.  Unstored elements count, with the value of the fill.

`axis` is an axis, several, or None for all; negative ones count from the end.  With `keepdims` the reduced axes stay,
with extent 1.  A reduction along all axes is a tensor without axes.  Sums over sparse operands visit what is stored.
All raise ShapeMismatchError for an axis that does not exist or comes twice.
"""

from collections.abc import Sequence
from typing import Any

from finchsched.api.graph import GraphNode, map_node, reduce_node
from finchsched.api.graph_reductions import (
    Axis,
    count_node,
    matrix_norm_node,
    mean_node,
    sum_node,
    truth_node,
    var_node,
    vector_norm_node,
)
from finchsched.api.operands import finish, to_node
from finchsched.api.operators_mixin import optional_dtype
from finchsched.errors import ShapeMismatchError

__all__ = [
    "all",
    "any",
    "count_nonzero",
    "matrix_norm",
    "max",
    "mean",
    "min",
    "norm",
    "prod",
    "std",
    "sum",
    "var",
    "vector_norm",
]


def sum(x: Any, /, axis: Axis = None, *, dtype: object = None, keepdims: bool = False) -> Any:
    """The sum, of nothing 0.  Without `dtype` bools and narrow integers are added up in 64 bits."""
    return finish(sum_node("add", to_node(x, "x"), axis, keepdims, optional_dtype(dtype)), x)


def prod(x: Any, /, axis: Axis = None, *, dtype: object = None, keepdims: bool = False) -> Any:
    """The product, of nothing 1.  Without `dtype` bools and narrow integers are multiplied in 64 bits."""
    return finish(sum_node("mul", to_node(x, "x"), axis, keepdims, optional_dtype(dtype)), x)


def min(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """The least element; NaN if there is one.  Raises ShapeMismatchError for the least of nothing."""
    return finish(reduce_node("min", to_node(x, "x"), axis, keepdims), x)


def max(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """The greatest element; NaN if there is one.  Raises ShapeMismatchError for the greatest of nothing."""
    return finish(reduce_node("max", to_node(x, "x"), axis, keepdims), x)


def any(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """Whether some element is true (not 0; NaN is true); of nothing False."""
    return finish(truth_node("or", to_node(x, "x"), axis, keepdims), x)


def all(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """Whether all elements are true (not 0; NaN is true); of nothing True."""
    return finish(truth_node("and", to_node(x, "x"), axis, keepdims), x)


def count_nonzero(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """How many elements are not 0, as int64; stored zeros do not count."""
    return finish(count_node(to_node(x, "x"), axis, keepdims), x)


def mean(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """The arithmetic mean, of nothing NaN: in the type of `x` if that is floating, else float64.  Added in float64."""
    return finish(mean_node(to_node(x, "x"), axis, keepdims), x)


def var(x: Any, /, axis: Axis = None, *, correction: float = 0, keepdims: bool = False) -> Any:
    """The variance: the sum of the squared distances from the mean, over the number of elements less `correction`.

    In two passes over what is stored, with no loss of digits where the mean is large.
    """
    return finish(var_node(to_node(x, "x"), axis, keepdims, correction), x)


def std(x: Any, /, axis: Axis = None, *, correction: float = 0, keepdims: bool = False) -> Any:
    """The standard deviation: the square root of `var`."""
    return finish(map_node("sqrt", var_node(to_node(x, "x"), axis, keepdims, correction)), x)


def vector_norm(x: Any, /, axis: Axis = None, *, keepdims: bool = False, ord: float = 2) -> Any:
    """The norm of the vectors along `axis`: (sum of |x|**ord)**(1/ord); of order 0, how many elements are not 0.

    Order inf is the greatest absolute value, -inf the least; both raise ShapeMismatchError for vectors of nothing.
    """
    return finish(vector_norm_node(to_node(x, "x"), axis, keepdims, ord), x)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: float | str = "fro") -> Any:
    """The norm of the matrices in the last two axes.

    "fro" is the root of the sum of squares, 1 and -1 the greatest and least sum of absolute values in a column, inf and
    -inf in a row.  Raises DtypeError for other norms, ShapeMismatchError for fewer than two axes.
    """
    node = to_node(x, "x")
    _check_rank(node, 2)
    return finish(matrix_norm_node(node, (-2, -1), keepdims, ord), x)


def norm(x: Any, ord: float | str | None = None, axis: Axis = None, keepdims: bool = False) -> Any:
    """As `numpy.linalg.norm`: a vector norm along one axis, a matrix norm in two; without `ord`, of all elements.

    Raises ShapeMismatchError where `ord` is given for an array of more than two axes without `axis`.
    """
    node = to_node(x, "x")
    axes = tuple(range(len(node.shape))) if axis is None else tuple(axis) if isinstance(axis, Sequence) else (axis,)
    if ord is None and (axis is None or len(axes) == 2):
        return finish(vector_norm_node(node, axes, keepdims, 2), x)
    if len(axes) == 1:
        order = 2 if ord is None else ord
        if isinstance(order, str):
            raise ShapeMismatchError(f"the norm {order!r} is one of matrices; found one axis of shape {node.shape}")
        return finish(vector_norm_node(node, axes, keepdims, order), x)
    if len(axes) != 2 or ord is None:
        raise ShapeMismatchError(f"a norm takes one axis or two; found {len(axes)} of shape {node.shape}")
    return finish(matrix_norm_node(node, (axes[0], axes[1]), keepdims, ord), x)


def _check_rank(node: GraphNode, rank: int) -> None:
    if len(node.shape) < rank:
        raise ShapeMismatchError(f"a matrix norm needs at least {rank} axes; the shape is {node.shape}")
