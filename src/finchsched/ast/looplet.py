"""Looplets (Ahrens et al. 2023): what one fiber looks like along one loop.

Grammar (generated from the dataclasses):

    Fill()
    Child(position: KernelExpr, end: KernelExpr | None, present: Var | None)
    Truth(value: bool)
    Lookup(hole: Var, body: Looplet)
    Run(body: Looplet)
    Spike(body: Looplet, tail: Looplet)
    Phase(stop: KernelExpr, body: Looplet)
    Sequence(phases: tuple[Phase, ...])
    Stepper(var: Var, end: Var, stop: Buffer, chunk: Spike, run: Var | None)
    Switch(cond: KernelExpr, then: Looplet, orelse: Looplet)
    Thunk(preamble: tuple[KernelStmt, ...], body: Looplet)

Leaves say what stands at a coordinate: `Fill` (structural), `Child(position)` (stored: the child at that position), or
`Truth(value)` (a mask decided).  Bodies hold Kernel expressions over declared holes, never closures.
"""

from dataclasses import dataclass
from typing import TypeAlias

from finchsched.ast.kernel import Buffer, KernelExpr, KernelStmt, Var
from finchsched.ast.node import Node

__all__ = [
    "Child",
    "Fill",
    "Lookup",
    "Looplet",
    "Phase",
    "Run",
    "Sequence",
    "Spike",
    "Stepper",
    "Switch",
    "Thunk",
    "Truth",
]


@dataclass(frozen=True, slots=True, eq=False)
class Fill(Node):
    """Nothing is stored here."""


@dataclass(frozen=True, slots=True, eq=False)
class Child(Node):
    """The child at `position` of the next level; with an `end`, the entries from there to it (exclusive).

    present: a bool variable; where it is false there is no child but Fill.
    """

    position: KernelExpr
    end: KernelExpr | None = None
    present: Var | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Truth(Node):
    """A mask condition that is decided in this region."""

    value: bool


@dataclass(frozen=True, slots=True, eq=False)
class Lookup(Node):
    """Random access: `body` with `hole` standing for the coordinate."""

    hole: Var
    body: "Looplet"


@dataclass(frozen=True, slots=True, eq=False)
class Run(Node):
    """`body` at every coordinate of the region."""

    body: "Looplet"


@dataclass(frozen=True, slots=True, eq=False)
class Spike(Node):
    """`body` up to the last coordinate of the region, which has `tail`."""

    body: "Looplet"
    tail: "Looplet"


@dataclass(frozen=True, slots=True, eq=False)
class Phase(Node):
    """A part of a Sequence that ends before the coordinate `stop` (exclusive)."""

    stop: KernelExpr
    body: "Looplet"


@dataclass(frozen=True, slots=True, eq=False)
class Sequence(Node):
    """Phases one after the other; the last one reaches the end of the region."""

    phases: tuple[Phase, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Stepper(Node):
    """`chunk` for each position `var` up to `end` (exclusive), ending at the coordinate `stop[var]`; Fill after the
    last.

    `stop` is rising over the positions, so a region is cut out of it by binary search.  It rises strictly unless there
    is a `run`: then all positions with the same stop are one step, and `run` is set to the end of the step before
    its chunk.
    """

    var: Var
    end: Var
    stop: Buffer
    chunk: Spike
    run: Var | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Switch(Node):
    """`then` where `cond` holds throughout the region, else `orelse`."""

    cond: KernelExpr
    then: "Looplet"
    orelse: "Looplet"


@dataclass(frozen=True, slots=True, eq=False)
class Thunk(Node):
    """Run `preamble` once before the region, then `body`."""

    preamble: tuple[KernelStmt, ...]
    body: "Looplet"


Looplet: TypeAlias = Fill | Child | Truth | Lookup | Run | Spike | Sequence | Stepper | Switch | Thunk
