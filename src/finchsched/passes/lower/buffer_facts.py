"""How long a nest's buffers are, and what its operands' levels promise of their contents, as facts.

    A: Dense(SparseList)    A_pos1 has n_i + 1 elements and never falls
                            A_crd1 has A_pos1[n_i] elements, each in 0 .. n_j
                            A_val  has as many

Of levels that are not listed in `_level` nothing is known, so that no access to them is proved.
"""

from finchsched.ast.format import storage_order
from finchsched.ast.loop import Access, Index, Nest, Tensor
from finchsched.ast.node import walk
from finchsched.ast.proof import Compare, ElementOf, Fact, Implies, IntTerm, Number, Product, Sum, Symbol
from finchsched.formats.levels import Dense, SparseByteMap, SparseList
from finchsched.passes.lower.parameters import extent_variable
from finchsched.passes.lower.pattern import pattern_source, workspaces
from finchsched.prove.obligations import in_range

__all__ = ["MEMORY", "BufferFacts"]

MEMORY = 1 << 60
"""More elements than any memory has."""

_ZERO, _ONE = Number(0), Number(1)


class BufferFacts:
    """What is known of the buffers of a nest.

    lengths: of each buffer whose length is known, by name.  stored: the number of values of each operand, by the name
    of the parameter that holds it.
    """

    def __init__(self, nest: Nest) -> None:
        self.lengths: dict[str, IntTerm] = {}
        self.stored: dict[str, IntTerm] = {}
        self._within: dict[str, IntTerm] = {}
        self._rising: dict[str, IntTerm] = {}
        own = workspaces(nest)
        for tensor, access in _first_accesses(nest).items():
            self._add(nest, tensor, access, is_input=tensor != nest.target and tensor not in own)
        model = pattern_source(nest.body, nest.target) if nest.assembly == "shared" else None
        if model is not None and f"{model.tensor.name}_val" in self.lengths:
            self.lengths[f"{nest.target.name}_val"] = self.lengths[f"{model.tensor.name}_val"]

    def of_element(self, buffer: str, index: IntTerm) -> list[Fact]:
        """What a level promises of the element at an index inside its buffer."""
        element = ElementOf(buffer, index)
        if buffer in self._within:
            return [in_range(element, _ZERO, self._within[buffer])]
        if buffer in self._rising:
            last = self._rising[buffer]
            after = ElementOf(buffer, Sum((index, _ONE)))
            return [
                Compare("le", _ZERO, element),
                Compare("le", element, ElementOf(buffer, last)),
                Compare("lt", ElementOf(buffer, last), Number(MEMORY)),
                Implies(Compare("lt", index, last), Compare("le", element, after)),
            ]
        return []

    def _add(self, nest: Nest, tensor: Tensor, access: Access, *, is_input: bool) -> None:
        count: IntTerm | None = _ONE
        indices = storage_order(tensor.type, access.index)
        for number, index in enumerate(indices):
            extent = self._extent(tensor, number, index)
            count = self._level(nest, tensor, number, extent, count, is_input=is_input)
        if count is not None:
            self.lengths[f"{tensor.name}_val"] = count
            if is_input:
                self.stored[f"{tensor.name}_stored"] = count

    def _extent(self, tensor: Tensor, number: int, index: object) -> IntTerm:
        if isinstance(index, Index):
            return Symbol(extent_variable(index.name).name)
        return Symbol(f"{tensor.name}_extent{number}")  # the access is at one coordinate, which was checked

    def _level(
        self,
        nest: Nest,
        tensor: Tensor,
        number: int,
        extent: IntTerm,
        count: IntTerm | None,
        *,
        is_input: bool,
    ) -> IntTerm | None:
        """Add a level's buffers; how many positions it has, given those above it, if that is known."""
        if count is None:
            return None
        level = tensor.type.levels[number]
        pos, crd = (f"{tensor.name}_{role}{number}" for role in ("pos", "crd"))
        match level:
            case Dense():
                return extent if count == _ONE else Product((count, extent))
            case SparseList() if is_input:
                self.lengths[pos] = Sum((count, _ONE))
                entries = ElementOf(pos, count)
                self.lengths[crd] = entries
                self._rising[pos], self._within[crd] = count, extent
                return entries
            case SparseList():
                # While entries are counted, those of the last row stand one further on.
                self.lengths[pos] = Sum((count, Number(2 if nest.assembly == "scatter" else 1)))
                room = Symbol(f"{tensor.name}_cap{number}")
                self.lengths[crd] = room
                return room
            case SparseByteMap() if not is_input and count == _ONE:
                for role in ("tbl", "crd", "tmp"):
                    self.lengths[f"{tensor.name}_{role}{number}"] = extent
                return extent
            case _:
                return None


def _first_accesses(nest: Nest) -> dict[Tensor, Access]:
    found: dict[Tensor, Access] = {}
    for node in walk(nest):
        if isinstance(node, Access):
            found.setdefault(node.tensor, node)
    return found
