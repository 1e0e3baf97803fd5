"""A compiled program with its operands."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from finchsched.api.binding import bind
from finchsched.api.deferred import deferred
from finchsched.api.explain import explain_plan
from finchsched.api.graph import GraphNode
from finchsched.api.planning import Entry, Executable, lookup, lookup_whole, run_entry
from finchsched.api.staging import CompiledStep, StagedProgram
from finchsched.api.tensor import Tensor
from finchsched.errors import FormatError
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

    A program that rearranges arrays runs in `steps`, some compiled and some done by NumPy; its texts are those of the
    compiled steps, one after the other.
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
        """What the compiler made: IR nodes, stages, kernels.

        Raises FormatError for a program that runs in steps: each compiled one has its own.
        """
        if self.is_staged:
            raise FormatError("this program runs in steps, each compiled by itself\nhint: look at .steps")
        return cast("Executable", self._whole.executable)

    @property
    def _whole(self) -> Entry:
        """The entry with all that leads to it: one from disk is compiled when more than results is asked for."""
        if self._entry.restored:
            self._entry = lookup_whole(self._program)
        return self._entry

    @property
    def _built(self) -> "BuiltPlan":
        return cast("BuiltPlan", self._whole.built)

    @property
    def is_staged(self) -> bool:
        """Whether the program runs in steps, because it rearranges arrays."""
        return isinstance(self._entry.executable, StagedProgram)

    @property
    def steps(self) -> tuple["tuple[str, Plan | None]", ...]:
        """(what it does in words, its plan if it is compiled) of every step; one step if all is compiled.

        The program is run to find them: what is compiled depends on the formats of what came before.
        """
        found = self._entry.executable
        if not isinstance(found, StagedProgram):
            return (("compiled", self),)
        steps: list[tuple[str, Plan | None]] = []
        for step in found.steps(self._tensors, self._values):
            if isinstance(step, CompiledStep):
                plan = Plan(step.roots, _refuse_operands)
                reads = {name: step.known[id(tensor)] for name, tensor in plan.operands.items()}
                other = ", ".join(f"{name} is {known}" for name, known in reads.items() if name != known)
                steps.append((f"compile {', '.join(step.names)}" + (f", where {other}" if other else ""), plan))
            else:
                steps.append((f"{step.name} is {step.text}", None))
        return tuple(steps)

    def _text(self, of: "Callable[[Plan], str]") -> str:
        """The text of a program that is compiled as a whole, or of all compiled steps."""
        if not self.is_staged:
            return of(self)
        return "\n\n".join(of(plan) if plan else f"# {words}" for words, plan in self.steps)

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
        return self._text(lambda plan: print_logic(plan._built.plan))

    @property
    def logic(self) -> str:
        """The Logic IR after all passes: what is computed."""
        return self._text(lambda plan: print_logic(plan.executable.logic))

    @property
    def loops(self) -> str:
        """The Loop IR: in which order."""
        return self._text(lambda plan: print_loop(plan.executable.loops))

    @property
    def kernel_source(self) -> str:
        """The kernels, as Python source."""
        return self._text(lambda plan: plan.executable.kernel_source)

    def run(self, **operands: Any) -> Any:
        """The result (a tuple if there are several), with `operands` in place of those planned for.

        Raises IndexNameError for a name that the program does not have, ShapeMismatchError for shapes that do not fit.
        """
        if operands:
            return self.run_timed(**operands)[0]
        return _wrapped(run_entry(self._entry, self._program))

    def run_timed(self, **operands: Any) -> tuple[Any, float]:
        """The result, and the seconds spent in compiled kernels and allocating outputs."""
        if operands:
            return Plan(self._rebind(operands), self._rebind).run_timed()
        results, seconds = self._entry.executable.run_timed(self._tensors, self._values)
        return _wrapped(results), seconds

    def explain(self) -> str:
        """What was decided, as text."""
        return explain_plan(self)

    def __repr__(self) -> str:
        results = [f"r{n}" for n in range(len(self._roots))] if self.is_staged else self._results()
        return f"Plan({', '.join(self._tensors)} -> {', '.join(results)})"

    def _results(self) -> list[str]:
        return [alias.name for alias in self._built.plan.result.aliases]


def _refuse_operands(new: Mapping[str, Any]) -> tuple[GraphNode, ...]:
    raise FormatError("a step runs on what came before it\nhint: give other operands to the plan of the whole program")


def _wrapped(results: list[FiberTensor]) -> Any:
    tensors = tuple([Tensor(result) for result in results])
    return tensors[0] if len(tensors) == 1 else tensors
