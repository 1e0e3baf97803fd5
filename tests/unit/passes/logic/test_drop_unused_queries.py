"""Golden pairs of `drop_unused_queries`, each valid, idempotent and run in the interpreter."""

from collections.abc import Callable

import pytest

from finchsched.passes.logic.drop_unused_queries import drop_unused_queries
from golden_file import GoldenPair, load_pairs

PAIRS = load_pairs("logic/drop_unused_queries.txt")


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_drop_unused_queries(pair: GoldenPair, check_pass: Callable[..., None]) -> None:
    check_pass(pair, drop_unused_queries)
