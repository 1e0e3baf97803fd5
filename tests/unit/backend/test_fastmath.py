"""Which kernels may reassociate, and that the others do not."""

import numpy as np

from finchsched.backend.emit import emit
from finchsched.backend.fastmath import LICENCE, float_licence
from finchsched.backend.load import load_kernel
from finchsched.backend.numba_compiler import compile_result
from unit.backend import sample_kernels as sample


def test_licence():
    assert float_licence(sample.dot()) == LICENCE
    assert float_licence(sample.dot(licensed=False)) == ()
    assert float_licence(sample.spmv()) == ()  # gathered: faster without
    assert float_licence(sample.union()) == LICENCE


def test_only_licensed_sums_become_vectors():
    licensed, strict = (
        compile_result(emit(k), k).library.get_llvm_str() for k in (sample.dot(), sample.dot(licensed=False))
    )
    assert "reassoc" in licensed and "<4 x double>" in licensed
    assert "reassoc" not in strict


def test_strict_sums_keep_their_order():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=1001), rng.normal(size=1001) * 10.0 ** rng.integers(-8, 8, 1001)
    out, total = np.zeros(1), 0.0
    load_kernel(sample.dot(licensed=False)).call(0, 1001, np.zeros(8, np.int64), x, y, out)
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        total += a * b
    assert out[0] == total


def test_nan_survives_a_licence():
    x = np.array([1.0, np.nan, np.inf, 2.0])
    out = np.zeros(1)
    load_kernel(sample.dot()).call(0, 4, np.zeros(8, np.int64), x, np.ones(4), out)
    assert np.isnan(out[0])
    load_kernel(sample.dot()).call(2, 4, np.zeros(8, np.int64), x, np.ones(4), out)
    assert out[0] == np.inf
