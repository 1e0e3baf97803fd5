"""finchsched: an autoscheduling compiler for sparse, structured and dense arrays."""

import importlib

from finchsched import api, errors
from finchsched.api import *  # noqa: F403 - everything that finchsched.api lists is public
from finchsched.settings import config

__version__: str
__all__ = ["__version__", "config", "errors"]
__all__ += api.__all__


def __getattr__(name: str) -> str:
    """The version is looked up when it is first asked for: that reads the metadata of installed packages."""
    if name == "__version__":
        found: str = importlib.import_module("finchsched.version").__version__
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
