"""NumPy's ufuncs and functions, called on tensors."""

import numpy as np
import pytest
import scipy.sparse as sp

import finchsched as fs
from finchsched.errors import DensifyError, DtypeError, LazyValueError


@pytest.fixture(autouse=True)
def python_backend():
    with fs.config(backend="python"):
        yield


D = np.array([[0.0, 2.0, 0.0, -1.0], [0.0, 0.0, 0.0, 0.0], [4.0, 0.0, 0.5, 0.0]])
A = fs.asarray(sp.csr_array(D))
X = np.arange(3.0)


def same(got, want, sparse=None):
    assert isinstance(got, fs.Tensor)
    np.testing.assert_allclose(got.to_numpy(), want)
    assert got.dtype == np.asarray(want).dtype
    if sparse is not None:
        assert (got.format != "dense") is sparse


def test_operators_with_an_ndarray_on_the_left():
    same(X @ A, X @ D)
    same(np.ones((2, 3)) @ A, np.ones((2, 3)) @ D)
    same(D + A, D + D)
    same(D * A, D * D, sparse=True)
    same(D - A, D - D)
    same(D / fs.asarray(np.ones_like(D)), D)
    same(D > A, D > D)
    same(np.float32(2) * A, 2 * D, sparse=True)
    same(np.float64(2) - A, 2 - D)


@pytest.mark.parametrize("name", ["sin", "sqrt", "absolute", "negative", "isnan", "floor", "expm1", "square", "sign"])
def test_unary_ufuncs(name):
    with np.errstate(invalid="ignore"):
        same(getattr(np, name)(A), getattr(np, name)(D))


@pytest.mark.parametrize(
    "name", ["add", "subtract", "multiply", "maximum", "hypot", "not_equal", "logical_or", "power"]
)
def test_binary_ufuncs(name):
    ufunc = getattr(np, name)
    for other in (2.0, D, A):
        dense = D if other is A else other
        same(ufunc(A, other), ufunc(D, dense))
        same(ufunc(other, A), ufunc(dense, D))


@pytest.mark.parametrize("axis", [0, 1, None, (0, 1)])
@pytest.mark.parametrize("name", ["add", "multiply", "minimum", "maximum"])
def test_reduce(name, axis):
    same(getattr(np, name).reduce(A, axis=axis), getattr(np, name).reduce(D, axis=axis))


def test_reduce_is_along_the_first_axis_by_default():
    same(np.add.reduce(A), np.add.reduce(D))
    same(np.add.reduce(A, keepdims=True), np.add.reduce(D, keepdims=True))


def test_functions():
    same(np.sum(A, axis=0), D.sum(axis=0))
    same(np.mean(A), D.mean())
    same(np.amax(A, axis=1), D.max(axis=1))
    same(np.transpose(A), D.T, sparse=True)
    same(np.concatenate([A, A]), np.concatenate([D, D]), sparse=True)
    same(np.where(A > 0, A, -A), np.abs(D))
    same(np.einsum("ij,i->j", A, X), X @ D)
    same(np.tensordot(A, X, axes=([0], [0])), X @ D)
    same(np.linalg.norm(A), np.linalg.norm(D))
    same(np.reshape(A, (4, 3)), D.reshape(4, 3), sparse=True)
    assert np.shape(A) == (3, 4)


def test_functions_of_numpy_alone_get_small_dense_arrays():
    assert np.allclose(A, D) and np.array_equal(A, D)
    np.testing.assert_allclose(A, D)
    assert isinstance(np.cumsum(A), np.ndarray)
    huge = fs.asarray(sp.csr_array((1 << 20, 1 << 20)))
    with pytest.raises(DensifyError):
        np.cumsum(huge)


def test_lazy_arrays_stay_lazy():
    for made in (np.sin(fs.lazy(A)), X @ fs.lazy(A), np.sum(fs.lazy(A), axis=0), D + fs.lazy(A)):
        assert isinstance(made, fs.Lazy)
    same(fs.compute(X @ fs.lazy(A)), X @ D)
    with pytest.raises(LazyValueError):
        np.cumsum(fs.lazy(A))


def test_refusals():
    dense = D.copy()
    with pytest.raises(DtypeError, match="cannot write a tensor into a NumPy array"):
        dense += A
    np.testing.assert_array_equal(dense, D)
    with pytest.raises(DtypeError, match=r"np.add.accumulate is not available"):
        np.add.accumulate(A)
    with pytest.raises(DtypeError, match=r"np.spacing is not available"):
        np.spacing(A)
    with pytest.raises(DtypeError, match="does not take where"):
        np.add(A, A, where=D > 0)
