"""Ask for a fact: constant folding, ranges, lemmas, memo, and Z3 last.

    >>> from finchsched.ast.proof import Compare, Symbol
    >>> i, n = Symbol("i"), Symbol("n")
    >>> default_prover().holds(Compare("le", i, n), [Compare("lt", i, n)])
    Proved(by='ranges')
    >>> default_prover().holds(Compare("lt", i, n), [Compare("le", i, n)])
    Refuted(model=(('i', 0), ('n', 0)))

A question is brought into canonical form first (`finchsched.prove.canonical`), and every limit is a count, so a verdict
depends neither on names, nor on the order of assumptions, nor on what was asked before, nor on the machine.
"""

from collections.abc import Callable, Sequence
from time import perf_counter

from finchsched.ast.proof import Fact, Proved, Refuted, Unknown, Verdict
from finchsched.prove.canonical import Question, canonical
from finchsched.prove.memo import DiskMemo, Memo
from finchsched.prove.ranges import decide
from finchsched.prove.statistics import Statistics, StatisticsKeeper
from finchsched.prove.z3_solver import STEP_LIMIT, ask_z3, z3_version

__all__ = ["Prover", "default_prover"]

_MAX_EXACT = 1024
_MAX_CANONICAL = 8192

_GAVE_UP = Unknown("no quick method decides it")

_Answer = tuple[Verdict, str]
"""A verdict in canonical names, and the method that gave it."""


class Prover:
    """Answers the same question with the same verdict in any process, whatever was asked before.

    memory, disk: whether verdicts are kept in memory, and Z3's in the cache folder.  steps: Z3's limit; None for the
    usual one, the only one whose verdicts are kept on disk.  Safe to use from several threads.
    """

    def __init__(self, *, memory: bool = True, disk: bool = True, steps: int | None = None) -> None:
        self._exact: Memo[tuple[Fact, tuple[Fact, ...], bool], Verdict] | None = Memo(_MAX_EXACT) if memory else None
        self._canonical: Memo[tuple[str, bool], Verdict] | None = Memo(_MAX_CANONICAL) if memory else None
        self._disk = disk and steps is None
        self._steps = steps
        self._keeper = StatisticsKeeper()

    def holds(self, fact: Fact, assumptions: Sequence[Fact] = (), *, use_z3: bool = True) -> Verdict:
        """Whether `fact` follows from `assumptions`, over the integers, for every value of symbols and arrays.

        Proved and Refuted can be relied on; of what cannot be shown either way, or only with more work than the limits
        allow, the verdict is Unknown.  From assumptions that contradict each other everything follows.

        use_z3=False: only what is quick, and never imports Z3.  Raises ValueError for a comparison that does not exist.
        """
        begin = perf_counter()
        key = (fact, tuple(assumptions), use_z3)
        verdict = self._exact.get(key) if self._exact is not None else None
        method = "memo"
        if verdict is None:
            question = canonical(*key[:2])
            verdict, method = self._answer(question, use_z3=use_z3)
            if isinstance(verdict, Refuted):
                verdict = question.as_given(verdict)
            if self._exact is not None:
                self._exact.put(key, verdict)
        self._keeper.record(method, verdict, perf_counter() - begin)
        return verdict

    @property
    def statistics(self) -> Statistics:
        """What was asked since the prover was made, or since `reset_statistics`."""
        return self._keeper.snapshot()

    def reset_statistics(self) -> None:
        """Count from 0 again."""
        self._keeper.reset()

    def forget(self) -> None:
        """Clear the memory and the counts, as if just made.  What is on disk stays."""
        if self._exact is not None and self._canonical is not None:
            self._exact.clear()
            self._canonical.clear()
        self._keeper.reset()

    def _answer(self, question: Question, *, use_z3: bool) -> _Answer:
        quick, method = self._remembered((question.digest, False), lambda: _quickly(question))
        if not use_z3 or quick != _GAVE_UP:
            return quick, method
        return self._remembered((question.digest, True), lambda: self._slowly(question))

    def _remembered(self, key: tuple[str, bool], find: Callable[[], _Answer]) -> _Answer:
        if self._canonical is None:
            return find()
        known = self._canonical.get(key)
        if known is not None:
            return known, "memo"
        answer = find()
        self._canonical.put(key, answer[0])
        return answer

    def _slowly(self, question: Question) -> _Answer:
        """Z3's verdict, from the disk if it was asked in any process before."""
        stored = DiskMemo(z3_version()) if self._disk else None
        found = stored.get(question.digest) if stored is not None else None
        if found is not None:
            return found, "disk"
        verdict = ask_z3(question.fact, question.assumptions, steps=self._steps or STEP_LIMIT)
        if stored is not None:
            stored.put(question.digest, verdict)
        return verdict, "none" if isinstance(verdict, Unknown) else "z3"


def _quickly(question: Question) -> _Answer:
    found = decide(question.fact, question.assumptions)
    match found:
        case Proved(by):
            return found, by
        case Refuted():
            return found, "candidate"
        case None:
            return _GAVE_UP, "none"


_DEFAULT = Prover()


def default_prover() -> Prover:
    """The process's prover, with its memo and statistics."""
    return _DEFAULT
