"""Whole kernels, compiled and as Python, against SciPy and NumPy."""

import numpy as np
import pytest

from finchsched.algebra.dtypes import FLOAT32, INT64, UINT32, UINT64
from finchsched.backend.load import load_kernel
from finchsched.errors import KernelError
from finchsched.settings import config
from unit.backend import sample_kernels as sample

BACKENDS = ("numba", "python")


def status_row():
    return np.zeros(8, np.int64)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("licensed", [True, False])
def test_spmv(backend, licensed):
    A = sample.random_csr(50, 40, 6, 0)
    x, y = np.random.default_rng(1).random(40), np.full(50, -1.0)
    load_kernel(sample.spmv(licensed), backend=backend).call(10, 45, status_row(), *sample.buffers_of(A), x, y)
    np.testing.assert_allclose(y[10:45], (A @ x)[10:45])
    assert (y[:10] == -1).all() and (y[45:] == -1).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_empty_range_and_empty_buffers(backend):
    empty_i, empty_f = np.zeros(0, np.int64), np.zeros(0)
    load_kernel(sample.spmv(), backend=backend).call(0, 0, status_row(), empty_i, empty_i, empty_f, empty_f, empty_f)
    load_kernel(sample.spmv(), backend=backend).call(5, 3, status_row(), empty_i, empty_i, empty_f, empty_f, empty_f)


@pytest.mark.parametrize("backend", BACKENDS)
def test_union(backend):
    A, B = sample.random_csr(60, 30, 5, 2), sample.random_csr(60, 30, 7, 3)
    room = A.nnz + B.nnz
    ptr, crd, val, status = np.zeros(61, np.int64), np.zeros(room, np.int64), np.zeros(room), status_row()
    kernel = load_kernel(sample.union(), backend=backend)
    kernel.call(0, 60, status, *sample.buffers_of(A), *sample.buffers_of(B), ptr, crd, val)
    C = A + B
    assert status[0] == 7 and status[1] == C.nnz
    np.testing.assert_array_equal(ptr, C.indptr)
    np.testing.assert_array_equal(crd[: C.nnz], C.indices)
    np.testing.assert_array_equal(val[: C.nnz], C.data)


def arrays_to_sort(rng, dtype):
    for n in [*range(0, 60), 95, 96, 97, 191, 193, 1000, 4096, 5001]:
        top = np.iinfo(dtype).max if np.issubdtype(dtype, np.integer) else 1 << 20
        yield rng.integers(0, top, n).astype(dtype)
        yield np.sort(rng.integers(0, top, n)).astype(dtype)
        yield np.sort(rng.integers(0, top, n))[::-1].astype(dtype)
        yield rng.integers(0, 3, n).astype(dtype)
        yield np.full(n, 5, dtype)


@pytest.mark.parametrize("dtype", [INT64, UINT32, FLOAT32])
def test_sort_range_compiled(dtype):
    rng = np.random.default_rng(4)
    kernel = load_kernel(sample.sort(dtype), backend="numba")
    for values in arrays_to_sort(rng, dtype.numpy.type):
        keys = np.concatenate([values[:0], np.array([9], dtype.numpy), values, np.array([0], dtype.numpy)])
        scratch = np.zeros(len(values) + 1, dtype.numpy)
        kernel.call(1, 1 + len(values), status_row(), keys, scratch)
        np.testing.assert_array_equal(keys[1:-1], np.sort(values))
        assert keys[0] == 9 and keys[-1] == 0 and scratch[-1] == 0


def test_sort_range_as_python():
    rng = np.random.default_rng(5)
    kernel = load_kernel(sample.sort(), backend="python")
    for n in (0, 1, 2, 23, 24, 25, 49, 130):
        values = rng.integers(0, 50, n)
        keys = values.copy()
        kernel.call(0, n, status_row(), keys, np.zeros(n, np.int64))
        np.testing.assert_array_equal(keys, np.sort(values))
    kernel.call(3, 1, status_row(), keys, np.zeros(3, np.int64))


def test_sort_range_of_many_is_fast():
    n = 1 << 18
    kernel = load_kernel(sample.sort(), backend="numba")
    for keys in (np.arange(n)[::-1].copy(), np.tile([1, 2], n // 2), np.random.default_rng(6).integers(0, n, n)):
        expected = np.sort(keys)
        kernel.call(0, n, status_row(), keys, np.zeros(n, np.int64))  # a quadratic sort would take a minute
        np.testing.assert_array_equal(keys, expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [INT64, UINT32, UINT64])
def test_search(backend, dtype):
    kernel = load_kernel(sample.search(dtype), backend=backend)
    rng = np.random.default_rng(7)
    for n in (0, 1, 2, 3, 4, 7, 8, 33):
        values = np.sort(rng.integers(0, 40, n)).astype(dtype.numpy)
        keys = np.array([*range(42), 2**32, 2**64 - 1], np.uint64)
        for start, stop in {(0, n), (n // 2, n), (0, n // 2), (n // 3, n // 3)}:
            out = np.zeros(len(keys), np.uint64)
            kernel.call(0, len(keys), status_row(), start, stop, values, keys, out)
            np.testing.assert_array_equal(out, start + np.searchsorted(values[start:stop].astype(np.uint64), keys))


def test_the_settings_choose_the_backend():
    with config(backend="python"):
        assert load_kernel(sample.dot()).call.__module__ == "finchsched.backend.python_runner"
    assert load_kernel(sample.dot()).call.__module__ != "finchsched.backend.python_runner"


def test_python_runner_checks_buffers():
    kernel = load_kernel(sample.dot(), backend="python")
    x, out = np.zeros(3), np.zeros(1)
    with pytest.raises(KernelError, match="buffer x is float32 of shape"):
        kernel.call(0, 3, status_row(), x.astype(np.float32), x, out)
    with pytest.raises(KernelError, match="contiguous"):
        kernel.call(0, 3, status_row(), np.zeros(6)[::2], x, out)
    out.flags.writeable = False
    with pytest.raises(KernelError, match="out is written"):
        kernel.call(0, 3, status_row(), x, x, out)
    with pytest.raises(ValueError, match="argument"):
        kernel.call(0, 3, status_row(), x, x)
