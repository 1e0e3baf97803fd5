"""The rearranging methods that eager and lazy arrays have."""

from collections.abc import Iterator, Sequence
from typing import Any

from finchsched.api.deferred import DeferredModule
from finchsched.api.graph import GraphNode, tensor_node
from finchsched.api.graph_array import GraphArray
from finchsched.api.rearrange.entries import is_dense
from finchsched.api.rearrange.layout import Layout
from finchsched.formats.coordinates import coordinates_of
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.levels import SparseCOO, SparseList

__all__ = ["Rearranging", "pieces"]

nodes = DeferredModule("finchsched.api.rearrange.nodes")


class Rearranging(GraphArray):
    """Subscripts, reshaping and what else moves elements, with NumPy's meaning.  Results are copies."""

    __slots__ = ()

    def __getitem__(self, key: object) -> Any:
        """`x[...]` as in NumPy: integers, slices, `...`, None, masks and arrays of integers.

        A sparse array stays sparse; all of its entries are looked at, but of integers and slices on the outermost
        storage axis only those inside.  Raises IndexError, LazyValueError for a lazy mask.
        """
        return self._beside(key)._finish(nodes.index_node(self._node, key))

    def _beside(self, key: object) -> GraphArray:
        """A lazy index array if there is one, which makes the result lazy, else this array."""
        parts = key if isinstance(key, tuple) else (key,)
        return next((part for part in parts if isinstance(part, GraphArray) and part.is_lazy), self)

    def __len__(self) -> int:
        if not self._node.shape:
            raise TypeError("an array without axes has no length")
        return self._node.shape[0]

    def __iter__(self) -> Iterator[Any]:
        """The pieces along the first axis."""
        if not self._node.shape:
            raise TypeError("an array without axes cannot be iterated over")
        return pieces(self, 0)

    def reshape(self, *shape: int | Sequence[int]) -> Any:
        """The elements in C order in another shape; one extent may be -1.

        O(stored), and sorting unless stored in C order.  Raises ShapeMismatchError if the sizes differ or an axis would
        have 2**63 coordinates or more.
        """
        return self._finish(nodes.reshape_node(self._node, shape[0] if len(shape) == 1 else shape))

    def flatten(self) -> Any:
        """The elements in C order, with one axis."""
        return self._finish(nodes.flat_node(self._node))

    def ravel(self) -> Any:
        """The elements in C order, with one axis."""
        return self.flatten()

    def take(self, indices: Any, axis: int | None = None) -> Any:
        """The elements at coordinates of an axis, or of the flattened array; negative ones count from the end."""
        source = self if axis is not None else self.flatten()
        return source._beside(indices)._finish(nodes.take_node(source._node, indices, 0 if axis is None else axis))

    def repeat(self, repeats: Any, axis: int | None = None) -> Any:
        """Every coordinate of an axis (of the flattened array) so many times in a row."""
        source = self if axis is not None else self.flatten()
        return source._finish(nodes.repeat_node(source._node, repeats, 0 if axis is None else axis))

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> Any:
        """The first coordinate of the least element along an axis, in the flattened array if None; NaN is least.

        Elements that are not stored count.  O(stored · log).
        """
        return self._finish(nodes.arg_extreme_node(self._node, False, axis, keepdims))

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Any:
        """The first coordinate of the greatest element along an axis, in the flattened array if None; NaN is greatest.

        Elements that are not stored count.  O(stored · log).
        """
        return self._finish(nodes.arg_extreme_node(self._node, True, axis, keepdims))


def pieces(array: GraphArray, axis: int) -> Iterator[Any]:
    """The pieces of an array along an axis, not negative, one after the other.

    O(log) each, and the entries of the piece; a sparse tensor is sorted by the axis first if it is not.
    """
    node = array.node
    if node.kind == "tensor" and not is_dense(node.data):
        node = _outermost(node, axis)
    for coordinate in range(node.shape[axis]):
        yield array._finish(nodes.index_node(node, (*[slice(None)] * axis, coordinate)))


def _outermost(node: GraphNode, axis: int) -> GraphNode:
    """The tensor with `axis` stored outermost, and so that its pieces are found by it."""
    tensor: FiberTensor = node.data
    if tensor.type.perm[0] == axis and not isinstance(tensor.type.levels[0], SparseCOO):
        return node
    axes = (axis, *[other for other in tensor.type.perm if other != axis])
    layout = Layout((SparseList,) * tensor.ndim, axes)
    return tensor_node(layout.tensor(coordinates_of(tensor), tensor.val, tensor.shape, tensor.fill, operand=tensor))
