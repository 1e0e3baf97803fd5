"""Give tensors and values canonical names, so that plans which differ in names only are equal.

    slot A: Dense(Element(0.0: float64))
    alias out: Dense(Element(0.0: float64))
    out[i] := Reorder(MapJoin(mul, A[i], $alpha: float64 ~finite), [i])
    return out
      ->
    slot t0: Dense(Element(0.0: float64))
    alias r0: Dense(Element(0.0: float64))
    r0[i] := Reorder(MapJoin(mul, t0[i], $v0: float64 ~finite), [i])
    return r0

Slots are t0, t1, ..., aliases r0, r1, ..., values v0, v1, ... in the order of first appearance; values in fills count
too.

Needs: a valid plan.  Keeps: everything but these names; names of fields are `pretty_labels`' matter.

Source: `normalize_names` of Finch's logical compiler.
"""

from finchsched.ast.logic import Alias, Plan, Slot
from finchsched.ast.node import Node, walk
from finchsched.ast.scalar import Value
from finchsched.rewrite import PostWalk, RuleContext, rewrite, rule

__all__ = ["normalize_names"]

_STEMS: tuple[tuple[type[Slot] | type[Alias] | type[Value], str], ...] = ((Slot, "t"), (Alias, "r"), (Value, "v"))


def normalize_names(plan: Plan, ctx: RuleContext) -> tuple[Plan, dict[str, str]]:
    """The plan with canonical names, and the old name of every new one, in the order of first appearance."""
    found: dict[tuple[str, str], str] = {}
    counts = {stem: 0 for _, stem in _STEMS}
    for node in walk(plan):
        for kind, stem in _STEMS:
            if isinstance(node, kind) and (stem, node.name) not in found:
                found[stem, node.name] = f"{stem}{counts[stem]}"
                counts[stem] += 1

    @rule
    def rename(node: Node, ctx: RuleContext) -> Node | None:
        """Slot(A)  ->  Slot(t0)"""
        match node:
            case Slot(name, type_):
                return Slot(found["t", name], type_)
            case Alias(name, type_):
                return Alias(found["r", name], type_)
            case Value(name, dtype, kind):
                return Value(found["v", name], dtype, kind)
            case _:
                return None

    return rewrite(plan, PostWalk(rename), ctx), {new: old for (_, old), new in found.items()}
