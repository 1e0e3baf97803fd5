"""Compiled programs as data: what another process needs to run one without the compiler.

A stored program names its kernels by their keys in the cache; their machine code is stored beside it
(`finchsched.backend.cache`).  It can be run, and nothing else: whoever wants to see IR or source compiles again.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from finchsched.algebra.dtypes import Scalar
from finchsched.ast.scalar import Literal
from finchsched.backend.cache import KernelCache
from finchsched.backend.nest_facts import NestFacts, NestHead, Target
from finchsched.backend.phase import Phase
from finchsched.backend.stored_kernel import Call, restore_kernel
from finchsched.formats.fiber_tensor import FiberTensor, tensor_type

__all__ = ["RestoredProgram", "StoredPhase", "StoredProgram", "restore_program"]


@dataclass(frozen=True, slots=True)
class StoredPhase:
    """A phase and its kernel's name, key and kinds of arguments."""

    facts: NestFacts
    kernel: str
    key: str
    kinds: bytes


@dataclass(frozen=True, slots=True)
class StoredProgram:
    """Phases in order, and the names of the results.

    last_use: the temporaries that are no longer needed after each phase.  names: (name in the phases, name outside) of
    each operand and run-time scalar.
    """

    phases: tuple[StoredPhase, ...]
    results: tuple[str, ...]
    last_use: tuple[tuple[str, ...], ...]
    names: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Linked:
    call: Call


@dataclass(frozen=True, slots=True)
class RestoredProgram:
    """A stored program with its kernels loaded.  Stateless: it may run in several threads at once."""

    stored: StoredProgram
    phases: tuple[Phase, ...]

    def run(self, tensors: Mapping[str, FiberTensor], values: Mapping[str, Scalar]) -> list[FiberTensor]:
        """The results for operands and scalars by their names outside.

        Raises DensifyError, KernelError, and NeedsWideIndices where the program has to be compiled for larger results.
        """
        held = {new: tensors[old] for new, old in self.stored.names if old in tensors}
        scalars = {new: values[old] for new, old in self.stored.names if old in values}
        for phase, done in zip(self.phases, self.stored.last_use, strict=True):
            phase.run(held, scalars)
            for name in done:
                del held[name]
        return [held[name] for name in self.stored.results]

    def run_timed(
        self, tensors: Mapping[str, FiberTensor], values: Mapping[str, Scalar]
    ) -> tuple[list[FiberTensor], float]:
        """As `run`, with the seconds spent."""
        start = time.perf_counter()
        results = self.run(tensors, values)
        return results, time.perf_counter() - start


def restore_program(stored: StoredProgram, store: KernelCache) -> RestoredProgram | None:
    """The program with its kernels; None if some kernel is not in the cache, or cannot be loaded."""
    phases = []
    for phase in stored.phases:
        call = restore_kernel(store, phase.kernel, phase.key, phase.kinds)
        if call is None:
            return None
        phases.append(Phase(_with_shared_type(phase.facts), _Linked(call)))
    return RestoredProgram(stored, tuple(phases))


def _with_shared_type(facts: NestFacts) -> NestFacts:
    """The facts with the one object that stands for the target's type in this process: comparing it costs nothing."""
    target = facts.nest.target
    made = target.type
    if not isinstance(made.fill, Literal):
        return facts
    shared = tensor_type(made.levels, made.perm, made.dtype, made.fill.value)
    return replace(facts, nest=NestHead(Target(target.name, shared), facts.nest.assembly))
