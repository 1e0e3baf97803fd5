"""Choose how a query's result is stored.

An index is compressed iff the mask rule lets it be skipped: where every operand that is compressed along it is
structural; of an index along which only some sparse operands are compressed, where every sparse operand that has it
is.  If that compresses no inner level, the same goes for an index that operands are compressed further inside of.  The
outermost level is dense unless an operand is compressed there itself (a hypersparse one).  Storage order follows the
first sparse operand's, then the others' as far as they agree with it, reduced indices in between included (the product
of two CSC matrices is CSC), then the order of the result's axes; results of rank 0 and 1 are dense.  Along an axis that
is huge, for what its operand stores, the outermost level and results of rank 1 are compressed too if they can be.  A
result with exactly one operand's stored coordinates takes over that operand's
levels, so that the index arrays can be shared.
"""

from itertools import pairwise

from finchsched.algebra.dtypes import INT32, INT64, DType
from finchsched.ast.format import Level, TensorType, is_sparse, storage_order
from finchsched.ast.loop import Access, Assign, Index, Tensor, storage_names
from finchsched.autoschedule.structure import NONE_HUGE, Huge, compressed_names, huge_names, skippable
from finchsched.formats.levels import Dense, SparseCOO, SparseList
from finchsched.formats.levels.sparse_coo import coo_levels
from finchsched.passes.loop.lower_to_loops import loops_over
from finchsched.passes.loop.query_form import QueryForm
from finchsched.passes.lower.pattern import pattern_source

__all__ = ["choose_output_type", "index_dtype", "with_index_width"]


def index_dtype(wide: bool) -> DType:
    """The element type of index arrays that finchsched makes."""
    return INT64 if wide else INT32


def with_index_width(type_: TensorType, wide: bool) -> TensorType:
    """A type whose compressed levels have index arrays of the given width."""
    width = index_dtype(wide)
    return type_.replace(
        levels=tuple(
            level.replace(pos=width, crd=width) if isinstance(level, SparseList | SparseCOO) else level
            for level in type_.levels
        )
    )


def choose_output_type(form: QueryForm, *, wide: bool, huge: Huge = NONE_HUGE) -> TensorType:
    """The type of a query's result.  huge: axes along which nothing should be dense."""
    given = form.given
    alias = form.alias.type
    if given is not None:
        return with_index_width(TensorType(given.levels, given.perm, alias.dtype, alias.fill), wide)
    width = index_dtype(wide)
    avoided = huge_names(form, huge)
    if len(form.index) <= 1:
        levels: tuple[Level, ...] = tuple(
            SparseList(width, width) if name in avoided and skippable(form, name, anywhere=True) else Dense()
            for name in form.index
        )
        return TensorType(levels, tuple(range(len(form.index))), alias.dtype, alias.fill)
    storage = _storage(form)
    first, inner = storage[0], storage[1:]
    compressed = [n for n in inner if skippable(form, n) or _compressed_in_part(form, n)]
    compressed = compressed or [n for n in inner if _compressed_inside(form, n)]
    if first in avoided:
        compressed += [first] if skippable(form, first, anywhere=True) else []
    elif _hypersparse(form, first) and skippable(form, first):
        compressed.append(first)
    levels = tuple(SparseList(width, width) if n in compressed else Dense() for n in storage)
    type_ = TensorType(levels, tuple(form.index.index(name) for name in storage), alias.dtype, alias.fill)
    return _shared_type(form, type_) if is_sparse(type_) else type_


def listed_type(form: QueryForm, type_: TensorType, huge: Huge) -> TensorType | None:
    """The list of coordinates that a reduction may make in any order, where its rows are too long to be dense.

    None where the format was asked for, or some term is there at coordinates that no operand stores.
    """
    row = storage_order(type_, form.index)[-1:]
    if form.given is not None or form.op is None or not huge_names(form, huge).intersection(row):
        return None
    if not all(isinstance(level, SparseList) for level in type_.levels):
        return None
    if not all(skippable(form, name, anywhere=True) for name in form.over):
        return None
    width = next(level.crd for level in type_.levels if isinstance(level, SparseList))
    return type_.replace(levels=coo_levels(len(type_.levels), width, width))


def _hypersparse(form: QueryForm, name: str) -> bool:
    """Whether some operand has an index compressed at its own outermost level."""
    return any(storage_names(a)[:1] == (name,) and not a.tensor.type.levels[0].stores_all for a in form.accesses())


def _compressed_in_part(form: QueryForm, name: str) -> bool:
    """Whether some operand is compressed along an index that can be skipped where no sparse operand stores anything."""
    return any(name in compressed_names(a) for a in form.accesses()) and skippable(form, name, anywhere=True)


def _compressed_inside(form: QueryForm, name: str) -> bool:
    """Whether an index along which no operand is compressed, but one is further in, can be skipped in the same way."""
    for access in form.accesses():
        names = storage_names(access)
        if name in names and any(n in compressed_names(access) for n in names[names.index(name) :]):
            return skippable(form, name, anywhere=True)
    return False


def _storage(form: QueryForm) -> tuple[str, ...]:
    """Index names of the result in storage order."""
    orders = [storage_names(a) for a in form.accesses() if is_sparse(a.tensor.type)]
    follows: dict[str, list[str]] = {name: [] for order in (*orders, form.index) for name in order}
    for order in orders:
        for earlier, later in pairwise(order):
            if not _reaches(follows, later, earlier):
                follows[earlier].append(later)
    waiting = list(follows)
    found = []
    while waiting:
        name = next(n for n in waiting if not any(n in follows[m] for m in waiting))
        waiting.remove(name)
        found.append(name)
    return tuple(n for n in found if n in form.index)


def _reaches(follows: dict[str, list[str]], start: str, end: str) -> bool:
    """Whether `end` is `start` or comes after it."""
    reached = [start]
    for name in reached:
        reached += [n for n in follows[name] if n not in reached]
    return end in reached


def _shared_type(form: QueryForm, type_: TensorType) -> TensorType:
    """`type_` with the levels of the operand whose pattern the result has, if there is one."""
    target = Tensor(form.alias.name, type_)
    index = tuple(Index(name) for name in form.index)
    order = storage_order(type_, form.index) + form.over
    body = loops_over(order, Assign(Access(target, index), form.op, form.expr))
    source = pattern_source(body, target)
    return type_ if source is None else type_.replace(levels=source.tensor.type.levels)
