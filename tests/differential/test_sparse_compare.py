"""The comparison that other tests rely on sees every kind of difference."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import finchsched as fs
from differential.matrix_files import canonical, magnitudes, with_data
from differential.sparse_compare import check_dense, check_sparse, check_structure


def matrix() -> Any:
    return canonical(sp.random_array((9, 7), density=0.4, rng=np.random.default_rng(3)))


def changed(change: Callable[[Any], Any]) -> fs.Tensor:
    """A tensor over a matrix that was changed in place, or replaced."""
    made = matrix()
    replaced = change(made)
    return fs.asarray(made if replaced is None else replaced)


def set_value(a: Any, value: float) -> None:
    a.data[5] = value


def move_entry(a: Any) -> Any:
    dense = a.toarray()
    row, column = np.argwhere(dense == 0)[3]
    dense[row, column], dense[tuple(np.argwhere(dense)[0])] = 1.0, 0.0
    return canonical(dense)


WRONG: dict[str, Callable[[Any], Any]] = {
    "value": lambda a: set_value(a, a.data[5] * (1 + 1e-9)),
    "nan": lambda a: set_value(a, np.nan),
    "zero": lambda a: set_value(a, 0.0),
    "entry moved": move_entry,
    "entry missing": lambda a: canonical(a.toarray() * (np.arange(63).reshape(9, 7) != np.flatnonzero(a.toarray())[4])),
    "element type": lambda a: a.astype(np.float32),
    "shape": lambda a: canonical(a.T),
    "by columns": lambda a: sp.csc_array(a),
    "dense": lambda a: a.toarray(),
}


@pytest.mark.parametrize("name", WRONG)
def test_differences_are_seen(name: str) -> None:
    with pytest.raises(AssertionError):
        check_sparse(changed(WRONG[name]), matrix(), magnitudes(matrix()))


def test_equal_results_pass() -> None:
    check_sparse(changed(lambda a: None), matrix())
    check_sparse(changed(lambda a: set_value(a, a.data[5] * (1 + 1e-13))), matrix(), magnitudes(matrix()))
    check_sparse(fs.asarray(sp.csc_array(matrix())), canonical(matrix().T), by_columns=True)


def test_values_without_magnitudes_are_exact() -> None:
    with pytest.raises(AssertionError, match="1 values differ"):
        check_sparse(changed(lambda a: set_value(a, np.nextafter(a.data[5], 1))), matrix())


def test_a_zero_that_scipy_dropped_must_be_stored() -> None:
    full = matrix()
    full.data[2] = 0.0
    dropped = canonical(full.toarray())
    assert dropped.nnz == full.nnz - 1
    check_sparse(fs.asarray(full), dropped, magnitudes(full))
    with pytest.raises(AssertionError, match="entries are stored"):
        check_sparse(fs.asarray(dropped), dropped, magnitudes(full))
    wrong = with_data(full, np.where(full.data == 0, 1e-3, full.data))
    with pytest.raises(AssertionError, match="1 values differ"):
        check_sparse(fs.asarray(wrong), dropped, magnitudes(full))


def test_dense_results() -> None:
    a = np.arange(6.0).reshape(2, 3)
    check_dense(fs.asarray(a), a)
    for wrong in (a + 1e-9, a.T, a.astype(np.float32)):
        with pytest.raises(AssertionError):
            check_dense(fs.asarray(wrong), a, np.ones_like(a))


BROKEN = {
    "pointers fall": ([0, 2, 1, 3], [0, 1, 2]),
    "unsorted": ([0, 2, 2, 3], [1, 0, 2]),
    "repeated": ([0, 2, 2, 3], [1, 1, 2]),
    "unsorted last row": ([0, 0, 1, 3], [0, 2, 1]),
    "negative": ([0, 1, 2, 3], [0, -1, 2]),
    "too large": ([0, 1, 2, 3], [0, 1, 4]),
    "few entries": ([0, 1, 2, 3], [0, 1]),
    "late start": ([1, 1, 2, 3], [0, 1, 2]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_structures_are_seen(name: str) -> None:
    pos, crd = (np.array(part, np.int32) for part in BROKEN[name])
    with pytest.raises(AssertionError):
        check_structure(pos, crd, 3, 4)
    with pytest.raises(AssertionError):
        check_structure(np.array([0.0, 1, 2, 3]), np.array([0, 1, 2]), 3, 4)
    check_structure(np.array([0, 2, 2, 3], np.int32), np.array([0, 3, 1], np.int64), 3, 4)
