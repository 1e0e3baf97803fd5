"""The route through Numba's internals, and the one beside it."""

import numpy as np
import pytest

from finchsched.backend import numba_compiler
from finchsched.backend.emit import KernelSource, emit
from finchsched.backend.numba_compiler import compile_result, signature_text
from unit.backend import sample_kernels as sample


def product(function):
    A, x, y = sample.random_csr(30, 30, 4, 0), np.arange(30.0), np.zeros(30)
    function(0, 30, np.zeros(8, np.int64), *sample.buffers_of(A), x, y)
    return y, A @ x


def test_signature_text():
    assert signature_text(sample.search()) == "uint64, uint64, int64[readonly], uint64[readonly], uint64[]"


def test_the_short_pipeline_is_used(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("fell back to njit")

    monkeypatch.setattr(numba_compiler, "_compile_with_njit", refuse)
    for kernel in (sample.dot(), sample.spmv(licensed=False)):
        result = compile_result(emit(kernel), kernel)
        assert "define ptr @cfunc." not in result.library.get_llvm_str()


def test_the_public_interface_gives_the_same(monkeypatch):
    def refuse(*_):
        raise AttributeError("another Numba")

    monkeypatch.setattr(numba_compiler, "kernel_flags", refuse)
    y, expected = product(compile_result(emit(sample.spmv()), sample.spmv()).entry_point)
    np.testing.assert_allclose(y, expected)


def test_a_kernel_that_would_allocate_is_refused():
    code = "import numpy as np\n\n\ndef dot(lo, hi, status, x, y, out):\n    out[np.uint64(0)] = np.empty(3)[0]\n"
    with pytest.raises(Exception, match=r"empty"):
        compile_result(KernelSource("dot", code, code), sample.dot())


def test_it_runs_without_the_interpreter_lock():
    assert "PyEval_SaveThread" in compile_result(emit(sample.dot()), sample.dot()).library.get_llvm_str()


def test_older_llvm_gets_a_comparison(monkeypatch):
    from llvmlite import binding

    from finchsched.algebra.dtypes import FLOAT64
    from finchsched.backend import intrinsics, load
    from unit.backend.test_spelling import test_reductions_by_minimum_and_maximum as check

    monkeypatch.setattr(binding, "llvm_version_info", (15, 0, 0))
    monkeypatch.setattr(load, "_loaded", {})
    intrinsics.numba_helpers.cache_clear()
    try:
        check(FLOAT64, "min")
        check(FLOAT64, "max")
    finally:
        intrinsics.numba_helpers.cache_clear()
