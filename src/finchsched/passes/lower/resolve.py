"""Resolving accesses whose next coordinate is known without a loop."""

from finchsched.algebra.dtypes import UINT64
from finchsched.ast.kernel import ONE, ZERO, Const, KernelExpr
from finchsched.ast.loop import Access, Index
from finchsched.ast.looplet import Child, Looplet, Run
from finchsched.ast.scalar import Literal, constant_coordinate
from finchsched.formats.unfurl import locate
from finchsched.passes.lower.nest_context import NestContext
from finchsched.passes.lower.scope import Coords, Cursor, Env, cursor_of, storage
from finchsched.passes.lower.targets import AppendTarget, ScatterTarget, SharedTarget

__all__ = ["locate_access", "mirror_model", "must_decide", "next_known"]


def next_known(context: NestContext, access: Access, env: Env, coords: Coords) -> KernelExpr | None:
    """The coordinate of the access's next level, if it is known without a loop."""
    cursor = env.get(access, Cursor(0, ZERO))
    is_target = access == context.target.access
    if not isinstance(cursor, Cursor) or (access in context.written and not is_target):
        return None
    if is_target and isinstance(context.target, ScatterTarget | SharedTarget):
        return None
    indices = storage(access)
    if cursor.level >= len(indices):
        return None
    match indices[cursor.level]:
        case Literal() as constant:
            return Const(constant_coordinate(constant), UINT64)
        case Index(name):
            return coords.get(name)
    return None


def locate_access(context: NestContext, access: Access, cursor: Cursor, coordinate: KernelExpr) -> Looplet:
    """The child of the access's next level at a coordinate."""
    target = context.target
    if access == target.access and isinstance(target, AppendTarget) and target.unsorted:
        return Run(Child(target.count(cursor.level)))
    index = storage(access)[cursor.level]
    extent: KernelExpr = context.parameters.extent(index.name) if isinstance(index, Index) else ONE
    tensor = access.tensor
    return locate(tensor.name, tensor.type, cursor.level, cursor.fiber, coordinate, extent, context.names)


def must_decide(context: NestContext, access: Access, env: Env, coords: Coords) -> bool:
    """Whether it must be known now if an access is there that may be absent: only stepping needs not to know."""
    cursor = env.get(access)
    if not isinstance(cursor, Cursor) or cursor.present is None:
        return False
    levels = access.tensor.type.levels
    return (
        cursor.level == len(levels)
        or levels[cursor.level].can_locate
        or next_known(context, access, env, coords) is not None
    )


def mirror_model(context: NestContext, env: Env) -> None:
    """Put a shared target where its model is."""
    target = context.target
    if isinstance(target, SharedTarget) and target.model is not None:
        model = env.get(target.model)
        if isinstance(model, Cursor):
            entered = cursor_of(target.access, env).entered
            env[target.access] = Cursor(model.level, model.position, entered)
