"""Scalar expressions of a plan, worked out when it runs."""

from collections.abc import Mapping

import numpy as np

from finchsched.algebra.dtypes import Scalar, cast_scalar
from finchsched.algebra.operators import apply, result_type
from finchsched.ast.node import Node
from finchsched.ast.scalar import Call, Literal, Size, Value
from finchsched.errors import KernelError

__all__ = ["evaluate"]


def evaluate(expr: Node, values: Mapping[str, Scalar], sizes: Mapping[str, int]) -> Scalar:
    """The value of a scalar expression as a plain Python scalar of its type."""
    match expr:
        case Literal(value, _):
            return value
        case Value(name, dtype, _):
            if name not in values:
                raise KernelError(f"the scalar {name} has no value")
            return cast_scalar(values[name], dtype)
        case Size(index):
            return sizes[index]
        case Call(op, args):
            from finchsched.ast.facts import scalar_dtype  # facts are of the compiler: few plans need it to run

            wanted, out = result_type(op, *(scalar_dtype(arg) for arg in args))
            given = [cast_scalar(evaluate(arg, values, sizes), dtype) for arg, dtype in zip(args, wanted, strict=True)]
            typed = [dtype.numpy.type(value) for value, dtype in zip(given, wanted, strict=True)]
            return cast_scalar(np.asarray(apply(op, *typed)).item(), out)
        case _:
            raise KernelError(f"{type(expr).__name__} is not a scalar expression")
