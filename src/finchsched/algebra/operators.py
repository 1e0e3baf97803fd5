"""Scalar operators as data: arity, result type, identities, absorbers, and the laws that reductions rely on.

`repeat_mul(x, n)` is x multiplied n >= 0 times, the fill of a product over n structural elements.

An operator is looked up by name (`operator("add")`).  Its meaning on NumPy scalars is `apply`; the backend spells the
same meaning in Numba (`finchsched.backend.spelling`).

Absorbers are declared per side and belong to the *meaning* of a sparse map, not to its algebra (see docs/system.md,
"What a value is"): a structural zero times anything is a structural zero, even beside a stored NaN, as in SciPy,
GraphBLAS and Finch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from finchsched.algebra.dtypes import (
    BOOL,
    FLOAT64,
    DType,
    Scalar,
    as_dtype,
    cast_scalar,
    result_dtype,
    scalar_key,
)
from finchsched.errors import DtypeError, IndexNameError

__all__ = [
    "OPERATORS",
    "Operator",
    "absorbs",
    "apply",
    "cast_operator",
    "fold",
    "identity",
    "operator",
    "result_type",
    "same_scalar",
]

INF = float("inf")
NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Operator:
    """A scalar operator.

    `result` says how the result type follows from the (already promoted) argument type: "same", "bool" or "float"
    (integers and bools are cast to float64 first), or the name of a type for casts.  `identity_of` names the
    identity: "zero", "one", "inf", "-inf", "true", "false" or "" for none.  `absorbers` are scalars z with `op(z, x)
    = op(x, z) = z` as declared.
    """

    name: str
    arity: int
    symbol: str = ""
    result: str = "same"
    identity_of: str = ""
    absorbers: tuple[Scalar, ...] = ()
    associative: bool = False
    commutative: bool = False
    idempotent: bool = False

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, ...]:
        return (operator, (self.name,))


_ALL = (
    Operator("add", 2, "+", identity_of="zero", absorbers=(NAN,), associative=True, commutative=True),
    Operator("minplus_add", 2, "+", identity_of="zero", absorbers=(INF, NAN), associative=True, commutative=True),
    Operator("maxplus_add", 2, "+", identity_of="zero", absorbers=(-INF, NAN), associative=True, commutative=True),
    Operator("sub", 2, "-"),
    Operator("mul", 2, "*", identity_of="one", absorbers=(0.0,), associative=True, commutative=True),
    Operator("truediv", 2, "/", result="float"),
    Operator("floordiv", 2, "//"),
    Operator("mod", 2, "%"),
    Operator("pow", 2, "**"),
    Operator("repeat_mul", 2),
    Operator("min", 2, identity_of="inf", absorbers=(-INF,), idempotent=True, associative=True, commutative=True),
    Operator("max", 2, identity_of="-inf", absorbers=(INF,), idempotent=True, associative=True, commutative=True),
    Operator(
        "and", 2, "&", identity_of="true", absorbers=(False,), idempotent=True, associative=True, commutative=True
    ),
    Operator("or", 2, "|", identity_of="false", absorbers=(True,), idempotent=True, associative=True, commutative=True),
    Operator("xor", 2, "^", identity_of="false", associative=True, commutative=True),
    Operator("not", 1, "~"),
    Operator("neg", 1, "-"),
    Operator("abs", 1),
    Operator("sqrt", 1, result="float"),
    Operator("exp", 1, result="float"),
    Operator("log", 1, result="float"),
    Operator("sin", 1, result="float"),
    Operator("cos", 1, result="float"),
    Operator("tanh", 1, result="float"),
    Operator("floor", 1),
    Operator("ceil", 1),
    Operator("sign", 1),
    Operator("isnan", 1, result="bool"),
    Operator("eq", 2, "==", result="bool"),
    Operator("ne", 2, "!=", result="bool"),
    Operator("lt", 2, "<", result="bool"),
    Operator("le", 2, "<=", result="bool"),
    Operator("gt", 2, ">", result="bool"),
    Operator("ge", 2, ">=", result="bool"),
    Operator("where", 3),
    Operator("to_bool", 1, result="bool"),
    Operator("to_int64", 1, result="int64"),
    Operator("to_float32", 1, result="float32"),
    Operator("to_float64", 1, result="float64"),
)

OPERATORS = {op.name: op for op in _ALL}
"""Every registered operator by name."""


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


def identity(op: Operator, dtype: DType) -> Scalar:
    """The identity of `op` in `dtype`.  Raises DtypeError if there is none."""
    match op.identity_of:
        case "zero" | "false":
            return cast_scalar(0, dtype)
        case "one":
            return cast_scalar(1, dtype)
        case "true":
            return cast_scalar(True, dtype) if dtype.is_bool else -1
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


def absorbs(op: Operator, value: Scalar, dtype: DType) -> bool:
    """Whether the fill `value` swallows the other operand of `op`, as declared."""
    if op.arity != 2:
        return False
    if op.name in ("mul", "and") and dtype.is_bool:
        return not value
    if op.name in ("add", "or") and dtype.is_bool:
        return bool(value)
    if op.name in ("and", "or"):
        return (value == 0) if op.name == "and" else (value == -1)
    return any(_same(value, z) for z in op.absorbers)


def _same(a: Scalar, b: Scalar) -> bool:
    return a == b or (a != a and b != b)


_BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "minplus_add": np.add,
    "maxplus_add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "repeat_mul": np.power,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "neg": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "floor": np.floor,
    "ceil": np.ceil,
    "sign": np.sign,
    "isnan": np.isnan,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "where": np.where,
}


def apply(op: Operator, *args: Any) -> Any:
    """`op` on NumPy scalars or arrays of one already promoted type, by NumPy's rules and without warnings."""
    with np.errstate(all="ignore"):
        if op.result in ("int64", "float32", "float64") or op.name == "to_bool":
            return np.asarray(args[0]).astype(op.name.removeprefix("to_"))[()]
        return _BINARY[op.name](*args)


def result_type(op: Operator, *dtypes: DType) -> tuple[DType, DType]:
    """(type the arguments must be cast to, type of the result).  Raises DtypeError where NumPy has no such operation.

    For `where` the first argument is always bool and stands outside the promotion.
    """
    if op.result in ("int64", "float32", "float64") or op.name == "to_bool":
        return dtypes[0], as_dtype(op.name.removeprefix("to_"))
    common = result_dtype(*(dtypes[1:] if op.name == "where" else dtypes))
    if op.result == "float" and not common.is_float:
        common = FLOAT64
    if common.is_bool and op.name in ("sub", "neg", "sign", "floordiv", "mod", "pow"):
        raise DtypeError(f"operator {op.name} is not defined for bool, as in NumPy\nhint: cast with .astype('int64')")
    if common.is_float and op.name in ("and", "or", "xor", "not"):
        raise DtypeError(f"operator {op.name} is not defined for {common}, as in NumPy")
    if op.name == "pow" and common.is_integer:
        raise DtypeError("integer powers are not supported yet\nhint: write the product out, or cast to float64")
    return common, BOOL if op.result == "bool" else common


def fold(op: Operator, init: Scalar, value: Scalar, count: int, dtype: DType) -> Scalar:
    """`value` combined `count` times into `init` by an associative `op`, by doubling: O(log count)."""
    acc, power, left = dtype.numpy.type(init), dtype.numpy.type(value), count
    while left > 0:
        if left & 1:
            acc = dtype.numpy.type(apply(op, acc, power))
        power = dtype.numpy.type(apply(op, power, power))
        left >>= 1
    return cast_scalar(acc.item(), dtype)


def same_scalar(a: Scalar, b: Scalar) -> bool:
    """Equality of two fills: by type and value, 0.0 and -0.0 equal, NaN equal to NaN."""
    if isinstance(a, float) and isinstance(b, float):
        return _same(a, b)
    return scalar_key(a) == scalar_key(b)
