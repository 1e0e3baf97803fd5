"""The least that an array of a graph is: what eager and lazy arrays have in common with nothing of their operators."""

from typing import Any

from finchsched.api.graph import GraphNode

__all__ = ["GraphArray"]


class GraphArray:
    """An array as a node of a graph."""

    __slots__ = ("_node",)

    _node: GraphNode

    @property
    def node(self) -> GraphNode:
        """The node of this array."""
        return self._node

    def _finish(self, node: GraphNode) -> Any:
        """The array of a new node: lazy stays lazy, eager computes."""
        raise NotImplementedError

    @property
    def is_lazy(self) -> bool:
        """Whether operators postpone their work."""
        return False
