"""The validator of Logic IR: one plan that must be refused per rule, beside ones that must not."""

import pytest

from finchsched.algebra.dtypes import BOOL, FLOAT64, INT64, UINT8
from finchsched.algebra.operators import operator
from finchsched.ast.format import TensorType
from finchsched.ast.logic import Alias, Field, MapJoin, Plan, Produces, Query, Slot, Subquery, Table
from finchsched.ast.parse_logic import parse_logic
from finchsched.ast.scalar import Call, Literal, Size, Value
from finchsched.ast.validate_logic import validate_logic
from finchsched.errors import ValidationError
from finchsched.formats import levels

VOCABULARY = {name: getattr(levels, name) for name in levels.__all__}

HEADER = """\
slot A: Dense(SparseList[int64,int64](Element(0.0: float64)))
slot B: Dense(Dense(Element(0.0: float64)))
slot n: Dense(Element(0: int64))
slot m: Dense(Element(False: bool))
alias S: Dense(Dense(Element(0.0: float64)))
alias v: Dense(Element(0.0: float64))
alias w: Dense(Element(0: int64))
alias c: Element(0.0: float64)
"""


def scalar_type(fill=None, dtype=FLOAT64):
    return TensorType((), (), dtype, fill or Literal(0.0, FLOAT64))


def plan_of(rhs, alias=None):
    alias = alias or Alias("c", scalar_type())
    return Plan((Query(alias, rhs, ()),), Produces((alias,)))


def refusal(plan):
    with pytest.raises(ValidationError) as info:
        validate_logic(plan)
    return str(info.value)


@pytest.mark.parametrize(
    "body",
    [
        "S[i, j] := MapJoin(where, m[i], A[i, j], 1.0: float64)\nreturn S",
        "S[i, j] := MapJoin(mul, A[i, j], MapJoin(to_float64, @i))\nreturn S, S",
        "v[i] := Aggregate(min, inf: float64, A[i, j], [j]) order [j, i]\n"
        "c[] := Aggregate(max, 0.0: float64, v[k], [k])",
        "c[] := A[0, 3]",
        "v[i] := A[i, i]",
        "v[j] := Reorder(A[i, j], [j])",
        "v[k] := B[k, 0]\nS[i, j] := Reorder(Relabel(v[k], [i]), [i, j])",
        "c[] := MapJoin(add, Aggregate(add, 0.0: float64, Subquery(v, B[i, 0]), [i]), "
        "Aggregate(mul, 1.0: float64, Subquery(v, B[i, 0]), [i]))",
        "w[i] := MapJoin(floordiv, n[i], @i) order [i]",
    ],
)
def test_valid(body):
    text = HEADER + body if "return" in body else f"{HEADER}{body}\nreturn"
    validate_logic(parse_logic(text, VOCABULARY))


@pytest.mark.parametrize(
    "body, message",
    [
        ("S[i, j] := A[i, j]\nS[i, j] := B[i, j]", "query S: S is made twice"),
        ("c[] := Aggregate(add, 0.0: float64, v[i], [i])\nv[i] := A[i, 0]", "query c: v is used before"),
        ("v[i] := MapJoin(add, v[i], v[i])", "query v: v is used before a query makes it"),
        ("S[i, j] := A[i, j]\nreturn v", "result v: no query makes it"),
        ("S[i, j] := MapJoin(add, A[i, j], B[i, j], B[i, j])", "query S: MapJoin: add takes 2 arguments, found 3"),
        ("S[i, j] := MapJoin(mul, A[i, j], n[i])", "types float64, int64, expected float64, float64"),
        ("v[i] := MapJoin(truediv, n[i], n[i])", "expected float64, float64\nhint: cast with to_float64"),
        ("v[i] := MapJoin(sqrt, n[i])", "sqrt has arguments of types int64, expected float64"),
        ("S[i, j] := MapJoin(where, n[i], A[i, j], B[i, j])", "where has arguments of types int64, float64, float64"),
        ("v[i] := MapJoin(and, A[i, 0], A[i, 1])", "query v: MapJoin: operator and is not defined for float64"),
        ("v[i] := Aggregate(sub, 0.0: float64, A[i, j], [j])", "Aggregate: sub is not associative"),
        ("v[i] := Aggregate(add, 0: int64, A[i, j], [j])", "query v: Aggregate: add folds float64 into int64"),
        ("v[i] := Aggregate(add, 0.0: float64, n[i], [])", "Aggregate: add folds int64 into float64"),
        ("v[i] := Aggregate(and, 0.0: float64, A[i, j], [j])", "operator and is not defined for float64"),
        ("v[i] := Aggregate(add, 0.0: float64, A[i, j], [j, j])", "over [j, j] repeats a field"),
        ("v[i] := Aggregate(add, 0.0: float64, A[i, 0], [j])", "Aggregate over [j]: the argument has [i]"),
        ("S[i, i] := Reorder(A[i, j], [i, i])", "query S: Reorder [i, i] repeats a field"),
        ("S[i, i] := Relabel(A[i, j], [i, i])", "query S: Relabel [i, i] repeats a field"),
        ("v[k] := Relabel(A[i, j], [k])", "query v: Relabel [k]: the argument has [i, j]"),
        ("v[i] := A[i]", "query v: A has 2 axes, found the indices [i]"),
        ("v[i] := A[i, -1]", "query v: A: the coordinate -1: int64 is not an int64 >= 0"),
        ("v[i] := A[i, 1: int32]", "the coordinate 1: int32 is not an int64 >= 0"),
        ("v[i, j] := A[i, j]", "query v: v has 1 axes, its right side has [i, j]"),
        ("v[i] := n[i]", "query v: v holds float64, its right side is int64"),
        ("S[i, j] := A[i, j] order [i]", "query S: order [i] does not permute the fields [i, j]"),
        ("S[i, j] := A[i, j] order [i, j, k]", "query S: order [i, j, k] does not permute"),
        ("S[i, j] := A[i, j] order [i, j, j]", "query S: order [i, j, j] repeats a field"),
        ("v[i] := Reformat(Element(0.0: float64), A[i, 0])", "query v: Reformat to 0 axes: the argument has [i]"),
        ("v[i] := Reformat(Dense(Element(0: int64)), A[i, 0])", "Reformat to int64: the argument has type float64"),
        ("v[i] := Reformat(Dense(Element(0.0: float64)) perm (1), A[i, 0])", "perm (1,) does not permute 1 axes"),
        ("S[i, j] := Subquery(v, A[i, j])", "query S: subquery v: v has 1 axes, its right side has [i, j]"),
        ("w[i] := MapJoin(gt, Subquery(v, n[i]), 1: int64)", "subquery v: v holds float64, its right side is int64"),
        ("S[i, j] := MapJoin(add, Subquery(v, A[i, 0]), Subquery(v, A[0, j]))", "subquery v has two right sides"),
        ("v[i] := Subquery(v, A[i, 0])", "query v: v is made twice"),
        ("v[i] := A[i, 0]\nc[] := Aggregate(add, 0.0: float64, Subquery(v, A[i, 0]), [i])", "v is made twice"),
        ("c[] := MapJoin(add, $x: float64 ~one, $x: float64 ~zero)", "value x has two types or kinds"),
        ("c[] := 1: float64", "query c: the literal 1 of type float64 holds a int"),
        ("w[i] := MapJoin(add, @i, 9223372036854775808: int64)", "the literal 9223372036854775808 does not fit int64"),
    ],
)
def test_refused(body, message):
    text = HEADER + body if "return" in body else f"{HEADER}{body}\nreturn"
    assert message in refusal(parse_logic(text, VOCABULARY))


def test_a_name_stands_for_one_tensor():
    rhs = MapJoin(
        operator("add"),
        (Table(Slot("x", scalar_type()), ()), Table(Slot("x", scalar_type(Literal(1.0, FLOAT64))), ())),
    )
    assert "query c: x stands for two tensors" in refusal(plan_of(rhs))
    assert "query x: x stands for two tensors" in refusal(plan_of(rhs.args[0], Alias("x", scalar_type())))
    made = Query(Alias("c", scalar_type()), rhs.args[0], ())
    other = Alias("c", scalar_type(Literal(2.0, FLOAT64)))
    assert "result: c stands for two tensors" in refusal(Plan((made,), Produces((other,))))


def test_names_are_identifiers():
    for rhs in (Table(Slot("a b", scalar_type()), ()), Value("", FLOAT64, "one"), Value("é", FLOAT64, "one")):
        assert "is not an identifier" in refusal(plan_of(rhs))
    field = Field("1")
    vector = TensorType((levels.Dense(),), (0,), FLOAT64, Literal(0.0, FLOAT64))
    assert "'1' is not an identifier" in refusal(plan_of(Table(Slot("x", vector), (field,)), Alias("v", vector)))


def test_only_logic_expressions_stand_on_the_right():
    for rhs in (Size("i"), Call(operator("neg"), (Literal(1.0, FLOAT64),)), Field("i")):
        assert "is not an expression of Logic IR" in refusal(plan_of(rhs))
        assert "is not an expression of Logic IR" in refusal(plan_of(MapJoin(operator("neg"), (rhs,))))
        assert "is not an expression of Logic IR" in refusal(plan_of(Subquery(Alias("q", scalar_type()), rhs)))


@pytest.mark.parametrize(
    "fill, message",
    [
        (Literal(0, INT64), "the fill has type int64, the elements float64"),
        (Call(operator("mul"), (Literal(0.0, FLOAT64), Size("i"))), "mul has arguments of types float64, int64"),
        (Call(operator("mul"), (Literal(0.0, FLOAT64),)), "mul takes 2 arguments, found 1"),
        (Value("f", FLOAT64, "some"), "kind 'some' of value f is none of"),
        (Field("i"), "Field stands where a scalar is wanted"),
        (Literal(True, BOOL), "the fill has type bool"),
        (Literal(256, UINT8), "the literal 256 does not fit uint8"),
    ],
)
def test_a_fill_is_a_scalar_of_the_element_type(fill, message):
    found = refusal(plan_of(Table(Slot("x", scalar_type(fill)), ())))
    assert found.startswith("query c: ")
    assert message in found


def test_perm_is_a_permutation():
    bad = TensorType((levels.Dense(), levels.Dense()), (0, 0), FLOAT64, Literal(0.0, FLOAT64))
    rhs = Table(Slot("x", bad), (Literal(0, INT64), Literal(0, INT64)))
    assert "type of x: perm (0, 0) does not permute 2 axes" in refusal(plan_of(rhs))
