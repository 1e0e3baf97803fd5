"""Ask Z3: a fresh context for each question, fixed seeds, and a limit that counts steps.

In a context that is shared, earlier questions change later models; a limit of time would make verdicts depend on the
machine's load.  A model that Z3 gives is minimised, smallest sum of absolute values first, then each symbol in
canonical order, so that it is the same for any version that finds one; `finchsched.prove.evaluate` has the last word.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from types import ModuleType
from typing import Any

from finchsched.ast.node import Node, children, distinct
from finchsched.ast.proof import Fact, Number, Product, Proved, Quotient, Refuted, Remainder, Sum, Unknown, Verdict
from finchsched.prove.candidates import model_of, symbols_of
from finchsched.prove.evaluate import CannotEvaluate, Values, is_counterexample
from finchsched.prove.z3_terms import Translator

__all__ = ["ask_z3", "z3_version"]

STEP_LIMIT = 3_000_000
"""Z3's `rlimit` for the question itself: one to three seconds of 2020s hardware."""

_MODEL_STEP_LIMIT = 300_000
"""For each of the questions that minimise a model."""

_MAX_PARTS = 3000
_MAX_DEPTH = 400
_MAX_DEGREE = 8
_MAX_MINIMISED = 12

_ONE_AT_A_TIME = threading.Lock()
"""Contexts are independent, but the bindings' clean-up is not safe beside a running query of another thread."""


def z3_version() -> str:
    """The version of Z3, which verdicts on disk depend on.  Does not import it, which takes longer than most proofs."""
    from importlib.metadata import version  # 18 ms that quick questions need not pay

    return version("z3-solver")


def ask_z3(fact: Fact, assumptions: Sequence[Fact], *, steps: int = STEP_LIMIT) -> Verdict:
    """Whether a fact follows from assumptions, both in canonical form; steps: the most that Z3 may do."""
    import z3

    if _is_too_large((fact, *assumptions)):
        return Unknown("the question is too large for Z3")
    with _ONE_AT_A_TIME:
        query = _Query.ask(z3, fact, assumptions, steps)
        match str(query.result):
            case "unsat":
                return Proved("z3")
            case "sat":
                return query.counterexample(fact, tuple(assumptions))
            case _:
                return Unknown(query.reason(steps))


@dataclass(slots=True)
class _Query:
    """A question put to Z3, with what it answered first."""

    z3: ModuleType
    solver: Any
    terms: Translator
    result: Any

    @classmethod
    def ask(cls, z3: ModuleType, fact: Fact, assumptions: Sequence[Fact], steps: int) -> "_Query":
        ctx = z3.Context()
        terms = Translator(z3, ctx)
        solver = z3.SimpleSolver(ctx=ctx)
        solver.set("random_seed", 0)
        solver.set("rlimit", steps)
        for assumption in assumptions:
            solver.add(terms.holds(assumption))
        solver.add(z3.Not(terms.holds(fact)))
        solver.add(*terms.laws)
        return cls(z3, solver, terms, solver.check())

    def reason(self, steps: int) -> str:
        """Why Z3 does not know, in words that do not depend on its version."""
        found = self.solver.reason_unknown()
        if "resource" in found or "canceled" in found or "rlimit" in found:
            return f"the prover's limit of {steps} steps was reached"
        return "Z3 finds neither a proof nor a counterexample"

    def counterexample(self, fact: Fact, assumptions: tuple[Fact, ...]) -> Refuted | Unknown:
        """The smallest model that the meaning of the fact confirms."""
        names = symbols_of((fact, *assumptions))
        confirmed = _confirmed(self, self.solver.model(), names, fact, assumptions)
        try:
            smaller = self._minimised()
        except CannotEvaluate:
            smaller = None
        if smaller is not None:
            confirmed = _confirmed(self, smaller, names, fact, assumptions) or confirmed
        return confirmed or Unknown("Z3 proposes a counterexample that evaluation does not confirm")

    def _minimised(self) -> Any:
        """A model with the smallest sum of absolute values, then with each value nearest to 0; None if that fails."""
        model = self.solver.model()
        targets = [*self.terms.symbols.values(), *self.terms.reads.values()]
        if len(targets) > _MAX_MINIMISED:
            return None
        self.solver.set("rlimit", _MODEL_STEP_LIMIT)
        sizes = [self.z3.If(target < 0, -target, target) for target in targets]
        total = self.z3.Sum([*sizes, self.z3.IntVal(0, self.terms.ctx)])
        model = self._smallest(total, model)
        for target, size in zip(targets, sizes, strict=True):
            model = self._smallest(size, model)
            if self._check(target >= 0):
                model = self.solver.model()
                self.solver.add(target >= 0)
        return model

    def _smallest(self, target: Any, model: Any) -> Any:
        """Bisect for the smallest value of a target that is not negative, and keep it from now on."""
        low, high = 0, _number(model, target)
        while low < high:
            middle = (low + high) // 2
            if self._check(target <= middle):
                model = self.solver.model()
                high = _number(model, target)
            else:
                low = middle + 1
        self.solver.add(target == high)
        return model

    def _check(self, condition: Any) -> bool:
        return str(self.solver.check(condition)) == "sat"


def _number(model: Any, term: Any) -> int:
    value = model.eval(term, model_completion=True)
    if not hasattr(value, "as_long"):
        raise CannotEvaluate("the model has no number for a term")
    return int(value.as_long())


def _confirmed(
    query: _Query, model: Any, names: list[str], fact: Fact, assumptions: tuple[Fact, ...]
) -> Refuted | None:
    def element(_: Values, array: str, index: int) -> int:
        return _number(model, query.terms.array(array)(index))

    try:
        values = Values({name: _number(model, query.terms.symbols[name]) for name in names}, {}, element)
        if is_counterexample(fact, assumptions, values):
            return Refuted(model_of(names, values))
    except CannotEvaluate:
        pass  # a range of too many elements, or a number too large: no counterexample that a person could read
    return None


def _is_too_large(facts: Sequence[Fact]) -> bool:
    """Z3 recurses over terms and multiplies products out, without counting that as steps."""
    size: dict[int, tuple[int, int, int]] = {}
    for fact in facts:
        for node in distinct(fact):
            size[id(node)] = depth, degree, monomials = _size(node, [size[id(child)] for child in children(node)])
            if len(size) > _MAX_PARTS or depth > _MAX_DEPTH or degree > _MAX_DEGREE or monomials > _MAX_PARTS:
                return True
    return False


def _size(node: Node, below: list[tuple[int, int, int]]) -> tuple[int, int, int]:
    """The depth of a node, its degree, and how many monomials it has when multiplied out."""
    depth = 1 + max([each[0] for each in below], default=0)
    degrees, monomials = [each[1] for each in below], [each[2] for each in below]
    match node:
        case Number():
            return depth, 0, 1
        case Sum():
            return depth, max(degrees, default=0), sum(monomials)
        case Product():
            return depth, sum(degrees), prod(monomials)
        case Quotient() | Remainder():
            # Defined by `dividend - divisor * quotient`.
            return depth, max(degrees[0], degrees[1] + 1), sum(monomials)
        case _:
            return depth, 1, 1
