"""Index arrays of 32 and 64 bits: mixed operands, no copies of inputs, results that outgrow 32 bits or their room."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import finchsched as fs
from differential.conftest import Guard
from differential.matrix_files import canonical, magnitudes
from differential.sparse_compare import check_sparse
from finchsched.algebra.dtypes import INT32
from finchsched.api.planning import plan_cache
from finchsched.backend import output
from finchsched.formats.levels import SparseList

L = fs.lazy
WIDTHS = (np.int32, np.int64)


def matrix(seed: int, width: Any = np.int32, kind: Any = sp.csr_array, rows: int = 40, columns: int = 40) -> Any:
    made = kind(sp.random_array((rows, columns), density=0.15, rng=np.random.default_rng(seed)))
    made.sort_indices()
    made.indptr, made.indices = made.indptr.astype(width), made.indices.astype(width)
    return made


def buffers(tensor: fs.Tensor) -> list[Any]:
    data = tensor.data
    return [buffer for buffer in (*data.pos, *data.crd, data.val) if buffer is not None]


def index_types(tensor: fs.Tensor) -> set[str]:
    return {buffer.dtype.name for buffer in buffers(tensor)[:-1]}


# name: (program over two square matrices, the same in NumPy)
PROGRAMS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "product": (lambda a, b: fs.asarray(a) @ fs.asarray(b), lambda a, b: a @ b),
    "sum": (lambda a, b: fs.asarray(a) + fs.asarray(b), lambda a, b: a + b),
    "pointwise": (lambda a, b: fs.asarray(a) * fs.asarray(b), lambda a, b: a * b),
    "sum with transpose": (lambda a, b: fs.asarray(a) + fs.asarray(b).T, lambda a, b: a + b.T),
    "transpose": (lambda a, b: fs.einsum("C[j,i] = A[i,j]", A=a, formats="csr"), lambda a, b: a.T),
    "transpose to dcsr": (lambda a, b: fs.einsum("C[j,i] = A[i,j]", A=a, formats="dcsr"), lambda a, b: a.T),
    "dcsr": (lambda a, b: fs.asarray(a).asformat("dcsr"), lambda a, b: a),
    "dcsr sum": (lambda a, b: fs.asarray(a).asformat("dcsr") + fs.asarray(b).asformat("dcsr"), lambda a, b: a + b),
    "dcsr product": (lambda a, b: (fs.lazy(a) @ fs.lazy(b)).asformat("dcsr"), lambda a, b: a @ b),
    "product by columns": (lambda a, b: (fs.lazy(a) @ fs.lazy(b)).asformat("csc"), lambda a, b: a @ b),
    "from dense": (lambda a, b: fs.asarray(a.toarray()).asformat("csr"), lambda a, b: a),
    "three axes": (
        lambda a, b: fs.einsum("C[i,j,k] = A[i,j] * B[j,k]", A=a, B=b),
        lambda a, b: a[:, :, None] * b[None],
    ),
    "chain": (lambda a, b: L(a) @ L(b) @ L(a), lambda a, b: a @ b @ a),
    "sampled": (lambda a, b: L(a) * (L(a) @ L(b)), lambda a, b: a * (a @ b)),
    "matrix vector": (lambda a, b: fs.asarray(a) @ np.arange(40.0), lambda a, b: a @ np.arange(40.0)),
    "sum of all": (lambda a, b: (L(a) * L(b)).sum(), lambda a, b: (a * b).sum()),
}


def check(name: str, a: Any, b: Any) -> fs.Tensor:
    """Run a program and compare values; the result."""
    program, reference = PROGRAMS[name]
    expected = reference(a.toarray(), b.toarray())
    result = program(a, b)
    computed: fs.Tensor = fs.compute(result)
    assert np.allclose(computed.to_numpy(), expected, rtol=1e-12, atol=1e-14)
    return computed


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("name", PROGRAMS)
def test_mixed_widths(name: str, kind: Any) -> None:
    for first in WIDTHS:
        for second in WIDTHS:
            check(name, matrix(1, first), matrix(2, second, kind))


def test_pointers_and_coordinates_of_different_widths() -> None:
    from finchsched.algebra.dtypes import FLOAT64, INT64
    from finchsched.ast.format import TensorType
    from finchsched.ast.scalar import Literal
    from finchsched.formats.fiber_tensor import FiberTensor
    from finchsched.formats.levels import Dense

    a = matrix(1)
    kind = TensorType((Dense(), SparseList(INT64, INT32)), (0, 1), FLOAT64, Literal(0.0, FLOAT64))
    tensor = fs.Tensor(FiberTensor(kind, a.shape, 0.0, (None, a.indptr.astype(np.int64)), (None, a.indices), a.data))
    assert np.allclose((tensor @ tensor).to_numpy(), a.toarray() @ a.toarray())
    exported = (tensor * 2).to_scipy()
    assert exported.indptr.dtype == exported.indices.dtype
    assert np.array_equal(exported.toarray(), 2 * a.toarray())


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_inputs_are_not_copied(kind: Any, width: Any) -> None:
    given = matrix(1, width, kind)
    tensor = fs.asarray(given)
    for mine, theirs in zip(buffers(tensor), (given.indptr, given.indices, given.data), strict=True):
        assert np.shares_memory(mine, theirs) and mine.dtype == theirs.dtype
    for mine, theirs in zip(buffers(fs.asarray(given, copy=True)), buffers(tensor), strict=True):
        assert not np.shares_memory(mine, theirs)
    exported = tensor.to_scipy()
    assert np.shares_memory(exported.data, given.data) and np.shares_memory(exported.indices, given.indices)
    assert np.shares_memory(tensor.T.data.val, given.data)


def test_dense_inputs_are_not_copied_and_views_are_not_made_twice() -> None:
    given = np.arange(12.0).reshape(3, 4)
    tensor = fs.asarray(given)
    assert np.shares_memory(tensor.data.val, given) and np.shares_memory(tensor.to_numpy(), given)
    assert not np.shares_memory(fs.asarray(given, copy=True).data.val, given)
    assert not np.shares_memory(fs.asarray(given[:, ::2]).data.val, given)
    assert given.flags.writeable
    assert not tensor.to_numpy().flags.writeable


def test_programs_leave_their_inputs_as_they_were() -> None:
    a, b = matrix(1), matrix(2, np.int64)
    before = [buffer.copy() for m in (a, b) for buffer in (m.indptr, m.indices, m.data)]
    for name in PROGRAMS:
        check(name, a, b)
    after = [buffer for m in (a, b) for buffer in (m.indptr, m.indices, m.data)]
    assert all(np.array_equal(old, new) and new.flags.writeable for old, new in zip(before, after, strict=True))


def test_results_that_share_positions_cannot_change_them_but_their_owner_can() -> None:
    given = matrix(1)
    doubled = fs.asarray(given) * 2
    shared = doubled.data.crd[1]
    assert shared is not None and np.shares_memory(shared, given.indices)
    assert given.indices.flags.writeable and given.indptr.flags.writeable and given.data.flags.writeable
    assert not any(buffer.flags.writeable for buffer in buffers(doubled))
    with pytest.raises(ValueError, match="read-only"):
        doubled.to_scipy().indices[0] = 5


def test_results_are_as_wide_as_their_extents_need() -> None:
    for name in ("product", "sum", "transpose", "dcsr", "three axes"):
        assert index_types(check(name, matrix(1), matrix(2))) == {"int32"}, name
    far = 2**31 + 5
    tall = sp.csr_array((np.ones(2), np.array([0, far - 1]), np.array([0, 1, 2])), shape=(2, far))
    wide = fs.asarray(tall)
    assert index_types(wide) == {"int64"}
    doubled = wide + wide
    assert index_types(doubled) == {"int64"}
    crd = doubled.data.crd[1]
    assert crd is not None and crd.tolist() == [0, far - 1] and doubled.data.val.tolist() == [2.0, 2.0]
    assert (wide * wide).sum(axis=1).to_numpy().tolist() == [1.0, 1.0]


# ---------------------------------------------------------------------------------------------- results that grow

MOST = 100
OUTGROW = [
    "product", "sum", "sum with transpose", "transpose", "transpose to dcsr", "dcsr", "dcsr sum", "dcsr product",
    "product by columns", "from dense", "three axes", "chain",
]  # fmt: skip
"""Programs whose results, or temporaries, have more than MOST entries."""


@pytest.fixture
def few_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    """32-bit positions count to MOST only."""
    plan_cache.clear()
    monkeypatch.setattr(
        output, "_most", lambda level: MOST if isinstance(level, SparseList) and level.pos == INT32 else 2**63 - 1
    )


@pytest.mark.usefixtures("few_positions")
@pytest.mark.parametrize("name", OUTGROW)
def test_results_that_outgrow_their_index_arrays_are_made_wide(name: str) -> None:
    a, b = matrix(1), matrix(2)
    result = check(name, a, b)
    assert result.nnz > MOST
    assert index_types(result) == {"int64"}
    again = check(name, a, b)
    assert index_types(again) == {"int64"} and again.nnz == result.nnz


@pytest.mark.usefixtures("few_positions")
def test_small_results_stay_narrow() -> None:
    a = sp.eye_array(30, format="csr")
    a.indptr, a.indices = a.indptr.astype(np.int32), a.indices.astype(np.int32)
    for name in ("product", "sum", "transpose"):
        program, reference = PROGRAMS[name]
        result = fs.compute(program(a, a))
        assert np.array_equal(result.to_numpy(), reference(a.toarray(), a.toarray()))
        assert index_types(result) == {"int32"}, name


@pytest.mark.usefixtures("few_positions")
def test_a_result_with_shared_positions_is_as_wide_as_its_operand() -> None:
    a = fs.asarray(matrix(1))
    doubled = a * 2
    assert doubled.nnz > MOST and index_types(doubled) == {"int32"}
    assert np.shares_memory(doubled.data.crd[1], a.data.crd[1])


def test_products_that_outgrow_their_room_are_resumed(monkeypatch: pytest.MonkeyPatch, no_shortcuts: Guard) -> None:
    grown: list[int] = []
    original = output._Append.grow

    def counting(self: Any, made: Any, status: Any, run: Any) -> None:
        grown.append(int(status[1]))
        original(self, made, status, run)

    monkeypatch.setattr(output, "_ROOM", 0)
    monkeypatch.setattr(output._Append, "grow", counting)
    rng = np.random.default_rng(5)
    for _ in range(300):
        m, k, n = (int(extent) for extent in rng.integers(1, 40, 3))
        density = float(rng.choice([0.05, 0.2, 0.6, 1.0]))
        a = canonical(sp.random_array((m, k), density=density, rng=rng))
        b = canonical(sp.random_array((k, n), density=density, rng=rng))
        expected, size = canonical(a @ b), canonical(magnitudes(a) @ magnitudes(b))
        with no_shortcuts():
            result = fs.asarray(a) @ fs.asarray(b)
        check_sparse(result, expected, size)
    assert len(grown) > 300
    assert len(set(grown)) > 10, "kernels are resumed in many rows"


def test_other_results_that_outgrow_their_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "_ROOM", 0)
    for seed in range(10):
        for name in OUTGROW:
            check(name, matrix(seed), matrix(seed + 100))
