"""What the named functions have in common: operands as nodes of the graph, and results that are eager or lazy."""

from typing import Any

from finchsched.api.graph import GraphNode
from finchsched.api.lazy import Lazy
from finchsched.api.operators_mixin import as_node
from finchsched.api.planning import run_graph
from finchsched.api.tensor import Tensor
from finchsched.errors import DtypeError, FormatError

__all__ = ["any_lazy", "finish", "to_node"]


def to_node(value: object, name: str) -> GraphNode:
    """The node of an operand that messages call `name`.  Raises DtypeError for anything that is no array."""
    try:
        node = as_node(value)
    except (DtypeError, FormatError) as error:
        raise type(error)(f"{name}: {error}") from error
    if node is None:
        raise DtypeError(
            f"{name} is a {type(value).__name__}\nhint: pass a tensor, a NumPy array, a scipy.sparse matrix or a number"
        )
    return node


def any_lazy(operands: tuple[object, ...]) -> bool:
    """Whether some operand is lazy, which makes the result lazy."""
    return any(isinstance(operand, Lazy) for operand in operands)


def finish(node: GraphNode, *operands: object) -> Any:
    """The array of a node: lazy if some operand is; else computed, or the operand itself if the node is its."""
    if any_lazy(operands):
        return Lazy(node)
    for operand in operands:
        if isinstance(operand, Tensor) and operand.node is node:
            return operand
    return Tensor(run_graph((node,))[0])
