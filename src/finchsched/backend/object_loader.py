"""Object files to functions, by LLVM's run-time linker alone: Numba is not imported.

Only pass bytes whose digest has been checked: a damaged object can abort the process.  A symbol that is missing is an
ObjectLoadError.  Whatever is loaded stays for the life of the process.
"""

import os
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

from finchsched.backend.cache import KernelCache
from finchsched.backend.toolchain import digest, toolchain
from finchsched.backend.trampoline import TRAMPOLINE, TRAMPOLINE_IR, layout_is_known, slot_call, trampoline_call

__all__ = ["ObjectLoadError", "load_object", "target_machine"]


class ObjectLoadError(Exception):
    """An object file that this process cannot link."""


_lock = threading.RLock()
_alive: list[Any] = []
"""Resource trackers: an object is unloaded with its tracker."""


def _forget_lock() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_lock)


@cache
def _linker() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.create_lljit_compiler()


def target_machine() -> Any:
    """LLVM's code generator for this processor, whose objects `load_object` takes.

    Not to be shared by threads.
    """
    import llvmlite.binding as llvm

    _linker()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc="pic",
        codemodel="small",
    )


def load_object(data: bytes, symbol: str, kinds: bytes, store: KernelCache | None) -> Callable[..., None]:
    """The kernel `symbol` of an object file, as a function of arguments of these kinds.

    store: where the trampoline is kept.  Raises ObjectLoadError.
    """
    with _lock:
        address = _link(data, symbol)
        if not layout_is_known():
            return slot_call(address, kinds)
        return trampoline_call(_trampoline(store), address, kinds)


def _link(data: bytes, symbol: str) -> int:
    import llvmlite.binding as llvm

    builder = llvm.JITLibraryBuilder().add_object_img(data).add_current_process().export_symbol(symbol)
    try:
        tracker = builder.link(_linker(), f"{symbol}.{len(_alive)}")
    except RuntimeError as error:
        raise ObjectLoadError(str(error)) from error
    _alive.append(tracker)
    address: int = tracker[symbol]
    return address


_trampolines: list[int] = []


def _trampoline(store: KernelCache | None) -> int:
    """The address of the trampoline, which is compiled once for each cache folder."""
    if not _trampolines:
        key = digest([TRAMPOLINE_IR, toolchain()])
        data = store.get_object(TRAMPOLINE, key) if store else None
        if data is None:
            data = _compile_trampoline()
            if store:
                store.put_object(TRAMPOLINE, key, data)
        _trampolines.append(_link(data, TRAMPOLINE))
    return _trampolines[0]


def _compile_trampoline() -> bytes:
    import llvmlite.binding as llvm

    machine = target_machine()
    module = llvm.parse_assembly(TRAMPOLINE_IR)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    data: bytes = machine.emit_object(module)
    return data
