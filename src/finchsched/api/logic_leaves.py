"""The leaves of a graph as Logic IR names them: slots for tensors, Values for run-time scalars."""

from collections.abc import Sequence

from finchsched.algebra.dtypes import DType
from finchsched.api.binding import ValueBinding
from finchsched.api.graph import GraphNode
from finchsched.api.promotion import fit_scalar, kind_of
from finchsched.ast.format import TensorType
from finchsched.ast.logic import Slot
from finchsched.ast.names import Names
from finchsched.ast.scalar import Value
from finchsched.ast.syntax import is_identifier

__all__ = ["Leaves"]


class Leaves:
    """The names of one plan, and what binds them to operands.

    names: all that are taken.  user_names: what the user calls fields, slots and results.  slots: one per tensor, in
    order of first appearance.
    """

    def __init__(self, order: Sequence[GraphNode]) -> None:
        self.names = Names()
        self.user_names: dict[str, str] = {}
        self.slots: list[Slot] = []
        self._counters: dict[str, int] = {}
        self._numbers: dict[int, int] = {}
        self._scalars: dict[int, int] = {}
        self._fills: list[ValueBinding] = []
        self._values: dict[tuple[int, DType], Value] = {}
        self._bindings: list[ValueBinding] = []
        self._name_leaves(order)

    @property
    def bindings(self) -> tuple[ValueBinding, ...]:
        """One per Value: scalars, then fills."""
        return tuple(self._bindings + self._fills)

    def numbered(self, prefix: str) -> str:
        """The next of prefix0, prefix1, ... that no user has taken."""
        while True:
            number = self._counters.get(prefix, 0)
            self._counters[prefix] = number + 1
            name = f"{prefix}{number}"
            if self.names.fresh(name) == name:
                return name

    def _name_leaves(self, order: Sequence[GraphNode]) -> None:
        """Slots in order of first appearance, under the name that an einsum gives them, else t0, t1, ..."""
        given: dict[int, str] = {}
        for node in order:
            if node.kind == "einsum":
                for name, arg in zip(node.params[0].operands, node.args, strict=True):
                    if arg.kind == "tensor" and is_identifier(name):
                        given.setdefault(id(arg.data), name)
        taken = {key: self.names.fresh(name) for key, name in given.items()}
        for node in order:
            if node.kind == "scalar":
                self._scalars[id(node)] = len(self._scalars)
            elif node.kind == "tensor" and id(node.data) not in self._numbers:
                self._numbers[id(node.data)] = len(self.slots)
                name = taken.get(id(node.data)) or self.numbered("t")
                self.slots.append(self._slot(name, node.data.type))
                self.user_names[name] = given.get(id(node.data), name)

    def _slot(self, name: str, found: TensorType) -> Slot:
        """A fill that is known only at run time gets a name of its own."""
        if isinstance(found.fill, Value):
            value = Value(self.names.fresh(f"{name}_fill"), found.dtype, found.fill.kind)
            found = found.replace(fill=value)
            self._fills.append(ValueBinding(value.name, -1, len(self.slots), found.dtype))
        return Slot(name, found)

    def slot(self, node: GraphNode) -> Slot:
        """The slot of a tensor leaf."""
        return self.slots[self._numbers[id(node.data)]]

    def value(self, node: GraphNode, target: DType) -> Value:
        """A run-time scalar in one type; the same scalar in another type is another Value."""
        key = (self._scalars[id(node)], target)
        if key not in self._values:
            name = self.numbered("v")
            self._values[key] = Value(name, target, kind_of(fit_scalar(node.data, target)))
            self._bindings.append(ValueBinding(name, key[0], -1, target))
        return self._values[key]
