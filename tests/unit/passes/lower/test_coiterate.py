"""Merges of one to four lists, with and without code for the gaps, interpreted and compared with NumPy."""

from functools import reduce
from itertools import combinations

import numpy as np
import pytest

from everywhere import run_nest
from finchsched.algebra.dtypes import INT32
from finchsched.ast.kernel import For, While
from finchsched.ast.loop import LoopProgram, Nest
from finchsched.ast.node import walk
from finchsched.ast.parse_loop import parse_loop
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.levels import Dense, SparseByteMap, SparseList
from finchsched.formats.numpy_convert import from_dense, to_dense
from finchsched.passes.lower.lower_nest import lower_nest

VOCABULARY = {"Dense": Dense, "SparseList": SparseList, "SparseByteMap": SparseByteMap}
NAMES = "ABCD"
EXTENT = 6


def vector_nest(text: str, count: int, fill: float = 0.0, out: float = 0.0) -> Nest:
    lines = [f"input {name}: SparseList[int32,int32](Element({fill}: float64))" for name in NAMES[:count]]
    lines += ["input x: Dense(Element(0.0: float64))"] if "x[i]" in text else []
    lines += [
        f"output y: Dense(Element({out}: float64))",
        "nest y by dense:",
        "    for i:",
        f"        {text}",
        "return y",
    ]
    program = parse_loop("\n".join(lines), VOCABULARY)
    assert isinstance(program, LoopProgram)
    return program.nests[0]


def scalar_nest(text: str, count: int, fill: float = 0.0) -> Nest:
    lines = [f"input {name}: SparseList[int32,int32](Element({fill}: float64))" for name in NAMES[:count]]
    lines += ["output y: Element(0.0: float64)", "nest y by dense:", "    for i:", f"        {text}", "return y"]
    program = parse_loop("\n".join(lines), VOCABULARY)
    assert isinstance(program, LoopProgram)
    return program.nests[0]


def sparse(values: object, stored: object, fill: float = 0.0) -> FiberTensor:
    levels = (SparseList(INT32, INT32),)
    return from_dense(np.asarray(values, float), levels, (0,), fill=fill, mask=np.asarray(stored, np.bool))


def operands(count: int, seed: int, fill: float = 0.0) -> tuple[dict[str, FiberTensor], list[np.ndarray]]:
    """Random vectors; some seeds leave a vector empty, full, or stored at one end only."""
    rng = np.random.default_rng(seed)
    tensors, dense = {}, []
    for number, name in enumerate(NAMES[:count]):
        mask = rng.random(EXTENT) < (0.5, 0.0, 1.0, 0.3)[(seed + number) % 4]
        values = np.where(mask, rng.integers(1, 9, EXTENT) + 10.0 * (number + 1), fill)
        tensors[name] = sparse(values, mask, fill)
        dense.append(values)
    return tensors, dense


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(12))
def test_unions_without_gap_bodies(count: int, seed: int) -> None:
    nest = vector_nest("y[i] = " + " + ".join(f"{name}[i]" for name in NAMES[:count]), count)
    tensors, dense = operands(count, seed)
    np.testing.assert_array_equal(to_dense(run_nest(nest, tensors, {})), sum(dense))


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(12))
def test_intersections(count: int, seed: int) -> None:
    nest = vector_nest("y[i] = " + " * ".join(f"{name}[i]" for name in NAMES[:count]), count)
    tensors, dense = operands(count, seed)
    np.testing.assert_array_equal(to_dense(run_nest(nest, tensors, {})), reduce(np.multiply, dense))


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(12))
def test_unions_with_gap_bodies(count: int, seed: int) -> None:
    """With a dense operand every coordinate between stored ones has something to do."""
    nest = vector_nest("y[i] = x[i] + " + " + ".join(f"{name}[i]" for name in NAMES[:count]), count)
    tensors, dense = operands(count, seed)
    x = np.arange(1.0, EXTENT + 1)
    tensors["x"] = from_dense(x, (Dense(),), (0,), fill=0.0, mask=np.ones(EXTENT, np.bool))
    np.testing.assert_array_equal(to_dense(run_nest(nest, tensors, {})), x + sum(dense))


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(12))
def test_gaps_that_collapse(count: int, seed: int) -> None:
    """A fill of 1 counts at every coordinate; whole runs of it are added at once."""
    nest = scalar_nest("y[] += " + " + ".join(f"{name}[i]" for name in NAMES[:count]), count, fill=1.0)
    tensors, dense = operands(count, seed, fill=1.0)
    assert to_dense(run_nest(nest, tensors, {})) == np.sum(dense)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("y[i] = A[i] * (B[i] + C[i])", lambda a, b, c, d: a * (b + c)),
        ("y[i] = A[i] * B[i] + C[i]", lambda a, b, c, d: a * b + c),
        ("y[i] = A[i] * B[i] + C[i] * D[i]", lambda a, b, c, d: a * b + c * d),
        ("y[i] = min(A[i], B[i]) - C[i]", lambda a, b, c, d: np.minimum(a, b) - c),
        ("y[i] = where(A[i] > B[i], C[i], D[i])", lambda a, b, c, d: np.where(a > b, c, d)),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_mixtures(text: str, want: object, seed: int) -> None:
    count = 4 if "D" in text else 3
    tensors, dense = operands(count, seed)
    found = to_dense(run_nest(vector_nest(text, count), tensors, {}))
    np.testing.assert_array_equal(found, want(*dense, *[None] * (4 - count)))  # type: ignore[operator]


def test_every_pattern_of_two_short_lists() -> None:
    nest = vector_nest("y[i] = A[i] - B[i]", 2)
    for one in range(8):
        for other in range(8):
            masks = [np.array([bits >> k & 1 for k in range(3)], np.bool) for bits in (one, other)]
            dense = [np.where(mask, np.arange(1.0, 4) * scale, 0.0) for mask, scale in zip(masks, (1, 10), strict=True)]
            tensors = {n: sparse(v, m) for n, v, m in zip("AB", dense, masks, strict=True)}
            np.testing.assert_array_equal(to_dense(run_nest(nest, tensors, {})), dense[0] - dense[1])


@pytest.mark.parametrize("comparison", ["<", "<=", "==", "!=", ">=", ">"])
@pytest.mark.parametrize("bound", [-(2**63), -2, -1, 0, 2, 5, 6, 9, 2**63 - 1])
@pytest.mark.parametrize("text", ["A[i]", "A[i] + B[i]", "A[i] * B[i]"])
def test_regions_cut_lists_at_any_bound(text: str, comparison: str, bound: int) -> None:
    nest = vector_nest(f"y[i] = ({text}) * to_float64(i {comparison} {bound}: int64)", 2 if "B" in text else 1)
    for seed in range(4):
        tensors, dense = operands(2 if "B" in text else 1, seed)
        whole = dense[0] if "B" not in text else dense[0] + dense[1] if "+" in text else dense[0] * dense[1]
        i = np.arange(EXTENT)
        holds = {"<": i < bound, "<=": i <= bound, "==": i == bound, "!=": i != bound, ">=": i >= bound, ">": i > bound}
        np.testing.assert_array_equal(to_dense(run_nest(nest, tensors, {})), np.where(holds[comparison], whole, 0.0))


# ---------------------------------------------------------------------------------------------- the shape of the code


def loops(nest: Nest, kind: type) -> int:
    return sum(isinstance(node, kind) for node in walk(lower_nest(nest, "f", reassociate="strict").kernel.body))


def test_one_list_is_a_plain_loop() -> None:
    nest = vector_nest("y[i] = A[i]", 1)
    assert loops(nest, While) == 0
    assert loops(nest, For) == 1


def test_an_intersection_has_no_code_for_what_is_left_of_one_list() -> None:
    assert loops(vector_nest("y[i] = A[i] * B[i]", 2), While) == 1
    assert loops(vector_nest("y[i] = A[i] * B[i]", 2), For) == 0
    assert loops(vector_nest("y[i] = A[i] * B[i] * C[i]", 3), While) == 1


def test_a_union_has_one_merge_and_two_tails() -> None:
    assert loops(vector_nest("y[i] = A[i] + B[i]", 2), While) == 1
    assert loops(vector_nest("y[i] = A[i] + B[i]", 2), For) == 2


def test_the_number_of_lists_alive_shrinks() -> None:
    """Merges of every subset of at least two lists, once each on every path."""
    for count in (2, 3):
        nest = vector_nest("y[i] = " + " + ".join(f"{name}[i]" for name in NAMES[:count]), count)
        subsets = sum(1 for n in range(2, count + 1) for _ in combinations(range(count), n))
        assert loops(nest, While) == subsets
