"""Printed Kernel IR as lines of tokens, with errors that point at one."""

import re
from dataclasses import dataclass
from typing import NoReturn

from finchsched.ast.print_kernel import RESERVED
from finchsched.errors import IRSyntaxError

__all__ = ["Line", "Token", "read_lines"]

_PART = r"(?:[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|inf|nan)"
_TOKEN = re.compile(
    r"(?P<space>[ ]+)"
    rf"|(?P<complex>-?{_PART}[+-]{_PART}j)"
    r"|(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|`(?P<quoted>(?:\\.|[^\\`])*)`"
    r"|(?P<sign>\.\.|//|==|!=|<=|>=|[-+*/%&|^<>=()\[\],:])"
)
_ESCAPED = re.compile(r"\\(.)")
_UNESCAPES = {"n": "\n", "r": "\r"}


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a line.  kind: name, word (reserved), number, complex, sign, comment or end.  column: from 1."""

    kind: str
    text: str
    column: int

    def __str__(self) -> str:
        return "the end of the line" if self.kind == "end" else f"{self.text!r}"


class Line:
    """The tokens of one line, and how many of them have been read."""

    def __init__(self, number: int, text: str) -> None:
        self.number = number
        self.text = text
        self.indent = len(text) - len(text.lstrip(" "))
        self._next = 0
        self._tokens = self._tokenize()

    def _tokenize(self) -> list[Token]:
        if self.text.startswith("#", self.indent):
            comment = self.text[self.indent + 1 :].removeprefix(" ")
            return [Token("comment", _unescape(comment), self.indent + 1), Token("end", "", len(self.text) + 1)]
        tokens: list[Token] = []
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
                tokens.append(Token(kind, text, at + 1))
            at = match.end()
        return [*tokens, Token("end", "", len(self.text) + 1)]

    def _refuse(self, at: int) -> NoReturn:
        found = self.text[at]
        hint = "\nhint: a comment stands on a line of its own" if found == "#" else ""
        self.fail(Token("sign", found, at + 1), f"{found!r} begins no word of Kernel IR", hint)

    def fail(self, token: Token, problem: str, hint: str = "") -> NoReturn:
        """Raise IRSyntaxError with line, column and a caret under the token."""
        caret = " " * (token.column - 1) + "^"
        raise IRSyntaxError(f"line {self.number}, column {token.column}: {problem}\n{self.text}\n{caret}{hint}")

    def peek(self, ahead: int = 0) -> Token:
        """The token so many steps on; past the end, the end."""
        return self._tokens[min(self._next + ahead, len(self._tokens) - 1)]

    def take(self) -> Token:
        """The next token; moves on."""
        token = self.peek()
        self._next += 1
        return token

    def at(self, text: str, ahead: int = 0) -> bool:
        """Whether the next token is this sign or reserved word."""
        token = self.peek(ahead)
        return token.kind in ("sign", "word") and token.text == text

    def accept(self, text: str) -> bool:
        """Whether the next token is this sign or reserved word; if so, moves on."""
        if self.at(text):
            self._next += 1
            return True
        return False

    def expect(self, text: str) -> None:
        """Move past this sign or reserved word."""
        if not self.accept(text):
            self.fail(self.peek(), f"expected {text!r}, found {self.peek()}")

    def expect_name(self, what: str) -> str:
        """Move past a name, and return it."""
        if self.peek().kind != "name":
            self.fail(self.peek(), f"expected {what}, found {self.peek()}")
        return self.take().text

    def expect_end(self) -> None:
        """Raise IRSyntaxError unless all tokens have been read."""
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


def read_lines(text: str) -> list[Line]:
    """The lines of a text that are not blank.  Raises IRSyntaxError if there is none."""
    texts = text.replace("\r\n", "\n").split("\n")
    lines = [Line(number, line) for number, line in enumerate(texts, 1) if line.strip(" ")]
    if not lines:
        raise IRSyntaxError("line 1, column 1: the text is empty\n\n^")
    return lines
