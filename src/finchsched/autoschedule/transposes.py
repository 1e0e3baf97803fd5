"""Concordize: give every access a copy of its operand in the storage order that the loops need.

A copy moves one axis at a time to the front, each by a counting sort, until the order is right; the same copy is made
once for the whole plan.  Linear in the entries plus the leading dimension.  Where that dimension is huge, or there are
so many axes that each sort would take long to compile, one list of coordinates is made and sorted instead.
"""

from dataclasses import dataclass, field

from finchsched.ast.format import Level, TensorType
from finchsched.ast.logic import Alias, Field, Query, Reformat, Reorder, Slot, Table
from finchsched.autoschedule.output_format import index_dtype
from finchsched.autoschedule.structure import Huge
from finchsched.formats.levels import Dense, SparseList
from finchsched.formats.levels.sparse_coo import coo_levels

__all__ = ["Transposes", "axes_to_move"]


def axes_to_move(current: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    """Axes to move to the front, one after the other, to get from one storage order to another; as few as possible."""
    for keep in range(len(wanted) + 1):
        tail = wanted[keep:]
        if tuple(axis for axis in current if axis in tail) == tail:
            return tuple(reversed(wanted[:keep]))
    return tuple(reversed(wanted))


MOST_AXES = 4
"""A counting sort of more axes takes seconds to compile."""


@dataclass(slots=True)
class Transposes:
    """The transposed copies of one plan: queries made so far, by source and storage order.

    huge: axes of tensors along which nothing should be dense.
    """

    wide: bool
    huge: Huge = field(default_factory=dict)
    queries: list[Query] = field(default_factory=list)
    made: dict[tuple[str, tuple[int, ...]], Alias] = field(default_factory=dict)

    def copy_of(self, tensor: Slot | Alias, wanted: tuple[int, ...]) -> Alias:
        """An alias for `tensor` stored with its axes in the order `wanted`; adds the queries that make it."""
        width = index_dtype(self.wide)
        moved = axes_to_move(tensor.type.perm, wanted)
        if len(wanted) > MOST_AXES or any(axis in self.huge.get(tensor.name, ()) for axis in moved):
            return self._stored(tensor, tensor, coo_levels(len(wanted), width, width), wanted)
        source: Slot | Alias = tensor
        for axis in moved:
            perm = (axis, *(a for a in source.type.perm if a != axis))
            source = self._stored(tensor, source, (Dense(), *(SparseList(width, width) for _ in perm[1:])), perm)
        assert isinstance(source, Alias)
        return source

    def _stored(
        self, original: Slot | Alias, source: Slot | Alias, levels: tuple[Level, ...], perm: tuple[int, ...]
    ) -> Alias:
        """`source` with its axes in the order `perm`; adds the query that makes it unless it is there already."""
        known = self.made.get((original.name, perm))
        if known is not None:
            return known
        type_ = TensorType(levels, perm, source.type.dtype, source.type.fill)
        order = "".join(str(axis) for axis in perm)
        alias = Alias(f"{original.name}_by{order}", type_)
        fields = tuple(Field(name) for name in "ijklmnopqrstuvwxyz"[: len(perm)])
        loops = tuple(fields[axis] for axis in source.type.perm)
        rhs = Reformat(type_, Reorder(Table(source, fields), fields), False)
        self.queries.append(Query(alias, rhs, loops))
        self.made[original.name, perm] = alias
        return alias

    def take(self) -> list[Query]:
        """The queries added since the last call."""
        taken, self.queries = self.queries, []
        return taken
