"""What the generated kernels are compared with: SciPy, and kernels written by hand that are loaded from a file by path.

A peer is made from a dictionary of inputs: `A`, `B` CSR matrices, `x` a vector, `X`, `Y` row-major dense of 64 columns.
The file of hand-written kernels has one function `NAME(inputs, threads)` per kernel, which returns the callable, or
(callable, finish[, remark]) where finish turns raw buffers into a matrix; it is looked up at $FINCHSCHED_HAND_KERNELS,
else at `shared/examples/hand_kernels.py` beside the repository.  Without the file those peers are absent.
"""

import importlib.util
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from finchsched.bench.data import Csr

Inputs: TypeAlias = Mapping[str, Any]

HAND_VARIABLE = "FINCHSCHED_HAND_KERNELS"
RTOL = 1e-9
CANCELLATION = 1e-13
_GATHER_ROWS = 200_000


@dataclass(frozen=True, slots=True)
class Peer:
    """`call` computes once and is what the clock sees; `finish` (untimed) makes its result comparable.

    `call` is None when the peer cannot take part, and `remark` says why.
    """

    name: str
    call: Callable[[], Any] | None
    finish: Callable[[Any], Any] = lambda result: result
    remark: str = ""


def make_peer(name: str, kernel: str, inputs: Inputs) -> Peer:
    """The peer called `name` ("scipy" or "hand") for one kernel on these inputs."""
    if name == "scipy":
        return Peer(name, _SCIPY[kernel](inputs))
    return hand_peer(kernel, inputs)


def _spgemm(d: Inputs) -> Callable[[], Any]:
    A, B = d["A"], d["B"]

    def product() -> Any:
        C = A @ B
        C.sort_indices()
        return C

    return product


_SCIPY: dict[str, Callable[[Inputs], Callable[[], Any]]] = {
    "spmv": lambda d: lambda: d["A"] @ d["x"],
    "dispatch": lambda d: lambda: d["A"] @ d["x"],
    "spgemm": _spgemm,
    "add": lambda d: lambda: d["A"] + d["B"],
    "mul": lambda d: lambda: d["A"] * d["B"],
    "transpose": lambda d: lambda: d["A"].T.tocsr(),
    "sddmm": lambda d: lambda: d["A"].multiply(d["X"] @ d["Y"].T),
    "spmm": lambda d: lambda: d["A"] @ d["X"],
    "total": lambda d: lambda: d["A"].sum(),
    "rowsum": lambda d: lambda: d["A"].sum(axis=1),
    "tricount": lambda d: lambda: ((d["A"] @ d["A"]) * d["A"]).sum(),
}


def hand_kernels_path() -> Path:
    """Where the file of hand-written kernels is expected; it may not exist."""
    named = os.environ.get(HAND_VARIABLE)
    beside = Path(__file__).resolve().parents[3].parent / "shared" / "examples" / "hand_kernels.py"
    return Path(named) if named else beside


@cache
def load_hand_kernels(path: Path) -> ModuleType | None:
    """The module at `path`, executed once per process; None when there is no such file."""
    if not path.is_file():
        return None
    spec = importlib.util.spec_from_file_location("finchsched_bench_hand_kernels", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def hand_peer(kernel: str, inputs: Inputs, path: Path | None = None) -> Peer:
    """The hand-written kernel on one thread, or a peer without `call` when file or kernel is missing."""
    where = hand_kernels_path() if path is None else path
    module = load_hand_kernels(where)
    if module is None:
        return Peer("hand", None, remark="no file of hand-written kernels")
    rectangular = inputs["A"].shape[0] != inputs["A"].shape[1]
    if rectangular and kernel in _RECTANGULAR:
        return _RECTANGULAR[kernel](module, inputs)
    make = getattr(module, kernel, None)
    if make is None or (rectangular and kernel == "tricount"):
        return Peer("hand", None, remark=f"no hand-written {kernel} for this input")
    made = make(inputs, 1)
    call, finish, remark = (*made, "")[:3] if isinstance(made, tuple) else (made, lambda result: result, "")
    if kernel == "transpose":  # its finisher gives A in CSC, which is the transpose in CSR
        return Peer("hand", call, lambda result: finish(result).T, remark)
    return Peer("hand", call, finish, remark)


def _hand_rectangular_spgemm(module: ModuleType, d: Inputs) -> Peer:
    A, B = d["A"], d["B"]
    args = (*_unsigned(A), *_unsigned(B), A.shape[0], B.shape[1])

    def finish(result: Any) -> Csr:
        return sp.csr_array((result[2], result[1].view(np.int32), result[0]), shape=(A.shape[0], B.shape[1]))

    return Peer("hand", lambda: module.gemm_1(*args), finish, "unsorted columns")


def _hand_rectangular_spmm(module: ModuleType, d: Inputs) -> Peer:
    A, X = d["A"], d["X"]
    args = (*_unsigned(A), X)
    rows = A.shape[0]

    def product() -> npt.NDArray[np.float64]:
        Y = np.empty((rows, X.shape[1]))
        module.spmm_s(*args, Y, 0, rows)
        return Y

    return Peer("hand", product)


# The file's own wrappers for these take the output's shape from an input, which only fits a square A.
_RECTANGULAR: dict[str, Callable[[ModuleType, Inputs], Peer]] = {
    "spgemm": _hand_rectangular_spgemm,
    "spmm": _hand_rectangular_spmm,
}


def _unsigned(A: Csr) -> tuple[Any, Any, Any]:
    return A.indptr.view(np.uint32), A.indices.view(np.uint32), A.data


def sampled_product(inputs: Inputs) -> Csr:
    """A[i,j] * sum_k X[i,k] * Y[j,k] by NumPy gathers in slabs: slow and independent, for checking SDDMM."""
    A, X, Y = inputs["A"], inputs["X"], inputs["Y"]
    row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    out = np.empty(A.nnz)
    for lo in range(0, A.nnz, _GATHER_ROWS):
        part = slice(lo, lo + _GATHER_ROWS)
        out[part] = A.data[part] * np.einsum("pk,pk->p", X[row[part]], Y[A.indices[part]])
    return sp.csr_array((out, A.indices, A.indptr), shape=A.shape)


def difference(got: Any, want: Any) -> str | None:
    """None if equal, else one line.  `want` decides the kind (sparse, dense, number); `got` is a Tensor or the like.

    Sparse results must store the same places (nothing is dropped) and be sorted if CSR.  Values agree to RTOL, with an
    allowance of CANCELLATION times the largest magnitude, for sums that cancel and were added in another order.
    """
    if not _is_sparse(want):
        return _values_differ(_dense(got), np.asarray(want, dtype=np.float64))
    have = got.to_scipy() if hasattr(got, "to_scipy") else got
    if not _is_sparse(have):
        return f"{type(have).__name__}, want a sparse matrix"
    if have.shape != want.shape:
        return f"shape {have.shape}, want {want.shape}"
    a, b = sp.csr_array(have, copy=True), sp.csr_array(want, copy=True)
    if have.format == "csr" and not a.has_sorted_indices:
        return "columns not sorted within rows"
    a.sort_indices()
    b.sort_indices()
    if a.nnz != b.nnz:
        return f"{a.nnz} stored entries, want {b.nnz}"
    if not (np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)):
        return "other places are stored"
    return _values_differ(a.data, b.data)


def _is_sparse(value: Any) -> bool:
    """`sp.issparse` without the type guard, which would narrow to a class that lacks shape and format."""
    return bool(sp.issparse(value))


def _dense(got: Any) -> npt.NDArray[np.float64]:
    return np.asarray(got.to_numpy() if hasattr(got, "to_numpy") else got, dtype=np.float64)


def _values_differ(got: npt.NDArray[np.float64], want: npt.NDArray[np.float64]) -> str | None:
    if got.shape != want.shape:
        return f"shape {got.shape}, want {want.shape}"
    if got.size == 0:
        return None
    slack = RTOL * np.abs(want) + CANCELLATION * np.max(np.abs(want))
    error = np.abs(got - want)
    bad = ~(error <= slack)
    if not bad.any():
        return None
    worst = int(np.argmax(np.where(bad, np.nan_to_num(error, nan=np.inf, posinf=np.inf), -1.0)))
    return f"{int(bad.sum())} of {bad.size} values differ, such as {got.flat[worst]!r}, want {want.flat[worst]!r}"
