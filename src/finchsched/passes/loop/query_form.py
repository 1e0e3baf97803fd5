"""A normalized Logic query, taken apart for the loops to come: target, reduction, expression, and producers fused by
scope.

S[i, j] := Reorder(MapJoin(mul, A[i, j], Aggregate(add, 0, MapJoin(mul, X[i, k], Y[j, k]), [k])), [i, j])
  ->  target S[i, j];  expression A[i, j] * s;  producer  s = add over k of X[i, k] * Y[j, k]
"""

from dataclasses import dataclass

from finchsched.algebra.operators import Operator
from finchsched.ast.format import TensorType
from finchsched.ast.logic import (
    Aggregate,
    Alias,
    Coordinate,
    Field,
    LogicExpr,
    MapJoin,
    Query,
    Reformat,
    Reorder,
    Slot,
    Table,
)
from finchsched.ast.loop import Access, Index, LoopExpr, Scalar, Tensor
from finchsched.ast.node import Node, walk
from finchsched.ast.scalar import Call, Literal, Value
from finchsched.errors import LoweringError

__all__ = ["Producer", "QueryForm", "query_form", "tensor_of"]


@dataclass(frozen=True, slots=True)
class Producer:
    """A reduction computed in the consumer's innermost scope into a local scalar."""

    scalar: Scalar
    op: Operator
    init: Literal
    expr: LoopExpr
    over: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueryForm:
    """One query: `target[index] op= expr` over all index names, with `producers` defined in the innermost scope.

    given: the type a Reformat asks for.  drop_fill: values equal to the fill are not stored.
    """

    alias: Alias
    index: tuple[str, ...]
    op: Operator | None
    init: Literal | None
    over: tuple[str, ...]
    expr: LoopExpr
    producers: tuple[Producer, ...]
    given: TensorType | None
    drop_fill: bool

    @property
    def loops(self) -> tuple[str, ...]:
        """Index names of the consumer's own loops."""
        return self.index + self.over

    @property
    def inner(self) -> tuple[str, ...]:
        """Index names of the producers' loops, which come innermost."""
        return tuple(dict.fromkeys(name for p in self.producers for name in p.over))

    def expressions(self) -> list[Node]:
        """All right-hand sides."""
        return [self.expr, *(p.expr for p in self.producers)]

    def accesses(self) -> list[Access]:
        """All accesses, by first appearance."""
        return list(dict.fromkeys(n for e in self.expressions() for n in walk(e) if isinstance(n, Access)))


def tensor_of(table: Slot | Alias) -> Tensor:
    """The Loop IR tensor of a Logic tensor."""
    return Tensor(table.name, table.type)


def query_form(query: Query) -> QueryForm:
    """Take a normalized query apart.  Raises LoweringError for one that is not in normal form."""
    rhs: LogicExpr = query.rhs
    given, drop_fill = None, False
    if isinstance(rhs, Reformat):
        given, drop_fill, rhs = rhs.type, rhs.drop_fill, rhs.arg
    if not isinstance(rhs, Reorder):
        raise LoweringError(f"query {query.alias.name} is not in normal form: its root is {type(rhs).__name__}")
    index = tuple(f.name for f in rhs.fields)
    producers: list[Producer] = []
    core: LogicExpr = rhs.arg
    if isinstance(core, Aggregate) and core.over:
        over = tuple(f.name for f in core.over)
        expr = _expression(core.arg, query.alias.name, producers)
        op, init = core.op, core.init
        return QueryForm(query.alias, index, op, init, over, expr, tuple(producers), given, drop_fill)
    if isinstance(core, Aggregate):
        core = core.arg
    expr = _expression(core, query.alias.name, producers)
    return QueryForm(query.alias, index, None, None, (), expr, tuple(producers), given, drop_fill)


def _expression(root: LogicExpr, stem: str, producers: list[Producer]) -> LoopExpr:
    """The Loop IR expression of a pointwise core, on a stack of its own; a nested reduction becomes a producer."""
    results: list[LoopExpr] = []
    stack: list[tuple[LogicExpr, bool]] = [(root, False)]
    while stack:
        expr, ready = stack.pop()
        if not isinstance(expr, MapJoin):
            results.append(_leaf(expr, stem, producers))
        elif ready:
            start = len(results) - len(expr.args)
            results[start:] = [_combined(expr.op, results[start:])]
        else:
            stack.append((expr, True))
            stack.extend((arg, False) for arg in reversed(expr.args))
    return results[0]


def _combined(op: Operator, args: list[LoopExpr]) -> LoopExpr:
    """An operator of several arguments; a binary one is applied from the left."""
    if op.arity != 2:
        return Call(op, tuple(args))
    folded = args[0]
    for arg in args[1:]:
        folded = Call(op, (folded, arg))
    return folded


def _leaf(expr: LogicExpr, stem: str, producers: list[Producer]) -> LoopExpr:
    match expr:
        case Table(tensor, index):
            return Access(tensor_of(tensor), tuple(Index(i.name) if isinstance(i, Field) else i for i in index))
        case Coordinate(field):
            return Index(field.name)
        case Aggregate(op, init, arg, over):
            inner = _expression(arg, stem, producers)
            scalar = Scalar(f"{stem}_s{len(producers)}", init.dtype)
            producers.append(Producer(scalar, op, init, inner, tuple(f.name for f in over)))
            return scalar
        case Literal() | Value():
            return expr
        case _:
            raise LoweringError(f"{type(expr).__name__} inside a query that should be in normal form")
