"""What the printers and parsers of Logic IR and Loop IR share: tokens, a cursor with errors, infix operators, writing.

Text is read line by line: a statement ends with its line, `#` starts a comment, blank lines are skipped.  Printers and
parsers keep their own stacks, so an expression may be nested as deep as memory allows.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from finchsched.algebra.operators import OPERATORS, Operator
from finchsched.ast.node import Node
from finchsched.errors import IRSyntaxError

__all__ = [
    "AUGMENTED",
    "INFIX",
    "INFIX_BY_SYMBOL",
    "Cursor",
    "Infix",
    "Piece",
    "Token",
    "commas",
    "is_identifier",
    "write",
]

T = TypeVar("T")

# Binding strengths, weakest first, as in Python.
COMPARISON, BIT_OR, BIT_XOR, BIT_AND, SUM, PRODUCT, POWER = range(1, 8)

_STRENGTH = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), COMPARISON),
    "|": BIT_OR,
    "^": BIT_XOR,
    "&": BIT_AND,
    **dict.fromkeys(("+", "-"), SUM),
    **dict.fromkeys(("*", "/", "//", "%"), PRODUCT),
    "**": POWER,
}


@dataclass(frozen=True, slots=True)
class Infix:
    """How a binary operator is written between its operands.  `chains`: `a + b + c` means `(a + b) + c`."""

    op: Operator
    strength: int

    @property
    def chains(self) -> bool:
        """Whether the left operand may have the same strength without parentheses."""
        return self.strength not in (COMPARISON, POWER)


def _infix_operators() -> dict[str, Infix]:
    """One operator per symbol: the first that has it.  The others, and unary ones, print as calls."""
    found: dict[str, Infix] = {}
    for op in OPERATORS.values():
        if op.arity == 2 and op.symbol in _STRENGTH:
            found.setdefault(op.symbol, Infix(op, _STRENGTH[op.symbol]))
    return found


INFIX_BY_SYMBOL = _infix_operators()
"""Infix operators by symbol."""
INFIX = {infix.op.name: infix for infix in INFIX_BY_SYMBOL.values()}
"""Infix operators by name."""
AUGMENTED = {f"{symbol}=": infix.op for symbol, infix in INFIX_BY_SYMBOL.items() if infix.strength != COMPARISON}
"""Python's augmented assignments and the operators they reduce with."""

_SYMBOLS = (*INFIX_BY_SYMBOL, *AUGMENTED, *":= = : , ( ) [ ] $ ~ @".split())
_PART = r"(?:[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|inf|nan)"
_TOKEN = re.compile(
    rf"(?P<space>[ \r]+|\#.*)|(?P<complex>-?{_PART}[+-]{_PART}j)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<number>[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)"
    rf"|(?P<symbol>{'|'.join(map(re.escape, sorted(set(_SYMBOLS), key=lambda s: (-len(s), s))))})"
)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_identifier(name: str) -> bool:
    """Whether a name can be printed and read back."""
    return _IDENTIFIER.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the text.  kind: name, number, complex, symbol, newline or end.  line and column count from 1."""

    kind: str
    text: str
    line: int
    column: int

    def __str__(self) -> str:
        match self.kind:
            case "newline":
                return "the end of the line"
            case "end":
                return "the end of the text"
            case _:
                return f"'{self.text}'"


class Cursor:
    """A place in a text.  Every error it makes has the line, the column, the line itself and a caret."""

    def __init__(self, source: str) -> None:
        self._lines = source.split("\n")
        self._tokens = self._scan()
        self._at = 0

    def _scan(self) -> list[Token]:
        tokens: list[Token] = []
        for number, text in enumerate(self._lines, 1):
            at, before = 0, len(tokens)
            while at < len(text):
                found = _TOKEN.match(text, at)
                if found is None:
                    hint = "indent with spaces" if text[at] == "\t" else ""
                    raise self.error(f"{text[at]!r} has no meaning here", Token("symbol", "", number, at + 1), hint)
                kind = str(found.lastgroup)
                if kind != "space":
                    tokens.append(Token(kind, found.group(), number, at + 1))
                at = found.end()
            if len(tokens) > before:
                tokens.append(Token("newline", "", number, len(text.rstrip("\r")) + 1))
        tokens.append(Token("end", "", len(self._lines), len(self._lines[-1]) + 1))
        return tokens

    def error(self, message: str, token: Token | None = None, hint: str = "") -> IRSyntaxError:
        """The error for `message` at a token, by default the current one."""
        where = token or self.token
        shown = f"    {self._lines[where.line - 1].rstrip()}\n    {' ' * (where.column - 1)}^"
        tail = f"\nhint: {hint}" if hint else ""
        return IRSyntaxError(f"line {where.line}, column {where.column}: {message}\n{shown}{tail}")

    def unexpected(self, wanted: str, hint: str = "") -> IRSyntaxError:
        """The error for a current token that is not what was wanted."""
        return self.error(f"found {self.token}, expected {wanted}", hint=hint)

    @property
    def token(self) -> Token:
        """The current token."""
        return self._tokens[self._at]

    def ahead(self, steps: int) -> Token:
        """The token some steps on."""
        return self._tokens[min(self._at + steps, len(self._tokens) - 1)]

    def advance(self) -> Token:
        """The current token; moves on."""
        token = self.token
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def at(self, text: str) -> bool:
        """Whether the current token is this name or symbol."""
        return self.token.text == text and self.token.kind in ("name", "symbol")

    def accept(self, text: str) -> bool:
        """Whether the current token is this name or symbol; if so, moves on."""
        found = self.at(text)
        if found:
            self.advance()
        return found

    def expect(self, text: str, hint: str = "") -> Token:
        """Move past this name or symbol."""
        if not self.at(text):
            raise self.unexpected(f"'{text}'", hint)
        return self.advance()

    def name(self, what: str) -> Token:
        """Move past a name."""
        if self.token.kind != "name":
            raise self.unexpected(what)
        return self.advance()

    def end_line(self, hint: str = "") -> None:
        """Move past the end of the line."""
        if self.token.kind != "newline":
            raise self.unexpected("the end of the line", hint)
        self.advance()

    def items(self, close: str, item: Callable[[], T]) -> tuple[T, ...]:
        """Items with commas between them, up to and past `close`; the opening bracket is already behind."""
        found: list[T] = []
        if self.accept(close):
            return ()
        while True:
            found.append(item())
            if self.accept(close):
                return tuple(found)
            if not self.accept(","):
                raise self.unexpected(f"',' or '{close}'")


Piece: TypeAlias = str | Node
"""A printed piece, or a node that is still to be printed."""


def write(root: Node, pieces: Callable[[Node], Sequence[Piece]]) -> str:
    """The text of a tree, given how one node splits into text and nodes below it.  Keeps its own stack."""
    out: list[str] = []
    stack: list[Piece] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
        else:
            stack.extend(reversed(pieces(item)))
    return "".join(out)


def commas(nodes: Sequence[Node]) -> list[Piece]:
    """Nodes with commas between them."""
    out: list[Piece] = []
    for number, node in enumerate(nodes):
        out += [", ", node] if number else [node]
    return out
