"""Text of Logic IR, which `finchsched.ast.parse_logic` reads back.

    slot A: Dense(SparseList[int32,int32](Element(0.0: float64)))
    slot x: Dense(Element(0.0: float64))
    alias y: Dense(Element(0.0: float64))
    y[i] := Aggregate(add, 0.0: float64, MapJoin(mul, A[i, j], x[j]), [j]) order [i, j]
    return y

Each tensor is declared once, slots first.  The indices on the left of `:=` are the fields of the right side.
"""

from finchsched.ast.facts import fields
from finchsched.ast.logic import (
    Aggregate,
    Alias,
    Coordinate,
    MapJoin,
    Plan,
    Query,
    Reformat,
    Relabel,
    Reorder,
    Slot,
    Subquery,
    Table,
)
from finchsched.ast.node import Node, walk
from finchsched.ast.print_scalar import print_index, print_type, scalar_pieces
from finchsched.ast.scalar import Call, Literal, Size, Value
from finchsched.ast.syntax import Piece, commas, write

__all__ = ["print_logic"]


def print_logic(node: Node) -> str:
    """The text of a Plan, a Query or an expression, with a header for the tensors in it; every line is ended."""
    lines = _header(node)
    match node:
        case Plan(bodies, result):
            lines += [_query(query) for query in bodies]
            lines.append(" ".join(["return", ", ".join(alias.name for alias in result.aliases)]).rstrip())
        case Query():
            lines.append(_query(node))
        case _:
            lines.append(write(node, _pieces))
    return "".join(f"{line}\n" for line in lines)


def _header(root: Node) -> list[str]:
    tensors = dict.fromkeys(node for node in walk(root) if isinstance(node, Slot | Alias))
    lines = [f"slot {t.name}: {print_type(t.type)}" for t in tensors if isinstance(t, Slot)]
    return lines + [f"alias {t.name}: {print_type(t.type)}" for t in tensors if isinstance(t, Alias)]


def _query(query: Query) -> str:
    left = f"{query.alias.name}{print_index(fields(query.rhs))}"
    order = f" order {print_index(query.loop_order)}" if query.loop_order else ""
    return f"{left} := {write(query.rhs, _pieces)}{order}"


def _pieces(node: Node) -> list[Piece]:
    match node:
        case Literal() | Value() | Size() | Call():
            return scalar_pieces(node)
        case Coordinate(field):
            return [f"@{field.name}"]
        case Table(tensor, index):
            return [f"{tensor.name}{print_index(index)}"]
        case MapJoin(op, args):
            return [f"MapJoin({op.name}, ", *commas(args), ")"]
        case Aggregate(op, init, arg, over):
            return [f"Aggregate({op.name}, ", init, ", ", arg, f", {print_index(over)})"]
        case Reorder(arg, order) | Relabel(arg, order):
            return [f"{type(node).__name__}(", arg, f", {print_index(order)})"]
        case Reformat(tensor_type, arg, drop_fill):
            return [f"Reformat({print_type(tensor_type)}, ", arg, ", drop_fill)" if drop_fill else ")"]
        case Subquery(alias, arg):
            return [f"Subquery({alias.name}, ", arg, ")"]
        case _:
            raise TypeError(f"{type(node).__name__} is not a plan, a query or an expression of Logic IR")
