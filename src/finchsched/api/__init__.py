"""The front end: tensors with operators, lazy arrays, einsum, plans."""

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
    "explain",
    "fuse",
    "lazy",
    "plan",
    "read",
    "sample_path",
    "to_dense",
    "to_scipy",
]
