"""The validator of Loop IR: one program that must be refused per rule, beside ones that must not."""

import textwrap

import pytest

from finchsched.algebra.dtypes import FLOAT64, INT64
from finchsched.algebra.operators import operator
from finchsched.ast.format import TensorType
from finchsched.ast.loop import Access, Assign, Block, Define, Index, Loop, LoopProgram, Nest, Scalar, Tensor
from finchsched.ast.parse_loop import parse_loop
from finchsched.ast.scalar import Literal
from finchsched.ast.validate_loop import validate_loop
from finchsched.errors import ValidationError
from finchsched.formats import levels

VOCABULARY = {name: getattr(levels, name) for name in levels.__all__}

HEADER = """\
input A: Dense(SparseList[int64,int64](Element(0.0: float64)))
input n: Dense(Element(0: int64))
temp S: Dense(Element(0.0: float64))
temp T: Dense(Element(0.0: float64))
work w: SparseByteMap[uint32](Element(0.0: float64))
"""

x = Tensor("x", TensorType((), (), FLOAT64, Literal(0.0, FLOAT64)))
y = Tensor("y", TensorType((), (), FLOAT64, Literal(0.0, FLOAT64)))


def nest_of(body):
    return parse_loop(f"{HEADER}nest S by dense:\n{textwrap.indent(body, '    ')}\nreturn", VOCABULARY)


def refusal(program):
    with pytest.raises(ValidationError) as info:
        validate_loop(program)
    return str(info.value)


@pytest.mark.parametrize(
    "body",
    [
        "for i:\n    S[i] = A[i, 0]",
        "for i:\n    S[i] += A[i, i] * to_float64(i + size(i) * n[i])",
        "for i:\n    if i < n[i]:\n        S[i] min= A[i, 0]",
        "for i:\n    var t: float64 = 0.0: float64\n    for j:\n        t += A[i, j]\n    S[i] = t",
        "for i:\n    for j:\n        pass\n    for j:\n        S[i] += A[i, j]",
        "for i:\n    declare w = 0.0: float64\n    for j:\n        w[j] += A[i, j]\n    freeze w\n    S[i] = w[i]",
        "declare w = 0.0: float64\nfreeze w\ndeclare w = $v: float64 ~finite\nfreeze w\nS[0] = w[0]",
        "for i:\n    var t: float64 = 0.0: float64\nfor i:\n    var t: float64 = 1.0: float64\n    S[i] = t",
        "declare S = 0.0: float64\nfor i:\n    S[i] = 1.0: float64",
    ],
)
def test_valid(body):
    validate_loop(nest_of(body))


@pytest.mark.parametrize(
    "body, message",
    [
        ("for i:\n    S[i] = A[i, j]", "nest S: index j is not bound by a loop around it"),
        ("for i:\n    pass\nS[i] = 0.0: float64", "nest S: index i is not bound"),
        ("for i:\n    S[i] = to_float64(k)", "nest S: index k is not bound"),
        ("for i:\n    for i:\n        S[i] = 0.0: float64", "loop i stands inside a loop over the same index"),
        ("for i:\n    var t: float64 = t\n    S[i] = t", "nest S: scalar t is used before it is defined"),
        ("if True: bool:\n    var t: float64 = 0.0: float64\nS[0] = t", "scalar t is used before it is defined"),
        ("if True: bool:\n    var t: float64 = 0.0: float64\nt = 0.0: float64", "scalar t is used before"),
        ("var t: float64 = 0.0: float64\nvar t: float64 = 0.0: float64\nS[0] = t", "scalar t is defined twice"),
        ("var t: float64 = 0.0: float64\nfor i:\n    var t: float64 = 0.0: float64", "scalar t is defined twice"),
        (
            "for i:\n    var t: float64 = 0.0: float64\nfor i:\n    var t: int64 = i",
            "nest S: scalar t has type int64, expected float64",
        ),
        ("var t: float64 = 1: int64", "nest S: scalar t has type int64, expected float64\nhint: cast with to_float64"),
        ("for i:\n    var i: int64 = 1: int64\n    S[i] = 0.0: float64", "scalar i: the name is taken"),
        ("for S:\n    var A: int64 = 1: int64", "scalar A: the name is taken"),
        ("for i:\n    pass", "nest S: it never assigns its target"),
        ("for i:\n    S[i, i] = 0.0: float64", "nest S: S has 1 axes, found the indices [i, i]"),
        ("for i:\n    S[i] = A[i]", "nest S: A has 2 axes, found the indices [i]"),
        ("S[-1] = 0.0: float64", "nest S: S: the coordinate -1: int64 is not an int64 >= 0"),
        ("A[0, 0] = 0.0: float64\nS[0] = 0.0: float64", "nest S: A is assigned, but it is an input"),
        ("T[0] = 0.0: float64\nS[0] = 0.0: float64", "nest S: T is assigned, but it is neither the target"),
        ("w[0] = 0.0: float64\nS[0] = 0.0: float64", "w is assigned, but it is neither the target nor a declared"),
        ("S[0] = w[0]", "nest S: w is read before it is complete\nhint: declare, fill and freeze it"),
        ("declare w = 0.0: float64\nS[0] = w[0]\nfreeze w", "nest S: w is read before it is complete"),
        ("S[0] = S[0]", "nest S: S is read before it is complete"),
        ("S[0] = T[0]", "nest S: T is read before it is complete"),
        ("declare w = 0.0: float64\nS[0] = 0.0: float64", "w is declared but not frozen in the same body"),
        ("for i:\n    declare w = 0.0: float64\nS[0] = 0.0: float64", "w is declared but not frozen in the same body"),
        ("declare w = 0.0: float64\nfor i:\n    freeze w", "w is frozen where it was not declared in the same body"),
        ("freeze w", "nest S: w is frozen where it was not declared"),
        ("declare w = 0.0: float64\nfreeze w\nfreeze w", "w is frozen where it was not declared"),
        ("declare w = 0.0: float64\nfreeze w\nw[0] = 1.0: float64", "nest S: w is assigned after it was frozen"),
        ("declare w = 0.0: float64\ndeclare w = 0.0: float64", "nest S: w is declared twice"),
        ("declare w = 0.0: float64\nfor i:\n    declare w = 0.0: float64", "nest S: w is declared twice"),
        ("declare w = 0: int64", "nest S: the init of w has type int64, expected float64"),
        ("declare A = 0.0: float64", "nest S: A is complete, so it cannot be declared"),
        ("if True: bool:\n    declare w = 0.0: float64\n    freeze w\nS[0] = w[0]", "w is read before it is complete"),
        ("for i:\n    S[i] = n[i]", "nest S: the right side of S has type int64, expected float64"),
        ("for i:\n    S[i] += n[i]", "nest S: add folds int64 into float64"),
        ("for i:\n    S[i] -= A[i, 0]", "nest S: sub is not associative, so it cannot reduce"),
        ("for i:\n    S[i] &= A[i, 0]", "nest S: operator and is not defined for float64"),
        ("for i:\n    if i:\n        S[i] = 0.0: float64", "nest S: a condition has type int64, expected bool"),
        ("for i:\n    S[i] = A[i, 0] * n[i]", "mul has arguments of types float64, int64, expected float64, float64"),
        ("S[0] = add(1.0: float64)", "nest S: add takes 2 arguments, found 1"),
        ("S[0] = 1: float64", "nest S: the literal 1 of type float64 holds a int"),
        ("S[0] = $v: float64 ~one + $v: float64 ~inf", "value v has two types or kinds"),
    ],
)
def test_refused(body, message):
    assert message in refusal(nest_of(body))


def assign(tensor, rhs=None):
    return Assign(Access(tensor, ()), None, rhs or Literal(0.0, FLOAT64))


def test_an_earlier_target_is_read_but_not_made_again():
    first = Nest(x, "dense", assign(x))
    validate_loop(LoopProgram((), (first, Nest(y, "append", assign(y, Access(x, ())))), (y, x)))
    assert "nest x: its target is an input or" in refusal(LoopProgram((), (first, first), (x,)))
    assert "nest x: its target is an input or" in refusal(LoopProgram((x,), (first,), (x,)))
    changed = Nest(y, "dense", Block((assign(y), assign(x))))
    assert "nest y: x is assigned, but it is an input or" in refusal(LoopProgram((), (first, changed), (y,)))


def test_results_are_targets():
    assert "result y: no nest makes it" in refusal(LoopProgram((y,), (Nest(x, "dense", assign(x)),), (y,)))


def test_assemblies():
    forced = Nest(x, "force", assign(x))
    assert "nest x: assembly 'force' is not one of dense" in refusal(LoopProgram((), (forced,), ()))


def test_names_stand_for_one_tensor():
    other = x.replace(type=TensorType((levels.Dense(),), (0,), FLOAT64, Literal(0.0, FLOAT64)))
    assert "tensor x: the name stands for two" in refusal(LoopProgram((other,), (Nest(x, "dense", assign(x)),), ()))
    assert "input y: it is listed twice" in refusal(LoopProgram((y, y), (Nest(x, "dense", assign(x)),), ()))


def test_names_are_identifiers():
    assert "tensor a-b: 'a-b' is not an identifier" in refusal(LoopProgram((x.replace(name="a-b"),), (), ()))
    for body in (Loop(Index("i j"), assign(x)), Define(Scalar("", FLOAT64), Literal(0.0, FLOAT64))):
        assert "is not an identifier" in refusal(LoopProgram((), (Nest(x, "dense", body),), ()))


def test_a_scalar_is_not_called_like_a_statement():
    body = Block((Define(Scalar("pass", FLOAT64), Literal(0.0, FLOAT64)), assign(x)))
    assert "scalar pass: the name is taken" in refusal(LoopProgram((), (Nest(x, "dense", body),), ()))


def test_a_scalar_is_used_with_its_type():
    defined = Define(Scalar("t", FLOAT64), Literal(0.0, FLOAT64))
    body = Block((defined, Assign(Scalar("t", INT64), None, Literal(0, INT64))))
    assert "scalar t has type int64, expected float64" in refusal(LoopProgram((), (Nest(x, "dense", body),), ()))


def test_types_are_checked():
    bad = Tensor("z", TensorType((), (), FLOAT64, Literal(0, INT64)))
    assert "tensor z: the fill has type int64" in refusal(LoopProgram((bad,), (), ()))


def test_only_statements_and_scalars_stand_in_a_nest():
    assert "Index is not a statement of Loop IR" in refusal(LoopProgram((), (Nest(x, "dense", Index("i")),), ()))
    odd = Nest(x, "dense", assign(x, Assign(Access(x, ()), operator("add"), Literal(0.0, FLOAT64))))
    assert "Assign stands where a scalar is wanted" in refusal(LoopProgram((), (odd,), ()))
