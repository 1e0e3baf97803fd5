"""What is worked out before a body: the values of resolved accesses, and what does not change in further loops."""

from collections.abc import Iterator

from finchsched.ast.kernel import ZERO, Const, KernelStmt, Load, Set, Store, Var
from finchsched.ast.loop import Access, Assign, Define, If, Scalar, Stmt
from finchsched.ast.node import Node, walk
from finchsched.formats.buffers import level_buffer, value_buffer
from finchsched.passes.lower.nest_context import NestContext
from finchsched.passes.lower.scope import Coords, Cursor, Env
from finchsched.passes.lower.structural import accesses, expr_dtype, invariant_calls
from finchsched.rewrite import PreWalk, rewrite

__all__ = ["bind_values", "hoist_invariants"]


def bind_values(context: NestContext, body: Stmt, env: Env) -> list[KernelStmt]:
    """Load what is fully resolved into a local variable: later stores could not be seen to leave it alone.

    The variables are entered in `env`.
    """
    out: list[KernelStmt] = []
    for access in () if context.counting else dict.fromkeys(_read_accesses(body)):
        cursor = env.get(access, Cursor(0, ZERO))
        if not isinstance(cursor, Cursor) or cursor.level < len(access.index):
            continue
        tensor = access.tensor
        var = Var(context.names.fresh(f"{tensor.name}_v"), tensor.type.dtype)
        workspace = tensor in context.workspaces
        out.append(Set(var, Load(value_buffer(tensor.name, tensor.type, writable=workspace), cursor.position)))
        if workspace:
            tbl = level_buffer(tensor.name, tensor.type, 0, "tbl", writable=True)
            out.append(Store(tbl, cursor.position, Const(0, tbl.dtype)))
        env[access] = var
    return out


def hoist_invariants(context: NestContext, body: Stmt, env: Env, coords: Coords) -> tuple[list[KernelStmt], Stmt]:
    """Statements that work out before further loops what does not change in them, and the body that reads it."""

    def is_known(node: Node) -> bool:
        return isinstance(node, Access) and isinstance(env.get(node), Var)

    out: list[KernelStmt] = []
    found: dict[Node, Scalar] = {}
    for call in invariant_calls(body, is_known, coords):
        scalar = Scalar(context.names.fresh("once"), expr_dtype(call))
        found[call] = scalar
        context.simplifier.scalar_fills[scalar.name] = context.simplifier.fill(call)
        out.append(Set(Var(scalar.name, scalar.dtype), context.expr(call, env, coords)))
    return out, rewrite(body, PreWalk(lambda node, _: found.get(node))) if found else body


def _read_accesses(body: Stmt) -> Iterator[Access]:
    """Accesses that are read, not written, in order of appearance."""
    for node in walk(body):
        match node:
            case Assign(_, _, rhs):
                yield from accesses(rhs)
            case Define(_, init):
                yield from accesses(init)
            case If(cond, _):
                yield from accesses(cond)
