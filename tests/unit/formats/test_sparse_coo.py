"""Lists of coordinates: what their types and buffers promise, and what a loop sees of them."""

from typing import Any

import numpy as np
import pytest

from finchsched.algebra.dtypes import FLOAT64, INT32, INT64, UINT32, UINT64
from finchsched.ast.format import TensorType
from finchsched.ast.kernel import ONE, ZERO, Buffer, Const, If, Kernel, Seq, Store, Var
from finchsched.ast.looplet import Child, Fill, Run, Spike, Stepper, Switch, Thunk
from finchsched.ast.names import Names
from finchsched.ast.node import walk
from finchsched.ast.scalar import Literal
from finchsched.ast.validate_kernel import validate_kernel
from finchsched.errors import FormatError
from finchsched.formats.buffers import level_roles
from finchsched.formats.checks import check_tensor
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.levels import Dense, SparseCOO, SparseList
from finchsched.formats.levels.sparse_coo import check_groups, coo_levels, counted_at
from finchsched.formats.unfurl import locate, unfurl
from finchsched.interpret.kernel import run_kernel
from strategies import nest

N, C = Var("n", UINT64), Var("c", UINT64)
P, E = Var("p", UINT64), Var("e", UINT64)


def kind(*levels: Any) -> TensorType:
    return TensorType(levels, tuple(range(len(levels))), FLOAT64, Literal(0.0, FLOAT64))


LIST = kind(*coo_levels(3, INT32, INT64))


def three_axes(**changes: Any) -> FiberTensor:
    """(0, 1, 2), (0, 1, 3) and (4, 0, 0) in a tensor of shape (5, 2, 4)."""
    parts: dict[str, Any] = {"pos": (0, 3), "i": (0, 0, 4), "j": (1, 1, 0), "k": (2, 3, 0), "stored": 3} | changes
    crd = tuple(np.array(parts[name], np.int64) for name in "ijk")
    pos = (np.array(parts["pos"], np.int32), None, None)
    return FiberTensor(LIST, (5, 2, 4), 0.0, pos, crd, np.zeros(parts["stored"]))


def test_levels_of_one_list() -> None:
    levels = (Dense(), *coo_levels(3), SparseList(), *coo_levels(1))
    assert [counted_at(levels, n) for n in range(6)] == [0, 3, 3, 3, 4, 5]
    assert [level.label for level in levels] == ["Dense", "SparseCOO(3)", "", "", "SparseList", "SparseCOO"]
    assert str(kind(*levels)) == "Dense(SparseCOO(3)(SparseList(SparseCOO(Element(float64)))))"
    assert [len(level_roles(level)) for level in levels] == [0, 2, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        (coo_levels(2)[:1], "over 2 axes ends after 1"),
        (coo_levels(2)[1:], "part 1 of 2 does not begin"),
        ((SparseCOO(part=2, of=2),), "part 2 of 2 does not begin"),
        ((*coo_levels(2)[:1], Dense()), "level 1: expected part 1 of 2"),
        ((*coo_levels(2)[:1], *coo_levels(3)[1:2]), "level 1: expected part 1 of 2"),
        ((SparseCOO(INT32, INT32, 0, 2), SparseCOO(INT32, INT64, 1, 2)), "level 1: expected part 1 of 2"),
    ],
    ids=str,
)
def test_lists_that_are_not_whole_are_refused(levels: tuple[Any, ...], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        check_groups(levels)
    pos, crd = (np.zeros(1, np.int64),) * len(levels), (np.zeros(0, np.int64),) * len(levels)
    with pytest.raises(FormatError, match=message):
        FiberTensor(kind(*levels), (1,) * len(levels), 0.0, pos, crd, np.zeros(0))


def test_counts() -> None:
    t = three_axes()
    assert [t.positions(level) for level in range(4)] == [1, 3, 3, 3]
    assert t.nbytes == 2 * 4 + 3 * 3 * 8 + 3 * 8
    check_tensor(t)
    check_tensor(three_axes(pos=(0, 0), i=(), j=(), k=(), stored=0))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pos": (0, 2)}, "level 0: crd must have 2 entries, as pos ends; found 3"),
        ({"pos": (0, 3, 3)}, "level 0: pos must have 2 entries for 1 fibers; found 3"),
        ({"j": (1, 1)}, "level 1: crd must have 3 entries, as pos ends; found 2"),
        ({"j": (1, 1, 2)}, "level 1: crd must lie in 0 .. 1; found 2 at position 2"),
        ({"k": (2, 2, 0)}, r"level 0: .* fiber 0 has \(0, 1, 2\) twice at position 0"),
        ({"k": (3, 2, 0)}, r"level 0: .* fiber 0 has \(0, 1, 3\) before \(0, 1, 2\) at position 0"),
        ({"i": (0, 4, 0)}, r"level 0: .* has \(4, 1, 3\) before \(0, 0, 0\) at position 1"),
        ({"stored": 2}, "val must have 3 elements"),
    ],
)
def test_a_broken_promise_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        check_tensor(three_axes(**changes))


def test_entries_of_another_fiber_may_be_anything() -> None:
    pos, crd = np.array([0, 1, 1, 2], np.int32), np.array([2, 0], np.int32)
    levels = (Dense(), *coo_levels(1, INT32, INT32))
    check_tensor(FiberTensor(kind(*levels), (3, 3), 0.0, (None, pos), (None, crd), np.zeros(2)))


def test_buffers_that_a_part_does_not_have_are_refused() -> None:
    one, at = np.array([0, 1], np.int32), np.zeros(1, np.int64)
    with pytest.raises(FormatError, match="level 1 is a further axis of a coordinate list and has no pos"):
        FiberTensor(LIST, (1, 1, 1), 0.0, (one, one, None), (at, at, at), np.zeros(1))
    with pytest.raises(FormatError, match="level 0: pos must be an array"):
        FiberTensor(LIST, (1, 1, 1), 0.0, (None, None, None), (at, at, at), np.zeros(1))
    with pytest.raises(FormatError, match="level 2: crd must have the element type int64; found int32"):
        FiberTensor(LIST, (1, 1, 1), 0.0, (one, None, None), (at, at, one), np.zeros(1))


def test_a_part_steps_over_runs_and_the_last_one_over_entries() -> None:
    outer = unfurl("A", LIST, 0, Child(ZERO), N, Names())
    assert isinstance(outer, Thunk) and isinstance(outer.body, Stepper)
    run = outer.body.run
    assert run is not None
    assert outer.body.chunk == Spike(Fill(), Child(outer.body.var, run))
    assert Buffer("A_pos0", UINT32, False) in set(walk(outer))
    inner = unfurl("A", LIST, 2, Child(P, E), N, Names())
    assert isinstance(inner, Thunk) and isinstance(inner.body, Stepper)
    assert inner.body.run is None
    assert inner.body.chunk == Spike(Fill(), Child(inner.body.var))
    assert {n for n in walk(inner) if isinstance(n, Buffer)} == {Buffer("A_crd2", UINT64, False)}


def run_locate(level: int, crd: list[int], lo: int, hi: int, coordinate: int) -> tuple[int, int] | None:
    """The positions that `locate` finds among the entries lo .. hi of a part."""
    child = Child(Const(lo, UINT64), Const(hi, UINT64))
    found = locate("A", LIST, level, child, C, N, Names())
    assert isinstance(found, Thunk) and isinstance(found.body, Switch)
    assert isinstance(found.body.then, Run) and found.body.orelse == Run(Fill())
    leaf = found.body.then.body
    assert isinstance(leaf, Child)
    out = Buffer("out", UINT64, True)
    end = leaf.position if leaf.end is None else leaf.end
    hit = If(found.body.cond, Seq((Store(out, ZERO, leaf.position), Store(out, ONE, end))), Seq(()))
    kernel = Kernel(
        "f", (N, C), (Buffer(f"A_crd{level}", UINT64, False), out), Seq((*found.preamble, hit)), licensed=False
    )
    validate_kernel(kernel)
    made = np.full(2, 99, np.uint64)
    arrays = {f"A_crd{level}": np.array(crd, np.uint64), "out": made}
    run_kernel(kernel, 0, 1, np.zeros(4, np.int64), {"n": 6, "c": coordinate}, arrays)
    return None if made[0] == 99 else (int(made[0]), int(made[1]))


def test_a_run_is_searched() -> None:
    crd = [1, 1, 2, 5, 5, 5]
    for coordinate in range(6):
        inside = [n for n, c in enumerate(crd[1:5], start=1) if c == coordinate]
        want = (inside[0], inside[-1] + 1) if inside else None
        assert run_locate(0, crd, 1, 5, coordinate) == want


def test_an_entry_is_searched() -> None:
    crd = [0, 2, 4, 1, 3]
    assert run_locate(2, crd, 0, 3, 2) == (1, 1)
    assert run_locate(2, crd, 3, 5, 2) is None
    assert run_locate(2, crd, 3, 3, 1) is None
    assert run_locate(2, [], 0, 0, 0) is None


def test_letters_of_the_random_tests() -> None:
    assert nest("dccs") == (Dense(), *coo_levels(2, INT32, INT32), SparseList(INT32, INT32))
