"""Random lazy programs of the named functions against NumPy: maps, reductions, products and views in any order.

Kernels run uncompiled.  Values are small integers as floats, so that every order of a sum gives the same.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import finchsched as fs
from finchsched.api.planning import plan_cache
from finchsched.formats.levels import Dense, SparseList
from finchsched.formats.numpy_convert import from_dense

SEEDS = (*range(60), 260, 585, 719)
"""The last three once fused a reduction into a query that was itself about to be fused."""
STEPS = 6
LARGEST = 200
"""Elements; a step that would give more is left out."""


@pytest.fixture(autouse=True)
def uncompiled() -> Iterator[None]:
    with fs.config(backend="python"):
        yield
    plan_cache.clear()


def leaf(rng: np.random.Generator) -> tuple[Any, Any]:
    shape = tuple(int(n) for n in rng.choice([0, 1, 2, 3], rng.integers(0, 4), p=[0.03, 0.27, 0.4, 0.3]))
    fill = float(rng.choice([0, 0, 1]))
    stored = rng.random(shape) < 0.5
    values = np.where(stored, rng.integers(-2, 3, shape), fill).astype(float)
    levels = tuple(Dense() if rng.random() < 0.5 else SparseList() for _ in shape)
    if all(level.stores_all for level in levels):
        stored = np.ones_like(stored)
    perm = tuple(int(axis) for axis in rng.permutation(len(shape)))
    return fs.lazy(fs.asarray(from_dense(values, levels, perm, fill=fill, mask=stored))), values


def step(rng: np.random.Generator, pool: list[tuple[Any, Any]]) -> tuple[Any, Any] | None:
    """One more array, or None if the operation that was drawn does not fit the operands."""
    x, a = pool[rng.integers(len(pool))]
    y, b = pool[rng.integers(len(pool))]
    rank = a.ndim
    axis = int(rng.integers(rank)) if rank else None
    keepdims = bool(rng.integers(2))
    match str(rng.choice(["map", "map", "reduce", "permute", "expand", "squeeze", "broadcast", "matmul", "einsum"])):
        case "map":
            name = str(rng.choice(["add", "multiply", "maximum", "subtract", "less"]))
            try:
                shape = np.broadcast_shapes(a.shape, b.shape)
            except ValueError:
                return None
            if np.prod(shape) > LARGEST:
                return None
            return fs.astype(getattr(fs, name)(x, y), float), getattr(np, name)(a, b).astype(float)
        case "reduce":
            name = str(rng.choice(["sum", "max", "min", "any", "count_nonzero", "mean", "var"]))
            where = None if rng.random() < 0.3 else axis
            if a.size == 0 and name in ("max", "min", "mean", "var"):
                return None
            found = getattr(fs, name)(x, axis=where, keepdims=keepdims)
            return fs.astype(found, float), np.asarray(getattr(np, name)(a, axis=where, keepdims=keepdims), float)
        case "permute":
            order = tuple(int(n) for n in rng.permutation(rank))
            return fs.permute_dims(x, order), a.transpose(order)
        case "expand" if rank < 4:
            place = int(rng.integers(rank + 1))
            return fs.expand_dims(x, axis=place), np.expand_dims(a, place)
        case "squeeze":
            return fs.squeeze(x), np.squeeze(a)
        case "broadcast":
            shape = tuple(int(rng.integers(1, 4)) if n == 1 else n for n in a.shape)
            shape = (2, *shape) if rank < 4 and rng.random() < 0.5 else shape
            return (fs.broadcast_to(x, shape), np.broadcast_to(a, shape)) if np.prod(shape) <= LARGEST else None
        case "matmul" if rank and b.ndim and a.shape[-1] == b.shape[-2:][0]:
            try:
                expected = np.matmul(a, b)
            except ValueError:
                return None
            return (fs.matmul(x, y), expected) if expected.size <= LARGEST else None
        case "einsum" if rank == 2:
            text = str(rng.choice(["ij->ji", "ij->i", "ij,ij->j", "ij,kj->ik", "ij,kj,lj->il", "...j,...j->..."]))
            count = text.count(",") + 1
            expected = np.einsum(text, *[a] * count)
            return fs.einsum(text, *[x] * count), expected
    return None


@pytest.mark.parametrize("seed", SEEDS)
def test_programs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pool = [leaf(rng) for _ in range(2)]
    steps = 0
    while steps < STEPS:
        made = step(rng, pool)
        if made is not None and np.abs(made[1]).max(initial=0) < 1e9:
            pool.append(made)
            steps += 1
    chosen = [*rng.choice(len(pool), 2), len(pool) - 1]
    results = fs.compute(*(pool[n][0] for n in chosen))
    for n, result in zip(chosen, results, strict=True):
        expected = pool[n][1]
        assert result.shape == expected.shape
        np.testing.assert_allclose(result.to_numpy(), expected, rtol=1e-9, atol=1e-9)
