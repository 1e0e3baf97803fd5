"""What all strategies of writing a nest's target have in common."""

from dataclasses import dataclass
from typing import TypeAlias

from finchsched.algebra.operators import Operator, identity
from finchsched.ast.kernel import Buffer, Const, KernelExpr, KernelStmt, Load, Set, Store, Var
from finchsched.ast.loop import Access, Tensor, storage_names
from finchsched.ast.looplet import Child, Lookup, Looplet
from finchsched.ast.names import Names
from finchsched.formats.buffers import value_buffer
from finchsched.formats.unfurl import HOLE, plus, times
from finchsched.passes.lower.kernel_terms import binary

__all__ = ["Around", "Point", "Target"]


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


Around: TypeAlias = tuple[list[KernelStmt], list[KernelStmt]]
"""Statements before and after a body."""


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
