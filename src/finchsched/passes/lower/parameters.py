"""The parameters that a nest's kernel turns out to need, in order of first use."""

from finchsched.algebra.dtypes import UINT64, DType
from finchsched.ast.kernel import Buffer, Seq, Var
from finchsched.ast.loop import Access, Index, Nest, Tensor
from finchsched.ast.node import walk
from finchsched.passes.lower.signature import BufferParam, ScalarParam

__all__ = ["Parameters", "buffers_used", "equal_extents", "extent_variable"]


class Parameters:
    """Hands out scalar parameters; asking again for the same one gives the same variable."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[ScalarParam, Var]] = {}

    def _take(self, param: ScalarParam, var: Var) -> Var:
        return self._found.setdefault(var.name, (param, var))[1]

    def extent(self, index: str) -> Var:
        """The extent of an index."""
        return self._take(ScalarParam("extent", index), extent_variable(index))

    def value(self, name: str, dtype: DType) -> Var:
        """A run-time scalar."""
        return self._take(ScalarParam("value", name), Var(name, dtype))

    def stored(self, tensor: str) -> Var:
        """The number of values of an operand."""
        return self._take(ScalarParam("stored", tensor), Var(f"{tensor}_stored", UINT64))

    def capacity(self, var: Var, tensor: str, level: int) -> Var:
        """The room of a level of the target."""
        return self._take(ScalarParam("capacity", tensor, level), var)

    @property
    def params(self) -> tuple[ScalarParam, ...]:
        """What each parameter stands for."""
        return tuple(param for param, _ in self._found.values())

    @property
    def variables(self) -> tuple[Var, ...]:
        """The parameters as kernel variables."""
        return tuple(var for _, var in self._found.values())


def extent_variable(index: str) -> Var:
    """The variable that holds the extent of an index."""
    return Var(f"n_{index}", UINT64)


def equal_extents(nest: Nest) -> tuple[tuple[Var, Var], ...]:
    """Pairs of extents that are the same: of indices that run along one axis of one tensor."""
    first: dict[tuple[str, int], str] = {}
    found: dict[tuple[Var, Var], None] = {}
    for node in walk(nest):
        if isinstance(node, Access):
            for axis, index in enumerate(node.index):
                if isinstance(index, Index):
                    other = first.setdefault((node.tensor.name, axis), index.name)
                    if other != index.name:
                        found[extent_variable(other), extent_variable(index.name)] = None
    return tuple(found)


def buffers_used(nest: Nest, body: Seq) -> list[tuple[BufferParam, Buffer]]:
    """The buffers of a kernel's body, each with where it comes from; one is writable if any use of it is."""
    origin: dict[str, BufferParam] = {}
    for tensor in dict.fromkeys(node for node in walk(nest) if isinstance(node, Tensor)):
        for level in range(len(tensor.type.levels)):
            for role in ("pos", "crd", "tbl", "tmp", "off", "last"):
                origin[f"{tensor.name}_{role}{level}"] = BufferParam(tensor.name, role, level)
        origin[f"{tensor.name}_val"] = BufferParam(tensor.name, "val", len(tensor.type.levels))
    found: dict[str, Buffer] = {}
    for node in walk(body):
        if isinstance(node, Buffer) and node.name in origin:
            known = found.get(node.name)
            found[node.name] = node if known is None or node.writable else known
    return [(origin[name], buffer) for name, buffer in found.items()]
