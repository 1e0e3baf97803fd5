"""Transposed copies: which axes move, and the queries that move them."""

from itertools import permutations

import numpy as np
import pytest

from everywhere import interpret_plan, run_nest
from finchsched.algebra.dtypes import FLOAT64
from finchsched.ast.format import TensorType
from finchsched.ast.logic import Alias, Plan, Produces, Slot
from finchsched.ast.scalar import Literal
from finchsched.ast.validate_logic import validate_logic
from finchsched.autoschedule.transposes import Transposes, axes_to_move
from finchsched.formats.levels import Dense, SparseList
from finchsched.formats.levels.sparse_coo import coo_levels
from finchsched.formats.numpy_convert import from_dense, to_dense
from finchsched.passes.loop.lower_to_loops import assembly_of, lower_to_loops
from finchsched.passes.loop.query_form import query_form

ORDERS = list(permutations(range(3)))


def slot(perm: tuple[int, ...]) -> Slot:
    levels = (Dense(), *(SparseList() for _ in perm[1:]))
    return Slot("A", TensorType(levels, perm, FLOAT64, Literal(0.0, FLOAT64)))


@pytest.mark.parametrize("current", ORDERS)
@pytest.mark.parametrize("wanted", ORDERS)
def test_moving_the_axes_to_the_front_in_turn_gives_the_order(
    current: tuple[int, ...], wanted: tuple[int, ...]
) -> None:
    moves = axes_to_move(current, wanted)
    reached = current
    for axis in moves:
        reached = (axis, *(a for a in reached if a != axis))
    assert reached == wanted


@pytest.mark.parametrize("current", ORDERS)
@pytest.mark.parametrize("wanted", ORDERS)
def test_no_fewer_moves_would_do(current: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    reached, steps = {current}, 0
    while wanted not in reached:
        reached |= {(axis, *(a for a in order if a != axis)) for order in reached for axis in order}
        steps += 1
    assert len(axes_to_move(current, wanted)) == steps


def plan_of(transposes: Transposes, *aliases: Alias) -> Plan:
    return Plan(tuple(transposes.take()), Produces(aliases))


@pytest.mark.parametrize("current", ORDERS)
@pytest.mark.parametrize("wanted", ORDERS)
def test_copies_hold_the_tensor_in_the_order_wanted(current: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if current == wanted:
        return
    source = slot(current)
    transposes = Transposes(wide=True)
    alias = transposes.copy_of(source, wanted)
    plan = plan_of(transposes, alias)
    assert alias.type.perm == wanted
    validate_logic(plan)
    values = np.arange(24.0).reshape(2, 3, 4) % 5
    held = {"A": from_dense(values, source.type.levels, current, fill=0.0)}
    (found,) = interpret_plan(plan, held, {})
    np.testing.assert_array_equal(found.values, values)
    np.testing.assert_array_equal(found.stored, values != 0)
    for query in plan.bodies:
        form = query_form(query)
        assert assembly_of(form, query.alias.type, tuple(f.name for f in query.loop_order)) == "scatter"
    assert all(nest.assembly == "scatter" for nest in lower_to_loops(plan).nests)


def test_a_copy_is_made_once() -> None:
    transposes = Transposes(wide=False)
    one = transposes.copy_of(slot((0, 1, 2)), (2, 0, 1))
    assert len(transposes.take()) == 1
    assert transposes.copy_of(slot((0, 1, 2)), (2, 0, 1)) == one
    assert transposes.take() == []


def test_steps_on_the_way_are_shared() -> None:
    transposes = Transposes(wide=False)
    far = transposes.copy_of(slot((0, 1, 2)), (2, 1, 0))
    assert len(transposes.take()) == 2
    near = transposes.copy_of(slot((0, 1, 2)), (1, 0, 2))
    assert transposes.take() == []
    assert near.name != far.name


@pytest.mark.parametrize(("wide", "width"), [(False, "int32"), (True, "int64")])
def test_index_arrays_have_the_width_asked_for(wide: bool, width: str) -> None:
    alias = Transposes(wide).copy_of(slot((0, 1)), (1, 0))
    (level,) = [level for level in alias.type.levels if isinstance(level, SparseList)]
    assert (level.pos.name, level.crd.name) == (width, width)
    assert alias.name == "A_by10"


@pytest.mark.parametrize("huge", [{"A": (0,)}, {"A": (0, 2)}])
def test_along_a_huge_axis_a_list_is_sorted(huge: dict[str, tuple[int, ...]]) -> None:
    source = slot((1, 0, 2))
    transposes = Transposes(wide=True, huge=huge)
    alias = transposes.copy_of(source, (0, 2, 1))
    plan = plan_of(transposes, alias)
    validate_logic(plan)
    assert alias.type.levels == coo_levels(3)
    (nest,) = lower_to_loops(plan).nests
    assert nest.assembly == "sort"
    values = np.arange(24.0).reshape(2, 3, 4) % 5
    made = run_nest(nest, {"A": from_dense(values, source.type.levels, (1, 0, 2), fill=0.0)}, {})
    np.testing.assert_array_equal(to_dense(made), values)


def test_an_axis_that_stays_may_be_huge() -> None:
    alias = Transposes(wide=True, huge={"A": (2,)}).copy_of(slot((0, 1, 2)), (1, 0, 2))
    assert alias.type.levels == (Dense(), SparseList(), SparseList())
