"""Logic IR: what is printed is read back the same, and random plans are valid."""

import pytest
from hypothesis import given

from finchsched.algebra.dtypes import FLOAT64, INT64
from finchsched.algebra.operators import operator
from finchsched.ast.format import TensorType
from finchsched.ast.logic import Alias, Field, LogicExpr, MapJoin, Plan, Produces, Query, Slot, Table
from finchsched.ast.parse_logic import parse_logic
from finchsched.ast.print_logic import print_logic
from finchsched.ast.scalar import Literal
from finchsched.ast.validate_logic import validate_logic
from finchsched.formats import levels
from ir_strategies import logic_exprs, plans

VOCABULARY = {name: getattr(levels, name) for name in levels.__all__}

SDDMM = """\
slot A: Dense(SparseList[int32,int32](Element(0.0: float64))) perm (1, 0)
slot X: Dense(Dense(Element(0.0: float64)))
alias S: Dense(SparseList[int64,int32](Element(0.0: float64)))
S[i, j] := Aggregate(add, 0.0: float64, MapJoin(mul, MapJoin(mul, A[i, j], X[i, k]), X[j, k]), [k]) order [i, j, k]
return S
"""

EVERY_FORM = """\
slot A: Dense(Dense(Element(nan: float64)))
slot b: Element(mul($v: float64 ~inf, to_float64(size(i))), float64)
slot MapJoin: Dense(Element(-0.0: float32))
alias T: Dense(Dense(Element(-inf: float64)))
alias Q: SparseList[int32,int64](SparseByteMap[uint32](Element(inf: float64))) perm (1, 0)
T[p, q] := Relabel(Subquery(Q, Reorder(MapJoin(add, A[i, i], b[]), [i, j])), [p, q])
Q[i] := Reformat(Dense(Element(True: bool)), MapJoin(gt, @i, 3: int64), drop_fill)
T[] := MapJoin(sub, MapJoin[0], $x: float32 ~finite)
return T, Q
"""


def deep_map(depth: int) -> LogicExpr:
    add, table = operator("add"), Table(Slot("x", TensorType((), (), FLOAT64, Literal(0.0, FLOAT64))), ())
    expr: LogicExpr = table
    for n in range(depth):
        expr = MapJoin(add, (expr, table) if n % 2 else (table, expr))
    return expr


def test_a_plan_reads_like_this():
    plan = parse_logic(SDDMM, VOCABULARY)
    validate_logic(plan)
    assert print_logic(plan) == SDDMM


def test_every_form_is_read_and_printed():
    assert print_logic(parse_logic(EVERY_FORM, VOCABULARY)) == EVERY_FORM


def test_spaces_comments_and_empty_lines_do_not_matter():
    text = "\n# a remark\nslot  x :Element( 0 :int64)  # another\r\n\n MapJoin(add,x[ ] , -1:int64)"
    assert print_logic(parse_logic(text, {})) == "slot x: Element(0: int64)\nMapJoin(add, x[], -1: int64)\n"


def test_a_text_without_return_is_a_query():
    text = SDDMM.removesuffix("return S\n")
    query = parse_logic(text, VOCABULARY)
    assert isinstance(query, Query)
    assert print_logic(query) == text


def test_an_empty_plan():
    assert print_logic(Plan((), Produces(()))) == "return\n"
    assert parse_logic("return\n", {}) == Plan((), Produces(()))


def test_literals_keep_their_python_type():
    for value in (1, 1.0, True, -0.0, 0.0, 5e-324, 1.7976931348623157e308, float("nan"), -float("inf"), 2**63):
        literal = Literal(value, INT64)
        assert parse_logic(print_logic(literal), {}) == literal


@given(plans())
def test_plans(plan):
    validate_logic(plan)
    text = print_logic(plan)
    assert parse_logic(text, VOCABULARY) == plan
    assert text.isascii() and len(text.splitlines()) == len(set(text.splitlines()))


@given(logic_exprs())
def test_expressions(expr):
    assert parse_logic(print_logic(expr), VOCABULARY) == expr


def test_a_map_nested_ten_thousand_deep():
    expr = deep_map(10_000)
    alias = Alias("y", TensorType((), (), FLOAT64, Literal(0.0, FLOAT64)))
    plan = Plan((Query(alias, expr, ()),), Produces((alias,)))
    validate_logic(plan)
    assert parse_logic(print_logic(expr), VOCABULARY) == expr
    assert parse_logic(print_logic(plan), VOCABULARY) == plan


def test_a_shared_expression_is_validated_once():
    expr: LogicExpr = Table(Slot("x", TensorType((), (), FLOAT64, Literal(0.0, FLOAT64))), ())
    for _ in range(60):
        expr = MapJoin(operator("add"), (expr, expr))
    alias = Alias("y", TensorType((), (), FLOAT64, Literal(0.0, FLOAT64)))
    validate_logic(Plan((Query(alias, expr, ()),), Produces((alias,))))


def test_a_lone_field_is_refused():
    with pytest.raises(TypeError, match="Field is not a plan"):
        print_logic(Field("i"))
