"""Kinds of operations that move elements: views, subscripts, joining, and conversions between formats and libraries."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import finchsched as fs
from array_fuzz.forms import FORMS, Spec
from array_fuzz.kinds import DTYPES, Draw, Kind
from array_fuzz.model import Batch, map_axes, same

__all__ = ["conversions", "joins", "masks", "moves", "scipy_trips", "subscripts", "views"]

Move = Callable[[Any], Any]


def _moved(text: str, spec: Spec, run: Move, move: Move) -> Kind:
    """`move` is the operation on an array whose first axis is that of the cases."""
    return Kind(text, (spec,), run, lambda x: map_axes(x, move))


def views(draw: Draw) -> Kind:
    """Axes in another order, added, left out, stretched."""
    a = draw.spec()
    rank = len(a.shape)
    order = [int(n) for n in draw.rng.permutation(rank)]
    match draw.pick("TPESB"):
        case "T":
            return _moved("A.T", a, lambda x: x.T, lambda x: x.transpose(0, *range(rank, 0, -1)))
        case "E":
            place = draw.integer(0, rank)
            return _moved(
                f"fs.expand_dims(A, axis={place})",
                a,
                lambda x: fs.expand_dims(x, axis=place),
                lambda x: np.expand_dims(x, place + 1),
            )
        case "S":
            ones = tuple(n + 1 for n, extent in enumerate(a.shape) if extent == 1)
            return _moved("fs.squeeze(A)", a, fs.squeeze, lambda x: x.squeeze(ones))
        case "B":
            new = draw.pick(((), (2,), (3, 1)))
            shape = (*new, *(3 if extent == 1 else extent for extent in a.shape))
            return _moved(
                f"fs.broadcast_to(A, {shape})",
                a,
                lambda x: fs.broadcast_to(x, shape),
                lambda x: np.broadcast_to(x.reshape(len(x), *(1,) * len(new), *x.shape[1:]), (len(x), *shape)),
            )
        case _:
            return _moved(
                f"fs.permute_dims(A, {order})",
                a,
                lambda x: fs.permute_dims(x, order),
                lambda x: x.transpose(0, *(axis + 1 for axis in order)),
            )


def _slice(draw: Draw, extent: int) -> slice:
    bounds = [None if draw.percent(40) else draw.integer(-extent - 2, extent + 2) for _ in range(2)]
    return slice(*bounds, draw.pick((None, None, 1, 2, -1, -2, 3)))


def _key(draw: Draw, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Integers, slices, new axes, an ellipsis, and one array of integers or mask."""
    items: list[Any] = []
    arrays = 0
    for extent in shape:
        if draw.percent(15):
            items.append(None)
        choice = draw.pick("ssssiiam")
        if choice == "i" and extent:
            items.append(draw.integer(-extent, extent - 1))
        elif choice == "a" and extent and not arrays:
            items.append(draw.rng.integers(-extent, extent, draw.integer(0, 5)))
            arrays += 1
        elif choice == "m" and not arrays:
            items.append(draw.rng.random(extent) < 0.5)
            arrays += 1
        else:
            items.append(_slice(draw, extent))
    if items and draw.percent(25):
        cut = draw.integer(0, len(items))
        return (*items[:cut], Ellipsis) if draw.percent(50) else (*items[:cut], Ellipsis, *items[cut:])
    return tuple(items)


def subscripts(draw: Draw) -> Kind:
    """`A[...]` with one key for the whole batch."""
    a = draw.spec()
    key = _key(draw, a.shape)

    def move(x: Any) -> Any:
        # Case by case: an array of integers beside an integer would move an axis before that of the cases.
        blank = np.zeros(x.shape[1:], x.dtype)[key]
        return np.stack([one[key] for one in x]) if len(x) else np.zeros((0, *blank.shape), x.dtype)

    shown = ", ".join(repr(item).replace("array", "np.array") for item in key)
    return _moved(f"A[{shown}]", a, lambda x: x[key], move)


def masks(draw: Draw) -> Kind:
    """Results whose shape depends on the data: masks of the array itself, coordinates of what is not zero."""
    a = draw.spec(dtype=[d for d in DTYPES if not d.startswith("complex")])
    match draw.pick("mtna") if a.shape else "m":
        case "m":
            return Kind("A[A > 0]", (a,), lambda x: x[x > 0], lambda x: [one[one > 0] for one in x.values])
        case "t":
            return Kind("A[A == 0]", (a,), lambda x: x[x == 0], lambda x: [one[one == 0] for one in x.values])
        case "n":
            last = len(a.shape) - 1
            return Kind(
                f"fs.nonzero(A)[{last}]",
                (a,),
                lambda x: fs.nonzero(x)[last],
                lambda x: [np.nonzero(one)[last] for one in x.values],
            )
        case _:
            return Kind("fs.argwhere(A)", (a,), fs.argwhere, lambda x: [np.argwhere(one) for one in x.values])


def moves(draw: Draw) -> Kind:
    """What moves elements without another array."""
    a = draw.spec()
    rank = len(a.shape)
    axis = draw.integer(0, rank - 1) if rank else None
    along = None if axis is None else axis + 1
    size = int(np.prod(a.shape))
    match draw.pick("fFlrRtTUnk") if rank else "f":
        case "f":
            return _moved("A.flatten()", a, lambda x: x.flatten(), lambda x: x.reshape(len(x), size))
        case "F":
            return _moved(f"fs.flip(A, axis={axis})", a, lambda x: fs.flip(x, axis=axis), lambda x: np.flip(x, along))
        case "l":
            shift = draw.integer(-9, 9)
            return _moved(
                f"fs.roll(A, {shift}, axis={axis})",
                a,
                lambda x: fs.roll(x, shift, axis=axis),
                lambda x: np.roll(x, shift, along),
            )
        case "r":
            times = draw.integer(0, 3)
            return _moved(
                f"fs.repeat(A, {times}, axis={axis})",
                a,
                lambda x: fs.repeat(x, times, axis=axis),
                lambda x: np.repeat(x, times, along),
            )
        case "R":
            shift = draw.integer(-9, 9)
            return _moved(
                f"fs.roll(A, {shift})",
                a,
                lambda x: fs.roll(x, shift),
                lambda x: np.roll(x.reshape(len(x), -1) if x.size else x, shift, 1).reshape(x.shape),
            )
        case "t":
            counts = tuple(draw.integer(0, 2) for _ in range(rank))
            return _moved(f"fs.tile(A, {counts})", a, lambda x: fs.tile(x, counts), lambda x: np.tile(x, (1, *counts)))
        case "T" | "U" as side if rank > 1:
            k, name = draw.integer(-3, 3), "tril" if side == "T" else "triu"
            inside = getattr(np, name)(np.ones(a.shape, np.bool), k)
            return Kind(f"fs.{name}(A, {k})", (a,), lambda x: getattr(fs, name)(x, k=k), partial(_triangle, inside))
        case "n":
            least = draw.integer(0, 3)
            chosen = [int(n) for n in draw.rng.integers(0, a.shape[axis or 0], least)] if a.shape[axis or 0] else []
            return _moved(
                f"fs.take(A, {chosen}, axis={axis})",
                a,
                lambda x: fs.take(x, np.array(chosen, np.int64), axis=axis),
                lambda x: np.take(x, np.array(chosen, np.int64), axis=along),
            )
        case _:
            shape = draw.pick(_reshapes(a.shape))
            return _moved(
                f"A.reshape({shape})", a, lambda x: x.reshape(shape), lambda x: x.reshape(len(x), *_whole(shape, size))
            )


def _reshapes(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    size = int(np.prod(shape))
    if not size:
        return [(0,), (3, 0), (0, 2, 5)]
    found: list[tuple[int, ...]] = [(-1,), (size, 1), (1, size), tuple(reversed(shape)), (*shape, 1)]
    return found + [(divisor, -1) for divisor in (2, 4) if size % divisor == 0]


def _whole(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    known = int(np.prod([extent for extent in shape if extent >= 0]))
    return tuple(size // known if extent < 0 else extent for extent in shape)


def _triangle(inside: Any, x: Batch) -> Batch:
    """Zeros outside; they are not stored if 0 is the fill."""
    zero = x.values.dtype.type(0)
    if same(x.fill, zero):
        return Batch(np.where(inside, x.values, zero), x.stored & inside, x.fill)
    return Batch(np.where(inside, x.values, zero), x.stored, x.fill, mask="any")


def joins(draw: Draw) -> Kind:
    """`concat` and `stack` of two arrays; the first sparse one gives the fill."""
    a = draw.spec()
    rank = len(a.shape)
    stacked = not rank or draw.percent(40)
    axis = draw.integer(0, rank if stacked else rank - 1)
    shape = a.shape
    if not stacked and draw.percent(50):
        shape = tuple(draw.integer(0, 4) if n == axis else extent for n, extent in enumerate(shape))
    b = draw.spec(shape, a.dtype if draw.percent(70) else DTYPES)
    name = "stack" if stacked else "concat"
    numpy_name = getattr(np, "stack" if stacked else "concatenate")
    leader = 1 if a.form.startswith("dense") and not b.form.startswith("dense") else 0

    def expect(*batches: Batch) -> Batch:
        values = numpy_name([batch.values for batch in batches], axis + 1)
        fill = values.dtype.type(batches[leader].fill)
        stored = [
            batch.stored if same(values.dtype.type(batch.fill), fill) else np.ones_like(batch.stored)
            for batch in batches
        ]
        return Batch(values, numpy_name(stored, axis + 1), fill, mask="any")

    return Kind(f"fs.{name}([A, B], axis={axis})", (a, b), lambda x, y: getattr(fs, name)([x, y], axis=axis), expect)


def conversions(draw: Draw) -> Kind:
    """From one format to another and on to a third."""
    a = draw.spec()
    through, last = draw.pick(FORMS[len(a.shape)]), draw.pick(FORMS[len(a.shape)])
    return Kind(
        f"A.asformat({through!r}).asformat({last!r})",
        (a,),
        lambda x: x.asformat(through).asformat(last),
        lambda x: Batch(x.values, x.stored, x.fill, mask="any"),
    )


def scipy_trips(draw: Draw) -> Kind:
    """To SciPy and back, and by way of lists of coordinates, each entry given once or twice."""
    shape = draw.pick(((8, 8), (8, 8), (1, 8), (8, 1), (0, 3)))
    forms = [form for form in FORMS[2] if not form.startswith("dense")]
    a = draw.spec(shape, fill=0, form=draw.pick(forms))
    if draw.percent(50):
        name = draw.pick("csr csc coo dok lil dia bsr".split())
        return Kind(
            f"fs.asarray(A.to_scipy({name!r}))",
            (a,),
            lambda x: fs.asarray(x.to_scipy(name)),
            lambda x: Batch(x.values, x.stored, x.fill, mask="any"),
        )
    twice, form = draw.percent(50), draw.pick((None, *forms))

    def run(x: fs.Tensor) -> fs.Tensor:
        coo = x.to_scipy("coo")
        again = [np.concatenate([at, at[::-1]]) for at in coo.coords] if twice else list(coo.coords)
        data = np.concatenate([coo.data, coo.data[::-1]]) if twice else coo.data
        return fs.from_coo(again, data, shape, format=form)

    def expect(x: Batch) -> Batch:
        with np.errstate(all="ignore"):
            return Batch(x.values + x.values if twice else x.values, x.stored, x.fill, mask="least")

    return Kind(f"fs.from_coo(entries of A{' twice' if twice else ''}, format={form!r})", (a,), run, expect)
