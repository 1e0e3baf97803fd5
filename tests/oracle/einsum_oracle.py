"""Einsum by nested loops: one evaluation of the expression at every index tuple, value and mask side by side.

Choices where the meaning leaves room:

- A call such as `min(a, b, c)` is one operator of three operands; `a * b * c` is two of two operands.
- `&` absorbs 0 and `|` the integer of all ones, as `and` and `or` do False and True.
- `a < b < c` means `(a < b) and (b < c)`; `and`, `or` and `not` give bools.
- `and=` and `or=` fold truth values and give them back in the expression's dtype.
- Python scalars stay weak until they meet a NumPy scalar, so `2 * 3 * A` keeps the dtype of a float32 `A`.
- Where an index used as a value makes the result's fill differ from coordinate to coordinate, there is no fill:
  every coordinate is stored and the fill is the zero of the dtype.
- The NumPy style never stretches an extent of 1, not even under an ellipsis.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from oracle.masked_array import MaskedArray, Scalar, same_value

Operand: TypeAlias = MaskedArray | Scalar
Point: TypeAlias = Mapping[str, int]


# ---------------------------------------------------------------------------------------------- operators


def absorbs_nothing(s: Any, dtype: np.dtype[Any], reduction: str) -> bool:
    """For operators without an absorber."""
    return False


def absorbs_product(s: Any, dtype: np.dtype[Any], reduction: str) -> bool:
    """0 on either side, False among bools."""
    return bool(s == 0)


def absorbs_sum(s: Any, dtype: np.dtype[Any], reduction: str) -> bool:
    """True among bools; else NaN, and among reals the infinity that the reduction `min=` or `max=` drops."""
    if dtype.kind == "b":
        return bool(s)
    if dtype.kind == "c":
        return bool(s != s)
    return bool(s != s or (reduction == "min" and s == np.inf) or (reduction == "max" and s == -np.inf))


def absorbs_min(s: Any, dtype: np.dtype[Any], reduction: str) -> bool:
    """-inf among floats."""
    return dtype.kind == "f" and bool(s == -np.inf)


def absorbs_max(s: Any, dtype: np.dtype[Any], reduction: str) -> bool:
    """+inf among floats."""
    return dtype.kind == "f" and bool(s == np.inf)


def absorbs_and(s: Any, dtype: np.dtype[Any], reduction: str) -> bool:
    """0, False among bools."""
    return bool(s == 0)


def absorbs_or(s: Any, dtype: np.dtype[Any], reduction: str) -> bool:
    """True among bools; among integers the one with all bits set."""
    return bool(s) if dtype.kind == "b" else bool(dtype.type(s) == ~dtype.type(0))


def pick(condition: Any, yes: Any, no: Any) -> Any:
    """np.where of scalars, as a scalar."""
    return np.where(condition, yes, no)[()]


DTYPES = ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128").split()


def cast(dtype: np.dtype[Any], value: Any) -> Any:
    """`astype` of a scalar; a complex number silently loses its imaginary part."""
    array = np.asarray(value)
    return (array.real if array.dtype.kind == "c" and dtype.kind not in "cb" else array).astype(dtype)[()]


@dataclass(frozen=True, slots=True)
class Operator:
    """`absorbs(s, dtype, reduction)`: does s absorb where the result has `dtype` under that reduction?

    Every absorber here works on both sides.  `arity` None is any number of operands from one up, folded from the left.
    """

    function: Callable[..., Any]
    arity: int | None
    absorbs: Callable[[Any, np.dtype[Any], str], bool] = absorbs_nothing

    def __call__(self, values: Sequence[Any]) -> Any:
        """The operator on scalars; Python scalars alone give a Python scalar, which stays weak in promotion."""
        result = reduce(self.once, values) if self.arity is None else self.once(*values)
        if all(
            isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic) for value in values
        ):
            return result.item() if isinstance(result, np.generic) else result
        return result

    def once(self, *values: Any) -> Any:
        """One application; where NumPy would calculate in float16, in float32."""
        result = self.function(*values)
        if np.asarray(result).dtype == np.float16 or (self.function in HALVES and narrow(values)):
            result = self.function(*(np.float32(value) for value in values))
        return result


HALVES = (np.signbit,)
"""Functions with results of other types, for which NumPy rounds narrow integers to float16."""


def narrow(values: Sequence[Any]) -> bool:
    """Whether all values have types of one byte."""
    return all(np.asarray(value).dtype.itemsize == 1 for value in values)


ADD = Operator(np.add, 2, absorbs_sum)
MULTIPLY = Operator(np.multiply, 2, absorbs_product)
PRODUCT = Operator(np.multiply, None, absorbs_product)
MINIMUM = Operator(np.minimum, None, absorbs_min)
MAXIMUM = Operator(np.maximum, None, absorbs_max)
AND = Operator(np.logical_and, 2, absorbs_and)
OR = Operator(np.logical_or, 2, absorbs_or)
NOT = Operator(np.logical_not, 1)

BINARY: dict[type[ast.operator], Operator] = {
    ast.Add: ADD,
    ast.Sub: Operator(np.subtract, 2),
    ast.Mult: MULTIPLY,
    ast.Div: Operator(np.true_divide, 2),
    ast.FloorDiv: Operator(np.floor_divide, 2),
    ast.Mod: Operator(np.remainder, 2),
    ast.Pow: Operator(np.power, 2),
    ast.BitAnd: Operator(np.bitwise_and, 2, absorbs_and),
    ast.BitOr: Operator(np.bitwise_or, 2, absorbs_or),
    ast.BitXor: Operator(np.bitwise_xor, 2),
}
UNARY: dict[type[ast.unaryop], Operator] = {
    ast.USub: Operator(np.negative, 1),
    ast.Invert: Operator(np.invert, 1),
    ast.Not: NOT,
}
COMPARISONS: dict[type[ast.cmpop], Operator] = {
    ast.Eq: Operator(np.equal, 2),
    ast.NotEq: Operator(np.not_equal, 2),
    ast.Lt: Operator(np.less, 2),
    ast.LtE: Operator(np.less_equal, 2),
    ast.Gt: Operator(np.greater, 2),
    ast.GtE: Operator(np.greater_equal, 2),
}
ONE_ARGUMENT = (
    "absolute sqrt cbrt square reciprocal negative exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos "
    "arctan sinh cosh tanh arcsinh arccosh arctanh floor ceil trunc sign signbit isnan isinf isfinite invert positive "
    "conjugate real imag"
).split()
TWO_ARGUMENTS = (
    "subtract divide true_divide floor_divide remainder mod power arctan2 hypot copysign fmin fmax logical_xor "
    "bitwise_xor equal not_equal less less_equal greater greater_equal logaddexp nextafter left_shift right_shift"
).split()
CALLS: dict[str, Operator] = {
    **{name: Operator(getattr(np, name), 1) for name in ONE_ARGUMENT},
    **{name: Operator(getattr(np, name), 2) for name in TWO_ARGUMENTS},
    "abs": Operator(np.absolute, 1),
    "conj": Operator(np.conjugate, 1),
    "min": MINIMUM,
    "max": MAXIMUM,
    "minimum": MINIMUM,
    "maximum": MAXIMUM,
    "add": ADD,
    "multiply": MULTIPLY,
    "logical_and": AND,
    "logical_or": OR,
    "logical_not": NOT,
    "bitwise_and": BINARY[ast.BitAnd],
    "bitwise_or": BINARY[ast.BitOr],
    "where": Operator(pick, 3),
    **{name: Operator(partial(cast, np.dtype(name)), 1) for name in DTYPES},
}


# ---------------------------------------------------------------------------------------------- cells


@dataclass(frozen=True, slots=True)
class Cell:
    """A sub-expression at one coordinate.

    `fill` is what it would be with nothing stored; `structural` cells have `value == fill`; `tensor` says that the
    sub-expression reads a tensor (else it is a scalar: never structural, never absorbing, its fill its value).
    """

    value: Any
    fill: Any
    structural: bool
    tensor: bool


def scalar_cell(value: Any) -> Cell:
    """A literal, a scalar operand, an index as a value."""
    return Cell(value, value, structural=False, tensor=False)


def read_cell(tensor: MaskedArray, at: tuple[int, ...]) -> Cell:
    """One entry of a tensor."""
    return Cell(tensor.values[at], tensor.fill, structural=not tensor.stored[at], tensor=True)


def combine(operator: Operator, cells: Sequence[Cell], reduction: str) -> Cell:
    """The mask rule at one coordinate."""
    fill = operator([cell.fill for cell in cells])
    carriers = [cell for cell in cells if cell.tensor]
    if not carriers:
        return scalar_cell(fill)
    missing = [cell.fill for cell in carriers if cell.structural]
    if len(missing) == len(carriers):
        return Cell(fill, fill, structural=True, tensor=True)
    if missing and operator.absorbs is not absorbs_nothing:
        s = missing[0] if len(missing) == 1 else operator(missing)
        if operator.absorbs(s, fill.dtype, reduction):
            value = fill.dtype.type(s)
            return Cell(value, fill, structural=same_value(value, fill), tensor=True)
    return Cell(operator([cell.value for cell in cells]), fill, structural=False, tensor=True)


# ---------------------------------------------------------------------------------------------- reductions


def widened(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype np.sum and np.prod give for `dtype`."""
    result: np.dtype[Any] = np.sum(np.zeros(1, dtype)).dtype
    return result


def kept(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """No widening."""
    return dtype


def refuse_complex(dtype: np.dtype[Any]) -> None:
    """TypeError for complex numbers, which have no order."""
    if dtype.kind == "c":
        raise TypeError(f"{dtype} has no order")


def greatest(dtype: np.dtype[Any]) -> Any:
    """The identity of min."""
    refuse_complex(dtype)
    return np.inf if dtype.kind == "f" else True if dtype.kind == "b" else np.iinfo(dtype).max


def least(dtype: np.dtype[Any]) -> Any:
    """The identity of max."""
    refuse_complex(dtype)
    return -np.inf if dtype.kind == "f" else False if dtype.kind == "b" else np.iinfo(dtype).min


def second(_: Any, value: Any) -> Any:
    """Overwriting as a fold, for assignments in which nothing is reduced."""
    return value


@dataclass(frozen=True, slots=True)
class Reduction:
    """A fold from `identity(dtype)` on, in `result(dtype of the expression)`."""

    name: str
    function: Callable[[Any, Any], Any]
    identity: Callable[[np.dtype[Any]], Any]
    result: Callable[[np.dtype[Any]], np.dtype[Any]] = kept

    def fold(self, values: Iterable[Any], dtype: np.dtype[Any]) -> Any:
        """Every value in order; a sum in single precision is accumulated in double precision and rounded once."""
        double = {"float32": np.dtype(np.float64), "complex64": np.dtype(np.complex128)}
        wide = double.get(dtype.name, dtype) if self.function is np.add else dtype
        total = wide.type(self.identity(wide))
        for value in values:
            total = wide.type(self.function(total, wide.type(value)))
        return dtype.type(total)


def constant(value: Any) -> Callable[[np.dtype[Any]], Any]:
    """An identity that is the same for every dtype."""
    return lambda dtype: value


REDUCTIONS = {
    "": Reduction("", second, constant(0)),
    "+": Reduction("+", np.add, constant(0), widened),
    "*": Reduction("*", np.multiply, constant(1), widened),
    "min": Reduction("min", np.minimum, greatest),
    "max": Reduction("max", np.maximum, least),
    "and": Reduction("and", np.logical_and, constant(True)),
    "or": Reduction("or", np.logical_or, constant(False)),
}
# On bools np.add is or.
KEEPING_SUM = Reduction("+", np.add, constant(0))


# ---------------------------------------------------------------------------------------------- the loops


@dataclass(frozen=True, slots=True)
class Nest:
    """The loops of one assignment; `cell_at(operands, point)` is its right-hand side at one index tuple."""

    left: tuple[str, ...]
    extents: Mapping[str, int]
    reduction: Reduction
    cell_at: Callable[[Mapping[str, Operand], Point], Cell]

    def reduced_points(self, out: tuple[int, ...]) -> Iterator[Point]:
        """Every index tuple that lands on the output coordinate `out`."""
        reduced = [index for index in self.extents if index not in self.left]
        for inner in product(*(range(self.extents[index]) for index in reduced)):
            yield dict(zip((*self.left, *reduced), (*out, *inner), strict=True))

    def run(self, operands: Mapping[str, Operand]) -> MaskedArray:
        """All output coordinates."""
        with np.errstate(all="ignore"):
            blanks = {name: blank(operand) for name, operand in operands.items()}
            origin = dict.fromkeys(self.extents, 0)
            dtype = self.reduction.result(np.asarray(self.cell_at(blanks, origin).value).dtype)
            shape = tuple(self.extents[index] for index in self.left)
            values, stored, fills = np.zeros(shape, dtype), np.zeros(shape, np.bool), []
            for out in product(*map(range, shape)):
                cells = [self.cell_at(operands, point) for point in self.reduced_points(out)]
                values[out] = self.reduction.fold((cell.value for cell in cells), dtype)
                stored[out] = any(not cell.structural for cell in cells)
                fills.append(self.reduction.fold((cell.fill for cell in cells), dtype))
            if not fills:
                points = self.reduced_points((0,) * len(shape))
                fills = [self.reduction.fold((self.cell_at(blanks, point).fill for point in points), dtype)]
        if all(same_value(fill, fills[0]) for fill in fills):
            return MaskedArray(values, stored, fills[0])
        return MaskedArray(values, np.ones(shape, np.bool), dtype.type(0))


def blank(operand: Operand) -> Operand:
    """The operand with nothing stored and no extent 0, so that it can be read somewhere."""
    if not isinstance(operand, MaskedArray):
        return operand
    return MaskedArray.unstored([max(extent, 1) for extent in operand.shape], operand.fill, operand.dtype)


def unify_extents(accesses: Iterable[tuple[str, Sequence[str], tuple[int, ...]]]) -> dict[str, int]:
    """Extents by index in order of appearance, from (what is read, its indices, its shape)."""
    extents: dict[str, int] = {}
    for what, indices, shape in accesses:
        if len(indices) != len(shape):
            raise ValueError(f"{what} has {len(shape)} indices, not {len(indices)}")
        for index, extent in zip(indices, shape, strict=True):
            if extents.setdefault(index, extent) != extent:
                raise ValueError(f"index {index} has extent {extents[index]} and, in {what}, {extent}")
    return extents


def check_left(left: Sequence[str], extents: Mapping[str, int]) -> None:
    """ValueError for an output index without extent or given twice."""
    for index in left:
        if index not in extents:
            raise ValueError(f"output index {index} appears in no operand")
        if left.count(index) > 1:
            raise ValueError(f"output index {index} is given twice")


# ---------------------------------------------------------------------------------------------- Finch style

ASSIGNMENT = re.compile(r"\s*([^\W\d]\w*)\s*(?:\[([^\]]*)\])?\s*(min|max|and|or|[+*])?=(?!=)(.+)", re.DOTALL)


def evaluate(text: str, operands: Mapping[str, Operand]) -> MaskedArray:
    """`out[i,j] op= expr` over tensors and scalars by name.

    ValueError for text outside the grammar, unknown names, extents that conflict or are missing, a wrong number of
    indices, and `=` with an index that is not on the left.
    """
    left, reduction, tree = parse_assignment(text)
    accesses = [(f"{name}[{','.join(indices)}]", indices, shape) for name, indices, shape in reads(tree, operands)]
    extents = unify_extents(accesses)
    check_left(left, extents)
    if clash := sorted(set(extents) & set(operands)):
        raise ValueError(f"{clash[0]} is both an index and an operand")
    if not reduction.name and (extra := [index for index in extents if index not in left]):
        raise ValueError(f"index {extra[0]} is not on the left of =")
    return Nest(left, extents, reduction, partial(cell_of, tree, reduction.name)).run(operands)


def parse_assignment(text: str) -> tuple[tuple[str, ...], Reduction, ast.expr]:
    """Output indices, reduction and the right-hand side of one assignment."""
    match = ASSIGNMENT.fullmatch(text)
    if match is None:
        raise ValueError(f"not an assignment: {text!r}")
    _, subscript, operator, right = match.groups()
    left = tuple(index.strip() for index in subscript.split(",")) if subscript and subscript.strip() else ()
    if not all(index.isidentifier() for index in left):
        raise ValueError(f"output indices must be names: [{subscript}]")
    source = re.sub(r"\[\s*\]", "[()]", " ".join(right.split()))
    try:
        tree = ast.parse(source, mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"cannot parse {source!r}: {error.msg}") from error
    return left, REDUCTIONS[operator or ""], tree


def subscript_names(node: ast.Subscript) -> tuple[str, tuple[str, ...]]:
    """The tensor and the index names of `A[i, j]`."""
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    names = tuple(item.id for item in items if isinstance(item, ast.Name))
    if not isinstance(node.value, ast.Name) or len(names) != len(items):
        raise ValueError(f"not an access by index names: {ast.unparse(node)}")
    return node.value.id, names


def reads(tree: ast.expr, operands: Mapping[str, Operand]) -> Iterator[tuple[str, tuple[str, ...], tuple[int, ...]]]:
    """(name, indices, shape) of each tensor read, left to right."""
    if isinstance(tree, (ast.Subscript, ast.Name)):
        name, indices = subscript_names(tree) if isinstance(tree, ast.Subscript) else (tree.id, ())
        operand = operands.get(name)
        if isinstance(operand, MaskedArray):
            yield name, indices, operand.shape
        elif isinstance(tree, ast.Subscript):
            raise ValueError(f"{name} is not a tensor operand")
        elif name in operands and not isinstance(operand, (bool, int, float, complex, np.generic)):
            raise TypeError(f"operand {name} is neither a MaskedArray nor a scalar")
        return
    children = tree.args if isinstance(tree, ast.Call) else ast.iter_child_nodes(tree)
    for child in children:
        if isinstance(child, ast.expr):
            yield from reads(child, operands)


def cell_of(node: ast.expr, reduction: str, operands: Mapping[str, Operand], point: Point) -> Cell:
    """The expression at one index tuple."""

    def at(child: ast.expr) -> Cell:
        return cell_of(child, reduction, operands, point)

    match node:
        case ast.Constant(value=value):
            return scalar_cell(checked_literal(value))
        case ast.Name(id=name):
            operand = operands.get(name)
            if isinstance(operand, MaskedArray):
                return read_cell(operand, ())
            return scalar_cell(operand if name in operands else np.int64(index_value(name, point)))
        case ast.Subscript():
            name, indices = subscript_names(node)
            tensor = operands[name]
            assert isinstance(tensor, MaskedArray)
            return read_cell(tensor, tuple(point[index] for index in indices))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            return combine(BINARY[type(op)], [at(left), at(right)], reduction)
        case ast.UnaryOp(op=unary, operand=argument) if type(unary) in UNARY:
            return combine(UNARY[type(unary)], [at(argument)], reduction)
        case ast.BoolOp(op=connective, values=terms):
            operator = AND if isinstance(connective, ast.And) else OR
            return reduce(lambda one, two: combine(operator, [one, two], reduction), map(at, terms))
        case ast.Compare(left=first, ops=ops, comparators=others) if all(type(op) in COMPARISONS for op in ops):
            sides = list(map(at, [first, *others]))
            pairs = zip(ops, sides[:-1], sides[1:], strict=True)
            links = [combine(COMPARISONS[type(op)], [one, two], reduction) for op, one, two in pairs]
            return reduce(lambda one, two: combine(AND, [one, two], reduction), links)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in CALLS:
            return combine(checked_call(name, len(arguments)), list(map(at, arguments)), reduction)
        case _:
            raise ValueError(f"not in the grammar: {ast.unparse(node)}")


def checked_literal(value: object) -> bool | int | float | complex:
    """A bool, an int that fits 64 bits, a float or a complex number; ValueError for any other constant."""
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64:
        raise ValueError(f"literal {value} does not fit int64 or uint64")
    if isinstance(value, (bool, int, float, complex)):
        return value
    raise ValueError(f"not a literal of the grammar: {value!r}")


def index_value(name: str, point: Point) -> int:
    """The coordinate of an index used as a value."""
    if name not in point:
        raise ValueError(f"{name} is neither an operand nor an index with an extent")
    return point[name]


def checked_call(name: str, count: int) -> Operator:
    """The operator called `name`, if it takes `count` operands."""
    operator = CALLS[name]
    if count != operator.arity if operator.arity is not None else count < 2:
        raise ValueError(f"{name} does not take {count} operands")
    return operator


# ---------------------------------------------------------------------------------------------- NumPy style


def evaluate_numpy(text: str, *operands: MaskedArray) -> MaskedArray:
    """`ij,jk->ik`: a sum of one n-ary product in the operands' common dtype (bools: or of and).

    ValueError for a wrong number of operands or letters, conflicting extents, and output letters that are unknown or
    given twice.
    """
    terms, left = parse_subscripts(text, [operand.ndim for operand in operands])
    names = [f"operand {number}" for number in range(len(operands))]
    shapes = [operand.shape for operand in operands]
    extents = unify_extents(zip(names, terms, shapes, strict=True))
    check_left(left, extents)

    def cell_at(tensors: Mapping[str, Operand], point: Point) -> Cell:
        cells = []
        for name, term in zip(names, terms, strict=True):
            tensor = tensors[name]
            assert isinstance(tensor, MaskedArray)
            cells.append(read_cell(tensor, tuple(point[letter] for letter in term)))
        return combine(PRODUCT, cells, KEEPING_SUM.name)

    return Nest(left, extents, KEEPING_SUM, cell_at).run(dict(zip(names, operands, strict=True)))


def parse_subscripts(text: str, ndims: Sequence[int]) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    """Index names of each operand and of the output.  The k-th last index under an ellipsis is called `...k`."""
    inputs, arrow, output = "".join(text.split()).partition("->")
    parts = inputs.split(",")
    if len(parts) != len(ndims):
        raise ValueError(f"{text!r} names {len(parts)} operands, not {len(ndims)}")
    spread = [
        ndim - len(part.replace("...", "", 1)) if "..." in part else 0 for part, ndim in zip(parts, ndims, strict=True)
    ]
    if min(spread) < 0:
        raise ValueError(f"an operand has fewer indices than its letters in {text!r}")
    terms = [letters(part, count) for part, count in zip(parts, spread, strict=True)]
    if arrow:
        if "..." not in output and max(spread) > 0:
            raise ValueError(f"the output of {text!r} needs an ellipsis")
        return terms, letters(output, max(spread))
    flat = [name for term in terms for name in term]
    once = sorted(name for name in set(flat) if flat.count(name) == 1 and not name.startswith("."))
    return terms, (*letters("...", max(spread)), *once)


def letters(part: str, count: int) -> tuple[str, ...]:
    """One name per index of a term whose ellipsis, if it has one, stands for `count` of them."""
    before, ellipsis, after = part.partition("...")
    if not all(letter.isascii() and letter.isalpha() for letter in before + after):
        raise ValueError(f"not index letters: {part!r}")
    return (*before, *(f"...{k}" for k in reversed(range(count)) if ellipsis), *after)
