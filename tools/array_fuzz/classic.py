"""The kinds that every run begins with: `A * B`, `A + B` and `A.sum()` of 8 x 8 matrices in common formats."""

from functools import partial

import numpy as np

from array_fuzz.forms import Spec
from array_fuzz.kinds import Kind
from array_fuzz.model import Batch, pointwise, reduced
from oracle.einsum_oracle import ADD, MULTIPLY

__all__ = ["CLASSIC"]

_WIDE = ("int64", "int64")
_PAIRS = (
    (Spec("float64", (8, 8), "csr"), Spec("float64", (8, 8), "csr")),
    (Spec("int64", (8, 8), "csr"), Spec("int64", (8, 8), "csr")),
    (Spec("float64", (8, 8), "csr"), Spec("float64", (8, 8), "csc")),
    (Spec("bool", (8, 8), "csr"), Spec("bool", (8, 8), "csr")),
    (Spec("float64", (8, 8), "csr"), Spec("float64", (8, 8), "csr", widths=_WIDE)),
    (Spec("float32", (8, 8), "csr"), Spec("float32", (8, 8), "csr")),
    (Spec("float64", (8, 8), "csc"), Spec("float64", (8, 8), "csc")),
    (Spec("int64", (8, 8), "csc", widths=_WIDE), Spec("int64", (8, 8), "csr", widths=_WIDE)),
)


def _sum(batch: Batch) -> Batch:
    return reduced(batch, lambda values, axes: np.sum(values, axis=axes, keepdims=True), (0, 1), False)


CLASSIC = tuple(
    kind
    for a, b in _PAIRS
    for kind in (
        Kind("A * B", (a, b), lambda x, y: x * y, partial(pointwise, MULTIPLY)),
        Kind("A + B", (a, b), lambda x, y: x + y, partial(pointwise, ADD)),
        Kind("A.sum()", (a,), lambda x: x.sum(), _sum),
    )
)
