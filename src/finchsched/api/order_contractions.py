"""Contract long products pair by pair, where that takes far fewer steps than what was written.

    y[i] += A[i,j] * B[j,k] * v[k]    ->    T[j] += B[j,k] * v[k];  y[i] += A[i,j] * T[j]

An einsum that only another one reads counts as part of it, so `A @ B @ v` is ordered like the einsum above.  What makes
no great difference stays as it is: one nest of several operands stores nothing in between.

Sums of floats are taken in another order and factored, which the setting `reassociate="algebra"` allows.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from finchsched.api.contraction_order import STORE, Contraction, Factor, choose_order, contracted, nest_cost
from finchsched.api.einsum_program import Access, EinsumProgram, Operation, Term, product_of
from finchsched.api.graph import GraphNode, NewAxis, cast_node, einsum_node, with_arguments
from finchsched.api.graph_axes import read_arguments, strip_views
from finchsched.api.promotion import strong
from finchsched.ast.format import is_sparse
from finchsched.settings import current

__all__ = ["order_contractions"]

MARGIN = 2
"""How many times cheaper another order must be."""
MOST = 8
"""The largest number of operands of a product that is put in order as a whole."""


@dataclass(frozen=True, slots=True)
class _Operand:
    """A factor of a product with its node and its name."""

    node: GraphNode
    letters: tuple[str, ...]
    name: str

    @property
    def factor(self) -> Factor:
        """What its cost depends on."""
        return Factor(self.letters, _stored(self.node))


def order_contractions(roots: Sequence[GraphNode], nodes: Sequence[GraphNode]) -> tuple[GraphNode, ...]:
    """The graphs with long products in a good order.  `nodes`: all of their nodes, arguments first."""
    products = [n for n in nodes if n.kind == "einsum" and _is_product(n)]
    if not any(len(n.args) > 2 or any(strip_views(arg).kind == "einsum" for arg in n.args) for n in products):
        return tuple(roots)
    uses = _uses(roots, nodes)
    ordered: dict[int, tuple[list[_Operand], tuple[tuple[int, int], ...]]] = {}
    inlined: set[int] = set()
    for node in reversed(products):
        if id(node) not in inlined:
            operands, inner, cost = _flattened(node, uses)
            best, path = _choice(node, operands)
            if path and MARGIN * best < cost:
                ordered[id(node)] = operands, path
                inlined |= inner
    if not ordered:
        return tuple(roots)
    new: dict[int, GraphNode] = {}
    for node in nodes:
        if id(node) in ordered:
            new[id(node)] = _by_pairs(node, *ordered[id(node)], new)
        else:
            new[id(node)] = with_arguments(node, tuple(new[id(arg)] for arg in node.args))
    return tuple(new[id(root)] for root in roots)


def _is_product(node: GraphNode) -> bool:
    """Whether an einsum is a sum of one product whose operands may be cast to its type first, and then regrouped."""
    program: EinsumProgram = node.params[0]
    dtype = strong(node.type)
    if not (dtype.is_bool or dtype.is_integer) and current().reassociate != "algebra":
        return False
    if program.keep:
        return True
    same = all(strong(arg.type) == dtype for arg in node.args)
    return program.reduction == "add" and not dtype.is_bool and same and _multiplies(program.expr)


def _multiplies(expr: Term) -> bool:
    stack = [expr]
    while stack:
        term = stack.pop()
        if isinstance(term, Operation) and term.op == "mul":
            stack.extend(term.args)
        elif not isinstance(term, Access):
            return False
    return True


def _uses(roots: Sequence[GraphNode], nodes: Sequence[GraphNode]) -> Counter[int]:
    """How often each node is read, through views."""
    found = Counter(id(strip_views(root)) for root in roots)
    for node in nodes:
        if node.kind not in ("view", "scalar"):
            found.update(id(strip_views(arg)) for arg in read_arguments(node))
    return found


def _operands(node: GraphNode, renamed: Mapping[str, str]) -> list[_Operand]:
    """The operands of one einsum, under other letters."""
    program: EinsumProgram = node.params[0]
    return [
        _Operand(node.args[a.operand], tuple(renamed.get(c, c) for c in a.index), program.operands[a.operand])
        for a in program.reads
    ]


def _flattened(node: GraphNode, uses: Mapping[int, int]) -> tuple[list[_Operand], set[int], int]:
    """(the operands of a product with those of its inner products, the inner products, the cost as it is written)."""
    operands = _operands(node, {})
    cost = nest_cost([o.factor for o in operands], _extents(operands))
    inner: set[int] = set()
    place = 0
    while place < len(operands):
        found, letters = _through_permutations(operands[place])
        mergeable = found.kind == "einsum" and uses[id(found)] == 1 and found.type == node.type and _is_product(found)
        if not mergeable or len(operands) - 1 + len(found.params[0].reads) > MOST:
            place += 1
            continue
        program: EinsumProgram = found.params[0]
        fresh = {c: f"{c}_{len(inner)}" for c in program.reduced}
        parts = _operands(found, {**fresh, **dict(zip(program.left, letters, strict=True))})
        factors = [part.factor for part in parts]
        result = _stored(found)
        cost += nest_cost(factors, _extents(parts)) + STORE * (math.prod(found.shape) if result is None else result)
        operands[place : place + 1] = parts
        inner.add(id(found))
    return operands, inner, cost


def _through_permutations(operand: _Operand) -> tuple[GraphNode, tuple[str, ...]]:
    """The node under views that only permute axes, and the letters of its axes."""
    node, letters = operand.node, operand.letters
    while node.kind == "view" and len(node.params) == len(node.args[0].shape) and not _adds(node):
        letters = tuple(letters[node.params.index(axis)] for axis in range(len(letters)))
        node = node.args[0]
    return node, letters


def _adds(view: GraphNode) -> bool:
    return any(isinstance(axis, NewAxis) for axis in view.params)


def _extents(operands: Sequence[_Operand]) -> tuple[tuple[str, int], ...]:
    return tuple(dict(pair for o in operands for pair in zip(o.letters, o.node.shape, strict=True)).items())


def _choice(node: GraphNode, operands: Sequence[_Operand]) -> tuple[int, tuple[tuple[int, int], ...]]:
    factors = tuple(operand.factor for operand in operands)
    return choose_order(Contraction(factors, node.params[0].left, _extents(operands), current().densify))


def _by_pairs(
    node: GraphNode, operands: Sequence[_Operand], path: Sequence[tuple[int, int]], new: Mapping[int, GraphNode]
) -> GraphNode:
    """The product as a tree of einsums.  `new`: what nodes have become."""
    program: EinsumProgram = node.params[0]
    dtype = strong(node.type)
    left = [_Operand(cast_node(new[id(o.node)], dtype), o.letters, o.name) for o in operands]
    for pair in path:
        out = contracted([o.factor for o in left], pair, program.left)
        part = _einsum("part", out, [left[n] for n in pair])
        left = [o for n, o in enumerate(left) if n not in pair]
        left.append(_Operand(part, out, "part"))
    return _einsum(program.output, program.left, left)


def _einsum(name: str, out: tuple[str, ...], operands: Sequence[_Operand]) -> GraphNode:
    program = product_of(name, out, tuple((o.name, o.letters) for o in operands))
    return einsum_node(program, tuple(o.node for o in operands))


def _stored(node: GraphNode) -> int | None:
    """A bound on the entries of a node that are stored beside a fill of 0; None if all may be."""
    match node.kind:
        case "tensor":
            held = is_sparse(node.data.type) and node.data.fill == 0
            return node.data.stored if held else None
        case "view":
            return None if _adds(node) else _stored(node.args[0])
        case "format":
            return _stored(node.args[0])
        case "map" if len(node.args) == 1 and node.params.startswith("to_"):
            return _stored(node.args[0])
        case _:
            return None
