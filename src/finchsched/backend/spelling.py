"""How operators and casts read in a kernel: text that means the same in Numba and on NumPy scalars.

Numba computes narrow integers and bools in 64 bits where NumPy keeps the type, so such results are cast back; what
Numba does not have or does differently is called by the name of a helper (`finchsched.backend.prelude`).  The meaning
is `finchsched.algebra.operators.apply`; a test compares all three on a grid of special values.
"""

from dataclasses import dataclass

from finchsched.algebra.dtypes import BOOL, INT32, INT64, UINT64, DType, Scalar
from finchsched.algebra.operators import Operator
from finchsched.backend.prelude import HELPERS, Prelude
from finchsched.errors import LoweringError

__all__ = [
    "CONDITION",
    "NAME",
    "PRIMARY",
    "Text",
    "spell_and",
    "spell_cast",
    "spell_mixed",
    "spell_not",
    "spell_operator",
    "spell_or",
    "spell_where",
    "uses_twice",
]

# Python's precedences, loosest first.
CONDITION, OR, AND, NOT, COMPARE, BIT_OR, BIT_XOR, BIT_AND, SUM, PRODUCT, UNARY, POWER, PRIMARY, NAME = range(14)


@dataclass(frozen=True, slots=True)
class Text:
    """An expression as text, how tightly it binds, its nesting depth, and its value if it is a constant."""

    text: str
    rank: int
    depth: int = 0
    constant: Scalar | None = None

    def at(self, rank: int) -> str:
        """The text, in parentheses if it binds looser than `rank`."""
        return self.text if self.rank >= rank else f"({self.text})"


_INFIX = {
    "add": ("+", SUM),
    "minplus_add": ("+", SUM),
    "maxplus_add": ("+", SUM),
    "sub": ("-", SUM),
    "mul": ("*", PRODUCT),
    "truediv": ("/", PRODUCT),
    "floordiv": ("//", PRODUCT),
    "mod": ("%", PRODUCT),
    "and": ("&", BIT_AND),
    "or": ("|", BIT_OR),
    "xor": ("^", BIT_XOR),
}
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_LOGICAL = {"logical_and": "and", "logical_or": "or", "logical_xor": "xor"}
_ON_BOOLS = {
    **dict.fromkeys(("add", "minplus_add", "maxplus_add", "max", "fmax"), "or"),
    **dict.fromkeys(("mul", "min", "fmin"), "and"),
    **_LOGICAL,
    "logical_not": "not",
}
"""Operators that are another one among bools."""
_KEEP_REAL = ("positive", "conj", "real")
_KEEP_WHOLE = ("floor", "ceil", "trunc", "round")
_CLASSES = {"isnan": False, "isinf": False, "isfinite": True}
"""Whether whole numbers are so."""
_NUMPY_CALLS = frozenset(
    "sqrt exp expm1 log log1p log2 log10 sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh "
    "arctan2 hypot logaddexp floor ceil trunc rint copysign nextafter signbit isnan isinf isfinite sign".split()
)
"""Functions of NumPy that kernels call by their name on real numbers."""
_NUMPY_ON_COMPLEX = frozenset("isnan isinf isfinite conjugate".split())
"""Those that Numba gets right on complex numbers; for the others there are helpers."""


def uses_twice(op: Operator, dtype: DType, args: tuple[Text, ...]) -> bool:
    """Whether the spelling repeats its arguments, so that they must be names."""
    match op.name:
        case "floordiv":
            return dtype == INT64 and args[1].constant in (None, -1)
        case "pow":
            return args[1].constant == 2
        case "sign":
            return dtype.is_integer
        case "angle" | "repeat_add":
            return dtype.is_complex
        case _:
            return op.name == "square"


def spell_operator(op: Operator, dtype: DType, args: tuple[Text, ...], prelude: Prelude) -> Text:
    """`op` on arguments of type `dtype`.

    Raises LoweringError for an operation NumPy does not have on that type.  Where `uses_twice` says so, the arguments
    must be names.
    """
    name = _ON_BOOLS.get(op.name, op.name) if dtype.is_bool else op.name
    if name in _COMPARE:
        a, b = args
        return _text(f"{a.at(COMPARE + 1)} {_COMPARE[name]} {b.at(COMPARE + 1)}", COMPARE, args)
    if name in _LOGICAL or name == "logical_not":
        return _logical(name, dtype, args, prelude)
    if dtype.is_complex:
        return _complex_operator(op, dtype, args, prelude)
    match name:
        case "min" | "max":
            return _call(prelude.helper(f"{name}imum"), args)
        case "fmin" | "fmax":
            return _call(prelude.helper(name if dtype.is_float else f"{name[1:]}imum"), args)
        case _ if name in _KEEP_REAL or (name in _KEEP_WHOLE and not dtype.is_float):
            return args[0]
        case "imag":
            return _constant(0, dtype, prelude)
        case "angle":
            return _call("np.arctan2", (_constant(0, dtype, prelude), *args))
        case _ if dtype.is_float:
            return _float_operator(op, dtype, args, prelude)
        case _ if name in _CLASSES:
            return _constant(_CLASSES[name], BOOL, prelude)
        case "not":
            return _narrow(_text(f"~{args[0].at(UNARY)}", UNARY, args), dtype, prelude)
        case "and" | "or" | "xor":
            return _narrow(_infix(*_INFIX[name], args), dtype, prelude)
        case "abs" if dtype.is_bool:
            return args[0]
        case _ if dtype.is_integer:
            return _integer_operator(op, dtype, args, prelude)
        case _:
            raise _undefined(op, dtype)


def spell_mixed(op: Operator, args: tuple[Text, ...], signed_first: bool, prelude: Prelude) -> Text:
    """A comparison of int64 with uint64, which Numba makes in float64; the signed argument must be a name."""
    signed = args[0 if signed_first else 1]
    zero = prelude.constant(0, INT64)
    below = op.name in ("ne", *(("lt", "le") if signed_first else ("gt", "ge")))  # what a negative number gives
    sides = tuple(spell_cast(arg, INT64, UINT64, prelude) if arg is signed else arg for arg in args)
    inside = spell_operator(op, UINT64, sides, prelude)
    outside = _text(f"{signed.text} {'<' if below else '>='} {zero}", COMPARE, args)
    return _infix(*_INFIX["or" if below else "and"], (outside, inside))


def _integer_operator(op: Operator, dtype: DType, args: tuple[Text, ...], prelude: Prelude) -> Text:
    match op.name:
        case "floordiv" if uses_twice(op, dtype, args):
            return _floordiv_int64(args, prelude)
        case "add" | "minplus_add" | "maxplus_add" | "sub" | "mul" | "floordiv" | "mod":
            return _narrow(_infix(*_INFIX[op.name], args), dtype, prelude)
        case "pow" | "square" if op.name == "square" or args[1].constant == 2:
            return _narrow(_text(f"{args[0].text} * {args[0].text}", PRODUCT, args), dtype, prelude)
        case "pow" | "left_shift" | "right_shift":
            return _call(prelude.helper("power" if op.name == "pow" else op.name), args)
        case "repeat_add":
            return _narrow(
                _infix(*_INFIX["mul"], (args[0], spell_cast(args[1], INT64, dtype, prelude))), dtype, prelude
            )
        case "repeat_mul":
            wide = UINT64 if dtype.is_unsigned else INT64
            base, count = spell_cast(args[0], dtype, wide, prelude), spell_cast(args[1], INT64, wide, prelude)
            return _narrow(_call(prelude.helper("power"), (base, count)), dtype, prelude)
        case "neg":
            return _cast_back(_text(f"-{args[0].at(UNARY)}", UNARY, args), dtype, prelude)
        case "abs":
            return args[0] if dtype.is_unsigned else _narrow(_call("abs", args), dtype, prelude)
        case "sign":
            return _sign_integer(args[0].text, dtype, prelude)
        case "reciprocal":
            return _call(prelude.helper("reciprocal"), args)
        case _:
            raise _undefined(op, dtype)


def _float_operator(op: Operator, dtype: DType, args: tuple[Text, ...], prelude: Prelude) -> Text:
    match op.name:
        case "add" | "minplus_add" | "maxplus_add" | "sub" | "mul" | "truediv" | "floordiv" | "mod":
            return _infix(*_INFIX[op.name], args)
        case "pow" | "square" if op.name == "square" or args[1].constant == 2:
            return _text(f"{args[0].text} * {args[0].text}", PRODUCT, args)
        case "pow":
            return _call(prelude.helper("power"), args)
        case "repeat_mul":
            return _call(prelude.helper("power"), (args[0], spell_cast(args[1], INT64, dtype, prelude)))
        case "repeat_add":
            return _infix(*_INFIX["mul"], (args[0], spell_cast(args[1], INT64, dtype, prelude)))
        case "neg":
            return _text(f"-{args[0].at(UNARY)}", UNARY, args)
        case "abs":
            return _call("abs", args)
        case "reciprocal":
            return _infix(*_INFIX["truediv"], (_constant(1, dtype, prelude), *args))
        case _ if op.numpy in _NUMPY_CALLS:
            return _call(f"np.{op.numpy}", args)
        case _:
            raise _undefined(op, dtype)


def _complex_operator(op: Operator, dtype: DType, args: tuple[Text, ...], prelude: Prelude) -> Text:
    match op.name:
        case "add" | "minplus_add" | "maxplus_add" | "sub" | "mul":
            return _infix(*_INFIX[op.name], args)
        case "square":
            return _text(f"{args[0].text} * {args[0].text}", PRODUCT, args)
        case "pow" if args[1].constant == 2:
            return _text(f"{args[0].text} * {args[0].text}", PRODUCT, args)
        case "repeat_add":
            term, times = args[0].text, spell_cast(args[1], INT64, dtype.real, prelude).text
            parts = f"complex({term}.real * {times}, {term}.imag * {times})"
            return _call(prelude.cast(dtype), (_text(parts, PRIMARY, args),))
        case "repeat_mul":
            return _call(prelude.helper("power"), (args[0], spell_cast(args[1], INT64, dtype, prelude)))
        case "neg":
            return _text(f"-{args[0].at(UNARY)}", UNARY, args)
        case "positive":
            return args[0]
        case "real" | "imag":
            return _text(f"{args[0].at(PRIMARY)}.{op.name}", PRIMARY, args)
        case "angle":
            return _text(f"np.arctan2({args[0].text}.imag, {args[0].text}.real)", PRIMARY, args)
        case _ if op.numpy in _NUMPY_ON_COMPLEX:
            return _call(f"np.{op.numpy}", args)
        case _ if op.numpy in HELPERS:
            return _call(prelude.helper(op.numpy), args)
        case _:
            raise _undefined(op, dtype)


def _undefined(op: Operator, dtype: DType) -> LoweringError:
    return LoweringError(f"operator {op.name} has no meaning on {dtype}")


def _constant(value: Scalar, dtype: DType, prelude: Prelude) -> Text:
    return Text(prelude.constant(value, dtype), NAME, 0, value)


def _text(text: str, rank: int, args: tuple[Text, ...]) -> Text:
    return Text(text, rank, 1 + max(a.depth for a in args))


def _call(function: str, args: tuple[Text, ...]) -> Text:
    return _text(f"{function}({', '.join(a.text for a in args)})", PRIMARY, args)


def _infix(symbol: str, rank: int, args: tuple[Text, ...]) -> Text:
    left, right = args
    return _text(f"{left.at(rank)} {symbol} {right.at(rank + 1)}", rank, args)


def _logical(name: str, dtype: DType, args: tuple[Text, ...], prelude: Prelude) -> Text:
    """Of numbers, which are true if they are not 0."""
    if name == "logical_not":
        return _text(f"{args[0].at(COMPARE + 1)} == {prelude.constant(0, dtype)}", COMPARE, args)
    truths = tuple(spell_cast(arg, dtype, BOOL, prelude) for arg in args)
    return _infix(*_INFIX[_LOGICAL[name]], truths)


def _narrow(text: Text, dtype: DType, prelude: Prelude) -> Text:
    """Numba's results of narrow integers are 64 bits wide; cut them back."""
    return _cast_back(text, dtype, prelude) if dtype.is_integer and dtype.itemsize < 8 else text


def _cast_back(text: Text, dtype: DType, prelude: Prelude) -> Text:
    """Numba's negation of an unsigned number is signed, and narrow results are wide."""
    return text if dtype == INT64 else _call(prelude.cast(dtype), (text,))


def _floordiv_int64(args: tuple[Text, ...], prelude: Prelude) -> Text:
    """Numba's `INT_MIN // -1` is 0; NumPy's wraps."""
    a, b = args
    minus_one = prelude.constant(-1, INT64)
    return _text(f"-{a.text} if {b.text} == {minus_one} else {a.text} // {b.text}", CONDITION, args)


def _sign_integer(x: str, dtype: DType, prelude: Prelude) -> Text:
    zero, one = prelude.constant(0, dtype), prelude.constant(1, dtype)
    if dtype.is_unsigned:
        return Text(f"{one} if {x} > {zero} else {zero}", CONDITION, 1)
    minus = prelude.constant(-1, dtype)
    return Text(f"{one} if {x} > {zero} else {minus} if {x} < {zero} else {zero}", CONDITION, 1)


def spell_cast(arg: Text, source: DType, target: DType, prelude: Prelude) -> Text:
    """`arg` of type `source` as `target`."""
    if source == target:
        return arg
    if target.is_bool:
        return _text(f"{arg.at(COMPARE + 1)} != {prelude.constant(0, source)}", COMPARE, (arg,))
    if source.is_complex and not target.is_complex:
        real = _text(f"{arg.at(PRIMARY)}.real", PRIMARY, (arg,))
        return spell_cast(real, source.real, target, prelude)
    if source.is_float and target.is_integer:
        return _cut_off(arg, target, prelude)
    return _call(prelude.cast(target), (arg,))


def _cut_off(arg: Text, target: DType, prelude: Prelude) -> Text:
    """A float as an integer.  Beyond the range of `target` it is what C's conversions give NumPy on most processors."""
    if target == UINT64:
        return _call(prelude.helper("to_uint64"), (arg,))
    wide = INT64 if target.itemsize == 8 or (target.itemsize == 4 and target.is_unsigned) else INT32
    whole = _call(prelude.cast(wide), (arg,))
    return whole if target == wide else _call(prelude.cast(target), (whole,))


def spell_where(cond: Text, then: Text, other: Text) -> Text:
    """`then if cond else other`."""
    text = f"{then.at(CONDITION + 1)} if {cond.at(CONDITION + 1)} else {other.text}"
    return _text(text, CONDITION, (cond, then, other))


def spell_and(left: Text, right: Text) -> Text:
    """`left and right`, for conditions only: `right` is not evaluated when `left` is false."""
    return _text(f"{left.at(AND)} and {right.at(AND + 1)}", AND, (left, right))


def spell_or(left: Text, right: Text) -> Text:
    """`left or right`, for conditions only."""
    return _text(f"{left.at(OR)} or {right.at(OR + 1)}", OR, (left, right))


def spell_not(arg: Text) -> Text:
    """`not arg`, for conditions only: on NumPy scalars its result is a plain bool."""
    return _text(f"not {arg.at(NOT)}", NOT, (arg,))
