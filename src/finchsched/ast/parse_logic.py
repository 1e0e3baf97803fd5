"""Reader of the text that `finchsched.ast.print_logic` writes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from finchsched.algebra.operators import Operator
from finchsched.ast.facts import fields
from finchsched.ast.format import Level, TensorType
from finchsched.ast.logic import (
    Aggregate,
    Alias,
    Coordinate,
    Field,
    IndexExpr,
    LogicExpr,
    MapJoin,
    Plan,
    Produces,
    Query,
    Reformat,
    Relabel,
    Reorder,
    Slot,
    Subquery,
    Table,
)
from finchsched.ast.node import Node
from finchsched.ast.parse_scalar import ScalarReader
from finchsched.ast.print_scalar import print_index
from finchsched.ast.scalar import Literal
from finchsched.ast.syntax import Cursor, Token

__all__ = ["parse_logic"]

_CONSTRUCTORS = ("MapJoin", "Aggregate", "Reorder", "Relabel", "Reformat", "Subquery")


def parse_logic(text: str, vocabulary: Mapping[str, type[Level]]) -> Node:
    """The Plan, Query or expression that `text` prints; `vocabulary` maps names to the classes of levels.

    A text with `return` is a Plan.  Raises IRSyntaxError with line, column and a caret.

    >>> parse_logic("MapJoin(mul, 2: int64, @i)", {})
    MapJoin(op=..., args=(Literal(value=2, dtype=DType(name='int64')), Coordinate(field=Field(name='i'))))
    """
    return _LogicReader(Cursor(text), vocabulary).read()


@dataclass(slots=True)
class _Frame:
    """A constructor being read: the parts before its first argument, and the arguments so far."""

    name: str
    op: Operator | None = None
    init: Literal | None = None
    type: TensorType | None = None
    alias: Alias | None = None
    args: list[LogicExpr] = field(default_factory=list)


class _LogicReader(ScalarReader):
    def __init__(self, cursor: Cursor, vocabulary: Mapping[str, type[Level]]) -> None:
        super().__init__(cursor, vocabulary)
        self.tensors: dict[str, Slot | Alias] = {}

    def read(self) -> Node:
        cursor = self.cursor
        while cursor.token.text in ("slot", "alias") and cursor.ahead(1).kind == "name":
            self._declaration()
        queries: list[Query] = []
        while cursor.token.kind != "end":
            if cursor.at("return") and cursor.ahead(1).text != "[":
                return self._return(tuple(queries))
            start = cursor.token
            found = self._query() if self._at_query() else self._expression()
            cursor.end_line("a query is written S[i] := expression" if cursor.at("=") else "")
            if not isinstance(found, Query):
                if queries or cursor.token.kind != "end":
                    raise cursor.error("an expression stands alone", start, "a query is written S[i] := expression")
                return found
            queries.append(found)
        if len(queries) != 1:
            raise cursor.unexpected("'return' or a query")
        return queries[0]

    def _declaration(self) -> None:
        kind = self.cursor.advance().text
        token = self.cursor.name("the name of a tensor")
        if token.text in self.tensors:
            raise self.cursor.error(f"'{token.text}' is declared twice", token)
        self.cursor.expect(":")
        declared = self.type()
        self.tensors[token.text] = Slot(token.text, declared) if kind == "slot" else Alias(token.text, declared)
        self.cursor.end_line()

    def _return(self, queries: tuple[Query, ...]) -> Plan:
        cursor = self.cursor
        cursor.advance()
        aliases: list[Alias] = []
        while cursor.token.kind != "newline":
            aliases.append(self._alias())
            if cursor.token.kind != "newline":
                cursor.expect(",")
                if cursor.token.kind == "newline":
                    raise cursor.unexpected("an alias")
        cursor.end_line()
        if cursor.token.kind != "end":
            raise cursor.unexpected("the end of the text", "nothing follows 'return'")
        return Plan(queries, Produces(tuple(aliases)))

    def _at_query(self) -> bool:
        steps = 0
        while self.cursor.ahead(steps).kind not in ("newline", "end"):
            if self.cursor.ahead(steps).text in (":=", "("):
                return self.cursor.ahead(steps).text == ":="
            steps += 1
        return False

    def _query(self) -> Query:
        alias = self._alias()
        start = self.cursor.token
        left = self._index()
        self.cursor.expect(":=")
        rhs = self._expression()
        right = fields(rhs)
        if left != right:
            message = f"{alias.name} has the indices {print_index(left)}, its right side has {print_index(right)}"
            hint = f"write {alias.name}{print_index(right)}, or put a Reorder around the right side"
            raise self.cursor.error(message, start, hint)
        order = self._field_list() if self.cursor.accept("order") else ()
        return Query(alias, rhs, order)

    def _alias(self) -> Alias:
        token = self.cursor.name("an alias")
        found = self._tensor(token)
        if not isinstance(found, Alias):
            raise self.cursor.error(f"'{token.text}' is a slot, expected an alias", token)
        return found

    def _tensor(self, token: Token) -> Slot | Alias:
        if token.text not in self.tensors:
            hint = "declare it above, as in slot A: Dense(Element(0.0: float64))"
            raise self.cursor.error(f"no tensor is called '{token.text}'", token, hint)
        return self.tensors[token.text]

    def _expression(self) -> LogicExpr:
        frames: list[_Frame] = []
        while True:
            if self.cursor.token.text in _CONSTRUCTORS and self.cursor.ahead(1).text == "(":
                frames.append(self._open_constructor())
                continue
            done = self._logic_leaf()
            while frames:
                frames[-1].args.append(done)
                if frames[-1].name == "MapJoin" and self.cursor.accept(","):
                    break
                done = self._close(frames.pop())
            else:
                return done

    def _open_constructor(self) -> _Frame:
        frame = _Frame(self.cursor.advance().text)
        self.cursor.expect("(")
        match frame.name:
            case "MapJoin":
                frame.op = self.operator()
            case "Aggregate":
                frame.op = self.operator()
                self.cursor.expect(",")
                frame.init = self.literal()
            case "Reformat":
                frame.type = self.type()
            case "Subquery":
                frame.alias = self._alias()
            case _:
                return frame
        self.cursor.expect(",")
        return frame

    def _close(self, frame: _Frame) -> LogicExpr:
        match frame:
            case _Frame("MapJoin", op=Operator() as op):
                done: LogicExpr = MapJoin(op, tuple(frame.args))
            case _Frame("Aggregate", op=Operator() as op, init=Literal() as init):
                done = Aggregate(op, init, frame.args[0], self._last_fields())
            case _Frame("Reformat", type=TensorType() as type_):
                done = Reformat(type_, frame.args[0], self._drop_fill())
            case _Frame("Subquery", alias=Alias() as alias):
                done = Subquery(alias, frame.args[0])
            case _Frame("Reorder"):
                done = Reorder(frame.args[0], self._last_fields())
            case _:
                done = Relabel(frame.args[0], self._last_fields())
        self.cursor.expect(")")
        return done

    def _drop_fill(self) -> bool:
        found = self.cursor.accept(",")
        if found:
            self.cursor.expect("drop_fill")
        return found

    def _last_fields(self) -> tuple[Field, ...]:
        self.cursor.expect(",")
        return self._field_list()

    def _field_list(self) -> tuple[Field, ...]:
        self.cursor.expect("[")
        return self.cursor.items("]", lambda: Field(self.cursor.name("the name of an index").text))

    def _index(self) -> tuple[IndexExpr, ...]:
        self.cursor.expect("[")
        return self.cursor.items("]", self._one_index)

    def _one_index(self) -> IndexExpr:
        if self.cursor.token.kind == "name":
            return Field(self.cursor.advance().text)
        return self.constant_coordinate()

    def _logic_leaf(self) -> LogicExpr:
        cursor = self.cursor
        if cursor.accept("@"):
            return Coordinate(Field(cursor.name("the name of an index").text))
        if self.at_literal():
            return self.literal()
        if cursor.at("$"):
            return self.value()
        if cursor.token.kind != "name" or cursor.ahead(1).text == "(":
            raise cursor.unexpected("an expression", f"the constructors are {', '.join(_CONSTRUCTORS)}")
        return Table(self._tensor(cursor.advance()), self._index())
