"""What a fiber looks like to a loop: `unfurl` turns a level into a looplet.  Pure; names come from the caller."""

from finchsched.algebra.dtypes import BOOL, UINT64
from finchsched.algebra.operators import operator
from finchsched.ast.format import TensorType
from finchsched.ast.kernel import (
    ONE,
    ZERO,
    Apply,
    Buffer,
    Cast,
    If,
    KernelExpr,
    KernelStmt,
    Load,
    Search,
    Seq,
    Set,
    Var,
)
from finchsched.ast.looplet import Child, Fill, Lookup, Looplet, Run, Spike, Stepper, Switch, Thunk
from finchsched.ast.names import Names
from finchsched.errors import FormatError
from finchsched.formats.buffers import level_buffer
from finchsched.formats.levels import Dense, SparseByteMap, SparseCOO, SparseList

__all__ = ["HOLE", "locate", "or_empty", "plus", "times", "unfurl", "workspace_count"]

HOLE = Var("_coordinate", UINT64)
"""Stands for the coordinate inside a Lookup."""


def plus(a: KernelExpr, b: KernelExpr) -> KernelExpr:
    """`a + b` on positions, with zero folded away."""
    if a == ZERO:
        return b
    if b == ZERO:
        return a
    return Apply(operator("add"), (a, b), UINT64)


def times(a: KernelExpr, b: KernelExpr) -> KernelExpr:
    """`a * b` on positions, with zero and one folded away."""
    if ZERO in (a, b):
        return ZERO
    if a == ONE:
        return b
    if b == ONE:
        return a
    return Apply(operator("mul"), (a, b), UINT64)


def workspace_count(tensor: str) -> Var:
    """The local variable that counts the touched coordinates of a SparseByteMap workspace."""
    return Var(f"{tensor}_count", UINT64)


def unfurl(tensor: str, type_: TensorType, level: int, fiber: Child, extent: KernelExpr, names: Names) -> Looplet:
    """The fiber that is the child `fiber` of the level above, for reading in rising order of coordinates."""
    match type_.levels[level]:
        case Dense():
            return Lookup(HOLE, Child(plus(times(fiber.position, extent), HOLE)))
        case SparseList() | SparseCOO():
            crd = level_buffer(tensor, type_, level, "crd", writable=False)
            here = Var(names.fresh(f"{tensor}_p{level}"), UINT64)
            end = Var(names.fresh(f"{tensor}_p{level}_end"), UINT64)
            start, stop = _range(tensor, type_, level, fiber)
            stepper = Stepper(here, end, crd, Spike(Fill(), Child(here)))
            if _is_run(type_, level):
                run = Var(names.fresh(f"{tensor}_p{level}_run"), UINT64)
                stepper = Stepper(here, end, crd, Spike(Fill(), Child(here, run)), run)
            return Thunk((Set(here, start), Set(end, stop)), stepper)
        case SparseByteMap():
            crd = level_buffer(tensor, type_, level, "crd", writable=True)
            here = Var(names.fresh(f"{tensor}_p"), UINT64)
            end = Var(names.fresh(f"{tensor}_p_end"), UINT64)
            preamble = (Set(here, ZERO), Set(end, workspace_count(tensor)))
            return Thunk(preamble, Stepper(here, end, crd, Spike(Fill(), Child(Cast(Load(crd, here), UINT64)))))
        case other:
            raise FormatError(f"level {other.name} cannot be read")


def or_empty(fiber: Looplet, present: Var) -> Looplet:
    """A fiber that is stepped through, as an empty one where `present` is false."""
    assert isinstance(fiber, Thunk) and isinstance(fiber.body, Stepper)
    empty = (Set(fiber.body.var, ZERO), Set(fiber.body.end, ZERO))
    return Thunk((*empty, If(present, Seq(fiber.preamble), Seq(()))), fiber.body)


def _range(tensor: str, type_: TensorType, level: int, fiber: Child) -> tuple[KernelExpr, KernelExpr]:
    """The positions of a fiber's entries, half open: known already inside a coordinate list, else in `pos`."""
    if fiber.end is not None:
        return fiber.position, fiber.end
    pos = level_buffer(tensor, type_, level, "pos", writable=False)
    return Cast(Load(pos, fiber.position), UINT64), Cast(Load(pos, plus(fiber.position, ONE)), UINT64)


def _is_run(type_: TensorType, level: int) -> bool:
    """Whether a child of the level is a run of entries of a coordinate list."""
    found = type_.levels[level]
    return isinstance(found, SparseCOO) and not found.is_last


def locate(
    tensor: str,
    type_: TensorType,
    level: int,
    fiber: Child,
    coordinate: KernelExpr,
    extent: KernelExpr,
    names: Names,
) -> Looplet:
    """The fiber that is the child `fiber` of the level above, at one coordinate that is known already.

    O(1) where the level locates, O(log n) by binary search in a SparseList or SparseCOO.
    """
    match type_.levels[level]:
        case Dense():
            return Run(Child(plus(times(fiber.position, extent), coordinate)))
        case SparseList() | SparseCOO() if not _is_run(type_, level):
            crd = level_buffer(tensor, type_, level, "crd", writable=False)
            here = Var(names.fresh(f"{tensor}_p{level}"), UINT64)
            end = Var(names.fresh(f"{tensor}_p{level}_end"), UINT64)
            last = Var(names.fresh(f"{tensor}_c{level}"), UINT64)
            start, stop = _range(tensor, type_, level, fiber)
            preamble: tuple[KernelStmt, ...] = (
                Set(end, stop),
                Search(here, crd, start, end, coordinate),
                Set(last, extent),
                _load_if_inside(last, crd, here, end),
            )
            found = Apply(operator("eq"), (last, coordinate), BOOL)
            return Thunk(preamble, Switch(found, Run(Child(here)), Run(Fill())))
        case SparseCOO():
            crd = level_buffer(tensor, type_, level, "crd", writable=False)
            here = Var(names.fresh(f"{tensor}_p{level}"), UINT64)
            end = Var(names.fresh(f"{tensor}_p{level}_end"), UINT64)
            run = Var(names.fresh(f"{tensor}_p{level}_run"), UINT64)
            start, stop = _range(tensor, type_, level, fiber)
            preamble = (
                Set(end, stop),
                Search(here, crd, start, end, coordinate),
                Search(run, crd, here, end, plus(coordinate, ONE)),
            )
            found = Apply(operator("lt"), (here, run), BOOL)
            return Thunk(preamble, Switch(found, Run(Child(here, run)), Run(Fill())))
        case other:
            raise FormatError(f"level {other.name} cannot be located in")


def _load_if_inside(target: Var, buffer: Buffer, index: Var, end: Var) -> If:
    inside = Apply(operator("lt"), (index, end), BOOL)
    return If(inside, Seq((Set(target, Cast(Load(buffer, index), UINT64)),)), Seq(()))
