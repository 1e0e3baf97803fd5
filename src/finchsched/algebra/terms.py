"""Definitions of operators: terms over arguments, constants and simpler operators.

    square(x) = mul(x, x)              Applied("mul", (Argument(0), Argument(0)))
    fmin(x, y) = where(ne(x, x), y, ...)

A term has no types of its own.  Applied to arguments of given types it is typed from the leaves up by `result_type`;
a Constant with dtype None takes the type of the definition's first argument.
"""

from dataclasses import dataclass
from typing import TypeAlias

from finchsched.algebra.dtypes import DType, Scalar

__all__ = ["Applied", "Argument", "Constant", "Term"]


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of the operator, by position."""

    position: int


@dataclass(frozen=True, slots=True)
class Constant:
    """A number."""

    value: Scalar
    dtype: DType | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """An operator, by name, on terms."""

    operator: str
    args: tuple["Term", ...]


Term: TypeAlias = Argument | Constant | Applied
