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
    constant = "True" | "False" | ["-"] (digits | float | "inf" | "nan") | complex     complex: 1.5-2.0j, no blanks

A name without a type has the one last given to it in the text; `lo`, `hi` and `status` have theirs from the start.
A name between backquotes may be any text, with \\, \n, \r and \` escaped.
"""

from finchsched.ast.kernel import (
    STATUS,
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
from finchsched.ast.kernel_lines import Line, read_lines
from finchsched.ast.parse_kernel_expr import Types, read_expr
from finchsched.ast.print_kernel import KernelNode

__all__ = ["parse_kernel"]


def parse_kernel(text: str) -> KernelNode:
    """The kernel, statement, expression or buffer that `text` spells; several statements make a Seq.

    Raises IRSyntaxError with line, column and a caret.
    """
    lines = read_lines(text)
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


class _Parser:
    """Statements, by recursive descent over lines."""

    def __init__(self, lines: list[Line]) -> None:
        self._lines = lines
        self._next = 0
        self._types = Types()

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
        trial = Line(line.number, line.text)
        if trial.peek().kind == "name" and trial.at(":", 1):
            found = Types().mention(trial)
            if isinstance(found, Buffer) and trial.peek().kind == "end":
                return found
        if line.peek().text == STATUS.name and line.peek(1).kind == "end":
            return self._types.known_buffer(line, line.take())
        expr = read_expr(line, self._types)
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

    def _take_line(self) -> Line:
        self._next += 1
        return self._lines[self._next - 1]

    def _block(self, head: Line) -> Seq:
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

    def _statement(self, line: Line) -> KernelStmt:
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

    def _compound(self, line: Line) -> KernelStmt:
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

    def _conditional(self, line: Line) -> If:
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

    def _continues(self, head: Line, word: str) -> bool:
        if self._next == len(self._lines):
            return False
        line = self._lines[self._next]
        return line.indent == head.indent and line.at(word)

    def _assignment(self, line: Line) -> KernelStmt:
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

    def _search(self, line: Line, var: Var) -> Search:
        line.take()
        line.expect("(")
        buffer, lo, hi = self._range(line)
        line.expect(",")
        key = self._expr(line)
        line.expect(")")
        return Search(var, buffer, lo, hi, key)

    def _sort(self, line: Line) -> SortRange:
        line.take()
        line.expect("(")
        buffer, lo, hi = self._range(line)
        line.expect(",")
        scratch = self._types.buffer(line)
        line.expect(")")
        return SortRange(buffer, lo, hi, scratch)

    def _range(self, line: Line) -> tuple[Buffer, KernelExpr, KernelExpr]:
        buffer = self._types.buffer(line)
        line.expect("[")
        lo, hi = self._bounds(line)
        line.expect("]")
        return buffer, lo, hi

    def _bounds(self, line: Line) -> tuple[KernelExpr, KernelExpr]:
        lo = self._expr(line)
        line.expect("..")
        return lo, self._expr(line)

    def _expr(self, line: Line) -> KernelExpr:
        return read_expr(line, self._types)
