"""How a nest writes its target: dense, append, shared, scatter and sort (see `finchsched.ast.loop.ASSEMBLIES`).

While loops are lowered, a target is entered level by level.  `enter` gives the statements that go before and after
the body at one coordinate; `assign` gives those for one element.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from finchsched.algebra.dtypes import BOOL, INT64, UINT64
from finchsched.algebra.operators import Operator, identity
from finchsched.ast.kernel import (
    ONE,
    STATUS,
    ZERO,
    Buffer,
    Const,
    For,
    KernelExpr,
    KernelStmt,
    Load,
    Memset,
    Return,
    Seq,
    Set,
    Store,
    Var,
    position,
)
from finchsched.ast.loop import Access, Tensor, storage_names
from finchsched.ast.looplet import Child, Lookup, Looplet
from finchsched.ast.names import Names
from finchsched.ast.status import GROW
from finchsched.formats.buffers import level_buffer, value_buffer
from finchsched.formats.levels import Dense
from finchsched.formats.levels.sparse_coo import counted_at
from finchsched.formats.unfurl import HOLE, plus, times
from finchsched.passes.lower.kernel_terms import advance, binary, cast, less, when

__all__ = ["AppendTarget", "Cursor", "DenseTarget", "Point", "ScatterTarget", "SharedTarget", "Target", "make_target"]


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far an access has been resolved: the next level to unfurl, and the position of its fiber there.

    `entered`: for a target, up to which level `Target.enter` has been called.  `end`: inside a coordinate list, where
    the entries end that begin at `position`.  `present`: where that variable is false, nothing is stored.
    """

    level: int
    position: KernelExpr
    entered: int = 0
    end: KernelExpr | None = None
    present: Var | None = None

    @property
    def fiber(self) -> Child:
        """The fiber to unfurl next, as a child of the level above."""
        return Child(self.position, self.end, self.present)

    def descend(self, child: Child) -> "Cursor":
        """The cursor of a child, one level further in."""
        return Cursor(self.level + 1, child.position, self.entered, child.end, child.present)


@dataclass(frozen=True, slots=True)
class Point:
    """Where a target is entered.

    coordinate: of the level entered.  reduced: the assignment lies inside further loops.  single: every loop so far
    is over an index of the target, so each element is reached once.  covering: every coordinate so far is reached.
    extents: of the indices of the levels below, by name.
    """

    coordinate: KernelExpr
    reduced: bool
    single: bool
    covering: bool
    extents: dict[str, KernelExpr]


Around = tuple[list[KernelStmt], list[KernelStmt]]


@dataclass(slots=True)
class Target:
    """Common parts of all strategies: where the values go, and a register for the element that is being reduced.

    covered, gaps: as in LoweredNest.  accumulator: the register, while there is one.  once: each element is reached
    once, so that it is stored without being read.
    """

    access: Access
    op: Operator | None
    names: Names
    covered: bool = False
    gaps: bool = False
    accumulator: Var | None = None
    once: bool = False

    @property
    def tensor(self) -> Tensor:
        """The tensor written."""
        return self.access.tensor

    @property
    def rank(self) -> int:
        """Number of levels."""
        return len(self.tensor.type.levels)

    @property
    def index(self) -> tuple[str, ...]:
        """Index names in storage order; "" for a constant coordinate."""
        return storage_names(self.access)

    @property
    def values(self) -> Buffer:
        """The value buffer."""
        return value_buffer(self.tensor.name, self.tensor.type, writable=True)

    def initial(self) -> Const:
        """The value a reduction starts from."""
        assert self.op is not None
        dtype = self.tensor.type.dtype
        return Const(identity(self.op, dtype), dtype)

    def open_accumulator(self) -> Var:
        """A fresh register for one element."""
        self.accumulator = Var(self.names.fresh(f"{self.tensor.name}_acc"), self.tensor.type.dtype)
        return self.accumulator

    def around_element(self, child: KernelExpr, point: Point, *, afresh: bool) -> Around:
        """If inner loops reduce the element, a register for it: from the initial value if `afresh`, else from the
        buffer.
        """
        if not point.reduced or self.op is None:
            self.accumulator = None
            return [], []
        register = self.open_accumulator()
        start: KernelExpr = self.initial() if afresh else Load(self.values, child)
        return [Set(register, start)], [Store(self.values, child, register)]

    def unfurl(self, level: int, parent: KernelExpr, extent: KernelExpr) -> Looplet | None:
        """The target's fiber as a looplet, or None if the target does not follow this loop."""
        return Lookup(HOLE, Child(plus(times(parent, extent), HOLE)))

    def prologue(self) -> list[KernelStmt]:
        """Statements before the nest."""
        return []

    def epilogue(self) -> list[KernelStmt]:
        """Statements after the nest."""
        return []

    def enter(self, level: int, child: KernelExpr, point: Point) -> Around:
        """Statements around the body at one coordinate of `level`, whose child is at position `child`."""
        return [], []

    def assign(self, op: Operator | None, value: KernelExpr, child: KernelExpr) -> list[KernelStmt]:
        """Statements that write one element at position `child` of the values."""
        if self.accumulator is not None:
            return [Set(self.accumulator, binary(op.name, self.accumulator, value) if op else value)]
        if op is None or self.once:
            return [Store(self.values, child, value)]
        return [Store(self.values, child, binary(op.name, Load(self.values, child), value))]


@dataclass(slots=True)
class DenseTarget(Target):
    """Every level locates.  The runtime fills the values first, unless every element is written (`covered`)."""

    def enter(self, level: int, child: KernelExpr, point: Point) -> Around:
        """A register at the innermost level if the element is reduced by inner loops."""
        if level + 1 < self.rank:
            return [], []
        self.once = point.single and not point.reduced
        self.covered = point.covering and (point.single or self.op is None)
        return self.around_element(child, point, afresh=point.single)


@dataclass(slots=True)
class SharedTarget(Target):
    """Has exactly one operand's stored coordinates: it follows that operand's cursor and shares its index arrays."""

    model: Access | None = None

    def unfurl(self, level: int, parent: KernelExpr, extent: KernelExpr) -> Looplet | None:
        """The target follows its model instead."""
        return None

    def enter(self, level: int, child: KernelExpr, point: Point) -> Around:
        """A register at the innermost level if the element is reduced by inner loops."""
        if level + 1 < self.rank:
            return [], []
        self.once = not point.reduced
        return self.around_element(child, point, afresh=True)


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


@dataclass(slots=True)
class ScatterTarget(Target):
    """Out-of-order assembly into `Dense(SparseList^n(Element))`: the counting sort, as two runs of the same nest.

    The loops visit the compressed indices in storage order and the leading dense index x anywhere among them.
    Counting: for each x, how many coordinates each compressed level gets (`pos` shifted by two).  Filling: each x has
    a cursor per level (the same `pos`, shifted by one), so that after the second run `pos` is what it should be. An
    inner node is new for x when the number of the surrounding prefix differs from the last one that x saw.
    """

    filling: bool = False

    def unfurl(self, level: int, parent: KernelExpr, extent: KernelExpr) -> Looplet | None:
        """Nothing is located: `scatter` works from the coordinates alone."""
        return None

    def pos(self, level: int) -> Buffer:
        """Offsets of a level per leading coordinate; for level 1 it is the level's own `pos`."""
        if level == 1:
            return level_buffer(self.tensor.name, self.tensor.type, 1, "pos", writable=True)
        return Buffer(f"{self.tensor.name}_off{level}", UINT64, True)

    def last(self, level: int) -> Buffer:
        """Per leading coordinate, the number of the prefix it saw last at an inner level."""
        return Buffer(f"{self.tensor.name}_last{level}", UINT64, True)

    def prefix(self, level: int) -> Var:
        """Number of the current prefix of coordinates down to an inner level, from 1."""
        return Var(f"{self.tensor.name}_prefix{level}", UINT64)

    @property
    def inner_levels(self) -> range:
        """Compressed levels that are not the innermost one."""
        return range(1, self.rank - 1)

    def start(self) -> list[KernelStmt]:
        """Statements before each of the two runs."""
        return [Set(self.prefix(n), ZERO) for n in self.inner_levels]

    def at_coordinate(self, index: str) -> list[KernelStmt]:
        """Statements at each coordinate of a loop: number the prefix it begins."""
        storage = self.index
        return [advance(self.prefix(n)) for n in self.inner_levels if storage[n] == index]

    def prefix_sums(self, extent: KernelExpr) -> list[KernelStmt]:
        """Turn counts (at x + 2) into offsets (at x + 1), and forget the prefixes seen."""
        x = Var(self.names.fresh("x"), UINT64)
        two = position(2)
        out: list[KernelStmt] = []
        for level in range(1, self.rank):
            pos = self.pos(level)
            total = binary("add", Load(pos, plus(x, two)), Load(pos, plus(x, ONE)))
            out.append(For(x, ZERO, extent, Seq((Store(pos, plus(x, two), total),))))
        out += [Memset(self.last(n), ZERO, extent, ZERO) for n in self.inner_levels]
        return out

    def scatter(self, coords: dict[str, KernelExpr], value: KernelExpr) -> list[KernelStmt]:
        """Count or place the element at the current coordinates."""
        storage = self.index
        x = coords[storage[0]]
        leaf = self.rank - 1
        out: list[KernelStmt] = []
        for level in self.inner_levels:
            new = binary("ne", Load(self.last(level), x), self.prefix(level))
            body: list[KernelStmt] = [Store(self.last(level), x, self.prefix(level))]
            body += self._open_node(level, x, coords[storage[level]]) if self.filling else self._count(level, x)
            out += when(new, body)
        if not self.filling:
            return out + self._count(leaf, x)
        return out + self._place(leaf, x, coords[storage[leaf]], value)

    def _bump(self, level: int, x: KernelExpr) -> tuple[Var, list[KernelStmt]]:
        """Take the next position of x at a level."""
        here = Var(self.names.fresh(f"{self.tensor.name}_q{level}"), UINT64)
        pos, at = self.pos(level), plus(x, ONE)
        bumped = cast(binary("add", here, ONE), pos.dtype)
        return here, [Set(here, cast(Load(pos, at), UINT64)), Store(pos, at, bumped)]

    def _count(self, level: int, x: KernelExpr) -> list[KernelStmt]:
        pos, at = self.pos(level), plus(x, position(2))
        return [Store(pos, at, binary("add", Load(pos, at), Const(1, pos.dtype)))]

    def _open_node(self, level: int, x: KernelExpr, coordinate: KernelExpr) -> list[KernelStmt]:
        here, bump = self._bump(level, x)
        crd = level_buffer(self.tensor.name, self.tensor.type, level, "crd", writable=True)
        ends = level_buffer(self.tensor.name, self.tensor.type, level + 1, "pos", writable=True)
        first = cast(Load(self.pos(level + 1), plus(x, ONE)), ends.dtype)
        return [*bump, Store(crd, here, cast(coordinate, crd.dtype)), Store(ends, here, first)]

    def _place(self, leaf: int, x: KernelExpr, coordinate: KernelExpr, value: KernelExpr) -> list[KernelStmt]:
        here, bump = self._bump(leaf, x)
        crd = level_buffer(self.tensor.name, self.tensor.type, leaf, "crd", writable=True)
        return [*bump, Store(crd, here, cast(coordinate, crd.dtype)), Store(self.values, here, value)]


def make_target(access: Access, assembly: str, op: Operator | None, names: Names) -> Target:
    """The strategy for a nest's target."""
    match assembly:
        case "dense":
            return DenseTarget(access, op, names)
        case "append":
            return AppendTarget(access, op, names)
        case "sort":
            return AppendTarget(access, op, names, unsorted=True)
        case "shared":
            return SharedTarget(access, op, names)
        case _:
            return ScatterTarget(access, op, names)
