"""The oracle against np.einsum, against values worked out by hand, and against text it must refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oracle.einsum_oracle import evaluate, evaluate_numpy
from oracle.masked_array import MaskedArray, compare

INF, NAN = np.inf, np.nan


def dense(values: Any, dtype: Any = np.float64) -> MaskedArray:
    """Stored everywhere."""
    return MaskedArray.from_dense(np.array(values, dtype))


def sparse(values: Any, fill: Any = 0.0, dtype: Any = np.float64) -> MaskedArray:
    """Stored where `values` is not None."""
    array = np.array(values, object)
    mask = np.array([value is not None for value in array.flat], np.bool).reshape(array.shape)
    return MaskedArray.from_mask(np.where(mask, array, fill).astype(dtype), mask, fill)


def random_sparse(shape: tuple[int, ...], seed: int, dtype: Any = np.float64) -> MaskedArray:
    """About half stored; small integers, so that sums are exact in every dtype; fill 0."""
    rng = np.random.default_rng(seed)
    return MaskedArray.from_mask(rng.integers(-4, 5, shape).astype(dtype), rng.random(shape) < 0.5)


def check(result: MaskedArray, values: Any, stored: Any, fill: Any, dtype: Any) -> None:
    """All that a result consists of."""
    compare(np.array(values, dtype), result, rtol=0, atol=0)
    np.testing.assert_array_equal(result.stored, np.array(stored, np.bool))
    np.testing.assert_array_equal(result.fill, fill)
    assert result.dtype == dtype


# ---------------------------------------------------------------------------------------------- NumPy style


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("ij,jk->ik", [(3, 4), (4, 2)]),
        (" ij , jk -> k i ", [(3, 4), (4, 2)]),
        ("ij,kj", [(3, 4), (2, 4)]),
        ("ba", [(3, 4)]),
        ("aB", [(3, 4)]),
        ("ij,ij->", [(3, 4), (3, 4)]),
        ("i,j,k->kij", [(2,), (3,), (4,)]),
        ("ii", [(3, 3)]),
        ("ii->i", [(3, 3)]),
        ("iij->j", [(3, 3, 2)]),
        ("ij,jk,ki->", [(3, 3), (3, 3), (3, 3)]),
        ("...ij,...jk->...ik", [(2, 2, 3), (2, 3, 2)]),
        ("...ij,jk", [(2, 2, 3), (3, 2)]),
        ("i...,...->...i", [(3, 2, 4), (4,)]),
        ("i...->i...", [(3,)]),
        (",ij->ij", [(), (2, 3)]),
        ("ij,jk->ik", [(3, 0), (0, 2)]),
        ("ij,jk->ik", [(0, 3), (3, 2)]),
        ("ij->", [(0, 3)]),
    ],
)
def test_numpy_style_agrees_with_numpy(text: str, shapes: list[tuple[int, ...]], dtype: Any) -> None:
    operands = [random_sparse(shape, seed, dtype) for seed, shape in enumerate(shapes)]
    result = evaluate_numpy(text, *operands)
    compare(np.einsum(text, *(operand.values for operand in operands)), result, rtol=0, atol=0)
    assert result.dtype == dtype
    assert result.fill == 0


def test_numpy_style_promotes_mixed_dtypes() -> None:
    result = evaluate_numpy("i,i->i", dense([1, 2], np.int64), dense([0.5, 0.25], np.float32))
    check(result, [0.5, 0.5], [True, True], 0, np.float64)


def test_numpy_style_bools_are_or_of_and() -> None:
    ones = MaskedArray.from_dense(np.ones((2, 256), np.bool))
    check(evaluate_numpy("ij,kj->ik", ones, ones), np.ones((2, 2)), np.ones((2, 2)), False, np.bool)


def test_numpy_style_wraps_int64() -> None:
    big = dense([2**62, 2**62, 2**62], np.int64)
    check(evaluate_numpy("i->", big), -(2**62), True, 0, np.int64)


def test_numpy_style_is_one_product() -> None:
    """The fills 0 and inf of the first two are met together: NaN does not absorb, 0 alone would have."""
    zero, infinite, stored = sparse([None]), sparse([None], INF), dense([3.0])
    result = evaluate_numpy("i,i,i->i", zero, infinite, stored)
    check(result, [NAN], [True], NAN, np.float64)


@pytest.mark.parametrize(
    ("text", "shapes", "message"),
    [
        ("ij,jk->ik", [(2, 3), (2, 3)], "index j has extent 3 and, in operand 1, 2"),
        ("ij,jk->ik", [(2, 1), (3, 2)], "index j has extent 1 and, in operand 1, 3"),
        ("ii->", [(2, 3)], "index i has extent 2"),
        ("ijk->", [(2, 3)], "operand 0 has 2 indices, not 3"),
        ("i->", [(2, 3)], "operand 0 has 2 indices, not 1"),
        ("ij->k", [(2, 3)], "k appears in no operand"),
        ("ij->ii", [(2, 3)], "i is given twice"),
        ("ij,jk->", [(2, 3)], "names 2 operands, not 1"),
        ("...i,...i->", [(2, 3), (2, 3)], "needs an ellipsis"),
        ("...i,...i->...", [(2, 3), (1, 3)], "has extent 2 and, in operand 1, 1"),
        ("ijk...->...", [(2, 3)], "fewer indices than its letters"),
        ("i1->i", [(2, 3)], "not index letters"),
        ("i......->i", [(2, 3)], "fewer indices than its letters"),
    ],
)
def test_numpy_style_refuses(text: str, shapes: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        evaluate_numpy(text, *(random_sparse(shape, 0) for shape in shapes))


# ---------------------------------------------------------------------------------------------- Finch style


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_matrix_product_agrees_with_numpy(dtype: Any) -> None:
    a, b = random_sparse((3, 4), 1, dtype), random_sparse((4, 5), 2, dtype)
    result = evaluate("C[i,j] += A[i,k] * B[k,j]", {"A": a, "B": b})
    check(result, a.values @ b.values, (a.stored.astype(int) @ b.stored.astype(int)) > 0, 0, dtype)


@pytest.mark.parametrize(
    ("right", "function"),
    [
        ("A[i,j] + B[i,j] * 2 - 1", lambda a, b: a + b * 2 - 1),
        ("-A[i,j] ** 2 / (B[i,j] + 10)", lambda a, b: -(a**2) / (b + 10)),
        ("A[i,j] // 2 % 3", lambda a, b: a // 2 % 3),
        ("A[i,j] / B[i,j]", lambda a, b: a / b),
        ("A[j,i] < B[i,j]", lambda a, b: np.less(a.T, b)),
        ("not A[i,j] > 0 or B[i,j] == 1", lambda a, b: ~(a > 0) | (b == 1)),
        ("-2 < A[i,j] <= 2", lambda a, b: (a > -2) & (a <= 2)),
        ("(A[i,j] >= 1) ^ ~(B[i,j] != 0) & True", lambda a, b: (a >= 1) ^ (b == 0)),
        ("where(A[i,j] > B[i,j], sqrt(abs(A[i,j])), 0.5)", lambda a, b: np.where(a > b, np.sqrt(abs(a)), 0.5)),
        ("min(A[i,j], B[i,j], 1) + max(A[i,j], 0)", lambda a, b: np.minimum(np.minimum(a, b), 1) + np.maximum(a, 0)),
        ("s * A[i,j] + 10 * i + j", lambda a, b: 3 * a + 10 * np.arange(3)[:, None] + np.arange(3)),
        ("isnan(log(A[i,j]))", lambda a, b: a < 0),
    ],
)
def test_elementwise_agrees_with_numpy(right: str, function: Any) -> None:
    a, b = random_sparse((3, 3), 3), random_sparse((3, 3), 4)
    result = evaluate(f"C[i,j] = {right}", {"A": a, "B": b, "s": 3})
    with np.errstate(all="ignore"):
        compare(function(a.values, b.values), result, rtol=1e-15, atol=0)
        want = function(a.values, b.values)
    assert result.dtype == want.dtype


def test_outputs_without_indices() -> None:
    a = sparse([1.0, None, 5.0])
    for text in ("s += A[i]", "s[] += A[i]", "s[ ]+=A[ i ]"):
        check(evaluate(text, {"A": a}), 6, True, 0, np.float64)
    point = MaskedArray.from_dense(np.array(2.0))
    check(evaluate("s = p[] + p", {"p": point}), 4, True, 0, np.float64)
    check(evaluate("s = 3", {}), 3, True, 3, np.int64)


def test_diagonal_and_trace() -> None:
    a = sparse([[1, None, 3], [4, None, 6], [7, 8, 9]])
    check(evaluate("d[i] = A[i,i]", {"A": a}), [1, 0, 9], [True, False, True], 0, np.float64)
    check(evaluate("t += A[i,i]", {"A": a}), 10, True, 0, np.float64)


def test_triangle_count() -> None:
    """Two triangles, 0-1-2 and 1-2-3, each counted six times."""
    graph = np.zeros((5, 5), np.bool)
    for one, two in [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (3, 4)]:
        graph[one, two] = graph[two, one] = True
    a = MaskedArray.from_mask(graph, graph, False)
    check(evaluate("t += A[i,j] * A[j,k] * A[i,k]", {"A": a}), 12, True, 0, np.int64)
    check(evaluate("t += A[i,j] and A[j,k] and A[i,k] and i < j and j < k", {"A": a}), 2, True, 0, np.int64)


def test_min_plus_path() -> None:
    weights = sparse([[None, 1, None], [None, None, 2], [5, None, None]], INF)
    result = evaluate("D[i,j] min= A[i,k] + A[k,j]", {"A": weights})
    want = [[INF, INF, 3], [7, INF, INF], [INF, 6, INF]]
    check(result, want, np.isfinite(want), INF, np.float64)


def test_infinite_fill_absorbs_only_under_its_reduction() -> None:
    low, high = sparse([None], -INF), sparse([None], INF)
    nan, minus = dense([NAN]), dense([-INF])
    check(evaluate("m min= A[i] + B[i]", {"A": high, "B": nan}), INF, False, INF, np.float64)
    check(evaluate("m min= A[i] + B[i]", {"A": minus, "B": high}), INF, False, INF, np.float64)
    check(evaluate("m max= A[i] + B[i]", {"A": low, "B": nan}), -INF, False, -INF, np.float64)
    check(evaluate("m max= A[i] + B[i]", {"A": high, "B": minus}), NAN, True, INF, np.float64)
    check(evaluate("m += A[i] + B[i]", {"A": high, "B": minus}), NAN, True, INF, np.float64)


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_stored_nan_or_inf_meets_unstored_zero(bad: float) -> None:
    a, b = dense([bad, bad]), sparse([None, 0.0])
    check(evaluate("C[i] = A[i] * B[i]", {"A": a, "B": b}), [0, NAN], [False, True], 0, np.float64)
    check(evaluate("C[i] = B[i] * A[i]", {"A": a, "B": b}), [0, NAN], [False, True], 0, np.float64)
    check(evaluate_numpy("i,i->i", a, b), [0, NAN], [False, True], 0, np.float64)


def test_scalars_never_absorb() -> None:
    a = sparse([1.0, None])
    check(evaluate("C[i] = A[i] * s", {"A": a, "s": INF}), [INF, NAN], [True, False], NAN, np.float64)
    check(evaluate("C[i] = 0 * A[i]", {"A": sparse([NAN, None], 1.0)}), [NAN, 0], [True, False], 0, np.float64)


def test_absorbed_value_away_from_the_fill_is_stored() -> None:
    """0 * inf is the fill, NaN; an unstored 0 meeting a stored inf gives 0, which is not the fill."""
    a, b = sparse([None, None]), sparse([INF, None], INF)
    check(evaluate("C[i] = A[i] * B[i]", {"A": a, "B": b}), [0, NAN], [True, False], NAN, np.float64)


def test_absorbers_of_min_max_and_or() -> None:
    """Values alike, the mask tells: absorbed coordinates stay structural."""
    floats = dense([NAN, 1.0])
    low, high = sparse([None, 2.0], -INF), sparse([None, 2.0], INF)
    check(evaluate("C[i] = min(A[i], B[i])", {"A": floats, "B": low}), [-INF, 1], [False, True], -INF, np.float64)
    check(evaluate("C[i] = max(B[i], A[i])", {"A": floats, "B": high}), [INF, 2], [False, True], INF, np.float64)
    check(evaluate("C[i] = min(A[i], B[i])", {"A": floats, "B": high}), [NAN, 1], [True, True], 0, np.float64)
    truth, no, yes = dense([1], np.bool), sparse([None], False, np.bool), sparse([None], True, np.bool)
    for sign in ("and", "&", "*"):
        check(evaluate(f"C[i] = A[i] {sign} B[i]", {"A": truth, "B": no}), [0], [False], False, np.bool)
    for sign in ("or", "|", "+"):
        check(evaluate(f"C[i] = B[i] {sign} A[i]", {"A": truth, "B": yes}), [1], [False], True, np.bool)
        check(evaluate(f"C[i] = B[i] {sign} A[i]", {"A": truth, "B": no}), [1], [True], False, np.bool)


def test_unstored_nan_absorbs_sums() -> None:
    a, b = sparse([None, 1.0], NAN), dense([2.0, 2.0])
    check(evaluate("C[i] = A[i] + B[i]", {"A": a, "B": b}), [NAN, 3], [False, True], NAN, np.float64)


def test_sparse_over_dense_is_dense() -> None:
    result = evaluate("C[i] = A[i] / B[i]", {"A": sparse([None, 1.0]), "B": dense([0.0, 2.0])})
    check(result, [NAN, 0.5], [True, True], NAN, np.float64)


def test_where_is_structural_when_all_its_tensors_are() -> None:
    c, a = sparse([None, None, True], False, np.bool), sparse([None, 1.0, 2.0], 7.0)
    check(evaluate("C[i] = where(c[i], A[i], 5)", {"c": c, "A": a}), [5, 5, 2], [0, 1, 1], 5, np.float64)


def test_operators_nest_to_the_left() -> None:
    """(0 * inf) * stored: both structural first, NaN, which then meets the stored value."""
    operands = {"A": sparse([None]), "B": sparse([None], INF), "C": dense([3.0])}
    check(evaluate("D[i] = A[i] * B[i] * C[i]", operands), [NAN], [True], NAN, np.float64)
    check(evaluate("D[i] = A[i] * (B[i] * C[i])", operands), [0], [True], NAN, np.float64)


# ---------------------------------------------------------------------------------------------- fills and reductions


def test_sum_with_fill_one() -> None:
    a = sparse([[None, 3, None], [None, None, None]], 1.0)
    check(evaluate("r[i] += A[i,j]", {"A": a}), [5, 3], [True, False], 3, np.float64)
    check(evaluate("s += A[i,j]", {"A": a}), 8, True, 6, np.float64)
    check(evaluate("p[j] *= A[i,j] + 1", {"A": a}), [4, 8, 4], [False, True, False], 4, np.float64)


def test_reductions_by_name() -> None:
    a = sparse([[4, None, -2], [None, None, None], [3, 3, 3]])
    check(evaluate("r[i] min= A[i,j]", {"A": a}), [-2, 0, 3], [1, 0, 1], 0, np.float64)
    check(evaluate("r[i] max= A[i,j]", {"A": a}), [4, 0, 3], [1, 0, 1], 0, np.float64)
    check(evaluate("r[i] and= A[i,j] > 0", {"A": a}), [0, 0, 1], [1, 0, 1], False, np.bool)
    check(evaluate("r[i] or= A[i,j] > 3", {"A": a}), [1, 0, 0], [1, 0, 1], False, np.bool)
    check(evaluate("r min= A[i,j] + s", {"A": a, "s": NAN}), NAN, True, NAN, np.float64)


def test_reduction_over_nothing_is_the_identity() -> None:
    shape = (2, 0)
    a = MaskedArray.unstored(shape, 5.0, np.dtype(np.float64))
    for sign, identity in (("+", 0), ("*", 1), ("min", INF), ("max", -INF)):
        check(evaluate(f"r[i] {sign}= A[i,j]", {"A": a}), [identity] * 2, [False] * 2, identity, np.float64)
    b = MaskedArray.unstored(shape, 5, np.dtype(np.int64))
    check(evaluate("r[i] min= A[i,j]", {"A": b}), [2**63 - 1] * 2, [False] * 2, 2**63 - 1, np.int64)
    check(evaluate("r[i] max= A[i,j]", {"A": b}), [-(2**63)] * 2, [False] * 2, -(2**63), np.int64)
    check(evaluate("r[i] and= A[i,j] > 9", {"A": b}), [True] * 2, [False] * 2, True, np.bool)


def test_empty_output_has_its_fill() -> None:
    a = MaskedArray.unstored((0, 3), 2.0, np.dtype(np.float64))
    check(evaluate("r[i] += A[i,j] + j", {"A": a}), np.zeros(0), np.zeros(0), 9, np.float64)
    check(evaluate("C[j,i] = A[i,j]", {"A": a}), np.zeros((3, 0)), np.zeros((3, 0)), 2, np.float64)


def test_index_values() -> None:
    a = sparse([[None, 2], [None, None]])
    check(evaluate("C[i,j] = A[i,j] * (i + 1)", {"A": a}), [[0, 2], [0, 0]], [[0, 1], [0, 0]], 0, np.float64)
    check(evaluate("r[i] += A[i,j] + j", {"A": a}), [3, 1], [True, False], 1, np.float64)
    check(evaluate("r[i] max= where(A[i,j] > 0, j, -1)", {"A": a}), [1, -1], [True, False], -1, np.int64)


def test_a_fill_that_varies_is_no_fill() -> None:
    a = sparse([None, 2, None])
    check(evaluate("C[i] = A[i] + i", {"A": a}), [0, 3, 2], [True, True, True], 0, np.float64)


# ---------------------------------------------------------------------------------------------- dtypes


@pytest.mark.parametrize(
    ("text", "dtype", "want"),
    [
        ("r += A[i]", np.bool, np.int64),
        ("r *= A[i]", np.bool, np.int64),
        ("r max= A[i]", np.bool, np.bool),
        ("r or= A[i]", np.bool, np.bool),
        ("r and= A[i]", np.int64, np.int64),
        ("r += A[i]", np.float32, np.float32),
        ("r[i] = A[i] * 2.5", np.float32, np.float32),
        ("r[i] = 2 * 3 * A[i]", np.float32, np.float32),
        ("r[i] = where(A[i] > 0, A[i], 0.5)", np.float32, np.float32),
        ("r[i] = -1 * A[i]", np.bool, np.int64),
        ("r[i] = A[i] * 2.5", np.int64, np.float64),
        ("r[i] = A[i] * i", np.float32, np.float64),
        ("r[i] = A[i] / 2", np.int64, np.float64),
        ("r[i] = A[i] // 2", np.int64, np.int64),
        ("r[i] = A[i] * weak", np.float32, np.float32),
        ("r[i] = A[i] * strong", np.float32, np.float64),
        ("r[i] = sin(A[i])", np.float32, np.float32),
        ("r[i] = A[i] == 1", np.float32, np.bool),
    ],
)
def test_dtype(text: str, dtype: Any, want: Any) -> None:
    for a in (dense([1, 0], dtype), sparse([None, 1], 0, dtype), MaskedArray.unstored((0,), 0, np.dtype(dtype))):
        operands: dict[str, Any] = {"A": a, "weak": 2.0, "strong": np.float64(2)}
        assert evaluate(text, operands).dtype == want


def test_integers_wrap_and_divide_by_zero_quietly() -> None:
    a = dense([2**63 - 1, 5], np.int64)
    check(evaluate("C[i] = A[i] + 1", {"A": a}), [-(2**63), 6], [True, True], 1, np.int64)
    check(evaluate("C[i] = A[i] // 0", {"A": a}), [0, 0], [True, True], 0, np.int64)


def test_float32_rounds_once_per_operation() -> None:
    a = dense([0.1], np.float32)
    check(evaluate("C[i] = A[i] * A[i]", {"A": a}), [np.float32(0.1) * np.float32(0.1)], [True], 0, np.float32)


# ---------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("C[i] = A[i,j]", "index j is not on the left of ="),
        ("C = v[i]", "index i is not on the left of ="),
        ("C[i,j] += A[i,j] * w[j]", "index j has extent 3"),
        ("C[i] += A[i,i]", "index i has extent 2"),
        ("C[i] += A[i]", "has 2 indices, not 1"),
        ("C[i] += v[i,j]", "has 1 indices, not 2"),
        ("C[i,k] = v[i]", "k appears in no operand"),
        ("C[i,i] = v[i]", "i is given twice"),
        ("C[i] = v[i] * k", "k is neither"),
        ("C[i] = B[i]", "B is not a tensor"),
        ("C[i] = v", "has 1 indices, not 0"),
        ("C[i] = s[i]", "s is not a tensor"),
        ("C[s] = v[s]", "both an index and an operand"),
        ("C[i] = v[i + 1]", "not an access by index names"),
        ("C[0] = v[i]", "must be names"),
        ("C[i] -= v[i]", "not an assignment"),
        ("C[i] == v[i]", "not an assignment"),
        ("v[i]", "not an assignment"),
        ("C[i] = ", "cannot parse|not an assignment"),
        ("C[i] = v[i] +", "cannot parse"),
        ("C[i] = v[i] @ v[i]", "not in the grammar"),
        ("C[i] = +v[i]", "not in the grammar"),
        ("C[i] = v[i] if s else s", "not in the grammar"),
        ("C[i] = f(v[i])", "not in the grammar"),
        ("C[i] = sqrt(v[i], v[i])", "sqrt does not take 2"),
        ("C[i] = min(v[i])", "min does not take 1"),
        ("C[i] = where(v[i], v[i])", "where does not take 2"),
        ("C[i] = max(v[i], s, axis=s)", "not in the grammar"),
        ("C[i] = v[i] * 'a'", "not a literal"),
        ("C[i] = v[i] * 'x'", "not a literal"),
        ("C[i] = v[i] * 18446744073709551616", "does not fit int64"),
        ("C[i] = v[i] * min", "min is neither"),
    ],
)
def test_refuses(text: str, message: str) -> None:
    tensors = {"A": random_sparse((2, 3), 0), "v": random_sparse((2,), 1), "w": random_sparse((4,), 2)}
    with pytest.raises(ValueError, match=message):
        evaluate(text, {**tensors, "s": 2})


def test_refuses_an_operand_of_another_kind() -> None:
    operands: Any = {"A": [1, 2]}
    with pytest.raises(TypeError, match="neither a MaskedArray nor a scalar"):
        evaluate("s = A", operands)


# ---------------------------------------------------------------------------------------------- masked arrays


def test_from_mask_puts_the_fill_where_nothing_is_stored() -> None:
    given = np.array([1.0, 2.0, 3.0])
    array = MaskedArray.from_mask(given, [True, False, True], NAN)
    check(array, [1, NAN, 3], [True, False, True], NAN, np.float64)
    assert given[1] == 2.0


def test_from_csr_keeps_zeros_and_adds_duplicates() -> None:
    scipy_sparse = pytest.importorskip("scipy.sparse")
    data, columns, pointers = np.array([1.0, 0.0, 2.0, 5.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 3, 4])
    array = MaskedArray.from_csr(scipy_sparse.csr_array((data, columns, pointers), shape=(3, 3)))
    stored = [[True, False, True], [False] * 3, [False, True, False]]
    check(array, [[0, 0, 3], [0, 0, 0], [0, 5, 0]], stored, 0, np.float64)


def test_masked_array_refuses_what_breaks_its_invariant() -> None:
    with pytest.raises(ValueError, match="an unstored entry holds"):
        MaskedArray(np.array([1.0, 2.0]), np.array([True, False]), 0.0)
    with pytest.raises(ValueError, match="the mask must be bool"):
        MaskedArray(np.zeros(2), np.ones(3, np.bool), 0.0)
    for fill in (0.5, INF, NAN, np.float64(INF), 2**70):
        with pytest.raises(ValueError, match="cannot hold the fill"):
            MaskedArray.from_dense(np.zeros(2, np.int64), fill)


def test_compare_accepts_what_does_not_count() -> None:
    expected = dense([0.0, NAN, INF, 1.0])
    payload = np.array([0x7FF8000000000123], np.uint64).view(np.float64)[0]
    compare(np.array([-0.0, payload, INF, 1.0 + 1e-12]), expected, rtol=1e-9, atol=0)
    compare(np.array([1e-12, NAN, INF, 1.0]), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("result", "expected", "message"),
    [
        ([1.0, 2.0], dense([1.0, 2.1]), r"at \(1,\): got .*2\.0.*, expected .*2\.1"),
        ([INF], dense([-INF]), r"at \(0,\)"),
        ([1e308], dense([INF]), r"at \(0,\)"),
        ([NAN], dense([0.0]), r"at \(0,\)"),
        ([0.0], dense([NAN]), r"at \(0,\)"),
        (np.array([3]), dense([4], np.int64), r"at \(0,\)"),
        ([1.0], sparse([None], 2.0), "structural"),
        ([[1.0]], dense([1.0]), r"shape \(1, 1\), expected \(1,\)"),
    ],
)
def test_compare_names_the_first_difference(result: Any, expected: MaskedArray, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        compare(np.asarray(result), expected, rtol=1e-3, atol=1e-3)
