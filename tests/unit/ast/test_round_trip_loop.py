"""Loop IR: what is printed is read back the same, and random programs are valid."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finchsched.algebra.dtypes import BOOL, FLOAT64, INT64
from finchsched.algebra.operators import OPERATORS, operator
from finchsched.ast.format import TensorType
from finchsched.ast.loop import Access, Assign, Block, Define, If, Index, Loop, LoopProgram, Nest, Scalar, Tensor
from finchsched.ast.node import walk
from finchsched.ast.parse_loop import parse_loop
from finchsched.ast.print_loop import print_loop
from finchsched.ast.scalar import Call, Literal, Size, Value
from finchsched.ast.syntax import INFIX
from finchsched.ast.validate_loop import validate_loop
from finchsched.formats import levels
from ir_strategies import loop_programs

VOCABULARY = {name: getattr(levels, name) for name in levels.__all__}

SDDMM = """\
input A: Dense(SparseList[int32,int32](Element(0.0: float64)))
input X: Dense(Dense(Element(0.0: float64)))
output S: Dense(SparseList[int32,int32](Element(0.0: float64)))
temp R: Dense(Element(inf: float64))
work w: SparseByteMap[uint32](Element(0.0: float64))
nest S by shared:
    for i:
        for j:
            var t: float64 = 0.0: float64
            for k:
                t += X[i, k] * X[j, k]
            S[i, j] = A[i, j] * t
nest R by dense:
    for i:
        declare w = 0.0: float64
        for k:
            w[k] max= S[i, k]
        freeze w
        for k:
            if (i < k) & (k != 3: int64):
                R[i] min= w[k] / to_float64(size(k)) - $v: float64 ~finite
return S
"""

x = Access(Tensor("x", TensorType((), (), FLOAT64, Literal(0.0, FLOAT64))), ())


def call(name, *args):
    return Call(operator(name), args)


def test_a_program_reads_like_this():
    program = parse_loop(SDDMM, VOCABULARY)
    validate_loop(program)
    assert print_loop(program) == SDDMM


@given(loop_programs())
def test_programs(program):
    validate_loop(program)
    assert parse_loop(print_loop(program), VOCABULARY) == program


@given(loop_programs(), st.randoms(use_true_random=False))
def test_fragments(program, random):
    nodes = [node for node in walk(program) if isinstance(node, Nest | Loop | If | Assign | Call | Access | Scalar)]
    for node in random.sample(nodes, min(5, len(nodes))):
        assert parse_loop(print_loop(node), VOCABULARY) == node


@pytest.mark.parametrize("op", OPERATORS.values(), ids=str)
def test_every_operator_as_a_call(op):
    expr = Call(op, (x, Index("i"), Size("i"))[: op.arity])
    for argument in range(op.arity):
        nested = Call(op, tuple(expr if n == argument else x for n in range(op.arity)))
        assert parse_loop(print_loop(nested), {}) == nested


@pytest.mark.parametrize("op", [op for op in OPERATORS.values() if op.arity == 2], ids=str)
def test_every_operator_as_a_reduction(op):
    assert parse_loop(print_loop(Assign(x, op, x)), {}) == Assign(x, op, x)


@pytest.mark.parametrize("inner", INFIX)
@pytest.mark.parametrize("outer", INFIX)
def test_every_pair_of_infix_operators(outer, inner):
    one = Literal(-1, INT64)
    for expr in (call(outer, call(inner, one, x), one), call(outer, one, call(inner, x, one))):
        assert parse_loop(print_loop(expr), {}) == expr


def test_binding_is_that_of_python():
    text = "a + b * c - d < e & f | g"
    i = {name: Index(name) for name in "abcdefg"}
    total = call("sub", call("add", i["a"], call("mul", i["b"], i["c"])), i["d"])
    masks = call("or", call("and", i["e"], i["f"]), i["g"])
    assert parse_loop(text, {}) == call("lt", total, masks)
    assert print_loop(call("lt", total, masks)) == text + "\n"


@pytest.mark.parametrize(
    "body",
    [
        Block(()),
        Block((Block(()),)),
        Block((Assign(x, None, x),)),
        Block((Assign(x, None, x), Block((Assign(x, None, x), Block(()))))),
        Block((Block((Block((Assign(x, None, x), Assign(x, None, x))),)),)),
        Loop(Index("i"), Block((Block((If(Literal(True, BOOL), Block(())),)),))),
    ],
)
def test_blocks_keep_their_shape(body):
    nest = Nest(x.tensor, "dense", body)
    for node in (body, Loop(Index("j"), body), nest, LoopProgram((), (nest, nest), (x.tensor,))):
        assert parse_loop(print_loop(node), {}) == node


@pytest.mark.parametrize("word", "for if var declare freeze pass block nest return input scalar size inf min".split())
def test_tensors_and_indices_may_be_called_like_words(word):
    tensor = Tensor(word, TensorType((levels.Dense(),), (0,), FLOAT64, Literal(0.0, FLOAT64)))
    access = Access(tensor, (Index(word),))
    program = LoopProgram((), (Nest(tensor, "dense", Loop(Index(word), Assign(access, operator("min"), access))),), ())
    assert parse_loop(print_loop(program), VOCABULARY) == program


def test_free_scalars_of_a_fragment_are_declared():
    statement = Assign(Scalar("t", FLOAT64), operator("add"), Scalar("u", FLOAT64))
    assert print_loop(statement) == "scalar t: float64\nscalar u: float64\nt += u\n"
    block = Block((Define(Scalar("t", FLOAT64), Value("v", FLOAT64, "one")), statement))
    assert print_loop(block) == "scalar u: float64\nvar t: float64 = $v: float64 ~one\nt += u\n"
    assert parse_loop(print_loop(block), {}) == block


@pytest.mark.parametrize("name", ["add", "min", "neg"])
def test_a_call_nested_ten_thousand_deep(name):
    op = operator(name)
    expr = x
    for n in range(10_000):
        expr = Call(op, ((expr, x) if n % 3 else (x, expr))[: op.arity] if op.arity == 2 else (expr,))
    tensor = Tensor("y", TensorType((), (), FLOAT64, Literal(0.0, FLOAT64)))
    program = LoopProgram((x.tensor,), (Nest(tensor, "dense", Assign(Access(tensor, ()), None, expr)),), (tensor,))
    validate_loop(program)
    assert parse_loop(print_loop(expr), {}) == expr
    assert parse_loop(print_loop(program), {}) == program


def test_statements_nested_a_thousand_deep():
    body = Assign(x, None, x)
    for _ in range(1_000):
        body = If(Literal(True, BOOL), body)
    assert parse_loop(print_loop(body), {}) == body
