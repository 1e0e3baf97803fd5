"""Kernel IR expressions to Python text, with the statements that they need before them.

The types that an expression relies on are checked, because in Numba uint64 with int64 silently becomes float64.
"""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias, assert_never

from finchsched.algebra.dtypes import BOOL, INT64, UINT64, DType, cast_scalar
from finchsched.algebra.operators import Operator, cast_target, is_comparison, result_type
from finchsched.ast.kernel import Apply, Cast, Const, Kernel, KernelExpr, Load, Var, dtype_of
from finchsched.ast.status import NEGATIVE_POWER
from finchsched.backend.kernel_names import choose_names
from finchsched.backend.prelude import Prelude
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
from finchsched.errors import DtypeError, LoweringError

__all__ = ["ExpressionText", "expect", "indent"]

MAX_DEPTH = 20
"""Deeper subexpressions get names: CPython's parser refuses about 200 nested parentheses."""

_Step: TypeAlias = Generator[Any, Text, Text]
"""A suspended translation of one expression: it yields the translations it waits for, so deep trees do not recurse."""


class ExpressionText:
    """Translates the expressions of one kernel.

    lines: of the block being written, to which the statements are added that an expression needs.  spelled: the
    identifier of each name of the kernel.  names: source of further ones.  prelude: what the module defines first.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.lines: list[str] = []
        self.prelude = Prelude()
        self.spelled, self.names = choose_names(kernel)

    @contextmanager
    def block(self) -> Iterator[list[str]]:
        """Write into a fresh list inside the `with` block."""
        outer, self.lines = self.lines, []
        try:
            yield self.lines
        finally:
            self.lines = outer

    def _name(self, text: Text, stem: str = "t") -> Text:
        """`text` bound to a name, unless it is one."""
        if text.rank == NAME:
            return text
        name = self.names.fresh(stem)
        self.lines.append(f"{name} = {text.text}")
        return Text(name, NAME)

    def uint(self, value: int) -> str:
        """A constant of type uint64."""
        return self.prelude.constant(value, UINT64)

    def value(self, expr: KernelExpr, dtype: DType, what: str) -> Text:
        """The text of `expr`, which must be of type `dtype`; what it needs is written before."""
        expect(dtype_of(expr), dtype, what)
        return _drive(self._expression(expr))

    def index(self, expr: KernelExpr, what: str) -> str:
        """The text of a position."""
        return self.value(expr, UINT64, what).text

    def bound(self, expr: KernelExpr, dtype: DType, what: str, stem: str) -> str:
        """The text of `expr` as a name."""
        return self._name(self.value(expr, dtype, what), stem).text

    def _expression(self, expr: KernelExpr) -> _Step:
        match expr:
            case Var(name, _):
                return Text(self.spelled[name], NAME)
            case Const(value, dtype):
                return Text(self.prelude.constant(value, dtype), NAME, 0, cast_scalar(value, dtype))
            case Load(buffer, index):
                expect(dtype_of(index), UINT64, f"index of {buffer.name}")
                where = yield self._expression(index)
                result = Text(f"{self.spelled[buffer.name]}[{where.text}]", PRIMARY, where.depth + 1)
            case Cast(arg, dtype):
                inner = yield self._expression(arg)
                result = spell_cast(inner, dtype_of(arg), dtype, self.prelude)
            case Apply(op, args, dtype) if op.name == "where":
                expect(dtype_of(args[0]), BOOL, "condition of where")
                for arg in args[1:]:
                    expect(dtype_of(arg), dtype, "branch of where")
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
            expect(own, dtype, f"argument of {op.name}")
        expect(expr.dtype, result, f"result of {op.name}")
        texts = []
        for arg in args:
            texts.append((yield self._expression(arg)))
        if cast_target(op) is not None:
            return spell_cast(texts[0], found[0], result, self.prelude)
        if is_comparison(op) and found[0] != found[1]:
            signed = 0 if found[0] == INT64 else 1
            texts[signed] = self._name(texts[signed])
            return spell_mixed(op, tuple(texts), signed == 0, self.prelude)
        if uses_twice(op, found[0], tuple(texts)):
            texts = [self._name(t) for t in texts]
        if op.name == "pow" and found[0].is_integer:
            texts[1] = self._checked_exponent(texts[1], found[1])
        return spell_operator(op, found[0], tuple(texts), self.prelude)

    def _checked_exponent(self, exponent: Text, dtype: DType) -> Text:
        """The exponent of an integer power, before which the kernel returns if it is negative."""
        known = exponent.constant
        if dtype.is_unsigned or (isinstance(known, int) and known >= 0):
            return exponent
        exponent = self._name(exponent)
        code, zero = self.prelude.constant(NEGATIVE_POWER, INT64), self.prelude.constant(0, dtype)
        leave = [f"status[{self.uint(0)}] = {code}", "return"]
        self.lines += [f"if {exponent.text} < {zero}:", *indent(leave)]
        return exponent

    def _condition(self, expr: KernelExpr) -> _Step:
        """A truth value that is only tested: `and`, `or` and `not` may be written as words, which stop early."""
        match expr:
            case Apply(op, (left, right), _) if op.name in ("and", "or") and dtype_of(left) == BOOL == dtype_of(right):
                first = yield self._condition(left)
                with self.block() as before:
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
        name = self.names.fresh("test")
        test = name if word == "and" else f"not {name}"
        self.lines += [f"{name} = {first.text}", f"if {test}:", *indent([*before, f"{name} = {second.text}"])]
        return Text(name, NAME)

    def _where(self, cond: KernelExpr, then: KernelExpr, other: KernelExpr) -> _Step:
        test = yield self._condition(cond)
        with self.block() as before_then:
            yes = yield self._expression(then)
        with self.block() as before_other:
            no = yield self._expression(other)
        if not before_then and not before_other:
            return spell_where(test, yes, no)
        name = self.names.fresh("t")
        self.lines += [f"if {test.text}:", *indent([*before_then, f"{name} = {yes.text}"])]
        self.lines += ["else:", *indent([*before_other, f"{name} = {no.text}"])]
        return Text(name, NAME)

    def test(self, cond: KernelExpr) -> Text:
        """The text of a condition."""
        expect(dtype_of(cond), BOOL, "condition")
        return _drive(self._condition(cond))


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


def expect(found: DType, expected: DType, what: str) -> None:
    """Raise LoweringError unless `what` has the expected type."""
    if found != expected:
        raise LoweringError(f"{what} is {found}, expected {expected}")


def indent(lines: list[str]) -> list[str]:
    """The lines one level deeper; `pass` if there is nothing to run."""
    empty = all(line.lstrip().startswith("#") for line in lines)
    return [f"    {line}" for line in ([*lines, "pass"] if empty else lines)]
