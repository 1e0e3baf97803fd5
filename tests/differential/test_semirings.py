"""Every reduction of the einsum notation with every operator, against NumPy on the broadcast operands."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import finchsched as fs
from finchsched.api.planning import plan_cache

REDUCTIONS: dict[str, Any] = {
    "+": np.add,
    "*": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.logical_and,
    "or": np.logical_or,
}
NUMBERS: dict[str, Any] = {
    "A[i,j] + x[j]": np.add,
    "A[i,j] - x[j]": np.subtract,
    "A[i,j] * x[j]": np.multiply,
    "A[i,j] / x[j]": np.divide,
    "A[i,j] // x[j]": np.floor_divide,
    "A[i,j] % x[j]": np.mod,
    "min(A[i,j], x[j])": np.minimum,
    "max(A[i,j], x[j])": np.maximum,
    "A[i,j] == x[j]": np.equal,
    "A[i,j] != x[j]": np.not_equal,
    "A[i,j] < x[j]": np.less,
    "A[i,j] >= x[j]": np.greater_equal,
    "where(A[i,j] > 1, A[i,j], x[j])": lambda a, x: np.where(a > 1, a, x),
    "abs(A[i,j]) + x[j]": lambda a, x: np.abs(a) + x,
}
BITS: dict[str, Any] = {
    "A[i,j] & x[j]": np.bitwise_and,
    "A[i,j] | x[j]": np.bitwise_or,
    "A[i,j] ^ x[j]": np.bitwise_xor,
}


@pytest.fixture(autouse=True)
def uncompiled() -> Iterator[None]:
    with fs.config(backend="python"):
        yield
    plan_cache.clear()


def expected(reduction: str, values: Any) -> Any:
    """Truth values come back in the type of the expression; sums and products widen as NumPy's do."""
    dtype = values.dtype
    if reduction in ("+", "*"):
        return (np.sum if reduction == "+" else np.prod)(values, axis=1)
    return REDUCTIONS[reduction].reduce(values, axis=1).astype(dtype)


def check(reduction: str, text: str, matrix: Any, x: Any, function: Any) -> None:
    wanted = expected(reduction, function(matrix, x))
    for operand in (matrix, sp.csr_array(matrix), sp.csc_array(matrix)):
        found = fs.einsum(f"y[i] {reduction}= {text}", A=operand, x=x)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found.to_numpy(), wanted, rtol=1e-12)


@pytest.mark.parametrize("text", NUMBERS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_floats(reduction: str, text: str) -> None:
    rng = np.random.default_rng(3)
    matrix = np.where(rng.random((4, 5)) < 0.5, rng.integers(1, 4, (4, 5)), 0).astype(float)
    check(reduction, text, matrix, np.array([1.0, 2.0, 0.5, 3.0, -1.0]), NUMBERS[text])


@pytest.mark.parametrize("text", [*NUMBERS, *BITS])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_integers(reduction: str, text: str) -> None:
    rng = np.random.default_rng(4)
    matrix = np.where(rng.random((4, 5)) < 0.5, rng.integers(-3, 4, (4, 5)), 0)
    check(reduction, text, matrix, np.array([1, 2, 5, 3, -1]), {**NUMBERS, **BITS}[text])


@pytest.mark.parametrize("text", BITS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_bools(reduction: str, text: str) -> None:
    matrix = np.random.default_rng(5).random((4, 5)) < 0.5
    check(reduction, text, matrix, np.array([True, False, True, True, False]), BITS[text])


@pytest.mark.parametrize("reduction, missing", [("min", np.inf), ("max", -np.inf)])
def test_paths(reduction: str, missing: float) -> None:
    """Missing edges make missing paths: what is not stored is infinitely far, or infinitely little."""
    rng = np.random.default_rng(6)
    graph = np.where(rng.random((6, 6)) < 0.3, rng.integers(1, 9, (6, 6)), missing).astype(float)
    stored = fs.asarray(sp.csr_array(np.where(np.isfinite(graph), graph, 0)), fill_value=missing)
    found = fs.einsum(f"D[i,j] {reduction}= G[i,k] + G[k,j]", G=stored)
    wanted = REDUCTIONS[reduction].reduce(graph[:, :, None] + graph[None, :, :], axis=1)
    np.testing.assert_array_equal(found.to_numpy(), wanted)
    assert found.fill_value == missing
