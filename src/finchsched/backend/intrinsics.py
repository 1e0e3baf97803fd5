"""The helpers of kernel text, for compiled kernels: a few LLVM instructions where NumPy's function is a call or Numba's
differs.

`llvm.minimum` and `llvm.maximum` propagate NaN as NumPy does, and LLVM vectorizes a reduction by them, which it does
not do for the comparison that says the same.  Shifts by the width or more are defined, as in NumPy.  Functions of
complex numbers are those of the C library, which NumPy calls too (`finchsched.backend.complex_functions`).
"""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from finchsched.backend import complex_functions as functions

__all__ = ["numba_helpers"]

Generate: TypeAlias = Callable[[Any, Any, Any, Any], Any]
"""(target context, IR builder, signature, argument values) -> value."""

_FIRST_WITH_MINIMUM = 17
"""LLVM before this version cannot lower llvm.minimum on x86."""


@cache
def numba_helpers() -> dict[str, Any]:
    """An intrinsic for each name in `finchsched.backend.prelude.HELPERS`."""
    from llvmlite import binding

    native = binding.llvm_version_info[0] >= _FIRST_WITH_MINIMUM
    binary: dict[str, Callable[[Any], Generate]] = {
        "minimum": lambda kind: _extremum("minimum", "<", native),
        "maximum": lambda kind: _extremum("maximum", ">", native),
        "fmin": lambda kind: _extremum_of_numbers("<="),
        "fmax": lambda kind: _extremum_of_numbers(">="),
        "left_shift": lambda kind: _left_shift,
        "right_shift": lambda kind: _right_shift,
        "power": _power,
        "true_divide": lambda kind: _widened(functions.divide),
    }
    found = {name: _binary(name, choose) for name, choose in binary.items()}
    for name, python in functions.WRITTEN_OUT.items():
        found[name] = _unary(name, _widened(python), real_result=name == "absolute")
    for name, libm in functions.LIBM.items():
        found[name] = _unary(name, _libm(libm))
    for name, factor in functions.LOG_BASES.items():
        found[name] = _unary(name, _libm("clog", factor))
    found["reciprocal"] = _reciprocal()
    found["to_uint64"] = _to_uint64()
    return found


def _binary(name: str, choose: Callable[[Any], Generate]) -> Any:
    """An intrinsic on two arguments of one type, with a result of that type."""
    from numba.extending import intrinsic

    def typed(typing_context: Any, a: Any, b: Any) -> tuple[Any, Generate] | None:
        return (a(a, b), choose(a)) if a == b else None

    typed.__name__ = typed.__qualname__ = name
    return intrinsic(typed)


def _unary(name: str, generate: Generate, *, real_result: bool = False) -> Any:
    """An intrinsic on a complex number, with a result of its type or of its parts' type."""
    from numba.extending import intrinsic

    def typed(typing_context: Any, x: Any) -> tuple[Any, Generate] | None:
        return ((x.underlying_float if real_result else x)(x), generate)

    typed.__name__ = typed.__qualname__ = name
    return intrinsic(typed)


def _internal(python: Callable[..., Any]) -> Generate:
    """What a Python function says, compiled as part of the kernel."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _call_python(context, builder, python, signature, args)

    return generate


def _call_python(context: Any, builder: Any, python: Callable[..., Any], signature: Any, args: Any) -> Any:
    """The compiled function joins the kernel's module, where it may be inlined; `x / 0` is infinite in it."""
    from numba.core import compiler

    flags = compiler.Flags()
    flags.error_model = "numpy"
    made = context.compile_subroutine(builder, python, signature, flags=flags)
    return context.call_internal(builder, made.fndesc, signature, args)


def _widened(python: Callable[..., Any]) -> Generate:
    """The same for a function of complex numbers, in double precision."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        from numba.core import types

        kind, result = signature.args[0], signature.return_type
        wide = types.complex128 if isinstance(result, types.Complex) else types.float64
        held = [context.cast(builder, arg, kind, types.complex128) for arg in args]
        found = _call_python(context, builder, python, wide(*[types.complex128] * len(args)), held)
        return context.cast(builder, found, wide, result)

    return generate


def _is_signed(kind: Any) -> bool:
    from numba.core import types

    return isinstance(kind, types.Integer) and bool(kind.signed)


def _extremum(name: str, comparison: str, native: bool) -> Generate:
    """`a` if it compares or is NaN, else `b`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        from llvmlite import ir
        from numba.core import types

        a, b = args
        kind = signature.return_type
        if not isinstance(kind, types.Float):
            compare = builder.icmp_signed if _is_signed(kind) else builder.icmp_unsigned
            return builder.select(compare(comparison, a, b), a, b)
        if native:
            of = ir.FunctionType(a.type, [a.type, a.type])
            return builder.call(builder.module.declare_intrinsic(f"llvm.{name}", [a.type], of), args)
        keep = builder.or_(builder.fcmp_ordered(comparison, a, b), builder.fcmp_unordered("uno", a, a))
        return builder.select(keep, a, b)

    return generate


def _extremum_of_numbers(comparison: str) -> Generate:
    """`a` if it compares or `b` is NaN, else `b`: NaN only if both are."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        a, b = args
        keep = builder.or_(builder.fcmp_ordered(comparison, a, b), builder.fcmp_unordered("uno", b, b))
        return builder.select(keep, a, b)

    return generate


def _left_shift(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """0 for shifts by the width or more, or by a negative number."""
    a, b = args
    inside = builder.icmp_unsigned("<", b, b.type(a.type.width))
    return builder.select(inside, builder.shl(a, b), a.type(0))


def _right_shift(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Shifts by the width or more, or by a negative number, leave the sign alone."""
    a, b = args
    inside = builder.icmp_unsigned("<", b, b.type(a.type.width))
    if _is_signed(signature.return_type):
        return builder.ashr(a, builder.select(inside, b, b.type(a.type.width - 1)))
    return builder.select(inside, builder.lshr(a, b), a.type(0))


def _power(kind: Any) -> Generate:
    from numba.core import types

    if isinstance(kind, types.Complex):
        return _libm_power
    if isinstance(kind, types.Integer):
        return _integer_power
    return _internal(functions.real_power)


def _integer_power(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """By squaring in 64 bits, cut back to the type."""
    from numba.core import types

    kind = signature.return_type
    wide, python = (types.int64, functions.signed_power) if kind.signed else (types.uint64, functions.unsigned_power)
    held = [context.cast(builder, arg, kind, wide) for arg in args]
    return context.cast(builder, _call_python(context, builder, python, wide(wide, wide), held), wide, kind)


def _libm_power(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """What NumPy takes by repeated multiplication, else `cpow`; in double precision."""
    from numba.core import types

    kind, wide = signature.return_type, types.complex128
    held = [context.cast(builder, arg, kind, wide) for arg in args]
    by_products = _call_python(context, builder, functions.is_power_by_products, types.boolean(wide, wide), held)
    with builder.if_else(by_products) as (then, otherwise):
        with then:
            one = _call_python(context, builder, functions.power_by_products, wide(wide, wide), held)
            from_products = builder.block
        with otherwise:
            other = _call_libm(context, builder, "cpow", held)
            from_libm = builder.block
    result = builder.phi(one.type)
    result.add_incoming(one, from_products)
    result.add_incoming(other, from_libm)
    return context.cast(builder, result, wide, kind)


def _libm(name: str, factor: float = 1.0) -> Generate:
    """A complex function of the C library times a real factor, in double precision."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        from numba.core import types

        kind, wide = signature.return_type, types.complex128
        held = context.cast(builder, args[0], kind, wide)
        found = _call_libm(context, builder, name, [held])
        if factor != 1.0:
            found = _scaled(context, builder, found, factor)
        return context.cast(builder, found, wide, kind)

    return generate


def _scaled(context: Any, builder: Any, value: Any, factor: float) -> Any:
    from numba.core import types

    result = context.make_complex(builder, types.complex128, value=value)
    result.real, result.imag = (builder.fmul(part, part.type(factor)) for part in (result.real, result.imag))
    return result._getvalue()


def _call_libm(context: Any, builder: Any, name: str, args: list[Any]) -> Any:
    """Both 64-bit calling conventions pass a complex double as two doubles."""
    from llvmlite import ir
    from numba.core import types

    double = ir.DoubleType()
    pair = ir.LiteralStructType([double, double])
    parts = [part for arg in args for part in _parts(context, builder, arg)]
    function = builder.module.globals.get(name) or ir.Function(
        builder.module, ir.FunctionType(pair, [double] * len(parts)), name
    )
    found = builder.call(function, parts)
    result = context.make_complex(builder, types.complex128)
    result.real, result.imag = builder.extract_value(found, 0), builder.extract_value(found, 1)
    return result._getvalue()


def _parts(context: Any, builder: Any, value: Any) -> tuple[Any, Any]:
    from numba.core import types

    held = context.make_complex(builder, types.complex128, value=value)
    return held.real, held.imag


def _reciprocal() -> Any:
    """`1 / x` of integers, cut off, where 1 / 0 is what C makes of infinity; of complex numbers."""
    from numba.core import types
    from numba.extending import intrinsic

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        (x,) = args
        kind = x.type
        keep = builder.icmp_unsigned("==", x, kind(1))
        if signature.return_type.signed:
            keep = builder.or_(keep, builder.icmp_signed("==", x, kind(-1)))
        of_zero = kind(-(1 << (kind.width - 1)) if signature.return_type.signed and kind.width >= 32 else 0)
        zero = builder.icmp_unsigned("==", x, kind(0))
        return builder.select(zero, of_zero, builder.select(keep, x, kind(0)))

    def reciprocal(typing_context: Any, x: Any) -> tuple[Any, Generate]:
        if isinstance(x, types.Complex):
            return x(x), _widened(functions.WRITTEN_OUT["reciprocal"])
        return x(x), generate

    return intrinsic(reciprocal)


def _to_uint64() -> Any:
    """A float cut off to an unsigned integer, as C compilers do it by way of signed ones."""
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        (x,) = args
        whole, half = ir.IntType(64), x.type(2.0**63)
        upper = builder.xor(builder.fptosi(builder.fsub(x, half), whole), whole(1 << 63))
        return builder.select(builder.fcmp_ordered(">=", x, half), upper, builder.fptosi(x, whole))

    def to_uint64(typing_context: Any, x: Any) -> tuple[Any, Generate]:
        return types.uint64(x), generate

    return intrinsic(to_uint64)
