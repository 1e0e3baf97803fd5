"""The elementwise functions by name, those of the Python array API standard and NumPy's names for them.

Each broadcasts as in NumPy and follows its promotion.  Operands are tensors, lazy arrays, NumPy arrays, scipy.sparse
matrices, lists and numbers; a lazy operand makes the result lazy, else it is computed at once.  The result is stored
where the mask rule says: for most functions, where some operand is.  One line of the table below per function.
"""

from collections.abc import Callable
from typing import Any

from finchsched.api.graph import cast_node, map_node, number_node
from finchsched.api.operands import finish, to_node
from finchsched.api.operators_mixin import optional_dtype
from finchsched.api.promotion import strong
from finchsched.errors import DtypeError

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "conjugate",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "power",
    "real",
    "reciprocal",
    "remainder",
    "right_shift",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "true_divide",
    "trunc",
    "where",
]


def _unary(name: str, operator_name: str, summary: str) -> Callable[[Any], Any]:
    """The function called `name` that applies an operator to one array."""

    def function(x: Any, /) -> Any:
        return finish(map_node(operator_name, to_node(x, "x")), x)

    _name(function, name, f"{summary}, elementwise.")
    return function


def _binary(name: str, operator_name: str, summary: str) -> Callable[[Any, Any], Any]:
    """The function called `name` that applies an operator to two arrays, which broadcast."""

    def function(x1: Any, x2: Any, /) -> Any:
        return finish(map_node(operator_name, to_node(x1, "x1"), to_node(x2, "x2")), x1, x2)

    fits = "Raises ShapeMismatchError for shapes that do not broadcast."
    _name(function, name, f"{summary}, elementwise.\n\n    {fits}\n    ")
    return function


def _name(function: Callable[..., Any], name: str, doc: str) -> None:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc


# ------------------------------------------------------------------------------------------------ arithmetic
abs = _unary("abs", "abs", "The absolute value; of complex numbers, the modulus")
add = _binary("add", "add", "`x1 + x2`; among bools, or")
ceil = _unary("ceil", "ceil", "The least integer that is not less, in the type of `x`")
conj = _unary("conj", "conj", "The complex conjugate; real numbers as they are")
copysign = _binary("copysign", "copysign", "`x1` with the sign of `x2`")
divide = _binary(
    "divide", "truediv", "`x1 / x2`, in floating point; where `x1` is sparse and `x2` dense, use `x1 * (1/x2)`"
)
floor = _unary("floor", "floor", "The greatest integer that is not greater, in the type of `x`")
floor_divide = _binary("floor_divide", "floordiv", "`x1 // x2`, rounded towards minus infinity; integers by 0 give 0")
fmax = _binary("fmax", "fmax", "The greater of two; where one is NaN, the other")
fmin = _binary("fmin", "fmin", "The lesser of two; where one is NaN, the other")
hypot = _binary("hypot", "hypot", "`sqrt(x1**2 + x2**2)` without overflow on the way")
imag = _unary("imag", "imag", "The imaginary part; of real numbers 0")
maximum = _binary("maximum", "max", "The greater of two; NaN where one is NaN")
minimum = _binary("minimum", "min", "The lesser of two; NaN where one is NaN")
multiply = _binary("multiply", "mul", "`x1 * x2`; 0 where one is an unstored 0, whatever the other is")
negative = _unary("negative", "neg", "`-x`")
nextafter = _binary("nextafter", "nextafter", "The next number of the type after `x1` on the way to `x2`")
real = _unary("real", "real", "The real part")
reciprocal = _unary("reciprocal", "reciprocal", "`1 / x`")
remainder = _binary("remainder", "mod", "`x1 % x2`, with the sign of `x2`; integers by 0 give 0")
sign = _unary("sign", "sign", "-1, 0 or 1 by the sign of `x`; NaN for NaN")
signbit = _unary("signbit", "signbit", "Whether the sign bit is set, which -0.0 has too")
sqrt = _unary("sqrt", "sqrt", "The square root, NaN for negative numbers")
square = _unary("square", "square", "`x * x`")
subtract = _binary("subtract", "sub", "`x1 - x2`")
trunc = _unary("trunc", "trunc", "The next integer towards 0, in the type of `x`")

# ------------------------------------------------------------------------------------------------ transcendental
acos = _unary("acos", "acos", "The inverse cosine")
acosh = _unary("acosh", "acosh", "The inverse hyperbolic cosine")
asin = _unary("asin", "asin", "The inverse sine")
asinh = _unary("asinh", "asinh", "The inverse hyperbolic sine")
atan = _unary("atan", "atan", "The inverse tangent")
atan2 = _binary("atan2", "atan2", "The angle of the point (`x2`, `x1`), from -pi to pi")
atanh = _unary("atanh", "atanh", "The inverse hyperbolic tangent")
cos = _unary("cos", "cos", "The cosine")
cosh = _unary("cosh", "cosh", "The hyperbolic cosine")
exp = _unary("exp", "exp", "e to the power of `x`")
expm1 = _unary("expm1", "expm1", "`exp(x) - 1`, precise near 0")
log = _unary("log", "log", "The natural logarithm")
log1p = _unary("log1p", "log1p", "`log(1 + x)`, precise near 0")
log2 = _unary("log2", "log2", "The logarithm to the base 2")
log10 = _unary("log10", "log10", "The logarithm to the base 10")
logaddexp = _binary("logaddexp", "logaddexp", "`log(exp(x1) + exp(x2))` without overflow on the way")
sin = _unary("sin", "sin", "The sine")
sinh = _unary("sinh", "sinh", "The hyperbolic sine")
tan = _unary("tan", "tan", "The tangent")
tanh = _unary("tanh", "tanh", "The hyperbolic tangent")

# ------------------------------------------------------------------------------------------------ truth and bits
bitwise_and = _binary("bitwise_and", "and", "`x1 & x2` of integers or bools")
bitwise_invert = _unary("bitwise_invert", "not", "`~x` of integers or bools")
bitwise_left_shift = _binary("bitwise_left_shift", "left_shift", "`x1 << x2` of integers")
bitwise_or = _binary("bitwise_or", "or", "`x1 | x2` of integers or bools")
bitwise_right_shift = _binary("bitwise_right_shift", "right_shift", "`x1 >> x2` of integers, arithmetic")
bitwise_xor = _binary("bitwise_xor", "xor", "`x1 ^ x2` of integers or bools")
equal = _binary("equal", "eq", "`x1 == x2`")
greater = _binary("greater", "gt", "`x1 > x2`")
greater_equal = _binary("greater_equal", "ge", "`x1 >= x2`")
isfinite = _unary("isfinite", "isfinite", "Whether `x` is neither infinite nor NaN")
isinf = _unary("isinf", "isinf", "Whether `x` is infinite")
isnan = _unary("isnan", "isnan", "Whether `x` is NaN")
less = _binary("less", "lt", "`x1 < x2`")
less_equal = _binary("less_equal", "le", "`x1 <= x2`")
logical_and = _binary("logical_and", "logical_and", "Whether both are true (not 0)")
logical_not = _unary("logical_not", "logical_not", "Whether `x` is false (0)")
logical_or = _binary("logical_or", "logical_or", "Whether one is true (not 0)")
logical_xor = _binary("logical_xor", "logical_xor", "Whether exactly one is true (not 0)")
not_equal = _binary("not_equal", "ne", "`x1 != x2`")

# ------------------------------------------------------------------------------------------------ NumPy's names
absolute = abs
arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh = acos, acosh, asin, asinh, atan, atan2, atanh
bitwise_not = invert = bitwise_invert
conjugate = conj
left_shift, right_shift = bitwise_left_shift, bitwise_right_shift
mod = remainder
true_divide = divide


def pow(x1: Any, x2: Any, /) -> Any:
    """`x1 ** x2`, elementwise.  The square of integers is a product.

    Raises ShapeMismatchError for shapes that do not broadcast.
    """
    base = to_node(x1, "x1")
    if type(x2) is int and x2 == 2 and not strong(base.type).is_bool:
        return finish(map_node("mul", base, base), x1)
    return finish(map_node("pow", base, to_node(x2, "x2")), x1, x2)


power = pow


def positive(x: Any, /) -> Any:
    """`+x`: the array itself.  Raises DtypeError for bools, as NumPy does."""
    node = to_node(x, "x")
    if strong(node.type).is_bool:
        raise DtypeError("positive is not defined for bool, as in NumPy\nhint: cast with .astype('int64')")
    return finish(node, x)


def round(x: Any, /, decimals: int = 0) -> Any:
    """The nearest number with so many decimals, elementwise; halves go to the even neighbour."""
    node = to_node(x, "x")
    if decimals == 0:
        return finish(map_node("round", node), x)
    scale: float | int = 10 ** (decimals if decimals > 0 else -decimals)
    if strong(node.type).is_integer:
        if decimals > 0:
            return finish(node, x)
        wide = map_node("truediv", node, number_node(scale))
        return finish(cast_node(map_node("mul", map_node("round", wide), number_node(scale)), strong(node.type)), x)
    up, down = ("mul", "truediv") if decimals > 0 else ("truediv", "mul")
    moved = map_node("round", map_node(up, node, number_node(float(scale))))
    return finish(map_node(down, moved, number_node(float(scale))), x)


def where(condition: Any, x1: Any, x2: Any, /) -> Any:
    """`x1` where `condition` is true (not 0), `x2` elsewhere; all three broadcast.

    Raises ShapeMismatchError for shapes that do not broadcast.
    """
    test = to_node(condition, "condition")
    return finish(map_node("where", test, to_node(x1, "x1"), to_node(x2, "x2")), condition, x1, x2)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """`x`, but nothing less than `min` or greater than `max`, elementwise; None is no bound.

    Raises ShapeMismatchError for shapes that do not broadcast.
    """
    node = to_node(x, "x")
    if min is not None:
        node = map_node("max", node, to_node(min, "min"))
    if max is not None:
        node = map_node("min", node, to_node(max, "max"))
    return finish(node, x, min, max)


def astype(x: Any, dtype: object, /) -> Any:
    """The elements in another type, stored in the same places.  Raises DtypeError for a type that is not supported."""
    target = optional_dtype(dtype)
    if target is None:
        raise DtypeError("astype needs an element type, found None")
    return finish(cast_node(to_node(x, "x"), target), x)
