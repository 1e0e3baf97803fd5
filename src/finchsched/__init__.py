"""finchsched: an autoscheduling compiler for sparse, structured and dense arrays."""

import importlib

from finchsched import errors
from finchsched.api import Lazy, Plan, Tensor, asarray, compute, einsum, explain, fuse, lazy, plan, read, sample_path
from finchsched.settings import config

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


def __getattr__(name: str) -> str:
    """The version is looked up when it is first asked for: that reads the metadata of installed packages."""
    if name == "__version__":
        found: str = importlib.import_module("finchsched.version").__version__
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
