"""What a plan depends on, and the cache of plans."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import finchsched.api as fs
from finchsched.api import planning
from finchsched.api.planning import PlanCache, linearize
from finchsched.errors import IndexNameError, ShapeMismatchError
from finchsched.settings import config


def key(*exprs: Any) -> Any:
    return linearize([expr.node for expr in exprs]).key


def csr(rows: int, cols: int, index: Any = np.int32, dtype: Any = np.float64) -> fs.Tensor:
    matrix = sp.csr_array(np.eye(rows, cols, dtype=dtype))
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    return fs.asarray(matrix)


def test_data_and_extents_do_not_matter() -> None:
    a, b = fs.lazy(csr(3, 4)), fs.lazy(csr(5, 6))
    assert key(a @ np.ones(4)) == key(b @ np.zeros(6))
    assert key(a * 2.5) == key(b * 2.6)


def test_what_matters() -> None:
    a = fs.lazy(csr(3, 3))
    other = fs.lazy(csr(3, 3))
    programs = [
        a,
        a + a,
        a + other,
        a * a,
        a * other,
        a @ a,
        a @ other,
        a.T,
        a.T + a,
        a.sum(),
        a.sum(axis=0),
        a.sum(axis=1),
        a.sum(axis=1, keepdims=True),
        a.max(axis=1),
        a * 2.5,
        a * 0.0,
        a * 1.0,
        a * float("inf"),
        a * float("nan"),
        a * 2,
        a * np.float64(2.5),
        a * 1e-300,
        2.5 * a,
        a.astype("float32"),
        a.asformat("csc"),
        a.asformat("dense"),
        fs.lazy(csr(3, 3, np.int64)),
        fs.lazy(csr(3, 3, dtype=np.int64)),
        fs.lazy(csr(1, 3)),
        fs.lazy(csr(3, 1)),
        fs.lazy(csr(3, 0)),
        fs.lazy(fs.asarray(sp.csc_array(np.eye(3)))),
        fs.lazy(fs.asarray(np.eye(3))),
        fs.lazy(fs.asarray(sp.csr_array(np.eye(3)), fill_value=np.inf)),
        fs.einsum("C[i,j] = A[i,j]", A=a),
        fs.einsum("C[j,i] = A[i,j]", A=a),
        fs.einsum("ij->ij", a),
        fs.lazy(fs.asarray(sp.csr_array((3, 2**31)))),
    ]
    for one, two in itertools.combinations(programs, 2):
        assert key(one) != key(two)
    assert len({key(program) for program in programs}) == len(programs)


def test_structure_is_compared_by_identity_of_parts() -> None:
    a = fs.lazy(csr(3, 3))
    once = a * 2.5
    assert key(once + once) != key(a * 2.5 + a * 2.5)
    assert key(once, once) != key(once)


def test_settings_are_part_of_the_key() -> None:
    a = fs.lazy(csr(3, 3))
    before = key(a)
    with config(reassociate="strict"):
        assert key(a) != before
    assert key(a) == before


def test_fills_of_results_do_not_split_keys() -> None:
    a, b = csr(3, 3), csr(3, 3)
    one, two = a + 2.5, (b + 3.5) * 2
    assert one.fill_value == 2.5
    assert key(fs.lazy(one)) == key(fs.lazy(two))
    np.testing.assert_array_equal((one * two).to_numpy(), (np.eye(3) + 2.5) * (np.eye(3) + 3.5) * 2)


def test_a_known_program_is_not_compiled_again() -> None:
    for n in (3, 4, 5):
        np.testing.assert_array_equal((csr(n, n) @ np.ones(n)).to_numpy(), np.ones(n))
    assert len(planning.plan_cache) == 1


def test_the_cache_forgets_the_least_recently_used() -> None:
    cache = PlanCache(2)
    a = fs.lazy(csr(3, 3))
    programs = [a + a, a * a, a @ a]
    entries = [cache.get_or_compile(key(p), [p.node]) for p in programs[:2]]
    assert cache.get(key(programs[0])) is entries[0]
    cache.get_or_compile(key(programs[2]), [programs[2].node])
    assert cache.get(key(programs[1])) is None
    assert cache.get(key(programs[0])) is entries[0]
    assert len(cache) == 2


def test_threads_compile_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    inner = planning.load_compiler()
    barrier = threading.Barrier(4)

    def slow(*args: Any, **named: Any) -> Any:
        calls.append(1)
        return inner(*args, **named)

    monkeypatch.setattr(planning, "load_compiler", lambda: slow)

    def job(n: int) -> Any:
        barrier.wait()
        return (csr(n, n) @ np.ones(n)).to_numpy().tolist()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(job, [2, 3, 4, 5])) == [[1.0] * n for n in (2, 3, 4, 5)]
    assert len(calls) == 1


def test_a_failed_compilation_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = planning.load_compiler()

    def failing() -> Any:
        raise RuntimeError("no")

    monkeypatch.setattr(planning, "load_compiler", failing)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no"):
            csr(3, 3) @ np.ones(3)
    assert len(planning.plan_cache) == 0
    assert planning.plan_cache._compiling == {}
    monkeypatch.setattr(planning, "load_compiler", lambda: inner)
    assert (csr(3, 3) @ np.ones(3)).shape == (3,)


# ---------------------------------------------------------------------------------------------- Plan


def test_plan_runs_again_with_other_operands() -> None:
    A, x = np.eye(3), np.arange(3.0)
    plan = fs.plan("y[i] += A[i,j] * x[j]", A=A, x=x)
    np.testing.assert_array_equal(plan.run().to_numpy(), x)
    np.testing.assert_array_equal(plan.run(x=x + 1).to_numpy(), x + 1)
    np.testing.assert_array_equal(plan.run(A=np.ones((2, 3))).to_numpy(), [3, 3])
    np.testing.assert_array_equal(plan.run().to_numpy(), x)
    assert plan.run_timed()[1] >= 0
    with pytest.raises(ShapeMismatchError, match="index j has extent 3"):
        plan.run(x=np.ones(4))
    with pytest.raises(IndexNameError, match="has no operand 'z'"):
        plan.run(z=x)


def test_plan_of_lazy_arrays_by_slot() -> None:
    A = fs.asarray(np.eye(3))
    a = fs.lazy(A)
    plan = fs.plan(a @ a, a.sum())
    assert list(plan.operands) == ["t0"]
    product, total = plan.run(t0=2 * np.eye(2))
    np.testing.assert_array_equal(product.to_numpy(), 4 * np.eye(2))
    assert total.item() == 4
    with pytest.raises(ShapeMismatchError, match="index j has extent 3"):
        plan.run(t0=np.ones((2, 3)))


def test_one_of_two_names_of_the_same_tensor() -> None:
    A = fs.asarray(np.eye(2))
    plan = fs.plan("C[i,j] = A[i,j] + B[i,j]", A=A, B=A)
    np.testing.assert_array_equal(plan.run(B=np.ones((2, 2))).to_numpy(), np.eye(2) + 1)


def test_scalars_of_a_plan_can_change() -> None:
    plan = fs.plan("y[i] = c * x[i]", c=2.5, x=np.ones(2))
    assert plan.run(c=3.5).to_numpy().tolist() == [3.5, 3.5]
