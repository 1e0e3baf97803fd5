"""Whether inequalities, clauses and laws of atoms contradict each other: elimination, unit propagation, few splits.

`contradicts` answers True only where no integers satisfy everything.  Otherwise the states it ended in propose values
for `finchsched.prove.candidates`.  All limits are counts, so the answer is the same in any process.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from finchsched.ast.proof import Fact
from finchsched.prove.affine import Monomial, Poly, scale
from finchsched.prove.formulas import AllOf, AnyOf, AtLeastZero, Formula, IsZero, Promised
from finchsched.prove.inequalities import Contradiction, solve
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
                    self.rows.append(dict(poly))
                case IsZero(poly):
                    self.equations.append(dict(poly))
                case Promised(fact):
                    self.promises.append(fact)
                case AllOf(parts):
                    stack.extend(reversed(parts))
                case AnyOf(parts) as clause:
                    if not parts:
                        return False
                    if len(parts) == 1:
                        stack.append(parts[0])
                    elif AllOf(()) not in parts:
                        self.clauses.append(clause)
        return True


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
        """Drop the parts of clauses that cannot hold, and assert a part that is left alone."""
        for _ in range(_MAX_ROUNDS):
            changed = False
            waiting, state.clauses = state.clauses, []
            for clause in waiting:
                left = list(self._possible(state, clause))
                if not left:
                    return True
                if len(left) == 1:
                    changed = True
                    if not state.add(left[0]):
                        return True
                else:
                    state.clauses.append(AnyOf((*left, *clause.parts[clause.parts.index(left[1]) + 1 :])))
            if not changed:
                return False
            if self._infeasible(state):
                return True
        return False

    def _possible(self, state: State, clause: AnyOf) -> Iterator[Formula]:
        """Parts of a clause that are not contradicted, at most two."""
        found = 0
        for part in clause.parts:
            branch = State(list(state.rows), list(state.equations))
            if branch.add(part) and not self._infeasible(branch):
                yield part
                found += 1
                if found == 2:
                    return

    def _propose(self, state: State) -> None:
        """Values that satisfy the rows, for a counterexample."""
        if len(self.proposals) < _MAX_PROPOSALS:
            try:
                values = solve(state.rows, state.equations).values()
            except Contradiction:
                return
            if values is not None:
                self.proposals.append(values)
