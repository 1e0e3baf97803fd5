"""Golden pairs of `pretty_labels`, each valid, idempotent and run in the interpreter."""

from collections.abc import Callable

import pytest

from finchsched.passes.logic.pretty_labels import pretty_labels
from golden_file import GoldenPair, load_pairs

PAIRS = load_pairs("logic/pretty_labels.txt")


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_pretty_labels(pair: GoldenPair, check_pass: Callable[..., None]) -> None:
    check_pass(pair, pretty_labels)
