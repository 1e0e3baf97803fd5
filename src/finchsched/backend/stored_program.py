"""Compiled programs as data: what another process needs to run one without the compiler.

A stored program names its kernels by their keys in the cache; their machine code is stored beside it
(`finchsched.backend.cache`).  It can be run, and nothing else: whoever wants to see IR or source compiles again.
"""

import time
from collections.abc import Mapping
from typing import NamedTuple

from finchsched.algebra.dtypes import Scalar
from finchsched.backend.cache import KernelCache
from finchsched.backend.nest_facts import NestFacts
from finchsched.backend.phase import Phase
from finchsched.backend.stored_kernel import Call, restore_kernel
from finchsched.formats.fiber_tensor import FiberTensor

__all__ = ["RestoredProgram", "StoredPhase", "StoredProgram", "restore_program"]


class StoredPhase(NamedTuple):
    """A phase and its kernel's name, key and kinds of arguments."""

    facts: NestFacts
    kernel: str
    key: str
    kinds: bytes


class StoredProgram(NamedTuple):
    """Phases in order, and the names of the results.

    last_use: the temporaries that are no longer needed after each phase.  names: (name in the phases, name outside) of
    each operand and run-time scalar.
    """

    phases: tuple[StoredPhase, ...]
    results: tuple[str, ...]
    last_use: tuple[tuple[str, ...], ...]
    names: tuple[tuple[str, str], ...]


class _Linked(NamedTuple):
    call: Call


class RestoredProgram:
    """A stored program with its kernels loaded.  Stateless: it may run in several threads at once."""

    def __init__(self, stored: StoredProgram, phases: tuple[Phase, ...]) -> None:
        self.stored, self.phases = stored, phases

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
        phases.append(Phase(phase.facts, _Linked(call)))
    return RestoredProgram(stored, tuple(phases))
