"""Lists of coordinates as operands and results, alone and beside other formats."""

import itertools
from typing import Any

import numpy as np
import pytest

import finchsched as fs
from finchsched.formats.checks import check_tensor
from finchsched.passes.lower import lower_nest
from finchsched.passes.lower.lower_nest import LONGEST

MATRICES = (
    "coo",
    "SparseCOO(2)(Element), perm=(1, 0)",
    "csr",
    "csc",
    "dcsr",
    "dense",
    "Dense(SparseCOO(Element))",
    "SparseCOO(SparseList(Element))",
)
SHAPES = ((5, 6), (1, 1), (0, 4), (4, 0), (3, 1))


@pytest.fixture
def uncompiled() -> Any:
    with fs.config(backend="python"):
        yield


def matrix(shape: tuple[int, ...], seed: int, density: float = 0.4) -> Any:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(shape) < density, rng.integers(-4, 5, shape), 0).astype(float)


def stored(full: Any, format: str) -> fs.Tensor:
    made = fs.asarray(full).asformat(format)
    check_tensor(made.data)
    return made


def check(tensor: fs.Tensor, expected: Any) -> None:
    check_tensor(tensor.data)
    np.testing.assert_array_equal(tensor.to_numpy(), expected)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_conversions(shape: tuple[int, int]) -> None:
    full = matrix(shape, 1)
    for source, target in itertools.product(MATRICES, repeat=2):
        check(stored(full, source).asformat(target), full)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("other", MATRICES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_two_matrices(shape: tuple[int, int], other: str) -> None:
    a, b = matrix(shape, 1), matrix(shape, 2)
    for format in ("coo", "SparseCOO(2)(Element), perm=(1, 0)"):
        A, B = stored(a, format), stored(b, other)
        check(A + B, a + b)
        check(B - A, b - a)
        check(A * B, a * b)
        check(A @ B.T, a @ b.T)
        check(B.T @ A, b.T @ a)
        check((A != B).sum(axis=0), (a != b).sum(axis=0))


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_one_matrix(shape: tuple[int, int]) -> None:
    a = matrix(shape, 3)
    x, X = np.arange(1.0, shape[1] + 1), matrix((shape[1], 3), 4, 1.0)
    for format in ("coo", "SparseCOO(2)(Element), perm=(1, 0)", "Dense(SparseCOO(Element))"):
        A = stored(a, format)
        check(A @ x, a @ x)
        check(A.T @ np.ones(shape[0]), a.T @ np.ones(shape[0]))
        check(A @ X, a @ X)
        for axis in (None, 0, 1, (0, 1)):
            check(A.sum(axis=axis), a.sum(axis=axis))
            if a.size:
                check(A.max(axis=axis), a.max(axis=axis))
        check(A.T, a.T)
        doubled = A * 2
        assert doubled.format == A.format
        check(doubled, a * 2)
        check(A * x, a * x)
        check(A + 1, a + 1)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("format", ["coo", "Dense(SparseCOO(2)(Element))", "SparseCOO(2)(Dense(Element))", "csf"])
def test_three_axes(format: str) -> None:
    a, b = matrix((3, 4, 5), 5), matrix((3, 4, 5), 6)
    A, B = stored(a, format), stored(b, "coo")
    check(A + B, a + b)
    check(A * B, a * b)
    check(A.asformat("coo"), a)
    check(B.asformat(format), b)
    for axes in itertools.permutations(range(3)):
        check(A.transpose(axes) * B.transpose(axes), (a * b).transpose(axes))
    for axis in (0, 1, 2, (0, 1), (0, 2), (1, 2)):
        check((A + B).sum(axis=axis), (a + b).sum(axis=axis))
    check(fs.einsum("y[k,i] += A[i,j,k] * B[i,j,k]", A=A, B=B), (a * b).sum(axis=1).T)
    check(fs.einsum("y[i,j] += A[i,k,l] * B[j,k,l]", A=A, B=B), np.einsum("ikl,jkl->ij", a, b))


@pytest.mark.usefixtures("uncompiled")
def test_a_list_outgrows_its_room() -> None:
    """The first guess at a product is too small, so the kernel is resumed."""
    a, b = np.zeros((60, 60)), np.zeros((60, 60))
    a[:, 0], b[0, :] = 2.0, 3.0
    A, B = stored(a, "coo"), stored(b, "coo")
    check(fs.einsum("C[i,j] += A[i,k] * B[k,j]", A=A, B=B, formats="coo"), a @ b)


@pytest.mark.usefixtures("uncompiled")
def test_entries_of_one_list_run_in_one_loop() -> None:
    A = stored(matrix((5, 6), 7), "coo")
    plan = fs.plan("y[i] += A[i,j] * x[j]", A=A, x=np.ones(6))
    assert plan.kernel_source.count("for ") == 1 + plan.kernel_source.count("#     for ") + 1
    assert "while" not in plan.kernel_source


# ---------------------------------------------------------------------------------------------- many axes


SEVEN = (50, 50, 50, 50, 3, 3, 3)


def seven(seed: int) -> tuple[fs.Tensor, dict[tuple[int, ...], float]]:
    rng = np.random.default_rng(seed)
    coords = np.unique(np.stack([rng.integers(0, min(extent, 6), 90) for extent in SEVEN]), axis=1)
    data = rng.random(coords.shape[1])
    return fs.from_coo(coords, data, SEVEN), dict(zip(map(tuple, coords.T.tolist()), data.tolist(), strict=True))


def entries(tensor: fs.Tensor) -> dict[tuple[int, ...], float]:
    check_tensor(tensor.data)
    listed = tensor.asformat("coo").data
    return dict(
        zip(zip(*(c.tolist() for c in listed.crd if c is not None), strict=True), listed.val.tolist(), strict=True)
    )


def approx(found: dict[tuple[int, ...], float], want: dict[tuple[int, ...], float]) -> None:
    assert found == pytest.approx(want)


@pytest.mark.usefixtures("uncompiled")
def test_seven_axes() -> None:
    (A, a), (B, b) = seven(0), seven(1)
    plan = fs.plan(fs.lazy(A) + fs.lazy(B))
    statements = [line for line in plan.kernel_source.splitlines() if line.strip() and not line.startswith("#")]
    assert len(statements) < 2 * LONGEST
    approx(entries(plan.run()), {at: a.get(at, 0) + b.get(at, 0) for at in {*a, *b}})
    approx(entries(A * B), {at: a[at] * b[at] for at in {*a} & {*b}})
    total: dict[tuple[int, ...], float] = {}
    for at, value in a.items():
        key = (at[1], at[3], at[5])
        total[key] = total.get(key, 0) + 2 * value
    approx(entries((A + A).sum(axis=(0, 2, 4, 6))), total)
    turned = A.transpose((6, 5, 4, 3, 2, 1, 0)).sum(axis=(0, 1, 2, 3, 4))
    assert turned.shape == (50, 50)
    np.testing.assert_allclose(turned.sum().item(), sum(a.values()))


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("format", ["csf", "coo"])
def test_compact_unions_of_three(format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    full = [matrix((3, 4, 3), seed) for seed in range(3)]
    A, B, C = (stored(each, format) for each in full)
    a, b, c = full
    for longest in (LONGEST, 0):
        monkeypatch.setattr(lower_nest, "LONGEST", longest)
        with fs.config(densify=(1 << 28) + longest):  # another plan key
            check(A + B + C, a + b + c)
            check(A * (B + C), a * (b + c))
            check((A + B) * C, (a + b) * c)
            check(A + B * C, a + b * c)
            check((A + B - C).sum(axis=(0, 2)), (a + b - c).sum(axis=(0, 2)))
            check(A + B + 1, a + b + 1)


# ---------------------------------------------------------------------------------------------- compiled


def test_compiled() -> None:
    a, b, x = matrix((30, 20), 8), matrix((30, 20), 9), np.arange(20.0)
    A, B = stored(a, "coo"), stored(b, "csr")
    check(A @ x, a @ x)
    check(A + B, a + b)
    check(A.asformat("csc"), a)
    check(B.asformat("coo"), b)
    check(A.sum(axis=0), a.sum(axis=0))


def test_seven_axes_compiled() -> None:
    (A, a), (B, b) = seven(2), seven(3)
    approx(entries(A + B), {at: a.get(at, 0) + b.get(at, 0) for at in {*a, *b}})
