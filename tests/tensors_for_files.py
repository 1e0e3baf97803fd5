"""Tensors of every element type and format, for files to hold."""

from collections.abc import Iterator
from itertools import permutations, product
from typing import Any

import numpy as np

from finchsched.algebra.dtypes import ELEMENT_DTYPES, INT32, INT64
from finchsched.ast.format import Level
from finchsched.formats.coordinates import from_coordinates
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.levels import Dense, SparseList

DTYPES = [dtype.numpy for dtype in ELEMENT_DTYPES]
KINDS: tuple[Level, ...] = (
    Dense(),
    SparseList(INT32, INT32),
    SparseList(INT64, INT64),
    SparseList(INT32, INT64),
)


def values_of(dtype: np.dtype[Any], count: int) -> np.ndarray:
    """Numbers with the type's extremes, zeros, and what else is easily lost."""
    match dtype.kind:
        case "b":
            pattern: list[Any] = [True, False, True]
        case "i" | "u":
            info = np.iinfo(dtype)
            pattern = [info.max, info.min, 0, 1, info.max - 1]
        case "f":
            info = np.finfo(dtype)
            pattern = [0.1, -0.0, np.inf, -np.inf, np.nan, info.max, info.tiny, info.smallest_subnormal, 1 / 3, 0.0]
        case _:
            pattern = [0.1 + 0.2j, complex(-0.0, 0.0), complex(2, np.inf), complex(np.nan, 1), 3, -0.5j]
    return np.resize(np.array(pattern, dtype), count)


def fills_of(dtype: np.dtype[Any]) -> list[Any]:
    """Fills whose text or sign is easily lost."""
    match dtype.kind:
        case "b":
            return [False, True]
        case "i" | "u":
            return [0, 1, int(np.iinfo(dtype).max)]
        case "f":
            return [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, float(dtype.type(0.1))]
        case _:
            return [0j, complex(-0.0, -0.0), 1.5 - 2j, complex(np.inf, 0), complex(np.nan, np.nan)]


def tensor(
    dtype: Any, shape: tuple[int, ...], levels: tuple[Level, ...], perm: tuple[int, ...], fill: Any = None
) -> FiberTensor:
    """About half of the entries stored, the same ones each time."""
    random = np.random.default_rng(list(shape))
    stored = np.flatnonzero(random.random(shape).reshape(-1) < 0.5)
    coordinates = np.unravel_index(stored, shape) if shape else ()
    values = values_of(np.dtype(dtype), len(stored) if shape else 1)
    default = np.dtype(dtype).type(0).item()
    return from_coordinates(coordinates, values, shape, levels, perm, fill=default if fill is None else fill)


def formats(rank: int) -> Iterator[tuple[tuple[Level, ...], tuple[int, ...]]]:
    """Every nest of levels in every order of axes."""
    yield from product(product(KINDS, repeat=rank), permutations(range(rank)))


def same_tensor(a: FiberTensor, b: FiberTensor) -> bool:
    """Whether two tensors are the same to the bit: types, shape, fill, buffers; any NaN is as good as another."""
    buffers = [*zip(a.pos, b.pos, strict=True), *zip(a.crd, b.crd, strict=True)]
    index = all(x is None if y is None else x is not None and x.dtype == y.dtype and (x == y).all() for x, y in buffers)
    fills = same_values(np.array([a.fill], a.val.dtype), np.array([b.fill], b.val.dtype))
    return a.type == b.type and a.shape == b.shape and fills and index and same_values(a.val, b.val)


def same_values(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal element types, values and signs of zeros."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "c":
        return same_values(a.real, b.real) and same_values(a.imag, b.imag)
    if not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
        return False
    return a.dtype.kind != "f" or bool((np.signbit(a) == np.signbit(b))[a == a].all())
