"""Products of arrays by name.  Each is one contraction, which visits what its sparse operands store together.

Operands are cast to their common type and keep it, as in NumPy; among bools a product is `and`, a sum `or`.
"""

from typing import Any

from finchsched.algebra.dtypes import accumulator_dtype
from finchsched.api.graph import cast_node
from finchsched.api.graph_products import (
    ContractedAxes,
    diagonal_node,
    dot_node,
    inner_node,
    matmul_node,
    outer_node,
    tensordot_node,
    vecdot_node,
)
from finchsched.api.operands import finish, to_node
from finchsched.api.operators_mixin import optional_dtype
from finchsched.api.promotion import strong

__all__ = ["diagonal", "dot", "inner", "matmul", "outer", "tensordot", "trace", "vecdot"]


def matmul(x1: Any, x2: Any, /) -> Any:
    """The matrix product of the last two axes, `x1 @ x2`; the axes before them broadcast.

    A vector on the left is a row, on the right a column, and the result lacks that axis.  Raises ShapeMismatchError
    for operands without axes, and where columns and rows or the axes before them do not fit.
    """
    return finish(matmul_node(to_node(x1, "x1"), to_node(x2, "x2")), x1, x2)


def tensordot(x1: Any, x2: Any, /, axes: ContractedAxes = 2) -> Any:
    """The sum of products along pairs of axes: the last `axes` of `x1` with the first of `x2`, or two lists of axes.

    The result has the other axes of `x1`, then those of `x2`.  Raises ShapeMismatchError for axes that do not exist,
    come twice, or have different extents.
    """
    return finish(tensordot_node(to_node(x1, "x1"), to_node(x2, "x2"), axes), x1, x2)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The sum of `conj(x1) * x2` along one axis of both; the others broadcast.

    Raises ShapeMismatchError for an axis that does not exist and for vectors of different length.
    """
    return finish(vecdot_node(to_node(x1, "x1"), to_node(x2, "x2"), axis), x1, x2)


def outer(x1: Any, x2: Any, /) -> Any:
    """Every product of an element of the one vector and one of the other: shape (m, n).

    Raises ShapeMismatchError unless both have one axis.
    """
    return finish(outer_node(to_node(x1, "x1"), to_node(x2, "x2")), x1, x2)


def inner(x1: Any, x2: Any, /) -> Any:
    """The sum of products along the last axes of both; the product, if one has no axes.

    Raises ShapeMismatchError where these axes have different extents.
    """
    return finish(inner_node(to_node(x1, "x1"), to_node(x2, "x2")), x1, x2)


def dot(x1: Any, x2: Any, /) -> Any:
    """The sum of products along the last axis of `x1` and the last but one (or only) of `x2`, as `numpy.dot`.

    The product, if one has no axes.  Raises ShapeMismatchError where these axes have different extents.
    """
    return finish(dot_node(to_node(x1, "x1"), to_node(x2, "x2")), x1, x2)


def diagonal(x: Any, /, *, axis1: int = 0, axis2: int = 1) -> Any:
    """The elements at equal coordinates of two axes, as the last axis of the result.

    Raises ShapeMismatchError for axes that do not exist or have different extents.
    """
    return finish(diagonal_node(to_node(x, "x"), axis1, axis2, False), x)


def trace(x: Any, /, *, axis1: int = 0, axis2: int = 1, dtype: object = None) -> Any:
    """The sum of a diagonal; without `dtype`, bools and narrow integers are added up in 64 bits.

    Raises ShapeMismatchError for axes that do not exist or have different extents.
    """
    node = to_node(x, "x")
    wide = optional_dtype(dtype) or accumulator_dtype(strong(node.type))
    return finish(diagonal_node(cast_node(node, wide), axis1, axis2, True), x)
