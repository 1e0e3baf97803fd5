"""Read the source of a copy, not the copy.

    S[i, j] := Reorder(A[i, j], [i, j])
    R[i] := Reorder(Aggregate(add, 0.0: float64, S[i, j], [j]), [i])
      ->
    R[i] := Reorder(Aggregate(add, 0.0: float64, A[i, j], [j]), [i])

A result keeps its query, so that copying an input makes a new tensor.  A result that copies an alias which is no
result takes over the query that makes the alias instead, and whatever reads the alias reads the result.

Needs: `push_fields`.  Keeps: all other right-hand sides, all results.

Source: `propagate_copy_queries` of Finch's logical compiler.
"""

from finchsched.ast.logic import Plan
from finchsched.passes.logic.redirect_tables import redirect_tables
from finchsched.rewrite.rule import RuleContext

__all__ = ["propagate_copy_queries"]


def propagate_copy_queries(plan: Plan, ctx: RuleContext) -> Plan:
    """S[i, j] := x[i, j];  f(S)  ->  f(x)"""
    return redirect_tables(plan, permuted=False)
