"""Which field each axis of a graph's nodes has, and which nodes become queries of their own."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from finchsched.api.einsum_program import EinsumProgram
from finchsched.api.graph import GraphNode
from finchsched.api.graph_axes import aligned, letter_extents, read_arguments, strip_views, through_views
from finchsched.api.logic_extents import Origin, extent_origins, letter_origins
from finchsched.api.logic_leaves import Leaves
from finchsched.ast.logic import Alias, Field, LogicExpr

__all__ = ["FieldAssignment", "Index", "Site", "reduced_extents"]

Index: TypeAlias = tuple[Field | None, ...]
"""The field of each axis; an axis of extent 1 that is stretched has none."""


@dataclass(slots=True)
class Site:
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


class FieldAssignment:
    """The fields of all nodes under `roots`, given from the roots down.

    sites: of each node that is neither a leaf nor a view, by id.  extents: where that of each field comes from.
    results: the fields of each root.
    """

    def __init__(self, roots: Sequence[GraphNode], order: Sequence[GraphNode], leaves: Leaves) -> None:
        self.roots = roots
        self.order = order
        self.sites = {id(n): Site() for n in order if n.kind not in ("tensor", "scalar", "view")}
        self.extents: dict[str, Origin] = {}
        self.origins = extent_origins(order, leaves)
        self._leaves = leaves
        self._count_uses()
        self.results = self._assign_fields()

    def fresh_field(self, origin: Origin, extent: int, user_name: str = "") -> Field:
        """A field that no node has yet."""
        found = Field(self._leaves.numbered("f"))
        self.extents[found.name] = origin
        if user_name:
            self._leaves.user_names[found.name] = user_name
        return found

    def _count_uses(self) -> None:
        for root in self.roots:
            self._use(root)
        for node in self.order:
            if node.kind == "einsum":
                for access in node.params[0].reads:
                    self._use(node.args[access.operand])
                    if len(set(access.index)) < len(access.index):
                        self._make_own(node.args[access.operand])
            elif node.kind not in ("view", "scalar"):
                for arg in node.args:
                    self._use(arg)
            if node.kind in ("reduce", "einsum") and 0 in reduced_extents(node):
                self.sites[id(node)].own = True

    def _use(self, node: GraphNode) -> None:
        site = self.sites.get(id(strip_views(node)))
        if site is not None:
            site.uses += 1

    def _make_own(self, node: GraphNode) -> None:
        site = self.sites.get(id(strip_views(node)))
        if site is not None:
            site.own = True

    def _assign_fields(self) -> list[tuple[Field, ...]]:
        """Give every node its fields, parents first; the fields of each result."""
        results = []
        for root in self.roots:
            out = self._own_index(root)
            results.append(out)
            self._assign(root, out)
        for node in reversed(self.order):
            site = self.sites.get(id(node))
            if site is None:
                continue
            if site.index is None:
                site.index = self._own_index(node)
            for arg, index in zip(read_arguments(node), self.child_indices(node, site), strict=True):
                self._assign(arg, index)
        return results

    def _own_index(self, node: GraphNode) -> tuple[Field, ...]:
        letters = node.params[0].left if node.kind == "einsum" else ("",) * len(node.shape)
        origins = self.origins[id(node)]
        return tuple(self.fresh_field(*each) for each in zip(origins, node.shape, letters, strict=True))

    def _assign(self, node: GraphNode, index: Index) -> None:
        """The only reader of a node decides its fields."""
        node, index = through_views(node, index)
        site = self.sites.get(id(node))
        if site is not None and site.uses == 1 and not site.own:
            site.index = index

    def child_indices(self, node: GraphNode, site: Site) -> list[Index]:
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

    def reduce_index(self, node: GraphNode, site: Site, outer: Index) -> Index:
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

    def einsum_letters(self, node: GraphNode, site: Site, outer: Index) -> dict[str, Field | None]:
        """The field of each index: those of the result, and fresh ones for what is reduced."""
        program: EinsumProgram = node.params[0]
        letters: dict[str, Field | None] = dict(zip(program.left, outer, strict=True))
        if not site.inner:
            origins, extents = letter_origins(node, self.origins), letter_extents(node)
            site.inner = {name: self.fresh_field(origins[name], extents[name], name) for name in program.reduced}
        letters.update({str(name): f for name, f in site.inner.items()})
        return letters


def reduced_extents(node: GraphNode) -> list[int]:
    """The extents that a reduction or einsum reduces."""
    if node.kind == "reduce":
        return [node.args[0].shape[axis] for axis in node.params[1]]
    extents = letter_extents(node)
    return [extents[name] for name in node.params[0].reduced]
