"""The front end: tensors with operators, lazy arrays, einsum, plans."""

from finchsched.api.functions import asarray, compute, einsum, explain, lazy, plan, read, to_dense, to_scipy
from finchsched.api.lazy import Lazy
from finchsched.api.plan import Plan
from finchsched.api.rearranging import (
    argmax,
    argmin,
    argwhere,
    concat,
    flatten,
    flip,
    nonzero,
    ravel,
    repeat,
    reshape,
    roll,
    stack,
    take,
    tile,
    tril,
    triu,
    unstack,
)
from finchsched.api.tensor import Tensor
from finchsched.io import sample_path

__all__ = [
    "Lazy",
    "Plan",
    "Tensor",
    "argmax",
    "argmin",
    "argwhere",
    "asarray",
    "compute",
    "concat",
    "einsum",
    "explain",
    "flatten",
    "flip",
    "lazy",
    "nonzero",
    "plan",
    "ravel",
    "read",
    "repeat",
    "reshape",
    "roll",
    "sample_path",
    "stack",
    "take",
    "tile",
    "to_dense",
    "to_scipy",
    "tril",
    "triu",
    "unstack",
]
