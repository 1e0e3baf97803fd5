"""Rows of a benchmark run, the printed table, and the JSON file.

Times are milliseconds a call; a ratio is ours divided by the peer's, so below 1 we are faster.
"""

import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, TypeAlias

from finchsched.bench.timing import Timing, geometric_mean, median_of_ratios, ratio_of_medians

Status: TypeAlias = Literal["ok", "wrong", "error", "peer failed", "absent", "skipped"]

SCHEMA = 2
LARGE = 300_000
"""Entries from which on a data set counts in the means."""
GOAL: dict[str, Any] = {
    "ratio": 1.0,
    "meaning": "geometric mean of finch / best peer per kernel, one thread; information only, never a gate",
}
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
PACKAGES = ("numpy", "scipy", "numba", "finchsched")
FAILING: tuple[Status, ...] = ("wrong", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One kernel on one matrix against one peer.  Times are None where nothing was timed.

    `finch_ms` is a warm call as a user makes it; `finch_kernel_ms` only the compiled kernels with their allocations;
    `first_ms` planning, compiling and the first call; `overhead_us` finch_ms minus finch_kernel_ms, for `dispatch`.
    """

    kernel: str
    data: str
    shape: tuple[int, ...]
    nnz: int
    peer: str
    status: Status
    checked: bool = False
    finch_ms: float | None = None
    finch_min_ms: float | None = None
    finch_max_ms: float | None = None
    finch_kernel_ms: float | None = None
    first_ms: float | None = None
    overhead_us: float | None = None
    peer_ms: float | None = None
    peer_min_ms: float | None = None
    peer_max_ms: float | None = None
    ratio: float | None = None
    pair_ratio: float | None = None
    runs: int = 0
    note: str = ""


def time_fields(ours: Timing | None, theirs: Timing | None) -> dict[str, Any]:
    """The time columns of a Row; those of a side that was not timed are left out."""
    out: dict[str, Any] = {}
    for side, timing in (("finch", ours), ("peer", theirs)):
        if timing is not None:
            out[f"{side}_ms"] = 1e3 * timing.median
            out[f"{side}_min_ms"] = 1e3 * timing.minimum
            out[f"{side}_max_ms"] = 1e3 * timing.maximum
            out["runs"] = timing.runs
    if ours is not None and theirs is not None:
        out |= {"ratio": ratio_of_medians(ours, theirs), "pair_ratio": median_of_ratios(ours, theirs)}
    return out


def summary(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Per kernel and peer the geometric means over data sets, then those against the best peer of each.

    `ratio` is of warm calls, `kernel_ratio` of the compiled kernels alone to the peer's whole call.  Data sets of fewer
    than LARGE entries count only where there are no larger ones: there the call itself is what is timed.  Wrong rows do
    not count.  Kernels stand in order of first appearance, peers likewise, "best" last.
    """
    timed = [row for row in rows if row.status == "ok" and row.ratio is not None]
    out: list[dict[str, Any]] = []
    for kernel in dict.fromkeys(row.kernel for row in timed):
        of_kernel = [row for row in timed if row.kernel == kernel]
        counted = [row for row in of_kernel if row.nnz >= LARGE] or of_kernel
        for peer in dict.fromkeys(row.peer for row in counted):
            out.append(_mean(kernel, peer, [row for row in counted if row.peer == peer]))
        by_data: dict[str, list[Row]] = {}
        for row in counted:
            by_data.setdefault(row.data, []).append(row)
        out.append(_mean(kernel, "best", [max(some, key=lambda row: row.ratio or 0.0) for some in by_data.values()]))
    return out


def _mean(kernel: str, peer: str, rows: Sequence[Row]) -> dict[str, Any]:
    ratios = [row.ratio for row in rows if row.ratio is not None]
    alone = [row.finch_kernel_ms / row.peer_ms for row in rows if row.finch_kernel_ms and row.peer_ms]
    return {
        "kernel": kernel,
        "peer": peer,
        "ratio": geometric_mean(ratios),
        "kernel_ratio": geometric_mean(alone) if alone else None,
        "data_sets": len(rows),
    }


def machine() -> dict[str, Any]:
    """What a reader needs to judge the figures: processor, cores, versions, thread settings.  No host or user names."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cpu": _cpu_model(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "usable_cores": usable,
        "python": platform.python_version(),
        **{package: _version(package) for package in PACKAGES},
        "environment": {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ},
    }


def document(rows: Sequence[Row], memory: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON document of a run."""
    return {
        "schema": SCHEMA,
        "suite": "kernels",
        "machine": machine(),
        "settings": dict(settings),
        "goal": GOAL,
        "rows": [asdict(row) for row in rows],
        "summary": summary(rows),
        "memory": [dict(entry) for entry in memory],
    }


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write strict JSON (no NaN), indented by one space, replacing the file at once.  Errors: OSError, ValueError."""
    text = json.dumps(content, indent=1, allow_nan=False) + "\n"
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


_WIDTHS = (("kernel", -10), ("data", -18), ("nnz", 8), ("peer", -6), ("finch ms", 10), ("peer ms", 10), ("ratio", 6))


def header() -> str:
    """The head of the table; `format_row` lines stand under it."""
    names = " ".join(f"{name:<{-w}}" if w < 0 else f"{name:>{w}}" for name, w in _WIDTHS)
    return f"{names} {'pairs':>6} {'finch min..max':>21} {'runs':>4} status"


def format_row(row: Row) -> str:
    """One line of the table."""
    spread = f"{_figure(row.finch_min_ms)}..{_figure(row.finch_max_ms)}" if row.finch_ms is not None else "-"
    notes: list[str] = [row.status if row.checked or row.status != "ok" else "ok (unchecked)"]
    if row.overhead_us is not None:
        notes.append(f"{row.overhead_us:.1f} us beyond the kernel")
    if row.note:
        notes.append(row.note)
    return (
        f"{row.kernel:<10} {row.data:<18} {row.nnz:>8} {row.peer:<6} {_figure(row.finch_ms):>10} "
        f"{_figure(row.peer_ms):>10} {_ratio(row.ratio):>6} {_ratio(row.pair_ratio):>6} {spread:>21} {row.runs:>4} "
        f"{'; '.join(notes)}"
    )


def format_summary(rows: Iterable[Row]) -> str:
    """The geometric means as lines of text; empty when nothing was compared."""
    lines = [
        f"{entry['kernel']:<10} {entry['peer']:<6} {_ratio(entry['ratio']):>6} {_ratio(entry['kernel_ratio']):>7}"
        f"  over {entry['data_sets']} data sets"
        for entry in summary(rows)
    ]
    head = "geometric means of finch / peer, of whole calls and of kernels alone (below 1: finch is faster)"
    return "\n".join([head, *lines]) if lines else ""


def _figure(milliseconds: float | None) -> str:
    return "-" if milliseconds is None else f"{milliseconds:.4g}"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()
