"""From claims about Kernel IR to the prover's facts: machine integers to unbounded ones.

Kernel variables become symbols.  A kernel's unsigned integers are coordinates, positions and extents, which levels and
shapes keep in 0 .. 2**63; so a conversion between them and int64 changes nothing.  Arithmetic may wrap around: each
operation of a claim has its own obligation that it does not, and where that cannot be shown nothing is.
"""

from collections.abc import Collection, Sequence

from finchsched.algebra.dtypes import INT64, UINT64, DType
from finchsched.ast.kernel import Apply, Cast, Const, KernelExpr, Var
from finchsched.ast.proof import Compare, Fact, IntTerm, Number, Proof, Proved, Symbol, Unknown, Verdict
from finchsched.passes.lower.decisions import Claim
from finchsched.passes.lower.int_terms import EXTREMES, INT_TERMS, fits_64_bits
from finchsched.prove.candidates import symbols_of
from finchsched.prove.obligations import in_range
from finchsched.prove.prover import default_prover
from finchsched.prove.relevance import facts_about

__all__ = ["ask"]

_TYPES = (INT64, UINT64)
_COORDINATES = (Number(0), Number(1 << 63))


def ask(what: str, claim: Claim, given: Sequence[Claim]) -> Proof:
    """A claim as a question, with what is given about the variables in it, and its answer."""
    question = _Translation(claim)
    known = [each for each in map(_Translation, given) if each.complete]
    coordinates = frozenset().union(question.unsigned, *(each.unsigned for each in known))
    plain = tuple(each.fact for each in known if not each.obligations)
    # A claim with arithmetic says the same of unbounded integers if it is known not to wrap around.
    near = facts_about(question.fact, tuple(each.fact for each in known))
    exact = tuple(
        each.fact
        for each in known
        if each.obligations and each.fact in near and not _first_unproved(each.obligations, plain, coordinates)
    )
    for obligation in _first_unproved(question.obligations, plain + exact, coordinates):
        assumptions = _assumptions(obligation, plain + exact, coordinates)
        return Proof(what, obligation, assumptions, Unknown("an integer may exceed 64 bits"))
    assumptions = _assumptions(question.fact, plain + exact, coordinates)
    if not question.complete:
        return Proof(what, question.fact, assumptions, Unknown("it has a part that is not integer arithmetic"))
    return Proof(what, question.fact, assumptions, _holds(question.fact, assumptions))


def _holds(fact: Fact, assumptions: tuple[Fact, ...]) -> Verdict:
    return default_prover().holds(fact, assumptions, use_z3=False)


def _first_unproved(
    obligations: Sequence[Fact], facts: tuple[Fact, ...], coordinates: Collection[str]
) -> tuple[Fact, ...]:
    """The first obligation that does not follow; nothing if all do."""
    for obligation in obligations:
        if not isinstance(_holds(obligation, _assumptions(obligation, facts, coordinates)), Proved):
            return (obligation,)
    return ()


def _assumptions(question: Fact, facts: tuple[Fact, ...], coordinates: Collection[str]) -> tuple[Fact, ...]:
    """What may be relied on: facts that have to do with the question, and the range of every coordinate in them."""
    about = facts_about(question, facts)
    names = symbols_of((question, *about))
    return (*(in_range(Symbol(name), *_COORDINATES) for name in names if name in coordinates), *about)


class _Translation:
    """A claim as a fact.

    obligations: that no operation in it wraps around.  unsigned: names of its coordinates, positions and extents.
    complete: everything in it is integer arithmetic.
    """

    def __init__(self, claim: Claim) -> None:
        self.obligations: list[Fact] = []
        self.unsigned: set[str] = set()
        self.complete = True
        name, left, right = claim
        self.fact = Compare(name, self._term(left), self._term(right))

    def _term(self, expr: KernelExpr) -> IntTerm:
        match expr:
            case Const(value, _) if isinstance(value, int):
                return Number(int(value))
            case Var(name, dtype) if dtype in _TYPES:
                if dtype == UINT64:
                    self.unsigned.add(name)
                return Symbol(name)
            case Cast(inner, dtype) if dtype in _TYPES:
                return self._term(inner)
            case Apply(op, args, dtype) if dtype in _TYPES and op.name in INT_TERMS:
                return self._applied(op.name, [self._term(arg) for arg in args], dtype)
            case _:
                self.complete = False
                return Number(0)

    def _applied(self, name: str, args: list[IntTerm], dtype: DType) -> IntTerm:
        term = INT_TERMS[name](args)
        if name not in EXTREMES:
            self.obligations.append(fits_64_bits(term, dtype))
        return term
