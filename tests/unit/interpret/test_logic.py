"""The interpreter of Logic IR against NumPy, and against the mask rule written out case by case."""

import numpy as np
import pytest

from finchsched.algebra.dtypes import BOOL, FLOAT32, FLOAT64, INT64, DType, Scalar
from finchsched.algebra.operators import operator
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
from finchsched.ast.node import Node
from finchsched.ast.scalar import Literal, Size, Value, int_literal
from finchsched.errors import IndexNameError, ShapeMismatchError, ValidationError
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.levels import Dense, SparseList
from finchsched.formats.numpy_convert import from_dense
from finchsched.interpret.logic import run_logic
from finchsched.interpret.masked import Masked, map_masked

NAN, INF = float("nan"), float("inf")
I, J, K, L = (Field(name) for name in "ijkl")
ADD, MUL, MIN, MAX, WHERE = (operator(name) for name in ("add", "mul", "min", "max", "where"))


def sparse(values: object, stored: object = None, fill: Scalar = 0.0, dtype: type = np.float64) -> FiberTensor:
    """A tensor of SparseList levels; everything that differs from the fill is stored unless `stored` says otherwise."""
    array = np.asarray(values, dtype)
    mask = None if stored is None else np.asarray(stored, np.bool)
    return from_dense(array, (SparseList(),) * array.ndim, tuple(range(array.ndim)), fill=fill, mask=mask)


def random_sparse(shape: tuple[int, ...], seed: int, fill: Scalar = 0.0) -> tuple[np.ndarray, FiberTensor]:
    rng = np.random.default_rng(seed)
    array = np.where(rng.random(shape) < 0.5, rng.normal(size=shape), fill)
    return array, sparse(array, fill=fill)


def alias(name: str, rhs: LogicExpr, fill_node: Node | None = None) -> Alias:
    rank = len(fields(rhs))
    found = fill(rhs) if fill_node is None else fill_node
    return Alias(name, TensorType((Dense(),) * rank, tuple(range(rank)), dtype(rhs), found))


def plan_of(fill_node: Node | None = None, **queries: LogicExpr) -> Plan:
    bodies = tuple(Query(alias(name, rhs, fill_node), rhs, ()) for name, rhs in queries.items())
    return Plan(bodies, Produces((bodies[-1].alias,)))


def run(
    rhs: LogicExpr,
    slots: dict[str, FiberTensor],
    values: dict[str, Scalar] | None = None,
    extents: dict[str, int] | None = None,
    fill_node: Node | None = None,
) -> Masked:
    """The one tensor that `rhs` is; `fill_node` stands in for its fill where that cannot be folded to a scalar."""
    return run_logic(plan_of(fill_node, R=rhs), slots, values or {}, extents)[0]


def read(name: str, tensor: FiberTensor, *index: Field | Literal) -> Table:
    return Table(Slot(name, tensor.type), index)


def number(value: Scalar, dtype: DType = FLOAT64) -> Literal:
    return Literal(value, dtype)


# ---- contractions, broadcasting, shapes


@pytest.mark.parametrize(
    ("text", "a", "b", "out"),
    [
        ("ik,kj->ij", (I, K), (K, J), (I, J)),
        ("ij,ij->", (I, J), (I, J), ()),
        ("ij,j->i", (I, J), (J,), (I,)),
        ("i,j->ij", (I,), (J,), (I, J)),
        ("ii,i->i", (I, I), (I,), (I,)),
        ("ijk,kji->j", (I, J, K), (K, J, I), (J,)),
    ],
)
def test_einsum(text: str, a: tuple[Field, ...], b: tuple[Field, ...], out: tuple[Field, ...]) -> None:
    size = {I: 3, J: 4, K: 2}
    x, tx = random_sparse(tuple(size[f] for f in a), 1)
    y, ty = random_sparse(tuple(size[f] for f in b), 2)
    product = MapJoin(MUL, (read("A", tx, *a), read("B", ty, *b)))
    over = tuple(f for f in fields(product) if f not in out)
    got = run(Aggregate(ADD, number(0.0), product, over), {"A": tx, "B": ty})
    np.testing.assert_allclose(got.values, np.einsum(text, x, y), atol=1e-12)
    np.testing.assert_array_equal(got.stored, np.einsum(text, (x != 0) * 1, (y != 0) * 1) > 0)
    assert got.fill == 0.0


def test_min_plus_with_infinite_fill() -> None:
    x, tx = random_sparse((4, 3), 3, INF)
    y, ty = random_sparse((3, 5), 4, INF)
    path = MapJoin(operator("minplus_add"), (read("A", tx, I, K), read("B", ty, K, J)))
    got = run(Aggregate(MIN, number(INF), path, (K,)), {"A": tx, "B": ty})
    np.testing.assert_allclose(got.values, (x[:, :, None] + y[None]).min(axis=1))
    np.testing.assert_array_equal(got.stored, np.isfinite(got.values))
    assert got.fill == INF


def test_a_sum_of_a_nonzero_fill() -> None:
    x, tx = random_sparse((3, 4), 5, 1.0)
    got = run(Aggregate(ADD, number(0.0), read("A", tx, I, J), (J,)), {"A": tx})
    np.testing.assert_allclose(got.values, x.sum(axis=1))
    assert got.fill == 4.0


def test_rounding_of_a_structural_sum_does_not_store_it() -> None:
    t = sparse(np.full((2, 10), 0.1), fill=0.1)
    got = run(Aggregate(ADD, number(0.0), read("A", t, I, J), (J,)), {"A": t}, fill_node=number(1.0))
    assert got.values.tolist() == [1.0, 1.0] and not got.stored.any()


def test_stored_where_any_reduced_coordinate_is() -> None:
    t = sparse([[0.0, 0.0], [0.0, 0.0]], [[False, True], [False, False]])
    got = run(Aggregate(ADD, number(0.0), read("A", t, I, J), (J,)), {"A": t})
    assert got.stored.tolist() == [True, False]


@pytest.mark.parametrize(
    ("op", "init", "fill"), [("add", 0.0, 0.0), ("mul", 1.0, 0.0), ("min", INF, 0.0), ("max", -INF, 3.0)]
)
def test_reducing_nothing_gives_the_init(op: str, init: float, fill: float) -> None:
    t = sparse(np.zeros((2, 0)), fill=fill)
    got = run(Aggregate(operator(op), number(init), read("A", t, I, J), (J,)), {"A": t})
    assert got.values.tolist() == [init] * 2
    got = run(Aggregate(operator(op), number(init), read("A", t, I, J), (I,)), {"A": t})
    assert got.values.shape == (0,)


def test_accumulation_is_in_the_type_of_the_init() -> None:
    t = sparse([True, True, False, True], fill=False, dtype=np.bool)
    count = run(Aggregate(ADD, int_literal(0), read("A", t, I), (I,)), {"A": t})
    assert count.values.dtype == np.int64 and count.values == 3
    several = run(Aggregate(ADD, number(False, BOOL), read("A", t, I), (I,)), {"A": t})
    assert several.values.dtype == np.bool and several.values


@pytest.mark.parametrize(
    ("name", "value"), [("add", 24), ("mul", 1890), ("min", 3), ("max", 7), ("and", 0), ("or", 7), ("xor", 4)]
)
def test_every_reduction_is_a_fold(name: str, value: int) -> None:
    t = sparse([5, 3, 3, 6], fill=3, dtype=np.int64)
    got = run(Aggregate(operator(name), int_literal(7), read("A", t, I), (I,)), {"A": t}, fill_node=int_literal(0))
    assert got.values == value and got.stored.all()


def test_no_reduction() -> None:
    t = sparse([1.0])
    with pytest.raises(ValidationError, match="sub cannot reduce"):
        run(Aggregate(operator("sub"), number(0.0), read("A", t, I), (I,)), {"A": t})


def test_tables_of_diagonals_and_constants() -> None:
    x, t = random_sparse((3, 3, 2), 6)
    got = run(read("A", t, I, I, int_literal(1)), {"A": t})
    np.testing.assert_array_equal(got.values, np.einsum("ii->i", x[:, :, 1]))
    np.testing.assert_array_equal(got.stored, got.values != 0)
    with pytest.raises(ShapeMismatchError, match="repeats field 'i' over extents 3 and 2"):
        run(read("A", t, J, I, I), {"A": t})
    with pytest.raises(ShapeMismatchError, match="is read at 2 of axis 2"):
        run(read("A", t, I, J, int_literal(2)), {"A": t})
    with pytest.raises(ShapeMismatchError, match="3 axes; found 1"):
        run(read("A", t, I), {"A": t})


def test_storage_does_not_matter() -> None:
    x = np.random.default_rng(7).normal(size=(3, 4))
    t = from_dense(x, (Dense(), Dense()), (1, 0), fill=0.0)
    got = run(read("A", t, I, J), {"A": t})
    np.testing.assert_array_equal(got.values, x)
    assert got.stored.all()


def test_reorder_and_relabel() -> None:
    x, t = random_sparse((3, 4, 1), 8)
    table = read("A", t, I, J, K)
    np.testing.assert_array_equal(run(Reorder(table, (J, K, I)), {"A": t}).values, x.transpose(1, 2, 0))
    np.testing.assert_array_equal(run(Reorder(table, (J, I)), {"A": t}).values, x[:, :, 0].T)
    wide = run(Reorder(table, (J, L, I)), {"A": t}, extents={"l": 5})
    np.testing.assert_array_equal(wide.values, np.broadcast_to(x[:, :, 0].T[:, None], (4, 5, 3)))
    np.testing.assert_array_equal(wide.stored, wide.values != 0)
    turned = run(Relabel(Reorder(table, (J, I)), (I, J)), {"A": t})
    np.testing.assert_array_equal(turned.values, x[:, :, 0].T)
    with pytest.raises(ShapeMismatchError, match="'j' is left out although its extent is 4"):
        run(Reorder(table, (I, K)), {"A": t})


def test_a_relabelled_field_lends_its_extent() -> None:
    x, t = random_sparse((4,), 9)
    got = run(MapJoin(ADD, (Relabel(read("A", t, I), (J,)), Reorder(number(1.0), (J,)))), {"A": t})
    np.testing.assert_array_equal(got.values, x + 1)


def test_extents_must_agree_and_be_known() -> None:
    a, b = sparse(np.zeros(3)), sparse(np.zeros(4))
    with pytest.raises(ShapeMismatchError, match="add: field 'i' has extents 3 and 4"):
        run(MapJoin(ADD, (read("A", a, I), read("B", b, I))), {"A": a, "B": b})
    with pytest.raises(IndexNameError, match="extent of field 'k' is not known"):
        run(Aggregate(ADD, int_literal(0), Coordinate(K), (K,)), {})
    with pytest.raises(IndexNameError, match="no tensor is given for 'A'"):
        run(read("A", a, I), {})
    with pytest.raises(IndexNameError, match="no value is given for 'x'"):
        run(Value("x", FLOAT64, "finite"), {})


def test_coordinates() -> None:
    x, t = random_sparse((3, 3), 10)
    upper = MapJoin(operator("le"), (Coordinate(I), Coordinate(J)))
    got = run(MapJoin(WHERE, (upper, read("A", t, I, J), number(0.0))), {"A": t}, fill_node=number(0.0))
    np.testing.assert_array_equal(got.values, np.triu(x))
    np.testing.assert_array_equal(got.stored, x != 0)
    total = run(Aggregate(ADD, int_literal(0), Coordinate(K), (K,)), {}, extents={"k": 5}, fill_node=int_literal(0))
    assert total.values == 10


def test_a_fill_that_varies_with_a_coordinate_is_stored() -> None:
    t = sparse([0.0, 7.0, 0.0])
    rhs = MapJoin(ADD, (read("A", t, I), MapJoin(operator("to_float64"), (Coordinate(I),))))
    got = run(rhs, {"A": t})
    assert got.values.tolist() == [0.0, 8.0, 2.0] and got.stored.all() and got.fill == 0.0
    declared = run(rhs, {"A": t}, fill_node=number(0.0))
    assert declared.stored.tolist() == [False, True, True]
    constant = run(MapJoin(MUL, (rhs, number(0.0))), {"A": t}, fill_node=Value("index_i", FLOAT64, "number"))
    assert constant.stored.tolist() == [False, True, False] and constant.fill == 0.0


# ---- the mask rule

STORED = [True, False]


def pair(a: float, b: float, fill_a: float, fill_b: float) -> dict[str, FiberTensor]:
    """A has a at (0,), B has b at (0,) of four coordinates: both stored, A stored, B stored, none."""
    return {
        "A": sparse([a, a, fill_a, fill_a], [True, True, False, False], fill_a),
        "B": sparse([b, fill_b, b, fill_b], [True, False, True, False], fill_b),
    }


@pytest.mark.parametrize(
    ("op", "a", "b", "fills", "values", "stored"),
    [
        ("mul", NAN, INF, (0.0, 0.0), [NAN, 0, 0, 0], [1, 0, 0, 0]),
        ("mul", 2.0, 3.0, (0.0, 1.0), [6, 2, 0, 0], [1, 1, 0, 0]),
        ("mul", 2.0, 3.0, (0.0, INF), [6, INF, 0, NAN], [1, 1, 1, 0]),
        ("add", 2.0, 3.0, (0.0, 0.0), [5, 2, 3, 0], [1, 1, 1, 0]),
        ("add", 2.0, 3.0, (NAN, 0.0), [5, 2, NAN, NAN], [1, 1, 0, 0]),
        ("add", -INF, 3.0, (0.0, INF), [-INF, NAN, 3, INF], [1, 1, 1, 0]),
        ("minplus_add", -INF, 3.0, (0.0, INF), [-INF, INF, 3, INF], [1, 0, 1, 0]),
        ("truediv", 0.0, 0.0, (0.0, 0.0), [NAN, NAN, NAN, NAN], [1, 1, 1, 0]),
        ("min", NAN, 1.0, (-INF, 0.0), [NAN, NAN, -INF, -INF], [1, 1, 0, 0]),
        ("max", NAN, 1.0, (0.0, INF), [NAN, INF, 1, INF], [1, 0, 1, 0]),
    ],
)
def test_mask_rule(
    op: str, a: float, b: float, fills: tuple[float, float], values: list[float], stored: list[int]
) -> None:
    slots = pair(a, b, *fills)
    got = run(MapJoin(operator(op), tuple(read(name, t, I) for name, t in slots.items())), slots)
    np.testing.assert_array_equal(got.values, values)
    np.testing.assert_array_equal(got.stored, np.array(stored, np.bool))


def test_scalars_do_not_absorb() -> None:
    t = sparse([NAN, 0.0])
    got = run(MapJoin(MUL, (read("A", t, I), number(0.0))), {"A": t})
    np.testing.assert_array_equal(got.values, [NAN, 0.0])
    got = run(MapJoin(MUL, (read("A", t, I), Value("x", FLOAT64, "inf"))), {"A": t}, {"x": INF})
    np.testing.assert_array_equal(got.values, [NAN, NAN])
    assert got.stored.tolist() == [True, False] and np.isnan(got.fill)


def test_structural_fills_combine_before_they_absorb() -> None:
    """0 and inf structural: s is NaN, which does not absorb a product, while either alone would not reach the third."""
    slots = {"A": sparse([0.0]), "B": sparse([INF], fill=INF), "C": sparse([3.0])}
    tables = tuple(read(name, t, I) for name, t in slots.items())
    got = run(MapJoin(MUL, tables), slots, fill_node=number(NAN))
    assert np.isnan(got.values[0]) and got.stored.all()
    nested = run(MapJoin(MUL, (tables[0], MapJoin(MUL, tables[1:]))), slots)
    assert nested.values.tolist() == [0.0]


def test_one_argument_and_unary_operators_keep_the_mask() -> None:
    t = sparse([4.0, 0.0])
    for name, values in [("add", [4, 0]), ("neg", [-4, 0]), ("cos", [np.cos(4.0), 1.0]), ("to_int64", [4, 0])]:
        rhs = MapJoin(operator(name), (read("A", t, I),))
        got = run(rhs, {"A": t}, fill_node=Literal(values[1], dtype(rhs)))
        np.testing.assert_array_equal(got.values, values)
        assert got.stored.tolist() == [True, False]
    with pytest.raises(ValidationError, match="neg takes 1 arguments; found 2"):
        map_masked(operator("neg"), [1.0, Masked(np.zeros(1), np.ones(1, np.bool), 0.0)], FLOAT64)


def test_where_is_structural_only_if_all_its_tensors_are() -> None:
    cond = sparse([True, False, False], fill=False, dtype=np.bool)
    t = sparse([0.0, 5.0, 0.0])
    got = run(MapJoin(WHERE, (read("C", cond, I), number(1.0), read("A", t, I))), {"C": cond, "A": t})
    assert got.values.tolist() == [1.0, 5.0, 0.0] and got.stored.tolist() == [True, True, False]


def test_bool_products_absorb_false() -> None:
    a = sparse([True, False], fill=False, dtype=np.bool)
    b = from_dense(np.array([True, True]), (Dense(),), (0,), fill=False)
    got = run(MapJoin(operator("and"), (read("A", a, I), read("B", b, I))), {"A": a, "B": b})
    assert got.values.tolist() == [True, False] and got.stored.tolist() == [True, False]


def test_types() -> None:
    t = sparse([2.0, 0.0], dtype=np.float32)
    got = run(MapJoin(MUL, (read("A", t, I), number(0.1, FLOAT32))), {"A": t})
    assert got.values.dtype == np.float32 and got.values[0] == np.float32(2) * np.float32(0.1)
    direct = map_masked(MUL, [Masked(np.ones(1, np.float32), np.ones(1, np.bool), 0.0), 0.1], FLOAT32)
    assert direct.values[0] == np.float32(0.1) and direct.fill == 0.0


# ---- queries


def test_aliases_keep_the_mask_whatever_their_format() -> None:
    t = sparse([NAN, 0.0])
    dense = from_dense(np.array([1.0, INF]), (Dense(),), (0,), fill=0.0)
    copy = read("A", t, I)
    product = MapJoin(MUL, (Table(alias("T", copy), (I,)), read("B", dense, I)))
    (got,) = run_logic(plan_of(T=copy, R=product), {"A": t, "B": dense}, {})
    np.testing.assert_array_equal(got.values, [NAN, 0.0])
    assert got.stored.tolist() == [True, False]


def test_several_results_and_names_taken() -> None:
    t = sparse([1.0, 0.0])
    a, b = read("A", t, I), Subquery(alias("S", read("A", t, J)), read("A", t, J))
    queries = (Query(alias("X", a), a, ()), Query(alias("Y", b), b, ()))
    results = run_logic(Plan(queries, Produces((queries[1].alias, queries[0].alias, queries[0].alias))), {"A": t}, {})
    assert [r.values.tolist() for r in results] == [[1.0, 0.0]] * 3
    with pytest.raises(ValidationError, match="although a tensor has that name"):
        run_logic(plan_of(A=a), {"A": t}, {})


def test_reformat_drops_only_when_asked() -> None:
    t = sparse([0.0, 2.0, 0.0], [True, True, False])
    table = read("A", t, I)
    assert run(Reformat(t.type, table, False), {"A": t}).stored.tolist() == [True, True, False]
    assert run(Reformat(t.type, table, True), {"A": t}).stored.tolist() == [False, True, False]
    u = sparse([NAN, 2.0], [True, True], NAN)
    assert run(Reformat(u.type, read("A", u, I), True), {"A": u}).stored.tolist() == [False, True]


def test_fills_known_only_when_running() -> None:
    t = sparse([2.5, 1.0, 2.5], fill=2.5)
    got = run(Aggregate(ADD, number(0.0), MapJoin(MUL, (read("A", t, I), number(2.0))), (I,)), {"A": t})
    assert got.values == 12.0 and got.fill == 15.0
    got = run(Aggregate(ADD, number(0.0), read("A", t, I), (I,)), {"A": t}, fill_node=Size("i"))
    assert got.fill == 3.0


def test_a_deep_expression() -> None:
    t = sparse([1.0, 0.0])
    deep: LogicExpr = read("A", t, I)
    for _ in range(1200):
        deep = MapJoin(ADD, (deep, number(1.0)))
    query = Query(Alias("R", t.type.replace(fill=number(1200.0))), deep, ())
    (got,) = run_logic(Plan((query,), Produces((query.alias,))), {"A": t}, {})
    assert got.values.tolist() == [1201.0, 1200.0] and got.stored.tolist() == [True, False]


def test_scalars_as_results_are_stored() -> None:
    got = run(number(2, INT64), {})
    assert got.values == 2 and got.stored.all() and got.fill == 2
