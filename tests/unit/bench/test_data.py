"""Generated matrices have the promised sizes and form, and repeat; real ones come from a manifest."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from finchsched.bench.data import (
    canonical,
    data_sets,
    laplacian,
    real_matrices,
    rmat,
    second_operand,
    uniform,
)
from finchsched.io import DATA_VARIABLE, data_folder

GENERATORS = {
    "sparse": lambda: uniform(1_000, 5_000),
    "dense": lambda: uniform(20, 300),
    "rmat": lambda: rmat(8, 4_000),
    "laplacian": lambda: laplacian(12),
    "partner": lambda: second_operand(uniform(200, 3_000)),
    "rectangular": lambda: second_operand(canonical(uniform(50, 400)[:30])),
}


def places(A: Any) -> set[tuple[int, int]]:
    coo = A.tocoo()
    return set(zip(coo.row.tolist(), coo.col.tolist(), strict=True))


@pytest.mark.parametrize("name", GENERATORS)
def test_form(name: str) -> None:
    A = GENERATORS[name]()
    assert isinstance(A, sp.csr_array)
    assert [part.dtype.name for part in (A.data, A.indices, A.indptr)] == ["float64", "int32", "int32"]
    for lo, hi in zip(A.indptr[:-1], A.indptr[1:], strict=True):
        assert (np.diff(A.indices[lo:hi]) > 0).all()
    assert A.indptr[-1] == A.nnz == len(A.data)
    assert A.indices.max() < A.shape[1]


@pytest.mark.parametrize("name", GENERATORS)
def test_repeats(name: str) -> None:
    A, B = GENERATORS[name](), GENERATORS[name]()
    assert np.array_equal(A.indptr, B.indptr)
    assert np.array_equal(A.indices, B.indices)
    assert np.array_equal(A.data, B.data)


@pytest.mark.parametrize(("n", "nnz"), [(1_000, 5_000), (20, 300), (20, 400), (5, 0)])
def test_uniform_is_exact(n: int, nnz: int) -> None:
    A = uniform(n, nnz)
    assert A.shape == (n, n)
    assert A.nnz == nnz
    assert ((A.data >= 0.5) & (A.data < 1.5)).all()


def test_uniform_refuses_too_many() -> None:
    with pytest.raises(ValueError, match="401 distinct places wanted, only 400 are free"):
        uniform(20, 401)


def test_seeds_differ() -> None:
    assert places(uniform(100, 50, seed=1)) != places(uniform(100, 50, seed=2))


def test_uniform_covers_the_rows_evenly() -> None:
    rows = np.diff(uniform(1_000, 50_000).indptr)
    assert abs(rows[:500].sum() - rows[500:].sum()) < 1_500


def test_rmat_quadrants() -> None:
    A = rmat(12, 20_000)
    half = 1 << 11
    assert A.shape == (4_096, 4_096)
    assert 10_000 < A.nnz < 20_000
    top, left = A[:half].nnz, A[:, :half].nnz
    assert top > 0.65 * A.nnz
    assert left > 0.65 * A.nnz
    assert np.diff(A.indptr).max() > 20 * A.nnz / A.shape[0]


def test_rmat_one_quadrant() -> None:
    assert places(rmat(4, 100, a=0.0, b=1.0, c=0.0)) == {(0, 15)}


def test_laplacian() -> None:
    A = laplacian(3)
    assert A.shape == (9, 9)
    assert A.nnz == 5 * 9 - 4 * 3
    assert A.toarray()[4].tolist() == [0, -1, 0, -1, 4, -1, 0, -1, 0]


def test_second_operand_shares_half() -> None:
    A = uniform(300, 4_000)
    B = second_operand(A)
    assert B.nnz == A.nnz
    assert len(places(A) & places(B)) == A.nnz // 2
    assert (A * B).nnz == A.nnz // 2
    common = A.astype(bool) * B
    assert not np.isin(common.data, A.data).any()


def test_second_operand_of_a_full_matrix() -> None:
    B = second_operand(uniform(10, 100))
    assert B.nnz == 50


def test_canonical_adds_duplicates_and_keeps_zeros() -> None:
    coo = sp.coo_array(([1, 2, 3, 0], ([1, 1, 0, 0], [2, 2, 1, 0])), shape=(2, 3))
    A = canonical(coo)
    assert A.indices.tolist() == [0, 1, 2]
    assert A.data.tolist() == [0.0, 3.0, 3.0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    integer = sp.coo_array(np.array([[0, 2, 0], [7, 0, 1]]))
    scipy.io.mmwrite(tmp_path / "whole.mtx", integer)
    scipy.io.mmwrite(tmp_path / "net.mtx", sp.coo_array(np.ones((4, 4))), field="pattern", symmetry="symmetric")
    entry = {"format": "matrix-market", "nnz": 500_000, "dtype": "int64"}
    listed = [
        entry | {"name": "whole", "path": "whole.mtx"},
        entry | {"name": "net", "path": "net.mtx", "dtype": "pattern"},
        entry | {"name": "little", "path": "whole.mtx", "nnz": 299_999},
        entry | {"name": "waves", "path": "whole.mtx", "dtype": "complex128"},
        entry | {"name": "cube", "path": "whole.mtx", "format": "frostt"},
        entry | {"name": "gone", "path": "gone.mtx"},
    ]
    (tmp_path / "manifest.json").write_text(json.dumps({"datasets": listed}))
    return tmp_path


def test_real_matrices(folder: Path) -> None:
    found = {one.name: one for one in real_matrices(folder)}
    assert list(found) == ["whole", "net"]
    whole, net = found["whole"].make(), found["net"].make()
    assert whole.toarray().tolist() == [[0.0, 2.0, 0.0], [7.0, 0.0, 1.0]]
    assert net.nnz == 16
    assert len(set(net.data.tolist())) == 16
    assert np.array_equal(net.data, found["net"].make().data)


def test_real_matrices_absent(tmp_path: Path) -> None:
    assert real_matrices(tmp_path) == []


def test_data_sets_follow_the_variable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATA_VARIABLE, str(folder))
    assert data_folder() == folder
    names = [one.name for one in data_sets()]
    assert names[-2:] == ["whole", "net"]
    assert len(names) == len(set(names))
