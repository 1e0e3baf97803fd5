"""Integer arithmetic of Kernel IR as terms of facts, which are unbounded."""

from collections.abc import Callable, Sequence

from finchsched.algebra.dtypes import DType
from finchsched.ast.proof import Fact, IntTerm, Largest, Product, Smallest, Sum
from finchsched.prove.obligations import difference, fits_int64, fits_uint64

__all__ = ["EXTREMES", "INT_TERMS", "fits_64_bits"]

INT_TERMS: dict[str, Callable[[Sequence[IntTerm]], IntTerm]] = {
    "add": lambda args: Sum(tuple(args)),
    "sub": lambda args: difference(*args),
    "mul": lambda args: Product(tuple(args)),
    "min": lambda args: Smallest(tuple(args)),
    "max": lambda args: Largest(tuple(args)),
}
"""The term for an operator, by its name."""

EXTREMES = ("min", "max")
"""Those that compare their arguments, and cannot wrap around."""


def fits_64_bits(term: IntTerm, dtype: DType) -> Fact:
    """A term is the number that an integer of 64 bits, with the sign of `dtype` or without, holds."""
    return fits_uint64(term) if dtype.is_unsigned else fits_int64(term)
