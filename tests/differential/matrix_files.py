"""The matrices of the data folder as SciPy reads them, operands made of them, and products that tests expect."""

import gzip
import os
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[Any]

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("FINCHSCHED_DATA", ROOT.parent / "shared" / "data")) / "matrices"
"""As in the fixture `data_dir`; parameters of tests are needed before there are fixtures."""

MOST_MULTIPLICATIONS = 2 * 10**8
"""Matrices whose product needs more are left out of what multiplies two matrices."""

LEAST = 1e-100
"""Stands for entries that are 0 where magnitudes are multiplied, so that no position gets lost."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says of itself."""

    path: Path
    field: str
    square: bool

    @property
    def name(self) -> str:
        """The file's name without its endings."""
        return self.path.name.split(".")[0]


def headers() -> list[Header]:
    """Every Matrix Market file of the folder, by name; none if the folder is missing."""
    return [_header(path) for path in sorted(FOLDER.glob("*.mtx*"))]


def _header(path: Path) -> Header:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        field = next(lines).split()[3].lower()
        sizes = next(line for line in lines if line.strip() and not line.startswith("%")).split()
    return Header(path, field, sizes[0] == sizes[1])


@dataclass(frozen=True, slots=True)
class Expected:
    """Values, and magnitudes that rounding errors are relative to (None: values are exact).

    Both are arrays, or CSR matrices, of which `size` then has the positions that must be stored.
    """

    values: Any
    size: Any = None


class MatrixCase:
    """One matrix `a`, and operands of its shape and of shapes that fit.

    b, c: `a` with its columns, its rows in reverse order.  right: `a`, or its transpose if `a` is not square.  Vectors
    and dense matrices are of integers where `a` is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.a = canonical(scipy.io.mmread(path))
        self.b, self.c = canonical(self.a[:, ::-1]), canonical(self.a[::-1])
        self.square = self.a.shape[0] == self.a.shape[1]
        self.right = self.a if self.square else canonical(self.a.T)
        self.exact = self.a.dtype.kind == "i"
        self._random = np.random.default_rng(2024)
        rows, columns = self.a.shape
        self.x, self.y, self.z = self.dense(columns), self.dense(rows), self.dense(self.right.shape[1])
        self.wide, self.tall = self.dense(8, columns), self.dense(columns, 8)
        self.left = self.dense(rows, 8)

    def dense(self, *shape: int) -> Array:
        """Random numbers that are not 0."""
        if self.exact:
            return self._random.integers(1, 10, shape)
        return self._random.uniform(0.5, 1.5, shape)

    @cached_property
    def multiplications(self) -> int:
        """How many `a @ right` needs."""
        per_row = np.diff(self.right.indptr).astype(np.int64)
        return int(per_row[self.a.indices].sum())

    @cached_property
    def product(self) -> Expected:
        """`a @ right`."""
        values = canonical(self.a @ self.right)
        if self.a.dtype.kind == "f" and (self.a.data > LEAST).all():
            return Expected(values, values)
        return Expected(values, canonical(magnitudes(self.a) @ magnitudes(self.right)))


def canonical(matrix: Any) -> Any:
    """A CSR array with sorted rows and without duplicates, all of whose entries are kept."""
    made = sp.csr_array(matrix)
    made.sum_duplicates()
    made.sort_indices()
    return made


def magnitudes(matrix: Any) -> Any:
    """Absolute values in float64, none of them 0."""
    return with_data(matrix, np.maximum(np.abs(matrix.data).astype(np.float64), LEAST))


def with_data(matrix: Any, data: Array) -> Any:
    """A CSR array with the positions of `matrix` and other values."""
    return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


@lru_cache(maxsize=1)
def load(path: Path) -> MatrixCase:
    """The case of a file; only the last one is kept, since products may be large."""
    return MatrixCase(path)
