"""Cases that other libraries got wrong once."""

from typing import Any

import numpy as np
import pytest

import finchsched as fs
from finchsched.api.format_text import parse_format
from finchsched.formats.coordinates import from_coordinates


def coordinates(at: Any, values: Any, shape: tuple[int, ...], fill: float = 0.0) -> fs.Tensor:
    levels, perm = parse_format("csf", len(shape), narrow=True)
    return fs.Tensor(from_coordinates(np.asarray(at), np.asarray(values), shape, levels, perm, fill=fill))


def random(shape: tuple[int, ...], seed: int, density: float = 0.4) -> Any:
    rng = np.random.default_rng(seed)
    return (rng.integers(-9, 10, shape) * (rng.random(shape) < density)).astype(float)


@pytest.mark.parametrize(
    "key",
    [
        (slice(1, None, -1), slice(None)),
        (0, slice(1, None, -1)),
        slice(-10, None),
        slice(10, 2, -3),
        (slice(None, None, -2), slice(3, 0, -1)),
        (slice(5, 2), slice(None)),
        (Ellipsis, None, 1),
        (-1, -1),
    ],
)
@pytest.mark.parametrize("form", ["dense", "csr", "csc", "dcsr"])
def test_negative_steps_and_bounds_out_of_range(key: Any, form: str) -> None:
    values = random((5, 4), 13, 0.7)
    np.testing.assert_array_equal(fs.asarray(values).asformat(form)[key].to_numpy(), values[key])


def test_a_mask_computed_from_the_array_itself() -> None:
    s, t = random((7,), 14, 0.6).astype(int), random((4, 5), 15)
    for form in ("dense", "SparseList"):
        x = fs.asarray(s).asformat(form)
        np.testing.assert_array_equal(x[x % 2 == 0].to_numpy(), s[s % 2 == 0])
    x = fs.asarray(t).asformat("csr")
    np.testing.assert_array_equal(x[x > 0].to_numpy(), t[t > 0])


def test_a_mask_of_the_wrong_length() -> None:
    with pytest.raises(IndexError, match="the mask 2"):
        fs.asarray(random((5, 5), 16))[np.array([True, False])]


def test_reshape_beyond_32_bits() -> None:
    shape = (70010, 130003)
    at = np.array([[0, 70009, 33000, 51234], [0, 130002, 66001, 7]], np.int32)
    width = shape[0] * shape[1] // 10
    found = coordinates(at, np.arange(1.0, 5.0), shape).reshape(10, width)
    assert found.sum().item() == 10.0
    for number, (i, j) in enumerate(at.T):
        row, column = divmod(int(i) * shape[1] + int(j), width)
        assert found[row : row + 1, column : column + 1].to_numpy().tolist() == [[number + 1.0]]


def test_joining_different_fills() -> None:
    n, z = coordinates([[0], [1]], [4.0], (2, 3), np.nan), coordinates([[0], [2]], [2.0], (1, 3))
    a, b = np.array([[np.nan, 4, np.nan], [np.nan] * 3]), np.array([[0.0, 0.0, 2.0]])
    np.testing.assert_array_equal(fs.concat([n, z], axis=0).to_numpy(), np.concatenate([a, b]))
    np.testing.assert_array_equal(fs.stack([n[:1, :], z], axis=0).to_numpy(), np.stack([a[:1], b]))


def test_stored_zeros_count_as_zeros() -> None:
    a = coordinates([[0, 0, 1, 3, 3, 3], [0, 2, 1, 0, 1, 2]], [0.0, 0.0, -0.0, 1.0, 2.0, -1.0], (4, 3))
    assert [found.to_numpy().tolist() for found in fs.nonzero(a)] == [[3, 3, 3], [0, 1, 2]]
    assert fs.nonzero(a == 0)[0].shape == (9,)


def test_compiled_programs_around_host_steps() -> None:
    values = random((6, 5), 17)
    x = fs.lazy(fs.asarray(values).asformat("csr"))
    program = fs.concat([x[::2] * 2, (x + x)[1::2]]).T @ np.arange(6.0)
    expected = np.concatenate([values[::2] * 2, (values + values)[1::2]]).T @ np.arange(6.0)
    np.testing.assert_allclose(fs.compute(program).to_numpy(), expected)
