"""The helpers of kernel text, for compiled kernels: one LLVM instruction where NumPy's function is a call.

`llvm.minimum` and `llvm.maximum` propagate NaN as NumPy does, and LLVM vectorizes a reduction by them, which it
does not do for the comparison that says the same.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

__all__ = ["numba_helpers"]

_FIRST_WITH_MINIMUM = 17
"""LLVM before this version cannot lower llvm.minimum on x86."""


@cache
def numba_helpers() -> dict[str, Any]:
    """An intrinsic for each name in `finchsched.backend.prelude.HELPERS`."""
    from llvmlite import binding

    native = binding.llvm_version_info[0] >= _FIRST_WITH_MINIMUM
    return {name: _extremum(name, "<" if name == "minimum" else ">", native) for name in ("minimum", "maximum")}


def _extremum(name: str, comparison: str, native: bool) -> Any:
    """The intrinsic `name` on two arguments of one type: `a` if it compares or is NaN, else `b`."""
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        a, b = args
        kind = signature.return_type
        if not isinstance(kind, types.Float):
            signed = isinstance(kind, types.Integer) and kind.signed
            compare = builder.icmp_signed if signed else builder.icmp_unsigned
            return builder.select(compare(comparison, a, b), a, b)
        if native:
            of = ir.FunctionType(a.type, [a.type, a.type])
            return builder.call(builder.module.declare_intrinsic(f"llvm.{name}", [a.type], of), args)
        keep = builder.or_(builder.fcmp_ordered(comparison, a, b), builder.fcmp_unordered("uno", a, a))
        return builder.select(keep, a, b)

    def typed(typing_context: Any, a: Any, b: Any) -> tuple[Any, Callable[..., Any]] | None:
        return (a(a, b), generate) if a == b else None

    typed.__name__ = typed.__qualname__ = name
    return intrinsic(typed)
