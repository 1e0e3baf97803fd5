"""The interpreter of Kernel IR against NumPy: whole kernels, single operations, and what it refuses."""

import warnings

import numpy as np
import pytest

from finchsched.algebra.dtypes import FLOAT64, INT64, UINT64
from finchsched.algebra.operators import operator
from finchsched.ast.kernel import HI, LO, ONE, STATUS, Apply, Buffer, Const, Kernel, Load, Seq, Set, Store, Var
from finchsched.ast.parse_kernel import parse_kernel
from finchsched.ast.validate_kernel import validate_kernel
from finchsched.errors import KernelError
from finchsched.interpret.kernel import OpCount, run_kernel

U = np.uint64


def run(text, lo=0, hi=1, *, scalars=None, count=None, **buffers):
    """Run a kernel's text; returns the status."""
    kernel = parse_kernel(text)
    validate_kernel(kernel)
    status = np.zeros(8, np.int64)
    run_kernel(kernel, lo, hi, status, scalars or {}, buffers, count=count)
    return status


def evaluate(text, dtype, **scalars):
    """The value of one expression over x and y, both of one type."""
    params = "".join(f"{name}: {value.dtype}, " for name, value in scalars.items())
    out = np.zeros(1, dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(f"kernel f({params}out: mut {out.dtype}[]):\n    out[0] = {text}", scalars=scalars, out=out)
    return out[0]


def random_csr(rng, rows, columns, density=0.3):
    dense = rng.integers(-5, 5, (rows, columns)) * (rng.random((rows, columns)) < density)
    row, column = np.nonzero(dense)
    ptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))])
    return dense.astype(np.float64), ptr.astype(U), column.astype(np.uint32), dense[row, column].astype(np.float64)


SPMV = """\
kernel spmv(alpha: float64, ptr: uint64[], idx: uint32[], val: float64[], x: float64[], y: mut float64[]):
    for i: uint64 in uint64(lo) .. uint64(hi):
        acc: float64 = 0.0
        for p: uint64 in ptr[i] .. ptr[i + 1]:
            acc = acc + val[p] * x[uint64(idx[p])]
        y[i] = alpha * acc
"""


@pytest.mark.parametrize("seed", range(3))
def test_spmv(seed):
    rng = np.random.default_rng(seed)
    dense, ptr, idx, val = random_csr(rng, 6, 9)
    x, y, count = rng.integers(-5, 5, 9).astype(np.float64), np.full(6, 99.0), OpCount()
    run(SPMV, 1, 5, scalars={"alpha": 2.0}, ptr=ptr, idx=idx, val=val, x=x, y=y, count=count)
    assert y[[0, 5]].tolist() == [99.0, 99.0]
    np.testing.assert_array_equal(y[1:5], 2.0 * dense[1:5] @ x)
    nnz = int(ptr[5] - ptr[1])
    assert count == OpCount(loads=2 * 4 + 3 * nnz, stores=4, applies=2 * 4 + 2 * nnz, iterations=4 + nnz)


UNION = """\
kernel union(a_idx: uint32[], a_val: float64[], b_idx: uint32[], b_val: float64[], \
a_ptr: uint64[], idx: mut uint32[], val: mut float64[]):
    p: uint64 = a_ptr[0]
    p_end: uint64 = a_ptr[1]
    q: uint64 = a_ptr[2]
    q_end: uint64 = a_ptr[3]
    r: uint64 = 0
    while (p < p_end) & (q < q_end):
        i: uint32 = a_idx[p]
        j: uint32 = b_idx[q]
        if i == j:
            idx[r] = i
            val[r] = a_val[p] + b_val[q]
            p = p + 1
            q = q + 1
        elif i < j:
            idx[r] = i
            val[r] = a_val[p]
            p = p + 1
        else:
            idx[r] = j
            val[r] = b_val[q]
            q = q + 1
        r = r + 1
    # at most one of the two has anything left
    while p < p_end:
        idx[r] = a_idx[p]
        val[r] = a_val[p]
        p = p + 1
        r = r + 1
    while q < q_end:
        idx[r] = b_idx[q]
        val[r] = b_val[q]
        q = q + 1
        r = r + 1
    status[1] = int64(r)
"""


@pytest.mark.parametrize(
    "density_a, density_b", [(0.0, 0.0), (0.0, 0.5), (0.5, 0.0), (0.5, 0.5), (1.0, 1.0), (0.1, 0.9)]
)
def test_union_of_two_sorted_lists(density_a, density_b):
    rng = np.random.default_rng(7)
    a, b = (np.where(rng.random(20) < d, rng.integers(1, 9, 20), 0).astype(np.float64) for d in (density_a, density_b))
    a_idx, b_idx = (np.flatnonzero(v).astype(np.uint32) for v in (a, b))
    bounds = np.array([0, len(a_idx), 0, len(b_idx)], U)
    idx, val = np.zeros(40, np.uint32), np.zeros(40)
    size = run(UNION, a_idx=a_idx, a_val=a[a_idx], b_idx=b_idx, b_val=b[b_idx], a_ptr=bounds, idx=idx, val=val)[1]
    np.testing.assert_array_equal(idx[:size], np.flatnonzero(a + b))
    np.testing.assert_array_equal(val[:size], (a + b)[a + b != 0])


TRANSPOSE = """\
kernel transpose(rows: uint64, columns: uint64, ptr: uint64[], idx: uint32[], val: float64[], \
t_ptr: mut uint64[], t_idx: mut uint32[], t_val: mut float64[]):
    t_ptr[0 .. columns + 1] = 0
    for p: uint64 in 0 .. ptr[rows]:
        k: uint64 = uint64(idx[p]) + 1
        t_ptr[k] = t_ptr[k] + 1
    for j: uint64 in 0 .. columns:
        t_ptr[j + 1] = t_ptr[j + 1] + t_ptr[j]
    for i: uint64 in 0 .. rows:
        for p in ptr[i] .. ptr[i + 1]:
            j2: uint64 = uint64(idx[p])
            q: uint64 = t_ptr[j2]
            t_idx[q] = uint32(i)
            t_val[q] = val[p]
            t_ptr[j2] = q + 1
    j3: uint64 = columns
    while j3 > 0:
        t_ptr[j3] = t_ptr[j3 - 1]
        j3 = j3 - 1
    t_ptr[0] = 0
"""


def test_transpose_by_counting_sort():
    dense, ptr, idx, val = random_csr(np.random.default_rng(3), 8, 5)
    out = {"t_ptr": np.full(6, 77, U), "t_idx": np.zeros(len(idx), np.uint32), "t_val": np.zeros(len(idx))}
    run(TRANSPOSE, scalars={"rows": 8, "columns": 5}, ptr=ptr, idx=idx, val=val, **out)
    column, row = np.nonzero(dense.T)
    np.testing.assert_array_equal(out["t_ptr"], np.searchsorted(column, np.arange(6)))
    np.testing.assert_array_equal(out["t_idx"], row)
    np.testing.assert_array_equal(out["t_val"], dense.T[column, row])


def test_search_is_the_first_position_not_below_the_key():
    text = """\
kernel f(key: uint64, a: uint64, b: uint64, x: uint32[], out: mut uint64[]):
    p: uint64 = search(x[a .. b], key)
    out[0] = p"""
    x, out = np.array([9, 1, 3, 3, 7, 0], np.uint32), np.zeros(1, U)
    for key in range(9):
        run(text, scalars={"key": key, "a": 1, "b": 5}, x=x, out=out)
        assert out[0] == 1 + np.searchsorted(x[1:5], key)
    run(text, scalars={"key": 0, "a": 4, "b": 2}, x=x, out=out)
    assert out[0] == 2
    run(text, scalars={"key": 0, "a": 90, "b": 90}, x=x, out=out)
    assert out[0] == 90
    with pytest.raises(KernelError, match=r"search in x\[0 \.\. 3\], which is not sorted"):
        run(text, scalars={"key": 0, "a": 0, "b": 3}, x=x, out=out)


def test_sort_and_memset_touch_their_range_only():
    text = """\
kernel f(n: uint64, x: mut uint32[], tmp: mut uint32[], y: mut float64[]):
    sort(x[1 .. n], tmp)
    y[1 .. n] = 2.5
    y[3 .. 1] = 9.0"""
    x, tmp, y, count = np.array([9, 5, 8, 7, 1], np.uint32), np.zeros(3, np.uint32), np.zeros(5), OpCount()
    run(text, scalars={"n": 4}, x=x, tmp=tmp, y=y, count=count)
    assert x.tolist() == [9, 5, 7, 8, 1]
    assert y.tolist() == [0, 2.5, 2.5, 2.5, 0]
    assert count == OpCount(loads=6, stores=9, applies=6)
    with pytest.raises(KernelError, match="scratch tmp of 3 elements cannot sort 4"):
        run(text, scalars={"n": 5}, x=x, tmp=tmp, y=y)


def test_return_sets_the_status_and_leaves_from_inside_loops():
    text = """\
kernel f(n: uint64, y: mut float64[]):
    for i: uint64 in 0 .. 10:
        while True:
            y[i] = 1.0
            if i == n:
                block:
                    return 40: int64 + int64(i)
                y[0] = 5.0
            else:
                i2: uint64 = i + 1
                for j: uint64 in i2 .. 3:
                    return -1: int64
    y[9] = 3.0"""
    y = np.zeros(10)
    assert run(text, scalars={"n": 2}, y=y)[0] == -1
    assert run(text, scalars={"n": 0}, y=y)[0] == 40
    assert y.tolist() == [1.0] + [0.0] * 9
    status = np.full(2, 7)
    run_kernel(parse_kernel("kernel f():\n    lo = hi"), 0, 1, status, {}, {})
    assert status.tolist() == [7, 7]


def test_bounds_of_a_loop_are_evaluated_once():
    y = np.zeros(1)
    run(
        """\
kernel f(n: uint64, y: mut float64[]):
    for i: uint64 in 0 .. n:
        n = n + 5
        y[0] = y[0] + float64(i)""",
        scalars={"n": 4},
        y=y,
    )
    assert y[0] == 0 + 1 + 2 + 3


def test_unsigned_integers_wrap_around_without_warnings():
    assert evaluate("x - y", U, x=U(2), y=U(5)) == U(2**64 - 3)
    assert evaluate("x + y", U, x=U(2**64 - 1), y=U(2)) == 1
    assert evaluate("x * y", U, x=U(2**63), y=U(2)) == 0
    assert evaluate("neg(x)", U, x=U(1)) == U(2**64 - 1)
    assert evaluate("x + y", np.uint8, x=np.uint8(255), y=np.uint8(255)) == 254
    assert evaluate("x + y", np.int64, x=np.int64(2**63 - 1), y=np.int64(1)) == -(2**63)
    assert evaluate("uint32(x)", np.uint32, x=U(2**32 + 3)) == 3
    assert evaluate("uint64(x)", U, x=np.int64(-1)) == U(2**64 - 1)
    assert evaluate("x > y", np.bool_, x=U(2**63 + 1), y=U(2**63))


@pytest.mark.parametrize("dtype", [np.uint64, np.int64, np.uint32, np.int32])
def test_integer_division_by_zero_is_zero(dtype):
    x, zero = dtype(7), dtype(0)
    assert evaluate("x // y", dtype, x=x, y=zero) == 0
    assert evaluate("x % y", dtype, x=x, y=zero) == 0


def test_floats_follow_numpy():
    nan, one = np.float64(np.nan), np.float64(1)
    for text in ("min(x, y)", "min(y, x)", "max(x, y)", "max(y, x)"):
        assert np.isnan(evaluate(text, np.float64, x=nan, y=one))
    assert evaluate("x / y", np.float64, x=-one, y=np.float64(0)) == -np.inf
    assert evaluate("-7: int64 // 2: int64", np.int64) == -4
    assert evaluate("-7.5 % 2.0", np.float64) == 0.5
    assert np.signbit(evaluate("-0.0", np.float64))
    assert evaluate("x + y", np.float32, x=np.float32(2**24), y=np.float32(1)) == 2**24
    assert evaluate("float32(x)", np.float32, x=np.float64(1e300)) == np.inf
    assert evaluate("where(x < y, x, y)", np.float64, x=one, y=nan) is not one
    assert evaluate("isnan(x) | (x < y)", np.bool_, x=nan, y=one)


@pytest.mark.parametrize("name", ["abs", "floor", "ceil", "sign", "not"])
@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.uint8])
def test_unary_operations_keep_the_type(name, dtype):
    value = evaluate(f"{name}(x)", dtype, x=dtype(5))
    assert value == (~dtype(5) if name == "not" else 1 if name == "sign" else 5)


def test_very_deep_expressions():
    x = Buffer("x", UINT64, False)
    chain, total = ONE, LO
    for _ in range(10_000):
        chain, total = Load(x, chain), Apply(operator("add"), (HI, total), INT64)
    p = Var("p", UINT64)
    store = Store(STATUS, Const(1, UINT64), total)
    kernel = Kernel("f", (), (x,), Seq((Set(p, chain), Store(STATUS, p, HI), store)), False)
    status = np.zeros(2, np.int64)
    run_kernel(kernel, 5, 3, status, {}, {"x": np.array([1, 0], U)})
    assert status.tolist() == [0, 30_005]
    assert run_kernel(kernel, 5, 3, status, {}, {"x": np.array([0, 0], U)}) is None
    assert status[0] == 3


@pytest.mark.parametrize(
    "statement, problem",
    [
        ("y[n] = 1.0", "kernel f: index 3 is out of range: buffer y has 3 elements"),
        ("y[n - 4] = 1.0", f"index {2**64 - 1} is out of range: buffer y has 3 elements"),
        ("y[0] = x[n]", "index 3 is out of range: buffer x has 2 elements"),
        ("status[n] = lo", "index 3 is out of range: buffer status has 1 elements"),
        ("if (x[n] > 0.0) & (n < 2):\n        pass", "index 3 is out of range: buffer x"),
        ("q: bool = (n < 2) & (x[n] > 0.0)", "index 3 is out of range: buffer x"),
        ("y[0 .. n + 1] = 0.0", "range 0 .. 4 is out of range: buffer y has 3 elements"),
        ("sort(y[1 .. n + 1], z)", "range 1 .. 4 is out of range: buffer y has 3 elements"),
        ("q: uint64 = search(x[0 .. n], 1)", "range 0 .. 3 is out of range: buffer x has 2 elements"),
    ],
)
def test_positions_out_of_range_are_reported(statement, problem):
    kernel = parse_kernel(f"kernel f(n: uint64, x: float64[], y: mut float64[], z: mut float64[]):\n    {statement}")
    validate_kernel(kernel)
    buffers = {"x": np.zeros(2), "y": np.zeros(3), "z": np.zeros(9)}
    with pytest.raises(KernelError) as caught:
        run_kernel(kernel, 0, 1, np.zeros(1, np.int64), {"n": 3}, buffers)
    assert problem in str(caught.value)


def frozen(array):
    array.flags.writeable = False
    return array


SHARED = np.zeros(4)


@pytest.mark.parametrize(
    "scalars, buffers, problem",
    [
        ({}, {}, "scalars are n; given were none"),
        ({"n": 1, "m": 1}, {}, "scalars are n; given were n, m"),
        ({"n": -1}, {}, "scalar n is uint64, which cannot hold -1"),
        ({"n": "one"}, {}, "scalar n is uint64, which cannot hold 'one'"),
        ({"n": 1}, {"z": SHARED}, "buffers are x, y; given were x, y, z"),
        ({"n": 1}, {"x": np.zeros(2, np.float32)}, r"buffer x is float64\[\], but the array is float32 of rank 1"),
        ({"n": 1}, {"x": np.zeros((2, 2))}, "the array is float64 of rank 2"),
        ({"n": 1}, {"x": np.zeros(2, ">f8")}, "but the array is >f8"),
        ({"n": 1}, {"y": frozen(np.zeros(2))}, "buffer y is written to, but the array is read-only"),
        ({"n": 1}, {"x": SHARED[:3], "y": SHARED[2:]}, "buffers x and y overlap"),
    ],
)
def test_arguments_refused(scalars, buffers, problem):
    kernel = parse_kernel("kernel f(n: uint64, x: float64[], y: mut float64[]):\n    pass")
    good = {"x": frozen(np.zeros(2)), "y": np.zeros(2)}
    run_kernel(kernel, 0, 1, np.zeros(1, np.int64), {"n": np.int32(3)}, good)
    run_kernel(kernel, 0, 1, np.zeros(1, np.int64), {"n": 3}, {"x": SHARED[:2], "y": SHARED[2:]})
    with pytest.raises(KernelError, match=problem):
        run_kernel(kernel, 0, 1, np.zeros(1, np.int64), scalars, {**good, **buffers})


def test_status_is_int64_and_read_only_arrays_may_coincide():
    kernel = parse_kernel("kernel f(x: float64[], y: float64[]):\n    pass")
    x = np.zeros(2)
    run_kernel(kernel, 0, 1, np.zeros(1, np.int64), {}, {"x": x, "y": x})
    with pytest.raises(KernelError, match="buffer status is int64"):
        run_kernel(kernel, 0, 1, np.zeros(1, np.int32), {}, {"x": x, "y": x})


def test_programs_that_are_not_valid_fail_cleanly():
    p, x = Var("p", UINT64), Buffer("x", FLOAT64, False)
    for statement, problem in [
        (Set(p, p), "variable p has no value"),
        (Store(x, ONE, Const(1.0, FLOAT64)), "buffer x is not writable"),
    ]:
        with pytest.raises(KernelError, match=problem):
            run_kernel(
                Kernel("f", (), (x,), Seq((statement,)), False), 0, 1, np.zeros(1, np.int64), {}, {"x": np.zeros(2)}
            )
