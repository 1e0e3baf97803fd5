"""From a file to a tensor."""

import os

from finchsched.algebra.dtypes import DType, Scalar
from finchsched.api.convert import dense_tensor, element_dtype
from finchsched.errors import DensifyError, DtypeError
from finchsched.formats.fiber_tensor import FiberTensor, tensor_type
from finchsched.formats.levels import Dense, SparseList
from finchsched.io import CoordinateMatrix, coordinates_to_csr, read_matrix_market
from finchsched.settings import current

__all__ = ["read_tensor"]


def read_tensor(path: str | os.PathLike[str]) -> FiberTensor:
    """What `finchsched.read` does."""
    found = read_matrix_market(path)
    try:
        dtype = element_dtype(found.values.dtype)
    except DtypeError as error:
        raise DtypeError(f"{os.fspath(path)}: {error}") from None
    if not isinstance(found, CoordinateMatrix):
        return dense_tensor(found.values, None, False)
    if found.shape[0] > current().densify:
        raise DensifyError(
            f"{os.fspath(path)}: a matrix of {found.shape[0]} rows needs a pointer for each, more than the limit "
            f"{current().densify}\nhint: raise the limit with finchsched.config(densify=...)"
        )
    pos, crd, val = coordinates_to_csr(found.shape, found.row, found.col, found.values)
    for buffer in (pos, crd, val):
        buffer.setflags(write=False)
    fill: Scalar = dtype.numpy.type(0).item()
    levels = (Dense(), SparseList(DType(pos.dtype.name), DType(crd.dtype.name)))
    kind = tensor_type(levels, (0, 1), dtype, fill)
    return FiberTensor(kind, found.shape, fill, (None, pos), (None, crd), val)
