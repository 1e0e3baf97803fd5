"""Arrays of every element type with every kind of fill, through every operator and reduction, against NumPy."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import finchsched as fs
from finchsched.algebra.dtypes import ELEMENT_DTYPES, Scalar, scalar_text
from finchsched.algebra.operators import OPERATORS, Operator, apply, cast_target, result_type
from finchsched.api.graph import map_node
from finchsched.errors import DtypeError

DTYPES = [dtype.name for dtype in ELEMENT_DTYPES]
FILLS: dict[str, tuple[Scalar, ...]] = {
    "b": (False, True),
    "i": (0, 1, -1, 100),
    "u": (0, 1, 200),
    "f": (0.0, 1.0, -1.0, -0.0, 2.5, np.nan, np.inf, -np.inf),
    "c": (0j, 1 + 0j, 2 - 1j, complex(np.nan, 0.0)),
}
CASES = [(name, fill) for name in DTYPES for fill in FILLS[np.dtype(name).kind]]


@pytest.fixture(autouse=True)
def uncompiled() -> Any:
    with fs.config(backend="python"):
        yield


def operand(name: str, fill: Scalar, seed: int = 0) -> tuple[fs.Tensor, Any]:
    """A 4 x 5 array: about half of it the fill, which is not stored."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(name)
    stored = rng.random((4, 5)) < 0.5
    values = rng.integers(1, 2 if dtype.kind == "b" else 4, (4, 5)).astype(dtype)
    if dtype.kind == "c":
        values = (values * (1 + 1j)).astype(dtype)
    tensor = fs.asarray(sp.csr_array(np.where(stored, values, dtype.type(0))), fill_value=fill)
    return tensor, np.where(stored, values, dtype.type(fill))


def same(found: fs.Tensor, expected: Any) -> None:
    """The type exactly, values up to the order of sums; NaN equals NaN, and a complex number with one is one."""
    expected = np.asarray(expected)
    wide = np.float32 if expected.dtype == np.float16 else expected.dtype
    assert found.dtype == wide
    made = found.to_numpy()
    assert made.shape == expected.shape
    nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(made), nan)
    np.testing.assert_allclose(made[~nan], expected[~nan], rtol=1e-5)


@pytest.mark.parametrize(("name", "fill"), CASES, ids=lambda x: x if isinstance(x, str) else scalar_text(x))
def test_reductions_and_products(name: str, fill: Scalar) -> None:
    """Sums and products with as many fills as there are unstored elements, and the element type of NumPy's."""
    a, dense = operand(name, fill)
    with np.errstate(all="ignore"):
        for axis in (None, 0, 1):
            same(a.sum(axis=axis), dense.sum(axis=axis))
            same(a.prod(axis=axis), dense.prod(axis=axis))
            if dense.dtype.kind == "c":
                with pytest.raises(DtypeError, match="no order"):
                    a.min(axis=axis)
            else:
                same(a.min(axis=axis), dense.min(axis=axis))
                same(a.max(axis=axis), dense.max(axis=axis))
        if np.isfinite(fill):
            other = np.arange(15).reshape(5, 3).astype(name)
            same(a @ other, dense @ other)
            same(a @ a.T, dense @ dense.T)
            same(fs.einsum("ij,kj->ik", a, a), np.einsum("ij,kj->ik", dense, dense))
    same(a.T, dense.T)
    same(a.asformat("csc").asformat("dcsr"), dense)


BINARY: list[Callable[[Any, Any], Any]] = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.eq,
    operator.ne,
    operator.lt,
    operator.ge,
]


@pytest.mark.parametrize(("name", "fill"), CASES, ids=lambda x: x if isinstance(x, str) else scalar_text(x))
def test_operators_among_arrays_and_scalars(name: str, fill: Scalar) -> None:
    """Where no unstored element is 0, NaN or infinite beside NaN or infinity, the mask rule is NumPy's arithmetic."""
    a, dense = operand(name, fill)
    b, other = operand(name, FILLS[dense.dtype.kind][1], 1)
    for operation in BINARY:
        if dense.dtype.kind == "c" and operation in (operator.lt, operator.ge):
            continue
        if dense.dtype.kind == "b" and operation is operator.sub:
            continue
        with np.errstate(all="ignore"):
            for x, y in ((a, b), (a, 2), (2, a), (a, np.dtype(name).type(1)), (a, 0.5)):
                if y is a and operation is operator.truediv and str(fill) == "-0.0":
                    continue  # as a fill, -0.0 is 0.0
                left, right = ({id(a): dense, id(b): other}.get(id(z), z) for z in (x, y))
                same(operation(x, y), operation(left, right))


@pytest.mark.parametrize("name", DTYPES)
def test_casts_to_every_type(name: str) -> None:
    a, dense = operand(name, FILLS[np.dtype(name).kind][1])
    for target in DTYPES:
        real = dense.real if dense.dtype.kind == "c" and np.dtype(target).kind not in "cb" else dense
        same(a.astype(target), real.astype(target))


@pytest.mark.parametrize("op", [op for op in OPERATORS.values() if not op.name.startswith("repeat_")], ids=str)
def test_every_operator_as_a_node(op: Operator) -> None:
    """`map_node` makes every operator on arrays of every type that has it."""
    for dtype in ELEMENT_DTYPES:
        a, dense = operand(dtype.name, FILLS[dtype.numpy.kind][0])
        b, other = operand(dtype.name, FILLS[dtype.numpy.kind][1], 1)
        given = {1: (a,), 2: (a, b), 3: (a.astype(bool), a, b)}[op.arity]
        held = {1: (dense,), 2: (dense, other), 3: (dense.astype(bool), dense, other)}[op.arity]
        try:
            wanted, out = result_type(op, *(dtype,) * op.arity)
        except DtypeError:
            with pytest.raises(DtypeError):
                map_node(op.name, *(x.node for x in given))
            continue
        if cast_target(op) is None and op.name != "where":
            held = tuple(x.astype(kind.numpy) for x, kind in zip(held, wanted, strict=True))
        made = a._finish(map_node(op.name, *(x.node for x in given)))
        assert made.dtype == out.numpy, dtype
        same(made, apply(op, *held))


def test_python_scalars_take_the_arrays_type() -> None:
    a = fs.asarray(np.array([1, 2], np.int8))
    assert (a + 1).dtype == np.int8
    assert (a + 1.0).dtype == np.float64
    assert (a + 1j).dtype == np.complex128
    assert (fs.asarray(np.ones(2, np.float32)) + 1j).dtype == np.complex64
    assert (a + np.int16(1)).dtype == np.int16
    assert (a + np.uint64(1)).dtype == np.float64
    for refused in (lambda: a + 128, lambda: 300 * a, lambda: fs.asarray(np.ones(2, np.uint8)) - -1):
        with pytest.raises(DtypeError, match="does not fit"):
            refused()


@pytest.mark.parametrize("scalar", [-1, 127, 128, 300, -(2**63) - 1, 2**63, 2**64 - 1, 2**64, -(10**30)])
@pytest.mark.parametrize("name", [name for name in DTYPES if np.dtype(name).kind in "iu"])
def test_comparisons_with_any_integer_are_exact(name: str, scalar: int) -> None:
    info = np.iinfo(name)
    values = [info.min, 0, 1, info.max]
    a = fs.asarray(np.array(values, name))
    for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        assert compare(a, scalar).to_numpy().tolist() == [compare(v, scalar) for v in values]
        assert compare(scalar, a).to_numpy().tolist() == [compare(scalar, v) for v in values]


def test_plans_are_not_shared_by_integers_of_other_ranges() -> None:
    a = fs.asarray(np.array([0, 100], np.int8))
    assert (a < 50).to_numpy().tolist() == [True, False]
    assert (a < 500).to_numpy().tolist() == [True, True]
    assert (a < -50).to_numpy().tolist() == [False, False]
    assert (a < -500).to_numpy().tolist() == [False, False]
    assert (a < 2**70).to_numpy().tolist() == [True, True]
    assert (a < -(2**70)).to_numpy().tolist() == [False, False]


def test_sums_of_unsigned_integers_are_exact() -> None:
    a = fs.asarray(sp.csr_array(np.array([[2**64 - 1, 0], [0, 2]], np.uint64)))
    assert a.sum().item() == 1
    assert a.sum(axis=1).to_numpy().tolist() == [2**64 - 1, 2]
    assert (a * np.uint64(2**63 + 1)).to_numpy().tolist() == [[2**63 - 1, 0], [0, 2]]


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_powers_of_integers(backend: str) -> None:
    values = np.array([[0, 3], [-2, 7]], np.int8)
    a = fs.asarray(sp.csr_array(values))
    with fs.config(backend=backend):
        same(a**5, values**5)
        same(a ** np.abs(values), values ** np.abs(values))
        with pytest.raises(DtypeError, match="integers to negative powers"):
            a**a
        with pytest.raises(DtypeError, match="found the exponent -2"):
            a**-2


@pytest.mark.parametrize("name", ["int8", "uint64", "float32", "complex64", "complex128"])
def test_compiled(name: str) -> None:
    a, dense = operand(name, FILLS[np.dtype(name).kind][1])
    b, other = operand(name, 0, 1)
    with fs.config(backend="numba"):
        same((a + b).sum(axis=0), (dense + other).sum(axis=0))
        same(a @ b.T, dense @ other.T)
