"""Functions whose modules are imported when they are first called: what a first result does not need."""

import importlib
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["DeferredModule", "deferred", "is_masked_array", "is_scipy_sparse", "scipy_sparse"]


def deferred(path: str) -> Callable[..., Any]:
    """The function at `package.module.function`; its module is imported when it is first called."""
    module, _, name = path.rpartition(".")

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call


class DeferredModule:
    """A module that is imported when one of its names is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


def scipy_sparse() -> Any:
    """The module `scipy.sparse`, which takes longer to import than this package."""
    return importlib.import_module("scipy.sparse")


def is_scipy_sparse(x: object) -> bool:
    """Whether `x` is a sparse array or matrix of SciPy.  Nothing can be one before SciPy's module is there."""
    issparse = getattr(sys.modules.get("scipy.sparse"), "issparse", None)
    return issparse is not None and issparse(x)


def is_masked_array(x: object) -> bool:
    """Whether `x` is a masked array.  To ask `np.ma` would import it."""
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    return masked is not None and isinstance(x, masked)
