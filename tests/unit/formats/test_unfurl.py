"""What a fiber looks like to a loop, and what is found in it at one coordinate."""

from dataclasses import dataclass

import numpy as np
import pytest

from finchsched.algebra.dtypes import FLOAT64, INT32, INT64, UINT32, UINT64
from finchsched.ast.format import Level, TensorType
from finchsched.ast.kernel import ONE, STATUS, ZERO, Buffer, Const, If, Kernel, KernelExpr, Load, Seq, Set, Store, Var
from finchsched.ast.looplet import Child, Fill, Lookup, Run, Spike, Stepper, Switch, Thunk
from finchsched.ast.names import Names
from finchsched.ast.node import walk
from finchsched.ast.scalar import Literal
from finchsched.ast.validate_kernel import validate_kernel
from finchsched.errors import FormatError
from finchsched.formats.levels import Dense, SparseByteMap, SparseList
from finchsched.formats.unfurl import HOLE, locate, plus, times, unfurl, workspace_count
from finchsched.interpret.kernel import run_kernel

N = Var("n", UINT64)
P, C = Var("parent", UINT64), Var("c", UINT64)


def kind(*levels: Level) -> TensorType:
    return TensorType(levels, tuple(range(len(levels))), FLOAT64, Literal(0.0, FLOAT64))


@pytest.mark.parametrize(
    ("made", "want"),
    [
        (plus(ZERO, P), P),
        (plus(P, ZERO), P),
        (times(ZERO, P), ZERO),
        (times(P, ZERO), ZERO),
        (times(ONE, P), P),
        (times(P, ONE), P),
    ],
)
def test_trivial_arithmetic_is_folded(made: KernelExpr, want: KernelExpr) -> None:
    assert made == want


def test_a_dense_fiber_is_looked_up() -> None:
    found = unfurl("A", kind(Dense(), Dense()), 1, Child(P), N, Names())
    assert found == Lookup(HOLE, Child(plus(times(P, N), HOLE)))
    assert unfurl("A", kind(Dense()), 0, Child(ZERO), N, Names()) == Lookup(HOLE, Child(HOLE))


def test_a_list_is_stepped_through() -> None:
    found = unfurl("A", kind(Dense(), SparseList(INT32, INT64)), 1, Child(P), N, Names())
    assert isinstance(found, Thunk)
    assert isinstance(found.body, Stepper)
    stepper = found.body
    assert stepper.chunk == Spike(Fill(), Child(stepper.var))
    assert stepper.stop == Buffer("A_crd1", UINT64, False)
    assert [s.var for s in found.preamble if isinstance(s, Set)] == [stepper.var, stepper.end]
    buffers = {n for n in walk(found) if isinstance(n, Buffer)}
    assert buffers == {Buffer("A_pos1", UINT32, False), Buffer("A_crd1", UINT64, False)}


def test_a_workspace_is_stepped_through_its_list_of_touched_coordinates() -> None:
    found = unfurl("w", kind(SparseByteMap()), 0, Child(ZERO), N, Names())
    assert isinstance(found, Thunk)
    assert isinstance(found.body, Stepper)
    stepper = found.body
    assert stepper.stop.name == "w_crd0"
    assert stepper.chunk.tail == Child(next(n for n in walk(stepper.chunk.tail) if not isinstance(n, Child)))
    assert Set(stepper.end, workspace_count("w")) in found.preamble


def test_names_come_from_the_caller() -> None:
    names = Names(("A_p1",))
    one, other = (unfurl("A", kind(Dense(), SparseList()), 1, Child(P), N, names) for _ in range(2))
    assert isinstance(one, Thunk)
    assert isinstance(other, Thunk)
    taken = [n.body.var.name for n in (one, other)]  # type: ignore[union-attr]  # steppers
    assert taken == ["A_p1_2", "A_p1_3"]
    assert unfurl("A", kind(Dense(), SparseList()), 1, Child(P), N, Names()) == unfurl(
        "A", kind(Dense(), SparseList()), 1, Child(P), N, Names()
    )


@dataclass(frozen=True, slots=True, eq=False)
class Unknown(Level):
    """A level that nobody has registered."""

    name = "Unknown"


def test_levels_without_a_way_to_be_read_are_refused_by_name() -> None:
    with pytest.raises(FormatError, match="level Unknown cannot be read"):
        unfurl("A", kind(Unknown()), 0, Child(ZERO), N, Names())
    with pytest.raises(FormatError, match="level Unknown cannot be located in"):
        locate("A", kind(Unknown()), 0, Child(ZERO), C, N, Names())
    with pytest.raises(FormatError, match="level SparseByteMap cannot be located in"):
        locate("A", kind(SparseByteMap()), 0, Child(ZERO), C, N, Names())


def test_dense_levels_are_located_by_arithmetic() -> None:
    assert locate("A", kind(Dense(), Dense()), 1, Child(P), C, N, Names()) == Run(Child(plus(times(P, N), C)))


def run_locate(pos: list[int], crd: list[int], parent: int, coordinate: int, extent: int) -> int | None:
    """The position that `locate` finds in a list, by the interpreter."""
    found = locate("A", kind(Dense(), SparseList()), 1, Child(Const(parent, UINT64)), C, N, Names())
    assert isinstance(found, Thunk)
    assert isinstance(found.body, Switch)
    assert found.body.orelse == Run(Fill())
    child = found.body.then.body  # type: ignore[union-attr]  # a Run
    position = child.position  # type: ignore[union-attr]  # a Child
    out = Buffer("out", UINT64, True)
    hit = If(found.body.cond, Seq((Store(out, ZERO, position), Store(out, ONE, ONE))), Seq(()))
    buffers = tuple(Buffer(f"A_{role}1", UINT64, False) for role in ("pos", "crd"))
    kernel = Kernel("f", (N, C), (*buffers, out), Seq((*found.preamble, hit)), False)
    validate_kernel(kernel)
    made = np.zeros(2, np.uint64)
    arrays = {"A_pos1": np.array(pos, np.uint64), "A_crd1": np.array(crd, np.uint64), "out": made}
    run_kernel(kernel, 0, 1, np.zeros(4, np.int64), {"n": extent, "c": coordinate}, arrays)
    return int(made[0]) if made[1] else None


def test_a_list_is_searched() -> None:
    pos, crd = [0, 3, 3, 5], [1, 2, 5, 0, 4]
    for parent in range(3):
        inside = crd[pos[parent] : pos[parent + 1]]
        for coordinate in range(6):
            want = pos[parent] + inside.index(coordinate) if coordinate in inside else None
            assert run_locate(pos, crd, parent, coordinate, 6) == want


def test_a_search_does_not_read_beyond_the_list() -> None:
    """The fiber ends where the array does; the interpreter refuses any position out of range."""
    assert run_locate([0, 0], [], 0, 0, 1) is None
    assert run_locate([0, 2], [0, 1], 0, 2, 3) is None


def test_the_status_buffer_is_no_operand() -> None:
    for level in (Dense(), SparseList()):
        found = unfurl("A", kind(level), 0, Child(ZERO), N, Names())
        assert not any(isinstance(n, Load) and n.buffer == STATUS for n in walk(found))
