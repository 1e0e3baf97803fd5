"""Arrays seen with other axes: permuted, added, left out, stretched.  No data moves in a program.

A view is a choice of fields: whatever reads it, reads its argument at other indices.  A view that is itself asked for
is a copy of what is stored, each stored entry once per element of the axes that repeat it.
"""

from collections.abc import Sequence
from operator import index
from typing import Any

from finchsched.api.graph import GraphNode, NewAxis, common_shape, normal_axes, normal_axis, permute_node, view_node
from finchsched.api.graph_products import last_two_swapped
from finchsched.api.operands import finish, to_node
from finchsched.api.tensor import Tensor
from finchsched.errors import ShapeMismatchError

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "expand_dims",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "squeeze",
    "swapaxes",
    "transpose",
]

Axes = int | Sequence[int]


def permute_dims(x: Any, /, axes: Sequence[int]) -> Any:
    """The array whose axis a is `x`'s axis `axes[a]`.  Raises ShapeMismatchError unless every axis comes once."""
    return _permuted(x, to_node(x, "x"), axes)


def transpose(x: Any, /, axes: Sequence[int] | None = None) -> Any:
    """`permute_dims`, by default with the axes in reverse order."""
    node = to_node(x, "x")
    return _permuted(x, node, tuple(reversed(range(len(node.shape)))) if axes is None else axes)


def matrix_transpose(x: Any, /) -> Any:
    """The array with its last two axes swapped.  Raises ShapeMismatchError for fewer than two."""
    node = to_node(x, "x")
    return _permuted(x, node, last_two_swapped(node.shape))


def moveaxis(x: Any, source: Axes, destination: Axes, /) -> Any:
    """The array with the axes `source` moved to the places `destination`; the others keep their order.

    Raises ShapeMismatchError for axes that do not exist or come twice, and for two lists of different length.
    """
    node = to_node(x, "x")
    rank = len(node.shape)
    origin = [normal_axis(a, node.shape) for a in _listed(source)]
    goal = [normal_axis(a, node.shape) for a in _listed(destination)]
    if len(origin) != len(goal) or len(set(origin)) < len(origin) or len(set(goal)) < len(goal):
        raise ShapeMismatchError(f"moveaxis from {source} to {destination}: expected as many axes, each once")
    order = [axis for axis in range(rank) if axis not in origin]
    for place, axis in sorted(zip(goal, origin, strict=True)):
        order.insert(place, axis)
    return _permuted(x, node, order)


def swapaxes(x: Any, axis1: int, axis2: int, /) -> Any:
    """The array with two axes swapped.  Raises ShapeMismatchError for one that does not exist."""
    node = to_node(x, "x")
    a, b = normal_axis(axis1, node.shape), normal_axis(axis2, node.shape)
    order = list(range(len(node.shape)))
    order[a], order[b] = b, a
    return _permuted(x, node, order)


def expand_dims(x: Any, /, axis: Axes = 0) -> Any:
    """The array with new axes of extent 1 at these places of the result.

    Raises ShapeMismatchError for a place that the result does not have, or one given twice.
    """
    node = to_node(x, "x")
    given = _listed(axis)
    rank = len(node.shape) + len(given)
    for a in given:
        if not -rank <= a < rank:
            raise ShapeMismatchError(f"axis {a} does not exist: the result of expand_dims has {rank} axes")
    places = {a % rank for a in given}
    if len(places) < len(given):
        raise ShapeMismatchError(f"axes {tuple(given)} name an axis twice: the result of expand_dims has {rank} axes")
    old = iter(range(len(node.shape)))
    return finish(view_node(node, [NewAxis(1) if a in places else next(old) for a in range(rank)]), x)


def squeeze(x: Any, /, axis: Axes | None = None) -> Any:
    """The array without these axes (all those of extent 1 if None).

    Raises ShapeMismatchError for an axis that does not exist, or whose extent is not 1.
    """
    node = to_node(x, "x")
    if axis is None:
        dropped = tuple(a for a, extent in enumerate(node.shape) if extent == 1)
    else:
        dropped = normal_axes(_listed(axis), node.shape)
    return finish(view_node(node, [a for a in range(len(node.shape)) if a not in dropped]), x)


def broadcast_to(x: Any, /, shape: int | Sequence[int]) -> Any:
    """The array stretched to `shape`: axes of extent 1 repeat, and so do new ones in front.

    Raises ShapeMismatchError where the shape does not fit.
    """
    wanted = tuple(_listed(shape))
    return finish(_stretched(to_node(x, "x"), wanted), x)


def broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    """The arrays, all stretched to their common shape.  Raises ShapeMismatchError if there is none."""
    nodes = [to_node(x, f"array {number}") for number, x in enumerate(arrays)]
    if not nodes:
        return ()
    shape = common_shape([node.shape for node in nodes])
    return tuple(finish(_stretched(node, shape), *arrays) for node in nodes)


def broadcast_shapes(*shapes: Sequence[int] | int) -> tuple[int, ...]:
    """The shape that arrays of these shapes have in common.  Raises ShapeMismatchError if there is none."""
    return common_shape([(), *(tuple(_listed(shape)) for shape in shapes)])


def _stretched(node: GraphNode, shape: tuple[int, ...]) -> GraphNode:
    """`node` broadcast to exactly this shape."""
    new = len(shape) - len(node.shape)
    fits = new >= 0 and all(m in (1, n) for m, n in zip(node.shape, shape[max(new, 0) :], strict=True))
    if not fits or any(n < 0 for n in shape):
        raise ShapeMismatchError(f"shape {node.shape} does not broadcast to {shape}")
    axes: list[int | NewAxis] = [NewAxis(n) for n in shape[:new]]
    for axis, (m, n) in enumerate(zip(node.shape, shape[new:], strict=True)):
        axes.append(axis if m == n else NewAxis(n))
    return view_node(node, axes)


def _permuted(x: Any, node: GraphNode, axes: Sequence[int]) -> Any:
    """A tensor's levels stay where they are; only their axes get other names."""
    order = permute_node(node, [index(axis) for axis in axes])
    if isinstance(x, Tensor):
        return x.permute(axes)
    return finish(order, x)


def _listed(axes: Axes) -> list[int]:
    return [index(axis) for axis in axes] if isinstance(axes, Sequence) else [index(axes)]
