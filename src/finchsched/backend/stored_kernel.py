"""Kernels from the cache on disk: an object file, or what Numba pickles, told apart by the first byte."""

from collections.abc import Callable
from typing import TypeAlias

from finchsched.backend.cache import KernelCache
from finchsched.backend.object_loader import load_object

__all__ = ["OBJECT", "PICKLE", "Call", "restore_kernel", "symbol_of"]

Call: TypeAlias = Callable[..., None]
"""A kernel as a function of lo, hi, status, scalars and buffers."""

OBJECT, PICKLE = b"O", b"P"


def symbol_of(key: str) -> str:
    """The symbol of the kernel that is stored under `key`."""
    return f"k_{key[:32]}"


def restore_kernel(store: KernelCache, name: str, key: str, kinds: bytes) -> Call | None:
    """The kernel stored under `key`; None if there is none that can be loaded (a damaged one is deleted then).

    kinds: of its arguments (`finchsched.backend.adaptor.argument_kinds`).
    """
    data = store.get_object(name, key)
    if data is None:
        return None
    try:
        if data[:1] == OBJECT:
            return load_object(data[1:], symbol_of(key), kinds, store)
        if data[:1] == PICKLE:
            from finchsched.backend.numba_compiler import unpack  # with it comes the emitter

            call: Call = unpack(data[1:]).entry_point
            return call
    except Exception:  # pickle, Numba and LLVM name no closed set of errors; compiling again is right after any
        pass
    store.drop_object(name, key)
    return None
