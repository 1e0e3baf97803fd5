"""The printer of Kernel IR: one statement a line, four spaces a level, every type to be seen or to be derived.

    >>> from finchsched.algebra.dtypes import FLOAT64, UINT64
    >>> from finchsched.ast.kernel import ONE, Buffer, Kernel, Load, Seq, Set, Var
    >>> x, p = Buffer("x", FLOAT64, False), Var("p", UINT64)
    >>> print(print_kernel(Kernel("second", (), (x,), Seq((Set(p, ONE), Set(Var("v", FLOAT64), Load(x, p)))), False)))
    kernel second(x: float64[]):
        p: uint64 = 1
        v: float64 = x[p]

The first mention of a name carries its type, and so does any later mention that disagrees with the one before; the
parser reads them in the same order, so that a statement or an expression on its own, and even a program that the
validator refuses, come back as they were.  A constant without a type is uint64, float64, complex128 or bool by its
spelling.  An operation without a type has the one that `result_type` derives.  The grammar stands in
`finchsched.ast.parse_kernel`.
"""

import re
from typing import TypeAlias, assert_never

from finchsched.algebra.dtypes import BOOL, COMPLEX128, FLOAT64, UINT64, DType, Scalar, scalar_text
from finchsched.algebra.operators import Operator, result_type
from finchsched.ast.kernel import (
    HI,
    LO,
    STATUS,
    Apply,
    Buffer,
    Cast,
    Comment,
    Const,
    For,
    If,
    Kernel,
    KernelExpr,
    KernelStmt,
    Load,
    Memset,
    Return,
    Search,
    Seq,
    Set,
    SortRange,
    Store,
    Var,
    While,
    dtype_of,
)
from finchsched.ast.node import walk
from finchsched.errors import DtypeError

__all__ = [
    "COMPARISON",
    "PRECEDENCE",
    "RESERVED",
    "KernelNode",
    "constant_dtype",
    "derived_dtype",
    "print_kernel",
    "statement_line",
]

KernelNode: TypeAlias = Kernel | KernelStmt | KernelExpr | Buffer

RESERVED = frozenset("kernel if elif else while for in return pass block True False inf nan".split())
"""Words that stand for themselves; a name spelled like one of them is printed between backquotes."""

COMPARISON = 1
"""The precedence of comparisons, which do not chain."""

PRECEDENCE = {
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), COMPARISON),
    "or": 2,
    "xor": 3,
    "and": 4,
    **dict.fromkeys(("add", "sub"), 5),
    **dict.fromkeys(("mul", "truediv", "floordiv", "mod"), 6),
}
"""Operators printed between their arguments, by name, and how tightly they bind (as in Python)."""

_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "`": "\\`"}


def print_kernel(node: KernelNode) -> str:
    """The text of a kernel, a statement, an expression or a buffer; `parse_kernel` reads it back."""
    printer = _Printer({LO.name: LO.dtype, HI.name: HI.dtype}, {STATUS.name: STATUS})
    match node:
        case Kernel():
            printer.kernel(node)
        case Buffer():
            printer.line(0, printer.buffer(node))
        case Var() | Const() | Load() | Apply() | Cast():
            printer.line(0, printer.expr(node))
        case _:
            printer.statement(0, node)
    return "\n".join(printer.lines)


def statement_line(kernel: Kernel, statement: KernelStmt, limit: int = 100) -> str:
    """The first line of a statement as it stands in its kernel, for messages: no last colon, at most `limit` long."""
    nodes = list(walk(kernel))
    variables = {node.name: node.dtype for node in nodes if isinstance(node, Var)}
    buffers = {node.name: node for node in nodes if isinstance(node, Buffer)}
    printer = _Printer(variables, buffers)
    printer.statement(0, statement)
    text = printer.lines[0].removesuffix(":")
    return text if len(text) <= limit else text[: limit - 3] + "..."


def constant_dtype(value: Scalar) -> DType:
    """The type of a constant printed without one."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, complex):
        return COMPLEX128
    return FLOAT64 if isinstance(value, float) else UINT64


def derived_dtype(op: Operator, args: tuple[DType, ...]) -> DType | None:
    """The type of an operation printed without one; None if there is no such operation."""
    if len(args) != op.arity:
        return None
    try:
        return result_type(op, *args)[1]
    except DtypeError:
        return None


class _Printer:
    """Lines so far, and the type last seen of every name."""

    def __init__(self, variables: dict[str, DType], buffers: dict[str, Buffer]) -> None:
        self.lines: list[str] = []
        self._variables = variables
        self._buffers = buffers

    def line(self, level: int, text: str) -> None:
        self.lines.append("    " * level + text)

    def kernel(self, kernel: Kernel) -> None:
        scalars = [self.variable(var, declared=True) for var in kernel.scalars]
        buffers = [self.buffer(buffer, declared=True) for buffer in kernel.buffers]
        licensed = " licensed" if kernel.licensed else ""
        self.line(0, f"kernel {_name(kernel.name)}({', '.join(scalars + buffers)}){licensed}:")
        self.body(1, kernel.body)

    def body(self, level: int, seq: Seq) -> None:
        if not seq.body:
            self.line(level, "pass")
        for statement in seq.body:
            self.statement(level, statement)

    def statement(self, level: int, statement: KernelStmt) -> None:
        match statement:
            case Seq():
                self.line(level, "block:")
                self.body(level + 1, statement)
            case If():
                self.conditional(level, statement)
            case For(var, lo, hi, body):
                self.line(level, f"for {self.variable(var)} in {self.expr(lo)} .. {self.expr(hi)}:")
                self.body(level + 1, body)
            case While(cond, body):
                self.line(level, f"while {self.expr(cond)}:")
                self.body(level + 1, body)
            case _:
                self.line(level, self.simple(statement))

    def conditional(self, level: int, statement: If) -> None:
        """An If that is all of an `else` is printed as `elif`."""
        keyword = "if"
        while True:
            self.line(level, f"{keyword} {self.expr(statement.cond)}:")
            self.body(level + 1, statement.body)
            match statement.orelse.body:
                case ():
                    return
                case (If() as nested,):
                    keyword, statement = "elif", nested
                case _:
                    self.line(level, "else:")
                    self.body(level + 1, statement.orelse)
                    return

    def simple(self, statement: Set | Store | Search | SortRange | Memset | Return | Comment) -> str:
        match statement:
            case Set(var, value):
                return f"{self.variable(var)} = {self.expr(value)}"
            case Store(buffer, index, value):
                return f"{self.buffer(buffer)}[{self.expr(index)}] = {self.expr(value)}"
            case Search(var, buffer, lo, hi, key):
                return f"{self.variable(var)} = search({self.range(buffer, lo, hi)}, {self.expr(key)})"
            case SortRange(buffer, lo, hi, scratch):
                return f"sort({self.range(buffer, lo, hi)}, {self.buffer(scratch)})"
            case Memset(buffer, lo, hi, value):
                return f"{self.range(buffer, lo, hi)} = {self.expr(value)}"
            case Return(code):
                return f"return {self.expr(code)}"
            case Comment(text):
                return f"# {_escape(text)}" if text else "#"
            case _:
                assert_never(statement)

    def range(self, buffer: Buffer, lo: KernelExpr, hi: KernelExpr) -> str:
        return f"{self.buffer(buffer)}[{self.expr(lo)} .. {self.expr(hi)}]"

    def variable(self, var: Var, *, declared: bool = False) -> str:
        if self._variables.get(var.name) == var.dtype and not declared:
            return _name(var.name)
        self._variables[var.name] = var.dtype
        return f"{_name(var.name)}: {var.dtype}"

    def buffer(self, buffer: Buffer, *, declared: bool = False) -> str:
        if self._buffers.get(buffer.name) == buffer and not declared:
            return _name(buffer.name)
        self._buffers[buffer.name] = buffer
        return f"{_name(buffer.name)}: {'mut ' if buffer.writable else ''}{buffer.dtype}[]"

    def expr(self, expr: KernelExpr) -> str:
        """Written from left to right off a stack of finished pieces and (expression, tightness needed)."""
        pieces: list[str] = []
        stack: list[str | tuple[KernelExpr, int]] = [(expr, 0)]
        while stack:
            top = stack.pop()
            if isinstance(top, str):
                pieces.append(top)
            else:
                stack.extend(reversed(self._expand(*top)))
        return "".join(pieces)

    def _expand(self, expr: KernelExpr, tightness: int) -> list[str | tuple[KernelExpr, int]]:
        match expr:
            case Var():
                return [self.variable(expr)]
            case Const(value, dtype):
                text = scalar_text(value)
                return [text if constant_dtype(value) == dtype else f"{text}: {dtype}"]
            case Load(buffer, index):
                return [self.buffer(buffer), "[", (index, 0), "]"]
            case Cast(arg, dtype):
                return [f"{dtype}(", (arg, 0), ")"]
            case Apply():
                return _operation(expr, tightness)
            case _:
                assert_never(expr)


def _operation(expr: Apply, tightness: int) -> list[str | tuple[KernelExpr, int]]:
    derived = derived_dtype(expr.op, tuple(dtype_of(arg) for arg in expr.args)) == expr.dtype
    if derived and expr.op.name in PRECEDENCE:
        own = PRECEDENCE[expr.op.name]
        left, right = expr.args
        inner: list[str | tuple[KernelExpr, int]] = [
            (left, own + (own == COMPARISON)),
            f" {expr.op.symbol} ",
            (right, own + 1),
        ]
        return ["(", *inner, ")"] if own < tightness else inner
    pieces: list[str | tuple[KernelExpr, int]] = [f"{expr.op.name}("]
    for number, arg in enumerate(expr.args):
        pieces += [", ", (arg, 0)] if number else [(arg, 0)]
    return [*pieces, ")" if derived else f"): {expr.dtype}"]


def _name(name: str) -> str:
    if _PLAIN_NAME.fullmatch(name) and name not in RESERVED:
        return name
    return "`" + _escape(name) + "`"


def _escape(text: str) -> str:
    return "".join(_ESCAPES.get(c, c) for c in text)
