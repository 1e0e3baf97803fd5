"""Lower one nest of Loop IR to a kernel, through looplets.

    nest y by dense:                    for i in lo .. hi:
        for i:                              acc = 0
            for j:                 ->       for p in pos[i] .. pos[i + 1]:
                y[i] add= A[i, j] * x[j]        acc = acc + val[p] * x[crd[p]]
                                            y[i] = acc

The outermost loop is taken first: every access that follows it is unfurled, `coiterate` turns the looplets into
loops, and the body is lowered at each coordinate with what is known there.  Needs a concordant nest.  After Ahrens et
al., "Looplets" (2023).
"""

from collections.abc import Iterator
from dataclasses import replace

from finchsched.algebra.dtypes import INT64, UINT64
from finchsched.algebra.operators import identity, operator, result_type
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
    Seq,
    Set,
    Store,
    Var,
)
from finchsched.ast.kernel import For as KernelFor
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
    Nest,
    Scalar,
    Stmt,
    Tensor,
)
from finchsched.ast.looplet import Child, Fill, Lookup, Looplet, Run, Sequence, Stepper, Switch, Thunk, Truth
from finchsched.ast.names import Names
from finchsched.ast.node import Node, walk
from finchsched.ast.scalar import Call, Literal, Value, constant_coordinate
from finchsched.errors import LoweringError
from finchsched.formats.buffers import level_buffer, value_buffer
from finchsched.formats.unfurl import HOLE, locate, or_empty, plus, unfurl, workspace_count
from finchsched.passes.lower.bounds import is_linear, room_bound
from finchsched.passes.lower.coiterate import Leaves, Region, lower_region
from finchsched.passes.lower.expressions import Coords, Env, Scope, lower_expr
from finchsched.passes.lower.flat import flat_plan, list_plan
from finchsched.passes.lower.kernel_terms import binary, cast, when
from finchsched.passes.lower.license import licensed
from finchsched.passes.lower.masks import mask_of, mask_phases
from finchsched.passes.lower.parameters import Parameters
from finchsched.passes.lower.pattern import pattern_source, scalar_fills, target_assign, workspaces
from finchsched.passes.lower.runs import collapse_run
from finchsched.passes.lower.signature import BufferParam, LoweredNest
from finchsched.passes.lower.structural import Simplifier, Structural, accesses, expr_dtype, invariant_calls, is_empty
from finchsched.passes.lower.targets import (
    AppendTarget,
    Cursor,
    DenseTarget,
    Point,
    ScatterTarget,
    SharedTarget,
    make_target,
)
from finchsched.passes.lower.workspace import insert, sort_touched
from finchsched.rewrite import PreWalk, rewrite

__all__ = ["lower_nest"]


LONGEST = 400
"""Statements of a kernel.  Compiling takes about 5 ms for each; a longer one is written compactly instead."""


def lower_nest(nest: Nest, name: str, *, reassociate: str) -> LoweredNest:
    """The kernel of a nest, with what it needs to be called.  Raises LoweringError for a nest that is not
    concordant.
    """
    try:
        return _NestLowering(nest, name, reassociate, compact=False).lower()
    except _TooLongError:
        return _NestLowering(nest, name, reassociate, compact=True).lower()


class _TooLongError(Exception):
    """A kernel has more statements than it should."""


class _NestLowering:
    """State of lowering one nest: names, parameters met so far, the target.

    compact: steppers are merged by short code.  points: how many bodies have been written.
    """

    def __init__(self, nest: Nest, name: str, reassociate: str, *, compact: bool) -> None:
        self.nest = nest
        self.name = name
        self.reassociate = reassociate
        self.compact = compact
        self.points = 0
        assign = target_assign(nest)
        assert isinstance(assign.target, Access)
        self.op = assign.op
        self.names = Names(tuple(_taken(nest)))
        self.simplifier = Simplifier(nest.target.type.fill, scalar_fills(nest.body))
        self.target = make_target(assign.target, nest.assembly, assign.op, self.names)
        self.written = {s.target for s in walk(nest.body) if isinstance(s, Assign) and isinstance(s.target, Access)}
        self.workspaces = set(workspaces(nest))
        self.frozen: set[Tensor] = set()
        self.parameters = Parameters()
        self.outer = ""
        self.guessed = False
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
            target.fill = lambda: self._expr(self.nest.target.type.fill, {}, {})
            inner = [r for n, r in enumerate(rooms) if n in target.sparse_levels and n and r is not None]
            target.resumable = bool(inner) and not target.unsorted  # a copy never outgrows its bound
            self.guessed = target.resumable and (bool(self.workspaces) or not all(is_linear(r) for r in inner))
        if isinstance(target, ScatterTarget):
            stmts = self._scatter(body, target)
        else:
            stmts = [*target.prologue(), *self._settle(body, {}, {}, covering=True), *target.epilogue()]
        seq = Seq(tuple(stmts))
        self._check_length(sum(isinstance(node, KernelStmt) for node in walk(seq)))
        buffers = self._buffers(seq)
        kernel = Kernel(
            self.name,
            self.parameters.variables,
            tuple(buffer for _, buffer in buffers),
            seq,
            licensed(self.nest, self.reassociate),
        )
        return LoweredNest(
            self.nest,
            kernel,
            self.parameters.params,
            tuple(param for param, _ in buffers),
            rooms,
            isinstance(target, AppendTarget) and target.resumable,
            self.guessed,
            target.covered,
            target.gaps,
            self.outer,
            self._initial(),
        )

    def _check_length(self, statements: int) -> None:
        """Raise _TooLongError if code that is to be fast gets too long."""
        if statements > LONGEST and not self.compact:
            raise _TooLongError

    def _initial(self) -> Node:
        dtype = self.nest.target.type.dtype
        return self.nest.target.type.fill if self.op is None else Literal(identity(self.op, dtype), dtype)

    def _scatter(self, body: Stmt, target: ScatterTarget) -> list[KernelStmt]:
        leading = self.parameters.extent(target.index[0])
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
                self.frozen.add(tensor)
                return sort_touched(tensor, self.parameters.extent(self.target.index[-1]), self.names)
            case _:
                raise LoweringError(f"{type(stmt).__name__} cannot be lowered")

    @property
    def _counting(self) -> bool:
        """Whether this is the first run of a counting sort, which needs no values."""
        return isinstance(self.target, ScatterTarget) and not self.target.filling

    def _assign(self, stmt: Assign, env: Env, coords: Coords) -> list[KernelStmt]:
        if self._counting:
            return self._write(stmt, ZERO, env, coords)
        return self._write(stmt, self._expr(stmt.rhs, env, coords), env, coords)

    def _write(self, stmt: Assign, value: KernelExpr, env: Env, coords: Coords) -> list[KernelStmt]:
        """Statements that assign a value already worked out."""
        if isinstance(stmt.target, Scalar):
            var = Var(stmt.target.name, stmt.target.dtype)
            return [Set(var, value if stmt.op is None else binary(stmt.op.name, var, cast(value, var.dtype)))]
        if isinstance(self.target, ScatterTarget):
            return self.target.scatter(coords, value)
        cursor = env[stmt.target]
        assert isinstance(cursor, Cursor)
        if stmt.target.tensor in self.workspaces:
            return insert(stmt.target.tensor, stmt.op, value, cursor.position)
        return self.target.assign(stmt.op, value, cursor.position)

    def _expr(self, expr: Node, env: Env, coords: Coords) -> KernelExpr:
        return lower_expr(expr, Scope(env, coords), self.parameters)

    # -- loops ------------------------------------------------------------------------------------------------------

    def _loop(self, stmt: Loop, env: Env, coords: Coords, covering: bool) -> list[KernelStmt]:
        index, body = stmt.index.name, stmt.body
        flat = self._flat(stmt, env, coords)
        if flat is not None:
            return flat
        # A branch may stand around it, as for an access at a constant coordinate: then each arm has a copy.
        outermost = not coords and _assigned_in(Assign, body, self.target.access)
        if outermost:
            self.outer = index
        lo: KernelExpr = cast(LO, UINT64) if outermost else ZERO
        hi: KernelExpr = cast(HI, UINT64) if outermost else self.parameters.extent(index)
        looplets = self._unfurl_all(index, body, env, coords)
        region = Region(index, lo, hi, looplets, body, not outermost, covering)
        return lower_region(_LoopScope(self, env, coords), region)

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
            return self.target.unfurl(cursor.level, cursor.position, self.parameters.extent(index))
        if access in self.written and access.tensor not in self.frozen:
            return Lookup(HOLE, Child(HOLE))
        extent = self.parameters.extent(index)
        fiber = unfurl(access.tensor.name, type_, cursor.level, cursor.fiber, extent, self.names)
        return fiber if cursor.present is None else or_empty(fiber, cursor.present)

    def _check_concordant(self, index: str, access: Access, cursor: Cursor) -> None:
        storage = self._storage(access)
        for level in range(cursor.level + 1, len(storage)):
            if storage[level] == Index(index) and not access.tensor.type.levels[level].can_locate:
                if Index(index) in storage[:level]:
                    return
                raise LoweringError(
                    f"loop {index} reaches level {level} of {access.tensor.name} before the levels above it; "
                    "the access is not concordant"
                )

    def _mask(self, index: str, call: Call, env: Env, coords: Coords) -> Sequence | None:
        """A comparison of this index with something known, as regions where it holds or not."""
        found = mask_of(call, index, coords)
        if found is None:
            return None
        name, bound = found
        return mask_phases(name, self._expr(bound, env, coords), self.parameters.extent(index))

    # -- points -----------------------------------------------------------------------------------------------------

    def at_point(self, region: Region, coordinate: Var, leaves: Leaves, env: Env, coords: Coords) -> list[KernelStmt]:
        """The body at one coordinate."""
        self.points += 1
        self._check_length(self.points)
        env = dict(env)
        for key, leaf in leaves.items():
            if isinstance(leaf, Child) and isinstance(key, Access):
                known = _cursor(key, env)
                env[key] = known.descend(leaf)
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
            if self._must_decide(access, env, coords):
                return self._decide(access, body, env, coords)
            while (coordinate := self._next_known(access, env, coords)) is not None:
                cursor = _cursor(access, env)
                looplet = self._locate(access, cursor, coordinate)
                if isinstance(looplet, Run) and isinstance(looplet.body, Child):
                    env[access] = cursor.descend(looplet.body)
                    continue
                assert isinstance(looplet, Thunk) and isinstance(looplet.body, Switch)
                return [*before, *looplet.preamble, *self._branch(access, cursor, looplet.body, body, env, coords)]
        self._mirror_model(env)
        before += self._bind_values(body, env)
        hoisted, body = self._hoist(body, env, coords)
        before += hoisted
        opening, closing = self._enter_target(body, env, coords, covering)
        inner = self._stmt(body, env, coords, covering)
        return [*before, *opening, *inner, *closing]

    def _must_decide(self, access: Access, env: Env, coords: Coords) -> bool:
        """Whether it must be known now if an access is there that may be absent: only stepping needs not to know."""
        cursor = env.get(access)
        if not isinstance(cursor, Cursor) or cursor.present is None:
            return False
        levels = access.tensor.type.levels
        return (
            cursor.level == len(levels)
            or levels[cursor.level].can_locate
            or self._next_known(access, env, coords) is not None
        )

    def _decide(self, access: Access, body: Stmt, env: Env, coords: Coords) -> list[KernelStmt]:
        """The body where an access is present, and where it is not."""
        cursor = _cursor(access, env)
        assert cursor.present is not None
        found: Env = {**env, access: replace(cursor, present=None)}
        then = self._settle(body, found, coords, covering=False)
        absent = self.body_given(body, {access: Fill()})
        return when(cursor.present, then, self._settle(absent, env, coords, covering=False))

    def _mirror_model(self, env: Env) -> None:
        if isinstance(self.target, SharedTarget) and self.target.model is not None:
            model = env.get(self.target.model)
            if isinstance(model, Cursor):
                entered = _cursor(self.target.access, env).entered
                env[self.target.access] = Cursor(model.level, model.position, entered)

    def _next_known(self, access: Access, env: Env, coords: Coords) -> KernelExpr | None:
        """The coordinate of the access's next level, if it is known without a loop."""
        cursor = env.get(access, Cursor(0, ZERO))
        if not isinstance(cursor, Cursor) or (access in self.written and access != self.target.access):
            return None
        if access == self.target.access and isinstance(self.target, ScatterTarget | SharedTarget):
            return None
        storage = self._storage(access)
        if cursor.level >= len(storage):
            return None
        match storage[cursor.level]:
            case Literal() as constant:
                return Const(constant_coordinate(constant), UINT64)
            case Index(name):
                return coords.get(name)
        return None

    def _locate(self, access: Access, cursor: Cursor, coordinate: KernelExpr) -> Looplet:
        type_ = access.tensor.type
        if access == self.target.access and isinstance(self.target, AppendTarget) and self.target.unsorted:
            return Run(Child(self.target.count(cursor.level)))
        storage = self._storage(access)[cursor.level]
        extent: KernelExpr = self.parameters.extent(storage.name) if isinstance(storage, Index) else ONE
        return locate(access.tensor.name, type_, cursor.level, cursor.fiber, coordinate, extent, self.names)

    def _branch(
        self, access: Access, cursor: Cursor, switch: Switch, body: Stmt, env: Env, coords: Coords
    ) -> list[KernelStmt]:
        assert isinstance(switch.then, Run) and isinstance(switch.then.body, Child)
        found: Env = {**env, access: cursor.descend(switch.then.body)}
        absent = self.body_given(body, {access: Fill()})
        then = self._settle(body, found, coords, False)
        return when(switch.cond, then, self._settle(absent, env, coords, False))

    def _bind_values(self, body: Stmt, env: Env) -> list[KernelStmt]:
        """Load what is fully resolved into a local variable: later stores could not be seen to leave it alone."""
        out: list[KernelStmt] = []
        for access in () if self._counting else dict.fromkeys(_read_accesses(body)):
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

    def _hoist(self, body: Stmt, env: Env, coords: Coords) -> tuple[list[KernelStmt], Stmt]:
        """Work out before further loops what does not change in them."""

        def is_known(node: Node) -> bool:
            return isinstance(node, Access) and isinstance(env.get(node), Var)

        out: list[KernelStmt] = []
        found: dict[Node, Scalar] = {}
        for call in invariant_calls(body, is_known, coords):
            scalar = Scalar(self.names.fresh("once"), expr_dtype(call))
            found[call] = scalar
            self.simplifier.scalar_fills[scalar.name] = self.simplifier.fill(call)
            out.append(Set(Var(scalar.name, scalar.dtype), self._expr(call, env, coords)))
        return out, rewrite(body, PreWalk(lambda node, _: found.get(node))) if found else body

    def _enter_target(
        self, body: Stmt, env: Env, coords: Coords, covering: bool
    ) -> tuple[list[KernelStmt], list[KernelStmt]]:
        access = self.target.access
        if isinstance(self.target, ScatterTarget) or access not in set(accesses(body)):
            return [], []
        cursor = _cursor(access, env)
        opening: list[KernelStmt] = []
        closing: list[KernelStmt] = []
        storage = self.target.index
        levels = range(cursor.entered, cursor.level) if storage else range(-1, -1 + (cursor.entered == 0))
        for level in levels:
            point = Point(
                coords[storage[level]] if storage else ZERO,
                _assigned_in(Loop, body, access),
                set(coords) <= set(storage),
                covering and not _assigned_in(If, body, access),
                {name: self.parameters.extent(name) for name in storage[level + 1 :]},
            )
            pre, post = self.target.enter(level, cursor.position, point)
            opening += pre
            closing = [*post, *closing]
        env[access] = Cursor(cursor.level, cursor.position, cursor.level if storage else 1)
        return opening, closing

    # -- room and flat loops ------------------------------------------------------------

    def before_appends(self, region: Region, steppers: list[Stepper]) -> list[KernelStmt]:
        """For a resumable target: check once that a whole fiber fits."""
        target = self.target
        if not isinstance(target, AppendTarget) or not target.resumable or target.access not in region.looplets:
            return []
        level = target.index.index(region.index)
        if level == 0 or level not in target.sparse_levels:
            return []
        more: KernelExpr = binary("sub", region.hi, region.lo)
        if steppers:
            more = ZERO
            for stepper in steppers:
                more = plus(more, binary("sub", stepper.end, stepper.var))
        self.parameters.capacity(target.capacity(level), target.tensor.name, level)
        return target.check_room(level, more, self.current_outer)

    def _flat(self, stmt: Loop, env: Env, coords: Coords) -> list[KernelStmt] | None:
        """Loops that need only the stored values of one tensor run over its value array, across all fibers."""
        if coords:
            return None
        plan = flat_plan(stmt, self.target, self.simplifier)
        if plan is None:
            return self._list(stmt, env)
        access, body, last = plan
        tensor = access.tensor
        stored = self.parameters.stored(tensor.name)
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

    def _list(self, stmt: Loop, env: Env) -> list[KernelStmt] | None:
        """Loops over one list of coordinates, beside which all is dense, run over its entries."""
        plan = list_plan(stmt, self.target, self.simplifier)
        if plan is None:
            return None
        access, body = plan
        tensor = access.tensor
        at = Var(self.names.fresh("p"), UINT64)
        found: Coords = {}
        load: list[Set] = []
        for level, index in enumerate(self._storage(access)):
            assert isinstance(index, Index)
            crd = level_buffer(tensor.name, tensor.type, level, "crd", writable=False)
            var = Var(self.names.fresh(index.name), UINT64)
            load.append(Set(var, Cast(Load(crd, at), UINT64)))
            found[index.name] = var
        env = {**env, access: Cursor(len(access.index), at)}
        inner = self._settle(body, env, found, covering=False)
        used = set(walk(Seq(tuple(inner))))
        first = [each for each in load if each.var in used]
        return [KernelFor(at, ZERO, self.parameters.stored(tensor.name), Seq((*first, *inner)))]


class _LoopScope:
    """The surroundings of one loop's regions: the lowering with its environment at that loop."""

    def __init__(self, lowering: _NestLowering, env: Env, coords: Coords) -> None:
        self._lowering, self._env, self._coords = lowering, env, coords
        self.names = lowering.names
        self.compact = lowering.compact

    def at_point(self, region: Region, coordinate: Var, leaves: Leaves) -> list[KernelStmt]:
        return self._lowering.at_point(region, coordinate, leaves, self._env, self._coords)

    def body_given(self, region: Region, leaves: Leaves) -> Stmt:
        return self._lowering.body_given(region.body, leaves)

    def collapse(self, region: Region) -> list[KernelStmt] | None:
        here, env, coords = self._lowering, self._env, self._coords
        return collapse_run(
            region,
            self.names,
            lambda expr: here._expr(expr, env, coords),
            lambda stmt, value: here._write(stmt, value, env, coords),
            here.parameters.extent,
        )

    def before_appends(self, region: Region, steppers: list[Stepper]) -> list[KernelStmt]:
        return self._lowering.before_appends(region, steppers)


def _cursor(access: Access, env: Env) -> Cursor:
    """How far an access is resolved whose value has not been loaded."""
    found = env.get(access, Cursor(0, ZERO))
    assert isinstance(found, Cursor)
    return found


def _taken(nest: Nest) -> Iterator[str]:
    """Names that kernel variables must stay clear of."""
    yield from ("lo", "hi", "status", "np", "U")
    for node in walk(nest):
        if isinstance(node, Tensor | Scalar | Value):
            yield node.name


def _tensors(nest: Nest) -> list[Tensor]:
    return list(dict.fromkeys(n for n in walk(nest) if isinstance(n, Tensor)))


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


def _assigned_in(kind: type[Loop | If | Assign], body: Stmt, access: Access) -> bool:
    """Whether an access is assigned to; inside further loops, or conditions, if these are the kind."""
    return any(
        isinstance(node, kind) and any(isinstance(n, Assign) and n.target == access for n in walk(node))
        for node in walk(body)
    )
