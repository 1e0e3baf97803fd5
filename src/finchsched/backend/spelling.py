"""How operators and casts read in a kernel: text that means the same in Numba and on NumPy scalars.

Numba computes narrow integers and bools in 64 bits where NumPy keeps the type, so such results are cast back.  The
meaning is `finchsched.algebra.operators.apply`; a test compares all three on a grid of special values.
"""

from dataclasses import dataclass

from finchsched.algebra.dtypes import BOOL, INT64, DType, Scalar
from finchsched.algebra.operators import Operator
from finchsched.backend.prelude import Prelude
from finchsched.errors import LoweringError

__all__ = [
    "CONDITION",
    "NAME",
    "PRIMARY",
    "Text",
    "spell_and",
    "spell_cast",
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
_BOOL_INFIX = {"add": "or", "minplus_add": "or", "maxplus_add": "or", "mul": "and", "max": "or", "min": "and"}
_NUMPY_CALLS = ("sqrt", "exp", "log", "sin", "cos", "tanh", "floor", "ceil", "sign")


def uses_twice(op: Operator, dtype: DType, args: tuple[Text, ...]) -> bool:
    """Whether the spelling repeats its arguments, so that they must be names."""
    if op.name == "floordiv":
        return dtype == INT64 and args[1].constant in (None, -1)
    if op.name in ("pow", "repeat_mul"):
        return args[1].constant == 2
    return op.name == "sign" and dtype.is_integer


def spell_operator(op: Operator, dtype: DType, args: tuple[Text, ...], prelude: Prelude) -> Text:
    """`op` on arguments of type `dtype`.  Raises LoweringError for an operation NumPy does not have on that type.

    Where `uses_twice` says so, the arguments must be names.
    """
    name = op.name
    if dtype.is_bool and name in _BOOL_INFIX:
        return _infix(*_INFIX[_BOOL_INFIX[name]], args)
    match name:
        case "eq" | "ne" | "lt" | "le" | "gt" | "ge":
            a, b = args
            return _text(f"{a.at(COMPARE + 1)} {_COMPARE[name]} {b.at(COMPARE + 1)}", COMPARE, args)
        case "min" | "max":
            return _call(prelude.helper(f"{name}imum"), args)
        case "floordiv" if uses_twice(op, dtype, args):
            return _floordiv_int64(args, prelude)
        case "truediv" if not dtype.is_float:
            raise _undefined(op, dtype)
        case "and" | "or" | "xor" if dtype.is_float:
            raise _undefined(op, dtype)
        case (
            "add"
            | "minplus_add"
            | "maxplus_add"
            | "sub"
            | "mul"
            | "truediv"
            | "floordiv"
            | "mod"
            | "and"
            | "or"
            | "xor"
        ):
            if dtype.is_bool and name in ("sub", "floordiv", "mod"):
                raise _undefined(op, dtype)
            return _narrow(_infix(*_INFIX[name], args), dtype, prelude)
        case "pow" | "repeat_mul":
            return _narrow(_power(op, dtype, args), dtype, prelude)
        case "not" | "neg":
            if dtype.is_float if name == "not" else dtype.is_bool:
                raise _undefined(op, dtype)
            return _narrow(_text(f"{'~' if name == 'not' else '-'}{args[0].at(UNARY)}", UNARY, args), dtype, prelude)
        case "abs":
            return args[0] if dtype.is_bool else _call("abs", args)
        case "isnan":
            return _call("np.isnan", args) if dtype.is_float else Text(prelude.constant(False, BOOL), NAME, 0, False)
        case "floor" | "ceil" if not dtype.is_float:
            return args[0]
        case "sign" if dtype.is_integer:
            return _sign_integer(args[0].text, dtype, prelude)
        case _ if name in _NUMPY_CALLS and dtype.is_float:
            return _call(f"np.{name}", args)
        case _:
            raise _undefined(op, dtype)


def _undefined(op: Operator, dtype: DType) -> LoweringError:
    return LoweringError(f"operator {op.name} has no meaning on {dtype}")


def _text(text: str, rank: int, args: tuple[Text, ...]) -> Text:
    return Text(text, rank, 1 + max(a.depth for a in args))


def _call(function: str, args: tuple[Text, ...]) -> Text:
    return _text(f"{function}({', '.join(a.text for a in args)})", PRIMARY, args)


def _infix(symbol: str, rank: int, args: tuple[Text, ...]) -> Text:
    left, right = args
    return _text(f"{left.at(rank)} {symbol} {right.at(rank + 1)}", rank, args)


def _narrow(text: Text, dtype: DType, prelude: Prelude) -> Text:
    """Numba's results of narrow integers are 64 bits wide; cut them back."""
    if dtype.is_integer and dtype.itemsize < 8:
        return _call(prelude.cast(dtype), (text,))
    return text


def _floordiv_int64(args: tuple[Text, ...], prelude: Prelude) -> Text:
    """Numba's `INT_MIN // -1` is 0; NumPy's wraps."""
    a, b = args
    minus_one = prelude.constant(-1, INT64)
    return _text(f"-{a.text} if {b.text} == {minus_one} else {a.text} // {b.text}", CONDITION, args)


def _power(op: Operator, dtype: DType, args: tuple[Text, ...]) -> Text:
    if dtype.is_bool or (dtype.is_integer and op.name == "pow"):
        raise _undefined(op, dtype)
    a, b = args
    if b.constant == 2:
        return _text(f"{a.text} * {a.text}", PRODUCT, args)
    return _text(f"{a.at(POWER + 1)} ** {b.at(POWER + 1)}", POWER, args)


def _sign_integer(x: str, dtype: DType, prelude: Prelude) -> Text:
    zero, one = prelude.constant(0, dtype), prelude.constant(1, dtype)
    if dtype.name.startswith("u"):
        return Text(f"{one} if {x} > {zero} else {zero}", CONDITION, 1)
    minus = prelude.constant(-1, dtype)
    return Text(f"{one} if {x} > {zero} else {minus} if {x} < {zero} else {zero}", CONDITION, 1)


def spell_cast(arg: Text, source: DType, target: DType, prelude: Prelude) -> Text:
    """`arg` of type `source` as `target`."""
    if source == target:
        return arg
    if target.is_bool:
        return _text(f"{arg.at(COMPARE + 1)} != {prelude.constant(0, source)}", COMPARE, (arg,))
    return _call(prelude.cast(target), (arg,))


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
