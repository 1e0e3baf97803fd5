"""Kernel text to machine code through Numba, and machine code to bytes and back.  Numba is imported when first needed.

The pipeline leaves out the passes that do nothing for this kind of code (about a quarter of the time), compiles
without the Numba runtime, so that a kernel that would allocate is refused, and tells LLVM that buffers do not
overlap.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from finchsched.ast.kernel import Kernel
from finchsched.backend.emit import KernelSource
from finchsched.backend.fastmath import float_licence
from finchsched.backend.intrinsics import numba_helpers
from finchsched.backend.toolchain import digest

__all__ = [
    "CompiledKernel",
    "argument_types",
    "compile_result",
    "kernel_flags",
    "kernel_function",
    "numba_lock",
    "pack",
    "short_pipeline",
    "signature_text",
    "unpack",
]

CompiledKernel = Any
"""A Numba CompileResult; `entry_point` is the function."""

_MODULE = "finchsched.backend"
_PLAIN, _NEEDS_RUNTIME = b"\0", b"\1"
_lock = threading.RLock()
_alive: list[CompiledKernel] = []
"""Every kernel of this process: machine code must outlive all pointers to it."""


def _forget_lock() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_lock)


def signature_text(kernel: Kernel) -> str:
    """The types of a kernel's parameters after `status`, as text."""
    scalars = [f"{v.dtype}" for v in kernel.scalars]
    buffers = [f"{b.dtype}[{'' if b.writable else 'readonly'}]" for b in kernel.buffers]
    return ", ".join(scalars + buffers)


def compile_result(source: KernelSource, kernel: Kernel, path: str = "<kernel>") -> CompiledKernel:
    """Compile `source`; `path` is where a reader finds it.  Safe to call from several threads."""
    function = kernel_function(source, kernel, path)
    with numba_lock():
        result = _compile(function, kernel)
        _alive.append(result)
    return result


@contextmanager
def numba_lock() -> Iterator[None]:
    """Numba compiles one function at a time."""
    from numba.core import compiler_lock

    with _lock, compiler_lock.global_compiler_lock:
        yield


def kernel_function(source: KernelSource, kernel: Kernel, path: str) -> Any:
    """The Python function of `source`, with Numba's meaning of the helpers it names."""
    namespace: dict[str, Any] = {"__name__": _MODULE}
    exec(compile(source.code, path, "exec"), namespace)
    namespace.update((name, helper) for name, helper in numba_helpers().items() if name in namespace)
    function = namespace[source.name]
    # Symbols in machine code are made from the function's name, and must differ between all kernels of a process.
    short = digest([source.code, signature_text(kernel), str(kernel.licensed)])[:16]
    function.__name__ = function.__qualname__ = f"{source.name}_{short}"
    return function


def argument_types(kernel: Kernel) -> tuple[Any, ...]:
    """Numba's types of a kernel's parameters."""
    from numba.core import types
    from numba.np.numpy_support import from_dtype

    status = types.Array(types.int64, 1, "C")
    scalars = [from_dtype(v.dtype.numpy) for v in kernel.scalars]
    buffers = [types.Array(from_dtype(b.dtype.numpy), 1, "C", readonly=not b.writable) for b in kernel.buffers]
    return (types.int64, types.int64, status, *scalars, *buffers)


def _compile(function: Any, kernel: Kernel) -> CompiledKernel:
    try:
        flags, pipeline = kernel_flags(kernel), short_pipeline()
    except (ImportError, AttributeError):  # a Numba whose internals differ: use its public interface
        return _compile_with_njit(function, kernel)
    from numba.core import compiler, registry, types

    target = registry.cpu_target
    target.typing_context.refresh()
    target.target_context.refresh()
    return compiler.compile_extra(
        target.typing_context,
        target.target_context,
        function,
        argument_types(kernel),
        types.none,
        flags,
        {},
        pipeline_class=pipeline,
    )


def _compile_with_njit(function: Any, kernel: Kernel) -> CompiledKernel:
    import numba
    from numba.core import types

    arguments = argument_types(kernel)
    fastmath = set(float_licence(kernel)) or False
    options = {"nogil": True, "error_model": "numpy", "boundscheck": False, "fastmath": fastmath}
    dispatcher = numba.njit(types.none(*arguments), **options)(function)
    return dispatcher.overloads[arguments]


def kernel_flags(kernel: Kernel) -> Any:
    """How kernels are compiled: without Numba's runtime, and with buffers that do not overlap."""
    from numba.core import compiler
    from numba.core.cpu_options import FastMathOptions

    flags = compiler.Flags()
    flags.error_model = "numpy"
    flags.release_gil = True
    flags.boundscheck = False
    flags.nrt = False
    flags.no_cfunc_wrapper = True
    flags.noalias = True
    flags.fastmath = FastMathOptions(set(float_licence(kernel)) or False)
    return flags


@cache
def short_pipeline() -> Any:
    """A compiler class with only the passes that kernels need."""
    from numba.core import compiler, compiler_machinery, typed_passes, untyped_passes

    passes = [
        untyped_passes.TranslateByteCode,
        untyped_passes.FixupArgs,
        untyped_passes.IRProcessing,
        typed_passes.NopythonTypeInference,
        typed_passes.IRLegalization,
        typed_passes.NativeLowering,
        typed_passes.NoPythonBackend,
    ]

    class KernelCompiler(compiler.CompilerBase):  # type: ignore[misc]  # Numba has no types
        def define_pipelines(self) -> list[Any]:
            manager = compiler_machinery.PassManager("kernel")
            for one in passes:
                manager.add_pass(one, one.__name__)
            manager.finalize()
            return [manager]

    return KernelCompiler


def pack(result: CompiledKernel) -> bytes | None:
    """A compiled kernel as bytes, or None if its code holds addresses of this process."""
    from numba.core import serialize

    if result.library.has_dynamic_globals or result.lifted:
        return None
    runtime = any(f.name.startswith("NRT_") for f in result.library._final_module.functions)
    data: bytes = serialize.dumps(result._reduce())
    return (_NEEDS_RUNTIME if runtime else _PLAIN) + data


def unpack(data: bytes) -> CompiledKernel:
    """The kernel that `pack` wrote.  It is unpickled and run: only pass bytes whose digest has been checked."""
    from numba.core import compiler, registry, serialize

    with numba_lock():
        context = registry.cpu_target.target_context
        if data[:1] == _NEEDS_RUNTIME:  # half a second, so only then
            context.refresh()
        result = compiler.CompileResult._rebuild(context, *serialize.loads(data[1:]))
        _alive.append(result)
    return result
