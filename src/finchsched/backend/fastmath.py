"""Which freedoms LLVM gets with floating point, kernel by kernel.

Reassociation makes a reduction over contiguous elements three times faster.  Over gathered elements (`x[idx[p]]`) LLVM
would assemble vectors from single loads, which on rows of 10 or 30 elements takes 1.4 times as long as the plain loop,
and contraction puts the longer latency of a multiply-add into the chain of sums.
"""

from finchsched.ast.kernel import Apply, For, Kernel, Load, Set, Var, While
from finchsched.ast.node import Node, walk

__all__ = ["LICENCE", "float_licence"]

LICENCE = ("contract", "nsz", "reassoc")
"""Never nnan or ninf: NaN and infinities are values here."""

_REDUCTIONS = ("add", "minplus_add", "maxplus_add", "mul")


def float_licence(kernel: Kernel) -> tuple[str, ...]:
    """LICENCE for a licensed kernel, unless all its innermost reductions are over gathered elements; else nothing."""
    if not kernel.licensed:
        return ()
    loops = [node for node in walk(kernel.body) if isinstance(node, For) and _is_innermost(node) and _reduces(node)]
    return () if loops and all(map(_gathers, loops)) else LICENCE


def _is_innermost(loop: For) -> bool:
    return not any(isinstance(node, For | While) for node in walk(loop.body))


def _reduces(loop: For) -> bool:
    return any(_is_reduction(node) for node in walk(loop.body))


def _is_reduction(node: Node) -> bool:
    """`v = v + e` or `v = e + v` of floating point."""
    match node:
        case Set(Var() as var, Apply(op, args, dtype)):
            return dtype.is_float and op.name in _REDUCTIONS and var in args
        case _:
            return False


def _gathers(loop: For) -> bool:
    """Whether some element is loaded from a place that was loaded, in the loop, itself or through a variable."""
    loaded = {node.var for node in walk(loop.body) if isinstance(node, Set) and _has_load(node.value)}
    places = [node.index for node in walk(loop.body) if isinstance(node, Load)]
    return any(_has_load(place) or any(node in loaded for node in walk(place)) for place in places)


def _has_load(node: Node) -> bool:
    return any(isinstance(inner, Load) for inner in walk(node))
