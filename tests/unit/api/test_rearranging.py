"""Rearranging operations: shapes, types and formats of results, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import finchsched.api as fs
from finchsched.errors import DtypeError, IndexError, LazyValueError, ShapeMismatchError
from finchsched.formats.coordinates import from_coordinates
from finchsched.formats.levels import SparseList
from finchsched.settings import config

D = np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 0.0, 3.0, 0.0], [4.0, 5.0, 0.0, 6.0]])
A = fs.asarray(sp.csr_array(D))
C = fs.asarray(sp.csc_array(D))
T = fs.asarray(np.arange(24.0).reshape(2, 3, 4)).asformat("csf")
L = fs.lazy(A)


@pytest.fixture(autouse=True)
def uncompiled() -> Iterator[None]:
    with config(backend="python"):
        yield


# ---------------------------------------------------------------------------------------------- formats


@pytest.mark.parametrize(
    "result, expected",
    [
        (A[1:], "csr"),
        (A[::-1, 1:3], "csr"),
        (A[[2, 0]], "csr"),
        (A[:, [2, 0, 0]], "csr"),
        (C[1:], "csc"),
        (fs.flip(C), "csc"),
        (fs.roll(C, 1, axis=0), "csc"),
        (fs.concat([C, C]), "csc"),
        (fs.concat([A, C]), "csr"),
        (fs.stack([A, A])[0], "csr"),
        (fs.tile(A, (2, 1)), "csr"),
        (fs.tril(A), "csr"),
        (A[1], "SparseList(Element)"),
        (A[:, 1], "SparseList(Element)"),
        (A[A > 1], "SparseList(Element)"),
        (A.flatten(), "SparseList(Element)"),
        (A.reshape(4, 3), "csr"),
        (C.reshape(4, 3), "csc"),
        (A.asformat("dcsr")[1:], "dcsr"),
        (A.asformat("dcsr").reshape(4, 3), "dcsr"),
        (T[1:], "csf"),
        (T[:, None], "csf"),
        (T.reshape(4, 2, 3), "csf"),
        (T[0], "dcsr"),
        (fs.stack([A, A]), "Dense(Dense(SparseList(Element)))"),
        (fs.asarray(D)[1:, [0, 1]], "dense"),
        (fs.concat([D, A]), "csr"),
        (fs.asarray(D)[1, 1], "dense"),
        (A[1, 1], "dense"),
    ],
)
def test_the_kind_of_format_is_kept(result: fs.Tensor, expected: str) -> None:
    assert result.format == expected


def test_narrow_index_arrays_where_they_fit() -> None:
    wide = fs.Tensor(from_coordinates([np.array([1, 5])], np.ones(2), (9,), (SparseList(),), (0,), fill=0.0))
    for result in (wide[1:], wide.reshape(3, 3), fs.concat([wide, wide]), fs.flip(wide)):
        assert {b.dtype.name for b in (*result.data.pos, *result.data.crd) if b is not None} == {"int32"}


def test_results_are_copies() -> None:
    values = np.ones((2, 2))
    x = fs.asarray(values)
    matrix = sp.csr_array(D)
    y = fs.asarray(matrix)
    results = [x[:1], x[...], x.reshape(4), fs.flip(x), y[...], y[1:], y.reshape(2, 6), fs.roll(y, 0)]
    before = [result.to_numpy(copy=True) for result in results]
    values[:] = 7.0
    matrix.data[:] = 7.0
    for result, expected in zip(results, before, strict=True):
        np.testing.assert_array_equal(result.to_numpy(), expected)
        assert not result.data.val.flags.writeable


def test_stored_zeros_stay_stored() -> None:
    x = fs.asarray(sp.csr_array((np.array([0.0, 1.0]), np.array([1, 0]), np.array([0, 1, 2]))))
    assert (x[0].nnz, x.reshape(4).nnz, fs.concat([x, x]).nnz, fs.tril(x).nnz) == (1, 2, 4, 1)
    assert [found.to_numpy().tolist() for found in fs.nonzero(x)] == [[1], [0]]


# ---------------------------------------------------------------------------------------------- lazy


def test_lazy_shapes_and_types() -> None:
    assert L[1:, None].shape == (2, 1, 4)
    assert L.reshape(-1, 6).shape == (2, 6)
    assert (L[0].dtype, L.argmin().dtype) == (np.float64, np.int64)
    assert fs.concat([fs.lazy(np.ones(2, np.int64)), np.ones(1, np.float32)]).dtype == np.float64
    assert fs.stack([L, L], axis=-1).shape == (3, 4, 2)
    assert L.argmax(axis=0, keepdims=True).shape == (1, 4)
    assert L[D > 1].shape == (5,)
    assert len(L) == 3
    assert [row.shape for row in L] == [(4,)] * 3


@pytest.mark.parametrize(
    "use",
    [
        lambda: L[L > 0],
        lambda: A[L > 0],
        lambda: L[1:, L[0] > 0],
        lambda: fs.nonzero(L),
        lambda: fs.argwhere(L),
        lambda: fs.repeat(A, fs.lazy(np.array([1, 2, 3])), axis=0),
        lambda: A.reshape(fs.lazy(np.array([12]))),
    ],
)
def test_shapes_that_depend_on_lazy_values_are_refused(use: Any) -> None:
    with pytest.raises(LazyValueError, match="compute"):
        use()


def test_lazy_index_arrays() -> None:
    rows = fs.lazy(np.array([2, -1, 0])) * 1
    np.testing.assert_array_equal(fs.compute(A[rows]).to_numpy(), D[[2, -1, 0]])
    np.testing.assert_array_equal(fs.compute(L[:, fs.lazy(np.array(1))]).to_numpy(), D[:, 1])
    with pytest.raises(IndexError, match="index 6 is out of bounds for axis 0 with extent 3"):
        fs.compute(A[rows * 3])


# ---------------------------------------------------------------------------------------------- subscripts


@pytest.mark.parametrize(
    "key, message",
    [
        (3, "index 3 is out of bounds for axis 0 with extent 3"),
        (-4, "index -4 is out of bounds for axis 0"),
        ((0, 4), "index 4 is out of bounds for axis 1 with extent 4"),
        ([0, 3], "index 3 is out of bounds for axis 0"),
        (np.array([2**63], np.uint64), "out of bounds"),
        ((0, 0, 0), "takes 3 axes; the array has 2"),
        ((..., ...), "one Ellipsis"),
        (1.5, "found a float"),
        ("a", "found a str"),
        (np.float64(1.0), "found a float64"),
        (object(), "found a object"),
        (np.array([0.5]), "an array of float64"),
        (fs.asarray([0.5]), "an array of float64"),
        (fs.lazy(fs.asarray([0.5])), "a lazy array of float64"),
        ([[0], [0, 1]], "makes no array"),
        (slice(None, None, 0), "step 0"),
        (slice(0, 1.5), "the bound 1.5"),
        (np.array([True, False]), "axis 0 has 3, the mask 2"),
        ((slice(None), np.array([True] * 5)), "axis 1 has 4, the mask 5"),
        (np.ones((3, 3), bool), "axis 1 has 4, the mask 3"),
        (np.ones((3, 4, 1), bool), "takes 3 axes"),
        (sp.csr_array(np.ones((2, 2), bool)), "axis 0 has 3, the mask 2"),
        (([0, 1], [0, 1, 2]), "do not broadcast"),
    ],
)
def test_subscripts_that_do_not_fit(key: Any, message: str) -> None:
    for array in (A, L, fs.asarray(D)):
        with pytest.raises(IndexError, match=message) as caught:
            array[key]
        assert isinstance(caught.value, IndexError)


@pytest.mark.parametrize(
    "key",
    [
        np.int64(1),
        np.array(1),
        fs.asarray(np.array(-1)),
        fs.asarray(np.array([1, 0])),
        [],
        range(2),
        True,
        np.False_,
        fs.asarray(True),
        (),
        sp.csr_array(D > 1),
        fs.asarray(sp.csr_array(D > 1)),
        (slice(None), [True, False, True, True]),
        ([0, 1], slice(None), None, [1, 2])[:2],
    ],
    ids=repr,
)
def test_what_may_stand_in_brackets(key: Any) -> None:
    plain = key.to_numpy() if isinstance(key, fs.Tensor) else key.toarray() if sp.issparse(key) else key
    for array in (A, C, fs.asarray(D)):
        result = array[key]
        assert isinstance(result, fs.Tensor)
        assert result.shape == D[plain].shape
        np.testing.assert_array_equal(result.to_numpy(), D[plain])


def test_length_and_iteration() -> None:
    for array in (A, C, T, fs.asarray(D)):
        assert len(array) == array.shape[0]
        for piece, expected in zip(array, array.to_numpy(), strict=True):
            np.testing.assert_array_equal(piece.to_numpy(), expected)
    scalar = A[0, 0]
    assert isinstance(scalar, fs.Tensor)
    assert scalar.item() == 1.0
    with pytest.raises(TypeError, match="no length"):
        len(scalar)
    with pytest.raises(TypeError, match="iterated"):
        iter(scalar)


# ---------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "use, error, message",
    [
        (lambda: A.reshape(5, -1), ShapeMismatchError, r"12 elements, 5 of them beside the -1"),
        (lambda: A.reshape(5, 2), ShapeMismatchError, "that shape has 10"),
        (lambda: A.reshape(-1, -1), ShapeMismatchError, "one may be -1"),
        (lambda: A.reshape(-2, 6), ShapeMismatchError, "at least 0"),
        (lambda: A.reshape(2.0, 6), DtypeError, "an extent must be an integer; found 2.0"),
        (lambda: fs.concat([]), ShapeMismatchError, "nothing to join"),
        (lambda: fs.stack([]), ShapeMismatchError, "nothing to stack"),
        (lambda: fs.concat([A, T]), ShapeMismatchError, "array 1"),
        (lambda: fs.concat([A, A[:, :2]]), ShapeMismatchError, r"array 1 \(3, 2\)"),
        (lambda: fs.concat([A[0, 0], A[0, 0]]), ShapeMismatchError, "without axes"),
        (lambda: fs.concat([A, A], axis=2), ShapeMismatchError, "axis 2 does not exist"),
        (lambda: fs.concat([A, A], fill_value="x"), DtypeError, "must be a number"),
        (lambda: fs.stack([A, A[1:]]), ShapeMismatchError, "have one shape"),
        (lambda: fs.stack([A, A], axis=3), ShapeMismatchError, "axis 3 does not exist"),
        (lambda: fs.flip(A, axis=(0, -2)), ShapeMismatchError, "an axis twice"),
        (lambda: fs.roll(A, (1, 2, 3), axis=(0, 1)), ShapeMismatchError, "found 3 and 2 axes"),
        (lambda: fs.repeat(A, [1, 2], axis=0), ShapeMismatchError, "each of the 3 coordinates of axis 0; found 2"),
        (lambda: fs.repeat(A, -1, axis=0), ShapeMismatchError, "must not be negative"),
        (lambda: fs.tile(A, -1), ShapeMismatchError, "must not be negative"),
        (lambda: fs.tril(A[0]), ShapeMismatchError, "2 axes or more"),
        (lambda: fs.unstack(A[0, 0]), ShapeMismatchError, "no pieces"),
        (lambda: fs.nonzero(A[0, 0]), ShapeMismatchError, "without axes"),
        (lambda: A[:0].argmin(), ShapeMismatchError, "argmin of no elements"),
        (lambda: A.argmax(axis=2), ShapeMismatchError, "axis 2 does not exist"),
    ],
)
def test_refusals(use: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        use()


# ---------------------------------------------------------------------------------------------- fills


def sparse(values: Any, at: Any, shape: tuple[int, ...], fill: float = 0.0) -> fs.Tensor:
    levels = (SparseList(),) * len(shape)
    at = [np.array(c) for c in at]
    return fs.Tensor(from_coordinates(at, np.array(values), shape, levels, range(len(shape)), fill=fill))


def test_joined_fills() -> None:
    x, y = sparse([4.0], [[0]], (3,), np.nan), sparse([2.0], [[1]], (3,))
    joined = fs.concat([x, y])
    assert np.isnan(joined.fill_value)
    np.testing.assert_array_equal(joined.to_numpy(), [4, np.nan, np.nan, 0, 2, 0])
    assert joined.nnz == 4
    other = fs.concat([x, y], fill_value=0)
    assert (other.fill_value, other.nnz) == (0.0, 4)
    assert fs.concat([np.ones(2), x]).nnz == 3  # a dense array has no fill of its own
    same = fs.concat([x, sparse([1.0], [[0]], (2,), float("nan"))])
    assert same.nnz == 2


def test_triangles_of_another_fill() -> None:
    x = sparse([4.0], [[0], [1]], (2, 2), 1.0)
    np.testing.assert_array_equal(fs.tril(x).to_numpy(), [[1, 0], [1, 1]])
    assert fs.tril(x).format == "dense"


def test_first_of_equal_extremes() -> None:
    x = sparse([0.0, -1.0, 0.0, 2.0], [[0, 0, 1, 2], [1, 3, 0, 0]], (4, 4))
    expected = x.to_numpy()
    for axis in (None, 0, 1):
        np.testing.assert_array_equal(x.argmin(axis=axis).to_numpy(), expected.argmin(axis=axis))
        np.testing.assert_array_equal(x.argmax(axis=axis).to_numpy(), expected.argmax(axis=axis))
