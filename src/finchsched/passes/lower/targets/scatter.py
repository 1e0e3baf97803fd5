"""A target that is assembled out of order, by a counting sort."""

from dataclasses import dataclass

from finchsched.algebra.dtypes import UINT64
from finchsched.ast.kernel import (
    ONE,
    ZERO,
    Buffer,
    Const,
    For,
    KernelExpr,
    KernelStmt,
    Load,
    Memset,
    Seq,
    Set,
    Store,
    Var,
    position,
)
from finchsched.ast.looplet import Looplet
from finchsched.formats.buffers import level_buffer
from finchsched.formats.unfurl import plus
from finchsched.passes.lower.kernel_terms import advance, binary, cast, when
from finchsched.passes.lower.targets.target import Target

__all__ = ["ScatterTarget"]


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
