"""Kinds of elementwise operations: functions and operators by name, `where`, `clip`, casts."""

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import finchsched as fs
from array_fuzz.kinds import COMPLEX, DTYPES, FLOATS, INTEGERS, Draw, Kind
from array_fuzz.model import Batch, call, pointwise
from finchsched.api import elementwise
from oracle.einsum_oracle import CALLS, Operator

__all__ = ["binary", "casts", "clips", "scalars", "unary", "wheres"]

ROUNDED = frozenset(
    "acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh cos cosh exp expm1 "
    "hypot log log1p log2 log10 logaddexp pow power sin sinh tan tanh".split()
)
"""Functions that libraries round differently."""

ROUNDED_COMPLEX = ROUNDED | frozenset(
    "abs absolute sqrt square reciprocal divide true_divide multiply sign round".split()
)

SIGNED_ZERO = frozenset(
    "arctan2 atan2 copysign divide floor_divide mod remainder pow power reciprocal signbit true_divide".split()
)
"""Functions that tell -0.0 from 0.0; compiled code does not promise to keep them apart."""

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "true_divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "left_shift": operator.lshift,
    "right_shift": operator.rshift,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}

OTHERS = ("astype", "clip", "round", "where")
NAMES = tuple(name for name in elementwise.__all__ if name not in OTHERS)


def _arity(name: str) -> int:
    found = call(name)
    return found.arity or 2


UNARY = tuple(name for name in NAMES if _arity(name) == 1)
BINARY = tuple(name for name in NAMES if _arity(name) == 2)
FAVOURITES = ("multiply", "add", "subtract", "maximum", "minimum", "equal", "less", "logical_and", "logical_or")

SHIFTS = ("bitwise_left_shift", "bitwise_right_shift", "left_shift", "right_shift")
ORDERED = frozenset(
    "arctan2 atan2 ceil copysign floor floor_divide fmax fmin greater greater_equal hypot less less_equal logaddexp "
    "maximum minimum mod nextafter remainder signbit trunc".split()
)
"""Functions that order numbers or look at their digits: they refuse complex ones."""


def _domain(name: str, dtype: str) -> str:
    """Values on which libraries agree."""
    if dtype in COMPLEX:
        return "finite" if name in ROUNDED_COMPLEX else "signless"
    return "signless" if name in SIGNED_ZERO else "any"


def _expect(name: str, function: Operator, *terms: Any) -> Batch:
    """The model's result; complex numbers are refused where NumPy orders them by their parts."""
    dtypes = [term.values.dtype if isinstance(term, Batch) else np.asarray(term).dtype for term in terms]
    if name in ORDERED and any(dtype.kind == "c" for dtype in dtypes):
        raise TypeError(f"{name} of complex numbers")
    found = pointwise(function, *terms)
    # Compiled code does not look at a fill such as 100, which is true, nor at the other part of one that is NaN.
    if name in ("logical_or", "bitwise_or") or (found.values.dtype.kind == "c" and found.fill != found.fill):
        found = replace(found, mask="least")
    inexact = ROUNDED_COMPLEX if any(dtype.kind == "c" for dtype in dtypes) else ROUNDED
    return found.loose(8) if name in inexact and found.values.dtype.kind in "fc" else found


def _accepted(draw: Draw, name: str, dtypes: list[str]) -> list[str]:
    """Element types that NumPy has the function for; now and then all of them, to see the others refused."""
    if draw.percent(5):
        return dtypes
    kept = []
    for dtype in dtypes:
        try:
            call(name).once(*(np.ones(1, dtype),) * _arity(name))
        except TypeError:
            continue
        if name not in ORDERED or dtype not in COMPLEX:
            kept.append(dtype)
    return kept


def _spelled(draw: Draw, name: str) -> tuple[str, Callable[..., Any]]:
    """How it is written: the function of the library, NumPy's, or an operator."""
    if name in OPERATORS and draw.percent(40):
        return f"operator.{name}", OPERATORS[name]
    if isinstance(getattr(np, name), np.ufunc) and draw.percent(20):
        return f"np.{name}", getattr(np, name)
    return f"fs.{name}", getattr(fs, name)


def unary(draw: Draw) -> Kind:
    """A function of one array."""
    name = draw.pick(UNARY)
    dtype = draw.pick(_accepted(draw, name, DTYPES))
    text, run = _spelled(draw, name)
    spec = draw.spec(dtype=dtype, domain=_domain(name, dtype))
    return Kind(f"{text}(A)", (spec,), run, partial(_expect, name, call(name)))


def binary(draw: Draw, name: str | None = None) -> Kind:
    """A function of two arrays."""
    name = name or draw.pick(FAVOURITES if draw.percent(30) else BINARY)
    dtype = draw.pick(_accepted(draw, name, DTYPES))
    domain = _domain(name, dtype)
    a = draw.spec(dtype=dtype, domain=domain)
    if name in ("pow", "power"):
        a = draw.spec(dtype=dtype, domain="finite")
        b = draw.partner(a, domain="count")
    elif name in SHIFTS:
        b = draw.partner(a, domain="count")
    else:
        b = draw.partner(a)
    if b.dtype in COMPLEX and dtype not in COMPLEX:
        b = draw.partner(a, dtype=dtype, domain=b.domain)
    if draw.percent(50) and name not in ("pow", "power", *SHIFTS):
        a, b = b, a
    text, run = _spelled(draw, name)
    return Kind(f"{text}(A, B)", (a, b), run, partial(_expect, name, call(name)))


SCALARS: dict[str, tuple[Any, ...]] = {
    "b": (True, False, 1, 2, 0.5, np.bool(True), np.int8(3)),
    "i": (2, 1, 0, -3, 0.5, -1.5, True, np.inf, np.int8(-3), np.uint64(2), np.float32(0.5)),
    "u": (2, 1, 0, 0.5, True, np.nan, np.int8(-3), np.uint64(2), np.float32(0.5)),
    "f": (2, 1, 0, -3, 0.5, -1.5, True, np.nan, np.inf, -np.inf, 1 + 2j, np.float64(0.5), np.int64(3)),
    "c": (2, 1, 0, -1.5, 1 + 2j, np.complex64(1j)),
}


def scalars(draw: Draw) -> Kind:
    """A function of an array and a scalar, on either side."""
    name = draw.pick(FAVOURITES if draw.percent(30) else BINARY)
    dtype = draw.pick(_accepted(draw, name, DTYPES))
    scalar = draw.pick(SCALARS[np.dtype(dtype).kind])
    swapped = draw.percent(30)
    if name in SHIFTS:
        scalar, swapped = draw.pick((0, 1, 3)), False
    if name in ("pow", "power"):
        scalar, swapped = draw.pick((0, 1, 2, 3, 0.5)), False
    domain = _domain(name, dtype)
    if isinstance(scalar, complex):
        domain = "finite"
        scalar = 2 if name in ORDERED and draw.percent(90) else scalar
    a = draw.spec(dtype=dtype, domain="finite" if name in ("pow", "power") else domain)
    text, function = _spelled(draw, name)
    expect = partial(_expect, name, call(name))
    if swapped:
        return Kind(f"{text}({scalar!r}, A)", (a,), lambda x: function(scalar, x), lambda x: expect(scalar, x))
    return Kind(f"{text}(A, {scalar!r})", (a,), lambda x: function(x, scalar), lambda x: expect(x, scalar))


def _where(*terms: Any) -> Batch:
    """A condition that is not stored may choose what is not stored either: then the result need not be."""
    return replace(pointwise(CALLS["where"], *terms), mask="any")


def wheres(draw: Draw) -> Kind:
    """A choice between two arrays, or an array and a scalar, by a third or by the array itself."""
    a = draw.spec()
    match draw.pick("abs"):
        case "a":
            return Kind("fs.where(A, A, 2)", (a,), lambda x: fs.where(x, x, 2), lambda x: _where(x, x, 2))
        case "s":
            b = draw.partner(a)
            return Kind("fs.where(A, 1, B)", (a, b), lambda x, y: fs.where(x, 1, y), lambda x, y: _where(x, 1, y))
        case _:
            b, c = draw.partner(a), draw.partner(a)
            if b.shape != c.shape and 1 in (*b.shape, *c.shape):
                c = draw.spec(b.shape, c.dtype)
            return Kind("fs.where(A, B, C)", (a, b, c), fs.where, _where)


def clips(draw: Draw) -> Kind:
    """`clip` and `round`, which are made of several operators."""
    a = draw.spec(dtype=[*INTEGERS, *FLOATS])
    if draw.percent(50):
        least, most = draw.pick(((0, 1), (1, 2), (1, None), (None, 1)))

        def clip(x: Batch) -> Batch:
            found = x if least is None else pointwise(CALLS["max"], x, least)
            return found if most is None else pointwise(CALLS["min"], found, most)

        return Kind(f"fs.clip(A, {least}, {most})", (a,), lambda x: fs.clip(x, least, most), clip)
    decimals = draw.pick((0, 0, 1, -1))
    rounding = Operator(partial(np.round, decimals=decimals), 1)
    return Kind(
        f"fs.round(A, {decimals})",
        (a if decimals == 0 else draw.spec(dtype=FLOATS, domain="finite"),),
        lambda x: fs.round(x, decimals),
        lambda x: pointwise(rounding, x).loose(2 if decimals else 0),
    )


def casts(draw: Draw) -> Kind:
    """`astype` between any two types, of numbers that the other one holds."""
    source, target = draw.pick(DTYPES), draw.pick(DTYPES)
    whole = target in INTEGERS and source in (*FLOATS, *COMPLEX)
    domain = ("count" if target.startswith("u") else "finite") if whole else "any"
    a = draw.spec(dtype=source, domain=domain)
    function = CALLS[target]
    return Kind(f"A.astype({target!r})", (a,), lambda x: x.astype(target), lambda x: pointwise(function, x))
