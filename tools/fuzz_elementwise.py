"""Compare `A * B`, `A + B` and `A.sum()` of random 8 x 8 matrices with NumPy, a million times unless told otherwise.

    python tools/fuzz_elementwise.py [--cases N] [--seed S] [--backend numba|python]

Element types, storage formats, index widths and densities vary; entries may be explicit zeros, NaN or infinite.  Values
are multiples of 1/4, so that no sum is rounded and results are compared exactly, as are the positions that are stored.
Prints every failure with its batch and number, and `N passed, M failed`; exits with 1 if there is a failure.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import finchsched as fs
from finchsched.algebra.dtypes import INT32, INT64, DType, Scalar
from finchsched.ast.format import TensorType
from finchsched.formats.fiber_tensor import FiberTensor, fill_node
from finchsched.formats.levels import Dense, SparseList

Array = NDArray[Any]

EXTENT = 8
BATCH = 500
SHOWN = 10
ROWS, COLUMNS = (0, 1), (1, 0)


@dataclass(frozen=True, slots=True)
class Kind:
    """What the cases of one batch have in common: element type, and order of axes and index width of each operand."""

    dtype: str
    perms: tuple[tuple[int, int], tuple[int, int]] = (ROWS, ROWS)
    widths: tuple[DType, DType] = (INT32, INT32)


KINDS = (
    Kind("float64"),
    Kind("int64"),
    Kind("float64", (ROWS, COLUMNS)),
    Kind("bool"),
    Kind("float64", widths=(INT32, INT64)),
    Kind("float32"),
    Kind("float64", (COLUMNS, COLUMNS)),
    Kind("int64", (COLUMNS, ROWS), (INT64, INT64)),
)

EDGES = np.arange(EXTENT + 1)

Operation = Callable[[fs.Tensor, fs.Tensor], fs.Tensor]
OPERATIONS: dict[str, Operation] = {
    "A * B": lambda a, b: a * b,
    "A + B": lambda a, b: a + b,
    "A.sum()": lambda a, b: a.sum(),
}


@dataclass(frozen=True, slots=True)
class Sample:
    """A matrix: values, zero where nothing is stored; which entries are stored; the tensor."""

    values: Array
    stored: NDArray[np.bool]
    tensor: fs.Tensor


def batch_kind(number: int) -> Kind:
    """The kinds take turns."""
    return KINDS[number % len(KINDS)]


def batch(seed: int, number: int) -> Iterator[tuple[Sample, Sample]]:
    """The pairs of one batch, which depend on seed and number alone."""
    rng = np.random.default_rng((seed, number))
    kind = batch_kind(number)
    dtype = DType(kind.dtype)
    shape = (BATCH, 2, EXTENT, EXTENT)
    stored = rng.random(shape) < rng.choice(
        [0.0, 0.1, 0.3, 0.6, 1.0], p=[0.05, 0.3, 0.3, 0.3, 0.05], size=(BATCH, 2, 1, 1)
    )
    values = (rng.integers(-8, 9, shape) / (4 if dtype.is_float else 1)).astype(dtype.numpy)
    if dtype.is_float:
        odd = (rng.random(shape) < 0.02) & (rng.random((BATCH, 1, 1, 1)) < 0.2)
        values[odd] = rng.choice([np.nan, np.inf, -np.inf, -0.0], size=int(odd.sum()))
    values[~stored] = 0
    for n in range(BATCH):
        yield tuple(  # type: ignore[misc]  # a pair
            Sample(values[n, k], stored[n, k], make_tensor(values[n, k], stored[n, k], kind.perms[k], kind.widths[k]))
            for k in range(2)
        )


def make_tensor(values: Array, stored: NDArray[np.bool], perm: tuple[int, int], width: DType) -> fs.Tensor:
    """The stored entries in Dense(SparseList), by rows or by columns."""
    kind, fill = tensor_type(values.dtype.name, perm, width)
    values, stored = values.transpose(perm), stored.transpose(perm)
    pos, crd = pattern(stored)
    pos, crd = pos.astype(width.numpy), crd.astype(width.numpy)
    return fs.Tensor(FiberTensor(kind, (EXTENT, EXTENT), fill, (None, pos), (None, crd), values[stored]))


@cache
def tensor_type(name: str, perm: tuple[int, int], width: DType) -> tuple[TensorType, Scalar]:
    """The type, one object for equal arguments, and its fill."""
    dtype = DType(name)
    fill: Scalar = dtype.numpy.type(0).item()
    return TensorType((Dense(), SparseList(width, width)), perm, dtype, fill_node(fill, dtype)), fill


def pattern(stored: NDArray[np.bool]) -> tuple[Array, Array]:
    """Pointers and coordinates of the entries of a mask, row by row."""
    rows, crd = np.nonzero(stored)
    return np.searchsorted(rows, EDGES), crd


def expect(name: str, a: Sample, b: Sample) -> tuple[Array, NDArray[np.bool]]:
    """(values, stored) of a result; a sum has no axes and is always stored."""
    if name == "A * B":
        stored = a.stored & b.stored
        return np.where(stored, a.values * b.values, a.values.dtype.type(0)), stored
    if name == "A + B":
        return a.values + b.values, a.stored | b.stored
    return np.asarray(np.sum(a.values, dtype=None)), np.ones((), np.bool)


def difference(result: fs.Tensor, values: Array, stored: NDArray[np.bool]) -> str:
    """What is wrong with a result; empty if nothing is."""
    if result.dtype != values.dtype or result.shape != values.shape:
        return f"found {result.dtype} of shape {result.shape}, expected {values.dtype} of shape {values.shape}"
    if result.ndim == 0:
        got = result.data.val
        return "" if np.array_equal(got[0], values, equal_nan=True) else f"found {got[0]!r}, expected {values[()]!r}"
    perm = result.data.type.perm
    pos, crd = pattern(stored.transpose(perm))
    if not (np.array_equal(result.data.pos[1], pos) and np.array_equal(result.data.crd[1], crd)):
        return f"found positions {result.data.pos[1]} {result.data.crd[1]}, expected {pos} {crd}"
    wanted = values.transpose(perm)[stored.transpose(perm)]
    same = np.array_equal(result.data.val, wanted, equal_nan=wanted.dtype.kind == "f")
    return "" if same else f"found values {result.data.val}, expected {wanted}"


def check(a: Sample, b: Sample, operations: dict[str, Operation]) -> str:
    """What is wrong with a pair of operands; empty if nothing is."""
    for name, operation in operations.items():
        try:
            problem = difference(operation(a.tensor, b.tensor), *expect(name, a, b))
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            return f"{name}: {problem}"
    return ""


def run(
    cases: int,
    seed: int = 0,
    operations: dict[str, Operation] = OPERATIONS,
    report: Callable[[str], None] = print,
) -> tuple[int, int]:
    """(passed, failed) of the first `cases` cases of a seed; the first failures are reported."""
    passed = failed = 0
    start = time.perf_counter()
    with np.errstate(all="ignore"):
        for number in range(-(-cases // BATCH)):
            for n, (a, b) in zip(range(min(BATCH, cases - passed - failed)), batch(seed, number), strict=False):
                problem = check(a, b, operations)
                passed, failed = passed + (not problem), failed + bool(problem)
                if problem and failed <= SHOWN:
                    report(f"seed {seed}, batch {number} ({batch_kind(number)}), case {n}: {problem}")
            if sys.stderr.isatty() or number % 100 == 99:
                rate = (passed + failed) / (time.perf_counter() - start)
                end = "\r" if sys.stderr.isatty() else "\n"
                print(f"{passed + failed} of {cases} cases, {rate:.0f} a second", end=end, file=sys.stderr, flush=True)
    return passed, failed


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare elementwise programs with NumPy on random 8 x 8 matrices.")
    parser.add_argument("--cases", type=int, default=1_000_000, help="how many pairs of matrices (1000000)")
    parser.add_argument("--seed", type=int, default=0, help="where the random numbers start (0)")
    parser.add_argument("--backend", choices=("numba", "python"), default="numba", help="compiled or plain kernels")
    options = parser.parse_args(arguments)
    with fs.config(backend=options.backend):
        passed, failed = run(options.cases, options.seed)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
