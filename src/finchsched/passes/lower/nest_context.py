"""What every part of lowering one nest works with: its target, its names, and the parameters met so far."""

from collections.abc import Iterator

from finchsched.algebra.dtypes import INT64
from finchsched.algebra.operators import identity, operator, result_type
from finchsched.ast.kernel import KernelExpr
from finchsched.ast.loop import Access, Assign, Nest, Scalar, Stmt, Tensor
from finchsched.ast.looplet import Fill, Truth
from finchsched.ast.names import Names
from finchsched.ast.node import Node, walk
from finchsched.ast.scalar import Literal, Value
from finchsched.passes.lower.coiterate import Leaves
from finchsched.passes.lower.decisions import Decisions
from finchsched.passes.lower.expressions import lower_expr
from finchsched.passes.lower.parameters import Parameters, equal_extents
from finchsched.passes.lower.pattern import pattern_source, scalar_fills, target_assign, workspaces
from finchsched.passes.lower.scope import Coords, Env, Scope
from finchsched.passes.lower.structural import Simplifier, Structural
from finchsched.passes.lower.targets import ScatterTarget, SharedTarget, make_target

__all__ = ["NestContext"]


class NestContext:
    """The names, parameters and target of one nest.

    op: how the target is updated.  written: accesses that the nest assigns.  workspaces: tensors that it declares;
    frozen: those of them that are being read.  decisions: what was asked of the prover.
    """

    def __init__(self, nest: Nest) -> None:
        assign = target_assign(nest)
        assert isinstance(assign.target, Access)
        self.nest = nest
        self.op = assign.op
        self.names = Names(tuple(_taken(nest)))
        self.simplifier = Simplifier(nest.target.type.fill, scalar_fills(nest.body))
        self.target = make_target(assign.target, nest.assembly, assign.op, self.names)
        self.written = {s.target for s in walk(nest.body) if isinstance(s, Assign) and isinstance(s.target, Access)}
        self.workspaces = set(workspaces(nest))
        self.frozen: set[Tensor] = set()
        self.parameters = Parameters()
        self.decisions = Decisions(tuple(("eq", a, b) for a, b in equal_extents(nest)))
        if isinstance(self.target, SharedTarget):
            self.target.model = pattern_source(nest.body, nest.target)

    @property
    def initial(self) -> Node:
        """What every element of the target is before anything is assigned."""
        found = self.nest.target.type
        return found.fill if self.op is None else Literal(identity(self.op, found.dtype), found.dtype)

    @property
    def counting(self) -> bool:
        """Whether this is the first run of a counting sort, which needs no values."""
        return isinstance(self.target, ScatterTarget) and not self.target.filling

    def expr(self, expr: Node, env: Env, coords: Coords) -> KernelExpr:
        """The kernel expression of a Loop IR expression."""
        return lower_expr(expr, Scope(env, coords), self.parameters)

    def body_given(self, body: Stmt, leaves: Leaves) -> Stmt:
        """`body` simplified for accesses that are structural and masks that are decided."""
        known: dict[Node, Node] = {}
        for key, leaf in leaves.items():
            if isinstance(leaf, Fill) and isinstance(key, Access):
                known[key] = Structural(key.tensor.type.fill)
            elif isinstance(leaf, Truth):
                known[key] = Literal(leaf.value, result_type(operator("eq"), INT64, INT64)[1])
        return self.simplifier.stmt(body, known) if known else body


def _taken(nest: Nest) -> Iterator[str]:
    """Names that kernel variables must stay clear of."""
    yield from ("lo", "hi", "status", "np", "U")
    for node in walk(nest):
        if isinstance(node, Tensor | Scalar | Value):
            yield node.name
