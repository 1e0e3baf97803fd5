"""When one flat loop does for a nest: it needs only the stored values of one tensor, in storage order, or that tensor
is a list of coordinates and all else is found at a coordinate at once.
"""

from finchsched.ast.format import is_sparse, storage_order
from finchsched.ast.loop import Access, Assign, Block, Index, Loop, Stmt
from finchsched.formats.levels import SparseCOO, SparseList
from finchsched.formats.levels.sparse_coo import counted_at
from finchsched.passes.lower.structural import Simplifier, Structural, accesses, is_empty, uses_coordinate
from finchsched.passes.lower.targets import DenseTarget, ScatterTarget, SharedTarget, Target

__all__ = ["flat_plan", "list_plan"]


def flat_plan(stmt: Loop, target: Target, simplifier: Simplifier) -> tuple[Access, Stmt, str] | None:
    """(the operand, the loop body, the last index if its coordinate is needed or "") for a nest that can run flat, or
    None.

    The loops must be exactly the operand's indices in storage order; the body assignments that vanish where the
    operand is structural and mention no index, except that a column (the operand's last index) may address the
    target.
    """
    loops, body = _perfect_nest(stmt)
    assigns = body.body if isinstance(body, Block) else (body,)
    if not all(isinstance(s, Assign) for s in assigns):
        return None
    read = {n for s in assigns if isinstance(s, Assign) for n in accesses(s.rhs)}
    if len(read) != 1:
        return None
    access = read.pop()
    storage = storage_order(access.tensor.type, access.index)
    if storage != tuple(Index(name) for name in loops) or len(set(loops)) != len(loops):
        return None
    vanishes = is_empty(simplifier.stmt(body, {access: Structural(access.tensor.type.fill)}))
    if not vanishes and is_sparse(access.tensor.type):
        return None
    if any(uses_coordinate(s.rhs) for s in assigns if isinstance(s, Assign)):
        return None
    last = _needed_column(target, access, loops)
    return None if last is None else (access, body, last)


def list_plan(stmt: Loop, target: Target, simplifier: Simplifier) -> tuple[Access, Stmt] | None:
    """(the operand, the loop body) for a nest that can run over the entries of one list of coordinates, or None.

    The loops must be the list's indices in storage order; the body assignments that vanish where it is structural; all
    other operands dense, and the target dense too, or with the list's own coordinates.
    """
    loops, body = _perfect_nest(stmt)
    assigns = body.body if isinstance(body, Block) else (body,)
    read = [n for s in assigns if isinstance(s, Assign) for n in accesses(s.rhs)]
    lists = [access for access in dict.fromkeys(read) if is_sparse(access.tensor.type)]
    if not all(isinstance(s, Assign) for s in assigns) or len(lists) != 1:
        return None
    access = lists[0]
    whole = counted_at(access.tensor.type.levels, 0) == len(access.index) - 1
    storage = storage_order(access.tensor.type, access.index)
    if not whole or storage != tuple(Index(name) for name in loops) or len(set(loops)) != len(loops):
        return None
    if not is_empty(simplifier.stmt(body, {access: Structural(access.tensor.type.fill)})):
        return None
    shared = isinstance(target, SharedTarget) and target.model == access
    return (access, body) if isinstance(target, DenseTarget) or shared else None


def _perfect_nest(stmt: Stmt) -> tuple[list[str], Stmt]:
    loops: list[str] = []
    while isinstance(stmt, Loop):
        loops.append(stmt.index.name)
        stmt = stmt.body
    return loops, stmt


def _needed_column(target: Target, access: Access, loops: list[str]) -> str | None:
    """The index whose coordinate the target needs ("" for none), or None if a flat loop cannot address it."""
    if isinstance(target, SharedTarget):
        return "" if target.model == access else None
    if isinstance(target, DenseTarget) and target.rank == 0:
        return ""
    by_column = isinstance(access.tensor.type.levels[-1], SparseList | SparseCOO) and loops[-1] == target.index[0]
    if isinstance(target, DenseTarget):
        return loops[-1] if target.rank == 1 and by_column else None
    if isinstance(target, ScatterTarget):
        return loops[-1] if target.rank == 2 and not target.filling and by_column else None
    return None
