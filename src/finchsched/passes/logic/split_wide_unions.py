"""Split maps that would merge more than three sparse tensors: the left part becomes a query of its own.

    R[i] := Reorder(MapJoin(add, MapJoin(add, MapJoin(add, a[i], b[i]), c[i]), d[i]), [i])
      ->
    S[i] := Reorder(MapJoin(add, MapJoin(add, a[i], b[i]), c[i]), [i])
    R[i] := Reorder(MapJoin(add, S[i], d[i]), [i])

A loop that merges k lists has up to 2^k regions.  Tensors are counted once per index.  Dense tensors, scalars and the
operands of a product count for nothing, but a product is as wide as its narrowest absorbing operand, which leads its
loop.  An alias counts as sparse if the mask rule leaves some coordinate of its right-hand side structural.

Needs: `isolate_aggregates`.  Keeps: expression trees.  A new alias has a provisional type.

Source: this compiler; Finch merges any number of lists.
"""

from dataclasses import dataclass

from finchsched.algebra.dtypes import DType
from finchsched.algebra.operators import Operator, absorbs, result_type
from finchsched.ast.facts import dtype, fields, fill
from finchsched.ast.format import is_sparse
from finchsched.ast.logic import Aggregate, Alias, LogicExpr, MapJoin, Plan, Query, Table
from finchsched.ast.node import Node
from finchsched.ast.scalar import Literal, Value
from finchsched.passes.logic.own_query import own_query
from finchsched.passes.logic.query_root import Root, transform, with_core
from finchsched.rewrite.rule import RuleContext

__all__ = ["split_wide_unions"]

_WIDEST = 3


@dataclass(frozen=True, slots=True)
class _Pattern:
    """Where an expression is stored: `merged` are the sparse tables that a loop over it merges.

    sparse: some coordinates are structural; None for a scalar, which has no pattern.
    """

    merged: tuple[Table, ...]
    sparse: bool | None


def split_wide_unions(plan: Plan, ctx: RuleContext) -> Plan:
    """f(a, b, c, d)  ->  S := f(a, b, c);  f(S, d)"""
    splitter = _Splitter(ctx, {}, [])
    for query in plan.bodies:
        splitter.query(query)
    after = tuple(splitter.bodies)
    return plan if after == plan.bodies else Plan(after, plan.result)


@dataclass(slots=True)
class _Splitter:
    """sparse: whether each alias so far has structural coordinates.  bodies: the queries so far."""

    ctx: RuleContext
    sparse: dict[str, bool]
    bodies: list[Query]

    def query(self, query: Query) -> None:
        patterns: dict[LogicExpr, _Pattern] = {}

        def change(node: LogicExpr) -> LogicExpr:
            if isinstance(node, MapJoin):
                node = self.narrowed(node, patterns)
            patterns[node] = self.pattern(node, patterns)
            return node

        root = Root.of(query)
        core = transform(root.core, change)
        held = bool(patterns[core].sparse and fields(core))
        self.sparse[query.alias.name] = held if root.reformat is None else is_sparse(root.reformat.type)
        self.bodies.append(with_core(query, core))

    def narrowed(self, node: MapJoin, patterns: dict[LogicExpr, _Pattern]) -> MapJoin:
        """The map, its widest operands (left ones first) in queries of their own until it is narrow enough."""
        while len(self.pattern(node, patterns).merged) > _WIDEST:
            args = list(node.args)
            at = max(range(len(args)), key=lambda n: len(patterns[args[n]].merged))
            query, table = own_query(args[at], fields(args[at]), self.ctx.names)
            self.bodies.append(query)
            self.sparse[query.alias.name] = bool(patterns[args[at]].sparse)
            patterns[table] = self.pattern(table, patterns)
            args[at] = table
            node = MapJoin(node.op, tuple(args))
        return node

    def pattern(self, node: LogicExpr, patterns: dict[LogicExpr, _Pattern]) -> _Pattern:
        """The pattern of an expression, given those of its operands."""
        match node:
            case Table(tensor, _):
                sparse = self.sparse[tensor.name] if isinstance(tensor, Alias) else is_sparse(tensor.type)
                return _Pattern((node,) if sparse else (), sparse)
            case MapJoin(op, args):
                return _map_pattern(op, args, [patterns[arg] for arg in args])
            case Aggregate():
                return patterns[node.arg]
            case _:
                return _Pattern((), None)


def _map_pattern(op: Operator, args: tuple[LogicExpr, ...], patterns: list[_Pattern]) -> _Pattern:
    common = result_type(op, *(dtype(arg) for arg in args))[0][-1]
    absorbing = [p for arg, p in zip(args, patterns, strict=True) if p.sparse and _absorbs(op, fill(arg), common)]
    if absorbing:
        return min(absorbing, key=lambda p: len(p.merged))
    known = [p.sparse for p in patterns if p.sparse is not None]
    merged = tuple(dict.fromkeys(table for p in patterns for table in p.merged))
    return _Pattern(merged, all(known) if known else None)


def _absorbs(op: Operator, found: Node, common: DType) -> bool:
    match found:
        case Literal(value, _):
            return absorbs(op, value, common)
        case Value(_, _, "zero"):
            return absorbs(op, 0, common)
        case Value(_, _, "one"):
            return absorbs(op, 1, common)
        case Value(_, _, "nan"):
            return absorbs(op, float("nan"), common)
        case _:
            return False
