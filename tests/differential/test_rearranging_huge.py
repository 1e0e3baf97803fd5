"""Rearranging arrays of shapes that no dense array and no number of 64 bits could hold."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import finchsched as fs
from finchsched.errors import DensifyError, ShapeMismatchError
from finchsched.formats.coordinates import from_coordinates
from finchsched.formats.levels import SparseList
from finchsched.settings import config


@pytest.fixture(autouse=True)
def uncompiled() -> Iterator[None]:
    with config(backend="python"):
        yield


def sparse(values: Any, at: Any, shape: tuple[int, ...], fill: float = 0.0) -> fs.Tensor:
    levels = (SparseList(),) * len(shape)
    at = [np.array(c) for c in at]
    return fs.Tensor(from_coordinates(at, np.array(values), shape, levels, range(len(shape)), fill=fill))


HUGE = (1 << 40, 1 << 20)
AT = [[5, HUGE[0] - 1, 7], [HUGE[1] - 1, 0, 9]]


def entries(x: fs.Tensor) -> dict[tuple[int, ...], float]:
    """Coordinates and values of what is not zero."""
    at = [found.to_numpy().tolist() for found in fs.nonzero(x)]
    return dict(zip(zip(*at, strict=True), x[fs.nonzero(x)].to_numpy().tolist(), strict=True))


def test_huge_subscripts_and_moves() -> None:
    x = sparse([1.0, -2.0, 3.0], AT, HUGE)
    assert entries(x[5]) == {(HUGE[1] - 1,): 1.0}
    assert entries(x[:, 0]) == {(HUGE[0] - 1,): -2.0}
    assert entries(x[::-1]) == {(HUGE[0] - 6, HUGE[1] - 1): 1.0, (0, 0): -2.0, (HUGE[0] - 8, 9): 3.0}
    assert entries(fs.flip(x, axis=1)) == {(5, 0): 1.0, (HUGE[0] - 1, HUGE[1] - 1): -2.0, (7, HUGE[1] - 10): 3.0}
    assert entries(fs.roll(x, 1, axis=0)) == {(6, HUGE[1] - 1): 1.0, (0, 0): -2.0, (8, 9): 3.0}
    assert entries(fs.roll(x, 1)) == {(6, 0): 1.0, (HUGE[0] - 1, 1): -2.0, (7, 10): 3.0}
    assert entries(fs.concat([x, x])[HUGE[0] :]) == entries(x)
    assert x[[HUGE[0] - 1, 7], [0, 9]].to_numpy().tolist() == [-2.0, 3.0]
    assert next(iter(x)).nnz == 0


def test_index_arrays_over_more_than_64_bits() -> None:
    shape = (1 << 40, 1 << 40)
    x = sparse([1.0, 2.0, 3.0], [[5, shape[0] - 1, 5], [7, 0, shape[1] - 1]], shape)
    rows, columns = np.array([-1, 5, 5, 5, 6, 5]), np.array([0, -1, 7, 8, 7, 7])
    assert x[rows, columns].to_numpy().tolist() == [2.0, 3.0, 1.0, 0.0, 0.0, 1.0]
    assert x[rows[:, None], columns[None, :2]].to_numpy().tolist() == [[2, 0], [0, 3], [0, 3], [0, 3], [0, 0], [0, 3]]
    assert entries(x[x > 1]) == {(0,): 3.0, (1,): 2.0}
    assert x[[], []].shape == (0,)


def test_huge_reshapes() -> None:
    x = sparse([1.0, -2.0, 3.0], AT, HUGE)
    flat = [i * HUGE[1] + j for i, j in zip(*AT, strict=True)]
    assert entries(x.flatten()) == {(f,): v for f, v in zip(flat, [1.0, -2.0, 3.0], strict=True)}
    square = x.reshape(1 << 30, -1)
    assert entries(square) == {divmod(f, 1 << 30): v for f, v in zip(flat, [1.0, -2.0, 3.0], strict=True)}
    assert square.nbytes < 1 << 20
    many = fs.stack([x] * 24)  # more than 2**63 elements
    uneven = many.reshape(3 << 20, 1 << 43)
    expected = [((n << 60) + f, v) for n in range(24) for f, v in zip(flat, [1.0, -2.0, 3.0], strict=True)]
    assert entries(uneven) == {divmod(f, 1 << 43): v for f, v in expected}
    assert entries(uneven.reshape(24, *HUGE)) == entries(many)
    with pytest.raises(ShapeMismatchError, match=r"largest is 2\*\*63 - 1"):
        many.flatten()


def test_huge_positions_of_extremes() -> None:
    x = sparse([1.0, -2.0, 3.0], AT, HUGE)
    assert x.argmin().item() == (HUGE[0] - 1) * HUGE[1]
    assert x.argmax(axis=0)[9].item() == 7
    assert entries(x.argmin(axis=0)) == {(0,): HUGE[0] - 1}
    many = fs.stack([x * 0] * 23 + [x])
    with pytest.raises(ShapeMismatchError, match="int64 cannot hold"):
        many.argmax()
    assert fs.flip(many, axis=0).argmax().item() == 7 * HUGE[1] + 9


def test_nothing_large_becomes_dense() -> None:
    ones = sparse([4.0], [[0], [1]], (1 << 20, 1 << 20), 1.0)
    zeros = sparse([4.0], [[0], [1]], (1 << 20, 1 << 20))
    for use in (
        lambda: fs.concat([zeros, ones]),
        lambda: fs.nonzero(ones),
        lambda: fs.tril(ones),
        lambda: zeros[zeros == 0],
    ):
        with pytest.raises(DensifyError):
            use()
    with config(densify=10), pytest.raises(DensifyError, match="pieces"):
        fs.unstack(zeros)
