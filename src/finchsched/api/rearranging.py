"""Rearranging operations as functions, with NumPy's names and meaning.

They take whatever `asarray` takes.  A lazy argument makes the result lazy.  Results are copies, stored in the kind of
format that the first sparse argument has; nothing is stored that was not, unless it says so.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from finchsched.algebra.dtypes import Scalar
from finchsched.api.deferred import DeferredModule, deferred
from finchsched.api.functions import asarray
from finchsched.api.graph import GraphNode
from finchsched.api.operators_mixin import ArrayOperators
from finchsched.api.rearrange.methods import pieces
from finchsched.api.tensor import Tensor
from finchsched.errors import DensifyError, DtypeError, LazyValueError, ShapeMismatchError
from finchsched.settings import current

__all__ = [
    "argmax",
    "argmin",
    "argwhere",
    "concat",
    "flatten",
    "flip",
    "nonzero",
    "ravel",
    "repeat",
    "reshape",
    "roll",
    "stack",
    "take",
    "tile",
    "tril",
    "triu",
    "unstack",
]

nodes = DeferredModule("finchsched.api.rearrange.nodes")
find_argwhere = deferred("finchsched.api.rearrange.nonzero.argwhere")


def _array(x: object) -> ArrayOperators:
    return x if isinstance(x, ArrayOperators) else asarray(x)


def _finished(arrays: Sequence[ArrayOperators], node: GraphNode) -> Any:
    """The node's array; lazy if one of the arrays is."""
    return next((array for array in arrays if array.is_lazy), arrays[0])._finish(node)


def _fill(fill_value: Any) -> Scalar | None:
    if isinstance(fill_value, np.generic):
        fill_value = fill_value.item()
    if not isinstance(fill_value, bool | int | float | complex | None):
        raise DtypeError(f"fill_value must be a number; found {fill_value!r}")
    return fill_value


def reshape(x: object, shape: int | Sequence[int]) -> Any:
    """The elements in C order in another shape; see Tensor.reshape."""
    return _array(x).reshape(shape)


def flatten(x: object) -> Any:
    """The elements in C order, with one axis."""
    return _array(x).flatten()


def ravel(x: object) -> Any:
    """The elements in C order, with one axis."""
    return _array(x).flatten()


def take(x: object, indices: Any, /, axis: int | None = None) -> Any:
    """The elements at coordinates of an axis, or of the flattened array; negative ones count from the end.

    Raises IndexError for a coordinate out of bounds.  O(stored · log), and the entries of the result.
    """
    return _array(x).take(indices, axis)


def concat(arrays: Sequence[Any], /, axis: int | None = 0, *, fill_value: Scalar | None = None) -> Any:
    """The arrays one after the other along an axis; flattened if it is None.  Element types promote.

    The result has the fill of the first sparse array, or `fill_value`; all elements of an array with another fill are
    stored, and DensifyError is raised if they are more than the limit of the settings.  Raises ShapeMismatchError
    unless the arrays agree in all other axes.
    """
    given = [_array(x) if axis is not None else _array(x).flatten() for x in arrays]
    node = nodes.concat_node([array.node for array in given], axis or 0, _fill(fill_value))
    return _finished(given, node)


def stack(arrays: Sequence[Any], /, axis: int = 0, *, fill_value: Scalar | None = None) -> Any:
    """The arrays, all of one shape, one after the other along a new axis.  Fills and types as with `concat`."""
    given = [_array(x) for x in arrays]
    return _finished(given, nodes.stack_node([array.node for array in given], axis, _fill(fill_value)))


def unstack(x: object, /, axis: int = 0) -> tuple[Any, ...]:
    """The pieces of an array along an axis.

    Raises DensifyError if there are more of them than the limit of the settings.
    """
    array = _array(x)
    if not array.ndim:
        raise ShapeMismatchError("an array without axes has no pieces")
    number = nodes.normal_axis(axis, array.ndim, array.shape)
    if array.shape[number] > current().densify:
        raise DensifyError(
            f"axis {axis} has {array.shape[number]} pieces, more than the limit {current().densify}\n"
            "hint: take those that are needed by index"
        )
    return tuple(pieces(array, number))


def flip(x: object, /, axis: int | Sequence[int] | None = None) -> Any:
    """The elements in reverse order along some axes; all if None."""
    array = _array(x)
    return array._finish(nodes.flip_node(array.node, axis))


def roll(x: object, shift: int | Sequence[int], /, axis: int | Sequence[int] | None = None) -> Any:
    """The elements moved along some axes, those that leave coming back; in C order if None."""
    array = _array(x)
    return array._finish(nodes.roll_node(array.node, shift, axis))


def repeat(x: object, repeats: Any, /, axis: int | None = None) -> Any:
    """Every coordinate of an axis (of the flattened array) so many times in a row; one count, or one for each.

    Raises LazyValueError for lazy counts.
    """
    return _array(x).repeat(repeats, axis)


def tile(x: object, repetitions: int | Sequence[int], /) -> Any:
    """The array so many times along each axis, the last ones if there are fewer counts than axes."""
    array = _array(x)
    return array._finish(nodes.tile_node(array.node, repetitions))


def tril(x: object, /, k: int = 0) -> Any:
    """The matrices of the last two axes with zeros above diagonal number k; dense if the fill is not 0."""
    array = _array(x)
    return array._finish(nodes.triangle_node(array.node, True, k))


def triu(x: object, /, k: int = 0) -> Any:
    """The matrices of the last two axes with zeros below diagonal number k; dense if the fill is not 0."""
    array = _array(x)
    return array._finish(nodes.triangle_node(array.node, False, k))


def argmin(x: object, /, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """The first coordinate of the least element; see Tensor.argmin."""
    return _array(x).argmin(axis, keepdims=keepdims)


def argmax(x: object, /, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """The first coordinate of the greatest element; see Tensor.argmax."""
    return _array(x).argmax(axis, keepdims=keepdims)


def nonzero(x: object, /) -> tuple[Tensor, ...]:
    """The coordinates of the elements that are not zero, a tensor for each axis; see Tensor.nonzero.

    Raises LazyValueError for a lazy array, whose number of such elements is not known.
    """
    return _known(x, "nonzero").nonzero()


def argwhere(x: object, /) -> Tensor:
    """The coordinates of the elements that are not zero, in C order, as the rows of a dense matrix; see nonzero."""
    return Tensor(find_argwhere(_known(x, "argwhere").data))


def _known(x: object, name: str) -> Tensor:
    array = _array(x)
    if not isinstance(array, Tensor):
        raise LazyValueError(
            f"{name} of a lazy array: the shape of the result is not known before it is computed\n"
            "hint: compute it first, with finchsched.compute"
        )
    return array
