"""Fields, element types and fills of Logic expressions; folding of scalar expressions."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given

from finchsched.algebra.dtypes import (
    BOOL,
    COMPLEX64,
    COMPLEX128,
    ELEMENT_DTYPES,
    FLOAT32,
    FLOAT64,
    INT64,
    DType,
    Scalar,
    cast_scalar,
)
from finchsched.algebra.operators import OPERATORS, apply, operator, result_type
from finchsched.ast.facts import dtype, fields, fill, fold_call, fold_repeat, is_identity, scalar_dtype
from finchsched.ast.format import TensorType
from finchsched.ast.logic import (
    Aggregate,
    Alias,
    Coordinate,
    Field,
    LogicExpr,
    MapJoin,
    Reformat,
    Relabel,
    Reorder,
    Slot,
    Subquery,
    Table,
)
from finchsched.ast.node import Node, walk
from finchsched.ast.scalar import Call, Literal, Size, Value
from finchsched.formats.levels import SparseList
from finchsched.interpret.masked import evaluate_scalar
from ir_strategies import logic_exprs

INF, NAN = float("inf"), float("nan")
I, J, K = (Field(name) for name in "ijk")
ADD, MUL, MIN, OR = (operator(name) for name in ("add", "mul", "min", "or"))


def number(value: Scalar, kind: DType = FLOAT64) -> Literal:
    return Literal(value, kind)


def table(*index: Field | Literal, zero: Node | None = None, kind: DType = FLOAT64) -> Table:
    levels = (SparseList(),) * len(index)
    return Table(Slot("A", TensorType(levels, tuple(range(len(index))), kind, zero or number(0.0))), index)


A = table(I, J)


@pytest.mark.parametrize(
    ("expr", "want"),
    [
        (number(1.0), ()),
        (Value("v", FLOAT64, "finite"), ()),
        (Coordinate(J), (J,)),
        (A, (I, J)),
        (table(I, I), (I,)),
        (table(Literal(0, INT64), J), (J,)),
        (MapJoin(ADD, (table(J), A)), (J, I)),
        (Aggregate(ADD, number(0.0), A, (I,)), (J,)),
        (Aggregate(ADD, number(0.0), A, (K,)), (I, J)),
        (Reorder(A, (J, I)), (J, I)),
        (Relabel(A, (K, I)), (K, I)),
        (Reformat(A.tensor.type, A, True), (I, J)),
        (Subquery(Alias("Q", A.tensor.type), A), (I, J)),
    ],
    ids=str,
)
def test_fields(expr: LogicExpr, want: tuple[Field, ...]) -> None:
    assert fields(expr) == want


@pytest.mark.parametrize(
    ("expr", "want"),
    [
        (number(1.0, FLOAT32), FLOAT32),
        (Coordinate(I), INT64),
        (A, FLOAT64),
        (MapJoin(operator("lt"), (A, A)), BOOL),
        (MapJoin(operator("truediv"), (Coordinate(I), Coordinate(J))), FLOAT64),
        (MapJoin(operator("where"), (MapJoin(operator("lt"), (A, A)), Coordinate(I), Coordinate(J))), INT64),
        (MapJoin(operator("to_float32"), (A,)), FLOAT32),
        (Aggregate(ADD, number(0, INT64), A, (I,)), INT64),
        (Reorder(A, (J, I)), FLOAT64),
    ],
    ids=str,
)
def test_dtype(expr: LogicExpr, want: DType) -> None:
    assert dtype(expr) == want


ONES = table(I, J, zero=number(1.0))
SOME = Value("fill", FLOAT64, "finite")
WIDENED = MapJoin(operator("to_complex128"), (Value("fill", COMPLEX64, "finite"),))


@pytest.mark.parametrize(
    ("expr", "want"),
    [
        (A, number(0.0)),
        (MapJoin(MUL, (A, SOME)), number(0.0)),
        (MapJoin(MUL, (A, Value("w", FLOAT64, "inf"))), number(NAN)),
        (MapJoin(MUL, (A, number(INF))), number(NAN)),
        (MapJoin(ADD, (A, SOME)), SOME),
        (MapJoin(operator("logical_and"), (A, SOME)), number(False, BOOL)),
        (MapJoin(operator("logical_or"), (SOME, ONES)), number(True, BOOL)),
        (MapJoin(MIN, (SOME, table(I, J, zero=number(-INF)))), number(-INF)),
        (MapJoin(operator("max"), (table(I, J, zero=number(INF)), SOME)), number(INF)),
        (
            MapJoin(MIN, (number(-INF), Value("w", FLOAT64, "any"))),
            Call(MIN, (number(-INF), Value("w", FLOAT64, "any"))),
        ),
        (MapJoin(operator("mul"), (number(0j, COMPLEX128), WIDENED)), number(0j, COMPLEX128)),
        (MapJoin(ADD, (ONES, number(2.5))), number(3.5)),
        (MapJoin(ADD, (ONES, SOME)), Call(ADD, (number(1.0), SOME))),
        (MapJoin(operator("to_int64"), (ONES,)), number(1, INT64)),
        (Coordinate(I), Value("index_i", INT64, "number")),
        (Aggregate(ADD, number(0.0), A, (I,)), number(0.0)),
        (Aggregate(MIN, number(INF), ONES, (I,)), number(1.0)),
        (Aggregate(operator("max"), number(-INF), A, (I, J)), number(0.0)),
        (Aggregate(MUL, number(1.0), A, (I,)), number(0.0)),
        (Aggregate(MUL, number(1.0), ONES, (I,)), number(1.0)),
        (
            Aggregate(ADD, number(0.0), ONES, (I,)),
            Call(MUL, (number(1.0), Call(operator("to_float64"), (Size("i"),)))),
        ),
        (Reorder(ONES, (J, I)), number(1.0)),
    ],
    ids=str,
)
def test_fill(expr: LogicExpr, want: Node) -> None:
    assert fill(expr) == want


def has_element_types(expr: Node) -> bool:
    """Whether all types are those of elements: there are no casts to the types of index arrays."""
    typed = [node for node in walk(expr) if isinstance(node, Literal | Value | TensorType)]
    return all(node.dtype in ELEMENT_DTYPES for node in typed)


@given(logic_exprs().filter(has_element_types))
def test_facts_agree_with_each_other(expr: LogicExpr) -> None:
    found = fields(expr)
    assert len(set(found)) == len(found)
    assert scalar_dtype(fill(expr)) == dtype(expr)


def test_deep_expressions() -> None:
    deep: LogicExpr = A
    for _ in range(10_000):
        deep = MapJoin(operator("neg"), (deep,))
    assert fields(deep) == (I, J)
    assert dtype(deep) == FLOAT64
    assert fill(deep) == number(0.0)


# ---------------------------------------------------------------------------------------------- folding

SAMPLES: dict[DType, tuple[Scalar, ...]] = {
    BOOL: (False, True),
    INT64: (0, 1, -1, 3, 2**63 - 1, -(2**63)),
    FLOAT64: (0.0, -0.0, 1.0, -2.5, INF, -INF, NAN),
}
KINDS: dict[str, tuple[float, ...]] = {
    "zero": (0.0,),
    "one": (1.0,),
    "finite": (2.0, -2.5),
    "inf": (INF, -INF),
    "nan": (NAN,),
}
BINARY = [op for op in OPERATORS.values() if op.arity == 2]


def same(a: Scalar, b: Scalar) -> bool:
    return bool(a == b or (a != a and b != b))


@pytest.mark.parametrize("op", BINARY, ids=str)
@pytest.mark.parametrize("kind", [BOOL, INT64, FLOAT64], ids=str)
def test_folding_literals_is_applying_the_operator(op: object, kind: DType) -> None:
    """As NumPy does; operators that NumPy lacks for a type are refused."""
    values = SAMPLES[kind] if not op.name.startswith("repeat_") else [cast_scalar(n, kind) for n in (0, 1, 3)]  # type: ignore[attr-defined]
    for a, b in product(values, values):
        try:
            found = fold_call(op, (Literal(a, kind), Literal(b, kind)))  # type: ignore[arg-type]
        except TypeError:
            return
        assert isinstance(found, Literal)
        typed = (wanted.numpy.type(x) for wanted, x in zip(result_type(op, kind, kind)[0], (a, b), strict=True))  # type: ignore[arg-type]
        want = found.dtype.numpy.type(apply(op, *typed))  # type: ignore[arg-type]
        assert same(found.value, want.item())


@pytest.mark.parametrize("op", BINARY, ids=str)
def test_what_classes_decide_holds_for_every_value_of_the_class(op: object) -> None:
    for kind, value, swapped in product(KINDS, (0.0, 1.0, 2.0, INF, -INF, NAN), (False, True)):
        pair: tuple[Node, Node] = (Value("v", FLOAT64, kind), number(value))
        try:
            found = fold_call(op, pair[::-1] if swapped else pair)  # type: ignore[arg-type]
        except TypeError:
            return
        for v in KINDS[kind]:
            args = (value, v) if swapped else (v, value)
            wanted = result_type(op, FLOAT64, FLOAT64)[0]  # type: ignore[arg-type]
            typed = (kind.numpy.type(cast_scalar(arg, kind)) for kind, arg in zip(wanted, args, strict=True))
            want = np.asarray(apply(op, *typed))  # type: ignore[arg-type]
            got = evaluate_scalar(found, {"v": v}, {}.__getitem__)
            assert same(got, want.item()), (op, args, found)


@pytest.mark.parametrize("name", ["add", "mul", "min", "max", "minplus_add", "maxplus_add"])
@pytest.mark.parametrize("value", [0.0, 1.0, -1.0, 2.0, INF, -INF, NAN])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_repeated_fill_is_the_fold(name: str, value: float, count: int) -> None:
    op = operator(name)
    init = number({"mul": 1.0, "min": INF, "max": -INF}.get(name, 0.0))
    found = fold_repeat(op, init, number(value), ("i", "j"))
    got = evaluate_scalar(found, {}, {"i": count, "j": 2}.__getitem__)
    want = np.float64(init.value)
    for _ in range(2 * count):
        want = apply(op, want, np.float64(value))
    assert same(got, want.item()), found


@pytest.mark.parametrize("value", [2 - 1j, complex(INF, 2.0), complex(NAN, 0.0), 0j])
def test_a_repeated_complex_fill(value: complex) -> None:
    found = fold_repeat(operator("add"), Literal(0j, COMPLEX128), Literal(value, COMPLEX128), ("i",))
    got = evaluate_scalar(found, {}, {"i": 3}.__getitem__)
    assert same(got, value + value + value)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("value", [False, True])
def test_a_repeated_truth_value(value: bool, count: int) -> None:
    for name, init in (("or", False), ("and", True), ("xor", False)):
        op = operator(name)
        found = fold_repeat(op, Literal(init, BOOL), Literal(value, BOOL), ("i",))
        want = init
        for _ in range(count):
            want = bool(apply(op, np.bool(want), np.bool(value)))
        assert evaluate_scalar(found, {}, {"i": count}.__getitem__) == want, name


@pytest.mark.parametrize("name", ["and", "or", "xor"])
@pytest.mark.parametrize("known", [False, True])
def test_truth_values_decide_what_they_can(name: str, known: bool) -> None:
    op, unknown = operator(name), Value("v", BOOL, "finite")
    for args in ((Literal(known, BOOL), unknown), (unknown, Literal(known, BOOL))):
        found = fold_call(op, args)
        for v in (False, True):
            want = bool(apply(op, np.bool(known), np.bool(v)))
            assert evaluate_scalar(found, {"v": v}, {}.__getitem__) == want
        if name != "xor":
            assert found == (unknown if (name == "and") == known else Literal(known, BOOL))


def test_identities_as_nodes() -> None:
    assert is_identity(ADD, number(0.0))
    assert is_identity(ADD, number(-0.0))
    assert is_identity(MIN, number(INF))
    assert is_identity(OR, Literal(False, BOOL))
    assert not is_identity(ADD, number(1.0))
    assert not is_identity(ADD, Value("v", FLOAT64, "zero"))
    assert not is_identity(operator("sub"), number(0.0))
