"""Buffers of results: how much room they get, how they grow, how they are cut to size."""

from itertools import product

import numpy as np
import pytest

from everywhere import interpret_nest, run_nest
from finchsched.algebra.dtypes import INT32
from finchsched.ast.loop import LoopProgram, Nest
from finchsched.ast.parse_loop import parse_loop
from finchsched.backend import output as output_module
from finchsched.backend.compiled_phase import nest_facts
from finchsched.backend.nest_facts import NestFacts
from finchsched.backend.output import NeedsWideIndices, Output, Run, evaluate_bound, output_plan
from finchsched.errors import DensifyError
from finchsched.formats.checks import check_tensor
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.levels import Dense, SparseByteMap, SparseList
from finchsched.formats.numpy_convert import from_dense, stored_mask, to_dense
from finchsched.passes.lower.lower_nest import lower_nest
from finchsched.passes.lower.signature import Bound, Entries, Extent, Least, LoweredNest, Product, Total
from finchsched.settings import config

VOCABULARY = {"Dense": Dense, "SparseList": SparseList, "SparseByteMap": SparseByteMap}
NESTS = {
    "d": "Dense(",
    "s": "SparseList[int32,int32](",
}


def kind(letters: str, perm: tuple[int, ...] | None = None) -> str:
    nest = "".join(NESTS[letter] for letter in letters) + "Element(0.0: float64)" + ")" * len(letters)
    return nest if perm is None else f"{nest} perm {perm}"


def nest(assembly: str, body: str, out: str, **inputs: str) -> Nest:
    lines = [f"input {name}: {given}" for name, given in inputs.items()]
    lines += [f"output C: {out}", f"nest C by {assembly}:"]
    program = parse_loop("\n".join([*lines, *(f"    {line}" for line in body.splitlines()), "return C"]), VOCABULARY)
    assert isinstance(program, LoopProgram)
    return program.nests[0]


def over(indices: str, statement: str) -> str:
    lines = [f"{'    ' * n}for {name}:" for n, name in enumerate(indices)]
    return "\n".join([*lines, "    " * len(indices) + statement])


def lowered(made: Nest) -> LoweredNest:
    return lower_nest(made, "make_C", reassociate="strict")


def facts(made: Nest) -> NestFacts:
    return nest_facts(lowered(made), {}, made.target.type.fill)


def random_tensor(letters: str, shape: tuple[int, ...], seed: int, density: float = 0.4) -> FiberTensor:
    rng = np.random.default_rng(seed)
    levels = tuple(Dense() if letter == "d" else narrow() for letter in letters)
    mask = rng.random(shape) < density
    return from_dense(rng.integers(1, 9, shape).astype(float), levels, range(len(shape)), fill=0.0, mask=mask)


def narrow() -> SparseList:
    return SparseList(INT32, INT32)


# ---------------------------------------------------------------------------------------------- bounds

ADD = nest("append", over("ij", "C[i, j] = A[i, j] + B[i, j]"), kind("ds"), A=kind("ds"), B=kind("ds"))
MULTIPLY = nest("append", over("ij", "C[i, j] = A[i, j] * B[i, j]"), kind("ds"), A=kind("ds"), B=kind("ds"))
ROWS = nest("append", over("ij", "C[i, j] = A[i, j] * B[i, j]"), kind("ss"), A=kind("ss"), B=kind("ds"))
OUTER = nest("append", over("ij", "C[i, j] = A[i] * B[j]"), kind("ss"), A=kind("s"), B=kind("s"))


def run_of(made: Nest, **tensors: FiberTensor) -> Run:
    sizes = {}
    for name, tensor in tensors.items():
        letters = {2: "ij", 1: "i" if name == "A" else "j"}[tensor.ndim]
        sizes |= dict(zip(letters, tensor.shape, strict=True))
    return Run(tensors, {}, sizes)


@pytest.mark.parametrize(
    ("bound", "want"),
    [
        (Extent("i"), 4),
        (Entries("A", 1), 3),
        (Entries("A", 0), 4),
        (Total((Extent("i"), Entries("A", 1))), 7),
        (Least((Extent("j"), Entries("A", 1))), 3),
        (Product((Extent("i"), Extent("j"))), 20),
        (Product(()), 1),
        (Least((Product((Extent("i"), Extent("j"))), Total((Entries("A", 1), Entries("A", 1))))), 6),
    ],
)
def test_bounds_are_numbers_of_the_operands(bound: Bound, want: int) -> None:
    values = np.zeros((4, 5))
    values[0, 1] = values[2, 2] = values[2, 3] = 1.0
    tensor = from_dense(values, (Dense(), narrow()), (0, 1), fill=0.0)
    assert evaluate_bound(bound, run_of(ADD, A=tensor)) == want


def test_bounds_do_not_overflow() -> None:
    run = Run({}, {}, {"i": 2**40, "j": 2**40})
    assert evaluate_bound(Product((Extent("i"), Extent("j"))), run) == 2**80


@pytest.mark.parametrize("made", [ADD, MULTIPLY, ROWS], ids=["union", "intersection", "rows"])
@pytest.mark.parametrize("seed", range(8))
def test_a_result_never_has_more_entries_than_its_bound(made: Nest, seed: int) -> None:
    letters = "ss" if made is ROWS else "ds"
    tensors = {"A": random_tensor(letters, (4, 5), seed), "B": random_tensor("ds", (4, 5), seed + 100)}
    found = run_nest(made, tensors, {})
    for level, bound in enumerate(lowered(made).rooms):
        if bound is not None:
            assert found.positions(level + 1) <= evaluate_bound(bound, run_of(made, **tensors))


def test_a_union_has_room_for_both_and_an_intersection_for_the_smaller() -> None:
    tensors = {"A": random_tensor("ds", (4, 50), 1, 0.1), "B": random_tensor("ds", (4, 50), 2, 0.05)}
    a, b = (len(t.val) for t in tensors.values())
    rooms = {made: lowered(made).rooms[1] for made in (ADD, MULTIPLY)}
    assert evaluate_bound(rooms[ADD], run_of(ADD, **tensors)) == a + b  # type: ignore[arg-type]  # a sparse level
    assert evaluate_bound(rooms[MULTIPLY], run_of(MULTIPLY, **tensors)) == min(a, b)  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------- growth


def test_a_result_of_unknown_size_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every first guess, and every doubling, ends with the same tensor."""
    assert lowered(OUTER).resumable
    tensors = {"A": random_tensor("s", (7,), 1, 0.8), "B": random_tensor("s", (9,), 2, 0.8)}
    want = to_dense(interpret_nest(OUTER, tensors, {}, {"i": 7, "j": 9}))
    grown = []
    original = output_module._Append.grow
    monkeypatch.setattr(output_module._Append, "grow", lambda *args: (grown.append(1), original(*args)))
    for room in (0, 1, 4):
        monkeypatch.setattr(output_module, "_ROOM", room)
        found = run_nest(OUTER, tensors, {})
        check_tensor(found)
        np.testing.assert_array_equal(to_dense(found), want)
    assert grown


def test_growing_keeps_what_is_there_and_takes_at_least_what_is_needed() -> None:
    tensors = {"A": random_tensor("s", (7,), 1), "B": random_tensor("s", (9,), 2)}
    run = run_of(OUTER, **tensors)
    plan = output_plan(facts(OUTER))
    output = plan.allocate(run)
    before = output.rooms[1]
    assert output.crd[1] is not None
    output.crd[1][:before] = np.arange(before)
    output.val[:before] = np.arange(before)
    status = np.zeros(6, np.int64)
    status[5] = 10 * before + 3
    plan.grow(output, status, run)
    assert output.rooms[1] >= 10 * before + 3
    assert len(output.crd[1]) >= output.rooms[1]
    assert len(output.val) >= output.rooms[1]
    np.testing.assert_array_equal(output.crd[1][:before], np.arange(before))
    np.testing.assert_array_equal(output.val[:before], np.arange(before))


def test_growing_doubles_at_least() -> None:
    tensors = {"A": random_tensor("s", (7,), 1), "B": random_tensor("s", (9,), 2)}
    run = run_of(OUTER, **tensors)
    plan = output_plan(facts(OUTER))
    output = plan.allocate(run)
    before = output.rooms[1]
    status = np.zeros(6, np.int64)
    status[5] = before + 1
    plan.grow(output, status, run)
    assert output.rooms[1] >= 2 * before


def test_more_entries_than_narrow_positions_count_ask_for_wide_ones() -> None:
    tensors = {"A": random_tensor("s", (7,), 1), "B": random_tensor("s", (9,), 2)}
    run = run_of(OUTER, **tensors)
    plan = output_plan(facts(OUTER))
    status = np.zeros(6, np.int64)
    status[5] = 2**31
    with pytest.raises(NeedsWideIndices):
        plan.grow(plan.allocate(run), status, run)


# ---------------------------------------------------------------------------------------------- trimming

LETTERS = ["".join(p) for p in product("ds", repeat=2)]


@pytest.mark.parametrize("out", [letters for letters in LETTERS if "s" in letters])
@pytest.mark.parametrize("given", LETTERS)
@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (0, 4), (3, 0), (5, 2)])
def test_copies_into_any_format_are_cut_to_what_they_hold(out: str, given: str, shape: tuple[int, ...]) -> None:
    made = nest("append", over("ij", "C[i, j] = A[i, j]"), kind(out), A=kind(given))
    for seed, density in ((1, 0.0), (2, 0.3), (3, 1.0)):
        tensor = random_tensor(given, shape, seed, density)
        found = run_nest(made, {"A": tensor}, {})
        check_tensor(found)
        np.testing.assert_array_equal(to_dense(found), to_dense(tensor))
        assert not (stored_mask(tensor) & ~stored_mask(found)).any()
        assert len(found.val) == found.positions(2)


@pytest.mark.parametrize("letters", ["ds", "dss"])
@pytest.mark.parametrize("density", [0.0, 0.3, 1.0])
def test_sorted_copies_are_cut_to_what_they_hold(letters: str, density: float) -> None:
    rank = len(letters)
    indices = "ijk"[:rank]
    perm = (rank - 1, *range(rank - 1))
    text = f"C[{', '.join(indices)}] = A[{', '.join(indices)}]"
    made = nest("scatter", over(indices, text), kind(letters, perm), A=kind(letters))
    for shape in ((4, 3, 2)[:rank], (1, 1, 1)[:rank], (0, 3, 2)[:rank], (3, 2, 0)[-rank:]):
        tensor = random_tensor(letters, shape, 5, density)
        found = run_nest(made, {"A": tensor}, {})
        check_tensor(found)
        np.testing.assert_array_equal(to_dense(found), to_dense(tensor))
        np.testing.assert_array_equal(stored_mask(found), stored_mask(tensor))


def test_rows_without_entries_are_not_stored() -> None:
    values = np.zeros((4, 3))
    values[2, 1] = 5.0
    tensor = from_dense(values, (Dense(), narrow()), (0, 1), fill=0.0)
    made = nest("append", over("ij", "C[i, j] = A[i, j]"), kind("ss"), A=kind("ds"))
    found = run_nest(made, {"A": tensor}, {})
    assert [None if c is None else c.tolist() for c in found.crd] == [[2], [1]]


def test_skipped_rows_leave_their_positions_filled_forward() -> None:
    """A dense level over lists, written only where the operand's own rows are: `pos` has gaps to fill."""
    made = nest("append", over("ij", "C[i, j] = A[i, j]"), kind("ds"), A=kind("ss"))
    assert lowered(made).gaps
    values = np.zeros((5, 3))
    values[1, 2] = values[3, 0] = 1.0
    found = run_nest(made, {"A": from_dense(values, (narrow(), narrow()), (0, 1), fill=0.0)}, {})
    assert found.pos[1] is not None
    assert found.pos[1].tolist() == [0, 0, 1, 1, 2, 2]


def test_results_are_read_only() -> None:
    tensors = {"A": random_tensor("ds", (4, 5), 1), "B": random_tensor("ds", (4, 5), 2)}
    found = run_nest(ADD, tensors, {})
    for array in (*found.pos, *found.crd, found.val):
        assert array is None or not array.flags.writeable


# ---------------------------------------------------------------------------------------------- dense and shared

SHARED = nest("shared", over("ij", "C[i, j] = A[i, j] * x[j]"), kind("ds"), A=kind("ds"), x=kind("d"))


def test_a_shared_pattern_is_the_operands_own_arrays() -> None:
    tensor = random_tensor("ds", (4, 5), 1)
    found = run_nest(SHARED, {"A": tensor, "x": random_tensor("d", (5,), 2)}, {})
    assert np.shares_memory(found.pos[1], tensor.pos[1])  # type: ignore[arg-type]  # a sparse level has one
    assert np.shares_memory(found.crd[1], tensor.crd[1])  # type: ignore[arg-type]
    assert not np.may_share_memory(found.val, tensor.val)


def test_a_dense_result_beyond_the_limit_is_refused_unless_an_operand_is_as_large() -> None:
    made = nest("dense", over("ij", "C[i, j] = A[i] * B[j]"), kind("dd"), A=kind("d"), B=kind("d"))
    small = {"A": random_tensor("d", (8,), 1, 1.0), "B": random_tensor("d", (9,), 2, 1.0)}
    with config(densify=71), pytest.raises(DensifyError, match=r"shape 8 x 9 would be dense: 72 elements.*limit of 71"):
        run_nest(made, small, {})
    with config(densify=72):
        assert run_nest(made, small, {}).shape == (8, 9)
    copied = nest("dense", over("ij", "C[i, j] = A[i, j]"), kind("dd"), A=kind("dd"))
    with config(densify=10):
        assert run_nest(copied, {"A": random_tensor("dd", (8, 9), 3, 1.0)}, {}).shape == (8, 9)


def test_a_dense_result_starts_from_its_initial_value_where_not_all_is_written() -> None:
    total = nest("dense", over("ji", "C[i] += A[i, j]"), kind("d"), A=kind("ds", (1, 0)))
    made = lowered(total)
    assert not made.covered
    values = np.zeros((3, 2))
    values[1, 1] = 4.0
    held = {"A": from_dense(values, (Dense(), narrow()), (1, 0), fill=0.0)}
    np.testing.assert_array_equal(run_nest(total, held, {}).val, [0.0, 4.0, 0.0])
    assert isinstance(output_plan(facts(total)).allocate(Run(held, {}, {"i": 3, "j": 2})), Output)


def test_what_is_written_everywhere_needs_no_initial_value() -> None:
    rows = nest("dense", over("ij", "C[i] += A[i, j]"), kind("d"), A=kind("ds"))
    assert lowered(rows).covered
