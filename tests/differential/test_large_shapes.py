"""Shapes far beyond memory: results in time and space of the stored entries, or a refusal that says why."""

import numpy as np
import pytest

import finchsched as fs
from finchsched.algebra.dtypes import INT64
from finchsched.errors import DensifyError
from finchsched.formats.checks import check_tensor
from finchsched.formats.coordinates import coordinates_of, from_coordinates
from finchsched.formats.levels import Dense, SparseList

EXTENT = 1 << 41
PLACES = [np.array([3, 1 << 40]), np.array([2, 9])]


@pytest.fixture(autouse=True, params=["python", "numba"])
def backend(request):
    with fs.config(backend=request.param):
        yield


@pytest.fixture
def huge():
    levels = (SparseList(INT64, INT64),) * 2
    made = from_coordinates(PLACES, np.array([1.0, 2.0]), (EXTENT, EXTENT), levels, (0, 1), fill=0.0)
    return fs.asarray(made)


def test_maps_and_sums_cost_what_is_stored(huge):
    assert (huge + huge).data.val.tolist() == [2.0, 4.0]
    assert (huge * huge).data.val.tolist() == [1.0, 4.0]
    assert huge.sum().item() == 3.0 and huge.max().item() == 2.0 and huge.min().item() == 0.0
    assert [c.tolist() for c in coordinates_of((huge + huge).data)] == [p.tolist() for p in PLACES]


def test_a_gap_of_empty_rows_counts_as_one(huge):
    assert (huge + 2.5).sum().item() == 2.5 * 2.0**82
    assert (huge + 1).prod().item() == 6.0
    assert (huge - 1).max().item() == 1.0
    wide = huge + np.inf
    assert wide.min().item() == np.inf


def test_a_gap_of_empty_rows_of_no_columns_counts_for_nothing():
    levels = (SparseList(), SparseList())
    empty = from_coordinates([np.zeros(0, int)] * 2, np.zeros(0), (EXTENT, 0), levels, (0, 1), fill=0.0)
    nothing = fs.asarray(empty)
    assert (nothing + np.inf).sum().item() == 0.0
    assert (nothing + 3).prod().item() == 1.0


def test_integers_wrap_around_in_counts():
    levels = (SparseList(INT64, INT64),) * 2
    ones = fs.asarray(from_coordinates(PLACES, np.array([1, 2]), (EXTENT, EXTENT), levels, (0, 1), fill=0)) + 1
    assert ones.sum().item() == 3 + (1 << 82) % (1 << 64)


def test_a_product_of_hypersparse_matrices(huge):
    assert (huge @ huge).nnz == 0
    square = huge @ huge.T
    assert [c.tolist() for c in coordinates_of(square.data)] == [PLACES[0].tolist()] * 2
    assert square.data.val.tolist() == [1.0, 4.0]


def test_a_transposed_copy(huge):
    total = huge + huge.T
    assert total.nnz == 4 and total.sum().item() == 6.0


def test_what_must_be_dense_is_refused(huge):
    with pytest.raises(DensifyError, match="more than the limit"):
        huge.to_numpy()
    with pytest.raises(DensifyError, match="hint"):
        np.asarray(huge)


def test_a_dense_result_names_the_limit():
    levels = (Dense(), SparseList(INT64, INT64))
    rows = from_coordinates([np.array([0]), np.array([5])], np.ones(1), (1 << 20, 1 << 20), levels, (0, 1), fill=0.0)
    with pytest.raises(DensifyError, match=r"would be dense: 1099511627776 elements.*\n.*densify"):
        fs.asarray(rows) + np.ones(1 << 20)


@pytest.mark.parametrize("text, fill", [("C[i,j] += A[i,k] * B[k,j]", 0.0), ("C[i,j] min= A[i,k] + B[j,k]", np.inf)])
def test_products_of_hypersparse_matrices_list_their_terms(text, fill):
    rng = np.random.default_rng(8)
    names = np.sort(rng.integers(0, EXTENT, 12))
    small = [np.unique(rng.integers(0, 12, (2, 40)), axis=1) for _ in range(2)]
    values = [rng.integers(1, 9, at.shape[1]).astype(float) for at in small]
    pairs = list(zip(small, values, strict=True))
    A, B = (fs.from_coo(names[at], val, (EXTENT, EXTENT), fill_value=fill) for at, val in pairs)
    plan = fs.plan(text, A=A, B=B)
    assert "by sort" in plan.loops
    a, b = np.full((2, 12, 12), fill)
    a[tuple(small[0])], b[tuple(small[1])] = values
    expected = (a[:, None, :] + b[None, :, :]).min(axis=2) if fill else a @ b
    result = plan.run()
    assert result.format == "coo"
    got = np.full((12, 12), fill)
    got[tuple(np.searchsorted(names, at) for at in coordinates_of(result.data))] = result.data.val
    np.testing.assert_allclose(got, expected)
    check_tensor(result.data)


def test_a_listed_product_grows(huge):
    n = 400
    column = fs.from_coo(np.stack([np.arange(n) * (EXTENT // n), np.zeros(n, int)]), np.ones(n), (EXTENT, EXTENT))
    square = column @ column.T
    assert square.nnz == n * n and square.sum().item() == n * n
