"""Scalar operators as data: arity, identities, absorbers, and the laws that reductions rely on.

An operator is looked up by name (`operator("add")`).  Its types are NumPy's (`result_type`), its meaning on NumPy
scalars and arrays is `apply`; the backend spells the same meaning in Numba (`finchsched.backend.spelling`).

`repeat_add(x, n)` and `repeat_mul(x, n)` are x added up and multiplied n >= 0 times, the fills of a sum and of a
product over n structural elements.

Absorbers are declared and belong to the *meaning* of a sparse map, not to its algebra (see docs/system.md, "What a
value is"): a structural zero times anything is a structural zero, even beside a stored NaN, as in SciPy, GraphBLAS and
Finch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from finchsched.algebra.dtypes import (
    BOOL,
    ELEMENT_DTYPES,
    FLOAT32,
    INT64,
    DType,
    Scalar,
    as_dtype,
    cast_scalar,
    result_dtype,
    scalar_key,
)
from finchsched.algebra.meaning import (
    imaginary_part,
    keep_whole,
    phase_angle,
    power,
    real_part,
    repeat_add,
    repeat_multiply,
)
from finchsched.errors import DtypeError, IndexNameError

__all__ = [
    "OPERATORS",
    "Operator",
    "absorbs",
    "apply",
    "can_absorb",
    "cast_operator",
    "cast_target",
    "fold",
    "identity",
    "is_comparison",
    "operator",
    "result_type",
    "same_scalar",
]

INF = float("inf")
NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Operator:
    """A scalar operator.

    numpy: the NumPy ufunc with its meaning, "" if none has it.  symbol: how it is written between operands.
    identity_of names the identity: "zero", "one", "inf", "-inf", "true", "false" or "" for none.  absorbers are
    scalars z with `op(z, x) = op(x, z) = z` as declared.  real: it orders its arguments or works on their digits, which
    complex numbers do not have.
    """

    name: str
    arity: int
    numpy: str = ""
    symbol: str = ""
    identity_of: str = ""
    absorbers: tuple[Scalar, ...] = ()
    associative: bool = False
    commutative: bool = False
    idempotent: bool = False
    real: bool = False

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, ...]:
        return (operator, (self.name,))


_ALL = (
    # arithmetic
    Operator("add", 2, "add", "+", "zero", (NAN,), associative=True, commutative=True),
    Operator("minplus_add", 2, "add", "+", "zero", (INF, NAN), associative=True, commutative=True),
    Operator("maxplus_add", 2, "add", "+", "zero", (-INF, NAN), associative=True, commutative=True),
    Operator("sub", 2, "subtract", "-"),
    Operator("mul", 2, "multiply", "*", "one", (0.0,), associative=True, commutative=True),
    Operator("truediv", 2, "true_divide", "/"),
    Operator("floordiv", 2, "floor_divide", "//", real=True),
    Operator("mod", 2, "remainder", "%", real=True),
    Operator("pow", 2, "power", "**"),
    Operator("repeat_add", 2),
    Operator("repeat_mul", 2),
    Operator("neg", 1, "negative", "-"),
    Operator("positive", 1, "positive"),
    Operator("abs", 1, "absolute"),
    Operator("sign", 1, "sign"),
    Operator("square", 1, "square"),
    Operator("reciprocal", 1, "reciprocal"),
    # order
    Operator("min", 2, "minimum", "", "inf", (-INF,), associative=True, commutative=True, idempotent=True, real=True),
    Operator("max", 2, "maximum", "", "-inf", (INF,), associative=True, commutative=True, idempotent=True, real=True),
    Operator("fmin", 2, "fmin", real=True),
    Operator("fmax", 2, "fmax", real=True),
    Operator("eq", 2, "equal", "=="),
    Operator("ne", 2, "not_equal", "!="),
    Operator("lt", 2, "less", "<", real=True),
    Operator("le", 2, "less_equal", "<=", real=True),
    Operator("gt", 2, "greater", ">", real=True),
    Operator("ge", 2, "greater_equal", ">=", real=True),
    # bits and truth
    Operator("and", 2, "bitwise_and", "&", "true", (False,), associative=True, commutative=True, idempotent=True),
    Operator("or", 2, "bitwise_or", "|", "false", (True,), associative=True, commutative=True, idempotent=True),
    Operator("xor", 2, "bitwise_xor", "^", "false", associative=True, commutative=True),
    Operator("not", 1, "invert", "~"),
    Operator("left_shift", 2, "left_shift"),
    Operator("right_shift", 2, "right_shift"),
    Operator("logical_and", 2, "logical_and", absorbers=(False,), commutative=True),
    Operator("logical_or", 2, "logical_or", absorbers=(True,), commutative=True),
    Operator("logical_xor", 2, "logical_xor", commutative=True),
    Operator("logical_not", 1, "logical_not"),
    # powers, exponentials, angles
    Operator("sqrt", 1, "sqrt"),
    Operator("exp", 1, "exp"),
    Operator("expm1", 1, "expm1"),
    Operator("log", 1, "log"),
    Operator("log1p", 1, "log1p"),
    Operator("log2", 1, "log2"),
    Operator("log10", 1, "log10"),
    Operator("sin", 1, "sin"),
    Operator("cos", 1, "cos"),
    Operator("tan", 1, "tan"),
    Operator("asin", 1, "arcsin"),
    Operator("acos", 1, "arccos"),
    Operator("atan", 1, "arctan"),
    Operator("sinh", 1, "sinh"),
    Operator("cosh", 1, "cosh"),
    Operator("tanh", 1, "tanh"),
    Operator("asinh", 1, "arcsinh"),
    Operator("acosh", 1, "arccosh"),
    Operator("atanh", 1, "arctanh"),
    Operator("atan2", 2, "arctan2", real=True),
    Operator("hypot", 2, "hypot", commutative=True, real=True),
    Operator("logaddexp", 2, "logaddexp", commutative=True, real=True),
    # parts of numbers
    Operator("floor", 1, "floor", real=True),
    Operator("ceil", 1, "ceil", real=True),
    Operator("trunc", 1, "trunc", real=True),
    Operator("round", 1, "rint"),
    Operator("copysign", 2, "copysign", real=True),
    Operator("nextafter", 2, "nextafter", real=True),
    Operator("signbit", 1, "signbit", real=True),
    Operator("isnan", 1, "isnan"),
    Operator("isinf", 1, "isinf"),
    Operator("isfinite", 1, "isfinite"),
    Operator("conj", 1, "conjugate"),
    Operator("real", 1),
    Operator("imag", 1),
    Operator("angle", 1),
    # choice and conversion
    Operator("where", 3),
    *(Operator(f"to_{dtype}", 1) for dtype in ELEMENT_DTYPES),
)

OPERATORS = {op.name: op for op in _ALL}
"""Every registered operator by name."""

_WHOLE = ("floor", "ceil", "trunc", "round")
_OWN: dict[str, Callable[..., Any]] = {
    "pow": power,
    "repeat_add": repeat_add,
    "repeat_mul": repeat_multiply,
    "real": real_part,
    "imag": imaginary_part,
    "angle": phase_angle,
    "where": np.where,
}
"""Meanings that no ufunc has."""


def operator(name: str) -> Operator:
    """The operator called `name`.  Raises IndexNameError naming the known ones."""
    found = OPERATORS.get(name)
    if found is None:
        known = ", ".join(OPERATORS)
        raise IndexNameError(f"no operator is called {name!r}; known operators are {known}")
    return found


def cast_operator(dtype: DType) -> Operator:
    """The operator that casts to an element type."""
    return operator(f"to_{dtype.name}")


def cast_target(op: Operator) -> DType | None:
    """The type that `op` casts to; None if it is no cast."""
    return as_dtype(op.name.removeprefix("to_")) if op.name.startswith("to_") else None


def is_comparison(op: Operator) -> bool:
    """Whether `op` compares its arguments, which NumPy does exactly among integers of any types."""
    return op.name in ("eq", "ne", "lt", "le", "gt", "ge")


# ---------------------------------------------------------------------------------------------- types


@lru_cache(maxsize=4096)
def result_type(op: Operator, *dtypes: DType) -> tuple[tuple[DType, ...], DType]:
    """(types the arguments must be cast to, type of the result), as NumPy's ufuncs have them.

    float16, which NumPy takes for functions of narrow integers, becomes float32.  The condition of `where` is bool and
    stands outside the promotion; integers of both signs are compared as they are; a binary operator on more than two
    arguments of one type is folded from the left.  Raises DtypeError where NumPy has no such operation, and for
    complex numbers in an operator that orders them.
    """
    target = cast_target(op)
    if target is not None:
        return dtypes[:1], target
    if op.name == "where":
        common = result_dtype(*dtypes[1:])
        return (BOOL, common, common), common
    if op.name in ("repeat_add", "repeat_mul"):
        return (dtypes[0], INT64), dtypes[0]
    if op.name == "angle" and not dtypes[0].is_complex:
        return result_type(operator("sqrt"), INT64 if dtypes[0].is_bool else dtypes[0])
    if op.name in ("real", "imag", "angle"):
        return dtypes, dtypes[0].real
    if op.name in _WHOLE and not dtypes[0].is_inexact and not (op.name == "round" and dtypes[0].is_bool):
        return dtypes, dtypes[0]
    if op.real and any(dtype.is_complex for dtype in dtypes):
        raise DtypeError(
            f"operator {op.name} is not defined for complex numbers, which have no order\n"
            "hint: take real(x), imag(x) or abs(x) first"
        )
    if op.arity == 2 and len(dtypes) != 2:
        (argument, _), result = result_type(op, dtypes[0], dtypes[-1])
        return (argument,) * len(dtypes), result
    return _ufunc_types(op, dtypes)


def _ufunc_types(op: Operator, dtypes: tuple[DType, ...]) -> tuple[tuple[DType, ...], DType]:
    ufunc: np.ufunc = getattr(np, op.numpy)
    try:
        found = ufunc.resolve_dtypes((*(dtype.numpy for dtype in dtypes), None))
    except TypeError as error:
        kinds = " and ".join(dict.fromkeys(dtype.name for dtype in dtypes))
        hint = "\nhint: cast with .astype('int64')" if BOOL in dtypes else ""
        raise DtypeError(f"operator {op.name} is not defined for {kinds}, as in NumPy{hint}") from error
    *arguments, result = (FLOAT32 if dtype == np.float16 else as_dtype(dtype) for dtype in found)
    return tuple(arguments), result


# ---------------------------------------------------------------------------------------------- meaning


def apply(op: Operator, *args: Any) -> Any:
    """`op` on NumPy scalars or arrays of the types that `result_type` asks for, by NumPy's rules, without warnings.

    Raises DtypeError for an integer raised to a negative power, as NumPy does not have it.
    """
    with np.errstate(all="ignore"):
        target = cast_target(op)
        if target is not None:
            return _cast_array(np.asarray(args[0]), target)[()]
        if op.name in _WHOLE:
            return keep_whole(getattr(np, op.numpy), args[0])
        own = _OWN.get(op.name)
        return own(*args) if own else getattr(np, op.numpy)(*args)


def _cast_array(array: np.ndarray[Any, Any], target: DType) -> np.ndarray[Any, Any]:
    """`astype`, where a complex number silently loses its imaginary part."""
    if array.dtype.kind == "c" and not target.is_complex and not target.is_bool:
        array = array.real
    return array.astype(target.numpy)


def identity(op: Operator, dtype: DType) -> Scalar:
    """The identity of `op` in `dtype`.  Raises DtypeError if there is none."""
    match op.identity_of:
        case "zero" | "false":
            return cast_scalar(0, dtype)
        case "one":
            return cast_scalar(1, dtype)
        case "true":
            return cast_scalar(True if dtype.is_bool else -1, dtype)
        case "inf" | "-inf" if dtype.is_complex:
            raise DtypeError(f"{op.name} is not defined for {dtype}: complex numbers have no order")
        case "inf":
            return _extreme(dtype, largest=True)
        case "-inf":
            return _extreme(dtype, largest=False)
        case _:
            raise DtypeError(f"operator {op.name} has no identity, so it cannot reduce")


def _extreme(dtype: DType, *, largest: bool) -> Scalar:
    if dtype.is_float:
        return INF if largest else -INF
    if dtype.is_bool:
        return largest
    info = np.iinfo(dtype.numpy)
    return int(info.max if largest else info.min)


def can_absorb(op: Operator) -> bool:
    """Whether some fill of some type swallows the other operand of `op`."""
    return bool(op.absorbers) or op.name in ("and", "or", "logical_and", "logical_or")


def absorbs(op: Operator, value: Scalar, dtype: DType) -> bool:
    """Whether the fill `value` swallows the other operand of `op`, as declared."""
    if op.arity != 2:
        return False
    if op.name in ("logical_and", "logical_or"):
        return bool(value) is (op.name == "logical_or")
    if op.name in ("mul", "and") and dtype.is_bool:
        return not value
    if op.name in ("add", "or") and dtype.is_bool:
        return bool(value)
    if op.name in ("and", "or"):
        return value == (0 if op.name == "and" else cast_scalar(-1, dtype))
    # An infinite complex number swallows one part only of what is added to it.
    return any(_same(value, z) for z in op.absorbers if not (dtype.is_complex and z in (INF, -INF)))


def _same(a: Scalar, b: Scalar) -> bool:
    return a == b or (a != a and b != b)


def fold(op: Operator, init: Scalar, value: Scalar, count: int, dtype: DType) -> Scalar:
    """`value` combined `count` times into `init` by an associative `op`, by doubling: O(log count)."""
    acc, factor, left = dtype.numpy.type(init), dtype.numpy.type(value), count
    while left > 0:
        if left & 1:
            acc = dtype.numpy.type(apply(op, acc, factor))
        factor = dtype.numpy.type(apply(op, factor, factor))
        left >>= 1
    return cast_scalar(acc.item(), dtype)


def same_scalar(a: Scalar, b: Scalar) -> bool:
    """Equality of two fills: by type and value, 0.0 and -0.0 equal, NaN equal to NaN."""
    if type(a) is type(b) and isinstance(a, float | complex):
        return _same(a, b)
    return scalar_key(a) == scalar_key(b)
