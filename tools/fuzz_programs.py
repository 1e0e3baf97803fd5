"""Random einsum programs in random formats, each compared with the nested-loop oracle; kernels run un-jitted.

    python tools/fuzz_programs.py --cases 20000 --seed 1 [--thorough] [--keep 20]

Every case has a seed of its own, `<seed>:<number>`, so a failing one is made again by `--only <number>`.
`--thorough` also runs the interpreters of all IRs.  Each failing program is made smaller and printed as text that
`from strategies import *; from everywhere import *` can run; at the end stands "N passed, M failed".
"""

import argparse
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from everywhere import check_backend, check_everywhere
from reduce_program import reduce_program
from strategies import Program, Seeded, random_program


def problem_of(program: Program, thorough: bool) -> str | None:
    """None, or what went wrong."""
    try:
        if thorough:
            check_everywhere(program)
        else:
            check_backend(program, "python")
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno} {last.name}: {error}"
    return None


def kind_of(problem: str | None) -> str:
    """What a reduced program must still show."""
    return "" if problem is None else problem.split(" in ")[0]


def report(number: int, program: Program, problem: str, thorough: bool) -> None:
    smaller = reduce_program(program, lambda one: kind_of(problem_of(one, thorough)) == kind_of(problem))
    print(f"case {number}: {problem_of(smaller, thorough)}\n    {smaller!r}\n    from {program!r}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="number of the one case to run")
    parser.add_argument("--thorough", action="store_true", help="the interpreters too")
    parser.add_argument("--keep", type=int, default=20, help="how many failures to print")
    options = parser.parse_args()
    numbers = range(options.cases) if options.only is None else (options.only,)
    start, passed, failed = time.perf_counter(), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FINCHSCHED_CACHE_DIR"] = folder
        for number in numbers:
            program = random_program(Seeded(f"{options.seed}:{number}"))
            problem = problem_of(program, options.thorough)
            passed, failed = passed + (problem is None), failed + (problem is not None)
            if problem is not None and failed <= options.keep:
                report(number, program, problem, options.thorough)
    print(f"{passed} passed, {failed} failed in {time.perf_counter() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
