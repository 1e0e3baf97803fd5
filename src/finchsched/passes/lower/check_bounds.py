"""Whether a kernel can be seen to stay inside its buffers: every index of every access, from the final Kernel IR.

Kernels do not test indices at run time.  This walks a kernel once, keeping what is known of its variables: bounds of
loops, conditions, and what levels promise of index arrays.  What cannot be shown is reported, not changed: appending
stays inside its room by the test before the loop, which counts more than these facts can.

Arithmetic of 64 bits is exact modulo 2**64, and a buffer is shorter than that; so an index that is in range as an
unbounded integer is in range as it stands.  What is compared is a term only if it is known not to have wrapped around.
Taken for granted: extents are less than 2**63, and no memory has 2**60 elements nor does a counter take as many steps.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from finchsched.algebra.dtypes import UINT64
from finchsched.algebra.operators import is_comparison
from finchsched.ast.kernel import (
    HI,
    LO,
    Apply,
    Buffer,
    Cast,
    Comment,
    Const,
    For,
    If,
    KernelExpr,
    KernelStmt,
    Load,
    Memset,
    Return,
    Search,
    Seq,
    Set,
    SortRange,
    Store,
    Var,
    While,
    dtype_of,
)
from finchsched.ast.node import distinct
from finchsched.ast.proof import (
    And,
    Compare,
    ElementOf,
    Fact,
    Implies,
    IntTerm,
    Not,
    Number,
    Or,
    Product,
    Proof,
    Proved,
    Sum,
    Symbol,
    Unknown,
)
from finchsched.passes.lower.buffer_facts import MEMORY, BufferFacts
from finchsched.passes.lower.int_terms import EXTREMES, INT_TERMS, fits_64_bits
from finchsched.passes.lower.loop_invariants import always_returns, assigned, bounds_tested, excess, only_advanced
from finchsched.passes.lower.parameters import equal_extents, extent_variable
from finchsched.passes.lower.signature import LoweredNest
from finchsched.prove.obligations import difference, in_range
from finchsched.prove.prover import default_prover
from finchsched.prove.relevance import facts_about

__all__ = ["check_bounds"]

_ZERO = Number(0)
_COORDINATES = 1 << 63


def check_bounds(lowered: LoweredNest) -> tuple[Proof, ...]:
    """A proof, or what could not be proved, for every access to a buffer, in the order of the kernel.

    Accesses to `status`, which has a fixed length, are left out.  O(statements of the kernel) questions.
    """
    writable = frozenset(buffer.name for buffer in lowered.kernel.buffers if buffer.writable)
    walk_ = _Walk(BufferFacts(lowered.nest), writable)
    walk_.state.facts += [Compare("eq", Symbol(a.name), Symbol(b.name)) for a, b in equal_extents(lowered.nest)]
    for var in lowered.kernel.scalars:
        walk_.state.values[var.name] = found = walk_.symbol(var, _COORDINATES)
        if var.name in walk_.buffers.stored:
            walk_.state.facts.append(Compare("eq", found, walk_.buffers.stored[var.name]))
    walk_.state.facts += _chunk(walk_, lowered)
    walk_.statements(lowered.kernel.body.body)
    return tuple(walk_.proofs.values())


def _chunk(walk_: "_Walk", lowered: LoweredNest) -> list[Fact]:
    """The part `lo .. hi` of the outermost loop that one call runs."""
    lo, hi = Symbol(LO.name), Symbol(HI.name)
    walk_.state.values |= {LO.name: lo, HI.name: hi}
    last = Symbol(extent_variable(lowered.outer).name) if lowered.outer else Number(_COORDINATES)
    return [Compare("le", _ZERO, lo), Compare("le", lo, hi), Compare("le", hi, last)]


@dataclass(slots=True)
class _State:
    """What is known at one place: the value of each variable as a term, and facts about those."""

    values: dict[str, IntTerm] = field(default_factory=dict)
    facts: list[Fact] = field(default_factory=list)

    def copy(self) -> "_State":
        return _State(dict(self.values), list(self.facts))


class _Walk:
    """One walk over a kernel."""

    def __init__(self, buffers: BufferFacts, writable: frozenset[str]) -> None:
        self.buffers = buffers
        self.writable = writable
        self.state = _State()
        self.proofs: dict[tuple[str, Fact, tuple[Fact, ...]], Proof] = {}
        self.used: dict[str, int] = {}

    def symbol(self, var: Var, limit: int = 1 << 64) -> Symbol:
        """A new value of a variable; of an unsigned one, less than the limit."""
        self.used[var.name] = number = self.used.get(var.name, 0) + 1
        found = Symbol(var.name if number == 1 else f"{var.name}'{number}")
        if var.dtype.is_unsigned:
            self.state.facts.append(in_range(found, _ZERO, Number(limit)))
        return found

    # -- statements -------------------------------------------------------------------------------------------------

    def statements(self, body: Iterable[KernelStmt]) -> None:
        """Statements one after another."""
        for stmt in body:
            self._statement(stmt)

    def _statement(self, stmt: KernelStmt) -> None:
        match stmt:
            case Set(var, value):
                self.state.values[var.name] = self._value(value, var)
            case Store(buffer, index, value):
                self._accesses(value)
                self._accesses(index)
                self._check(buffer, index, "stores to")
            case Search(var, buffer, lo, hi, key):
                self._accesses(key)
                low, high = self._check_range(buffer, lo, hi)
                found = self.symbol(var)
                self.state.facts += [Compare("le", low, found), Compare("le", found, high)]
                self.state.values[var.name] = found
            case SortRange(buffer, lo, hi, scratch):
                low, high = self._check_range(buffer, lo, hi)
                self._record_range(scratch, _ZERO, difference(high, low))
            case Memset(buffer, lo, hi, value):
                self._accesses(value)
                self._check_range(buffer, lo, hi)
            case If(cond, then, orelse):
                self._if(cond, then, orelse)
            case For(var, lo, hi, loop):
                self._for(var, lo, hi, loop)
            case While(cond, loop):
                self._while(cond, loop)
            case Seq(body):
                self.statements(body)
            case Comment() | Return():
                pass
            case _:
                raise TypeError(f"{type(stmt).__name__} is not a Kernel IR statement")

    def _if(self, cond: KernelExpr, then: Seq, orelse: Seq) -> None:
        self._accesses(cond)
        fact = self._fact(cond)
        before = self.state
        for arm, holds in ((then, fact), (orelse, None if fact is None else Not(fact))):
            self.state = before.copy()
            if holds is not None:
                self.state.facts.append(holds)
            self.statements(arm.body)
        self.state = before
        if always_returns(then):
            self._forget(assigned(orelse))
            self.state.facts += [Not(fact)] if fact is not None else []
        else:
            self._forget(assigned(then) | assigned(orelse))

    def _for(self, var: Var, lo: KernelExpr, hi: KernelExpr, body: Seq) -> None:
        self._accesses(lo)
        self._accesses(hi)
        low, high = self._exact(lo), self._exact(hi)
        entry = self.state
        self.state = entry.copy()
        self._forget(assigned(body), only_advanced(body))
        self.state.values[var.name] = at = self.symbol(var)
        self.state.facts += [Compare("le", low, at), Compare("lt", at, high)]
        counters = [name for name in only_advanced(body) if name in entry.values and excess(body, name) <= 1]
        self.state.facts += self._counted(counters, entry, difference(at, low))
        self.statements(body.body)
        self.state = entry.copy()
        self._forget(assigned(body) | {var.name: var}, only_advanced(body))
        after = self._counted(counters, entry, difference(high, low))
        self.state.facts += [Implies(Compare("le", low, high), fact) for fact in after]

    def _counted(self, counters: Iterable[str], entry: _State, steps: IntTerm) -> list[Fact]:
        """That counters stand no further than so many steps after where they stood."""
        return [
            bound
            for name in counters
            for here, before in [(self.state.values[name], entry.values[name])]
            for bound in (Compare("le", before, here), Compare("le", here, Sum((before, steps))))
        ]

    def _while(self, cond: KernelExpr, body: Seq) -> None:
        entry = self.state
        self.state = entry.copy()
        self._forget(assigned(body), only_advanced(body))
        self.state.facts += self._invariants(cond, body, entry)
        fact = self._fact(cond)
        self._accesses(cond, given=fact)
        self.state.facts += [fact] if fact is not None else []
        self.statements(body.body)
        self.state = entry.copy()
        self._forget(assigned(body), only_advanced(body))
        self.state.facts += self._invariants(cond, body, entry)

    def _invariants(self, cond: KernelExpr, body: Seq, entry: _State) -> list[Fact]:
        """What holds before every test of a loop's condition.

        A variable that is only stepped on never falls; one that is tested against a bound, and stepped at most once
        between tests, does not pass it; and a counter that is stepped only together with tested ones, as in a merge
        that appends, has gone no further than all of them.
        """
        facts: list[Fact] = []
        advanced = [name for name in only_advanced(body) if name in entry.values]
        tested = [name for name in bounds_tested(cond, body) if name in advanced]
        for name in advanced:
            facts.append(Compare("le", entry.values[name], self.state.values[name]))
        for name, bound in bounds_tested(cond, body).items():
            if name in tested and excess(body, name) <= 1:
                end = self._exact(bound)
                unpassed = Compare("le", self.state.values[name], end)
                facts.append(Implies(Compare("le", entry.values[name], end), unpassed))
        moved = Sum(tuple(difference(self.state.values[name], entry.values[name]) for name in tested))
        for name in advanced:
            if name not in tested and tested and excess(body, name, tested) <= 0:
                facts.append(Compare("le", difference(self.state.values[name], entry.values[name]), moved))
        return facts

    def _forget(self, variables: Mapping[str, Var], counters: Collection[str] = ()) -> None:
        """Give variables new values, of which nothing is known but that counters are small."""
        for name, var in variables.items():
            self.state.values[name] = self.symbol(var, MEMORY if name in counters else 1 << 64)

    # -- accesses ---------------------------------------------------------------------------------------------------

    def _accesses(self, expr: KernelExpr, given: Fact | None = None) -> None:
        """Check the loads in an expression; those of a conjunction's later parts only run where the first hold."""
        if given is not None and isinstance(expr, Apply) and expr.op.name == "and":
            first = self._fact(expr.args[0])
            self._accesses(expr.args[0], first)
            outer = self.state
            self.state = outer.copy()
            self.state.facts += [first] if first is not None else []
            for rest in expr.args[1:]:
                self._accesses(rest, self._fact(rest))
            self.state = outer
            return
        for node in distinct(expr):  # children first: what is loaded as an index before what is loaded by it
            if isinstance(node, Load):
                self._check(node.buffer, node.index, "loads from")

    def _check(self, buffer: Buffer, index: KernelExpr, does: str) -> None:
        """An access whose index has been looked at."""
        if buffer.name == "status":
            return
        term = self._term(index)
        if self._record(f"{does} {buffer.name}", buffer, lambda length: in_range(term, _ZERO, length)):
            self.state.facts += self.buffers.of_element(buffer.name, term)

    def _check_range(self, buffer: Buffer, lo: KernelExpr, hi: KernelExpr) -> tuple[IntTerm, IntTerm]:
        """A range that is visited, as terms."""
        self._accesses(lo)
        self._accesses(hi)
        low, high = self._exact(lo), self._exact(hi)
        self._record_range(buffer, low, high)
        return low, high

    def _record_range(self, buffer: Buffer, low: IntTerm, high: IntTerm) -> None:
        empty = Compare("le", high, low)
        self._record(
            f"visits a range of {buffer.name}",
            buffer,
            lambda length: Or((empty, And((Compare("le", _ZERO, low), Compare("le", high, length))))),
        )

    def _record(self, what: str, buffer: Buffer, fact_of: Callable[[IntTerm], Fact]) -> bool:
        length = self.buffers.lengths.get(buffer.name)
        if length is None:
            fact: Fact = fact_of(Symbol(f"length_of_{buffer.name}"))
            self.proofs.setdefault((what, fact, ()), Proof(what, fact, (), Unknown("its length is not modelled")))
            return False
        fact = fact_of(length)
        sizes = [Compare("le", _ZERO, length), Compare("lt", length, Number(MEMORY))]
        assumptions = facts_about(fact, [*sizes, *self.state.facts])
        key = (what, fact, assumptions)
        if key not in self.proofs:
            verdict = default_prover().holds(fact, assumptions, use_z3=False)
            parts = _by_axis(fact)
            if not isinstance(verdict, Proved) and parts and all(self._proves(part) for part in parts):
                verdict = Proved("lemma")
            self.proofs[key] = Proof(what, fact, assumptions, verdict)
        return self.proofs[key].is_proved

    # -- expressions ------------------------------------------------------------------------------------------------

    def _value(self, expr: KernelExpr, var: Var) -> IntTerm:
        self._accesses(expr)
        return self._term(expr) if dtype_of(expr).is_integer else self.symbol(var)

    def _proves(self, fact: Fact) -> bool:
        return isinstance(default_prover().holds(fact, facts_about(fact, self.state.facts), use_z3=False), Proved)

    def _exact(self, expr: KernelExpr) -> IntTerm:
        """An integer as it is compared: what is known of it modulo 2**64 holds of itself."""
        term, dtype = self._term(expr), dtype_of(expr)
        if isinstance(term, Symbol | Number | ElementOf):
            return term
        return term if self._proves(fits_64_bits(term, dtype)) else self._unknown(expr)

    def _unknown(self, expr: KernelExpr) -> Symbol:
        return self.symbol(Var("value", dtype_of(expr)))

    def _term(self, expr: KernelExpr) -> IntTerm:
        """An integer modulo 2**64; one of which nothing is known is a new symbol."""
        match expr:
            case Const(value, _) if isinstance(value, int):
                return Number(int(value))
            case Var(name, _) if name in self.state.values:
                return self.state.values[name]
            case Load(buffer, _) if buffer.name == "status":
                return self.symbol(Var("status", UINT64), MEMORY)  # the runtime keeps positions there
            case Load(buffer, index) if buffer.name not in self.writable:
                return ElementOf(buffer.name, self._term(index))
            case Cast(inner, dtype) if dtype.is_integer and dtype_of(inner).is_integer:
                if dtype.itemsize == 8:
                    return self._term(inner)
            case Apply(op, args, dtype) if dtype.is_integer and dtype.itemsize == 8:
                if op.name in INT_TERMS:
                    value_of = self._exact if op.name in EXTREMES else self._term
                    return INT_TERMS[op.name]([value_of(arg) for arg in args])
            case _:
                pass
        return self._unknown(expr)

    def _fact(self, expr: KernelExpr) -> Fact | None:
        """A condition as a fact, if all of it is about integers."""
        match expr:
            case Apply(op, (a, b), _) if is_comparison(op) and dtype_of(a).is_integer and dtype_of(b).is_integer:
                return Compare(op.name, self._exact(a), self._exact(b))
            case Apply(op, args, _) if op.name in ("and", "or", "not"):
                facts = [fact for arg in args if (fact := self._fact(arg)) is not None]
                if len(facts) < len(args):
                    return None
                return Not(facts[0]) if op.name == "not" else (And if op.name == "and" else Or)(tuple(facts))
            case _:
                return None


def _by_axis(fact: Fact) -> tuple[Fact, ...]:
    """`0 <= a * n + b < m * n` follows from `0 <= a < m` and `0 <= b < n`: positions of dense levels, row by row."""
    match fact:
        case And(
            (
                Compare("le", Number(0), Sum((Product((a, stride)), b))),
                Compare("lt", _, Product((rows, columns))),
            )
        ) if stride == columns:
            inner = in_range(a, _ZERO, rows)
            return (*(_by_axis(inner) or (inner,)), in_range(b, _ZERO, columns))
        case _:
            return ()
