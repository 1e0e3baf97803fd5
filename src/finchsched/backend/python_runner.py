"""The text of a kernel run by Python itself on NumPy scalars: the oracle of the compiled one, without its cost."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from finchsched.ast.kernel import HI, LO, STATUS, Kernel
from finchsched.backend.emit import KernelSource
from finchsched.errors import KernelError

__all__ = ["load_python"]


def load_python(source: KernelSource, kernel: Kernel, path: str = "<kernel>") -> Callable[..., None]:
    """The uncompiled function of `source`, called as the compiled one.  `path` stands in tracebacks.

    Unlike the compiled function it checks its buffers, and raises KernelError if one has the wrong element type, is not
    flat and contiguous, or cannot be written.
    """
    namespace: dict[str, Any] = {"__name__": "finchsched.backend"}
    exec(compile(source.code, path, "exec"), namespace)
    namespace["range"] = _range
    function = namespace[source.name]
    scalars = [v.dtype.numpy.type for v in (LO, HI, *kernel.scalars)]
    buffers = [(b.name, b.dtype.numpy, b.writable) for b in (STATUS, *kernel.buffers)]

    def call(lo: int, hi: int, status: Any, *arguments: Any) -> None:
        split = len(kernel.scalars)
        arrays = (status, *arguments[split:])
        for (name, dtype, writable), array in zip(buffers, arrays, strict=True):
            _check(name, dtype, writable, array)
        with np.errstate(all="ignore"):
            first, last, *rest = [of(value) for of, value in zip(scalars, (lo, hi, *arguments[:split]), strict=True)]
            function(first, last, status, *rest, *arrays[1:])

    return call


def _range(lo: np.uint64, hi: np.uint64) -> Iterator[np.uint64]:
    """`range` of uint64: Python's yields plain integers, whose type NumPy would take from the other operand."""
    return map(np.uint64, range(int(lo), int(hi)))


def _check(name: str, dtype: np.dtype[Any], writable: bool, array: Any) -> None:
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1 or not array.flags.c_contiguous:
        found = f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        raise KernelError(f"buffer {name} is {found}; expected a contiguous flat array of {dtype}")
    if writable and not array.flags.writeable:
        raise KernelError(f"buffer {name} is written by the kernel, but its array is read-only")
