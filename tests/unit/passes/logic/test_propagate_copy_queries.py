"""Golden pairs of `propagate_copy_queries`, each valid, idempotent and run in the interpreter."""

from collections.abc import Callable

import pytest

from finchsched.passes.logic.propagate_copy_queries import propagate_copy_queries
from golden_file import GoldenPair, load_pairs

PAIRS = load_pairs("logic/propagate_copy_queries.txt")


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_propagate_copy_queries(pair: GoldenPair, check_pass: Callable[..., None]) -> None:
    check_pass(pair, propagate_copy_queries)
