"""Executables: the phases of a compiled plan, stateless and shareable across threads."""

import time
from dataclasses import dataclass

from finchsched.algebra.dtypes import Scalar
from finchsched.ast.loop import Access, Index, LoopProgram, Nest
from finchsched.ast.node import Node, walk
from finchsched.backend.compiled_phase import CompiledPhase
from finchsched.backend.load import load_kernel
from finchsched.backend.stored_program import StoredProgram
from finchsched.errors import LoweringError
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.passes.lower.lower_nest import lower_nest
from finchsched.passes.lower.pattern import workspaces
from finchsched.settings import Settings

__all__ = ["Executable", "compile_program"]


@dataclass(frozen=True, slots=True)
class Executable:
    """A compiled program: phases in order, and the names of its results.

    `last_use` tells after which phase a temporary is no longer needed.
    """

    loops: LoopProgram
    phases: tuple[CompiledPhase, ...]
    results: tuple[str, ...]
    last_use: tuple[tuple[str, ...], ...]

    def run(self, tensors: dict[str, FiberTensor], values: dict[str, Scalar]) -> list[FiberTensor]:
        """The results for these operands and scalars.  Raises DensifyError, KernelError."""
        held, scalars = dict(tensors), dict(values)
        for phase, done in zip(self.phases, self.last_use, strict=True):
            phase.run(held, scalars)
            for name in done:
                del held[name]
        return [held[name] for name in self.results]

    def run_timed(self, tensors: dict[str, FiberTensor], values: dict[str, Scalar]) -> tuple[list[FiberTensor], float]:
        """As `run`, with the seconds spent in phases: allocation and kernels, but no planning or dispatch."""
        start = time.perf_counter()
        results = self.run(tensors, values)
        return results, time.perf_counter() - start

    def stored(self, names: tuple[tuple[str, str], ...]) -> StoredProgram | None:
        """The program as data, for operands and scalars by other names: (name here, name there).

        None if its kernels are not kept on disk.
        """
        if not all(phase.kernel.path for phase in self.phases):
            return None
        phases = tuple(phase.stored() for phase in self.phases)
        return StoredProgram(phases, self.results, self.last_use, names)

    @property
    def kernel_source(self) -> str:
        """The text of all kernels."""
        return "\n\n".join(phase.kernel.source.text.rstrip() + "\n" for phase in self.phases)

    @property
    def kernel_files(self) -> list[str]:
        """Where the sources are stored."""
        return [str(phase.kernel.path) for phase in self.phases if phase.kernel.path]


def compile_program(
    program: LoopProgram,
    fills: dict[str, Node],
    extents: dict[str, tuple[str, int]],
    settings: Settings,
    heads: dict[str, str],
) -> Executable:
    """Lower every nest and load its kernel.

    fills: each target's fill as a scalar expression.  extents: where an index that no operand has gets its extent: a
    tensor and axis, or ("", n) for the constant n.  heads: the comment that goes before each target's kernel.
    """
    phases: list[CompiledPhase] = []
    for nest in program.nests:
        lowered = lower_nest(nest, f"make_{nest.target.name}", reassociate=settings.reassociate)
        kernel = load_kernel(lowered.kernel, heads.get(nest.target.name, ""), settings.backend)  # type: ignore[arg-type]  # checked by Settings
        name = nest.target.name
        phases.append(CompiledPhase(lowered, kernel, _extent_sources(nest, extents), fills[name]))
    results = tuple(tensor.name for tensor in program.results)
    return Executable(program, tuple(phases), results, _last_uses(program, results))


def _extent_sources(nest: Nest, extents: dict[str, tuple[str, int]]) -> dict[str, tuple[str, int]]:
    """For each index, an operand and axis that has its extent, or what `extents` says."""
    found: dict[str, tuple[str, int]] = {}
    made = {nest.target.name, *(tensor.name for tensor in workspaces(nest))}
    for node in walk(nest.body):
        if isinstance(node, Access) and node.tensor.name not in made:
            for axis, index in enumerate(node.index):
                if isinstance(index, Index):
                    found.setdefault(index.name, (node.tensor.name, axis))
    for node in walk(nest.body):
        if isinstance(node, Index) and node.name not in found:
            if node.name not in extents:
                raise LoweringError(f"index {node.name} has no extent: no operand has it")
            found[node.name] = extents[node.name]
    return found


def _last_uses(program: LoopProgram, results: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """For each nest, the temporaries that nothing after it reads."""
    made = [nest.target.name for nest in program.nests]
    last = {name: n for n, name in enumerate(made)}
    for number, nest in enumerate(program.nests):
        for node in walk(nest.body):
            if isinstance(node, Access) and node.tensor.name in last:
                last[node.tensor.name] = number
    return tuple(
        tuple(name for name in made if last[name] == n and name not in results) for n in range(len(program.nests))
    )
