"""Programs with host operations: how they are cut, what is computed once, and what plans say of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import finchsched.api as fs
from finchsched.api.graph import GraphNode
from finchsched.api.planning import plan_cache, run_graph
from finchsched.api.staging import run_stages
from finchsched.errors import FormatError, IndexNameError, ShapeMismatchError
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.settings import config

D = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0], [4.0, 5.0, 0.0]])
A = fs.asarray(sp.csr_array(D))
X = np.arange(3.0)


@pytest.fixture(autouse=True)
def uncompiled() -> Iterator[None]:
    with config(backend="python"):
        yield


def segments(*arrays: Any) -> list[list[str]]:
    """The kinds of the roots of each segment."""
    found: list[list[str]] = []

    def compute(roots: Sequence[GraphNode]) -> list[FiberTensor]:
        found.append([root.kind for root in roots])
        return run_graph(roots)

    run_stages([array.node for array in arrays], compute)
    return found


def test_what_needs_no_program_is_not_compiled() -> None:
    L = fs.lazy(A)
    assert segments(L[1:]) == []
    assert segments(L.T[1:], fs.flip(L)[0]) == []
    np.testing.assert_array_equal(fs.compute(L.T[1:]).to_numpy(), D.T[1:])
    np.testing.assert_array_equal(fs.compute(L[1:].T).to_numpy(), D[1:].T)


def test_arguments_of_one_stage_are_one_segment() -> None:
    L = fs.lazy(A)
    assert segments((L * 2)[0], (L + L)[1]) == [["map", "map"]]
    assert segments((L * 2)[0] + (L * 3)[1]) == [["map", "map"], ["map"]]
    assert segments(((L * 2)[0] * 2)[1:] * 2) == [["map"], ["map"], ["map"]]


def test_a_product_that_two_segments_need_is_computed_once() -> None:
    L = fs.lazy(A)
    y = L @ fs.lazy(X)
    program = (y * 2)[1:].sum() + y.sum()
    assert segments(program) == [["map", "einsum"], ["map"]]
    assert fs.compute(program).item() == (D @ X * 2)[1:].sum() + (D @ X).sum()


def test_an_argument_that_is_used_later_too_is_computed_once() -> None:
    m = fs.lazy(A).sum(axis=1) * 2
    program = fs.concat([m[1:], m])
    assert segments(program) == [["map"]]
    assert segments(program * m[0]) == [["map"], ["map"]]
    expected = D.sum(axis=1) * 2
    np.testing.assert_array_equal(fs.compute(program).to_numpy(), np.concatenate([expected[1:], expected]))


def test_a_long_chain_of_steps() -> None:
    x = fs.lazy(fs.asarray(np.arange(500.0)))
    for _ in range(400):
        x = x[1:]
    np.testing.assert_array_equal(fs.compute(x).to_numpy(), np.arange(400.0, 500.0))


def test_tensors_and_lazy_arrays_mix() -> None:
    result = fs.concat([A, fs.lazy(A)])
    assert isinstance(result, fs.Lazy)
    assert isinstance(A[fs.lazy(np.array([0, 1]))], fs.Lazy)
    np.testing.assert_array_equal(fs.compute(result).to_numpy(), np.concatenate([D, D]))


def test_scalars_of_a_staged_program() -> None:
    L = fs.lazy(A)
    for scalar in (2, 2.5, True, 2**70):
        np.testing.assert_array_equal(fs.compute((L * scalar)[1:] + scalar).to_numpy(), (D * scalar)[1:] + scalar)


def test_the_plan_of_a_staged_program_is_kept_without_operands() -> None:
    def program(x: Any) -> Any:
        return (fs.lazy(x) * 2)[1:, ::-1].sum(axis=0)

    fs.compute(program(A))
    known = len(plan_cache)
    others = [D + np.eye(3), np.eye(7, 5)]
    results = [fs.compute(program(fs.asarray(sp.csr_array(other)))) for other in others]
    assert len(plan_cache) == known
    for other, result in zip(others, results, strict=True):
        np.testing.assert_array_equal(result.to_numpy(), (other * 2)[1:, ::-1].sum(axis=0))


def test_different_subscripts_have_different_plans() -> None:
    L = fs.lazy(fs.asarray(D))
    assert fs.compute(L[0] * 1).to_numpy().tolist() == D[0].tolist()
    assert fs.compute(L[1] * 1).to_numpy().tolist() == D[1].tolist()


def test_plans_run_with_other_operands() -> None:
    L = fs.lazy(A)
    plan = fs.plan((L * 2)[1:].sum(axis=0))
    np.testing.assert_array_equal(plan.run().to_numpy(), (D * 2)[1:].sum(axis=0))
    np.testing.assert_array_equal(plan.run(t0=D * 3).to_numpy(), (D * 6)[1:].sum(axis=0))
    np.testing.assert_array_equal(plan.run(t0=np.ones((5, 2))).to_numpy(), [8.0, 8.0])
    result, seconds = plan.run_timed()
    assert result.shape == (3,)
    assert seconds > 0
    with pytest.raises(IndexNameError, match="no operand 't1'"):
        plan.run(t1=D)
    with pytest.raises(ShapeMismatchError, match="cannot reshape"):
        fs.plan(L.reshape(9)).run(t0=np.ones((2, 2)))


def test_steps_of_a_plan_in_words() -> None:
    plan = fs.plan((fs.lazy(A) * 2)[1:, ::-1].sum(axis=0))
    assert plan.is_staged
    words = [words for words, _ in plan.steps]
    assert words == ["compile s1", "s2 is s1[1:, ::-1]", "compile s3, where t0 is s2"]
    compiled = [part for _, part in plan.steps if part is not None]
    assert "Aggregate" in plan.logic
    assert "slot t0" in plan.first_logic
    assert repr(plan) == "Plan(t0 -> r0)"
    with pytest.raises(FormatError, match="runs in steps"):
        _ = plan.executable
    with pytest.raises(FormatError, match="runs on what came before"):
        compiled[0].run(t0=D)


def test_an_ordinary_plan_has_one_step() -> None:
    plan = fs.plan(fs.lazy(A) * 2)
    assert not plan.is_staged
    assert plan.steps == (("compiled", plan),)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda x: fs.flip(x, axis=1), "t0 reversed along axes (1,)"),
        (lambda x: fs.roll(x, 2, axis=0), "t0 rolled by 2 along axis 0"),
        (lambda x: fs.roll(x, 2), "t0 rolled by 2 in C order"),
        (lambda x: fs.repeat(x, 2, axis=0), "t0 with every coordinate of axis 0 repeated 2 times"),
        (lambda x: fs.repeat(x, [1, 0, 2], axis=0), "t0 with every coordinate of axis 0 repeated so many times each"),
        (lambda x: fs.tile(x, 2), "t0 tiled (1, 2) times"),
        (lambda x: fs.tril(x), "the lower triangle of t0 (diagonal 0)"),
        (lambda x: fs.triu(x, k=1), "the upper triangle of t0 (diagonal 1)"),
        (lambda x: x.reshape(9), "t0 reshaped to (9,)"),
        (lambda x: fs.stack([x, x]), "t0, t0 stacked along a new axis 0"),
        (lambda x: x.argmin(), "argmin of t0"),
        (lambda x: x.argmax(axis=1), "argmax of t0 along axis 1"),
    ],
)
def test_operations_in_words(make: Any, words: str) -> None:
    assert fs.plan(make(fs.lazy(A))).steps == ((f"s1 is {words}", None),)
