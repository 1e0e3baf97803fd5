"""From the graph behind lazy arrays to Logic IR.

The graph is walked twice.  Down from the results, every node is told which field each of its axes has; an axis of
extent 1 that is stretched has none.  Up from the leaves, every node becomes an expression over those fields.  Nothing
recurses, except inside one einsum's expression.

A node used more than once becomes one Subquery, each use relabelled.  Two kinds of nodes become a query of their
own, which their readers read as a table: a reduction over an empty extent (its fill is the initial value, which the
fill of an Aggregate does not say), and a computed operand whose diagonal an einsum reads.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from finchsched.algebra.dtypes import BOOL, DType, cast_scalar
from finchsched.algebra.operators import Operator, cast_operator, cast_target, identity, is_comparison, operator
from finchsched.api.binding import ValueBinding
from finchsched.api.einsum_program import EinsumProgram, common_type
from finchsched.api.einsum_terms import EinsumTerms, Index, Operand
from finchsched.api.graph import GraphNode, NewAxis, topological
from finchsched.api.graph_axes import (
    aligned,
    letter_extents,
    read_arguments,
    stretched,
    strip_views,
    through_views,
)
from finchsched.api.promotion import (
    ElementType,
    Weak,
    comparable,
    fit_scalar,
    is_wider,
    kind_of,
    promote,
    strong,
)
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
from finchsched.ast.names import Names
from finchsched.ast.scalar import Literal, Value, int_literal
from finchsched.ast.syntax import is_identifier
from finchsched.formats.levels import Dense

__all__ = ["BuiltPlan", "build_logic"]

Origin: TypeAlias = tuple[str, int]
"""Where an extent comes from at run time: (slot, axis), or ("", n) for the constant n."""


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


@dataclass(slots=True)
class _Site:
    """What is known of one node that is neither a leaf nor a view.

    index: the field of each axis.  inner: fields of reduced axes or letters.  uses: how often it is read.  own: whether
    it is a query of its own.  alias: the name of its Subquery or query, once it is made.
    """

    index: Index | None = None
    inner: dict[object, Field] = field(default_factory=dict)
    uses: int = 0
    own: bool = False
    alias: Alias | None = None
    expr: LogicExpr | None = None


class _Builder:
    def __init__(self, roots: Sequence[GraphNode]) -> None:
        self.roots = roots
        self.order = topological(roots)
        self.sites = {id(n): _Site() for n in self.order if n.kind not in ("tensor", "scalar", "view")}
        self.numbers: dict[int, int] = {}
        self.scalars: dict[int, int] = {}
        self.slots: list[Slot] = []
        self.fills: list[ValueBinding] = []
        self.values: dict[tuple[int, DType], Value] = {}
        self.bindings: list[ValueBinding] = []
        self.origins: dict[int, tuple[Origin, ...]] = {}
        self.extents: dict[str, Origin] = {}
        self.user_names: dict[str, str] = {}
        self.names = Names()
        self.counters: dict[str, int] = {}
        self.bodies: list[Query] = []

    def build(self) -> BuiltPlan:
        self.name_leaves()
        for node in self.order:
            self.origins[id(node)] = self.origin(node)
        self.count_uses()
        results = self.assign_fields()
        for node in self.order:
            if id(node) in self.sites:
                self.express(node)
        aliases = tuple(self.result(root, index) for root, index in zip(self.roots, results, strict=True))
        return BuiltPlan(
            Plan(tuple(self.bodies), Produces(aliases)),
            tuple(slot.name for slot in self.slots),
            tuple(self.bindings + self.fills),
            self.extents,
            self.user_names,
        )

    # ------------------------------------------------------------------------------------------ names and leaves

    def numbered(self, prefix: str) -> str:
        """The next of prefix0, prefix1, ... that no user has taken."""
        while True:
            number = self.counters.get(prefix, 0)
            self.counters[prefix] = number + 1
            name = f"{prefix}{number}"
            if self.names.fresh(name) == name:
                return name

    def name_leaves(self) -> None:
        """Slots in order of first appearance, under the name that an einsum gives them, else t0, t1, ..."""
        given: dict[int, str] = {}
        for node in self.order:
            if node.kind == "einsum":
                for name, arg in zip(node.params[0].operands, node.args, strict=True):
                    if arg.kind == "tensor" and is_identifier(name):
                        given.setdefault(id(arg.data), name)
        taken = {key: self.names.fresh(name) for key, name in given.items()}
        for node in self.order:
            if node.kind == "scalar":
                self.scalars[id(node)] = len(self.scalars)
            elif node.kind == "tensor" and id(node.data) not in self.numbers:
                self.numbers[id(node.data)] = len(self.slots)
                name = taken.get(id(node.data)) or self.numbered("t")
                self.slots.append(self.slot(name, node.data.type))
                self.user_names[name] = given.get(id(node.data), name)

    def slot(self, name: str, found: TensorType) -> Slot:
        """A fill that is known only at run time gets a name of its own."""
        if isinstance(found.fill, Value):
            value = Value(self.names.fresh(f"{name}_fill"), found.dtype, found.fill.kind)
            found = found.replace(fill=value)
            self.fills.append(ValueBinding(value.name, -1, len(self.slots), found.dtype))
        return Slot(name, found)

    def leaf_slot(self, node: GraphNode) -> Slot:
        return self.slots[self.numbers[id(node.data)]]

    # ------------------------------------------------------------------------------------------ extents

    def origin(self, node: GraphNode) -> tuple[Origin, ...]:
        """Where each extent of the node's shape comes from."""
        given = [self.origins[id(arg)] for arg in node.args]
        match node.kind:
            case "tensor":
                return tuple((self.leaf_slot(node).name, axis) for axis in range(len(node.shape)))
            case "scalar":
                return ()
            case "map":
                return tuple(stretched(node, given, axis) for axis in range(len(node.shape)))
            case "reduce":
                _, axes, keepdims, _ = node.params
                pairs = list(enumerate(given[0]))
                return tuple(("", 1) if a in axes else origin for a, origin in pairs if keepdims or a not in axes)
            case "view":
                return tuple(("", a.extent) if isinstance(a, NewAxis) else given[0][a] for a in node.params)
            case "einsum":
                letters = self.letters(node)
                return tuple(letters[name] for name in node.params[0].left)
            case _:
                return given[0]

    def letters(self, node: GraphNode) -> dict[str, Origin]:
        """Where the extent of each index of an einsum comes from."""
        found: dict[str, Origin] = {}
        for access in node.params[0].reads:
            for axis, name in enumerate(access.index):
                found.setdefault(name, self.origins[id(node.args[access.operand])][axis])
        return found

    def fresh_field(self, origin: Origin, extent: int, user_name: str = "") -> Field:
        found = Field(self.numbered("f"))
        self.extents[found.name] = origin
        if user_name:
            self.user_names[found.name] = user_name
        return found

    # ------------------------------------------------------------------------------------------ down: fields

    def count_uses(self) -> None:
        for root in self.roots:
            self.use(root)
        for node in self.order:
            if node.kind == "einsum":
                for access in node.params[0].reads:
                    self.use(node.args[access.operand])
                    if len(set(access.index)) < len(access.index):
                        self.make_own(node.args[access.operand])
            elif node.kind not in ("view", "scalar"):
                for arg in node.args:
                    self.use(arg)
            if node.kind in ("reduce", "einsum") and 0 in self.reduced_extents(node):
                self.sites[id(node)].own = True

    def use(self, node: GraphNode) -> None:
        site = self.sites.get(id(strip_views(node)))
        if site is not None:
            site.uses += 1

    def make_own(self, node: GraphNode) -> None:
        site = self.sites.get(id(strip_views(node)))
        if site is not None:
            site.own = True

    def reduced_extents(self, node: GraphNode) -> list[int]:
        if node.kind == "reduce":
            return [node.args[0].shape[axis] for axis in node.params[1]]
        extents = letter_extents(node)
        return [extents[name] for name in node.params[0].reduced]

    def assign_fields(self) -> list[tuple[Field, ...]]:
        """Give every node its fields, parents first; the fields of each result."""
        results = []
        for root in self.roots:
            out = self.own_index(root)
            results.append(out)
            self.assign(root, out)
        for node in reversed(self.order):
            site = self.sites.get(id(node))
            if site is None:
                continue
            if site.index is None:
                site.index = self.own_index(node)
            for arg, index in zip(read_arguments(node), self.child_indices(node, site), strict=True):
                self.assign(arg, index)
        return results

    def own_index(self, node: GraphNode) -> tuple[Field, ...]:
        letters = node.params[0].left if node.kind == "einsum" else ("",) * len(node.shape)
        origins = self.origins[id(node)]
        return tuple(self.fresh_field(*each) for each in zip(origins, node.shape, letters, strict=True))

    def assign(self, node: GraphNode, index: Index) -> None:
        """The only reader of a node decides its fields."""
        node, index = through_views(node, index)
        site = self.sites.get(id(node))
        if site is not None and site.uses == 1 and not site.own:
            site.index = index

    def child_indices(self, node: GraphNode, site: _Site) -> list[Index]:
        """The fields under which a node reads its arguments, one entry per read."""
        assert site.index is not None
        match node.kind:
            case "map":
                return [aligned(arg, node, site.index) for arg in node.args]
            case "reduce":
                return [self.reduce_index(node, site, site.index)]
            case "einsum":
                letters = self.einsum_letters(node, site, site.index)
                return [tuple(letters[name] for name in access.index) for access in node.params[0].reads]
            case _:
                return [site.index]

    def reduce_index(self, node: GraphNode, site: _Site, outer: Index) -> Index:
        """The argument's fields: those of the result, and fresh ones along reduced axes but those of extent 1."""
        _, axes, keepdims, _ = node.params
        arg = node.args[0]
        supply = iter(outer)
        index: list[Field | None] = []
        for axis, extent in enumerate(arg.shape):
            if axis not in axes:
                index.append(next(supply))
                continue
            if keepdims:
                next(supply)
            if extent == 1:
                index.append(None)
            else:
                if axis not in site.inner:
                    site.inner[axis] = self.fresh_field(self.origins[id(arg)][axis], extent)
                index.append(site.inner[axis])
        return tuple(index)

    def einsum_letters(self, node: GraphNode, site: _Site, outer: Index) -> dict[str, Field | None]:
        program: EinsumProgram = node.params[0]
        letters: dict[str, Field | None] = dict(zip(program.left, outer, strict=True))
        if not site.inner:
            origins, extents = self.letters(node), letter_extents(node)
            site.inner = {name: self.fresh_field(origins[name], extents[name], name) for name in program.reduced}
        letters.update({str(name): f for name, f in site.inner.items()})
        return letters

    # ------------------------------------------------------------------------------------------ up: expressions

    def express(self, node: GraphNode) -> None:
        """The expression of a node over its fields; its Subquery or its own query if it has one."""
        site = self.sites[id(node)]
        assert site.index is not None
        match node.kind:
            case "map":
                reads = zip(node.args, self.child_indices(node, site), strict=True)
                args = [(self.read(arg, index), arg.type) for arg, index in reads]
                expr = self.apply(operator(node.params), args)[0]
            case "reduce":
                expr = self.reduce(node, site)
            case "einsum":
                expr = self.einsum(node, site)
            case _:
                expr = self.reformat(node, site.index)
        if site.own:
            order = tuple(f for f in site.index if f is not None)
            empty = node.kind in ("reduce", "einsum") and 0 in self.reduced_extents(node)
            made = self.query(self.names.fresh("temp"), expr, order, _fill_of_nothing(expr) if empty else None)
            site.alias = made
        elif site.uses > 1:
            rank = len(facts.fields(expr))
            site.alias = Alias(self.names.fresh("shared"), self.dense_type(expr, rank))
            expr = Subquery(site.alias, expr)
        site.expr = expr

    def read(self, node: GraphNode, index: Index) -> Operand:
        """A node under the fields that its reader wants; a scalar as it is, until `cast` knows its type."""
        under, inner = through_views(node, index)
        operand = self.read_stored(under, inner)
        if under is node:
            return operand
        expr = self.value(under, strong(under.type)) if isinstance(operand, GraphNode) else operand
        held = facts.fields(expr)
        repeated = tuple(f for f in dict.fromkeys(index) if f is not None and f not in held)
        return Reorder(expr, held + repeated) if repeated else expr

    def read_stored(self, node: GraphNode, index: Index) -> Operand:
        """`read` of a node that is no view."""
        if node.kind == "scalar":
            return node
        if node.kind == "tensor":
            return self.table(self.leaf_slot(node), index)
        site = self.sites[id(node)]
        assert site.expr is not None
        assert site.index is not None
        if site.own:
            assert site.alias is not None
            return self.table(site.alias, index)
        if site.uses == 1:
            return site.expr
        return self.renamed(site.expr, site.index, index)

    def table(self, tensor: Slot | Alias, index: Index) -> LogicExpr:
        """A tensor at some fields, and at 0 along axes that have none."""
        return Table(tensor, tuple(int_literal(0) if f is None else f for f in index))

    def renamed(self, expr: LogicExpr, has: Index, wants: Index) -> LogicExpr:
        """A shared expression under other fields; an axis that its reader drops is squeezed out."""
        new: dict[Field, Field] = {}
        dropped = False
        for f, wanted in zip(has, wants, strict=True):
            if f is not None:
                dropped |= wanted is None
                new[f] = wanted or self.fresh_field(self.extents[f.name], 1)
        order = tuple(new[f] for f in facts.fields(expr))
        renamed = Relabel(expr, order)
        return Reorder(renamed, tuple(f for f in order if f in wants)) if dropped else renamed

    def value(self, node: GraphNode, target: DType) -> LogicExpr:
        """A run-time scalar in one type; the same scalar in another type is another Value."""
        key = (self.scalars[id(node)], target)
        if key not in self.values:
            name = self.numbered("v")
            self.values[key] = Value(name, target, kind_of(fit_scalar(node.data, target)))
            self.bindings.append(ValueBinding(name, key[0], -1, target))
        return self.values[key]

    def aggregate(self, op: Operator, expr: LogicExpr, over: tuple[Field, ...]) -> LogicExpr:
        found = facts.dtype(expr)
        return Aggregate(op, Literal(identity(op, found), found), expr, over)

    def apply(self, op: Operator, args: Sequence[tuple[Operand, ElementType]]) -> tuple[LogicExpr, ElementType]:
        """`op` on arguments cast to their promoted type."""
        if is_comparison(op):
            args = self.comparable(op, args)
        op, wanted, result = promote(op, tuple(kind for _, kind in args))
        if cast_target(op) is not None:
            return self.convert(args[0][0], strong(result)), result
        cast = tuple(self.cast(expr, target) for (expr, _), target in zip(args, wanted, strict=True))
        return MapJoin(op, cast), result

    def comparable(
        self, op: Operator, args: Sequence[tuple[Operand, ElementType]]
    ) -> Sequence[tuple[Operand, ElementType]]:
        """The arguments of a comparison; a Python integer beyond the other's type is compared in a wider one."""
        wanted = promote(op, tuple(kind for _, kind in args))[1]
        found: list[tuple[Operand, ElementType]] = []
        for (expr, kind), dtype in zip(args, wanted, strict=True):
            known = expr.data if isinstance(expr, GraphNode) else expr.value if isinstance(expr, Literal) else None
            if isinstance(kind, Weak) and dtype.is_integer and known is not None:
                value, wide = comparable(known, dtype)
                if wide.is_float:
                    found.append((Literal(value, wide), wide))
                    continue
                kind = wide
            found.append((expr, kind))
        return found

    def cast(self, expr: Operand, target: DType) -> LogicExpr:
        """A literal or a scalar in another type is another literal or Value; anything else gets a cast operator."""
        if isinstance(expr, GraphNode):
            found = strong(expr.type)
            if (isinstance(expr.type, Weak) and is_wider(target, found)) or np.can_cast(
                found.numpy, target.numpy, "safe"
            ):
                return self.value(expr, target)
            expr = self.value(expr, found)
        if isinstance(expr, Literal):
            return Literal(fit_scalar(expr.value, target), target)
        return expr if facts.dtype(expr) == target else MapJoin(cast_operator(target), (expr,))

    def convert(self, expr: Operand, target: DType) -> LogicExpr:
        """An explicit cast, in which integers wrap around."""
        if isinstance(expr, GraphNode):
            expr = self.value(expr, strong(expr.type))
        if isinstance(expr, Literal):
            return Literal(cast_scalar(expr.value, target), target)
        return self.cast(expr, target)

    def reduce(self, node: GraphNode, site: _Site) -> LogicExpr:
        name, axes, keepdims, _ = node.params
        assert site.index is not None
        index = self.reduce_index(node, site, site.index)
        expr = self.cast(self.read(node.args[0], index), strong(node.type))
        over = tuple(f for axis, f in enumerate(index) if axis in axes and f is not None)
        if over:
            expr = self.aggregate(operator(name), expr, over)
        units = [site.index[axis] for axis in axes] if keepdims else []
        if any(f is not None for f in units):
            expr = Reorder(expr, tuple(f for f in site.index if f is not None))
        return expr

    def einsum(self, node: GraphNode, site: _Site) -> LogicExpr:
        program, target = node.params
        assert site.index is not None
        letters = self.einsum_letters(node, site, site.index)
        over = tuple(letters[name] for name in program.reduced)
        keep = target or (common_type(tuple(arg.type for arg in node.args)) if program.keep else None)
        term, kind = EinsumTerms(self, node, letters, keep).term(program.expr)
        expr = self.cast(term, strong(kind))
        if program.reduction in ("add", "mul") and not program.keep:
            expr = self.cast(expr, strong(node.type))
        truth = program.reduction in ("and", "or")
        if truth:
            expr = self.cast(expr, BOOL)
        reduced = tuple(f for f in over if f is not None)
        if reduced:
            op = operator("or" if program.keep and facts.dtype(expr).is_bool else program.reduction)
            expr = self.aggregate(op, expr, reduced)
        return self.cast(expr, strong(node.type)) if truth else expr

    def reformat(self, node: GraphNode, index: Index) -> LogicExpr:
        levels, perm, drop_fill = node.params
        order = tuple(f for f in index if f is not None)
        arg = Reorder(self.cast(self.read(node.args[0], index), strong(node.type)), order)
        kept = [axis for axis in perm if index[axis] is not None]
        if len(kept) < len(perm):  # an axis that its reader drops: the format is of no consequence
            return arg
        found = TensorType(levels, perm, facts.dtype(arg), facts.one_fill(facts.fill(arg), facts.dtype(arg)))
        return Reformat(found, arg, drop_fill)

    # ------------------------------------------------------------------------------------------ queries

    def result(self, root: GraphNode, index: tuple[Field, ...]) -> Alias:
        expr = self.cast(self.read(root, index), strong(root.type))
        inner = root.args[0] if root.kind == "format" else root
        name = inner.params[0].output if inner.kind == "einsum" else "out"
        alias = self.query(self.names.fresh(name), expr, index, None)
        self.user_names[alias.name] = name
        return alias

    def query(self, name: str, expr: LogicExpr, order: tuple[Field, ...], empty: Literal | None) -> Alias:
        """Add a query; `empty` is the fill of a reduction over nothing."""
        done = isinstance(expr, Reformat | Reorder) and facts.fields(expr) == order
        rhs = expr if done else Reorder(expr, order)
        if isinstance(rhs, Reformat):
            made = rhs.type
        else:
            made = self.dense_type(expr, len(order))
        if empty is not None:
            made = made.replace(fill=empty)
        alias = Alias(name, made)
        self.bodies.append(Query(alias, rhs, ()))
        return alias

    def dense_type(self, expr: LogicExpr, rank: int) -> TensorType:
        """A provisional type: the passes choose levels."""
        element = facts.dtype(expr)
        return TensorType((Dense(),) * rank, tuple(range(rank)), element, facts.one_fill(facts.fill(expr), element))


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
