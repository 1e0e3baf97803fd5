"""The kernels that sparse array programs are made of, on every matrix of the data folder, against SciPy and NumPy.

What is expected is computed first; while the library runs, SciPy's and NumPy's routines for it only raise.  Stored
positions are compared exactly: those where an operand is stored, for a product those where some term is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
import scipy.sparse as sp

import finchsched as fs
from differential.conftest import Guard, ShortcutError
from differential.matrix_files import (
    MOST_MULTIPLICATIONS,
    Array,
    Expected,
    Header,
    MatrixCase,
    canonical,
    headers,
    load,
    magnitudes,
    with_data,
)
from differential.sparse_compare import check_dense, check_sparse

FILES = headers()


@dataclass(frozen=True, slots=True)
class Kernel:
    """One program.  `run` gets the case and its matrices `a`, `b`, `c`, `right` as tensors.

    square: only for square matrices.  multiplies: multiplies two matrices, so that the cap holds.  ordered: compares
    numbers, so not for complex ones.
    """

    name: str
    expect: Callable[[MatrixCase], Expected]
    run: Callable[[MatrixCase, "Operands"], Any]
    square: bool = False
    multiplies: bool = False
    ordered: bool = False
    by_columns: bool = False


@dataclass(frozen=True, slots=True)
class Operands:
    """Tensors over a case's matrices."""

    a: fs.Tensor
    b: fs.Tensor
    c: fs.Tensor
    right: fs.Tensor
    minplus_a: fs.Tensor
    minplus_right: fs.Tensor


# ---------------------------------------------------------------------------------------------- expected values


def dense_product(case: MatrixCase, other: Array) -> Expected:
    return Expected(case.a @ other, abs(case.a) @ np.abs(other))


def sampled(case: MatrixCase) -> Expected:
    """`a * (left @ wide)`, computed at the entries of `a` only."""
    rows = np.repeat(np.arange(case.a.shape[0]), np.diff(case.a.indptr))
    inner = np.zeros(case.a.nnz, case.a.dtype)
    for k in range(case.left.shape[1]):
        inner += case.left[rows, k] * case.wide[k, case.a.indices]
    values = with_data(case.a, case.a.data * inner)
    return Expected(values, magnitudes(values))


def added(*matrices: Any) -> Expected:
    values, size = matrices[0], magnitudes(matrices[0])
    for matrix in matrices[1:]:
        values, size = values + matrix, size + magnitudes(matrix)
    return Expected(canonical(values), canonical(size))


def multiplied(a: Any, b: Any) -> Expected:
    return Expected(canonical(a.multiply(b)), canonical(magnitudes(a).multiply(magnitudes(b))))


def summed(matrix: Any, axis: int | None) -> Expected:
    return Expected(matrix.sum(axis), abs(matrix).sum(axis))


def scaled(a: Any, factors: Any) -> Expected:
    return Expected(with_data(a, a.data * factors))


def per_row(case: MatrixCase) -> Array:
    return np.repeat(case.y, np.diff(case.a.indptr))


def chained(case: MatrixCase) -> Expected:
    """`a @ right @ z`."""
    return Expected(case.a @ (case.right @ case.z), abs(case.a) @ (abs(case.right) @ np.abs(case.z)))


def bilinear(case: MatrixCase) -> Expected:
    return Expected(case.y @ (case.a @ case.x), np.abs(case.y) @ (abs(case.a) @ np.abs(case.x)))


def triangles(case: MatrixCase) -> Expected:
    values, size = case.product.values, case.product.size
    return Expected(case.a.multiply(values).sum(), abs(case.a).multiply(abs(size)).sum())


def trace(case: MatrixCase) -> Expected:
    return Expected(case.a.trace(), abs(case.a).trace())


@numba.njit  # type: ignore[untyped-decorator]  # Numba has no types
def smallest_sums(a_pos: Array, a_crd: Array, a: Array, b_pos: Array, b_crd: Array, b: Array, pos: Array, crd: Array,
                  columns: int) -> Array:  # fmt: skip
    """The least a[i, k] + b[k, j] at every stored position (i, j) of (pos, crd)."""
    row = np.full(columns, np.inf)
    out = np.empty(len(crd))
    for i in range(len(pos) - 1):
        for p in range(a_pos[i], a_pos[i + 1]):
            k = a_crd[p]
            for q in range(b_pos[k], b_pos[k + 1]):
                row[b_crd[q]] = min(row[b_crd[q]], a[p] + b[q])
        for r in range(pos[i], pos[i + 1]):
            out[r] = row[crd[r]]
            row[crd[r]] = np.inf
    return out


def minplus(case: MatrixCase) -> Expected:
    a, b, where = case.a, case.right, case.product.size
    data = smallest_sums(
        a.indptr, a.indices, a.data.astype(np.float64), b.indptr, b.indices, b.data.astype(np.float64),
        where.indptr, where.indices, b.shape[1],
    )  # fmt: skip
    return Expected(with_data(where, data))


# ---------------------------------------------------------------------------------------------- the list

L = fs.lazy
SDDMM = "S[i,j] += A[i,j] * U[i,k] * V[k,j]"
TRIANGLES = "s[] += A[i,j] * A[i,k] * A[k,j]"
MINPLUS = "C[i,j] min= A[i,k] + B[k,j]"

KERNELS = [
    Kernel("read", lambda m: Expected(m.a), lambda m, t: t.a),
    Kernel("spmv", lambda m: dense_product(m, m.x), lambda m, t: t.a @ m.x),
    Kernel("spmm", lambda m: dense_product(m, m.tall), lambda m, t: t.a @ m.tall),
    Kernel("sddmm-einsum", sampled, lambda m, t: fs.einsum(SDDMM, A=t.a, U=m.left, V=m.wide)),
    Kernel("sddmm-lazy", sampled, lambda m, t: fs.compute(L(t.a) * (L(m.left) @ L(m.wide)))),
    Kernel("add", lambda m: added(m.a, m.b), lambda m, t: t.a + t.b),
    Kernel("add-transposed", lambda m: added(m.a, canonical(m.a.T)), lambda m, t: t.a + t.a.T, square=True),
    Kernel("multiply", lambda m: multiplied(m.a, m.b), lambda m, t: t.a * t.b),
    Kernel("add-three", lambda m: added(m.a, m.b, m.c), lambda m, t: fs.compute(L(t.a) + L(t.b) + L(t.c))),
    Kernel("transpose-copy", lambda m: Expected(canonical(m.a.T)),
           lambda m, t: fs.einsum("B[j,i] = A[i,j]", A=t.a, formats={"B": "csr"})),
    Kernel("transpose-view", lambda m: Expected(m.a), lambda m, t: t.a.T, by_columns=True),
    Kernel("sum-columns", lambda m: summed(m.a, 0), lambda m, t: t.a.sum(axis=0)),
    Kernel("sum-rows", lambda m: summed(m.a, 1), lambda m, t: t.a.sum(axis=1)),
    Kernel("sum-all", lambda m: summed(m.a, None), lambda m, t: t.a.sum()),
    Kernel("scale", lambda m: scaled(m.a, 3), lambda m, t: t.a * 3),
    Kernel("scale-columns", lambda m: scaled(m.a, m.x[m.a.indices]), lambda m, t: t.a * m.x),
    Kernel("scale-rows", lambda m: scaled(m.a, per_row(m)), lambda m, t: t.a * m.y[:, None]),
    Kernel("bilinear-einsum", bilinear, lambda m, t: fs.einsum("s[] += x[i] * A[i,j] * y[j]", A=t.a, x=m.y, y=m.x)),
    Kernel("bilinear-lazy", bilinear, lambda m, t: fs.compute(L(m.y) @ L(t.a) @ L(m.x))),
    Kernel("trace-diagonal", trace, lambda m, t: fs.einsum("s[] += A[i,i]", A=t.a), square=True),
    Kernel("trace-where", trace, lambda m, t: fs.einsum("s[] += where(i == j, A[i,j], 0)", A=t.a), square=True),
    Kernel("spgemm", lambda m: m.product, lambda m, t: t.a @ t.right, multiplies=True),
    Kernel("chain", chained, lambda m, t: fs.compute(L(t.a) @ L(t.right) @ L(m.z)), multiplies=True),
    Kernel("triangles-lazy", triangles, lambda m, t: fs.compute((L(t.a) * (L(t.a) @ L(t.a))).sum()),
           square=True, multiplies=True),
    Kernel("triangles-einsum", triangles, lambda m, t: fs.einsum(TRIANGLES, A=t.a), square=True, multiplies=True),
    Kernel("minplus", minplus, lambda m, t: fs.einsum(MINPLUS, A=t.minplus_a, B=t.minplus_right),
           multiplies=True, ordered=True),
]  # fmt: skip


def pairs() -> list[Any]:
    """Every matrix with every kernel that fits its shape; those of one matrix stand together."""
    return [
        pytest.param(header, kernel, id=f"{header.name}-{kernel.name}")
        for header in FILES
        for kernel in KERNELS
        if (header.square or not kernel.square) and not (kernel.ordered and header.field == "complex")
    ]


@lru_cache(maxsize=1)
def operands(path: Path) -> Operands:
    """Tensors of a file (read by the library) and of the matrices that were made of it."""
    case = load(path)
    a = fs.read(path)
    right = a if case.square else fs.asarray(case.right)
    low = fs.asarray(case.a.real.astype(np.float64), fill_value=np.inf)
    low_right = low if case.square else fs.asarray(case.right.real.astype(np.float64), fill_value=np.inf)
    return Operands(a, fs.asarray(case.b), fs.asarray(case.c), right, low, low_right)


@pytest.mark.parametrize("header, kernel", pairs())
def test_kernel(header: Header, kernel: Kernel, no_shortcuts: Guard) -> None:
    case = load(header.path)
    if kernel.multiplies and case.multiplications > MOST_MULTIPLICATIONS:
        pytest.skip(f"needs {case.multiplications:.1e} multiplications, more than {MOST_MULTIPLICATIONS:.0e}")
    expected = kernel.expect(case)
    tensors = operands(header.path)
    with no_shortcuts():
        result = kernel.run(case, tensors)
        if result.ndim == 2 and result.format != "dense" and result.fill_value == 0:
            exported = result.to_scipy()
            assert exported.data is result.data.val and exported.indices is result.data.crd[1]
    if sp.issparse(expected.values):
        check_sparse(result, expected.values, expected.size, by_columns=kernel.by_columns)
        assert result.fill_value == (np.inf if kernel.name == "minplus" else 0)
    else:
        check_dense(result, expected.values, expected.size)


def test_the_folder_has_matrices(data_dir: Path) -> None:
    assert len(FILES) >= 55 and any(header.field == "complex" for header in FILES)
    assert all(header.path.parent == data_dir / "matrices" for header in FILES)


# ---------------------------------------------------------------------------------------------- the guard


def small() -> Any:
    return canonical(sp.random_array((6, 6), density=0.5, rng=np.random.default_rng(1), format="csr"))


SHORTCUTS = {
    "a @ a": lambda a: a @ a,
    "a @ x": lambda a: a @ np.ones(6),
    "x @ a": lambda a: np.ones(6) @ a,
    "a + a": lambda a: a + a,
    "a - a": lambda a: a - a,
    "a * a": lambda a: a * a,
    "multiply": lambda a: a.multiply(a),
    "sum": lambda a: a.sum(),
    "trace": lambda a: a.trace(),
    "tocsr": lambda a: a.tocsr(),
    "tocsc": lambda a: a.tocsc(),
    "tocoo": lambda a: a.tocoo(),
    "toarray": lambda a: a.toarray(),
    "transpose": lambda a: a.transpose(),
    "T": lambda a: a.T,
    "sort": lambda a: a[:, ::-1].sort_indices(),
    "sparsetools": lambda a: sp._sparsetools.csr_matvec(
        6, 6, a.indptr, a.indices, a.data, np.ones(6), np.zeros(6)
    ),
    "einsum": lambda a: np.einsum("ij,j", np.eye(3), np.ones(3)),
    "matmul": lambda a: np.matmul(np.eye(3), np.ones(3)),
    "dot": lambda a: np.dot(np.eye(3), np.ones(3)),
    "tensordot": lambda a: np.tensordot(np.eye(3), np.ones(3), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", SHORTCUTS)
def test_the_guard_bites_and_is_undone(name: str, no_shortcuts: Guard) -> None:
    a = small()
    with no_shortcuts(), pytest.raises(ShortcutError):
        SHORTCUTS[name](a)
    SHORTCUTS[name](a)
