"""The SparseList level: a sorted list of stored coordinates per fiber."""

from dataclasses import dataclass
from typing import ClassVar

from finchsched.algebra.dtypes import INT64, DType
from finchsched.ast.format import Level

__all__ = ["SparseList"]


@dataclass(frozen=True, slots=True, eq=False)
class SparseList(Level):
    """A sorted list of coordinates per fiber: the compressed level of CSR, CSC, DCSR and CSF.

    Buffers: `pos[nfibers + 1]`, not decreasing, `pos[0] == 0`; `crd[pos[nfibers]]`, zero-based, strictly rising
    inside a fiber.  The fiber at position q has children at positions `pos[q] .. pos[q + 1]`, half open.  `pos` and
    `crd` are the element types of the two buffers (int32 or int64, independent of each other).
    """

    pos: DType = INT64
    crd: DType = INT64
    name: ClassVar[str] = "SparseList"
    can_append: ClassVar[bool] = True
