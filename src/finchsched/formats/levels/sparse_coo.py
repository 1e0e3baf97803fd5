"""The SparseCOO level: several axes held as one sorted list of coordinate tuples."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from finchsched.algebra.dtypes import INT64, DType
from finchsched.ast.format import Level
from finchsched.errors import FormatError

__all__ = ["SparseCOO", "check_groups", "coo_levels", "counted_at"]


@dataclass(frozen=True, slots=True, eq=False)
class SparseCOO(Level):
    """One axis, number `part`, of a list of coordinates over `of` consecutive storage axes.

    The `of` levels of a list stand one below the other, with equal types.  Their fiber is a list of entries: a range
    of positions, which part 0 has in `pos[nfibers + 1]`, as a SparseList does; further parts have no `pos`.  Each part
    has `crd[pos[nfibers]]`, its coordinate of every entry, zero-based.  Inside a fiber the tuples of coordinates rise
    strictly, so entries with the same first coordinates stand together; such a run is the fiber of the next part.
    The child of the last part has the position of its entry.

    Also called "coordinate"; to TACO part 0 is "compressed, not unique" and the others are singletons.  `pos` and
    `crd` are element types (int32 or int64); the type of `pos` is written in every part, but used in part 0.
    """

    pos: DType = INT64
    crd: DType = INT64
    part: int = 0
    of: int = 1
    name: ClassVar[str] = "SparseCOO"
    can_append: ClassVar[bool] = True

    @property
    def label(self) -> str:
        """The list once, with its number of axes."""
        if self.part:
            return ""
        return self.name if self.of == 1 else f"{self.name}({self.of})"

    @property
    def is_first(self) -> bool:
        """Whether the list begins here."""
        return self.part == 0

    @property
    def is_last(self) -> bool:
        """Whether a child is one entry, not a run of them."""
        return self.part == self.of - 1


def coo_levels(axes: int, pos: DType = INT64, crd: DType = INT64) -> tuple[SparseCOO, ...]:
    """The levels of one list of coordinates over so many axes."""
    return tuple(SparseCOO(pos, crd, part, axes) for part in range(axes))


def counted_at(levels: Sequence[Level], number: int) -> int:
    """The level whose positions are the entries of level `number`: the last part of a list, else the level itself."""
    level = levels[number]
    return number + level.of - 1 - level.part if isinstance(level, SparseCOO) else number


def check_groups(levels: Sequence[Level]) -> None:
    """Raise FormatError unless the parts of every list stand together, in order and with equal types."""
    expected: SparseCOO | None = None
    for number, level in enumerate(levels):
        if expected is not None and level != expected:
            raise FormatError(f"level {number}: expected part {expected.part} of {expected.of} of a coordinate list")
        if not isinstance(level, SparseCOO):
            continue
        if not 0 <= level.part < level.of or (expected is None and level.part):
            raise FormatError(f"level {number}: part {level.part} of {level.of} does not begin a coordinate list")
        expected = None if level.is_last else level.replace(part=level.part + 1)
    if expected is not None:
        raise FormatError(f"a coordinate list over {expected.of} axes ends after {expected.part}")
