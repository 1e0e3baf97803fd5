"""The einsum notation with names: `C[i,j] += A[i,k] * B[k,j]`.

    assignment := NAME [ "[" indices "]" ] ( "=" | "+=" | "*=" | "min=" | "max=" | "and=" | "or=" ) expr
    expr       := Python's precedence over  + - * / // % **  == != < <= > >=  & | ^ ~  and or not
                | NAME "[" indices "]" | NAME | literal | inf | nan | CALL "(" expr, ... ")"

A NAME without indices is a scalar, a tensor without axes, or an index used as an int64 value.  CALL is an operator by
name (`min`, `max` of two and more, `abs`, `sqrt`, `where(c, a, b)`, ...) or an element type, which casts.  Indices
that are not on the left are reduced.  Literals are weak, as Python's numbers are in NumPy; constant parts are folded.

What the reduction says about the rest: under `min=` a `+` is min-plus addition, whose absorber is inf (a missing edge
makes a path missing), and under `max=` it is max-plus addition, whose absorber is -inf.  `+=` and `*=` widen bool to
int64; `and=` and `or=` reduce truth values, which come back in the expression's type.  Among bools `*` is `and` and
`+` is `or`.
"""

import ast
import re
from functools import lru_cache, reduce

from finchsched.algebra.dtypes import ELEMENT_DTYPES, Scalar
from finchsched.algebra.operators import OPERATORS, apply, operator
from finchsched.api.einsum_program import Access, Constant, EinsumProgram, IndexValue, Operation, Term, accesses, mark
from finchsched.api.promotion import promote, weak_type
from finchsched.errors import EinsumSyntaxError, FinchschedError, IndexNameError

__all__ = ["parse_einsum"]

_HEAD = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\[([^\]=]*)\])?\s*(min|max|and|or|[+*])?=(?!=)", re.ASCII)
_EMPTY_INDEX = re.compile(r"(?<=\w)(\s*)\[(\s*)\]")
_REDUCTIONS = {"+": "add", "*": "mul"}
_BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
}
_COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
_SUMS = {"min": "minplus_add", "max": "maxplus_add"}
_ALIASES = {
    **{op.numpy: op.name for op in reversed(OPERATORS.values()) if op.numpy},
    "divide": "truediv",
    "mod": "mod",
    **{dtype.name: f"to_{dtype}" for dtype in ELEMENT_DTYPES},
}
"""NumPy's names of the operators, and the element types."""
_NOT_CALLED = ("and", "or", "not", "minplus_add", "maxplus_add", "repeat_add", "repeat_mul")
_CALLS = {
    **{name: name for name in OPERATORS if name not in _NOT_CALLED and not name.startswith("to_")},
    **_ALIASES,
}
_CONSTANTS = {"inf": float("inf"), "nan": float("nan")}


@lru_cache(maxsize=512)
def parse_einsum(text: str) -> EinsumProgram:
    """The program of `text`.

    Raises EinsumSyntaxError for text outside the grammar, IndexNameError for an output index that comes twice and for
    `=` with an index that is not on the left.  Messages show the text with a caret.
    """
    head = _HEAD.match(text)
    if head is None:
        hint = "write out[i,j] += A[i,k] * B[k,j]; reductions are =, +=, *=, min=, max=, and=, or="
        raise EinsumSyntaxError(mark(text, 0, "found no assignment", hint))
    output, subscript, symbol = head.groups()
    left, left_at = _left_indices(text, subscript, head.start(2))
    reduction = _REDUCTIONS.get(symbol or "", symbol or "")
    reader = _Reader(text, reduction)
    try:
        expr = reader.parse(head.end())
    except RecursionError:
        raise EinsumSyntaxError("the expression is nested too deeply\nhint: split it into several einsums") from None
    reads = tuple(accesses(expr))
    program = EinsumProgram(text, output, left, reduction, expr, tuple(reader.operands), False, left_at, reads)
    _check_indices(program)
    return program


def _left_indices(text: str, subscript: str | None, start: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
    if subscript is None or not subscript.strip():
        return (), ()
    names: list[str] = []
    columns: list[int] = []
    for part in subscript.split(","):
        name = part.strip()
        at = start + len(part) - len(part.lstrip())
        if not name.isidentifier():
            raise EinsumSyntaxError(mark(text, at, f"found {name!r} among the output's indices, expected a name"))
        if name in names:
            raise IndexNameError(mark(text, at, f"output index {name} comes twice"))
        names.append(name)
        columns.append(at)
        start += len(part) + 1
    return tuple(names), tuple(columns)


def _check_indices(program: EinsumProgram) -> None:
    known = {name for access in program.reads for name in access.index}
    for name, at in zip(program.left, program.left_at, strict=True):
        if name not in known:
            raise IndexNameError(mark(program.text, at, f"output index {name} appears in no operand"))
    if not program.reduction and program.reduced:
        name = program.reduced[0]
        at = next(access.at for access in program.reads if name in access.index)
        problem = f"index {name} is not on the left, and = does not reduce"
        raise IndexNameError(mark(program.text, at, problem, "use +=, *=, min=, max=, and= or or="))


class _Reader:
    """Turns Python's syntax tree into terms.  `operands`: names in order of appearance."""

    def __init__(self, text: str, reduction: str) -> None:
        self.text = text
        self.sum = _SUMS.get(reduction, "add")
        self.operands: dict[str, int] = {}
        self.indices: set[str] = set()
        self.start = 0
        self.source = ""

    def parse(self, start: int) -> Term:
        rest = _EMPTY_INDEX.sub(lambda m: " " * len(m.group()), re.sub(r"\s", " ", self.text[start:]))
        self.source = rest.strip()
        self.start = start + len(rest) - len(rest.lstrip())
        if not self.source:
            raise EinsumSyntaxError(
                mark(self.text, start, "found nothing after the assignment, expected an expression")
            )
        try:
            tree = ast.parse(self.source, mode="eval").body
        except SyntaxError as error:
            at = self.start + max((error.offset or 1) - 1, 0)
            raise EinsumSyntaxError(mark(self.text, at, f"cannot read the expression: {error.msg}")) from None
        except (ValueError, MemoryError) as error:
            raise EinsumSyntaxError(mark(self.text, self.start, f"cannot read the expression: {error}")) from None
        self.indices = {
            item.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Subscript)
            for item in _items(node)
            if isinstance(item, ast.Name)
        }
        return self.term(tree)

    def at(self, node: ast.expr) -> int:
        """The column of a node in the text."""
        return self.start + len(self.source.encode()[: node.col_offset].decode())

    def refuse(self, node: ast.expr, problem: str, hint: str = "") -> FinchschedError:
        return EinsumSyntaxError(mark(self.text, self.at(node), problem, hint))

    def term(self, node: ast.expr) -> Term:
        match node:
            case ast.Constant(value=value):
                return self.constant(node, value)
            case ast.Name(id=name):
                return self.name(node, name)
            case ast.Subscript():
                return self.access(node)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return self.binary(node, _BINARY[type(op)], left, right)
            case ast.UnaryOp(op=unary, operand=arg):
                return self.unary(node, unary, self.term(arg))
            case ast.BoolOp(op=connective, values=values):
                name = "and" if isinstance(connective, ast.And) else "or"
                truths = [self.truth(node, self.term(value)) for value in values]
                return reduce(lambda a, b: self.apply(node, name, a, b), truths)
            case ast.Compare():
                return self.comparison(node)
            case ast.Call():
                return self.call(node)
            case _:
                raise self.refuse(node, f"{type(node).__name__} is not part of the einsum notation")

    def constant(self, node: ast.expr, value: object) -> Constant:
        if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64:
            raise self.refuse(node, f"the literal {value} does not fit int64 or uint64")
        if isinstance(value, bool | int | float | complex):
            return Constant(value)
        raise self.refuse(node, f"{value!r} is not a literal of the einsum notation", "literals are bools and numbers")

    def name(self, node: ast.expr, name: str) -> Term:
        if name in self.indices:
            return IndexValue(name, self.at(node))
        if name in _CONSTANTS:
            return Constant(_CONSTANTS[name])
        return Access(self.operands.setdefault(name, len(self.operands)), (), self.at(node))

    def access(self, node: ast.Subscript) -> Access:
        if not isinstance(node.value, ast.Name):
            raise self.refuse(node, "only an operand by name can be indexed")
        names = []
        for item in _items(node):
            if not isinstance(item, ast.Name):
                raise self.refuse(item, "an index must be a name", "constant and computed indices are not supported")
            names.append(item.id)
        name = node.value.id
        if name in self.indices:
            raise IndexNameError(mark(self.text, self.at(node), f"{name} is both an index and an operand"))
        return Access(self.operands.setdefault(name, len(self.operands)), tuple(names), self.at(node))

    def binary(self, node: ast.expr, name: str, left: ast.expr, right: ast.expr) -> Term:
        a, b = self.term(left), self.term(right)
        if name == "pow" and b == Constant(2) and isinstance(a, Access):
            return self.apply(node, "mul", a, a)
        return self.apply(node, self.sum if name == "add" else name, a, b)

    def unary(self, node: ast.expr, unary: ast.unaryop, arg: Term) -> Term:
        match unary:
            case ast.USub():
                return self.apply(node, "neg", arg)
            case ast.Invert():
                return self.apply(node, "not", arg)
            case ast.Not():
                return self.apply(node, "not", self.truth(node, arg))
            case _:
                return arg

    def truth(self, node: ast.expr, arg: Term) -> Term:
        return self.apply(node, "to_bool", arg)

    def comparison(self, node: ast.Compare) -> Term:
        sides = [self.term(side) for side in (node.left, *node.comparators)]
        links: list[Term] = []
        for op, a, b in zip(node.ops, sides[:-1], sides[1:], strict=True):
            if type(op) not in _COMPARE:
                raise self.refuse(node, f"{type(op).__name__} is not part of the einsum notation")
            links.append(self.apply(node, _COMPARE[type(op)], a, b))
        return reduce(lambda a, b: self.apply(node, "and", a, b), links)

    def call(self, node: ast.Call) -> Term:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise self.refuse(node, "a call is an operator's name and arguments by position")
        name = node.func.id
        if name not in _CALLS:
            raise self.refuse(node, f"no operator is called {name!r}", f"operators are {', '.join(sorted(_CALLS))}")
        op = operator(_CALLS[name])
        args = [self.term(arg) for arg in node.args]
        several = op.name in ("min", "max") and len(args) > 2
        if len(args) != op.arity and not several:
            raise self.refuse(node, f"{name} takes {op.arity} arguments, found {len(args)}")
        if several:
            return reduce(lambda a, b: self.apply(node, op.name, a, b), args)
        return self.apply(node, self.sum if op.name == "add" else op.name, *args)

    def apply(self, node: ast.expr, name: str, *args: Term) -> Term:
        """The operator on terms, folded where all of them are literals."""
        constants = [arg.value for arg in args if isinstance(arg, Constant)]
        if len(constants) == len(args):
            try:
                return Constant(_fold(name, constants))
            except (TypeError, ValueError, OverflowError) as error:
                raise self.refuse(node, f"cannot evaluate the constant: {error}") from None
        return Operation(name, args, self.at(node))


def _fold(name: str, values: list[Scalar]) -> Scalar:
    base, exponent = (values[0], values[-1])
    if name == "pow" and isinstance(base, int) and isinstance(exponent, int):
        return _integer_power(int(base), int(exponent))
    op, arguments, _ = promote(operator(name), tuple(weak_type(value) for value in values))
    typed = [argument.numpy.type(value) for argument, value in zip(arguments, values, strict=True)]
    result: Scalar = apply(op, *typed).item()
    return result


def _integer_power(base: int, exponent: int) -> int:
    if not 0 <= exponent < 64 or not -(2**63) <= base**exponent < 2**63:
        raise ValueError(f"{base}**{exponent} does not fit int64")
    return int(base**exponent)


def _items(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
