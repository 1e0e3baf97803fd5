"""Operators: their meaning against NumPy, identities, absorbers and laws by exhaustive small search, folding."""

import math
import pickle
from itertools import product
from typing import Any

import numpy as np
import pytest

from finchsched.algebra.dtypes import BOOL, ELEMENT_DTYPES, FLOAT32, FLOAT64, INT64, DType, Scalar, cast_scalar
from finchsched.algebra.operators import (
    OPERATORS,
    Operator,
    absorbs,
    apply,
    cast_operator,
    fold,
    identity,
    operator,
    result_type,
    same_scalar,
)
from finchsched.errors import DtypeError, IndexNameError

INF, NAN = float("inf"), float("nan")


def _samples(kind: DType) -> list[Any]:
    if kind.is_bool:
        return [False, True]
    if kind.is_integer:
        info = np.iinfo(kind.numpy)
        return [0, 1, 2, 7, int(info.max), *([] if kind.is_unsigned else [-1, -5, int(info.min)])]
    small = kind.real == FLOAT32
    real = [0.0, -0.0, 1.0, -1.5, *((3e38, 1e-45) if small else (1e308, 5e-324)), INF, -INF, NAN]
    return (
        real if kind.is_float else [*map(complex, real), 1j, complex(2.0, -3.0), complex(0.0, INF), complex(NAN, 1.0)]
    )


SAMPLES: dict[DType, list[Any]] = {kind: _samples(kind) for kind in ELEMENT_DTYPES}
NUMPY = {
    "add": np.add,
    "minplus_add": np.add,
    "maxplus_add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.bitwise_not,
    "neg": np.negative,
    "abs": np.absolute,
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
    "positive": np.positive,
    "square": np.square,
    "reciprocal": np.reciprocal,
    "fmin": np.fmin,
    "fmax": np.fmax,
    "left_shift": np.left_shift,
    "right_shift": np.right_shift,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "logical_not": np.logical_not,
    "expm1": np.expm1,
    "log1p": np.log1p,
    "log2": np.log2,
    "log10": np.log10,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "logaddexp": np.logaddexp,
    "trunc": np.trunc,
    "round": np.round,
    "copysign": np.copysign,
    "nextafter": np.nextafter,
    "signbit": np.signbit,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "conj": np.conjugate,
    "real": np.real,
    "imag": np.imag,
    "angle": np.angle,
}
UNORDERED = ("min", "max", "fmin", "fmax", "lt", "le", "gt", "ge")
"""Operators that NumPy has for complex numbers, in an order of its own, and we refuse."""
ASSOCIATIVE = [op for op in OPERATORS.values() if op.associative]
WITH_IDENTITY = [op for op in OPERATORS.values() if op.identity_of]


def typed(kind: DType) -> list[Any]:
    return [kind.numpy.type(value) for value in SAMPLES[kind]]


def ordinary(kind: DType) -> list[Any]:
    """The samples without complex numbers that are or become infinite: one of their parts may then be NaN."""
    return [v for v in typed(kind) if not kind.is_complex or abs(v) < 1e3]


def supported(op: Operator, *kinds: DType) -> bool:
    try:
        result_type(op, *kinds)
    except DtypeError:
        return False
    return True


def same(a: Any, b: Any) -> bool:
    return bool(a == b or (a != a and b != b))


def close(a: Any, b: Any) -> bool:
    """Floats modulo rounding in the order of operations."""
    return same(a, b) or (np.isfinite(a) and np.isfinite(b) and math.isclose(a, b, rel_tol=1e-5))


# ---------------------------------------------------------------------------------------------- meaning


def taken(op: Operator, *kinds: DType) -> tuple[DType, ...]:
    """The types that arguments are cast to; none where the operator is refused."""
    try:
        return result_type(op, *kinds)[0]
    except DtypeError:
        return ()


@pytest.mark.parametrize("kind", SAMPLES, ids=str)
@pytest.mark.parametrize("name", NUMPY)
def test_the_meaning_is_numpys(name: str, kind: DType) -> None:
    op = operator(name)
    if not (wanted := taken(op, *(kind,) * op.arity)):
        return
    out = result_type(op, *(kind,) * op.arity)[1]
    for args in product(typed(kind), repeat=op.arity):
        cast = [common.numpy.type(arg) for common, arg in zip(wanted, args, strict=True)]
        if name == "pow" and wanted[1].is_integer and cast[1] < 0:
            with pytest.raises(DtypeError, match="integers to negative powers"):
                apply(op, *cast)
            continue
        with np.errstate(all="ignore"):
            want = NUMPY[name](*cast)
        assert same(apply(op, *cast), want)
        assert np.asarray(want).dtype == out.numpy


@pytest.mark.parametrize("kind", SAMPLES, ids=str)
@pytest.mark.parametrize("name", NUMPY)
def test_types_are_numpys(name: str, kind: DType) -> None:
    op, args = operator(name), (np.ones(2, kind.numpy),) * operator(name).arity
    try:
        with np.errstate(all="ignore"):
            found = NUMPY[name](*args).dtype
    except TypeError:
        assert not supported(op, *(kind,) * op.arity)
        return
    if kind.is_complex and name in UNORDERED:
        assert not supported(op, *(kind,) * op.arity)
        return
    assert result_type(op, *(kind,) * op.arity)[1].numpy == (np.float32 if found == np.float16 else found)


@pytest.mark.parametrize("name", [name for name in NUMPY if operator(name).arity == 2])
def test_types_of_two_different_arguments_are_numpys(name: str) -> None:
    for kinds in product(ELEMENT_DTYPES, repeat=2):
        try:
            found = NUMPY[name](*(np.ones(1, kind.numpy) for kind in kinds)).dtype
        except TypeError:
            assert not supported(operator(name), *kinds)
            continue
        if any(kind.is_complex for kind in kinds) and name in UNORDERED:
            assert not supported(operator(name), *kinds)
            continue
        assert result_type(operator(name), *kinds)[1].numpy == (np.float32 if found == np.float16 else found)


def test_every_operator_but_these_is_compared_with_numpy() -> None:
    casts = {f"to_{kind}" for kind in ELEMENT_DTYPES}
    assert set(OPERATORS) - set(NUMPY) == casts | {"where", "repeat_add", "repeat_mul"}


def test_where_keeps_its_condition_out_of_promotion() -> None:
    where = operator("where")
    assert result_type(where, BOOL, FLOAT32, FLOAT32) == ((BOOL, FLOAT32, FLOAT32), FLOAT32)
    assert result_type(where, BOOL, INT64, FLOAT32) == ((BOOL, FLOAT64, FLOAT64), FLOAT64)
    assert apply(where, np.bool(True), np.float64(1), np.float64(2)) == 1
    assert apply(where, np.bool(False), np.float64(NAN), np.float64(2)) == 2


@pytest.mark.parametrize("kind", SAMPLES, ids=str)
@pytest.mark.parametrize("target", ELEMENT_DTYPES, ids=str)
def test_casts(kind: DType, target: DType) -> None:
    op = cast_operator(target)
    assert result_type(op, kind)[1] == target
    for value in typed(kind):
        with np.errstate(all="ignore"):
            part = value.real if kind.is_complex and not target.is_complex and not target.is_bool else value
            want = np.asarray(part).astype(target.numpy)[()]
        assert same(apply(op, value), want)
        if np.isfinite(value) or target.is_inexact:
            assert same(target.numpy.type(cast_scalar(value.item(), target)), want)


def test_integers_wrap_and_division_by_zero_is_quiet() -> None:
    big, small = np.int64(2**63 - 1), np.int64(-(2**63))
    assert apply(operator("add"), big, np.int64(1)) == small
    assert apply(operator("floordiv"), big, np.int64(0)) == 0
    assert apply(operator("mod"), big, np.int64(0)) == 0
    assert apply(operator("abs"), small) == small


@pytest.mark.parametrize("name", ["min", "max"])
def test_min_and_max_pass_nan_on_from_either_side(name: str) -> None:
    for pair in ((1.0, NAN), (NAN, 1.0)):
        assert np.isnan(apply(operator(name), *map(np.float64, pair)))


# ---------------------------------------------------------------------------------------------- identities, laws


@pytest.mark.parametrize("kind", SAMPLES, ids=str)
@pytest.mark.parametrize("op", WITH_IDENTITY, ids=str)
def test_the_identity_changes_nothing_on_either_side(op: Operator, kind: DType) -> None:
    if not supported(op, kind, kind):
        return
    neutral = kind.numpy.type(identity(op, kind))
    for value in ordinary(kind):
        assert same(apply(op, neutral, value), value)
        assert same(apply(op, value, neutral), value)


@pytest.mark.parametrize("op", [op for op in OPERATORS.values() if not op.identity_of], ids=str)
def test_other_operators_have_no_identity(op: Operator) -> None:
    with pytest.raises(DtypeError, match=f"operator {op.name} has no identity"):
        identity(op, FLOAT64)


@pytest.mark.parametrize("kind", SAMPLES, ids=str)
@pytest.mark.parametrize("op", ASSOCIATIVE, ids=str)
def test_laws(op: Operator, kind: DType) -> None:
    """Floats modulo rounding, and where nothing overflows or underflows on the way."""
    if not supported(op, kind, kind):
        return
    values = ordinary(kind)
    if kind.is_inexact:
        values = [v for v in values if not np.isfinite(v) or v == 0 or 1e-30 < abs(v) < 1e30]
    for a, b, c in product(values, repeat=3):
        assert close(apply(op, apply(op, a, b), c), apply(op, a, apply(op, b, c)))
        assert same(apply(op, a, b), apply(op, b, a)) or not op.commutative
        assert same(apply(op, a, a), a) or not op.idempotent


@pytest.mark.parametrize("kind", SAMPLES, ids=str)
@pytest.mark.parametrize("op", [op for op in OPERATORS.values() if op.arity == 2], ids=str)
def test_absorbers_swallow_every_value_that_is_an_ordinary_number(op: Operator, kind: DType) -> None:
    """NaN and infinities are the declared exceptions: that is what a structural operand means."""
    if not supported(op, kind, kind):
        return
    for z, x in product(typed(kind), repeat=2):
        if absorbs(op, z.item(), kind) and np.isfinite(x):
            out = result_type(op, kind, kind)[1]
            assert same(apply(op, z, x), z.astype(out.numpy)), (z, x)
            assert same(apply(op, x, z), z.astype(out.numpy)), (x, z)


@pytest.mark.parametrize(
    ("name", "kind", "want"),
    [
        ("mul", FLOAT64, [0.0, -0.0]),
        ("mul", INT64, [0]),
        ("mul", BOOL, [False]),
        ("add", FLOAT64, [NAN]),
        ("add", INT64, []),
        ("add", BOOL, [True]),
        ("minplus_add", FLOAT64, [INF, NAN]),
        ("maxplus_add", FLOAT64, [-INF, NAN]),
        ("min", FLOAT64, [-INF]),
        ("max", FLOAT64, [INF]),
        ("min", INT64, []),
        ("and", BOOL, [False]),
        ("or", BOOL, [True]),
        ("sub", FLOAT64, []),
        ("truediv", FLOAT64, []),
        ("eq", FLOAT64, []),
    ],
)
def test_absorbers_are_those_declared(name: str, kind: DType, want: list[Scalar]) -> None:
    found = [value for value in SAMPLES[kind] if absorbs(operator(name), value, kind)]
    assert [repr(value) for value in found] == [repr(value) for value in want]


def test_where_and_unary_operators_absorb_nothing() -> None:
    assert not any(absorbs(operator(name), 0.0, FLOAT64) for name in ("where", "neg", "abs"))


# ---------------------------------------------------------------------------------------------- folding


@pytest.mark.parametrize("kind", SAMPLES, ids=str)
@pytest.mark.parametrize("op", ASSOCIATIVE, ids=str)
def test_fold_is_repeated_application(op: Operator, kind: DType) -> None:
    if not supported(op, kind, kind):
        return
    for value, count in product([v.item() for v in ordinary(kind)], (0, 1, 2, 3, 7, 12)):
        want = kind.numpy.type(identity(op, kind))
        for _ in range(count):
            want = kind.numpy.type(apply(op, want, kind.numpy.type(value)))
        assert close(fold(op, identity(op, kind), value, count, kind), want.item()), (value, count)


def test_fold_starts_from_init_and_takes_logarithmic_time() -> None:
    assert fold(operator("add"), 5.0, 2.0, 3, FLOAT64) == 11.0
    assert fold(operator("mul"), 3, 2, 4, INT64) == 48
    assert fold(operator("add"), 0, 1, 2**62, INT64) == 2**62
    assert fold(operator("mul"), 1, 3, 2**40, INT64) == pow(3, 2**40, 2**64) - (
        2**64 if pow(3, 2**40, 2**64) >= 2**63 else 0
    )


# ---------------------------------------------------------------------------------------------- objects


def test_unknown_operators_are_refused_by_name() -> None:
    with pytest.raises(IndexNameError, match=r"no operator is called 'plus'; known operators are add"):
        operator("plus")


def test_operators_pickle_to_themselves() -> None:
    for op in OPERATORS.values():
        assert pickle.loads(pickle.dumps(op)) is op


@pytest.mark.parametrize(
    ("a", "b", "want"),
    [
        (0.0, -0.0, True),
        (NAN, NAN, True),
        (INF, INF, True),
        (INF, -INF, False),
        (NAN, 0.0, False),
        (1, 1.0, False),
        (1, True, False),
        (0, 0, True),
    ],
)
def test_same_scalar(a: Scalar, b: Scalar, want: bool) -> None:
    assert same_scalar(a, b) is want
    assert same_scalar(b, a) is want
