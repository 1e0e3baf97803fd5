"""Every operator on a grid of special values: compiled, as Python, and by `algebra.operators.apply`."""

import itertools

import numpy as np
import pytest

from finchsched.algebra.dtypes import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    UINT8,
    UINT32,
    UINT64,
    cast_scalar,
)
from finchsched.algebra.operators import OPERATORS, apply, result_type
from finchsched.ast.kernel import Buffer, Cast, Const, For, Kernel, Load, Seq, Set, Store, Var
from finchsched.backend.load import load_kernel
from finchsched.errors import DtypeError
from unit.backend.sample_kernels import FIRST, LAST, call, pos

ALL = (BOOL, INT32, INT64, UINT8, UINT32, UINT64, FLOAT32, FLOAT64)
ROUNDED = ("exp", "log", "sin", "cos", "tanh", "pow")


def grid(dtype):
    if dtype.is_bool:
        return np.array([False, True])
    if dtype.is_integer:
        info = np.iinfo(dtype.numpy)
        small = [0, 1, 2, 3, 7, 10, info.max - 1, info.max, info.min]
        return np.array([*small, *([-1, -2, -3, -7, info.min + 1] if info.min else [])], dtype.numpy)
    info = np.finfo(dtype.numpy)
    plain = [0.0, 1.0, 0.5, 2.5, 3.0, 7.0, 0.1, 0.3, 1e-3, 1e10, info.max, info.tiny, info.tiny / 4, np.inf]
    return np.array([*plain, *(-v for v in plain), np.nan], dtype.numpy)


def applicable(dtype):
    """(operator, type of the result) of all that take this type without a cast."""
    for op in OPERATORS.values():
        if op.name.startswith("to_") or op.name == "repeat_mul":
            continue
        try:
            taken, result = result_type(op, *[dtype] * op.arity)
        except DtypeError:
            continue
        if taken == dtype and not (dtype.is_bool and op.name in ("floor", "ceil")):
            yield op, result


def grid_kernel(dtype, ops):
    """The k-th operator writes its part of `same` or `truth`, one element for each pair (x[i], y[i])."""
    x, y, c = Buffer("x", dtype, False), Buffer("y", dtype, False), Buffer("c", BOOL, False)
    same, truth = Buffer("same", dtype, True), Buffer("truth", BOOL, True)
    i, n = pos("i"), pos("n")
    body = []
    for k, (op, result) in enumerate(ops):
        a, b = Load(x, i), Load(y, i)
        args = {1: (a,), 2: (a, b), 3: (Load(c, i), a, b)}[op.arity]
        place = call("add", call("mul", n, Const(k, UINT64)), i)
        body.append(Store(truth if result != dtype else same, place, call(op.name, *args)))
    loop = For(i, FIRST, LAST, Seq(tuple(body)))
    return Kernel("grid", (n,), (x, y, c, same, truth), Seq((loop,)), False)


def run(kernel, backend, *arguments):
    load_kernel(kernel, backend=backend).call(*arguments)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_operators(dtype):
    ops = list(applicable(dtype))
    kernel = grid_kernel(dtype, ops)
    pairs = list(itertools.product(grid(dtype), repeat=2))
    x, y = (np.array(side, dtype.numpy) for side in zip(*pairs, strict=True))
    n = len(x)
    c = np.arange(n) % 3 == 0
    outputs = {}
    for backend in ("numba", "python"):
        same, truth = np.zeros(n * len(ops), dtype.numpy), np.zeros(n * len(ops), bool)
        run(kernel, backend, 0, n, np.zeros(8, np.int64), n, x, y, c, same, truth)
        outputs[backend] = same, truth
    for k, (op, result) in enumerate(ops):
        args = {1: (x,), 2: (x, y), 3: (c, x, y)}[op.arity]
        expected = np.asarray(apply(op, *args))
        assert expected.dtype == result.numpy, op.name
        for backend, (same, truth) in outputs.items():
            got = (truth if result != dtype else same)[k * n : (k + 1) * n]
            compare(op, got, expected, f"{op.name} on {dtype}, {backend}", x, y)


def compare(op, got, expected, what, x, y):
    if op.name == "pow":  # NumPy has a shortcut for scalars whose power(-inf, 0.5) is NaN
        keep = ~((x == -np.inf) & (y == 0.5))
        got, expected = got[keep], expected[keep]
    if op.name in ROUNDED:
        np.testing.assert_allclose(got, expected, rtol=8 * np.finfo(expected.dtype).eps, atol=0, err_msg=what)
    else:
        np.testing.assert_array_equal(got, expected, err_msg=what)


def test_all_operators_are_covered():
    covered = {op.name for dtype in ALL for op, _ in applicable(dtype)}
    assert covered | {"repeat_mul"} == {name for name in OPERATORS if not name.startswith("to_")}


@pytest.mark.parametrize("dtype", [INT64, UINT8, FLOAT32], ids=str)
def test_repeated_products(dtype):
    kernel = grid_kernel(dtype, [(OPERATORS["repeat_mul"], dtype)])
    y = np.array([0, 1, 2, 3, 5, 9, 70], dtype.numpy)
    for value in (0, 1, 3, 251):
        x = np.full(7, value, dtype.numpy)
        for backend in ("numba", "python"):
            out, truth = np.zeros(7, dtype.numpy), np.zeros(1, bool)
            run(kernel, backend, 0, 7, np.zeros(8, np.int64), 7, x, y, np.zeros(7, bool), out, truth)
            expected = apply(OPERATORS["repeat_mul"], x, y)
            np.testing.assert_allclose(out, expected, rtol=1e-6 if dtype.is_float else 0)


def test_casts():
    """Between all pairs of types, through one kernel."""
    sources = {d: Buffer(f"from_{d}", d, False) for d in ALL}
    targets = {d: Buffer(f"into_{d}", d, True) for d in ALL}
    i, k = pos("i"), pos("k")
    pairs = [(s, t) for s in ALL for t in ALL]
    value = {s: np.array([cast_scalar(v, s) for v in (0, 1, 3, 200)], s.numpy) for s in ALL}
    value[INT64] = np.array([-1, 2**53 + 1, -(2**63), 2**40 + 7])
    value[INT32] = np.array([-1, 7, -(2**31), 2**31 - 1], np.int32)
    value[UINT64] = np.array([2**64 - 1, 2**63, 5, 2**40], np.uint64)
    value[FLOAT64] = np.array([0.0, 2.75, 100.5, 3.0000000001])
    value[FLOAT32] = np.array([0.0, 2.75, 100.5, 0.1], np.float32)
    body = [Set(k, Const(0, UINT64))]
    for s, t in pairs:
        store = Store(targets[t], call("add", k, i), Cast(Load(sources[s], i), t))
        body += [For(i, FIRST, LAST, Seq((store,))), Set(k, call("add", k, Const(4, UINT64)))]
    kernel = Kernel("casts", (), (*sources.values(), *targets.values()), Seq(tuple(body)), False)
    for backend in ("numba", "python"):
        out = {t: np.zeros(4 * len(pairs), t.numpy) for t in ALL}
        run(kernel, backend, 0, 4, np.zeros(8, np.int64), *(value[s] for s in ALL), *(out[t] for t in ALL))
        for number, (s, t) in enumerate(pairs):
            got = out[t][4 * number : 4 * number + 4]
            np.testing.assert_array_equal(got, value[s].astype(t.numpy), err_msg=f"{s} to {t}, {backend}")


def test_float_to_int_and_bool_of_special_values():
    x, whole, truth = Buffer("x", FLOAT64, False), Buffer("whole", INT64, True), Buffer("truth", BOOL, True)
    i = pos("i")
    body = Seq((Store(whole, i, Cast(Load(x, i), INT64)), Store(truth, i, Cast(Load(x, i), BOOL))))
    kernel = Kernel("special", (), (x, whole, truth), Seq((For(i, FIRST, LAST, body),)), False)
    values = np.array([np.nan, np.inf, -np.inf, 1e300, -0.0, -2.9, 5e-324])
    for backend in ("numba", "python"):
        out, flags = np.zeros(7, np.int64), np.zeros(7, bool)
        run(kernel, backend, 0, 7, np.zeros(8, np.int64), values, out, flags)
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(out, values.astype(np.int64))
        np.testing.assert_array_equal(flags, values.astype(bool))


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
    kinds = (BOOL, INT64, UINT64, FLOAT32, FLOAT64)
    scalars = tuple(Var(f"s_{d}", d) for d in kinds)
    outs = tuple(Buffer(f"o_{d}", d, True) for d in kinds)
    zero = Const(0, UINT64)
    body = Seq(tuple(Store(o, zero, s) for s, o in zip(scalars, outs, strict=True)))
    kernel = Kernel("scalars", scalars, outs, body, False)
    given = [True, -5, 2**64 - 1, 0.1, 0.1]
    for backend in ("numba", "python"):
        for values in (given, [d.numpy.type(v) for d, v in zip(kinds, given, strict=True)]):
            arrays = [np.zeros(1, d.numpy) for d in kinds]
            run(kernel, backend, 0, 1, np.zeros(8, np.int64), *values, *arrays)
            for d, v, array in zip(kinds, given, arrays, strict=True):
                assert array[0] == d.numpy.type(v)
