"""Names and element types of the buffers that hold a tensor, as Kernel IR sees them: index arrays unsigned, all
arrays flat.
"""

from finchsched.algebra.dtypes import INT32, INT64, UINT8, UINT32, UINT64, DType
from finchsched.ast.format import Level, TensorType
from finchsched.ast.kernel import Buffer
from finchsched.errors import FormatError
from finchsched.formats.levels import Dense, SparseByteMap, SparseCOO, SparseList

__all__ = ["level_buffer", "level_roles", "unsigned", "value_buffer"]

_UNSIGNED = {INT32: UINT32, INT64: UINT64, UINT32: UINT32, UINT64: UINT64}


def unsigned(dtype: DType) -> DType:
    """The unsigned type of the same width: a signed index would cost a wrap-around test at every access."""
    return _UNSIGNED[dtype]


def level_roles(level: Level) -> tuple[tuple[str, DType], ...]:
    """(role, element type in a kernel) of each buffer of a level."""
    match level:
        case Dense():
            return ()
        case SparseList(pos, crd):
            return (("pos", unsigned(pos)), ("crd", unsigned(crd)))
        case SparseCOO(pos, crd):
            coordinates = ("crd", unsigned(crd))
            return (("pos", unsigned(pos)), coordinates) if level.is_first else (coordinates,)
        case SparseByteMap(crd):
            return (("tbl", UINT8), ("crd", unsigned(crd)), ("tmp", unsigned(crd)))
        case _:
            raise FormatError(f"level {type(level).__name__} has no buffers registered")


def level_buffer(tensor: str, type_: TensorType, level: int, role: str, *, writable: bool) -> Buffer:
    """The buffer `role` of a level, named e.g. `A_crd1`."""
    for name, dtype in level_roles(type_.levels[level]):
        if name == role:
            return Buffer(f"{tensor}_{role}{level}", dtype, writable)
    raise FormatError(f"level {level} of {tensor} ({type_.levels[level].name}) has no buffer {role!r}")


def value_buffer(tensor: str, type_: TensorType, *, writable: bool) -> Buffer:
    """The values of a tensor, one per position of its last level."""
    return Buffer(f"{tensor}_val", type_.dtype, writable)
