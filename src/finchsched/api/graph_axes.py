"""How the axes of a node of the graph correspond to those of its arguments: permutations, broadcasting, letters."""

from collections.abc import Sequence
from typing import TypeVar

from finchsched.api.graph import GraphNode

__all__ = ["aligned", "letter_extents", "read_arguments", "stretched", "strip_permutes", "through_permutes"]

T = TypeVar("T")


def strip_permutes(node: GraphNode) -> GraphNode:
    """The node under permutations."""
    while node.kind == "permute":
        node = node.args[0]
    return node


def through_permutes(node: GraphNode, index: tuple[T, ...]) -> tuple[GraphNode, tuple[T, ...]]:
    """The node under permutations, and what belongs to its axes where `index` belongs to those of `node`."""
    while node.kind == "permute":
        axes: tuple[int, ...] = node.params
        index = tuple(index[axes.index(axis)] for axis in range(len(axes)))
        node = node.args[0]
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
