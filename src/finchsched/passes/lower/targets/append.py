"""A target whose coordinates are appended in storage order."""

from collections.abc import Callable
from dataclasses import dataclass, field

from finchsched.algebra.dtypes import BOOL, INT64, UINT64
from finchsched.algebra.operators import Operator
from finchsched.ast.kernel import (
    ONE,
    STATUS,
    ZERO,
    Buffer,
    Const,
    KernelExpr,
    KernelStmt,
    Load,
    Memset,
    Return,
    Set,
    Store,
    Var,
    position,
)
from finchsched.ast.looplet import Child, Lookup, Looplet
from finchsched.ast.status import GROW
from finchsched.formats.buffers import level_buffer
from finchsched.formats.levels import Dense
from finchsched.formats.levels.sparse_coo import counted_at
from finchsched.formats.unfurl import HOLE, plus, times
from finchsched.passes.lower.kernel_terms import advance, binary, cast, less, when
from finchsched.passes.lower.targets.target import Around, Point, Target

__all__ = ["AppendTarget"]


@dataclass(slots=True)
class AppendTarget(Target):
    """Coordinates come in storage order; sparse levels append, and commit a coordinate only if its child is not empty.

    resumable: room is checked once per fiber, and a kernel that runs out of it returns GROW.  fill: gives the target's
    fill as a kernel expression.  dirty: whether anything was written at the current coordinate.  saved: the counts of
    the sparse levels at the start of the current outermost iteration.  leaf_point: where the innermost level was
    entered, if it is sparse.  outer_parts: coordinates of the entered axes of a coordinate list, by level; they are
    written with each entry.  unsorted: entries of one coordinate list come in any order, and the runtime sorts them.
    """

    resumable: bool = False
    fill: Callable[[], KernelExpr] = lambda: ZERO
    dirty: Var | None = None
    saved: dict[int, Var] = field(default_factory=dict)
    leaf_point: Point | None = field(default=None, repr=False)
    outer_parts: dict[int, KernelExpr] = field(default_factory=dict, repr=False)
    unsorted: bool = False

    def _sparse(self, level: int) -> bool:
        return level < self.rank and not isinstance(self.tensor.type.levels[level], Dense)

    def count(self, level: int) -> Var:
        """How many coordinates a sparse level holds so far; one count for all axes of a coordinate list."""
        return Var(f"{self.tensor.name}_q{counted_at(self.tensor.type.levels, level)}", UINT64)

    def capacity(self, level: int) -> Var:
        """Room of a sparse level's coordinate buffer, a scalar parameter."""
        return Var(f"{self.tensor.name}_cap{level}", UINT64)

    def buffer(self, level: int, role: str) -> Buffer:
        """A buffer of a level, for writing."""
        return level_buffer(self.tensor.name, self.tensor.type, level, role, writable=True)

    @property
    def sparse_levels(self) -> list[int]:
        """Numbers of the sparse levels that are counted: of a coordinate list the last one."""
        levels = self.tensor.type.levels
        return [n for n in range(self.rank) if self._sparse(n) and counted_at(levels, n) == n]

    def prologue(self) -> list[KernelStmt]:
        """Continue where the last call ended."""
        return [Set(self.count(n), cast(Load(STATUS, position(2 + n)), UINT64)) for n in self.sparse_levels]

    def epilogue(self) -> list[KernelStmt]:
        """Report the sizes."""
        return [Store(STATUS, position(2 + n), cast(self.count(n), INT64)) for n in self.sparse_levels]

    def unfurl(self, level: int, parent: KernelExpr, extent: KernelExpr) -> Looplet | None:
        """A sparse level's next child is at its count."""
        if self._sparse(level):
            return Lookup(HOLE, Child(self.count(level)))
        return Lookup(HOLE, Child(plus(times(parent, extent), HOLE)))

    def save(self) -> list[KernelStmt]:
        """Remember the counts at the start of an outermost iteration, so that it can be done again."""
        for n in self.sparse_levels:
            self.saved[n] = Var(self.names.fresh(f"{self.tensor.name}_q{n}_saved"), UINT64)
        return [Set(self.saved[n], self.count(n)) for n in self.sparse_levels]

    def check_room(self, level: int, more: KernelExpr, outermost: KernelExpr) -> list[KernelStmt]:
        """Return GROW unless `more` coordinates still fit into `level`."""
        need = binary("add", self.count(level), more)
        stop: list[KernelStmt] = [Store(STATUS, ONE, cast(outermost, INT64))]
        stop += [Store(STATUS, position(2 + n), cast(self.saved[n], INT64)) for n in self.sparse_levels]
        stop.append(Store(STATUS, position(2 + self.rank + level), cast(need, INT64)))
        stop.append(Return(Const(GROW, INT64)))
        return when(less(self.capacity(level), need), stop)

    def enter(self, level: int, child: KernelExpr, point: Point) -> Around:
        """Statements that open and commit one coordinate."""
        if not self._sparse(level):
            return self._enter_dense(level, child, point)
        if counted_at(self.tensor.type.levels, level) != level:
            self.outer_parts[level] = point.coordinate
            return [], []
        if level + 1 == self.rank:
            return self._enter_leaf(level, point)
        inner = next((n for n in range(level + 1, self.rank) if self._sparse(n)), None)
        if inner is None:
            return self._enter_block(level, child, point)
        start = Var(self.names.fresh(f"{self.tensor.name}_q{inner}_start"), UINT64)
        commit = self._commit(level, point)
        if inner == level + 1:
            ends = self.buffer(inner, "pos")
            commit.insert(0, Store(ends, plus(child, ONE), cast(self.count(inner), ends.dtype)))
        return [Set(start, self.count(inner))], when(less(start, self.count(inner)), commit)

    def _commit(self, level: int, point: Point) -> list[KernelStmt]:
        first = level
        while first and counted_at(self.tensor.type.levels, first - 1) == level:
            first -= 1
        coordinates = {**{n: self.outer_parts[n] for n in range(first, level)}, level: point.coordinate}
        stores: list[KernelStmt] = []
        for number, coordinate in coordinates.items():
            crd = self.buffer(number, "crd")
            stores.append(Store(crd, self.count(level), cast(coordinate, crd.dtype)))
        return [*stores, advance(self.count(level))]

    def _enter_dense(self, level: int, child: KernelExpr, point: Point) -> Around:
        if self._sparse(level + 1):
            if not point.covering:
                self.gaps = True
            ends = self.buffer(level + 1, "pos")
            return [], [Store(ends, plus(child, ONE), cast(self.count(level + 1), ends.dtype))]
        if level + 1 < self.rank:
            return [], []
        return self.around_element(child, point, afresh=False)

    def _enter_leaf(self, level: int, point: Point) -> Around:
        self.leaf_point = point
        if not point.reduced or self.op is None:
            self.accumulator, self.dirty = None, None
            return [], []
        register = self.open_accumulator()
        self.dirty = Var(self.names.fresh(f"{self.tensor.name}_dirty"), BOOL)
        before: list[KernelStmt] = [Set(register, self.initial()), Set(self.dirty, Const(False, BOOL))]
        commit = [Store(self.values, self.count(level), register), *self._commit(level, point)]
        return before, when(self.dirty, commit)

    def _enter_block(self, level: int, child: KernelExpr, point: Point) -> Around:
        """A sparse level over a dense block of values: clear the block, keep it if anything was written."""
        self.dirty = Var(self.names.fresh(f"{self.tensor.name}_dirty"), BOOL)
        size: KernelExpr = ONE
        for name in self.index[level + 1 :]:
            size = times(size, point.extents[name])
        empty = self.initial() if self.op is not None else self.fill()
        before: list[KernelStmt] = [
            Set(self.dirty, Const(False, BOOL)),
            Memset(self.values, times(child, size), times(plus(child, ONE), size), empty),
        ]
        return before, when(self.dirty, self._commit(level, point))

    def _mark(self) -> list[KernelStmt]:
        return [] if self.dirty is None else [Set(self.dirty, Const(True, BOOL))]

    def assign(self, op: Operator | None, value: KernelExpr, child: KernelExpr) -> list[KernelStmt]:
        """Write one element; directly below a sparse level that is one append."""
        last = self.rank - 1
        if self.accumulator is None and self._sparse(last):
            write: list[KernelStmt] = [Store(self.values, self.count(last), value)]
            assert self.leaf_point is not None
            return write + self._commit(last, self.leaf_point)
        return Target.assign(self, op, value, child) + self._mark()
