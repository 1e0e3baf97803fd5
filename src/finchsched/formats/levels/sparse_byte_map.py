"""The SparseByteMap level: a dense row with a byte per coordinate and a list of the touched ones; used for
workspaces.
"""

from dataclasses import dataclass
from typing import ClassVar

from finchsched.algebra.dtypes import UINT32, DType
from finchsched.ast.format import Level

__all__ = ["SparseByteMap"]


@dataclass(frozen=True, slots=True, eq=False)
class SparseByteMap(Level):
    """One fiber over a whole axis that is written in any order and read back in rising order.

    Buffers: `tbl[extent]` (uint8: 1 where touched), `crd[extent]` (touched coordinates, `count` of them, sorted by
    freezing), `tmp[extent]` (scratch of the sort).  The child of coordinate c has position c.
    """

    crd: DType = UINT32
    name: ClassVar[str] = "SparseByteMap"
    can_locate: ClassVar[bool] = True
    can_insert: ClassVar[bool] = True
