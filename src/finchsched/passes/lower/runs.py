"""Constant runs: a body that does the same at every coordinate of a run is applied n-fold at once.

An idempotent reduction happens once, a sum is one multiplication, a product is doubled up in O(log n).
"""

from collections.abc import Callable

from finchsched.algebra.dtypes import UINT64, DType
from finchsched.algebra.operators import operator
from finchsched.ast.kernel import ONE, ZERO, Apply, Const, KernelExpr, KernelStmt, Seq, Set, Var, While
from finchsched.ast.loop import Access, Assign, Block, Scalar
from finchsched.ast.names import Names
from finchsched.ast.node import Node, walk
from finchsched.passes.lower.coiterate import Region
from finchsched.passes.lower.kernel_terms import binary, cast, equal, less, when
from finchsched.passes.lower.structural import uses_index

__all__ = ["collapse_run"]

Evaluate = Callable[[Node], KernelExpr]
Write = Callable[[Assign, KernelExpr], list[KernelStmt]]


def collapse_run(region: Region, names: Names, evaluate: Evaluate, write: Write) -> list[KernelStmt] | None:
    """The body of a run, which is not empty, applied once for all coordinates; None if it depends on the coordinate."""
    if region.looplets or uses_index(region.body, region.index):
        return None
    stmts = region.body.body if isinstance(region.body, Block) else (region.body,)
    count = binary("sub", region.hi, region.lo)
    out: list[KernelStmt] = []
    for stmt in stmts:
        if not isinstance(stmt, Assign) or not _is_invariant(stmt):
            return None
        repeated = _repeat(stmt, count, names, evaluate, write)
        if repeated is None:
            return None
        out += repeated
    return out


def _target_dtype(target: Access | Scalar) -> DType:
    """The element type of what an assignment writes."""
    return target.dtype if isinstance(target, Scalar) else target.tensor.type.dtype


def _is_invariant(stmt: Assign) -> bool:
    """Whether an assignment does the same at every coordinate of a loop that it does not mention."""
    return isinstance(stmt.target, Access) or not any(n == stmt.target for n in walk(stmt.rhs))


def _repeat(stmt: Assign, count: KernelExpr, names: Names, evaluate: Evaluate, write: Write) -> list[KernelStmt] | None:
    op, dtype = stmt.op, _target_dtype(stmt.target)
    value = evaluate(stmt.rhs)
    if op is None or op.idempotent or (op.name in ("add", "mul") and dtype.is_bool):
        return write(stmt, value)
    if op.name in ("add", "minplus_add", "maxplus_add"):
        times = Var(names.fresh("times"), dtype)
        return [Set(times, cast(count, dtype)), *write(stmt, binary("mul", value, times))]
    if op.name == "mul":
        return _by_doubling(stmt, value, count, names, write)
    return None


def _by_doubling(stmt: Assign, value: KernelExpr, count: KernelExpr, names: Names, write: Write) -> list[KernelStmt]:
    dtype = _target_dtype(stmt.target)
    left = Var(names.fresh("left"), UINT64)
    power = Var(names.fresh("power"), dtype)
    total = Var(names.fresh("total"), dtype)
    two = Const(2, UINT64)
    odd = equal(Apply(operator("mod"), (left, two), UINT64), ONE)
    body: list[KernelStmt] = [
        *when(odd, [Set(total, binary("mul", total, power))]),
        Set(power, binary("mul", power, power)),
        Set(left, Apply(operator("floordiv"), (left, two), UINT64)),
    ]
    one = Const(dtype.numpy.type(1).item(), dtype)
    loop = While(less(ZERO, left), Seq(tuple(body)))
    return [Set(left, count), Set(power, value), Set(total, one), loop, *write(stmt, total)]
