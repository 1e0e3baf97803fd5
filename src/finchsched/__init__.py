"""finchsched: an autoscheduling compiler for sparse, structured and dense arrays."""

from finchsched import errors
from finchsched.api import (
    Lazy,
    Plan,
    Tensor,
    asarray,
    compute,
    einsum,
    explain,
    lazy,
    plan,
    read,
)
from finchsched.settings import config

__all__ = ["Lazy", "Plan", "Tensor", "asarray", "compute", "config", "einsum", "errors", "explain", "lazy", "plan", "read"]
__version__ = "0.1.0"
