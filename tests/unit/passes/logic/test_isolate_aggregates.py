"""Golden pairs of `isolate_aggregates`, each valid, idempotent and run in the interpreter."""

from collections.abc import Callable

import pytest

from finchsched.passes.logic.isolate_aggregates import isolate_aggregates
from golden_file import GoldenPair, load_pairs

PAIRS = load_pairs("logic/isolate_aggregates.txt")


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_isolate_aggregates(pair: GoldenPair, check_pass: Callable[..., None]) -> None:
    check_pass(pair, isolate_aggregates)
