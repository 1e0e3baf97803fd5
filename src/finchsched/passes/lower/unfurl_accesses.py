"""Every access that follows a loop, and every comparison of its index, as a looplet."""

from finchsched.ast.kernel import ZERO
from finchsched.ast.loop import Access, Index, Stmt
from finchsched.ast.looplet import Child, Lookup, Looplet, Sequence
from finchsched.ast.node import walk
from finchsched.ast.scalar import Call
from finchsched.errors import LoweringError
from finchsched.formats.unfurl import HOLE, or_empty, unfurl
from finchsched.passes.lower.coiterate import Leaves
from finchsched.passes.lower.masks import mask_of, mask_phases
from finchsched.passes.lower.nest_context import NestContext
from finchsched.passes.lower.scope import Coords, Cursor, Env, storage
from finchsched.passes.lower.structural import accesses

__all__ = ["unfurl_accesses"]


def unfurl_accesses(context: NestContext, index: str, body: Stmt, env: Env, coords: Coords) -> Leaves:
    """The looplets of a loop over `index`.  Raises LoweringError for an access that is not concordant."""
    looplets: Leaves = {}
    for access in dict.fromkeys(accesses(body)):
        looplet = _unfurl(context, index, access, env)
        if looplet is not None:
            looplets[access] = looplet
    for node in walk(body):
        if isinstance(node, Call):
            mask = _mask(context, index, node, env, coords)
            if mask is not None:
                looplets[node] = mask
    return looplets


def _unfurl(context: NestContext, index: str, access: Access, env: Env) -> Looplet | None:
    cursor = env.get(access, Cursor(0, ZERO))
    if not isinstance(cursor, Cursor):
        return None
    indices = storage(access)
    is_target = access == context.target.access
    if cursor.level >= len(indices) or indices[cursor.level] != Index(index):
        if not is_target:
            _check_concordant(index, access, cursor)
        return None
    if is_target:
        return context.target.unfurl(cursor.level, cursor.position, context.parameters.extent(index))
    if access in context.written and access.tensor not in context.frozen:
        return Lookup(HOLE, Child(HOLE))
    extent = context.parameters.extent(index)
    fiber = unfurl(access.tensor.name, access.tensor.type, cursor.level, cursor.fiber, extent, context.names)
    return fiber if cursor.present is None else or_empty(fiber, cursor.present)


def _check_concordant(index: str, access: Access, cursor: Cursor) -> None:
    indices = storage(access)
    for level in range(cursor.level + 1, len(indices)):
        if indices[level] == Index(index) and not access.tensor.type.levels[level].can_locate:
            if Index(index) in indices[:level]:
                return
            raise LoweringError(
                f"loop {index} reaches level {level} of {access.tensor.name} before the levels above it; "
                "the access is not concordant"
            )


def _mask(context: NestContext, index: str, call: Call, env: Env, coords: Coords) -> Sequence | None:
    """A comparison of this index with something known, as regions where it holds or not."""
    found = mask_of(call, index, coords)
    if found is None:
        return None
    name, bound = found
    extent = context.parameters.extent(index)
    return mask_phases(name, context.expr(bound, env, coords), extent, context.decisions)
