"""From looplets to loops: one function per kind of looplet, tried in Finch's order of priority.

A `Region` is a part of one loop together with what each access looks like there.  Lowering a region picks the looplet
of highest priority (Thunk, Switch, Run, Sequence, Stepper, Lookup), splits or enters the region accordingly and
recurs; regions whose body simplifies to nothing leave no code behind.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from types import MappingProxyType
from typing import Protocol, TypeVar

from finchsched.algebra.dtypes import BOOL, UINT64
from finchsched.ast.kernel import ONE, ZERO, Cast, For, KernelExpr, KernelStmt, Load, Search, Seq, Set, Var, While
from finchsched.ast.loop import Stmt
from finchsched.ast.looplet import Child, Fill, Lookup, Looplet, Run, Sequence, Stepper, Switch, Thunk
from finchsched.ast.names import Names
from finchsched.ast.node import Node, walk
from finchsched.formats.unfurl import plus
from finchsched.passes.lower.decisions import Decisions
from finchsched.passes.lower.kernel_terms import advance, binary, both, cast, clamp, either, equal, less, when
from finchsched.passes.lower.structural import EMPTY, is_empty
from finchsched.rewrite import PostWalk, rewrite

__all__ = ["Leaves", "Region", "Surroundings", "lower_region"]

N = TypeVar("N", bound=Node)

Leaves = dict[Node, Looplet]
"""What each access (or mask condition) is at one coordinate: Fill, Child or Truth."""


@dataclass(frozen=True, slots=True)
class Region:
    """Coordinates `lo .. hi` of one loop.

    looplets: what each access that follows this loop looks like here.  whole: the region is known to contain every
    coordinate of its fibers.  covering: every coordinate of the loop so far, and of the loops around it, is reached.
    in_phase: it is one phase of a sequence, so that its bounds may be decided.
    """

    index: str
    lo: KernelExpr
    hi: KernelExpr
    looplets: Leaves
    body: Stmt
    whole: bool
    covering: bool
    in_phase: bool = False

    def settled(self, key: Node, looplet: Looplet) -> "Region":
        """The region with one looplet replaced."""
        return replace(self, looplets={**self.looplets, key: looplet})


class Surroundings(Protocol):
    """What lowering a region needs from the lowering of the nest around it.

    compact: short code matters more than fast code.
    """

    names: Names
    decisions: Decisions
    compact: bool

    def extent(self, index: str) -> KernelExpr:
        """The extent of an index."""

    def at_point(self, region: Region, coordinate: Var, leaves: Leaves) -> list[KernelStmt]:
        """The body at one coordinate."""

    def body_given(self, region: Region, leaves: Leaves) -> Stmt:
        """The region's body, simplified for what is known of some accesses."""

    def collapse(self, region: Region) -> list[KernelStmt] | None:
        """The body for a whole run at once, if it does not depend on the coordinate."""

    def before_appends(self, region: Region, steppers: list[Stepper]) -> list[KernelStmt]:
        """Statements before a loop that may append to the target."""


def lower_region(around: Surroundings, region: Region) -> list[KernelStmt]:
    """Kernel statements for a region."""
    live = set(walk(region.body))
    region = replace(region, looplets={k: v for k, v in region.looplets.items() if k in live})
    if is_empty(region.body):
        return []
    for kind, lower in _PRIORITY:
        for key, looplet in region.looplets.items():
            if isinstance(looplet, kind):
                return lower(around, region, key, looplet)
    return _lower_lookups(around, region)


def _lower_thunk(around: Surroundings, region: Region, key: Node, looplet: Thunk) -> list[KernelStmt]:
    return [*looplet.preamble, *lower_region(around, region.settled(key, looplet.body))]


def _lower_switch(around: Surroundings, region: Region, key: Node, looplet: Switch) -> list[KernelStmt]:
    region = replace(region, covering=False)
    then = lower_region(around, region.settled(key, looplet.then))
    orelse = lower_region(around, region.settled(key, looplet.orelse))
    return when(looplet.cond, then, orelse)


def _lower_run(around: Surroundings, region: Region, key: Node, looplet: Run) -> list[KernelStmt]:
    leaf = looplet.body
    if isinstance(leaf, Child):
        return lower_region(around, region.settled(key, Lookup(Var("_", UINT64), leaf)))
    rest = {k: v for k, v in region.looplets.items() if k != key}
    body = around.body_given(region, {key: leaf})
    return lower_region(around, replace(region, looplets=rest, body=body))


def _lower_sequence(around: Surroundings, region: Region, key: Node, looplet: Sequence) -> list[KernelStmt]:
    """Phase after phase.  One that is known to be empty leaves nothing; one that reaches the end is the last."""
    out: list[KernelStmt] = []
    lo = region.lo
    decisions = around.decisions
    with decisions.given():
        for number, phase in enumerate(looplet.phases):
            name = around.names.fresh(f"{region.index}_stop")
            last = number == len(looplet.phases) - 1
            if decisions.proves(f"no code before {name}", ("le", region.hi if last else phase.stop, lo), guards=False):
                continue
            last = last or decisions.proves(f"no code after {name}", ("le", region.hi, phase.stop), guards=False)
            hi = region.hi
            if not last:
                hi = Var(name, UINT64)
                value = _stop(decisions, name, phase.stop, lo, region.hi)
                out.append(Set(hi, value))
                for claim in (("eq", hi, value), ("le", lo, hi), ("le", hi, region.hi)):
                    decisions.assume(claim)
            part = replace(region.settled(key, phase.body), lo=lo, hi=hi, whole=False, covering=False, in_phase=True)
            out += lower_region(around, part)
            if last:
                break
            lo = hi
    return out


def _stop(decisions: Decisions, name: str, stop: KernelExpr, lo: KernelExpr, hi: KernelExpr) -> KernelExpr:
    """Where a phase ends, as a coordinate inside `lo .. hi`: clamped on the sides where it might lie outside."""
    below = None if decisions.proves(f"no lower clamp of {name}", ("le", lo, stop)) else lo
    above = None if decisions.proves(f"no upper clamp of {name}", ("le", stop, hi)) else hi
    return clamp(stop, below, above)


def _lower_stepper(around: Surroundings, region: Region, key: Node, looplet: Stepper) -> list[KernelStmt]:
    steppers = {k: v for k, v in region.looplets.items() if isinstance(v, Stepper)}
    out: list[KernelStmt] = []
    if not region.whole:
        for name, stepper in steppers.items():
            search, steppers[name] = _cut(around, stepper, region)
            out += search
    merge = _Merge(around, replace(region, covering=False), steppers)
    merged = merge.lower()
    # With code for the gaps any coordinate may be appended, not only those that are stored.
    appended = list(steppers.values()) if merge.cursor is None else []
    return [*out, *around.before_appends(region, appended), *merged]


def _cut(around: Surroundings, stepper: Stepper, region: Region) -> tuple[list[KernelStmt], Stepper]:
    """Restrict a stepper to the positions whose coordinates lie in the region, by binary search.

    A level promises coordinates inside the extent, so a region that reaches to an end needs no search for it.  Its own
    end stays, for the regions after this one.
    """
    first, last = stepper.var.name, stepper.end.name
    search: list[KernelStmt] = []
    if not around.decisions.proves(f"no search for {first}", ("le", region.lo, ZERO)):
        search.append(Search(stepper.var, stepper.stop, stepper.var, stepper.end, region.lo))
    if around.decisions.proves(f"no search for {last}", ("le", around.extent(region.index), region.hi)):
        return search, stepper
    end = Var(around.names.fresh(last), UINT64)
    search.append(Search(end, stepper.stop, stepper.var, stepper.end, region.hi))
    return search, stepper.replace(end=end)


def _lower_lookups(around: Surroundings, region: Region) -> list[KernelStmt]:
    whole_run = around.collapse(region)
    if whole_run is not None:
        return _unless_empty(around.decisions, region, whole_run)
    coordinate = Var(around.names.fresh(region.index), UINT64)
    body = around.at_point(region, coordinate, _leaves_at(region.looplets, coordinate))
    if not body:
        return []
    before = around.before_appends(region, [])
    if region.in_phase and _is_one_trip(around.decisions, region, coordinate):
        return [*before, Set(coordinate, region.lo), *body]
    return [*before, For(coordinate, region.lo, region.hi, Seq(tuple(body)))]


def _unless_empty(decisions: Decisions, region: Region, body: list[KernelStmt]) -> list[KernelStmt]:
    """What a run does once, where the run has a coordinate."""
    if decisions.proves(f"no test whether a run of {region.index} is empty", ("lt", region.lo, region.hi)):
        return body
    return when(less(region.lo, region.hi), body)


def _is_one_trip(decisions: Decisions, region: Region, coordinate: Var) -> bool:
    claim = ("eq", region.hi, plus(region.lo, ONE))
    return decisions.proves(f"no loop for {coordinate.name}", claim, guards=False)


def _leaves_at(looplets: Leaves, coordinate: KernelExpr) -> Leaves:
    leaves: Leaves = {}
    for key, looplet in looplets.items():
        if isinstance(looplet, Lookup):
            child = looplet.body
            assert isinstance(child, Child)
            leaves[key] = Child(_fill_hole(child.position, looplet.hole, coordinate))
        else:
            leaves[key] = looplet
    return leaves


def _fill_hole(looplet: N, hole: Var, value: KernelExpr) -> N:
    """A looplet or expression with a variable replaced."""
    return rewrite(looplet, PostWalk(lambda node, _: value if node == hole else None))


@dataclass(slots=True)
class _Merge:
    """Co-iteration of steppers: the next coordinate is the smallest one, and those that stand on it advance.

    One stepper is a plain loop over positions; two are a three-way branch; more are a decision tree.  That writes the
    body once for each set of steppers that may stand on a coordinate, and so do the loops inside it: code grows
    exponentially with the levels.  Compact code has one loop and one body, in which it is not known yet who stands
    there; an absent one is an empty fiber to the loops inside, and a branch where they end.  Gaps between stored
    coordinates get code only if the body does something there.
    """

    around: Surroundings
    region: Region
    steppers: dict[Node, Stepper]
    cursor: Var | None = None
    gap: Stmt = EMPTY

    def lower(self) -> list[KernelStmt]:
        """All loops of the merge, with the trailing gap."""
        out: list[KernelStmt] = []
        self.gap = self.around.body_given(self.region, {key: Fill() for key in self.steppers})
        if not is_empty(self.gap):
            self.cursor = Var(self.around.names.fresh(f"{self.region.index}_next"), UINT64)
            out.append(Set(self.cursor, self.region.lo))
        out += self._merge(tuple(self.steppers))
        return out + self._gap(self.region.hi)

    def _gap(self, stop: KernelExpr) -> list[KernelStmt]:
        if self.cursor is None:
            return []
        rest = {k: v for k, v in self.region.looplets.items() if k not in self.steppers}
        part = replace(self.region, lo=self.cursor, hi=stop, looplets=rest, body=self.gap, whole=False, in_phase=False)
        return lower_region(self.around, part)

    def _point(
        self,
        present: tuple[Node, ...],
        coordinate: Var,
        at: Var | None = None,
        here: Mapping[Node, Var] = MappingProxyType({}),
    ) -> list[KernelStmt]:
        """The gap before a coordinate and the body at it, where only `present` stand on it.

        `at`: the loop variable that takes the place of the only stepper's own.  `here`: for those of `present` that
        may be absent, whether they are there.
        """
        leaves: Leaves = {}
        for key, looplet in self.region.looplets.items():
            if key in present:
                tail, own = self.steppers[key].chunk.tail, self.steppers[key].var
                leaves[key] = tail if at is None else _fill_hole(tail, own, at)
                if key in here:
                    assert isinstance(tail, Child)
                    leaves[key] = tail.replace(present=here[key])
            elif key in self.steppers:
                leaves[key] = Fill()
            else:
                leaves |= _leaves_at({key: looplet}, coordinate)
        out = self._gap(coordinate)
        out += self.around.at_point(self.region, coordinate, leaves)
        if self.cursor is not None:
            out.append(Set(self.cursor, plus(coordinate, ONE)))
        return out

    def _has_body(self, present: tuple[Node, ...]) -> bool:
        """Whether something else happens where only `present` stand than in a gap."""
        absent: Leaves = {key: Fill() for key in self.steppers if key not in present}
        return self.around.body_given(self.region, absent) != self.gap

    def _any_body(self, alive: tuple[Node, ...]) -> bool:
        return any(self._has_body(p) for n in range(1, len(alive) + 1) for p in combinations(alive, n))

    def _merge(self, alive: tuple[Node, ...]) -> list[KernelStmt]:
        if not self._any_body(alive):
            return []
        if len(alive) == 1:
            return self._single(alive[0])
        if self.around.compact:
            return self._all_at_once(alive)
        coordinates = {
            key: Var(self.around.names.fresh(f"{self.region.index}_{n}"), UINT64) for n, key in enumerate(alive)
        }
        body: list[KernelStmt] = [Set(coordinates[key], self._coordinate(key)) for key in alive]
        body += self._two_way(alive, coordinates) if len(alive) == 2 else self._many_way(alive, coordinates)
        running = both([less(self.steppers[key].var, self.steppers[key].end) for key in alive])
        return [While(running, Seq(tuple(body))), *self._tails(alive)]

    def _coordinate(self, key: Node) -> KernelExpr:
        stepper = self.steppers[key]
        return Cast(Load(stepper.stop, stepper.var), UINT64)

    def _single(self, key: Node) -> list[KernelStmt]:
        stepper = self.steppers[key]
        coordinate = Var(self.around.names.fresh(self.region.index), UINT64)
        if stepper.run is not None:
            body = [Set(coordinate, self._coordinate(key)), *self._enter(key, coordinate)]
            body += [*self._point((key,), coordinate), *self._leave(key)]
            return [While(less(stepper.var, stepper.end), Seq(tuple(body)))]
        at = Var(self.around.names.fresh(f"{stepper.var.name}_at"), UINT64)
        body = [Set(coordinate, Cast(Load(stepper.stop, at), UINT64))]
        body += self._point((key,), coordinate, at)
        return [For(at, stepper.var, stepper.end, Seq(tuple(body)))]

    def _two_way(self, alive: tuple[Node, ...], at: dict[Node, Var]) -> list[KernelStmt]:
        a, b = alive
        enter_a, enter_b = self._enter(a, at[a]), self._enter(b, at[b])
        only_a = [*enter_a, *self._point_if((a,), at[a]), *self._leave(a)]
        only_b = [*enter_b, *self._point_if((b,), at[b]), *self._leave(b)]
        at_both = [*enter_a, *enter_b, *self._point_if(alive, at[a]), *self._leave(a), *self._leave(b)]
        return when(equal(at[a], at[b]), at_both, when(less(at[a], at[b]), only_a, only_b))

    def _point_if(self, present: tuple[Node, ...], coordinate: Var) -> list[KernelStmt]:
        return self._point(present, coordinate) if self._has_body(present) else []

    def _enter(self, key: Node, coordinate: KernelExpr) -> list[KernelStmt]:
        """If steps are runs, find the end of the one at a coordinate, which is empty if the stepper stands further on.

        It looks at one position after another: the loops inside will visit them all.
        """
        stepper = self.steppers[key]
        run = stepper.run
        if run is None:
            return []
        same = equal(cast(Load(stepper.stop, run), UINT64), coordinate)
        return [Set(run, stepper.var), While(both([less(run, stepper.end), same]), Seq((advance(run),)))]

    def _leave(self, key: Node) -> list[KernelStmt]:
        """Step on from a step that was entered."""
        stepper = self.steppers[key]
        return [advance(stepper.var) if stepper.run is None else Set(stepper.var, stepper.run)]

    def _leave_if(self, here: KernelExpr, key: Node) -> list[KernelStmt]:
        """Step on if the stepper stands on the coordinate; an empty run leads nowhere."""
        return self._leave(key) if self.steppers[key].run is not None else when(here, self._leave(key))

    def _many_way(self, alive: tuple[Node, ...], at: dict[Node, Var]) -> list[KernelStmt]:
        smallest = Var(self.around.names.fresh(self.region.index), UINT64)
        out: list[KernelStmt] = [Set(smallest, at[alive[0]])]
        for key in alive[1:]:
            out += when(less(at[key], smallest), [Set(smallest, at[key])])
        for key in alive:
            out += self._enter(key, smallest)
        out += self._decide(alive, (), alive, at, smallest)
        for key in alive:
            out += self._leave_if(equal(at[key], smallest), key)
        return out

    def _decide(
        self,
        undecided: tuple[Node, ...],
        present: tuple[Node, ...],
        alive: tuple[Node, ...],
        at: dict[Node, Var],
        smallest: Var,
    ) -> list[KernelStmt]:
        """A decision tree over which steppers stand on the smallest coordinate."""
        if not undecided:
            return self._point_if(present, smallest) if present else []
        key, rest = undecided[0], undecided[1:]
        here = self._decide(rest, (*present, key), alive, at, smallest)
        elsewhere = self._decide(rest, present, alive, at, smallest)
        return when(equal(at[key], smallest), here, elsewhere)

    def _all_at_once(self, alive: tuple[Node, ...]) -> list[KernelStmt]:
        """Compact code: one loop until all have ended."""
        fresh, index = self.around.names.fresh, self.region.index
        at = {key: Var(fresh(f"{index}_{n}"), UINT64) for n, key in enumerate(alive)}
        here = {key: Var(fresh(f"{index}_{n}_here"), BOOL) for n, key in enumerate(alive)}
        running = {key: less(self.steppers[key].var, self.steppers[key].end) for key in alive}
        smallest = Var(fresh(index), UINT64)
        body: list[KernelStmt] = [Set(smallest, self.region.hi)]
        for key in alive:
            body += [Set(at[key], self.region.hi), *when(running[key], [Set(at[key], self._coordinate(key))])]
            body.append(Set(smallest, binary("min", smallest, at[key])))
        for key in alive:
            body += [Set(here[key], equal(at[key], smallest)), *self._enter(key, smallest)]
        inner = self._point(alive, smallest, here=here)
        needed: list[KernelExpr] = [
            here[key] for key in alive if not self._any_body(tuple(k for k in alive if k != key))
        ]
        body += when(both(needed), inner) if needed else inner
        for key in alive:
            body += self._leave_if(here[key], key)
        return [While(either(list(running.values())), Seq(tuple(body)))]

    def _tails(self, alive: tuple[Node, ...]) -> list[KernelStmt]:
        """What is left when one stepper has ended."""
        if len(alive) == 2:
            return [*self._merge(alive[:1]), *self._merge(alive[1:])]
        out: list[KernelStmt] = []
        for ended in alive:
            stepper = self.steppers[ended]
            left = tuple(key for key in alive if key != ended)
            out = when(equal(stepper.var, stepper.end), self._merge(left), out)
        return out


_PRIORITY: tuple[tuple[type[Node], Callable[..., list[KernelStmt]]], ...] = (
    (Thunk, _lower_thunk),
    (Switch, _lower_switch),
    (Run, _lower_run),
    (Sequence, _lower_sequence),
    (Stepper, _lower_stepper),
)
