"""One phase of an executable: allocate the target of a nest, call its kernel, cut what it made to size."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from finchsched.algebra.dtypes import Scalar
from finchsched.ast.scalar import Literal
from finchsched.ast.status import GROW, NEGATIVE_POWER
from finchsched.backend.allocate import empty, zeros
from finchsched.backend.nest_facts import NestFacts
from finchsched.backend.output import Array, Output, OutputPlan, Run, output_plan
from finchsched.backend.scalars import evaluate
from finchsched.errors import DensifyError, DtypeError
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.passes.lower.signature import BufferParam, ScalarParam
from finchsched.settings import current

__all__ = ["Phase"]

Argument = Callable[[Run, Output], Any]
"""How one argument of the kernel is found in a run."""


class Kernel(Protocol):
    """What a phase needs of its kernel."""

    @property
    def call(self) -> Callable[..., None]:
        """The kernel as a function of lo, hi, status, scalars and buffers."""


class Phase:
    """One nest with its kernel, ready to run.  Stateless, so that several threads may run it."""

    def __init__(self, facts: NestFacts, kernel: Kernel) -> None:
        self.facts, self.kernel = facts, kernel
        self.name = facts.name
        self.axes, self.source_name, self.extents, self.fill_expr = facts.axes, facts.source, facts.extents, facts.fill
        self.storage = facts.storage
        self.output: OutputPlan = output_plan(facts)
        scalars = [self._scalar(param) for param in facts.scalars]
        buffers = [self._buffer(p, dtype.numpy) for p, dtype in zip(facts.buffers, facts.dtypes, strict=True)]
        self._arguments: list[Argument] = scalars + buffers

    def run(self, tensors: dict[str, FiberTensor], values: dict[str, Scalar]) -> None:
        """Compute the target and add it to `tensors`; its fill is added to `values` under `<name>_fill`."""
        sizes = {name: tensors[t].shape[axis] if t else axis for name, (t, axis) in self.extents.items()}
        known = self.fill_expr
        fill = known.value if isinstance(known, Literal) else evaluate(known, values, sizes)
        values[f"{self.name}_fill"] = fill
        run = Run(tensors, values, sizes)
        if self.facts.workspaces:
            _check_row(sizes[self.storage[-1]])
        output = self.output.allocate(run)
        status = np.zeros(2 + 2 * len(self.storage), np.int64)
        rows = sizes[self.facts.outer] if self.facts.outer else 1
        start = 0
        while True:
            self.kernel.call(start, rows, status, *[argument(run, output) for argument in self._arguments])
            if status[0] == NEGATIVE_POWER:
                raise DtypeError(
                    "integers to negative powers are no integers; an exponent is negative\n"
                    "hint: cast the base with .astype('float64')"
                )
            if status[0] != GROW:
                break
            start = int(status[1])
            self.output.grow(output, status, run)
            status[0] = 0
        tensors[self.name] = self.output.finish(output, status, run, fill)

    def _scalar(self, param: ScalarParam) -> Argument:
        name, level = param.name, param.level
        match param.kind:
            case "extent":
                return lambda run, output: run.sizes[name]
            case "stored":
                return lambda run, output: len(run.tensors[name].val)
            case "capacity":
                return lambda run, output: output.rooms[level]
            case _:
                return lambda run, output: run.values[name]

    def _buffer(self, param: BufferParam, dtype: np.dtype[Any]) -> Argument:
        name, level, role = param.tensor, param.level, param.role
        if name == self.name:
            return _of_target(role, level, dtype)
        if name in self.facts.workspaces:
            return self._workspace(role, dtype)
        match role:
            case "val":
                return lambda run, output: run.tensors[name].val
            case "pos":
                return lambda run, output: _view(run.tensors[name].pos[level], dtype)
            case _:
                return lambda run, output: _view(run.tensors[name].crd[level], dtype)

    def _workspace(self, role: str, dtype: np.dtype[Any]) -> Argument:
        """One dense row; its table of touched coordinates starts clean, also when a kernel is resumed."""
        row = self.storage[-1]
        make = zeros if role == "tbl" else empty
        return lambda run, output: make(run.sizes[row], dtype)


def _check_row(extent: int) -> None:
    """Raise DensifyError for a workspace over the limit of the settings."""
    if extent > current().densify:
        raise DensifyError(
            f"a row of {extent} elements would be collected densely, over the limit of {current().densify}\n"
            "hint: raise the limit with fs.config(densify=...), or write the program so that rows of the result come "
            "in order"
        )


def _of_target(role: str, level: int, dtype: np.dtype[Any]) -> Argument:
    match role:
        case "val":
            return lambda run, output: output.val
        case "pos":
            return lambda run, output: _view(output.pos[level], dtype)
        case "crd":
            return lambda run, output: _view(output.crd[level], dtype)
        case _:
            return lambda run, output: output.extra[f"{role}{level}"]


def _view(array: Array | None, dtype: np.dtype[Any]) -> Array:
    """An index array as the unsigned type that kernels use."""
    assert array is not None
    return array.view(dtype)
