"""Conversions: round trips over every nest, permutation and mask; layouts against SciPy's CSR and CSC."""

from itertools import permutations, product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from finchsched.algebra.dtypes import INT32, INT64, Scalar
from finchsched.ast.format import Level
from finchsched.errors import DtypeError, FormatError, ShapeMismatchError
from finchsched.formats.checks import check_tensor
from finchsched.formats.levels import Dense, SparseByteMap, SparseList
from finchsched.formats.numpy_convert import from_dense, stored_mask, to_dense
from strategies import nest

NAN, INF = float("nan"), float("inf")
LETTERS = "dsc"
KINDS = (Dense(), SparseList(INT32, INT64))


def expected_mask(mask: np.ndarray, levels: tuple[Level, ...], perm: tuple[int, ...]) -> np.ndarray:
    """By definition: a coordinate is stored iff, above every sparse level, something of the mask shares its prefix."""
    held = mask.transpose(perm)
    stored = np.zeros_like(held)
    for at in np.ndindex(held.shape):
        stored[at] = all(held[at[: n + 1]].any() for n, level in enumerate(levels) if not level.stores_all)
    return stored.transpose(np.argsort(perm).astype(int))


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_every_nest_and_permutation(rank: int) -> None:
    rng = np.random.default_rng(rank)
    for letters, perm in product(product(LETTERS, repeat=rank), permutations(range(rank))):
        levels = nest("".join(letters))
        array = rng.normal(size=(2, 3, 4)[:rank])
        mask = rng.random(array.shape) < 0.3
        t = from_dense(array, levels, perm, fill=INF, mask=mask)
        check_tensor(t)
        np.testing.assert_array_equal(to_dense(t), np.where(mask, array, INF))
        np.testing.assert_array_equal(stored_mask(t), expected_mask(mask, levels, perm))


@given(
    st.lists(st.integers(0, 3), max_size=4).flatmap(
        lambda shape: st.tuples(
            st.just(tuple(shape)),
            st.permutations(range(len(shape))),
            st.text(LETTERS, min_size=len(shape), max_size=len(shape)),
            st.integers(0, 2**32 - 1),
        )
    ),
    st.sampled_from([(np.float64, 0.0), (np.float32, NAN), (np.int64, 1), (np.bool, True), (np.float64, 2.5)]),
)
def test_round_trip(case: tuple[tuple[int, ...], list[int], str, int], element: tuple[type, Scalar]) -> None:
    shape, perm, letters, seed = case
    levels = nest(letters)
    dtype, fill = element
    rng = np.random.default_rng(seed)
    array = np.where(rng.random(shape) < 0.5, np.asarray(fill, dtype), rng.integers(0, 3, shape).astype(dtype))
    t = from_dense(array, levels, perm, fill=fill)
    check_tensor(t)
    assert t.shape == shape and t.stored == stored_mask(t).sum()
    assert to_dense(t).dtype == array.dtype
    np.testing.assert_array_equal(to_dense(t), array)


def test_csr_and_csc_are_scipys() -> None:
    array = np.random.default_rng(0).integers(0, 2, (4, 5)).astype(np.float64)
    for levels, perm, matrix in [(KINDS, (0, 1), sp.csr_array(array)), (KINDS, (1, 0), sp.csc_array(array))]:
        t = from_dense(array, levels, perm, fill=0.0)
        assert t.pos[1] is not None and t.crd[1] is not None
        assert (t.pos[1].dtype, t.crd[1].dtype) == (np.int32, np.int64)
        np.testing.assert_array_equal(t.pos[1], matrix.indptr)
        np.testing.assert_array_equal(t.crd[1], matrix.indices)
        np.testing.assert_array_equal(t.val, matrix.data)


def test_a_mask_keeps_entries_equal_to_the_fill_and_hides_others() -> None:
    t = from_dense(np.array([0.0, 7.0, 0.0]), (SparseList(),), (0,), fill=0.0, mask=np.array([True, False, False]))
    assert t.val.tolist() == [0.0] and to_dense(t).tolist() == [0.0, 0.0, 0.0]
    assert stored_mask(t).tolist() == [True, False, False]


def test_the_default_mask_knows_nan() -> None:
    t = from_dense(np.array([NAN, 1.0, NAN]), (SparseList(),), (0,), fill=NAN)
    assert t.val.tolist() == [1.0]


def test_refusals() -> None:
    array = np.zeros((2, 3))
    with pytest.raises(ShapeMismatchError, match="do not fit 2 axes"):
        from_dense(array, (Dense(),), (0,), fill=0.0)
    with pytest.raises(ShapeMismatchError, match="do not fit 2 axes"):
        from_dense(array, KINDS, (0, 0), fill=0.0)
    with pytest.raises(ShapeMismatchError, match="mask"):
        from_dense(array, KINDS, (0, 1), fill=0.0, mask=np.zeros((3, 2), np.bool))
    with pytest.raises(FormatError, match="SparseByteMap"):
        from_dense(array, (Dense(), SparseByteMap()), (0, 1), fill=0.0)
    with pytest.raises(DtypeError, match="cannot hold"):
        from_dense(array.astype(np.int64), KINDS, (0, 1), fill=NAN)
