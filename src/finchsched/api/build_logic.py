"""From the graph behind lazy arrays to Logic IR.

The graph is walked twice.  Down from the results, every node is told which field each of its axes has; an axis of
extent 1 that is stretched has none.  Up from the leaves, every node becomes an expression over those fields.  Nothing
recurses, except inside one einsum's expression.

A node used more than once becomes one Subquery, each use relabelled.  Two kinds of nodes become a query of their
own, which their readers read as a table: a reduction over an empty extent (its fill is the initial value, which the
fill of an Aggregate does not say), and a computed operand whose diagonal an einsum reads.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from finchsched.algebra.dtypes import BOOL, cast_scalar
from finchsched.algebra.operators import Operator, cast_target, identity, operator
from finchsched.api.binding import ValueBinding
from finchsched.api.einsum_program import common_type
from finchsched.api.einsum_terms import EinsumTerms
from finchsched.api.graph import GraphNode, topological
from finchsched.api.graph_axes import through_views
from finchsched.api.logic_casts import Casts, Operand
from finchsched.api.logic_extents import Origin
from finchsched.api.logic_fields import FieldAssignment, Index, Site, reduced_extents
from finchsched.api.logic_leaves import Leaves
from finchsched.api.promotion import strong
from finchsched.ast import facts
from finchsched.ast.format import TensorType
from finchsched.ast.logic import (
    Aggregate,
    Alias,
    Field,
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
from finchsched.ast.scalar import Literal, int_literal
from finchsched.formats.levels import Dense

__all__ = ["BuiltPlan", "build_logic"]


@dataclass(frozen=True, slots=True)
class BuiltPlan:
    """Logic IR and what binds it to operands.

    slots: the name of each tensor, by its number.  values: one per Value.  extents: of every field, (slot, axis) or
    ("", n).  names: what the user calls fields, slots and results.
    """

    plan: Plan
    slots: tuple[str, ...]
    values: tuple[ValueBinding, ...]
    extents: dict[str, Origin]
    names: dict[str, str]


def build_logic(roots: Sequence[GraphNode]) -> BuiltPlan:
    """The plan that computes `roots`, in this order."""
    return _Builder(roots).build()


class _Builder:
    """Makes an expression of every node, arguments first."""

    def __init__(self, roots: Sequence[GraphNode]) -> None:
        self.roots = roots
        self.order = topological(roots)
        self.leaves = Leaves(self.order)
        self.fields = FieldAssignment(roots, self.order, self.leaves)
        self.casts = Casts(self.leaves)
        self.names = self.leaves.names
        self.bodies: list[Query] = []

    def build(self) -> BuiltPlan:
        for node in self.order:
            if id(node) in self.fields.sites:
                self.express(node)
        aliases = tuple(self.result(*each) for each in zip(self.roots, self.fields.results, strict=True))
        return BuiltPlan(
            Plan(tuple(self.bodies), Produces(aliases)),
            tuple(slot.name for slot in self.leaves.slots),
            self.leaves.bindings,
            self.fields.extents,
            self.leaves.user_names,
        )

    def express(self, node: GraphNode) -> None:
        """The expression of a node over its fields; its Subquery or its own query if it has one."""
        site = self.fields.sites[id(node)]
        assert site.index is not None
        match node.kind:
            case "map":
                reads = zip(node.args, self.fields.child_indices(node, site), strict=True)
                args = [(self.read(arg, index), arg.type) for arg, index in reads]
                expr = self.casts.apply(operator(node.params), args)[0]
            case "reduce":
                expr = self.reduce(node, site)
            case "einsum":
                expr = self.einsum(node, site)
            case _:
                expr = self.reformat(node, site.index)
        if site.own:
            order = tuple(f for f in site.index if f is not None)
            empty = node.kind in ("reduce", "einsum") and 0 in reduced_extents(node)
            made = self.query(self.names.fresh("temp"), expr, order, _fill_of_nothing(expr) if empty else None)
            site.alias = made
        elif site.uses > 1:
            rank = len(facts.fields(expr))
            site.alias = Alias(self.names.fresh("shared"), _dense_type(expr, rank))
            expr = Subquery(site.alias, expr)
        site.expr = expr

    def read(self, node: GraphNode, index: Index) -> Operand:
        """A node under the fields that its reader wants; a scalar as it is, until `cast` knows its type."""
        under, inner = through_views(node, index)
        operand = self.read_stored(under, inner)
        if under is node:
            return operand
        expr = self.leaves.value(under, strong(under.type)) if isinstance(operand, GraphNode) else operand
        held = facts.fields(expr)
        repeated = tuple(f for f in dict.fromkeys(index) if f is not None and f not in held)
        return Reorder(expr, held + repeated) if repeated else expr

    def read_stored(self, node: GraphNode, index: Index) -> Operand:
        """`read` of a node that is no view."""
        if node.kind == "scalar":
            return node
        if node.kind == "tensor":
            return _table(self.leaves.slot(node), index)
        site = self.fields.sites[id(node)]
        assert site.expr is not None
        assert site.index is not None
        if site.own:
            assert site.alias is not None
            return _table(site.alias, index)
        if site.uses == 1:
            return site.expr
        return self.renamed(site.expr, site.index, index)

    def renamed(self, expr: LogicExpr, has: Index, wants: Index) -> LogicExpr:
        """A shared expression under other fields; an axis that its reader drops is squeezed out."""
        new: dict[Field, Field] = {}
        dropped = False
        for f, wanted in zip(has, wants, strict=True):
            if f is not None:
                dropped |= wanted is None
                new[f] = wanted or self.fields.fresh_field(self.fields.extents[f.name], 1)
        order = tuple(new[f] for f in facts.fields(expr))
        renamed = Relabel(expr, order)
        return Reorder(renamed, tuple(f for f in order if f in wants)) if dropped else renamed

    def reduce(self, node: GraphNode, site: Site) -> LogicExpr:
        name, axes, keepdims, _ = node.params
        assert site.index is not None
        index = self.fields.reduce_index(node, site, site.index)
        expr = self.casts.cast(self.read(node.args[0], index), strong(node.type))
        over = tuple(f for axis, f in enumerate(index) if axis in axes and f is not None)
        if over:
            expr = _aggregate(operator(name), expr, over)
        units = [site.index[axis] for axis in axes] if keepdims else []
        if any(f is not None for f in units):
            expr = Reorder(expr, tuple(f for f in site.index if f is not None))
        return expr

    def einsum(self, node: GraphNode, site: Site) -> LogicExpr:
        program, target = node.params
        assert site.index is not None
        letters = self.fields.einsum_letters(node, site, site.index)
        over = tuple(letters[name] for name in program.reduced)
        keep = target or (common_type(tuple(arg.type for arg in node.args)) if program.keep else None)
        term, kind = EinsumTerms(self.read, self.casts, node, letters, keep).term(program.expr)
        expr = self.casts.cast(term, strong(kind))
        if program.reduction in ("add", "mul") and not program.keep:
            expr = self.casts.cast(expr, strong(node.type))
        truth = program.reduction in ("and", "or")
        if truth:
            expr = self.casts.cast(expr, BOOL)
        reduced = tuple(f for f in over if f is not None)
        if reduced:
            op = operator("or" if program.keep and facts.dtype(expr).is_bool else program.reduction)
            expr = _aggregate(op, expr, reduced)
        return self.casts.cast(expr, strong(node.type)) if truth else expr

    def reformat(self, node: GraphNode, index: Index) -> LogicExpr:
        levels, perm, drop_fill = node.params
        order = tuple(f for f in index if f is not None)
        arg = Reorder(self.casts.cast(self.read(node.args[0], index), strong(node.type)), order)
        kept = [axis for axis in perm if index[axis] is not None]
        if len(kept) < len(perm):  # an axis that its reader drops: the format is of no consequence
            return arg
        found = TensorType(levels, perm, facts.dtype(arg), facts.one_fill(facts.fill(arg), facts.dtype(arg)))
        return Reformat(found, arg, drop_fill)

    # ------------------------------------------------------------------------------------------ queries

    def result(self, root: GraphNode, index: tuple[Field, ...]) -> Alias:
        expr = self.casts.cast(self.read(root, index), strong(root.type))
        inner = root.args[0] if root.kind == "format" else root
        name = inner.params[0].output if inner.kind == "einsum" else "out"
        alias = self.query(self.names.fresh(name), expr, index, None)
        self.leaves.user_names[alias.name] = name
        return alias

    def query(self, name: str, expr: LogicExpr, order: tuple[Field, ...], empty: Literal | None) -> Alias:
        """Add a query; `empty` is the fill of a reduction over nothing."""
        done = isinstance(expr, Reformat | Reorder) and facts.fields(expr) == order
        rhs = expr if done else Reorder(expr, order)
        if isinstance(rhs, Reformat):
            made = rhs.type
        else:
            made = _dense_type(expr, len(order))
        if empty is not None:
            made = made.replace(fill=empty)
        alias = Alias(name, made)
        self.bodies.append(Query(alias, rhs, ()))
        return alias


def _fill_of_nothing(expr: LogicExpr) -> Literal | None:
    """The fill of a reduction over nothing: its initial value, cast as it is."""
    match expr:
        case Aggregate(_, init, _, _):
            return init
        case Reorder(arg, _):
            return _fill_of_nothing(arg)
        case MapJoin(op, (Aggregate(_, init, _, _),)) if (target := cast_target(op)) is not None:
            return Literal(cast_scalar(init.value, target), target)
        case _:
            return None


def _table(tensor: Slot | Alias, index: Index) -> LogicExpr:
    """A tensor at some fields, and at 0 along axes that have none."""
    return Table(tensor, tuple(int_literal(0) if f is None else f for f in index))


def _aggregate(op: Operator, expr: LogicExpr, over: tuple[Field, ...]) -> LogicExpr:
    found = facts.dtype(expr)
    return Aggregate(op, Literal(identity(op, found), found), expr, over)


def _dense_type(expr: LogicExpr, rank: int) -> TensorType:
    """A provisional type: the passes choose levels."""
    element = facts.dtype(expr)
    return TensorType((Dense(),) * rank, tuple(range(rank)), element, facts.one_fill(facts.fill(expr), element))
