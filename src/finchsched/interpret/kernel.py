"""The meaning of Kernel IR: an interpreter over NumPy scalars of exactly the types that the kernel names.

Every operation is `finchsched.algebra.operators.apply`, so it follows NumPy: unsigned integers wrap around, `x // 0`
and `x % 0` of integers are 0, min and max pass NaN on.  Where a kernel would read or write beyond an array, a
KernelError names the buffer and the position.  All arguments of an operation are evaluated, those of `where` too: a
load in any of them must be in range.  Only the `and` and `or` that make up the condition of an If or a While stop
early.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np

from finchsched.algebra.dtypes import BOOL, DType, Scalar
from finchsched.algebra.operators import apply, cast_operator
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
)
from finchsched.errors import KernelError

__all__ = ["OpCount", "run_kernel"]

Array = np.ndarray[Any, Any]


@dataclass(slots=True)
class OpCount:
    """How much a kernel did: the cost model's ground truth.

    `applies` counts operations, not casts; `iterations` counts loop bodies entered.  A Search over n positions counts
    as ceil(log2(n + 1)) loads and operations, a SortRange of n elements as n times so many loads, stores and
    operations, and a Memset of n elements as n stores.
    """

    loads: int = 0
    stores: int = 0
    applies: int = 0
    iterations: int = 0


def run_kernel(
    kernel: Kernel,
    lo: int,
    hi: int,
    status: Array,
    scalars: Mapping[str, Scalar],
    buffers: Mapping[str, Array],
    *,
    count: OpCount | None = None,
) -> None:
    """Run a valid kernel (`validate_kernel`) on arrays by name, changing the writable ones in place.

    `status` is int64; a Return sets `status[0]`.  `count`, if given, is added to.  Raises KernelError for a missing,
    superfluous, overlapping or wrongly typed argument, a position out of range, a variable without a value, a Search in
    a range that is not sorted, and a scratch that is too short.
    """
    _check_names(kernel, "scalar", [var.name for var in kernel.scalars], scalars)
    _check_names(kernel, "buffer", [buffer.name for buffer in kernel.buffers], buffers)
    values = {LO.name: lo, HI.name: hi, **scalars}
    arrays = {STATUS.name: status, **buffers}
    interpreter = _Interpreter(kernel.name, OpCount() if count is None else count)
    for var in (LO, HI, *kernel.scalars):
        interpreter.bind_scalar(var, values[var.name])
    for buffer in (STATUS, *kernel.buffers):
        interpreter.bind_buffer(buffer, arrays[buffer.name])
    interpreter.run(kernel.body)


def _check_names(kernel: Kernel, what: str, wanted: list[str], given: Mapping[str, object]) -> None:
    if sorted(wanted) != sorted(given):
        expected, found = ", ".join(wanted) or "none", ", ".join(given) or "none"
        raise KernelError(f"kernel {kernel.name}: {what}s are {expected}; given were {found}")


class _Interpreter:
    """Values of variables and buffers by name."""

    def __init__(self, name: str, count: OpCount) -> None:
        self._name = name
        self._count = count
        self._values: dict[str, np.generic] = {}
        self._arrays: dict[str, Array] = {}
        self._writable: set[str] = set()
        self._code: dict[KernelExpr, list[KernelExpr]] = {}

    def _error(self, problem: str) -> KernelError:
        return KernelError(f"kernel {self._name}: {problem}")

    def bind_scalar(self, var: Var, value: Scalar) -> None:
        try:
            self._values[var.name] = _typed(value, var.dtype)
        except (OverflowError, TypeError, ValueError) as error:
            raise self._error(f"scalar {var.name} is {var.dtype}, which cannot hold {value!r}") from error

    def bind_buffer(self, buffer: Buffer, array: Array) -> None:
        name = buffer.name
        if array.dtype != buffer.dtype.numpy or array.ndim != 1:
            raise self._error(f"buffer {name} is {buffer.dtype}[], but the array is {array.dtype} of rank {array.ndim}")
        if buffer.writable and not array.flags.writeable:
            raise self._error(f"buffer {name} is written to, but the array is read-only")
        for other_name, other in self._arrays.items():
            if (buffer.writable or other_name in self._writable) and np.may_share_memory(array, other):
                raise self._error(f"buffers {other_name} and {name} overlap")
        self._arrays[name] = array
        if buffer.writable:
            self._writable.add(name)

    def run(self, statement: KernelStmt) -> bool:
        """Run a statement; whether it left the kernel."""
        match statement:
            case Seq(body):
                return any(self.run(inner) for inner in body)
            case If(cond, body, orelse):
                return self.run(body if self._test(cond) else orelse)
            case While(cond, body):
                while self._test(cond):
                    self._count.iterations += 1
                    if self.run(body):
                        return True
            case For(var, lo, hi, body):
                for i in range(*self._bounds(lo, hi)):
                    self._count.iterations += 1
                    self._values[var.name] = np.uint64(i)
                    if self.run(body):
                        return True
            case Return(code):
                self._arrays[STATUS.name][0] = self._value(code)
                return True
            case _:
                self._simple(statement)
        return False

    def _simple(self, statement: Set | Store | Search | SortRange | Memset | Comment) -> None:
        match statement:
            case Set(var, value):
                self._values[var.name] = self._value(value)
            case Store(buffer, index, value):
                at, what = self._value(index), self._value(value)
                self._written(buffer)[self._in_range(buffer, at)] = what
                self._count.stores += 1
            case Memset(buffer, lo, hi, value):
                at, what = self._slice(buffer, *self._bounds(lo, hi)), self._value(value)
                self._written(buffer)[at] = what
                self._count.stores += at.stop - at.start
            case Search():
                self._search(statement)
            case SortRange():
                self._sort(statement)
            case Comment():
                pass
            case _:
                assert_never(statement)

    def _search(self, statement: Search) -> None:
        """By the definition, not by bisection; the range must be sorted for the two to agree."""
        lo, hi = self._bounds(statement.lo, statement.hi)
        key = self._value(statement.key)
        name = statement.buffer.name
        values = self._arrays[name][self._slice(statement.buffer, lo, hi)]
        if np.any(values[1:] < values[:-1]):
            raise self._error(f"search in {name}[{lo} .. {hi}], which is not sorted")
        found = np.flatnonzero(values >= key)
        self._values[statement.var.name] = np.uint64(lo + int(found[0]) if found.size else hi)
        self._count.loads += len(values).bit_length()
        self._count.applies += len(values).bit_length()

    def _sort(self, statement: SortRange) -> None:
        buffer, scratch = statement.buffer, self._written(statement.scratch)
        values = self._written(buffer)[self._slice(buffer, *self._bounds(statement.lo, statement.hi))]
        if len(values) > len(scratch):
            raise self._error(f"scratch {statement.scratch.name} of {len(scratch)} elements cannot sort {len(values)}")
        scratch[: len(values)] = values
        values.sort()
        work = len(values) * len(values).bit_length()
        self._count.loads += work
        self._count.stores += work
        self._count.applies += work

    def _written(self, buffer: Buffer) -> Array:
        if not buffer.writable:
            raise self._error(f"buffer {buffer.name} is not writable")
        return self._arrays[buffer.name]

    def _in_range(self, buffer: Buffer, index: np.generic) -> int:
        at, size = int(index), len(self._arrays[buffer.name])
        if not 0 <= at < size:
            raise self._error(f"index {at} is out of range: buffer {buffer.name} has {size} elements")
        return at

    def _bounds(self, lo: KernelExpr, hi: KernelExpr) -> tuple[int, int]:
        return int(self._value(lo)), int(self._value(hi))

    def _slice(self, buffer: Buffer, lo: int, hi: int) -> slice:
        """The positions lo .. hi, none where lo >= hi."""
        size = len(self._arrays[buffer.name])
        if lo >= hi:
            return slice(0, 0)
        if lo < 0 or hi > size:
            raise self._error(f"range {lo} .. {hi} is out of range: buffer {buffer.name} has {size} elements")
        return slice(lo, hi)

    def _value(self, expr: KernelExpr) -> Any:
        """The value of an expression, on an explicit stack of arguments."""
        code = self._code.get(expr)
        if code is None:
            code = self._code[expr] = _postorder(expr)
        stack: list[Any] = []
        for node in code:
            match node:
                case Var(name, _):
                    stack.append(self._variable(name))
                case Const(value, dtype):
                    stack.append(_typed(value, dtype))
                case Load(buffer, _):
                    self._count.loads += 1
                    stack.append(self._arrays[buffer.name][self._in_range(buffer, stack.pop())])
                case Apply(op, args, dtype):
                    self._count.applies += 1
                    first = len(stack) - len(args)
                    stack[first:] = [_cast(apply(op, *stack[first:]), dtype)]
                case Cast(_, dtype):
                    stack.append(_cast(stack.pop(), dtype))
                case _:
                    assert_never(node)
        return stack.pop()

    def _test(self, cond: KernelExpr) -> bool:
        """Whether a condition holds; an `and` or `or` on the way down to its first operands stops early."""
        waiting: list[tuple[bool, KernelExpr]] = []
        while True:
            while isinstance(cond, Apply) and cond.dtype == BOOL and cond.op.name in ("and", "or"):
                self._count.applies += 1
                waiting.append((cond.op.name == "and", cond.args[1]))
                cond = cond.args[0]
            held = bool(self._value(cond))
            while waiting:
                goes_on, cond = waiting.pop()
                if held == goes_on:
                    break
            else:
                return held

    def _variable(self, name: str) -> np.generic:
        if name not in self._values:
            raise self._error(f"variable {name} has no value")
        return self._values[name]


def _postorder(expr: KernelExpr) -> list[KernelExpr]:
    """The nodes of an expression, arguments before operations, left to right."""
    found: list[KernelExpr] = []
    stack = [expr]
    while stack:
        node = stack.pop()
        found.append(node)
        match node:
            case Load(_, index):
                stack.append(index)
            case Apply(_, args, _):
                stack.extend(args)
            case Cast(arg, _):
                stack.append(arg)
            case _:
                pass
    found.reverse()
    return found


def _typed(value: Scalar, dtype: DType) -> np.generic:
    """A NumPy scalar; raises OverflowError for an integer that the type cannot hold."""
    with np.errstate(all="ignore"):
        scalar: np.generic = dtype.numpy.type(value)
    return scalar


def _cast(value: Any, dtype: DType) -> Any:
    return apply(cast_operator(dtype), value)
