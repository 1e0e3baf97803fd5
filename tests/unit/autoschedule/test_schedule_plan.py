"""Golden pairs of `schedule_plan`: loop orders, result formats, transposed copies; before and after mean the same."""

from collections.abc import Callable

import numpy as np
import pytest

from everywhere import interpret_plan
from finchsched.ast.logic import Plan, Table
from finchsched.ast.loop import Access
from finchsched.ast.node import walk
from finchsched.ast.print_logic import print_logic
from finchsched.ast.validate_logic import validate_logic
from finchsched.autoschedule.loop_order import is_concordant
from finchsched.autoschedule.schedule_plan import schedule_plan
from finchsched.passes.loop.query_form import query_form
from golden_file import GoldenPair, load_pairs
from plan_tensors import parse_plan, random_slots, scalar_values

PAIRS = load_pairs("autoschedule/schedule_plan.txt")


def assert_equal_results(before: Plan, after: Plan) -> None:
    for seed in range(4):
        slots = random_slots(before, np.random.default_rng(seed), odd=seed >= 2)
        old = interpret_plan(before, slots, scalar_values(before))
        new = interpret_plan(after, slots, scalar_values(before))
        for one, other in zip(old, new, strict=True):
            np.testing.assert_allclose(one.values, other.values, rtol=1e-12)
            assert np.isclose(one.fill, other.fill, equal_nan=True)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_schedule_plan(pair: GoldenPair, golden: Callable[[GoldenPair, str], None]) -> None:
    before = parse_plan(pair.before)
    validate_logic(before)
    after = schedule_plan(before, wide=False)
    golden(pair, print_logic(after))
    validate_logic(after)
    assert_equal_results(before, after)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_every_access_follows_the_loops(pair: GoldenPair) -> None:
    for query in schedule_plan(parse_plan(pair.before), wide=False).bodies:
        order = tuple(f.name for f in query.loop_order)
        accesses: list[Access] = query_form(query).accesses()
        assert len(accesses) == len({n for n in walk(query.rhs) if isinstance(n, Table)})
        assert all(is_concordant(access, order) for access in accesses)


def test_wide_indices_are_everywhere_in_what_is_made() -> None:
    (pair,) = [p for p in PAIRS if p.name.startswith("an operand stored against")]
    for query in schedule_plan(parse_plan(pair.before), wide=True).bodies:
        assert "int32" not in str([(level.pos, level.crd) for level in query.alias.type.levels if not level.stores_all])  # type: ignore[attr-defined]  # a SparseList
