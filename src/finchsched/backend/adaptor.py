"""The function that stands between a native kernel and its callers: `i64 name(ptr slots)`.

A slot is 64 bits.  A flat array takes two, the address of its first element and its length; a scalar takes one, and a
complex scalar two.  Integers and truth values are extended to 64 bits, and floats of every width are doubles, which
hold them exactly.  So a caller needs to know the kinds of the arguments and not their types, and machine code that was
stored by one process is called by another without Numba.
"""

from collections.abc import Iterator

from finchsched.algebra.dtypes import DType
from finchsched.ast.kernel import HI, LO, STATUS, Buffer, Kernel, Var

__all__ = ["adaptor_ir", "argument_kinds", "native_types"]

_FLOATS = {"float32": "float", "float64": "double"}
_HALVES = {"complex64": "float", "complex128": "double"}
_ARRAY = ("ptr", "ptr", "i64", "i64", "ptr", "i64", "i64")
"""How Numba passes a flat array: owner, parent, count, item size, data, length, stride."""


def _parameters(kernel: Kernel) -> list[Var | Buffer]:
    return [LO, HI, STATUS, *kernel.scalars, *kernel.buffers]


def argument_kinds(kernel: Kernel) -> bytes:
    """A letter for each argument: a(rray), i(nteger), u(nsigned integer), b(ool), f(loat), c(omplex)."""
    kinds = ["a" if isinstance(p, Buffer) else p.dtype.numpy.kind for p in _parameters(kernel)]
    return "".join(kinds).encode()


def native_types(kernel: Kernel) -> list[str]:
    """The LLVM types of the native function's parameters: where its result goes, where errors go, the arguments."""
    types = ["ptr", "ptr"]
    for parameter in _parameters(kernel):
        types += _ARRAY if isinstance(parameter, Buffer) else _scalar_types(parameter.dtype)
    return types


def _scalar_types(dtype: DType) -> list[str]:
    if dtype.name in _HALVES:
        return 2 * [_HALVES[dtype.name]]
    return [_FLOATS.get(dtype.name) or f"i{8 * dtype.itemsize}"]


def adaptor_ir(kernel: Kernel, native: str, name: str) -> str:
    """The text of a function `name` that unpacks its slots and calls the function `native`; it returns its status."""
    lines = ["%result = alloca i64", "%error = alloca ptr"]
    arguments = ["ptr %result", "ptr %error"]
    slots = _Slots(lines)
    for parameter in _parameters(kernel):
        if isinstance(parameter, Buffer):
            data, length = slots.take("ptr"), slots.take("i64")
            size = f"i64 {parameter.dtype.itemsize}"
            arguments += ["ptr null", "ptr null", length, size, data, length, size]
        else:
            arguments += [slots.take(type_) for type_ in _scalar_types(parameter.dtype)]
    lines += [
        f'%status = call i32 @"{native}"({", ".join(arguments)})',
        "%wide = zext i32 %status to i64",
        "ret i64 %wide",
    ]
    body = "\n".join(f"  {line}" for line in lines)
    return f"define i64 @{name}(ptr %slots) {{\n{body}\n}}\n"


class _Slots:
    """Writes the lines that take one slot after the other."""

    def __init__(self, lines: list[str]) -> None:
        self._lines, self._number = lines, 0

    def take(self, type_: str) -> str:
        """`type value` of the next slot, as an argument of that type."""
        n = self._number
        self._number += 1
        self._lines.append(f"%at{n} = getelementptr i64, ptr %slots, i64 {n}")
        for line in _read(n, type_):
            self._lines.append(line)
        return f"{type_} %v{n}"


def _read(n: int, type_: str) -> Iterator[str]:
    """Read slot `n` as `%v<n>`."""
    match type_:
        case "ptr" | "i64" | "double":
            yield f"%v{n} = load {type_}, ptr %at{n}"
        case "float":
            yield f"%wide{n} = load double, ptr %at{n}"
            yield f"%v{n} = fptrunc double %wide{n} to float"
        case _:
            yield f"%wide{n} = load i64, ptr %at{n}"
            yield f"%v{n} = trunc i64 %wide{n} to {type_}"
