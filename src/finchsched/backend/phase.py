"""One phase of an executable: allocate the target of a nest, call its kernel, cut what it made to size."""

from collections.abc import Callable
from typing import Any

import numpy as np

from finchsched.algebra.dtypes import Scalar
from finchsched.ast.loop import Access, Index, Tensor
from finchsched.ast.node import Node, walk
from finchsched.ast.scalar import Literal
from finchsched.backend.allocate import empty, zeros
from finchsched.backend.load import LoadedKernel
from finchsched.backend.output import Array, Output, OutputPlan, Run, output_plan
from finchsched.backend.scalars import evaluate
from finchsched.errors import DensifyError
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.passes.lower.pattern import pattern_source, target_assign, workspaces
from finchsched.passes.lower.signature import GROW, BufferParam, LoweredNest, ScalarParam
from finchsched.settings import current

__all__ = ["Phase"]

Argument = Callable[[Run, Output], Any]
"""How one argument of the kernel is found in a run."""


class Phase:
    """A lowered nest with its kernel, ready to run.  Stateless, so that several threads may run it.

    extents: for each index of the nest, the tensor and axis that has its extent, or ("", n) for the constant n.
    fill_expr: the target's fill; inside the plan its type may hold only the fill's class.
    """

    def __init__(
        self, lowered: LoweredNest, kernel: LoadedKernel, extents: dict[str, tuple[str, int]], fill_expr: Node
    ) -> None:
        self.lowered, self.kernel, self.extents, self.fill_expr = lowered, kernel, extents, fill_expr
        assign = target_assign(lowered.nest)
        assert isinstance(assign.target, Access)
        self.axes = tuple(i.name for i in assign.target.index if isinstance(i, Index))
        self.storage = tuple(self.axes[axis] for axis in self.target.type.perm)
        self.source_name = self._find_source(assign.rhs)
        self.output: OutputPlan = output_plan(lowered, self.axes, self.storage, self.source_name)
        scalars = [self._scalar(param) for param in lowered.scalars]
        buffers = [self._buffer(p, b.dtype.numpy) for p, b in zip(lowered.buffers, lowered.kernel.buffers, strict=True)]
        self._arguments: list[Argument] = scalars + buffers

    @property
    def target(self) -> Tensor:
        """The tensor that this phase makes."""
        return self.lowered.nest.target

    @property
    def workspaces(self) -> tuple[Tensor, ...]:
        """The workspaces in which the kernel collects rows."""
        return workspaces(self.lowered.nest)

    def _find_source(self, rhs: Node) -> str:
        """The operand whose pattern the target shares, or else the first one of its assignment."""
        if self.lowered.nest.assembly == "shared":
            source = pattern_source(self.lowered.nest.body, self.target)
            return source.tensor.name if source else ""
        return next((n.tensor.name for n in walk(rhs) if isinstance(n, Access)), "")

    def run(self, tensors: dict[str, FiberTensor], values: dict[str, Scalar]) -> None:
        """Compute the target and add it to `tensors`; its fill is added to `values` under `<name>_fill`."""
        sizes = {name: tensors[t].shape[axis] if t else axis for name, (t, axis) in self.extents.items()}
        known = self.fill_expr
        fill = known.value if isinstance(known, Literal) else evaluate(known, values, sizes)
        values[f"{self.target.name}_fill"] = fill
        run = Run(tensors, values, sizes)
        if self.workspaces:
            _check_row(sizes[self.storage[-1]])
        output = self.output.allocate(run)
        status = np.zeros(2 + 2 * len(self.storage), np.int64)
        rows = sizes[self.lowered.outer] if self.lowered.outer else 1
        start = 0
        while True:
            self.kernel.call(start, rows, status, *[argument(run, output) for argument in self._arguments])
            if status[0] != GROW:
                break
            start = int(status[1])
            self.output.grow(output, status, run)
            status[0] = 0
        tensors[self.target.name] = self.output.finish(output, status, run, fill)

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
        if name == self.target.name:
            return _of_target(role, level, dtype)
        if any(tensor.name == name for tensor in self.workspaces):
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
