"""NumPy's functions on arrays of this library: `np.sin(A)`, `x @ A` with an ndarray `x`, `np.sum(A, axis=0)`.

A ufunc becomes the function of the same name here (NEP 13), another function of NumPy likewise (NEP 18) if it takes
these arguments.  Any other function of NumPy gets NumPy arrays, which a large sparse tensor refuses to become.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from finchsched.api import creation, elementwise, products, rearranging, reductions, views
from finchsched.api.containers import map_leaves
from finchsched.api.functions import einsum
from finchsched.api.operators_mixin import ArrayOperators
from finchsched.errors import DtypeError

__all__ = ["array_function", "array_ufunc"]

_REDUCTIONS = {
    "add": reductions.sum,
    "multiply": reductions.prod,
    "minimum": reductions.min,
    "maximum": reductions.max,
    "logical_and": reductions.all,
    "logical_or": reductions.any,
}
_OTHER_NAMES = {"amax": "max", "amin": "min", "around": "round", "concatenate": "concat"}
_LINALG = ("matmul", "matrix_norm", "matrix_transpose", "norm", "outer", "tensordot", "vecdot", "vector_norm")


def array_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """The result of a ufunc, or of its `reduce`.  Raises DtypeError for what has no meaning here."""
    given = {name: value for name, value in options.items() if value is not None}
    if "out" in given:
        raise DtypeError(
            f"np.{ufunc.__name__} cannot write a tensor into a NumPy array\nhint: write a = a + T, or take T.to_numpy()"
        )
    match method:
        case "__call__":
            function = _named(ufunc.__name__)
        case "reduce":
            function = _REDUCTIONS.get(ufunc.__name__)
            given["axis"] = options.get("axis", 0)  # None is all axes, and leaving it out is the first
        case _:
            function = None
    if function is None:
        raise DtypeError(
            f"np.{ufunc.__name__}{'' if method == '__call__' else '.' + method} is not available for tensors\n"
            "hint: use .to_numpy() for what has to be dense"
        )
    if not _takes(function, inputs, given):
        raise DtypeError(f"np.{ufunc.__name__} of tensors does not take {', '.join(given)}")
    return function(*inputs, **given)


def array_function(function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """The result of a function of NumPy: by the function of that name here, else by NumPy on dense arrays."""
    home = function.__module__
    known = home == "numpy" or (home == "numpy.linalg" and function.__name__ in _LINALG)
    here = _named(_OTHER_NAMES.get(function.__name__, function.__name__)) if known else None
    given = {name: value for name, value in options.items() if not (name == "out" and value is None)}
    if here is not None and _takes(here, args, given):
        return here(*args, **given)
    dense = map_leaves(_densified, (tuple(args), dict(options)))
    return function(*dense[0], **dense[1])


def _densified(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, ArrayOperators) else value


@lru_cache(maxsize=512)
def _named(name: str) -> Callable[..., Any] | None:
    """The public function that NumPy's function of this name stands for."""
    if name == "einsum":
        return einsum
    for module in (elementwise, products, reductions, rearranging, views, creation):
        if name in module.__all__:
            found: Callable[..., Any] = getattr(module, name)
            return found
    return None


def _takes(function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> bool:
    try:
        _signature(function).bind(*args, **options)
    except TypeError:
        return False
    return True


@lru_cache(maxsize=512)
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)
