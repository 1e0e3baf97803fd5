"""A plan as text for people: the program, what was decided, the program after each pass, loops, kernels."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from finchsched.api.deferred import deferred
from finchsched.api.format_text import format_name
from finchsched.ast.node import Node
from finchsched.formats.fiber_tensor import FiberTensor

__all__ = ["explain_plan"]

check_bounds = deferred("finchsched.passes.lower.check_bounds.check_bounds")
print_fact = deferred("finchsched.ast.print_proof.print_fact")
print_logic = deferred("finchsched.ast.print_logic.print_logic")
print_verdict = deferred("finchsched.ast.print_proof.print_verdict")


class _Explained(Protocol):
    """What is read of a plan."""

    @property
    def executable(self) -> Any: ...
    @property
    def is_staged(self) -> bool: ...
    @property
    def steps(self) -> Any: ...
    @property
    def operands(self) -> dict[str, FiberTensor]: ...
    @property
    def names(self) -> dict[str, str]: ...
    @property
    def first_logic(self) -> str: ...
    @property
    def loops(self) -> str: ...
    @property
    def kernel_source(self) -> str: ...


def explain_plan(plan: _Explained) -> str:
    """The text.  After a pass, only the lines that it changed are shown; passes that changed nothing are named.

    Of a program that runs in steps, each step in its turn.
    """
    if plan.is_staged:
        return "\n".join(_steps(plan))
    compiled = plan.executable
    parts = [
        _section("Program", plan.first_logic),
        _section("Operands", "\n".join(_operands(plan))),
        *_stages(plan),
        _section("Decisions", "\n".join(_decisions(plan))),
        _section("Loops", plan.loops),
        _section("Kernel", "\n".join([*_without_heads(plan.kernel_source), *_files(compiled.kernel_files)])),
    ]
    parts.append(_section("Proofs", "\n".join(_proofs(compiled))))
    memory = compiled.memory(plan.operands)
    if memory:
        parts.append(_section("Memory", "\n".join(f"- {sentence}" for sentence in memory)))
    return "\n".join(parts)


def _steps(plan: _Explained) -> Iterator[str]:
    yield _section("Operands", "\n".join(_operands(plan)))
    for number, (words, part) in enumerate(plan.steps, start=1):
        yield f"==== Step {number}: {words} ====" + ("" if part else "\n")
        if part:
            yield explain_plan(part)


def _section(title: str, text: str) -> str:
    return f"== {title} ==\n{text.strip()}\n"


def _operands(plan: _Explained) -> Iterator[str]:
    for name, tensor in plan.operands.items():
        about = f"{name}: shape {tensor.shape}, {tensor.type.dtype}, {format_name(tensor.type)}"
        yield f"{about}, {tensor.stored} stored, {tensor.nbytes} bytes"


def _stages(plan: _Explained) -> Iterator[str]:
    """A section for each pass that changed something; at the end, the names of the others."""
    before = plan.first_logic.splitlines()
    idle: list[str] = []
    for name, stage in plan.executable.stages:
        after = (print_logic(stage) if isinstance(stage, Node) else str(stage)).splitlines()
        if after == before:
            idle.append(name)
        elif name == "normalize_names":
            yield _section("After normalize_names: new names", _legend(plan.executable.names))
        else:
            new = [line for line in after if line not in before]
            yield _section(f"After {name}", "\n".join(new or ["(lines were left out or moved)"]))
        before = after
    if idle:
        yield _section("Passes that changed nothing", ", ".join(idle))


def _legend(names: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{new} = {old}" for new, old in names if new != old)


def _decisions(plan: _Explained) -> Iterator[str]:
    """Format and loop order of everything that is stored, then the remarks."""
    logic = plan.executable.logic
    called = {new: plan.names.get(old, old) for new, old in plan.executable.names}
    results = {alias.name for alias in logic.result.aliases}
    for query in logic.bodies:
        name = query.alias.name
        role = "result" if name in results else "temporary"
        known = f" ({called[name]})" if called.get(name, name) != name else ""
        order = ", ".join(field.name for field in query.loop_order)
        loops = f", loops in the order {order}" if order else ""
        yield f"- {role} {name}{known}: {format_name(query.alias.type)}, {query.alias.type.dtype}{loops}"
    for note in plan.executable.notes:
        yield f"- {note}"


def _proofs(compiled: Any) -> Iterator[str]:
    """What the prover was asked of each kernel: what it licensed first, then the guards that stayed and why; whether
    its accesses stay inside its buffers, which it does not test.
    """
    for phase in compiled.executable.phases:
        for proof in sorted(phase.lowered.proofs, key=lambda proof: not proof.is_proved):
            stays = "" if proof.is_proved else "not licensed: "
            yield f"- {stays}{proof.what}: {print_fact(proof.fact)}, {print_verdict(proof.verdict)}"
        bounds = check_bounds(phase.lowered)
        others = sorted({proof.what for proof in bounds if not proof.is_proved})
        found = f"- {phase.lowered.kernel.name}: {sum(proof.is_proved for proof in bounds)} of {len(bounds)} accesses"
        yield f"{found} are proved to be in bounds" + (f"; not where it {', '.join(others)}" if others else "")


def _without_heads(source: str) -> Iterator[str]:
    """The kernels without their head comments, which repeat the loops."""
    in_head = True
    for line in source.splitlines():
        in_head = line.startswith("#") or (in_head and not line)
        if not in_head:
            yield line
        if not line:
            in_head = True


def _files(paths: Sequence[str]) -> Iterator[str]:
    if paths:
        yield ""
    for path in paths:
        yield f"kept in {path}"
