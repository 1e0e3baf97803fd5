"""What both einsum notations are parsed to, and its checks against operands."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias, assert_never

from finchsched.algebra.dtypes import INT64, DType, Scalar, accumulator_dtype
from finchsched.algebra.operators import operator
from finchsched.api.promotion import ElementType, promote, strong, weak_type
from finchsched.errors import FinchschedError, IndexNameError, ShapeMismatchError

__all__ = [
    "Access",
    "Constant",
    "EinsumProgram",
    "IndexValue",
    "Operation",
    "Term",
    "accesses",
    "check_operands",
    "common_type",
    "infer_type",
    "mark",
    "product_of",
]


@dataclass(frozen=True, slots=True)
class Access:
    """An element of an operand, known by its number, or a scalar operand (no indices).  `at`: column in the text."""

    operand: int
    index: tuple[str, ...]
    at: int


@dataclass(frozen=True, slots=True)
class IndexValue:
    """An index used as an int64 value."""

    name: str
    at: int


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal of the text; Python's type, so it is weak."""

    value: Scalar


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator by name, on terms."""

    op: str
    args: "tuple[Term, ...]"
    at: int


Term: TypeAlias = Access | IndexValue | Constant | Operation


@dataclass(frozen=True, slots=True)
class EinsumProgram:
    """One assignment `output[left] reduction= expr`.

    operands: the names, in order of appearance (NumPy style: "operand 0", ...).  reduction: "" or the operator's name.
    keep: NumPy style, where operands are cast to one type first and bool sums do not widen.  left_at: columns of the
    output's indices.  reads: the operand of each access, left to right.  Equal texts give equal programs.
    """

    text: str
    output: str
    left: tuple[str, ...]
    reduction: str
    expr: Term = field(compare=False)
    operands: tuple[str, ...]
    keep: bool
    left_at: tuple[int, ...] = field(compare=False)
    reads: tuple[Access, ...] = field(compare=False)

    @property
    def reduced(self) -> tuple[str, ...]:
        """Indices of the right-hand side that are not on the left, by first appearance."""
        names = dict.fromkeys(name for access in self.reads for name in access.index)
        return tuple(name for name in names if name not in self.left)


@lru_cache(maxsize=512)
def product_of(output: str, left: tuple[str, ...], factors: tuple[tuple[str, tuple[str, ...]], ...]) -> EinsumProgram:
    """`output[left] +=` the product of factors, each with a name and indices, in the type of its operands."""
    reads = tuple(Access(n, index, 0) for n, (_, index) in enumerate(factors))
    expr: Term = reads[0]
    for access in reads[1:]:
        expr = Operation("mul", (expr, access), 0)
    text = " * ".join(f"{name}[{','.join(index)}]" for name, index in factors)
    names = tuple(name for name, _ in factors)
    return EinsumProgram(
        f"{output}[{','.join(left)}] += {text}", output, left, "add", expr, names, True, (0,) * len(left), reads
    )


def accesses(term: Term) -> list[Access]:
    """Every access, left to right, repeated ones too."""
    found: list[Access] = []
    stack = [term]
    while stack:
        here = stack.pop()
        if isinstance(here, Access):
            found.append(here)
        elif isinstance(here, Operation):
            stack.extend(reversed(here.args))
    return found


def mark(text: str, at: int, problem: str, hint: str = "") -> str:
    """A message that shows the text with a caret under column `at`."""
    line = " ".join(text.split("\n")) if "\n" in text else text
    caret = f"\n    {line}\n    {' ' * at}^"
    return f"{problem}{caret}" + (f"\nhint: {hint}" if hint else "")


def check_operands(program: EinsumProgram, shapes: Sequence[tuple[int, ...] | None]) -> tuple[int, ...]:
    """The shape of the result.  `shapes` has None for a scalar.

    Raises IndexNameError for a wrong number of indices, ShapeMismatchError where extents differ; both name operand,
    index and extents.
    """
    extents: dict[str, int] = {}
    for access in program.reads:
        shape = shapes[access.operand]
        if shape is None:
            shape = ()
        if len(shape) != len(access.index):
            raise _wrong_rank(program, access, shapes[access.operand])
        for name, extent in zip(access.index, shape, strict=True):
            if extents.setdefault(name, extent) != extent:
                raise _conflict(program, access, name, extents[name], extent, shapes)
    return tuple([extents[name] for name in program.left])


def _wrong_rank(program: EinsumProgram, access: Access, shape: tuple[int, ...] | None) -> FinchschedError:
    name = program.operands[access.operand]
    if shape is None:
        problem = f"{name} is a scalar and takes no indices, found {len(access.index)}"
    else:
        axes = f"{len(shape)} {'axis' if len(shape) == 1 else 'axes'}"
        indices = f"{len(access.index)} {'index' if len(access.index) == 1 else 'indices'} ({', '.join(access.index)})"
        problem = f"{name} has {axes} (shape {shape}), found {indices if access.index else 'no indices'}"
    return IndexNameError(mark(program.text, access.at, problem))


def _conflict(
    program: EinsumProgram,
    access: Access,
    name: str,
    known: int,
    extent: int,
    shapes: Sequence[tuple[int, ...] | None],
) -> FinchschedError:
    first = next(a for a in program.reads if name in a.index)
    shape = shapes[access.operand] or ()
    axis = next(i for i, n in enumerate(access.index) if n == name and shape[i] == extent)
    problem = (
        f"index {name} has extent {known} in {program.operands[first.operand]} (axis {first.index.index(name)}) "
        f"and {extent} in {program.operands[access.operand]} (axis {axis})"
    )
    return ShapeMismatchError(mark(program.text, access.at, problem, "an einsum does not stretch an extent of 1"))


@lru_cache(maxsize=1024)
def infer_type(program: EinsumProgram, types: tuple[ElementType, ...], dtype: DType | None) -> ElementType:
    """The element type of the result.  Raises DtypeError where NumPy has no such operation."""
    if program.keep:
        return dtype or common_type(types)
    found = term_type(program.expr, types)
    if program.reduction in ("add", "mul"):
        return accumulator_dtype(strong(found))
    if program.reduction in ("min", "max"):
        promote(operator(program.reduction), (found, found))
    return strong(found)


def common_type(types: tuple[ElementType, ...]) -> DType:
    """What the operands of a NumPy-style einsum are cast to."""
    common = types[0]
    for other in types[1:]:
        common = promote(operator("mul"), (common, other))[1][0]
    return strong(common)


def term_type(term: Term, types: tuple[ElementType, ...]) -> ElementType:
    """The type of one term."""
    match term:
        case Access(number, _, _):
            return types[number]
        case IndexValue():
            return INT64
        case Constant(value):
            return weak_type(value)
        case Operation(name, args, _):
            return promote(operator(name), tuple(term_type(arg, types) for arg in args))[2]
        case _:
            assert_never(term)
