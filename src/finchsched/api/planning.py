"""Plan keys, the cache of plans, and the one place where the front end meets the compiler.

A *plan key* has everything that a plan depends on but data and extents: the structure of the graph, the static type
of every tensor and the class of each of its extents (0, 1, more, 2**31 and more), which operands are the same tensor,
the class of every scalar, and the settings.  Building one touches each node of the graph once and builds no IR.
"""

import importlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from finchsched.algebra.dtypes import Scalar
from finchsched.api.binding import Bound, bind
from finchsched.api.deferred import deferred
from finchsched.api.graph import GraphNode, huge_axes, topological
from finchsched.api.order_contractions import order_contractions
from finchsched.api.staging import is_staged, stage_program
from finchsched.ast.node import Node
from finchsched.errors import LoweringError, NeedsWideIndices
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.settings import config, current

if TYPE_CHECKING:  # imported when a program is first compiled
    from finchsched.api.build_logic import BuiltPlan
    from finchsched.ast.logic import Plan as LogicPlan
    from finchsched.backend.stored_program import StoredProgram

__all__ = [
    "Entry",
    "Executable",
    "PlanCache",
    "Program",
    "linearize",
    "lookup",
    "lookup_whole",
    "plan_cache",
    "run_entry",
    "run_graph",
]

PlanKey: TypeAlias = tuple[Any, ...]

build_logic = deferred("finchsched.api.build_logic.build_logic")
restore_plan = deferred("finchsched.api.stored_plans.restore_plan")
store_plan = deferred("finchsched.api.stored_plans.store_plan")


class Runnable(Protocol):
    """What runs a plan.  Stateless: it may run in several threads at once."""

    def run(self, tensors: Mapping[str, FiberTensor], values: Mapping[str, Scalar]) -> list[FiberTensor]:
        """The results for these slots and values."""

    def run_timed(
        self, tensors: Mapping[str, FiberTensor], values: Mapping[str, Scalar]
    ) -> tuple[list[FiberTensor], float]:
        """The results, and the seconds spent in kernels and allocating outputs."""


@runtime_checkable
class Storable(Protocol):
    """What other processes can run."""

    def stored(self) -> "StoredProgram | None":
        """The program as data; None if its kernels are not on disk."""


class Executable(Runnable, Protocol):
    """What the compiler gives."""

    @property
    def logic(self) -> "LogicPlan":
        """The plan after all passes."""

    @property
    def stages(self) -> Sequence[tuple[str, Any]]:
        """(name of a pass, plan or text after it), in order."""

    @property
    def loops(self) -> Node:
        """The LoopProgram."""

    @property
    def kernel_source(self) -> str:
        """The kernels as Python source."""

    @property
    def kernel_files(self) -> Sequence[str]:
        """Where the kernels' source is kept."""

    @property
    def names(self) -> Sequence[tuple[str, str]]:
        """(name in loops and kernels, name in the first Logic IR) of each tensor and run-time scalar."""

    @property
    def notes(self) -> Sequence[str]:
        """Remarks on decisions, a sentence each."""

    def memory(self, tensors: Mapping[str, FiberTensor]) -> Sequence[str]:
        """What a run on these operands takes, a sentence each."""


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A compiled plan, without operands.  One that was `restored` from disk can be run, and shows nothing."""

    built: Bound
    executable: Runnable
    restored: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A plan key with the operands that belong to it, by number, and the graph that it was made of."""

    key: PlanKey
    tensors: tuple[FiberTensor, ...]
    scalars: tuple[Scalar, ...]
    roots: tuple[GraphNode, ...]


def linearize(roots: Sequence[GraphNode], nodes: Sequence[GraphNode] | None = None) -> Program:
    """The plan key and the operands of a graph.  `nodes`: all of its nodes, arguments first, if they are known."""
    numbers: dict[int, int] = {}
    rows: list[Any] = []
    tensors: list[FiberTensor] = []
    scalars: list[Scalar] = []
    same: dict[int, int] = {}
    for node in topological(roots) if nodes is None else nodes:
        kind = node.kind
        if kind == "tensor":
            data = node.data
            known = same.get(id(data))
            if known is None:
                same[id(data)] = known = len(rows)
                tensors.append(data)
                rows.append(node.params)
            numbers[id(node)] = known
            continue
        if kind == "scalar":
            scalars.append(node.data)
            rows.append(node.params)
        else:
            rows.append((kind, node.params, *[numbers[id(arg)] for arg in node.args]))
        numbers[id(node)] = len(rows) - 1
    rows.append(tuple([numbers[id(root)] for root in roots]))
    rows.append(current())
    return Program(tuple(rows), tuple(tensors), tuple(scalars), tuple(roots))


class PlanCache:
    """The most recently used plans, at most `size`.  Safe for threads; two that miss the same key compile once."""

    def __init__(self, size: int = 512) -> None:
        self._size = size
        self._entries: OrderedDict[PlanKey, Entry] = OrderedDict()
        self._compiling: dict[PlanKey, threading.RLock] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: PlanKey) -> Entry | None:
        """The plan of a key that was seen before."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
            return entry

    def get_or_compile(self, key: PlanKey, roots: Sequence[GraphNode], *, whole: bool = False) -> Entry:
        """The plan of a key, from disk or compiled if need be; `whole`: from disk is not enough.

        A compilation that raises leaves nothing behind.
        """
        with self._lock:
            turn = self._compiling.setdefault(key, threading.RLock())
        with turn:
            entry = self.get(key)
            try:
                if entry is None or (whole and entry.restored):
                    entry = (None if whole else _from_disk(key)) or _compiled(key, roots)
                    self._put(key, entry)
            finally:
                with self._lock:
                    self._compiling.pop(key, None)
            return entry

    def _put(self, key: PlanKey, entry: Entry) -> None:
        with self._lock:
            self._entries[key] = entry
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)

    def clear(self) -> None:
        """Forget every plan."""
        with self._lock:
            self._entries.clear()


plan_cache = PlanCache()
"""The cache of this process."""


def lookup(roots: Sequence[GraphNode]) -> tuple[Entry, Program]:
    """The compiled plan of a graph, from the cache if its key is known.

    Where no kernel can be made in the order of contractions that was chosen, the one that was written is taken.
    """
    nodes = topological(roots)
    ordered = order_contractions(roots, nodes)
    if all([a is b for a, b in zip(ordered, roots, strict=True)]):
        return _lookup(roots, nodes)
    try:
        return _lookup(ordered, topological(ordered))
    except LoweringError:
        return _lookup(roots, nodes)


def _lookup(roots: Sequence[GraphNode], nodes: Sequence[GraphNode]) -> tuple[Entry, Program]:
    program = linearize(roots, nodes)
    entry = plan_cache.get(program.key)
    if entry is None:
        entry = plan_cache.get_or_compile(program.key, roots)
    return entry, program


def lookup_whole(program: Program) -> Entry:
    """The compiled plan of a program with all that leads to it, under the settings that it was made under."""
    with config(**asdict(program.key[-1])):
        return plan_cache.get_or_compile(program.key, program.roots, whole=True)


def run_graph(roots: Sequence[GraphNode]) -> list[FiberTensor]:
    """The results of a graph, in order."""
    return run_entry(*lookup(roots))


def run_entry(entry: Entry, program: Program) -> list[FiberTensor]:
    """The results of a plan for these operands, in order."""
    try:
        return entry.executable.run(*bind(entry.built, program.tensors, program.scalars))
    except NeedsWideIndices:  # a plan from disk cannot widen its results
        whole = lookup_whole(program)
        return whole.executable.run(*bind(whole.built, program.tensors, program.scalars))


def _from_disk(key: PlanKey) -> Entry | None:
    """The plan that another process has compiled, if there is one."""
    if current().backend != "numba":
        return None
    found = restore_plan(key)
    if found is None:
        return None
    binding, program = found
    return Entry(binding, program, restored=True)


def _compiled(key: PlanKey, roots: Sequence[GraphNode]) -> Entry:
    """Compile a plan, and leave it to other processes."""
    entry = compile_graph(roots)
    program = entry.executable.stored() if isinstance(entry.executable, Storable) else None
    if program is not None and current().backend == "numba":
        store_plan(key, entry.built, program)
    return entry


def compile_graph(roots: Sequence[GraphNode]) -> Entry:
    """Build the Logic IR of a graph and hand it to the compiler, which is loaded when first needed.

    A program with host nodes is kept as it is, and its segments are planned when it runs: each on the formats that the
    steps before it gave.
    """
    if is_staged(roots):
        return Entry(*stage_program(roots, run_graph))
    built = build_logic(roots)
    leaves = [node for node in topological(roots) if node.kind == "tensor"]
    wide = any("w" in node.params[1] for node in leaves)
    executable = load_compiler()(
        built.plan, extents=built.extents, huge=_huge(leaves, built), wide=wide, names=built.names
    )
    return Entry(built, executable)


def _huge(leaves: Sequence[GraphNode], built: "BuiltPlan") -> dict[str, tuple[int, ...]]:
    """The huge axes of each slot; slots are the distinct tensors of the leaves, in order."""
    distinct = {id(node.data): node for node in leaves}
    return dict(zip(built.slots, map(huge_axes, distinct.values()), strict=True))


def load_compiler() -> Callable[..., Executable]:
    """`compile_logic`, imported when first needed: planning from the cache never needs it."""
    compiler: Callable[..., Executable] = importlib.import_module("finchsched.autoschedule.driver").compile_logic
    return compiler
