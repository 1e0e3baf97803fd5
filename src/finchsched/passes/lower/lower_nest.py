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

from dataclasses import replace

from finchsched.algebra.dtypes import UINT64
from finchsched.ast.kernel import (
    HI,
    LO,
    ZERO,
    Cast,
    Comment,
    Kernel,
    KernelExpr,
    KernelStmt,
    Load,
    Seq,
    Set,
    Var,
)
from finchsched.ast.kernel import For as KernelFor
from finchsched.ast.loop import Access, Assign, Block, Declare, Define, Freeze, If, Index, Loop, Nest, Stmt
from finchsched.ast.looplet import Child, Fill, Run, Stepper, Switch, Thunk
from finchsched.ast.node import walk
from finchsched.errors import LoweringError
from finchsched.formats.buffers import level_buffer
from finchsched.formats.unfurl import workspace_count
from finchsched.passes.lower.bind_values import bind_values, hoist_invariants
from finchsched.passes.lower.bounds import is_linear, room_bound
from finchsched.passes.lower.coiterate import Leaves, Region, lower_region
from finchsched.passes.lower.flat import flat_plan, list_plan
from finchsched.passes.lower.kernel_terms import cast, when
from finchsched.passes.lower.license import licensed
from finchsched.passes.lower.nest_context import NestContext
from finchsched.passes.lower.parameters import buffers_used, extent_variable
from finchsched.passes.lower.resolve import locate_access, mirror_model, must_decide, next_known
from finchsched.passes.lower.runs import collapse_run
from finchsched.passes.lower.scope import Coords, Cursor, Env, cursor_of, storage
from finchsched.passes.lower.signature import LoweredNest
from finchsched.passes.lower.structural import accesses, is_empty
from finchsched.passes.lower.targets import AppendTarget, DenseTarget, ScatterTarget, SharedTarget
from finchsched.passes.lower.unfurl_accesses import unfurl_accesses
from finchsched.passes.lower.workspace import sort_touched
from finchsched.passes.lower.write_target import assigned_in, check_room, enter_target, write

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
    """Writes the kernel of one nest: statements, loops and points, which contain each other.

    compact: steppers are merged by short code.  points: how many bodies have been written.  outer: the index of the
    outermost loop, "" before it is reached; current_outer: its coordinate.  guessed: as in LoweredNest.
    """

    def __init__(self, nest: Nest, name: str, reassociate: str, *, compact: bool) -> None:
        self.nest = nest
        self.context = NestContext(nest)
        self.name = name
        self.reassociate = reassociate
        self.compact = compact
        self.points = 0
        self.outer = ""
        self.current_outer: KernelExpr = ZERO
        self.guessed = False

    # -- the whole nest ---------------------------------------------------------------------------------------------

    def lower(self) -> LoweredNest:
        """Body, then the parameters it turned out to use."""
        nest, context, target = self.nest, self.context, self.context.target
        body = context.simplifier.stmt(nest.body, {})
        rooms = tuple(room_bound(nest, context.simplifier, n) for n in range(target.rank))
        if isinstance(target, AppendTarget):
            target.fill = lambda: context.expr(nest.target.type.fill, {}, {})
            inner = [r for n, r in enumerate(rooms) if n in target.sparse_levels and n and r is not None]
            lists_terms = target.unsorted and target.op is not None  # a place has as many entries as it has terms
            target.resumable = bool(inner) and (lists_terms or not target.unsorted)  # a copy never outgrows its bound
            linear = not (lists_terms or context.workspaces) and all(is_linear(r) for r in inner)
            self.guessed = target.resumable and not linear
        if isinstance(target, ScatterTarget):
            stmts = self._scatter(body, target)
        else:
            stmts = [*target.prologue(), *self._settle(body, {}, {}, covering=True), *target.epilogue()]
        seq = Seq(tuple(stmts))
        self._check_length(sum(isinstance(node, KernelStmt) for node in walk(seq)))
        buffers = buffers_used(nest, seq)
        kernel = Kernel(
            self.name,
            context.parameters.variables,
            tuple(buffer for _, buffer in buffers),
            seq,
            licensed(nest, self.reassociate),
        )
        return LoweredNest(
            nest,
            kernel,
            context.parameters.params,
            tuple(param for param, _ in buffers),
            rooms,
            isinstance(target, AppendTarget) and target.resumable,
            self.guessed,
            target.covered,
            target.gaps,
            self.outer,
            context.initial,
            context.decisions.proofs,
        )

    def _check_length(self, statements: int) -> None:
        """Raise _TooLongError if code that is to be fast gets too long."""
        if statements > LONGEST and not self.compact:
            raise _TooLongError

    def _scatter(self, body: Stmt, target: ScatterTarget) -> list[KernelStmt]:
        leading = self.context.parameters.extent(target.index[0])
        out: list[KernelStmt] = [Comment("count"), *target.start(), *self._settle(body, {}, {}, covering=True)]
        out += [Comment("offsets"), *target.prefix_sums(leading)]
        target.filling = True
        self.outer = ""
        return [*out, Comment("fill"), *target.start(), *self._settle(body, {}, {}, covering=True)]

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
                return when(self.context.expr(cond, env, coords), self._stmt(body, env, coords, False))
            case Define(scalar, init):
                return [Set(Var(scalar.name, scalar.dtype), self.context.expr(init, env, coords))]
            case Declare(tensor, _):
                self.context.frozen.discard(tensor)
                return [Set(workspace_count(tensor.name), ZERO)]
            case Freeze(tensor):
                self.context.frozen.add(tensor)
                return sort_touched(
                    tensor, self.context.parameters.extent(self.context.target.index[-1]), self.context.names
                )
            case _:
                raise LoweringError(f"{type(stmt).__name__} cannot be lowered")

    def _assign(self, stmt: Assign, env: Env, coords: Coords) -> list[KernelStmt]:
        value = ZERO if self.context.counting else self.context.expr(stmt.rhs, env, coords)
        return write(self.context, stmt, value, env, coords)

    # -- loops ------------------------------------------------------------------------------------------------------

    def _loop(self, stmt: Loop, env: Env, coords: Coords, covering: bool) -> list[KernelStmt]:
        index, body = stmt.index.name, stmt.body
        flat = self._flat(stmt, env, coords)
        if flat is not None:
            return flat
        # A branch may stand around it, as for an access at a constant coordinate: then each arm has a copy.
        outermost = not coords and assigned_in(Assign, body, self.context.target.access)
        if outermost:
            self.outer = index
        lo: KernelExpr = cast(LO, UINT64) if outermost else ZERO
        hi: KernelExpr = cast(HI, UINT64) if outermost else self.context.parameters.extent(index)
        extent = extent_variable(index)
        decisions = self.context.decisions
        with decisions.given(("le", lo, hi), ("le", hi, extent)) if outermost else decisions.given():
            looplets = unfurl_accesses(self.context, index, body, env, coords)
            region = Region(index, lo, hi, looplets, body, not outermost, covering)
            return lower_region(_LoopScope(self, env, coords), region)

    # -- points -----------------------------------------------------------------------------------------------------

    def at_point(self, region: Region, coordinate: Var, leaves: Leaves, env: Env, coords: Coords) -> list[KernelStmt]:
        """The body at one coordinate."""
        self.points += 1
        self._check_length(self.points)
        env = dict(env)
        for key, leaf in leaves.items():
            if isinstance(leaf, Child) and isinstance(key, Access):
                env[key] = cursor_of(key, env).descend(leaf)
        body = self.context.body_given(region.body, leaves)
        if is_empty(body):
            return []
        first: list[KernelStmt] = []
        if not coords:
            self.current_outer = coordinate
            if isinstance(self.context.target, AppendTarget) and self.context.target.resumable:
                first = self.context.target.save()
        if isinstance(self.context.target, ScatterTarget):
            first = self.context.target.at_coordinate(region.index)
        inner = self._settle(body, env, {**coords, region.index: coordinate}, region.covering)
        return [*first, *inner] if inner else []

    def _settle(self, body: Stmt, env: Env, coords: Coords, covering: bool) -> list[KernelStmt]:
        """Resolve accesses as far as the coordinates known so far allow, then lower the body."""
        if is_empty(body):
            return []
        env = dict(env)
        before: list[KernelStmt] = []
        mirror_model(self.context, env)
        for access in dict.fromkeys(accesses(body)):
            if must_decide(self.context, access, env, coords):
                return self._decide(access, body, env, coords)
            while (coordinate := next_known(self.context, access, env, coords)) is not None:
                cursor = cursor_of(access, env)
                looplet = locate_access(self.context, access, cursor, coordinate)
                if isinstance(looplet, Run) and isinstance(looplet.body, Child):
                    env[access] = cursor.descend(looplet.body)
                    continue
                assert isinstance(looplet, Thunk) and isinstance(looplet.body, Switch)
                return [*before, *looplet.preamble, *self._branch(access, cursor, looplet.body, body, env, coords)]
        mirror_model(self.context, env)
        before += bind_values(self.context, body, env)
        hoisted, body = hoist_invariants(self.context, body, env, coords)
        before += hoisted
        opening, closing = enter_target(self.context, body, env, coords, covering)
        inner = self._stmt(body, env, coords, covering)
        return [*before, *opening, *inner, *closing]

    def _decide(self, access: Access, body: Stmt, env: Env, coords: Coords) -> list[KernelStmt]:
        """The body where an access is present, and where it is not."""
        cursor = cursor_of(access, env)
        assert cursor.present is not None
        found: Env = {**env, access: replace(cursor, present=None)}
        then = self._settle(body, found, coords, covering=False)
        absent = self.context.body_given(body, {access: Fill()})
        return when(cursor.present, then, self._settle(absent, env, coords, covering=False))

    def _branch(
        self, access: Access, cursor: Cursor, switch: Switch, body: Stmt, env: Env, coords: Coords
    ) -> list[KernelStmt]:
        assert isinstance(switch.then, Run) and isinstance(switch.then.body, Child)
        found: Env = {**env, access: cursor.descend(switch.then.body)}
        absent = self.context.body_given(body, {access: Fill()})
        then = self._settle(body, found, coords, False)
        return when(switch.cond, then, self._settle(absent, env, coords, False))

    # -- flat loops ------------------------------------------------------------

    def _flat(self, stmt: Loop, env: Env, coords: Coords) -> list[KernelStmt] | None:
        """Loops that need only the stored values of one tensor run over its value array, across all fibers."""
        if coords:
            return None
        plan = flat_plan(stmt, self.context.target, self.context.simplifier)
        if plan is None:
            return self._list(stmt, env)
        access, body, last = plan
        tensor = access.tensor
        stored = self.context.parameters.stored(tensor.name)
        at = Var(self.context.names.fresh("p"), UINT64)
        env = {**env, access: Cursor(len(access.index), at)}
        inner_coords: Coords = {}
        first: list[KernelStmt] = []
        if last:
            crd = level_buffer(tensor.name, tensor.type, len(access.index) - 1, "crd", writable=False)
            var = Var(self.context.names.fresh(last), UINT64)
            first = [Set(var, Cast(Load(crd, at), UINT64))]
            inner_coords = {last: var}
            if isinstance(self.context.target, DenseTarget) and self.context.target.rank == 1:
                env[self.context.target.access] = Cursor(1, var, 1)
        if isinstance(self.context.target, SharedTarget):
            env[self.context.target.access] = Cursor(len(access.index), at, len(access.index))
            self.context.target.accumulator, self.context.target.once = None, True
        bound = bind_values(self.context, body, env)
        inner = self._stmt(body, env, inner_coords, False)
        return [KernelFor(at, ZERO, stored, Seq((*first, *bound, *inner)))]

    def _list(self, stmt: Loop, env: Env) -> list[KernelStmt] | None:
        """Loops over one list of coordinates, beside which all is dense, run over its entries."""
        plan = list_plan(stmt, self.context.target, self.context.simplifier)
        if plan is None:
            return None
        access, body = plan
        tensor = access.tensor
        at = Var(self.context.names.fresh("p"), UINT64)
        found: Coords = {}
        load: list[Set] = []
        for level, index in enumerate(storage(access)):
            assert isinstance(index, Index)
            crd = level_buffer(tensor.name, tensor.type, level, "crd", writable=False)
            var = Var(self.context.names.fresh(index.name), UINT64)
            load.append(Set(var, Cast(Load(crd, at), UINT64)))
            found[index.name] = var
        env = {**env, access: Cursor(len(access.index), at)}
        inner = self._settle(body, env, found, covering=False)
        used = set(walk(Seq(tuple(inner))))
        first = [each for each in load if each.var in used]
        return [KernelFor(at, ZERO, self.context.parameters.stored(tensor.name), Seq((*first, *inner)))]


class _LoopScope:
    """The surroundings of one loop's regions: the lowering with its environment at that loop."""

    def __init__(self, lowering: _NestLowering, env: Env, coords: Coords) -> None:
        self._lowering, self._env, self._coords = lowering, env, coords
        self.names = lowering.context.names
        self.decisions = lowering.context.decisions
        self.compact = lowering.compact

    def at_point(self, region: Region, coordinate: Var, leaves: Leaves) -> list[KernelStmt]:
        with self.decisions.given(("le", region.lo, coordinate), ("lt", coordinate, region.hi)):
            return self._lowering.at_point(region, coordinate, leaves, self._env, self._coords)

    def extent(self, index: str) -> KernelExpr:
        return self._lowering.context.parameters.extent(index)

    def body_given(self, region: Region, leaves: Leaves) -> Stmt:
        return self._lowering.context.body_given(region.body, leaves)

    def collapse(self, region: Region) -> list[KernelStmt] | None:
        here, env, coords = self._lowering, self._env, self._coords
        return collapse_run(
            region,
            self.names,
            lambda expr: here.context.expr(expr, env, coords),
            lambda stmt, value: write(here.context, stmt, value, env, coords),
            here.context.parameters.extent,
        )

    def before_appends(self, region: Region, steppers: list[Stepper]) -> list[KernelStmt]:
        here = self._lowering
        return check_room(here.context, region, steppers, here.current_outer)
