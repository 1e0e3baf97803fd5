"""What a lowered nest asks of its caller: which scalars and buffers its kernel takes, and how much room its target
needs.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from finchsched.ast.node import Node

if TYPE_CHECKING:  # the runtime, which needs all else here, need not load the IRs
    from finchsched.ast.kernel import Kernel
    from finchsched.ast.loop import Nest
    from finchsched.ast.proof import Proof

__all__ = [
    "Bound",
    "BufferParam",
    "Entries",
    "Extent",
    "Least",
    "LoweredNest",
    "Product",
    "ScalarParam",
    "Total",
]


@dataclass(frozen=True, slots=True)
class Extent:
    """The extent of an index."""

    index: str


@dataclass(frozen=True, slots=True)
class Entries:
    """How many positions a level of an operand has (level -1: one)."""

    tensor: str
    level: int


@dataclass(frozen=True, slots=True)
class Total:
    """A sum of bounds."""

    parts: tuple["Bound", ...]


@dataclass(frozen=True, slots=True)
class Least:
    """The smallest of several bounds."""

    parts: tuple["Bound", ...]


@dataclass(frozen=True, slots=True)
class Product:
    """A product of bounds; of nothing: one."""

    parts: tuple["Bound", ...]


Bound: TypeAlias = Extent | Entries | Total | Least | Product


@dataclass(frozen=True, slots=True)
class ScalarParam:
    """A scalar parameter: kind is "extent" (of the index `name`), "value" (the run-time scalar `name`), "stored"
    (number of values of the tensor `name`) or "capacity" (room of level `level` of the target).
    """

    kind: str
    name: str
    level: int = 0


@dataclass(frozen=True, slots=True)
class BufferParam:
    """A buffer parameter: `role` of level `level` of a tensor; role "val" is its values."""

    tensor: str
    role: str
    level: int


@dataclass(frozen=True, slots=True)
class LoweredNest:
    """A nest as a kernel.

    rooms: for each level of the target, an upper bound of its coordinates (None for a dense level), exact enough to
    allocate.  resumable: the kernel may return GROW; then more room is given and it goes on.  guessed: the bounds are
    far too large, so a guess is allocated.  covered: every value is written, so the buffer need not be filled first.
    gaps: `pos` must be filled forward after the kernel.  outer: index of the outermost loop, "" if there is none.
    initial: what a dense target is filled with first.  proofs: what the prover was asked, and said.
    """

    nest: "Nest"
    kernel: "Kernel"
    scalars: tuple[ScalarParam, ...]
    buffers: tuple[BufferParam, ...]
    rooms: tuple[Bound | None, ...]
    resumable: bool
    guessed: bool
    covered: bool
    gaps: bool
    outer: str
    initial: Node
    proofs: "tuple[Proof, ...]"
