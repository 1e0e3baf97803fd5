"""The Dense level: every coordinate is stored."""

from dataclasses import dataclass
from typing import ClassVar

from finchsched.ast.format import Level

__all__ = ["Dense"]


@dataclass(frozen=True, slots=True, eq=False)
class Dense(Level):
    """Every coordinate of the axis has a child.  No buffers.

    The child of coordinate c in the fiber at position q has position `q * extent + c`.  Also called "full".
    """

    name: ClassVar[str] = "Dense"
    stores_all: ClassVar[bool] = True
    can_locate: ClassVar[bool] = True
    can_append: ClassVar[bool] = True
    can_insert: ClassVar[bool] = True
