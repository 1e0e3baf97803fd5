"""Derived facts about Logic expressions, as free functions memoised per node: fields, element type, fill.

A fill is a scalar expression (Literal, Value, Call, Size) that is folded as far as the classes of its values allow.
"""

from finchsched.algebra.dtypes import INT64, DType, Scalar, cast_scalar, is_finite
from finchsched.algebra.operators import (
    Operator,
    absorbs,
    apply,
    cast_operator,
    cast_target,
    fold,
    identity,
    operator,
    result_type,
    same_scalar,
)
from finchsched.ast.logic import (
    Aggregate,
    Coordinate,
    Field,
    LogicExpr,
    MapJoin,
    Reformat,
    Relabel,
    Reorder,
    Subquery,
    Table,
)
from finchsched.ast.node import Node, derive, distinct
from finchsched.ast.scalar import Call, Literal, Size, Value, coordinate_name, coordinate_value
from finchsched.errors import DtypeError

__all__ = ["dtype", "fields", "fill", "fold_call", "fold_repeat", "is_identity", "one_fill", "scalar_dtype"]


def fields(expr: LogicExpr) -> tuple[Field, ...]:
    """The fields of an expression, in order."""
    found: tuple[Field, ...] = derive(expr, "fields", _fields, through=LogicExpr)
    return found


def _fields(expr: Node) -> tuple[Field, ...]:
    match expr:
        case Literal() | Value():
            return ()
        case Coordinate(field):
            return (field,)
        case Table(_, index):
            return tuple(dict.fromkeys(i for i in index if isinstance(i, Field)))
        case MapJoin(_, args):
            return tuple(dict.fromkeys(f for arg in args for f in fields(arg)))
        case Aggregate(_, _, arg, over):
            return tuple(f for f in fields(arg) if f not in over)
        case Reorder(_, order) | Relabel(_, order):
            return order
        case Reformat(_, arg, _) | Subquery(_, arg):
            return fields(arg)
        case _:
            raise TypeError(f"{type(expr).__name__} is not a Logic expression")


def dtype(expr: LogicExpr) -> DType:
    """The element type of an expression."""
    found: DType = derive(expr, "dtype", _dtype, through=LogicExpr)
    return found


def _dtype(expr: Node) -> DType:
    match expr:
        case Literal(_, found) | Value(_, found, _):
            return found
        case Coordinate():
            return INT64
        case Table(tensor, _):
            return tensor.type.dtype
        case MapJoin(op, args):
            return result_type(op, *(dtype(arg) for arg in args))[1]
        case Aggregate(_, init, _, _):
            return init.dtype
        case Reorder(arg, _) | Relabel(arg, _) | Reformat(_, arg, _) | Subquery(_, arg):
            return dtype(arg)
        case _:
            raise TypeError(f"{type(expr).__name__} is not a Logic expression")


def fill(expr: LogicExpr) -> Node:
    """The fill of an expression: op of the fills for a map, the n-fold reduction of the fill for an aggregate.

    A coordinate has no fill of its own; in a fill it counts as a finite Value.
    """
    found: Node = derive(expr, "fill", _fill, through=LogicExpr)
    return found


def _fill(expr: Node) -> Node:
    match expr:
        case Literal() | Value():
            return expr
        case Coordinate(field):
            return coordinate_value(field.name)
        case Table(tensor, _):
            return tensor.type.fill
        case MapJoin(op, args):
            return fold_call(op, tuple(fill(arg) for arg in args))
        case Aggregate(op, init, arg, over):
            return fold_repeat(op, init, fill(arg), tuple(f.name for f in over))
        case Reorder(arg, _) | Relabel(arg, _) | Reformat(_, arg, _) | Subquery(_, arg):
            return fill(arg)
        case _:
            raise TypeError(f"{type(expr).__name__} is not a Logic expression")


def one_fill(found: Node, element: DType) -> Node:
    """A fill of type `element` that is one scalar: `found`, or 0 where that differs from coordinate to coordinate.

    Any fill is right there (`A[i] + i`), since every entry that differs from the fill is stored.
    """
    if any(coordinate_name(node) for node in distinct(found)):
        return Literal(cast_scalar(0, element), element)
    return found


def scalar_dtype(expr: Node) -> DType:
    """The type of a scalar expression."""
    match expr:
        case Literal(_, found) | Value(_, found, _):
            return found
        case Size():
            return INT64
        case Call(op, args):
            return result_type(op, *(scalar_dtype(arg) for arg in args))[1]
        case _:
            raise TypeError(f"{type(expr).__name__} is not a scalar expression")


def fold_call(op: Operator, args: tuple[Node, ...]) -> Node:
    """`op(args)` on scalar expressions, folded where the arguments or their classes decide the result."""
    if op.arity == 2 and len(args) > 2:
        return fold_call(op, (fold_call(op, args[:-1]), args[-1]))
    if all(isinstance(arg, Literal) for arg in args):
        literals = [arg for arg in args if isinstance(arg, Literal)]
        taken, out = result_type(op, *(arg.dtype for arg in literals))
        if cast_target(op) is not None and out.is_integer and not is_finite(literals[0].value):
            raise DtypeError(
                f"{out} cannot hold the fill {literals[0].value!r}\nhint: give the array another fill first"
            )
        value = apply(op, *(t.numpy.type(cast_scalar(a.value, t)) for a, t in zip(literals, taken, strict=True)))
        return Literal(cast_scalar(out.numpy.type(value).item(), out), out)
    if op.name == "where" and (args[1] == args[2] or isinstance(args[0], Literal)):
        return args[2] if isinstance(args[0], Literal) and not args[0].value else args[1]
    if op.arity == 2:
        decided = _fold_by_class(op, *args)
        if decided is not None:
            return decided
    return Call(op, args)


def _kind(expr: Node) -> str:
    """What is known of a scalar expression's value: a class of VALUE_KINDS, or "" for nothing."""
    match expr:
        case Value(_, _, kind):
            return "" if kind == "any" else kind
        case Literal(value, _):
            if value != value:
                return "nan"
            if not is_finite(value):
                return "inf"
            return "zero" if value == 0 else "finite"
        case Size():
            return "number"
        case Call(op, args):
            return _kind_of_call(op, _kind(args[0]), scalar_dtype(args[0]), scalar_dtype(expr))
        case _:
            return ""


def _kind_of_call(op: Operator, kind: str, source: DType, out: DType) -> str:
    """What is known of a call, given what is known of its first argument."""
    if out.is_bool or (out.is_integer and cast_target(op) is not None):
        return "number"  # a fraction may have been cut off, or high bits
    if op.name in ("neg", "abs") and not source.is_complex:
        return "finite" if kind == "one" else kind
    if cast_target(op) is not None and out.real.itemsize >= source.real.itemsize:
        return kind if out.is_complex or not source.is_complex else ""
    return ""


def _fold_by_class(op: Operator, a: Node, b: Node) -> Node | None:
    """What the classes of two scalar expressions decide about `op` of them."""
    out = result_type(op, scalar_dtype(a), scalar_dtype(b))[1]
    arithmetic = ("add", "sub", "mul", "truediv", "minplus_add", "maxplus_add")
    if op.name in arithmetic and "nan" in (_kind(a), _kind(b)) and out.is_float:
        return Literal(float("nan"), out)
    for known, other in ((a, b), (b, a)):
        if is_identity(op, known) and scalar_dtype(other) == out:
            return other
        if op.name in ("and", "or") and isinstance(known, Literal) and absorbs(op, known.value, known.dtype):
            return known
        if op.name.startswith("logical") and isinstance(known, Literal) and absorbs(op, known.value, known.dtype):
            return Literal(op.name == "logical_or", out)
        if not isinstance(known, Literal) or (out.is_complex and _kind(other) not in _FINITE):
            continue
        if op.name in ("min", "max") and _kind(other) in (*_FINITE, "inf") and absorbs(op, known.value, known.dtype):
            return Literal(known.value, out)
        if op.name == "mul" and known.value == 0 and _kind(other):
            return Literal(_nan_if(_kind(other) in ("inf", "nan"), out), out)
        if (
            op.name in ("add", "minplus_add", "maxplus_add")
            and _kind(known) == "inf"
            and _kind(other) in _FINITE
            and out.is_float
        ):
            return known
    if op.name == "sub" and isinstance(b, Literal) and b.value == 0 and scalar_dtype(a) == out:
        return a
    if (
        op.name == "truediv"
        and isinstance(a, Literal)
        and a.value == 0
        and _kind(b) in ("zero", "one", "finite", "inf")
        and not (out.is_complex and _kind(b) == "inf")
    ):
        return Literal(_nan_if(_kind(b) == "zero", out), out)
    return None


_FINITE = ("zero", "one", "finite", "number")


def _nan_if(condition: bool, out: DType) -> Scalar:
    zero: Scalar = out.numpy.type(0).item()
    return out.python(float("nan")) if condition and out.is_inexact else zero


def is_identity(op: Operator, expr: Node) -> bool:
    """Whether a scalar expression is the identity of `op`."""
    return isinstance(expr, Literal) and op.identity_of != "" and same_scalar(expr.value, identity(op, expr.dtype))


def fold_repeat(op: Operator, init: Literal, value: Node, extents: tuple[str, ...]) -> Node:
    """The fill of a reduction: `value` folded into `init` once per coordinate of the reduced extents, all at least 1.

    Reductions over an empty extent have the fill `init`; the caller treats that case before planning.
    """
    if not extents:
        return fold_call(op, (init, _cast_fill(value, init.dtype)))
    value = _cast_fill(value, init.dtype)
    if isinstance(value, Literal):
        if is_identity(op, value):
            return init
        if op.idempotent or (op.name == "mul" and value.value == 0) or absorbs(op, value.value, value.dtype):
            return Literal(fold(op, init.value, value.value, 1, init.dtype), init.dtype)
    if op.idempotent or (init.dtype.is_bool and op.name in ("add", "mul")):
        return fold_call(op, (init, value))
    count: Node = Size(extents[0])
    for name in extents[1:]:
        count = Call(operator("mul"), (count, Size(name)))
    if op.name == "xor" and init.dtype.is_bool:
        odd = Call(operator("to_bool"), (Call(operator("mod"), (count, Literal(2, INT64))),))
        return fold_call(op, (init, fold_call(operator("and"), (value, odd))))
    match op.name:
        case "mul":
            repeated: Node = Call(operator("repeat_mul"), (value, count))
        case "xor":
            odd = Call(operator("ne"), (Call(operator("mod"), (count, Literal(2, INT64))), Literal(0, INT64)))
            repeated = Call(operator("where"), (odd, value, Literal(identity(op, init.dtype), init.dtype)))
        case _:
            # A complex number that is infinite in one part, times a complex count, would be NaN in the other.
            name, times = ("repeat_add", count) if init.dtype.is_complex else ("mul", _cast_fill(count, init.dtype))
            repeated = Call(operator(name), (value, times))
    return fold_call(op, (init, repeated))


def _cast_fill(value: Node, target: DType) -> Node:
    if scalar_dtype(value) == target:
        return value
    return fold_call(cast_operator(target), (value,))
