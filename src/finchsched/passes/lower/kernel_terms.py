"""Short constructors for Kernel IR, as lowering uses them: positions are uint64 and trivial arithmetic is folded."""

from finchsched.algebra.dtypes import BOOL, INT64, UINT64, DType, cast_scalar
from finchsched.algebra.operators import operator, result_type
from finchsched.ast.kernel import ONE, Apply, Cast, Const, If, KernelExpr, KernelStmt, Seq, Set, Var, dtype_of

__all__ = ["advance", "binary", "both", "cast", "clamp", "compare", "either", "equal", "index_as_value", "less", "when"]


def binary(name: str, *args: KernelExpr) -> Apply:
    """`op(args)`, all of one type; the result type follows from the operator."""
    op = operator(name)
    return Apply(op, args, result_type(op, *(dtype_of(arg) for arg in args))[1])


def compare(name: str, a: KernelExpr, b: KernelExpr) -> Apply:
    """A comparison."""
    return Apply(operator(name), (a, b), BOOL)


def less(a: KernelExpr, b: KernelExpr) -> Apply:
    """`a < b`."""
    return compare("lt", a, b)


def equal(a: KernelExpr, b: KernelExpr) -> Apply:
    """`a == b`."""
    return compare("eq", a, b)


def both(conditions: list[KernelExpr]) -> KernelExpr:
    """The conjunction of one or more conditions."""
    result = conditions[0]
    for condition in conditions[1:]:
        result = Apply(operator("and"), (result, condition), BOOL)
    return result


def either(conditions: list[KernelExpr]) -> KernelExpr:
    """The disjunction of one or more conditions."""
    result = conditions[0]
    for condition in conditions[1:]:
        result = Apply(operator("or"), (result, condition), BOOL)
    return result


def cast(expr: KernelExpr, dtype: DType) -> KernelExpr:
    """`expr` as `dtype`, without a cast where it has that type already."""
    if dtype_of(expr) == dtype:
        return expr
    if isinstance(expr, Const):
        return Const(cast_scalar(expr.value, dtype), dtype)
    return Cast(expr, dtype)


def index_as_value(coordinate: KernelExpr) -> KernelExpr:
    """A coordinate as the int64 that a program sees."""
    return cast(coordinate, INT64)


def advance(var: Var) -> Set:
    """`var += 1`."""
    return Set(var, binary("add", var, ONE))


def when(condition: KernelExpr, body: list[KernelStmt], orelse: list[KernelStmt] | None = None) -> list[KernelStmt]:
    """`if condition: body else: orelse`, or nothing when both are empty."""
    other = orelse or []
    if not body and not other:
        return []
    if not body:
        return [If(binary("not", condition), Seq(tuple(other)), Seq(()))]
    return [If(condition, Seq(tuple(body)), Seq(tuple(other)))]


def clamp(value: KernelExpr, lo: KernelExpr | None, hi: KernelExpr | None) -> KernelExpr:
    """An int64 bound as a coordinate inside `lo .. hi` (both uint64, lo <= hi); None on a side where it need not be
    kept.
    """
    if lo is not None:
        value = binary("max", value, cast(lo, INT64))
    if hi is not None:
        value = binary("min", value, cast(hi, INT64))
    if isinstance(value, Cast) and dtype_of(value.arg) == UINT64:
        return value.arg  # a coordinate that was made an int64 to be compared
    return cast(value, UINT64)
