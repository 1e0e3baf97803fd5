"""Reader of the scalars and tensor types that `finchsched.ast.print_scalar` writes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from finchsched.algebra.dtypes import INT64, DType, Scalar, as_dtype
from finchsched.algebra.operators import OPERATORS, Operator
from finchsched.ast.format import Level, TensorType
from finchsched.ast.node import Node, field_names
from finchsched.ast.scalar import VALUE_KINDS, Call, Literal, Size, Value
from finchsched.ast.syntax import INFIX_BY_SYMBOL, Cursor, Infix, Token
from finchsched.errors import DtypeError

__all__ = ["ScalarReader"]

_WORDS: dict[str, Scalar] = {"True": True, "False": False, "inf": float("inf"), "nan": float("nan")}


@dataclass(slots=True)
class _Frame:
    """An expression being read: the whole, a parenthesis, or an argument of the call of `op`."""

    op: Operator | None = None
    args: list[Node] = field(default_factory=list)
    operands: list[Node] = field(default_factory=list)
    pending: list[Infix] = field(default_factory=list)

    def reduce(self, strength: int) -> None:
        """Apply the pending operators that bind at least this strongly."""
        while self.pending and self.pending[-1].strength >= strength:
            right, left = self.operands.pop(), self.operands.pop()
            self.operands.append(Call(self.pending.pop().op, (left, right)))


class ScalarReader:
    """Reads scalar expressions and tensor types at a cursor.  Loop IR adds its leaves by overriding `named_leaf`."""

    def __init__(self, cursor: Cursor, vocabulary: Mapping[str, type[Level]]) -> None:
        self.cursor = cursor
        self.vocabulary = vocabulary

    def named_leaf(self) -> Node:
        """A leaf that starts with a name; a plain scalar has none."""
        raise self.cursor.unexpected("a scalar")

    def expression(self) -> Node:
        """A scalar expression with calls, infix operators and parentheses, on a stack of its own."""
        frames = [_Frame()]
        while True:
            opened = self._open()
            if opened is not None:
                frames.append(opened)
                continue
            done = self.leaf()
            while True:  # an operand is complete
                frame = frames[-1]
                frame.operands.append(done)
                if self._infix(frame) or self._next_argument(frame):
                    break
                frame.reduce(0)
                done = frame.operands.pop()
                if len(frames) == 1:
                    return done
                self.cursor.expect(")")
                frames.pop()
                if frame.op is not None:
                    done = Call(frame.op, (*frame.args, done))

    def _open(self) -> _Frame | None:
        """A frame for an opening parenthesis or call, if one stands here."""
        if self.cursor.accept("("):
            return _Frame()
        here = self.cursor.token
        if here.kind == "name" and here.text != "size" and self.cursor.ahead(1).text == "(":
            op = self.operator()
            self.cursor.advance()
            return _Frame(op)
        return None

    def _infix(self, frame: _Frame) -> bool:
        infix = INFIX_BY_SYMBOL.get(self.cursor.token.text)
        if infix is None:
            return False
        frame.reduce(infix.strength + (0 if infix.chains else 1))
        if frame.pending and frame.pending[-1].strength == infix.strength:
            raise self.cursor.error(f"{self.cursor.token} does not chain", hint="write parentheses")
        self.cursor.advance()
        frame.pending.append(infix)
        return True

    def _next_argument(self, frame: _Frame) -> bool:
        if frame.op is None or not self.cursor.accept(","):
            return False
        frame.reduce(0)
        frame.args.append(frame.operands.pop())
        return True

    def leaf(self) -> Node:
        """A literal, a value, a size, or a leaf of the IR at hand."""
        cursor = self.cursor
        if self.at_literal():
            return self.literal()
        if cursor.at("$"):
            return self.value()
        if cursor.token.kind != "name":
            raise cursor.unexpected("an expression")
        if cursor.at("size") and cursor.ahead(1).text == "(":
            return self.size()
        return self.named_leaf()

    def at_literal(self) -> bool:
        """Whether a literal starts here: a number, a minus, or one of True, False, inf, nan followed by a type."""
        here, after, last = self.cursor.token, self.cursor.ahead(1), self.cursor.ahead(2)
        if here.kind in ("number", "complex") or here.text == "-":
            return True
        return here.text in _WORDS and after.text == ":" and last.kind == "name"

    def literal(self) -> Literal:
        """`value: type`."""
        value = self._number()
        self.cursor.expect(":", "a literal is written with its type, as in 2.5: float64")
        return Literal(value, self.dtype())

    def _number(self, wanted: str = "a number") -> Scalar:
        if self.cursor.token.kind == "complex":
            return complex(self.cursor.advance().text)
        negative = self.cursor.accept("-")
        token = self.cursor.token
        if token.kind != "number" and (token.text not in _WORDS or (negative and token.text in ("True", "False"))):
            raise self.cursor.unexpected(wanted)
        self.cursor.advance()
        value = _WORDS[token.text] if token.kind == "name" else self._convert(token)
        return -value if negative else value

    def _convert(self, token: Token) -> int | float:
        try:
            return float(token.text) if any(c in token.text for c in ".eE") else int(token.text)
        except ValueError as error:
            raise self.cursor.error("this number has too many digits", token) from error

    def value(self) -> Value:
        """`$name: type ~kind`."""
        self.cursor.expect("$")
        name = self.cursor.name("the name of a value").text
        self.cursor.expect(":")
        dtype = self.dtype()
        self.cursor.expect("~", f"the kinds of a value are {', '.join(VALUE_KINDS)}")
        if self.cursor.token.text not in VALUE_KINDS:
            raise self.cursor.unexpected(f"one of {', '.join(VALUE_KINDS)}")
        return Value(name, dtype, self.cursor.advance().text)

    def size(self) -> Size:
        """`size(index)`."""
        self.cursor.expect("size")
        self.cursor.expect("(")
        name = self.cursor.name("the name of an index").text
        self.cursor.expect(")")
        return Size(name)

    def constant_coordinate(self) -> Literal:
        """A constant among the indices of an access: int64 unless a type is written."""
        value = self._number("an index")
        return Literal(value, self.dtype() if self.cursor.accept(":") else INT64)

    def dtype(self) -> DType:
        """The name of an element type."""
        token = self.cursor.name("an element type")
        try:
            found = as_dtype(token.text)
        except DtypeError as error:
            raise self.cursor.error(f"'{token.text}' is not an element type", token) from error
        if found.name != token.text:
            raise self.cursor.error(f"'{token.text}' is not an element type", token, f"write {found}")
        return found

    def operator(self) -> Operator:
        """The name of an operator."""
        token = self.cursor.name("the name of an operator")
        if token.text not in OPERATORS:
            raise self.cursor.error(
                f"no operator is called '{token.text}'", token, f"the operators are {', '.join(OPERATORS)}"
            )
        return OPERATORS[token.text]

    def type(self) -> TensorType:
        """`Level[parameters](...(Element(fill)))`, and `perm (...)` where it is not the identity."""
        levels: list[Level] = []
        while not self.cursor.accept("Element"):
            levels.append(self._level())
            self.cursor.expect("(")
        self.cursor.expect("(")
        fill, dtype = self._element()
        for _ in range(len(levels) + 1):
            self.cursor.expect(")")
        perm = tuple(range(len(levels)))
        if self.cursor.accept("perm"):
            self.cursor.expect("(")
            perm = self.cursor.items(")", self._axis)
        return TensorType(tuple(levels), perm, dtype, fill)

    def _element(self) -> tuple[Node, DType]:
        fill = ScalarReader(self.cursor, self.vocabulary).expression()  # a fill has no leaves of Loop IR
        if self.cursor.accept(","):
            return fill, self.dtype()
        if not isinstance(fill, Literal | Value):
            raise self.cursor.unexpected("',' and an element type", "a computed fill is followed by its type")
        return fill, fill.dtype

    def _axis(self) -> int:
        if self.cursor.token.kind != "number":
            raise self.cursor.unexpected("the number of an axis")
        token = self.cursor.advance()
        axis = self._convert(token)
        if not isinstance(axis, int):
            raise self.cursor.error(f"found {token}, expected the number of an axis", token)
        return axis

    def _level(self) -> Level:
        token = self.cursor.name("a level or Element")
        cls = self.vocabulary.get(token.text)
        if cls is None:
            raise self.cursor.error(
                f"no level is called '{token.text}'", token, f"the levels are {', '.join(self.vocabulary)} and Element"
            )
        values = self.cursor.items("]", self._parameter) if self.cursor.accept("[") else ()
        wanted = field_names(cls)
        if len(values) != len(wanted):
            listed = f" ({', '.join(wanted)})" if wanted else ""
            raise self.cursor.error(f"{token.text} has {len(wanted)} parameters{listed}, found {len(values)}", token)
        return cls(*values)

    def _parameter(self) -> DType | int:
        return self._axis() if self.cursor.token.kind == "number" else self.dtype()
