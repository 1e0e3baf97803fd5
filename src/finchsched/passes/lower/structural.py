"""Simplification of Loop IR statements once it is known which accesses are structural in a region.

`Structural(value)` stands for a tensor operand where nothing is stored.  Only it absorbs (docs/system.md, "What a
value is"); literals and run-time scalars never do.  A statement that has no effect simplifies to the empty Block.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from finchsched.algebra.dtypes import BOOL, INT64, DType, cast_scalar
from finchsched.algebra.operators import absorbs, result_type, same_scalar
from finchsched.ast.facts import fold_call, is_identity, scalar_dtype
from finchsched.ast.loop import Access, Assign, Block, Declare, Define, Freeze, If, Index, Loop, LoopExpr, Scalar, Stmt
from finchsched.ast.node import Node, children, derive, walk
from finchsched.ast.scalar import Call, Literal, Size, Value, coordinate_name, coordinate_value, fold_calls

__all__ = [
    "EMPTY",
    "Simplifier",
    "Structural",
    "accesses",
    "carries_tensor",
    "expr_dtype",
    "invariant_calls",
    "is_empty",
    "swallowing",
    "uses_coordinate",
    "uses_index",
]

EMPTY = Block(())


@dataclass(frozen=True, slots=True, eq=False)
class Structural(Node):
    """A tensor operand where nothing is stored; `value` is a scalar expression."""

    value: Node


_EXPRESSIONS = Access | Call | Index | Literal | Scalar | Size | Structural | Value


def is_empty(stmt: Node) -> bool:
    """Whether a statement has no effect."""
    return isinstance(stmt, Block) and not stmt.body


def accesses(node: Node) -> Iterator[Access]:
    """All accesses under a node, in order of appearance; the target of an Assign comes first."""
    return (n for n in walk(node) if isinstance(n, Access))


def uses_index(node: Node, name: str) -> bool:
    """Whether a node mentions an index, as a coordinate or inside a fill."""
    wanted = coordinate_value(name)
    return any((isinstance(n, Index) and n.name == name) or n == wanted for n in walk(node))


def uses_coordinate(expr: Node) -> bool:
    """Whether an expression uses the coordinate of some index as a value; indices of accesses do not count."""
    stack = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, Index):
            return True
        if isinstance(node, Call):
            stack.extend(node.args)
    return False


def expr_dtype(expr: Node) -> DType:
    """The element type of a Loop IR expression."""
    found: DType = derive(expr, "expr_dtype", _expr_dtype, through=_EXPRESSIONS)
    return found


def _expr_dtype(expr: Node) -> DType:
    match expr:
        case Access(tensor, _):
            return tensor.type.dtype
        case Scalar(_, found):
            return found
        case Index():
            return INT64
        case Structural(value):
            return expr_dtype(value)
        case Call(op, args):
            return result_type(op, *(expr_dtype(arg) for arg in args))[1]
        case _:
            return scalar_dtype(expr)


@dataclass(slots=True)
class Simplifier:
    """Simplifies statements of one nest.

    target_fill: the fill of the nest's target.  scalar_fills: fill of each local scalar, for results that contain it.
    """

    target_fill: Node
    scalar_fills: dict[str, Node] = field(default_factory=dict)
    fills: dict[Node, Node] = field(default_factory=dict, repr=False)

    def stmt(self, stmt: Stmt, known: Mapping[Node, Node]) -> Stmt:
        """`stmt` with each expression in `known` replaced (by Structural or Literal) and simplified."""
        simple = self._stmt(stmt, known)
        return _drop_dead_scalars(simple)

    def _stmt(self, stmt: Stmt, known: Mapping[Node, Node]) -> Stmt:
        match stmt:
            case Loop(_, body):
                inner = self._stmt(body, known)
                return EMPTY if is_empty(inner) else stmt.replace(body=inner)
            case Block(body):
                return _block(tuple(self._stmt(s, known) for s in body))
            case If(cond, body):
                return self._if(stmt, self.expr(cond, known), self._stmt(body, known))
            case Define(scalar, init):
                return Define(scalar, _as_value(self.expr(init, known)))
            case Assign(target, _, rhs):
                return self._assign(stmt.replace(rhs=self.expr(rhs, known)), isinstance(target, Access))
            case Declare() | Freeze():
                return stmt
            case _:
                raise TypeError(f"{type(stmt).__name__} is not a Loop IR statement")

    def _if(self, stmt: If, cond: Node, body: Stmt) -> Stmt:
        cond = _as_value(cond)
        if is_empty(body) or (isinstance(cond, Literal) and not cond.value):
            return EMPTY
        if isinstance(cond, Literal):
            return body
        return stmt.replace(cond=cond, body=body)

    def _assign(self, stmt: Assign, into_tensor: bool) -> Stmt:
        rhs: Node = stmt.rhs
        value = _as_value(rhs)
        if stmt.op is not None:
            # An identity still makes its coordinate stored, which shows unless the target's fill is the identity.  So
            # does a structural one: then the fill differs from coordinate to coordinate, and the target has none.
            shows = into_tensor and not is_identity(stmt.op, self.target_fill)
            return EMPTY if is_identity(stmt.op, value) and not shows else stmt.replace(rhs=value)
        if into_tensor and _same_fill(value, self.target_fill):
            return EMPTY
        return stmt.replace(rhs=value)

    def expr(self, expr: Node, known: Mapping[Node, Node]) -> Node:
        """`expr` with known parts replaced, by the mask rule."""
        return fold_calls(
            expr,
            lambda node: known.get(node, None if isinstance(node, Call) else node),
            lambda call, args: self._call(_with_args(call, args)),
        )

    def _call(self, call: Call) -> Node:
        op, args = call.op, call.args
        if op.name == "where" and isinstance(args[0], Literal):
            return args[1] if args[0].value else args[2]
        structural = [arg for arg in args if isinstance(arg, Structural)]
        if all(isinstance(arg, Literal) for arg in args):
            return fold_call(op, args)
        if not structural:
            return _decided(call)
        if not any(carries_tensor(arg) for arg in args):
            return Structural(_fold(call))
        swallowed = swallowing(call)
        if swallowed is not None:
            # Unless the result's fill is the same, it matters whether the other operand will turn out structural too.
            return Structural(swallowed) if _same_fill(swallowed, self.fill(call)) else call
        return _without_identity(Call(op, tuple(_as_value(arg) for arg in args)))

    def fill(self, expr: Node) -> Node:
        """The fill of an expression of this nest."""
        return fold_calls(expr, self._known_fill, self._call_fill)

    def _call_fill(self, call: Call, args: tuple[Node, ...]) -> Node:
        self.fills[call] = found = fold_call(call.op, args)
        return found

    def _known_fill(self, expr: Node) -> Node | None:
        match expr:
            case Access(tensor, _):
                return tensor.type.fill
            case Scalar(name, dtype):
                return self.scalar_fills.get(name, Value(name, dtype, "any"))
            case Structural(value):
                return value
            case Index(name):
                return coordinate_value(name)
            case Call():
                return self.fills.get(expr)
            case _:
                return expr


def _decided(call: Call) -> Node:
    """A conjunction or disjunction of truths that one of them, known, decides or does not touch."""
    if call.op.name in _CONNECTIVES:
        for known, other in (call.args, call.args[::-1]):
            if isinstance(known, Literal) and known.dtype == BOOL == expr_dtype(other):
                return known if absorbs(call.op, known.value, BOOL) else other
    return call


def swallowing(call: Call) -> Literal | None:
    """What a call with one structural argument is, if that argument absorbs the other; in the result's type."""
    structural = [arg for arg in call.args if isinstance(arg, Structural)]
    if call.op.arity != 2 or len(structural) != 1:
        return None
    value = structural[0].value
    if not isinstance(value, Literal) or not absorbs(call.op, value.value, value.dtype):
        return None
    result = result_type(call.op, *(expr_dtype(arg) for arg in call.args))[1]
    return value if value.dtype == result else Literal(cast_scalar(value.value, result), result)


_CONNECTIVES = ("and", "or", "logical_and", "logical_or")


def _with_args(call: Call, args: tuple[Node, ...]) -> Call:
    return call if all(a is b for a, b in zip(args, call.args, strict=True)) else Call(call.op, args)


def _without_identity(call: Call) -> Node:
    """`x op e -> x` and `e op x -> x` for the identity e; `x - 0 -> x`.  Floats modulo the sign of zero."""
    if call.op.arity != 2:
        return call
    left, right = call.args
    if call.op.name == "sub" and isinstance(right, Literal) and right.value == 0:
        return left
    if is_identity(call.op, right) and expr_dtype(left) == expr_dtype(right):
        return left
    if is_identity(call.op, left) and expr_dtype(left) == expr_dtype(right):
        return right
    return call


def _fold(call: Call) -> Node:
    return fold_call(call.op, tuple(_scalar(arg) for arg in call.args))


def _scalar(arg: Node) -> Node:
    """A scalar argument as it stands in a fill."""
    return fold_calls(arg, _scalar_leaf, _with_args)


def _scalar_leaf(arg: Node) -> Node | None:
    match arg:
        case Structural(value):
            return value
        case Index(name):
            return coordinate_value(name)
        case Call():
            return None
        case _:
            return arg


def carries_tensor(expr: Node) -> bool:
    """Whether a stored tensor operand is in an expression; a local scalar is a reduction of tensors."""
    found: bool = derive(expr, "carries_tensor", _carries_tensor, through=_EXPRESSIONS)
    return found


def _carries_tensor(expr: Node) -> bool:
    if isinstance(expr, Call):
        return any(carries_tensor(arg) for arg in expr.args)
    return isinstance(expr, Access | Scalar)


def _as_value(expr: Node) -> LoopExpr:
    return cast(LoopExpr, expr.value if isinstance(expr, Structural) else expr)


def _same_fill(a: Node, b: Node) -> bool:
    if isinstance(a, Literal) and isinstance(b, Literal):
        return a.dtype == b.dtype and same_scalar(a.value, b.value)
    return a == b


def _block(body: tuple[Stmt, ...]) -> Stmt:
    flat: list[Stmt] = []
    for stmt in body:
        flat.extend(stmt.body if isinstance(stmt, Block) else (stmt,))
    return flat[0] if len(flat) == 1 else Block(tuple(flat))


def invariant_calls(body: Stmt, is_known: Callable[[Node], bool], coords: Collection[str]) -> list[Call]:
    """The largest calls inside further loops that need only known operands, at least one, and known coordinates."""
    loops = [n for n in walk(body) if isinstance(n, Loop)]
    exprs = [s.rhs for loop in loops for s in walk(loop) if isinstance(s, Assign)]
    found: dict[Call, None] = {}
    stack: list[Node] = list(reversed(exprs))
    while stack:
        node = stack.pop()
        if not isinstance(node, Call):
            continue
        leaves = [n for n in walk(node) if isinstance(n, Access | Scalar)]
        names = {name for n in walk(node) if (name := _index_named(n))}
        if leaves and all(is_known(leaf) for leaf in leaves) and names <= set(coords):
            found[node] = None
        else:
            stack.extend(reversed(node.args))
    return list(found)


def _index_named(node: Node) -> str:
    """The index that a node stands for, as a coordinate or inside a fill; "" for any other node."""
    match node:
        case Index(name):
            return name
        case _:
            return coordinate_name(node)


def _drop_dead_scalars(stmt: Stmt) -> Stmt:
    """Remove local scalars that nothing reads any more, until none is left."""
    while True:
        defined = {n.scalar.name for n in walk(stmt) if isinstance(n, Define)}
        dead = defined - _read_scalars(stmt)
        if not dead:
            return stmt
        stmt = _without_scalars(stmt, dead)


def _read_scalars(stmt: Node) -> set[str]:
    """Scalars read anywhere but in the Assigns that update them."""
    read: set[str] = set()
    stack: list[Node] = [stmt]
    while stack:
        node = stack.pop()
        match node:
            case Define(_, init):
                stack.append(init)
            case Assign(Scalar(name, _), _, rhs):
                inner = {n.name for n in walk(rhs) if isinstance(n, Scalar)}
                read |= inner - {name}
            case Scalar(name, _):
                read.add(name)
            case _:
                stack.extend(children(node))
    return read


def _without_scalars(stmt: Stmt, dead: set[str]) -> Stmt:
    match stmt:
        case Define(scalar, _) if scalar.name in dead:
            return EMPTY
        case Assign(Scalar(name, _), _, _) if name in dead:
            return EMPTY
        case Block(body):
            return _block(tuple(_without_scalars(s, dead) for s in body))
        case Loop(_, body) | If(_, body):
            inner = _without_scalars(body, dead)
            return EMPTY if is_empty(inner) else stmt.replace(body=inner)
        case _:
            return stmt
