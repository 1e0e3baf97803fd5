"""Random tensors for a plan's slots, and the comparison of two plans by what the interpreter makes of them."""

import numpy as np

from finchsched.algebra.dtypes import DType, Scalar
from finchsched.ast.facts import fields
from finchsched.ast.logic import (
    Aggregate,
    Alias,
    Coordinate,
    Field,
    LogicExpr,
    MapJoin,
    Plan,
    Reformat,
    Relabel,
    Reorder,
    Slot,
    Subquery,
    Table,
)
from finchsched.ast.names import Names
from finchsched.ast.node import walk
from finchsched.ast.parse_logic import parse_logic
from finchsched.ast.print_logic import print_logic
from finchsched.ast.scalar import Literal, Value
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.levels import Dense, SparseList
from finchsched.formats.numpy_convert import from_dense
from finchsched.interpret.logic import run_logic
from finchsched.passes.logic.query_root import all_names
from finchsched.rewrite import RuleContext

LEVELS = {"Dense": Dense, "SparseList": SparseList}
SCALARS = {"zero": 0, "one": 1, "finite": 2.5, "inf": float("inf"), "nan": float("nan")}


class _Extents:
    """Which axes and fields of a plan have one extent, by union-find over (owner, axis); then an extent for each."""

    def __init__(self, plan: Plan) -> None:
        self.parent: dict[tuple[object, ...], tuple[object, ...]] = {}
        self.ones: list[tuple[object, ...]] = []
        self.least: list[tuple[tuple[object, ...], int]] = []
        self.named: list[tuple[str, tuple[object, ...]]] = []
        self.added: dict[str, tuple[object, ...]] = {}
        self.fresh = 0
        for query in plan.bodies:
            self.axes(query.alias, list(self.visit(query.rhs).values()))

    def find(self, item: tuple[object, ...]) -> tuple[object, ...]:
        self.parent.setdefault(item, item)
        while self.parent[item] != item:
            item = self.parent[item]
        return item

    def unify(self, a: tuple[object, ...], b: tuple[object, ...]) -> None:
        self.parent[self.find(b)] = self.find(a)

    def axes(self, tensor: Slot | Alias, found: list[tuple[object, ...]]) -> None:
        for axis, item in enumerate(found):
            self.unify((tensor.name, axis), item)

    def unknown(self) -> tuple[object, ...]:
        self.fresh += 1
        return ("unknown", self.fresh)

    def visit(self, expr: LogicExpr) -> dict[Field, tuple[object, ...]]:
        """The class of each field of an expression, in order."""
        found = self._visit(expr)
        self.named.extend((f.name, item) for f, item in found.items())
        return {f: found[f] for f in fields(expr)}

    def _visit(self, expr: LogicExpr) -> dict[Field, tuple[object, ...]]:
        match expr:
            case Table(tensor, index):
                found: dict[Field, tuple[object, ...]] = {}
                for axis, i in enumerate(index):
                    if isinstance(i, Literal):
                        self.least.append((self.find((tensor.name, axis)), int(i.value) + 1))
                    else:
                        self.unify(found.setdefault(i, (tensor.name, axis)), (tensor.name, axis))
                return found
            case Coordinate(field):
                return {field: self.unknown()}
            case MapJoin(_, args):
                found = {}
                for arg in args:
                    for f, item in self.visit(arg).items():
                        self.unify(found.setdefault(f, item), item)
                return found
            case Aggregate(_, _, arg, _) | Reformat(_, arg, _):
                return self.visit(arg)
            case Subquery(alias, arg):
                found = self.visit(arg)
                self.axes(alias, list(found.values()))
                return found
            case Relabel(arg, order):
                return dict(zip(order, self.visit(arg).values(), strict=True))
            case Reorder(arg, order):
                found = self.visit(arg)
                self.ones.extend(item for f, item in found.items() if f not in order)
                added = {f: self.unknown() for f in order if f not in found}
                self.added |= {f.name: item for f, item in added.items()}
                return found | added
            case _:
                return {}

    def solve(self) -> dict[tuple[object, ...], int]:
        """Extents 4, 3, 5, 2, ... by first appearance; 1 where a Reorder leaves an axis out."""
        found = {self.find(item): 1 for item in self.ones}
        for item in list(self.parent):
            found.setdefault(self.find(item), (4, 3, 5, 2)[len(found) % 4])
        for item, least in self.least:
            found[self.find(item)] = max(found[self.find(item)], least)
        return {item: found[self.find(item)] for item in self.parent}


def extents_of(plan: Plan) -> tuple[dict[tuple[object, ...], int], dict[str, int]]:
    """Extents of the axes (tensor, axis); and by name, of fields that no table has or a Reorder adds."""
    classes = _Extents(plan)
    for _, item in classes.named:
        classes.find(item)
    solved = classes.solve()
    held = {i.name for t in walk(plan) if isinstance(t, Table) for i in t.index if isinstance(i, Field)}
    asked = {name: item for name, item in classes.named if name not in held} | classes.added
    return solved, {name: solved[item] for name, item in asked.items()}


def random_slots(plan: Plan, rng: np.random.Generator, odd: bool) -> dict[str, FiberTensor]:
    """A tensor for each slot; `odd` ones store NaN and infinities here and there."""
    solved = extents_of(plan)[0]
    slots = dict.fromkeys(node for node in walk(plan) if isinstance(node, Slot))
    return {
        slot.name: random_tensor(slot, tuple(solved[slot.name, n] for n in range(len(slot.type.levels))), rng, odd)
        for slot in slots
    }


def random_tensor(slot: Slot, shape: tuple[int, ...], rng: np.random.Generator, odd: bool) -> FiberTensor:
    kind, fill = slot.type.dtype, slot.type.fill
    value: Scalar = fill.value if isinstance(fill, Literal) else SCALARS[fill.kind] if isinstance(fill, Value) else 0
    array = rng.integers(-3, 4, shape).astype(kind.numpy)
    if odd and kind.is_float:
        array = np.where(rng.random(shape) < 0.25, rng.choice([np.nan, np.inf, -np.inf], shape), array)
    mask = rng.random(shape) < 0.5
    return from_dense(array.astype(kind.numpy), slot.type.levels, slot.type.perm, fill=value, mask=mask)


def scalar_values(plan: Plan) -> dict[str, Scalar]:
    def scalar(kind: str, dtype: DType) -> Scalar:
        return dtype.numpy.type(SCALARS[kind]).item()

    return {node.name: scalar(node.kind, node.dtype) for node in walk(plan) if isinstance(node, Value)}


def context_for(plan: Plan) -> RuleContext:
    return RuleContext(Names(all_names(plan)))


def assert_same_meaning(
    before: Plan, after: Plan, slots: dict[str, FiberTensor], extents: dict[str, int] | None = None
) -> None:
    """Equal values, fills and masks."""
    old = run_logic(before, slots, scalar_values(before), extents)
    new = run_logic(after, slots, scalar_values(after), extents)
    for a, b in zip(old, new, strict=True):
        np.testing.assert_allclose(a.values, b.values, rtol=1e-9, atol=1e-9, err_msg=print_logic(after))
        np.testing.assert_array_equal(a.stored, b.stored, err_msg=print_logic(after))
        np.testing.assert_allclose(np.asarray(a.fill, float), np.asarray(b.fill, float), rtol=1e-9)


def parse_plan(text: str) -> Plan:
    plan = parse_logic(text, LEVELS)
    assert isinstance(plan, Plan)
    return plan
