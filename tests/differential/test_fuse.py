"""Fused functions: traced once per call, computed as one program, the same values as eagerly."""

import pickle
from copy import copy, deepcopy
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import finchsched as fs
from finchsched.api.planning import plan_cache
from finchsched.errors import FusionError, LazyValueError


class Pair(NamedTuple):
    first: object
    second: object


@pytest.fixture(autouse=True)
def python_backend():
    with fs.config(backend="python"):
        yield


@pytest.fixture
def matrix():
    rng = np.random.default_rng(5)
    return sp.random_array((6, 6), density=0.4, rng=rng, format="csr")


def step(A, x, damping=0.5):
    return damping * (A @ x) + (1 - damping) * x


def test_positional_keyword_and_nested_arguments(matrix):
    @fs.fuse
    def program(pair, *, named, options):
        A, x = pair
        y = A @ x
        return {"y": y, "both": (y + named["b"], [y.sum()]), "name": options["name"], "pair": Pair(y, 3)}

    x, b = np.arange(6.0), np.ones(6)
    result = program((fs.asarray(matrix), fs.asarray(x)), named={"b": b}, options={"name": "run"})
    y = matrix @ x
    assert list(result) == ["y", "both", "name", "pair"]
    assert result["name"] == "run" and isinstance(result["pair"], Pair) and result["pair"].second == 3
    for got, want in [(result["y"], y), (result["both"][0], y + b), (result["both"][1][0], y.sum())]:
        assert isinstance(got, fs.Tensor)
        np.testing.assert_allclose(got.to_numpy(), want)
    np.testing.assert_allclose(result["pair"].first.to_numpy(), y)


def test_eager_lazy_and_fused_agree(matrix):
    A, x = fs.asarray(matrix), fs.asarray(np.arange(6.0))
    eager = step(A, x)
    postponed = fs.compute(step(fs.lazy(A), x))
    fused = fs.fuse(step)(A, x)
    for other in (postponed, fused):
        np.testing.assert_allclose(other.to_numpy(), eager.to_numpy())


def test_several_results_share_one_run(matrix):
    @fs.fuse
    def moments(A):
        square = A * A
        return A.sum(axis=0), square.sum(axis=0), square

    before = len(plan_cache)
    sums, squares, square = moments(matrix)
    assert len(plan_cache) == before + 1
    np.testing.assert_allclose(sums.to_numpy(), matrix.sum(axis=0))
    np.testing.assert_allclose(squares.to_numpy(), (matrix * matrix).sum(axis=0))
    np.testing.assert_allclose(square.to_scipy().toarray(), (matrix * matrix).toarray())


def test_iteration_compiles_once(matrix):
    advance = fs.fuse(step)
    A, x, want = fs.asarray(matrix), fs.asarray(np.ones(6)), np.ones(6)
    x, want = advance(A, x, 0.25), step(matrix, want, 0.25)
    known = len(plan_cache)
    for number in range(5):
        x, want = advance(A, x, 0.3 + number / 10), step(matrix, want, 0.3 + number / 10)
    assert len(plan_cache) == known
    np.testing.assert_allclose(x.to_numpy(), want)


def test_loop_counts_and_functions_are_static(matrix):
    @fs.fuse
    def power(A, x, count, finish):
        for _ in range(count):
            x = A @ x
        return finish(x) if count > 1 else x

    x = np.arange(6.0)
    for count in (0, 1, 3):
        got = power(matrix, x, count, lambda y: y + 1)
        want = x
        for _ in range(count):
            want = matrix @ want
        np.testing.assert_allclose(got.to_numpy(), want + 1 if count > 1 else want)


def test_a_fused_function_inside_another_becomes_a_part_of_it(matrix):
    inner = fs.fuse(step)

    @fs.fuse
    def twice(A, x):
        y = inner(A, x)
        assert isinstance(y, fs.Lazy)
        return inner(A, y)

    before = len(plan_cache)
    x = np.ones(6)
    got = twice(matrix, x)
    assert len(plan_cache) == before + 1
    np.testing.assert_allclose(got.to_numpy(), step(matrix, step(matrix, x)))


def test_the_same_array_twice_is_one_operand(matrix):
    plan = fs.fuse(lambda a, b: a * b).plan(matrix, matrix)
    assert len(plan.operands) == 1


def test_methods_and_names(matrix):
    class Model:
        rate = 2.0

        @fs.fuse
        def scaled(self, A):
            "Scale."
            return self.rate * A

    assert Model.scaled.__doc__ == "Scale." and Model.scaled.__name__ == "scaled"
    assert "scaled" in repr(Model.scaled)
    np.testing.assert_allclose(Model().scaled(matrix).to_numpy(), 2 * matrix.toarray())


def test_plan_and_explain(matrix):
    fused = fs.fuse(step)
    plan = fused.plan(matrix, np.ones(6))
    np.testing.assert_allclose(plan.run().to_numpy(), step(matrix, np.ones(6)))
    assert fused.explain(matrix, np.ones(6)).startswith("== Program ==")
    with pytest.raises(FusionError, match="computes no array"):
        fs.fuse(lambda n: n + 1).plan(3)


def branch(A):
    if A.sum() > 0:
        return A
    return -A


@pytest.mark.parametrize(
    "function, line",
    [
        (branch, "if A.sum() > 0"),
        (lambda A: A * float(A.max()), "float(A.max())"),
        (lambda A: [A for _ in range(A.sum())], "range(A.sum())"),
        (lambda A: np.asarray(A), "np.asarray(A)"),
        (lambda A: A.sum().item(), "A.sum().item()"),
    ],
)
def test_data_dependent_control_flow_names_the_line(matrix, function, line):
    with pytest.raises(FusionError) as caught:
        fs.fuse(function)(matrix)
    message = str(caught.value)
    assert line in message and "test_fuse.py" in message and "hint:" in message and "where" in message
    assert isinstance(caught.value, LazyValueError)


def test_values_of_constants_may_decide(matrix):
    threshold = fs.asarray(1.0)

    @fs.fuse
    def program(A):
        return A + A if threshold > 0 else A

    np.testing.assert_allclose(program(matrix).to_numpy(), 2 * matrix.toarray())


def test_an_argument_given_back_is_the_same_tensor(matrix):
    A = fs.asarray(matrix)
    same, other = fs.fuse(lambda a: (a, 1))(A)
    assert same.data is A.data and other == 1


def test_a_compiled_program(matrix):
    with fs.config(backend="numba"):
        got = fs.fuse(step)(matrix, np.ones(6))
    np.testing.assert_allclose(got.to_numpy(), step(matrix, np.ones(6)))


# ------------------------------------------------------------------------------------------- copies and pickles


def test_tensors_pickle_and_copy(matrix):
    for tensor in (fs.asarray(matrix), fs.asarray(matrix, fill_value=np.inf), fs.asarray(3.0), fs.asarray(np.eye(3))):
        for other in (pickle.loads(pickle.dumps(tensor)), copy(tensor), deepcopy(tensor)):
            assert other.format == tensor.format and other.data.type == tensor.data.type
            assert other.fill_value == tensor.fill_value
            np.testing.assert_array_equal(other.to_numpy(), tensor.to_numpy())
    tensor = fs.asarray(matrix)
    assert not np.shares_memory(deepcopy(tensor).data.val, tensor.data.val)
    assert copy(tensor) is tensor


def test_lazy_arrays_pickle_even_deep_ones(matrix):
    x = fs.lazy(np.ones(3))
    for _ in range(3000):
        x = x + 1
    again = pickle.loads(pickle.dumps(x))
    assert again.shape == (3,)
    program = fs.lazy(matrix) @ np.ones(6) + 1
    np.testing.assert_allclose(fs.compute(pickle.loads(pickle.dumps(program))).to_numpy(), matrix @ np.ones(6) + 1)
