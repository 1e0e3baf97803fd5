"""Which operand's stored coordinates a nest's target has, if it has exactly one operand's."""

from itertools import combinations

from finchsched.ast.format import is_sparse, storage_order
from finchsched.ast.loop import Access, Assign, Block, Declare, Define, If, Index, Loop, Nest, Stmt, Tensor
from finchsched.ast.node import Node, walk
from finchsched.passes.lower.structural import Simplifier, Structural, accesses, is_empty, uses_coordinate

__all__ = ["pattern_source", "scalar_fills", "target_assign", "workspaces"]


def target_assign(nest: Nest) -> Assign:
    """The assignment that writes the nest's target."""
    for node in walk(nest.body):
        if isinstance(node, Assign) and isinstance(node.target, Access) and node.target.tensor == nest.target:
            return node
    raise ValueError(f"nest {nest.target.name} never assigns its target")


def workspaces(nest: Nest) -> tuple[Tensor, ...]:
    """The tensors that a nest declares for itself, in order."""
    return tuple(n.tensor for n in walk(nest.body) if isinstance(n, Declare))


def scalar_fills(body: Stmt) -> dict[str, Node]:
    """The fill of each local scalar: what it holds if nothing is ever added to it."""
    return {n.scalar.name: n.init for n in walk(body) if isinstance(n, Define)}


def _loops_to(body: Stmt, assign: Assign) -> tuple[str, ...]:
    """Names of the loops around an assignment, outermost first."""
    stack: list[tuple[Stmt, tuple[str, ...]]] = [(body, ())]
    while stack:
        node, around = stack.pop()
        if node == assign:
            return around
        inner = (*around, node.index.name) if isinstance(node, Loop) else around
        for child in _statements(node):
            stack.append((child, inner))
    raise ValueError("the assignment is not in this body")


def _statements(stmt: Stmt) -> tuple[Stmt, ...]:
    """The statements directly inside one."""
    match stmt:
        case Block(body):
            return body
        case Loop(_, body) | If(_, body):
            return (body,)
        case _:
            return ()


def pattern_source(body: Stmt, target: Tensor) -> Access | None:
    """The operand whose stored coordinates are exactly those of the target, visited in the target's storage order.

    That operand must have the target's indices and make the assignment vanish where it is structural, and no others,
    alone or together, may do so; then the target may share its index arrays.
    """
    assign = target_assign(Nest(target, "dense", body))
    assert isinstance(assign.target, Access)
    order = storage_order(target.type, assign.target.index)
    loops = _loops_to(body, assign)
    if loops[: len(order)] != tuple(i.name for i in order if isinstance(i, Index)) or not order:
        return None
    if uses_coordinate(assign.rhs):
        return None
    simplifier = Simplifier(target.type.fill, scalar_fills(body))
    sparse = [a for a in dict.fromkeys(accesses(assign.rhs)) if is_sparse(a.tensor.type)]
    vanishing = [a for a in sparse if _vanishes(simplifier, assign, (a,))]
    if len(vanishing) != 1:
        return None
    model = vanishing[0]
    others = [a for a in sparse if a != model]
    if any(_vanishes(simplifier, assign, some) for n in range(len(others)) for some in combinations(others, n + 1)):
        return None
    same_order = storage_order(model.tensor.type, model.index) == order
    return model if same_order and len(set(order)) == len(order) else None


def _vanishes(simplifier: Simplifier, assign: Assign, structural: tuple[Access, ...]) -> bool:
    """Whether the assignment does nothing where these operands are structural."""
    return is_empty(simplifier.stmt(assign, {a: Structural(a.tensor.type.fill) for a in structural}))
