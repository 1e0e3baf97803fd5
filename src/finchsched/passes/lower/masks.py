"""Masks without storage: comparisons of a loop's index with something known, as regions where they hold or not."""

from collections.abc import Collection

from finchsched.algebra.dtypes import INT64
from finchsched.ast.kernel import Const, KernelExpr
from finchsched.ast.loop import Index
from finchsched.ast.looplet import Phase, Run, Sequence, Truth
from finchsched.ast.node import Node
from finchsched.ast.scalar import Call, Literal, Size
from finchsched.passes.lower.decisions import Decisions
from finchsched.passes.lower.kernel_terms import binary, cast

__all__ = ["mask_of", "mask_phases"]

_FLIPPED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def mask_of(call: Call, index: str, known: Collection[str]) -> tuple[str, Node] | None:
    """(comparison, bound) if `call` compares the index with a sum of known coordinates, extents and integers."""
    if call.op.name not in _FLIPPED:
        return None
    left, right = call.args
    name = call.op.name
    if right == Index(index):
        left, right, name = right, left, _FLIPPED[name]
    return (name, right) if left == Index(index) and _is_known(right, known) else None


def _is_known(expr: Node, known: Collection[str]) -> bool:
    match expr:
        case Index(name):
            return name in known
        case Literal(value, dtype):
            return dtype == INT64 and isinstance(value, int)
        case Size():
            return True
        case Call(op, args):
            return op.name in ("add", "sub") and all(_is_known(a, known) for a in args)
        case _:
            return False


def mask_phases(name: str, bound: KernelExpr, extent: KernelExpr, decisions: Decisions) -> Sequence:
    """Where `index <name> bound` holds, as phases; bound is int64."""
    after = _after(bound, extent, decisions)
    yes, no = Run(Truth(True)), Run(Truth(False))
    parts: tuple[tuple[KernelExpr, Run], ...]
    match name:
        case "eq":
            parts = ((bound, no), (after, yes), (extent, no))
        case "ne":
            parts = ((bound, yes), (after, no), (extent, yes))
        case "lt":
            parts = ((bound, yes), (extent, no))
        case "le":
            parts = ((after, yes), (extent, no))
        case "gt":
            parts = ((after, no), (extent, yes))
        case _:
            parts = ((bound, no), (extent, yes))
    return Sequence(tuple(Phase(stop, body) for stop, body in parts))


def _after(bound: KernelExpr, extent: KernelExpr, decisions: Decisions) -> KernelExpr:
    """The coordinate after `bound`; the largest int64 has none, so a bound beyond the extent stops at it."""
    one = Const(1, INT64)
    if not decisions.proves("no overflow after a mask's bound", ("lt", bound, Const((1 << 63) - 1, INT64))):
        bound = binary("min", bound, binary("sub", cast(extent, INT64), one))
    return binary("add", bound, one)
