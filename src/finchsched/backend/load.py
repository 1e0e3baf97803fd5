"""A kernel ready to be called: from memory, else from disk, else compiled; at most once a process for each content.

A compiled kernel is an object file that any process of this machine can load without Numba.  Where that cannot be
had (`finchsched.backend.object_compiler` says when), it is what Numba makes and loads itself.
"""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from finchsched.algebra import operators
from finchsched.ast.kernel import Kernel
from finchsched.backend.adaptor import argument_kinds
from finchsched.backend.cache import KernelCache, open_cache
from finchsched.backend.emit import KernelSource, emit
from finchsched.backend.numba_compiler import compile_result, pack, signature_text
from finchsched.backend.object_compiler import ObjectRouteError, compile_object
from finchsched.backend.object_loader import ObjectLoadError, load_object
from finchsched.backend.python_runner import load_python
from finchsched.backend.stored_kernel import OBJECT, PICKLE, Call, restore_kernel, symbol_of
from finchsched.backend.toolchain import digest, toolchain
from finchsched.settings import current

__all__ = ["LoadedKernel", "load_kernel"]


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """`call(lo, hi, status, *scalars, *buffers)` runs the kernel; arguments must have exactly its types.

    `path` is the file of the stored source, or None where nothing can be stored.  `key` is a digest of all that the
    kernel depends on, under which its machine code is stored; empty if it is not.
    """

    source: KernelSource
    call: Callable[..., None]
    path: Path | None
    key: str = ""


_guard = threading.Lock()
_loaded: dict[str, tuple[Call, Path | None]] = {}
_loading: dict[str, threading.Lock] = {}


def _reset_locks() -> None:
    """A forked child has none of the threads that held these."""
    global _guard
    _guard = threading.Lock()
    _loading.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_locks)


def load_kernel(kernel: Kernel, head: str = "", backend: Literal["numba", "python"] | None = None) -> LoadedKernel:
    """The function of `kernel`, by the backend named, else by the one in the settings.  Safe to call from any thread.

    Raises LoweringError for a kernel that cannot be written as text, CacheFolderError for a cache that cannot be
    trusted.
    """
    source = emit(kernel, head=head)
    chosen = backend or current().backend
    key = _key(source, kernel, chosen)
    with _guard:
        found = _loaded.get(key)
        turn = _loading.setdefault(key, threading.Lock())
    if found is None:
        with turn:
            found = _loaded.get(key)
            if found is None:
                found = _loaded[key] = _load(source, kernel, chosen, key)
    return LoadedKernel(source, *found, key)


def _load(source: KernelSource, kernel: Kernel, backend: str, key: str) -> tuple[Call, Path | None]:
    store = open_cache()
    path = store.put_source(source.name, key, source.code) if store else None
    shown = str(path) if path else "<kernel>"
    if backend == "python":
        return load_python(source, kernel, shown), path
    call = restore_kernel(store, source.name, key, argument_kinds(kernel)) if store else None
    if call is None:
        call, data = _compile(source, kernel, key, store, shown)
        if store and data is not None:
            store.put_object(source.name, key, data)
    return call, path


def _compile(
    source: KernelSource, kernel: Kernel, key: str, store: KernelCache | None, path: str
) -> tuple[Call, bytes | None]:
    """The kernel as a function and as bytes to store; None if it holds addresses of this process."""
    try:
        data = compile_object(source, kernel, symbol_of(key), path)
        return load_object(data, symbol_of(key), argument_kinds(kernel), store), OBJECT + data
    except (ObjectRouteError, ObjectLoadError):
        result = compile_result(source, kernel, path)
        pickled = pack(result)
        return result.entry_point, None if pickled is None else PICKLE + pickled


def _key(source: KernelSource, kernel: Kernel, backend: str) -> str:
    tools = toolchain() if backend == "numba" else ""
    return digest([source.code, signature_text(kernel), str(kernel.licensed), backend, tools, _own_code()])


@cache
def _own_code() -> str:
    """A digest of the files that decide what a kernel's text means."""
    folders = (Path(__file__).parent, Path(operators.__file__).parent)
    paths = [path for folder in folders for path in sorted(folder.glob("*.py"))]
    return digest(text for path in paths for text in (path.name, path.read_text(encoding="utf-8")))
