"""The functions of the public interface: making tensors, computing programs, looking at plans."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finchsched.algebra.dtypes import DType, Scalar
from finchsched.api.convert import element_dtype, to_fiber_tensor, with_fill
from finchsched.api.deferred import deferred
from finchsched.api.einsum_numpy import parse_numpy
from finchsched.api.einsum_program import EinsumProgram, mark
from finchsched.api.einsum_text import parse_einsum
from finchsched.api.explain import explain_plan
from finchsched.api.format_text import parse_format
from finchsched.api.graph import GraphNode, einsum_node, format_node, substitute, tensor_node
from finchsched.api.lazy import Lazy, index_widths_narrow, reads_sparse
from finchsched.api.operators_mixin import ArrayOperators, as_node
from finchsched.api.plan import Plan
from finchsched.api.planning import run_graph
from finchsched.api.tensor import Tensor
from finchsched.errors import DtypeError, EinsumSyntaxError, FormatError, IndexNameError, LazyValueError
from finchsched.formats.fiber_tensor import FiberTensor

__all__ = ["asarray", "compute", "computed", "einsum", "explain", "lazy", "plan", "read", "to_dense", "to_scipy"]

Formats = Mapping[str, str] | str | None

read_tensor = deferred("finchsched.api.read_tensor.read_tensor")


def asarray(x: object, *, fill_value: Scalar | None = None, copy: bool = False) -> Tensor:
    """A tensor over `x`: a tensor, a scipy.sparse array or matrix, a NumPy array, a (nested) list, or a number.

    CSR, CSC and contiguous NumPy arrays are not copied unless `copy`; the tensor then sees later changes of their
    buffers, which finchsched never changes.  Unsorted rows and duplicates are put right in a copy.  `fill_value` (0,
    inf or -inf; 0 if not given) is the value of entries that are not stored; stored ones keep their value.

    Raises DtypeError for an element type other than bool, int64, float32, float64, FormatError for a ragged list or
    invalid indices, LazyValueError for a lazy array.
    """
    if isinstance(x, Tensor):
        data = with_fill(x.data, fill_value)
        if copy:
            data = data.copy()
        return x if data is x.data else Tensor(data)
    if isinstance(x, ArrayOperators):
        raise LazyValueError("asarray of a lazy array: it has not been computed\nhint: use finchsched.compute")
    if isinstance(x, FiberTensor):
        return Tensor(with_fill(x, fill_value))
    return Tensor(to_fiber_tensor(x, fill_value, copy))


def read(path: str | os.PathLike[str]) -> Tensor:
    """The matrix in a Matrix Market file (`.mtx`, `.mtx.gz`): CSR, or dense if the file is.

    Repeated entries are added up.  Raises FileFormatError for a malformed file, DtypeError for complex numbers,
    DensifyError for more rows than the limit of the settings.
    """
    return Tensor(read_tensor(path))


def lazy(x: object) -> Lazy:
    """`x` (anything that `asarray` takes) as an operand of a program that `compute` runs later."""
    if isinstance(x, ArrayOperators):
        return Lazy(x.node)
    return Lazy(asarray(x).node)


def compute(*exprs: Any) -> Any:
    """Run a program: one tensor for one expression, a tuple of tensors for several, which share their common parts.

    A tensor is already computed and is given back.  Raises TypeError without an expression, DtypeError for anything
    that is no array.
    """
    if not exprs:
        raise TypeError("compute() needs at least one expression")
    for expr in exprs:
        if not isinstance(expr, ArrayOperators):
            raise DtypeError(f"cannot compute a {type(expr).__name__}, expected a lazy array or a tensor")
    tensors = computed(exprs)
    return tensors[0] if len(tensors) == 1 else tensors


def computed(arrays: Sequence[ArrayOperators]) -> tuple[Tensor, ...]:
    """The tensor of each array: what is lazy is computed in one run, but for leaves, which are tensors already."""
    roots = {n: array.node for n, array in enumerate(arrays) if isinstance(array, Lazy) and array.node.kind != "tensor"}
    results = dict(zip(roots, run_graph(tuple(roots.values())), strict=True)) if roots else {}
    return tuple([_computed(array, results.get(n)) for n, array in enumerate(arrays)])


def _computed(array: ArrayOperators, result: FiberTensor | None) -> Tensor:
    if result is not None:
        return Tensor(result)
    return array if isinstance(array, Tensor) else Tensor(array.node.data)


def _any_lazy(exprs: tuple[Any, ...]) -> bool:
    return any(isinstance(expr, Lazy) for expr in exprs)


def einsum(text: str, /, *operands: Any, formats: Formats = None, dtype: object = None, **named: Any) -> Any:
    """An einsum: `einsum("C[i,j] += A[i,k] * B[k,j]", A=A, B=B)`, or in NumPy's notation `einsum("ij,jk->ik", A, B)`.

    `formats` gives the storage format of the result, by its name (`{"C": "csr"}`) or alone.  `dtype`, in NumPy's
    notation, is what operands are cast to first.  A lazy operand makes the result lazy; else it is computed.

    Raises EinsumSyntaxError, IndexNameError and ShapeMismatchError, which show the text with a caret.
    """
    values = (*operands, *named.values())
    node = _einsum_graph(text, operands, formats, dtype, named)
    if _any_lazy(values):
        return Lazy(node)
    return Tensor(run_graph((node,))[0])


def _einsum_graph(
    text: str, operands: tuple[Any, ...], formats: Formats, dtype: object, named: Mapping[str, Any]
) -> GraphNode:
    if "=" in text:
        if operands:
            raise EinsumSyntaxError(
                mark(text, 0, "operands of this notation are given by name", "pass them as keywords, as in A=A")
            )
        if dtype is not None:
            raise EinsumSyntaxError(
                mark(text, 0, "dtype= is for NumPy's notation", "cast in the text: float64(A[i,j])")
            )
        node = _named_einsum(parse_einsum(text), named)
    else:
        if named:
            hint = "operands by name need a text like y[i] += A[i,j] * x[j]"
            raise EinsumSyntaxError(mark(text, 0, f"found no assignment, but operands {', '.join(named)}", hint))
        args = tuple(_operand(f"operand {n}", x) for n, x in enumerate(operands))
        program = parse_numpy(text, tuple([len(arg.shape) for arg in args]))
        node = einsum_node(program, args, _wanted(dtype))
    return node if formats is None else _formatted(node, formats)


def _wanted(dtype: object) -> DType | None:
    return None if dtype is None else element_dtype(np.dtype(dtype))  # type: ignore[call-overload]  # dtype-like


def _named_einsum(program: EinsumProgram, named: Mapping[str, Any]) -> GraphNode:
    """The node, with every name of the text given, and every given name in the text."""
    indices = {*program.left, *(name for access in program.reads for name in access.index)}
    for access in program.reads:
        name = program.operands[access.operand]
        if name not in named:
            given = ", ".join(named) or "none"
            raise IndexNameError(
                mark(program.text, access.at, f"{name} is neither an operand nor an index; operands given: {given}")
            )
    for name in named:
        if name not in program.operands:
            what = "both an index and an operand" if name in indices else "given, but the text does not use it"
            raise IndexNameError(mark(program.text, max(program.text.find(name), 0), f"{name} is {what}"))
    return einsum_node(program, tuple([_operand(name, named[name]) for name in program.operands]))


def _operand(name: str, value: object) -> GraphNode:
    try:
        node = as_node(value)
    except (DtypeError, FormatError) as error:
        raise type(error)(f"{name}: {error}") from error
    if node is None:
        raise DtypeError(
            f"{name} is a {type(value).__name__}\nhint: pass a tensor, a NumPy array, a scipy.sparse matrix or a number"
        )
    return node


def _formatted(node: GraphNode, formats: Mapping[str, str] | str) -> GraphNode:
    """The result in the format asked for; entries are dropped only if no operand is sparse."""
    program: EinsumProgram = node.params[0]
    wanted = {program.output: formats} if isinstance(formats, str) else dict(formats)
    for name in wanted:
        if name != program.output:
            raise FormatError(f"formats names {name!r}; the result of this einsum is called {program.output!r}")
    if not wanted:
        return node
    levels, perm = parse_format(wanted[program.output], len(node.shape), narrow=index_widths_narrow(node))
    return format_node(node, levels, perm, not reads_sparse(node))


def plan(*args: Any, formats: Formats = None, dtype: object = None, **named: Any) -> Plan:
    """Compile a program without running it: the arguments of `einsum`, or one or several lazy arrays."""
    if args and isinstance(args[0], str):
        text, operands = args[0], args[1:]
        root = _einsum_graph(text, operands, formats, dtype, named)

        def with_named(new: Mapping[str, Any]) -> tuple[GraphNode, ...]:
            _check_known(new, named)
            return (_einsum_graph(text, operands, formats, dtype, {**named, **new}),)

        return Plan((root,), with_named)
    if named or formats is not None or dtype is not None:
        raise EinsumSyntaxError("plan() takes an einsum text with operands, or lazy arrays alone")
    for expr in args:
        if not isinstance(expr, ArrayOperators):
            raise DtypeError(f"cannot plan a {type(expr).__name__}, expected an einsum text or lazy arrays")
    if not args:
        raise TypeError("plan() needs an einsum text or at least one lazy array")
    roots = tuple(expr.node for expr in args)
    return Plan(roots, _by_slot(roots))


def _by_slot(roots: tuple[GraphNode, ...]) -> "Callable[[Mapping[str, Any]], tuple[GraphNode, ...]]":
    """Puts other tensors at leaves, which are known by the names of their slots."""

    def with_slots(new: Mapping[str, Any]) -> tuple[GraphNode, ...]:
        operands = Plan(roots, with_slots).operands
        _check_known(new, operands)
        leaves = {id(operands[name]): tensor_node(asarray(x).data) for name, x in new.items()}
        return substitute(roots, leaves)

    return with_slots


def _check_known(new: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    for name in new:
        if name not in known:
            raise IndexNameError(f"the plan has no operand {name!r}; its operands are {', '.join(known) or 'none'}")


def explain(*args: Any, **named: Any) -> str:
    """What the compiler does with a program, as text: a Plan, or the arguments of `plan`."""
    if len(args) == 1 and isinstance(args[0], Plan) and not named:
        return explain_plan(args[0])
    return explain_plan(plan(*args, **named))


def to_scipy(x: object, *, copy: bool = False) -> Any:
    """`asarray(x).to_scipy()`: a CSR or CSC array; see Tensor.to_scipy."""
    return asarray(x).to_scipy(copy=copy)


def to_dense(x: object, *, copy: bool = False) -> NDArray[Any]:
    """`asarray(x).to_numpy()`: a NumPy array; see Tensor.to_numpy."""
    return asarray(x).to_numpy(copy=copy)
