"""One program through every interpreter and backend, each result compared with the oracle's."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from finchsched.algebra.dtypes import Scalar
from finchsched.api.binding import bind
from finchsched.api.planning import Entry, compile_graph, linearize
from finchsched.ast.facts import fill
from finchsched.ast.kernel import Kernel
from finchsched.ast.logic import Alias, Plan, Produces, Query, Slot, Table
from finchsched.ast.loop import Access, Index, LoopProgram, Nest, Tensor
from finchsched.ast.node import Node, walk
from finchsched.ast.scalar import Value
from finchsched.ast.validate_kernel import validate_kernel
from finchsched.ast.validate_logic import validate_logic
from finchsched.ast.validate_loop import validate_loop
from finchsched.backend.compiled_phase import CompiledPhase
from finchsched.backend.emit import emit
from finchsched.backend.executable import Executable
from finchsched.backend.load import LoadedKernel
from finchsched.backend.scalars import evaluate as evaluate_scalar
from finchsched.formats.checks import check_tensor
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.levels import SparseList
from finchsched.formats.numpy_convert import from_dense, stored_mask, to_dense
from finchsched.interpret.kernel import OpCount, run_kernel
from finchsched.interpret.logic import run_logic
from finchsched.interpret.loop import run_loop
from finchsched.interpret.masked import Masked
from finchsched.passes.lower.lower_nest import lower_nest
from finchsched.settings import config
from oracle.einsum_oracle import evaluate
from oracle.masked_array import MaskedArray, compare, same_value
from strategies import Program

TOLERANCE = {"float32": 1e-5, "float64": 1e-9, "complex64": 1e-5, "complex128": 1e-9}

Tensors = Mapping[str, FiberTensor]
Values = Mapping[str, Scalar]


class Disagreement(AssertionError):
    """A result differs from the oracle's; says where on the way down."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What the oracle says.  constant: no index stands in the expression as a value, so that its fill is no matter of
    which coordinates there are.
    """

    array: MaskedArray
    constant: bool

    def has_fill(self, fill: Scalar) -> bool:
        return not self.constant or same_value(fill, self.array.fill)


def expected(program: Program) -> Expected:
    outside = re.sub(r"\[[^]]*\]", "", program.text)
    return Expected(evaluate(program.text, program.for_oracle()), re.search(r"\b[ijkl]\b", outside) is None)


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program compiled for one backend, with its operands under the names of the first plan."""

    entry: Entry
    tensors: Tensors
    values: Values

    @property
    def plan(self) -> Any:
        """What `compile_logic` made."""
        return self.entry.executable

    def renamed(self) -> tuple[dict[str, FiberTensor], dict[str, Scalar]]:
        """Operands and scalars under canonical names."""
        held = {new: self.tensors[old] for new, old in self.plan.names if old in self.tensors}
        return held, {new: self.values[old] for new, old in self.plan.names if old in self.values}


def check_everywhere(program: Program) -> None:
    """Every interpreter, and the kernels un-jitted.  Raises Disagreement, ValidationError or FormatError."""
    want = expected(program)
    compiled = compile_program(program, "python")
    check_logic(compiled, want)
    check_loops(compiled, want)
    check_results("kernel interpreter", run_phases(compiled, interpreted), want)
    check_results("python backend", run_backend(compiled), want)


def check_backend(program: Program, backend: str) -> None:
    """Only what a user would see, from one backend."""
    want = expected(program)
    check_results(f"{backend} backend", run_backend(compile_program(program, backend)), want)


def compile_program(program: Program, backend: str) -> Compiled:
    with config(backend=backend):
        roots = (program.graph(),)
        entry, held = compile_graph(roots), linearize(roots)
    return Compiled(entry, *bind(entry.built, held.tensors, held.scalars))


def run_backend(compiled: Compiled) -> list[FiberTensor]:
    found: list[FiberTensor] = compiled.plan.run(compiled.tensors, compiled.values)
    return found


# ---------------------------------------------------------------------------------------------- Logic IR


def check_logic(compiled: Compiled, want: Expected) -> None:
    """The plan as built and after every pass is valid and means what the oracle says."""
    stages = [("build_logic", compiled.entry.built.plan), *compiled.plan.stages]
    canonical = False
    for name, plan in stages:
        canonical = canonical or name == "normalize_names"
        tensors, values = compiled.renamed() if canonical else (compiled.tensors, compiled.values)
        validate_logic(plan)
        for result in interpret_plan(plan, tensors, values):
            check_values(f"interpreter of Logic IR after {name}", result.values, want)
            check_mask(f"interpreter of Logic IR after {name}", result, want)


def interpret_plan(plan: Plan, tensors: Tensors, values: Values) -> list[Masked]:
    """Query by query, because a field may have another extent in another query."""
    held, made, known = dict(tensors), dict[str, Masked](), dict(values)
    for query in plan.bodies:
        query = _with_plain_fill(query)
        (result,) = run_logic(Plan((query,), Produces((query.alias,))), held, known)
        made[query.alias.name] = result
        known[f"{query.alias.name}_fill"] = result.fill
        levels = (SparseList(),) * result.values.ndim
        held[query.alias.name] = from_dense(
            result.values, levels, range(result.values.ndim), fill=result.fill, mask=result.stored
        )
        _refuse_unknown(query, held)
    return [made[alias.name] for alias in plan.result.aliases]


def _with_plain_fill(query: Query) -> Query:
    """A fill that depends on extents is only named in the scheduled plan; here it is spelled out again."""
    known = query.alias.type.fill
    if not (isinstance(known, Value) and known.name == f"{query.alias.name}_fill"):
        return query
    return query.replace(alias=Alias(query.alias.name, query.alias.type.replace(fill=fill(query.rhs))))


def _refuse_unknown(query: Query, held: Mapping[str, FiberTensor]) -> None:
    for node in walk(query.rhs):
        if isinstance(node, Table) and isinstance(node.tensor, Slot | Alias) and node.tensor.name not in held:
            raise Disagreement(f"{query.alias.name} reads {node.tensor.name}, which nothing makes")


# ---------------------------------------------------------------------------------------------- Loop IR


def check_loops(compiled: Compiled, want: Expected) -> None:
    """The loops are valid and mean what the oracle says; nest by nest, in the target's own format."""
    program: LoopProgram = compiled.plan.loops
    validate_loop(program)
    tensors, values = compiled.renamed()
    fills = {phase.target.name: phase.fill_expr for phase in compiled.plan.executable.phases}
    check_results("interpreter of Loop IR", interpret_loops(program, fills, tensors, values), want)


def interpret_loops(
    program: LoopProgram, fills: Mapping[str, Node], tensors: Tensors, values: Values
) -> list[FiberTensor]:
    """fills: of each target, in terms of scalars and extents."""
    held, known = dict(tensors), dict(values)
    for nest in program.nests:
        name, sizes = nest.target.name, extents_of(nest, held)
        known[f"{name}_fill"] = evaluate_scalar(fills[name], known, sizes)
        held[name] = interpret_nest(nest, held, known, sizes)
    return [held[tensor.name] for tensor in program.results]


def interpret_nest(nest: Nest, held: Tensors, values: Values, sizes: Mapping[str, int]) -> FiberTensor:
    """The target of one nest, stored as its type says."""
    read = [t for t in dict.fromkeys(_tensors(nest)) if t.name in held]
    alone = LoopProgram(tuple(read), (nest,), (nest.target,))
    (result,) = run_loop(alone, {t.name: held[t.name] for t in read}, values, sizes)
    kind = nest.target.type
    return from_dense(result.values, kind.levels, kind.perm, fill=result.fill, mask=result.stored)


def _tensors(node: Node) -> Iterator[Tensor]:
    return (n for n in walk(node) if isinstance(n, Tensor))


def extents_of(nest: Nest, held: Tensors) -> dict[str, int]:
    """The extent of each index, from the tensors it reads."""
    found: dict[str, int] = {}
    for node in walk(nest.body):
        if isinstance(node, Access) and node.tensor.name in held:
            for index, extent in zip(node.index, held[node.tensor.name].shape, strict=True):
                if isinstance(index, Index):
                    found.setdefault(index.name, extent)
    return found


# ---------------------------------------------------------------------------------------------- Kernel IR


def interpreted(kernel: Kernel, count: OpCount | None = None) -> Callable[..., None]:
    """The kernel as a function that is called like a compiled one, but runs in the interpreter, which counts."""
    return partial(_call_interpreted, kernel, count)


def _call_interpreted(kernel: Kernel, count: OpCount | None, lo: int, hi: int, status: Any, *arguments: Any) -> None:
    scalars = {var.name: value for var, value in zip(kernel.scalars, arguments, strict=False)}
    arrays = arguments[len(kernel.scalars) :]
    buffers = {buffer.name: array for buffer, array in zip(kernel.buffers, arrays, strict=True)}
    run_kernel(kernel, lo, hi, status, scalars, buffers, count=count)


def run_phases(compiled: Compiled, call: Callable[[Kernel], Callable[..., None]]) -> list[FiberTensor]:
    """The executable with its own phases and allocations, but another way of running each kernel."""
    executable: Executable = compiled.plan.executable
    phases = []
    for phase in executable.phases:
        validate_kernel(phase.lowered.kernel)
        kernel = LoadedKernel(phase.kernel.source, call(phase.lowered.kernel), None)
        phases.append(CompiledPhase(phase.lowered, kernel, phase.extents, phase.fill_expr))
    return replace(executable, phases=tuple(phases)).run(*compiled.renamed())


def run_nest(
    nest: Nest, held: Tensors, values: Values, *, reassociate: str = "strict", count: OpCount | None = None
) -> FiberTensor:
    """The target of one nest, made by its phase with the kernel interpreted; `count` is added to."""
    lowered = lower_nest(nest, f"make_{nest.target.name}", reassociate=reassociate)
    validate_kernel(lowered.kernel)
    kernel = LoadedKernel(emit(lowered.kernel), interpreted(lowered.kernel, count), None)
    origins = {
        index.name: (node.tensor.name, axis)
        for node in walk(nest.body)
        if isinstance(node, Access) and node.tensor.name in held
        for axis, index in enumerate(node.index)
        if isinstance(index, Index)
    }
    tensors, known = dict(held), dict(values)
    CompiledPhase(lowered, kernel, origins, nest.target.type.fill).run(tensors, known)
    check_tensor(tensors[nest.target.name])
    return tensors[nest.target.name]


# ---------------------------------------------------------------------------------------------- comparison


def check_results(where: str, results: list[FiberTensor], want: Expected) -> None:
    (result,) = results
    check_tensor(result)
    check_values(where, to_dense(result), want)
    if not stored_mask(result).all() and not want.has_fill(result.fill):
        raise Disagreement(f"{where}: fill {result.fill!r}, expected {want.array.fill!r}")


def check_mask(where: str, result: Masked, want: Expected) -> None:
    """What the oracle says is structural may be stored, but with the fill as its value; never the other way round."""
    if not result.stored.all() and not want.has_fill(result.fill):
        raise Disagreement(f"{where}: fill {result.fill!r}, expected {want.array.fill!r}")


def check_values(where: str, values: Any, want: Expected) -> None:
    got = np.asarray(values)
    if got.dtype != want.array.dtype:
        raise Disagreement(f"{where}: dtype {got.dtype}, expected {want.array.dtype}")
    tolerance = TOLERANCE.get(got.dtype.name, 0.0)
    try:
        compare(got, want.array, rtol=tolerance, atol=tolerance)
    except AssertionError as error:
        raise Disagreement(f"{where}: {error}") from error
