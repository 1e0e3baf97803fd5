"""May the backend reassociate and contract the floating point operations of a kernel?  Only if it may all of them.

Under "algebra" a contraction (a sum of products of operands) is licensed; under "sum" a plain sum is; under "strict"
nothing. A kernel with any other floating point operation keeps the order it was written in.
"""

from finchsched.ast.loop import Access, Assign, Define, Nest, Scalar
from finchsched.ast.node import Node, walk
from finchsched.ast.scalar import Call, Literal

__all__ = ["licensed"]


def licensed(nest: Nest, reassociate: str) -> bool:
    """Whether the nest's kernel may be compiled with reassociation and contraction."""
    assigns = [s for s in walk(nest.body) if isinstance(s, Assign)]
    sums = [s for s in assigns if s.op is not None]
    if reassociate == "strict" or not sums or not nest.target.type.dtype.is_float:
        return False
    if any(s.op is not None and s.op.name != "add" for s in sums):
        return False
    values = [s.rhs for s in assigns] + [s.init for s in walk(nest.body) if isinstance(s, Define)]
    if reassociate == "sum":
        return all(isinstance(v, Access | Scalar | Literal) for v in values)
    return all(_is_product(v) for v in values)


def _is_product(expr: Node) -> bool:
    calls = [node for node in walk(expr) if isinstance(node, Call)]
    return all(call.op.name == "mul" or call.op.name.startswith("to_") for call in calls)
