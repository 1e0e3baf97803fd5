"""Text of scalars and tensor types, the same in Logic IR and Loop IR.

    Literal             2.5: float64    True: bool    -inf: float64    1.5-2.0j: complex128
    Value               $v0: float64 ~finite
    Size                size(i)
    Call                mul(2.5: float64, $v0: float64 ~finite)
    TensorType          Dense(SparseList[int32,int32](Element(0.0: float64))) perm (1, 0)

A literal's text tells bool, int, float and complex apart; a complex one has no blanks.  `Element(fill)` has the type
that a literal or value names; any other fill is followed by the type: `Element(size(i), int64)`.
"""

from collections.abc import Sequence

from finchsched.algebra.dtypes import INT64, DType, scalar_text
from finchsched.ast.format import Level, TensorType
from finchsched.ast.logic import Field
from finchsched.ast.loop import Index
from finchsched.ast.node import Node, field_names
from finchsched.ast.scalar import Call, Literal, Size, Value
from finchsched.ast.syntax import Piece, commas, write

__all__ = ["print_index", "print_type", "scalar_pieces"]


def scalar_pieces(node: Node) -> list[Piece]:
    """One scalar node; calls in the form `op(args)`."""
    match node:
        case Literal(value, dtype):
            return [f"{scalar_text(value)}: {dtype}"]
        case Value(name, dtype, kind):
            return [f"${name}: {dtype} ~{kind}"]
        case Size(index):
            return [f"size({index})"]
        case Call(op, args):
            return [f"{op.name}(", *commas(args), ")"]
        case _:
            raise TypeError(f"{type(node).__name__} is not a scalar")


def print_type(tensor_type: TensorType) -> str:
    """A tensor type on one line."""
    levels, perm, dtype, fill = tensor_type.levels, tensor_type.perm, tensor_type.dtype, tensor_type.fill
    element = write(fill, scalar_pieces)
    if not (isinstance(fill, Literal | Value) and fill.dtype == dtype):
        element += f", {dtype}"
    nest = "".join(f"{_print_level(level)}(" for level in levels)
    text = f"{nest}Element({element}){')' * len(levels)}"
    if perm != tuple(range(len(levels))):
        text += f" perm ({', '.join(map(str, perm))})"
    return text


def _print_level(level: Level) -> str:
    values: list[DType | int] = [getattr(level, name) for name in field_names(type(level))]
    return f"{level.name}[{','.join(map(str, values))}]" if values else level.name


def print_index(index: Sequence[Node]) -> str:
    """Indices of an access in brackets: names, and constant coordinates (int64, so their type is not printed)."""
    return f"[{', '.join(map(_print_one_index, index))}]"


def _print_one_index(index: Node) -> str:
    match index:
        case Field(name) | Index(name):
            return name
        case Literal(value, dtype) if dtype == INT64:
            return repr(value)
        case _:
            return write(index, scalar_pieces)
