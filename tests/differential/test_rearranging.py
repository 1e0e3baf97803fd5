"""Rearranging operations against NumPy, on random arrays in random formats with random fills."""

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import finchsched as fs
from finchsched.formats.checks import check_tensor
from finchsched.formats.numpy_convert import from_dense, stored_mask, to_dense
from strategies import INF, NAN, nest

Array = NDArray[Any]
Draw = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def _uncompiled() -> Iterator[None]:
    with fs.config(backend="python"):
        yield


@st.composite
def tensors(draw: Draw, ranks: tuple[int, ...] = (0, 1, 2, 2, 3, 4), shape: tuple[int, ...] | None = None) -> fs.Tensor:
    """Few different values, so that they meet; any nest, any storage order, any fill."""
    if shape is None:
        rank = draw(st.sampled_from(ranks))
        shape = tuple(draw(st.lists(st.sampled_from([2, 3, 4, 1, 0, 5]), min_size=rank, max_size=rank)))
    dtype = draw(st.sampled_from(["float64", "int64", "float32", "bool"]))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 16)))
    if dtype == "bool":
        values, fills = rng.random(shape) < 0.5, [False, False, True]
    elif dtype == "int64":
        values, fills = rng.integers(-2, 3, shape), [0, 0, 1, -7]
    else:
        values, fills = rng.choice([0.0, -0.0, 1.0, -1.0, 2.0, NAN, INF], shape), [0.0, 0.0, NAN, INF, -0.0, 1.5, -1.0]
    letters = draw(st.text("dsSc", min_size=len(shape), max_size=len(shape)))
    perm = draw(st.permutations(range(len(shape))))
    mask = np.asarray(rng.random(shape) < draw(st.sampled_from([0.4, 0.0, 1.0, 0.1])))
    fill = draw(st.sampled_from(fills))
    return fs.Tensor(from_dense(np.asarray(values, dtype), nest(letters), perm, fill=fill, mask=mask))


def arrays(x: fs.Tensor) -> tuple[Array, Array]:
    """Values and which of them are stored."""
    return to_dense(x.data), stored_mask(x.data)


def check(result: Any, expected: Any, stored: Any = None) -> None:
    """Values, shape and type agree, buffers keep their promises, and no more is stored than `stored` says."""
    expected = np.asarray(expected)
    check_tensor(result.data)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(to_dense(result.data), expected)
    if stored is not None:
        np.testing.assert_array_equal(stored_mask(result.data), stored)


def check_everywhere(x: fs.Tensor, run: Callable[[Any], Any], reference: Callable[[Array], Any]) -> None:
    """Eagerly, and as a step of a lazy program that compiles something before and after it.

    Dense levels of the operand may store more in the result only where they stand outside everything sparse.
    """
    values, stored = arrays(x)
    expected = reference(values)
    result = run(x)
    check(result, expected)
    kept = np.asarray(reference(stored))
    if kept.dtype == bool:
        assert stored_mask(result.data)[kept].all()
        if result.ndim and x.ndim and not x.data.type.levels[-1].stores_all:
            np.testing.assert_array_equal(stored_mask(result.data), kept)
    if expected.dtype != bool and not np.isnan(x.fill_value):
        program = run(fs.lazy(x) + fs.lazy(x)) * fs.asarray(np.asarray(1, expected.dtype))
        assert program.shape == expected.shape
        check(fs.compute(program), reference(values + values) * np.asarray(1, expected.dtype))


# ---------------------------------------------------------------------------------------------- indexing


@st.composite
def subscripts(draw: Draw, shape: tuple[int, ...]) -> Any:
    """Anything that may stand in brackets, in or out of bounds of slices, but not of integers."""
    parts: list[Any] = []
    axis = 0
    common = draw(st.sampled_from([(2,), (3,), (1,), (0,), (2, 3), ()]))
    while axis < len(shape):
        extent = shape[axis]
        kind = draw(st.sampled_from("s:s:iingm0e"))
        if kind == "n":
            parts.append(None)
            continue
        if kind == "e" and Ellipsis not in [p for p in parts if not isinstance(p, np.ndarray)]:
            parts.append(Ellipsis)
            axis = draw(st.integers(axis, len(shape)))
            continue
        if kind == "0" and draw(st.integers(0, 3)) == 0:
            parts.append(draw(st.booleans()))
            continue
        if kind == "m":
            taken = draw(st.integers(1, len(shape) - axis))
            rng = np.random.default_rng(draw(st.integers(0, 99)))
            parts.append(rng.random(shape[axis : axis + taken]) < 0.5)
            axis += taken
            continue
        if kind == "i" and extent:
            parts.append(draw(st.integers(-extent, extent - 1)))
        elif kind == "g" and extent:
            some = draw(st.sampled_from([common, common[1:], (1, *common[1:])] if common else [common]))
            rng = np.random.default_rng(draw(st.integers(0, 99)))
            parts.append(rng.integers(-extent, extent, some))
        else:
            ends = st.none() | st.integers(-extent - 2, extent + 2)
            step = st.sampled_from([None, 1, 2, -1, -2, 7, -7])
            parts.append(slice(draw(ends), draw(ends), draw(step)))
        axis += 1
        if draw(st.integers(0, 4)) == 0:
            break
    return tuple(parts) if len(parts) != 1 or draw(st.booleans()) else parts[0]


@given(st.data())
def test_subscripts(data: st.DataObject) -> None:
    x = data.draw(tensors())
    key = data.draw(subscripts(x.shape))
    try:
        to_dense(x.data)[key]
    except IndexError:
        with pytest.raises(IndexError):
            x[key]
        return
    check_everywhere(x, lambda a: a[key], lambda a: a[key])


@given(st.data())
def test_masks_of_the_array_itself(data: st.DataObject) -> None:
    x = data.draw(tensors(ranks=(1, 2, 3)))
    values = to_dense(x.data)
    check(x[x > 0], values[values > 0])
    check(x[x == 0], values[values == 0])


# ---------------------------------------------------------------------------------------------- other shapes


@st.composite
def shapes_of(draw: Draw, size: int) -> tuple[int, ...]:
    """A shape with so many elements."""
    shape: list[int] = []
    if size == 0:
        return tuple(draw(st.permutations([0, *draw(st.lists(st.integers(0, 3), max_size=3))])))
    while size > 1:
        divisor = draw(st.sampled_from([d for d in range(2, size + 1) if size % d == 0]))
        shape.append(divisor)
        size //= divisor
    shape += [1] * draw(st.integers(0, 2))
    return tuple(draw(st.permutations(shape)))


@given(st.data())
def test_reshape(data: st.DataObject) -> None:
    x = data.draw(tensors())
    shape = data.draw(shapes_of(prod(x.shape)))
    check_everywhere(x, lambda a: a.reshape(shape), lambda a: a.reshape(shape))
    check(x.flatten(), to_dense(x.data).reshape(-1))
    if prod(shape):
        for axis in range(len(shape)):
            open_shape = (*shape[:axis], -1, *shape[axis + 1 :])
            check(x.reshape(*open_shape), to_dense(x.data).reshape(shape))


@given(st.data())
def test_moves(data: st.DataObject) -> None:
    x = data.draw(tensors(ranks=(1, 2, 3)))
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1))
    places = data.draw(st.integers(-7, 7))
    check_everywhere(x, lambda a: fs.flip(a, axis=axis), lambda a: np.flip(a, axis))
    check_everywhere(x, lambda a: fs.roll(a, places, axis=axis), lambda a: np.roll(a, places, axis))
    axes = tuple(range(x.ndim))
    check(fs.roll(x, (1,) * x.ndim, axis=axes), np.roll(to_dense(x.data), (1,) * x.ndim, axes))


@given(st.data())
def test_repetitions(data: st.DataObject) -> None:
    x = data.draw(tensors(ranks=(0, 1, 2, 3)))
    counts = data.draw(st.lists(st.integers(0, 3), max_size=4))
    check_everywhere(x, lambda a: fs.tile(a, counts), lambda a: np.tile(a, counts))
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1)) if x.ndim else None
    extent = prod(x.shape) if axis is None else x.shape[axis]
    times = data.draw(st.integers(0, 3) | st.lists(st.integers(0, 3), min_size=extent, max_size=extent))
    check_everywhere(
        x, lambda a: fs.repeat(a, times, axis=axis), lambda a: np.repeat(a, np.array(times, np.int64), axis)
    )


@given(st.data())
def test_takes(data: st.DataObject) -> None:
    x = data.draw(tensors(ranks=(1, 2, 3)))
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1))
    extent = prod(x.shape) if axis is None else x.shape[axis]
    if extent == 0:
        with pytest.raises(IndexError):
            fs.take(x, [0], axis=axis)
        return
    indices = data.draw(st.lists(st.integers(-extent, extent - 1), max_size=6))
    check_everywhere(x, lambda a: fs.take(a, indices, axis=axis), lambda a: np.take(a, np.array(indices, int), axis))
    for piece, expected in zip(fs.unstack(x, axis=axis or 0), np.moveaxis(to_dense(x.data), axis or 0, 0), strict=True):
        check(piece, expected)
    for piece, expected in zip(x, to_dense(x.data), strict=True):
        check(piece, expected)


@given(st.data())
def test_triangles(data: st.DataObject) -> None:
    x = data.draw(tensors(ranks=(2, 3)))
    k = data.draw(st.integers(-6, 6))
    check_everywhere_values(x, lambda a: fs.tril(a, k=k), lambda a: np.tril(a, k))
    check_everywhere_values(x, lambda a: fs.triu(a, k=k), lambda a: np.triu(a, k))


def check_everywhere_values(x: fs.Tensor, run: Callable[[Any], Any], reference: Callable[[Array], Any]) -> None:
    check(run(x), reference(to_dense(x.data)))
    check(fs.compute(run(fs.lazy(x))), reference(to_dense(x.data)))


@given(st.data())
def test_joins(data: st.DataObject) -> None:
    first = data.draw(tensors(ranks=(1, 2, 3)))
    axis = data.draw(st.integers(-first.ndim, first.ndim - 1))
    extents = list(first.shape)
    extents[axis] = data.draw(st.integers(0, 3))
    given = [first, data.draw(tensors(shape=tuple(extents))), data.draw(tensors(shape=first.shape))]
    values = [to_dense(x.data) for x in given]
    check(fs.concat(given, axis=axis), np.concatenate(values, axis))
    check(fs.concat(given, axis=None), np.concatenate(values, None))
    check(fs.stack([given[0], given[2]], axis=axis), np.stack([values[0], values[2]], axis))
    lazy = fs.concat([fs.lazy(given[0]), *given[1:]], axis=axis)
    check(fs.compute(lazy), np.concatenate(values, axis))
    filled = fs.concat(given, axis=axis, fill_value=1)
    check(filled, np.concatenate(values, axis))
    assert filled.fill_value == 1


# ---------------------------------------------------------------------------------------------- positions


@given(st.data())
def test_nonzero(data: st.DataObject) -> None:
    x = data.draw(tensors(ranks=(1, 2, 3)))
    for found, expected in zip(fs.nonzero(x), np.nonzero(to_dense(x.data)), strict=True):
        check(found, expected)
    check(fs.argwhere(x), np.argwhere(to_dense(x.data)))


@given(st.data())
def test_arg_extremes(data: st.DataObject) -> None:
    x = data.draw(tensors())
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1)) if x.ndim else None
    keepdims = data.draw(st.booleans())
    for mine, numpy in ((fs.argmin, np.argmin), (fs.argmax, np.argmax)):
        if (prod(x.shape) if axis is None else x.shape[axis]) == 0:
            with pytest.raises(ValueError, match="of no elements"):
                mine(x, axis=axis, keepdims=keepdims)
            continue
        expected = numpy(to_dense(x.data), axis=axis, keepdims=keepdims)
        check(mine(x, axis=axis, keepdims=keepdims), expected)
        check(fs.compute(mine(fs.lazy(x), axis=axis, keepdims=keepdims)), expected)
