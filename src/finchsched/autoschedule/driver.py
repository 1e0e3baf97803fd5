"""From a Logic plan to an executable: normal form, fusion, formats and loop orders, loops, kernels."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial

from finchsched.algebra.dtypes import Scalar
from finchsched.ast.facts import fill
from finchsched.ast.logic import Plan, Query
from finchsched.ast.loop import Access, LoopProgram
from finchsched.ast.names import Names
from finchsched.ast.node import Node, walk
from finchsched.ast.print_loop import print_loop
from finchsched.ast.scalar import Value
from finchsched.autoschedule.fuse_producers import fuse_producers
from finchsched.autoschedule.remarks import memory_remarks, remarks
from finchsched.autoschedule.schedule_plan import schedule_plan
from finchsched.backend.executable import Executable, compile_program
from finchsched.backend.output import NeedsWideIndices
from finchsched.backend.stored_program import StoredProgram
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.passes.logic.normal_form import normalize
from finchsched.passes.logic.normalize_names import normalize_names
from finchsched.passes.logic.pretty_labels import pretty_labels
from finchsched.passes.logic.query_root import all_names
from finchsched.passes.loop.lower_to_loops import lower_to_loops
from finchsched.passes.lower.pattern import workspaces
from finchsched.rewrite import RuleContext
from finchsched.settings import current

__all__ = ["CompiledPlan", "compile_logic"]


@dataclass(frozen=True, slots=True)
class CompiledPlan:
    """An executable with the way it was made.

    logic: the scheduled plan.  stages: (pass, plan after it).  names: (canonical name, caller's name) of each slot,
    alias and run-time scalar.  notes: remarks on decisions.
    """

    logic: Plan
    stages: tuple[tuple[str, Plan], ...]
    executable: Executable
    names: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    widen: "Callable[[], CompiledPlan]"

    @property
    def loops(self) -> LoopProgram:
        """The Loop IR."""
        return self.executable.loops

    @property
    def kernel_source(self) -> str:
        """The text of all kernels; each head comment has what its names stand for, and its loops."""
        return self.executable.kernel_source

    @property
    def kernel_files(self) -> list[str]:
        """Where the kernels' sources are stored."""
        return self.executable.kernel_files

    def run(self, tensors: Mapping[str, FiberTensor], values: Mapping[str, Scalar]) -> list[FiberTensor]:
        """The results for operands and scalars under the caller's names.  Raises DensifyError, KernelError.

        A result with more entries than its index arrays can count is made again with wide ones.
        """
        try:
            return self.executable.run(*self._renamed(tensors, values))
        except NeedsWideIndices:
            return self.widen().run(tensors, values)

    def run_timed(
        self, tensors: Mapping[str, FiberTensor], values: Mapping[str, Scalar]
    ) -> tuple[list[FiberTensor], float]:
        """As `run`, with the seconds spent in kernels and allocation."""
        try:
            return self.executable.run_timed(*self._renamed(tensors, values))
        except NeedsWideIndices:
            return self.widen().run_timed(tensors, values)

    def stored(self) -> StoredProgram | None:
        """What other processes need to run the plan; None if its kernels are not kept on disk."""
        return self.executable.stored(self.names)

    def memory(self, tensors: Mapping[str, FiberTensor]) -> tuple[str, ...]:
        """What a run on these operands takes, a sentence each."""
        return memory_remarks(self.executable, self._renamed(tensors, {})[0])

    def _renamed(
        self, tensors: Mapping[str, FiberTensor], values: Mapping[str, Scalar]
    ) -> tuple[dict[str, FiberTensor], dict[str, Scalar]]:
        held = {new: tensors[old] for new, old in self.names if old in tensors}
        return held, {new: values[old] for new, old in self.names if old in values}


def compile_logic(
    plan: Plan,
    *,
    extents: Mapping[str, tuple[str, int]],
    huge: Mapping[str, tuple[int, ...]],
    wide: bool,
    names: Mapping[str, str],
) -> CompiledPlan:
    """Compile a plan under the settings in force.

    extents: for each field, the slot and axis that has its extent, or ("", n) for the constant n.  huge: the axes of
    each slot along which nothing should be dense.  wide: index arrays of results hold 64-bit integers.  names: what the
    user calls slots and fields.  Raises LoweringError where no kernel can be made.
    """
    ctx = RuleContext(names=Names(all_names(plan)))
    normal, trail = normalize(plan, ctx)
    fused = fuse_producers(normal, ctx, wide=wide, huge=huge)
    if fused != normal:
        fused = pretty_labels(fused, ctx)
    trail.append(("fuse_producers", fused))
    canonical, renamed = normalize_names(fused, ctx)
    trail.append(("normalize_names", canonical))
    back = {old: new for new, old in renamed.items()}
    scheduled = schedule_plan(canonical, wide=wide, huge={back.get(slot, slot): axes for slot, axes in huge.items()})
    trail.append(("schedule_plan", scheduled))
    program = lower_to_loops(scheduled)
    origins = {name: (back.get(slot, slot), axis) for name, (slot, axis) in extents.items()}
    fills = {query.alias.name: _fill_expression(query) for query in scheduled.bodies}
    heads = _heads(program, {new: names.get(old, old) for new, old in renamed.items()})
    executable = compile_program(program, fills, origins, current(), heads)
    widen = cache(partial(compile_logic, plan, extents=extents, huge=huge, wide=True, names=names))
    return CompiledPlan(scheduled, tuple(trail), executable, tuple(renamed.items()), remarks(executable), widen)


def _fill_expression(query: Query) -> Node:
    """A result's fill in terms of scalars and extents known when its query has run."""
    known = query.alias.type.fill
    deferred = isinstance(known, Value) and known.name == f"{query.alias.name}_fill"
    return fill(query.rhs) if deferred else known


def _heads(program: LoopProgram, names: Mapping[str, str]) -> dict[str, str]:
    """The head comment of each kernel: what the canonical names stand for, and the loops it came from."""
    legend = ", ".join(f"{new} = {old}" for new, old in names.items())
    heads: dict[str, str] = {}
    for nest in program.nests:
        read = dict.fromkeys(n.tensor for n in walk(nest.body) if isinstance(n, Access))
        inputs = [t for t in read if t != nest.target and t not in workspaces(nest)]
        loops = print_loop(LoopProgram(tuple(inputs), (nest,), (nest.target,))).strip()
        heads[nest.target.name] = "\n".join(filter(None, [legend, loops]))
    return heads
