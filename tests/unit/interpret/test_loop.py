"""The interpreter of Loop IR: small programs against NumPy, and against the interpreter of Logic IR."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finchsched.algebra.dtypes import BOOL, FLOAT64, INT64, DType, Scalar
from finchsched.algebra.operators import Operator, operator
from finchsched.ast.format import TensorType
from finchsched.ast.logic import Alias, Field, LogicExpr, MapJoin, Plan, Produces, Query, Slot, Table
from finchsched.ast.loop import (
    Access,
    Assign,
    Block,
    Declare,
    Define,
    Freeze,
    If,
    Index,
    Loop,
    LoopExpr,
    LoopProgram,
    Nest,
    Stmt,
    Tensor,
)
from finchsched.ast.loop import Scalar as Local
from finchsched.ast.node import Node
from finchsched.ast.scalar import Call, Literal, Size, Value, int_literal
from finchsched.errors import IndexNameError, ShapeMismatchError, ValidationError
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.levels import Dense, SparseByteMap, SparseList
from finchsched.formats.numpy_convert import from_dense
from finchsched.interpret.logic import run_logic
from finchsched.interpret.loop import run_loop
from finchsched.interpret.masked import Masked

NAN, INF = float("nan"), float("inf")
I, J, K = (Index(name) for name in "ijk")
ADD, MUL, MIN = (operator(name) for name in ("add", "mul", "min"))
SIZES = {"i": 3, "j": 4, "k": 2}


def sparse(values: object, stored: object = None, fill: Scalar = 0.0, dtype: type = np.float64) -> FiberTensor:
    array = np.asarray(values, dtype)
    mask = None if stored is None else np.asarray(stored, np.bool)
    return from_dense(array, (SparseList(),) * array.ndim, tuple(range(array.ndim)), fill=fill, mask=mask)


def random_sparse(shape: tuple[int, ...], seed: int, fill: Scalar = 0.0) -> tuple[np.ndarray, FiberTensor]:
    rng = np.random.default_rng(seed)
    array = np.where(rng.random(shape) < 0.5, rng.normal(size=shape), fill)
    return array, sparse(array, fill=fill)


def number(value: Scalar, dtype: DType = FLOAT64) -> Literal:
    return Literal(value, dtype)


def made(name: str, rank: int, fill: Node | None = None, dtype: DType = FLOAT64) -> Tensor:
    kind = TensorType((SparseList(),) * rank, tuple(range(rank)), dtype, number(0.0) if fill is None else fill)
    return Tensor(name, kind)


def loops(indices: tuple[Index, ...], body: Stmt) -> Stmt:
    for index in reversed(indices):
        body = Loop(index, body)
    return body


def run(
    target: Tensor,
    body: Stmt,
    inputs: dict[str, FiberTensor],
    values: dict[str, Scalar] | None = None,
    extents: dict[str, int] | None = None,
    assembly: str = "append",
) -> Masked:
    tensors = tuple(Tensor(name, t.type) for name, t in inputs.items())
    program = LoopProgram(tensors, (Nest(target, assembly, body),), (target,))
    return run_loop(program, inputs, values or {}, SIZES if extents is None else extents)[0]


def read(name: str, t: FiberTensor, *index: Index | Literal) -> Access:
    return Access(Tensor(name, t.type), index)


def call(op: str | Operator, *args: LoopExpr) -> Call:
    return Call(operator(op) if isinstance(op, str) else op, args)


# ---- reductions


@pytest.mark.parametrize("order", [(I, J, K), (K, I, J), (J, K, I)])
def test_matmul_into_a_tensor(order: tuple[Index, ...]) -> None:
    x, a = random_sparse((3, 2), 0)
    y, b = random_sparse((2, 4), 1)
    out = made("C", 2)
    body = loops(order, Assign(Access(out, (I, J)), ADD, call("mul", read("A", a, I, K), read("B", b, K, J))))
    got = run(out, body, {"A": a, "B": b})
    np.testing.assert_allclose(got.values, x @ y)
    np.testing.assert_array_equal(got.stored, ((x != 0) * 1 @ (y != 0)) > 0)


def test_a_local_accumulator() -> None:
    x, a = random_sparse((3, 4), 2)
    out, acc = made("r", 1), Local("acc", FLOAT64)
    body = Loop(
        I,
        Block(
            (
                Define(acc, number(0.0)),
                Loop(J, Assign(acc, ADD, read("A", a, I, J))),
                Assign(Access(out, (I,)), None, acc),
            )
        ),
    )
    got = run(out, body, {"A": a})
    np.testing.assert_allclose(got.values, x.sum(axis=1))
    np.testing.assert_array_equal(got.stored, (x != 0).any(axis=1))
    assert run(out, body, {"A": a}, assembly="dense").stored.all()


def test_min_plus_with_infinite_fill() -> None:
    x, a = random_sparse((3, 2), 3, INF)
    y, b = random_sparse((2, 4), 4, INF)
    out = made("C", 2, number(INF))
    body = loops(
        (I, K, J), Assign(Access(out, (I, J)), MIN, call("minplus_add", read("A", a, I, K), read("B", b, K, J)))
    )
    got = run(out, body, {"A": a, "B": b})
    np.testing.assert_allclose(got.values, (x[:, :, None] + y[None]).min(axis=1))
    np.testing.assert_array_equal(got.stored, np.isfinite(got.values))


def test_a_sum_of_a_nonzero_fill() -> None:
    a = sparse([[1.0, 5.0, 1.0, 1.0], [1.0] * 4, [1.0] * 4], fill=1.0)
    out = made("r", 1, call("to_float64", Size("j")))
    body = loops((I, J), Assign(Access(out, (I,)), ADD, read("A", a, I, J)))
    got = run(out, body, {"A": a})
    assert got.values.tolist() == [8.0, 4.0, 4.0] and got.stored.tolist() == [True, False, False] and got.fill == 4.0


def test_rounding_of_a_structural_sum_does_not_store_it() -> None:
    a = sparse([0.1] * 10, fill=0.1)
    got = run(
        made("r", 0, number(1.0)),
        Loop(I, Assign(Access(made("r", 0, number(1.0)), ()), ADD, read("A", a, I))),
        {"A": a},
        extents={"i": 10},
    )
    assert got.values == 1.0 and not got.stored


def test_a_declared_target_starts_from_its_init() -> None:
    a = sparse([1.0, 2.0, 0.0])
    out = made("r", 0)
    body = Block((Declare(out, number(10.0)), Loop(I, Assign(Access(out, ()), ADD, read("A", a, I))), Freeze(out)))
    assert run(out, body, {"A": a}).values == 13.0
    lowest = made("m", 0, number(INF))
    body = Block((Declare(lowest, number(INF)), Loop(I, Assign(Access(lowest, ()), MIN, read("A", a, I)))))
    assert run(lowest, body, {"A": a}).values == 0.0
    nothing = run(lowest, body, {"A": sparse(np.zeros(0))}, extents={"i": 0})
    assert nothing.values == INF and not nothing.stored


def test_without_a_declaration_the_identity_starts() -> None:
    a = sparse([3.0, 2.0, 5.0])
    out = made("r", 0, number(7.0))
    body = Loop(I, Assign(Access(out, ()), MIN, read("A", a, I)))
    assert run(out, body, {"A": a}).values == 2.0
    untouched = run(out, body, {"A": sparse(np.zeros(0))}, extents={"i": 0})
    assert untouched.values == 7.0 and not untouched.stored


def test_reductions_are_in_the_type_of_the_target() -> None:
    flags = sparse([True, True, False], fill=False, dtype=np.bool)
    count, some = made("n", 0, int_literal(0), INT64), made("s", 0, number(False, BOOL), BOOL)
    got = run(count, Loop(I, Assign(Access(count, ()), ADD, call("to_int64", read("F", flags, I)))), {"F": flags})
    assert got.values.dtype == np.int64 and got.values == 2
    got = run(some, Loop(I, Assign(Access(some, ()), operator("or"), read("F", flags, I))), {"F": flags})
    assert got.values.dtype == np.bool and got.values


# ---- the mask rule


def test_a_stored_nan_that_meets_an_unstored_zero_gives_zero() -> None:
    a, b = sparse([NAN, 0.0, 0.0]), sparse([0.0, INF, 2.0])
    out = made("r", 1)
    got = run(
        out, Loop(I, Assign(Access(out, (I,)), None, call("mul", read("A", a, I), read("B", b, I)))), {"A": a, "B": b}
    )
    assert got.values.tolist() == [0.0, 0.0, 0.0] and not got.stored.any()


def test_scalars_do_not_absorb() -> None:
    a = sparse([NAN, 0.0, 1.0])
    out = made("r", 1)
    body = Loop(I, Assign(Access(out, (I,)), None, call("mul", read("A", a, I), Value("x", FLOAT64, "zero"))))
    got = run(out, body, {"A": a}, {"x": 0.0})
    np.testing.assert_array_equal(got.values, [NAN, 0.0, 0.0])
    assert got.stored.tolist() == [True, False, True]


def test_an_untouched_accumulator_absorbs_like_a_structural_operand() -> None:
    """S[i] = a[i] * acc, where acc sums nothing that is stored in row 1."""
    a, b = sparse([NAN, NAN, NAN]), sparse([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]])
    out, acc = made("S", 1), Local("acc", FLOAT64)
    body = Loop(
        I,
        Block(
            (
                Define(acc, number(0.0)),
                Loop(K, Assign(acc, ADD, read("B", b, I, K))),
                Assign(Access(out, (I,)), None, call("mul", read("A", a, I), acc)),
            )
        ),
    )
    got = run(out, body, {"A": a, "B": b})
    np.testing.assert_array_equal(got.values, [NAN, 0.0, NAN])
    assert got.stored.tolist() == [True, False, True]


def test_an_accumulator_carries_its_fill() -> None:
    """A structural zero times a stored sum whose fill is inf: the value is 0, the fill NaN, so it is stored."""
    a, b = sparse([0.0]), sparse([[1.0, 2.0]], fill=INF)
    out, acc = made("S", 1, number(NAN)), Local("acc", FLOAT64)
    body = Loop(
        I,
        Block(
            (
                Define(acc, number(0.0)),
                Loop(K, Assign(acc, ADD, read("B", b, I, K))),
                Assign(Access(out, (I,)), None, call("mul", read("A", a, I), acc)),
            )
        ),
    )
    got = run(out, body, {"A": a, "B": b}, extents={"i": 1, "k": 2})
    assert got.values.tolist() == [0.0] and got.stored.tolist() == [True]


def test_overwriting_with_a_structural_fill_does_nothing() -> None:
    a = sparse([0.0, 2.0, 0.0])
    out = made("r", 1)
    body = Loop(
        I, Block((Assign(Access(out, (I,)), None, number(5.0)), Assign(Access(out, (I,)), None, read("A", a, I))))
    )
    got = run(out, body, {"A": a})
    assert got.values.tolist() == [5.0, 2.0, 5.0] and got.stored.all()


def test_a_structural_value_other_than_the_fill_is_stored() -> None:
    a = sparse([0.0, 2.0, 0.0])
    out = made("r", 1)
    got = run(out, Loop(I, Assign(Access(out, (I,)), None, call("add", read("A", a, I), number(1.0)))), {"A": a})
    assert got.values.tolist() == [1.0, 3.0, 1.0] and got.stored.all()


BINARY = ["mul", "add", "minplus_add", "min", "max", "sub", "truediv"]


@given(
    st.sampled_from(BINARY),
    st.lists(st.tuples(st.sampled_from([0.0, 1.0, INF, -INF, NAN]), st.integers(0, 1)), min_size=1, max_size=3),
    st.booleans(),
)
def test_both_interpreters_state_one_mask_rule(name: str, operands: list[tuple[float, int]], scalar: bool) -> None:
    """Operands of every fill at every combination of stored and structural, with values that meet absorbers."""
    rng = np.random.default_rng(len(operands))
    shape = (2,) * len(operands)
    inputs, axes = {}, []
    for n, (fill, flip) in enumerate(operands):
        mask = np.indices(shape)[n] == flip
        values = np.where(mask, rng.choice([0.0, 3.0, INF, NAN], shape), fill)
        inputs[f"T{n}"] = from_dense(
            values, (SparseList(),) * len(shape), tuple(range(len(shape))), fill=fill, mask=mask
        )
        axes.append(f"x{n}")
    out = made("R", len(shape))
    extra = (number(2.0),) if scalar and len(operands) < 3 else ()
    op = operator(name)
    indices = tuple(Index(x) for x in axes)
    fields = tuple(Field(x) for x in axes)
    accesses = tuple(read(n, t, *indices) for n, t in inputs.items())
    tables = tuple(Table(Slot(n, t.type), fields) for n, t in inputs.items())
    loop = run(
        out,
        loops(indices, Assign(Access(out, indices), None, Call(op, accesses + extra))),
        inputs,
        None,
        dict.fromkeys(axes, 2),
    )
    rhs: LogicExpr = MapJoin(op, tables + extra)
    query = Query(Alias("R", out.type), rhs, ())
    (logic,) = run_logic(Plan((query,), Produces((query.alias,))), inputs, {})
    np.testing.assert_array_equal(loop.values, logic.values)
    np.testing.assert_array_equal(loop.stored, logic.stored)


# ---- statements


def test_conditions_coordinates_and_where() -> None:
    x, a = random_sparse((3, 4), 5)
    out = made("U", 2)
    body = loops((I, J), If(call("le", I, J), Assign(Access(out, (I, J)), None, read("A", a, I, J))))
    got = run(out, body, {"A": a})
    np.testing.assert_array_equal(got.values, np.triu(x))
    np.testing.assert_array_equal(got.stored, np.triu(x != 0))
    body = loops(
        (I, J), Assign(Access(out, (I, J)), None, call("where", call("gt", I, J), read("A", a, I, J), number(0.0)))
    )
    np.testing.assert_array_equal(run(out, body, {"A": a}).values, np.tril(x, -1))


def test_diagonals_and_constant_coordinates() -> None:
    x, a = random_sparse((3, 3, 2), 6)
    out = made("d", 2)
    body = Loop(I, Assign(Access(out, (I, int_literal(1))), None, read("A", a, I, I, int_literal(0))))
    got = run(out, body, {"A": a})
    assert got.values.shape == (3, 2)
    np.testing.assert_array_equal(got.values, np.stack([np.zeros(3), np.einsum("ii->i", x[:, :, 0])], axis=1))


def test_a_workspace_is_emptied_by_each_declaration() -> None:
    x, a = random_sparse((3, 2), 7)
    y, b = random_sparse((2, 4), 8)
    out = made("C", 2)
    work = Tensor("w", TensorType((SparseByteMap(),), (0,), FLOAT64, number(0.0)))
    product = call("mul", read("A", a, I, K), read("B", b, K, J))
    body = Loop(
        I,
        Block(
            (
                Declare(work, number(0.0)),
                loops((K, J), Assign(Access(work, (J,)), ADD, product)),
                Freeze(work),
                Loop(J, Assign(Access(out, (I, J)), None, Access(work, (J,)))),
            )
        ),
    )
    got = run(out, body, {"A": a, "B": b})
    np.testing.assert_allclose(got.values, x @ y)
    np.testing.assert_array_equal(got.stored, ((x != 0) * 1 @ (y != 0)) > 0)


def test_nests_run_in_order_and_see_masks() -> None:
    a = sparse([NAN, 0.0, 1.0])
    b = from_dense(np.array([1.0, INF, 2.0]), (Dense(),), (0,), fill=0.0)
    first, second = made("T", 1), made("R", 1)
    copy = Loop(I, Assign(Access(first, (I,)), None, read("A", a, I)))
    product = Loop(I, Assign(Access(second, (I,)), None, call("mul", Access(first, (I,)), read("B", b, I))))
    for assembly, middle in [("append", 0.0), ("dense", NAN)]:
        nests = (Nest(first, assembly, copy), Nest(second, "append", product))
        program = LoopProgram((Tensor("A", a.type), Tensor("B", b.type)), nests, (second, first))
        got, kept = run_loop(program, {"A": a, "B": b}, {}, {"i": 3})
        np.testing.assert_array_equal(got.values, [NAN, middle, 2.0])
        assert kept.stored.tolist() == [True, assembly == "dense", True]


def test_locals_of_scalar_expressions() -> None:
    a = sparse([1.0, 2.0, 0.0])
    out, twice = made("r", 1), Local("twice", FLOAT64)
    body = Loop(
        I,
        Block(
            (
                Define(twice, call("mul", number(2.0), call("to_float64", I))),
                Assign(twice, ADD, number(1.0)),
                Assign(Access(out, (I,)), None, call("mul", read("A", a, I), twice)),
            )
        ),
    )
    got = run(out, body, {"A": a})
    assert got.values.tolist() == [1.0, 6.0, 0.0] and got.stored.tolist() == [True, True, False]


def test_a_fill_that_varies_with_a_coordinate_is_stored() -> None:
    a = sparse([0.0, 7.0, 0.0])
    out = made("r", 1, Value("index_i", FLOAT64, "number"))
    got = run(
        out, Loop(I, Assign(Access(out, (I,)), None, call("add", read("A", a, I), call("to_float64", I)))), {"A": a}
    )
    assert got.values.tolist() == [0.0, 8.0, 2.0] and got.stored.all() and got.fill == 0.0


def test_empty_extents() -> None:
    a = sparse(np.zeros((3, 0)))
    out = made("r", 1)
    got = run(
        out, loops((I, J), Assign(Access(out, (I,)), ADD, read("A", a, I, J))), {"A": a}, extents={"i": 3, "j": 0}
    )
    assert got.values.tolist() == [0.0] * 3 and not got.stored.any()
    wide = made("w", 2)
    got = run(
        wide, loops((I, J), Assign(Access(wide, (I, J)), None, read("A", a, I, J))), {"A": a}, extents={"i": 3, "j": 0}
    )
    assert got.values.shape == (3, 0)


def test_fills_known_only_when_running() -> None:
    a = sparse([2.5, 1.0, 2.5], fill=2.5)
    out = made("r", 1, call("mul", Value("fill", FLOAT64, "finite"), Value("x", FLOAT64, "finite")))
    body = Loop(I, Assign(Access(out, (I,)), None, call("mul", read("A", a, I), Value("x", FLOAT64, "finite"))))
    got = run(out, body, {"A": a}, {"x": 2.0})
    assert got.values.tolist() == [5.0, 2.0, 5.0] and got.stored.tolist() == [False, True, False] and got.fill == 5.0


def test_a_deep_expression() -> None:
    a = sparse([1.0, 0.0, 0.0])
    deep: LoopExpr = read("A", a, I)
    for _ in range(1200):
        deep = call("add", deep, number(1.0))
    out = made("r", 1, number(1200.0))
    got = run(out, Loop(I, Assign(Access(out, (I,)), None, deep)), {"A": a})
    assert got.values.tolist() == [1201.0, 1200.0, 1200.0] and got.stored.tolist() == [True, False, False]


# ---- refusals


def test_refusals() -> None:
    a = sparse([1.0, 0.0, 0.0])
    out = made("r", 1)
    copy = Assign(Access(out, (I,)), None, read("A", a, I))
    with pytest.raises(IndexNameError, match="no extent is given for index 'i'"):
        run(out, Loop(I, copy), {"A": a}, extents={"j": 3})
    with pytest.raises(ShapeMismatchError, match="axis 0 of A has extent 3; i has 4"):
        run(out, Loop(I, copy), {"A": a}, extents={"i": 4})
    with pytest.raises(ShapeMismatchError, match=r"A is accessed at .* of axis 0, whose extent is 3"):
        run(out, Loop(I, Assign(Access(out, (I,)), None, read("A", a, int_literal(3)))), {"A": a})
    with pytest.raises(ShapeMismatchError, match="another number of indices"):
        run(out, Loop(I, Assign(Access(out, (I,)), None, read("A", a, I, I))), {"A": a})
    with pytest.raises(IndexNameError, match="index 'i' is used outside its loop"):
        run(out, copy, {"A": a})
    with pytest.raises(IndexNameError, match="local 't' is used before its definition"):
        run(out, Loop(I, Assign(Access(out, (I,)), None, Local("t", FLOAT64))), {})
    with pytest.raises(IndexNameError, match="tensor 'B' is used before it is made"):
        run(out, Loop(I, Assign(Access(out, (I,)), None, Access(made("B", 1), (I,)))), {})
    with pytest.raises(ValidationError, match="shape of 'r' is not known"):
        run(out, Block(()), {})
    tensor = Tensor("A", a.type)
    with pytest.raises(IndexNameError, match="no tensor is given for 'A'"):
        run_loop(LoopProgram((tensor,), (Nest(out, "append", Loop(I, copy)),), (out,)), {}, {}, {"i": 3})
