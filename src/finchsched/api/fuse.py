"""`fuse`: a Python function of arrays, compiled as one program."""

import functools
import linecache
import traceback
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from finchsched.api.containers import map_leaves
from finchsched.api.deferred import is_scipy_sparse
from finchsched.api.functions import asarray, computed, explain, plan
from finchsched.api.lazy import Lazy
from finchsched.api.operators_mixin import ArrayOperators
from finchsched.api.plan import Plan
from finchsched.errors import FusionError, LazyValueError

__all__ = ["Fused", "fuse"]


class Fused:
    """A function whose arrays are traced and computed as one program; see `fuse`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._name: str = getattr(function, "__qualname__", repr(function))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Trace the function and compute every array in what it returns; inside another trace, only trace."""
        result, outer = self._trace(args, kwargs)
        if outer:
            return result
        tensors = iter(computed(_lazy_leaves(result)))
        return map_leaves(lambda leaf: next(tensors) if isinstance(leaf, Lazy) else leaf, result)

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, bool]:
        """What the function returns for lazy arrays, and whether some were lazy already."""
        tracer = _Tracer()
        args, kwargs = map_leaves(tracer.enter, args), map_leaves(tracer.enter, kwargs)
        try:
            return self._function(*args, **kwargs), tracer.outer
        except LazyValueError as error:
            if isinstance(error, FusionError):
                raise
            raise FusionError(self._refusal(error)) from error

    def _refusal(self, error: LazyValueError) -> str:
        """The error in terms of the line of the user's code that asked for a value."""
        package = __name__.split(".", maxsplit=1)[0]
        frames = [
            (frame.f_code.co_filename, number)
            for frame, number in traceback.walk_tb(error.__traceback__)
            if not str(frame.f_globals.get("__name__", "")).startswith(f"{package}.")
        ]
        file, number = frames[-1] if frames else ("", 0)
        line = linecache.getline(file, number).strip()
        at = f"line {number} of {file}" + (f": {line}" if line else "") if file else "the function"
        found = str(error).split("\n", maxsplit=1)[0]
        return (
            f"{self._name} cannot be fused: {at}\n{found}\n"
            "hint: control flow cannot depend on the values of arrays, only on shapes, types and arguments that are no "
            "arrays; use finchsched.where, or compute this part outside"
        )

    def plan(self, *args: Any, **kwargs: Any) -> Plan:
        """The compiled program of a call, without running it.  Raises FusionError if the call computes no array."""
        result, _ = self._trace(args, kwargs)
        roots = _lazy_leaves(result)
        if not roots:
            raise FusionError(f"{self._name} computes no array of these arguments")
        return plan(*roots)

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """What the compiler does with a call, as text."""
        return explain(self.plan(*args, **kwargs))

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """A fused method: the instance is an argument that is no array."""
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<fused {self._name}>"


def _lazy_leaves(value: Any) -> list[Lazy]:
    """The lazy arrays in nested containers, in order."""
    found: list[Lazy] = []
    map_leaves(lambda leaf: found.append(leaf) if isinstance(leaf, Lazy) else None, value)
    return found


class _Tracer:
    """Makes array arguments lazy, the same array always to the same leaf; notes whether one was lazy already."""

    def __init__(self) -> None:
        self.outer = False
        self._leaves: dict[int, Lazy] = {}
        self._kept: list[object] = []

    def enter(self, leaf: Any) -> Any:
        if isinstance(leaf, Lazy):
            self.outer = True
            return leaf
        if not (isinstance(leaf, ArrayOperators | np.ndarray) or is_scipy_sparse(leaf)):
            return leaf
        if id(leaf) not in self._leaves:
            self._kept.append(leaf)  # an id is good while its object lives
            self._leaves[id(leaf)] = Lazy(asarray(leaf).node)
        return self._leaves[id(leaf)]


def fuse(function: Callable[..., Any]) -> Fused:
    """A decorator: the function's arrays become one program, planned as a whole and run once.

    Arguments that are arrays (tensors, NumPy arrays, scipy.sparse arrays; alone, by keyword, or inside tuples, lists
    and dicts) are traced.  All other arguments are ordinary Python values: numbers, loop counts, strings and functions
    are static, and numbers used in arithmetic do not make a new kernel when they change.  The function runs at every
    call, which costs some microseconds for each operation; a program that has been seen before, with operands of the
    same formats, element types and extent classes, is not compiled again.

    What the function returns may nest tuples, lists and dicts; its arrays come back computed, in one run that shares
    their common parts.  Called with a lazy array, it stays lazy and becomes a part of the outer program.

    Raises FusionError, naming the line, where control flow depends on the value of an array.

    >>> import finchsched as fs
    >>> @fs.fuse
    ... def smooth(A, x, steps, damping=0.5):
    ...     for _ in range(steps):
    ...         x = damping * (A @ x) + (1 - damping) * x
    ...     return {"x": x, "mass": x.sum()}
    >>> smooth(fs.asarray([[0.0, 1.0], [1.0, 0.0]]), fs.asarray([3.0, 1.0]), steps=2)["mass"].item()
    4.0
    """
    return Fused(function)
