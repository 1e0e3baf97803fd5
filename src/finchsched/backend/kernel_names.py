"""Identifiers of a kernel's text for the names of its variables and buffers."""

from finchsched.algebra.dtypes import DType
from finchsched.ast.kernel import HI, LO, STATUS, Buffer, Kernel, Var
from finchsched.ast.names import Names
from finchsched.ast.node import walk
from finchsched.backend.prelude import is_free_name
from finchsched.errors import LoweringError

__all__ = ["choose_names", "kernel_parameters"]


def kernel_parameters(kernel: Kernel) -> list[Var | Buffer]:
    """The parameters of a kernel's function, in order."""
    return [LO, HI, STATUS, *kernel.scalars, *kernel.buffers]


def choose_names(kernel: Kernel) -> tuple[dict[str, str], Names]:
    """An identifier for each name of the kernel, and the source of further ones.

    Raises LoweringError if a name has two types, or a buffer that is not a parameter.
    """
    types: dict[str, tuple[bool, DType]] = {}
    parameters = kernel_parameters(kernel)
    for node in [*parameters, *walk(kernel.body)]:
        if isinstance(node, Var | Buffer):
            kind = (isinstance(node, Buffer), node.dtype)
            if types.setdefault(node.name, kind) != kind:
                raise LoweringError(
                    f"{node.name} has two types in kernel {kernel.name}: {types[node.name][1]}, {node.dtype}"
                )
    known = {p.name for p in parameters}
    if len(known) != len(parameters):
        raise LoweringError(f"kernel {kernel.name} has two parameters of one name: {[p.name for p in parameters]}")
    unknown = [name for name, (is_buffer, _) in types.items() if is_buffer and name not in known]
    if unknown:
        raise LoweringError(f"kernel {kernel.name} uses buffers that are not parameters: {', '.join(unknown)}")
    names = Names((kernel.name, *(name for name in types if is_free_name(name))))
    spelled = {}
    for name in types:
        plain = "".join(c if c.isalnum() and c.isascii() else "_" for c in name)
        spelled[name] = name if is_free_name(name) and name != kernel.name else names.fresh(f"v_{plain}")
    return spelled, names
