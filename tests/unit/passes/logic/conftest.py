"""Fixtures that check a pass over Logic IR on golden pairs and random tensors."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest

from finchsched.ast.logic import (
    Plan,
)
from finchsched.ast.print_logic import print_logic
from finchsched.ast.validate_logic import validate_logic
from finchsched.rewrite import RuleContext
from golden_file import GoldenPair
from plan_tensors import assert_same_meaning, context_for, extents_of, parse_plan, random_slots

LogicPass: TypeAlias = Callable[[Plan, RuleContext], Plan]


@pytest.fixture
def check_pass(golden: Callable[[GoldenPair, str], None]) -> Callable[[GoldenPair, LogicPass], None]:
    """`check_pass(pair, f)`: f makes `after` of `before`; both are valid and mean the same; f is idempotent."""

    def check(pair: GoldenPair, logic_pass: LogicPass) -> None:
        before = parse_plan(pair.before)
        validate_logic(before)
        after = logic_pass(before, context_for(before))
        golden(pair, print_logic(after))
        validate_logic(after)
        assert parse_plan(print_logic(after)) == after
        assert logic_pass(after, context_for(after)) == after
        extents = extents_of(before)[1]
        for seed in range(6):
            slots = random_slots(before, np.random.default_rng(seed), odd=seed >= 2)
            assert_same_meaning(before, after, slots, extents)

    return check


@pytest.fixture(scope="session")
def same_meaning() -> Callable[..., None]:
    """`same_meaning(before, after, old_names)`: the plans agree on random tensors, `old_names` undoing a renaming."""

    def check(before: Plan, after: Plan, old_names: dict[str, str]) -> None:
        for seed in range(6):
            slots = random_slots(before, np.random.default_rng(seed), odd=seed >= 2)
            renamed = {new: slots[old] for new, old in old_names.items() if old in slots}
            assert_same_meaning(before, after, {**slots, **renamed}, extents_of(before)[1])

    return check


@pytest.fixture(scope="session")
def equal_plans() -> Callable[..., None]:
    """`equal_plans(before, after, slots, extents)`: the plans agree on these tensors."""
    return assert_same_meaning
