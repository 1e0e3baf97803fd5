"""The Logic IR that programs become: its text, its meaning against NumPy, how shared parts and depth are treated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import finchsched.api as fs
from finchsched.api.build_logic import BuiltPlan, build_logic
from finchsched.ast.logic import Field, Query, Subquery
from finchsched.ast.node import walk
from finchsched.ast.parse_logic import parse_logic
from finchsched.ast.print_logic import print_logic
from finchsched.ast.validate_logic import validate_logic
from finchsched.errors import DtypeError, ShapeMismatchError
from finchsched.formats import levels

RNG = np.random.default_rng(7)
M = np.where(RNG.random((3, 4)) < 0.5, RNG.integers(1, 5, (3, 4)), 0).astype(float)
V = np.arange(1.0, 5.0)


def built(*exprs: fs.Lazy) -> BuiltPlan:
    found = build_logic([expr.node for expr in exprs])
    validate_logic(found.plan)
    return found


def sparse(array: np.ndarray[Any, Any]) -> fs.Lazy:
    return fs.lazy(fs.asarray(array).asformat("csr"))


def queries(*exprs: fs.Lazy) -> list[str]:
    text = print_logic(built(*exprs).plan)
    return [line for line in text.splitlines() if ":=" in line]


def test_matrix_vector_product() -> None:
    found = built(sparse(M) @ fs.lazy(V))
    assert queries(sparse(M) @ fs.lazy(V)) == [
        "out[f0] := Reorder(Aggregate(add, 0.0: float64, MapJoin(mul, t0[f0, f1], t1[f1]), [f1]), [f0])"
    ]
    assert found.slots == ("t0", "t1")
    assert found.extents == {"f0": ("t0", 0), "f1": ("t0", 1)}
    assert found.names["f1"] == "j"


def test_names_of_operands_and_result() -> None:
    plan = fs.plan("C[i,j] = A[i,j] * B[j,i] + t0", A=M, B=M.T, t0=np.array(1.0))
    assert list(plan.operands) == ["A", "B", "t0"]
    assert [q for q in plan.first_logic.splitlines() if ":=" in q] == [
        "C[f0, f1] := Reorder(MapJoin(add, MapJoin(mul, A[f0, f1], B[f1, f0]), t0[]), [f0, f1])"
    ]


def test_a_result_that_has_an_operands_name() -> None:
    plan = fs.plan("A[i,j] = A[i,j] * 2", A=M)
    assert "A_2[f0, f1] :=" in plan.first_logic
    assert plan.names["A_2"] == "A"


def test_the_same_tensor_is_one_slot() -> None:
    A = fs.asarray(M)
    assert built(fs.lazy(A) * fs.lazy(A)).slots == ("t0",)
    assert list(fs.plan("C[i,j] = A[i,j] * B[i,j]", A=A, B=A).operands) == ["A"]


def test_stretched_axes_are_read_at_zero() -> None:
    row, column = fs.lazy(V.reshape(1, 4)), fs.lazy(np.ones((3, 1)))
    assert queries(sparse(M) * row + column) == [
        "out[f0, f1] := Reorder(MapJoin(add, MapJoin(mul, t0[f0, f1], t1[0, f1]), t2[f0, 0]), [f0, f1])"
    ]
    assert queries(row + fs.lazy(np.ones((1, 1)))) == [
        "out[f0, f1] := Reorder(MapJoin(add, t0[f0, f1], t1[f0, 0]), [f0, f1])"
    ]


def test_keepdims_needs_no_axis_where_it_is_stretched() -> None:
    A = fs.lazy(M)
    assert queries(A / A.sum(axis=1, keepdims=True)) == [
        "out[f0, f1] := Reorder(MapJoin(truediv, t0[f0, f1], Aggregate(add, 0.0: float64, t0[f0, f2], [f2])), [f0, f1])"
    ]
    kept = built(A.sum(axis=1, keepdims=True))
    assert kept.extents["f1"] == ("", 1)


def test_shared_parts_are_computed_once() -> None:
    P = sparse(M) @ fs.lazy(M.T)
    plan = built(P * P.T + P.sum(axis=0)).plan
    subqueries = {node.alias.name for node in walk(plan) if isinstance(node, Subquery)}
    assert subqueries == {"shared"}
    expected = M @ M.T
    result = fs.compute(P * P.T + P.sum(axis=0))
    np.testing.assert_allclose(result.to_numpy(), expected * expected.T + expected.sum(axis=0))


def test_shared_part_of_extent_one_that_is_stretched() -> None:
    s = fs.lazy(M).sum(axis=0, keepdims=True) * 2
    np.testing.assert_allclose(fs.compute(s + fs.lazy(M) * s).to_numpy(), (1 + M) * M.sum(axis=0, keepdims=True) * 2)


def test_several_results_share() -> None:
    P = sparse(M) * 2
    a, b = fs.compute(P.sum(), P.max(axis=1))
    assert a.item() == (2 * M).sum()
    np.testing.assert_array_equal(b.to_numpy(), (2 * M).max(axis=1))
    one, two = fs.compute(P, P)
    np.testing.assert_array_equal(one.to_numpy(), two.to_numpy())


def test_diagonal_of_a_computed_operand() -> None:
    P = sparse(M) @ fs.lazy(M.T)
    assert fs.compute(fs.einsum("ii->", P)).item() == pytest.approx(np.trace(M @ M.T))
    assert [isinstance(q, Query) for q in built(fs.einsum("ii->", P)).plan.bodies] == [True, True]


@pytest.mark.parametrize("dtype", [np.bool, np.int64, np.float32, np.float64])
def test_reductions_over_nothing(dtype: Any) -> None:
    A = fs.lazy(np.zeros((3, 0), dtype))
    for name in ("sum", "prod"):
        result = fs.compute(getattr(A, name)(axis=1))
        expected = getattr(np.zeros((3, 0), dtype), name)(axis=1)
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result.to_numpy(), expected)
    with pytest.raises(ShapeMismatchError, match="min of no elements"):
        A.min(axis=1)
    assert fs.compute(A.sum(axis=1) + 1).to_numpy().tolist() == [1, 1, 1]


def test_scalars_are_values_by_class() -> None:
    A = sparse(M)
    assert "$v0: float64 ~finite" in queries(A * 2.5)[0]
    assert "~zero" in queries(A * 0)[0]
    assert "~one" in queries(A * 1)[0]
    assert "~nan" in queries(A * float("nan"))[0]
    assert "~inf" in queries(A * float("-inf"))[0]
    assert "$v0: float32 ~inf" in queries(A.astype("float32") * 1e300)[0]
    assert "$v0: float32 ~zero" in queries(A.astype("float32") * 1e-300)[0]


def test_one_scalar_in_two_types_is_two_values() -> None:
    plan = fs.plan("C[i,j] = float32(A[i,j]) * c + B[i,j] * c", A=M, B=M, c=3)
    assert set(plan._values) == {"v0", "v1"}
    np.testing.assert_allclose(plan.run().to_numpy(), 6 * M)


def test_integer_scalars_are_checked() -> None:
    with pytest.raises(DtypeError, match="does not fit int64"):
        fs.compute(fs.lazy(np.arange(3)) + 2**63)
    assert fs.compute(fs.lazy(np.ones(1)) * 2**70).item() == 2.0**70


def test_reformat_drops_the_fill_only_of_dense_operands() -> None:
    assert "drop_fill" in queries(fs.lazy(M).asformat("csr"))[0]
    assert "drop_fill" not in queries(sparse(M).asformat("csc"))[0]
    assert fs.einsum("B[j,i] = A[i,j]", A=fs.asarray(M).asformat("csr"), formats={"B": "csr"}).format == "csr"


def test_plans_print_and_parse() -> None:
    A = sparse(M)
    plan = built(A @ A.T + (A * 2).sum(axis=1, keepdims=True)).plan
    vocabulary = {name: getattr(levels, name) for name in levels.__all__}
    assert parse_logic(print_logic(plan), vocabulary) == plan


def test_deep_programs() -> None:
    A = expr = sparse(M)
    for _ in range(1500):
        expr = expr + A
    plan = build_logic([expr.node]).plan
    assert len(plan.bodies) == 1
    assert fs.compute(expr.astype("float32").sum()).item() == pytest.approx(1501 * M.sum())


def test_a_chain_of_doublings_stays_small() -> None:
    expr = sparse(M)
    for _ in range(60):
        expr = expr + expr
    assert built(expr).extents.keys() >= {"f0", "f1"}


# ---------------------------------------------------------------------------------------------- against NumPy


BASES = {"A": M, "B": M.T.copy(), "v": V, "w": V[:3], "r": V.reshape(1, 4), "k": np.arange(12).reshape(3, 4)}


def _apply(kind: str, xs: list[Any]) -> Any:
    """One step on arrays of either library; None where the shapes do not fit."""
    a, b = xs[0], xs[-1]
    match kind:
        case "add" | "mul" | "sub":
            return {"add": a + b, "mul": a * b, "sub": a - b}[kind] if _broadcasts(a, b) else None
        case "lt":
            return (a < b) * 1.0 if _broadcasts(a, b) else None
        case "matmul":
            fits = a.ndim in (1, 2) and b.ndim in (1, 2) and a.shape[-1] == b.shape[0]
            return a @ b if fits else None
        case "sum0" | "max0":
            return (a.sum(axis=0) if kind == "sum0" else a.max(axis=0)) if a.ndim else None
        case "sumkeep":
            return a.sum(axis=a.ndim - 1, keepdims=True) if a.ndim else None
        case "T":
            return a.T
        case "scale":
            return a * 2.5
        case _:
            return -abs(a)


def _broadcasts(a: Any, b: Any) -> bool:
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return True


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "mul", "sub", "lt", "matmul", "sum0", "max0", "sumkeep", "T", "scale", "neg"]),
        st.integers(0, 20),
        st.integers(0, 20),
    ),
    min_size=1,
    max_size=7,
)


@given(STEPS)
def test_random_programs_agree_with_numpy(steps: list[tuple[str, int, int]]) -> None:
    theirs: list[Any] = list(BASES.values())
    ours: list[Any] = [sparse(x) if n in "AB" else fs.lazy(x) for n, x in BASES.items()]
    for kind, one, two in steps:
        pick = [one % len(theirs), two % len(theirs)]
        expected = _apply(kind, [theirs[n] for n in pick])
        if expected is not None:
            theirs.append(np.asarray(expected))
            ours.append(_apply(kind, [ours[n] for n in pick]))
    made = built(*ours[-3:])
    assert {node.name for node in walk(made.plan) if isinstance(node, Field)} <= set(made.extents)
    for result, expected in zip(fs.compute(*ours[-3:]), theirs[-3:], strict=True):
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(result.to_numpy(), expected, rtol=1e-9, atol=1e-9)
