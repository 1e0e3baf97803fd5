"""Kinds of cases: what the cases of one batch have in common, so that they share a plan; and how kinds are drawn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from array_fuzz.forms import FORMS, Spec
from array_fuzz.model import Batch
from array_fuzz.values import fills

__all__ = ["COMPLEX", "DTYPES", "FLOATS", "INTEGERS", "SHAPES", "Draw", "Kind"]

T = TypeVar("T")

INTEGERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
FLOATS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
DTYPES = ["bool", *INTEGERS, *FLOATS, *COMPLEX]

SHAPES: tuple[tuple[int, ...], ...] = (
    *((8, 8),) * 6,
    *((2, 3, 4),) * 3,
    *((1, 8), (8, 1), (0, 3), (8,), (5,), ()),
)
"""Likely shapes more than once."""


@dataclass(frozen=True, slots=True)
class Kind:
    """An operation on operands of certain types.

    run: the operation on the tensors of a case; it gives a tensor or a NumPy array.  expect: the same on whole batches
    by the model: a Batch, or the array of each case where shapes depend on data; it raises what the operation has to
    raise, if it has to.
    """

    text: str
    operands: tuple[Spec, ...]
    run: Callable[..., Any]
    expect: Callable[..., "Batch | list[Any]"]

    def __str__(self) -> str:
        named = zip("ABC", self.operands, strict=False)
        return f"{self.text} with " + ", ".join(f"{name} = {spec}" for name, spec in named)


class Draw:
    """Choices from a seed."""

    def __init__(self, *seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def pick(self, items: Sequence[T]) -> T:
        """One of several."""
        return items[int(self.rng.integers(len(items)))]

    def percent(self, chance: int) -> bool:
        """True in `chance` of 100 cases."""
        return bool(self.rng.integers(100) < chance)

    def integer(self, least: int, most: int) -> int:
        """One of least .. most."""
        return int(self.rng.integers(least, most + 1))

    def spec(
        self,
        shape: tuple[int, ...] | None = None,
        dtype: str | Sequence[str] = DTYPES,
        domain: str = "any",
        fill: Any = None,
        form: str | None = None,
    ) -> Spec:
        """An operand; what is not given is drawn."""
        shape = self.pick(SHAPES) if shape is None else shape
        name = dtype if isinstance(dtype, str) else self.pick(dtype)
        form = self.pick(FORMS[len(shape)]) if form is None else form
        fill = self.pick(fills(name, domain)) if fill is None else fill
        widths = ("int32", "int32") if self.percent(80) else (self.width(), self.width())
        return Spec(name, shape, form, fill, widths, domain)

    def width(self) -> str:
        """An element type of index arrays."""
        return self.pick(("int32", "int64"))

    def partner(self, spec: Spec, dtype: str | Sequence[str] | None = None, domain: str | None = None) -> Spec:
        """Another operand that broadcasts with one: mostly of its element type, shape and kind of format."""
        shape = spec.shape
        if shape and self.percent(25):
            cut = shape[self.integer(0, len(shape)) :]
            shape = tuple(1 if self.percent(30) else extent for extent in cut)
        if dtype is None:
            dtype = spec.dtype if self.percent(70) else DTYPES
        form = spec.form if len(shape) == len(spec.shape) and self.percent(30) else None
        return self.spec(shape, dtype, spec.domain if domain is None else domain, form=form)

    def axes(self, rank: int) -> Any:
        """Axes to reduce: None, one, or several."""
        if not rank or self.percent(30):
            return None
        if self.percent(60):
            return self.integer(-rank, rank - 1)
        chosen = [axis for axis in range(rank) if self.percent(50)]
        return tuple(axis - rank if self.percent(30) else axis for axis in chosen)
