"""A plan as text for people: the program after each pass, formats, loops, kernels, remarks."""

from collections.abc import Iterator
from typing import Any, Protocol

from finchsched.api.format_text import format_name
from finchsched.ast.logic import Plan as LogicPlan
from finchsched.ast.node import Node
from finchsched.ast.print_logic import print_logic
from finchsched.formats.fiber_tensor import FiberTensor

__all__ = ["explain_plan"]


class _Explained(Protocol):
    """What is read of a plan."""

    @property
    def executable(self) -> Any: ...
    @property
    def operands(self) -> dict[str, FiberTensor]: ...
    @property
    def first_logic(self) -> str: ...
    @property
    def loops(self) -> str: ...
    @property
    def kernel_source(self) -> str: ...


def explain_plan(plan: _Explained) -> str:
    """The text.  Passes that changed nothing are only named."""
    parts = [_section("Operands", "\n".join(_operands(plan)))]
    parts.append(_section("Program", plan.first_logic))
    parts.extend(_stages(plan))
    parts.append(_section("Results and what is stored on the way", "\n".join(_formats(plan.executable.logic))))
    parts.append(_section("Loops", plan.loops))
    files = "\n".join(f"in {path}" for path in plan.executable.kernel_files)
    parts.append(_section("Kernel", f"{files}\n{plan.kernel_source}" if files else plan.kernel_source))
    if plan.executable.notes:
        parts.append(_section("Remarks", "\n".join(f"- {note}" for note in plan.executable.notes)))
    return "\n".join(parts)


def _section(title: str, text: str) -> str:
    return f"== {title} ==\n{text.rstrip()}\n"


def _operands(plan: _Explained) -> Iterator[str]:
    for name, tensor in plan.operands.items():
        about = f"{name}: shape {tensor.shape}, {tensor.type.dtype}, {format_name(tensor.type)}"
        yield f"{about}, {tensor.stored} stored, {tensor.nbytes} bytes"


def _stages(plan: _Explained) -> Iterator[str]:
    before = plan.first_logic
    idle: list[str] = []
    for name, stage in plan.executable.stages:
        after = print_logic(stage) if isinstance(stage, Node) else str(stage)
        if after == before:
            idle.append(name)
        else:
            yield _section(f"After {name}", after)
        before = after
    if idle:
        yield _section("Passes that changed nothing", ", ".join(idle))


def _formats(logic: LogicPlan) -> Iterator[str]:
    results = {alias.name for alias in logic.result.aliases}
    for query in logic.bodies:
        role = "result" if query.alias.name in results else "temporary"
        order = ", ".join(field.name for field in query.loop_order)
        loops = f", loops {order}" if order else ""
        yield f"{role} {query.alias.name}: {format_name(query.alias.type)}, {query.alias.type.dtype}{loops}"
