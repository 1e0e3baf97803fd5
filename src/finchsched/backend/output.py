"""Buffers of a nest's target: how much room they get, how they grow, and what is left of them when the kernel is done.

One class per way of assembly (`finchsched.ast.loop.ASSEMBLIES`).  Untouched pages of a buffer cost no memory, so an
upper bound is allocated at once and cut to size afterwards.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finchsched.algebra.dtypes import INT32, Scalar
from finchsched.algebra.operators import operator
from finchsched.backend.allocate import empty, filled, zeros
from finchsched.backend.nest_facts import NestFacts
from finchsched.backend.scalars import evaluate
from finchsched.errors import DensifyError, KernelError, NeedsWideIndices
from finchsched.formats.coordinates import reduce_repeated, sort_order
from finchsched.formats.fiber_tensor import FiberTensor, shared_type
from finchsched.formats.levels import SparseCOO, SparseList
from finchsched.formats.levels.sparse_coo import counted_at
from finchsched.passes.lower.signature import Bound, Entries, Extent, Least, Product, Total
from finchsched.settings import current

__all__ = ["Array", "NeedsWideIndices", "Output", "OutputPlan", "Run", "evaluate_bound", "output_plan", "room_at_first"]

Array = NDArray[Any]
Make = Callable[[int, np.dtype[Any]], Array]

_ROOM = 4
"""First guess at the room of a result of unknown size: this many times the entries of the operands."""

_ROW = 1 << 20
"""A whole row more than that, so that it is not asked for in the middle of one, unless rows are very long."""

_OFFSETS = np.dtype(np.uint64)


@dataclass(frozen=True, slots=True)
class Run:
    """What one run knows: operands and earlier results by name, scalars, and the extents of the nest's indices."""

    tensors: Mapping[str, FiberTensor]
    values: Mapping[str, Scalar]
    sizes: Mapping[str, int]


@dataclass(slots=True)
class Output:
    """Buffers of the target while its kernel runs; `extra` has the offsets of a counting sort."""

    pos: list[Array | None]
    crd: list[Array | None]
    val: Array
    rooms: list[int] = field(default_factory=list)
    extra: dict[str, Array] = field(default_factory=dict)


class OutputPlan(ABC):
    """How to make the target of one nest."""

    def __init__(self, facts: NestFacts) -> None:
        self.facts, self.axes, self.storage, self.source = facts, facts.axes, facts.storage, facts.source
        self.type = shared_type(facts.type)
        self.dtype = self.type.dtype.numpy
        self.none: list[Array | None] = [None] * len(self.axes)

    @abstractmethod
    def allocate(self, run: Run) -> Output:
        """Buffers for a run."""

    def grow(self, output: Output, status: Array, run: Run) -> None:
        """Make room where the kernel ran out of it."""
        raise KernelError(f"{self.facts.name} cannot grow")

    def trim(self, output: Output, status: Array, run: Run) -> None:  # noqa: B027  # dense and shared targets fit as they are
        """Cut the buffers to what was written."""

    def finish(self, output: Output, status: Array, run: Run, fill: Scalar) -> FiberTensor:
        """The target; its new buffers are read-only."""
        self.trim(output, status, run)
        for array in (*output.pos, *output.crd, output.val):
            if array is not None:
                array.setflags(write=False)
        shape = tuple([run.sizes[name] for name in self.axes])
        return FiberTensor(self.type, shape, fill, tuple(output.pos), tuple(output.crd), output.val)


class _Dense(OutputPlan):
    def allocate(self, run: Run) -> Output:
        count = math.prod(run.sizes[name] for name in self.storage)
        if count > current().densify:
            self._refuse_unless_dense(count, run)
        if self.facts.covered:
            return Output(self.none, self.none, empty(count, self.dtype))
        initial = evaluate(self.facts.initial, run.values, run.sizes)
        return Output(self.none, self.none, filled(count, self.dtype, initial))

    def _refuse_unless_dense(self, count: int, run: Run) -> None:
        """Raise DensifyError unless some operand is as large already."""
        if count <= max((len(t.val) for t in run.tensors.values()), default=0):
            return
        extents = " x ".join(str(run.sizes[name]) for name in self.axes)
        raise DensifyError(
            f"a result of shape {extents} would be dense: {count} elements, over the limit of {current().densify}\n"
            "hint: raise the limit with fs.config(densify=...), or ask for a sparse format"
        )


class _Shared(OutputPlan):
    def allocate(self, run: Run) -> Output:
        model = run.tensors[self.source]
        # Views, since the target's buffers become read-only and an operand's may be the user's.
        pos, crd = ([None if b is None else b.view() for b in buffers] for buffers in (model.pos, model.crd))
        return Output(pos, crd, empty(len(model.val), self.dtype))


class _Append(OutputPlan):
    def allocate(self, run: Run) -> Output:
        rooms = [room_at_first(self.facts, number, run) for number in range(len(self.storage))]
        for level, room in zip(self.type.levels, rooms, strict=True):
            if room > _most(level):  # a kernel that cannot grow does not check its room: nothing less is safe
                raise NeedsWideIndices(f"up to {room} entries")
        output = Output(list(self.none), list(self.none), empty(0, self.dtype), rooms)
        self._make_room(output, run)
        return output

    def _check_pointers(self, parents: int, run: Run) -> None:
        """Raise DensifyError for more pointers than the limit, and than operands have pointers or entries."""
        limit = current().densify
        held = [len(b) for t in run.tensors.values() for b in (*t.pos, t.val) if b is not None]
        if parents > max([limit, *held]):
            extents = " x ".join(str(run.sizes[name]) for name in self.axes)
            raise DensifyError(
                f"a result of shape {extents} would need {parents} pointers, over the limit of {limit}\n"
                "hint: ask for a format without a Dense level outside, such as coo or csf, or raise the limit with "
                "fs.config(densify=...)"
            )

    def _make_room(self, output: Output, run: Run) -> None:
        """Bring every buffer to the size that `output.rooms` asks for, keeping what it holds."""
        parents = 1
        for number, level in enumerate(self.type.levels):
            if not isinstance(level, SparseList | SparseCOO):
                parents *= run.sizes[self.storage[number]]
                continue
            if isinstance(level, SparseList) or level.is_first:
                if number and self.type.levels[number - 1].stores_all:
                    self._check_pointers(parents, run)
                output.pos[number] = _enlarged(output.pos[number], parents + 1, level.pos.numpy, zeros)
            output.crd[number] = _enlarged(output.crd[number], output.rooms[number], level.crd.numpy, empty)
            # A dense block below is cleared before it is known whether it stays: one more than there is room for.
            parents = output.rooms[number] + 1
        leaf = not self.type.levels[-1].stores_all
        output.val = _enlarged(output.val, output.rooms[-1] if leaf else parents, self.dtype, empty)

    def grow(self, output: Output, status: Array, run: Run) -> None:
        rank = len(self.storage)
        for number, level in enumerate(self.type.levels):
            need = int(status[2 + rank + counted_at(self.type.levels, number)])
            if not level.stores_all and need > output.rooms[number]:
                if need > _most(level):
                    raise NeedsWideIndices(f"{need} entries")
                output.rooms[number] = min(max(need, 2 * output.rooms[number]), _most(level))
        self._make_room(output, run)

    def trim(self, output: Output, status: Array, run: Run) -> None:
        parents = 1
        for number, name in enumerate(self.storage):
            pos, crd = output.pos[number], output.crd[number]
            if crd is None:
                parents *= run.sizes[name]
                continue
            used = int(status[2 + counted_at(self.type.levels, number)])
            output.crd[number] = crd[:used]
            if pos is not None:
                output.pos[number] = self._ends(pos[: parents + 1], number, used)
            parents = used
        output.val = output.val[:parents]

    def _ends(self, pos: Array, number: int, used: int) -> Array:
        """`pos` of a level with what the kernel leaves to be done."""
        if number == 0:
            pos[1] = used
        elif self.facts.gaps:
            np.maximum.accumulate(pos, out=pos)
        return pos


class _Sort(_Append):
    def trim(self, output: Output, status: Array, run: Run) -> None:
        super().trim(output, status, run)
        listed = [crd for crd in output.crd if crd is not None]
        order = sort_order([crd.astype(np.int64) for crd in listed], [run.sizes[name] for name in self.storage])
        if order is not None:
            listed, output.val = [crd[order] for crd in listed], output.val[order]
        if self.facts.reduction:
            listed, output.val = reduce_repeated(listed, output.val, operator(self.facts.reduction))
            output.pos[0] = np.array([0, len(output.val)], output.pos[0].dtype)  # type: ignore[union-attr]
        output.crd = list(listed)


class _Scatter(OutputPlan):
    def allocate(self, run: Run) -> Output:
        stored, leading = len(run.tensors[self.source].val), run.sizes[self.storage[0]]
        if leading > max(current().densify, stored):
            raise DensifyError(
                f"a transposed copy would need {leading} offsets for {stored} entries, over the limit of "
                f"{current().densify}\nhint: store {self.source} in the order in which it is read, or raise the limit "
                "with fs.config(densify=...)"
            )
        if stored > _most(self.type.levels[1]):
            raise NeedsWideIndices(f"{stored} entries")
        output = Output([None], [None], empty(stored, self.dtype))
        for number, level in enumerate(self.type.levels[1:], start=1):
            assert isinstance(level, SparseList)
            output.pos.append(zeros(leading + 2 if number == 1 else stored + 1, level.pos.numpy))
            output.crd.append(empty(stored, level.crd.numpy))
            if number > 1:
                output.extra[f"off{number}"] = zeros(leading + 2, _OFFSETS)
            if number < len(self.storage) - 1:
                output.extra[f"last{number}"] = zeros(leading, _OFFSETS)
        return output

    def trim(self, output: Output, status: Array, run: Run) -> None:
        leading = run.sizes[self.storage[0]]
        first = output.pos[1]
        assert first is not None
        output.pos[1] = first[: leading + 1]
        nodes = int(first[leading])
        for number in range(2, len(self.storage)):
            pos, crd = output.pos[number], output.crd[number - 1]
            assert pos is not None and crd is not None
            total = int(output.extra[f"off{number}"][leading])
            pos[nodes] = total
            output.pos[number], output.crd[number - 1] = pos[: nodes + 1], crd[:nodes]
            nodes = total


_KINDS: dict[str, type[OutputPlan]] = {
    "dense": _Dense,
    "shared": _Shared,
    "append": _Append,
    "scatter": _Scatter,
    "sort": _Sort,
}


def output_plan(facts: NestFacts) -> OutputPlan:
    """How to make the target of a nest."""
    return _KINDS[facts.assembly](facts)


def _enlarged(array: Array | None, count: int, dtype: np.dtype[Any], make: Make) -> Array:
    """An array of at least `count` elements that begins with those of `array`."""
    if array is not None and len(array) >= count:
        return array
    larger = make(count, dtype)
    if array is not None:
        larger[: len(array)] = array
    return larger


def room_at_first(facts: NestFacts, number: int, run: Run) -> int:
    """Coordinates that level `number` of an appended target gets room for before its kernel runs."""
    number = counted_at(facts.type.levels, number)
    bound = facts.rooms[number]
    if bound is None:
        return 0
    room = evaluate_bound(bound, run)
    if facts.guessed and number > 0:
        operands = sum(len(t.val) for t in run.tensors.values())
        room = min(room, _ROOM * operands + min(run.sizes[facts.storage[number]], _ROW) + 1)
    return min(room, _most(facts.type.levels[number])) if facts.resumable else room


def _most(level: object) -> int:
    """The most entries that a level's positions can count."""
    return (1 << 31) - 1 if isinstance(level, SparseList | SparseCOO) and level.pos == INT32 else (1 << 63) - 1


def evaluate_bound(bound: Bound, run: Run) -> int:
    """A bound as a number; Python integers, so nothing overflows."""
    match bound:
        case Extent(index):
            return run.sizes[index]
        case Entries(tensor, level):
            return run.tensors[tensor].positions(level + 1)
        case Total(parts):
            return sum(evaluate_bound(p, run) for p in parts)
        case Least(parts):
            return min(evaluate_bound(p, run) for p in parts)
        case Product(parts):
            return math.prod(evaluate_bound(part, run) for part in parts)
