"""`finchsched demo`: a sampled dense-dense matrix product, fused, on a real matrix.

The product of two dense matrices is wanted only where a sparse matrix A stores something.  Written as in NumPy,
`a * (x @ y.T)`, it has two steps; the compiler makes one kernel of them that never forms the dense product.
"""

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from finchsched.api import Plan, Tensor, asarray, lazy, plan, read, sample_path
from finchsched.ast.print_logic import print_logic
from finchsched.io import DATA_VARIABLE, data_folder

__all__ = ["add_arguments", "run"]

_SAMPLE = "west0067.mtx"
_LARGER = ("wiki_vote.mtx.gz", "facebook_combined.mtx.gz")
_COLUMNS = 64
_ROUNDS = 5
_SAMPLE_SECONDS = 2e-3
_TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True)
class _Problem:
    """The sparse matrix and the two dense ones, the plan, and three ways to the answer."""

    name: str
    A: Tensor
    X: Any
    Y: Any
    plan: Plan

    @property
    def ways(self) -> dict[str, Callable[[], Any]]:
        """finchsched, SciPy's expression, and what one can write by hand with NumPy, given A's coordinates."""
        by_scipy = self.A.to_scipy()
        entries = by_scipy.tocoo()
        return {
            "finchsched": self.plan.run,
            "SciPy: A.multiply(X @ Y.T)": lambda: by_scipy.multiply(self.X @ self.Y.T),
            "NumPy by hand: A.data * (X[rows] * Y[cols]).sum(1)": lambda: (
                entries.data * (self.X[entries.row] * self.Y[entries.col]).sum(axis=1)
            ),
        }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None: the demo needs nothing."""
    parser.epilog = f"A larger matrix is used too if the folder that {DATA_VARIABLE} names has one."


def run(arguments: argparse.Namespace) -> int:
    """Show the plan and the kernel, check the answers, compare times.  1 if an answer is wrong."""
    paths = [sample_path(_SAMPLE), *_larger()]
    start = time.perf_counter()
    problems = [_problem(path) for path in paths]
    planned = time.perf_counter() - start
    problems[0].plan.run()
    _show(problems[0], planned)
    wrong = [problem.name for problem in problems if not _check(problem)]
    print()
    for problem in problems:
        _compare(problem)
    print("Each figure is the median of runs that took turns.  finchsched used one thread.")
    return int(bool(wrong))


def _larger() -> list[Path]:
    """The first of the larger matrices that is there."""
    paths = (data_folder() / "matrices" / name for name in _LARGER)
    return next(([path] for path in paths if path.is_file()), [])


def _problem(path: Path) -> _Problem:
    A = read(path)
    rng = np.random.default_rng(0)
    X, Y = (rng.random((extent, _COLUMNS)) for extent in A.shape)
    a, x, y = lazy(A), lazy(asarray(X)), lazy(asarray(Y))
    return _Problem(path.name.partition(".")[0], A, X, Y, plan(a * (x @ y.T)))


def _show(problem: _Problem, seconds: float) -> None:
    A = problem.A
    print(f"A is {problem.name}, {A.shape[0]} x {A.shape[1]}, {A.nnz} entries stored, as {A.format}.")
    print(f"X and Y are dense, {_COLUMNS} columns each.  The program, as one would write it with NumPy:\n")
    print("    a, x, y = fs.lazy(A), fs.lazy(X), fs.lazy(Y)")
    print("    plan = fs.plan(a * (x @ y.T))\n")
    steps = dict(problem.plan.executable.stages)
    print("What is computed (Logic IR), in two steps:\n")
    print(_indented(_queries(print_logic(steps["pretty_labels"]))))
    print("and after the two are fused (t0 = A, t1 = X, t2 = Y, r0 is the result), with the order of the loops:\n")
    print(_indented(_queries(problem.plan.logic)))
    print("How (Loop IR), with the formats of operands and result:\n")
    print(_indented(problem.plan.loops))
    print(f"The kernel (planned and compiled, or read from the cache, in {seconds:.1f} s):\n")
    print(_indented(_without_head(problem.plan.kernel_source)))
    for path in problem.plan.executable.kernel_files:
        print(f"It is kept in {path}\n")


def _queries(logic: str) -> str:
    return "\n".join(line for line in logic.splitlines() if ":=" in line)


def _without_head(source: str) -> str:
    """The kernel without its head comment, which repeats the loops."""
    lines = source.splitlines()
    first = next(number for number, line in enumerate(lines) if line and not line.startswith("#"))
    return "\n".join(lines[first:])


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in text.rstrip().splitlines())


def _check(problem: _Problem) -> bool:
    """Compare with the sum over k written out by NumPy for each stored entry."""
    result = problem.plan.run().to_scipy().tocoo()
    entries = problem.A.to_scipy().tocoo()
    expected = entries.data * np.einsum("pk,pk->p", problem.X[entries.row], problem.Y[entries.col])
    same_places = np.array_equal(result.row, entries.row) and np.array_equal(result.col, entries.col)
    good = bool(same_places and np.allclose(result.data, expected, rtol=_TOLERANCE, atol=0.0))
    worst = np.abs(result.data - expected).max(initial=0.0) if same_places else np.inf
    print(f"Check on {problem.name}: {'right' if good else 'WRONG'} ({len(expected)} entries, differ by {worst:.1e})")
    return good


def _compare(problem: _Problem) -> None:
    rows, columns = problem.A.shape
    print(f"Time on {problem.name} ({rows} x {columns}, {problem.A.nnz} stored, {_COLUMNS} columns):")
    ways = problem.ways
    try:
        medians = _alternate(list(ways.values()))
    except MemoryError:
        print(f"    the dense product, {rows * columns * 8 / 1e9:.1f} GB, does not fit into memory\n")
        return
    for name, seconds in zip(ways, medians, strict=True):
        print(f"    {name:<52} {1e3 * seconds:10.3f} ms  {seconds / medians[0]:8.1f} x")
    print()


def _alternate(calls: Sequence[Callable[[], Any]]) -> list[float]:
    """Median seconds of each call.  Calls take turns, so that a slow spell of the machine meets all of them."""
    repeats = [max(1, round(_SAMPLE_SECONDS / max(_timed(call, 1), 1e-7))) for call in calls for _ in [call()]]
    rounds = [[_timed(call, n) for call, n in zip(calls, repeats, strict=True)] for _ in range(_ROUNDS)]
    return [statistics.median(column) for column in _columns(rounds)]


def _columns(rounds: list[list[float]]) -> Iterator[tuple[float, ...]]:
    return zip(*rounds, strict=True)


def _timed(call: Callable[[], Any], times: int) -> float:
    """Mean seconds of a call; results are freed after the clock has stopped."""
    result: Any = None
    was_on = gc.isenabled()
    gc.disable()
    try:
        start = time.perf_counter()
        for _ in range(times):
            result = call()
        seconds = time.perf_counter() - start
    finally:
        if was_on:
            gc.enable()
    del result
    return seconds / times
