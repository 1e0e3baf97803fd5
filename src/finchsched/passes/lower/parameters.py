"""The scalar parameters that a nest's kernel turns out to need, in order of first use."""

from finchsched.algebra.dtypes import UINT64, DType
from finchsched.ast.kernel import Var
from finchsched.passes.lower.signature import ScalarParam

__all__ = ["Parameters"]


class Parameters:
    """Hands out parameters; asking again for the same one gives the same variable."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[ScalarParam, Var]] = {}

    def _take(self, param: ScalarParam, var: Var) -> Var:
        return self._found.setdefault(var.name, (param, var))[1]

    def extent(self, index: str) -> Var:
        """The extent of an index."""
        return self._take(ScalarParam("extent", index), Var(f"n_{index}", UINT64))

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
