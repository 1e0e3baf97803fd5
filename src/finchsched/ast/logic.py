"""Logic IR (Finch Logic): what is computed, before loop orders and storage are chosen.

Grammar (generated from the dataclasses):

    Field(name: str)
    Slot(name: str, type: TensorType)
    Alias(name: str, type: TensorType)
    Table(tensor: Slot | Alias, index: tuple[IndexExpr, ...])
    Coordinate(field: Field)
    MapJoin(op: Operator, args: tuple[LogicExpr, ...])
    Aggregate(op: Operator, init: Literal, arg: LogicExpr, over: tuple[Field, ...])
    Reorder(arg: LogicExpr, fields: tuple[Field, ...])
    Relabel(arg: LogicExpr, fields: tuple[Field, ...])
    Reformat(type: TensorType, arg: LogicExpr, drop_fill: bool)
    Subquery(alias: Alias, arg: LogicExpr)
    Query(alias: Alias, rhs: LogicExpr, loop_order: tuple[Field, ...])
    Produces(aliases: tuple[Alias, ...])
    Plan(bodies: tuple[Query, ...], result: Produces)

Scalars (Literal, Value, Call, Size) come from `finchsched.ast.scalar`.  Extents of maps never broadcast inside the
IR: an axis of extent 1 that is stretched is read at the constant coordinate 0.
"""

from dataclasses import dataclass
from typing import TypeAlias

from finchsched.algebra.operators import Operator
from finchsched.ast.format import TensorType
from finchsched.ast.node import Node
from finchsched.ast.scalar import Literal, Value

__all__ = [
    "Aggregate",
    "Alias",
    "Coordinate",
    "Field",
    "IndexExpr",
    "LogicExpr",
    "MapJoin",
    "Plan",
    "Produces",
    "Query",
    "Reformat",
    "Relabel",
    "Reorder",
    "Slot",
    "Subquery",
    "Table",
]


@dataclass(frozen=True, slots=True, eq=False)
class Field(Node):
    """The name of an index."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Slot(Node):
    """A tensor that is bound when the program runs."""

    name: str
    type: TensorType


@dataclass(frozen=True, slots=True, eq=False)
class Alias(Node):
    """A tensor that a query of this plan makes.  Its type says in which storage order and format."""

    name: str
    type: TensorType


@dataclass(frozen=True, slots=True, eq=False)
class Table(Node):
    """The elements of a tensor, one index per logical axis.  Fields: the fields among `index`, by first appearance.

    An index is a Field or an int64 Literal (a constant coordinate).  A field may appear twice (a diagonal).
    """

    tensor: Slot | Alias
    index: tuple["IndexExpr", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Coordinate(Node):
    """The index itself as an int64 value.  Fields: that one.  A scalar to the mask rule: it never absorbs."""

    field: Field


@dataclass(frozen=True, slots=True, eq=False)
class MapJoin(Node):
    """`op` applied pointwise.  Fields: those of the arguments, by first appearance.  Fill: op of the fills."""

    op: Operator
    args: tuple["LogicExpr", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Aggregate(Node):
    """Reduce `arg` over the fields `over` with `op`, from `init`, in init's type.  Fields: arg's minus over."""

    op: Operator
    init: Literal
    arg: "LogicExpr"
    over: tuple[Field, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Reorder(Node):
    """`arg` with its fields in the given order.  A field that is left out must have extent 1; a field that `arg` does
    not have is an axis along which it is repeated.
    """

    arg: "LogicExpr"
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Relabel(Node):
    """`arg` with its fields renamed, by position."""

    arg: "LogicExpr"
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Reformat(Node):
    """`arg` stored as `type` says.  With drop_fill (a user's conversion) entries equal to the fill are not stored."""

    type: TensorType
    arg: "LogicExpr"
    drop_fill: bool


@dataclass(frozen=True, slots=True, eq=False)
class Subquery(Node):
    """`arg`, to be computed once under the name `alias` although it may appear several times.  Fields: arg's."""

    alias: Alias
    arg: "LogicExpr"


@dataclass(frozen=True, slots=True, eq=False)
class Query(Node):
    """Compute `rhs` and name it `alias`; the alias's logical axes are rhs's fields in order.

    `loop_order` lists every field of the right-hand side, outermost first; it is empty until `set_loop_order`.
    """

    alias: Alias
    rhs: "LogicExpr"
    loop_order: tuple[Field, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Produces(Node):
    """The results of a plan, in order."""

    aliases: tuple[Alias, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Plan(Node):
    """Queries in order of computation, then what is returned."""

    bodies: tuple[Query, ...]
    result: Produces


IndexExpr: TypeAlias = Field | Literal
LogicExpr: TypeAlias = (
    Literal | Value | Table | Coordinate | MapJoin | Aggregate | Reorder | Relabel | Reformat | Subquery
)
