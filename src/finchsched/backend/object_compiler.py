"""Kernel text to an object file that needs nothing of Numba.

Numba is the front end: it types the function and lowers it to LLVM IR.  The rest of its work, a library and wrappers
for each function, takes longer than the compilation; here the IR gets an adaptor (`finchsched.backend.adaptor`), goes
through LLVM's own pipeline once, and becomes an object file.

This looks into Numba's internals.  Wherever they are not as expected, or the code calls what only Numba provides,
ObjectRouteError is raised, and the caller compiles in the ordinary way (`finchsched.backend.numba_compiler`).
"""

from collections.abc import Iterable
from functools import cache
from typing import Any

from finchsched.ast.kernel import Kernel
from finchsched.backend.adaptor import adaptor_ir, native_types
from finchsched.backend.emit import KernelSource
from finchsched.backend.numba_compiler import argument_types, kernel_flags, kernel_function, numba_lock, short_pipeline
from finchsched.backend.object_loader import target_machine

__all__ = ["ObjectRouteError", "compile_object"]

_LIBRARY = frozenset(
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs floor fma fmax "
    "fmin fmod frexp hypot ldexp lgamma log log10 log1p log2 modf nearbyint pow remainder rint round sin sinh sqrt "
    "tan tanh tgamma trunc".split()
)
"""The C mathematical library; each also with an f, for float32."""

_MEMORY = frozenset(["memcpy", "memmove", "memset"])


class ObjectRouteError(Exception):
    """A kernel that cannot become an object file of its own."""


def compile_object(source: KernelSource, kernel: Kernel, symbol: str, path: str = "<kernel>") -> bytes:
    """The object file of a kernel; its one exported symbol is `symbol`.  Safe to call from several threads.

    Raises ObjectRouteError, and Numba's errors for a kernel that it refuses.
    """
    with numba_lock():
        try:
            library, native = _front(source, kernel, path)
            return _machine_code(_whole_module(library, kernel, native, symbol), symbol)
        except (ImportError, AttributeError, TypeError, RuntimeError) as error:
            raise ObjectRouteError(f"Numba or LLVM differs from what is known: {error}") from error


def _front(source: KernelSource, kernel: Kernel, path: str) -> tuple[Any, str]:
    """A library that holds the LLVM IR of a kernel, and the name of its function."""
    from numba.core import registry, types

    function = kernel_function(source, kernel, path)  # declares intrinsics, which the contexts then take in
    target = registry.cpu_target
    target.typing_context.refresh()
    target.target_context.refresh()
    flags = kernel_flags(kernel)
    flags.no_compile = flags.no_cpython_wrapper = True
    library = _text_library()(target.target_context.codegen(), source.name)
    compiler = short_pipeline()(
        target.typing_context,
        target.target_context,
        library,
        argument_types(kernel),
        types.none,
        flags,
        {},
    )
    result = compiler.compile_extra(function)
    return library, result.fndesc.llvm_func_name


@cache
def _text_library() -> Any:
    from numba.core import codegen

    class TextLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]  # Numba has no types
        """Keeps the IR of its one function as text; what that is linked with is compiled as always."""

        def add_ir_module(self, module: Any) -> None:
            self.text = str(module)

    return TextLibrary


def _whole_module(library: Any, kernel: Kernel, native: str, symbol: str) -> Any:
    """The kernel with its adaptor and all that Numba would link it with, nothing but `symbol` visible."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(library.text + adaptor_ir(kernel, native, symbol))
    found = [str(argument.type) for argument in module.get_function(native).arguments]
    if found != native_types(kernel):
        raise ObjectRouteError(f"Numba passes arguments as {found}, expected {native_types(kernel)}")
    for helper in library._linking_libraries:
        module.link_in(helper._get_module_for_linking(), preserve=True)
    for function in module.functions:
        if not function.is_declaration and function.name != symbol:
            function.linkage = "internal"
    for variable in module.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"
    return module


def _machine_code(module: Any, symbol: str) -> bytes:
    import llvmlite.binding as llvm

    machine = target_machine()
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization, options.slp_vectorization = True, False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    unknown = sorted(_needed(module) - _MEMORY - _LIBRARY - {f"{name}f" for name in _LIBRARY})
    if unknown:
        raise ObjectRouteError(f"{symbol} calls {', '.join(unknown)}")
    data: bytes = machine.emit_object(module)
    return data


def _needed(module: Any) -> set[str]:
    """Names that the code refers to and does not define."""
    declared: Iterable[Any] = (*module.functions, *module.global_variables)
    return {d.name for d in declared if d.is_declaration and not d.name.startswith("llvm.")}
