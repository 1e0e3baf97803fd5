"""The rules of Kernel IR: what every pass promises about a kernel, and what interpreters and backends rely on.

Names: parameters, `lo`, `hi`, `status` and local variables are all different, and each is a Python identifier; a
variable has one type everywhere; every buffer is a parameter (or `status`) and is mentioned as it was declared; only
writable buffers are stored to; the scratch of a sort is another buffer than the one sorted.

Assignment: a variable is assigned on every path before it is used.  The variable of a For is new where its loop begins,
is known in the body only, and nothing in the body assigns it.

Types: the arguments of an operation are what `result_type` asks for, and its result is what `result_type` says;
positions are uint64; what is assigned, stored, sought or returned has exactly the type of where it goes; conditions are
bool; a constant is a value of its type.

Layout: a comment is one line.
"""

import keyword
import unicodedata
from typing import NoReturn, assert_never

from finchsched.algebra.dtypes import BOOL, UINT64, DType, has_in_range, scalar_text
from finchsched.algebra.operators import result_type
from finchsched.ast.kernel import (
    HI,
    LO,
    STATUS,
    Apply,
    Buffer,
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
from finchsched.ast.print_kernel import print_kernel, statement_line
from finchsched.errors import DtypeError, ValidationError

__all__ = ["validate_kernel"]


def validate_kernel(kernel: Kernel) -> None:
    """Check every rule of Kernel IR.  Raises ValidationError naming the kernel and the statement."""
    validator = _Validator(kernel)
    validator.parameters()
    validator.seq(kernel.body, {var.name for var in (LO, HI, *kernel.scalars)})


class _Validator:
    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._buffers: dict[str, Buffer] = {}
        self._dtypes: dict[str, DType] = {}
        self._loop_variables: list[str] = []
        self._here: KernelStmt | None = None

    def _fail(self, problem: str, hint: str = "") -> NoReturn:
        where = f"kernel {self._kernel.name}: "
        if self._here is not None:
            where += f"{statement_line(self._kernel, self._here)}: "
        raise ValidationError(f"{where}{problem}" + (f"\nhint: {hint}" if hint else ""))

    def _check(self, holds: bool, problem: str) -> None:
        if not holds:
            self._fail(problem)

    def parameters(self) -> None:
        self._identifier(self._kernel.name)
        for var in (LO, HI, *self._kernel.scalars):
            self._check(var.name not in self._dtypes, f"two parameters are called {var.name}")
            self._variable(var)
        for buffer in (STATUS, *self._kernel.buffers):
            taken = buffer.name in self._buffers or buffer.name in self._dtypes
            self._check(not taken, f"two parameters are called {buffer.name}")
            self._identifier(buffer.name)
            self._buffers[buffer.name] = buffer

    def seq(self, seq: Seq, assigned: set[str]) -> bool:
        """Check statements in order, adding to `assigned`; whether the end of them can be reached."""
        reaches = True
        for statement in seq.body:
            self._here = statement
            reaches = self._statement(statement, assigned) and reaches
        return reaches

    def _statement(self, statement: KernelStmt, assigned: set[str]) -> bool:
        match statement:
            case Seq():
                return self.seq(statement, assigned)
            case If(cond, body, orelse):
                self._condition(cond, assigned)
                return self._branches(body, orelse, assigned)
            case While(cond, body):
                self._condition(cond, assigned)
                self.seq(body, set(assigned))
            case For():
                self._loop(statement, assigned)
            case Set(var, value):
                self._expr(value, assigned)
                self._assign(var, dtype_of(value), assigned)
            case Store(buffer, index, value):
                self._position(index, assigned, "the index")
                self._write(buffer)
                self._same(value, buffer.dtype, assigned, f"the value stored to {buffer.name}")
            case Memset(buffer, lo, hi, value):
                self._range(lo, hi, assigned)
                self._write(buffer)
                self._same(value, buffer.dtype, assigned, f"the value stored to {buffer.name}")
            case Search(var, buffer, lo, hi, key):
                self._range(lo, hi, assigned)
                self._declared(buffer)
                self._same(key, UINT64, assigned, f"the key sought in {buffer.name}")
                self._assign(var, UINT64, assigned)
            case SortRange():
                self._sort(statement, assigned)
            case Return(code):
                self._same(code, STATUS.dtype, assigned, "the code")
                return False
            case Comment(text):
                self._check(len(text.splitlines()) <= 1, "a comment is one line")
            case _:
                assert_never(statement)
        return True

    def _branches(self, body: Seq, orelse: Seq, assigned: set[str]) -> bool:
        """What both branches assign, counting only those whose end is reached, is assigned after them."""
        ends: list[set[str]] = []
        for branch in (body, orelse):
            inside = set(assigned)
            if self.seq(branch, inside):
                ends.append(inside)
        if ends:
            assigned |= set.intersection(*ends)
        return bool(ends)

    def _loop(self, loop: For, assigned: set[str]) -> None:
        self._range(loop.lo, loop.hi, assigned)
        self._variable(loop.var)
        name = loop.var.name
        self._check(loop.var.dtype == UINT64, f"the variable of a loop is uint64, but {name} is {loop.var.dtype}")
        self._check(name not in assigned, f"{name} is in use already; the variable of a loop must be new")
        self._loop_variables.append(name)
        self.seq(loop.body, {*assigned, name})
        self._loop_variables.pop()

    def _sort(self, statement: SortRange, assigned: set[str]) -> None:
        buffer, scratch = statement.buffer, statement.scratch
        self._range(statement.lo, statement.hi, assigned)
        self._write(buffer)
        self._write(scratch)
        self._check(buffer.name != scratch.name, f"{buffer.name} cannot be its own scratch")
        fits = buffer.dtype == scratch.dtype
        self._check(fits, f"{buffer.name} is {buffer.dtype}, but its scratch {scratch.name} is {scratch.dtype}")

    def _assign(self, var: Var, found: DType, assigned: set[str]) -> None:
        self._variable(var)
        self._check(var.name not in self._loop_variables, f"{var.name} is the variable of a loop around this statement")
        self._check(var.dtype == found, f"{var.name} is {var.dtype}, but the value is {found}")
        assigned.add(var.name)

    def _variable(self, var: Var) -> None:
        """A variable keeps one type and shares its name with no buffer."""
        self._check(var.name not in self._buffers, f"{var.name} names both a variable and a buffer")
        if var.name not in self._dtypes:
            self._identifier(var.name)
        known = self._dtypes.setdefault(var.name, var.dtype)
        self._check(known == var.dtype, f"{var.name} is {var.dtype} here and {known} before")

    def _identifier(self, name: str) -> None:
        good = name.isidentifier() and not keyword.iskeyword(name) and unicodedata.normalize("NFKC", name) == name
        self._check(good, f"{name!r} is not a Python identifier")

    def _declared(self, buffer: Buffer) -> None:
        known = self._buffers.get(buffer.name)
        if known is None:
            self._fail(f"{buffer.name} is not a buffer of the kernel")
        self._check(known == buffer, f"{buffer.name} was declared as {_kind(known)}, but is {_kind(buffer)} here")

    def _write(self, buffer: Buffer) -> None:
        self._declared(buffer)
        self._check(buffer.writable, f"{buffer.name} is not writable")

    def _range(self, lo: KernelExpr, hi: KernelExpr, assigned: set[str]) -> None:
        self._position(lo, assigned, "the lower bound")
        self._position(hi, assigned, "the upper bound")

    def _condition(self, cond: KernelExpr, assigned: set[str]) -> None:
        self._same(cond, BOOL, assigned, "the condition")

    def _position(self, expr: KernelExpr, assigned: set[str], what: str) -> None:
        self._same(expr, UINT64, assigned, what)

    def _same(self, expr: KernelExpr, dtype: DType, assigned: set[str], what: str) -> None:
        self._expr(expr, assigned)
        found = dtype_of(expr)
        if found != dtype:
            self._fail(f"{what} must be {dtype}, but {_excerpt(expr)} is {found}")

    def _expr(self, expr: KernelExpr, assigned: set[str]) -> None:
        for node in walk(expr):
            match node:
                case Var(name, _):
                    self._variable(node)
                    self._check(name in assigned, f"{name} is not assigned on every path before it is used here")
                case Const():
                    self._constant(node)
                case Load(buffer, index):
                    self._declared(buffer)
                    if (found := dtype_of(index)) != UINT64:
                        self._fail(f"the index of {_excerpt(node)} must be uint64, but is {found}")
                case Apply():
                    self._operation(node)
                case _:
                    pass  # a Cast, or the buffer of a Load

    def _operation(self, node: Apply) -> None:
        op, count = node.op, len(node.args)
        self._check(count == op.arity, f"operator {op} takes {op.arity} arguments, not {count}")
        found = tuple(dtype_of(arg) for arg in node.args)
        try:
            wanted, result = result_type(op, *found)
        except DtypeError as error:
            self._fail(f"in {_excerpt(node)}: {error}")
        if found != wanted:
            problem = f"arguments are ({_listed(found)}), must be ({_listed(wanted)})"
            self._fail(f"in {_excerpt(node)}: {problem}", "use a Cast")
        if node.dtype != result:
            self._fail(f"{_excerpt(node)} has type {result}, not {node.dtype}")

    def _constant(self, node: Const) -> None:
        value, dtype = node.value, node.dtype
        good = type(value) is dtype.python and (not dtype.is_integer or has_in_range(dtype, value))
        self._check(good, f"{scalar_text(value)} is not a value of {dtype}")


def _kind(buffer: Buffer) -> str:
    return f"{'mut ' if buffer.writable else ''}{buffer.dtype}[]"


def _listed(dtypes: tuple[DType, ...]) -> str:
    return ", ".join(d.name for d in dtypes)


def _excerpt(expr: KernelExpr) -> str:
    text = print_kernel(expr)
    return text if len(text) <= 60 else text[:57] + "..."
