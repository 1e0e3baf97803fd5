"""From what stands in square brackets to the items of a subscript and its index arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finchsched.algebra.dtypes import INT64
from finchsched.api.convert import to_fiber_tensor
from finchsched.api.deferred import is_scipy_sparse
from finchsched.api.graph import GraphNode, cast_node, tensor_node
from finchsched.api.graph_array import GraphArray
from finchsched.api.host import Shape
from finchsched.api.promotion import strong
from finchsched.api.rearrange.entries import AXIS_LIMIT, dense_of, from_array
from finchsched.api.rearrange.nonzero import true_coordinates
from finchsched.api.rearrange.subscript import At, Gather, Item, NewAxis, Span, complete, integer, takes_axis
from finchsched.errors import FinchschedError, IndexError, LazyValueError
from finchsched.formats.fiber_tensor import FiberTensor

__all__ = ["check_bounds", "parse_subscript"]


def parse_subscript(key: object, shape: Shape) -> tuple[tuple[Item, ...], tuple[GraphNode, ...]]:
    """The complete items of a subscript of an array of this shape, and the index arrays that they number.

    A mask becomes the coordinates where it holds, an index array for each of its axes.  Raises IndexError for what
    does not fit the shape or is no subscript, LazyValueError for a lazy mask: its number of elements is not known.
    """
    parser = _Parser()
    parts = key if isinstance(key, tuple) else (key,)
    items = complete([item for part in parts for item in parser.items(part)], shape)
    parser.check(items, shape)
    return items, tuple(parser.arrays)


class _Parser:
    """arrays: the index arrays.  values: those that are known, by number.  extents: of a mask's axis, by number."""

    def __init__(self) -> None:
        self.arrays: list[GraphNode] = []
        self.values: dict[int, NDArray[Any]] = {}
        self.extents: dict[int, int] = {}

    def items(self, part: object) -> Sequence[Item | None]:
        """The items for one part of the key; None stands for an Ellipsis."""
        match part:
            case None:
                return (NewAxis(),)
            case slice():
                return (Span(*[_bound(part, bound) for bound in (part.start, part.stop, part.step)]),)
            case bool() | np.bool():
                return self.mask(np.asarray(part))
        if part is Ellipsis:
            return (None,)
        if not isinstance(part, np.ndarray) and (number := integer(part)) is not None:
            return (At(number),)
        if isinstance(part, GraphArray) and part.is_lazy:
            return self.lazy(part.node)
        return self.array(part)

    def lazy(self, node: GraphNode) -> Sequence[Item]:
        dtype = strong(node.type)
        if dtype.is_bool:
            raise LazyValueError(
                "the mask of a subscript is lazy: how many elements it takes is not known before it is computed\n"
                "hint: compute the mask first, with finchsched.compute"
            )
        if not dtype.is_integer:
            raise _not_a_subscript(f"a lazy array of {dtype}")
        return (self.gather(cast_node(node, INT64)),)

    def array(self, part: object) -> Sequence[Item]:
        """A concrete array: ours, NumPy's, SciPy's or a list."""
        if isinstance(part, GraphArray) or is_scipy_sparse(part):
            tensor: FiberTensor = part.node.data if isinstance(part, GraphArray) else to_fiber_tensor(part, None, False)
            if tensor.type.dtype.is_bool and tensor.ndim:
                return self.coordinates(true_coordinates(tensor), tensor.shape)
            values = dense_of(tensor)
        else:
            values = _as_index_array(part)
        if values.dtype == np.bool:
            return self.mask(values)
        if values.dtype.kind not in "iu":
            raise _not_a_subscript(f"an array of {values.dtype}")
        if values.ndim == 0:
            return (At(int(values)),)
        if values.dtype.kind == "u" and values.size and int(values.max()) > AXIS_LIMIT:
            raise IndexError(f"index {values.max()} is out of bounds: no axis is that long")
        values = values.astype(np.int64)
        self.values[len(self.arrays)] = values
        return (self.gather(tensor_node(from_array(values, 0))),)

    def mask(self, mask: NDArray[Any]) -> Sequence[Item]:
        if mask.ndim:
            return self.coordinates(np.nonzero(mask), mask.shape)
        taken = tensor_node(from_array(np.zeros(int(mask), np.int64), 0))
        return (self.gather(taken, False),)

    def coordinates(self, at: Sequence[NDArray[Any]], shape: Shape) -> Sequence[Item]:
        """The coordinates where a mask of this shape holds."""
        items = []
        for coordinate, extent in zip(at, shape, strict=True):
            self.extents[len(self.arrays)] = extent
            items.append(self.gather(tensor_node(from_array(coordinate.astype(np.int64), 0))))
        return items

    def gather(self, node: GraphNode, takes_axis: bool = True) -> Gather:
        self.arrays.append(node)
        return Gather(len(self.arrays) - 1, takes_axis)

    def check(self, items: Sequence[Item], shape: Shape) -> None:
        """Raise IndexError for masks of another extent, and for known coordinates out of bounds."""
        axis = 0
        for item in items:
            if isinstance(item, Gather) and item.takes_axis:
                found = self.extents.get(item.argument, shape[axis])
                if found != shape[axis]:
                    raise IndexError(
                        f"a mask must have the extents of the axes that it takes: axis {axis} has {shape[axis]}, "
                        f"the mask {found} (the array's shape is {shape})"
                    )
                if item.argument in self.values:
                    check_bounds(self.values[item.argument], axis, shape[axis])
            axis += takes_axis(item)


def check_bounds(values: NDArray[Any], axis: int, extent: int) -> None:
    """Raise IndexError unless all coordinates lie in -extent .. extent - 1."""
    wrong = (values < -extent) | (values >= extent)
    if wrong.any():
        raise IndexError(f"index {values[wrong][0]} is out of bounds for axis {axis} with extent {extent}")


def _as_index_array(part: object) -> NDArray[Any]:
    if not isinstance(part, list | tuple | range) and (np.isscalar(part) or not hasattr(part, "__array__")):
        raise _not_a_subscript(f"a {type(part).__name__}")
    try:
        values = np.asarray(part)
    except (ValueError, OverflowError, FinchschedError) as error:
        raise _not_a_subscript(f"a list that makes no array ({error})") from error
    return values.astype(np.int64) if not values.size and not isinstance(part, np.ndarray) else values


def _bound(part: slice, bound: object) -> int | None:
    if bound is None:
        return None
    number = integer(bound)
    if number is None:
        raise _not_a_subscript(f"a slice with the bound {bound!r}")
    if bound is part.step and number == 0:
        raise IndexError("a slice must not have the step 0")
    return number


def _not_a_subscript(found: str) -> IndexError:
    return IndexError(
        f"expected integers, slices, ..., None, masks, or arrays of integers as a subscript; found {found}"
    )
