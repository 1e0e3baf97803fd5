"""Making tensors: from coordinates and compressed rows, of one value, the identity, and at random."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finchsched.algebra.dtypes import DType, Scalar
from finchsched.api.convert import checked_fill, dense_tensor, element_dtype, given_dtype, scipy_tensor
from finchsched.api.coordinate_input import checked_shape, coordinate_tensor, default_format, index_arrays
from finchsched.api.format_text import parse_format
from finchsched.api.functions import asarray
from finchsched.api.tensor import Tensor
from finchsched.ast.format import is_sparse
from finchsched.errors import FormatError
from finchsched.formats.coordinates import from_coordinates, merge_duplicates, sort_order
from finchsched.formats.fiber_tensor import cast_fill

__all__ = [
    "empty",
    "empty_like",
    "eye",
    "from_coo",
    "from_csc",
    "from_csr",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "random",
    "zeros",
    "zeros_like",
]

_Array = NDArray[Any]
_INT64_MAX = 2**63 - 1


# ---------------------------------------------------------------------------------------------- from buffers


def from_coo(
    coords: Any, data: Any, shape: Any = None, *, fill_value: Scalar | None = None, format: str | None = None
) -> Tensor:
    """The tensor with `data[k]` at `(coords[0][k], coords[1][k], ...)`, and `fill_value` (0 if not given) elsewhere.

    coords: shape (axes, entries), or one array per axis, of any integer type, in any order; repeated ones are added up
    (bool: or).  data: shape (entries,), or one number for all.  Entries equal to the fill stay stored.  The arguments
    are neither changed nor shared.  Without a shape, each extent is the largest coordinate plus one.

    The default format is csr for a matrix, coo for one with far more rows than entries and for more than two axes, a
    sparse vector for one axis.  O(n log n) in the entries.

    Raises FormatError for coordinates that are no integers, differ in length or do not fit the shape, DtypeError for
    elements that no tensor can hold.

    >>> import finchsched as fs
    >>> print(fs.from_coo([[0, 2, 0], [1, 0, 1]], [1.0, 2.0, 4.0], (3, 2)))
    Tensor(shape=(3, 2), dtype=float64, format=csr, nnz=2, fill_value=0.0)
    """
    arrays = index_arrays(coords)
    val = _values(data, len(arrays[0]) if arrays else np.shape(coords)[-1])
    extents = _inferred(arrays) if shape is None else checked_shape(shape)
    return Tensor(coordinate_tensor(arrays, val, extents, checked_fill(fill_value, element_dtype(val.dtype)), format))


def _values(data: Any, entries: int) -> _Array:
    """One value per entry.  Raises FormatError unless there are as many, or one without axes."""
    if not isinstance(data, np.ndarray) or data.ndim == 0:
        data = asarray(data).to_numpy()
    if data.ndim == 0:
        data = np.full(entries, data[()])
    if data.shape != (entries,):
        raise FormatError(f"data must have one value for each of the {entries} entries; found shape {data.shape}")
    return np.asarray(data, element_dtype(data.dtype).numpy)


def _inferred(arrays: Sequence[_Array]) -> tuple[int, ...]:
    if arrays and not len(arrays[0]):
        raise FormatError("the shape of no entries is not known\nhint: pass shape=")
    return tuple(int(array.max()) + 1 for array in arrays)


@dataclass(frozen=True, slots=True)
class _Compressed:
    """Compressed rows or columns under the names that SciPy's matrices have."""

    format: str
    shape: tuple[int, ...]
    indptr: _Array
    indices: _Array
    data: _Array

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data.dtype


def from_csr(indptr: Any, indices: Any, data: Any, shape: Any, *, fill_value: Scalar | None = None) -> Tensor:
    """The matrix whose row i has `data[indptr[i]:indptr[i + 1]]` at the columns `indices[indptr[i]:indptr[i + 1]]`.

    Arrays of the right types are not copied: the tensor sees later changes of them, and never changes them itself.
    Rows that are not sorted, or have a column twice, are put right in a copy.  O(entries + rows).  Raises FormatError
    unless pointers and indices fit the shape.
    """
    return _from_compressed("csr", indptr, indices, data, shape, fill_value)


def from_csc(indptr: Any, indices: Any, data: Any, shape: Any, *, fill_value: Scalar | None = None) -> Tensor:
    """As `from_csr`, by columns."""
    return _from_compressed("csc", indptr, indices, data, shape, fill_value)


def _from_compressed(
    format: str, indptr: Any, indices: Any, data: Any, shape: Any, fill_value: Scalar | None
) -> Tensor:
    extents = checked_shape(shape)
    if len(extents) != 2:
        raise FormatError(f"{format} is for 2 axes; found the shape {extents}")
    indices = np.asarray(indices)
    if not len(indices) and indices.dtype.kind not in "iu":
        indices = indices.astype(np.int64)
    held = _Compressed(format, extents, np.asarray(indptr), indices, _values(data, len(indices)))
    return Tensor(scipy_tensor(held, fill_value, copy=False))


# ---------------------------------------------------------------------------------------------- one value


def full(shape: Any, fill_value: Any, dtype: Any = None, *, format: str | None = None) -> Tensor:
    """The tensor that is `fill_value` everywhere: dense, or in a sparse format, with nothing stored.

    dtype: the value's own if not given.  Raises DensifyError for a dense one beyond the limit of the settings.
    """
    value = asarray(fill_value)
    if value.ndim:
        raise FormatError(f"fill_value must be one number; found shape {value.shape}")
    return _constant(
        checked_shape(shape), value.item(), given_dtype(value.data.val.dtype if dtype is None else dtype), format
    )


def ones(shape: Any, dtype: Any = np.float64, *, format: str | None = None) -> Tensor:
    """The tensor of ones; see `full`."""
    return _constant(checked_shape(shape), 1, given_dtype(dtype), format)


def zeros(shape: Any, dtype: Any = np.float64, *, format: str | None = None) -> Tensor:
    """The tensor of zeros, with nothing stored unless `format` says so: the default is that of `from_coo`."""
    extents = checked_shape(shape)
    return _constant(extents, 0, given_dtype(dtype), format or default_format(extents, 0))


def empty(shape: Any, dtype: Any = np.float64, *, format: str | None = None) -> Tensor:
    """As `zeros`: elements never change, so there is nothing else they could be."""
    return zeros(shape, dtype, format=format)


def full_like(x: object, fill_value: Any, dtype: Any = None, *, format: str | None = None) -> Tensor:
    """`full` with the shape of `x`, and its element type and format where none is given."""
    model = asarray(x)
    return _like(model, asarray(fill_value).item(), dtype, format)


def ones_like(x: object, dtype: Any = None, *, format: str | None = None) -> Tensor:
    """`ones` with the shape of `x`, and its element type and format where none is given."""
    return _like(asarray(x), 1, dtype, format)


def zeros_like(x: object, dtype: Any = None, *, format: str | None = None) -> Tensor:
    """`zeros` with the shape of `x`, and its element type and format where none is given."""
    return _like(asarray(x), 0, dtype, format)


def empty_like(x: object, dtype: Any = None, *, format: str | None = None) -> Tensor:
    """As `zeros_like`."""
    return zeros_like(x, dtype, format=format)


def _like(model: Tensor, value: Scalar, dtype: Any, format: str | None) -> Tensor:
    wanted = given_dtype(model.data.val.dtype if dtype is None else dtype)
    if format is None and is_sparse(model.data.type):
        format = model.format
    return _constant(model.shape, value, wanted, format)


def _constant(shape: tuple[int, ...], value: Scalar, dtype: DType, format: str | None) -> Tensor:
    fill = cast_fill(value, dtype)
    none = [np.zeros(0, np.int64)] * len(shape)
    levels, perm = parse_format(format or "dense", len(shape), narrow=True)
    if shape:
        return Tensor(from_coordinates(none, np.zeros(0, dtype.numpy), shape, levels, perm, fill=fill))
    return Tensor(dense_tensor(np.full((), fill, dtype.numpy), None, copy=False))


# ---------------------------------------------------------------------------------------------- patterns


def eye(n: int, m: int | None = None, k: int = 0, dtype: Any = np.float64, *, format: str | None = None) -> Tensor:
    """The matrix of shape (n, m), m = n if not given, with ones where column - row == k.  O(n)."""
    rows, cols = checked_shape((n, n if m is None else m))
    first = max(0, -k)
    count = max(0, min(rows - first, cols - max(0, k)))
    row = np.arange(first, first + count)
    val = np.ones(count, given_dtype(dtype).numpy)
    return Tensor(coordinate_tensor([row, row + k], val, (rows, cols), checked_fill(None, given_dtype(dtype)), format))


def random(
    shape: Any,
    density: float = 0.01,
    *,
    rng: "int | np.random.Generator | None" = None,
    dtype: Any = np.float64,
    format: str | None = None,
    fill_value: Scalar | None = None,
) -> Tensor:
    """A tensor with exactly round(density * size) stored entries, every set of coordinates equally likely.

    rng: a seed or a Generator; the same seed gives the same tensor.  Stored values are uniform in (0, 1] for floating
    point, 1 to 9 for integers, True for bool.  The default format is that of `from_coo`.  O(n log n) in the entries,
    whatever the shape is.  Raises ValueError unless 0 <= density <= 1.
    """
    extents, element = checked_shape(shape), given_dtype(dtype)
    if not 0 <= density <= 1:
        raise ValueError(f"density must lie in 0 .. 1; found {density!r}")
    generator = np.random.default_rng(rng)
    size = math.prod(extents)
    count = round(density * size)
    coords = _distinct(generator, extents, size, count)
    return Tensor(
        coordinate_tensor(
            coords, _random_values(generator, count, element), extents, checked_fill(fill_value, element), format
        )
    )


def _random_values(rng: "np.random.Generator", count: int, dtype: DType) -> _Array:
    match dtype.numpy.kind:
        case "b":
            return np.ones(count, np.bool)
        case "i" | "u":
            return rng.integers(1, 10, count).astype(dtype.numpy)
        case "c":
            return np.asarray(1 - rng.random(count) + 1j * (1 - rng.random(count)), dtype.numpy)
        case _:
            return np.asarray(1 - rng.random(count), dtype.numpy)


def _distinct(rng: "np.random.Generator", shape: tuple[int, ...], size: int, count: int) -> list[_Array]:
    """`count` different coordinates, one array per axis, in order."""
    if not shape:
        return []
    if 2 * count > size:
        return list(np.unravel_index(np.sort(rng.permutation(size)[:count]), shape))
    found: list[_Array] = [np.zeros(0, np.int64)] * len(shape)
    while len(found[0]) < count:
        missing = count - len(found[0])
        drawn = [rng.integers(0, extent, missing + missing // 8 + 8) for extent in shape]
        found = _unique([np.concatenate(pair) for pair in zip(found, drawn, strict=True)], shape)
    # Those drawn too many are left out at random: the last ones would be the greatest.
    kept = np.sort(rng.permutation(len(found[0]))[:count])
    return [axis[kept] for axis in found]


def _unique(coords: list[_Array], shape: tuple[int, ...]) -> list[_Array]:
    """Coordinates in order, each once."""
    order = sort_order(coords, shape)
    ordered = coords if order is None else [axis[order] for axis in coords]
    return list(merge_duplicates(ordered, np.ones(len(coords[0]), np.bool))[0])
