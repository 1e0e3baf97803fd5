"""Nodes of rearranging operations: arguments as NumPy's users write them are checked and made plain."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from finchsched.algebra.dtypes import Scalar
from finchsched.api.graph import GraphNode, host_node
from finchsched.api.graph_array import GraphArray
from finchsched.api.rearrange.arg_extreme import ArgExtreme
from finchsched.api.rearrange.entries import dense_of
from finchsched.api.rearrange.index import Subscript
from finchsched.api.rearrange.join import Concat, Stack
from finchsched.api.rearrange.move import Flip, Roll, RollFlat
from finchsched.api.rearrange.parse_subscript import parse_subscript
from finchsched.api.rearrange.repeat import Repeat, Tile
from finchsched.api.rearrange.reshape import Reshape
from finchsched.api.rearrange.subscript import integer
from finchsched.api.rearrange.triangle import Triangle
from finchsched.errors import DtypeError, LazyValueError, ShapeMismatchError

__all__ = [
    "arg_extreme_node",
    "concat_node",
    "flat_node",
    "flip_node",
    "index_node",
    "normal_axis",
    "repeat_node",
    "reshape_node",
    "roll_node",
    "stack_node",
    "take_node",
    "tile_node",
    "triangle_node",
]


def normal_axis(axis: object, rank: int, shape: Sequence[int]) -> int:
    """An axis counted from the front.  Raises ShapeMismatchError unless it is one of `rank` axes."""
    number = _integer(axis, "an axis")
    if not -rank <= number < rank:
        raise ShapeMismatchError(f"axis {number} does not exist: the shape is {tuple(shape)}")
    return number % rank


def _integer(value: object, what: str) -> int:
    number = integer(value)
    if number is None:
        raise DtypeError(f"{what} must be an integer; found {value!r}")
    return number


def _integers(value: object, what: str) -> tuple[int, ...]:
    """One integer or several.  Raises LazyValueError for a lazy array: shapes depend on them."""
    if isinstance(value, GraphArray):
        if value.is_lazy:
            raise LazyValueError(f"{what} is a lazy array, but decides the shape\nhint: use finchsched.compute first")
        value = dense_of(value.node.data)
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        return tuple([_integer(item, what) for item in value])
    return (_integer(value, what),)


def index_node(node: GraphNode, key: object) -> GraphNode:
    """`node[key]`."""
    items, arrays = parse_subscript(key, node.shape)
    return host_node(Subscript(items), node, *arrays)


def take_node(node: GraphNode, indices: Any, axis: object) -> GraphNode:
    """The elements of an axis at some coordinates."""
    return index_node(node, (*[slice(None)] * normal_axis(axis, len(node.shape), node.shape), indices))


def reshape_node(node: GraphNode, shape: object) -> GraphNode:
    """`node` in another shape."""
    return host_node(Reshape(_integers(shape, "an extent")), node)


def flat_node(node: GraphNode) -> GraphNode:
    """`node` with one axis."""
    return host_node(Reshape((prod(node.shape),)), node)


def concat_node(nodes: Sequence[GraphNode], axis: object, fill: Scalar | None) -> GraphNode:
    """Nodes one after the other along an axis."""
    if not nodes:
        raise ShapeMismatchError("nothing to join: expected one array or more")
    if not nodes[0].shape:
        raise ShapeMismatchError("arrays without axes cannot be joined along one\nhint: use stack, or axis=None")
    return host_node(Concat(normal_axis(axis, len(nodes[0].shape), nodes[0].shape), fill, repr(fill)), *nodes)


def stack_node(nodes: Sequence[GraphNode], axis: object, fill: Scalar | None) -> GraphNode:
    """Nodes one after the other along a new axis."""
    if not nodes:
        raise ShapeMismatchError("nothing to stack: expected one array or more")
    return host_node(Stack(normal_axis(axis, len(nodes[0].shape) + 1, nodes[0].shape), fill, repr(fill)), *nodes)


def flip_node(node: GraphNode, axis: object) -> GraphNode:
    """`node` in reverse order along some axes, all if None."""
    rank = len(node.shape)
    axes = range(rank) if axis is None else _integers(axis, "an axis")
    found = tuple([normal_axis(each, rank, node.shape) for each in axes])
    if len(set(found)) < len(found):
        raise ShapeMismatchError(f"axes {tuple(axes)} name an axis twice: the shape is {node.shape}")
    return host_node(Flip(found), node)


def roll_node(node: GraphNode, shift: object, axis: object) -> GraphNode:
    """`node` rolled along some axes; in C order if the axis is None."""
    shifts = _integers(shift, "a shift")
    if axis is None:
        return host_node(RollFlat(sum(shifts)), node)
    axes = [normal_axis(each, len(node.shape), node.shape) for each in _integers(axis, "an axis")]
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise ShapeMismatchError(f"roll takes a shift for each axis; found {len(shifts)} and {len(axes)} axes")
    if len(axes) == 1:
        return host_node(Roll(((axes[0], sum(shifts)),)), node)
    return host_node(Roll(tuple(zip(axes, shifts * len(axes) if len(shifts) == 1 else shifts, strict=True))), node)


def repeat_node(node: GraphNode, counts: object, axis: object) -> GraphNode:
    """`node` with coordinates of an axis repeated."""
    times = _integers(counts, "a count")
    if any(count < 0 for count in times):
        raise ShapeMismatchError(f"counts must not be negative; found {min(times)}")
    number = normal_axis(axis, len(node.shape), node.shape)
    return host_node(Repeat(times[0] if len(times) == 1 else times, number), node)


def tile_node(node: GraphNode, counts: object) -> GraphNode:
    """`node` so many times along its last axes, or more axes if there are more counts."""
    times = _integers(counts, "a count")
    if any(count < 0 for count in times):
        raise ShapeMismatchError(f"counts must not be negative; found {min(times)}")
    return host_node(Tile((1,) * (len(node.shape) - len(times)) + times), node)


def triangle_node(node: GraphNode, lower: bool, k: object) -> GraphNode:
    """The lower or upper triangle of matrices."""
    return host_node(Triangle(lower, _integer(k, "the number of a diagonal")), node)


def arg_extreme_node(node: GraphNode, greatest: bool, axis: object, keepdims: bool) -> GraphNode:
    """The first coordinate of the least or greatest element."""
    found = None if axis is None else normal_axis(axis, len(node.shape), node.shape)
    return host_node(ArgExtreme(greatest, found, bool(keepdims)), node)
