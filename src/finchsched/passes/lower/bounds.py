"""Upper bounds on how many coordinates a nest appends to each level of its target, from the sizes of its operands."""

from finchsched.ast.format import is_sparse
from finchsched.ast.loop import Access, Assign, Index, Nest, storage_names
from finchsched.ast.node import Node, walk
from finchsched.ast.scalar import Call, fold_calls
from finchsched.formats.levels.sparse_coo import counted_at
from finchsched.passes.lower.pattern import target_assign
from finchsched.passes.lower.signature import Bound, Entries, Extent, Least, Product, Total
from finchsched.passes.lower.structural import Simplifier, Structural, accesses, carries_tensor, is_empty

__all__ = ["is_linear", "room_bound"]


def room_bound(nest: Nest, simplifier: Simplifier, level: int) -> Bound | None:
    """A bound on the coordinates of a sparse level of the target, or None for a dense level.

    All axes of a coordinate list need the room of its last one.

    It is the number of distinct tuples of the target's first indices at which the right-hand side can be stored: for
    an operand, the entries of its deepest level among those indices times the extents it does not have; the smallest
    of several operands where each absorbs, their sum elsewhere.
    """
    type_ = nest.target.type
    if type_.levels[level].stores_all:
        return None
    level = counted_at(type_.levels, level)
    assign = target_assign(nest)
    assert isinstance(assign.target, Access)
    wanted = tuple(filter(None, storage_names(assign.target)[: level + 1]))
    full = Product(tuple(Extent(name) for name in wanted))
    source = _source(nest, assign)
    nothing: dict[Node, Node] = {
        a: Structural(a.tensor.type.fill) for a in accesses(source.rhs) if is_sparse(a.tensor.type)
    }
    if not nothing or not is_empty(simplifier.stmt(source, nothing)):
        return full
    return Least((full, _entries(source.rhs, wanted, simplifier, full)))


def _source(nest: Nest, assign: Assign) -> Assign:
    """The assignment whose stored coordinates the target gets: through a workspace, the one that collects there."""
    for node in walk(nest.body):
        if isinstance(node, Assign) and node.target == assign.rhs:
            return node
    return assign


def _entries(expr: Node, wanted: tuple[str, ...], simplifier: Simplifier, full: Bound) -> Bound:
    """A bound on the tuples of `wanted` indices at which an expression may be stored."""

    def leaf(node: Node) -> Bound | None:
        match node:
            case Call():
                return None
            case Access():
                return _of_access(node, wanted, full)
            case _:
                return full

    return fold_calls(expr, leaf, lambda call, bounds: _of_call(call, bounds, simplifier, full))


def _of_access(access: Access, wanted: tuple[str, ...], full: Bound) -> Bound:
    names = storage_names(access)
    inside = [n for n, name in enumerate(names) if name in wanted]
    if not inside or not is_sparse(access.tensor.type):
        return full
    rest = tuple(Extent(name) for name in wanted if name not in names)
    return Product((Entries(access.tensor.name, inside[-1]), *rest))


def _of_call(call: Call, bounds: tuple[Bound, ...], simplifier: Simplifier, full: Bound) -> Bound:
    tensors = {a: b for a, b in zip(call.args, bounds, strict=True) if carries_tensor(a)}
    if not tensors or any(isinstance(a, Index) for a in call.args):
        return full
    if call.op.name == "where" and call.args[0] not in tensors and len(tensors) < 2:
        return full  # where a mask picks the scalar, every coordinate is written
    absorbing = [b for a, b in tensors.items() if _vanishes(call, (a,), simplifier)]
    if absorbing:
        return Least(tuple(absorbing))
    if not _vanishes(call, tuple(tensors), simplifier):
        return full
    parts = [p for b in tensors.values() for p in (b.parts if isinstance(b, Total) else (b,))]
    return Total(tuple(parts))


def _vanishes(call: Call, structural: tuple[Node, ...], simplifier: Simplifier) -> bool:
    """Whether a call is structural where these arguments are."""
    known: dict[Node, Node] = {a: Structural(simplifier.fill(a)) for a in structural}
    return isinstance(simplifier.expr(call, known), Structural)


def is_linear(bound: Bound) -> bool:
    """Whether a bound is at most a sum of operands' entries and single extents, so that allocating it is never
    absurd.
    """
    match bound:
        case Extent() | Entries():
            return True
        case Total(parts):
            return all(is_linear(p) for p in parts)
        case Least(parts):
            return any(is_linear(p) for p in parts)
        case Product(parts):
            return len(parts) <= 1 and all(is_linear(p) for p in parts)
