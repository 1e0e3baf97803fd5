"""How much memory a run takes, estimated from the operands before anything runs.

The estimate follows the runtime's own rules (`finchsched.backend.output`): the same bounds, the same first guess for
a result that grows.  Untouched pages cost nothing, so what is really used is often less.
"""

from dataclasses import dataclass
from typing import Any, cast

from finchsched.ast.loop import Tensor
from finchsched.backend.compiled_phase import CompiledPhase
from finchsched.backend.executable import Executable
from finchsched.backend.output import Run, room_at_first
from finchsched.formats.buffers import level_roles
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.levels import SparseCOO, SparseList

__all__ = ["MemoryEstimate", "Room", "estimate_memory"]


@dataclass(frozen=True, slots=True)
class Room:
    """Bytes that a phase allocates for its target, and for workspaces and offsets while its kernel runs.

    grows: the kernel may ask for more room for its target.
    """

    target: str
    nbytes: int
    scratch: int
    grows: bool


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Bytes of the operands, of each phase, and of all that is held at the same time."""

    operands: int
    rooms: tuple[Room, ...]
    peak: int


@dataclass(frozen=True, slots=True)
class _Sketch:
    """A tensor without buffers: its extents, how many positions each level has, and bytes of its own."""

    shape: tuple[int, ...]
    counts: tuple[int, ...]
    nbytes: int

    @property
    def val(self) -> range:
        """As long as the values."""
        return range(self.counts[-1])

    def positions(self, level: int) -> int:
        """As `FiberTensor.positions`."""
        return self.counts[level]


def estimate_memory(executable: Executable, tensors: dict[str, FiberTensor]) -> MemoryEstimate:
    """What a run on these operands allocates."""
    held = {name: _sketch(tensor) for name, tensor in tensors.items()}
    operands = sum(tensor.nbytes for tensor in {id(t): t for t in tensors.values()}.values())
    live = peak = operands
    rooms: list[Room] = []
    for phase, done in zip(executable.phases, executable.last_use, strict=True):
        made, scratch = _target(phase, held)
        live += made.nbytes
        peak = max(peak, live + scratch)
        rooms.append(Room(phase.target.name, made.nbytes, scratch, phase.lowered.guessed))
        held[phase.target.name] = made
        live -= sum(held.pop(name).nbytes for name in done)
    return MemoryEstimate(operands, tuple(rooms), peak)


def _sketch(tensor: FiberTensor) -> _Sketch:
    counts = tuple(tensor.positions(level) for level in range(tensor.ndim + 1))
    return _Sketch(tensor.shape, counts, tensor.nbytes)


def _target(phase: CompiledPhase, held: dict[str, _Sketch]) -> tuple[_Sketch, int]:
    """The target of a phase, and the bytes that are freed when its kernel is done."""
    sizes = {name: held[t].shape[axis] if t else axis for name, (t, axis) in phase.extents.items()}
    shape = tuple(sizes[name] for name in phase.axes)
    item = phase.target.type.dtype.itemsize
    assembly = phase.lowered.nest.assembly
    if assembly == "shared":
        counts = held[phase.source_name].counts
        return _Sketch(shape, counts, counts[-1] * item), 0
    run = Run(cast("Any", held), {}, sizes)  # sketches answer all that a bound asks
    counts_found = [1]
    nbytes = 0
    for number, level in enumerate(phase.target.type.levels):
        parents = counts_found[-1]
        if not isinstance(level, SparseList | SparseCOO):
            counts_found.append(parents * sizes[phase.storage[number]])
            continue
        room = len(held[phase.source_name].val) if assembly == "scatter" else room_at_first(phase.facts, number, run)
        if isinstance(level, SparseList) or level.is_first:
            nbytes += (parents + 1) * level.pos.itemsize
        nbytes += room * level.crd.itemsize
        counts_found.append(room)
    nbytes += counts_found[-1] * item
    scratch = sum(sizes[phase.storage[-1]] * _row_bytes(tensor) for tensor in phase.workspaces)
    if assembly == "scatter":
        scratch += 16 * sizes[phase.storage[0]] * (len(phase.storage) - 2)  # offsets and last prefixes, 8 bytes each
    return _Sketch(shape, tuple(counts_found), nbytes), scratch


def _row_bytes(workspace: Tensor) -> int:
    """Bytes of one coordinate of a workspace."""
    type_ = workspace.type
    return type_.dtype.itemsize + sum(dtype.itemsize for _, dtype in level_roles(type_.levels[0]))
