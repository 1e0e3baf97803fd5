"""The suite from end to end, over a stand-in for the library that computes with SciPy."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from finchsched.bench import kernels
from finchsched.bench.data import DataSet, canonical, rmat, uniform
from finchsched.bench.kernels import CASES, Budget, Case, Inputs, measure, multiplications, run_suite, skip_reason
from finchsched.bench.peers import HAND_VARIABLE, make_peer, sampled_product
from finchsched.bench.report import Row
from finchsched.io import DATA_VARIABLE

BY_NAME = {case.name: case for case in CASES}
QUICK = Budget(repeats=3)


@dataclass
class FakeTensor:
    value: Any

    def to_scipy(self) -> Any:
        return self.value

    def to_numpy(self) -> Any:
        return np.asarray(self.value)

    def __matmul__(self, other: "FakeTensor") -> "FakePlan":
        return FakePlan(lambda: FakeTensor(self.value @ other.value))


@dataclass
class FakePlan:
    run: Callable[[], Any]

    def run_timed(self) -> tuple[Any, float]:
        return self.run(), 1e-6


def unchanged(result: Any) -> Any:
    return result


class FakeApi:
    """Answers each program of the suite through the peer; `spoil` maps a kernel to a change of its result."""

    def __init__(self, **spoil: Callable[[Any], Any]) -> None:
        self.spoil = spoil

    def asarray(self, x: Any, /) -> Any:
        return FakeTensor(x)

    def lazy(self, x: Any, /) -> Any:
        return x

    def compute(self, x: Any, /) -> Any:
        return x.run()

    def plan(self, program: Any, /, **operands: Any) -> FakePlan:
        if isinstance(program, FakePlan):
            return program
        case = next(case for case in CASES if case.program == program)
        assert operands.pop("formats", {}) == case.formats
        arrays = {name: tensor.value for name, tensor in operands.items()}
        assert set(arrays) == set(case.operands)
        change = self.spoil.get(case.name, unchanged)
        call = make_peer("scipy", case.name, arrays).call
        assert call is not None
        compute = (lambda: sampled_product(arrays)) if case.name == "sddmm" else call
        return FakePlan(lambda: FakeTensor(change(compute())))


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No real matrices and no hand-written kernels, wherever the repository stands."""
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "no data"))
    monkeypatch.setenv(HAND_VARIABLE, str(tmp_path / "no kernels.py"))


def rows_for(name: str, A: Any, api: FakeApi | None = None) -> dict[str, Row]:
    rows = measure(api or FakeApi(), BY_NAME[name], "here", Inputs(A), QUICK)
    return {row.peer: row for row in rows}


@pytest.mark.parametrize("name", [case.name for case in CASES])
@pytest.mark.parametrize("square", [True, False])
def test_every_kernel(name: str, square: bool) -> None:
    A = uniform(60, 300) if square else canonical(uniform(60, 300)[:25])
    rows = rows_for(name, A)
    for row in rows.values():
        assert row.shape == A.shape
        assert row.nnz == A.nnz
    if name == "tricount" and not square:
        assert {row.status for row in rows.values()} == {"skipped"}
    elif name == "sddmm":
        assert list(rows) == ["hand"]
        assert rows["hand"].status == "absent"
        assert rows["hand"].checked
    else:
        row = rows["scipy"]
        assert (row.status, row.checked, row.runs) == ("ok", True, 3)
        assert row.ratio is not None
        assert row.finch_kernel_ms == pytest.approx(1e-3)


def test_absent_hand_kernels_still_time_ours() -> None:
    row = rows_for("spmv", uniform(30, 90))["hand"]
    assert row.status == "absent"
    assert row.note == "no file of hand-written kernels"
    assert row.finch_ms is not None
    assert row.peer_ms is None


def test_dispatch_reports_the_overhead() -> None:
    row = rows_for("dispatch", uniform(30, 90))["scipy"]
    assert row.overhead_us is not None
    assert row.finch_ms is not None
    assert row.overhead_us == pytest.approx(1e3 * row.finch_ms - 1.0)


SPOILERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "spmv": (lambda y: y * (1 + 1e-7), "values differ"),
    "add": (lambda C: C[::-1], "against scipy"),
    "mul": (lambda C: C.toarray(), "want a sparse matrix"),
    "transpose": (lambda C: C.tocsc(), "stored as csc, want csr"),
    "sddmm": (lambda C: C * 2, "against the reference"),
    "total": (lambda s: [s, s], "shape (2,), want ()"),
}


@pytest.mark.parametrize("name", SPOILERS)
def test_a_wrong_result_is_seen(name: str) -> None:
    change, said = SPOILERS[name]
    rows = rows_for(name, uniform(60, 300), FakeApi(**{name: change}))
    row = rows.get("scipy", rows["hand"])
    assert row.status == "wrong"
    assert row.checked
    assert said in row.note


def test_a_failing_kernel_is_a_row() -> None:
    def fail(result: Any) -> Any:
        raise NotImplementedError("no such loop yet")

    rows = rows_for("spmv", uniform(30, 90), FakeApi(spmv=fail))
    assert {row.status for row in rows.values()} == {"error"}
    assert rows["scipy"].note == "NotImplementedError: no such loop yet"


def test_a_failing_peer_is_not_our_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "failing.py"
    path.write_text("def spmv(d, nt):\n    raise MemoryError('too large')\n")
    monkeypatch.setenv(HAND_VARIABLE, str(path))
    rows = rows_for("spmv", uniform(30, 90))
    assert rows["hand"].status == "peer failed"
    assert rows["hand"].note == "MemoryError: too large"
    assert rows["scipy"].status == "ok"


def test_multiplications_are_exact() -> None:
    A = rmat(7, 900)
    ones = A.astype(bool).astype(np.int64)
    assert multiplications(A, A) == (ones @ ones).sum()
    R = canonical(A[:40])
    assert multiplications(R, sp.csr_array(R.T)) == (ones[:40] @ ones[:40].T).sum()


def limited(limit: int, *, square: bool = False) -> Case:
    return Case("spgemm", "C[i,j] += A[i,k] * B[k,j]", {"A": "A", "B": "right"}, limit=limit, square=square)


def test_skip_reasons() -> None:
    A = uniform(40, 160)
    count = multiplications(A, A)
    assert skip_reason(limited(count), Inputs(A)) == ""
    assert skip_reason(limited(count - 1), Inputs(A)) == f"{count} multiplications, more than {count - 1}"
    wide = Inputs(canonical(A[:7]))
    assert skip_reason(limited(10**9, square=True), wide) == "needs a square matrix, got 7 x 40"
    assert skip_reason(limited(10**9), wide) == ""


def test_scipy_sddmm_only_where_the_dense_product_fits() -> None:
    assert BY_NAME["sddmm"].peers_on("uniform20k") == ("scipy", "hand")
    assert BY_NAME["sddmm"].peers_on("uniform") == ("hand",)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = [DataSet("little", lambda: uniform(50, 200)), DataSet("tiny", lambda: uniform(20, 40), ("dispatch",))]
    monkeypatch.setattr(kernels, "data_sets", lambda: sets)


@pytest.mark.usefixtures("few")
def test_run_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "out.json"
    status = run_suite(path, only=[case.name for case in CASES], repeats=3, api=FakeApi())
    assert status == 0
    read = json.loads(path.read_text())
    pairs = {(row["kernel"], row["data"]) for row in read["rows"]}
    assert ("dispatch", "tiny") in pairs
    assert ("dispatch", "little") not in pairs
    assert ("spmv", "tiny") not in pairs
    assert {kernel for kernel, _ in pairs} == set(BY_NAME)
    assert read["settings"]["repeats"] == 3
    assert read["memory"] == []
    printed = capsys.readouterr().out
    assert "geometric means" in printed
    assert printed.startswith("kernel")


@pytest.mark.usefixtures("few")
def test_run_suite_fails_on_a_wrong_result() -> None:
    assert run_suite(None, only=["spmv"], repeats=3, api=FakeApi(spmv=lambda y: -y)) == 1


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("names", [{"only": ["spvm"]}, {"data": ["huge"]}])
def test_unknown_names_are_refused(names: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"(?s)unknown: .*hint: one of"):
        run_suite(None, api=FakeApi(), **names)
