"""Fields and types of every expression in a tree, from the leaves up: no recursion, and no comparison of trees.

`finchsched.ast.facts` has the definitions, recursive and memoised by structure.  On a tree of ten thousand levels that
recurses too deep, or compares the tree with an equal one at each of them.  Here every node is asked about with stubs
for its children.
"""

from finchsched.algebra.dtypes import INT64, DType
from finchsched.ast.facts import dtype, fields
from finchsched.ast.logic import Aggregate, Field, LogicExpr, MapJoin, Reformat, Relabel, Reorder, Subquery
from finchsched.ast.node import Node, children
from finchsched.ast.scalar import Literal

__all__ = ["FactTable", "distinct", "fields_of"]


def distinct(root: Node) -> list[Node]:
    """The nodes under `root`, each object once, children before parents, left to right."""
    found: list[Node] = []
    seen: set[int] = set()
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            found.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(list(children(node))))
    return found


class FactTable:
    """What is known of the expressions added so far.  One is added after its arguments, and somebody keeps it alive."""

    def __init__(self) -> None:
        self._fields: dict[int, tuple[Field, ...]] = {}
        self._dtypes: dict[int, DType] = {}

    def add(self, expr: LogicExpr, *, typed: bool = True) -> None:
        """Derive the fields of `expr`, and its type unless it may have none because nothing is validated yet."""
        shallow = self._shallow(expr)
        self._fields[id(expr)] = fields(shallow)
        if typed:
            self._dtypes[id(expr)] = dtype(shallow)

    def fields(self, expr: LogicExpr) -> tuple[Field, ...]:
        """The fields of an expression."""
        return self._fields[id(expr)]

    def dtype(self, expr: LogicExpr) -> DType:
        """The element type of an expression."""
        return self._dtypes[id(expr)]

    def _shallow(self, expr: LogicExpr) -> LogicExpr:
        match expr:
            case MapJoin(_, args):
                return expr.replace(args=tuple(map(self._stub, args)))
            case Aggregate() | Reorder() | Relabel() | Reformat() | Subquery():
                return expr.replace(arg=self._stub(expr.arg))
            case _:
                return expr

    def _stub(self, expr: LogicExpr) -> Reorder:
        """An expression without depth that has the same fields and type."""
        return Reorder(Literal(0, self._dtypes.get(id(expr), INT64)), self._fields[id(expr)])


def fields_of(root: LogicExpr) -> tuple[Field, ...]:
    """The fields of an expression that may be deep or not valid."""
    table = FactTable()
    for node in distinct(root):
        if isinstance(node, LogicExpr):
            table.add(node, typed=False)
    return table.fields(root)
