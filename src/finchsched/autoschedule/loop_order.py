"""Choose a loop order: the cheapest that can write the target, counting the transposed copies it needs.

The cost of an order is the number of loop iterations by symbolic sizes (`structure`), plus the entries of each
operand that must be copied into another storage order.  Ties go to unit stride in the innermost loop, then to the
target's storage order, then to the order of first appearance.  Plans of up to 7 indices are searched exhaustively,
longer ones greedily.
"""

from dataclasses import dataclass
from itertools import permutations

from finchsched.ast.format import Level, TensorType, storage_order
from finchsched.ast.loop import Access, Assign, Index, Tensor, storage_names
from finchsched.autoschedule.structure import NONE_HUGE, Huge, Layout, entries, huge_names, visits
from finchsched.errors import LoweringError
from finchsched.formats.levels import Dense, SparseList
from finchsched.passes.loop.lower_to_loops import assembly_of
from finchsched.passes.loop.query_form import QueryForm

__all__ = ["LoopOrder", "choose_loop_order", "is_concordant", "loop_depths", "rotated_levels"]

EXHAUSTIVE = 7
_LAST_ITERATION = {"workspace": 2, "sort": 8}
"""What the innermost iterations cost: an update of a workspace about two plain ones, a listed term has to be sorted."""


@dataclass(frozen=True, slots=True)
class LoopOrder:
    """An order, its symbolic cost, and the accesses that need a transposed copy."""

    order: tuple[str, ...]
    cost: int
    copied: tuple[Access, ...]
    assembly: str


def loop_depths(access: Access, order: tuple[str, ...]) -> tuple[int, ...]:
    """For each storage level of an access, how deep the loop lies that decides its coordinate; -1 for a constant."""
    return tuple(order.index(name) if name else -1 for name in storage_names(access))


def is_concordant(access: Access, order: tuple[str, ...]) -> bool:
    """Whether loops in this order reach each compressed level of an access after the levels above it."""
    bound = loop_depths(access, order)
    return all(level.stores_all or max(bound[: n + 1]) == bound[n] for n, level in enumerate(access.tensor.type.levels))


def rotated_levels(access: Access, order: tuple[str, ...]) -> tuple[tuple[str, Level], ...]:
    """How a transposed copy of an access is stored: a dense level for the first loop, compressed ones below."""
    pairs = sorted(zip(loop_depths(access, order), storage_names(access), strict=True))
    return tuple((name, Dense() if n == 0 else SparseList()) for n, (_, name) in enumerate(pairs))


def choose_loop_order(form: QueryForm, target: TensorType, huge: Huge = NONE_HUGE) -> LoopOrder:
    """The best loop order for a query with this target type.  Raises LoweringError if none can write it.

    huge: axes along which nothing should be dense, a workspace neither.
    """
    avoided = huge_names(form, huge)
    best: tuple[tuple[int, ...], LoopOrder] | None = None
    for outer in _candidates(form, target):
        order = outer + form.inner
        try:
            assembly = assembly_of(form, target, order)
        except LoweringError:
            continue
        row = storage_order(target, form.index)[-1:]
        if assembly == "workspace" and avoided.intersection(row):
            continue
        found = _evaluate(form, order, assembly)
        key = (found.cost, -_unit_strides(form, target, order[-1:]), *_appearance(form, target, order))
        if best is None or key < best[0]:
            best = (key, found)
    if best is None:
        raise LoweringError(f"no loop order can write {form.alias.name} as {target}")
    return best[1]


def _candidates(form: QueryForm, target: TensorType) -> list[tuple[str, ...]]:
    names = form.loops
    if len(names) <= EXHAUSTIVE:
        return list(permutations(names))
    storage = storage_order(target, form.index)
    accesses = [tuple(n for n in storage_names(a) if n in names) for a in form.accesses()]
    leading = [tuple(dict.fromkeys(a + storage + names)) for a in accesses]
    return list(dict.fromkeys([storage + form.over, *leading]))


def _layout(form: QueryForm, order: tuple[str, ...]) -> tuple[Layout, tuple[Access, ...]]:
    layout: dict[Access, tuple[tuple[str, Level], ...]] = {}
    copied: list[Access] = []
    for access in form.accesses():
        if is_concordant(access, order):
            layout[access] = tuple(zip(storage_names(access), access.tensor.type.levels, strict=True))
        else:
            layout[access] = rotated_levels(access, order)
            copied.append(access)
    return layout, tuple(copied)


def _evaluate(form: QueryForm, order: tuple[str, ...], assembly: str) -> LoopOrder:
    layout, copied = _layout(form, order)
    tensors = dict.fromkeys((a.tensor, storage_names(a)) for a in copied)
    cost = sum(2 * entries(tensor.type) for tensor in {a.tensor for a in copied}) + len(tensors)
    iterations = 1
    whole = Assign(Access(Tensor(form.alias.name, form.alias.type), tuple(map(Index, form.index))), form.op, form.expr)
    for depth, name in enumerate(order):
        stmt = whole
        for producer in form.producers if depth >= len(form.loops) else ():
            if name in producer.over:
                stmt = Assign(producer.scalar, producer.op, producer.expr)
        iterations *= visits(form, stmt, name, layout)
        cost += iterations * (_LAST_ITERATION.get(assembly, 1) if depth == len(order) - 1 else 1)
    return LoopOrder(order, cost, copied, assembly)


def _unit_strides(form: QueryForm, target: TensorType, innermost: tuple[str, ...]) -> int:
    """How many dense operands, and the target, the innermost loop (none for a scalar) walks with unit stride."""
    count = sum(
        storage_names(a)[-1:] == innermost != () and a.tensor.type.levels[-1].stores_all for a in form.accesses()
    )
    return count + (storage_order(target, form.index)[-1:] == innermost != ())


def _appearance(form: QueryForm, target: TensorType, order: tuple[str, ...]) -> tuple[int, ...]:
    preferred = storage_order(target, form.index) + form.over + form.inner
    return tuple(preferred.index(name) for name in order)
