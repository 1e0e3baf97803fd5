"""Read the source of a transpose with its indices permuted, not the transpose.

    S[j, i] := Reorder(A[i, j], [j, i])
    R[k] := Reorder(Aggregate(add, 0.0: float64, S[k, l], [l]), [k])
      ->
    R[k] := Reorder(Aggregate(add, 0.0: float64, A[l, k], [l]), [k])

A result keeps its query, so that transposing an input makes a new tensor.  A result that transposes an alias which is
no result takes over the query that makes the alias instead: that is computed in the result's axes, and whatever reads
the alias reads the result.

Needs: `push_fields`.  Keeps: all other right-hand sides, all results.

Source: `propagate_transpose_queries` of Finch's logical compiler.
"""

from finchsched.ast.logic import Plan
from finchsched.passes.logic.redirect_tables import redirect_tables
from finchsched.rewrite.rule import RuleContext

__all__ = ["propagate_transpose_queries"]


def propagate_transpose_queries(plan: Plan, ctx: RuleContext) -> Plan:
    """S[j, i] := x[i, j];  f(S[k, l])  ->  f(x[l, k])"""
    return redirect_tables(plan, permuted=True)
