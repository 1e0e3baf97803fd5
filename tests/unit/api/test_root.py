"""What the package root exports: all of it described, and the named functions complete."""

import inspect

import numpy as np
import pytest

import finchsched as fs
from finchsched.api import elementwise, products, reductions, views

ELEMENTWISE = (
    "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or "
    "bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide "
    "greater greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and "
    "logical_not logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real "
    "reciprocal remainder round sign signbit sin sinh sqrt square subtract tan tanh trunc where astype"
).split()
OTHERS = (
    "sum prod min max any all mean var std count_nonzero vector_norm matrix_norm norm trace diagonal matmul tensordot "
    "vecdot outer inner dot einsum permute_dims expand_dims squeeze broadcast_to broadcast_arrays moveaxis swapaxes "
    "matrix_transpose"
).split()
NAMED = [name for module in (elementwise, products, reductions, views) for name in module.__all__]


def test_the_list_is_complete() -> None:
    assert len(set(fs.__all__)) == len(fs.__all__)
    assert set(ELEMENTWISE) | set(OTHERS) | set(NAMED) <= set(fs.__all__)


@pytest.mark.parametrize("name", fs.__all__)
def test_every_name_is_described(name: str) -> None:
    found = getattr(fs, name)
    assert inspect.getdoc(found)
    if inspect.isroutine(found):
        assert inspect.signature(found).parameters or name == "broadcast_arrays"


@pytest.mark.parametrize("name", NAMED)
def test_functions_know_their_names(name: str) -> None:
    """An alias has the name of the function that it is another name for."""
    found = getattr(fs, name)
    assert getattr(fs, found.__name__) is found
    assert found.__module__.startswith("finchsched.api.")


@pytest.mark.parametrize("name", NAMED)
def test_what_is_no_array_is_refused_by_name(name: str) -> None:
    parameters = inspect.signature(getattr(fs, name)).parameters.values()
    needed = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    if name == "broadcast_shapes":
        return
    args = [object() for _ in needed] or [object()]
    with pytest.raises((fs.errors.DtypeError, TypeError), match="object"):
        getattr(fs, name)(*args)


def test_lazy_operands_make_lazy_results() -> None:
    x = np.ones((2, 2))
    lazy = fs.lazy(x)
    assert isinstance(fs.add(x, lazy), fs.Lazy)
    assert isinstance(fs.where(x > 0, x, lazy), fs.Lazy)
    assert isinstance(fs.clip(x, max=lazy), fs.Lazy)
    assert isinstance(fs.sum(lazy, axis=0), fs.Lazy)
    assert isinstance(fs.matmul(x, lazy), fs.Lazy)
    assert all(isinstance(made, fs.Lazy) for made in fs.broadcast_arrays(x, lazy))


def test_dunders() -> None:
    a, b = np.array([5, 3, 9]), np.array([1, 2, 3])
    x = fs.asarray(a)
    for found, expected in (
        (x << b, a << b),
        (b << x, b << a),
        (x >> b, a >> b),
        (300 >> x, 300 >> a),
        (divmod(x, b)[0], divmod(a, b)[0]),
        (divmod(x, b)[1], divmod(a, b)[1]),
        (divmod(20, x)[1], divmod(20, a)[1]),
    ):
        np.testing.assert_array_equal(found.to_numpy(), expected)
    with pytest.raises(TypeError):
        divmod(x, "text")


def test_means_follow_the_operands_of_a_plan() -> None:
    """The number of elements is that of the operand the plan runs on."""
    plan = fs.plan(fs.mean(fs.lazy(np.arange(4.0))))
    assert float(plan.run()) == 1.5
    (name,) = plan.operands
    assert float(plan.run(**{name: np.arange(11.0)})) == 5.0
    spread = fs.plan(fs.var(fs.lazy(np.arange(4.0)), correction=1))
    (name,) = spread.operands
    assert float(spread.run(**{name: np.arange(11.0)})) == np.var(np.arange(11.0), ddof=1)
