"""Golden pairs of `push_fields`, each valid, idempotent and run in the interpreter."""

from collections.abc import Callable

import pytest

from finchsched.passes.logic.push_fields import push_fields
from golden_file import GoldenPair, load_pairs

PAIRS = load_pairs("logic/push_fields.txt")


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_push_fields(pair: GoldenPair, check_pass: Callable[..., None]) -> None:
    check_pass(pair, push_fields)
