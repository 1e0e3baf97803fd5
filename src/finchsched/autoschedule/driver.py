"""From a Logic plan to an executable: normal form, fusion, formats and loop orders, loops, kernels."""

from dataclasses import dataclass

from finchsched.algebra.dtypes import Scalar
from finchsched.ast.facts import fill
from finchsched.ast.logic import Plan, Query
from finchsched.ast.loop import LoopProgram
from finchsched.ast.node import Node
from finchsched.ast.scalar import Value
from finchsched.ast.print_loop import print_loop
from finchsched.autoschedule.fuse_producers import fuse_producers
from finchsched.autoschedule.schedule_plan import schedule_plan
from finchsched.backend.executable import Executable, compile_program
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.passes.logic.normal_form import normalize
from finchsched.passes.logic.pretty_labels import pretty_labels
from finchsched.passes.loop.lower_to_loops import lower_to_loops
from finchsched.rewrite import RuleContext
from finchsched.settings import Settings

__all__ = ["CompiledPlan", "compile_logic"]


@dataclass(frozen=True, slots=True)
class CompiledPlan:
    """An executable with the way it was made: (pass, program after it) from Logic to loops, and the names it renamed."""

    logic: Plan
    stages: tuple[tuple[str, Node], ...]
    executable: Executable
    names: dict[str, str]

    @property
    def loops(self) -> LoopProgram:
        """The Loop IR."""
        return self.executable.loops

    @property
    def kernel_source(self) -> str:
        """The text of all kernels, with plan and loops in each head comment."""
        return self.executable.kernel_source

    @property
    def kernel_files(self) -> list[str]:
        """Where the kernels' sources are stored."""
        return self.executable.kernel_files

    def run(self, tensors: dict[str, FiberTensor], values: dict[str, Scalar]) -> list[FiberTensor]:
        """Run on operands and scalars under the user's names."""
        return self.executable.run(*self._renamed(tensors, values))

    def run_timed(self, tensors: dict[str, FiberTensor], values: dict[str, Scalar]) -> tuple[list[FiberTensor], float]:
        """As `run`, with the seconds spent in phases."""
        return self.executable.run_timed(*self._renamed(tensors, values))

    def _renamed(
        self, tensors: dict[str, FiberTensor], values: dict[str, Scalar]
    ) -> tuple[dict[str, FiberTensor], dict[str, Scalar]]:
        held = {new: tensors[old] for new, old in self.names.items() if old in tensors}
        return held, {new: values[old] for new, old in self.names.items() if old in values}


def compile_logic(plan: Plan, settings: Settings, *, wide: bool = False) -> CompiledPlan:
    """Compile a plan.  `wide`: index arrays of results hold 64-bit integers.

    Raises LoweringError where no kernel can be made.
    """
    ctx = RuleContext()
    normal, stages, names = normalize(plan, ctx)
    trail: list[tuple[str, Node]] = list(stages)
    fused = fuse_producers(normal, ctx, wide=wide)
    if fused != normal:
        fused = pretty_labels(fused, ctx)
        trail.append(("fuse_producers", fused))
    scheduled = schedule_plan(fused, wide=wide)
    trail.append(("schedule_plan", scheduled))
    program = lower_to_loops(scheduled)
    trail.append(("lower_to_loops", program))
    fills = {query.alias.name: _fill_expression(query) for query in scheduled.bodies}
    heads = _heads(scheduled, program, names)
    executable = compile_program(program, fills, settings, heads)
    return CompiledPlan(scheduled, tuple(trail), executable, names)


def _fill_expression(query: Query) -> Node:
    """A result's fill in terms of scalars and extents known when its query has run."""
    known = query.alias.type.fill
    deferred = isinstance(known, Value) and known.name == f"{query.alias.name}_fill"
    return fill(query.rhs) if deferred else known


def _heads(plan: Plan, program: LoopProgram, names: dict[str, str]) -> dict[str, str]:
    """The head comment of each kernel: what the canonical names stand for, and the loops it came from."""
    heads: dict[str, str] = {}
    for query, nest in zip(plan.bodies, program.nests, strict=True):
        legend = ", ".join(f"{new} = {old}" for new, old in names.items())
        one = LoopProgram((), (nest,), ())
        heads[query.alias.name] = "\n".join(filter(None, [legend, print_loop(one).strip()]))
    return heads
