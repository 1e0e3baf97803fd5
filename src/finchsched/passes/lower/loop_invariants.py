"""What can be read off the statements of a loop: which variables they set, step, or test."""

from collections.abc import Sequence
from math import inf

from finchsched.ast.kernel import Apply, Const, For, If, KernelExpr, Return, Search, Seq, Set, Var, While
from finchsched.ast.node import Node, walk

__all__ = ["always_returns", "assigned", "bounds_tested", "excess", "only_advanced"]


def always_returns(body: Seq) -> bool:
    """Whether the last statement leaves the kernel."""
    return bool(body.body) and isinstance(body.body[-1], Return)


def assigned(body: Node) -> dict[str, Var]:
    """The variables that statements set, by name, in order."""
    return {node.var.name: node.var for node in walk(body) if isinstance(node, Set | Search | For)}


def _is_step(node: Set) -> bool:
    """Whether a statement is `v = v + 1`."""
    match node.value:
        case Apply(op, (Var() as var, Const(1, _)), _):
            return op.name == "add" and var == node.var
        case _:
            return False


def only_advanced(body: Node) -> dict[str, Var]:
    """Variables that statements only ever step by one, by name."""
    others = {n.var.name for n in walk(body) if isinstance(n, Search | For) or (isinstance(n, Set) and not _is_step(n))}
    return {name: var for name, var in assigned(body).items() if name not in others}


def excess(body: Node, counter: str, others: Sequence[str] = ()) -> float:
    """By how many steps a counter can get ahead of others on a way through statements; infinite if that is not known.

    None of them is set but by steps.
    """
    match body:
        case Seq(stmts):
            return sum(excess(stmt, counter, others) for stmt in stmts)
        case If(_, then, orelse):
            return max(excess(then, counter, others), excess(orelse, counter, others))
        case For() | While():
            return inf if counter in assigned(body) else 0  # that the others are stepped there too only helps
        case Set(var, _):
            return 1 if var.name == counter else -1 if var.name in others else 0
        case _:
            return 0


def bounds_tested(cond: KernelExpr, body: Node) -> dict[str, Var]:
    """For each variable `v` that a conjunction tests as `v < bound`, the bound, if statements leave it alone."""
    found: dict[str, Var] = {}
    own = assigned(body)
    stack = [cond]
    while stack:
        match stack.pop():
            case Apply(op, args, _) if op.name == "and":
                stack.extend(reversed(args))
            case Apply(op, (Var(name, _), Var() as bound), _) if op.name == "lt" and bound.name not in own:
                found[name] = bound
            case _:
                pass
    return found
