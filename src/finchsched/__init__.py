"""finchsched: an autoscheduling compiler for sparse, structured and dense arrays."""

from finchsched import errors
from finchsched.api import Lazy, Plan, Tensor, asarray, compute, einsum, explain, fuse, lazy, plan, read, sample_path
from finchsched.settings import config
from finchsched.version import __version__

__all__ = [
    "Lazy",
    "Plan",
    "Tensor",
    "__version__",
    "asarray",
    "compute",
    "config",
    "einsum",
    "errors",
    "explain",
    "fuse",
    "lazy",
    "plan",
    "read",
    "sample_path",
]
