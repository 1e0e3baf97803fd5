"""Entering the target level by level, and writing its elements."""

from finchsched.ast.kernel import ZERO, KernelExpr, KernelStmt, Set, Var
from finchsched.ast.loop import Access, Assign, If, Loop, Scalar, Stmt
from finchsched.ast.looplet import Stepper
from finchsched.ast.node import walk
from finchsched.formats.unfurl import plus
from finchsched.passes.lower.coiterate import Region
from finchsched.passes.lower.kernel_terms import binary, cast
from finchsched.passes.lower.nest_context import NestContext
from finchsched.passes.lower.scope import Coords, Cursor, Env, cursor_of
from finchsched.passes.lower.structural import accesses
from finchsched.passes.lower.targets import AppendTarget, Point, ScatterTarget
from finchsched.passes.lower.targets.target import Around
from finchsched.passes.lower.workspace import insert

__all__ = ["assigned_in", "check_room", "enter_target", "write"]


def enter_target(context: NestContext, body: Stmt, env: Env, coords: Coords, covering: bool) -> Around:
    """Statements around `body` for the levels of the target that have been resolved; `env` says they are entered."""
    target = context.target
    access = target.access
    if isinstance(target, ScatterTarget) or access not in set(accesses(body)):
        return [], []
    cursor = cursor_of(access, env)
    opening: list[KernelStmt] = []
    closing: list[KernelStmt] = []
    indices = target.index
    levels = range(cursor.entered, cursor.level) if indices else range(-1, -1 + (cursor.entered == 0))
    for level in levels:
        point = Point(
            coords[indices[level]] if indices else ZERO,
            assigned_in(Loop, body, access),
            set(coords) <= set(indices),
            covering and not assigned_in(If, body, access),
            {name: context.parameters.extent(name) for name in indices[level + 1 :]},
        )
        pre, post = target.enter(level, cursor.position, point)
        opening += pre
        closing = [*post, *closing]
    env[access] = Cursor(cursor.level, cursor.position, cursor.level if indices else 1)
    return opening, closing


def assigned_in(kind: type[Loop | If | Assign], body: Stmt, access: Access) -> bool:
    """Whether an access is assigned to; inside further loops, or conditions, if these are the kind."""
    return any(
        isinstance(node, kind) and any(isinstance(n, Assign) and n.target == access for n in walk(node))
        for node in walk(body)
    )


def write(context: NestContext, stmt: Assign, value: KernelExpr, env: Env, coords: Coords) -> list[KernelStmt]:
    """Statements that assign a value already worked out: to a scalar, to a workspace, or to the target."""
    if isinstance(stmt.target, Scalar):
        var = Var(stmt.target.name, stmt.target.dtype)
        return [Set(var, value if stmt.op is None else binary(stmt.op.name, var, cast(value, var.dtype)))]
    if isinstance(context.target, ScatterTarget):
        return context.target.scatter(coords, value)
    cursor = env[stmt.target]
    assert isinstance(cursor, Cursor)
    if stmt.target.tensor in context.workspaces:
        return insert(stmt.target.tensor, stmt.op, value, cursor.position)
    return context.target.assign(stmt.op, value, cursor.position)


def check_room(
    context: NestContext, region: Region, steppers: list[Stepper], outermost: KernelExpr
) -> list[KernelStmt]:
    """For a resumable target: check once that a whole fiber fits, or return from the iteration at `outermost`."""
    target = context.target
    if not isinstance(target, AppendTarget) or not target.resumable or target.access not in region.looplets:
        return []
    level = target.index.index(region.index)
    if level == 0 or level not in target.sparse_levels:
        return []
    more: KernelExpr = binary("sub", region.hi, region.lo)
    if steppers:
        more = ZERO
        for stepper in steppers:
            more = plus(more, binary("sub", stepper.end, stepper.var))
    context.parameters.capacity(target.capacity(level), target.tensor.name, level)
    return target.check_room(level, more, outermost)
