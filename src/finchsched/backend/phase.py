"""One phase of an executable: allocate the target of a nest, call its kernel, trim what it made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finchsched.algebra.dtypes import INT32, Scalar
from finchsched.ast.loop import Access, Declare, Index, Tensor
from finchsched.ast.node import Node, walk
from finchsched.backend.allocate import empty, filled, zeros
from finchsched.backend.load import LoadedKernel
from finchsched.backend.scalars import evaluate
from finchsched.errors import DensifyError, KernelError
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.levels import SparseList
from finchsched.passes.lower.pattern import pattern_source, target_assign
from finchsched.passes.lower.signature import Bound, BufferParam, Entries, Extent, Least, LoweredNest, Product, Total
from finchsched.settings import current

__all__ = ["NeedsWideIndices", "Phase"]

Array = NDArray[Any]
Tensors = dict[str, FiberTensor]
Make = Callable[[int, np.dtype[Any]], Array]

_GROW = 1
_UNSIGNED: dict[str, np.dtype[Any]] = {"int32": np.dtype(np.uint32), "int64": np.dtype(np.uint64)}
_ROOM = 4
"""First guess at the room of a result of unknown size: this many times the entries of the operands."""


class NeedsWideIndices(KernelError):
    """The result has more entries than 32-bit positions can count; the plan must be made again with wide indices."""


@dataclass(slots=True)
class _Output:
    """Buffers of the target while its kernel runs."""

    pos: list[Array | None]
    crd: list[Array | None]
    val: Array
    rooms: list[int]
    extra: dict[str, Array] = field(default_factory=dict)


@dataclass(slots=True)
class Phase:
    """A lowered nest with its kernel, ready to run.

    extents: for each index of the nest, the tensor and axis that has its extent, or ("", n) for the constant n.  fill_expr: the target's fill where
    the type holds only its class.
    """

    lowered: LoweredNest
    kernel: LoadedKernel
    extents: dict[str, tuple[str, int]]
    fill_expr: Node
    label: str
    model: str | None = None
    storage: tuple[str, ...] = ()
    axes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Work out what does not change from run to run."""
        assign = target_assign(self.lowered.nest)
        assert isinstance(assign.target, Access)
        self.axes = tuple(i.name for i in assign.target.index if isinstance(i, Index))
        self.storage = tuple(self.axes[axis] for axis in self.target.type.perm)
        if self.lowered.nest.assembly == "shared":
            source = pattern_source(self.lowered.nest.body, self.target)
            self.model = source.tensor.name if source else None

    @property
    def has_workspace(self) -> bool:
        """Whether the kernel collects rows in a workspace."""
        return any(isinstance(n, Declare) for n in walk(self.lowered.nest.body))

    @property
    def source_name(self) -> str:
        """The first operand of the assignment that writes the target."""
        rhs = target_assign(self.lowered.nest).rhs
        return next(n.tensor.name for n in walk(rhs) if isinstance(n, Access))

    @property
    def target(self) -> Tensor:
        """The tensor that this phase makes."""
        return self.lowered.nest.target

    def run(self, tensors: Tensors, values: dict[str, Scalar]) -> None:
        """Compute the target and add it to `tensors`; its fill is added to `values` under `<name>_fill`."""
        sizes = {name: tensors[t].shape[axis] if t else axis for name, (t, axis) in self.extents.items()}
        fill_value = evaluate(self.fill_expr, values, sizes)
        values[f"{self.target.name}_fill"] = fill_value
        output = self._allocate(tensors, values, sizes)
        status = np.zeros(2 + 2 * len(self.storage), np.int64)
        rows = sizes[self.lowered.outer] if self.lowered.outer else 1
        start = 0
        while True:
            arguments = self._arguments(tensors, values, sizes, output)
            self.kernel.call(start, rows, status, *arguments)
            if status[0] != _GROW:
                break
            start = int(status[1])
            self._grow(output, status, sizes)
            status[0] = 0
        shape = tuple(sizes[name] for name in self.axes)
        tensors[self.target.name] = self._finish(output, status, tensors, shape, fill_value)

    # -- arguments --------------------------------------------------------------------------------------------------

    def _arguments(
        self, tensors: Tensors, values: Mapping[str, Scalar], sizes: Mapping[str, int], output: _Output
    ) -> list[Any]:
        out: list[Any] = []
        for param in self.lowered.scalars:
            match param.kind:
                case "extent":
                    out.append(sizes[param.name])
                case "stored":
                    out.append(len(tensors[param.name].val))
                case "capacity":
                    out.append(output.rooms[param.level])
                case _:
                    out.append(values[param.name])
        scalars = [v.dtype.numpy.type(a) for v, a in zip(self.lowered.kernel.scalars, out, strict=True)]
        return scalars + [self._buffer(p, tensors, sizes, output) for p in self.lowered.buffers]

    def _buffer(self, param: BufferParam, tensors: Tensors, sizes: Mapping[str, int], output: _Output) -> Array:
        if param.tensor == self.target.name:
            if param.role == "val":
                return output.val
            if param.role in ("off", "last"):
                return output.extra[f"{param.role}{param.level}"]
            found = (output.pos if param.role == "pos" else output.crd)[param.level]
            assert found is not None
            return found.view(_UNSIGNED[found.dtype.name])
        tensor = tensors.get(param.tensor)
        if tensor is None:
            return self._workspace(param, sizes)
        if param.role == "val":
            return tensor.val
        found = (tensor.pos if param.role == "pos" else tensor.crd)[param.level]
        assert found is not None
        return found.view(_UNSIGNED[found.dtype.name])

    def _workspace(self, param: BufferParam, sizes: Mapping[str, int]) -> Array:
        buffer = next(b for b, p in zip(self.lowered.kernel.buffers, self.lowered.buffers, strict=True) if p == param)
        count = sizes[self.storage[-1]]
        make = zeros if param.role == "tbl" else empty
        return make(count, buffer.dtype.numpy)

    # -- the target -------------------------------------------------------------------------------------------------

    def _allocate(self, tensors: Tensors, values: Mapping[str, Scalar], sizes: Mapping[str, int]) -> _Output:
        type_ = self.target.type
        dtype = type_.dtype.numpy
        match self.lowered.nest.assembly:
            case "dense":
                return self._allocate_dense(tensors, values, sizes)
            case "shared":
                assert self.model is not None
                model = tensors[self.model]
                return _Output(list(model.pos), list(model.crd), empty(len(model.val), dtype), [])
            case "append":
                return self._allocate_append(tensors, sizes)
            case _:
                return self._allocate_scatter(tensors, sizes)

    def _allocate_dense(self, tensors: Tensors, values: Mapping[str, Scalar], sizes: Mapping[str, int]) -> _Output:
        dtype = self.target.type.dtype.numpy
        count = 1
        for name in self.storage:
            count *= sizes[name]
        if count > current().densify and count > max((len(t.val) for t in tensors.values()), default=0):
            extents = " x ".join(str(sizes[name]) for name in self.axes)
            raise DensifyError(
                f"the result {extents} would be dense: {count} elements, more than the limit of {current().densify}\n"
                "hint: raise the limit with fs.config(densify=...), or ask for a sparse format"
            )
        none: list[Array | None] = [None] * len(self.storage)
        if self.lowered.covered:
            return _Output(none, none, empty(count, dtype), [])
        initial = evaluate(self.lowered.initial, values, sizes)
        return _Output(none, none, filled(count, dtype, initial), [])

    def _allocate_append(self, tensors: Tensors, sizes: Mapping[str, int]) -> _Output:
        operands = sum(len(t.val) for t in tensors.values())
        rooms: list[int] = []
        for number, level in enumerate(self.target.type.levels):
            bound = self.lowered.rooms[number]
            if bound is None:
                rooms.append(0)
                continue
            room = evaluate_bound(bound, tensors, sizes)
            if self.lowered.resumable and number > 0:
                room = min(room, _ROOM * operands + sizes[self.storage[number]] + 1)
            rooms.append(min(room, _most(level)))
        none: list[Array | None] = [None] * len(rooms)
        output = _Output(none, list(none), empty(0, self.target.type.dtype.numpy), rooms)
        self._make_room(output, sizes)
        return output

    def _make_room(self, output: _Output, sizes: Mapping[str, int]) -> None:
        """Bring every buffer to the size that `output.rooms` asks for, keeping what it holds."""
        parents = 1
        for number, level in enumerate(self.target.type.levels):
            if not isinstance(level, SparseList):
                parents *= sizes[self.storage[number]]
                continue
            output.pos[number] = _enlarged(output.pos[number], parents + 1, level.pos.numpy, zeros)
            output.crd[number] = _enlarged(output.crd[number], output.rooms[number], level.crd.numpy, empty)
            # A dense block below is cleared before it is known whether it stays: one more than there is room for.
            parents = output.rooms[number] + 1
        last_sparse = isinstance(self.target.type.levels[-1], SparseList)
        count = output.rooms[-1] if last_sparse else parents
        output.val = _enlarged(output.val, count, output.val.dtype, empty)

    def _allocate_scatter(self, tensors: Tensors, sizes: Mapping[str, int]) -> _Output:
        levels = self.target.type.levels
        source = tensors[self.source_name]
        stored, leading = len(source.val), sizes[self.storage[0]]
        if stored > _most(levels[1]):
            raise NeedsWideIndices(f"{stored} entries")
        pos: list[Array | None] = [None]
        crd: list[Array | None] = [None]
        extra: dict[str, Array] = {}
        for number, level in enumerate(levels[1:], start=1):
            assert isinstance(level, SparseList)
            pos.append(zeros(leading + 2 if number == 1 else stored + 1, level.pos.numpy))
            crd.append(empty(stored, level.crd.numpy))
            if number > 1:
                extra[f"off{number}"] = zeros(leading + 2, np.dtype(np.uint64))
            if number < len(levels) - 1:
                extra[f"last{number}"] = zeros(leading, np.dtype(np.uint64))
        return _Output(pos, crd, empty(stored, self.target.type.dtype.numpy), [], extra)

    def _grow(self, output: _Output, status: Array, sizes: Mapping[str, int]) -> None:
        """Make room where the kernel ran out of it."""
        rank = len(self.storage)
        for number, level in enumerate(self.target.type.levels):
            need = int(status[2 + rank + number])
            if isinstance(level, SparseList) and need > output.rooms[number]:
                if need > _most(level):
                    raise NeedsWideIndices(f"{need} entries")
                output.rooms[number] = min(max(need, 2 * output.rooms[number]), _most(level))
        self._make_room(output, sizes)

    def _finish(
        self, output: _Output, status: Array, tensors: Tensors, shape: tuple[int, ...], fill_value: Scalar
    ) -> FiberTensor:
        type_ = self.target.type
        match self.lowered.nest.assembly:
            case "append":
                self._trim(output, status, shape)
            case "scatter":
                self._trim_scatter(output, shape)
        return FiberTensor(type_, shape, fill_value, tuple(output.pos), tuple(output.crd), output.val)

    def _trim(self, output: _Output, status: Array, shape: tuple[int, ...]) -> None:
        parents = 1
        by_name = dict(zip(self.axes, shape, strict=True))
        for number, name in enumerate(self.storage):
            pos, crd = output.pos[number], output.crd[number]
            if pos is None or crd is None:
                parents *= by_name[name]
                continue
            used = int(status[2 + number])
            pos = pos[: parents + 1]
            if number == 0:
                pos[1] = used
            elif self.lowered.gaps:
                np.maximum.accumulate(pos, out=pos)
            output.pos[number], output.crd[number] = pos, crd[:used]
            parents = used
        output.val = output.val[:parents]

    def _trim_scatter(self, output: _Output, shape: tuple[int, ...]) -> None:
        leading = dict(zip(self.axes, shape, strict=True))[self.storage[0]]
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


def _enlarged(array: Array | None, count: int, dtype: np.dtype[Any], make: Make) -> Array:
    """An array of at least `count` elements that begins with those of `array`."""
    if array is not None and len(array) >= count:
        return array
    larger = make(count, dtype)
    if array is not None:
        larger[: len(array)] = array
    return larger


def _most(level: object) -> int:
    """The most entries that a level's positions can count."""
    return (1 << 31) - 1 if isinstance(level, SparseList) and level.pos == INT32 else (1 << 63) - 1


def evaluate_bound(bound: Bound, tensors: Tensors, sizes: Mapping[str, int]) -> int:
    """A bound as a number; Python integers, so nothing overflows."""
    match bound:
        case Extent(index):
            return sizes[index]
        case Entries(tensor, level):
            return tensors[tensor].positions(level + 1)
        case Total(parts):
            return sum(evaluate_bound(p, tensors, sizes) for p in parts)
        case Least(parts):
            return min(evaluate_bound(p, tensors, sizes) for p in parts)
        case Product(parts):
            result = 1
            for part in parts:
                result *= evaluate_bound(part, tensors, sizes)
            return result
