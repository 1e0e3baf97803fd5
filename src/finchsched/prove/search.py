"""Whether inequalities, clauses and laws of atoms contradict each other: elimination, unit propagation, few splits.

`contradicts` answers True only where no integers satisfy everything.  Otherwise the states it ended in propose values
for `finchsched.prove.candidates`.  All limits are counts, so the answer is the same in any process.
"""

from dataclasses import dataclass, field

from finchsched.ast.proof import Fact
from finchsched.prove.affine import Monomial, Poly, constant, scale
from finchsched.prove.formulas import AllOf, AnyOf, AtLeastZero, Formula, IsZero, Promised
from finchsched.prove.inequalities import Bounds, Contradiction, solve
from finchsched.prove.products import products

__all__ = ["Search", "State"]

_MAX_DEPTH = 6
_MAX_ROUNDS = 4
_MAX_PROPOSALS = 8


@dataclass(slots=True)
class State:
    """What is asserted so far.  clauses: of each, one part holds."""

    rows: list[Poly] = field(default_factory=list)
    equations: list[Poly] = field(default_factory=list)
    clauses: list[AnyOf] = field(default_factory=list)
    promises: list[Fact] = field(default_factory=list)

    def copy(self) -> "State":
        """A state that can be added to."""
        return State(list(self.rows), list(self.equations), list(self.clauses), list(self.promises))

    def add(self, formula: Formula) -> bool:
        """Assert a formula; False if it is false in itself."""
        stack = [formula]
        while stack:
            match stack.pop():
                case AtLeastZero(poly):
                    value = constant(dict(poly))
                    if value is None:
                        self.rows.append(dict(poly))
                    elif value < 0:
                        return False
                case IsZero(poly):
                    self.equations.append(dict(poly))
                case Promised(fact):
                    self.promises.append(fact)
                case AllOf(parts):
                    stack.extend(reversed(parts))
                case AnyOf(parts):
                    possible = tuple(part for part in parts if not _is_false(part))
                    if not possible:
                        return False
                    if len(possible) == 1:
                        stack.append(possible[0])
                    elif AllOf(()) not in possible:
                        self.clauses.append(AnyOf(possible))
        return True


def _is_false(formula: Formula) -> bool:
    """Whether a formula is a constant inequality that does not hold, or a disjunction of nothing."""
    if isinstance(formula, AtLeastZero):
        value = constant(dict(formula.poly))
        return value is not None and value < 0
    return formula == AnyOf(())


@dataclass(slots=True)
class Search:
    """One search; `left` counts the eliminations that it may still do."""

    left: int
    proposals: list[dict[Monomial, int]] = field(default_factory=list)

    def contradicts(self, state: State, depth: int = 0) -> bool:
        """Whether no integers satisfy the state.  Adds to the state what it finds to follow."""
        if self._infeasible(state):
            return True
        if self._propagate(state):
            return True
        clause = min(state.clauses, key=lambda c: len(c.parts), default=None)
        self._propose(state)
        if clause is None or depth == _MAX_DEPTH:
            return False
        for part in clause.parts:
            branch = state.copy()
            branch.clauses.remove(clause)
            if branch.add(part) and (self.left <= 0 or not self.contradicts(branch, depth + 1)):
                return False
        return True

    def _infeasible(self, state: State) -> bool:
        """Whether the rows and equations alone contradict each other."""
        if self.left <= 0:
            return False
        self.left -= 1
        try:
            solve(state.rows, state.equations)
            more = products([*state.rows, *state.equations, *[scale(e, -1) for e in state.equations]])
            if more:
                solve(state.rows + more, state.equations)
        except Contradiction:
            return True
        return False

    def _propagate(self, state: State) -> bool:
        """Drop the parts of clauses that cannot hold, and assert a part that is left alone, first by bounds only."""
        for thorough in (False, True):
            for _ in range(_MAX_ROUNDS):
                before = len(state.clauses)
                if self._round(state, thorough=thorough):
                    return True
                if len(state.clauses) == before:
                    break
                if self._infeasible(state):
                    return True
        return False

    def _round(self, state: State, *, thorough: bool) -> bool:
        """One look at every clause; True if one has no part that can hold."""
        waiting, state.clauses = state.clauses, []
        bounds = Bounds(state.rows, state.equations)
        for clause in waiting:
            left = self._possible(state, bounds, clause, thorough=thorough)
            if not left:
                return True
            if len(left) > 1:
                state.clauses.append(AnyOf(left))
            elif not state.add(left[0]):
                return True
        return False

    def _possible(self, state: State, bounds: Bounds, clause: AnyOf, *, thorough: bool) -> tuple[Formula, ...]:
        """Parts of a clause that are not contradicted; after two of them no more are looked at."""
        found: list[Formula] = []
        for position, part in enumerate(clause.parts):
            branch = State()
            possible = branch.add(part) and not any([bounds.exclude(row) for row in branch.rows])
            if possible and thorough:
                branch.rows += state.rows
                branch.equations += state.equations
                possible = not self._infeasible(branch)
            if possible:
                found.append(part)
                if len(found) == 2:
                    return (*found, *clause.parts[position + 1 :])
        return tuple(found)

    def _propose(self, state: State) -> None:
        """Values that satisfy the rows, for a counterexample."""
        if len(self.proposals) < _MAX_PROPOSALS:
            try:
                values = solve(state.rows, state.equations).values()
            except Contradiction:
                return
            if values is not None:
                self.proposals.append(values)
