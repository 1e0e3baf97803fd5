"""finchsched: an autoscheduling compiler for sparse, structured and dense arrays."""

from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path

from finchsched import errors
from finchsched.api import Lazy, Plan, Tensor, asarray, compute, einsum, explain, lazy, plan, read
from finchsched.settings import config

__all__ = [
    "Lazy",
    "Plan",
    "Tensor",
    "asarray",
    "compute",
    "config",
    "einsum",
    "errors",
    "explain",
    "lazy",
    "plan",
    "read",
    "sample_path",
]

try:
    __version__ = version("finchsched")
except PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0+unknown"


def sample_path(name: str) -> Path:
    """The path of a matrix that comes with the package.  Raises FileNotFoundError naming those there are."""
    folder = Path(str(files("finchsched") / "data"))
    path = folder / name
    if not path.is_file():
        known = ", ".join(sorted(p.name for p in folder.glob("*.mtx*")))
        raise FileNotFoundError(f"no sample matrix is called {name!r}; there are {known}")
    return path
