"""Kinds of reductions."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import finchsched as fs
from array_fuzz.kinds import COMPLEX, DTYPES, FLOATS, Draw, Kind
from array_fuzz.model import Batch, reduced

__all__ = ["arg_extremes", "reductions"]

DOMAINS = {"prod": "powers", "mean": "finite", "var": "finite", "std": "finite", "norm": "finite"}
ULPS = {"mean": 8.0, "var": 32.0, "std": 32.0, "norm": 8.0}
NAMES = ("sum", "sum", "sum", "prod", "min", "min", "max", "max", "any", "all", "mean", "var", "std", "count_nonzero")


def _fold(name: str, dtype: str | None, values: Any, axes: tuple[int, ...]) -> Any:
    """NumPy's reduction, with means in at least float64."""
    if name in ("min", "max") and values.dtype.kind == "c":
        raise TypeError("complex numbers have no order")
    if name == "count_nonzero":
        return np.count_nonzero(values, axis=axes, keepdims=True)
    if name not in ("mean", "var", "std"):
        options: dict[str, Any] = {"dtype": dtype} if dtype else {}
        return getattr(np, name)(values, axis=axes, keepdims=True, **options)
    wide = values.astype(np.result_type(values.dtype, np.float64))
    found = getattr(np, name)(wide, axis=axes, keepdims=True)
    narrow = values.dtype if values.dtype.kind in "fc" else np.dtype(np.float64)
    return found.astype(narrow if name == "mean" else narrow.type(0).real.dtype)


def reductions(draw: Draw, name: str | None = None) -> Kind:
    """A reduction along some axes, as a function or a method."""
    name = name or draw.pick(NAMES)
    known = DTYPES if draw.percent(5) or name not in ("min", "max") else [d for d in DTYPES if d not in COMPLEX]
    a = draw.spec(dtype=known, domain=DOMAINS.get(name, "any"))
    axis, keepdims = draw.axes(len(a.shape)), draw.percent(40)
    dtype = draw.pick(FLOATS) if name == "sum" and a.dtype not in COMPLEX and draw.percent(10) else None
    if dtype is not None:
        a = draw.spec(dtype=[d for d in known if d not in COMPLEX], domain="finite", shape=a.shape)
    options: dict[str, Any] = {"axis": axis, "keepdims": keepdims, **({"dtype": dtype} if dtype else {})}
    run: Callable[..., Any] = partial(getattr(fs, name), **options)
    text = f"fs.{name}(A, axis={axis}, keepdims={keepdims}{f', dtype={dtype}' if dtype else ''})"
    if name != "count_nonzero" and draw.percent(40):
        method = name
        run = lambda x: getattr(x, method)(**options)  # noqa: E731
        text = f"A.{text.removeprefix('fs.')}"
    return Kind(text, (a,), run, partial(_expect, name, dtype, axis, keepdims))


def _expect(name: str, dtype: str | None, axis: Any, keepdims: bool, batch: Batch) -> Batch:
    rank = len(batch.shape)
    axes = tuple(range(rank)) if axis is None else (axis,) if isinstance(axis, int) else axis
    found = reduced(batch, partial(_fold, name, dtype), sorted(a % rank for a in axes), keepdims)
    return found.loose(ULPS.get(name, 0))


def arg_extremes(draw: Draw) -> Kind:
    """`argmin` and `argmax`."""
    name = draw.pick(("argmin", "argmax"))
    a = draw.spec(dtype=[d for d in DTYPES if d not in COMPLEX])
    axis = None if draw.percent(30) or not a.shape else draw.integer(-len(a.shape), len(a.shape) - 1)
    keepdims = draw.percent(40)

    def expect(x: Batch) -> Batch:
        cases = len(x.values)
        values, along = x.values, axis
        if axis is None:
            values, along = values.reshape(cases, *([1] * (len(x.shape) - 1)), -1), -1
        elif axis >= 0:
            along = axis + 1
        found = getattr(np, name)(values, axis=along, keepdims=True)
        shape = [cases, *(1 if axis is None or n == axis % len(x.shape) else m for n, m in enumerate(x.shape))]
        found = found.reshape(shape)
        if not keepdims:
            found = found.reshape(cases) if axis is None else found.squeeze(along)
        return Batch(found, np.ones(found.shape, np.bool), found.dtype.type(0), mask="any")

    text = f"fs.{name}(A, axis={axis}, keepdims={keepdims})"
    return Kind(text, (a,), lambda x: getattr(fs, name)(x, axis=axis, keepdims=keepdims), expect)
