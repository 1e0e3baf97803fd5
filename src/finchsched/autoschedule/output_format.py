"""Choose how a query's result is stored.

An index is compressed iff the mask rule lets it be skipped: where every operand that is compressed along it is
structural, or, if that compresses nothing, where every sparse operand that has it is.  The outermost level is dense
unless an operand is compressed there itself (a hypersparse one).  Storage order is the first sparse operand's, then
the order of the result's axes; results of rank 0 and 1 are dense.  A result with exactly one operand's stored
coordinates takes over that operand's levels, so that the index arrays can be shared.
"""

from finchsched.algebra.dtypes import INT32, INT64, DType
from finchsched.ast.format import Level, TensorType, is_sparse, storage_order
from finchsched.ast.loop import Access, Assign, Index, Loop, Stmt, Tensor
from finchsched.autoschedule.structure import skippable
from finchsched.formats.levels import Dense, SparseList
from finchsched.passes.loop.query_form import QueryForm, storage_names
from finchsched.passes.lower.pattern import pattern_source

__all__ = ["choose_output_type", "index_dtype", "with_index_width"]


def index_dtype(wide: bool) -> DType:
    """The element type of index arrays that finchsched makes."""
    return INT64 if wide else INT32


def with_index_width(type_: TensorType, wide: bool) -> TensorType:
    """A type whose compressed levels have index arrays of the given width."""
    width = index_dtype(wide)
    levels = tuple(SparseList(width, width) if isinstance(level, SparseList) else level for level in type_.levels)
    return type_.replace(levels=levels)


def choose_output_type(form: QueryForm, *, wide: bool) -> TensorType:
    """The type of a query's result."""
    given = form.given
    alias = form.alias.type
    if given is not None:
        return with_index_width(TensorType(given.levels, given.perm, alias.dtype, alias.fill), wide)
    if len(form.index) <= 1:
        return TensorType(tuple(Dense() for _ in form.index), tuple(range(len(form.index))), alias.dtype, alias.fill)
    storage = _storage(form)
    width = index_dtype(wide)
    compressed = [n for n in storage if skippable(form, n)] or [n for n in storage if skippable(form, n, anywhere=True)]
    if not _hypersparse(form, storage[0]):
        compressed = [n for n in compressed if n != storage[0]]
    levels: tuple[Level, ...] = tuple(SparseList(width, width) if n in compressed else Dense() for n in storage)
    type_ = TensorType(levels, tuple(form.index.index(name) for name in storage), alias.dtype, alias.fill)
    return _shared_type(form, type_) if is_sparse(type_) else type_


def _hypersparse(form: QueryForm, name: str) -> bool:
    """Whether some operand has an index compressed at its own outermost level."""
    return any(storage_names(a)[:1] == (name,) and not a.tensor.type.levels[0].stores_all for a in form.accesses())


def _storage(form: QueryForm) -> tuple[str, ...]:
    """Index names of the result in storage order."""
    sparse = [a for a in form.accesses() if is_sparse(a.tensor.type)]
    leading = [n for a in sparse for n in storage_names(a) if n in form.index]
    return tuple(dict.fromkeys(leading + list(form.index)))


def _shared_type(form: QueryForm, type_: TensorType) -> TensorType:
    """`type_` with the levels of the operand whose pattern the result has, if there is one."""
    target = Tensor(form.alias.name, type_)
    index = tuple(Index(name) for name in form.index)
    body: Stmt = Assign(Access(target, index), form.op, form.expr)
    for name in reversed(storage_order(type_, form.index) + form.over):
        body = Loop(Index(name), body)
    source = pattern_source(body, target)
    return type_ if source is None else type_.replace(levels=source.tensor.type.levels)
