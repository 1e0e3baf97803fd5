"""Kernel IR to the text of a Python module with one function.

The same text is compiled by Numba and run on NumPy scalars (`finchsched.backend.python_runner`).
"""

import textwrap
from dataclasses import dataclass
from typing import assert_never

from finchsched.algebra.dtypes import INT64, UINT64
from finchsched.ast.kernel import (
    Buffer,
    Comment,
    For,
    If,
    Kernel,
    KernelExpr,
    KernelStmt,
    Memset,
    Return,
    Search,
    Seq,
    Set,
    SortRange,
    Store,
    Var,
    While,
)
from finchsched.ast.node import walk
from finchsched.backend.emit_expression import ExpressionText, expect, indent
from finchsched.backend.kernel_names import kernel_parameters
from finchsched.backend.prelude import is_free_name
from finchsched.backend.spelling import Text, spell_not
from finchsched.backend.templates import RUN, fill_lines, search_lines, sort_lines
from finchsched.errors import LoweringError

__all__ = ["KernelSource", "emit"]


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
    """Translates one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._text = ExpressionText(kernel)

    def module(self) -> list[str]:
        """All lines of the module."""
        name = self._kernel.name
        if not is_free_name(name):
            raise LoweringError(f"a kernel cannot be called {name!r}")
        with self._text.block() as body:
            self._statement(self._kernel.body)
        parameters = [self._text.spelled[p.name] for p in kernel_parameters(self._kernel)]
        define = _wrap(f"def {name}(", parameters, "):")
        return ["import numpy as np", "", *self._text.prelude.lines(), "", "", *define, *indent(body)]

    # -- statements ---------------------------------------------------------------------------------------------------

    def _statement(self, stmt: KernelStmt) -> None:
        match stmt:
            case Seq(body):
                for part in body:
                    self._statement(part)
            case Comment(text):
                self._text.lines += [f"# {line}".rstrip() for line in text.splitlines()]
            case Set(var, value):
                text = self._text.value(value, var.dtype, f"value of {var.name}").text
                self._text.lines.append(f"{self._text.spelled[var.name]} = {text}")
            case Store(buffer, index, value):
                where = self._text.index(index, f"index of {buffer.name}")
                text = self._text.value(value, buffer.dtype, f"element of {buffer.name}").text
                self._text.lines.append(f"{self._writable(buffer)}[{where}] = {text}")
            case For(var, lo, hi, body):
                self._for(var, lo, hi, body)
            case While(cond, body):
                self._while(cond, body)
            case If(cond, body, orelse):
                self._branches("if", self._text.test(cond), body, orelse)
            case Search():
                self._search(stmt)
            case SortRange():
                self._sort(stmt)
            case Memset(buffer, lo, hi, value):
                start, stop = self._text.index(lo, "start of a fill"), self._text.index(hi, "end of a fill")
                fill = self._text.bound(value, buffer.dtype, f"element of {buffer.name}", "fill")
                name = self._writable(buffer)
                self._text.lines += fill_lines(self._text.names.fresh, buffer=name, lo=start, hi=stop, value=fill)
            case Return(code):
                reported = self._text.value(code, INT64, "status code").text
                self._text.lines += [f"status[{self._text.uint(0)}] = {reported}", "return"]
            case _:
                assert_never(stmt)

    def _writable(self, buffer: Buffer) -> str:
        if not buffer.writable:
            raise LoweringError(f"kernel {self._kernel.name} writes to {buffer.name}, which is read-only")
        return self._text.spelled[buffer.name]

    def _body(self, body: Seq) -> list[str]:
        with self._text.block() as lines:
            self._statement(body)
        return indent(lines)

    def _for(self, var: Var, lo: KernelExpr, hi: KernelExpr, body: Seq) -> None:
        expect(var.dtype, UINT64, f"loop variable {var.name}")
        start, stop = self._text.index(lo, "start of a loop"), self._text.index(hi, "end of a loop")
        name = self._text.spelled[var.name]
        if isinstance(lo, Var) and isinstance(hi, Var) and not _assigns(body, hi):
            # Over positions: rows are often short, and Numba's `range` counts its trips before each of them.
            step = f"{name} = {name} + {self._text.uint(1)}"
            self._text.lines += [f"{name} = {start}", f"while {name} < {stop}:", *self._body(body), f"    {step}"]
            return
        self._text.lines += [f"for {name} in range({start}, {stop}):", *self._body(body)]

    def _while(self, cond: KernelExpr, body: Seq) -> None:
        with self._text.block() as before:
            test = self._text.test(cond)
        if not before:
            self._text.lines += [f"while {test.text}:", *self._body(body)]
            return
        leave = [*before, f"if {spell_not(test).text}:", "    break"]
        self._text.lines += ["while True:", *indent(leave), *self._body(body)]

    def _branches(self, word: str, test: Text, body: Seq, orelse: Seq) -> None:
        """`if` or `elif` with all that follows it."""
        self._text.lines += [f"{word} {test.text}:", *self._body(body)]
        rest = _without_nesting(orelse)
        if len(rest) != 1 or not isinstance(rest[0], If):
            if rest:
                self._text.lines += ["else:", *self._body(Seq(rest))]
            return
        inner = rest[0]
        with self._text.block() as before:
            inner_test = self._text.test(inner.cond)
        if not before:
            self._branches("elif", inner_test, inner.body, inner.orelse)
            return
        with self._text.block() as nested:
            self._branches("if", inner_test, inner.body, inner.orelse)
        self._text.lines += ["else:", *indent([*before, *nested])]

    def _search(self, stmt: Search) -> None:
        buffer, var = stmt.buffer, stmt.var
        expect(var.dtype, UINT64, f"position {var.name}")
        key = self._text.bound(stmt.key, UINT64, f"key sought in {buffer.name}", "key")
        self._text.lines += search_lines(
            self._text.names.fresh,
            var=self._text.spelled[var.name],
            buffer=self._text.spelled[buffer.name],
            lo=self._text.index(stmt.lo, "start of a search"),
            hi=self._text.index(stmt.hi, "end of a search"),
            key=key,
            one=self._text.uint(1),
            cast="" if buffer.dtype == UINT64 else self._text.prelude.cast(UINT64),
        )

    def _sort(self, stmt: SortRange) -> None:
        expect(stmt.scratch.dtype, stmt.buffer.dtype, f"scratch {stmt.scratch.name}")
        self._text.lines += sort_lines(
            self._text.names.fresh,
            buffer=self._writable(stmt.buffer),
            scratch=self._writable(stmt.scratch),
            lo=self._text.bound(stmt.lo, UINT64, "start of a sort", "lower"),
            hi=self._text.bound(stmt.hi, UINT64, "end of a sort", "upper"),
            zero=self._text.uint(0),
            one=self._text.uint(1),
            run=self._text.uint(RUN),
            cast=self._text.prelude.cast(UINT64),
        )


def _assigns(body: Seq, var: Var) -> bool:
    """Whether a variable changes in a body."""
    return any(isinstance(node, Set | For | Search) and node.var == var for node in walk(body))


def _without_nesting(seq: Seq) -> tuple[KernelStmt, ...]:
    """The statements of `seq`, with a Seq that is alone opened."""
    body = seq.body
    while len(body) == 1 and isinstance(body[0], Seq):
        body = body[0].body
    return body


def _wrap(start: str, items: list[str], end: str) -> list[str]:
    """`start item, item, ... end` on one line, or folded."""
    line = f"{start}{', '.join(items)}{end}"
    if len(line) <= 100:
        return [line]
    folded = textwrap.wrap(", ".join(items) + ",", 96, break_long_words=False)
    return [start, *(f"    {part}" for part in folded), end]
