"""Loop IR expressions to Kernel IR, where every access has been resolved to a local variable."""

from collections.abc import Mapping

from finchsched.algebra.operators import Operator, cast_target, result_type
from finchsched.ast.kernel import Apply, Const, KernelExpr, Var, dtype_of
from finchsched.ast.loop import Access, Index, Scalar
from finchsched.ast.node import Node
from finchsched.ast.scalar import Call, Literal, Size, Value, coordinate_name, fold_calls
from finchsched.errors import LoweringError
from finchsched.passes.lower.kernel_terms import cast, index_as_value
from finchsched.passes.lower.parameters import Parameters
from finchsched.passes.lower.scope import Scope
from finchsched.passes.lower.structural import Structural, swallowing

__all__ = ["lower_expr"]


def lower_expr(expr: Node, scope: Scope, parameters: Parameters) -> KernelExpr:
    """The kernel expression of a Loop IR expression.  Raises LoweringError for a node that is none."""
    return fold_calls(expr, lambda node: _leaf(node, scope, parameters), _combine)


def _combine(call: Call, args: tuple[KernelExpr, ...]) -> KernelExpr:
    """A call of lowered arguments; beside a stored operand a structural one absorbs as declared."""
    swallowed = swallowing(call)
    return _call(call.op, list(args)) if swallowed is None else Const(swallowed.value, swallowed.dtype)


def _leaf(expr: Node, scope: Scope, parameters: Parameters) -> KernelExpr | None:
    match expr:
        case Literal(value, dtype):
            return Const(value, dtype)
        case Value():
            return _value(expr, scope.coords, parameters)
        case Size(index):
            return index_as_value(parameters.extent(index))
        case Index(name):
            return index_as_value(scope.coords[name])
        case Scalar(name, dtype):
            return Var(name, dtype)
        case Structural(value):
            return lower_expr(value, scope, parameters)
        case Access():
            bound = scope.env[expr]
            assert isinstance(bound, Var), f"{expr.tensor.name} is read before it is resolved"
            return bound
        case Call():
            return None
        case _:
            raise LoweringError(f"{type(expr).__name__} is not an expression of Loop IR")


def _value(value: Value, coords: Mapping[str, KernelExpr], parameters: Parameters) -> KernelExpr:
    index = coordinate_name(value)
    return index_as_value(coords[index]) if index else parameters.value(value.name, value.dtype)


def _call(op: Operator, args: list[KernelExpr]) -> KernelExpr:
    wanted, out = result_type(op, *(dtype_of(arg) for arg in args))
    if cast_target(op) is not None:
        return cast(args[0], out)
    return Apply(op, tuple(cast(arg, dtype) for arg, dtype in zip(args, wanted, strict=True)), out)
