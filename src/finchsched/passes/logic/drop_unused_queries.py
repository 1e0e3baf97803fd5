"""Drop the queries that no result needs.

    S[i] := Reorder(x[i], [i])
    T[i] := Reorder(S[i], [i])
    R[i] := Reorder(y[i], [i])
    return R
      ->
    R[i] := Reorder(y[i], [i])
    return R

Needs: a valid plan without Subqueries.  Keeps: every query that a result needs, in order.

Source: `drop_unused` (dead code elimination) of Finch's logical compiler.
"""

from finchsched.ast.logic import Alias, Plan, Query, Table
from finchsched.passes.logic.query_root import result_names, subexpressions
from finchsched.rewrite.rule import RuleContext

__all__ = ["drop_unused_queries"]


def drop_unused_queries(plan: Plan, ctx: RuleContext) -> Plan:
    """S := x, which nothing reads  ->  nothing"""
    needed = set(result_names(plan))
    kept: list[Query] = []
    for query in reversed(plan.bodies):
        if query.alias.name in needed:
            kept.append(query)
            needed |= {
                node.tensor.name
                for node in subexpressions(query.rhs)
                if isinstance(node, Table) and isinstance(node.tensor, Alias)
            }
    return plan if len(kept) == len(plan.bodies) else Plan(tuple(reversed(kept)), plan.result)
