"""Loop IR (Finch Notation): how it is computed, as loops over coordinates of tensors whose storage is still abstract.

Grammar (generated from the dataclasses):

    Index(name: str)
    Tensor(name: str, type: TensorType)
    Scalar(name: str, dtype: DType)
    Access(tensor: Tensor, index: tuple[Index | Literal, ...])
    Loop(index: Index, body: Stmt)
    Assign(target: Access | Scalar, op: Operator | None, rhs: LoopExpr)
    If(cond: LoopExpr, body: Stmt)
    Define(scalar: Scalar, init: LoopExpr)
    Declare(tensor: Tensor, init: Node)
    Freeze(tensor: Tensor)
    Block(body: tuple[Stmt, ...])
    Nest(target: Tensor, assembly: str, body: Stmt)
    LoopProgram(inputs: tuple[Tensor, ...], nests: tuple[Nest, ...], results: tuple[Tensor, ...])

Scalars (Literal, Value, Call, Size) come from `finchsched.ast.scalar`.  A loop runs over `0 .. Size(index.name)`.
"""

from dataclasses import dataclass
from typing import TypeAlias

from finchsched.algebra.dtypes import DType
from finchsched.algebra.operators import Operator
from finchsched.ast.format import TensorType, storage_order
from finchsched.ast.node import Node
from finchsched.ast.scalar import Call, Literal, Size, Value

__all__ = [
    "ASSEMBLIES",
    "Access",
    "Assign",
    "Block",
    "Declare",
    "Define",
    "Freeze",
    "If",
    "Index",
    "Loop",
    "LoopExpr",
    "LoopProgram",
    "Nest",
    "Scalar",
    "Stmt",
    "Tensor",
    "storage_names",
]

ASSEMBLIES = ("dense", "append", "shared", "scatter", "sort")
"""How a nest writes its target.

dense: every level locates; the runtime fills the buffer first.  append: coordinates come in storage order.  shared:
the target has exactly one operand's stored coordinates and shares its index arrays.  scatter: coordinates of one
compressed level come outermost, so the nest runs twice: once counting, once filling (a counting sort).  sort: a copy
or a reduction lists its terms in whatever order they come; the runtime sorts them, and reduces those of one place."""


@dataclass(frozen=True, slots=True, eq=False)
class Index(Node):
    """A loop variable; as an expression, its coordinate as int64."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Tensor(Node):
    """A named tensor of a static type."""

    name: str
    type: TensorType


@dataclass(frozen=True, slots=True, eq=False)
class Scalar(Node):
    """A local variable of a nest."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False)
class Access(Node):
    """An element of a tensor, one index per logical axis."""

    tensor: Tensor
    index: tuple[Index | Literal, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Loop(Node):
    """`for index in 0 .. Size(index.name): body`."""

    index: Index
    body: "Stmt"


@dataclass(frozen=True, slots=True, eq=False)
class Assign(Node):
    """`target = rhs` (op is None) or `target op= rhs`."""

    target: Access | Scalar
    op: Operator | None
    rhs: "LoopExpr"


@dataclass(frozen=True, slots=True, eq=False)
class If(Node):
    """Run `body` where `cond` (bool) holds."""

    cond: "LoopExpr"
    body: "Stmt"


@dataclass(frozen=True, slots=True, eq=False)
class Define(Node):
    """Declare a local scalar and give it its first value."""

    scalar: Scalar
    init: "LoopExpr"


@dataclass(frozen=True, slots=True, eq=False)
class Declare(Node):
    """Make a tensor empty: every coordinate structural, with the value `init`.  Inside a loop: a workspace."""

    tensor: Tensor
    init: Node


@dataclass(frozen=True, slots=True, eq=False)
class Freeze(Node):
    """End updating of a tensor; from here on it is read."""

    tensor: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Block(Node):
    """Statements in order."""

    body: tuple["Stmt", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Nest(Node):
    """One output and the loops that make it, written by the strategy `assembly` (see ASSEMBLIES)."""

    target: Tensor
    assembly: str
    body: "Stmt"


@dataclass(frozen=True, slots=True, eq=False)
class LoopProgram(Node):
    """Nests in order; `results` are the targets that are returned."""

    inputs: tuple[Tensor, ...]
    nests: tuple[Nest, ...]
    results: tuple[Tensor, ...]


LoopExpr: TypeAlias = Literal | Value | Call | Size | Index | Scalar | Access
Stmt: TypeAlias = Loop | Assign | If | Define | Declare | Freeze | Block


def storage_names(access: Access) -> tuple[str, ...]:
    """Index names of an access in storage order; "" for a constant coordinate."""
    return tuple(i.name if isinstance(i, Index) else "" for i in storage_order(access.tensor.type, access.index))
