"""Every operator in every element type on a grid of special values: compiled, as Python, by `apply`, and by NumPy."""

import itertools
from functools import cache

import numpy as np
import pytest

from finchsched.algebra.dtypes import (
    BOOL,
    COMPLEX64,
    COMPLEX128,
    ELEMENT_DTYPES,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    UINT8,
    UINT32,
    UINT64,
    cast_scalar,
)
from finchsched.algebra.operators import OPERATORS, apply, cast_target, result_type
from finchsched.ast.kernel import Buffer, Cast, Const, For, Kernel, Load, Seq, Store, Var
from finchsched.ast.status import NEGATIVE_POWER
from finchsched.backend.load import load_kernel
from finchsched.errors import DtypeError
from unit.backend.sample_kernels import FIRST, LAST, call, pos

EXACT = set(
    "add minplus_add maxplus_add sub mul truediv floordiv mod neg positive abs sign square reciprocal "
    "min max fmin fmax eq ne lt le gt ge and or xor not left_shift right_shift "
    "logical_and logical_or logical_xor logical_not sqrt floor ceil trunc round copysign nextafter signbit "
    "isnan isinf isfinite conj real imag where".split()
)
"""Operators of real numbers that agree bit for bit; the others are the C library's, to a few last digits."""
ULPS = 4


def grid(dtype):
    """Special values of a type."""
    if dtype.is_bool:
        return np.array([False, True])
    if dtype.is_integer:
        info = np.iinfo(dtype.numpy)
        small = [0, 1, 2, 3, 7, 10, info.bits - 1, info.bits, info.max - 1, info.max, info.min]
        return np.array([*small, *([-1, -2, -3, -7, info.min + 1] if info.min else [])], dtype.numpy)
    info = np.finfo(dtype.real.numpy)
    plain = [0.0, 1.0, 0.5, 2.5, 3.0, 7.0, 0.1, 0.3, 1e-3, 1e10, info.max, info.tiny, info.tiny / 4, np.inf]
    real = np.array([*plain, *(-v for v in plain), np.nan], dtype.real.numpy)
    return real if dtype.is_float else complex_grid(dtype, real[[0, 1, 2, 3, 8, 9, 10, 13, 14, 15, 17, 24, 27, 28]])


def complex_grid(dtype, parts):
    pairs = np.zeros(len(parts) ** 2, dtype.numpy)
    pairs.real, pairs.imag = np.repeat(parts, len(parts)), np.tile(parts, len(parts))
    return pairs


@cache
def arguments(dtype):
    """(x, y, exponents, conditions): all pairs of the grid, or a sample of them for complex numbers."""
    values = grid(dtype)
    if dtype.is_complex:
        rng = np.random.default_rng(1)
        x, y = np.concatenate([values, rng.choice(values, 600)]), rng.choice(values, len(values) + 600)
    else:
        x, y = (np.array(side, dtype.numpy) for side in zip(*itertools.product(values, repeat=2), strict=True))
    exponents = np.where(y < 0, ~y, y) if dtype.is_integer and not dtype.is_unsigned else y
    return x, y, exponents, np.arange(len(x)) % 3 == 0


def applicable(dtype):
    """(operator, type of the result) of all that take this type without a cast."""
    for op in OPERATORS.values():
        if cast_target(op) is not None or op.name.startswith("repeat_"):
            continue
        given = (BOOL, dtype, dtype) if op.name == "where" else (dtype,) * op.arity
        try:
            taken, result = result_type(op, *given)
        except DtypeError:
            continue
        if taken == given:
            yield op, result


def chosen(op, x, y, exponents, conditions):
    """The arguments of an operator, by its arity."""
    return {1: (x,), 2: (x, exponents if op.name == "pow" else y), 3: (conditions, x, y)}[op.arity]


def grid_kernel(dtype, ops):
    """The k-th operator writes its part of the buffer of its result's type, one element for each pair (x[i], y[i])."""
    x, y, e, c = (Buffer(name, kind, False) for name, kind in zip("xyec", (dtype, dtype, dtype, BOOL), strict=True))
    outs = {kind: Buffer(f"into_{kind}", kind, True) for kind in dict.fromkeys(result for _, result in ops)}
    i, n = pos("i"), pos("n")
    body = []
    for k, (op, result) in enumerate(ops):
        args = tuple(Load(buffer, i) for buffer in chosen(op, x, y, e, c))
        place = call("add", call("mul", n, Const(k, UINT64)), i)
        body.append(Store(outs[result], place, call(op.name, *args)))
    loop = For(i, FIRST, LAST, Seq(tuple(body)))
    return Kernel("grid", (n,), (x, y, e, c, *outs.values()), Seq((loop,)), False)


def run(kernel, backend, *arguments):
    load_kernel(kernel, backend=backend).call(*arguments)


def numpys(op, args):
    """What NumPy's own function gives; None where an operator is no ufunc, or rounds integers, which stay."""
    whole = op.name in ("floor", "ceil", "trunc", "round") and args[0].dtype.kind not in "fc"
    if not op.numpy or whole:
        return None
    with np.errstate(all="ignore"):
        return getattr(np, op.numpy)(*args)


@pytest.mark.parametrize("dtype", ELEMENT_DTYPES, ids=str)
def test_operators(dtype):
    ops = list(applicable(dtype))
    kernel = grid_kernel(dtype, ops)
    held = arguments(dtype)
    n = len(held[0])
    results = {}
    for backend in ("numba", "python"):
        made = {
            buffer.dtype: np.zeros(n * len(ops), buffer.dtype.numpy) for buffer in kernel.buffers if buffer.writable
        }
        run(kernel, backend, 0, n, np.zeros(8, np.int64), n, *held, *made.values())
        results[backend] = made
    for k, (op, result) in enumerate(ops):
        args = chosen(op, *held)
        expected = np.asarray(apply(op, *args))
        assert expected.dtype == result.numpy, op.name
        own = numpys(op, args)
        if own is not None:
            np.testing.assert_array_equal(expected, own, err_msg=op.name)
        for backend, made in results.items():
            compare(op, made[result][k * n : (k + 1) * n], expected, f"{op.name} on {dtype}, {backend}", args)


def compare(op, got, expected, what, args):
    keep = np.ones(len(got), bool)
    if op.name == "pow" and expected.dtype.kind == "f":
        # NumPy has a shortcut for scalars whose power(-inf, 0.5) is NaN
        keep = ~((args[0] == -np.inf) & (args[1] == 0.5))
    if expected.dtype.kind == "c":
        compare_complex(op, got, expected, what, args)
    elif expected.dtype.kind == "f" and (op.name not in EXACT or args[0].dtype.kind == "c"):
        np.testing.assert_array_max_ulp(np.nan_to_num(got[keep]), np.nan_to_num(expected[keep]), ULPS)
        np.testing.assert_array_equal(np.isfinite(got[keep]), np.isfinite(expected[keep]), err_msg=what)
        np.testing.assert_array_equal(np.isnan(got[keep]), np.isnan(expected[keep]), err_msg=what)
    else:
        np.testing.assert_array_equal(got[keep], expected[keep], err_msg=what)


MAY_OVERFLOW = {"mul", "square", "truediv", "pow", "sign", "reciprocal", "log1p"}
"""Functions of complex numbers that overflow on the way in single precision, or by way of other roundings: compiled
kernels calculate in double precision, and NumPy's loops over arrays in fused steps that its scalars do not have."""


def compare_complex(op, got, expected, what, args):
    """Each part, in units in the last place of the whole number; both NaN if one is."""
    keep = np.ones(len(got), bool)
    if op.name in MAY_OVERFLOW:
        large = np.sqrt(np.finfo(got.dtype).max) / 4
        for arg in args:
            size = np.maximum(np.abs(arg.real), np.abs(arg.imag))
            keep &= (size < large) & ((size > 1 / large) | (size == 0))
        if op.name == "pow":  # beyond that the phase has few digits in single precision
            keep &= np.abs(args[1]) < 4
    for part in ("real", "imag"):
        mine, theirs = (getattr(z[keep], part).astype(np.float64) for z in (got, expected))
        finite = np.isfinite(theirs)
        if op.name != "pow":  # the sign of an infinite power is that of a phase with no digits left
            np.testing.assert_array_equal(mine[~finite], theirs[~finite], err_msg=what)
        whole = np.abs(expected[keep][finite].astype(np.complex128))
        unit = np.finfo(got.dtype).eps * np.where(np.isfinite(whole), whole, np.abs(theirs[finite]))
        smallest = float(np.finfo(got.dtype).smallest_subnormal)
        off = np.abs(mine[finite] - theirs[finite])
        allowed = (16 if op.name == "pow" else 1) * 2 * ULPS * unit + ULPS * smallest
        if op.name == "log1p":  # NumPy adds the 1
            allowed += ULPS * np.finfo(got.dtype).eps
        assert (off <= allowed).all(), what


def test_all_operators_are_covered():
    covered = {op.name for dtype in ELEMENT_DTYPES for op, _ in applicable(dtype)}
    assert covered | {"repeat_add", "repeat_mul"} == {name for name in OPERATORS if not name.startswith("to_")}


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("dtype", [INT8, INT64], ids=str)
def test_a_negative_power_of_integers_leaves_the_kernel(dtype, backend):
    x, y, out = Buffer("x", dtype, False), Buffer("y", dtype, False), Buffer("out", dtype, True)
    i = pos("i")
    loop = For(i, FIRST, LAST, Seq((Store(out, i, call("pow", Load(x, i), Load(y, i))),)))
    kernel = Kernel("powers", (), (x, y, out), Seq((loop,)), False)
    status, made = np.zeros(4, np.int64), np.zeros(3, dtype.numpy)
    bases, exponents = np.array([2, 3, 5], dtype.numpy), np.array([3, -1, 1], dtype.numpy)
    run(kernel, backend, 0, 1, status, bases, exponents, made)
    assert (status[0], made[0]) == (0, 8)
    run(kernel, backend, 0, 3, status, bases, exponents, made)
    assert status[0] == NEGATIVE_POWER
    assert made.tolist() == [8, 0, 0]


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_integers_of_both_signs_are_compared_exactly(backend):
    signed = np.array([-1, 0, 1, 2**63 - 1, -(2**63), 2**53 + 1], np.int64)
    unsigned = np.array([2**64 - 1, 0, 1, 2**63, 2**63 - 1, 2**53], np.uint64)
    a, b = (np.array(side) for side in zip(*itertools.product(signed, unsigned), strict=True))
    x, y = Buffer("x", INT64, False), Buffer("y", UINT64, False)
    names = ("eq", "ne", "lt", "le", "gt", "ge")
    outs = [Buffer(f"{name}{n}", BOOL, True) for name in names for n in range(2)]
    i = pos("i")
    pairs = [(Load(x, i), Load(y, i)), (Load(y, i), Load(x, i))]
    stores = [Store(out, i, call(out.name[:2], *pairs[int(out.name[2])])) for out in outs]
    kernel = Kernel("signs", (), (x, y, *outs), Seq((For(i, FIRST, LAST, Seq(tuple(stores))),)), False)
    made = [np.zeros(len(a), bool) for _ in outs]
    run(kernel, backend, 0, len(a), np.zeros(4, np.int64), a, b, *made)
    for out, found in zip(outs, made, strict=True):
        sides = [[int(v) for v in side] for side in ((a, b) if out.name[2] == "0" else (b, a))]
        exact = [getattr(p, f"__{out.name[:2]}__")(q) for p, q in zip(*sides, strict=True)]
        assert found.tolist() == exact, out.name


@pytest.mark.parametrize("dtype", [INT8, UINT64, FLOAT32, COMPLEX64, COMPLEX128], ids=str)
def test_repeated_sums(dtype):
    x, count, out = Buffer("x", dtype, False), Buffer("count", INT64, False), Buffer("out", dtype, True)
    i = pos("i")
    loop = For(i, FIRST, LAST, Seq((Store(out, i, call("repeat_add", Load(x, i), Load(count, i))),)))
    kernel = Kernel("sums", (), (x, count, out), Seq((loop,)), False)
    counts = np.array([1, 2, 3, 70])
    values = [1, 3, 100] if dtype.is_integer else [0.5, np.inf, *([complex(-np.inf, 2.0)] if dtype.is_complex else [])]
    for value in values:
        made = np.zeros(4, dtype.numpy)
        expected = [np.add.reduce(np.full(n, value, dtype.numpy), dtype=dtype.numpy) for n in counts]
        for backend in ("numba", "python"):
            run(kernel, backend, 0, 4, np.zeros(8, np.int64), np.full(4, value, dtype.numpy), counts, made)
            np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("dtype", [INT64, UINT8, UINT64, FLOAT32, COMPLEX64], ids=str)
def test_repeated_products(dtype):
    x, count, out = Buffer("x", dtype, False), Buffer("count", INT64, False), Buffer("out", dtype, True)
    i = pos("i")
    loop = For(i, FIRST, LAST, Seq((Store(out, i, call("repeat_mul", Load(x, i), Load(count, i))),)))
    kernel = Kernel("repeated", (), (x, count, out), Seq((loop,)), False)
    counts = np.array([0, 1, 2, 3, 5, 9, 70])
    for value in (0, 1, 3, 251):
        values, made = np.full(7, value, dtype.numpy), np.zeros(7, dtype.numpy)
        for backend in ("numba", "python"):
            run(kernel, backend, 0, 7, np.zeros(8, np.int64), values, counts, made)
            with np.errstate(all="ignore"):
                expected = [np.prod(np.full(n, value, dtype.numpy), dtype=dtype.numpy) for n in counts]
            finite = np.isfinite(expected)
            assert (np.isfinite(made) == finite).all()
            np.testing.assert_allclose(made[finite], np.array(expected)[finite], rtol=1e-6 if dtype.is_inexact else 0)


def test_casts():
    """Between all pairs of types, through one kernel."""
    sources = {d: Buffer(f"from_{d}", d, False) for d in ELEMENT_DTYPES}
    targets = {d: Buffer(f"into_{d}", d, True) for d in ELEMENT_DTYPES}
    i = pos("i")
    pairs = [(s, t) for s in ELEMENT_DTYPES for t in ELEMENT_DTYPES]
    value = {s: np.array([cast_scalar(v, s) for v in (0, 1, 3, 200)], s.numpy) for s in ELEMENT_DTYPES}
    value[INT64] = np.array([-1, 2**53 + 1, -(2**63), 2**40 + 7])
    value[INT32] = np.array([-1, 7, -(2**31), 2**31 - 1], np.int32)
    value[UINT64] = np.array([2**64 - 1, 2**63, 5, 2**40], np.uint64)
    value[FLOAT64] = np.array([0.0, 2.75, 100.5, 3.0000000001])
    value[FLOAT32] = np.array([0.0, 2.75, 100.5, 0.1], np.float32)
    value[COMPLEX128] = np.array([0.0, 2.75 - 1j, 100.5, 3j])
    stores = [
        Store(targets[t], call("add", Const(4 * number, UINT64), i), Cast(Load(sources[s], i), t))
        for number, (s, t) in enumerate(pairs)
    ]
    loop = For(i, FIRST, LAST, Seq(tuple(stores)))
    kernel = Kernel("casts", (), (*sources.values(), *targets.values()), Seq((loop,)), False)
    for backend in ("numba", "python"):
        out = {t: np.zeros(4 * len(pairs), t.numpy) for t in ELEMENT_DTYPES}
        run(kernel, backend, 0, 4, np.zeros(8, np.int64), *value.values(), *out.values())
        for number, (s, t) in enumerate(pairs):
            got = out[t][4 * number : 4 * number + 4]
            part = value[s].real if s.is_complex and not t.is_complex and not t.is_bool else value[s]
            np.testing.assert_array_equal(got, part.astype(t.numpy), err_msg=f"{s} to {t}, {backend}")


def test_floats_to_integers_and_bools_of_special_values():
    kinds = [d for d in ELEMENT_DTYPES if d.is_integer or d.is_bool]
    x, i = Buffer("x", FLOAT64, False), pos("i")
    outs = [Buffer(f"into_{d}", d, True) for d in kinds]
    body = Seq(tuple(Store(out, i, Cast(Load(x, i), out.dtype)) for out in outs))
    kernel = Kernel("special", (), (x, *outs), Seq((For(i, FIRST, LAST, body),)), False)
    values = np.array([np.nan, np.inf, -np.inf, 1e300, -0.0, -2.9, 5e-324, 300.7, -1.0, 2.0**63, 1e19, -5e9])
    for backend in ("numba", "python"):
        made = [np.zeros(len(values), d.numpy) for d in kinds]
        run(kernel, backend, 0, len(values), np.zeros(8, np.int64), values, *made)
        for found, d in zip(made, kinds, strict=True):
            with np.errstate(invalid="ignore"):  # one by one: NumPy's loops over uint32 differ beyond its range
                expected = [np.asarray(v).astype(d.numpy)[()] for v in values]
            np.testing.assert_array_equal(found, expected, err_msg=f"{d}, {backend}")


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_constants_and_scalars_keep_their_type(backend):
    """float32 stays float32 beside constants and scalars; integers wrap in their own width."""
    x, y = Buffer("x", FLOAT32, False), Buffer("y", FLOAT32, True)
    a, b = Buffer("a", INT64, False), Buffer("b", INT64, True)
    i, s = pos("i"), Const(0.1, FLOAT32)
    scale = Buffer("scale", FLOAT32, False)
    product = call("add", call("mul", Load(x, i), s), call("mul", Load(scale, i), Const(1e-3, FLOAT32)))
    wrapped = call("floordiv", call("mul", Load(a, i), Const(2**62, INT64)), Const(-1, INT64))
    squared = call("pow", product, Const(2.0, FLOAT32))
    body = Seq((Store(y, i, squared), Store(b, i, wrapped)))
    kernel = Kernel("typed", (), (x, scale, y, a, b), Seq((For(i, FIRST, LAST, body),)), False)
    rng = np.random.default_rng(8)
    xs, ss = rng.random(9).astype(np.float32), rng.random(9).astype(np.float32)
    ints = rng.integers(-(2**40), 2**40, 9)
    ints[:2] = [-2, 2]
    out, wide = np.zeros(9, np.float32), np.zeros(9, np.int64)
    run(kernel, backend, 0, 9, np.zeros(8, np.int64), xs, ss, out, ints, wide)
    with np.errstate(all="ignore"):
        expected = xs * np.float32(0.1) + ss * np.float32(1e-3)
        np.testing.assert_array_equal(out, expected * expected)
        np.testing.assert_array_equal(wide, np.floor_divide(ints * np.int64(2**62), np.int64(-1)))


@pytest.mark.parametrize("dtype", [INT64, FLOAT64, FLOAT32, UINT32, BOOL], ids=str)
@pytest.mark.parametrize("name", ["min", "max"])
def test_reductions_by_minimum_and_maximum(dtype, name):
    x, out = Buffer("x", dtype, False), Buffer("out", dtype, True)
    i, zero = pos("i"), Const(0, UINT64)
    loop = For(i, FIRST, LAST, Seq((Store(out, zero, call(name, Load(out, zero), Load(x, i))),)))
    kernel = Kernel("extremum", (), (x, out), Seq((loop,)), True)
    values = np.random.default_rng(9).integers(0, 2 if dtype.is_bool else 1000, 100).astype(dtype.numpy)
    cases = [values]
    if dtype.is_float:
        cases.append(np.where(np.arange(100) == 37, np.nan, values).astype(dtype.numpy))
    for data in cases:
        for backend in ("numba", "python"):
            result = data[:1].copy()
            run(kernel, backend, 0, 100, np.zeros(8, np.int64), data, result)
            np.testing.assert_array_equal(result[0], (np.minimum if name == "min" else np.maximum).reduce(data))


def test_scalar_parameters():
    kinds = (BOOL, INT64, UINT64, FLOAT32, FLOAT64, INT8, COMPLEX64, COMPLEX128)
    scalars = tuple(Var(f"s_{d}", d) for d in kinds)
    outs = tuple(Buffer(f"o_{d}", d, True) for d in kinds)
    zero = Const(0, UINT64)
    body = Seq(tuple(Store(o, zero, s) for s, o in zip(scalars, outs, strict=True)))
    kernel = Kernel("scalars", scalars, outs, body, False)
    given = [True, -5, 2**64 - 1, 0.1, 0.1, -128, 1 + 2j, 0.1 - 3j]
    for backend in ("numba", "python"):
        for values in (given, [d.numpy.type(v) for d, v in zip(kinds, given, strict=True)]):
            arrays = [np.zeros(1, d.numpy) for d in kinds]
            run(kernel, backend, 0, 1, np.zeros(8, np.int64), *values, *arrays)
            for d, v, array in zip(kinds, given, arrays, strict=True):
                assert array[0] == d.numpy.type(v)
