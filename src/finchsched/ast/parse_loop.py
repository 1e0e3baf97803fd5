"""Reader of the text that `finchsched.ast.print_loop` writes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from finchsched.algebra.dtypes import DType
from finchsched.algebra.operators import Operator
from finchsched.ast.format import Level
from finchsched.ast.loop import (
    ASSEMBLIES,
    Access,
    Assign,
    Block,
    Declare,
    Define,
    Freeze,
    If,
    Index,
    Loop,
    LoopProgram,
    Nest,
    Scalar,
    Stmt,
    Tensor,
)
from finchsched.ast.node import Node
from finchsched.ast.parse_scalar import ScalarReader
from finchsched.ast.scalar import Call, Literal, Size, Value
from finchsched.ast.syntax import AUGMENTED, Cursor, Token

__all__ = ["STATEMENT_WORDS", "parse_loop"]

STATEMENT_WORDS = ("for", "if", "var", "declare", "freeze", "pass", "block", "nest", "return")
"""Words that begin a statement, so that no scalar has them as its name."""

_KINDS = ("input", "output", "temp", "work", "scalar")


def parse_loop(text: str, vocabulary: Mapping[str, type[Level]]) -> Node:
    """The LoopProgram, Nest, statement or expression that `text` prints; `vocabulary` maps names to classes of levels.

    A text with `return` is a LoopProgram.  Raises IRSyntaxError with line, column and a caret.

    >>> parse_loop("i + size(i)", {})
    Call(op=..., args=(Index(name='i'), Size(index='i')))
    """
    return _LoopReader(Cursor(text), vocabulary).read()


@dataclass(slots=True)
class _Suite:
    """The lines under a head; `wrap` makes the statement, or is None for the text as a whole."""

    head: Token
    wrap: Callable[[tuple[Stmt, ...]], Node] | None
    indent: int | None = None
    body: list[Node] = field(default_factory=list)


def _statements(items: list[Node]) -> tuple[Stmt, ...]:
    return tuple(item for item in items if isinstance(item, Stmt))


def _body(inner: tuple[Stmt, ...]) -> Stmt:
    """What the statements under a head stand for: the one, or a Block."""
    return inner[0] if len(inner) == 1 else Block(inner)


class _LoopReader(ScalarReader):
    def __init__(self, cursor: Cursor, vocabulary: Mapping[str, type[Level]]) -> None:
        super().__init__(cursor, vocabulary)
        self.tensors: dict[str, Tensor] = {}
        self.kinds: dict[str, Token] = {}
        self.free: dict[str, DType] = {}
        self.scalars: dict[str, DType] = {}
        self.suites = [_Suite(cursor.token, None, 0)]

    def read(self) -> Node:
        cursor = self.cursor
        while cursor.token.text in _KINDS and cursor.ahead(1).kind == "name" and cursor.ahead(2).text == ":":
            self._declaration()
        self.scalars = dict(self.free)
        while cursor.token.kind != "end":
            self._indentation()
            if cursor.at("return") and cursor.ahead(1).text != "[":
                return self._return()
            self._line()
        self._close_to(0, cursor.token)
        return self._fragment(self.suites[0].body)

    def _declaration(self) -> None:
        start = self.cursor.advance()
        token = self.cursor.name("a name")
        if token.text in self.kinds:
            raise self.cursor.error(f"'{token.text}' is declared twice", token)
        self.kinds[token.text] = start
        self.cursor.expect(":")
        if start.text == "scalar":
            self.free[token.text] = self.dtype()
        else:
            self.tensors[token.text] = Tensor(token.text, self.type())
        self.cursor.end_line()

    # ---- indentation

    def _indentation(self) -> None:
        """Close the suites that end before this line, and check that it stands at the indentation of its own."""
        token = self.cursor.token
        indent = token.column - 1
        if self.suites[-1].indent is None:
            outer = self.suites[-2].indent or 0
            if indent <= outer:
                head = self.suites[-1].head
                raise self.cursor.error(f"expected an indented line under '{head.text}'", token, "write pass")
            self.suites[-1].indent = indent
        self._close_to(indent, token)
        if indent != self.suites[-1].indent:
            raise self.cursor.error("this line is indented unlike those around it", token)

    def _close_to(self, indent: int, token: Token) -> None:
        while len(self.suites) > 1 and (self.suites[-1].indent is None or self.suites[-1].indent > indent):
            suite = self.suites.pop()
            if not suite.body:
                raise self.cursor.error(f"expected an indented line under '{suite.head.text}'", token, "write pass")
            if suite.wrap is not None:
                self.suites[-1].body.append(suite.wrap(_statements(suite.body)))

    def _head(self, head: Token, wrap: Callable[[tuple[Stmt, ...]], Node]) -> None:
        self.cursor.expect(":")
        self.suites.append(_Suite(head, wrap))

    # ---- the text as a whole

    def _return(self) -> LoopProgram:
        cursor = self.cursor
        start = cursor.advance()
        names: list[Token] = []
        while cursor.token.kind != "newline":
            if names:
                cursor.expect(",")
            names.append(cursor.name("the name of a tensor"))
        cursor.end_line()
        if cursor.token.kind != "end":
            raise cursor.unexpected("the end of the text", "nothing follows 'return'")
        results = tuple(map(self._tensor, names))
        nests = tuple(item for item in self.suites[0].body if isinstance(item, Nest))
        if len(self.suites) > 1 or len(nests) != len(self.suites[0].body):
            raise cursor.error("a program consists of nests", start, "write statements under `nest S by append:`")
        for name, kind in self.kinds.items():
            if kind.text in ("output", "temp") and (kind.text == "output") != (name in [r.name for r in results]):
                is_or_not = "not " if kind.text == "output" else ""
                raise cursor.error(f"'{name}' is declared {kind.text} but is {is_or_not}returned", kind)
        inputs = tuple(tensor for name, tensor in self.tensors.items() if self.kinds[name].text == "input")
        return LoopProgram(inputs, nests, results)

    def _fragment(self, items: list[Node]) -> Node:
        if len(items) == 1:
            return items[0]
        if not items:
            raise self.cursor.unexpected("a nest, a statement or an expression")
        if any(not isinstance(item, Stmt) for item in items):
            raise self.cursor.unexpected("'return'", "only statements may follow each other without it")
        return _body(_statements(items))

    # ---- statements

    def _line(self) -> None:
        cursor = self.cursor
        head = cursor.token
        word = head.text if head.kind == "name" and cursor.ahead(1).text != "[" else ""
        match word:
            case "nest":
                self._nest()
            case "for":
                cursor.advance()
                index = Index(cursor.name("the name of an index").text)
                self._head(head, lambda inner: Loop(index, _body(inner)))
            case "if":
                cursor.advance()
                cond = self._loop_expression()
                self._head(head, lambda inner: If(cond, _body(inner)))
            case "block":
                cursor.advance()
                self._head(head, Block)
            case _:
                self.suites[-1].body.append(self._simple(word))
        cursor.end_line()

    def _nest(self) -> None:
        head = self.cursor.advance()
        if len(self.suites) > 1:
            raise self.cursor.error("a nest stands inside another statement", head)
        self.scalars = dict(self.free)
        target = self._tensor(self.cursor.name("the name of a tensor"))
        self.cursor.expect("by")
        token = self.cursor.name(f"one of {', '.join(ASSEMBLIES)}")
        if token.text not in ASSEMBLIES:
            raise self.cursor.error(f"found {token}, expected one of {', '.join(ASSEMBLIES)}", token)
        self._head(head, lambda inner: Nest(target, token.text, _body(inner)))

    def _simple(self, word: str) -> Node:
        """A statement of one line; an expression where the text is nothing else."""
        cursor = self.cursor
        match word:
            case "var":
                return self._define()
            case "declare":
                cursor.advance()
                tensor = self._tensor(cursor.name("the name of a tensor"))
                cursor.expect("=")
                return Declare(tensor, self._loop_expression())
            case "freeze":
                cursor.advance()
                return Freeze(self._tensor(cursor.name("the name of a tensor")))
            case "pass":
                cursor.advance()
                return Block(())
            case _:
                return self._assignment()

    def _define(self) -> Define:
        self.cursor.advance()
        name = self.cursor.name("the name of a scalar")
        if name.text in STATEMENT_WORDS:
            raise self.cursor.error(f"'{name.text}' begins a statement, so no scalar is called so", name)
        self.cursor.expect(":")
        dtype = self.dtype()
        self.cursor.expect("=")
        self.scalars[name.text] = dtype
        return Define(Scalar(name.text, dtype), self._loop_expression())

    def _assignment(self) -> Node:
        cursor = self.cursor
        start = cursor.token
        target = self._loop_expression()
        if cursor.token.kind == "newline":
            if len(self.suites) > 1 or self.suites[0].body:
                raise cursor.error("an expression is no statement", start, "assign it, as in S[i] = expression")
            return target
        op = self._assignment_sign()
        if isinstance(target, Index):
            hint = f"define it, as in var {target.name}: float64 = 0.0: float64"
            raise cursor.error(f"no scalar is called '{target.name}'", start, hint)
        if not isinstance(target, Access | Scalar):
            raise cursor.error("only an element of a tensor or a scalar can be assigned", start)
        return Assign(target, op, self._loop_expression())

    def _assignment_sign(self) -> Operator | None:
        if self.cursor.token.text in AUGMENTED:
            return AUGMENTED[self.cursor.advance().text]
        op = self.operator() if self.cursor.token.kind == "name" else None
        if not self.cursor.accept("="):
            raise self.cursor.unexpected("'=' or an operator and '=', as in += or min=")
        return op

    # ---- expressions

    def _loop_expression(self) -> Literal | Value | Call | Size | Index | Scalar | Access:
        start = self.cursor.token
        found = self.expression()
        if not isinstance(found, Literal | Value | Call | Size | Index | Scalar | Access):
            raise self.cursor.error("this is not an expression", start)
        return found

    def named_leaf(self) -> Node:
        token = self.cursor.advance()
        if self.cursor.accept("["):
            return Access(self._tensor(token), self.cursor.items("]", self._one_index))
        if token.text in self.scalars:
            return Scalar(token.text, self.scalars[token.text])
        return Index(token.text)

    def _one_index(self) -> Index | Literal:
        if self.cursor.token.kind == "name":
            return Index(self.cursor.advance().text)
        return self.constant_coordinate()

    def _tensor(self, token: Token) -> Tensor:
        if token.text not in self.tensors:
            hint = "declare it above, as in input A: Dense(Element(0.0: float64))"
            raise self.cursor.error(f"no tensor is called '{token.text}'", token, hint)
        return self.tensors[token.text]
