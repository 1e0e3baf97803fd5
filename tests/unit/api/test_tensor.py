"""Tensors: operators against NumPy, conversions, and what they say of themselves."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import finchsched.api as fs
from finchsched.errors import DensifyError, DtypeError, FormatError, ShapeMismatchError
from finchsched.settings import config

D = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, -3.0]])
A = fs.asarray(sp.csr_array(D))
N = fs.asarray(sp.csr_array(D.astype(np.int64)))
B = fs.asarray(sp.csr_array(D > 0))

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


def same(result: Any, expected: Any) -> None:
    assert isinstance(result, fs.Tensor)
    expected = np.asarray(expected)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(result.to_numpy(), expected)


@pytest.mark.parametrize("op", [*ARITHMETIC, *COMPARISONS, operator.floordiv, operator.mod])
@pytest.mark.parametrize("other", [2.5, 3, np.float64(1.5), np.array([1.0, 2.0, 4.0]), np.array(2.0)])
def test_operators_on_either_side(op: Any, other: Any) -> None:
    left, right = fs.asarray(np.abs(D) + 1), np.abs(D) + 1
    same(op(left, other), op(right, other))
    same(op(other, left), op(other, right))


@pytest.mark.parametrize("op", [operator.and_, operator.or_, operator.xor])
def test_bitwise_operators(op: Any) -> None:
    same(op(B, D > 1), op(D > 0, D > 1))
    same(op(D > 1, B), op(D > 1, D > 0))
    same(op(N, 3), op(D.astype(np.int64), 3))
    with pytest.raises(DtypeError, match="not defined for float64"):
        op(A, A)


def test_unary_operators() -> None:
    same(-A, -D)
    same(abs(A), abs(D))
    same(~B, ~(D > 0))
    same(+A, D)
    assert +A is A
    with pytest.raises(DtypeError, match="not defined for bool"):
        operator.neg(B)


def test_squares_of_integers() -> None:
    same(N**2, D.astype(np.int64) ** 2)
    same(N**3, D.astype(np.int64) ** 3)
    with pytest.raises(DtypeError, match="integers to negative powers"):
        N**-1
    with pytest.raises(DtypeError, match="integers to negative powers"):
        N ** -np.ones_like(D, np.int64)


def test_bool_arithmetic() -> None:
    b = D > 0
    same(B * B, b * b)
    same(B + B, b + b)
    same(B * 2, b * 2)
    same(B @ B.T, b @ b.T)
    same(B.sum(), b.sum())
    same(B.prod(axis=0), b.prod(axis=0))


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1), (-1,), np.int64(1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(name: str, axis: Any, keepdims: bool) -> None:
    same(getattr(A, name)(axis=axis, keepdims=keepdims), getattr(D, name)(axis=axis, keepdims=keepdims))


def test_products() -> None:
    x, y = np.arange(3.0), np.arange(2.0)
    same(A @ x, D @ x)
    same(y @ A, y @ D)
    same(A @ D.T, D @ D.T)
    same(D.T @ A, D.T @ D)
    same(A @ sp.csr_array(D.T), D @ D.T)
    same(fs.asarray(x) @ x, x @ x)
    with pytest.raises(ShapeMismatchError, match="the left operand has 3 columns, the right one 2 rows"):
        A @ A
    with pytest.raises(ShapeMismatchError, match="at least 1 axis"):
        A @ 2.0


def test_errors_of_operators() -> None:
    with pytest.raises(ShapeMismatchError, match="axis -1 has extents 3 and 2"):
        A + np.ones(2)
    with pytest.raises(ShapeMismatchError, match="axis 2 does not exist"):
        A.sum(axis=2)
    with pytest.raises(ShapeMismatchError, match="name an axis twice"):
        A.sum(axis=(0, -2))
    with pytest.raises(TypeError):
        A + "x"
    with pytest.raises(DtypeError, match="is not an element type"):
        A.astype("nothing")
    with pytest.raises(DtypeError, match="float16"):
        A + np.float16(1)
    with pytest.raises(DtypeError, match="scalar 300 does not fit int8"):
        A.astype("int8") + 300
    with pytest.raises(DtypeError, match="no order"):
        A.astype("complex64").max()


def test_transposes_move_no_data() -> None:
    T = A.T
    assert T.format == "csc"
    assert np.shares_memory(T.data.val, A.data.val)
    same(T, D.T)
    C = fs.asarray(np.arange(24).reshape(2, 3, 4))
    same(C.transpose(1, 2, 0), C.to_numpy().transpose(1, 2, 0))
    same(C.transpose((1, 2, 0)), C.to_numpy().transpose(1, 2, 0))
    same(C.permute([-1, 0, 1]), C.to_numpy().transpose(2, 0, 1))
    same(C.transpose(), C.to_numpy().T)
    with pytest.raises(ShapeMismatchError, match="permutation"):
        C.permute([0, 0, 1])


def test_lazy_beside_eager_is_lazy() -> None:
    for expr in (A + fs.lazy(A), fs.lazy(A) + A, D + fs.lazy(A), fs.lazy(A) @ D.T, fs.lazy(A).T):
        assert isinstance(expr, fs.Lazy)
    same(fs.compute(A + fs.lazy(A)), 2 * D)
    assert fs.compute(A) is A
    one, two = fs.compute(A, fs.lazy(A) * 2)
    assert one is A
    same(two, 2 * D)
    with pytest.raises(TypeError, match="has no truth value"):
        bool(fs.lazy(A) == A)
    with pytest.raises(TypeError, match="cannot become a NumPy array"):
        np.asarray(fs.lazy(A))
    with pytest.raises(DtypeError, match="cannot compute a list"):
        fs.compute([1])


def test_formats() -> None:
    for name in ("csr", "csc", "dcsr", "dcsc", "dense"):
        converted = A.asformat(name)
        assert converted.format == name
        same(converted, D)
        assert converted.nnz == 3 and fs.asarray(D).asformat(name).nnz == 3
    assert A.asformat("csr").data is A.data or A.asformat("csr").nnz == 3
    assert A.asformat("SparseList(Dense(Element))").format == "SparseList(Dense(Element))"
    assert fs.asarray(np.ones((2, 2, 2))).asformat("csf").format == "csf"
    with pytest.raises(FormatError, match="is for 2 axes; the array has 1"):
        fs.asarray(np.ones(2)).asformat("csr")
    with pytest.raises(FormatError, match="has 1 levels; the array has 2 axes"):
        A.asformat("Dense(Element)")
    with pytest.raises(FormatError, match="found the format 'ell', expected one of dense, csr"):
        A.asformat("ell")


def test_stored_zeros_survive_between_sparse_formats() -> None:
    explicit = fs.asarray(sp.csr_array((np.array([0.0, 2.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2)))
    assert explicit.asformat("csc").nnz == 2


def test_to_scipy_shares_buffers() -> None:
    matrix = A.to_scipy()
    assert isinstance(matrix, sp.csr_array)
    assert np.shares_memory(matrix.data, A.data.val)
    assert np.shares_memory(matrix.indices, A.data.crd[1])
    assert isinstance(A.T.to_scipy(), sp.csc_array)
    np.testing.assert_array_equal(A.T.to_scipy().toarray(), D.T)
    assert not np.shares_memory(A.to_scipy(copy=True).data, A.data.val)
    np.testing.assert_array_equal((matrix @ matrix.T).toarray(), D @ D.T)
    np.testing.assert_array_equal(A.asformat("dcsr").to_scipy().toarray(), D)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_every_nest_in_every_storage_order_by_name(rank: int) -> None:
    full = np.where(np.arange(24) % 3 == 1, np.arange(24.0), 0.0).reshape((2, 3, 4)[:rank] if rank == 3 else (4, 6))
    full = full[0] if rank == 1 else full
    indices = ",".join("ijk"[:rank])
    with config(backend="python"):
        for levels in itertools.product(("Dense", "SparseList", "SparseCOO"), repeat=rank):
            nest = "(".join((*levels, "Element")) + ")" * rank
            for perm in itertools.permutations(range(rank)):
                text = f"{nest}, perm={perm}"
                stored = fs.asarray(full).asformat(text)
                assert (stored.data.type.perm, [level.name for level in stored.data.type.levels]) == (perm, [*levels])
                assert stored.asformat(stored.format) is stored
                asked = fs.einsum(f"R[{indices}] = T[{indices}]", T=full, formats={"R": text})
                assert asked.data.type == stored.data.type
                np.testing.assert_array_equal(stored.to_numpy(), full)
                np.testing.assert_array_equal(asked.to_numpy(), full)


def test_storage_orders_that_are_refused() -> None:
    assert A.asformat("dense, perm=(1, 0)").format == "Dense(Dense(Element)), perm=(1, 0)"
    assert A.asformat("csc, perm=(1,0)").format == "csc"
    for text in ("csf, perm=(0, 0)", "dense, perm=(0,)", "Dense(Dense), perm=(1, 2)"):
        with pytest.raises(FormatError, match="perm must name each of the 2 axes once"):
            A.asformat(text)
    with pytest.raises(FormatError, match=r"csr has perm=\(0, 1\)"):
        A.asformat("csr, perm=(1, 0)")
    with pytest.raises(FormatError, match="found the format 'dense perm=1'"):
        A.asformat("dense perm=1")


def test_to_scipy_with_wide_indices_and_mixed_widths() -> None:
    wide = sp.csr_array(D)
    wide.indptr, wide.indices = wide.indptr.astype(np.int64), wide.indices.astype(np.int64)
    matrix = fs.asarray(wide).to_scipy()
    assert matrix.indices.dtype == np.int64
    assert np.shares_memory(matrix.indices, wide.indices)
    wide.indices = wide.indices.astype(np.int32)
    mixed = fs.asarray(wide).to_scipy()
    assert mixed.indptr.dtype == mixed.indices.dtype == np.int32


def test_to_scipy_refuses() -> None:
    with pytest.raises(FormatError, match=r"this tensor is dense\nhint: use .item\(\)"):
        fs.asarray(2.0).to_scipy()
    with pytest.raises(FormatError, match="have the fill 0"):
        fs.asarray(sp.csr_array(D), fill_value=np.inf).to_scipy()
    with pytest.raises(FormatError, match="this tensor is dense"):
        fs.asarray(D).to_scipy()


def test_to_numpy() -> None:
    dense = fs.asarray(D)
    assert np.shares_memory(dense.to_numpy(), D)
    assert not dense.to_numpy().flags.writeable
    assert D.flags.writeable
    assert dense.to_numpy(copy=True).flags.writeable
    assert not np.shares_memory(dense.to_numpy(copy=True), D)
    with config(densify=5), pytest.raises(DensifyError, match="has 6 elements, more than the limit 5"):
        A.to_numpy()
    np.testing.assert_array_equal(np.asarray(A), D)
    assert np.asarray(A, dtype=np.float32).dtype == np.float32
    with pytest.raises(DensifyError, match="NumPy asked for a dense array"):
        np.asarray(fs.asarray(sp.csr_array((2000, 2000))))


def test_items() -> None:
    total = A.sum()
    assert (total.item(), float(total), int(total), bool(total)) == (0.0, 0.0, 0, False)
    assert type(fs.asarray(2).item()) is int
    assert fs.asarray(sp.csr_array((1, 1))).item() == 0
    with pytest.raises(FormatError, match="item\\(\\) needs one element"):
        A.item()
    with pytest.raises(FormatError, match="the truth value is for tensors without axes"):
        bool(A)
    with pytest.raises(TypeError, match="unhashable"):
        hash(A)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (A, "Tensor(shape=(2, 3), dtype=float64, format=csr, nnz=3, fill_value=0.0)"),
        (fs.asarray(2.5), "Tensor(2.5, shape=(), dtype=float64, format=dense)"),
        (fs.asarray(np.ones((20, 20))), "Tensor(shape=(20, 20), dtype=float64, format=dense)"),
        (fs.asarray(np.ones((0, 2))), "Tensor(shape=(0, 2), dtype=float64, format=dense)"),
        (fs.lazy(A) @ D.T, "Lazy(shape=(2, 2), dtype=float64)"),
    ],
)
def test_repr(value: Any, text: str) -> None:
    assert repr(value) == text


def test_sizes() -> None:
    assert (A.ndim, A.size, A.nbytes) == (2, 6, 3 * 8 + 3 * 4 + 3 * 4)


def test_explain_and_repr_of_a_plan() -> None:
    plan = fs.plan("y[i] += A[i,j]", A=A)
    assert repr(plan) == "Plan(A -> y)"
    assert "y[f0] := " in plan.logic
    assert plan.kernel_source.startswith("def kernel")
    assert plan.names["f0"] == "i"


def test_a_fill_that_the_target_type_cannot_hold_is_refused() -> None:
    far = fs.asarray(sp.csr_array(D), fill_value=np.inf)
    with pytest.raises(DtypeError, match="int64 cannot hold the fill inf"):
        far.astype("int64")
    assert far.astype("float32").fill_value == np.inf


@pytest.mark.parametrize("wanted", [None, 3, b"csr"])
def test_a_format_that_is_not_a_text_is_refused(wanted: Any) -> None:
    with pytest.raises(FormatError, match="a format is named by a text"):
        A.asformat(wanted)
