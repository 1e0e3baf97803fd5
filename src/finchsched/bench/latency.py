"""The latency suite: how long things take that are not kernels.

Steps that happen once a process (imports, the first result) are measured in fresh interpreters, each after `import
numpy`; two programs are compiled in an empty cache, then run by another process from the cache that the first one left.
Operations on tiny operands are timed warm, beside SciPy and, if it is installed, `sparse`.
"""

import importlib
import importlib.util
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from finchsched.bench.child import run_child
from finchsched.bench.kernels import Api, UnknownNameError, load_api
from finchsched.bench.report import machine, write_json
from finchsched.bench.timing import Timing, alternate, median_of_ratios

__all__ = ["OPERATIONS", "STEPS", "Latency", "run_latency"]

_STEPS_CODE = """
import json, sys, time
clock, at = time.perf_counter, []
at.append(clock())
import numpy as np
at.append(clock())
import finchsched as fs
at.append(clock())
A, x = np.arange(12.0).reshape(3, 4), np.ones(4)
y = fs.einsum("y[i] += A[i,j] * x[j]", A=A, x=x)
at.append(clock())
z = fs.compute(fs.lazy(A) * 2.5 + fs.lazy(A))
at.append(clock())
assert y.to_numpy().tolist() == A.sum(axis=1).tolist() and (z.to_numpy() == 3.5 * A).all()
steps = [1e3 * (after - before) for before, after in zip(at, at[1:])]
print(json.dumps({"steps": steps, "numba": "numba" in sys.modules}))
"""

STEPS = {
    "import numpy": "what every step is to be compared with",
    "import finchsched": "after numpy",
    "first kernel": "the first result of a process with an empty cache: plan, Numba, compilation, run",
    "next kernel": "the second result of that process",
    "first from cache": "the first result of a process that finds plan and kernel on disk",
    "next from cache": "its second result",
    "start to result": "import finchsched and first from cache together",
}
"""What is measured once a process, in milliseconds."""

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "A @ x": lambda A, x: A @ x,
    "A * A": lambda A, x: A * A,
    "A + A": lambda A, x: A + A,
    "A * 2.5": lambda A, x: A * 2.5,
    "A.sum(axis=0)": lambda A, x: A.sum(axis=0),
}
"""Operations of a sparse matrix of 5 x 5 and a vector, timed warm, in microseconds."""


@dataclass(frozen=True, slots=True)
class Latency:
    """One measure: median, least and greatest of its runs, in `unit`; `ratios` to peers in the same rounds."""

    name: str
    unit: str
    median: float
    minimum: float
    maximum: float
    runs: int
    ratios: Mapping[str, float]

    def __str__(self) -> str:
        ratios = "".join(f"  {value:.2f} of {peer}" for peer, value in self.ratios.items())
        spread = f"{self.minimum:.1f}..{self.maximum:.1f}"
        return f"{self.name:<18} {self.median:>9.1f} {self.unit} {spread:>17} {self.runs:>4}{ratios}"


def run_latency(
    json_path: Path | None,
    *,
    only: Sequence[str] = (),
    data: Sequence[str] = (),
    repeats: int = 15,
    max_seconds: float | None = None,
    api: Api | None = None,
) -> int:
    """Run the suite, print its table, write JSON to `json_path` if given; 0, as nothing is compared but times.

    `only` chooses measures by name; there are no data sets to choose.  `max_seconds` bounds each operation's
    comparison, not the processes: those are two for each of `repeats`.  Errors: UnknownNameError, RuntimeError.
    """
    unknown = [name for name in only if name not in STEPS and name not in OPERATIONS]
    if unknown or data:
        known = ", ".join([*STEPS, *OPERATIONS])
        raise UnknownNameError(f"unknown: {', '.join([*unknown, *data])}\nhint: measures are {known}; no data sets")
    found = []
    for latency in _measured(api, only, repeats, max_seconds):
        found.append(latency)
        print(latency, flush=True)
    if json_path is not None:
        settings = {"only": list(only), "repeats": repeats, "max_seconds": max_seconds}
        rows = [asdict(latency) for latency in found]
        write_json(json_path, {"suite": "latency", "machine": machine(), "settings": settings, "rows": rows})
    return 0


def _measured(api: Api | None, only: Sequence[str], repeats: int, max_seconds: float | None) -> Iterator[Latency]:
    if not only or set(only) & set(STEPS):
        yield from (step for step in _steps(repeats) if not only or step.name in only)
    for name, operation in OPERATIONS.items():
        if not only or name in only:
            yield _operation(name, operation, api or load_api(), repeats, max_seconds)


def _steps(repeats: int) -> list[Latency]:
    samples: dict[str, list[float]] = {name: [] for name in STEPS}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            cold, warm = (run_child(_STEPS_CODE, FINCHSCHED_CACHE_DIR=folder) for _ in range(2))
        if warm["numba"]:
            raise RuntimeError("a process that should have found its kernels on disk imported Numba")
        numpy, package, first, second = warm["steps"]
        values = (numpy, package, *cold["steps"][2:], first, second, package + first)
        for mine, value in zip(samples.values(), values, strict=True):
            mine.append(value)
    beside = samples["import numpy"]
    return [_step(name, values, beside) for name, values in samples.items()]


def _step(name: str, values: list[float], beside: list[float]) -> Latency:
    ratio = statistics.median(mine / numpy for mine, numpy in zip(values, beside, strict=True))
    ratios = {} if values is beside else {"import numpy": ratio}
    return Latency(name, "ms", statistics.median(values), min(values), max(values), len(values), ratios)


def _operation(
    name: str, operation: Callable[[Any, Any], Any], api: Api, repeats: int, max_seconds: float | None
) -> Latency:
    matrix, vector = sp.csr_array(np.eye(5) + np.eye(5, k=1)), np.ones(5)
    operands = {"finch": (api.asarray(matrix), api.asarray(vector)), "scipy": (matrix, vector)}
    if importlib.util.find_spec("sparse") is not None:
        operands["sparse"] = (importlib.import_module("sparse").GCXS.from_scipy_sparse(matrix), vector)
    subjects = [_call(operation, *given) for given in operands.values()]
    ours, *theirs = alternate(subjects, repeats=repeats, max_seconds=max_seconds)
    ratios = {peer: median_of_ratios(ours, timing) for peer, timing in zip(list(operands)[1:], theirs, strict=True)}
    return _in_microseconds(name, ours, ratios)


def _call(operation: Callable[[Any, Any], Any], matrix: Any, vector: Any) -> Callable[[], Any]:
    return lambda: operation(matrix, vector)


def _in_microseconds(name: str, timing: Timing, ratios: Mapping[str, float]) -> Latency:
    median, low, high = (1e6 * value for value in (timing.median, timing.minimum, timing.maximum))
    return Latency(name, "us", median, low, high, timing.runs, ratios)
