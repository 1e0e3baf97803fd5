"""The meaning of Loop IR: nested execution over every coordinate, one scalar at a time.

It shares with the interpreter of Logic IR the statement of the mask rule (`finchsched.interpret.masked`), not its code:
each expression is a cell (value, stored, fill), and loops visit structural coordinates like any other.  A nest's
assembly strategy and the formats of tensors do not matter, but for this: after a nest of assembly "dense" its target is
stored everywhere.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, assert_never, cast

import numpy as np

from finchsched.algebra.dtypes import INT64, DType, Scalar
from finchsched.algebra.operators import Operator, absorbs, identity, result_type
from finchsched.ast.format import TensorType
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
    LoopExpr,
    LoopProgram,
    Nest,
    Stmt,
    Tensor,
)
from finchsched.ast.loop import Scalar as Local
from finchsched.ast.node import Node, walk
from finchsched.ast.scalar import Call, Literal, Size, Value, constant_coordinate
from finchsched.errors import IndexNameError, ShapeMismatchError, ValidationError
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.numpy_convert import stored_mask, to_dense
from finchsched.interpret.masked import (
    Array,
    Mask,
    Masked,
    apply_folded,
    check_argument_count,
    depends_on_coordinate,
    evaluate_scalar,
    settle,
)

__all__ = ["run_loop"]


def run_loop(
    program: LoopProgram,
    inputs: Mapping[str, FiberTensor],
    values: Mapping[str, Scalar],
    extents: Mapping[str, int],
) -> list[Masked]:
    """The results of `program`.

    inputs: the tensor of each input.  values: the scalar of each Value; a fill that an input's type names as a Value is
    taken from the tensor.  extents: by index name.

    A target starts structural with its type's fill.  A reduction into a coordinate that was not touched starts from the
    init of the target's Declare, or without one from the operator's identity; structural contributions count with their
    value and store nothing.  Overwriting with a structural value that is the fill does nothing.
    """
    return _Run(program, inputs, values, extents).run()


class _Cell(NamedTuple):
    """A value at one coordinate: stored, structural (stored is False), or a scalar (None), whose fill is its value."""

    value: Any
    stored: bool | None
    fill: Any


class _Apply(NamedTuple):
    """A Call whose argument types are known: cast the arguments, apply, cast the result."""

    op: Operator
    taken: int
    casts: tuple[np.dtype[Any], ...]
    common: DType
    out: np.dtype[Any]


_Step: TypeAlias = _Cell | Index | Local | Access | _Apply


@dataclass(slots=True)
class _Store:
    """A tensor under construction: what Declare or its type's fill made it, and what was assigned.

    full: it has no one fill, so it ends up stored everywhere.
    """

    type: TensorType
    fill: Scalar
    values: Array
    stored: Mask
    touched: Mask
    declared: bool = False
    full: bool = False

    def element(self, at: tuple[int, ...]) -> _Cell:
        return _Cell(self.values[at], bool(self.stored[at]), self.values.dtype.type(self.fill))

    def declare(self, init: Any) -> None:
        self.values[...] = init
        self.stored[...] = False
        self.touched[...] = False
        self.declared = True

    def assign(self, at: tuple[int, ...], op: Operator | None, rhs: _Cell) -> None:
        dtype = self.values.dtype
        stored = rhs.stored is not False
        if op is None:
            value = rhs.value.astype(dtype)
            if not stored and _same(value, dtype.type(self.fill)):
                return
        else:
            untouched = not (self.touched[at] or self.declared)
            start = dtype.type(identity(op, self.type.dtype)) if untouched else self.values[at]
            value = _combine(op, start, rhs.value, dtype)
        self.values[at] = value
        self.stored[at] |= stored
        self.touched[at] = True

    def finish(self) -> None:
        done = settle(self.values, self.stored | self.full, self.fill)
        self.values, self.stored = done.values, done.stored


@dataclass(slots=True)
class _Run:
    program: LoopProgram
    inputs: Mapping[str, FiberTensor]
    given: Mapping[str, Scalar]
    extents: Mapping[str, int]
    values: dict[str, Scalar] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    stores: dict[str, _Store] = field(default_factory=dict)
    locals: dict[str, _Cell] = field(default_factory=dict)
    indices: dict[str, int] = field(default_factory=dict)
    compiled: dict[Node, list[_Step]] = field(default_factory=dict)

    def run(self) -> list[Masked]:
        self.values.update(_input_fills(self.program, self.inputs))
        self.values.update(self.given)
        self.shapes.update(_shapes(self.program, self.inputs, self.extent))
        for tensor in self.program.inputs:
            self.stores[tensor.name] = _read_input(tensor, self.inputs)
        for nest in self.program.nests:
            self.run_nest(nest)
        results = [self.store(tensor) for tensor in self.program.results]
        return [Masked(s.values, s.stored, s.values.dtype.type(s.fill).item()) for s in results]

    def run_nest(self, nest: Nest) -> None:
        self.locals.clear()
        self.begin(nest.target)
        self.execute(nest.body)
        target = self.store(nest.target)
        target.finish()
        if nest.assembly == "dense":
            target.stored[...] = True

    def begin(self, tensor: Tensor) -> None:
        shape, dtype = self.shapes.get(tensor.name, ()), tensor.type.dtype
        if len(shape) != len(tensor.type.levels):
            raise ValidationError(f"the shape of {tensor.name!r} is not known: no statement accesses it")
        varies = depends_on_coordinate(tensor.type.fill, self.values)
        fill: Scalar = 0 if varies else evaluate_scalar(tensor.type.fill, self.values, self.extent)
        untouched, values = np.zeros(shape, np.bool), np.full(shape, fill, dtype.numpy)
        self.stores[tensor.name] = _Store(tensor.type, fill, values, untouched.copy(), untouched, full=varies)

    def execute(self, stmt: Stmt) -> None:
        match stmt:
            case Loop(index, body):
                for coordinate in range(self.extent(index.name)):
                    self.indices[index.name] = coordinate
                    self.execute(body)
                self.indices.pop(index.name, None)
            case Assign(target, op, rhs):
                if isinstance(target, Access):
                    self.store(target.tensor).assign(self.locate(target.index), op, self.evaluate(rhs))
                else:
                    self.assign_local(target, op, self.evaluate(rhs))
            case If(cond, body):
                if self.evaluate(cond).value:
                    self.execute(body)
            case Define(local, init):
                self.define(local, init)
            case Declare(tensor, init):
                if tensor.name not in self.stores:
                    self.begin(tensor)
                self.store(tensor).declare(self.evaluate(cast(LoopExpr, init)).value)
            case Freeze(tensor):
                self.store(tensor).finish()
            case Block(body):
                for inner in body:
                    self.execute(inner)
            case _:
                assert_never(stmt)

    def extent(self, name: str) -> int:
        if name not in self.extents:
            known = ", ".join(self.extents) or "none"
            raise IndexNameError(f"no extent is given for index {name!r}; given are {known}")
        return self.extents[name]

    def store(self, tensor: Tensor) -> _Store:
        if tensor.name not in self.stores:
            raise IndexNameError(f"tensor {tensor.name!r} is used before it is made")
        return self.stores[tensor.name]

    def locate(self, index: tuple[Index | Literal, ...]) -> tuple[int, ...]:
        return tuple([self.coordinate(i) if isinstance(i, Index) else constant_coordinate(i) for i in index])

    def coordinate(self, index: Index) -> int:
        if index.name not in self.indices:
            raise IndexNameError(f"index {index.name!r} is used outside its loop")
        return self.indices[index.name]

    def define(self, local: Local, init: LoopExpr) -> None:
        """A literal is an accumulator's start, structural until something stored is added."""
        cell = _cast(self.evaluate(init), local.dtype.numpy)
        self.locals[local.name] = cell._replace(stored=False) if isinstance(init, Literal) else cell

    def assign_local(self, local: Local, op: Operator | None, rhs: _Cell) -> None:
        dtype = local.dtype.numpy
        if op is None:
            self.locals[local.name] = _cast(rhs, dtype)
            return
        old = self.local(local)
        value = _combine(op, old.value, rhs.value, dtype)
        fill = _combine(op, old.fill, rhs.fill, dtype)
        stored = True if old.stored else rhs.stored
        self.locals[local.name] = _Cell(value, stored, fill)

    def local(self, local: Local) -> _Cell:
        if local.name not in self.locals:
            raise IndexNameError(f"local {local.name!r} is used before its definition")
        return self.locals[local.name]

    def evaluate(self, expr: LoopExpr) -> _Cell:
        steps = self.compiled.get(expr)
        if steps is None:
            steps = self.compiled[expr] = list(self.compile(expr))
        stack: list[_Cell] = []
        for step in steps:
            match step:
                case _Cell():
                    stack.append(step)
                case _Apply():
                    args = stack[-step.taken :]
                    del stack[-step.taken :]
                    stack.append(_map(step, args))
                case Index():
                    coordinate = np.int64(self.coordinate(step))
                    stack.append(_Cell(coordinate, None, coordinate))
                case Local():
                    stack.append(self.local(step))
                case Access(tensor, index):
                    stack.append(self.store(tensor).element(self.locate(index)))
                case _:
                    assert_never(step)
        return stack[0]

    def compile(self, expr: LoopExpr) -> Iterator[_Step]:
        """The expression in postfix order, one step per occurrence."""
        types: list[DType] = []
        for node in _occurrences(expr):
            match node:
                case Literal(_, dtype) | Value(_, dtype, _):
                    types.append(dtype)
                    yield self.constant(node, dtype)
                case Size():
                    types.append(INT64)
                    yield self.constant(node, INT64)
                case Index():
                    types.append(INT64)
                    yield node
                case Local(_, dtype):
                    types.append(dtype)
                    yield node
                case Access(tensor, _):
                    types.append(tensor.type.dtype)
                    yield node
                case Call(op, args):
                    check_argument_count(op, len(args))
                    taken, out = result_type(op, *types[len(types) - len(args) :])
                    del types[len(types) - len(args) :]
                    types.append(out)
                    yield _Apply(op, len(args), tuple(t.numpy for t in taken), taken[-1], out.numpy)
                case _:
                    raise ValidationError(f"{type(node).__name__} is not a Loop expression")

    def constant(self, expr: Node, dtype: DType) -> _Cell:
        value = dtype.numpy.type(evaluate_scalar(expr, self.values, self.extent))
        return _Cell(value, None, value)


def _map(step: _Apply, args: Sequence[_Cell]) -> _Cell:
    """The mask rule at one coordinate."""
    values = [arg.value.astype(t) for arg, t in zip(args, step.casts, strict=True)]
    fills = [arg.fill.astype(t) for arg, t in zip(args, step.casts, strict=True)]
    fill = np.asarray(apply_folded(step.op, fills)).astype(step.out)[()]
    stored = None if all(arg.stored is None for arg in args) else any(arg.stored for arg in args)
    structural = [v for v, arg in zip(values, args, strict=True) if arg.stored is False]
    if stored and structural and step.op.arity == 2:
        s = apply_folded(step.op, structural)
        if absorbs(step.op, s.item(), step.common):
            s = s.astype(step.out)
            return _Cell(s, not _same(s, fill), fill)
    return _Cell(np.asarray(apply_folded(step.op, values)).astype(step.out)[()], stored, fill)


def _combine(op: Operator, old: Any, new: Any, dtype: np.dtype[Any]) -> Any:
    return np.asarray(apply_folded(op, (old.astype(dtype), new.astype(dtype)))).astype(dtype)[()]


def _cast(cell: _Cell, dtype: np.dtype[Any]) -> _Cell:
    return _Cell(cell.value.astype(dtype), cell.stored, cell.fill.astype(dtype))


def _same(a: Any, b: Any) -> bool:
    return bool(a == b or (a != a and b != b))


def _occurrences(expr: Node) -> list[Node]:
    """Every occurrence of every subexpression, arguments first, left to right, without recursion."""
    found: list[Node] = []
    stack = [expr]
    while stack:
        node = stack.pop()
        found.append(node)
        if isinstance(node, Call):
            stack.extend(node.args)
    return found[::-1]


def _input_fills(program: LoopProgram, inputs: Mapping[str, FiberTensor]) -> dict[str, Scalar]:
    """Values that are the fill of an input; a name under which two inputs have different fills is left out."""
    found: dict[str, dict[Scalar, None]] = {}
    for tensor in program.inputs:
        if isinstance(tensor.type.fill, Value) and tensor.name in inputs:
            found.setdefault(tensor.type.fill.name, {})[inputs[tensor.name].fill] = None
    return {name: next(iter(fills)) for name, fills in found.items() if len(fills) == 1}


def _read_input(tensor: Tensor, inputs: Mapping[str, FiberTensor]) -> _Store:
    if tensor.name not in inputs:
        raise IndexNameError(f"no tensor is given for {tensor.name!r}; given are {', '.join(inputs) or 'none'}")
    bound = inputs[tensor.name]
    stored = stored_mask(bound)
    return _Store(tensor.type, bound.fill, to_dense(bound), stored, stored)


def _shapes(
    program: LoopProgram, inputs: Mapping[str, FiberTensor], extent: Callable[[str], int]
) -> dict[str, tuple[int, ...]]:
    """The shape of every tensor that is accessed.

    Raises ShapeMismatchError where accesses do not fit it or one another.
    """
    accesses: dict[str, list[Access]] = {}
    for nest in program.nests:
        for node in walk(nest.body):
            if isinstance(node, Access):
                accesses.setdefault(node.tensor.name, []).append(node)
    shapes: dict[str, tuple[int, ...]] = {}
    for name, found in accesses.items():
        rank = len(found[0].tensor.type.levels)
        if any(len(access.index) != rank for access in found):
            raise ShapeMismatchError(f"{name} has {rank} axes, but is accessed with another number of indices")
        known = inputs[name].shape if name in inputs else (None,) * rank
        columns = [[access.index[axis] for access in found] for axis in range(rank)]
        shapes[name] = tuple(_axis_extent(name, axis, columns[axis], known[axis], extent) for axis in range(rank))
    return shapes


def _axis_extent(
    name: str, axis: int, indices: Sequence[Index | Literal], known: int | None, extent: Callable[[str], int]
) -> int:
    """The extent of an axis, from how it is indexed: that of its loops, or one more than the largest constant."""
    constants = [constant_coordinate(i) for i in indices if isinstance(i, Literal)]
    for i in indices:
        if isinstance(i, Index):
            known = extent(i.name) if known is None else known
            if extent(i.name) != known:
                raise ShapeMismatchError(f"axis {axis} of {name} has extent {known}; {i.name} has {extent(i.name)}")
    if known is None:
        known = max(constants) + 1
    if constants and not 0 <= min(constants) <= max(constants) < known:
        raise ShapeMismatchError(f"{name} is accessed at {constants} of axis {axis}, whose extent is {known}")
    return known
