"""Arrays that are computed later, whole programs at a time."""

import math
from typing import Any

from finchsched.api.format_text import parse_format
from finchsched.api.graph import GraphNode, format_node, topological
from finchsched.api.operators_mixin import ArrayOperators
from finchsched.ast.format import is_sparse
from finchsched.errors import LazyValueError

__all__ = ["Lazy", "index_widths_narrow", "reads_sparse"]

_NARROW = 1 << 31


class Lazy(ArrayOperators):
    """An array of a program that has not run.  `compute` runs it; a lazy array used twice is computed once."""

    __slots__ = ()

    def __init__(self, node: GraphNode) -> None:
        self._node = node

    @property
    def is_lazy(self) -> bool:
        """Always true."""
        return True

    def _finish(self, node: GraphNode) -> "Lazy":
        return Lazy(node)

    def asformat(self, text: str) -> "Lazy":
        """The array stored as the format `text` says (csr, csc, dense, dcsr, dcsc, csf, coo, or a nest of levels).

        Of an array that reads no sparse operand, entries equal to the fill are dropped; else every stored entry stays.
        """
        levels, perm = parse_format(text, self.ndim, narrow=index_widths_narrow(self._node))
        return Lazy(format_node(self._node, levels, perm, not reads_sparse(self._node)))

    def __repr__(self) -> str:
        return f"Lazy(shape={self.shape}, dtype={self.dtype})"

    def __bool__(self) -> bool:
        raise _not_computed("has no truth value")

    def __int__(self) -> int:
        raise _not_computed("has no value for int()")

    def __index__(self) -> int:
        raise _not_computed("has no value to count or index with")

    def __float__(self) -> float:
        raise _not_computed("has no value for float()")

    def __complex__(self) -> complex:
        raise _not_computed("has no value for complex()")

    def item(self) -> Any:
        """Raises LazyValueError: an element has no value before `compute`."""
        raise _not_computed("has no value for item()")

    def to_numpy(self, *, copy: bool = False) -> Any:
        """Raises LazyValueError: there is nothing to convert before `compute`."""
        raise _not_computed("cannot become a NumPy array")

    def to_scipy(self, format: str | None = None, *, copy: bool = False) -> Any:
        """Raises LazyValueError: there is nothing to convert before `compute`."""
        raise _not_computed("cannot become a SciPy matrix")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise _not_computed("cannot become a NumPy array")

    def __reduce__(self) -> Any:
        return _from_rows, (_rows(self._node),)


def _rows(root: GraphNode) -> tuple[tuple[Any, ...], ...]:
    """The graph as a flat table, arguments first, so that a deep one pickles."""
    numbers: dict[int, int] = {}
    rows: list[tuple[Any, ...]] = []
    for node in topological([root]):
        numbers[id(node)] = len(rows)
        rows.append(
            (node.kind, node.params, tuple(numbers[id(a)] for a in node.args), node.shape, node.type, node.data)
        )
    return tuple(rows)


def _from_rows(rows: tuple[tuple[Any, ...], ...]) -> Lazy:
    made: list[GraphNode] = []
    for kind, params, args, shape, type_, data in rows:
        made.append(GraphNode(kind, params, tuple(made[number] for number in args), shape, type_, data))
    return Lazy(made[-1])


def _not_computed(what: str) -> LazyValueError:
    return LazyValueError(f"a lazy array {what}: it has not been computed\nhint: use finchsched.compute")


def reads_sparse(node: GraphNode) -> bool:
    """Whether some leaf below does not store every coordinate."""
    return any(n.kind == "tensor" and is_sparse(n.data.type) for n in topological([node]))


def index_widths_narrow(node: GraphNode) -> bool:
    """Whether int32 surely holds every coordinate and count of stored entries of a node that is stored sparsely.

    True if the array has fewer than 2**31 elements, or rearranges or scales one operand that has fewer entries stored.
    """
    if any(extent >= _NARROW for extent in node.shape):
        return False
    if math.prod(node.shape) < _NARROW:
        return True
    below = topological([node])
    leaves = [n for n in below if n.kind == "tensor"]
    if any(n.kind == "host" for n in below):  # which may repeat entries
        return False
    if len(leaves) != 1 or sorted(leaves[0].shape) != sorted(node.shape) or not is_sparse(leaves[0].data.type):
        return False
    return len(leaves[0].data.val) < _NARROW
