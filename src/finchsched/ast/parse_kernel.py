r"""The parser of printed Kernel IR: `parse_kernel(print_kernel(x)) == x`.

Grammar; `NL`, `INDENT` and `DEDENT` as in Python, comments on lines of their own:

    kernel  = "kernel" name "(" [param {"," param}] ")" ["licensed"] ":" body       scalars first, then buffers
    param   = name ":" dtype | name ":" ["mut"] dtype "[" "]"                        mut: writable
    body    = NL INDENT ("pass" NL | stmt {stmt}) DEDENT
    stmt    = var "=" expr | buffer "[" expr "]" "=" expr                            Set, Store
            | range "=" expr | "sort" "(" range "," buffer ")"                       Memset, SortRange
            | var "=" "search" "(" range "," expr ")" | "return" expr                Search, Return
            | "for" var "in" expr ".." expr ":" body | "while" expr ":" body
            | "if" expr ":" body {"elif" expr ":" body} ["else" ":" body]
            | "block" ":" body | "#" text                                            Seq, Comment
    range   = buffer "[" expr ".." expr "]"
    var     = name [":" dtype]
    buffer  = name [":" ["mut"] dtype "[" "]"]
    expr    = primary {infix primary}                                                Python's precedences
    primary = "(" expr ")" | var | constant [":" dtype] | buffer "[" expr "]"
            | dtype "(" expr ")" | op "(" [expr {"," expr}] ")" [":" dtype]          Cast, Apply
    constant = "True" | "False" | ["-"] (digits | float | "inf" | "nan")

A name without a type has the one last given to it in the text; `lo`, `hi` and `status` have theirs from the start.
A name between backquotes may be any text, with \\, \n, \r and \` escaped.
"""

import re
from dataclasses import dataclass
from typing import NoReturn

from finchsched.algebra.dtypes import DType, Scalar, as_dtype
from finchsched.algebra.operators import OPERATORS, Operator
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
from finchsched.ast.print_kernel import (
    COMPARISON,
    PRECEDENCE,
    RESERVED,
    KernelNode,
    constant_dtype,
    derived_dtype,
)
from finchsched.errors import IRSyntaxError

__all__ = ["parse_kernel"]

_TOKEN = re.compile(
    r"(?P<space>[ ]+)"
    r"|(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|`(?P<quoted>(?:\\.|[^\\`])*)`"
    r"|(?P<sign>\.\.|//|==|!=|<=|>=|[-+*/%&|^<>=()\[\],:])"
)
_ESCAPED = re.compile(r"\\(.)")
_UNESCAPES = {"n": "\n", "r": "\r"}
_DTYPES = {name: as_dtype(name) for name in "bool int32 int64 uint8 uint32 uint64 float32 float64".split()}
_INFIX = {OPERATORS[name].symbol: OPERATORS[name] for name in PRECEDENCE}


def parse_kernel(text: str) -> KernelNode:
    """The kernel, statement, expression or buffer that `text` spells; several statements make a Seq.

    Raises IRSyntaxError with line, column and a caret.
    """
    lines = _read_lines(text)
    parser = _Parser(lines)
    first = lines[0]
    if first.at("kernel"):
        node: KernelNode = parser.kernel()
    elif first.is_statement():
        statements = parser.statements(first.indent)
        node = statements[0] if len(statements) == 1 else Seq(statements)
    else:
        node = parser.lone_expression()
    parser.expect_end_of_text()
    return node


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # "name", "word" (reserved), "number", "sign", "comment" or "end"
    text: str
    column: int  # from one

    def __str__(self) -> str:
        return "the end of the line" if self.kind == "end" else f"{self.text!r}"


class _Line:
    """The tokens of one line, and how many of them have been read."""

    def __init__(self, number: int, text: str) -> None:
        self.number = number
        self.text = text
        self.indent = len(text) - len(text.lstrip(" "))
        self._next = 0
        self._tokens = self._tokenize()

    def _tokenize(self) -> list[_Token]:
        if self.text.startswith("#", self.indent):
            comment = self.text[self.indent + 1 :].removeprefix(" ")
            return [_Token("comment", _unescape(comment), self.indent + 1), _Token("end", "", len(self.text) + 1)]
        tokens: list[_Token] = []
        at = self.indent
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if match is None or match.lastgroup is None:
                self._refuse(at)
            kind, text = match.lastgroup, match[match.lastgroup]
            if kind == "name" and text in RESERVED:
                kind = "word"
            elif kind == "quoted":
                kind, text = "name", _unescape(text)
            if kind != "space":
                tokens.append(_Token(kind, text, at + 1))
            at = match.end()
        return [*tokens, _Token("end", "", len(self.text) + 1)]

    def _refuse(self, at: int) -> NoReturn:
        found = self.text[at]
        hint = "\nhint: a comment stands on a line of its own" if found == "#" else ""
        self.fail(_Token("sign", found, at + 1), f"{found!r} begins no word of Kernel IR", hint)

    def fail(self, token: _Token, problem: str, hint: str = "") -> NoReturn:
        caret = " " * (token.column - 1) + "^"
        raise IRSyntaxError(f"line {self.number}, column {token.column}: {problem}\n{self.text}\n{caret}{hint}")

    def peek(self, ahead: int = 0) -> _Token:
        return self._tokens[min(self._next + ahead, len(self._tokens) - 1)]

    def take(self) -> _Token:
        token = self.peek()
        self._next += 1
        return token

    def at(self, text: str, ahead: int = 0) -> bool:
        """Whether the next token is this sign or reserved word."""
        token = self.peek(ahead)
        return token.kind in ("sign", "word") and token.text == text

    def accept(self, text: str) -> bool:
        if self.at(text):
            self._next += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.accept(text):
            self.fail(self.peek(), f"expected {text!r}, found {self.peek()}")

    def expect_name(self, what: str) -> str:
        if self.peek().kind != "name":
            self.fail(self.peek(), f"expected {what}, found {self.peek()}")
        return self.take().text

    def expect_end(self) -> None:
        if self.peek().kind != "end":
            self.fail(self.peek(), f"expected the end of the line, found {self.peek()}")

    def is_statement(self) -> bool:
        """Whether this line is a statement, not an expression on its own."""
        first = self.peek()
        starts = first.kind == "word" and first.text not in ("True", "False", "inf", "nan")
        sorts = first.kind == "name" and first.text == "sort" and self.at("(", 1)
        assigns = any(token.kind == "sign" and token.text == "=" for token in self._tokens)
        return starts or sorts or assigns or first.kind == "comment"


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: _UNESCAPES.get(match[1], match[1]), text)


def _read_lines(text: str) -> list[_Line]:
    texts = text.replace("\r\n", "\n").split("\n")
    lines = [_Line(number, line) for number, line in enumerate(texts, 1) if line.strip(" ")]
    if not lines:
        raise IRSyntaxError("line 1, column 1: the text is empty\n\n^")
    return lines


class _Types:
    """The type last given to every name."""

    def __init__(self) -> None:
        self._variables = {LO.name: LO.dtype, HI.name: HI.dtype}
        self._buffers = {STATUS.name: STATUS}

    def annotation(self, line: _Line) -> tuple[DType, bool, bool] | None:
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

    def mention(self, line: _Line) -> Var | Buffer:
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

    def variable(self, line: _Line) -> Var:
        token = line.peek()
        found = self.mention(line)
        if isinstance(found, Buffer):
            line.fail(token, f"expected a variable, but {found.name!r} is a buffer")
        return found

    def buffer(self, line: _Line) -> Buffer:
        token = line.peek()
        if token.kind == "name" and not line.at(":", 1):
            return self.known_buffer(line, line.take())
        found = self.mention(line)
        if isinstance(found, Var):
            line.fail(token, f"expected a buffer, but {found.name!r} is a variable")
        return found

    def known_buffer(self, line: _Line, token: _Token) -> Buffer:
        if token.text not in self._buffers:
            line.fail(token, f"buffer {token.text!r} has no type yet", "\nhint: write its type, as in x: float64[]")
        return self._buffers[token.text]

    def _known_variable(self, line: _Line, token: _Token) -> Var:
        if token.text not in self._variables:
            line.fail(token, f"variable {token.text!r} has no type yet", "\nhint: write its type, as in x: float64")
        return Var(token.text, self._variables[token.text])


class _Parser:
    """Statements, by recursive descent over lines."""

    def __init__(self, lines: list[_Line]) -> None:
        self._lines = lines
        self._next = 0
        self._types = _Types()

    def kernel(self) -> Kernel:
        line = self._take_line()
        line.expect("kernel")
        name = line.expect_name("the name of the kernel")
        line.expect("(")
        scalars: list[Var] = []
        buffers: list[Buffer] = []
        while not line.at(")"):
            if scalars or buffers:
                line.expect(",")
            token = line.peek()
            param = self._types.mention(line)
            if isinstance(param, Buffer):
                buffers.append(param)
            elif buffers:
                line.fail(token, "scalars stand before buffers")
            else:
                scalars.append(param)
        line.expect(")")
        licensed = line.peek().kind == "name" and line.peek().text == "licensed"
        if licensed:
            line.take()
        return Kernel(name, tuple(scalars), tuple(buffers), self._block(line), licensed)

    def lone_expression(self) -> KernelExpr | Buffer:
        """An expression or a buffer on a line of its own."""
        line = self._take_line()
        trial = _Line(line.number, line.text)
        if trial.peek().kind == "name" and trial.at(":", 1):
            found = _Types().mention(trial)
            if isinstance(found, Buffer) and trial.peek().kind == "end":
                return found
        if line.peek().text == STATUS.name and line.peek(1).kind == "end":
            return self._types.known_buffer(line, line.take())
        expr = _read_expr(line, self._types)
        line.expect_end()
        return expr

    def expect_end_of_text(self) -> None:
        if self._next < len(self._lines):
            line = self._lines[self._next]
            line.fail(line.peek(), "expected the end of the text")

    def statements(self, indent: int) -> tuple[KernelStmt, ...]:
        """The statements that follow at this indentation."""
        found: list[KernelStmt] = []
        while self._next < len(self._lines) and self._lines[self._next].indent >= indent:
            line = self._take_line()
            if line.indent > indent:
                line.fail(line.peek(), "this line is indented without a reason")
            found.append(self._statement(line))
        return tuple(found)

    def _take_line(self) -> _Line:
        self._next += 1
        return self._lines[self._next - 1]

    def _block(self, head: _Line) -> Seq:
        """The colon and end of `head`, and the deeper lines under it."""
        head.expect(":")
        head.expect_end()
        if self._next == len(self._lines) or self._lines[self._next].indent <= head.indent:
            head.fail(head.peek(), "expected an indented line under this one", "\nhint: an empty body is written pass")
        line = self._lines[self._next]
        if not line.at("pass"):
            return Seq(self.statements(line.indent))
        self._take_line().take()
        line.expect_end()
        return Seq(())

    def _statement(self, line: _Line) -> KernelStmt:
        first = line.peek()
        if first.kind == "comment":
            return Comment(line.take().text)
        if first.kind == "word":
            return self._compound(line)
        if first.kind == "name" and first.text == "sort" and line.at("(", 1):
            statement: KernelStmt = self._sort(line)
        else:
            statement = self._assignment(line)
        line.expect_end()
        return statement

    def _compound(self, line: _Line) -> KernelStmt:
        word = line.take()
        match word.text:
            case "block":
                return self._block(line)
            case "while":
                cond = self._expr(line)
                return While(cond, self._block(line))
            case "for":
                var = self._types.variable(line)
                line.expect("in")
                lo, hi = self._bounds(line)
                return For(var, lo, hi, self._block(line))
            case "if":
                return self._conditional(line)
            case "return":
                code = self._expr(line)
                line.expect_end()
                return Return(code)
            case _:
                line.fail(word, f"no statement begins with {word}")

    def _conditional(self, line: _Line) -> If:
        arms = [(self._expr(line), self._block(line))]
        orelse = Seq(())
        while self._continues(line, "elif"):
            arm = self._take_line()
            arm.take()
            arms.append((self._expr(arm), self._block(arm)))
        if self._continues(line, "else"):
            last = self._take_line()
            last.take()
            orelse = self._block(last)
        for cond, body in reversed(arms[1:]):
            orelse = Seq((If(cond, body, orelse),))
        return If(*arms[0], orelse)

    def _continues(self, head: _Line, word: str) -> bool:
        if self._next == len(self._lines):
            return False
        line = self._lines[self._next]
        return line.indent == head.indent and line.at(word)

    def _assignment(self, line: _Line) -> KernelStmt:
        target = self._types.mention(line)
        if isinstance(target, Var):
            line.expect("=")
            if line.peek().kind == "name" and line.peek().text == "search" and line.at("(", 1):
                return self._search(line, target)
            return Set(target, self._expr(line))
        line.expect("[")
        index = self._expr(line)
        if line.accept(".."):
            hi = self._expr(line)
            line.expect("]")
            line.expect("=")
            return Memset(target, index, hi, self._expr(line))
        line.expect("]")
        line.expect("=")
        return Store(target, index, self._expr(line))

    def _search(self, line: _Line, var: Var) -> Search:
        line.take()
        line.expect("(")
        buffer, lo, hi = self._range(line)
        line.expect(",")
        key = self._expr(line)
        line.expect(")")
        return Search(var, buffer, lo, hi, key)

    def _sort(self, line: _Line) -> SortRange:
        line.take()
        line.expect("(")
        buffer, lo, hi = self._range(line)
        line.expect(",")
        scratch = self._types.buffer(line)
        line.expect(")")
        return SortRange(buffer, lo, hi, scratch)

    def _range(self, line: _Line) -> tuple[Buffer, KernelExpr, KernelExpr]:
        buffer = self._types.buffer(line)
        line.expect("[")
        lo, hi = self._bounds(line)
        line.expect("]")
        return buffer, lo, hi

    def _bounds(self, line: _Line) -> tuple[KernelExpr, KernelExpr]:
        lo = self._expr(line)
        line.expect("..")
        return lo, self._expr(line)

    def _expr(self, line: _Line) -> KernelExpr:
        return _read_expr(line, self._types)


@dataclass(frozen=True, slots=True)
class _Open:
    """Something unfinished on the stack: an infix operator, a parenthesis, a call or a load."""

    token: _Token
    infix: Operator | None = None
    callee: Operator | DType | None = None
    buffer: Buffer | None = None
    base: int = 0  # operands below the first argument of a call

    @property
    def closer(self) -> str:
        return "]" if self.buffer is not None else ")"


def _read_expr(line: _Line, types: _Types) -> KernelExpr:
    """One expression, by operator precedence with explicit stacks, so that its depth has no limit."""
    reader = _ExprReader(line, types)
    reader.operand()
    while reader.rest():
        pass
    return reader.result()


class _ExprReader:
    def __init__(self, line: _Line, types: _Types) -> None:
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

    def _called(self, token: _Token, callee: Operator | DType, args: tuple[KernelExpr, ...]) -> KernelExpr:
        if isinstance(callee, DType):
            if len(args) != 1:
                self._line.fail(token, f"a cast takes one argument, not {len(args)}")
            return Cast(args[0], callee)
        found = self._types.annotation(self._line)
        return Apply(callee, args, found[0]) if found else self._apply(token, callee, args)

    def _apply(self, token: _Token, op: Operator, args: tuple[KernelExpr, ...]) -> Apply:
        dtypes = tuple(dtype_of(arg) for arg in args)
        dtype = derived_dtype(op, dtypes)
        if dtype is None:
            found = ", ".join(str(d) for d in dtypes)
            self._line.fail(token, f"operator {op.name} has no result type for ({found})")
        return Apply(op, args, dtype)

    def result(self) -> KernelExpr:
        return self._operands[0]
