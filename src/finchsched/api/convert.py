"""From NumPy arrays, SciPy matrices, lists and scalars to fiber tensors, without copying where the buffers allow it.

Buffers of the caller are aliased and never changed; arrays made here are read-only.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finchsched.algebra.dtypes import ELEMENT_DTYPES, INT32, INT64, DType, Scalar, as_dtype
from finchsched.api.coordinate_input import coordinate_tensor, index_arrays
from finchsched.api.deferred import is_masked_array, is_scipy_sparse
from finchsched.errors import DtypeError, FormatError
from finchsched.formats.checks import rows_sorted_unique
from finchsched.formats.coordinates import index_width, merge_duplicates, sort_order
from finchsched.formats.fiber_tensor import FiberTensor, cast_fill, fill_node, tensor_type
from finchsched.formats.levels import Dense, SparseList

__all__ = [
    "checked_fill",
    "dense_tensor",
    "element_dtype",
    "given_dtype",
    "scipy_tensor",
    "to_fiber_tensor",
    "with_fill",
]

_Array = NDArray[Any]
_INT64_MAX = 2**63 - 1
_INDEX = {np.dtype(np.int32): INT32, np.dtype(np.int64): INT64}


def to_fiber_tensor(x: object, fill_value: Scalar | None, copy: bool) -> FiberTensor:
    """What `asarray` does, for everything but tensors.  Raises DtypeError and FormatError naming what was found."""
    if is_scipy_sparse(x):
        return scipy_tensor(x, fill_value, copy)
    if is_masked_array(x):
        raise FormatError("masked arrays are not supported\nhint: fill the masked entries with .filled(value)")
    if isinstance(x, list | tuple):
        return dense_tensor(_from_list(x), fill_value, False)
    if isinstance(x, bool | int | float | complex | np.generic | np.ndarray) or hasattr(x, "__array__"):
        made_here = not isinstance(x, np.ndarray)
        return dense_tensor(_array_of(x), fill_value, copy and not made_here)
    raise DtypeError(
        f"cannot make a tensor of a {type(x).__name__}\n"
        "hint: pass a NumPy array, a scipy.sparse matrix, a list or a number"
    )


@lru_cache(maxsize=64)
def element_dtype(dtype: np.dtype[Any]) -> DType:
    """The element type for a NumPy dtype.  Raises DtypeError naming one that tensors cannot hold."""
    try:
        return as_dtype(dtype.newbyteorder("="))
    except DtypeError:
        known = ", ".join(d.name for d in ELEMENT_DTYPES)
        raise DtypeError(
            f"element type {dtype} is not supported; supported are {known}\nhint: convert with .astype()"
        ) from None


def given_dtype(dtype: Any) -> DType:
    """The element type that a NumPy dtype, or what NumPy takes for one, stands for.  Raises DtypeError."""
    try:
        found = np.dtype(dtype)
    except TypeError as error:
        raise DtypeError(f"{dtype!r} is not an element type\nhint: pass one such as numpy.float64") from error
    return element_dtype(found)


def _array_of(x: object) -> _Array:
    try:
        array = np.asarray(x)
    except OverflowError as error:
        raise DtypeError(f"the number {x!r} does not fit int64 or uint64") from error
    if isinstance(x, int) and array.dtype.kind == "O":
        raise DtypeError(f"the number {x} does not fit int64 or uint64")
    return array


def _from_list(x: list[Any] | tuple[Any, ...]) -> _Array:
    """Lists of numbers, or of arrays; ragged ones are refused by name."""
    try:
        array = np.array(x)
    except ValueError as error:
        raise FormatError(
            f"found a ragged list ({_ragged(x) or 'its items differ in shape'}), expected rows of equal length"
        ) from error
    except OverflowError as error:
        raise DtypeError("a number in the list does not fit int64 or uint64") from error
    if array.dtype.kind in "OUS":
        leaf = _first_leaf(x)
        if leaf is int:
            raise DtypeError("a number in the list does not fit int64 or uint64")
        raise DtypeError(f"found a list of {leaf.__name__} objects, expected bools and numbers")
    array.setflags(write=False)
    return array


def _ragged(x: Any, path: str = "") -> str:
    """Where a nested list stops being rectangular; empty if no level by itself does."""
    if not isinstance(x, list | tuple):
        return ""
    lengths = [len(item) if isinstance(item, list | tuple | np.ndarray) else None for item in x]
    for number, length in enumerate(lengths):
        if length != lengths[0]:
            return f"{path}[0] has {_items(lengths[0])}, {path}[{number}] has {_items(length)}"
    return next(filter(None, (_ragged(item, f"{path}[{number}]") for number, item in enumerate(x))), "")


def _items(length: int | None) -> str:
    return "no items, it is a number" if length is None else f"{length} item{'' if length == 1 else 's'}"


def _first_leaf(x: Any) -> type:
    """The type of the first item that is no number, if there is one."""
    while isinstance(x, list | tuple) and x:
        x = next((item for item in x if not isinstance(item, bool | int | float | complex | np.number | np.bool)), x[0])
    return type(x)


# ---------------------------------------------------------------------------------------------- dense


def dense_tensor(array: _Array, fill_value: Scalar | None, copy: bool) -> FiberTensor:
    """All levels Dense.  A C-contiguous array of the machine's byte order is viewed, any other copied once."""
    dtype = element_dtype(array.dtype)
    plain = _plain(np.asarray(array), dtype)
    val = plain.reshape(-1)
    shared = plain is array or np.may_share_memory(val, array)
    if copy and shared:
        val = val.copy()
    if copy or not shared:
        val.setflags(write=False)
    fill = checked_fill(fill_value, dtype)
    kind = tensor_type(*_dense_layout(array.ndim), dtype, fill)
    none = (None,) * array.ndim
    return FiberTensor(kind, array.shape, fill, none, none, val)


@lru_cache(maxsize=64)
def _dense_layout(rank: int) -> tuple[tuple[Dense, ...], tuple[int, ...]]:
    return (Dense(),) * rank, tuple(range(rank))


def _plain(array: _Array, dtype: DType) -> _Array:
    """The array itself if it is contiguous, aligned and of the machine's byte order, else a copy that is."""
    flags = array.flags
    if flags.c_contiguous and flags.aligned and array.dtype.isnative:
        return array if type(array) is np.ndarray else array.view(np.ndarray)
    return np.require(array, dtype=dtype.numpy, requirements=["C", "A"]).view(np.ndarray)


def checked_fill(fill_value: Scalar | None, dtype: DType) -> Scalar:
    """A fill as a plain scalar of the element type, 0 if none is given.  Raises DtypeError where it does not fit."""
    if fill_value is None:
        return dtype.python(0)
    if isinstance(fill_value, np.generic):
        fill_value = fill_value.item()
    if not isinstance(fill_value, bool | int | float | complex):
        raise DtypeError(f"fill_value must be a number, found {fill_value!r}")
    return cast_fill(fill_value, dtype)


def with_fill(tensor: FiberTensor, fill_value: Scalar | None) -> FiberTensor:
    """The same buffers with another value where nothing is stored."""
    if fill_value is None:
        return tensor
    fill = checked_fill(fill_value, tensor.type.dtype)
    kind = tensor.type.replace(fill=fill_node(fill, tensor.type.dtype))
    return FiberTensor(kind, tensor.shape, fill, tensor.pos, tensor.crd, tensor.val)


# ---------------------------------------------------------------------------------------------- sparse


def scipy_tensor(matrix: Any, fill_value: Scalar | None, copy: bool) -> FiberTensor:
    """A SciPy matrix or array: CSR and CSC are viewed, BSR, DIA and LIL converted to CSR, and what is a list of
    coordinates (COO, DOK, arrays that have not two axes) made a tensor as `from_coo` does.

    O(nnz): checks that pointers and indices are in range (FormatError), and whether every row is sorted and free of
    duplicates; if not, a copy is sorted and duplicates are added up (bool: or).
    """
    dtype = element_dtype(matrix.dtype)
    if len(matrix.shape) != 2 or matrix.format in ("coo", "dok"):
        return _from_coordinates(matrix, dtype, fill_value)
    made_here = copy or matrix.format not in ("csr", "csc")
    if matrix.format not in ("csr", "csc"):
        matrix = _as_csr(matrix)
    perm = (0, 1) if matrix.format == "csr" else (1, 0)
    shape = (int(matrix.shape[0]), int(matrix.shape[1]))
    pos, crd, val = _checked_csr(matrix, shape[perm[0]], shape[perm[1]], dtype)
    if copy:
        pos, crd, val = pos.copy(), crd.copy(), val.copy()
    if not rows_sorted_unique(pos, crd):
        made_here = True
        pos, crd, val = _canonical(pos, crd, val, shape[perm[1]])
    if made_here:
        for buffer in (pos, crd, val):
            _own(buffer, matrix)
    fill = checked_fill(fill_value, dtype)
    levels = (Dense(), SparseList(_INDEX[pos.dtype], _INDEX[crd.dtype]))
    kind = tensor_type(levels, perm, dtype, fill)
    return FiberTensor(kind, shape, fill, (None, pos), (None, crd), val)


def _canonical(pos: _Array, crd: _Array, val: _Array, columns: int) -> tuple[_Array, _Array, _Array]:
    """Compressed rows with every row sorted, and repeated columns added up, in the narrowest index arrays."""
    shape = (len(pos) - 1, columns)
    keys = [np.repeat(np.arange(shape[0]), np.diff(pos)), crd.astype(np.int64, copy=False)]
    order = sort_order(keys, shape)
    if order is not None:
        keys, val = [key[order] for key in keys], val[order]
    (rows, crd), val = merge_duplicates(keys, val)
    index = index_width(shape, len(val)).numpy
    pos = np.zeros(len(pos), index)
    np.cumsum(np.bincount(rows, minlength=shape[0]), out=pos[1:])
    return pos, crd.astype(index, copy=False), val


def _as_csr(matrix: Any) -> Any:
    """SciPy's conversion, which does not check indices and may crash: they are checked before."""
    if matrix.format == "bsr":
        _check_blocks(matrix)
    try:
        return matrix.tocsr()
    except (IndexError, ValueError) as error:
        raise FormatError(f"SciPy cannot read this {matrix.format} matrix: {error}") from error


def _check_blocks(matrix: Any) -> None:
    """Raise FormatError unless the blocks fill the shape, and their pointers and indices are in range."""
    data = matrix.data
    high, wide = data.shape[1:] if data.ndim == 3 else (0, 0)
    if not high or not wide or matrix.shape[0] % high or matrix.shape[1] % wide:
        raise FormatError(f"blocks of shape {data.shape[1:]} do not fill a matrix of shape {matrix.shape}")
    rows, cols = matrix.shape[0] // high, matrix.shape[1] // wide
    _check_pointers(_index(matrix.indptr), _index(matrix.indices), data, rows, cols)


def _check_range(index: _Array, extent: int, what: str) -> None:
    if len(index) and (index.min() < 0 or index.max() >= extent):
        at = int(((index < 0) | (index >= extent)).argmax())
        allowed = f"lie in 0 .. {extent - 1}" if extent else "be absent, as the extent is 0"
        raise FormatError(f"{what} must {allowed}; found {index[at]} at position {at}")


def _own(buffer: _Array, matrix: Any) -> None:
    """Make a buffer read-only, unless it is one that the caller may hold."""
    if (
        buffer.base is None
        and buffer is not matrix.data
        and buffer is not matrix.indices
        and buffer is not matrix.indptr
    ):
        buffer.setflags(write=False)


def _checked_csr(matrix: Any, rows: int, cols: int, dtype: DType) -> tuple[_Array, _Array, _Array]:
    """(pos, crd, val) with what they promise checked, except order; room at the end of crd and val is cut off."""
    pos, crd = _index(matrix.indptr), _index(matrix.indices)
    stored = _check_pointers(pos, crd, matrix.data, rows, cols)
    return pos, crd[:stored], _plain(np.asarray(matrix.data)[:stored], dtype)


def _check_pointers(pos: _Array, crd: _Array, data: _Array, rows: int, cols: int) -> int:
    """How many entries the pointers promise.  Raises FormatError unless they and the indices are in range."""
    if len(pos) != rows + 1 or pos[0] != 0:
        raise FormatError(
            f"indptr must have {rows + 1} entries, the first 0; found {len(pos)} entries"
            + (f", the first {pos[0]}" if len(pos) else "")
        )
    if (pos[1:] < pos[:-1]).any():
        at = int((pos[1:] < pos[:-1]).argmax())
        raise FormatError(f"indptr must not decrease; found {pos[at]}, {pos[at + 1]} at {at}")
    stored = int(pos[-1])
    if len(crd) < stored or len(data) < stored:
        raise FormatError(f"indptr promises {stored} entries; found {len(crd)} indices and {len(data)} values")
    _check_range(crd[:stored], cols, "indices")
    return stored


def _index(array: Any) -> _Array:
    """An index array as contiguous int32 or int64.  Raises FormatError unless it has one axis of integers."""
    found = np.asarray(array)
    if found.dtype.kind not in "iu" or found.ndim != 1:
        raise FormatError(f"index arrays must have one axis of integers; found {found.dtype} of shape {found.shape}")
    if found.dtype == np.uint64 and len(found) and found.max() > _INT64_MAX:
        raise FormatError(f"index arrays must fit int64; found {found.max()}")
    dtype = np.dtype(np.int32) if found.dtype == np.int32 else np.dtype(np.int64)
    return np.require(array, dtype=dtype, requirements=["C", "A"])


def _from_coordinates(matrix: Any, dtype: DType, fill_value: Scalar | None) -> FiberTensor:
    try:
        listed = matrix.tocoo()
    except (IndexError, ValueError) as error:
        kind = "matrix" if len(matrix.shape) == 2 else "array"
        raise FormatError(f"SciPy cannot read this {matrix.format} {kind}: {error}") from error
    shape = tuple(map(int, matrix.shape))
    val = _plain(np.asarray(listed.data), dtype)
    return coordinate_tensor(index_arrays(listed.coords), val, shape, checked_fill(fill_value, dtype), None)
