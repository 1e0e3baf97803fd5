"""Static storage types: levels with their capabilities, and tensor types.

A tensor is a fiber tree.  Level 0 holds the root's children; a *position* is the number of a fiber among its level's
fibers. Level nodes live in `finchsched.formats.levels`, one file each, and derive from `Level`.

Grammar (generated from the dataclasses):

    TensorType(levels: tuple[Level, ...], perm: tuple[int, ...], dtype: DType, fill: Node)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from finchsched.algebra.dtypes import DType
from finchsched.ast.node import Node

__all__ = ["Level", "TensorType", "is_sparse", "last_sparse_level", "nest_text", "storage_order"]


T = TypeVar("T")


class Level(Node):
    """Base of the static types of levels.  Capabilities are those of Chou et al. 2018.

    name: how the level prints.  stores_all: every coordinate of a fiber is stored.  can_locate: the position of a
    coordinate is found in constant time.  can_append: coordinates may be written in rising order.  can_insert: in any
    order.
    """

    __slots__ = ()
    name: ClassVar[str]
    stores_all: ClassVar[bool] = False
    can_locate: ClassVar[bool] = False
    can_append: ClassVar[bool] = False
    can_insert: ClassVar[bool] = False

    @property
    def label(self) -> str:
        """How the level reads in a nest for users; "" if the level above stands for it too."""
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class TensorType(Node):
    """The static type of a tensor: everything a kernel depends on but extents and data.

    levels: one per axis, outermost storage level first.  perm: storage level -> logical axis.  dtype: element type.
    fill: scalar expression (Literal, Value, Call, Size) that structural coordinates have as their value.
    """

    levels: tuple[Level, ...]
    perm: tuple[int, ...]
    dtype: DType
    fill: Node

    def __str__(self) -> str:
        nest = nest_text(self.levels, f"Element({self.dtype})")
        return nest if self.perm == tuple(range(len(self.perm))) else f"{nest}, perm={self.perm}"


def nest_text(levels: Sequence[Level], element: str) -> str:
    """Levels around an element, outermost first, as in `Dense(SparseList(Element))`."""
    for level in reversed(levels):
        element = f"{level.label}({element})" if level.label else element
    return element


def is_sparse(t: TensorType) -> bool:
    """Whether some level does not store every coordinate."""
    return any(not level.stores_all for level in t.levels)


def last_sparse_level(t: TensorType) -> int:
    """Number of the innermost level that does not store every coordinate, or -1."""
    return max((n for n, level in enumerate(t.levels) if not level.stores_all), default=-1)


def storage_order(t: TensorType, index: Sequence[T]) -> tuple[T, ...]:
    """Indices given by logical axis, rearranged outermost storage level first."""
    return tuple(index[axis] for axis in t.perm)
