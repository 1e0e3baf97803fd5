"""The demo, as a process of its own, away from the repository."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import finchsched

SOURCE = str(Path(finchsched.__file__).parents[1])


def run_demo(folder: Path, data: Path) -> str:
    path = os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")]))
    run = subprocess.run(
        [sys.executable, "-m", "finchsched", "demo"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "FINCHSCHED_DATA": str(data)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_demo_on_the_sample_alone(tmp_path: Path) -> None:
    out = run_demo(tmp_path, tmp_path / "none")
    assert "def make_r0(" in out
    assert "Check on west0067: right" in out
    assert out.count("Time on ") == 1
    assert list(tmp_path.iterdir()) == []


def test_demo_uses_a_larger_matrix_if_there_is_one(tmp_path: Path) -> None:
    folder = tmp_path / "matrices"
    folder.mkdir()
    matrix = sp.random_array((300, 200), density=0.05, random_state=np.random.default_rng(0))
    plain = folder / "facebook_combined.mtx"
    scipy.io.mmwrite(plain, matrix)
    (folder / "facebook_combined.mtx.gz").write_bytes(gzip.compress(plain.read_bytes()))
    out = run_demo(tmp_path, tmp_path)
    assert "Check on facebook_combined: right (3000 entries" in out
    assert out.count("SciPy: A.multiply(X @ Y.T)") == 2


@pytest.mark.parametrize("name", ["finchsched", "SciPy", "NumPy by hand"])
def test_every_way_gives_the_same(name: str) -> None:
    from finchsched.api import sample_path
    from finchsched.cli import demo

    problem = demo._problem(sample_path("west0067.mtx"))
    expected = problem.A.to_scipy().multiply(problem.X @ problem.Y.T).tocsr().data
    found = next(call for way, call in problem.ways.items() if way.startswith(name))()
    if name != "NumPy by hand":
        found = (found.to_scipy() if name == "finchsched" else found.tocsr()).data
    np.testing.assert_allclose(found, expected)
