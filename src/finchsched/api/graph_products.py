"""Products of arrays as einsums: matrix products, contractions of chosen axes, diagonals."""

from collections.abc import Sequence
from operator import index
from string import ascii_letters

from finchsched.api.einsum_numpy import einsum_numpy_node
from finchsched.api.graph import GraphNode, map_node, normal_axis, permute_node
from finchsched.api.promotion import strong
from finchsched.errors import FinchschedError, ShapeMismatchError

__all__ = [
    "ContractedAxes",
    "diagonal_node",
    "dot_node",
    "inner_node",
    "last_two_swapped",
    "matmul_node",
    "outer_node",
    "tensordot_node",
    "vecdot_node",
]

ContractedAxes = int | Sequence[int | Sequence[int]]
"""A number of axes, or the axes of the one operand and those of the other."""

_MATMUL = {
    (1, 1): "i,i->",
    (1, 2): "j,jk->k",
    (2, 1): "ij,j->i",
    (2, 2): "ij,jk->ik",
}


def matmul_node(a: GraphNode, b: GraphNode) -> GraphNode:
    """The matrix product of the last two axes; those before them broadcast.  Among bools, or of and.

    A vector on the left is a row, on the right a column, and the result lacks that axis.  Raises ShapeMismatchError
    naming both shapes.
    """
    ranks = (len(a.shape), len(b.shape))
    if 0 in ranks:
        raise ShapeMismatchError(
            f"@ takes arrays of at least 1 axis; found shapes {a.shape} and {b.shape}\nhint: use * for a scalar"
        )
    columns, rows = a.shape[-1], b.shape[-2:][0]
    if columns != rows:
        raise ShapeMismatchError(
            f"@ of shapes {a.shape} and {b.shape}: the left operand has {columns} columns, the right one {rows} rows"
        )
    left, right = ("j" if ranks[0] == 1 else "...ij"), ("j" if ranks[1] == 1 else "...jk")
    whole = "..." + ("i" if ranks[0] > 1 else "") + ("k" if ranks[1] > 1 else "")
    try:
        return einsum_numpy_node(_MATMUL.get(ranks, f"{left},{right}->{whole}"), (a, b))
    except ShapeMismatchError:
        raise ShapeMismatchError(
            f"@ of shapes {a.shape} and {b.shape}: the axes before the last two do not broadcast"
        ) from None


def tensordot_node(a: GraphNode, b: GraphNode, axes: ContractedAxes, name: str = "tensordot") -> GraphNode:
    """The sum of products along pairs of axes; the result has the other axes of `a`, then those of `b`.

    Raises ShapeMismatchError for axes that do not exist, come twice, or have different extents.
    """
    mine, theirs = _contracted(a, b, axes, name)
    for left, right in zip(mine, theirs, strict=True):
        if a.shape[left] != b.shape[right]:
            raise ShapeMismatchError(
                f"{name} of shapes {a.shape} and {b.shape}: axis {left} has extent {a.shape[left]}, "
                f"axis {right} of the other {b.shape[right]}"
            )
    rank = len(a.shape)
    if rank + len(b.shape) > len(ascii_letters):
        raise ShapeMismatchError(f"{name} of {rank} and {len(b.shape)} axes: at most {len(ascii_letters)} together")
    first = ascii_letters[:rank]
    second = list(ascii_letters[rank : rank + len(b.shape)])
    for left, right in zip(mine, theirs, strict=True):
        second[right] = first[left]
    out = [c for n, c in enumerate(first) if n not in mine] + [c for n, c in enumerate(second) if n not in theirs]
    return einsum_numpy_node(f"{first},{''.join(second)}->{''.join(out)}", (a, b))


def _contracted(a: GraphNode, b: GraphNode, axes: ContractedAxes, name: str) -> tuple[list[int], list[int]]:
    if not isinstance(axes, Sequence):
        count = index(axes)
        if not 0 <= count <= min(len(a.shape), len(b.shape)):
            raise ShapeMismatchError(
                f"{name} over {count} axes of shapes {a.shape} and {b.shape}: there are not as many"
            )
        return list(range(len(a.shape) - count, len(a.shape))), list(range(count))
    if len(axes) != 2:
        raise ShapeMismatchError(f"axes of {name} are a number or two lists, found {axes!r}")
    sides = [list(side) if isinstance(side, Sequence) else [side] for side in axes]
    mine, theirs = ([normal_axis(axis, x.shape) for axis in side] for side, x in zip(sides, (a, b), strict=True))
    if len(mine) != len(theirs):
        raise ShapeMismatchError(f"{name} pairs {len(mine)} axes of the one with {len(theirs)} of the other")
    for given, found in zip(sides, (mine, theirs), strict=True):
        if len(set(found)) < len(found):
            raise ShapeMismatchError(f"axes {tuple(given)} of {name} name an axis twice")
    return mine, theirs


def vecdot_node(a: GraphNode, b: GraphNode, axis: int) -> GraphNode:
    """The sum of conj(a) * b along one axis of both, counted from the end; the others broadcast.

    Raises ShapeMismatchError for an axis that is not there, and for vectors of different length.
    """
    place = index(axis)
    if place >= 0 and len(a.shape) != len(b.shape):
        place -= max(len(a.shape), len(b.shape))
    first, second = (_last(x, place) for x in (a, b))
    if first.shape[-1] != second.shape[-1]:
        raise ShapeMismatchError(
            f"vecdot of shapes {a.shape} and {b.shape} along axis {axis}: the vectors have {first.shape[-1]} and "
            f"{second.shape[-1]} elements"
        )
    if strong(a.type).is_complex:
        first = map_node("conj", first)
    try:
        return einsum_numpy_node("...i,...i->...", (first, second))
    except FinchschedError as error:
        if not isinstance(error, ShapeMismatchError):
            raise
        raise ShapeMismatchError(f"vecdot of shapes {a.shape} and {b.shape}: the other axes do not broadcast") from None


def _last(x: GraphNode, axis: int) -> GraphNode:
    """`x` with an axis moved to the end."""
    place = normal_axis(axis, x.shape)
    return permute_node(x, [*(a for a in range(len(x.shape)) if a != place), place])


def inner_node(a: GraphNode, b: GraphNode) -> GraphNode:
    """The contraction of the last axes of both; the product, if one is a scalar."""
    if not a.shape or not b.shape:
        return map_node("mul", a, b)
    return tensordot_node(a, b, ((-1,), (-1,)), "inner")


def dot_node(a: GraphNode, b: GraphNode) -> GraphNode:
    """The contraction of the last axis of `a` and the last but one (or only) of `b`; scalars multiply."""
    if not a.shape or not b.shape:
        return map_node("mul", a, b)
    return tensordot_node(a, b, ((-1,), (-2 if len(b.shape) > 1 else -1,)), "dot")


def outer_node(a: GraphNode, b: GraphNode) -> GraphNode:
    """Every product of an element of the one vector and one of the other.  Raises ShapeMismatchError for others."""
    if len(a.shape) != 1 or len(b.shape) != 1:
        raise ShapeMismatchError(
            f"outer takes two vectors; found shapes {a.shape} and {b.shape}\nhint: tensordot(a, b, axes=0)"
        )
    return einsum_numpy_node("i,j->ij", (a, b))


def diagonal_node(x: GraphNode, axis1: int, axis2: int, summed: bool) -> GraphNode:
    """The elements at equal coordinates of two axes, which become the last axis, or their sum.

    Raises ShapeMismatchError for axes that are not there or of different extents.
    """
    first, second = normal_axis(axis1, x.shape), normal_axis(axis2, x.shape)
    if first == second:
        raise ShapeMismatchError(f"a diagonal has two different axes; found {axis1} and {axis2} of shape {x.shape}")
    if x.shape[first] != x.shape[second]:
        raise ShapeMismatchError(
            f"axes {axis1} and {axis2} of shape {x.shape} have different extents; expected a square"
        )
    letters = list(ascii_letters[: len(x.shape)])
    letters[second] = letters[first]
    kept = [c for c in letters if c != letters[first]]
    return einsum_numpy_node(f"{''.join(letters)}->{''.join(kept)}{'' if summed else letters[first]}", (x,))


def last_two_swapped(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The order of axes of a matrix transpose.  Raises ShapeMismatchError for fewer than two axes."""
    rank = len(shape)
    if rank < 2:
        raise ShapeMismatchError(f"the transpose of matrices needs at least 2 axes; the shape is {shape}")
    return (*range(rank - 2), rank - 1, rank - 2)
