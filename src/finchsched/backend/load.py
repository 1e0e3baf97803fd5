"""A kernel ready to be called: from memory, else from disk, else compiled; at most once a process for each content."""

import hashlib
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from finchsched.algebra import operators
from finchsched.ast.kernel import Kernel
from finchsched.backend.cache import KernelCache, open_cache
from finchsched.backend.emit import KernelSource, emit
from finchsched.backend.numba_compiler import CompiledKernel, compile_result, pack, signature_text, toolchain, unpack
from finchsched.backend.python_runner import load_python
from finchsched.settings import current

__all__ = ["LoadedKernel", "load_kernel"]


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """`call(lo, hi, status, *scalars, *buffers)` runs the kernel; arguments must have exactly its types.

    `path` is the file of the stored source, or None where nothing can be stored.
    """

    source: KernelSource
    call: Callable[..., None]
    path: Path | None


_guard = threading.Lock()
_loaded: dict[str, LoadedKernel] = {}
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
    return found if found.source.text == source.text else replace(found, source=source)


def _load(source: KernelSource, kernel: Kernel, backend: str, key: str) -> LoadedKernel:
    store = open_cache()
    path = store.put_source(source.name, key, source.code) if store else None
    shown = str(path) if path else "<kernel>"
    if backend == "python":
        return LoadedKernel(source, load_python(source, kernel, shown), path)
    result = _restore(store, source.name, key) if store else None
    if result is None:
        result = compile_result(source, kernel, shown)
        data = pack(result) if store else None
        if store and data is not None:
            store.put_object(source.name, key, data)
    return LoadedKernel(source, result.entry_point, path)


def _restore(store: KernelCache, name: str, key: str) -> CompiledKernel | None:
    data = store.get_object(name, key)
    if data is None:
        return None
    try:
        return unpack(data)
    except Exception:  # pickle, Numba and LLVM name no closed set of errors; compiling again is right after any
        store.drop_object(name, key)
        return None


def _key(source: KernelSource, kernel: Kernel, backend: str) -> str:
    tools = toolchain() if backend == "numba" else ""
    parts = [source.code, signature_text(kernel), str(kernel.licensed), backend, tools, _own_code()]
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


@cache
def _own_code() -> str:
    """A digest of the files that decide what a kernel's text means."""
    digest = hashlib.sha256()
    for folder in (Path(__file__).parent, Path(operators.__file__).parent):
        for path in sorted(folder.glob("*.py")):
            data = path.read_bytes()
            digest.update(f"{folder.name}/{path.name} {len(data)}\n".encode() + data)
    return digest.hexdigest()
