"""Golden pairs of `normalize_names`, and the mapping back to the old names."""

from collections.abc import Callable

import pytest

from finchsched.ast.logic import Plan
from finchsched.ast.names import Names
from finchsched.ast.parse_logic import parse_logic
from finchsched.ast.print_logic import print_logic
from finchsched.ast.validate_logic import validate_logic
from finchsched.formats.levels import Dense, SparseList
from finchsched.passes.logic.normalize_names import normalize_names
from finchsched.rewrite import RuleContext
from golden_file import GoldenPair, load_pairs

PAIRS = load_pairs("logic/normalize_names.txt")
LEVELS = {"Dense": Dense, "SparseList": SparseList}


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_normalize_names(
    pair: GoldenPair, golden: Callable[[GoldenPair, str], None], same_meaning: Callable[..., None]
) -> None:
    before = parse_logic(pair.before, LEVELS)
    assert isinstance(before, Plan)
    after, old_names = normalize_names(before, RuleContext(Names()))
    golden(pair, print_logic(after))
    validate_logic(after)
    assert normalize_names(after, RuleContext(Names()))[0] == after
    same_meaning(before, after, old_names)


def test_mapping_names_every_new_name() -> None:
    text = PAIRS[0].before
    plan = parse_logic(text, LEVELS)
    assert isinstance(plan, Plan)
    assert normalize_names(plan, RuleContext(Names()))[1] == {
        "r0": "S",
        "t0": "y",
        "v0": "alpha",
        "r1": "R",
        "t1": "x",
        "v1": "beta",
    }
