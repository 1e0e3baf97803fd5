"""The reader of the expressions in printed Kernel IR, and of the names in it with their types.

The grammar is that of `finchsched.ast.parse_kernel`, from `var` to `constant`.
"""

from dataclasses import dataclass

from finchsched.algebra.dtypes import ELEMENT_DTYPES, DType, Scalar
from finchsched.algebra.operators import OPERATORS, Operator
from finchsched.ast.kernel import HI, LO, STATUS, Apply, Buffer, Cast, Const, KernelExpr, Load, Var, dtype_of
from finchsched.ast.kernel_lines import Line, Token
from finchsched.ast.print_kernel import COMPARISON, PRECEDENCE, constant_dtype, derived_dtype

__all__ = ["Types", "read_expr"]

_DTYPES = {dtype.name: dtype for dtype in ELEMENT_DTYPES}
_INFIX = {OPERATORS[name].symbol: OPERATORS[name] for name in PRECEDENCE}


class Types:
    """The type last given to every name."""

    def __init__(self) -> None:
        self._variables = {LO.name: LO.dtype, HI.name: HI.dtype}
        self._buffers = {STATUS.name: STATUS}

    def annotation(self, line: Line) -> tuple[DType, bool, bool] | None:
        """A type after a colon if there is one: (element type, is a buffer, is writable)."""
        writable = line.at(":") and line.peek(1).kind == "name" and line.peek(1).text == "mut"
        token = line.peek(2 if writable else 1)
        if not line.at(":") or token.kind == "end":
            return None
        if token.kind != "name" or token.text not in _DTYPES:
            line.fail(token, f"expected an element type, found {token}", f"\nhint: types are {', '.join(_DTYPES)}")
        for _ in range(3 if writable else 2):
            line.take()
        is_buffer = line.at("[") and line.at("]", 1)
        if is_buffer:
            line.take()
            line.take()
        elif writable:
            line.fail(line.peek(), f"expected '[]' after the type of a buffer, found {line.peek()}")
        return _DTYPES[token.text], is_buffer, writable

    def mention(self, line: Line) -> Var | Buffer:
        """A name with or without its type; one without a type is a buffer if a bracket follows."""
        token = line.peek()
        name = line.expect_name("a name")
        found = self.annotation(line)
        if found is None:
            return self.known_buffer(line, token) if line.at("[") else self._known_variable(line, token)
        dtype, is_buffer, writable = found
        if is_buffer:
            self._buffers[name] = Buffer(name, dtype, writable)
            return self._buffers[name]
        self._variables[name] = dtype
        return Var(name, dtype)

    def variable(self, line: Line) -> Var:
        """A variable, with or without its type."""
        token = line.peek()
        found = self.mention(line)
        if isinstance(found, Buffer):
            line.fail(token, f"expected a variable, but {found.name!r} is a buffer")
        return found

    def buffer(self, line: Line) -> Buffer:
        """A buffer, with or without its type."""
        token = line.peek()
        if token.kind == "name" and not line.at(":", 1):
            return self.known_buffer(line, line.take())
        found = self.mention(line)
        if isinstance(found, Var):
            line.fail(token, f"expected a buffer, but {found.name!r} is a variable")
        return found

    def known_buffer(self, line: Line, token: Token) -> Buffer:
        """The buffer that a name without a type stands for."""
        if token.text not in self._buffers:
            line.fail(token, f"buffer {token.text!r} has no type yet", "\nhint: write its type, as in x: float64[]")
        return self._buffers[token.text]

    def _known_variable(self, line: Line, token: Token) -> Var:
        if token.text not in self._variables:
            line.fail(token, f"variable {token.text!r} has no type yet", "\nhint: write its type, as in x: float64")
        return Var(token.text, self._variables[token.text])


def read_expr(line: Line, types: Types) -> KernelExpr:
    """One expression, by operator precedence with explicit stacks, so that its depth has no limit.

    Stops before the first token that cannot go on with it.  Raises IRSyntaxError.
    """
    reader = _ExprReader(line, types)
    reader.operand()
    while reader.rest():
        pass
    return reader.result()


@dataclass(frozen=True, slots=True)
class _Open:
    """Something unfinished on the stack: an infix operator, a parenthesis, a call or a load."""

    token: Token
    infix: Operator | None = None
    callee: Operator | DType | None = None
    buffer: Buffer | None = None
    base: int = 0  # operands below the first argument of a call

    @property
    def closer(self) -> str:
        return "]" if self.buffer is not None else ")"


class _ExprReader:
    def __init__(self, line: Line, types: Types) -> None:
        self._line = line
        self._types = types
        self._operands: list[KernelExpr] = []
        self._open: list[_Open] = []

    def operand(self) -> None:
        """Read up to the end of the first complete operand."""
        while not self._primary():
            pass

    def _primary(self) -> bool:
        """Read one primary, or the beginning of one; whether it is complete."""
        line, token = self._line, self._line.peek()
        if token.kind == "name":
            return self._call() if line.at("(", 1) else self._named()
        if line.accept("("):
            self._open.append(_Open(token))
            return False
        value = self._constant()
        found = self._types.annotation(line)
        if found is not None and found[1]:
            line.fail(token, "a constant has no buffer type")
        self._operands.append(Const(value, found[0] if found else constant_dtype(value)))
        return True

    def _named(self) -> bool:
        token = self._line.peek()
        found = self._types.mention(self._line)
        if isinstance(found, Var):
            self._operands.append(found)
            return True
        self._line.expect("[")
        self._open.append(_Open(token, buffer=found))
        return False

    def _call(self) -> bool:
        token = self._line.take()
        self._line.take()
        callee = _DTYPES.get(token.text) or OPERATORS.get(token.text)
        if callee is None:
            self._line.fail(token, f"no operator or type is called {token.text!r}")
        self._open.append(_Open(token, callee=callee, base=len(self._operands)))
        if self._line.at(")"):
            self._line.take()
            self._close(self._open.pop())
            return True
        return False

    def _constant(self) -> Scalar:
        line, token = self._line, self._line.peek()
        if token.kind == "complex":
            return complex(line.take().text)
        negative = line.accept("-")
        spelled = line.peek()
        if spelled.kind == "number" or spelled.text in ("inf", "nan"):
            line.take()
            value = int(spelled.text) if spelled.text.isdigit() else float(spelled.text)
            return -value if negative else value
        if negative:
            line.fail(spelled, f"expected a number after '-', found {spelled}", "\nhint: negation is written neg(x)")
        if spelled.kind != "word" or spelled.text not in ("True", "False"):
            line.fail(token, f"expected an expression, found {token}")
        return line.take().text == "True"

    def rest(self) -> bool:
        """Read one sign after a complete operand; False if the expression ends before it."""
        line, token = self._line, self._line.peek()
        infix = _INFIX.get(token.text) if token.kind == "sign" else None
        if infix is not None:
            self._reduce(PRECEDENCE[infix.name])
            self._check_no_chain(infix)
            self._open.append(_Open(line.take(), infix=infix))
            self.operand()
            return True
        self._reduce(0)
        if not self._open:
            return False
        top = self._open[-1]
        if line.at(",") and top.callee is not None:
            line.take()
            self.operand()
            return True
        line.expect(top.closer)
        self._close(self._open.pop())
        return True

    def _reduce(self, precedence: int) -> None:
        """Finish the infix operators on top that bind at least so tightly; comparisons wait, to be refused."""
        while self._open and (infix := self._open[-1].infix) is not None:
            own = PRECEDENCE[infix.name]
            if own < precedence or own == precedence == COMPARISON:
                return
            token = self._open.pop().token
            right = self._operands.pop()
            left = self._operands.pop()
            self._operands.append(self._apply(token, infix, (left, right)))

    def _check_no_chain(self, infix: Operator) -> None:
        if self._open and (below := self._open[-1].infix) is not None:
            both = {PRECEDENCE[below.name], PRECEDENCE[infix.name]}
            if both == {COMPARISON}:
                self._line.fail(self._line.peek(), "comparisons do not chain", "\nhint: use parentheses")

    def _close(self, opened: _Open) -> None:
        """Make the node of a parenthesis, load or call whose closer has been read."""
        if opened.buffer is not None:
            self._operands.append(Load(opened.buffer, self._operands.pop()))
        elif opened.callee is not None:
            args = tuple(self._operands[opened.base :])
            del self._operands[opened.base :]
            self._operands.append(self._called(opened.token, opened.callee, args))

    def _called(self, token: Token, callee: Operator | DType, args: tuple[KernelExpr, ...]) -> KernelExpr:
        if isinstance(callee, DType):
            if len(args) != 1:
                self._line.fail(token, f"a cast takes one argument, not {len(args)}")
            return Cast(args[0], callee)
        found = self._types.annotation(self._line)
        return Apply(callee, args, found[0]) if found else self._apply(token, callee, args)

    def _apply(self, token: Token, op: Operator, args: tuple[KernelExpr, ...]) -> Apply:
        dtypes = tuple(dtype_of(arg) for arg in args)
        dtype = derived_dtype(op, dtypes)
        if dtype is None:
            found = ", ".join(str(d) for d in dtypes)
            self._line.fail(token, f"operator {op.name} has no result type for ({found})")
        return Apply(op, args, dtype)

    def result(self) -> KernelExpr:
        return self._operands[0]
