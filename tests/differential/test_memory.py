"""The most memory that a process has used at once: no dense copies, no more than inputs, results and what is stated.

Each program runs in a child process that finds its kernels cached and its inputs in a file, and is compared with a
child that does everything but run the program.  Linux tells the peak of a process's resident memory.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

STATUS = Path("/proc/self/status")
pytestmark = pytest.mark.skipif(not STATUS.exists(), reason="needs Linux's /proc/self/status to know peak memory")

SLACK = 12 << 20
"""Bytes above the other child that a run may use besides its result: planning, arenas, workspaces."""

CHILD = """
import json, sys
import numpy as np
import scipy.sparse as sp
import finchsched as fs

text, path, run = sys.argv[1], sys.argv[2], sys.argv[3] == "run"
stored = dict(np.load(path))
names = sorted({name[0] for name in stored})

def operand(name):
    if name in stored:
        return stored[name]
    parts = [stored[f"{name}{part}"] for part in range(3)]
    return sp.csr_array(tuple(parts), shape=(len(parts[2]) - 1,) * 2)

small = sp.eye_array(8, format="csr")
few = {name: small if f"{name}0" in stored else np.ones([min(8, e) for e in stored[name].shape])
       for name in names}
fs.einsum(text, **few)
operands = {name: operand(name) for name in names}
result = fs.einsum(text, **operands) if run else None
peak = next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"peak": peak, "output": result.nbytes if run else 0, "nnz": result.nnz if run else 0}))
"""


def random_csr(extent: int, per_row: int, seed: int) -> Any:
    """A square matrix with `per_row` entries in each row, spread over its columns."""
    rng = np.random.default_rng(seed)
    step = extent // per_row
    crd = rng.integers(0, step, (extent, per_row)) + np.arange(per_row) * step
    pos = np.arange(0, extent * per_row + 1, per_row, dtype=np.int32)
    return sp.csr_array((rng.random(extent * per_row), crd.astype(np.int32).ravel(), pos), shape=(extent, extent))


def save(path: Path, operands: dict[str, Any]) -> None:
    """Dense operands under their names, the three buffers of sparse ones under name and number."""
    parts: dict[str, Any] = {}
    for name, x in operands.items():
        if sp.issparse(x):
            parts |= {f"{name}{n}": buffer for n, buffer in enumerate((x.data, x.indices, x.indptr))}
        else:
            parts[name] = x
    np.savez(path, **parts)


def child(text: str, path: Path, what: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, text, str(path), what],
        capture_output=True,
        text=True,
        env=os.environ,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def check(text: str, path: Path, operands: dict[str, Any], stored: int, times: float, dense: int) -> None:
    """`times`: how often the result may be held; `dense`: bytes of what must not be made."""
    save(path, operands)
    child(text, path, "run")  # compiles, if that is still to be done
    baseline, used = child(text, path, "rest"), child(text, path, "run")
    assert used["nnz"] == stored
    result = used["output"]
    grown = used["peak"] - baseline["peak"]
    assert grown > result // 2, f"{grown} bytes over the baseline for a result of {result}: not measured rightly"
    assert grown <= times * result + SLACK, f"{grown >> 20} MiB over the baseline, the result has {result >> 20}"
    assert times * result + SLACK < dense // 2, "the bound would let half a dense result pass"


def test_sampled_dense_product(tmp_path: Path) -> None:
    n, rng = 20_000, np.random.default_rng(1)
    operands = {"A": random_csr(n, 100, 0), "U": rng.random((n, 16)), "V": rng.random((16, n))}
    # Positions are shared with A, values are new.
    text = "S[i,j] += A[i,j] * U[i,k] * V[k,j]"
    check(text, tmp_path / "sddmm.npz", operands, operands["A"].nnz, times=1, dense=8 * n * n)


def test_sparse_product(tmp_path: Path) -> None:
    n = 10_000
    operands = {"A": random_csr(n, 20, 0), "B": random_csr(n, 20, 1)}
    stored = (operands["A"] @ operands["B"]).nnz
    # The room of a product of unknown size doubles when it runs out: old and new buffers are held at once.
    check("C[i,j] += A[i,k] * B[k,j]", tmp_path / "spgemm.npz", operands, stored, times=2, dense=8 * n * n)
