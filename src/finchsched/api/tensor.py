"""Tensors: immutable arrays in sparse and dense formats, with NumPy's operators."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from finchsched.algebra.dtypes import Scalar
from finchsched.api.deferred import scipy_sparse
from finchsched.api.format_text import format_name, parse_format
from finchsched.api.graph import GraphNode, format_node, tensor_node
from finchsched.api.lazy import index_widths_narrow
from finchsched.api.operators_mixin import ArrayOperators
from finchsched.api.planning import run_graph
from finchsched.ast.format import is_sparse
from finchsched.errors import DensifyError, FormatError
from finchsched.formats.coordinates import count_nonfill
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.levels import Dense
from finchsched.settings import current

__all__ = ["Tensor"]

_IMPLICIT_LIMIT = 1 << 20


class Tensor(ArrayOperators):
    """An array in some storage format.  Its elements never change, and operators compute at once.

    Entries that are not stored have the value `fill_value`.  Buffers may be those of the NumPy or SciPy object that it
    was made of: changing them there changes them here.
    """

    __slots__ = ()

    def __init__(self, data: FiberTensor) -> None:
        self._node = tensor_node(data)

    @property
    def data(self) -> FiberTensor:
        """The fiber tree: static type, shape, fill and buffers."""
        found: FiberTensor = self._node.data
        return found

    def _finish(self, node: GraphNode) -> "Tensor":
        return self if node is self._node else Tensor(run_graph((node,))[0])

    @property
    def fill_value(self) -> Scalar:
        """The value of every entry that is not stored."""
        return self.data.fill

    @property
    def format(self) -> str:
        """The storage format: a name such as "csr", or the nest of levels."""
        return format_name(self.data.type)

    @property
    def nnz(self) -> int:
        """Number of stored entries, whatever their values.

        Of a dense tensor, the number of entries that differ from the fill, O(size).
        """
        if is_sparse(self.data.type):
            return self.data.stored
        return count_nonfill(self.data)

    @property
    def nbytes(self) -> int:
        """Bytes of all buffers."""
        return self.data.nbytes

    def _permuted(self, axes: Any) -> "Tensor":
        order = [axis + self.ndim if axis < 0 else axis for axis in axes]
        return Tensor(self.data.transpose(order))

    def asformat(self, text: str) -> "Tensor":
        """The tensor stored as the format `text` says: csr, csc, dense, dcsr, dcsc, csf, or a nest of levels.

        From a dense format, entries equal to the fill are dropped; from a sparse one, every stored entry stays.  Raises
        FormatError for an unknown format, DensifyError if a dense array would exceed the limit of the settings.
        """
        levels, perm = parse_format(text, self.ndim, narrow=index_widths_narrow(self._node))
        if (levels, perm) == (self.data.type.levels, self.data.type.perm):
            return self
        if all(isinstance(level, Dense) for level in levels):
            self._check_densify()
        return self._finish(format_node(self._node, levels, perm, not is_sparse(self.data.type)))

    def _check_densify(self) -> None:
        limit = current().densify
        if is_sparse(self.data.type) and self.size > limit:
            raise DensifyError(
                f"a dense array of shape {self.shape} has {self.size} elements, more than the limit {limit}\n"
                "hint: keep it sparse, or raise the limit with finchsched.config(densify=...)"
            )

    def to_numpy(self, *, copy: bool = False) -> NDArray[Any]:
        """The tensor as a NumPy array; read-only, and of a dense tensor a view, unless `copy`.

        Raises DensifyError if a sparse tensor has more elements than the limit of the settings.
        """
        dense = self.asformat("dense").data if is_sparse(self.data.type) else self.data
        perm = dense.type.perm
        stored = dense.val.reshape([dense.shape[axis] for axis in perm])
        array: NDArray[Any] = stored.transpose([perm.index(axis) for axis in range(len(perm))])
        if copy:
            return array.copy(order="C")
        view = array.view()
        view.flags.writeable = False
        return view

    def to_scipy(self, *, copy: bool = False) -> Any:
        """A `scipy.sparse.csr_array`, or `csc_array` of a tensor that is stored by columns.

        Buffers are shared (read-only if finchsched made them) unless `copy`; pointers are converted if their width is
        not that of the indices.  Raises FormatError unless there are two axes, the format is sparse and the fill is
        0.
        """
        if self.ndim != 2:
            raise FormatError(f"SciPy's matrices have 2 axes, this tensor has {self.ndim} (shape {self.shape})")
        if self.fill_value != 0:
            raise FormatError(f"SciPy's matrices have the fill 0, this tensor has {self.fill_value!r}")
        if not is_sparse(self.data.type):
            raise FormatError('this tensor is dense\nhint: use .to_numpy(), or .asformat("csr") first')
        if self.format not in ("csr", "csc"):
            return self.asformat("csr").to_scipy(copy=copy)
        data = self.data
        pos, crd = data.pos[1], data.crd[1]
        assert pos is not None
        assert crd is not None
        if pos.dtype != crd.dtype:
            pos, crd = _one_width(pos, crd)
        container: Any = scipy_sparse().csr_array if self.format == "csr" else scipy_sparse().csc_array
        made = container(self.shape, dtype=data.val.dtype)
        made.data, made.indices, made.indptr = (b.copy() if copy else b for b in (data.val, crd, pos))
        made.has_canonical_format = True
        return made

    def item(self) -> Scalar:
        """The element of a tensor of one element, as a Python scalar.  Raises FormatError for another number."""
        if self.size != 1:
            raise FormatError(f"item() needs one element, this tensor has {self.size} (shape {self.shape})")
        if self.data.stored == 0:
            return self.fill_value
        found: Scalar = self.data.val[0].item()
        return found

    def __bool__(self) -> bool:
        return bool(self._scalar("the truth value"))

    def __float__(self) -> float:
        return float(self._scalar("float()"))

    def __int__(self) -> int:
        return int(self._scalar("int()"))

    def _scalar(self, what: str) -> Scalar:
        if self.ndim:
            raise FormatError(f"{what} is for tensors without axes, this one has shape {self.shape}")
        return self.item()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if is_sparse(self.data.type) and self.size > _IMPLICIT_LIMIT:
            raise DensifyError(
                f"NumPy asked for a dense array of a sparse tensor of shape {self.shape}\n"
                "hint: call .to_numpy() if that is what you want"
            )
        array = self.to_numpy(copy=bool(copy))
        return array if dtype is None else array.astype(dtype, copy=False)

    def __reduce__(self) -> Any:
        return Tensor, (self.data,)

    def __copy__(self) -> "Tensor":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Tensor":
        return Tensor(self.data.copy())

    def __repr__(self) -> str:
        about = f"shape={self.shape}, dtype={self.dtype}, format={self.format}"
        if is_sparse(self.data.type):
            return f"Tensor({about}, nnz={self.nnz}, fill_value={self.fill_value!r})"
        if self.size > 8 or not self.size:
            return f"Tensor({about})"
        return f"Tensor({self.to_numpy().tolist()}, {about})"


def _one_width(pos: NDArray[Any], crd: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Both index arrays in one type: the pointers take the indices' if they fit."""
    if pos[-1] <= np.iinfo(crd.dtype).max:
        return pos.astype(crd.dtype), crd
    return pos, crd.astype(pos.dtype)
