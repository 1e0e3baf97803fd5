"""What a prover was asked, how it answered, and where the time went."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from finchsched.ast.proof import Proved, Refuted, Verdict

__all__ = ["METHODS", "Statistics", "StatisticsKeeper", "table"]

METHODS = ("folding", "ranges", "lemma", "candidate", "memo", "disk", "z3", "none")
"""candidate: a counterexample found without Z3.  none: every method that was allowed gave up."""

_VERDICTS = ("proved", "refuted", "unknown")


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts, and seconds spent, by (method, verdict)."""

    counts: Mapping[tuple[str, str], int] = field(default_factory=dict)
    seconds: Mapping[tuple[str, str], float] = field(default_factory=dict)

    @property
    def questions(self) -> int:
        """How many facts were asked for."""
        return sum(self.counts.values())

    def by_method(self) -> dict[str, int]:
        """How many were answered by each method."""
        return {m: sum(n for (method, _), n in self.counts.items() if method == m) for m in METHODS}

    def by_verdict(self) -> dict[str, int]:
        """How many were proved, refuted, left unknown."""
        return {v: sum(n for (_, verdict), n in self.counts.items() if verdict == v) for v in _VERDICTS}


class StatisticsKeeper:
    """Counts as they grow; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, str], int] = {}
        self._seconds: dict[tuple[str, str], float] = {}

    def record(self, method: str, verdict: Verdict, seconds: float) -> None:
        """Count one question."""
        kind = "proved" if isinstance(verdict, Proved) else "refuted" if isinstance(verdict, Refuted) else "unknown"
        key = (method, kind)
        with self._lock:
            self._counts[key] = self._counts.get(key, 0) + 1
            self._seconds[key] = self._seconds.get(key, 0.0) + seconds

    def snapshot(self) -> Statistics:
        """The counts so far."""
        with self._lock:
            return Statistics(dict(self._counts), dict(self._seconds))

    def reset(self) -> None:
        """Begin at 0 again."""
        with self._lock:
            self._counts.clear()
            self._seconds.clear()


def table(statistics: Statistics) -> str:
    """The counts as text, a line for each method that was used."""
    lines = [f"{'method':<10}" + "".join(f"{verdict:>9}" for verdict in _VERDICTS) + f"{'ms':>10}{'ms each':>9}"]
    for method in METHODS:
        counts = [statistics.counts.get((method, verdict), 0) for verdict in _VERDICTS]
        spent = 1000 * sum(statistics.seconds.get((method, verdict), 0.0) for verdict in _VERDICTS)
        if any(counts):
            each = spent / sum(counts)
            lines.append(f"{method:<10}" + "".join(f"{n:>9}" for n in counts) + f"{spent:>10.1f}{each:>9.2f}")
    totals = statistics.by_verdict()
    spent = 1000 * sum(statistics.seconds.values())
    lines.append(f"{'all':<10}" + "".join(f"{totals[verdict]:>9}" for verdict in _VERDICTS) + f"{spent:>10.1f}")
    return "\n".join(lines)
