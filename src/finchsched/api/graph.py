"""The graph behind lazy arrays: light nodes that know shape and type, and hold no IR.

Every constructor checks its arguments, so a graph that exists can be planned.  Kinds of nodes and their `params`:

    tensor    (static type, classes of the extents)     a leaf; `data` is the FiberTensor
    scalar    (weak or firm type, classes)              a leaf; `data` is a Python scalar
    map       operator name                             pointwise, broadcasting as NumPy does
    reduce    (operator name, axes, keepdims, type)     along axes
    permute   axes                                      result axis a is argument axis axes[a]
    einsum    (EinsumProgram, type to cast to or None)
    format    (levels, perm, drop_fill)                 stored in this way
"""

from collections.abc import Iterable, Sequence
from typing import Any

from finchsched.algebra.dtypes import DType, Scalar, accumulator_dtype
from finchsched.algebra.operators import cast_operator, operator
from finchsched.api.einsum_program import EinsumProgram, check_operands, infer_type
from finchsched.api.promotion import ElementType, Weak, kinds_of, promote, strong
from finchsched.ast.format import Level
from finchsched.ast.scalar import Literal, Value
from finchsched.errors import DtypeError, ShapeMismatchError
from finchsched.formats.fiber_tensor import FiberTensor, fill_node

__all__ = [
    "GraphNode",
    "cast_node",
    "einsum_node",
    "format_node",
    "huge_axes",
    "map_node",
    "permute_node",
    "reduce_node",
    "scalar_node",
    "substitute",
    "tensor_node",
    "topological",
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


def map_node(name: str, *args: GraphNode) -> GraphNode:
    """The operator called `name` on arguments that broadcast.

    Raises ShapeMismatchError where they do not, DtypeError where NumPy has no such operation.
    """
    op = operator(name)
    result = promote(op, tuple([arg.type for arg in args]))[2]
    first = args[0].shape
    shape = first if len(args) == 1 else broadcast(args)
    return GraphNode("map", name, args, shape, result)


def broadcast(args: Sequence[GraphNode]) -> tuple[int, ...]:
    """The common shape, aligned at the last axis; an extent of 1 stretches."""
    shape = args[0].shape
    for arg in args[1:]:
        if arg.shape != shape:
            shape = _broadcast_two(shape, arg.shape)
    return shape


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


def reduce_node(name: str, arg: GraphNode, axes: Sequence[int] | int | None, keepdims: bool) -> GraphNode:
    """Reduce along `axes` (all if None).  `add` and `mul` widen bool to int64.

    Raises ShapeMismatchError for an axis that does not exist or comes twice, and for `min` and `max` over no element.
    """
    which = _normal_axes(axes, arg.shape)
    dtype = strong(arg.type)
    if name in ("add", "mul"):
        dtype = accumulator_dtype(dtype)
    elif any(arg.shape[axis] == 0 for axis in which):
        raise ShapeMismatchError(f"{name} of no elements has no value: shape {arg.shape} is reduced along axes {which}")
    kept = [1 if axis in which else extent for axis, extent in enumerate(arg.shape) if keepdims or axis not in which]
    return GraphNode("reduce", (name, which, keepdims, dtype), (arg,), tuple(kept), dtype)


def _normal_axes(axes: Sequence[int] | int | None, shape: tuple[int, ...]) -> tuple[int, ...]:
    rank = len(shape)
    if axes is None:
        return tuple(range(rank))
    given = (axes,) if isinstance(axes, int) else tuple(axes)
    for axis in given:
        if not -rank <= axis < rank:
            raise ShapeMismatchError(f"axis {axis} does not exist: the shape is {shape}")
    which = sorted(axis % rank for axis in given)
    if len(set(which)) != len(which):
        raise ShapeMismatchError(f"axes {given} name an axis twice: the shape is {shape}")
    return tuple(which)


def permute_node(arg: GraphNode, axes: Sequence[int]) -> GraphNode:
    """The array whose axis a is `arg`'s axis `axes[a]`; free.  Raises ShapeMismatchError unless all axes come once."""
    rank = len(arg.shape)
    order = tuple(axis + rank if axis < 0 else axis for axis in axes)
    if sorted(order) != list(range(rank)):
        raise ShapeMismatchError(f"axes must be a permutation of 0 .. {rank - 1}; found {tuple(axes)}")
    return GraphNode("permute", order, (arg,), tuple(arg.shape[axis] for axis in order), arg.type)


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


def topological(roots: Iterable[GraphNode]) -> list[GraphNode]:
    """Every node once, arguments first, left to right, without recursion."""
    found: list[GraphNode] = []
    seen: set[int] = set()
    stack = list(roots)
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
        same = all(a is b for a, b in zip(args, node.args, strict=True))
        new[id(node)] = node if same else _with_args(node, args)
    return tuple(new[id(root)] for root in roots)


def _with_args(node: GraphNode, args: tuple[GraphNode, ...]) -> GraphNode:
    match node.kind:
        case "map":
            return map_node(node.params, *args)
        case "reduce":
            return reduce_node(node.params[0], args[0], node.params[1], node.params[2])
        case "permute":
            return permute_node(args[0], node.params)
        case "einsum":
            return einsum_node(node.params[0], args, node.params[1])
        case _:
            return format_node(args[0], *node.params)
