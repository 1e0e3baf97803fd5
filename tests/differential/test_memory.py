"""The most memory that a process has used at once: no dense copies, no more than inputs, results and what is stated.

Each program runs in a child process whose kernels are cached already; Linux tells the peak of its resident memory.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

STATUS = Path("/proc/self/status")
pytestmark = pytest.mark.skipif(not STATUS.exists(), reason="needs Linux's /proc/self/status to know peak memory")

SLACK = 12 << 20
"""Bytes above the baseline that a child may use besides inputs and results: planning, code of kernels, arenas."""

CHILD = """
import json, sys
import numpy as np
import scipy.sparse as sp
import finchsched as fs

def peak():
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmHWM"))

def random_csr(rows, columns, per_row, seed):
    rng = np.random.default_rng(seed)
    crd = np.sort(rng.integers(0, columns // per_row, (rows, per_row)) + np.arange(per_row) * (columns // per_row))
    pos = np.arange(0, rows * per_row + 1, per_row, dtype=np.int32)
    return sp.csr_array((rng.random(rows * per_row), crd.astype(np.int32).ravel(), pos), shape=(rows, columns))

def inputs_sddmm(n):
    rng = np.random.default_rng(1)
    return {"A": random_csr(n, n, 100, 0), "U": rng.random((n, 16)), "V": rng.random((16, n))}

def inputs_spgemm(n):
    return {"A": random_csr(n, n, 20, 0), "B": random_csr(n, n, 20, 1)}

TEXTS = {"sddmm": "S[i,j] += A[i,j] * U[i,k] * V[k,j]", "spgemm": "C[i,j] += A[i,k] * B[k,j]"}

def size(x):
    return x.data.nbytes + x.indices.nbytes + x.indptr.nbytes if sp.issparse(x) else x.nbytes

name, n, run = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "run"
make = {"sddmm": inputs_sddmm, "spgemm": inputs_spgemm}[name]
fs.einsum(TEXTS[name], **make(200))
operands = make(n)
before = peak()
result = fs.einsum(TEXTS[name], **operands) if run else None
after = peak()
wanted = {"sddmm": lambda: operands["A"].nnz, "spgemm": lambda: (operands["A"] @ operands["B"]).nnz}[name]()
print(json.dumps({
    "before": before, "after": after, "inputs": sum(map(size, operands.values())),
    "output": result.nbytes if run else 0, "nnz": result.nnz if run else wanted, "wanted": wanted,
}))
"""


def child(name: str, n: int, what: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, name, str(n), what], capture_output=True, text=True, env=os.environ, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


CASES = {
    "sddmm": (20_000, 1.0),
    # The room of a product of unknown size doubles when it runs out: old and new buffers are held at once.
    "spgemm": (10_000, 2.0),
}


@pytest.mark.parametrize("name", CASES)
def test_peak_memory(name: str) -> None:
    n, times = CASES[name]
    baseline, used = child(name, n, "rest"), child(name, n, "run")
    assert used["nnz"] == used["wanted"]
    assert used["inputs"] == baseline["inputs"] > 1 << 20
    assert used["output"] > 4 << 20
    grown = used["after"] - baseline["after"]
    assert grown > used["output"] // 2, "the peak does not even have room for the result: it is not measured rightly"
    assert grown <= times * used["output"] + SLACK, f"{grown >> 20} MiB over the baseline, result {used['output'] >> 20}"
    assert times * used["output"] + SLACK < 8 * n * n // 4, "the bound would let a quarter of a dense result pass"
