"""The front end: tensors with operators, lazy arrays, einsum, plans."""

from finchsched.api.creation import (
    empty,
    empty_like,
    eye,
    from_coo,
    from_csc,
    from_csr,
    full,
    full_like,
    ones,
    ones_like,
    random,
    zeros,
    zeros_like,
)
from finchsched.api.functions import asarray, compute, einsum, explain, lazy, plan, read, to_dense, to_scipy
from finchsched.api.fuse import Fused, fuse
from finchsched.api.lazy import Lazy
from finchsched.api.plan import Plan
from finchsched.api.tensor import Tensor
from finchsched.io import sample_path

__all__ = [
    "Fused",
    "Lazy",
    "Plan",
    "Tensor",
    "asarray",
    "compute",
    "einsum",
    "empty",
    "empty_like",
    "explain",
    "eye",
    "from_coo",
    "from_csc",
    "from_csr",
    "full",
    "full_like",
    "fuse",
    "lazy",
    "ones",
    "ones_like",
    "plan",
    "random",
    "read",
    "sample_path",
    "to_dense",
    "to_scipy",
    "zeros",
    "zeros_like",
]
