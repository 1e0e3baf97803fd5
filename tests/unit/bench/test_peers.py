"""Comparison of results, and peers from a file of hand-written kernels."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from finchsched.bench.data import canonical, uniform
from finchsched.bench.peers import HAND_VARIABLE, difference, hand_kernels_path, hand_peer, make_peer, sampled_product

HAND = """
import numpy as np
import scipy.sparse as sp

def rowsum(d, nt):
    A = d.get("A")
    return lambda: np.asarray(A.sum(axis=1))

def transpose(d, nt):
    A = d.get("A")
    def go():
        T = A.T.tocsr()
        return T.indptr, T.indices, T.data
    return go, lambda r: sp.csc_array((r[2], r[1], r[0]), shape=A.shape)

def spgemm(d, nt):
    A = d.get("A")
    return lambda: A @ A, lambda r: r, "unsorted columns"

def gemm_1(ap, ai, av, bp, bi, bv, n, m):
    A = sp.csr_array((av, ai.view(np.int32), ap.view(np.int32)))
    C = A @ sp.csr_array((bv, bi.view(np.int32), bp.view(np.int32)), shape=(A.shape[1], m))
    return C.indptr, C.indices.view(np.uint32), C.data

def spmm_s(ptr, idx, val, X, Y, r0, r1):
    Y[r0:r1] = sp.csr_array((val, idx.view(np.int32), ptr.view(np.int32)), shape=(r1, len(X))) @ X
"""


@pytest.fixture
def hand(tmp_path: Path) -> Path:
    path = tmp_path / "kernels_by_hand.py"
    path.write_text(HAND)
    return path


class Tensor:
    """A result of the library, as far as the comparison looks."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def to_scipy(self) -> Any:
        return self.value

    def to_numpy(self) -> Any:
        return self.value


def csr(data: list[float], indices: list[int], indptr: list[int], columns: int = 4) -> Any:
    return sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, columns))


WANT = csr([1.0, 2.0, 3.0], [0, 2, 1], [0, 2, 3])


@pytest.mark.parametrize(
    ("got", "said"),
    [
        (csr([1.0, 2.0, 3.0], [0, 2, 1], [0, 2, 3]), None),
        (csr([1.0, 2.0 + 1e-12, 3.0], [0, 2, 1], [0, 2, 3]), None),
        (csr([1.0, 2.0 + 1e-8, 3.0], [0, 2, 1], [0, 2, 3]), "1 of 3 values differ"),
        (csr([1.0, np.nan, 3.0], [0, 2, 1], [0, 2, 3]), "1 of 3 values differ, such as np.float64(nan)"),
        (csr([1.0, 2.0, 0.0, 3.0], [0, 2, 3, 1], [0, 3, 4]), "4 stored entries, want 3"),
        (csr([1.0, 2.0, 3.0], [0, 3, 1], [0, 2, 3]), "other places"),
        (csr([1.0, 2.0, 3.0], [0, 1, 2], [0, 1, 3]), "other places"),
        (csr([2.0, 1.0, 3.0], [2, 0, 1], [0, 2, 3]), "not sorted"),
        (csr([1.0, 2.0, 3.0], [0, 2, 1], [0, 2, 3], columns=5), "shape"),
        (WANT.tocsc(), None),
        (WANT.toarray(), "want a sparse matrix"),
    ],
)
def test_sparse_difference(got: Any, said: str | None) -> None:
    found = difference(Tensor(got), WANT)
    assert found is None if said is None else said in str(found)


def test_difference_accepts_an_unsorted_peer_and_leaves_it_alone() -> None:
    peer = csr([2.0, 1.0, 3.0], [2, 0, 1], [0, 2, 3])
    assert difference(Tensor(WANT), peer) is None
    assert peer.indices.tolist() == [2, 0, 1]


def test_dense_difference() -> None:
    assert difference(Tensor(np.arange(3.0)), np.arange(3.0)) is None
    assert difference(Tensor(np.zeros(0)), np.zeros(0)) is None
    assert difference(Tensor(np.array(2.5)), 2.5) is None
    assert "shape" in str(difference(Tensor(np.zeros((3, 1))), np.zeros(3)))
    assert "values differ" in str(difference(Tensor(np.array([0.0, 1.0])), np.array([1e-6, 1.0])))
    assert difference(Tensor(np.array([0.0, 1.0])), np.array([1e-16, 1.0])) is None  # a sum that cancelled


def test_hand_file_is_looked_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(HAND_VARIABLE, str(tmp_path / "nowhere.py"))
    assert hand_kernels_path() == tmp_path / "nowhere.py"
    peer = make_peer("hand", "spmv", {"A": uniform(10, 20)})
    assert peer.call is None
    assert peer.remark == "no file of hand-written kernels"


def test_hand_plain_callable(hand: Path) -> None:
    A = uniform(10, 20)
    peer = hand_peer("rowsum", {"A": A}, hand)
    assert peer.call is not None
    assert peer.finish(peer.call()) == pytest.approx(A.sum(axis=1))
    assert peer.remark == ""


def test_hand_transpose_is_finished_as_the_transpose(hand: Path) -> None:
    A = canonical(uniform(20, 60)[:12])
    peer = hand_peer("transpose", {"A": A}, hand)
    assert peer.call is not None
    got = peer.finish(peer.call())
    assert got.format == "csr"
    assert difference(got, A.T.tocsr()) is None


def test_hand_missing_kernel(hand: Path) -> None:
    assert hand_peer("sddmm", {"A": uniform(10, 20)}, hand).call is None
    assert "tricount" in hand_peer("tricount", {"A": canonical(uniform(9, 20)[:4])}, hand).remark


@pytest.mark.parametrize("rows", [8, 20])
def test_hand_product(hand: Path, rows: int) -> None:
    A = canonical(uniform(20, 80)[:rows])
    B = A if rows == 20 else canonical(A.T)
    peer = hand_peer("spgemm", {"A": A, "B": B}, hand)
    assert peer.call is not None
    assert peer.remark == "unsorted columns"
    want = A @ B
    want.sort_indices()
    assert difference(want, peer.finish(peer.call())) is None


def test_hand_rectangular_spmm(hand: Path) -> None:
    A, X = canonical(uniform(20, 80)[:8]), np.ones((20, 64))
    peer = hand_peer("spmm", {"A": A, "X": X}, hand)
    assert peer.call is not None
    assert peer.finish(peer.call()) == pytest.approx(A @ X)


def test_sampled_product() -> None:
    A = canonical(uniform(20, 80)[:8])
    X, Y = np.random.default_rng(1).random((8, 5)), np.random.default_rng(2).random((20, 5))
    want = A.multiply(X @ Y.T).tocsr()
    want.sort_indices()
    assert difference(sampled_product({"A": A, "X": X, "Y": Y}), want) is None
