"""What is decided at once, without Z3: folding, linear inequalities, products, and lemmas of levels.

Sound in both directions: Proved only if the assumptions contradict the negation of the fact, Refuted only with a model
that was evaluated.  None where neither is found.
"""

from finchsched.ast.proof import Fact, Proved, Refuted
from finchsched.prove.affine import Atoms, Monomial, TooLarge, constant
from finchsched.prove.candidates import find_counterexample
from finchsched.prove.formulas import Formula, conjuncts, divisors, equal, formula_of, negation_of
from finchsched.prove.lemmas import instances, laws_of_atoms, mention
from finchsched.prove.search import Search, State

__all__ = ["decide"]


_PLAIN_LIMIT = 40
_LEMMA_LIMIT = 160
"""How many eliminations a search may do, without and with the promises of levels."""


def decide(fact: Fact, assumptions: tuple[Fact, ...]) -> Proved | Refuted | None:
    """A verdict, if one is found quickly."""
    attempt = _Attempt(assumptions)
    try:
        proved = attempt.prove(fact)
    except TooLarge:
        return None
    return proved or find_counterexample(fact, assumptions, attempt.proposals, attempt.atoms)


class _Attempt:
    """One attempt to prove a fact; if it fails it has proposals for counterexamples."""

    def __init__(self, assumptions: tuple[Fact, ...]) -> None:
        self.atoms = Atoms()
        self.assumptions = assumptions
        self.proposals: list[dict[Monomial, int]] = []

    def prove(self, fact: Fact) -> Proved | None:
        """Show that the fact is defined, then that its negation contradicts the assumptions.  Raises TooLarge."""
        undefined = self._undefined(fact)
        denied = [negation_of(part, self.atoms) for part in conjuncts(fact)]
        if not undefined and not any([State().add(part) for part in denied]):
            return Proved("folding")
        known = [formula_of(assumption, self.atoms) for assumption in self.assumptions]
        by = "ranges"
        for goal in [*undefined, *denied]:
            method = self._contradict([*known, goal])
            if method is None:
                return None
            if method == "lemma":
                by = method
        return Proved(by)

    def _undefined(self, fact: Fact) -> list[Formula]:
        """For each divisor that is not a constant other than 0, that it is 0."""
        polys = [self.atoms.poly(divisor) for divisor in divisors(fact)]
        return [equal(poly, {}) for poly in polys if not constant(poly)]

    def _contradict(self, formulas: list[Formula]) -> str | None:
        """How formulas contradict each other, first without the promises of levels; None if it is not seen to."""
        state = State()
        if not all([state.add(formula) for formula in formulas]):
            return "ranges"
        plain = state.copy()
        if not all([plain.add(law) for law in laws_of_atoms(self.atoms)]):
            return "ranges"
        search = Search(_PLAIN_LIMIT)
        if search.contradicts(plain):
            return "ranges"
        self.proposals = search.proposals
        if not state.promises:
            return None
        mention(state.promises, self.atoms)
        laws = [*instances(state.promises, self.atoms), *laws_of_atoms(self.atoms, state.promises)]
        if not all([state.add(law) for law in laws]):
            return "lemma"
        search = Search(_LEMMA_LIMIT)
        if search.contradicts(state):
            return "lemma"
        self.proposals = search.proposals + self.proposals
        return None
