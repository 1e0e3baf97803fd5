"""Golden pairs of `lift_subqueries`, each valid, idempotent and run in the interpreter."""

from collections.abc import Callable

import pytest

from finchsched.passes.logic.lift_subqueries import lift_subqueries
from golden_file import GoldenPair, load_pairs

PAIRS = load_pairs("logic/lift_subqueries.txt")


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_lift_subqueries(pair: GoldenPair, check_pass: Callable[..., None]) -> None:
    check_pass(pair, lift_subqueries)
