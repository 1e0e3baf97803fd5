"""Rules that the validators of Logic IR and Loop IR share: names, literals, operands, tensor types.

Each check raises ValidationError; `where` says in which query or nest, in the user's names.
"""

from collections.abc import Callable, Sequence

from finchsched.algebra.dtypes import INT64, DType, has_in_range, scalar_text
from finchsched.algebra.operators import Operator, result_type
from finchsched.ast.format import TensorType
from finchsched.ast.node import Node
from finchsched.ast.scalar import VALUE_KINDS, Call, Literal, Size, Value, constant_coordinate
from finchsched.ast.syntax import is_identifier
from finchsched.errors import DtypeError, ValidationError

__all__ = [
    "check_constant_coordinate",
    "check_leaf",
    "check_name",
    "check_operands",
    "check_reduction",
    "check_scalar",
    "check_type",
    "check_values",
]


def check_name(name: str, where: str) -> None:
    """A name is an identifier, so that it can be printed and read back."""
    if not is_identifier(name):
        raise ValidationError(f"{where}: {name!r} is not an identifier")


def check_leaf(node: Node, where: str) -> DType:
    """The type of a Literal, Value or Size, which must be well formed."""
    match node:
        case Literal(value, dtype):
            if type(value) is not dtype.python:
                raise ValidationError(
                    f"{where}: the literal {scalar_text(value)} of type {dtype} holds a {type(value).__name__}"
                )
            if dtype.is_integer and not has_in_range(dtype, value):
                raise ValidationError(f"{where}: the literal {value!r} does not fit {dtype}")
            return dtype
        case Value(name, dtype, kind):
            check_name(name, where)
            if kind not in VALUE_KINDS:
                raise ValidationError(f"{where}: kind {kind!r} of value {name} is none of {', '.join(VALUE_KINDS)}")
            return dtype
        case Size(index):
            check_name(index, where)
            return INT64
        case _:
            raise ValidationError(f"{where}: {type(node).__name__} stands where a scalar is wanted")


def check_constant_coordinate(literal: Literal, where: str) -> None:
    """A constant among the indices of an access is an int64, zero or more."""
    if check_leaf(literal, where) != INT64 or constant_coordinate(literal) < 0:
        raise ValidationError(f"{where}: the coordinate {literal.value!r}: {literal.dtype} is not an int64 >= 0")


def check_operands(op: Operator, dtypes: Sequence[DType], where: str) -> DType:
    """The type of `op` applied to arguments of these types, which must be as many as it takes and already promoted."""
    if len(dtypes) != op.arity:
        raise ValidationError(f"{where}: {op.name} takes {op.arity} arguments, found {len(dtypes)}")
    try:
        wanted, result = result_type(op, *dtypes)
    except DtypeError as error:
        raise ValidationError(f"{where}: {error}") from error
    if tuple(dtypes) != wanted:
        raise ValidationError(
            f"{where}: {op.name} has arguments of types {_listed(dtypes)}, expected {_listed(wanted)}\n"
            f"hint: cast with to_{wanted[-1].name}"
        )
    return result


def _listed(dtypes: Sequence[DType]) -> str:
    return ", ".join(dtype.name for dtype in dtypes)


def check_reduction(op: Operator, target: DType, value: DType, where: str) -> None:
    """`op` folds values into a target of the same type."""
    if not op.associative:
        raise ValidationError(f"{where}: {op.name} is not associative, so it cannot reduce")
    if target != value:
        raise ValidationError(
            f"{where}: {op.name} folds {value} into {target}\nhint: cast the value with to_{target.name}"
        )
    if check_operands(op, (target, value), where) != target:
        raise ValidationError(f"{where}: {op.name} of {target} is not {target}, so it cannot reduce")


def check_scalar(root: Node, where: str, leaf: Callable[[Node, str], DType] = check_leaf) -> DType:
    """The type of a scalar expression, whose Calls must fit their operators; `leaf` gives the types of the rest."""
    types: dict[int, DType] = {}
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in types:
            continue
        if not isinstance(node, Call):
            types[id(node)] = leaf(node, where)
        elif ready:
            types[id(node)] = check_operands(node.op, [types[id(arg)] for arg in node.args], where)
        else:
            stack.append((node, True))
            stack.extend((arg, False) for arg in reversed(node.args))
    return types[id(root)]


def check_type(tensor_type: TensorType, where: str) -> None:
    """The axes are a permutation, and the fill is a scalar of the element type."""
    rank = len(tensor_type.levels)
    if sorted(tensor_type.perm) != list(range(rank)):
        raise ValidationError(f"{where}: perm {tensor_type.perm} does not permute {rank} axes")
    found = check_scalar(tensor_type.fill, where)
    if found != tensor_type.dtype:
        raise ValidationError(f"{where}: the fill has type {found}, the elements {tensor_type.dtype}")


def check_values(nodes: Sequence[Node]) -> None:
    """A value has one type and one kind throughout a program."""
    values: dict[str, Value] = {}
    for node in nodes:
        if isinstance(node, Value) and values.setdefault(node.name, node) != node:
            raise ValidationError(f"value {node.name} has two types or kinds\nhint: give the two values two names")
