"""Kernel IR: typed imperative code over flat buffers.  Printed as Python, it is the kernel.

Grammar (generated from the dataclasses):

    Var(name: str, dtype: DType)
    Const(value: Scalar, dtype: DType)
    Buffer(name: str, dtype: DType, writable: bool)
    Load(buffer: Buffer, index: KernelExpr)
    Apply(op: Operator, args: tuple[KernelExpr, ...], dtype: DType)
    Cast(arg: KernelExpr, dtype: DType)
    Set(var: Var, value: KernelExpr)
    Store(buffer: Buffer, index: KernelExpr, value: KernelExpr)
    For(var: Var, lo: KernelExpr, hi: KernelExpr, body: Seq)
    While(cond: KernelExpr, body: Seq)
    If(cond: KernelExpr, body: Seq, orelse: Seq)
    Search(var: Var, buffer: Buffer, lo: KernelExpr, hi: KernelExpr, key: KernelExpr)
    SortRange(buffer: Buffer, lo: KernelExpr, hi: KernelExpr, scratch: Buffer)
    Memset(buffer: Buffer, lo: KernelExpr, hi: KernelExpr, value: KernelExpr)
    Return(code: KernelExpr)
    Comment(text: str)
    Seq(body: tuple[KernelStmt, ...])
    Kernel(name: str, scalars: tuple[Var, ...], buffers: tuple[Buffer, ...], body: Seq, licensed: bool)

Positions, coordinates and extents are uint64.  A kernel is called as `kernel(lo, hi, status, scalars...,
buffers...)`; `lo` and `hi` (int64 coordinates of the outermost loop) and `status` (a buffer of int64) are always
there.  It never allocates and never raises; before an integer would be raised to a negative power, it returns with
NEGATIVE_POWER (see `finchsched.ast.status`).
"""

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from finchsched.algebra.dtypes import INT64, UINT64, DType
from finchsched.algebra.dtypes import Scalar as PlainScalar
from finchsched.algebra.operators import Operator
from finchsched.ast.node import Node

__all__ = [
    "HI",
    "LO",
    "ONE",
    "STATUS",
    "ZERO",
    "Apply",
    "Buffer",
    "Cast",
    "Comment",
    "Const",
    "For",
    "If",
    "Kernel",
    "KernelExpr",
    "KernelStmt",
    "Load",
    "Memset",
    "Return",
    "Search",
    "Seq",
    "Set",
    "SortRange",
    "Store",
    "Var",
    "While",
    "dtype_of",
    "position",
]


@dataclass(frozen=True, slots=True, eq=False)
class Var(Node):
    """A local variable or scalar parameter; it keeps one type."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False)
class Const(Node):
    """A typed constant."""

    value: PlainScalar
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False)
class Buffer(Node):
    """A flat one-dimensional array parameter.  Buffers never overlap."""

    name: str
    dtype: DType
    writable: bool


@dataclass(frozen=True, slots=True, eq=False)
class Load(Node):
    """`buffer[index]`, index uint64, in range."""

    buffer: Buffer
    index: "KernelExpr"


@dataclass(frozen=True, slots=True, eq=False)
class Apply(Node):
    """`op` of arguments that all have one type (`where`: the last two), with a result of type `dtype`."""

    op: Operator
    args: tuple["KernelExpr", ...]
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False)
class Cast(Node):
    """`arg` converted to `dtype`."""

    arg: "KernelExpr"
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False)
class Set(Node):
    """`var = value`, of var's type."""

    var: Var
    value: "KernelExpr"


@dataclass(frozen=True, slots=True, eq=False)
class Store(Node):
    """`buffer[index] = value`, of the buffer's type."""

    buffer: Buffer
    index: "KernelExpr"
    value: "KernelExpr"


@dataclass(frozen=True, slots=True, eq=False)
class For(Node):
    """`for var in lo .. hi`, half open, all uint64; nothing when lo >= hi."""

    var: Var
    lo: "KernelExpr"
    hi: "KernelExpr"
    body: "Seq"


@dataclass(frozen=True, slots=True, eq=False)
class While(Node):
    """Run `body` as long as `cond` holds."""

    cond: "KernelExpr"
    body: "Seq"


@dataclass(frozen=True, slots=True, eq=False)
class If(Node):
    """`body` where `cond` holds, else `orelse` (which may be empty)."""

    cond: "KernelExpr"
    body: "Seq"
    orelse: "Seq"


@dataclass(frozen=True, slots=True, eq=False)
class Search(Node):
    """Set `var` to the first position p in lo .. hi with `buffer[p] >= key` (key uint64), or hi.  The range is
    sorted.  O(log(hi - lo)).
    """

    var: Var
    buffer: Buffer
    lo: "KernelExpr"
    hi: "KernelExpr"
    key: "KernelExpr"


@dataclass(frozen=True, slots=True, eq=False)
class SortRange(Node):
    """Sort `buffer[lo:hi]` into rising order in place; `scratch[0 : hi - lo]` may be overwritten.  O(n log n)."""

    buffer: Buffer
    lo: "KernelExpr"
    hi: "KernelExpr"
    scratch: Buffer


@dataclass(frozen=True, slots=True, eq=False)
class Memset(Node):
    """`buffer[lo:hi] = value`."""

    buffer: Buffer
    lo: "KernelExpr"
    hi: "KernelExpr"
    value: "KernelExpr"


@dataclass(frozen=True, slots=True, eq=False)
class Return(Node):
    """Leave the kernel with `status[0] = code`."""

    code: "KernelExpr"


@dataclass(frozen=True, slots=True, eq=False)
class Comment(Node):
    """A line for the reader."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Seq(Node):
    """Statements in order."""

    body: tuple["KernelStmt", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Kernel(Node):
    """One phase.  `licensed`: every floating point operation in it may be reassociated and contracted."""

    name: str
    scalars: tuple[Var, ...]
    buffers: tuple[Buffer, ...]
    body: Seq
    licensed: bool


KernelExpr: TypeAlias = Var | Const | Load | Apply | Cast
KernelStmt: TypeAlias = Set | Store | For | While | If | Search | SortRange | Memset | Return | Comment | Seq

LO = Var("lo", INT64)
HI = Var("hi", INT64)
STATUS = Buffer("status", INT64, True)
ZERO = Const(0, UINT64)
ONE = Const(1, UINT64)


def position(value: int) -> Const:
    """A uint64 constant."""
    return Const(value, UINT64)


def dtype_of(expr: KernelExpr) -> DType:
    """The type of a kernel expression."""
    match expr:
        case Load(buffer, _):
            return buffer.dtype
        case Var(_, dtype) | Const(_, dtype) | Cast(_, dtype) | Apply(_, _, dtype):
            return dtype
        case _:
            assert_never(expr)
