"""Many threads that plan, compile and run programs at once, first calls included, get the results that one would."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import finchsched as fs
from finchsched.api.planning import plan_cache

THREADS = 8
ROUNDS = 6


def matrix(seed: int, kind: str = "csr") -> Any:
    return sp.random_array((60, 60), density=0.1, rng=np.random.default_rng(seed), format=kind)


def programs(seed: int) -> list[tuple[Callable[[], Any], Any]]:
    """(program, expected dense result); the matrices depend on the seed, the programs do not."""
    a, b, c = matrix(seed), matrix(seed + 1000), matrix(seed + 2000, "csc")
    x = np.random.default_rng(seed).random(60)
    da, db, dc = a.toarray(), b.toarray(), c.toarray()
    L = fs.lazy
    return [
        (lambda: fs.einsum("y[i] += A[i,j] * x[j]", A=a, x=x), da @ x),
        (lambda: fs.einsum("C[i,j] += A[i,k] * B[k,j]", A=a, B=b), da @ db),
        (lambda: fs.asarray(a) + fs.asarray(c), da + dc),
        (lambda: fs.compute(L(a) * L(b) + L(c)), da * db + dc),
        (lambda: fs.compute((L(a) * (L(a) @ L(b))).sum()), (da * (da @ db)).sum()),
        (lambda: fs.einsum("m[j] max= A[i,j]", A=a), da.max(axis=0)),
        (lambda: fs.einsum("B[j,i] = A[i,j]", A=a, formats="csr"), da.T),
        (lambda: fs.asarray(a) * 2.5, da * 2.5),
    ]


def work(seed: int, barrier: threading.Barrier) -> list[str]:
    """Every program in an order of this thread's own; what was wrong."""
    wrong: list[str] = []
    barrier.wait()
    for turn in range(ROUNDS):
        todo = programs(seed + 17 * turn)
        for number in np.random.default_rng((seed, turn)).permutation(len(todo)):
            run, expected = todo[number]
            result = run()
            if not np.allclose(result.to_numpy(), expected, rtol=1e-12, atol=1e-14):
                wrong.append(f"thread {seed}, turn {turn}, program {number}")
    return wrong


def run_together() -> list[str]:
    barrier = threading.Barrier(THREADS)
    with ThreadPoolExecutor(THREADS) as pool:
        return [problem for wrong in pool.map(lambda seed: work(seed, barrier), range(THREADS)) for problem in wrong]


def test_first_calls_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINCHSCHED_CACHE_DIR", str(tmp_path))
    plan_cache.clear()
    assert run_together() == []


def test_warm_calls_at_once() -> None:
    assert run_together() == []


def test_each_plan_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from finchsched.api import planning

    made: list[object] = []
    original = planning.compile_graph

    def counting(roots: Any) -> Any:
        made.append(roots)
        return original(roots)

    monkeypatch.setattr(planning, "compile_graph", counting)
    plan_cache.clear()
    a = fs.asarray(matrix(0))
    barrier = threading.Barrier(THREADS)

    def scale(factor: int) -> Any:
        barrier.wait()
        return (a * (factor + 2.5)).to_scipy()

    with ThreadPoolExecutor(THREADS) as pool:
        results = list(pool.map(scale, range(THREADS)))
    for factor, result in enumerate(results):
        assert np.array_equal(result.toarray(), matrix(0).toarray() * (factor + 2.5))
    assert len(made) == 1


def test_an_error_in_one_thread_leaves_the_others_alone() -> None:
    a = fs.asarray(matrix(0))
    barrier = threading.Barrier(THREADS)

    def one(number: int) -> str:
        barrier.wait()
        for _ in range(50):
            if number % 2:
                with pytest.raises(fs.errors.ShapeMismatchError):
                    fs.einsum("y[i] += A[i,j] * x[j]", A=a, x=np.ones(59))
                with fs.config(densify=10), pytest.raises(fs.errors.DensifyError):
                    a.to_numpy()
            else:
                y = fs.einsum("y[i] += A[i,j] * x[j]", A=a, x=np.ones(60))
                assert np.allclose(y.to_numpy(), matrix(0).sum(axis=1))
                assert a.to_numpy().shape == (60, 60)
        return "done"

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(one, range(THREADS))) == ["done"] * THREADS
