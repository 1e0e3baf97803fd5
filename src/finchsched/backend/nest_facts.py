"""What the runtime has to know of a lowered nest: all but its IR.

Facts are plain data.  They are stored with a plan, so that another process runs it without loading the compiler.  They
are named tuples because making a dataclass takes half a millisecond, and that process waits for its first result.
"""

from typing import NamedTuple

from finchsched.algebra.dtypes import DType
from finchsched.ast.format import TensorType
from finchsched.ast.node import Node
from finchsched.passes.lower.signature import Bound, BufferParam, ScalarParam

__all__ = ["NestFacts"]


class NestFacts(NamedTuple):
    """A lowered nest without its IR.

    name, type: of the target.  assembly: one of `finchsched.ast.loop.ASSEMBLIES`.  scalars, buffers, rooms, resumable,
    guessed, covered, gaps, outer, initial: as in `finchsched.passes.lower.signature.LoweredNest`.  dtypes: element
    types of the buffers.  axes: the target's index names by logical axis.  source: the operand whose pattern is shared,
    or that is sorted anew; "" if there is none.  workspaces: names of the tensors that the kernel keeps for itself.
    extents: for each index, the tensor and axis that has its extent, or ("", n) for the constant n.  fill: the
    target's, in terms of values and sizes.  reduction: the operator that the target's terms are reduced with, "" if
    each element is assigned once.
    """

    name: str
    type: TensorType
    assembly: str
    scalars: tuple[ScalarParam, ...]
    buffers: tuple[BufferParam, ...]
    dtypes: tuple[DType, ...]
    rooms: tuple[Bound | None, ...]
    resumable: bool
    guessed: bool
    covered: bool
    gaps: bool
    outer: str
    initial: Node
    axes: tuple[str, ...]
    source: str
    workspaces: tuple[str, ...]
    extents: dict[str, tuple[str, int]]
    fill: Node
    reduction: str

    @property
    def storage(self) -> tuple[str, ...]:
        """The target's index names in storage order."""
        return tuple([self.axes[axis] for axis in self.type.perm])
