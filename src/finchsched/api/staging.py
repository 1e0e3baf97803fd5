"""Programs with host operations, run in stages.

A host node is at stage s if the longest chain of host nodes that ends in it has s of them.  Before the host nodes of
stage s run, segment s is compiled and run: one program whose roots are the arguments of those nodes.  Its results, and
the host nodes' after it, are leaves of what comes later.  The last segment has the program's results.

A reduction or einsum that several segments need is one more root of the first of them, so it is computed once.
Elementwise operations in between are computed again: they would be fused anyway.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from finchsched.algebra.dtypes import Scalar
from finchsched.api.binding import Binding, ValueBinding
from finchsched.api.graph import GraphNode, is_permutation, scalar_node, substitute, tensor_node, topological
from finchsched.formats.fiber_tensor import FiberTensor

__all__ = ["CompiledStep", "HostStep", "StagedProgram", "Step", "is_staged", "run_stages", "stage_program"]

_COMPUTED_ONCE = ("reduce", "einsum")


@dataclass(frozen=True, slots=True, eq=False)
class CompiledStep:
    """A segment: the graph that was compiled, what its results are called in later steps, and, by `id` of a tensor,
    what came before it is called.
    """

    roots: tuple[GraphNode, ...]
    names: tuple[str, ...]
    known: Mapping[int, str]


@dataclass(frozen=True, slots=True, eq=False)
class HostStep:
    """A host operation in words, and what its result is called in later steps."""

    text: str
    name: str


Step: TypeAlias = CompiledStep | HostStep
Compute: TypeAlias = Callable[[Sequence[GraphNode]], list[FiberTensor]]


def is_staged(roots: Sequence[GraphNode]) -> bool:
    """Whether a program has host nodes."""
    return any(node.kind == "host" for node in topological(roots))


@dataclass(frozen=True, slots=True, eq=False)
class StagedProgram:
    """A program with host nodes, without operands: its leaves have markers instead of data.

    marks: the marker of each slot and of each value, by name.  compute: runs a program without host nodes.
    """

    template: tuple[GraphNode, ...]
    marks: Mapping[str, object]
    kinds: Mapping[str, GraphNode]
    compute: Compute

    def run(self, tensors: Mapping[str, FiberTensor], values: Mapping[str, Scalar]) -> list[FiberTensor]:
        """The results for these slots and values."""
        return run_stages(self._with(tensors, values), self.compute)

    def run_timed(
        self, tensors: Mapping[str, FiberTensor], values: Mapping[str, Scalar]
    ) -> tuple[list[FiberTensor], float]:
        """The results, and the seconds that all steps took, the look-up of their plans included."""
        start = time.perf_counter()
        results = self.run(tensors, values)
        return results, time.perf_counter() - start

    def steps(self, tensors: Mapping[str, FiberTensor], values: Mapping[str, Scalar]) -> list[Step]:
        """What a run does, in order.  It is found by running: what is compiled depends on the formats before it."""
        steps: list[Step] = []
        names = {id(tensor): name for name, tensor in tensors.items()}
        run_stages(self._with(tensors, values), self.compute, steps, names)
        return steps

    def _with(self, tensors: Mapping[str, FiberTensor], values: Mapping[str, Scalar]) -> tuple[GraphNode, ...]:
        leaves = {id(self.marks[name]): tensor_node(tensor) for name, tensor in tensors.items()}
        for name, value in values.items():
            leaves[id(self.marks[name])] = scalar_node(value, self.kinds[name].type)
        return substitute(self.template, leaves)


def stage_program(roots: Sequence[GraphNode], compute: Compute) -> tuple[Binding, StagedProgram]:
    """A program with host nodes without its operands, and what binds it to them."""
    marks: dict[str, object] = {}
    kinds: dict[str, GraphNode] = {}
    slots: dict[int, str] = {}
    new: dict[int, GraphNode] = {}
    values: list[ValueBinding] = []
    for node in topological(roots):
        if node.kind == "tensor":
            name = slots.setdefault(id(node.data), f"t{len(slots)}")
        elif node.kind == "scalar":
            name = f"v{len(values)}"
            values.append(ValueBinding(name, len(values), -1, None))
        else:
            new[id(node)] = _rebuilt(node, [new[id(arg)] for arg in node.args])
            continue
        mark = marks.setdefault(name, object())
        kinds[name] = new[id(node)] = GraphNode(node.kind, node.params, (), node.shape, node.type, mark)
    template = tuple([new[id(root)] for root in roots])
    binding = Binding(tuple(slots.values()), tuple(values))
    return binding, StagedProgram(template, marks, kinds, compute)


def _rebuilt(node: GraphNode, args: Sequence[GraphNode]) -> GraphNode:
    """The node on other arguments of the same shapes and types."""
    return GraphNode(node.kind, node.params, tuple(args), node.shape, node.type)


def run_stages(
    roots: Sequence[GraphNode],
    compute: Compute,
    steps: list[Step] | None = None,
    names: Mapping[int, str] | None = None,
) -> list[FiberTensor]:
    """The results of a program with host nodes; `steps` collects what was done, tensors called by `names`."""
    stages = _stages(roots)
    run = _Run(compute, steps, dict(names or {}))
    for segment in range(1, stages.last + 1):
        run.segment(stages.wanted.get(segment, ()))
        for node in stages.hosts.get(segment, ()):
            run.host(node)
    return [run.tensor(root) for root in roots]


@dataclass(frozen=True, slots=True)
class _Stages:
    """wanted: what each segment has to compute.  hosts: the host nodes that run after it."""

    wanted: dict[int, list[GraphNode]]
    hosts: dict[int, list[GraphNode]]
    last: int


def _stages(roots: Sequence[GraphNode]) -> _Stages:
    order = topological(roots)
    stage: dict[int, int] = {}
    hosts: dict[int, list[GraphNode]] = {}
    for node in order:
        below = max([stage[id(arg)] for arg in node.args], default=0)
        stage[id(node)] = below
        if node.kind == "host":
            stage[id(node)] = below + 1
            hosts.setdefault(below + 1, []).append(node)
    last = max(stage.values()) + 1
    wanted: dict[int, list[GraphNode]] = {}
    asked: set[tuple[int, int]] = set()
    used: dict[int, set[int]] = {id(node): set() for node in order}

    def want(node: GraphNode, segment: int) -> None:
        used[id(node)].add(segment)
        if (segment, id(node)) not in asked:
            asked.add((segment, id(node)))
            wanted.setdefault(segment, []).append(node)

    for root in roots:
        want(root, last)
    for node in reversed(order):
        if node.kind == "host":
            for arg in node.args:
                want(arg, stage[id(node)])
            continue
        segments = used[id(node)]
        first = min(segments)
        if len(segments) > 1 and (node.kind in _COMPUTED_ONCE or (first, id(node)) in asked):
            want(node, first)
            segments = {first}
        for arg in node.args:
            used[id(arg)] |= segments
    return _Stages(wanted, hosts, last)


class _Run:
    """What has been computed so far, as leaves by `id` of the node that they stand for."""

    def __init__(self, compute: Compute, steps: list[Step] | None, names: dict[int, str]) -> None:
        self.compute = compute
        self.steps = steps
        self.names = names
        self.known: dict[int, GraphNode] = {}

    def leaf(self, node: GraphNode) -> GraphNode | None:
        """The node as a tensor, if it is known or a transpose of one that is."""
        axes: list[Sequence[int]] = []
        at = node
        while (found := at if at.kind == "tensor" else self.known.get(id(at))) is None:
            if not is_permutation(at):
                return None
            axes.append(at.params)
            at = at.args[0]
        if axes:
            base: FiberTensor = found.data
            tensor = base
            for order in reversed(axes):
                tensor = tensor.transpose(order)
            found = self.known[id(node)] = tensor_node(tensor)
            if self.steps is not None:
                self.names[id(found.data)] = f"{self.names[id(base)]} transposed"
        return found

    def tensor(self, node: GraphNode) -> FiberTensor:
        """The value of a node that has been computed."""
        found = self.leaf(node)
        assert found is not None
        tensor: FiberTensor = found.data
        return tensor

    def segment(self, wanted: Iterable[GraphNode]) -> None:
        """Compute these nodes in one program, except those that are known."""
        pending = [node for node in wanted if self.leaf(node) is None]
        if not pending:
            return
        roots = self.rebuilt(pending)
        before = dict(self.names)
        for node, tensor in zip(pending, self.compute(roots), strict=True):
            self.know(node, tensor)
        if self.steps is not None:
            self.steps.append(CompiledStep(roots, tuple(self.names[id(self.tensor(node))] for node in pending), before))

    def host(self, node: GraphNode) -> None:
        """Run a host node, whose arguments are known."""
        tensors = [self.tensor(arg) for arg in node.args]
        text = node.params.describe([self.names[id(t)] for t in tensors]) if self.steps is not None else ""
        self.know(node, node.params.run(*tensors))
        if self.steps is not None:
            self.steps.append(HostStep(text, self.names[id(self.tensor(node))]))

    def know(self, node: GraphNode, tensor: FiberTensor) -> None:
        made = self.known[id(node)] = tensor_node(tensor)
        assert made.shape == node.shape
        if self.steps is not None:
            self.names[id(made.data)] = f"s{len(self.known)}"

    def rebuilt(self, roots: Sequence[GraphNode]) -> tuple[GraphNode, ...]:
        """The graphs with everything that is known as a leaf."""
        new: dict[int, GraphNode] = {}
        stack = list(roots)
        while stack:
            node = stack[-1]
            if id(node) in new:
                stack.pop()
                continue
            found = node if node.kind == "scalar" else self.leaf(node)
            if found is None:
                waiting = [arg for arg in node.args if id(arg) not in new]
                if waiting:
                    stack.extend(waiting)
                    continue
                found = _rebuilt(node, [new[id(arg)] for arg in node.args])
            new[id(node)] = found
            stack.pop()
        return tuple([new[id(root)] for root in roots])
