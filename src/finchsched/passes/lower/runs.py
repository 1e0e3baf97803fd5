"""Constant runs: a body that does the same at every coordinate of a run is applied n-fold at once.

An idempotent reduction happens once, a sum is one multiplication, a product is doubled up in O(log n).
"""

from collections.abc import Callable
from functools import partial, reduce

from finchsched.algebra.dtypes import INT64, UINT64, DType
from finchsched.algebra.operators import operator
from finchsched.ast.kernel import ONE, ZERO, Apply, Const, KernelExpr, KernelStmt, Seq, Set, Var, While
from finchsched.ast.loop import Access, Assign, Block, Loop, Scalar
from finchsched.ast.names import Names
from finchsched.ast.node import Node, walk
from finchsched.passes.lower.coiterate import Region
from finchsched.passes.lower.kernel_terms import binary, cast, equal, less, when
from finchsched.passes.lower.structural import uses_index

__all__ = ["collapse_run"]

Evaluate = Callable[[Node], KernelExpr]
Write = Callable[[Assign, KernelExpr], list[KernelStmt]]
Extent = Callable[[str], KernelExpr]


def collapse_run(
    region: Region, names: Names, evaluate: Evaluate, write: Write, extent: Extent
) -> list[KernelStmt] | None:
    """The body of a run, which is not empty, applied once for all coordinates; None if it depends on the coordinate.

    Loops inside the body that it does not depend on either are part of the run, so that a gap of rows without entries
    costs no more than one.
    """
    if region.looplets or uses_index(region.body, region.index):
        return None
    counts: list[KernelExpr] = [binary("sub", region.hi, region.lo)]
    body = region.body
    while isinstance(body, Loop) and not uses_index(body.body, body.index.name):
        counts.append(extent(body.index.name))
        body = body.body
    out: list[KernelStmt] = []
    for stmt in body.body if isinstance(body, Block) else (body,):
        if not isinstance(stmt, Assign) or not _is_invariant(stmt):
            return None
        repeated = _repeat(stmt, counts, names, evaluate, write)
        if repeated is None:
            return None
        out += repeated
    for count in counts[1:]:
        out = when(less(ZERO, count), out)
    return out


def _target_dtype(target: Access | Scalar) -> DType:
    """The element type of what an assignment writes."""
    return target.dtype if isinstance(target, Scalar) else target.tensor.type.dtype


def _is_invariant(stmt: Assign) -> bool:
    """Whether an assignment does the same at every coordinate of a loop that it does not mention."""
    return isinstance(stmt.target, Access) or not any(n == stmt.target for n in walk(stmt.rhs))


def _repeat(
    stmt: Assign, counts: list[KernelExpr], names: Names, evaluate: Evaluate, write: Write
) -> list[KernelStmt] | None:
    op, dtype = stmt.op, _target_dtype(stmt.target)
    value = evaluate(stmt.rhs)
    if op is None or op.idempotent or (op.name in ("add", "mul") and dtype.is_bool):
        return write(stmt, value)
    if op.name in ("add", "minplus_add", "maxplus_add"):
        if dtype.is_complex:  # part by part
            repeated = reduce(lambda sum_, count: binary("repeat_add", sum_, cast(count, INT64)), counts, value)
            return write(stmt, repeated)
        times = Var(names.fresh("times"), dtype)
        # A product of counts may exceed 64 bits, so they are multiplied in the type of the sum.
        number = reduce(partial(binary, "mul"), [cast(count, dtype) for count in counts])
        return [Set(times, number), *write(stmt, binary("mul", value, times))]
    if op.name == "mul":
        out: list[KernelStmt] = []
        for count in counts:
            value, steps = _by_doubling(dtype, value, count, names)
            out += steps
        return [*out, *write(stmt, value)]
    return None


def _by_doubling(
    dtype: DType, value: KernelExpr, count: KernelExpr, names: Names
) -> tuple[KernelExpr, list[KernelStmt]]:
    """`value` multiplied `count` times, and the statements that work it out."""
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
    return total, [Set(left, count), Set(power, value), Set(total, one), loop]
