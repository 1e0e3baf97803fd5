"""Plan the same programs in two processes with different hash seeds, and fail unless every kernel's text is the same.

The first process uses the kernel cache as it stands, the second an empty one: neither hash order nor what was compiled
before may reach a kernel.

    python tools/check_determinism.py
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

import finchsched as fs

SEEDS = ("0", "12345")


def csr(rows: int, columns: int, step: int) -> sp.csr_array:
    """A fixed matrix: every `step`-th entry in row-major order is stored, its value one more than its number."""
    dense = np.zeros(rows * columns)
    dense[::step] = np.arange(dense[::step].size) + 1.0
    return sp.csr_array(dense.reshape(rows, columns))


def plans() -> Iterator[tuple[str, Any]]:
    """The kernel list: name and plan."""
    csr_a, csr_b, csr_c = csr(6, 6, 2), csr(6, 6, 3), csr(6, 6, 5)
    A, B, C = fs.asarray(csr_a), fs.asarray(csr_b), fs.asarray(csr_c)
    X, Y = (fs.asarray(np.arange(24.0).reshape(6, 4) + offset) for offset in (0, 1))
    x, y = fs.asarray(np.arange(6.0)), fs.asarray(np.arange(6.0) + 1)
    P, Q = (fs.asarray(matrix, fill_value=np.inf) for matrix in (csr_a, csr_b))
    a, b, c = fs.lazy(A), fs.lazy(B), fs.lazy(C)

    yield "SpMV", fs.plan("y[i] += A[i,j]*x[j]", A=A, x=x)
    yield "SpMM", fs.plan("Y[i,k] += A[i,j]*X[j,k]", A=A, X=X)
    yield "SpGEMM", fs.plan("C[i,j] += A[i,k]*B[k,j]", A=A, B=B)
    yield "SDDMM", fs.plan("S[i,j] += A[i,j]*X[i,k]*Y[j,k]", A=A, X=X, Y=Y)
    yield "A + B", fs.plan(a + b)
    yield "A * B", fs.plan(a * b)
    yield "A + B + C", fs.plan(a + b + c)
    yield "transpose copy", fs.plan("B[i,j] = A[j,i]", A=A)
    yield "sum over rows", fs.plan(a.sum(axis=0))
    yield "sum over columns", fs.plan(a.sum(axis=1))
    yield "sum of all", fs.plan(a.sum())
    yield "scale by a scalar", fs.plan(a * 2.5)
    yield "scale rows", fs.plan("B[i,j] = A[i,j]*x[i]", A=A, x=x)
    yield "scale columns", fs.plan("B[i,j] = A[i,j]*x[j]", A=A, x=x)
    yield "A @ B @ x", fs.plan(a @ b @ fs.lazy(x))
    yield "x A y", fs.plan("s[] += x[i]*A[i,j]*y[j]", x=x, A=A, y=y)
    yield "triangle count", fs.plan("t[] += A[i,j]*A[j,k]*A[i,k]", A=A)
    yield "trace", fs.plan("t[] += A[i,i]", A=A)
    yield "min-plus", fs.plan("D[i,j] min= P[i,k] + Q[k,j]", P=P, Q=Q)


def digests() -> dict[str, str]:
    """sha256 of each program's kernel text, computed in this process."""
    return {name: hashlib.sha256(plan.kernel_source.encode()).hexdigest() for name, plan in plans()}


def digests_under(seed: str, **environment: str) -> dict[str, str]:
    """The same in a new process with this PYTHONHASHSEED."""
    command = [sys.executable, __file__, "--print"]
    run = subprocess.run(
        command,
        env={**os.environ, "PYTHONHASHSEED": seed, **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if run.returncode:
        sys.exit(f"planning failed under PYTHONHASHSEED={seed}")
    return json.loads(run.stdout)


def compare() -> int:
    """Run both processes, print one line a program, and return the exit status."""
    first = digests_under(SEEDS[0])
    with tempfile.TemporaryDirectory() as empty_cache:
        second = digests_under(SEEDS[1], FINCHSCHED_CACHE_DIR=empty_cache)
    differing = [name for name in first | second if first.get(name) != second.get(name)]
    for name, digest in first.items():
        print(f"{digest[:16]}  {name}{'  DIFFERS' if name in differing else ''}")
    if differing or not first:
        print(f"kernels that depend on the process: {', '.join(differing) or 'no program ran'}", file=sys.stderr)
        return 1
    print(f"{len(first)} kernels are the same under PYTHONHASHSEED={' and '.join(SEEDS)}")
    return 0


def main() -> int:
    """`--print` is how the two processes are started."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--print", action="store_true", help="only print this process's digests, as JSON")
    if parser.parse_args().print:
        json.dump(digests(), sys.stdout)
        return 0
    return compare()


if __name__ == "__main__":
    sys.exit(main())
