"""Matrices of the kernel suite: generated ones with fixed seeds, and real ones from the shared data folder.

Every matrix is a `scipy.sparse.csr_array` of float64 with int32 `indptr` and `indices`, columns strictly rising inside
a row, no duplicates.  Generated values lie in [0.5, 1.5): positive, so neither sums nor products cancel to a stored
zero (which SciPy would drop and a sparse compiler keeps).  Equal arguments give equal matrices in any process.
"""

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.io
import scipy.sparse as sp

from finchsched.io import data_folder

Csr: TypeAlias = sp.csr_array
Keys: TypeAlias = npt.NDArray[np.int64]

SEED = 20_240_817
REAL_MIN_NNZ = 300_000


@dataclass(frozen=True, slots=True)
class DataSet:
    """A named matrix, made on demand.  `kernels` limits it to these kernels; empty: all that take any matrix."""

    name: str
    make: Callable[[], Csr]
    kernels: tuple[str, ...] = ()


def values(rng: np.random.Generator, *shape: int) -> npt.NDArray[np.float64]:
    """Uniform float64 in [0.5, 1.5), made without a temporary."""
    out = rng.random(shape)
    out += 0.5
    return out


def uniform(n: int = 200_000, nnz: int = 2_000_000, seed: int = SEED) -> Csr:
    """n x n with exactly `nnz` entries at places drawn uniformly without replacement."""
    rng = np.random.default_rng([seed, n, nnz])
    return from_keys(_distinct_keys(rng, n * n, nnz), (n, n), rng)


def rmat(
    scale: int = 17,
    edges: int = 2_000_000,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    seed: int = SEED,
) -> Csr:
    """Recursive power-law graph of 2**scale vertices (Chakrabarti, Zhan, Faloutsos 2004).

    Each edge picks one quadrant per bit with chances a (top left), b (top right), c (bottom left), 1-a-b-c; edges that
    fall on the same place are merged, so nnz is below `edges`.
    """
    rng = np.random.default_rng([seed, scale, edges])
    n = 1 << scale
    row = np.zeros(edges, np.int64)
    col = np.zeros(edges, np.int64)
    for _ in range(scale):
        draw = rng.random(edges)
        down = draw >= a + b
        right = ((draw >= a) & ~down) | (draw >= a + b + c)
        row = 2 * row + down
        col = 2 * col + right
    return from_keys(np.unique(row * n + col), (n, n), rng)


def laplacian(side: int = 1000) -> Csr:
    """5-point stencil on a side x side grid: 4 on the diagonal, -1 for each of up to four neighbours."""
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(side, side))
    eye = sp.eye_array(side)
    return canonical(sp.kron(eye, line, format="csr") + sp.kron(line, eye, format="csr"))


def second_operand(A: Csr, seed: int = SEED) -> Csr:
    """A partner of A's shape: nnz // 2 of A's places with new values, and as many places that A does not store."""
    rng = np.random.default_rng([seed, 2, A.nnz])
    rows, cols = A.shape
    taken = np.repeat(np.arange(rows, dtype=np.int64), np.diff(A.indptr)) * cols + A.indices
    half = A.nnz // 2
    kept = rng.choice(taken, half, replace=False)
    added = _distinct_keys(rng, rows * cols, min(half, rows * cols - A.nnz), taken)
    return from_keys(np.sort(np.concatenate([kept, added])), (rows, cols), rng)


def from_keys(keys: Keys, shape: tuple[int, int], rng: np.random.Generator) -> Csr:
    """The matrix that stores random values at the strictly rising row-major places `keys`."""
    rows, cols = shape
    ptr = np.searchsorted(keys, np.arange(rows + 1, dtype=np.int64) * cols).astype(np.int32)
    return canonical(sp.csr_array((values(rng, len(keys)), (keys % cols).astype(np.int32), ptr), shape=shape))


def canonical(matrix: Any) -> Csr:
    """`matrix` as float64 CSR with int32 indices, sorted, duplicates added up; explicit zeros stay."""
    out = sp.csr_array(matrix, dtype=np.float64)
    if max(out.nnz, *out.shape) > np.iinfo(np.int32).max:
        raise OverflowError(f"{out.nnz} entries in shape {out.shape} do not fit int32 indices")
    out.sum_duplicates()
    out.sort_indices()
    out.indptr = out.indptr.astype(np.int32, copy=False)
    out.indices = out.indices.astype(np.int32, copy=False)
    return out


def real_matrices(folder: Path, least_nnz: int = REAL_MIN_NNZ) -> list[DataSet]:
    """The Matrix Market files of at least `least_nnz` entries in `folder/manifest.json`, complex ones left out."""
    manifest = folder / "manifest.json"
    if not manifest.is_file():
        return []
    listed = json.loads(manifest.read_text(encoding="utf-8"))["datasets"]
    return [
        DataSet(entry["name"], _Reader(folder / entry["path"], entry["name"], entry["dtype"] == "pattern"))
        for entry in listed
        if entry["format"] == "matrix-market"
        and entry["nnz"] >= least_nnz
        and not entry["dtype"].startswith("complex")
        and (folder / entry["path"]).is_file()
    ]


@dataclass(frozen=True, slots=True)
class _Reader:
    path: Path
    name: str
    pattern: bool

    def __call__(self) -> Csr:
        out = canonical(scipy.io.mmread(self.path))
        if self.pattern:
            out.data = values(np.random.default_rng([SEED, zlib.crc32(self.name.encode())]), out.nnz)
        return out


def data_sets() -> list[DataSet]:
    """Everything the kernel suite runs on: small ones, the three large generated ones, special ones, real ones."""
    return [
        DataSet("small", lambda: uniform(1_000, 10_000)),
        DataSet("rmat13", lambda: rmat(13, 125_000)),
        DataSet("uniform", uniform),
        DataSet("rmat", rmat),
        DataSet("laplacian", laplacian),
        DataSet("uniform20k", lambda: uniform(20_000, 400_000), ("sddmm",)),
        DataSet("tiny", lambda: uniform(100, 1_000), ("dispatch",)),
        *real_matrices(data_folder()),
    ]


def _distinct_keys(rng: np.random.Generator, total: int, count: int, excluded: Keys | None = None) -> Keys:
    """`count` different sorted numbers below `total`, uniform among those not in `excluded` (sorted, distinct)."""
    if total > np.iinfo(np.int64).max:
        raise OverflowError(f"{total} places do not fit int64 keys")
    banned = np.empty(0, np.int64) if excluded is None else excluded
    if count > total - len(banned):
        raise ValueError(f"{count} distinct places wanted, only {total - len(banned)} are free")
    if total <= 4 * (count + len(banned)):
        free = np.setdiff1d(np.arange(total, dtype=np.int64), banned, assume_unique=True)
        return np.sort(rng.choice(free, count, replace=False))
    found = np.empty(0, np.int64)
    while len(found) < count:
        drawn = rng.integers(total, size=count - len(found) + count // 50 + 16)
        found = np.setdiff1d(np.union1d(found, drawn), banned, assume_unique=True)
    return np.sort(rng.choice(found, count, replace=False))  # the surplus goes at random, not from one end
