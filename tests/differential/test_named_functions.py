"""The functions of the package root against NumPy's of the same name, over formats and fills, eager and lazy.

Kernels run uncompiled, but for a few at the end.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import finchsched as fs
from finchsched.api.planning import plan_cache
from finchsched.formats.levels import Dense, SparseList
from finchsched.formats.numpy_convert import from_dense

Array = np.ndarray[Any, Any]

NESTS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "dense": ((Dense(), Dense()), (0, 1)),
    "csr": ((Dense(), SparseList()), (0, 1)),
    "csc": ((Dense(), SparseList()), (1, 0)),
    "dcsr": ((SparseList(), SparseList()), (0, 1)),
    "csf": ((SparseList(), SparseList(), SparseList()), (0, 1, 2)),
    "csf by the last axis": ((Dense(), SparseList(), SparseList()), (2, 0, 1)),
}
MATRICES = ("dense", "csr", "csc", "dcsr")
CUBES = ("csf", "csf by the last axis")
FILLS = (0.0, 1.5, -np.inf)


@pytest.fixture(autouse=True, scope="module")
def many_plans() -> Iterator[None]:
    """There are more plans in this file than the cache holds; the next file starts with an empty one."""
    yield
    plan_cache.clear()


@pytest.fixture(autouse=True)
def uncompiled(request: pytest.FixtureRequest) -> Iterator[None]:
    if "compiled" in request.node.name:
        yield
        return
    with fs.config(backend="python"):
        yield


def array(shape: tuple[int, ...], fill: Any, dtype: Any = np.float64, seed: int = 0) -> tuple[Array, Array]:
    """(values, whether they are stored): half of them are not, and some stored ones equal the fill."""
    rng = np.random.default_rng(seed)
    stored = rng.random(shape) < 0.5
    values = np.where(stored, rng.integers(-4, 5, shape) / (1 if np.dtype(dtype).kind in "bi" else 2), fill)
    return values.astype(dtype), stored


def tensor(nest: str, values: Array, stored: Array, fill: Any) -> fs.Tensor:
    levels, perm = NESTS[nest]
    mask = np.ones_like(stored) if nest == "dense" else stored
    return fs.asarray(from_dense(values, levels, perm, fill=values.dtype.type(fill).item(), mask=mask))


def cases(
    shape: tuple[int, ...], fills: tuple[Any, ...] = FILLS, dtype: Any = np.float64
) -> Iterator[tuple[fs.Tensor, Array]]:
    for nest, fill in itertools.product(MATRICES if len(shape) == 2 else CUBES, fills):
        values, stored = array(shape, fill, dtype)
        yield tensor(nest, values, stored, fill), values


def same(found: Any, expected: Any, **tolerance: float) -> None:
    expected = np.asarray(expected)
    assert isinstance(found, fs.Tensor)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.to_numpy(), expected, **{"rtol": 1e-12, "atol": 1e-12, **tolerance})


def both(function: Callable[..., Any], expected: Any, *operands: Any, **options: Any) -> None:
    """Eager and lazy."""
    tolerance = {"rtol": 1e-5, "atol": 1e-6} if np.asarray(expected).dtype == np.float32 else {}
    same(function(*operands, **options), expected, **tolerance)
    lazy = function(*(fs.lazy(x) if isinstance(x, fs.Tensor) else x for x in operands), **options)
    assert isinstance(lazy, fs.Lazy)
    same(fs.compute(lazy), expected, **tolerance)


# ------------------------------------------------------------------------------------------------ elementwise

REALS = (
    "abs absolute acos acosh asin asinh atan atanh arccos arctan ceil conj cos cosh exp expm1 floor imag isfinite "
    "isinf isnan log log1p log2 log10 logical_not negative positive real reciprocal round sign signbit sin sinh sqrt "
    "square tan tanh trunc"
).split()
PAIRS = (
    "add atan2 copysign divide equal floor_divide fmax fmin greater greater_equal hypot less less_equal logaddexp "
    "logical_and logical_or logical_xor maximum minimum mod multiply nextafter not_equal pow power remainder subtract "
    "true_divide"
).split()
BITS = "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift".split()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", REALS)
def test_unary(name: str) -> None:
    for x, values in cases((3, 4)):
        both(getattr(fs, name), getattr(np, name)(values), x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", PAIRS)
def test_binary(name: str) -> None:
    row = np.array([0.5, -2.0, 3.0, 1.0])
    for x, values in cases((3, 4), fills=(0.0, 1.5)):
        if name == "multiply" or not name.endswith(("divide", "mod", "remainder")):
            both(getattr(fs, name), getattr(np, name)(values, row), x, row)
        both(getattr(fs, name), getattr(np, name)(values, 2.0), x, 2.0)
        both(getattr(fs, name), getattr(np, name)(3.0, values), 3.0, x)
        both(getattr(fs, name), getattr(np, name)(values, values), x, x)


@pytest.mark.parametrize("name", [*BITS, "bitwise_invert"])
def test_bits(name: str) -> None:
    for x, values in cases((3, 4), fills=(0, 3), dtype=np.int64):
        x, values = fs.compute(abs(fs.lazy(x))), abs(values)
        if name == "bitwise_invert":
            both(fs.bitwise_invert, np.bitwise_invert(values), x)
        else:
            both(getattr(fs, name), getattr(np, name)(values, values), x, x)
            both(getattr(fs, name), getattr(np, name)(values, 2), x, 2)


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1, 1)])
def test_small_shapes(shape: tuple[int, ...]) -> None:
    x = np.ones(shape)
    both(fs.add, x + 2, fs.asarray(x), 2)
    both(fs.exp, np.exp(x), fs.asarray(x))
    both(fs.where, np.where(x > 0, x, 5.0), fs.asarray(x), x, 5.0)


def test_where_clip_astype_round() -> None:
    for x, values in cases((3, 4), fills=(0.0, 1.5)):
        both(fs.where, np.where(values > 0, values, -1.0), x > 0, x, -1.0)
        both(fs.where, np.where(values, 2.0, values), x, 2.0, x)
        both(fs.clip, np.clip(values, -1, 1), x, -1, 1)
        both(fs.clip, np.clip(values, None, 1), x, max=1)
        both(fs.clip, np.clip(values, values.T[:1, :1], None), x, values.T[:1, :1])
        both(fs.astype, values.astype("float32"), x, "float32")
        both(fs.pow, values**2, x, 2)
        both(fs.round, np.round(values / 3, 2), x / 3, 2)
        both(fs.round, np.round(values * 7, -1), x * 7, -1)


def test_functions_take_what_arrays_there_are() -> None:
    same(fs.add([1, 2], 3), np.add([1, 2], 3))
    same(fs.multiply(2, 3), np.multiply(2, 3))
    same(fs.maximum(np.float64(2), np.ones(2)), np.maximum(2.0, np.ones(2)))
    assert fs.positive(x := fs.asarray([1.0])) is x
    assert fs.clip(x) is x


# ------------------------------------------------------------------------------------------------ reductions

AXES: dict[int, tuple[Any, ...]] = {
    2: (None, 0, 1, -1, (0, 1), ()),
    3: (None, 1, -1, (0, -1), (1, 2)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4)], ids=["matrix", "cube"])
@pytest.mark.parametrize("name", "sum prod min max any all mean var std count_nonzero".split())
def test_reductions(name: str, shape: tuple[int, ...], keepdims: bool) -> None:
    for x, values in cases(shape, fills=(0.0, 1.5)):
        for axis in AXES[len(shape)]:
            expected = getattr(np, name)(values, axis=axis, keepdims=keepdims)
            both(getattr(fs, name), expected, x, axis=axis, keepdims=keepdims)
            if name != "count_nonzero":
                same(getattr(x, name)(axis=axis, keepdims=keepdims), expected)


@pytest.mark.parametrize("name", "sum prod min max any all mean var std count_nonzero".split())
@pytest.mark.parametrize("dtype", ["bool", "int64", "float32"])
def test_types_of_reductions(name: str, dtype: str) -> None:
    for x, values in cases((3, 4), fills=(0,), dtype=dtype):
        both(getattr(fs, name), getattr(np, name)(values, axis=1), x, axis=1)
        both(getattr(fs, name), getattr(np, name)(values), x)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers(dtype: str) -> None:
    values, stored = array((3, 4), 0, dtype)
    values = np.where(stored, values * (1 + 2j) + 1j, 0).astype(dtype)
    loose = {"rtol": 1e-5, "atol": 1e-5} if dtype == "complex64" else {}
    for nest in MATRICES:
        x = tensor(nest, values, stored, 0)
        for name in ("sum", "prod", "mean", "var", "std", "count_nonzero", "any"):
            same(getattr(fs, name)(x, axis=1), getattr(np, name)(values, axis=1), **loose)
        for order in (0, 1, 2, 3, np.inf):
            same(fs.vector_norm(x, axis=0, ord=order), np.linalg.vector_norm(values, axis=0, ord=order), **loose)
        same(fs.matrix_norm(x), np.linalg.matrix_norm(values), **loose)
        same(fs.vecdot(x, values), np.linalg.vecdot(values, values), **loose)
        same(fs.einsum("ij,kj,k->i", x, x, values[:, 0]), values @ (values.T @ values[:, 0]), **loose)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "uint64"])
def test_narrow_types(dtype: str) -> None:
    values, stored = array((3, 4), 0)
    values = np.abs(values).astype(dtype)
    for nest in MATRICES:
        x = tensor(nest, values, stored, 0)
        for name in ("sum", "prod", "min", "mean", "var", "std", "count_nonzero", "all"):
            same(getattr(fs, name)(x, axis=1), getattr(np, name)(values, axis=1))
        same(fs.trace(tensor(nest, values[:, :3], stored[:, :3], 0)), np.trace(values[:, :3]))


def test_types_that_are_asked_for() -> None:
    for x, values in cases((3, 4), fills=(0, 2), dtype="int64"):
        for dtype in ("float64", "float32", "bool"):
            both(fs.sum, np.sum(values, axis=0, dtype=dtype), x, axis=0, dtype=dtype)
            both(fs.prod, np.prod(values, axis=0, dtype=dtype), x, axis=0, dtype=dtype)
            same(x.sum(0, dtype), np.sum(values, 0, dtype))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("correction", [0, 1, 0.5, 3, 7])
def test_corrections(correction: float) -> None:
    for x, values in cases((3, 4), fills=(0.0, 1.5)):
        expected = np.var(values, axis=0, ddof=correction)
        both(fs.var, expected, x, axis=0, correction=correction)
        same(x.var(axis=0, ddof=correction), expected)
        same(x.std(axis=0, correction=correction), np.sqrt(expected))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_variance_keeps_its_digits() -> None:
    values = np.array([[1e9 + 1, 1e9 + 2, 1e9 + 4], [0.0, 1e200, 1e200], [1e200, 1e200, 1e200], [np.inf, 0.0, 1.0]])
    for nest in MATRICES:
        x = tensor(nest, values, values != 0, 0.0)
        both(fs.var, np.var(values, axis=1), x, axis=1)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("nest", ["dense", "csr"])
@pytest.mark.parametrize("name", "sum prod any all mean var std count_nonzero".split())
def test_reductions_of_nothing(name: str, nest: str) -> None:
    for shape in ((0, 3), (3, 0), (0, 0)):
        x = tensor(nest, np.zeros(shape), np.zeros(shape, bool), 0.0)
        for axis in (None, 0, 1):
            both(getattr(fs, name), getattr(np, name)(np.zeros(shape), axis=axis), x, axis=axis)


@pytest.mark.parametrize("name", ["min", "max"])
def test_extremes_of_nothing(name: str) -> None:
    x = fs.asarray(np.zeros((0, 3)))
    with pytest.raises(ValueError, match="of no elements"):
        getattr(fs, name)(x, axis=0)
    both(getattr(fs, name), getattr(np.zeros((0, 3)), name)(axis=1), x, axis=1)


def test_nan_and_infinity_in_reductions() -> None:
    values = np.array([[np.nan, 0.0, 1.0], [np.inf, 0.0, -np.inf], [0.0, 0.0, 0.0]])
    with np.errstate(all="ignore"):
        for nest in MATRICES:
            x = tensor(nest, values, values != 0, 0.0)
            for name in "sum prod min max any all mean var count_nonzero".split():
                both(getattr(fs, name), getattr(np, name)(values, axis=1), x, axis=1)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 0.5, -1, np.inf, -np.inf])
def test_vector_norms(order: float) -> None:
    for x, values in cases((3, 4), fills=(0.0, 1.5)):
        with np.errstate(all="ignore"):
            for axis in (0, 1, -1, None):
                for keepdims in (False, True):
                    expected = np.linalg.vector_norm(values, axis=axis, ord=order, keepdims=keepdims)
                    both(fs.vector_norm, expected, x, axis=axis, ord=order, keepdims=keepdims)


@pytest.mark.parametrize("order", ["fro", 1, -1, np.inf, -np.inf])
def test_matrix_norms(order: Any) -> None:
    for x, values in [*cases((3, 4), fills=(0.0, 1.5)), *cases((2, 3, 4), fills=(0.0,))]:
        for keepdims in (False, True):
            both(
                fs.matrix_norm,
                np.linalg.matrix_norm(values, ord=order, keepdims=keepdims),
                x,
                ord=order,
                keepdims=keepdims,
            )
        both(fs.norm, np.linalg.norm(values, order, (0, -1)), x, ord=order, axis=(0, -1))
    both(fs.norm, np.linalg.norm(values), x)
    both(fs.norm, np.linalg.norm(values, axis=1), x, axis=1)
    both(fs.norm, np.linalg.norm(values[0, 0], 3), fs.asarray(values[0, 0]), ord=3)


def test_norms_that_are_refused() -> None:
    x = fs.asarray(np.ones((2, 3)))
    with pytest.raises(TypeError, match="order 2"):
        fs.matrix_norm(x, ord=2)
    with pytest.raises(ValueError, match="at least 2 axes"):
        fs.matrix_norm(x[0] if hasattr(x, "__getitem__") else fs.asarray(np.ones(3)))
    with pytest.raises(ValueError, match="one axis or two"):
        fs.norm(fs.asarray(np.ones((2, 2, 2))), ord=1)
    with pytest.raises(ValueError, match="one of matrices"):
        fs.norm(fs.asarray(np.ones(2)), ord="fro")


# ------------------------------------------------------------------------------------------------ products


def operand(shape: tuple[int, ...], seed: int) -> tuple[fs.Tensor, Array]:
    values, stored = array(shape, 0.0, seed=seed)
    levels = (*(Dense(),) * (len(shape) - 1), SparseList()) if shape else ()
    return fs.asarray(from_dense(values, levels, tuple(range(len(shape))), fill=0.0, mask=stored)), values


@pytest.mark.parametrize(
    "shapes",
    [
        ((3,), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3,)),
        ((3,), (5, 3, 4)),
        ((5, 2, 3), (3, 4)),
        ((2, 3), (5, 3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((1, 2, 3), (5, 3, 4)),
        ((5, 1, 2, 3), (2, 3, 4)),
        ((5, 1, 2, 3), (1, 1, 3, 4)),
        ((0, 3), (3, 2)),
        ((2, 0), (0, 3)),
        ((2, 2, 0), (0, 3)),
        ((0, 2, 3), (1, 3, 2)),
    ],
    ids=str,
)
def test_matmul(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    (x, a), (y, b) = operand(shapes[0], 1), operand(shapes[1], 2)
    expected = np.matmul(a, b)
    both(fs.matmul, expected, x, y)
    both(fs.matmul, expected, x, b)
    both(fs.matmul, expected, a, y)
    same(x @ y, expected)


@pytest.mark.parametrize(
    "shapes, message",
    [
        (((2, 3), (2, 3)), "3 columns, the right one 2 rows"),
        (((2,), (3,)), "2 columns, the right one 3 rows"),
        (((4, 2, 3), (5, 3, 2)), "do not broadcast"),
        (((), (3,)), "at least 1 axis"),
    ],
    ids=str,
)
def test_matmul_refuses(shapes: tuple[tuple[int, ...], tuple[int, ...]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fs.matmul(np.ones(shapes[0]), np.ones(shapes[1]))


@pytest.mark.parametrize(
    "shapes, axes",
    [
        (((3, 4), (3, 4)), 2),
        (((3, 4), (4, 3)), 1),
        (((3, 4), (2, 5)), 0),
        (((3, 4, 5), (4, 3, 2)), ((1, 0), (0, 1))),
        (((3, 4, 5), (5, 4, 2)), ((-1, -2), (0, 1))),
        (((3, 4), (4, 2)), (1, 0)),
        (((4,), (4,)), 1),
        (((), (3,)), 0),
    ],
    ids=str,
)
def test_tensordot(shapes: tuple[tuple[int, ...], tuple[int, ...]], axes: Any) -> None:
    (x, a), (y, b) = operand(shapes[0], 1), operand(shapes[1], 2)
    both(fs.tensordot, np.tensordot(a, b, axes), x, y, axes=axes)


@pytest.mark.parametrize(
    "axes, message",
    [
        (3, "not as many"),
        (1, "axis 1 has extent 4, axis 0 of the other 3"),
        (((0, 0), (0, 1)), "name an axis twice"),
        (((0,), (0, 1)), "pairs 1 axes"),
        (((5,), (0,)), "axis 5 does not exist"),
    ],
    ids=str,
)
def test_tensordot_refuses(axes: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fs.tensordot(np.ones((3, 4)), np.ones((3, 4)), axes)


def test_vector_products() -> None:
    (x, a), (y, b) = operand((3, 4), 1), operand((3, 4), 2)
    (v, c), (w, d) = operand((4,), 3), operand((3,), 4)
    both(fs.vecdot, np.linalg.vecdot(a, b), x, y)
    both(fs.vecdot, np.linalg.vecdot(a, b, axis=0), x, y, axis=0)
    both(fs.vecdot, np.linalg.vecdot(a, c), x, v)
    both(fs.outer, np.outer(c, d), v, w)
    both(fs.inner, np.inner(a, b), x, y)
    both(fs.inner, np.inner(a, 2.0), x, 2.0)
    both(fs.dot, np.dot(a, c), x, v)
    both(fs.dot, np.dot(c, c), v, v)
    (z, e) = operand((2, 4, 3), 5)
    both(fs.dot, np.dot(a, e), x, z)
    both(fs.dot, np.dot(3.0, e), 3.0, z)
    with pytest.raises(ValueError, match="two vectors"):
        fs.outer(x, v)
    with pytest.raises(ValueError, match="4 and 3 elements"):
        fs.vecdot(x, w)


def test_diagonals() -> None:
    for shape in ((4, 4), (0, 0)):
        for x, values in cases(shape, fills=(0.0, 1.5)):
            both(fs.trace, np.trace(values), x)
            both(fs.diagonal, np.diagonal(values), x)
    x, values = operand((3, 2, 3), 1)
    both(fs.trace, np.trace(values, axis1=0, axis2=2), x, axis1=0, axis2=-1)
    both(fs.diagonal, np.diagonal(values, axis1=2, axis2=0), x, axis1=2, axis2=0)
    with pytest.raises(ValueError, match="different extents"):
        fs.trace(x)
    ones = np.eye(3, dtype=bool)
    both(fs.trace, np.trace(ones), fs.asarray(ones))


@pytest.mark.parametrize(
    "text, shapes",
    [
        ("...i,...i->...", ((2, 3), (2, 3))),
        ("...ij,...jk->...ik", ((5, 2, 3), (3, 4))),
        ("...ij,...jk", ((1, 2, 3), (5, 3, 4))),
        ("i...,i...->...", ((3, 1, 4), (3, 5, 1))),
        ("...,...", ((3, 1), (4,))),
        ("...ii->...", ((2, 3, 3),)),
        (" i j , j k -> i k ", ((2, 3), (3, 4))),
        ("ba", ((2, 3),)),
        ("ij,jk", ((2, 3), (3, 4))),
        ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 2))),
        ("ij,jk,k->i", ((2, 3), (3, 4), (4,))),
        ("i,i,i->i", ((3,), (3,), (3,))),
        ("...,i->...i", ((), (3,))),
    ],
    ids=str,
)
def test_einsum(text: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    made = [operand(shape, seed) for seed, shape in enumerate(shapes)]
    expected = np.einsum(text, *(values for _, values in made))
    both(lambda *args: fs.einsum(text, *args), expected, *(x for x, _ in made))
    same(fs.einsum(text, *(x for x, _ in made), dtype="float32"), expected.astype("float32"), rtol=1e-5)


def test_einsum_stretches_no_letter() -> None:
    with pytest.raises(ValueError, match="index j has extent 1"):
        fs.einsum("ij,jk->ik", np.ones((2, 1)), np.ones((3, 4)))
    with pytest.raises(ValueError, match="extent 2 in operand 0"):
        fs.einsum("...i,...i->...", np.ones((2, 3)), np.ones((4, 3)))


# ------------------------------------------------------------------------------------------------ views


def test_views() -> None:
    for x, values in [*cases((3, 4), fills=(0.0, 1.5)), *cases((2, 3, 4), fills=(0.0,))]:
        rank = values.ndim
        both(fs.permute_dims, values.transpose(*range(1, rank), 0), x, (*range(1, rank), 0))
        both(fs.transpose, values.T, x)
        both(fs.matrix_transpose, np.matrix_transpose(values), x)
        same(x.mT, np.matrix_transpose(values))
        both(fs.moveaxis, np.moveaxis(values, 0, -1), x, 0, -1)
        both(fs.moveaxis, np.moveaxis(values, (0, 1), (1, 0)), x, (0, 1), (1, 0))
        both(fs.swapaxes, np.swapaxes(values, 0, -1), x, 0, -1)
        both(fs.expand_dims, np.expand_dims(values, (0, -1)), x, axis=(0, -1))
        wide = np.expand_dims(values, 1)
        both(fs.squeeze, values, fs.expand_dims(x, axis=1))
        both(fs.squeeze, values, fs.expand_dims(x, axis=1), axis=1)
        both(fs.broadcast_to, np.broadcast_to(values, (2, *values.shape)), x, (2, *values.shape))
        both(
            fs.broadcast_to,
            np.broadcast_to(wide, (3, 5, *wide.shape[2:]) if rank == 2 else (2, 5, 3, 4)),
            fs.expand_dims(x, axis=1),
            (3, 5, *wide.shape[2:]) if rank == 2 else (2, 5, 3, 4),
        )


def test_views_inside_programs() -> None:
    for x, values in cases((3, 4), fills=(0.0, 1.5)):
        column, a = fs.expand_dims(fs.lazy(x), axis=-1), values[:, :, None]
        wide, b = fs.broadcast_to(column, (2, 3, 4, 5)), np.broadcast_to(a, (2, 3, 4, 5))
        same(fs.compute(fs.sum(wide, axis=(0, 3))), b.sum((0, 3)))
        same(fs.compute(fs.max(wide, axis=(0, 2))), b.max((0, 2)))
        same(fs.compute(fs.prod(wide)), b.prod())
        same(fs.compute(column * np.arange(5.0)), a * np.arange(5.0))
        same(fs.compute(fs.einsum("abcd,b->ad", wide, np.arange(3.0))), np.einsum("abcd,b->ad", b, np.arange(3.0)))
        same(fs.compute(fs.squeeze(fs.sum(fs.lazy(x), axis=0, keepdims=True))), values.sum(0))
        same(fs.compute(fs.mean(fs.squeeze(column), axis=0) + fs.lazy(x)), values.mean(0) + values)
        same(fs.compute(fs.broadcast_to(fs.lazy(x), (0, 3, 4)).sum(axis=0)), np.zeros((3, 4)))
        one, two = fs.compute(*fs.broadcast_arrays(fs.lazy(x), np.arange(6.0).reshape(2, 3, 1)))
        same(one, np.broadcast_to(values, (2, 3, 4)))
        same(two, np.broadcast_to(np.arange(6.0).reshape(2, 3, 1), (2, 3, 4)))
    same(fs.broadcast_to(3, (2, 2)), np.broadcast_to(3, (2, 2)))


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: fs.squeeze(x, axis=0), "extent 2, only 1"),
        (lambda x: fs.squeeze(x, axis=5), "axis 5 does not exist"),
        (lambda x: fs.expand_dims(x, axis=4), "axis 4 does not exist"),
        (lambda x: fs.expand_dims(x, axis=(0, 0)), "twice"),
        (lambda x: fs.broadcast_to(x, (3, 3)), "does not broadcast"),
        (lambda x: fs.broadcast_to(x, 3), "does not broadcast"),
        (lambda x: fs.broadcast_to(x, (-1, 2, 3)), "does not broadcast"),
        (lambda x: fs.broadcast_arrays(x, np.ones(2)), "do not broadcast"),
        (lambda x: fs.broadcast_shapes((2, 3), (2,)), "do not broadcast"),
        (lambda x: fs.permute_dims(x, (0, 0)), "permutation"),
        (lambda x: fs.moveaxis(x, (0, 1), 0), "as many axes"),
        (lambda x: fs.matrix_transpose(np.ones(3)), "at least 2 axes"),
        (lambda x: fs.asarray(np.ones(3)).mT, "at least 2 axes"),
    ],
)
def test_views_that_are_refused(call: Callable[[fs.Tensor], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(fs.asarray(np.ones((2, 3))))


# ------------------------------------------------------------------------------------------------ compiled


def test_compiled() -> None:
    values, stored = array((30, 40), 0.0)
    for nest in ("csr", "csc"):
        x = tensor(nest, values, stored, 0.0)
        both(fs.var, np.var(values, axis=0), x, axis=0)
        both(fs.mean, np.mean(values, axis=1), x, axis=1)
        both(fs.vector_norm, np.linalg.vector_norm(values, axis=1), x, axis=1)
        both(fs.all, np.all(values, axis=1), x, axis=1)
        stack = np.arange(80.0).reshape(2, 40, 1)
        both(fs.matmul, values @ stack, x, stack)
        both(fs.broadcast_to, np.broadcast_to(values, (2, 30, 40)), x, (2, 30, 40))
