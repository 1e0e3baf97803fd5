"""The kernel suite: everyday sparse kernels on one thread, timed against SciPy and against kernels written by hand.

Every result is compared with the peers' in the same run; a wrong one, or a kernel that fails, makes the exit status 1.
Speed never does.  Rows are printed as they are measured.
"""

import importlib
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import scipy.sparse as sp

from finchsched.bench.data import SEED, Csr, DataSet, data_sets, second_operand, uniform, values
from finchsched.bench.memory import child_usage
from finchsched.bench.peers import Peer, difference, make_peer, sampled_product
from finchsched.bench.report import (
    FAILING,
    Row,
    Status,
    document,
    format_row,
    format_summary,
    header,
    time_fields,
    write_json,
)
from finchsched.bench.timing import Timing, alternate, median_reading
from finchsched.errors import FinchschedError

COLUMNS = 64
SPGEMM_LIMIT = 200_000_000
TRIANGLE_LIMIT = 60_000_000


class UnknownNameError(FinchschedError, ValueError):
    """A kernel or a data set that the suite does not have."""


class Plan(Protocol):
    """What the suite uses of a compiled plan."""

    def run(self) -> Any:
        """Compute with the bound operands."""

    def run_timed(self) -> tuple[Any, float]:
        """The result, and the seconds spent in compiled kernels and allocating outputs."""


class Api(Protocol):
    """What the suite uses of `finchsched.api`; tests put a stand-in here."""

    def asarray(self, x: Any, /) -> Any:
        """A tensor over `x`."""

    def plan(self, program: Any, /, **operands: Any) -> Plan:
        """Compile a program text or a lazy expression."""

    def lazy(self, x: Any, /) -> Any:
        """A lazy expression."""

    def compute(self, x: Any, /) -> Any:
        """Evaluate a lazy expression."""


def load_api() -> Api:
    """`finchsched.api`, imported when a run starts: data, timing and reports must work without the compiler."""
    return cast("Api", importlib.import_module("finchsched.api"))


class Inputs:
    """Everything the kernels take on the matrix A; each made at most once, with fixed seeds."""

    def __init__(self, A: Csr) -> None:
        self.A = A

    @cached_property
    def partner(self) -> Csr:
        """A matrix that shares half of A's places."""
        return second_operand(self.A)

    @cached_property
    def right(self) -> Csr:
        """The right factor of SpGEMM: A itself when square, else its transpose."""
        rows, cols = self.A.shape
        return self.A if rows == cols else sp.csr_array(self.A.T)

    @cached_property
    def by_rows(self) -> Any:
        """Dense, a row per row of A."""
        return values(np.random.default_rng([SEED, 3]), self.A.shape[0], COLUMNS)

    @cached_property
    def by_columns(self) -> Any:
        """Dense, a row per column of A."""
        return values(np.random.default_rng([SEED, 4]), self.A.shape[1], COLUMNS)

    @cached_property
    def vector(self) -> Any:
        """Dense, an entry per column of A."""
        return values(np.random.default_rng([SEED, 5]), self.A.shape[1])


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel of the suite.

    `operands` maps the names in `program` to attributes of Inputs; `limit` is the largest number of multiplications of
    the sparse product worth running; `reference` makes a result to check against beside the peers'.
    """

    name: str
    program: str
    operands: Mapping[str, str]
    peers: tuple[str, ...] = ("scipy", "hand")
    formats: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None
    square: bool = False
    scipy_only_on: tuple[str, ...] = ()
    reference: Callable[[Mapping[str, Any]], Any] | None = None

    def inputs(self, of: Inputs) -> dict[str, Any]:
        """The operands by name, as NumPy and SciPy arrays."""
        return {name: getattr(of, attribute) for name, attribute in self.operands.items()}

    def peers_on(self, data: str) -> tuple[str, ...]:
        """The peers that take part on this data set."""
        barred = self.scipy_only_on and data not in self.scipy_only_on
        return tuple(peer for peer in self.peers if not (barred and peer == "scipy"))


_A, _AB, _AX = {"A": "A"}, {"A": "A", "B": "partner"}, {"A": "A", "x": "vector"}

CASES: tuple[Case, ...] = (
    Case("spmv", "y[i] += A[i,j] * x[j]", _AX),
    Case("spgemm", "C[i,j] += A[i,k] * B[k,j]", {"A": "A", "B": "right"}, limit=SPGEMM_LIMIT),
    Case("add", "C[i,j] = A[i,j] + B[i,j]", _AB),
    Case("mul", "C[i,j] = A[i,j] * B[i,j]", _AB),
    Case("transpose", "B[j,i] = A[i,j]", _A, formats={"B": "csr"}),
    Case(
        "sddmm",
        "C[i,j] += A[i,j] * X[i,k] * Y[j,k]",
        {"A": "A", "X": "by_rows", "Y": "by_columns"},
        scipy_only_on=("uniform20k",),
        reference=sampled_product,
    ),
    Case("spmm", "Y[i,k] += A[i,j] * X[j,k]", {"A": "A", "X": "by_columns"}),
    Case("total", "s[] += A[i,j]", _A),
    Case("rowsum", "y[i] += A[i,j]", _A),
    Case("tricount", "t[] += A[i,j] * A[i,k] * A[k,j]", _A, limit=TRIANGLE_LIMIT, square=True),
    Case("dispatch", "y[i] += A[i,j] * x[j]", _AX, peers=("scipy",)),
)
SPECIAL = ("dispatch",)  # only on data sets that name them
MEMORY_CASES = ("spgemm", "sddmm")
_MEMORY_SETUP = "from finchsched.bench.kernels import memory_subject\nrun = memory_subject{arguments!r}"


def multiplications(A: Csr, B: Csr) -> int:
    """Exact number of scalar multiplications of A @ B: the sum over A's entries [i,k] of the entries in B's row k."""
    return int(np.diff(B.indptr).astype(np.int64)[A.indices].sum())


def skip_reason(case: Case, inputs: Inputs) -> str:
    """Why this kernel does not run on this matrix; empty when it does."""
    rows, cols = inputs.A.shape
    if case.square and rows != cols:
        return f"needs a square matrix, got {rows} x {cols}"
    if case.limit is not None and (count := multiplications(inputs.A, inputs.right)) > case.limit:
        return f"{count} multiplications, more than {case.limit}"
    return ""


@dataclass(frozen=True, slots=True)
class Budget:
    """How often to run: `repeats` rounds a comparison, or until `max_seconds` have gone by after three rounds."""

    repeats: int = 15
    max_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """Our side of a comparison: a warm call, the seconds its kernels take, the first result and what it cost."""

    call: Callable[[], Any]
    kernel_seconds: Callable[[], float]
    result: Any
    first_seconds: float


def prepare(api: Api, case: Case, operands: Mapping[str, Any]) -> Subject:
    """Bind the operands, compile, run once."""
    tensors = {name: api.asarray(array) for name, array in operands.items()}
    start = time.perf_counter()
    if case.name == "dispatch":
        A, x = tensors["A"], tensors["x"]

        def call() -> Any:
            return api.compute(api.lazy(A) @ x)

        plan = api.plan(api.lazy(A) @ x)
    else:
        options = {"formats": dict(case.formats)} if case.formats else {}
        plan = api.plan(case.program, **tensors, **options)
        call = plan.run
    result = call()
    return Subject(call, lambda: plan.run_timed()[1], result, time.perf_counter() - start)


def measure(api: Api, case: Case, data: str, inputs: Inputs, budget: Budget) -> list[Row]:
    """Compile, check and time one kernel on one matrix: a row a peer."""
    A = inputs.A
    about: dict[str, Any] = {"kernel": case.name, "data": data, "shape": tuple(A.shape), "nnz": int(A.nnz)}
    names = case.peers_on(data)
    if reason := skip_reason(case, inputs):
        return [Row(**about, peer=peer, status="skipped", note=reason) for peer in names]
    operands = case.inputs(inputs)
    try:
        subject = prepare(api, case, operands)
    except Exception as error:  # a kernel that fails is a row of the report, not its end
        return [Row(**about, peer=peer, status="error", note=_last_line(error)) for peer in names]
    peers = [_guarded(make_peer, peer, case.name, operands) for peer in names]
    verdicts = [_verdict(case, subject.result, peer) for peer in peers]
    fault = _reference_fault(case, subject.result, operands)
    subject = Subject(subject.call, subject.kernel_seconds, None, subject.first_seconds)  # frees the result
    able = [peer for peer, (status, _) in zip(peers, verdicts, strict=True) if status in ("ok", "wrong")]
    calls = [subject.call, *(peer.call for peer in able if peer.call is not None)]
    timings = alternate(calls, repeats=budget.repeats, max_seconds=budget.max_seconds)
    kernel = median_reading(subject.kernel_seconds, repeats=budget.repeats, max_seconds=budget.max_seconds)
    about |= {"finch_kernel_ms": 1e3 * kernel, "first_ms": 1e3 * subject.first_seconds}
    if case.name == "dispatch":
        about["overhead_us"] = 1e6 * (timings[0].median - kernel)
    theirs = dict(zip((peer.name for peer in able), timings[1:], strict=True))
    return [
        _row(about, peer, verdict, fault, timings[0], theirs.get(peer.name))
        for peer, verdict in zip(peers, verdicts, strict=True)
    ]


def _row(
    about: Mapping[str, Any],
    peer: Peer,
    verdict: tuple[Status, str],
    fault: str | None,
    ours: Timing,
    theirs: Timing | None,
) -> Row:
    status, note = verdict
    if fault:
        status, note = "wrong", fault
    checked = status in ("ok", "wrong") or fault == ""
    return Row(**about, peer=peer.name, status=status, checked=checked, note=note, **time_fields(ours, theirs))


def _guarded(make: Callable[[str, str, Mapping[str, Any]], Peer], name: str, kernel: str, d: Mapping[str, Any]) -> Peer:
    """The peer, or one that reports why it could not be made."""
    try:
        return make(name, kernel, d)
    except Exception as error:  # a peer's trouble is not ours
        trouble = error

        def fail() -> Any:
            raise trouble

        return Peer(name, fail)


def _verdict(case: Case, result: Any, peer: Peer) -> tuple[Status, str]:
    """Compare our result with the peer's: its status and the note of its row."""
    if peer.call is None:
        return "absent", peer.remark
    try:
        theirs = peer.finish(peer.call())
    except Exception as error:  # out of memory, for one
        return "peer failed", _last_line(error)
    fault = _fault(case, result, theirs)
    return ("wrong", f"against {peer.name}: {fault}") if fault else ("ok", peer.remark)


def _reference_fault(case: Case, result: Any, operands: Mapping[str, Any]) -> str | None:
    """The difference from the reference, "" for none, None without a reference."""
    if case.reference is None:
        return None
    fault = _fault(case, result, case.reference(operands))
    return f"against the reference: {fault}" if fault else ""


def _fault(case: Case, result: Any, want: Any) -> str | None:
    """What is wrong with our result.  Reading it may raise, and that is a fault too."""
    try:
        if case.formats and (form := result.to_scipy().format) != "csr":
            return f"stored as {form}, want csr"
        return difference(result, want)
    except Exception as error:
        return f"the result cannot be read: {_last_line(error)}"


def _last_line(error: BaseException) -> str:
    text = traceback.format_exception_only(error)[-1].strip()
    return text.splitlines()[0][:200]


def choose(only: Sequence[str], data: Sequence[str]) -> tuple[list[Case], list[DataSet], bool]:
    """The kernels and data sets named (all when empty), and whether memory is measured ("memory" counts as a kernel).

    Errors: UnknownNameError for an unknown name, with the known ones.
    """
    sets = data_sets()
    for given, known in ((only, [*(c.name for c in CASES), "memory"]), (data, [s.name for s in sets])):
        if unknown := [name for name in given if name not in known]:
            raise UnknownNameError(f"unknown: {', '.join(unknown)}\nhint: one of {', '.join(known)}")
    cases = [case for case in CASES if not only or case.name in only]
    chosen = [one for one in sets if not data or one.name in data]
    return cases, chosen, "memory" in only or not (only or data)


def rows_of(api: Api, cases: Sequence[Case], sets: Sequence[DataSet], budget: Budget) -> Iterator[Row]:
    """Measure data set by data set, so that only one matrix with its operands is alive at a time."""
    for one in sets:
        wanted = [c for c in cases if (c.name in one.kernels if one.kernels else c.name not in SPECIAL)]
        if wanted:
            inputs = Inputs(one.make())
            for case in wanted:
                yield from measure(api, case, one.name, inputs, budget)


def run_suite(
    json_path: Path | None,
    *,
    only: Sequence[str] = (),
    data: Sequence[str] = (),
    repeats: int = 15,
    max_seconds: float | None = None,
    api: Api | None = None,
) -> int:
    """Run the suite, print its table, write JSON to `json_path` if given.

    `only` and `data` choose kernels and data sets by name; `max_seconds` bounds each comparison (warm-up excluded), not
    the whole run.  Returns 1 if a result was wrong or a kernel failed, else 0.  Errors: UnknownNameError.
    """
    cases, sets, with_memory = choose(only, data)
    used = load_api() if api is None else api
    usages = list(memory_usages()) if with_memory else []  # children first: this process is still small
    print(header(), flush=True)
    rows: list[Row] = []
    for row in rows_of(used, cases, sets, Budget(repeats, max_seconds)):
        rows.append(row)
        print(format_row(row), flush=True)
    print(format_summary(rows))
    settings = {"only": list(only), "data": list(data), "repeats": repeats, "max_seconds": max_seconds, "threads": 1}
    if json_path is not None:
        write_json(json_path, document(rows, usages, settings))
    return int(any(row.status in FAILING for row in rows))


def memory_usages() -> Iterator[dict[str, Any]]:
    """Peak memory of SpGEMM and SDDMM on the uniform matrix, in children: ours with cached kernels, and SciPy's."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "A.npz"
        sp.save_npz(path, uniform(), compressed=False)
        for kernel in MEMORY_CASES:
            for who in ("finch", "scipy") if kernel == "spgemm" else ("finch",):
                entry: dict[str, Any] = {"kernel": kernel, "data": "uniform", "who": who}
                setup = _MEMORY_SETUP.format(arguments=(kernel, str(path), who))
                try:
                    if who == "finch":
                        child_usage(setup, "result = run()")  # fills the kernel cache
                    usage = child_usage(setup, "result = run()")
                    entry |= {"baseline_mib": usage.baseline, "peak_mib": usage.peak, "extra_mib": usage.extra}
                    entry |= {"ru_maxrss_mib": usage.ru_maxrss, "error": ""}
                    said = f"{usage.extra:.0f} MiB beyond {usage.baseline:.0f}"
                except RuntimeError as error:
                    entry["error"] = said = str(error)
                print(f"memory: {kernel} on uniform, {who}: {said}", flush=True)
                yield entry


def memory_subject(kernel: str, path: str, who: str) -> Callable[[], Any]:
    """In the child: load the matrix, make the operands, plan without running; the callable runs once."""
    case = next(one for one in CASES if one.name == kernel)
    operands = case.inputs(Inputs(sp.csr_array(sp.load_npz(path))))
    if who == "scipy":
        call = make_peer("scipy", kernel, operands).call
        assert call is not None
        return call
    api = load_api()
    return api.plan(case.program, **{name: api.asarray(array) for name, array in operands.items()}).run
