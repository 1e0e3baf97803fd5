"""What the mask rule says about a query: which indices can be skipped, and how many coordinates a loop visits.

Sizes here are symbolic: a dense axis counts DENSE coordinates, a compressed fiber SPARSE ones.  Only the order of
magnitude of the products matters; they decide between plans without looking at data.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType

from finchsched.ast.format import Level, TensorType
from finchsched.ast.loop import Access, Assign, Index, Tensor, storage_names
from finchsched.ast.node import Node
from finchsched.ast.scalar import Call, Literal, fold_calls
from finchsched.passes.loop.query_form import QueryForm
from finchsched.passes.lower.structural import Simplifier, Structural, carries_tensor, is_empty, uses_index

__all__ = [
    "DENSE",
    "NONE_HUGE",
    "SPARSE",
    "Huge",
    "Layout",
    "compressed_names",
    "entries",
    "huge_names",
    "huge_result",
    "simplifier_of",
    "skippable",
    "visits",
]

DENSE = 1 << 16
SPARSE = 1 << 4
ROWS = 1 << 8
"""The outermost level, if compressed, lists all rows that are not empty: many, and in every fiber of an outer loop."""

Layout = Mapping[Access, tuple[tuple[str, Level], ...]]
"""For each access, its (index name, level) pairs in the storage order in which a plan would read it."""


Huge = Mapping[str, tuple[int, ...]]
"""By name of a tensor, the axes that are so long, for what it stores, that nothing should be dense along them."""

NONE_HUGE: Huge = MappingProxyType({})


def huge_names(form: QueryForm, huge: Huge) -> frozenset[str]:
    """Indices of a query along which nothing should be dense."""
    found = (a.index[axis] for a in form.accesses() for axis in huge.get(a.tensor.name, ()))
    return frozenset(index.name for index in found if isinstance(index, Index))


def huge_result(form: QueryForm, huge: Huge) -> tuple[int, ...]:
    """The huge axes of a query's result."""
    names = huge_names(form, huge)
    return tuple(axis for axis, name in enumerate(form.index) if name in names)


def entries(type_: TensorType) -> int:
    """Symbolic number of stored entries of a tensor."""
    return math.prod(DENSE if level.stores_all else SPARSE for level in type_.levels)


def simplifier_of(form: QueryForm) -> Simplifier:
    """A simplifier for the form's expressions, with the fill that its target has."""
    return Simplifier(form.alias.type.fill, {p.scalar.name: p.init for p in form.producers})


def compressed_names(access: Access) -> tuple[str, ...]:
    """Index names that an access has at a compressed level."""
    pairs = zip(storage_names(access), access.tensor.type.levels, strict=True)
    return tuple(name for name, level in pairs if name and not level.stores_all)


def skippable(form: QueryForm, name: str, *, anywhere: bool = False) -> bool:
    """Whether a coordinate of an index can be skipped where every access that is compressed there is structural.

    With `anywhere`, where every sparse access that has the index is structural, at whichever level.
    """
    known: dict[Node, Node] = {
        a: Structural(a.tensor.type.fill)
        for a in form.accesses()
        if name in (storage_names(a) if anywhere and compressed_names(a) else compressed_names(a))
    }
    if not known:
        return False
    target = Access(Tensor(form.alias.name, form.alias.type), tuple(Index(n) for n in form.index))
    return is_empty(simplifier_of(form).stmt(Assign(target, form.op, form.expr), known))


def visits(form: QueryForm, stmt: Assign, name: str, layout: Layout) -> int:
    """How many coordinates a loop over `name` visits for an assignment, given how each access is read.

    Between stored coordinates, nothing happens, or the same thing all along a run, which takes one step; if what
    happens there depends on the coordinate (`r[j] min= A[i, j]` with the fill 0), the loop visits all of them.
    """
    simplifier = simplifier_of(form)
    found = _rate(simplifier, stmt.rhs, name, layout)
    if found is None:
        return DENSE
    between: dict[Node, Node] = {
        a: Structural(a.tensor.type.fill) for a, levels in layout.items() if _is_compressed(levels, name)
    }
    return DENSE if uses_index(simplifier.stmt(stmt, between), name) else found


def _is_compressed(levels: tuple[tuple[str, Level], ...], name: str) -> bool:
    return any(index == name and not level.stores_all for index, level in levels)


def _rate(simplifier: Simplifier, expr: Node, name: str, layout: Layout) -> int | None:
    """Coordinates at which `expr` may be stored, or None for all."""

    def leaf(node: Node) -> list[int] | None:
        if isinstance(node, Call):
            return None
        if not isinstance(node, Access):
            return []
        found = next(((n, level) for n, (index, level) in enumerate(layout[node]) if index == name), None)
        if found is None or found[1].stores_all:
            return []
        return [ROWS if found[0] == 0 and len(layout[node]) > 1 else SPARSE]

    def combine(call: Call, rates: tuple[list[int], ...]) -> list[int]:
        tensors = [(a, r) for a, r in zip(call.args, rates, strict=True) if carries_tensor(a)]
        limits = [r[0] for a, r in tensors if r and _absorbs_alone(simplifier, call, a)]
        if limits:
            return [min(limits)]
        known = [r[0] for _, r in tensors if r]
        return [min(sum(known), DENSE)] if tensors and len(known) == len(tensors) else []

    found = fold_calls(expr, leaf, combine)
    return found[0] if found else None


def _absorbs_alone(simplifier: Simplifier, call: Call, arg: Node) -> bool:
    structural = Structural(simplifier.fill(arg))
    return isinstance(simplifier.expr(call, {arg: structural}), Structural | Literal)
