"""Tensors from files and to files."""

import os
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from finchsched.algebra.dtypes import INT32, as_dtype
from finchsched.api.convert import element_dtype
from finchsched.api.deferred import deferred
from finchsched.api.format_text import parse_format
from finchsched.api.tensor import Tensor
from finchsched.errors import DtypeError, FormatError
from finchsched.formats.coordinates import index_width
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.io.entries import CoordinateArray, dense_tensor, sparse_tensor
from finchsched.io.kinds import file_kind

__all__ = ["read", "write"]

Path = str | os.PathLike[str]

read_matrix_market = deferred("finchsched.io.matrix_market.read_matrix_market")
read_frostt = deferred("finchsched.io.frostt.read_frostt")
read_npz = deferred("finchsched.io.npz.read_npz")
write_matrix_market = deferred("finchsched.io.matrix_market_write.write_matrix_market")
write_frostt = deferred("finchsched.io.frostt.write_frostt")
write_scipy_npz = deferred("finchsched.io.scipy_npz.write_scipy_npz")
write_tensor_npz = deferred("finchsched.io.tensor_npz.write_tensor_npz")


def read(path: Path, *, format: str | None = None, shape: Sequence[int] | None = None, dtype: object = None) -> Tensor:
    """The tensor in a file, whose name says what it is:

    .mtx    Matrix Market: a matrix, as text
    .tns    FROSTT: any number of axes, as text; `shape` says the extents, else they are the largest coordinates
    .npz    what `finchsched.write` or `scipy.sparse.save_npz` wrote

    Text may be compressed: `.mtx.gz`, `.tns.bz2`, `.mtx.xz`.  `format` is the storage format, as in `asformat`.
    Without it, `write`'s own files keep theirs, a Matrix Market array is dense, SciPy's by columns is csc, any other
    matrix csr (dcsr if nearly all of very many rows are empty), and any other tensor csf.  `dtype` is the element type,
    which must hold the values in the file, while a floating point type rounds them; without it, Matrix Market values
    are float64, int64, uint64 (integers that need it) or complex128, and those of .tns float64.  Repeated entries are
    added up; explicit zeros stay.

    Linear in the file's length, but for sorting entries that are out of order.

    Raises FileFormatError for a name that ends otherwise and for a file that is malformed, truncated or says something
    untrue of itself; DtypeError for element types that tensors do not have and values that `dtype` cannot hold;
    FormatError for an unknown format; DensifyError for a dense format that would be too large; and OSError, such as
    FileNotFoundError, for a file that cannot be opened.
    """
    kind, name = file_kind(path), os.fspath(path)
    if shape is not None and kind != "tns":
        raise FormatError(f"{name}: shape= is for .tns files; a .{kind} file says its own shape")
    wanted = None if dtype is None else element_dtype(as_dtype(dtype).numpy).numpy
    match kind:
        case "mtx":
            return _tensor(read_matrix_market(path, wanted), format, name)
        case "tns":
            return _tensor(read_frostt(path, shape, wanted), format, name)
        case "npz":
            return _tensor(read_npz(path, wanted), format, name)


def _tensor(found: CoordinateArray | NDArray[Any] | FiberTensor, format: str | None, path: str) -> Tensor:
    if isinstance(found, CoordinateArray):
        layout = None
        if format is not None:
            narrow = index_width(found.shape, len(found.values)) == INT32
            layout = parse_format(format, len(found.shape), narrow=narrow)
        return Tensor(sparse_tensor(found, layout, path))
    made = Tensor(found if isinstance(found, FiberTensor) else dense_tensor(found, path))
    return made if format is None else made.asformat(format)


def write(
    path: Path,
    tensor: Tensor,
    *,
    scipy: bool = False,
    symmetry: str = "general",
    comment: str = "",
    compressed: bool = True,
) -> None:
    """Write a tensor to a file, whose name says how; the names are those of `read`.

    .mtx    a matrix whose fill is 0, as text, exactly: floats in the shortest way that reads back as the same float64.
            Of a dense tensor every element is written (layout `array`), of others every stored entry; bool is the field
            `pattern` if all that is stored is True (read it with dtype=bool), else 0 and 1.  `symmetry` "symmetric",
            "skew-symmetric" or "hermitian" writes the lower triangle, "auto" too if the matrix happens to be so
    .tns    a tensor of one or more axes whose fill is 0, real, as text; its shape is not stored
    .npz    any tensor, losslessly: format, index types, element type and fill; or, if `scipy`, as
            `scipy.sparse.save_npz` writes a matrix or array whose fill is 0: by rows or columns if it is stored so,
            else as coordinates

    `comment` is for text files, `compressed` for .npz; text is compressed if the name ends in .gz, .bz2 or .xz.  The
    file appears, or replaces the one before, when it is complete.  The same tensor gives the same bytes.

    Raises FileFormatError for a name that ends otherwise, FormatError for a tensor that the file cannot hold and for an
    option that it does not have, DtypeError for element types that it cannot hold, OSError if it cannot be written.
    """
    kind, name = file_kind(path), os.fspath(path)
    if not isinstance(tensor, Tensor):
        raise DtypeError(f"cannot write a {type(tensor).__name__}\nhint: make a tensor of it with finchsched.asarray")
    for option, changed, owners in (
        ("scipy", scipy, ("npz",)),
        ("symmetry", symmetry != "general", ("mtx",)),
        ("comment", comment != "", ("mtx", "tns")),
        ("compressed", not compressed, ("npz",)),
    ):
        if changed and kind not in owners:
            raise FormatError(f"{name}: {option}= is for {' and '.join(f'.{owner}' for owner in owners)} files")
    match kind:
        case "mtx":
            write_matrix_market(path, tensor.data, symmetry=symmetry, comment=comment)
        case "tns":
            write_frostt(path, tensor.data, comment=comment)
        case "npz" if scipy:
            write_scipy_npz(path, tensor.data, compressed=compressed)
        case "npz":
            write_tensor_npz(path, tensor.data, compressed=compressed)
