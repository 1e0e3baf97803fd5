"""Subscripts as NumPy reads them, and the shape of what they give.

A subscript is a tuple of items, one for each axis that it takes or makes, in order; a missing rest is filled up with
full slices.  Items hold no data: index arrays are numbered arguments.
"""

import operator as python_operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from finchsched.api.host import Shape
from finchsched.errors import IndexError

__all__ = ["Apart", "At", "Gather", "Item", "NewAxis", "Placed", "Span", "complete", "integer", "place", "takes_axis"]


@dataclass(frozen=True, slots=True)
class At:
    """One coordinate of an axis; negative counts from the end."""

    coordinate: int


@dataclass(frozen=True, slots=True)
class Span:
    """A slice of an axis."""

    start: int | None = None
    stop: int | None = None
    step: int | None = None

    def range(self, extent: int) -> range:
        """The coordinates that it takes."""
        return range(*slice(self.start, self.stop, self.step).indices(extent))


@dataclass(frozen=True, slots=True)
class NewAxis:
    """An axis of extent 1."""


@dataclass(frozen=True, slots=True)
class Gather:
    """Coordinates from index array number `argument`.  takes_axis: false for a mask without axes, which takes none."""

    argument: int
    takes_axis: bool = True


@dataclass(frozen=True, slots=True)
class Apart:
    """An Ellipsis that stands for no axis: index arrays on its two sides do not stand together."""


Item: TypeAlias = At | Span | NewAxis | Gather | Apart


def takes_axis(item: Item) -> bool:
    """Whether the item stands for an axis of the array."""
    return item.takes_axis if isinstance(item, Gather) else not isinstance(item, NewAxis | Apart)


@dataclass(frozen=True, slots=True)
class Placed:
    """What a subscript does to a shape.

    shape: of the result.  sources: for each axis of the result the operand's axis that it comes from, None for a new
    one.  gathered: the axes of the result that the index arrays make, half open.
    """

    shape: Shape
    sources: tuple[int | None, ...]
    gathered: tuple[int, int]


def complete(items: Sequence[Item | None], shape: Shape) -> tuple[Item, ...]:
    """The items with the Ellipsis (None) and a missing rest written out.

    Raises IndexError for more items than axes, or two ellipses.
    """
    taken = sum(item is not None and takes_axis(item) for item in items)
    if taken > len(shape):
        raise IndexError(f"the subscript takes {taken} axes; the array has {len(shape)} (shape {shape})")
    rest: list[Item] = [Span()] * (len(shape) - taken)
    fancy = any(isinstance(item, Gather) for item in items)
    full: list[Item] = []
    ellipses = 0
    for item in items:
        if item is None:
            full += rest or [Apart()] * fancy
            ellipses += 1
        else:
            full.append(item)
    if ellipses > 1:
        raise IndexError("a subscript may have one Ellipsis (...) only")
    return tuple(full if ellipses else full + rest)


def place(items: Sequence[Item], shape: Shape, arrays: Sequence[Shape]) -> Placed:
    """The shape that a complete subscript gives, by NumPy's rules.

    Beside index arrays an integer counts as one without axes.  The axes that index arrays make stand where the first
    of them stood if all stand together, else in front.  Raises IndexError for an integer out of bounds and for
    index arrays that do not broadcast.
    """
    common = _broadcast(arrays)
    fancy = bool(arrays)
    before: list[tuple[int, int | None]] = []
    after: list[tuple[int, int | None]] = []
    first: int | None = None
    state = "before"
    axis = 0
    for item in items:
        match item:
            case Apart():
                state = "after" if state == "inside" else state
            case NewAxis() | Span():
                state = "after" if state == "inside" else state
                made = (1, None) if isinstance(item, NewAxis) else (len(item.range(shape[axis])), axis)
                (before if state == "before" else after).append(made)
            case At(coordinate) if not -shape[axis] <= coordinate < shape[axis]:
                raise IndexError(f"index {coordinate} is out of bounds for axis {axis} with extent {shape[axis]}")
            case _ if fancy:
                state = "inside" if state in ("before", "inside") else "apart"
                if isinstance(item, Gather) and item.takes_axis and first is None:
                    first = axis
            case _:
                pass
        axis += takes_axis(item)
    gathered = [(extent, first) for extent in common]
    start = 0 if state == "apart" else len(before)
    rest = before + after
    axes = [*rest[:start], *gathered, *rest[start:]]
    return Placed(
        tuple([extent for extent, _ in axes]),
        tuple([source for _, source in axes]),
        (start, start + len(common)),
    )


def _broadcast(arrays: Sequence[Shape]) -> Shape:
    try:
        return np.broadcast_shapes(*arrays)
    except ValueError as error:
        listed = ", ".join(map(str, arrays))
        raise IndexError(f"index arrays of shapes {listed} do not broadcast") from error


def integer(value: object) -> int | None:
    """`value` as an integer, if it is one that may stand in a subscript."""
    try:
        return python_operator.index(value)  # type: ignore[arg-type]  # asks whether it has __index__
    except TypeError:
        return None
