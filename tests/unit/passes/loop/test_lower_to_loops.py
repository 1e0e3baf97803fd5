"""Golden pairs of `lower_to_loops`; plan and loops are run in their interpreters."""

from collections.abc import Callable

import numpy as np
import pytest

from everywhere import interpret_loops, interpret_plan
from finchsched.ast.parse_loop import parse_loop
from finchsched.ast.print_loop import print_loop
from finchsched.ast.validate_logic import validate_logic
from finchsched.ast.validate_loop import validate_loop
from finchsched.errors import LoweringError
from finchsched.formats.levels import Dense, SparseByteMap, SparseList
from finchsched.formats.numpy_convert import stored_mask, to_dense
from finchsched.passes.loop.lower_to_loops import lower_to_loops
from golden_file import GoldenPair, load_pairs
from plan_tensors import parse_plan, random_slots

PAIRS = load_pairs("loop/lower_to_loops.txt")
VOCABULARY = {"Dense": Dense, "SparseList": SparseList, "SparseByteMap": SparseByteMap}


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_lower_to_loops(pair: GoldenPair, golden: Callable[[GoldenPair, str], None]) -> None:
    plan = parse_plan(pair.before)
    validate_logic(plan)
    program = lower_to_loops(plan)
    golden(pair, print_loop(program))
    validate_loop(program)
    assert parse_loop(print_loop(program), VOCABULARY) == program
    fills = {query.alias.name: query.alias.type.fill for query in plan.bodies}
    for seed in range(4):
        slots = random_slots(plan, np.random.default_rng(seed), odd=seed >= 2)
        want, got = interpret_plan(plan, slots, {}), interpret_loops(program, fills, slots, {})
        for one, other in zip(want, got, strict=True):
            np.testing.assert_allclose(to_dense(other), one.values, rtol=1e-12)
            assert other.fill == one.fill
            assert not (one.stored & ~stored_mask(other)).any()


SCATTERED = """
slot A: Dense(SparseList[int32,int32](Element(0.0: float64)))
slot B: Dense(SparseList[int32,int32](Element(0.0: float64)))
alias C: SparseList[int32,int32](SparseList[int32,int32](Element(0.0: float64)))
C[i, j] := Reorder(Aggregate(add, 0.0: float64, MapJoin(mul, A[k, i], B[k, j]), [k]), [i, j]) order [k, i, j]
return C
"""


def test_refuses_an_order_that_cannot_write_the_target() -> None:
    with pytest.raises(LoweringError, match=r"C: loops in the order k, i, j cannot write storage order i, j"):
        lower_to_loops(parse_plan(SCATTERED))
