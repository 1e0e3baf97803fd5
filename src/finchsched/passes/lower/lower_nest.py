"""Lower one nest of Loop IR to a kernel, through looplets.

    nest y by dense:                    for i in lo .. hi:
        for i:                              acc = 0
            for j:                 ->       for p in pos[i] .. pos[i + 1]:
                y[i] add= A[i, j] * x[j]        acc = acc + val[p] * x[crd[p]]
                                            y[i] = acc

The outermost loop is taken first: every access that follows it is unfurled, `coiterate` turns the looplets into loops, and the
body is lowered at each coordinate with what is known there.  Needs a concordant nest.  After Ahrens et al., "Looplets" (2023).
"""

from collections.abc import Iterator

from finchsched.algebra.dtypes import INT64, UINT64, DType
from finchsched.algebra.operators import Operator, identity, operator, result_type
from finchsched.ast.format import storage_order
from finchsched.ast.kernel import (
    HI,
    LO,
    ONE,
    ZERO,
    Buffer,
    Cast,
    Comment,
    Const,
    Kernel,
    KernelExpr,
    KernelStmt,
    Load,
    Memset,
    Seq,
    Set,
    SortRange,
    Store,
    Var,
    While,
    dtype_of,
)
from finchsched.ast.kernel import Apply as KernelApply
from finchsched.ast.kernel import For as KernelFor
from finchsched.ast.kernel import If as KernelIf
from finchsched.ast.looplet import Child, Fill, Looplet, Lookup, Phase, Run, Sequence, Stepper, Switch, Thunk, Truth
from finchsched.ast.loop import Access, Assign, Block, Declare, Define, Freeze, If, Index, Loop, Nest, Scalar, Stmt, Tensor
from finchsched.ast.names import Names
from finchsched.ast.node import Node, walk
from finchsched.ast.scalar import Call, Literal, Size, Value
from finchsched.errors import LoweringError
from finchsched.formats.buffers import level_buffer, value_buffer
from finchsched.formats.levels import Dense, SparseByteMap
from finchsched.formats.unfurl import HOLE, locate, plus, unfurl, workspace_count
from finchsched.passes.lower.bounds import is_linear, room_bound
from finchsched.passes.lower.coiterate import Leaves, Region, lower_region
from finchsched.passes.lower.flat import flat_plan
from finchsched.passes.lower.kernel_terms import advance, binary, both, cast, equal, index_as_value, less, when
from finchsched.passes.lower.license import licensed
from finchsched.passes.lower.pattern import pattern_source, scalar_fills, target_assign
from finchsched.passes.lower.signature import BufferParam, LoweredNest, ScalarParam
from finchsched.passes.lower.structural import EMPTY, Simplifier, Structural, accesses, is_empty, uses_index
from finchsched.passes.lower.targets import AppendTarget, Cursor, DenseTarget, Point, ScatterTarget, SharedTarget, Target, make_target

__all__ = ["lower_nest"]

Env = dict[Access, Cursor | Var]
Coords = dict[str, KernelExpr]

_FLIPPED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def lower_nest(nest: Nest, name: str, *, reassociate: str) -> LoweredNest:
    """The kernel of a nest, with what it needs to be called.  Raises LoweringError for a nest that is not concordant."""
    return _NestLowering(nest, name, reassociate).lower()


class _NestLowering:
    """State of lowering one nest: names, parameters met so far, the target."""

    def __init__(self, nest: Nest, name: str, reassociate: str) -> None:
        self.nest = nest
        self.name = name
        self.license = reassociate
        assign = target_assign(nest)
        assert isinstance(assign.target, Access)
        self.op = assign.op
        self.names = Names(tuple(_taken(nest)))
        self.simplifier = Simplifier(nest.target.type.fill, scalar_fills(nest.body))
        self.target = make_target(assign.target, nest.assembly, assign.op, self.names)
        self.written = {s.target for s in walk(nest.body) if isinstance(s, Assign) and isinstance(s.target, Access)}
        self.workspaces = {s.tensor for s in walk(nest.body) if isinstance(s, Declare)}
        self.frozen: set[Tensor] = set()
        self.scalars: dict[str, tuple[ScalarParam, Var]] = {}
        self.outer = ""
        self.current_outer: KernelExpr = ZERO
        if isinstance(self.target, SharedTarget):
            self.target.model = pattern_source(nest.body, nest.target)

    # -- the whole nest ---------------------------------------------------------------------------------------------

    def lower(self) -> LoweredNest:
        """Body, then the parameters it turned out to use."""
        body = self.simplifier.stmt(self.nest.body, {})
        rooms = tuple(room_bound(self.nest, self.simplifier, n) for n in range(len(self.nest.target.type.levels)))
        target = self.target
        if isinstance(target, AppendTarget):
            target.resumable = bool(self.workspaces) or any(r is not None and not is_linear(r) for r in rooms)
        if isinstance(target, ScatterTarget):
            stmts = self._scatter(body, target)
        else:
            stmts = [*target.prologue(), *self._settle(body, {}, {}, covering=True), *target.epilogue()]
        seq = Seq(tuple(stmts))
        buffers = self._buffers(seq)
        kernel = Kernel(
            self.name,
            tuple(var for _, var in self.scalars.values()),
            tuple(buffer for _, buffer in buffers),
            seq,
            licensed(self.nest, self.license),
        )
        return LoweredNest(
            self.nest,
            kernel,
            tuple(param for param, _ in self.scalars.values()),
            tuple(param for param, _ in buffers),
            rooms,
            isinstance(target, AppendTarget) and target.resumable,
            target.covered,
            target.gaps,
            self.outer,
            self._initial(),
        )

    def _initial(self) -> Node:
        dtype = self.nest.target.type.dtype
        return self.nest.target.type.fill if self.op is None else Literal(identity(self.op, dtype), dtype)

    def _scatter(self, body: Stmt, target: ScatterTarget) -> list[KernelStmt]:
        leading = self.extent(target.index[0])
        out: list[KernelStmt] = [Comment("count"), *target.start(), *self._settle(body, {}, {}, covering=True)]
        out += [Comment("offsets"), *target.prefix_sums(leading)]
        target.filling = True
        self.outer = ""
        return [*out, Comment("fill"), *target.start(), *self._settle(body, {}, {}, covering=True)]

    def _buffers(self, seq: Seq) -> list[tuple[BufferParam, Buffer]]:
        """Buffers in order of first use, each with where it comes from."""
        origin: dict[str, BufferParam] = {}
        for tensor in _tensors(self.nest):
            for level in range(len(tensor.type.levels)):
                for role in ("pos", "crd", "tbl", "tmp", "off", "last"):
                    origin[f"{tensor.name}_{role}{level}"] = BufferParam(tensor.name, role, level)
            origin[f"{tensor.name}_val"] = BufferParam(tensor.name, "val", len(tensor.type.levels))
        found: dict[str, Buffer] = {}
        for node in walk(seq):
            if isinstance(node, Buffer) and node.name in origin:
                known = found.get(node.name)
                found[node.name] = node if known is None or node.writable else known
        return [(origin[name], buffer) for name, buffer in found.items()]

    # -- parameters -------------------------------------------------------------------------------------------------

    def _parameter(self, param: ScalarParam, var: Var) -> Var:
        self.scalars.setdefault(var.name, (param, var))
        return var

    def extent(self, index: str) -> Var:
        """The extent of an index."""
        return self._parameter(ScalarParam("extent", index), Var(f"n_{index}", UINT64))

    def _storage(self, access: Access) -> tuple[Node, ...]:
        return storage_order(access.tensor.type, access.index)

    # -- statements -------------------------------------------------------------------------------------------------

    def _stmt(self, stmt: Stmt, env: Env, coords: Coords, covering: bool) -> list[KernelStmt]:
        match stmt:
            case Block(body):
                return [k for s in body for k in self._stmt(s, env, coords, covering)]
            case Loop():
                return self._loop(stmt, env, coords, covering)
            case Assign():
                return self._assign(stmt, env, coords)
            case If(cond, body):
                return when(self._expr(cond, env, coords), self._stmt(body, env, coords, False))
            case Define(scalar, init):
                return [Set(Var(scalar.name, scalar.dtype), self._expr(init, env, coords))]
            case Declare(tensor, _):
                self.frozen.discard(tensor)
                return [Set(workspace_count(tensor.name), ZERO)]
            case Freeze(tensor):
                return self._freeze(tensor)
            case _:
                raise LoweringError(f"{type(stmt).__name__} cannot be lowered")

    def _freeze(self, tensor: Tensor) -> list[KernelStmt]:
        self.frozen.add(tensor)
        crd = level_buffer(tensor.name, tensor.type, 0, "crd", writable=True)
        scratch = level_buffer(tensor.name, tensor.type, 0, "tmp", writable=True)
        return [SortRange(crd, ZERO, workspace_count(tensor.name), scratch)]

    def _assign(self, stmt: Assign, env: Env, coords: Coords) -> list[KernelStmt]:
        value = self._expr(stmt.rhs, env, coords)
        if isinstance(stmt.target, Scalar):
            var = Var(stmt.target.name, stmt.target.dtype)
            return [Set(var, value if stmt.op is None else binary(stmt.op.name, var, cast(value, var.dtype)))]
        if isinstance(self.target, ScatterTarget):
            return self.target.scatter(coords, value)
        cursor = env[stmt.target]
        assert isinstance(cursor, Cursor)
        if stmt.target.tensor in self.workspaces:
            return self._insert(stmt.target.tensor, stmt.op, value, cursor.position)
        return self.target.assign(stmt.op, value, cursor.position)

    def _insert(self, tensor: Tensor, op: Operator | None, value: KernelExpr, at: KernelExpr) -> list[KernelStmt]:
        """Add to a workspace: the first touch of a coordinate lists it."""
        tbl, crd = (level_buffer(tensor.name, tensor.type, 0, role, writable=True) for role in ("tbl", "crd"))
        values = value_buffer(tensor.name, tensor.type, writable=True)
        count = workspace_count(tensor.name)
        fresh: list[KernelStmt] = [
            Store(tbl, at, Const(1, tbl.dtype)),
            Store(crd, count, cast(at, crd.dtype)),
            advance(count),
            Store(values, at, value),
        ]
        again = value if op is None else binary(op.name, Load(values, at), value)
        return when(equal(Load(tbl, at), Const(0, tbl.dtype)), fresh, [Store(values, at, again)])

    # -- loops ------------------------------------------------------------------------------------------------------

    def _loop(self, stmt: Loop, env: Env, coords: Coords, covering: bool) -> list[KernelStmt]:
        index, body = stmt.index.name, stmt.body
        flat = self._flat(stmt, env, coords)
        if flat is not None:
            return flat
        outermost = self.outer == "" and not coords
        if outermost:
            self.outer = index
        lo: KernelExpr = cast(LO, UINT64) if outermost else ZERO
        hi: KernelExpr = cast(HI, UINT64) if outermost else self.extent(index)
        looplets = self._unfurl_all(index, body, env, coords)
        region = Region(index, lo, hi, looplets, body, not outermost, covering)
        return lower_region(_Scope(self, env, coords), region)

    def _unfurl_all(self, index: str, body: Stmt, env: Env, coords: Coords) -> Leaves:
        looplets: Leaves = {}
        for access in dict.fromkeys(accesses(body)):
            looplet = self._unfurl(index, access, env)
            if looplet is not None:
                looplets[access] = looplet
        for node in walk(body):
            if isinstance(node, Call):
                mask = self._mask(index, node, env, coords)
                if mask is not None:
                    looplets[node] = mask
        return looplets

    def _unfurl(self, index: str, access: Access, env: Env) -> Looplet | None:
        cursor = env.get(access, Cursor(0, ZERO))
        if not isinstance(cursor, Cursor):
            return None
        storage = self._storage(access)
        type_ = access.tensor.type
        follows = cursor.level < len(storage) and storage[cursor.level] == Index(index)
        if not follows:
            if access != self.target.access:
                self._check_concordant(index, access, cursor)
            return None
        if access == self.target.access:
            return self.target.unfurl(cursor.level, cursor.position, self.extent(index))
        if access in self.written and access.tensor not in self.frozen:
            return Lookup(HOLE, Child(HOLE))
        return unfurl(access.tensor.name, type_, cursor.level, cursor.position, self.extent(index), self.names)

    def _check_concordant(self, index: str, access: Access, cursor: Cursor) -> None:
        storage = self._storage(access)
        for level in range(cursor.level + 1, len(storage)):
            if storage[level] == Index(index) and not access.tensor.type.levels[level].can_locate:
                if Index(index) in storage[:level]:
                    return
                raise LoweringError(
                    f"loop {index} reaches level {level} of {access.tensor.name} before the levels above it; the access is not concordant"
                )

    def _mask(self, index: str, call: Call, env: Env, coords: Coords) -> Sequence | None:
        """A comparison of this index with something known, as regions where it holds or not."""
        if call.op.name not in _FLIPPED:
            return None
        left, right = call.args
        name = call.op.name
        if right == Index(index):
            left, right, name = right, left, _FLIPPED[name]
        if left != Index(index) or not _is_index_arithmetic(right, coords):
            return None
        return _mask_phases(name, self._expr(right, env, coords), self.extent(index))

    # -- points -----------------------------------------------------------------------------------------------------

    def at_point(self, region: Region, coordinate: Var, leaves: Leaves, env: Env, coords: Coords) -> list[KernelStmt]:
        """The body at one coordinate."""
        env = dict(env)
        for key, leaf in leaves.items():
            if isinstance(leaf, Child) and isinstance(key, Access):
                known = env.get(key, Cursor(0, ZERO))
                assert isinstance(known, Cursor)
                env[key] = Cursor(known.level + 1, leaf.position, known.entered)
        body = self.body_given(region.body, leaves)
        if is_empty(body):
            return []
        first: list[KernelStmt] = []
        if not coords:
            self.current_outer = coordinate
            if isinstance(self.target, AppendTarget) and self.target.resumable:
                first = self.target.save()
        if isinstance(self.target, ScatterTarget):
            first = self.target.at_coordinate(region.index)
        inner = self._settle(body, env, {**coords, region.index: coordinate}, region.covering)
        return [*first, *inner] if inner else []

    def body_given(self, body: Stmt, leaves: Leaves) -> Stmt:
        """`body` simplified for accesses that are structural and masks that are decided."""
        known: dict[Node, Node] = {}
        for key, leaf in leaves.items():
            if isinstance(leaf, Fill) and isinstance(key, Access):
                known[key] = Structural(key.tensor.type.fill)
            elif isinstance(leaf, Truth):
                known[key] = Literal(leaf.value, result_type(operator("eq"), INT64, INT64)[1])
        return self.simplifier.stmt(body, known) if known else body

    def _settle(self, body: Stmt, env: Env, coords: Coords, covering: bool) -> list[KernelStmt]:
        """Resolve accesses as far as the coordinates known so far allow, then lower the body."""
        if is_empty(body):
            return []
        env = dict(env)
        before: list[KernelStmt] = []
        self._mirror_model(env)
        for access in dict.fromkeys(accesses(body)):
            while (coordinate := self._next_known(access, env, coords)) is not None:
                cursor = env.get(access, Cursor(0, ZERO))
                assert isinstance(cursor, Cursor)
                looplet = self._locate(access, cursor, coordinate)
                if isinstance(looplet, Run) and isinstance(looplet.body, Child):
                    env[access] = Cursor(cursor.level + 1, looplet.body.position, cursor.entered)
                    continue
                assert isinstance(looplet, Thunk) and isinstance(looplet.body, Switch)
                return [*before, *looplet.preamble, *self._branch(access, cursor, looplet.body, body, env, coords)]
        self._mirror_model(env)
        before += self._bind_values(body, env)
        opening, closing = self._enter_target(body, env, coords, covering)
        inner = self._stmt(body, env, coords, covering)
        return [*before, *opening, *inner, *closing]

    def _mirror_model(self, env: Env) -> None:
        if isinstance(self.target, SharedTarget) and self.target.model is not None:
            model = env.get(self.target.model)
            own = env.get(self.target.access, Cursor(0, ZERO))
            assert isinstance(own, Cursor)
            if isinstance(model, Cursor):
                env[self.target.access] = Cursor(model.level, model.position, own.entered)

    def _next_known(self, access: Access, env: Env, coords: Coords) -> KernelExpr | None:
        """The coordinate of the access's next level, if it is known without a loop."""
        cursor = env.get(access, Cursor(0, ZERO))
        if not isinstance(cursor, Cursor) or access in self.written and access != self.target.access:
            return None
        if access == self.target.access and isinstance(self.target, ScatterTarget | SharedTarget):
            return None
        storage = self._storage(access)
        if cursor.level >= len(storage):
            return None
        match storage[cursor.level]:
            case Literal(value, _):
                return Const(int(value), UINT64)
            case Index(name):
                return coords.get(name)
        return None

    def _locate(self, access: Access, cursor: Cursor, coordinate: KernelExpr) -> Looplet:
        type_ = access.tensor.type
        storage = self._storage(access)[cursor.level]
        extent: KernelExpr = self.extent(storage.name) if isinstance(storage, Index) else ONE
        return locate(access.tensor.name, type_, cursor.level, cursor.position, coordinate, extent, self.names)

    def _branch(
        self, access: Access, cursor: Cursor, switch: Switch, body: Stmt, env: Env, coords: Coords
    ) -> list[KernelStmt]:
        assert isinstance(switch.then, Run) and isinstance(switch.then.body, Child)
        found: Env = {**env, access: Cursor(cursor.level + 1, switch.then.body.position, cursor.entered)}
        absent = self.body_given(body, {access: Fill()})
        then = self._settle(body, found, coords, False)
        return when(switch.cond, then, self._settle(absent, env, coords, False))

    def _bind_values(self, body: Stmt, env: Env) -> list[KernelStmt]:
        """Load what is fully resolved into a local variable: later stores could not be seen to leave it alone."""
        out: list[KernelStmt] = []
        for access in dict.fromkeys(_read_accesses(body)):
            cursor = env.get(access, Cursor(0, ZERO))
            if not isinstance(cursor, Cursor) or cursor.level < len(access.index):
                continue
            tensor = access.tensor
            var = Var(self.names.fresh(f"{tensor.name}_v"), tensor.type.dtype)
            workspace = tensor in self.workspaces
            out.append(Set(var, Load(value_buffer(tensor.name, tensor.type, writable=workspace), cursor.position)))
            if workspace:
                tbl = level_buffer(tensor.name, tensor.type, 0, "tbl", writable=True)
                out.append(Store(tbl, cursor.position, Const(0, tbl.dtype)))
            env[access] = var
        return out

    def _enter_target(
        self, body: Stmt, env: Env, coords: Coords, covering: bool
    ) -> tuple[list[KernelStmt], list[KernelStmt]]:
        access = self.target.access
        if isinstance(self.target, ScatterTarget) or access not in set(accesses(body)):
            return [], []
        cursor = env.get(access, Cursor(0, ZERO))
        assert isinstance(cursor, Cursor)
        opening: list[KernelStmt] = []
        closing: list[KernelStmt] = []
        storage = self.target.index
        levels = range(cursor.entered, cursor.level) if storage else range(-1, -1 + (cursor.entered == 0))
        for level in levels:
            point = Point(
                coords[storage[level]] if storage else ZERO,
                _assigned_in_loop(body, access),
                set(coords) <= set(storage),
                covering,
                {name: self.extent(name) for name in storage[level + 1 :]},
            )
            pre, post = self.target.enter(level, cursor.position, point)
            opening += pre
            closing = [*post, *closing]
        env[access] = Cursor(cursor.level, cursor.position, cursor.level if storage else 1)
        return opening, closing

    # -- runs -------------------------------------------------------------------------------------------------------

    def collapse(self, region: Region, env: Env, coords: Coords) -> list[KernelStmt] | None:
        """A body that does not depend on the coordinate: n-fold application at once.  The run is not empty."""
        if region.looplets or uses_index(region.body, region.index):
            return None
        stmts = region.body.body if isinstance(region.body, Block) else (region.body,)
        if not all(isinstance(s, Assign) and _is_invariant(s) for s in stmts):
            return None
        count = binary("sub", region.hi, region.lo)
        out: list[KernelStmt] = []
        for stmt in stmts:
            assert isinstance(stmt, Assign)
            repeated = self._repeat(stmt, count, env, coords)
            if repeated is None:
                return None
            out += repeated
        return out

    def _repeat(self, stmt: Assign, count: KernelExpr, env: Env, coords: Coords) -> list[KernelStmt] | None:
        op = stmt.op
        if op is None or op.idempotent or (op.name in ("add", "mul") and _dtype(stmt.target).is_bool):
            return self._assign(stmt, env, coords)
        value = self._expr(stmt.rhs, env, coords)
        times = Var(self.names.fresh("times"), _dtype(stmt.target))
        if op.name in ("add", "minplus_add", "maxplus_add"):
            folded = binary("mul", value, times)
            return [Set(times, cast(count, times.dtype)), *self._assign_value(stmt, folded, env)]
        if op.name == "mul":
            return self._repeat_by_doubling(stmt, value, count, env)
        return None

    def _repeat_by_doubling(self, stmt: Assign, value: KernelExpr, count: KernelExpr, env: Env) -> list[KernelStmt]:
        left = Var(self.names.fresh("left"), UINT64)
        power = Var(self.names.fresh("power"), _dtype(stmt.target))
        total = Var(self.names.fresh("total"), _dtype(stmt.target))
        odd = equal(KernelApply(operator("mod"), (left, Const(2, UINT64)), UINT64), ONE)
        body: list[KernelStmt] = [
            *when(odd, [Set(total, binary("mul", total, power))]),
            Set(power, binary("mul", power, power)),
            Set(left, KernelApply(operator("floordiv"), (left, Const(2, UINT64)), UINT64)),
        ]
        one = Const(power.dtype.numpy.type(1).item(), power.dtype)
        loop = While(less(ZERO, left), Seq(tuple(body)))
        return [Set(left, count), Set(power, value), Set(total, one), loop, *self._assign_value(stmt, total, env)]

    def _assign_value(self, stmt: Assign, value: KernelExpr, env: Env) -> list[KernelStmt]:
        if isinstance(stmt.target, Scalar):
            var = Var(stmt.target.name, stmt.target.dtype)
            assert stmt.op is not None
            return [Set(var, binary(stmt.op.name, var, value))]
        cursor = env[stmt.target]
        assert isinstance(cursor, Cursor)
        return self.target.assign(stmt.op, value, cursor.position)

    def before_appends(self, region: Region, steppers: list[Stepper]) -> list[KernelStmt]:
        """For a resumable target: check once that a whole fiber fits."""
        target = self.target
        if not isinstance(target, AppendTarget) or not target.resumable or target.access not in region.looplets:
            return []
        level = target.index.index(region.index)
        if level not in target.sparse_levels or self.outer == region.index:
            return []
        more: KernelExpr = binary("sub", region.hi, region.lo)
        if steppers:
            more = ZERO
            for stepper in steppers:
                more = plus(more, binary("sub", stepper.end, stepper.var))
        self._parameter(ScalarParam("capacity", target.tensor.name, level), target.capacity(level))
        return target.check_room(level, more, self.current_outer)

    def _flat(self, stmt: Loop, env: Env, coords: Coords) -> list[KernelStmt] | None:
        """Loops that need only the stored values of one tensor run over its value array, across all fibers."""
        if coords:
            return None
        plan = flat_plan(stmt, self.target, self.simplifier)
        if plan is None:
            return None
        access, body, last = plan
        tensor = access.tensor
        stored = self._parameter(ScalarParam("stored", tensor.name), Var(f"{tensor.name}_stored", UINT64))
        at = Var(self.names.fresh("p"), UINT64)
        env = {**env, access: Cursor(len(access.index), at)}
        inner_coords: Coords = {}
        first: list[KernelStmt] = []
        if last:
            crd = level_buffer(tensor.name, tensor.type, len(access.index) - 1, "crd", writable=False)
            var = Var(self.names.fresh(last), UINT64)
            first = [Set(var, Cast(Load(crd, at), UINT64))]
            inner_coords = {last: var}
            if isinstance(self.target, DenseTarget) and self.target.rank == 1:
                env[self.target.access] = Cursor(1, var, 1)
        if isinstance(self.target, SharedTarget):
            env[self.target.access] = Cursor(len(access.index), at, len(access.index))
            self.target.accumulator, self.target.once = None, True
        bound = self._bind_values(body, env)
        inner = self._stmt(body, env, inner_coords, False)
        return [KernelFor(at, ZERO, stored, Seq((*first, *bound, *inner)))]

    # -- expressions ------------------------------------------------------------------------------------------------

    def _expr(self, expr: Node, env: Env, coords: Coords) -> KernelExpr:
        match expr:
            case Literal(value, dtype):
                return Const(value, dtype)
            case Value(name, dtype, _):
                if name.startswith("index_"):
                    return index_as_value(coords[name.removeprefix("index_")])
                return self._parameter(ScalarParam("value", name), Var(name, dtype))
            case Size(index):
                return index_as_value(self.extent(index))
            case Index(name):
                return index_as_value(coords[name])
            case Scalar(name, dtype):
                return Var(name, dtype)
            case Structural(value):
                return self._expr(value, env, coords)
            case Access():
                bound = env[expr]
                assert isinstance(bound, Var), f"{expr.tensor.name} is read before it is resolved"
                return bound
            case Call(op, args):
                return self._call(op, [self._expr(arg, env, coords) for arg in args])
            case _:
                raise LoweringError(f"{type(expr).__name__} is not an expression of Loop IR")

    def _call(self, op: Operator, args: list[KernelExpr]) -> KernelExpr:
        if op.name.startswith("to_"):
            return cast(args[0], result_type(op, dtype_of(args[0]))[1])
        promoted, out = result_type(op, *(dtype_of(arg) for arg in args))
        if op.name == "where":
            return KernelApply(op, (args[0], *(cast(arg, promoted) for arg in args[1:])), out)
        return KernelApply(op, tuple(cast(arg, promoted) for arg in args), out)


class _Scope:
    """The surroundings of one loop's regions: the lowering with its environment at that loop."""

    def __init__(self, lowering: _NestLowering, env: Env, coords: Coords) -> None:
        self._lowering, self._env, self._coords = lowering, env, coords
        self.names = lowering.names

    def at_point(self, region: Region, coordinate: Var, leaves: Leaves) -> list[KernelStmt]:
        return self._lowering.at_point(region, coordinate, leaves, self._env, self._coords)

    def body_given(self, region: Region, leaves: Leaves) -> Stmt:
        return self._lowering.body_given(region.body, leaves)

    def collapse(self, region: Region) -> list[KernelStmt] | None:
        return self._lowering.collapse(region, self._env, self._coords)

    def before_appends(self, region: Region, steppers: list[Stepper]) -> list[KernelStmt]:
        return self._lowering.before_appends(region, steppers)


def _taken(nest: Nest) -> Iterator[str]:
    """Names that kernel variables must stay clear of."""
    yield from ("lo", "hi", "status", "np", "U")
    for node in walk(nest):
        if isinstance(node, Tensor | Scalar | Value):
            yield node.name


def _tensors(nest: Nest) -> list[Tensor]:
    return list(dict.fromkeys(n for n in walk(nest) if isinstance(n, Tensor)))


def _dtype(target: Access | Scalar) -> DType:
    return target.dtype if isinstance(target, Scalar) else target.tensor.type.dtype


def _read_accesses(body: Stmt) -> Iterator[Access]:
    """Accesses that are read, not written, in order of appearance."""
    for node in walk(body):
        match node:
            case Assign(_, _, rhs):
                yield from accesses(rhs)
            case Define(_, init):
                yield from accesses(init)
            case If(cond, _):
                yield from accesses(cond)


def _assigned_in_loop(body: Stmt, access: Access) -> bool:
    """Whether further loops stand around the assignment to an access."""
    return any(
        isinstance(node, Loop) and any(isinstance(n, Assign) and n.target == access for n in walk(node))
        for node in walk(body)
    )


def _is_invariant(stmt: Assign) -> bool:
    """Whether an assignment does the same at every coordinate of a loop it does not mention."""
    return isinstance(stmt.target, Access) or not any(n == stmt.target for n in walk(stmt.rhs))


def _is_index_arithmetic(expr: Node, coords: Coords) -> bool:
    """Whether an expression is a sum or difference of known coordinates, extents and integers."""
    match expr:
        case Index(name):
            return name in coords
        case Literal(value, dtype):
            return dtype == INT64 and isinstance(value, int)
        case Size():
            return True
        case Call(op, args):
            return op.name in ("add", "sub") and all(_is_index_arithmetic(a, coords) for a in args)
        case _:
            return False


def _mask_phases(name: str, bound: KernelExpr, extent: KernelExpr) -> Sequence:
    """Where `index <name> bound` holds, as phases; bound is int64."""
    after = binary("add", bound, Const(1, INT64))
    yes, no = Run(Truth(True)), Run(Truth(False))
    match name:
        case "eq":
            parts = ((bound, no), (after, yes), (extent, no))
        case "ne":
            parts = ((bound, yes), (after, no), (extent, yes))
        case "lt":
            parts = ((bound, yes), (extent, no))
        case "le":
            parts = ((after, yes), (extent, no))
        case "gt":
            parts = ((after, no), (extent, yes))
        case _:
            parts = ((bound, no), (extent, yes))
    return Sequence(tuple(Phase(stop, body) for stop, body in parts))
