"""Give every Subquery a query of its own, before its first use.

    R[i] := MapJoin(add, Subquery(S, MapJoin(mul, x[i], x[i])), Subquery(S, MapJoin(mul, x[i], x[i])))
      ->
    S[i] := MapJoin(mul, x[i], x[i])
    R[i] := MapJoin(add, S[i], S[i])

Needs: a valid plan, so that one alias has one right-hand side.  Keeps: the order of evaluation, every type.  Time and
memory are linear in the number of distinct nodes, however often a Subquery stands in the tree.

Source: `lift_subqueries` of Finch's logical compiler.
"""

from finchsched.ast.facts import fields
from finchsched.ast.logic import LogicExpr, Plan, Query, Subquery, Table
from finchsched.passes.logic.query_root import operands, with_operands
from finchsched.rewrite.rule import RuleContext

__all__ = ["lift_subqueries"]


def lift_subqueries(plan: Plan, ctx: RuleContext) -> Plan:
    """Subquery(S, x)  ->  S := x before the query;  S[fields of x] in the place of every use."""
    reads: dict[str, Table] = {}
    bodies: list[Query] = []
    for query in plan.bodies:
        rhs = _lift(query.rhs, reads, bodies)
        bodies.append(query.replace(rhs=rhs))
    return plan if tuple(bodies) == plan.bodies else Plan(tuple(bodies), plan.result)


def _lift(root: LogicExpr, reads: dict[str, Table], bodies: list[Query]) -> LogicExpr:
    """`root` without Subqueries; their queries are appended to `bodies`, inner ones first."""
    done: dict[int, LogicExpr] = {}
    stack: list[tuple[LogicExpr, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        if isinstance(node, Subquery) and node.alias.name in reads:
            done[id(node)] = reads[node.alias.name]
        elif not ready:
            stack.append((node, True))
            stack.extend((arg, False) for arg in reversed(operands(node)))
        elif isinstance(node, Subquery):
            arg = done[id(node.arg)]
            bodies.append(Query(node.alias, arg, ()))
            reads[node.alias.name] = Table(node.alias, fields(arg))
            done[id(node)] = reads[node.alias.name]
        else:
            done[id(node)] = with_operands(node, [done[id(arg)] for arg in operands(node)])
            fields(done[id(node)])
    return done[id(root)]
