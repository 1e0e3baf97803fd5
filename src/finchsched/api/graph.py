"""The graph behind lazy arrays: light nodes that know shape and type, and hold no IR.

Every constructor checks its arguments, so a graph that exists can be planned.  Kinds of nodes and their `params`:

    tensor    (static type, classes of the extents)     a leaf; `data` is the FiberTensor
    scalar    (weak or firm type, classes)              a leaf; `data` is a Python scalar
    scalar    (type, classes, axes, less)               the number of its argument's elements along axes, less `less`
    map       operator name                             pointwise, broadcasting as NumPy does
    reduce    (operator name, axes, keepdims, type)     along axes; type: asked for, or None
    view      an axis or a NewAxis per result axis      axes in another order, left out (extent 1) or new
    einsum    (EinsumProgram, type to cast to or None)
    format    (levels, perm, drop_fill)                 stored in this way
    host      HostOperation                             done by NumPy between compiled segments
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

from finchsched.algebra.dtypes import DType, Scalar, accumulator_dtype
from finchsched.algebra.operators import cast_operator, operator
from finchsched.api.einsum_program import EinsumProgram, check_operands, infer_type
from finchsched.api.host import HostOperation
from finchsched.api.promotion import ElementType, Weak, check_scalars, kinds_of, promote, strong, weak_type
from finchsched.ast.format import Level
from finchsched.ast.scalar import Literal, Value
from finchsched.errors import DtypeError, ShapeMismatchError
from finchsched.formats.fiber_tensor import FiberTensor, fill_node

__all__ = [
    "GraphNode",
    "NewAxis",
    "cast_node",
    "common_shape",
    "einsum_node",
    "format_node",
    "host_node",
    "huge_axes",
    "is_permutation",
    "map_node",
    "normal_axes",
    "normal_axis",
    "number_node",
    "permute_node",
    "reduce_node",
    "scalar_node",
    "size_node",
    "substitute",
    "tensor_node",
    "topological",
    "view_node",
    "with_arguments",
]

_WIDE = 1 << 31
_HUGE = 1 << 20
_PER_ENTRY = 16


class GraphNode:
    """One operation, or a leaf.  shape: extents, one per axis; type: element type (weak only for Python scalars)."""

    __slots__ = ("args", "data", "kind", "params", "shape", "type")

    def __init__(
        self,
        kind: str,
        params: Any,
        args: "tuple[GraphNode, ...]",
        shape: tuple[int, ...],
        type_: ElementType,
        data: Any = None,
    ) -> None:
        self.kind = kind
        self.params = params
        self.args = args
        self.shape = shape
        self.type = type_
        self.data = data


def tensor_node(tensor: FiberTensor) -> GraphNode:
    """A leaf.  Its type's fill becomes a Literal or the Value "fill", so that equal formats have equal types."""
    fill = tensor.type.fill
    if not isinstance(fill, Literal) and not (isinstance(fill, Value) and fill.name == "fill"):
        named = tensor.type.replace(fill=fill_node(tensor.fill, tensor.type.dtype))
        tensor = FiberTensor(named, tensor.shape, tensor.fill, tensor.pos, tensor.crd, tensor.val)
    stored = tensor.stored
    classes = "".join([_extent_class(extent, stored) for extent in tensor.shape])
    return GraphNode("tensor", (tensor.type, classes), (), tensor.shape, tensor.type.dtype, tensor)


def _extent_class(extent: int, stored: int) -> str:
    """0 and 1 by themselves, n for more, w for 2**31 and more; h for an extent that is huge."""
    if extent < _HUGE:
        return str(extent) if extent < 2 else "n"
    return "w" if extent >= _WIDE else "h" if extent > _PER_ENTRY * stored else "n"


def huge_axes(node: GraphNode) -> tuple[int, ...]:
    """The axes of a leaf that are so long, for what it stores, that nothing should be dense along them."""
    return tuple(axis for axis, found in enumerate(node.params[1]) if found in "hw")


def scalar_node(value: Scalar, kind: ElementType) -> GraphNode:
    """A leaf: a scalar that is given when the program runs."""
    return GraphNode("scalar", (kind, *kinds_of(value)), (), (), kind, value)


def number_node(value: Scalar) -> GraphNode:
    """A leaf: a Python number, whose type gives way to that of what it meets."""
    return scalar_node(value, weak_type(value))


def size_node(arg: GraphNode, axes: tuple[int, ...], less: float = 0) -> GraphNode:
    """How many elements `arg` has along `axes`, less `less`, at least 0.  A scalar, so that plans share a kernel.

    It hangs on `arg`, so that it is right for the operands that a plan is run with later.
    """
    count = max(math.prod(arg.shape[axis] for axis in axes) - less, 0)
    kind = weak_type(count)
    return GraphNode("scalar", (kind, *kinds_of(count), axes, less), (arg,), (), kind, count)


def map_node(name: str, *args: GraphNode) -> GraphNode:
    """The operator called `name` on arguments that broadcast.

    Raises ShapeMismatchError where they do not, DtypeError where NumPy has no such operation, for a Python scalar that
    does not fit the tensors' type, and for integers to a negative power.
    """
    op = operator(name)
    types = tuple([arg.type for arg in args])
    result = promote(op, types)[2]
    if any([arg.kind == "scalar" for arg in args]):
        check_scalars(op, types, tuple([arg.data if arg.kind == "scalar" else None for arg in args]))
    first = args[0].shape
    shape = first if len(args) == 1 else common_shape([arg.shape for arg in args])
    return GraphNode("map", name, args, shape, result)


def common_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The common shape, aligned at the last axis; an extent of 1 stretches.  Raises ShapeMismatchError."""
    found = shapes[0]
    for shape in shapes[1:]:
        if shape != found:
            found = _broadcast_two(found, shape)
    return found


def _broadcast_two(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    rank = max(len(a), len(b))
    out = []
    for axis, (m, n) in enumerate(zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)):
        if m != n and 1 not in (m, n):
            raise ShapeMismatchError(
                f"shapes {a} and {b} do not broadcast: axis {axis - rank} has extents {m} and {n}, "
                "expected equal ones or a 1"
            )
        out.append(n if m == 1 else m)
    return tuple(out)


def cast_node(arg: GraphNode, dtype: DType) -> GraphNode:
    """`arg` in another element type; `arg` itself if it has that one."""
    return arg if arg.type == dtype else map_node(cast_operator(dtype).name, arg)


def reduce_node(
    name: str, arg: GraphNode, axes: Sequence[int] | int | None, keepdims: bool, dtype: DType | None = None
) -> GraphNode:
    """Reduce along `axes` (all if None), in `dtype`; without one, `add` and `mul` widen as `np.sum` does.

    Raises ShapeMismatchError for an axis that does not exist or comes twice, and for `min` and `max` over no element,
    and DtypeError for a type that the operator does not have (`min` and `max` of complex numbers).
    """
    which = normal_axes(axes, arg.shape)
    found = dtype or strong(arg.type)
    promote(operator(name), (found, found))
    if name in ("min", "max") and any(arg.shape[axis] == 0 for axis in which):
        raise ShapeMismatchError(f"{name} of no elements has no value: shape {arg.shape} is reduced along axes {which}")
    result = dtype or (accumulator_dtype(found) if name in ("add", "mul") else found)
    kept = [1 if axis in which else extent for axis, extent in enumerate(arg.shape) if keepdims or axis not in which]
    return GraphNode("reduce", (name, which, keepdims, dtype), (arg,), tuple(kept), result)


def normal_axes(axes: Sequence[int] | int | None, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Axes from 0 on, sorted; all of them for None.  Raises ShapeMismatchError for one that is not there or twice."""
    rank = len(shape)
    if axes is None:
        return tuple(range(rank))
    given = tuple(map(index, axes)) if isinstance(axes, Sequence) else (index(axes),)
    for axis in given:
        if not -rank <= axis < rank:
            raise ShapeMismatchError(f"axis {axis} does not exist: the shape is {shape}")
    which = sorted(axis % rank for axis in given)
    if len(set(which)) != len(which):
        raise ShapeMismatchError(f"axes {given} name an axis twice: the shape is {shape}")
    return tuple(which)


def normal_axis(axis: int, shape: tuple[int, ...]) -> int:
    """An axis from 0 on.  Raises ShapeMismatchError for one that is not there."""
    return normal_axes(index(axis), shape)[0]


@dataclass(frozen=True, slots=True)
class NewAxis:
    """An axis of a view along which its argument is repeated."""

    extent: int


def view_node(arg: GraphNode, axes: Sequence[int | NewAxis]) -> GraphNode:
    """The array whose axis a is `arg`'s axis `axes[a]`, or a new one; free, and fused into whatever reads it.

    Raises ShapeMismatchError for an axis that comes twice, and for one that is left out and has not the extent 1.
    """
    kept = [axis for axis in axes if not isinstance(axis, NewAxis)]
    if len(set(kept)) != len(kept) or not all(0 <= axis < len(arg.shape) for axis in kept):
        raise ShapeMismatchError(f"axes {tuple(kept)} are no choice of the axes of shape {arg.shape}")
    for axis, extent in enumerate(arg.shape):
        if axis not in kept and extent != 1:
            raise ShapeMismatchError(f"axis {axis} of shape {arg.shape} has extent {extent}, only 1 can be left out")
    if kept == list(range(len(arg.shape))) == list(axes):
        return arg
    shape = tuple(axis.extent if isinstance(axis, NewAxis) else arg.shape[axis] for axis in axes)
    return GraphNode("view", tuple(axes), (arg,), shape, strong(arg.type))


def permute_node(arg: GraphNode, axes: Sequence[int]) -> GraphNode:
    """The array whose axis a is `arg`'s axis `axes[a]`; free.  Raises ShapeMismatchError unless all axes come once."""
    rank = len(arg.shape)
    order = tuple(axis + rank if axis < 0 else axis for axis in axes)
    if sorted(order) != list(range(rank)):
        raise ShapeMismatchError(f"axes must be a permutation of 0 .. {rank - 1}; found {tuple(axes)}")
    return view_node(arg, order)


def is_permutation(node: GraphNode) -> bool:
    """Whether a node is its argument with its axes in another order."""
    return (
        node.kind == "view"
        and len(node.params) == len(node.args[0].shape)
        and not any(isinstance(axis, NewAxis) for axis in node.params)
    )


def einsum_node(program: EinsumProgram, args: tuple[GraphNode, ...], dtype: DType | None = None) -> GraphNode:
    """An einsum over operands in the order of `program.operands`.

    `dtype`: what the operands of a NumPy-style einsum are cast to.  Raises ShapeMismatchError and IndexNameError naming
    operand, index and extents.
    """
    shape = check_operands(program, [None if arg.kind == "scalar" else arg.shape for arg in args])
    result = strong(infer_type(program, tuple([arg.type for arg in args]), dtype))
    return GraphNode("einsum", (program, dtype), args, shape, result)


def format_node(arg: GraphNode, levels: tuple[Level, ...], perm: tuple[int, ...], drop_fill: bool) -> GraphNode:
    """`arg`, stored in these levels.  Raises DtypeError for a bare scalar."""
    if isinstance(arg.type, Weak):
        raise DtypeError("a scalar has no storage format")
    return GraphNode("format", (levels, perm, drop_fill), (arg,), arg.shape, arg.type)


def host_node(operation: HostOperation, *args: GraphNode) -> GraphNode:
    """A host operation.  Raises what its `shape` and `dtype` raise."""
    shape = operation.shape([arg.shape for arg in args])
    return GraphNode("host", operation, args, shape, operation.dtype([strong(arg.type) for arg in args]))


def topological(roots: Iterable[GraphNode]) -> list[GraphNode]:
    """Every node once, arguments first, left to right, without recursion."""
    stack = list(roots)
    if len(stack) == 1 and not any([arg.args for arg in stack[0].args]):  # one operation on leaves, as all eager ones
        return [*{id(arg): arg for arg in stack[0].args}.values(), stack[0]]
    found: list[GraphNode] = []
    seen: set[int] = set()
    stack.reverse()
    while stack:
        node = stack[-1]
        if id(node) in seen:
            stack.pop()
            continue
        waiting = [arg for arg in reversed(node.args) if id(arg) not in seen]
        if waiting:
            stack.extend(waiting)
        else:
            stack.pop()
            seen.add(id(node))
            found.append(node)
    return found


def substitute(roots: Sequence[GraphNode], leaves: dict[int, GraphNode]) -> tuple[GraphNode, ...]:
    """The graphs with other tensors at some leaves (by `id` of the leaf's FiberTensor), every check made again."""
    new: dict[int, GraphNode] = {}
    for node in topological(roots):
        if not node.args:
            new[id(node)] = leaves.get(id(node.data), node)
            continue
        args = tuple(new[id(arg)] for arg in node.args)
        new[id(node)] = with_arguments(node, args)
    return tuple(new[id(root)] for root in roots)


def with_arguments(node: GraphNode, args: tuple[GraphNode, ...]) -> GraphNode:
    """The node with other arguments, every check made again; itself if they are the same."""
    if all(a is b for a, b in zip(args, node.args, strict=True)):
        return node
    match node.kind:
        case "map":
            return map_node(node.params, *args)
        case "reduce":
            name, axes, keepdims, dtype = node.params
            return reduce_node(name, args[0], axes, keepdims, dtype)
        case "view":
            return view_node(args[0], node.params)
        case "scalar":
            return size_node(args[0], *node.params[-2:])
        case "einsum":
            return einsum_node(node.params[0], args, node.params[1])
        case "host":
            return host_node(node.params, *args)
        case _:
            return format_node(args[0], *node.params)
