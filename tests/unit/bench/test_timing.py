"""Statistics and alternation, under a clock that only moves when a subject says so."""

import gc
import math

import pytest

from finchsched.bench.timing import (
    LEAST_RUNS,
    MOST_INNER,
    PROBES,
    Timing,
    alternate,
    geometric_mean,
    median_of_ratios,
    median_reading,
    ratio_of_medians,
)


class FakeClock:
    """Time in seconds, and a log of which subject ran."""

    def __init__(self) -> None:
        self.now = 0.0
        self.log: list[str] = []

    def __call__(self) -> float:
        return self.now

    def subject(self, name: str, *seconds: float) -> "FakeSubject":
        return FakeSubject(self, name, seconds)


class FakeSubject:
    """Takes the given seconds call by call, the last of them for ever after."""

    def __init__(self, clock: FakeClock, name: str, seconds: tuple[float, ...]) -> None:
        self.clock, self.name, self.seconds, self.calls = clock, name, seconds, 0

    def __call__(self) -> None:
        self.clock.now += self.seconds[min(self.calls, len(self.seconds) - 1)]
        self.clock.log.append(self.name)
        self.calls += 1


def test_alternates_after_warming_up() -> None:
    clock = FakeClock()
    timings = alternate([clock.subject("A", 9, 1), clock.subject("B", 9, 2)], repeats=3, clock=clock)
    assert clock.log == ["A", "A", "B", "B", *"ABABAB"]
    assert [t.samples for t in timings] == [(1, 1, 1), (2, 2, 2)]
    assert [t.inner for t in timings] == [1, 1]


def test_short_subjects_are_repeated_inside_a_sample() -> None:
    clock = FakeClock()
    short, long = alternate([clock.subject("A", 1e-5), clock.subject("B", 3e-4)], repeats=4, clock=clock)
    assert short.inner == pytest.approx(100, abs=1)
    assert long.inner == 1
    assert short.median == pytest.approx(1e-5)
    assert clock.log.count("A") == 1 + PROBES + 4 * short.inner


def test_one_cold_call_does_not_hide_that_a_subject_is_short() -> None:
    clock = FakeClock()
    (timing,) = alternate([clock.subject("A", 1.0, 3e-3, 1e-5)], repeats=3, clock=clock)
    assert timing.inner == pytest.approx(100, abs=1)


def test_a_clock_too_coarse_to_see_the_subject() -> None:
    clock = FakeClock()
    (timing,) = alternate([clock.subject("A", 0.0)], repeats=1, clock=clock)
    assert timing.inner == MOST_INNER


def test_budget_ends_the_rounds() -> None:
    clock = FakeClock()
    (timing,) = alternate([clock.subject("A", 1)], repeats=15, max_seconds=5.0, clock=clock)
    assert timing.runs == 5


@pytest.mark.parametrize(("repeats", "runs"), [(15, LEAST_RUNS), (2, 2)])
def test_budget_leaves_three_rounds(repeats: int, runs: int) -> None:
    clock = FakeClock()
    (timing,) = alternate([clock.subject("A", 100)], repeats=repeats, max_seconds=1.0, clock=clock)
    assert timing.runs == runs


def test_no_rounds_is_refused() -> None:
    with pytest.raises(ValueError, match="repeats is 0"):
        alternate([], repeats=0)


def test_statistics() -> None:
    ours, theirs = Timing((1.0, 4.0, 3.0, 2.0)), Timing((2.0, 2.0, 1.0, 8.0))
    assert (ours.median, ours.minimum, ours.maximum, ours.runs) == (2.5, 1.0, 4.0, 4)
    assert ratio_of_medians(ours, theirs) == 1.25
    assert median_of_ratios(ours, theirs) == pytest.approx((0.5 + 2.0) / 2)


def test_pairs_need_equal_runs() -> None:
    with pytest.raises(ValueError, match="zip"):
        median_of_ratios(Timing((1.0,)), Timing((1.0, 2.0)))


def test_geometric_mean() -> None:
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    assert geometric_mean([8.0, 1.0, 1.0]) == pytest.approx(2.0)
    assert geometric_mean([1e-300] * 5) == pytest.approx(1e-300)
    assert geometric_mean([]) is None
    mean = geometric_mean([0.7])
    assert mean is not None
    assert math.isclose(mean, 0.7)


def test_collector_is_off_while_timed_and_back_afterwards() -> None:
    seen: list[bool] = []
    assert gc.isenabled()
    alternate([lambda: seen.append(gc.isenabled())], repeats=1)
    assert seen[0]
    assert not any(seen[1:])
    assert gc.isenabled()


def test_collector_is_back_after_an_error() -> None:
    def fail() -> None:
        if not gc.isenabled():
            raise RuntimeError("inside a sample")

    with pytest.raises(RuntimeError, match="inside a sample"):
        alternate([fail])
    assert gc.isenabled()


def test_median_reading_drops_the_first() -> None:
    readings = iter([99.0, 3.0, 1.0, 2.0])
    assert median_reading(lambda: next(readings), repeats=3) == 2.0
