"""A phase with the IR that it was made of."""

from finchsched.ast.loop import Access, Index, Nest, Tensor
from finchsched.ast.node import Node, walk
from finchsched.backend.adaptor import argument_kinds
from finchsched.backend.load import LoadedKernel
from finchsched.backend.nest_facts import NestFacts
from finchsched.backend.phase import Phase
from finchsched.backend.stored_program import StoredPhase
from finchsched.passes.lower.pattern import pattern_source, target_assign, workspaces
from finchsched.passes.lower.signature import LoweredNest

__all__ = ["CompiledPhase", "nest_facts"]


class CompiledPhase(Phase):
    """A lowered nest with its kernel, ready to run.

    extents: for each index of the nest, the tensor and axis that has its extent, or ("", n) for the constant n.
    fill_expr: the target's fill; inside the plan its type may hold only the fill's class.
    """

    kernel: LoadedKernel

    def __init__(
        self, lowered: LoweredNest, kernel: LoadedKernel, extents: dict[str, tuple[str, int]], fill_expr: Node
    ) -> None:
        super().__init__(nest_facts(lowered, extents, fill_expr), kernel)
        self.lowered = lowered

    @property
    def target(self) -> Tensor:
        """The tensor that this phase makes."""
        return self.lowered.nest.target

    def stored(self) -> StoredPhase:
        """The phase as data."""
        kernel = self.lowered.kernel
        return StoredPhase(self.facts, kernel.name, self.kernel.key, argument_kinds(kernel))

    @property
    def workspaces(self) -> tuple[Tensor, ...]:
        """The workspaces in which the kernel collects rows."""
        return workspaces(self.lowered.nest)


def nest_facts(lowered: LoweredNest, extents: dict[str, tuple[str, int]], fill_expr: Node) -> NestFacts:
    """What the runtime needs of a lowered nest."""
    nest = lowered.nest
    assign = target_assign(nest)
    assert isinstance(assign.target, Access)
    return NestFacts(
        nest.target.name,
        nest.target.type,
        nest.assembly,
        lowered.scalars,
        lowered.buffers,
        tuple(buffer.dtype for buffer in lowered.kernel.buffers),
        lowered.rooms,
        lowered.resumable,
        lowered.guessed,
        lowered.covered,
        lowered.gaps,
        lowered.outer,
        lowered.initial,
        tuple(i.name for i in assign.target.index if isinstance(i, Index)),
        _find_source(nest, assign.rhs),
        tuple(tensor.name for tensor in workspaces(nest)),
        extents,
        fill_expr,
        assign.op.name if assign.op else "",
    )


def _find_source(nest: Nest, rhs: Node) -> str:
    """The operand whose pattern the target shares, or else the first one of its assignment."""
    if nest.assembly == "shared":
        source = pattern_source(nest.body, nest.target)
        return source.tensor.name if source else ""
    return next((n.tensor.name for n in walk(rhs) if isinstance(n, Access)), "")
