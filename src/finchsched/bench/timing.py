"""Fair timing of a few callables against each other in one process.

Subjects alternate (A B A B ...) so that a slow spell of the machine hits all of them; each is warmed up first; the
garbage collector is off while the clock runs; a call shorter than 200 microseconds is repeated inside one sample.
"""

import gc
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from typing import TypeAlias

Subject: TypeAlias = Callable[[], object]
Clock: TypeAlias = Callable[[], float]

SHORT_SECONDS = 200e-6
SAMPLE_SECONDS = 1e-3
LONG_SECONDS = 10e-3
PROBES = 5
MOST_INNER = 100_000
LEAST_RUNS = 3


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds per call, one sample a run; each sample is the mean of `inner` calls made back to back."""

    samples: tuple[float, ...]
    inner: int = 1

    @property
    def median(self) -> float:
        """Median over the runs, in seconds."""
        return statistics.median(self.samples)

    @property
    def minimum(self) -> float:
        """Fastest run, in seconds."""
        return min(self.samples)

    @property
    def maximum(self) -> float:
        """Slowest run, in seconds."""
        return max(self.samples)

    @property
    def runs(self) -> int:
        """Number of samples."""
        return len(self.samples)


def ratio_of_medians(ours: Timing, theirs: Timing) -> float:
    """How many times longer `ours` takes than `theirs`: below 1, ours is faster."""
    return ours.median / theirs.median


def median_of_ratios(ours: Timing, theirs: Timing) -> float:
    """Median of the ratios of samples taken in the same round; robust when the machine's speed drifts."""
    return statistics.median(a / b for a, b in zip(ours.samples, theirs.samples, strict=True))


def geometric_mean(ratios: Sequence[float]) -> float | None:
    """exp of the mean log; None for no ratios."""
    return math.exp(math.fsum(math.log(r) for r in ratios) / len(ratios)) if ratios else None


def alternate(
    subjects: Sequence[Subject],
    *,
    repeats: int = 15,
    max_seconds: float | None = None,
    clock: Clock = time.perf_counter,
) -> list[Timing]:
    """Time the subjects in rounds, each once a round, and return one Timing each, all of the same number of runs.

    Each subject is called beforehand, to warm up and to find how many calls make a sample.  Rounds end after `repeats`,
    or once `max_seconds` of rounds have gone by, but not before three rounds (or `repeats`, if fewer).

    Errors: ValueError for repeats < 1.  What a subject raises comes through.
    """
    if repeats < 1:
        raise ValueError(f"repeats is {repeats}, expected at least 1")
    inner = [_calls_per_sample(subject, clock) for subject in subjects]
    samples: list[list[float]] = [[] for _ in subjects]
    start = clock()
    for done in range(repeats):
        if max_seconds is not None and done >= LEAST_RUNS and clock() - start >= max_seconds:
            break
        for subject, calls, mine in zip(subjects, inner, samples, strict=True):
            mine.append(_sample(subject, calls, clock))
    return [Timing(tuple(mine), calls) for mine, calls in zip(samples, inner, strict=True)]


def median_reading(read: Callable[[], float], *, repeats: int = 15, max_seconds: float | None = None) -> float:
    """Median of what a subject that times itself reports, after one warm-up reading; budget as in `alternate`."""
    read()
    start = time.perf_counter()
    readings: list[float] = []
    for done in range(repeats):
        if max_seconds is not None and done >= LEAST_RUNS and time.perf_counter() - start >= max_seconds:
            break
        with _collector_off():
            readings.append(read())
    return statistics.median(readings)


def _calls_per_sample(subject: Subject, clock: Clock) -> int:
    """Warm up, then judge by the fastest of a few calls: a single one, still cold, can look ten times too long."""
    subject()
    once = _sample(subject, 1, clock)
    for _ in range(PROBES - 1):
        if once >= LONG_SECONDS:
            break
        once = min(once, _sample(subject, 1, clock))
    if once >= SHORT_SECONDS:
        return 1
    return min(MOST_INNER, math.ceil(SAMPLE_SECONDS / once)) if once > 0 else MOST_INNER


def _sample(subject: Subject, calls: int, clock: Clock) -> float:
    """Mean seconds of `calls` calls.  The last result is freed after the clock has stopped."""
    result: object = None
    with _collector_off():
        start = clock()
        for _ in repeat(None, calls):
            result = subject()
        stop = clock()
    del result
    return (stop - start) / calls


@contextmanager
def _collector_off() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
