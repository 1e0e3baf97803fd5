"""What lowering asks the prover before it leaves a guard out, and what it was told.

    with decisions.given(("le", ZERO, i), ("lt", i, n)):        in this part of the kernel
        decisions.proves("no lower clamp of j_stop", ("le", ZERO, i_plus_1))

A claim is a comparison of Kernel IR expressions.  Claims that are given hold wherever the code lowered inside the
`with` runs; claims that are proved from them license code that relies on it, everything else keeps its guard.  Only
quick methods are tried, so lowering never imports Z3; nor does it import the prover before the first question, which
everyday programs do not have.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from finchsched.ast.kernel import KernelExpr

if TYPE_CHECKING:
    from finchsched.ast.proof import Proof

__all__ = ["Claim", "Decisions"]

Claim: TypeAlias = tuple[str, KernelExpr, KernelExpr]
"""`(name, left, right)`: a comparison by its operator's name, of integers."""


class Decisions:
    """The claims in force, and every question with its answer.

    always: claims that hold in the whole nest.
    """

    def __init__(self, always: tuple[Claim, ...] = ()) -> None:
        self._given: list[Claim] = list(always)
        self._proofs: dict[tuple[str, Claim], Proof] = {}

    @contextmanager
    def given(self, *claims: Claim) -> Iterator[None]:
        """Add claims; they, and those assumed meanwhile, are forgotten at the end."""
        before = len(self._given)
        self._given += claims
        try:
            yield
        finally:
            del self._given[before:]

    def assume(self, claim: Claim) -> None:
        """Add a claim until the surrounding `given` ends."""
        self._given.append(claim)

    def proves(self, what: str, claim: Claim, *, guards: bool = True) -> bool:
        """Whether a claim follows from those in force.

        what: what that licenses, in words.  guards: a guard stays in the kernel if it does not; only then is a claim
        that could not be proved remembered.
        """
        from finchsched.passes.lower.ask_prover import ask

        proof = ask(what, claim, self._given)
        if proof.is_proved or guards:
            self._proofs.setdefault((what, claim), proof)
        return proof.is_proved

    @property
    def proofs(self) -> "tuple[Proof, ...]":
        """Questions and answers, in the order in which they were asked first."""
        return tuple(self._proofs.values())
