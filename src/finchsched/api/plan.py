"""A compiled program with its operands."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from finchsched.api.build_logic import bind
from finchsched.api.deferred import deferred
from finchsched.api.explain import explain_plan
from finchsched.api.graph import GraphNode
from finchsched.api.planning import Executable, lookup
from finchsched.api.tensor import Tensor
from finchsched.formats.fiber_tensor import FiberTensor

__all__ = ["Plan"]

print_logic = deferred("finchsched.ast.print_logic.print_logic")
print_loop = deferred("finchsched.ast.print_loop.print_loop")


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
        return self._entry.executable

    @property
    def operands(self) -> dict[str, FiberTensor]:
        """The tensor bound to each slot."""
        return dict(self._tensors)

    @property
    def names(self) -> dict[str, str]:
        """What the user calls the fields, slots and results of the first Logic IR."""
        return dict(self._entry.built.names)

    @property
    def first_logic(self) -> str:
        """The Logic IR before any pass."""
        return print_logic(self._entry.built.plan)

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
        return self.run_timed(**operands)[0] if operands else _wrapped(self.executable.run(self._tensors, self._values))

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
        return f"Plan({', '.join(self._tensors)} -> {', '.join(a.name for a in self._entry.built.plan.result.aliases)})"


def _wrapped(results: list[FiberTensor]) -> Any:
    tensors = tuple([Tensor(result) for result in results])
    return tensors[0] if len(tensors) == 1 else tensors
