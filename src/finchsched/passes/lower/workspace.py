"""A workspace: one dense row with the list of the coordinates touched, sorted before it is read (a SparseByteMap)."""

from finchsched.algebra.dtypes import UINT64
from finchsched.algebra.operators import Operator
from finchsched.ast.kernel import ZERO, Const, For, KernelExpr, KernelStmt, Load, Seq, Set, SortRange, Store, Var
from finchsched.ast.loop import Tensor
from finchsched.ast.names import Names
from finchsched.formats.buffers import level_buffer, value_buffer
from finchsched.formats.unfurl import plus, workspace_count
from finchsched.passes.lower.kernel_terms import advance, binary, cast, equal, less, when

__all__ = ["insert", "sort_touched"]

DENSELY = 32
"""A row of which more than one coordinate in so many is touched is scanned: sorting one costs about as much as reading
so many bytes."""


def insert(tensor: Tensor, op: Operator | None, value: KernelExpr, at: KernelExpr) -> list[KernelStmt]:
    """Add to a workspace: the first touch of a coordinate lists it."""
    tbl, crd = (level_buffer(tensor.name, tensor.type, 0, role, writable=True) for role in ("tbl", "crd"))
    values = value_buffer(tensor.name, tensor.type, writable=True)
    count = workspace_count(tensor.name)
    fresh: list[KernelStmt] = [
        Store(tbl, at, Const(1, tbl.dtype)),
        Store(crd, count, cast(at, crd.dtype)),
        advance(count),
        Store(values, at, value),
    ]
    again = value if op is None else binary(op.name, Load(values, at), value)
    return when(equal(Load(tbl, at), Const(0, tbl.dtype)), fresh, [Store(values, at, again)])


def sort_touched(tensor: Tensor, extent: KernelExpr, names: Names) -> list[KernelStmt]:
    """Sort the touched coordinates of a workspace, or list them anew where the row is densely touched.

    extent: of the row.
    """
    tbl, crd, scratch = (
        level_buffer(tensor.name, tensor.type, 0, role, writable=True) for role in ("tbl", "crd", "tmp")
    )
    count = workspace_count(tensor.name)
    here = Var(names.fresh("c"), UINT64)
    listed: tuple[KernelStmt, ...] = (
        Store(crd, count, cast(here, crd.dtype)),
        Set(count, plus(count, cast(Load(tbl, here), UINT64))),
    )
    scan: list[KernelStmt] = [Set(count, ZERO), For(here, ZERO, extent, Seq(listed))]
    densely = less(extent, binary("mul", count, Const(DENSELY, UINT64)))
    return when(densely, scan, [SortRange(crd, ZERO, count, scratch)])
