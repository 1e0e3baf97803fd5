"""Kernel IR to the text of a Python module with one function.

The same text is compiled by Numba and run on NumPy scalars (`finchsched.backend.python_runner`).  The emitter
checks the types it relies on, because in Numba uint64 with int64 silently becomes float64.
"""

import textwrap
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

from finchsched.algebra.dtypes import BOOL, INT64, UINT64, DType, cast_scalar
from finchsched.algebra.operators import Operator, cast_target, is_comparison, result_type
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
from finchsched.ast.names import Names
from finchsched.ast.node import walk
from finchsched.ast.status import NEGATIVE_POWER
from finchsched.backend.prelude import Prelude, is_free_name
from finchsched.backend.spelling import (
    NAME,
    PRIMARY,
    Text,
    spell_and,
    spell_cast,
    spell_mixed,
    spell_not,
    spell_operator,
    spell_or,
    spell_where,
    uses_twice,
)
from finchsched.backend.templates import RUN, fill_lines, search_lines, sort_lines
from finchsched.errors import DtypeError, LoweringError

__all__ = ["MAX_DEPTH", "KernelSource", "emit"]

MAX_DEPTH = 20
"""Deeper subexpressions get names: CPython's parser refuses about 200 nested parentheses."""

_Step: TypeAlias = Generator[Any, Text, Text]
"""A suspended translation of one expression: it yields the translations it waits for, so deep trees do not recurse."""


@dataclass(frozen=True, slots=True)
class KernelSource:
    """A kernel as text.  `code` has no comments; it is what is hashed and compiled.  `text` is `code` for a reader."""

    name: str
    code: str
    text: str


def emit(kernel: Kernel, *, head: str = "") -> KernelSource:
    """The source of `kernel`; the lines of `head` stand above it as comments.

    Conditions of If, While and `where` are evaluated from the left and stop early, and `where` evaluates only the
    branch it takes; elsewhere all arguments are evaluated.  Raises LoweringError for a kernel with mismatched types.
    """
    lines = _Emitter(kernel).module()
    code = "\n".join(line for line in lines if not line.lstrip().startswith("#")) + "\n"
    comment = "\n".join(f"# {line}".rstrip() for line in head.splitlines())
    text = "\n".join(lines) + "\n"
    return KernelSource(kernel.name, code, f"{comment}\n\n{text}" if comment else text)


class _Emitter:
    """Translates one kernel.  `self._lines` is the block being written."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._prelude = Prelude()
        self._lines: list[str] = []
        self._spelled, self._names = _choose_names(kernel)

    def module(self) -> list[str]:
        """All lines of the module."""
        name = self._kernel.name
        if not is_free_name(name):
            raise LoweringError(f"a kernel cannot be called {name!r}")
        with self._block() as body:
            self._statement(self._kernel.body)
        parameters = [self._spelled[p.name] for p in _parameters(self._kernel)]
        define = _wrap(f"def {name}(", parameters, "):")
        return ["import numpy as np", "", *self._prelude.lines(), "", "", *define, *_indent(body)]

    # -- blocks and names ---------------------------------------------------------------------------------------------

    @contextmanager
    def _block(self) -> Iterator[list[str]]:
        """Write into a fresh list inside the `with` block."""
        outer, self._lines = self._lines, []
        try:
            yield self._lines
        finally:
            self._lines = outer

    def _name(self, text: Text, stem: str = "t") -> Text:
        """`text` bound to a name, unless it is one."""
        if text.rank == NAME:
            return text
        name = self._names.fresh(stem)
        self._lines.append(f"{name} = {text.text}")
        return Text(name, NAME)

    def _uint(self, value: int) -> str:
        return self._prelude.constant(value, UINT64)

    # -- expressions --------------------------------------------------------------------------------------------------

    def _value(self, expr: KernelExpr, dtype: DType, what: str) -> Text:
        """The text of `expr`, which must be of type `dtype`; what it needs is written before."""
        _expect(dtype_of(expr), dtype, what)
        return _drive(self._expression(expr))

    def _index(self, expr: KernelExpr, what: str) -> str:
        return self._value(expr, UINT64, what).text

    def _bound(self, expr: KernelExpr, dtype: DType, what: str, stem: str) -> str:
        return self._name(self._value(expr, dtype, what), stem).text

    def _expression(self, expr: KernelExpr) -> _Step:
        match expr:
            case Var(name, _):
                return Text(self._spelled[name], NAME)
            case Const(value, dtype):
                return Text(self._prelude.constant(value, dtype), NAME, 0, cast_scalar(value, dtype))
            case Load(buffer, index):
                _expect(dtype_of(index), UINT64, f"index of {buffer.name}")
                where = yield self._expression(index)
                result = Text(f"{self._spelled[buffer.name]}[{where.text}]", PRIMARY, where.depth + 1)
            case Cast(arg, dtype):
                inner = yield self._expression(arg)
                result = spell_cast(inner, dtype_of(arg), dtype, self._prelude)
            case Apply(op, args, dtype) if op.name == "where":
                _expect(dtype_of(args[0]), BOOL, "condition of where")
                for arg in args[1:]:
                    _expect(dtype_of(arg), dtype, "branch of where")
                result = yield self._where(*args)
            case Apply():
                result = yield self._apply(expr)
            case _:
                assert_never(expr)
        return self._name(result) if result.depth > MAX_DEPTH else result

    def _apply(self, expr: Apply) -> _Step:
        op, args = expr.op, expr.args
        found = tuple(dtype_of(arg) for arg in args)
        wanted, result = _types(op, found)
        for own, dtype in zip(found, wanted, strict=True):
            _expect(own, dtype, f"argument of {op.name}")
        _expect(expr.dtype, result, f"result of {op.name}")
        texts = []
        for arg in args:
            texts.append((yield self._expression(arg)))
        if cast_target(op) is not None:
            return spell_cast(texts[0], found[0], result, self._prelude)
        if is_comparison(op) and found[0] != found[1]:
            signed = 0 if found[0] == INT64 else 1
            texts[signed] = self._name(texts[signed])
            return spell_mixed(op, tuple(texts), signed == 0, self._prelude)
        if uses_twice(op, found[0], tuple(texts)):
            texts = [self._name(t) for t in texts]
        if op.name == "pow" and found[0].is_integer:
            texts[1] = self._checked_exponent(texts[1], found[1])
        return spell_operator(op, found[0], tuple(texts), self._prelude)

    def _checked_exponent(self, exponent: Text, dtype: DType) -> Text:
        """The exponent of an integer power, before which the kernel returns if it is negative."""
        known = exponent.constant
        if dtype.is_unsigned or (isinstance(known, int) and known >= 0):
            return exponent
        exponent = self._name(exponent)
        code, zero = self._prelude.constant(NEGATIVE_POWER, INT64), self._prelude.constant(0, dtype)
        leave = [f"status[{self._uint(0)}] = {code}", "return"]
        self._lines += [f"if {exponent.text} < {zero}:", *_indent(leave)]
        return exponent

    def _condition(self, expr: KernelExpr) -> _Step:
        """A truth value that is only tested: `and`, `or` and `not` may be written as words, which stop early."""
        match expr:
            case Apply(op, (left, right), _) if op.name in ("and", "or") and dtype_of(left) == BOOL == dtype_of(right):
                first = yield self._condition(left)
                with self._block() as before:
                    second = yield self._condition(right)
                if before:
                    return self._guarded(op.name, first, before, second)
                result = (spell_and if op.name == "and" else spell_or)(first, second)
                return self._name(result) if result.depth > MAX_DEPTH else result
            case Apply(op, (arg,), _) if op.name == "not" and dtype_of(arg) == BOOL:
                inner = yield self._condition(arg)
                result = spell_not(inner)
                return self._name(result) if result.depth > MAX_DEPTH else result
            case _:
                return (yield self._expression(expr))

    def _guarded(self, word: str, first: Text, before: list[str], second: Text) -> Text:
        """`first and second` (or `or`) where `second` needs the statements `before`."""
        name = self._names.fresh("test")
        test = name if word == "and" else f"not {name}"
        self._lines += [f"{name} = {first.text}", f"if {test}:", *_indent([*before, f"{name} = {second.text}"])]
        return Text(name, NAME)

    def _where(self, cond: KernelExpr, then: KernelExpr, other: KernelExpr) -> _Step:
        test = yield self._condition(cond)
        with self._block() as before_then:
            yes = yield self._expression(then)
        with self._block() as before_other:
            no = yield self._expression(other)
        if not before_then and not before_other:
            return spell_where(test, yes, no)
        name = self._names.fresh("t")
        self._lines += [f"if {test.text}:", *_indent([*before_then, f"{name} = {yes.text}"])]
        self._lines += ["else:", *_indent([*before_other, f"{name} = {no.text}"])]
        return Text(name, NAME)

    # -- statements ---------------------------------------------------------------------------------------------------

    def _statement(self, stmt: KernelStmt) -> None:
        match stmt:
            case Seq(body):
                for part in body:
                    self._statement(part)
            case Comment(text):
                self._lines += [f"# {line}".rstrip() for line in text.splitlines()]
            case Set(var, value):
                text = self._value(value, var.dtype, f"value of {var.name}").text
                self._lines.append(f"{self._spelled[var.name]} = {text}")
            case Store(buffer, index, value):
                where = self._index(index, f"index of {buffer.name}")
                text = self._value(value, buffer.dtype, f"element of {buffer.name}").text
                self._lines.append(f"{self._writable(buffer)}[{where}] = {text}")
            case For(var, lo, hi, body):
                self._for(var, lo, hi, body)
            case While(cond, body):
                self._while(cond, body)
            case If(cond, body, orelse):
                self._branches("if", self._test(cond), body, orelse)
            case Search():
                self._search(stmt)
            case SortRange():
                self._sort(stmt)
            case Memset(buffer, lo, hi, value):
                start, stop = self._index(lo, "start of a fill"), self._index(hi, "end of a fill")
                fill = self._bound(value, buffer.dtype, f"element of {buffer.name}", "fill")
                name = self._writable(buffer)
                self._lines += fill_lines(self._names.fresh, buffer=name, lo=start, hi=stop, value=fill)
            case Return(code):
                reported = self._value(code, INT64, "status code").text
                self._lines += [f"status[{self._uint(0)}] = {reported}", "return"]
            case _:
                assert_never(stmt)

    def _writable(self, buffer: Buffer) -> str:
        if not buffer.writable:
            raise LoweringError(f"kernel {self._kernel.name} writes to {buffer.name}, which is read-only")
        return self._spelled[buffer.name]

    def _body(self, body: Seq) -> list[str]:
        with self._block() as lines:
            self._statement(body)
        return _indent(lines)

    def _for(self, var: Var, lo: KernelExpr, hi: KernelExpr, body: Seq) -> None:
        _expect(var.dtype, UINT64, f"loop variable {var.name}")
        start, stop = self._index(lo, "start of a loop"), self._index(hi, "end of a loop")
        name = self._spelled[var.name]
        if isinstance(lo, Var) and isinstance(hi, Var) and not _assigns(body, hi):
            # Over positions: rows are often short, and Numba's `range` counts its trips before each of them.
            step = f"{name} = {name} + {self._uint(1)}"
            self._lines += [f"{name} = {start}", f"while {name} < {stop}:", *self._body(body), f"    {step}"]
            return
        self._lines += [f"for {name} in range({start}, {stop}):", *self._body(body)]

    def _test(self, cond: KernelExpr) -> Text:
        _expect(dtype_of(cond), BOOL, "condition")
        return _drive(self._condition(cond))

    def _while(self, cond: KernelExpr, body: Seq) -> None:
        with self._block() as before:
            test = self._test(cond)
        if not before:
            self._lines += [f"while {test.text}:", *self._body(body)]
            return
        leave = [*before, f"if {spell_not(test).text}:", "    break"]
        self._lines += ["while True:", *_indent(leave), *self._body(body)]

    def _branches(self, word: str, test: Text, body: Seq, orelse: Seq) -> None:
        """`if` or `elif` with all that follows it."""
        self._lines += [f"{word} {test.text}:", *self._body(body)]
        rest = _without_nesting(orelse)
        if len(rest) != 1 or not isinstance(rest[0], If):
            if rest:
                self._lines += ["else:", *self._body(Seq(rest))]
            return
        inner = rest[0]
        with self._block() as before:
            inner_test = self._test(inner.cond)
        if not before:
            self._branches("elif", inner_test, inner.body, inner.orelse)
            return
        with self._block() as nested:
            self._branches("if", inner_test, inner.body, inner.orelse)
        self._lines += ["else:", *_indent([*before, *nested])]

    def _search(self, stmt: Search) -> None:
        buffer, var = stmt.buffer, stmt.var
        _expect(var.dtype, UINT64, f"position {var.name}")
        key = self._bound(stmt.key, UINT64, f"key sought in {buffer.name}", "key")
        self._lines += search_lines(
            self._names.fresh,
            var=self._spelled[var.name],
            buffer=self._spelled[buffer.name],
            lo=self._index(stmt.lo, "start of a search"),
            hi=self._index(stmt.hi, "end of a search"),
            key=key,
            one=self._uint(1),
            cast="" if buffer.dtype == UINT64 else self._prelude.cast(UINT64),
        )

    def _sort(self, stmt: SortRange) -> None:
        _expect(stmt.scratch.dtype, stmt.buffer.dtype, f"scratch {stmt.scratch.name}")
        self._lines += sort_lines(
            self._names.fresh,
            buffer=self._writable(stmt.buffer),
            scratch=self._writable(stmt.scratch),
            lo=self._bound(stmt.lo, UINT64, "start of a sort", "lower"),
            hi=self._bound(stmt.hi, UINT64, "end of a sort", "upper"),
            zero=self._uint(0),
            one=self._uint(1),
            run=self._uint(RUN),
            cast=self._prelude.cast(UINT64),
        )


def _assigns(body: Seq, var: Var) -> bool:
    """Whether a variable changes in a body."""
    return any(isinstance(node, Set | For | Search) and node.var == var for node in walk(body))


def _drive(step: _Step) -> Text:
    """Run a translation and those it waits for, on a stack of our own."""
    stack = [step]
    value: Any = None
    while stack:
        try:
            request = stack[-1].send(value)
        except StopIteration as done:
            stack.pop()
            value = done.value
        else:
            stack.append(request)
            value = None
    assert isinstance(value, Text)
    return value


def _types(op: Operator, found: tuple[DType, ...]) -> tuple[tuple[DType, ...], DType]:
    """`result_type`, with the LoweringError of a kernel that cannot be written."""
    try:
        return result_type(op, *found)
    except DtypeError as error:
        raise LoweringError(str(error)) from error


def _expect(found: DType, expected: DType, what: str) -> None:
    if found != expected:
        raise LoweringError(f"{what} is {found}, expected {expected}")


def _parameters(kernel: Kernel) -> list[Var | Buffer]:
    return [LO, HI, STATUS, *kernel.scalars, *kernel.buffers]


def _choose_names(kernel: Kernel) -> tuple[dict[str, str], Names]:
    """An identifier for each name of the kernel, and the source of further ones.

    Raises LoweringError if a name has two types, or a buffer that is not a parameter.
    """
    types: dict[str, tuple[bool, DType]] = {}
    parameters = _parameters(kernel)
    for node in [*parameters, *walk(kernel.body)]:
        if isinstance(node, Var | Buffer):
            kind = (isinstance(node, Buffer), node.dtype)
            if types.setdefault(node.name, kind) != kind:
                raise LoweringError(
                    f"{node.name} has two types in kernel {kernel.name}: {types[node.name][1]}, {node.dtype}"
                )
    known = {p.name for p in parameters}
    if len(known) != len(parameters):
        raise LoweringError(f"kernel {kernel.name} has two parameters of one name: {[p.name for p in parameters]}")
    unknown = [name for name, (is_buffer, _) in types.items() if is_buffer and name not in known]
    if unknown:
        raise LoweringError(f"kernel {kernel.name} uses buffers that are not parameters: {', '.join(unknown)}")
    names = Names((kernel.name, *(name for name in types if is_free_name(name))))
    spelled = {}
    for name in types:
        plain = "".join(c if c.isalnum() and c.isascii() else "_" for c in name)
        spelled[name] = name if is_free_name(name) and name != kernel.name else names.fresh(f"v_{plain}")
    return spelled, names


def _without_nesting(seq: Seq) -> tuple[KernelStmt, ...]:
    """The statements of `seq`, with a Seq that is alone opened."""
    body = seq.body
    while len(body) == 1 and isinstance(body[0], Seq):
        body = body[0].body
    return body


def _indent(lines: list[str]) -> list[str]:
    """The lines one level deeper; `pass` if there is nothing to run."""
    empty = all(line.lstrip().startswith("#") for line in lines)
    return [f"    {line}" for line in ([*lines, "pass"] if empty else lines)]


def _wrap(start: str, items: list[str], end: str) -> list[str]:
    """`start item, item, ... end` on one line, or folded."""
    line = f"{start}{', '.join(items)}{end}"
    if len(line) <= 100:
        return [line]
    folded = textwrap.wrap(", ".join(items) + ",", 96, break_long_words=False)
    return [start, *(f"    {part}" for part in folded), end]
