"""What a value is: dense values beside a mask of what is stored, and how a pointwise operator treats the two.

At every coordinate a tensor operand is *stored* or *structural* (nothing stored there, so its value is the fill).  A
scalar operand (a literal, a run-time value, a coordinate) is neither: it has a value and never absorbs.

*The mask rule.*  Let s be the operator applied to the fills of the structural operands.  If no operand is stored, the
result is structural.  Else if s absorbs the operator, the result is s, and is structural iff s is the result's fill.
Else the operator applies to the values, and the result is stored.  The result's fill is the operator applied to all
fills and scalars.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from finchsched.algebra.dtypes import INT64, DType, Scalar, as_dtype
from finchsched.algebra.operators import Operator, absorbs, apply, can_absorb, result_type
from finchsched.ast.node import Node, walk
from finchsched.ast.scalar import Call, Literal, Size, Value, coordinate_name
from finchsched.errors import IndexNameError, ValidationError

__all__ = [
    "Array",
    "Mask",
    "Masked",
    "Term",
    "apply_folded",
    "check_argument_count",
    "depends_on_coordinate",
    "evaluate_scalar",
    "map_masked",
    "map_terms",
    "postorder",
    "same_values",
    "settle",
]

Array: TypeAlias = NDArray[Any]
Mask: TypeAlias = NDArray[np.bool]


@dataclass(frozen=True, slots=True, eq=False)
class Masked:
    """A tensor: `values`, `stored` of the same shape, and the fill, which `values` holds wherever `stored` is False."""

    values: Array
    stored: Mask
    fill: Scalar


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """An expression under evaluation.  `stored` is None for a scalar operand, whose `fill` is its values.

    `fill` has as many axes as `values` and broadcasts to it: beside coordinates (`A[i] + i`) a fill varies.
    """

    values: Array
    stored: Mask | None
    fill: Array


def map_masked(op: Operator, args: Sequence[Masked | Array | Scalar], out: DType) -> Masked:
    """`op` over tensors and scalars of broadcasting shapes by the mask rule, as elements of `out`.

    A plain Python scalar takes the tensors' type where NumPy lets it.  An array that is no Masked counts as a scalar
    that differs from place to place (a coordinate).  Raises ValidationError for a wrong number of arguments, or if none
    is Masked.
    """
    tensors = [arg.values.dtype for arg in args if isinstance(arg, Masked)]
    if not tensors:
        raise ValidationError(f"{op.name} has no tensor among its arguments")
    terms = []
    for arg in args:
        if isinstance(arg, Masked):
            terms.append(Term(arg.values, arg.stored, np.asarray(arg.fill, arg.values.dtype)))
        else:
            weak = isinstance(arg, bool | int | float | complex) and not isinstance(arg, np.generic)
            value = np.asarray(arg, np.result_type(arg, *tensors) if weak else None)
            terms.append(Term(value, None, value))
    result = map_terms(op, terms, out)
    stored = np.ones(result.values.shape, np.bool) if result.stored is None else result.stored
    if result.fill.size == 1:
        return Masked(result.values, stored, result.fill.reshape(()).item())
    raise ValidationError(f"the fill of {op.name} varies with a coordinate, so the result is no tensor")


def map_terms(op: Operator, terms: Sequence[Term], out: DType) -> Term:
    """`op` over terms whose shapes broadcast, by the mask rule; a binary operator is folded from the left."""
    check_argument_count(op, len(terms))
    wanted = result_type(op, *(as_dtype(term.values.dtype) for term in terms))[0]
    values = _cast_all([term.values for term in terms], wanted)
    value = np.asarray(apply_folded(op, values)).astype(out.numpy)
    masks = [(v, term.stored) for v, term in zip(values, terms, strict=True) if term.stored is not None]
    if not masks:
        return Term(value, None, value)
    fills = _cast_all([term.fill for term in terms], wanted)
    fill = np.asarray(apply_folded(op, fills)).astype(out.numpy)
    stored = np.zeros(value.shape, np.bool)
    for _, mask in masks:
        stored |= mask
    if can_absorb(op):
        s, absorbing = _absorption(op, masks, value.shape, wanted[-1])
        absorbing &= stored
        s = s.astype(out.numpy)
        value = np.where(absorbing, s, value)
        stored = stored & ~(absorbing & same_values(s, fill))
    return Term(value, stored, fill)


def check_argument_count(op: Operator, count: int) -> None:
    """Raise ValidationError unless `op` takes `count` arguments; a binary operator takes one or more."""
    if count < 1 if op.arity == 2 else count != op.arity:
        raise ValidationError(f"{op.name} takes {op.arity} arguments; found {count}")


def apply_folded(op: Operator, values: Sequence[Any]) -> Any:
    """`op` on values of one promoted type; a binary operator is folded from the left."""
    if op.arity == 2:
        return reduce(lambda a, b: apply(op, a, b), values)
    return apply(op, *values)


def _cast_all(values: list[Array], wanted: Sequence[DType]) -> list[Array]:
    with np.errstate(all="ignore"):
        return [v.astype(t.numpy, copy=False) for v, t in zip(values, wanted, strict=True)]


def _absorption(
    op: Operator, masks: list[tuple[Array, Mask]], shape: tuple[int, ...], common: DType
) -> tuple[Array, Mask]:
    """(s, where s absorbs): `op` folded over the structural operands of each coordinate."""
    s = np.zeros(shape, common.numpy)
    some = np.zeros(shape, np.bool)
    for value, mask in masks:
        s = np.where(mask, s, np.where(some, apply(op, s, value), value)).astype(common.numpy, copy=False)
        some |= ~mask
    distinct, which = np.unique(s[some], return_inverse=True)
    table = np.array([absorbs(op, x.item(), common) for x in distinct], np.bool)
    absorbing = np.zeros(shape, np.bool)
    absorbing[some] = table[which]
    return s, absorbing


def same_values(a: Array, b: Array) -> Mask:
    """Elementwise equality of scalars: NaN equals NaN, 0.0 equals -0.0."""
    return np.asarray((a == b) | ((a != a) & (b != b)), np.bool)


def settle(values: Array, stored: Mask, fill: Scalar) -> Masked:
    """A tensor with the fill that its type declares.

    A structural coordinate whose value is the fill, up to the rounding of a long reduction, takes the fill exactly; one
    with another value (a fill that depends on coordinates, the initial value of a reduction over nothing) becomes
    stored.
    """
    exact = values.dtype.type(fill)
    structural = np.asarray(~stored & same_values(values, np.asarray(exact)))
    if values.dtype.kind in "fc":
        rounding = 1e-4 if np.finfo(values.dtype).bits <= 32 else 1e-9
        structural |= ~stored & np.isclose(values, exact, rtol=rounding, atol=0.0)
    return Masked(np.where(structural, exact, values), np.asarray(~structural), exact.item())


def postorder(roots: Sequence[Node], operands: Callable[[Node], Sequence[Node]]) -> list[Node]:
    """The distinct nodes that `operands` reaches from `roots`, operands first, left to right, without recursion."""
    done: dict[Node, None] = {}
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if ready:
            done[node] = None
        elif node not in done:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(operands(node)))
    return list(done)


def depends_on_coordinate(fill: Node, values: Mapping[str, Scalar]) -> bool:
    """Whether a fill names the value of an index, as `finchsched.ast.facts.fill` writes it, so it is no one scalar.

    A tensor with such a fill counts as stored everywhere, with the zero of its type as its fill.
    """
    return any(isinstance(n, Value) and coordinate_name(n) != "" and n.name not in values for n in walk(fill))


def evaluate_scalar(expr: Node, values: Mapping[str, Scalar], extent: Callable[[str], int]) -> Scalar:
    """The value of a scalar expression (Literal, Value, Call, Size), in NumPy's arithmetic of its types.

    Raises IndexNameError for a Value that has none and whatever `extent` raises for an index without extent.
    """
    done: dict[Node, Array] = {}
    for node in postorder([expr], lambda n: n.args if isinstance(n, Call) else ()):
        match node:
            case Literal(value, dtype):
                done[node] = np.asarray(value, dtype.numpy)
            case Value(name, dtype, _):
                if name not in values:
                    raise IndexNameError(f"no value is given for {name!r}; given are {', '.join(values) or 'none'}")
                done[node] = np.asarray(values[name], dtype.numpy)
            case Size(index):
                done[node] = np.asarray(extent(index), INT64.numpy)
            case Call(op, args):
                terms = [Term(done[arg], None, done[arg]) for arg in args]
                out = result_type(op, *(as_dtype(done[arg].dtype) for arg in args))[1]
                done[node] = map_terms(op, terms, out).values
            case _:
                raise ValidationError(f"{type(node).__name__} is not a scalar expression")
    result: Scalar = done[expr].item()
    return result
