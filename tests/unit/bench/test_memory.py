"""Peak memory of a child process."""

import pytest

from finchsched.bench.memory import child_usage


def test_only_the_action_counts() -> None:
    usage = child_usage("first = bytearray(40 << 20)", "second = bytearray(60 << 20)")
    assert usage.baseline > 40
    assert 55 < usage.extra < 75
    assert usage.ru_maxrss >= usage.peak - 1


def test_failure_is_reported() -> None:
    with pytest.raises(RuntimeError, match=r"status 1: ValueError: no such luck"):
        child_usage("", "raise ValueError('no such luck')")
