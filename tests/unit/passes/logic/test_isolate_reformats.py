"""Golden pairs of `isolate_reformats`, each valid, idempotent and run in the interpreter."""

from collections.abc import Callable

import pytest

from finchsched.passes.logic.isolate_reformats import isolate_reformats
from golden_file import GoldenPair, load_pairs

PAIRS = load_pairs("logic/isolate_reformats.txt")


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_isolate_reformats(pair: GoldenPair, check_pass: Callable[..., None]) -> None:
    check_pass(pair, isolate_reformats)
