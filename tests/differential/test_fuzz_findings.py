"""What `tools/fuzz_elementwise.py` found once, made small."""

from typing import Any

import numpy as np
import pytest

import finchsched as fs
from finchsched.formats.checks import check_tensor

FORMS = ("dense", "csf", "coo", "Dense(SparseList(SparseList))")


@pytest.fixture(autouse=True)
def uncompiled() -> Any:
    with fs.config(backend="python"):
        yield


def test_a_kernel_with_a_branch_around_its_loops_goes_on_where_it_stopped() -> None:
    """Operands at a constant coordinate are looked up before the loops; more room was needed, and rows came twice."""
    a = np.zeros((3, 3, 4), np.bool)
    a[[0, 0, 0, 0, 0, 1, 2, 2, 2, 2], [0, 1, 1, 2, 2, 1, 0, 1, 2, 2], [3, 0, 2, 0, 2, 0, 3, 2, 0, 2]] = True
    b = np.array([[[False], [True], [True]]])
    found = fs.where(*(fs.asarray(x).asformat("csf") for x in (a, b, np.zeros_like(b))))
    check_tensor(found.data)
    np.testing.assert_array_equal(found.to_numpy(), a & b)


@pytest.mark.parametrize(
    "key",
    [
        (None, [1, 0, 1], ..., -1, slice(None, None, -1)),
        (None, 1, ..., [2, 0], slice(None)),
        (None, [1, 0], ..., slice(None), [2, 3]),
        ([1, 0], slice(None), ..., 1),
        (None, ..., [1, 0], -1, slice(None)),
        (None, [1, 0], -1, slice(None), ...),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_an_ellipsis_without_axes_keeps_index_arrays_apart(form: str, key: Any) -> None:
    values = np.arange(24).reshape(2, 3, 4) % 5
    found = fs.asarray(values).asformat(form)[key]
    np.testing.assert_array_equal(found.to_numpy(), values[key])
    lazy = fs.lazy(fs.asarray(values).asformat(form))[key]
    assert lazy.shape == values[key].shape


@pytest.mark.parametrize(
    ("name", "fills", "absorbing"),
    [
        ("logical_and", (0, 100), 0),
        ("minimum", (-np.inf, -2.5), 0),
        ("maximum", (-2.5, np.inf), 1),
        ("multiply", (2.5 - 1j, np.complex64(0)), 1),
    ],
)
def test_what_a_fill_absorbs_is_not_stored(name: str, fills: tuple[Any, Any], absorbing: int) -> None:
    """Also beside a fill that is known only when the program runs."""
    places = ([[0, 0, 2], [1, 3, 0]], [[0, 1, 2, 2], [1, 1, 2, 3]])
    operands = [
        fs.from_coo(at, np.full(len(at[0]), 3, np.asarray(fill).dtype), (3, 4), fill_value=fill, format="dcsr")
        for at, fill in zip(places, fills, strict=True)
    ]
    found = getattr(fs, name)(*operands)
    np.testing.assert_array_equal(found.to_numpy(), getattr(np, name)(*(x.to_numpy() for x in operands)))
    assert (found.format, found.nnz) == ("dcsr", operands[absorbing].nnz)


def test_a_fill_that_is_nan_has_no_sign() -> None:
    """Types with NaN for a fill are one object: the sign of the first one showed in all that came after."""
    negative, infinite = (
        fs.from_coo([[0], [1]], [1.0], (2, 3), fill_value=fill) for fill in (-np.float64(np.nan), np.inf)
    )
    for x in (negative, infinite - infinite, fs.asarray(negative.data, fill_value=-np.float64(np.nan))):
        assert np.isnan(x.fill_value) and not np.signbit(x.fill_value)
        assert fs.copysign(2.0, x).fill_value == 2.0
