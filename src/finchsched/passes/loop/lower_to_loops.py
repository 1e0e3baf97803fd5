"""Lower normalized, scheduled Logic to Loop IR: one nest per query.

    C[i, j] := Reorder(Aggregate(add, 0.0: float64, MapJoin(mul, A[i, k], B[k, j]), [k]), [i, j])   order [i, k, j]
      ->
    nest C by append:
        for i:
            declare w = 0.0: float64
            for k:
                for j:
                    w[j] add= A[i, k] * B[k, j]
            freeze w
            for j:
                C[i, j] = w[j]

Needs: every query has a loop order, every alias its final type, every access is concordant.  The way a target is
written follows from its type and the loop order (`assembly_of`).  A producer fused by scope becomes a scalar
defined in the innermost scope of its consumer, which needs no law.
"""

from finchsched.algebra.operators import identity, operator
from finchsched.ast.format import TensorType, last_sparse_level, storage_order
from finchsched.ast.logic import Plan, Query, Slot, Table
from finchsched.ast.loop import (
    Access,
    Assign,
    Block,
    Declare,
    Define,
    Freeze,
    If,
    Index,
    Loop,
    LoopProgram,
    Nest,
    Stmt,
    Tensor,
)
from finchsched.ast.node import walk
from finchsched.ast.scalar import Call, Literal
from finchsched.errors import LoweringError
from finchsched.formats.levels import Dense, SparseByteMap, SparseCOO, SparseList
from finchsched.passes.loop.query_form import QueryForm, query_form, tensor_of
from finchsched.passes.lower.pattern import pattern_source

__all__ = ["assembly_of", "loops_over", "lower_query", "lower_to_loops"]


def lower_to_loops(plan: Plan) -> LoopProgram:
    """The Loop IR of a scheduled plan."""
    slots = dict.fromkeys(n.tensor for n in walk(plan) if isinstance(n, Table) and isinstance(n.tensor, Slot))
    nests = tuple(lower_query(query) for query in plan.bodies)
    results = tuple(tensor_of(alias) for alias in plan.result.aliases)
    return LoopProgram(tuple(tensor_of(slot) for slot in slots), nests, results)


def lower_query(query: Query) -> Nest:
    """The nest of one query.  Raises LoweringError if its loop order cannot write its target."""
    form = query_form(query)
    order = tuple(f.name for f in query.loop_order)
    assembly = assembly_of(form, query.alias.type, order)
    target = tensor_of(query.alias)
    index = tuple(Index(name) for name in form.index)
    if assembly == "workspace":
        return Nest(target, "append", _through_workspace(form, target, index, order))
    body = loops_over(order[: len(form.loops)], _innermost(form, Access(target, index), order))
    if assembly == "append" and not form.drop_fill and _shares(body, target):
        assembly = "shared"
    return Nest(target, assembly, body)


def _shares(body: Stmt, target: Tensor) -> bool:
    source = pattern_source(body, target)
    return source is not None and source.tensor.type.levels == target.type.levels


def assembly_of(form: QueryForm, type_: TensorType, order: tuple[str, ...]) -> str:
    """How a target of this type can be written in this loop order: "dense", "append", "workspace", "scatter" or "sort".

    Raises LoweringError where no strategy fits.
    """
    last = last_sparse_level(type_)
    if last < 0:
        return "dense"
    storage = storage_order(type_, form.index)
    if order[: last + 1] == storage[: last + 1]:
        return "append"
    listed = all(isinstance(level, SparseCOO) for level in type_.levels)
    if listed and (_is_plain_copy(form) or (form.given is None and _can_be_listed(form, storage, order))):
        return "sort"
    if last == len(storage) - 1 and order[:last] == storage[:last] and not form.drop_fill:
        return "workspace"
    if _is_rotation(form, type_, storage, order):
        return "scatter"
    names = ", ".join(order)
    raise LoweringError(
        f"{form.alias.name}: loops in the order {names} cannot write storage order {', '.join(storage)}"
    )


def _is_rotation(form: QueryForm, type_: TensorType, storage: tuple[str, ...], order: tuple[str, ...]) -> bool:
    """Whether a copy moves one index to the front, into Dense(SparseList(...))."""
    levels = type_.levels
    shape = isinstance(levels[0], Dense) and all(isinstance(level, SparseList) for level in levels[1:])
    return shape and _is_plain_copy(form) and tuple(n for n in order if n != storage[0]) == storage[1:]


def _is_plain_copy(form: QueryForm) -> bool:
    return isinstance(form.expr, Access) and form.op is None and not form.drop_fill


def _can_be_listed(form: QueryForm, storage: tuple[str, ...], order: tuple[str, ...]) -> bool:
    """Whether the terms of a reduction may be listed one by one, and reduced when they have been sorted.

    The result's last index is innermost, so that room for a whole fiber is made before it.
    """
    if form.op is None or not (form.op.associative and form.op.commutative) or form.drop_fill or form.producers:
        return False
    return tuple(name for name in order if name in storage) == storage and order[-1:] == storage[-1:]


def loops_over(names: tuple[str, ...], body: Stmt) -> Stmt:
    """`body` inside loops over these indices, outermost first."""
    for name in reversed(names):
        body = Loop(Index(name), body)
    return body


def _innermost(form: QueryForm, target: Access, order: tuple[str, ...]) -> Stmt:
    """The assignment, after the producers fused into its scope."""
    assign: Stmt = Assign(target, form.op, form.expr)
    if form.drop_fill:
        assign = If(Call(operator("ne"), (form.expr, target.tensor.type.fill)), assign)
    stmts: list[Stmt] = []
    for producer in form.producers:
        inner = tuple(name for name in order if name in producer.over)
        stmts.append(Define(producer.scalar, producer.init))
        stmts.append(loops_over(inner, Assign(producer.scalar, producer.op, producer.expr)))
    return Block((*stmts, assign)) if stmts else assign


def _through_workspace(form: QueryForm, target: Tensor, index: tuple[Index, ...], order: tuple[str, ...]) -> Stmt:
    """Collect the innermost storage index in a row, then append it sorted."""
    type_ = target.type
    storage = storage_order(type_, form.index)
    row, prefix = storage[-1], storage[:-1]
    if form.op is None:
        raise LoweringError(f"{form.alias.name}: a workspace without a reduction")
    fill = Literal(identity(form.op, type_.dtype), type_.dtype)
    work = Tensor(f"{target.name}_w", TensorType((SparseByteMap(),), (0,), type_.dtype, fill))
    cell = Access(work, (Index(row),))
    collect = loops_over(order[len(prefix) : len(form.loops)], _innermost(form, cell, order))
    copy = Loop(Index(row), Assign(Access(target, index), None, cell))
    return loops_over(prefix, Block((Declare(work, fill), collect, Freeze(work), copy)))
