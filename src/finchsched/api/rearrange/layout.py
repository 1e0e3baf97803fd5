"""How the result of a rearranging operation is stored: in the kind of format that its operand has.

A layout is a class of levels for each storage level and the axis that it stores.  Dense levels are kept as long as they
store nothing that the operand does not; wherever that is in doubt, the innermost level becomes sparse, which holds
exactly the entries that it is given.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from finchsched.algebra.dtypes import Scalar
from finchsched.api.rearrange.entries import Index
from finchsched.ast.format import Level, TensorType
from finchsched.formats.coordinates import from_coordinates, index_width
from finchsched.formats.fiber_tensor import Buffer, FiberTensor
from finchsched.formats.levels import Dense, SparseCOO, SparseList
from finchsched.formats.levels.sparse_coo import coo_levels

__all__ = ["Layout", "fresh_layout", "same_layout"]

LevelKind: TypeAlias = type[Level]

_ROWS = 1 << 16
"""Rows that a dense outermost level may have however few entries there are."""


@dataclass(frozen=True, slots=True)
class Layout:
    """kinds: class of each storage level.  axes: the axis that each one stores."""

    kinds: tuple[LevelKind, ...]
    axes: tuple[int, ...]

    def sparse_inside(self) -> "Layout":
        """The same with a sparse innermost level."""
        if not self.kinds or self.kinds[-1] is not Dense:
            return self
        sparse = next((kind for kind in self.kinds if kind is not Dense), SparseList)
        return Layout((*self.kinds[:-1], sparse), self.axes)

    def tensor(
        self, at: Sequence[Index], val: Buffer, shape: Sequence[int], fill: Scalar, *, operand: FiberTensor
    ) -> FiberTensor:
        """The tensor with these entries, in any order, in the narrowest index arrays that hold them.

        `val` is fresh, or the operand's own: that is shared if nobody can change it.
        """
        width = index_width(shape, len(val))
        levels: list[Level] = []
        for kind, run in groupby(self.kinds):
            count = len(list(run))
            if kind is Dense:
                levels += [Dense()] * count
            elif kind is SparseList:
                levels += [SparseList(width, width)] * count
            else:
                levels += coo_levels(count, width, width)
        if val is not operand.val:
            val.setflags(write=False)
        return from_coordinates(at, val, shape, levels, self.axes, fill=fill)


def _kind(level: Level) -> LevelKind:
    """Lists of coordinates over several levels stay such; any other level that is not dense becomes a SparseList."""
    return Dense if level.stores_all else SparseCOO if isinstance(level, SparseCOO) else SparseList


def same_layout(found: TensorType, sources: Sequence[int | None]) -> Layout:
    """The layout of an array whose axis a comes from the operand's axis `sources[a]`, several perhaps from one.

    A new axis (None) is stored just outside the axis that follows it, innermost if none does.  If a sparse level of the
    operand is left out, the innermost level is sparse.
    """
    kinds = [_kind(level) for level in found.levels]
    new = Dense if Dense in kinds or not kinds else kinds[0]
    waiting: list[int] = []
    outside: dict[int, list[int]] = {}
    for axis, source in enumerate(sources):
        if source is None:
            waiting.append(axis)
        else:
            outside[axis], waiting = waiting, []
    placed: list[tuple[LevelKind, int]] = []
    for kind, stored in zip(kinds, found.perm, strict=True):
        for axis in [axis for axis, source in enumerate(sources) if source == stored]:
            placed += [(new, fresh) for fresh in outside[axis]]
            placed.append((kind, axis))
    placed += [(new, axis) for axis in waiting]
    layout = Layout(tuple([kind for kind, _ in placed]), tuple([axis for _, axis in placed]))
    lost = any(kind is not Dense and axis not in sources for kind, axis in zip(kinds, found.perm, strict=True))
    return layout.sparse_inside() if lost else layout


def fresh_layout(found: TensorType, shape: Sequence[int], stored: int) -> Layout:
    """A sparse layout for an array of another shape: no Dense level but the outermost, and that one not much longer
    than there are entries; storage order as the operand's if it has as many axes.
    """
    rank = len(shape)
    kinds = [_kind(level) for level in found.levels]
    axes = found.perm if len(found.perm) == rank else tuple(range(rank))
    sparse = next((kind for kind in kinds if kind is not Dense), SparseList)
    pointers = kinds[0] is Dense or kinds == [SparseList]
    rows = rank > 1 and pointers and shape[axes[0]] <= max(_ROWS, 4 * stored)
    return Layout((Dense,) * rows + (sparse,) * (rank - rows), axes)
