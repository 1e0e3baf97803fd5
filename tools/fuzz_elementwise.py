"""Compare the eager array interface with an independent model on random small arrays, a million unless told otherwise.

    python tools/fuzz_elementwise.py [--cases N] [--seed S] [--backend numba|python] [--kinds K] [--size M] [--batch B]

A case is one operation on one, two or three arrays.  Those of a batch are of one kind: operation, element types,
storage formats, fills, index widths and extents are the same, so that they share a plan; values and what is stored
vary.  Kinds take turns.  The first are `A * B`, `A + B` and `A.sum()` of common 8 x 8 matrices, the others are drawn
from the seed; compiled, K is 360 unless told otherwise, because each costs a plan; uncompiled, every batch has its own.

Compared are element type, shape and values (exactly, except functions that libraries round differently), the fill of a
sparse result, and the stored positions where the semantics fixes them; what has to be refused must be.  Prints every
failure with how to run its batch again, and `N passed, M failed`; exits with 1 if there is a failure.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np

import finchsched as fs
from array_fuzz.check import difference, refusal
from array_fuzz.classic import CLASSIC
from array_fuzz.elementwise import binary, casts, clips, scalars, unary, wheres
from array_fuzz.forms import build
from array_fuzz.kinds import Draw, Kind
from array_fuzz.model import Batch
from array_fuzz.products import einsums, matmuls, named_einsums
from array_fuzz.rearranging import conversions, joins, masks, moves, scipy_trips, subscripts, views
from array_fuzz.reductions import arg_extremes, reductions
from array_fuzz.values import draw
from finchsched.settings import current

KINDS, SIZE = 360, 500
UNCOMPILED_SIZE = 10

FAMILIES: tuple[tuple[Callable[[Draw], Kind], int], ...] = (
    (binary, 24),
    (scalars, 12),
    (unary, 12),
    (reductions, 14),
    (wheres, 4),
    (clips, 2),
    (casts, 4),
    (matmuls, 5),
    (einsums, 5),
    (named_einsums, 6),
    (views, 3),
    (subscripts, 6),
    (masks, 3),
    (moves, 6),
    (joins, 4),
    (conversions, 4),
    (arg_extremes, 3),
    (scipy_trips, 3),
)
"""What draws a kind, and how likely it is."""


@cache
def drawn_kind(seed: int, number: int) -> Kind:
    """The kind of a number: the classic ones first."""
    if number < len(CLASSIC):
        return CLASSIC[number]
    draw = Draw(seed, 1, number)
    return draw.pick([family for family, weight in FAMILIES for _ in range(weight)])(draw)


@dataclass(frozen=True, slots=True)
class Plan:
    """Which cases there are: batches of `size`, whose kinds come again after `kinds`, or never if that is 0."""

    seed: int = 0
    kinds: int = KINDS
    size: int = SIZE

    def kind(self, number: int) -> Kind:
        """The kind of a batch."""
        return drawn_kind(self.seed, number % self.kinds if self.kinds else number)

    def again(self, number: int) -> str:
        """How to run one batch."""
        options = f"--seed {self.seed} --kinds {self.kinds} --size {self.size} --batch {number}"
        return f"--backend {current().backend} {options}"


def problems(kind: Kind, rng: np.random.Generator, cases: int) -> Iterator[str]:
    """What is wrong with each of `cases` cases of a kind; empty if nothing is."""
    batches, tensors = [], []
    for spec in kind.operands:
        made, values, stored = build(spec, *draw(rng, spec, cases))
        tensors.append(made)
        batches.append(Batch(values, stored, spec.numpy_fill))
    expected, wanted = attempt(partial(kind.expect, *batches))
    for n, operands in enumerate(zip(*tensors, strict=True)):
        result, error = attempt(partial(kind.run, *operands))
        if error is None and wanted is None:
            found, error = attempt(partial(difference, result, expected, n))
            yield found if error is None else refusal(error, None)
        else:
            yield refusal(error, wanted)


def attempt(function: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """(the result, None) or (None, what was raised)."""
    try:
        with np.errstate(all="ignore"):
            return function(), None
    except Exception as error:
        return None, error


def run(
    cases: int,
    plan: Plan = Plan(),
    report: Callable[[str], None] = print,
    kind_of: Callable[[int], Kind] | None = None,
    first: int = 0,
) -> tuple[int, int]:
    """(passed, failed) of so many cases from batch `first` on; the first failure of a batch is reported.

    kind_of: the kind of each batch, if not that of the plan.
    """
    passed = failed = 0
    start = time.perf_counter()
    number = first
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's, of means of nothing
        while passed + failed < cases:
            kind = (kind_of or plan.kind)(number)
            rng = np.random.default_rng((plan.seed, 2, number))
            found = list(islice(problems(kind, rng, plan.size), cases - passed - failed))
            wrong = [n for n, problem in enumerate(found) if problem]
            passed, failed = passed + len(found) - len(wrong), failed + len(wrong)
            if wrong:
                more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
                report(f"{kind}\n    {plan.again(number)}, case {wrong[0]}{more}: {found[wrong[0]]}")
            number += 1
            show_progress(passed + failed, cases, start, number)
    return passed, failed


def show_progress(done: int, cases: int, start: float, number: int) -> None:
    """A line that is written over on a terminal; elsewhere one now and then."""
    if sys.stderr.isatty() or number % 100 == 0:
        rate = done / (time.perf_counter() - start)
        end = "\r" if sys.stderr.isatty() else "\n"
        print(f"{done} of {cases} cases, {rate:.0f} a second", end=end, file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare the array interface with a model on random small arrays.")
    parser.add_argument("--cases", type=int, default=1_000_000, help="how many (1000000)")
    parser.add_argument("--seed", type=int, default=0, help="where the random numbers start (0)")
    parser.add_argument("--backend", choices=("numba", "python"), default="numba", help="compiled or plain kernels")
    parser.add_argument("--kinds", type=int, help=f"how many kinds take turns ({KINDS}; uncompiled 0, no bound)")
    parser.add_argument("--size", type=int, help=f"cases of a batch ({SIZE}; uncompiled {UNCOMPILED_SIZE})")
    parser.add_argument("--batch", type=int, help="the one batch to run")
    options = parser.parse_args(arguments)
    plain = options.backend == "python"
    plan = Plan(
        options.seed,
        options.kinds if options.kinds is not None else 0 if plain else KINDS,
        options.size or (UNCOMPILED_SIZE if plain else SIZE),
    )
    cases, first = (options.cases, 0) if options.batch is None else (plan.size, options.batch)
    with fs.config(backend=options.backend):
        passed, failed = run(cases, plan, first=first)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
