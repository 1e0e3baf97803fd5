"""The kernels of tensor decompositions on every real tensor of the data folder, against NumPy over coordinates.

What is expected is computed from coordinates alone: a sum over the stored entries, scattered with `np.add.at`.
"""

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import finchsched as fs
from finchsched.algebra.dtypes import INT32
from finchsched.formats.coordinates import coordinates_of, from_coordinates
from finchsched.formats.levels import SparseList
from finchsched.io import data_folder

RANK = 4  # columns of the factor matrices
NAMES = "ijklm"


@dataclass(frozen=True, slots=True)
class Coordinates:
    """A tensor file: coordinates by axis, values, shape."""

    at: tuple[Any, ...]
    val: Any
    shape: tuple[int, ...]


def entries() -> list[dict[str, Any]]:
    manifest = data_folder() / "manifest.json"
    if not manifest.is_file():
        return []
    return [e for e in json.loads(manifest.read_text(encoding="utf-8"))["datasets"] if e["format"] == "frostt"]


TENSORS = entries()
IDS = [entry["name"] for entry in TENSORS]


@lru_cache(maxsize=1)
def load(path: Path, shape: tuple[int, ...]) -> Coordinates:
    """Read with NumPy, not with the library."""
    table = np.loadtxt(path, ndmin=2)
    at = tuple(table[:, axis].astype(np.int64) - 1 for axis in range(len(shape)))
    return Coordinates(at, table[:, -1], shape)


@lru_cache(maxsize=1)
def tensor(path: Path, shape: tuple[int, ...]) -> fs.Tensor:
    given = load(path, shape)
    levels = (SparseList(INT32, INT32),) * len(shape)
    return fs.asarray(from_coordinates(given.at, given.val, shape, levels, tuple(range(len(shape))), fill=0.0))


def factors(shape: tuple[int, ...], columns: int = RANK) -> list[Any]:
    rng = np.random.default_rng(len(shape))
    return [rng.random((extent, columns)) - 0.5 for extent in shape]


def scattered(given: Coordinates, axes: tuple[int, ...], values: Any) -> Any:
    """Values summed over the coordinates of `axes`; trailing axes of `values` come along."""
    out = np.zeros((*(given.shape[axis] for axis in axes), *values.shape[1:]))
    np.add.at(out, tuple(given.at[axis] for axis in axes), values)
    return out


def same_entries(result: fs.Tensor, given: Coordinates, axes: tuple[int, ...], values: Any) -> None:
    """`result` is sparse over `axes` and dense over what follows; its stored entries have the sums of `values`."""
    shape = tuple(given.shape[axis] for axis in axes)
    assert result.shape == (*shape, *values.shape[1:])
    at = np.stack([given.at[axis] for axis in axes])
    places, inverse = np.unique(at, axis=1, return_inverse=True)
    sums = np.zeros((places.shape[1], *values.shape[1:]))
    np.add.at(sums, inverse.reshape(-1), values)
    stored = coordinates_of(result.data)
    assert result.nnz == sums.size
    order = np.lexsort(tuple(reversed(stored)))
    width = math.prod(values.shape[1:])
    np.testing.assert_array_equal(np.stack([c[order] for c in stored[: len(axes)]])[:, ::width], places)
    np.testing.assert_allclose(result.data.val[order], sums.reshape(-1), rtol=1e-9, atol=1e-9)


@pytest.fixture(params=TENSORS, ids=IDS, scope="module")
def case(request: pytest.FixtureRequest) -> tuple[Coordinates, fs.Tensor]:
    entry = request.param
    path, shape = data_folder() / entry["path"], tuple(entry["shape"])
    return load(path, shape), tensor(path, shape)


def test_the_folder_has_tensors(data_dir: Path) -> None:
    assert len(TENSORS) >= 15
    assert data_dir.samefile(data_folder())


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_mttkrp(case: tuple[Coordinates, fs.Tensor], mode: int) -> None:
    """Matricised tensor times Khatri-Rao product, for each of the first three modes."""
    given, X = case
    rank = len(given.shape)
    names, U = NAMES[:rank], factors(given.shape)
    others = [axis for axis in range(rank) if axis != mode]
    terms = " * ".join(f"U{axis}[{names[axis]},r]" for axis in others)
    text = f"M[{names[mode]},r] += X[{','.join(names)}] * {terms}"
    result = fs.einsum(text, X=X, **{f"U{axis}": U[axis] for axis in others})
    values = given.val[:, None] * math.prod((U[axis][given.at[axis]] for axis in others), start=1.0)
    np.testing.assert_allclose(result.to_numpy(), scattered(given, (mode,), values), rtol=1e-9, atol=1e-9)


def test_tensor_times_vector(case: tuple[Coordinates, fs.Tensor]) -> None:
    given, X = case
    rank = len(given.shape)
    v = np.arange(given.shape[-1]) % 7 - 3.0
    names = ",".join(NAMES[: rank - 1])
    result = fs.einsum(f"Y[{names}] += X[{names},z] * v[z]", X=X, v=v)
    values = given.val * v[given.at[-1]]
    same_entries(result, given, tuple(range(rank - 1)), values)


def test_tensor_times_matrix(case: tuple[Coordinates, fs.Tensor]) -> None:
    given, X = case
    rank = len(given.shape)
    U = factors(given.shape, 3)[-1]
    names = ",".join(NAMES[: rank - 1])
    result = fs.einsum(f"Y[{names},r] += X[{names},z] * U[z,r]", X=X, U=U)
    same_entries(result, given, tuple(range(rank - 1)), given.val[:, None] * U[given.at[-1]])


@pytest.mark.parametrize("axis", [0, -1])
def test_broadcasts_with_a_dense_vector(case: tuple[Coordinates, fs.Tensor], axis: int) -> None:
    given, X = case
    rank = len(given.shape)
    v = np.arange(given.shape[axis]) % 5 + 1.0
    shape = [1] * rank
    shape[axis] = -1
    result = X * v.reshape(shape)
    same_entries(result, given, tuple(range(rank)), given.val * v[given.at[axis]])


def test_sums(case: tuple[Coordinates, fs.Tensor]) -> None:
    given, X = case
    np.testing.assert_allclose(X.sum().item(), given.val.sum())
    np.testing.assert_allclose((X * X).sum().item(), (X.data.val**2).sum())
    for axis in range(len(given.shape)):
        over = tuple(a for a in range(len(given.shape)) if a != axis)
        np.testing.assert_allclose(X.sum(axis=over).to_numpy(), scattered(given, (axis,), given.val), atol=1e-9)
