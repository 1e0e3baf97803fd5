"""Tensors: immutable arrays in sparse and dense formats, with NumPy's operators."""

from typing import Any

from numpy.typing import NDArray

from finchsched.algebra.dtypes import Scalar
from finchsched.api.format_text import format_name, parse_format
from finchsched.api.graph import GraphNode, format_node, tensor_node
from finchsched.api.lazy import index_widths_narrow
from finchsched.api.operators_mixin import ArrayOperators
from finchsched.api.planning import run_graph
from finchsched.api.rearrange.nonzero import nonzero
from finchsched.api.scipy_output import to_scipy_array
from finchsched.ast.format import is_sparse
from finchsched.errors import DensifyError, DtypeError, FormatError, ShapeMismatchError
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
        if node.kind == "host":
            return Tensor(node.params.run(*[arg.data for arg in node.args]))
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
        """The tensor stored as the format `text` says: csr, csc, dense, dcsr, dcsc, csf, coo, or a nest of levels.

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

    def to_scipy(self, format: str | None = None, *, copy: bool = False) -> Any:
        """A SciPy sparse array in the format asked for: csr, csc, coo, bsr, dia, dok or lil.

        The default for a matrix is csc if it is stored by columns, coo if it is a list of coordinates, else csr; arrays
        of one axis, or more than two, are coo.  Buffers are shared (read-only if finchsched made them) where formats
        agree, unless `copy`.  Raises FormatError for a dense tensor, a fill other than 0, or a format that SciPy
        does not have for so many axes.
        """
        if self.fill_value != 0:
            raise FormatError(f"SciPy's matrices have the fill 0, this tensor has {self.fill_value!r}")
        if not is_sparse(self.data.type):
            shown = "csr" if self.ndim == 2 else "coo"
            hint = f'.to_numpy(), or .asformat("{shown}") first' if self.ndim else ".item()"
            raise FormatError(f"this tensor is dense\nhint: use {hint}")
        return to_scipy_array(self, format, copy=copy)

    def nonzero(self) -> "tuple[Tensor, ...]":
        """The coordinates of the elements that are not zero, in C order: a dense tensor of int64 for each axis.

        Stored zeros do not count, NaN does.  O(stored · log) if the fill is 0; else every element is looked at, and
        DensifyError is raised if they are more than the limit of the settings.
        """
        if not self.ndim:
            raise ShapeMismatchError("nonzero of an array without axes\nhint: compare it with 0")
        return tuple([Tensor(found) for found in nonzero(self.data)])

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
        return float(self._real_scalar("float()"))

    def __int__(self) -> int:
        return int(self._real_scalar("int()"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex()"))

    def _real_scalar(self, what: str) -> bool | int | float:
        found = self._scalar(what)
        if isinstance(found, complex):
            raise DtypeError(f"{what} of the complex number {found}\nhint: use complex(), or .item().real")
        return found

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
