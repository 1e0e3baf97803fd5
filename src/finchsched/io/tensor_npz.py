"""Our own files: any fiber tensor, losslessly, as a NumPy .npz archive.

finchsched    the version of this layout, 1
levels        the nest of levels as IR prints it, around a meaningless element, with the order of axes
shape         the extents
fill          a scalar of the element type
val           the elements
pos_L, crd_L  the index arrays at number L of the tensor's `pos` and `crd`, where there are any
"""

import os
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from finchsched.algebra.dtypes import BOOL
from finchsched.ast.format import Level, TensorType
from finchsched.ast.parse_scalar import ScalarReader
from finchsched.ast.print_scalar import print_type
from finchsched.ast.scalar import Literal
from finchsched.ast.syntax import Cursor
from finchsched.errors import FileFormatError, FinchschedError, FormatError
from finchsched.formats import levels as level_classes
from finchsched.formats.checks import check_tensor
from finchsched.formats.fiber_tensor import FiberTensor, tensor_type
from finchsched.io.archive import Arrays, write_archive
from finchsched.io.entries import check_elements

__all__ = ["VERSION_KEY", "tensor_of_archive", "write_tensor_npz"]

_Buffers: TypeAlias = tuple[NDArray[Any] | None, ...]

VERSION_KEY = "finchsched"
_VERSION = 1
_VOCABULARY: dict[str, type[Level]] = {name: getattr(level_classes, name) for name in level_classes.__all__}
_INT64_MAX = 2**63 - 1


def write_tensor_npz(path: str | os.PathLike[str], t: FiberTensor, *, compressed: bool = True) -> None:
    """Write a tensor as it is: levels, index types, order of axes, element type, fill and buffers.

    Raises FormatError for extents beyond int64.
    """
    if max(t.shape, default=0) > _INT64_MAX:
        raise FormatError(f"{os.fspath(path)}: extents must fit int64; found shape {t.shape}")
    arrays: Arrays = {
        VERSION_KEY: np.array(_VERSION),
        "levels": np.array(_print_levels(t.type)),
        "shape": np.array(t.shape, np.int64),
        "fill": np.array(t.fill, t.val.dtype),
        "val": t.val,
    }
    for role, buffers in (("pos", t.pos), ("crd", t.crd)):
        arrays |= {f"{role}_{n}": buffer for n, buffer in enumerate(buffers) if buffer is not None}
    write_archive(path, arrays, compressed=compressed)


def tensor_of_archive(path: str, arrays: Arrays) -> FiberTensor:
    """The tensor that `write_tensor_npz` wrote.  O(stored entries): everything is checked.

    Raises FileFormatError for another version, and for arrays that are missing or break what the levels promise;
    DtypeError for an element type that tensors do not have.
    """
    _check_version(path, arrays)
    kind = _parse_levels(path, str(_get(path, arrays, "levels", "U", 0)))
    shape = tuple(_get(path, arrays, "shape", "i", 1).tolist())
    val = _get(path, arrays, "val", "biufc", 1)
    fill = _get(path, arrays, "fill", val.dtype.kind, 0).astype(val.dtype).item()
    dtype = check_elements(val.dtype, path)
    pos, crd = _buffers(path, arrays, "pos", kind), _buffers(path, arrays, "crd", kind)
    for buffer in (*pos, *crd, val):
        if buffer is not None:
            buffer.setflags(write=False)
    try:
        found = FiberTensor(tensor_type(kind.levels, kind.perm, dtype, fill), shape, fill, pos, crd, val)
        check_tensor(found)
    except FinchschedError as error:
        raise FileFormatError(f"{path}: the arrays do not make a tensor: {error}") from error
    return found


def _check_version(path: str, arrays: Arrays) -> None:
    version = int(_get(path, arrays, VERSION_KEY, "iu", 0))
    if version != _VERSION:
        hint = "a newer finchsched wrote it; update this one" if version > _VERSION else "the file may be damaged"
        raise FileFormatError(f"{path}: found version {version} of the layout, expected {_VERSION}\nhint: {hint}")


def _get(path: str, arrays: Arrays, name: str, kinds: str, rank: int) -> NDArray[Any]:
    array = arrays.get(name)
    if array is None:
        raise FileFormatError(f"{path}: found no array {name!r} in it\nhint: the file may be damaged")
    if array.dtype.kind not in kinds or array.ndim != rank:
        raise FileFormatError(
            f"{path}: found the array {name!r} with element type {array.dtype} and {array.ndim} axes, "
            f"expected a type of kind {' or '.join(kinds)} and {rank} axes\nhint: the file may be damaged"
        )
    return array


def _buffers(path: str, arrays: Arrays, role: str, kind: TensorType) -> _Buffers:
    names = [f"{role}_{n}" for n in range(len(kind.perm))]
    return tuple(_get(path, arrays, name, "iu", 1) if name in arrays else None for name in names)


def _print_levels(kind: TensorType) -> str:
    """Levels, their parameters and the order of axes; the element in it stands for any."""
    return print_type(TensorType(kind.levels, kind.perm, BOOL, Literal(False, BOOL)))


def _parse_levels(path: str, text: str) -> TensorType:
    try:
        cursor = Cursor(text)
        kind = ScalarReader(cursor, _VOCABULARY).type()
        cursor.end_line()
    except FinchschedError as error:
        raise FileFormatError(
            f"{path}: cannot read the levels {text!r}: {error}\nhint: a newer finchsched may have written it"
        ) from error
    return kind
