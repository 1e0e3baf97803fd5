"""Golden pairs of `fuse_producers`, run in the interpreter."""

from collections.abc import Callable

import numpy as np
import pytest

from finchsched.ast.print_logic import print_logic
from finchsched.ast.validate_logic import validate_logic
from finchsched.autoschedule.fuse_producers import fuse_producers
from golden_file import GoldenPair, load_pairs
from plan_tensors import assert_same_meaning, context_for, parse_plan, random_slots

PAIRS = load_pairs("autoschedule/fuse_producers.txt")


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_fuse_producers(pair: GoldenPair, golden: Callable[[GoldenPair, str], None]) -> None:
    before = parse_plan(pair.before)
    validate_logic(before)
    after = fuse_producers(before, context_for(before), wide=False)
    golden(pair, print_logic(after))
    validate_logic(after)
    assert fuse_producers(after, context_for(after), wide=False) == after
    for seed in range(4):
        assert_same_meaning(before, after, random_slots(before, np.random.default_rng(seed), odd=seed >= 2))


def test_what_is_fused_has_the_values_of_what_was_stored_where_nothing_is_infinite() -> None:
    """Only there: a stored NaN of the producer meets no unstored zero any more, or meets one that it did not meet."""
    (pair,) = [p for p in PAIRS if p.name == "a product that a sparse mask samples"]
    before = parse_plan(pair.before)
    assert len(fuse_producers(before, context_for(before), wide=False).bodies) < len(before.bodies)
