"""Where the extents of a graph come from at run time."""

from collections.abc import Sequence
from typing import TypeAlias

from finchsched.api.graph import GraphNode, NewAxis
from finchsched.api.graph_axes import stretched
from finchsched.api.logic_leaves import Leaves

__all__ = ["Origin", "extent_origins", "letter_origins"]

Origin: TypeAlias = tuple[str, int]
"""Where an extent comes from at run time: (slot, axis), or ("", n) for the constant n."""


def extent_origins(order: Sequence[GraphNode], leaves: Leaves) -> dict[int, tuple[Origin, ...]]:
    """Where each extent of each node's shape comes from, by the node's id; `order` has arguments first."""
    known: dict[int, tuple[Origin, ...]] = {}
    for node in order:
        known[id(node)] = _origin(node, known, leaves)
    return known


def _origin(node: GraphNode, known: dict[int, tuple[Origin, ...]], leaves: Leaves) -> tuple[Origin, ...]:
    """Where each extent of the node's shape comes from."""
    given = [known[id(arg)] for arg in node.args]
    match node.kind:
        case "tensor":
            return tuple((leaves.slot(node).name, axis) for axis in range(len(node.shape)))
        case "scalar":
            return ()
        case "map":
            return tuple(stretched(node, given, axis) for axis in range(len(node.shape)))
        case "reduce":
            _, axes, keepdims, _ = node.params
            pairs = list(enumerate(given[0]))
            return tuple(("", 1) if a in axes else origin for a, origin in pairs if keepdims or a not in axes)
        case "view":
            return tuple(("", a.extent) if isinstance(a, NewAxis) else given[0][a] for a in node.params)
        case "einsum":
            letters = letter_origins(node, known)
            return tuple(letters[name] for name in node.params[0].left)
        case _:
            return given[0]


def letter_origins(node: GraphNode, known: dict[int, tuple[Origin, ...]]) -> dict[str, Origin]:
    """Where the extent of each index of an einsum comes from; `known`: of its arguments, by id."""
    found: dict[str, Origin] = {}
    for access in node.params[0].reads:
        for axis, name in enumerate(access.index):
            found.setdefault(name, known[id(node.args[access.operand])][axis])
    return found
