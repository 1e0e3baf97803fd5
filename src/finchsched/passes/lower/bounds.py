"""Upper bounds on how many coordinates a nest appends to each level of its target, from the sizes of its operands."""

from finchsched.ast.format import is_sparse, storage_order
from finchsched.ast.loop import Access, Assign, Index, Nest, Scalar
from finchsched.ast.node import Node, walk
from finchsched.ast.scalar import Call
from finchsched.passes.lower.pattern import target_assign
from finchsched.passes.lower.signature import Bound, Entries, Extent, Least, Product, Total
from finchsched.passes.lower.structural import Simplifier, Structural, accesses, is_empty

__all__ = ["is_linear", "room_bound"]


def room_bound(nest: Nest, simplifier: Simplifier, level: int) -> Bound | None:
    """A bound on the coordinates of a sparse level of the target, or None for a dense level.

    It is the number of distinct tuples of the target's first indices at which the right-hand side can be stored: for
    an operand, the entries of its deepest level among those indices times the extents it does not have; the smallest
    of several operands where each absorbs, their sum elsewhere.
    """
    type_ = nest.target.type
    if type_.levels[level].stores_all:
        return None
    assign = target_assign(nest)
    assert isinstance(assign.target, Access)
    wanted = tuple(i.name for i in storage_order(type_, assign.target.index)[: level + 1] if isinstance(i, Index))
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
    match expr:
        case Access(tensor, index):
            storage = storage_order(tensor.type, index)
            names = [i.name if isinstance(i, Index) else "" for i in storage]
            inside = [n for n, name in enumerate(names) if name in wanted]
            if not inside or all(level.stores_all for level in tensor.type.levels):
                return full
            rest = tuple(Extent(name) for name in wanted if name not in names)
            return Product((Entries(tensor.name, inside[-1]), *rest))
        case Call(_, args):
            return _call_entries(expr, [a for a in args if _carries(a)], wanted, simplifier, full)
        case _:
            return full


def _call_entries(
    call: Call, tensors: list[Node], wanted: tuple[str, ...], simplifier: Simplifier, full: Bound
) -> Bound:
    if not tensors or any(isinstance(n, Index) for a in call.args for n in [a]):
        return full
    absorbing = [a for a in tensors if _alone_structural(call, a, simplifier)]
    if absorbing:
        return Least(tuple(_entries(a, wanted, simplifier, full) for a in absorbing))
    together = {a: Structural(simplifier.fill(a)) for a in tensors}
    if not isinstance(simplifier.expr(call, together), Structural):
        return full
    return Total(tuple(_entries(a, wanted, simplifier, full) for a in tensors))


def _alone_structural(call: Call, arg: Node, simplifier: Simplifier) -> bool:
    return isinstance(simplifier.expr(call, {arg: Structural(simplifier.fill(arg))}), Structural)


def _carries(expr: Node) -> bool:
    return any(isinstance(n, Access | Scalar) for n in walk(expr))


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
