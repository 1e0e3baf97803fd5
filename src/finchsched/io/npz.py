"""Reading .npz archives: our own and SciPy's, told apart by what is in them."""

import os
from typing import Any

import numpy as np

from finchsched.algebra.dtypes import as_dtype
from finchsched.errors import FileFormatError
from finchsched.formats.fiber_tensor import FiberTensor, cast_fill, tensor_type
from finchsched.io.archive import read_archive
from finchsched.io.entries import cast_values, check_elements
from finchsched.io.scipy_npz import FORMAT_KEY, tensor_of_scipy
from finchsched.io.tensor_npz import VERSION_KEY, tensor_of_archive

__all__ = ["read_npz"]


def read_npz(path: str | os.PathLike[str], dtype: np.dtype[Any] | None = None) -> FiberTensor:
    """The tensor in an archive that finchsched or SciPy wrote; nothing is ever unpickled.

    Raises FileFormatError for any other archive and for one that is damaged or untrue, DtypeError for an element type
    that tensors do not have, and for a value or fill that `dtype` cannot hold.
    """
    name = os.fspath(path)
    arrays = read_archive(path)
    if VERSION_KEY in arrays:
        found = tensor_of_archive(name, arrays)
        return found if dtype is None else _converted(found, dtype, name)
    if FORMAT_KEY in arrays:
        return tensor_of_scipy(name, arrays, dtype)
    listed = ", ".join(sorted(arrays)[:5]) or "nothing"
    raise FileFormatError(
        f"{name}: found the arrays {listed}, expected what finchsched.write or scipy.sparse.save_npz wrote\n"
        "hint: read arrays with numpy.load and make tensors of them with finchsched.asarray"
    )


def _converted(t: FiberTensor, dtype: np.dtype[Any], path: str) -> FiberTensor:
    element = check_elements(dtype, path)
    if element == as_dtype(t.val.dtype):
        return t
    val = cast_values(t.val, element.numpy, path)
    fill = cast_fill(cast_values(np.array([t.fill], t.val.dtype), element.numpy, path)[0].item(), element)
    val.setflags(write=False)
    return FiberTensor(tensor_type(t.type.levels, t.type.perm, element, fill), t.shape, fill, t.pos, t.crd, val)
