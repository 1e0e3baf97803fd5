"""Golden pairs of `split_wide_unions`, each valid, idempotent and run in the interpreter."""

from collections.abc import Callable

import pytest

from finchsched.passes.logic.split_wide_unions import split_wide_unions
from golden_file import GoldenPair, load_pairs

PAIRS = load_pairs("logic/split_wide_unions.txt")


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_split_wide_unions(pair: GoldenPair, check_pass: Callable[..., None]) -> None:
    check_pass(pair, split_wide_unions)
