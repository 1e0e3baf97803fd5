"""A guard against results that come from NumPy's or SciPy's own routines instead of compiled kernels."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numba.np.linalg
import numpy as np
import pytest
from scipy.sparse import _sparsetools

assert numba.np.linalg  # Numba looks numpy's functions up when it is imported, which must not happen under the guard.

NUMPY_NAMES = ("dot", "einsum", "inner", "matmul", "tensordot", "vdot")
METHODS = (
    "__add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __matmul__ __rmatmul__ _add_dense _add_sparse _sub_sparse "
    "_binopt _matmul_dispatch _matmul_multivector _matmul_sparse _matmul_vector _mul_scalar diagonal dot multiply sum "
    "sum_duplicates toarray tobsr tocoo tocsc tocsr todense todia todok tolil transpose"
).split()

Guard = Callable[[], AbstractContextManager[None]]


class ShortcutError(AssertionError):
    """The library called a routine that does the work for it."""


def refusal(name: str) -> Callable[..., Any]:
    """A function that stands for the routine called `name` and only raises."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise ShortcutError(f"{name} was called")

    return refuse


def routines() -> list[tuple[Any, str]]:
    """(owner, attribute) of everything that the guard replaces."""
    found: list[tuple[Any, str]] = [(np, name) for name in NUMPY_NAMES]
    compiled = {id(f) for name, f in vars(_sparsetools).items() if callable(f) and not name.startswith("__")}
    for name, module in list(sys.modules.items()):
        if name.startswith("scipy.sparse") and module is not None:
            found += [(module, key) for key, value in list(vars(module).items()) if id(value) in compiled]
            classes = [c for c in vars(module).values() if isinstance(c, type) and c.__module__ == name]
            found += [(c, method) for c in classes for method in METHODS if callable(vars(c).get(method))]
    return found


@contextmanager
def guard() -> Iterator[None]:
    """While it is open, products, sums and conversions of SciPy's and contractions of NumPy's raise ShortcutError."""
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in routines():
            patch.setattr(owner, name, refusal(f"{getattr(owner, '__name__', owner)}.{name}"))
        yield


@pytest.fixture
def no_shortcuts() -> Guard:
    """`with no_shortcuts():` around the library's part of a test; expected values are computed before it."""
    return guard
