"""What operations must give: arrays of a batch with masks and a fill, by the mask rule, without the library.

The operators, with what absorbs them, are those of the tests' oracle.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle.einsum_oracle import CALLS, REDUCTIONS, Operator, absorbs_nothing

__all__ = ["Batch", "folded", "map_axes", "pointwise", "reduced", "same"]

Array = NDArray[Any]
Mask = NDArray[np.bool]


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """The arrays of all cases: `values` and `stored` have the shape (cases, *shape); the fill has the element type.

    ulps: by how many units in the last place values may differ; 0 for those that nobody rounds differently.
    mask: "exact" where the semantics fixes what is stored; "least" where more may be; "any" where only values count.
    """

    values: Array
    stored: Mask
    fill: Any
    ulps: float = 0
    mask: str = "exact"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape[1:]

    def loose(self, ulps: float) -> "Batch":
        return replace(self, ulps=ulps)


def same(a: Any, b: Any) -> Any:
    """Equality where NaN equals NaN and 0.0 equals -0.0."""
    return (a == b) | ((a != a) & (b != b))


def _aligned(batch: Batch, rank: int) -> tuple[Array, Mask]:
    cases, *shape = batch.values.shape
    new = (cases, *(1,) * (rank - len(shape)), *shape)
    return batch.values.reshape(new), batch.stored.reshape(new)


def pointwise(operator: Operator, *terms: Any, reduction: str = "") -> Batch:
    """An operator on batches, which broadcast, and scalars, by the mask rule."""
    batches = [term for term in terms if isinstance(term, Batch)]
    rank = max(len(batch.shape) for batch in batches)
    pairs = [_aligned(term, rank) if isinstance(term, Batch) else (term, None) for term in terms]
    with np.errstate(all="ignore"):
        value = np.asarray(_apply(operator, [values for values, _ in pairs]))
        fill = _apply(operator, [term.fill if isinstance(term, Batch) else term for term in terms])
    masks = [mask for _, mask in pairs if mask is not None]
    stored = np.broadcast_to(reduce(np.logical_or, masks), value.shape).copy()
    if len(batches) == 2 and operator.absorbs is not absorbs_nothing:
        for batch, mask, other in zip(batches, masks, reversed(masks), strict=True):
            if not operator.absorbs(batch.fill, fill.dtype, reduction):
                continue
            s = fill.dtype.type(batch.fill)
            absorbed = np.broadcast_to(~mask & other, value.shape)
            value[absorbed] = s
            if same(s, fill):
                stored &= ~absorbed
    return Batch(value, stored, fill)


def _apply(operator: Operator, values: Sequence[Any]) -> Any:
    return reduce(operator.once, values) if operator.arity is None else operator.once(*values)


def map_axes(batch: Batch, function: Callable[[Array], Array]) -> Batch:
    """What moves elements, applied to values and mask: `function` takes an array with the cases as its first axis."""
    return Batch(function(batch.values), function(batch.stored), batch.fill)


Fold = Callable[[Array, tuple[int, ...]], Array]


def reduced(batch: Batch, fold: Fold, axes: Sequence[int], keepdims: bool) -> Batch:
    """A reduction along axes; `fold(values, axes)` keeps them with the extent 1.

    The fill is that of as many fills; what is reduced is stored if any of it is.
    """
    axes = tuple(axes)
    along = tuple(axis + 1 for axis in axes)
    blank = np.full([n if axis in axes else 1 for axis, n in enumerate(batch.shape)], batch.fill, batch.values.dtype)
    with np.errstate(all="ignore"):
        values, fill = fold(batch.values, along), fold(blank, axes)
    stored = batch.stored.any(axis=along, keepdims=True)
    found = Batch(np.asarray(values), stored, np.asarray(fill).reshape(-1)[0])
    return found if keepdims else map_axes(found, lambda x: x.squeeze(along))


def folded(name: str, keeping: bool = False) -> Fold:
    """The fold of an einsum's reduction: "+", "*", "min", "max", "and" or "or"; `keeping` its element type."""
    rule = REDUCTIONS[name]
    ufunc: np.ufunc = {"+": np.add, "*": np.multiply, "min": np.minimum, "max": np.maximum}.get(
        name, np.logical_and if name == "and" else np.logical_or
    )

    def fold(values: Array, axes: tuple[int, ...]) -> Array:
        if keeping and values.dtype == np.bool:
            return np.any(values, axis=axes, keepdims=True)
        dtype = values.dtype if keeping else rule.result(values.dtype)
        first = dtype.type(rule.identity(dtype))
        if name in ("and", "or"):
            return np.asarray(ufunc.reduce(values, axis=axes, keepdims=True).astype(dtype))
        return np.asarray(ufunc.reduce(values, axis=axes, keepdims=True, dtype=dtype, initial=first))

    return fold


def call(name: str) -> Operator:
    """The oracle's operator with the name of a NumPy function."""
    known = CALLS.get(ALIASES.get(name, name))
    return known or Operator(getattr(np, name), getattr(np, name).nin)


ALIASES = {"conj": "conjugate", "bitwise_not": "invert", "bitwise_invert": "invert"}
