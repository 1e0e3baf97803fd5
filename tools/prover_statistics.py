"""What the prover is asked, how it answers, and how long that takes: `python tools/prover_statistics.py`.

First the corpus of the tests, each question asked once without any memory; then what planning, compiling and explaining
the programs of the kernel suite asks, each program on its own.  Kernels are not jitted, and nothing is kept on disk.
"""

import argparse
import importlib
import os
import sys
import tempfile
from pathlib import Path

from finchsched import api
from finchsched.bench.data import uniform
from finchsched.bench.kernels import CASES, SPECIAL, Inputs
from finchsched.prove.prover import Prover, default_prover
from finchsched.prove.statistics import table
from finchsched.settings import config

TESTS = Path(__file__).resolve().parent.parent / "tests"


def corpus() -> str:
    """The table of the corpus."""
    sys.path.insert(0, str(TESTS))
    cases = importlib.import_module("unit.prove.corpus").CORPUS
    prover = Prover(memory=False, disk=False)
    for case in cases:
        prover.holds(case.fact, case.assumptions)
    return f"corpus: {len(cases)} questions\n{table(prover.statistics)}"


def kernels() -> str:
    """The table of the kernel suite, and how many questions each program asked."""
    inputs = Inputs(uniform(100, 1_000))
    prover = default_prover()
    prover.forget()
    lines: list[str] = []
    with config(backend="python"):
        for case in CASES:
            if case.name not in SPECIAL:
                before = prover.statistics.questions
                tensors = {name: api.asarray(array) for name, array in case.inputs(inputs).items()}
                options = {"formats": dict(case.formats)} if case.formats else {}
                api.explain(api.plan(case.program, **tensors, **options))
                lines.append(f"  {case.name:<10}{prover.statistics.questions - before:>5}   {case.program}")
    questions = prover.statistics.questions
    return "\n".join([f"kernel suite: {questions} questions", *lines, table(prover.statistics)])


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # Plans and proofs of earlier runs would answer before anything is asked.
        os.environ["FINCHSCHED_CACHE_DIR"] = folder
        print(corpus())
        print()
        print(kernels())


if __name__ == "__main__":
    main()
