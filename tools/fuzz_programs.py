"""Random einsum programs in random formats, each compared with the nested-loop oracle; kernels run un-jitted.

    python tools/fuzz_programs.py --cases 20000 --seed 1 [--thorough] [--keep 20]

Every case has a seed of its own, `<seed>:<number>`, so a failing one is made again by `--only <number>`.
`--thorough` also runs the interpreters of all IRs.  Prints each failure as a program that
`from strategies import *; from everywhere import *` can run, and at the end "N passed, M failed".
"""

import argparse
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from everywhere import check_backend, check_everywhere  # noqa: E402  # tests/ is not a package
from strategies import Seeded, random_program  # noqa: E402


def run_case(seed: int, number: int, thorough: bool) -> str | None:
    """None, or what went wrong."""
    program = random_program(Seeded(f"{seed}:{number}"))
    try:
        if thorough:
            check_everywhere(program)
        else:
            check_backend(program, "python")
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno} {last.name}"
        return f"case {number}: {type(error).__name__} in {where}: {error}\n    {program!r}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="number of the one case to run")
    parser.add_argument("--thorough", action="store_true", help="the interpreters too")
    parser.add_argument("--keep", type=int, default=20, help="how many failures to print")
    options = parser.parse_args()
    numbers = range(options.cases) if options.only is None else (options.only,)
    start, failed = time.perf_counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FINCHSCHED_CACHE_DIR"] = folder
        for number in numbers:
            problem = run_case(options.seed, number, options.thorough)
            if problem is not None:
                failed += 1
                if failed <= options.keep:
                    print(problem, flush=True)
    print(f"{len(numbers) - failed} passed, {failed} failed in {time.perf_counter() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
