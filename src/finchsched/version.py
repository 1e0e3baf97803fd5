"""The version of the installed package."""

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version

__all__ = ["__version__"]


def _found() -> str:
    try:
        return installed_version("finchsched")
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "0+unknown"


__version__ = _found()
