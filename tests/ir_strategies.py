"""Random valid programs of Logic IR and Loop IR, for hypothesis."""

from collections.abc import Callable
from itertools import product

from hypothesis import strategies as st

from finchsched.algebra.dtypes import BOOL, ELEMENT_DTYPES, INT32, INT64, UINT32, UINT64, DType
from finchsched.algebra.operators import OPERATORS, Operator, result_type
from finchsched.ast.facts import fields
from finchsched.ast.format import TensorType
from finchsched.ast.logic import (
    Aggregate,
    Alias,
    Coordinate,
    Field,
    LogicExpr,
    MapJoin,
    Plan,
    Produces,
    Query,
    Reformat,
    Relabel,
    Reorder,
    Slot,
    Subquery,
    Table,
)
from finchsched.ast.loop import (
    ASSEMBLIES,
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
    Scalar,
    Stmt,
    Tensor,
)
from finchsched.ast.node import Node, walk
from finchsched.ast.scalar import VALUE_KINDS, Call, Literal, Size, Value
from finchsched.errors import DtypeError
from finchsched.formats.levels import Dense, SparseByteMap, SparseCOO, SparseList

DTYPES = ELEMENT_DTYPES
INDEX_NAMES = ("i", "j", "k", "row")


def _signatures() -> list[tuple[Operator, tuple[DType, ...], DType]]:
    """(operator, types of its arguments, type of its result) for every combination that is valid."""
    found = []
    for op, dtype in product(OPERATORS.values(), DTYPES):
        args = (BOOL, dtype, dtype) if op.name == "where" else (dtype,) * op.arity
        try:
            wanted, result = result_type(op, *args)
        except DtypeError:
            continue
        if wanted == args:
            found.append((op, args, result))
    return found


SIGNATURES = _signatures()
BY_RESULT = {dtype: [(op, args) for op, args, result in SIGNATURES if result == dtype] for dtype in DTYPES}
REDUCTIONS = {d: [op for op, args, out in SIGNATURES if op.associative and {*args, out} == {d}] for d in DTYPES}


def literals(dtype: DType) -> st.SearchStrategy[Literal]:
    if dtype.is_bool:
        values = st.booleans()
    elif dtype.is_float:
        values = st.floats(width=8 * dtype.itemsize)
    elif dtype.is_complex:
        values = st.complex_numbers(width=8 * dtype.itemsize)
    else:
        bits = 8 * dtype.itemsize
        low = 0 if dtype.is_unsigned else -(2 ** (bits - 1))
        values = st.integers(low, low + 2**bits - 1)
    return values.map(lambda value: Literal(value, dtype))


def values(dtype: DType) -> st.SearchStrategy[Value]:
    return st.sampled_from(VALUE_KINDS).map(lambda kind: Value(f"v_{dtype}_{kind}", dtype, kind))


class _Draw:
    """What both IRs need: draws, typed expressions, tensor types."""

    def __init__(self, draw: Callable[[st.SearchStrategy], object]) -> None:
        self.draw = draw
        self.counter = 0

    def pick(self, items):
        return self.draw(st.sampled_from(list(items)))

    def chance(self) -> bool:
        return self.draw(st.booleans())

    def fresh(self, stem: str) -> str:
        self.counter += 1
        return f"{stem}{self.counter}"

    def scalar(self, dtype: DType) -> Node:
        return self.draw(st.one_of(literals(dtype), values(dtype)))

    def call(self, dtype: DType, depth: int, leaf: Callable[[DType], Node]) -> Node:
        if depth == 0:
            return leaf(dtype)
        op, args = self.pick(BY_RESULT[dtype] or [(None, ())])
        return leaf(dtype) if op is None else Call(op, tuple(self.call(arg, depth - 1, leaf) for arg in args))

    def level(self):
        match self.draw(st.integers(0, 4)):
            case 0:
                return SparseByteMap(self.pick((UINT32, UINT64)))
            case 1:
                return SparseList(self.pick((INT32, INT64)), self.pick((INT32, INT64)))
            case 2:
                axes = self.draw(st.integers(1, 7))
                part = self.draw(st.integers(0, axes - 1))
                return SparseCOO(self.pick((INT32, INT64)), self.pick((INT32, INT64)), part, axes)
            case _:
                return Dense()

    def type(self, rank: int, dtype: DType) -> TensorType:
        perm = tuple(self.draw(st.permutations(range(rank))))
        leaf = self.scalar if dtype != INT64 else (lambda d: Size("i") if d == INT64 else self.scalar(d))
        fill = self.call(dtype, self.pick((0, 0, 2)), leaf)
        return TensorType(tuple(self.level() for _ in range(rank)), perm, dtype, fill)

    def constant(self) -> Literal:
        return Literal(self.draw(st.integers(0, 3)), INT64)


class _LogicDraw(_Draw):
    def __init__(self, draw: Callable[[st.SearchStrategy], object]) -> None:
        super().__init__(draw)
        self.slots: dict[tuple[DType, int], Slot] = {}
        self.made: list[Alias] = []
        self.subqueries: list[Subquery] = []

    def expr(self, dtype: DType, depth: int) -> LogicExpr:
        kind = self.draw(st.integers(0, 8)) if depth else 0
        if kind == 0:
            return self.leaf(dtype)
        if kind <= 3 and BY_RESULT[dtype]:
            op, args = self.pick(BY_RESULT[dtype])
            return MapJoin(op, tuple(self.expr(arg, depth - 1) for arg in args))
        arg = self.expr(dtype, depth - 1)
        have = fields(arg)
        match kind:
            case 4 if REDUCTIONS[dtype]:
                over = tuple(f for f in have if self.chance())
                return Aggregate(self.pick(REDUCTIONS[dtype]), self.draw(literals(dtype)), arg, over)
            case 5:
                kept = [f for f in dict.fromkeys((*have, Field("row"))) if self.chance()]
                return Reorder(arg, tuple(self.draw(st.permutations(kept))))
            case 6:
                return Relabel(arg, tuple(Field(self.fresh("r")) for _ in have))
            case 7:
                return Reformat(self.type(len(have), dtype), arg, self.chance())
            case _:
                return self.subquery(dtype, arg)

    def subquery(self, dtype: DType, arg: LogicExpr) -> Subquery:
        known = [s for s in self.subqueries if s.alias.type.dtype == dtype]
        if known and self.chance():
            return self.pick(known)
        self.subqueries.append(Subquery(Alias(self.fresh("Q"), self.type(len(fields(arg)), dtype)), arg))
        return self.subqueries[-1]

    def leaf(self, dtype: DType) -> LogicExpr:
        match self.draw(st.integers(0, 4)):
            case 0:
                return self.scalar(dtype)
            case 1 if dtype == INT64:
                return Coordinate(Field(self.pick(INDEX_NAMES)))
            case _:
                return self.table(dtype)

    def table(self, dtype: DType) -> Table:
        known = [alias for alias in self.made if alias.type.dtype == dtype]
        if known and self.chance():
            tensor: Slot | Alias = self.pick(known)
        else:
            rank = self.draw(st.integers(0, 3))
            if (dtype, rank) not in self.slots:
                self.slots[dtype, rank] = Slot(f"A_{dtype}_{rank}", self.type(rank, dtype))
            tensor = self.slots[dtype, rank]
        return Table(tensor, tuple(self.index() for _ in tensor.type.levels))

    def index(self) -> Field | Literal:
        return self.constant() if self.pick(range(6)) == 0 else Field(self.pick(INDEX_NAMES))

    def query(self) -> Query:
        dtype = self.pick(DTYPES)
        rhs = self.expr(dtype, self.draw(st.integers(0, 3)))
        alias = Alias(self.fresh("T"), self.type(len(fields(rhs)), dtype))
        self.made.append(alias)
        occurring = list(dict.fromkeys(node for node in walk(rhs) if isinstance(node, Field)))
        return Query(alias, rhs, tuple(self.draw(st.permutations(occurring))) if self.chance() else ())


@st.composite
def logic_exprs(draw) -> LogicExpr:
    gen = _LogicDraw(draw)
    return gen.expr(gen.pick(DTYPES), 3)


@st.composite
def plans(draw) -> Plan:
    gen = _LogicDraw(draw)
    queries = tuple(gen.query() for _ in range(draw(st.integers(0, 3))))
    return Plan(queries, Produces(tuple(alias for alias in gen.made if gen.chance())))


class _LoopDraw(_Draw):
    def __init__(self, draw: Callable[[st.SearchStrategy], object]) -> None:
        super().__init__(draw)
        self.inputs: dict[tuple[DType, int], Tensor] = {}
        self.readable: list[Tensor] = []
        self.bound: list[str] = []
        self.scalars: list[Scalar] = []

    def expr(self, dtype: DType) -> Node:
        return self.call(dtype, self.draw(st.integers(0, 3)), self.leaf)

    def leaf(self, dtype: DType) -> Node:
        visible = [scalar for scalar in self.scalars if scalar.dtype == dtype]
        match self.draw(st.integers(0, 4)):
            case 0:
                return self.scalar(dtype)
            case 1 if visible:
                return self.pick(visible)
            case 2 if dtype == INT64:
                return Index(self.pick(self.bound)) if self.bound else Size("i")
            case _:
                return self.access(self.readable_tensor(dtype))

    def readable_tensor(self, dtype: DType) -> Tensor:
        known = [tensor for tensor in self.readable if tensor.type.dtype == dtype]
        if known and self.chance():
            return self.pick(known)
        rank = self.draw(st.integers(0, 2))
        if (dtype, rank) not in self.inputs:
            self.inputs[dtype, rank] = Tensor(f"A_{dtype}_{rank}", self.type(rank, dtype))
        return self.inputs[dtype, rank]

    def access(self, tensor: Tensor) -> Access:
        return Access(tensor, tuple(self.index() for _ in tensor.type.levels))

    def index(self) -> Index | Literal:
        return Index(self.pick(self.bound)) if self.bound and self.chance() else self.constant()

    def assign(self, target: Access | Scalar, dtype: DType) -> Assign:
        return Assign(target, self.pick([None, *REDUCTIONS[dtype]]), self.expr(dtype))

    def body(self, depth: int, last: Callable[[], Stmt] | None = None) -> Stmt:
        """A body with its own scope; `last` makes its final statement."""
        scalars, readable = len(self.scalars), len(self.readable)
        found: list[Stmt] = []
        for _ in range(self.draw(st.integers(0, 2))):
            found += self.statements(depth)
        if last is not None:
            found.append(last())
        del self.scalars[scalars:], self.readable[readable:]
        return found[0] if len(found) == 1 and self.chance() else Block(tuple(found))

    def statements(self, depth: int) -> list[Stmt]:
        dtype = self.pick(DTYPES)
        match self.draw(st.integers(0, 5 if depth else 2)):
            case 0:
                scalar = Scalar(self.fresh("t"), dtype)
                defined = Define(scalar, self.expr(dtype))
                self.scalars.append(scalar)
                return [defined]
            case 1 if self.scalars:
                scalar = self.pick(self.scalars)
                return [self.assign(scalar, scalar.dtype)]
            case 2:
                work = Tensor(self.fresh("w"), self.type(self.pick((0, 1)), dtype))
                filled = self.assign(self.access(work), dtype)
                self.readable.append(work)
                return [Declare(work, self.scalar(dtype)), filled, Freeze(work)]
            case 3:
                return [If(self.expr(BOOL), self.body(depth - 1))]
            case 4 if len(self.bound) < len(INDEX_NAMES):
                return [self.loop(lambda: self.body(depth - 1))]
            case _:
                return [Block(tuple(inner for _ in range(self.pick((0, 1, 2))) for inner in self.statements(0)))]

    def loop(self, body: Callable[[], Stmt]) -> Loop:
        name = self.pick(n for n in INDEX_NAMES if n not in self.bound)
        self.bound.append(name)
        made = Loop(Index(name), body())
        self.bound.pop()
        return made

    def nest(self) -> Nest:
        dtype = self.pick(DTYPES)
        target = Tensor(self.fresh("S"), self.type(self.draw(st.integers(0, 2)), dtype))
        last = lambda: self.assign(self.access(target), dtype)  # noqa: E731  # short, and bound to this nest
        body = self.loop(lambda: self.body(2, last)) if self.chance() else self.body(2, last)
        self.readable.append(target)
        return Nest(target, self.pick(ASSEMBLIES), body)


@st.composite
def loop_programs(draw) -> LoopProgram:
    gen = _LoopDraw(draw)
    nests = tuple(gen.nest() for _ in range(draw(st.integers(0, 3))))
    results = tuple(nest.target for nest in nests if gen.chance())
    return LoopProgram(tuple(gen.inputs.values()), nests, results)
