"""`normalize` on random programs as a front end would write them, on deep and shared ones; the checker of its form."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finchsched.algebra.dtypes import FLOAT64, Scalar
from finchsched.algebra.operators import identity, operator
from finchsched.ast.facts import dtype, fields, fill
from finchsched.ast.format import TensorType
from finchsched.ast.logic import (
    Aggregate,
    Alias,
    Coordinate,
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
from finchsched.ast.parse_logic import parse_logic
from finchsched.ast.print_logic import print_logic
from finchsched.ast.scalar import Literal, int_literal
from finchsched.ast.validate_logic import validate_logic
from finchsched.errors import RewriteError
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.levels import Dense, SparseList
from finchsched.formats.numpy_convert import from_dense
from finchsched.passes.logic.isolate_aggregates import isolate_aggregates
from finchsched.passes.logic.lift_subqueries import lift_subqueries
from finchsched.passes.logic.normal_form import NORMAL_FORM, is_normal_form, normalize
from finchsched.passes.logic.normalize_names import normalize_names
from finchsched.passes.logic.push_fields import push_fields
from finchsched.passes.logic.query_root import all_names
from finchsched.rewrite import RuleContext

LEVELS = {"Dense": Dense, "SparseList": SparseList}
VECTOR = TensorType((SparseList(),), (0,), FLOAT64, Literal(0.0, FLOAT64))
ADD, MUL = operator("add"), operator("mul")


def parse_plan(text: str) -> Plan:
    plan = parse_logic(text, LEVELS)
    assert isinstance(plan, Plan)
    return plan


def context_for(plan: Plan) -> RuleContext:
    return RuleContext(Names(all_names(plan)))


def dense_type(expr: LogicExpr) -> TensorType:
    rank = len(fields(expr))
    return TensorType((Dense(),) * rank, tuple(range(rank)), dtype(expr), fill(expr))


@dataclass
class FrontEnd:
    """Writes a plan as the front end does: each operation on fresh fields, joined by Relabel, shared parts by Subquery.

    `made` are the expressions so far; `extents` are those of all fields.
    """

    draw: Callable[[st.SearchStrategy[object]], object]
    rng: np.random.Generator
    odd: bool
    slots: dict[str, FiberTensor] = field(default_factory=dict)
    extents: dict[str, int] = field(default_factory=dict)
    made: list[LogicExpr] = field(default_factory=list)
    aliases: int = 0

    def choose(self, *options: object) -> object:
        return self.draw(st.sampled_from(options))

    def fresh(self, extent: int) -> Field:
        name = f"f{len(self.extents)}"
        self.extents[name] = extent
        return Field(name)

    def shape(self, expr: LogicExpr) -> tuple[int, ...]:
        return tuple(self.extents[f.name] for f in fields(expr))

    def alias(self, expr: LogicExpr) -> Alias:
        self.aliases += 1
        return Alias(f"A{self.aliases}", dense_type(expr))

    def relabeled(self, expr: LogicExpr) -> LogicExpr:
        return Relabel(expr, tuple(self.fresh(n) for n in self.shape(expr)))

    def leaf(self) -> LogicExpr:
        rank = int(self.draw(st.integers(0, 3)))  # type: ignore[call-overload]
        return self.table(tuple(self.choose(1, 2, 3) for _ in range(rank)))

    def table(self, shape: tuple[int, ...]) -> LogicExpr:
        rank = len(shape)
        zero = self.choose(0.0, 0.0, 0.0, float("inf"), 1.0)
        array = self.rng.integers(-3, 4, shape).astype(float)
        if self.odd:
            array = np.where(self.rng.random(shape) < 0.25, self.rng.choice([np.nan, np.inf, -np.inf], shape), array)
        levels = tuple(self.choose(Dense(), SparseList()) for _ in range(rank))
        perm = tuple(self.draw(st.permutations(range(rank))))  # type: ignore[call-overload]
        mask = self.rng.random(shape) < 0.5
        name = f"x{len(self.slots)}"
        self.slots[name] = from_dense(array, levels, perm, fill=zero, mask=mask)
        return Table(Slot(name, self.slots[name].type), tuple(self.fresh(n) for n in shape))

    def operand(self) -> LogicExpr:
        """One of the latest expressions, more often than not."""
        return self.draw(st.sampled_from(self.made[-3:] if self.draw(st.booleans()) else self.made))  # type: ignore[return-value]

    def step(self) -> None:
        kinds = (self.leaf, self.pointwise, self.pointwise, self.unary, self.aggregate, self.transpose)
        more = (self.squeeze, self.repeat, self.reformat, self.shared, self.shared, self.coordinate, self.wide)
        expr = self.draw(st.sampled_from(kinds + more))()  # type: ignore[operator]
        if len(fields(expr)) <= 3:
            self.made.append(expr)

    def unary(self) -> LogicExpr:
        return MapJoin(operator(str(self.choose("neg", "abs", "sign"))), (self.operand(),))

    def pointwise(self) -> LogicExpr:
        """NumPy's broadcasting: axes of extent 1 are dropped, the axes left are named alike."""
        a, b = self.operand(), self.operand()
        if any(m != n and 1 not in (m, n) for m, n in zip(self.shape(a)[::-1], self.shape(b)[::-1], strict=False)):
            return MapJoin(MUL, (a, self.scalar()))
        rank = max(len(fields(a)), len(fields(b)))
        ends = [(1,) * (rank - len(self.shape(e))) + self.shape(e) for e in (a, b)]
        out = tuple(self.fresh(max(pair)) for pair in zip(*ends, strict=True))
        args = tuple(self.stretched(e, out) for e in (a, b))
        name = str(self.choose("add", "sub", "mul", "mul", "min", "max"))
        return Reorder(MapJoin(operator(name), args), out)

    def stretched(self, expr: LogicExpr, out: tuple[Field, ...]) -> LogicExpr:
        ends = out[len(out) - len(fields(expr)) :]
        keep = [f for f, o in zip(fields(expr), ends, strict=True) if self.extents[f.name] == self.extents[o.name]]
        names = tuple(o for f, o in zip(fields(expr), ends, strict=True) if f in keep)
        dropped = Reorder(expr, tuple(keep)) if len(keep) < len(ends) else expr
        return Relabel(dropped, names)

    def wide(self) -> LogicExpr:
        """A sum, minimum or product of up to six tensors, leaning left or right."""
        shape = (int(self.choose(2, 3)),)  # type: ignore[call-overload]
        out = (self.fresh(shape[0]),)
        expr = Relabel(self.table(shape), out)
        for _ in range(int(self.draw(st.integers(3, 5)))):  # type: ignore[call-overload]
            args = (expr, Relabel(self.table(shape), out))
            op = operator(str(self.choose("add", "add", "add", "min", "mul")))
            expr = MapJoin(op, args if self.draw(st.booleans()) else args[::-1])
        return expr

    def scalar(self) -> Literal:
        return Literal(float(self.choose(2.0, -1.0, 0.0)), FLOAT64)  # type: ignore[arg-type]

    def aggregate(self) -> LogicExpr:
        arg = self.relabeled(self.operand())
        over = tuple(f for f in fields(arg) if self.draw(st.booleans()))
        op = operator(str(self.choose("add", "add", "max", "min", "mul")))
        init: Scalar = identity(op, FLOAT64) if self.draw(st.integers(0, 4)) else 2.0
        return Aggregate(op, Literal(init, FLOAT64), arg, over)

    def transpose(self) -> LogicExpr:
        arg = self.operand()
        return self.relabeled(Reorder(arg, tuple(self.draw(st.permutations(fields(arg))))))  # type: ignore[arg-type]

    def squeeze(self) -> LogicExpr:
        arg = self.operand()
        return Reorder(arg, tuple(f for f in fields(arg) if self.extents[f.name] != 1))

    def repeat(self) -> LogicExpr:
        arg = self.operand()
        return self.relabeled(Reorder(arg, (self.fresh(2), *fields(arg))))

    def reformat(self) -> LogicExpr:
        arg = self.operand()
        rank = len(fields(arg))
        levels = tuple(self.choose(Dense(), SparseList()) for _ in range(rank))
        perm = tuple(self.draw(st.permutations(range(rank))))  # type: ignore[call-overload]
        return Reformat(TensorType(levels, perm, FLOAT64, fill(arg)), arg, bool(self.draw(st.booleans())))

    def shared(self) -> LogicExpr:
        arg = self.operand()
        found = Subquery(self.alias(arg), arg)
        self.made.append(self.relabeled(found))
        return found

    def coordinate(self) -> LogicExpr:
        """`x * (i > 0)` for an x whose fill is 0, so that the fill does not depend on the coordinate."""
        arg = self.operand()
        if not fields(arg) or not isinstance(fill(arg), Literal) or fill(arg).value != 0.0:
            return arg
        test = MapJoin(operator("gt"), (Coordinate(fields(arg)[0]), int_literal(0)))
        return MapJoin(MUL, (arg, MapJoin(operator("to_float64"), (test,))))

    def plan(self, results: int) -> Plan:
        bodies = []
        for expr in dict.fromkeys(self.made[-results:]):
            alias = self.alias(expr)
            bodies.append(Query(alias, expr, ()))
        return Plan(tuple(bodies), Produces(tuple(query.alias for query in bodies)))


@st.composite
def programs(draw: Callable[..., object]) -> tuple[Plan, dict[str, FiberTensor], dict[str, int]]:
    rng = np.random.default_rng(int(draw(st.integers(0, 9))))  # type: ignore[call-overload]
    front = FrontEnd(draw, rng, bool(draw(st.booleans())))
    front.made.append(front.leaf())
    for _ in range(int(draw(st.integers(2, 9)))):  # type: ignore[call-overload]
        front.step()
    plan = front.plan(int(draw(st.integers(1, 3))))  # type: ignore[call-overload]
    return plan, front.slots, front.extents


@given(program=programs())
def test_normalize_keeps_the_meaning(
    program: tuple[Plan, dict[str, FiberTensor], dict[str, int]], equal_plans: Callable[..., None]
) -> None:
    plan, slots, extents = program
    validate_logic(plan)
    after, stages = normalize(plan, context_for(plan))
    assert [name for name, _ in stages] == [name for name, _ in NORMAL_FORM]
    before = plan
    for name, stage in stages:
        try:
            validate_logic(stage)
            equal_plans(before, stage, slots, extents)
        except Exception as error:
            raise AssertionError(f"{name}\n{print_logic(plan)}\n{print_logic(before)}\n{print_logic(stage)}") from error
        before = stage
    assert is_normal_form(after), print_logic(after)
    assert [a.type for a in after.result.aliases] == [a.type for a in plan.result.aliases]
    again = normalize(after, context_for(after))[0]  # unions that were split are joined and split again
    assert normalize_names(again, RuleContext())[0] == normalize_names(after, RuleContext())[0]


def test_a_deep_expression() -> None:
    i = Field("i")
    expr: LogicExpr = Table(Slot("x", VECTOR), (i,))
    for n in range(6_000):
        expr = MapJoin(ADD, (Relabel(expr, (i,)), Literal(float(n), FLOAT64)))
        fields(expr), dtype(expr), fill(expr)
    alias = Alias("R", dense_type(expr))
    plan = Plan((Query(alias, Relabel(expr, (Field("k"),)), ()),), Produces((alias,)))
    after = normalize(plan, context_for(plan))[0]
    assert is_normal_form(after) and len(after.bodies) == 1


def test_shared_subqueries_take_linear_time() -> None:
    i = Field("i")
    expr: LogicExpr = Table(Slot("x", VECTOR), (i,))
    for n in range(60):  # as a tree this has 2**60 leaves
        product = MapJoin(MUL, (expr, expr))
        expr = Subquery(Alias(f"S{n}", dense_type(product)), product)
    alias = Alias("R", dense_type(expr))
    lifted = lift_subqueries(Plan((Query(alias, expr, ()),), Produces((alias,))), RuleContext())
    assert [query.alias.name for query in lifted.bodies] == [f"S{n}" for n in range(60)] + ["R"]


def test_the_same_plan_gets_the_same_names() -> None:
    text = """
        slot a: Dense(SparseList[int64,int64](Element(0.0: float64)))
        alias R: Dense(Element(0.0: float64))
        R[j] := Relabel(MapJoin(neg, Aggregate(add, 0.0: float64, a[i, j], [j])), [j])
        return R
    """
    plan = parse_plan(text)
    first, second = (print_logic(normalize(plan, context_for(plan))[0]) for _ in range(2))
    assert first == second
    assert "S[i] := Reorder(Aggregate(add, 0.0: float64, a[i, j], [j]), [i])" in first


@pytest.mark.parametrize(
    "rhs",
    [
        "x[i]",
        "Relabel(x[j], [i])",
        "Reorder(Reorder(x[i], [i]), [i])",
        "Reorder(MapJoin(neg, Relabel(x[j], [i])), [i])",
        "Reorder(MapJoin(neg, Aggregate(add, 0.0: float64, a[i, j], [j])), [i])",
        "Reorder(Aggregate(add, 0.0: float64, Aggregate(max, 0.0: float64, b[i, j, k], [k]), [j]), [i])",
        "Reorder(Aggregate(add, 0.0: float64, x[i], []), [i])",
        "Reorder(Aggregate(add, 0.0: float64, x[j], [j]), [i])",
        "Reorder(Aggregate(add, 0.0: float64, x[i], [i]), [i])",
        "Reorder(a[i, j], [i])",
        "Reformat(Dense(Element(0.0: float64)), x[i])",
        "Reorder(Reformat(Dense(Element(0.0: float64)), x[i]), [i])",
        "Reorder(Subquery(S, x[i]), [i])",
    ],
)
def test_what_is_no_normal_form(rhs: str) -> None:
    declared = "\n".join(
        f"slot {n}: {'Dense(' * r}Element(0.0: float64){')' * r}" for n, r in (("x", 1), ("a", 2), ("b", 3))
    )
    aliases = "alias S: Dense(Element(0.0: float64))\nalias R: Dense(Element(0.0: float64))"
    assert not is_normal_form(parse_plan(f"{declared}\n{aliases}\nR[i] := {rhs}\nreturn R"))


def test_push_fields_refuses_what_is_not_isolated() -> None:
    header = "slot x: Dense(Element(0.0: float64))\nalias S: Dense(Element(0.0: float64))\n"
    header += "alias R: Dense(Element(0.0: float64))\n"
    plan = parse_plan(f"{header}R[i] := MapJoin(neg, Subquery(S, x[i]))\nreturn R")
    with pytest.raises(RewriteError, match="lift_subqueries"):
        push_fields(plan, context_for(plan))
    plan = parse_plan(f"{header}R[i] := MapJoin(neg, Reformat(Dense(Element(0.0: float64)), x[i]))\nreturn R")
    with pytest.raises(RewriteError, match="isolate_reformats"):
        push_fields(plan, context_for(plan))


def test_a_fill_that_depends_on_a_coordinate_is_replaced() -> None:
    text = """
    slot x: SparseList[int64,int64](Element(0.0: float64))
    alias R: Dense(Element(0.0: float64))
    R[i] := Reorder(MapJoin(neg, Aggregate(max, 0.0: float64, MapJoin(add, x[i], MapJoin(to_float64, @j)), [j])), [i])
    return R
    """
    plan = parse_plan(text)
    after = isolate_aggregates(plan, context_for(plan))
    validate_logic(after)
    assert after.bodies[0].alias.type.fill == Literal(0.0, FLOAT64)
