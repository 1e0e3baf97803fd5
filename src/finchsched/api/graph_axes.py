"""How the axes of a node of the graph correspond to those of its arguments: views, broadcasting, letters."""

from collections.abc import Sequence
from typing import TypeVar

from finchsched.api.graph import GraphNode

__all__ = ["aligned", "letter_extents", "read_arguments", "stretched", "strip_views", "through_views"]

T = TypeVar("T")


def strip_views(node: GraphNode) -> GraphNode:
    """The node under views."""
    while node.kind == "view":
        node = node.args[0]
    return node


def through_views(node: GraphNode, index: tuple[T | None, ...]) -> tuple[GraphNode, tuple[T | None, ...]]:
    """The node under views, and what belongs to its axes where `index` belongs to those of `node`.

    An axis that a view leaves out has None; what belongs to a new axis is not among the axes of the node.
    """
    while node.kind == "view":
        found = {axis: item for axis, item in zip(node.params, index, strict=True) if isinstance(axis, int)}
        node = node.args[0]
        index = tuple(found.get(axis) for axis in range(len(node.shape)))
    return node, index


def read_arguments(node: GraphNode) -> list[GraphNode]:
    """The argument of each read, in the order in which a node reads them; an einsum may read one twice."""
    if node.kind == "einsum":
        return [node.args[access.operand] for access in node.params[0].reads]
    return list(node.args)


def aligned(arg: GraphNode, node: GraphNode, index: tuple[T, ...]) -> tuple[T | None, ...]:
    """What belongs to the axes of a map at those of an argument; None where the argument is stretched."""
    skip = len(node.shape) - len(arg.shape)
    pairs = zip(arg.shape, node.shape[skip:], index[skip:], strict=True)
    return tuple(f if extent == whole else None for extent, whole, f in pairs)


def stretched(node: GraphNode, given: Sequence[tuple[T, ...]], axis: int) -> T:
    """What belongs to an axis of a map: what the first argument that is not stretched there has in `given`."""
    for arg, origins in zip(node.args, given, strict=True):
        here = axis - len(node.shape) + len(arg.shape)
        if here >= 0 and arg.shape[here] == node.shape[axis]:
            return origins[here]
    raise AssertionError("an extent that no argument has")


def letter_extents(node: GraphNode) -> dict[str, int]:
    """The extent of each index of an einsum."""
    found: dict[str, int] = {}
    for access in node.params[0].reads:
        found.update(zip(access.index, node.args[access.operand].shape, strict=True))
    return found
