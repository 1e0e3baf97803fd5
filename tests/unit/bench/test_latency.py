"""The latency suite measures what it says; how long it takes is nobody's business here."""

import json

import pytest

from finchsched.bench import latency
from finchsched.bench.child import run_child
from finchsched.bench.kernels import UnknownNameError
from finchsched.bench.latency import OPERATIONS, STEPS, run_latency


def test_steps_of_a_process(capsys, tmp_path):
    path = tmp_path / "latency.json"
    assert run_latency(path, only=("first from cache", "import finchsched"), repeats=1) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in printed] == ["import finchsched", "first from cache"]
    found = json.loads(path.read_text())
    assert found["suite"] == "latency" and found["machine"]["python"]
    assert [(row["name"], row["unit"], row["runs"]) for row in found["rows"]] == [
        ("import finchsched", "ms", 1),
        ("first from cache", "ms", 1),
    ]
    assert all(row["median"] > 0 and set(row["ratios"]) == {"import numpy"} for row in found["rows"])


def test_operations_beside_scipy(capsys):
    assert run_latency(None, only=("A @ x", "A * 2.5"), repeats=2) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and all("of scipy" in line for line in lines)


@pytest.mark.parametrize("wrong", [{"only": ("spmv",)}, {"data": ("small",)}])
def test_unknown_names(wrong):
    with pytest.raises(UnknownNameError, match="hint: measures are import numpy"):
        run_latency(None, **wrong)


def test_a_process_that_compiles_where_it_should_not_is_an_error(monkeypatch):
    given = {"steps": [1.0, 1.0, 1.0, 1.0], "numba": True}
    monkeypatch.setattr(latency, "run_child", lambda *_, **__: given)
    with pytest.raises(RuntimeError, match="imported Numba"):
        run_latency(None, only=("next kernel",), repeats=1)


def test_every_step_has_its_own_number(monkeypatch):
    cold, warm = {"steps": [1, 2, 3, 4], "numba": True}, {"steps": [10, 20, 30, 40], "numba": False}
    children = iter([cold, warm])
    monkeypatch.setattr(latency, "run_child", lambda *_, **__: next(children))
    found = {step.name: step.median for step in latency._steps(1)}
    assert found == dict(zip(STEPS, (10, 20, 3, 4, 30, 40, 50), strict=True))


def test_children_see_their_environment():
    code = "import os, json; print(json.dumps({'value': os.environ['FINCHSCHED_NOTHING']}))"
    assert run_child(code, FINCHSCHED_NOTHING="7") == {"value": "7"}


def test_names_do_not_clash():
    assert not set(STEPS) & set(OPERATIONS)
