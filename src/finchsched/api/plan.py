"""A compiled program with its operands."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from finchsched.api.binding import bind
from finchsched.api.deferred import deferred
from finchsched.api.explain import explain_plan
from finchsched.api.graph import GraphNode
from finchsched.api.planning import Entry, Executable, lookup, lookup_whole, run_entry
from finchsched.api.tensor import Tensor
from finchsched.formats.fiber_tensor import FiberTensor

if TYPE_CHECKING:
    from finchsched.api.build_logic import BuiltPlan

__all__ = ["Plan"]

print_logic: Callable[[Any], str] = deferred("finchsched.ast.print_logic.print_logic")
print_loop: Callable[[Any], str] = deferred("finchsched.ast.print_loop.print_loop")


class Plan:
    """A program that has been compiled, with the operands that it was planned for.

    Run it again with `run()`, or with other operands by name; operands of another type or format get a kernel of their
    own.  `logic`, `loops` and `kernel_source` are the program on its way down, as text.
    """

    __slots__ = ("_entry", "_program", "_rebind", "_roots", "_tensors", "_values")

    def __init__(
        self, roots: Sequence[GraphNode], rebind: Callable[[Mapping[str, Any]], tuple[GraphNode, ...]]
    ) -> None:
        self._roots = tuple(roots)
        self._rebind = rebind
        self._entry, self._program = lookup(self._roots)
        self._tensors, self._values = bind(self._entry.built, self._program.tensors, self._program.scalars)

    @property
    def executable(self) -> Executable:
        """What the compiler made: IR nodes, stages, kernels."""
        return cast("Executable", self._whole.executable)

    @property
    def _whole(self) -> Entry:
        """The entry with all that leads to it: one from disk is compiled when more than results is asked for."""
        if self._entry.restored:
            self._entry = lookup_whole(self._program, self._roots)
        return self._entry

    @property
    def _built(self) -> "BuiltPlan":
        return cast("BuiltPlan", self._whole.built)

    @property
    def operands(self) -> dict[str, FiberTensor]:
        """The tensor bound to each slot."""
        return dict(self._tensors)

    @property
    def names(self) -> dict[str, str]:
        """What the user calls the fields, slots and results of the first Logic IR."""
        return dict(self._built.names)

    @property
    def first_logic(self) -> str:
        """The Logic IR before any pass."""
        return print_logic(self._built.plan)

    @property
    def logic(self) -> str:
        """The Logic IR after all passes: what is computed."""
        return print_logic(self.executable.logic)

    @property
    def loops(self) -> str:
        """The Loop IR: in which order."""
        return print_loop(self.executable.loops)

    @property
    def kernel_source(self) -> str:
        """The kernels, as Python source."""
        return self.executable.kernel_source

    def run(self, **operands: Any) -> Any:
        """The result (a tuple if there are several), with `operands` in place of those planned for.

        Raises IndexNameError for a name that the program does not have, ShapeMismatchError for shapes that do not fit.
        """
        if operands:
            return self.run_timed(**operands)[0]
        return _wrapped(run_entry(self._entry, self._program, self._roots))

    def run_timed(self, **operands: Any) -> tuple[Any, float]:
        """The result, and the seconds spent in compiled kernels and allocating outputs."""
        if operands:
            return Plan(self._rebind(operands), self._rebind).run_timed()
        results, seconds = self.executable.run_timed(self._tensors, self._values)
        return _wrapped(results), seconds

    def explain(self) -> str:
        """What was decided, as text."""
        return explain_plan(self)

    def __repr__(self) -> str:
        return f"Plan({', '.join(self._tensors)} -> {', '.join(a.name for a in self._built.plan.result.aliases)})"


def _wrapped(results: list[FiberTensor]) -> Any:
    tensors = tuple([Tensor(result) for result in results])
    return tensors[0] if len(tensors) == 1 else tensors
