"""The front end without the compiler: plans run in the interpreter of Logic IR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from finchsched.algebra.dtypes import Scalar
from finchsched.api import planning
from finchsched.ast.format import is_sparse
from finchsched.ast.logic import Plan, Query, Reformat, Slot
from finchsched.ast.node import walk
from finchsched.ast.validate_logic import validate_logic
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.levels import Dense, SparseList
from finchsched.formats.numpy_convert import from_dense
from finchsched.interpret.logic import run_logic


@dataclass
class InterpretedExecutable:
    """Runs a plan in the interpreter.  A result is stored as its Reformat says, else densely or as a list of rows."""

    logic: Plan
    extents: dict[str, tuple[str, int]]
    runs: int = 0

    kernel_source = "def kernel(): ..."
    kernel_files = ("kernel.py",)
    notes = ("interpreted",)
    names = ()
    loops: Any = None

    @property
    def stages(self) -> list[tuple[str, Plan]]:
        return [("nothing", self.logic)]

    def memory(self, tensors: Mapping[str, FiberTensor]) -> tuple[str, ...]:
        return ()

    def run(self, tensors: Mapping[str, FiberTensor], values: Mapping[str, Scalar]) -> list[FiberTensor]:
        self.runs += 1
        extents = {f: n if slot == "" else tensors[slot].shape[n] for f, (slot, n) in self.extents.items()}
        queries = {query.alias.name: query for query in self.logic.bodies}
        names = [alias.name for alias in self.logic.result.aliases]
        results = run_logic(self.logic, tensors, values, extents)
        return [_stored(queries[name], result) for name, result in zip(names, results, strict=True)]

    def run_timed(
        self, tensors: Mapping[str, FiberTensor], values: Mapping[str, Scalar]
    ) -> tuple[list[FiberTensor], float]:
        return self.run(tensors, values), 0.0


def _stored(query: Query, result: Any) -> FiberTensor:
    rank = result.values.ndim
    if isinstance(query.rhs, Reformat):
        kind = query.rhs.type
        mask = result.stored if is_sparse(kind) else np.ones_like(result.stored)
        return from_dense(result.values, kind.levels, kind.perm, fill=result.fill, mask=mask)
    if rank == 0 or result.stored.all():
        mask = np.ones_like(result.stored)
        return from_dense(result.values, (Dense(),) * rank, range(rank), fill=result.fill, mask=mask)
    levels = (*(Dense(),) * (rank - 1), SparseList())
    return from_dense(result.values, levels, range(rank), fill=result.fill, mask=result.stored)


def interpret(plan: Plan, *, extents: Any, huge: Any, wide: bool, names: Any) -> InterpretedExecutable:
    validate_logic(plan)
    assert {node.name for node in walk(plan) if isinstance(node, Slot)} <= set(huge)
    return InterpretedExecutable(plan, extents)


@pytest.fixture(autouse=True)
def interpreter(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test of this folder starts with an empty cache of plans and the interpreter in place of the compiler."""
    planning.plan_cache.clear()
    monkeypatch.setattr(planning, "load_compiler", lambda: interpret)
    yield
    planning.plan_cache.clear()
