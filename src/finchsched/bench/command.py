"""`finchsched bench run SUITE`: run a suite of benchmarks, print its table and write its figures as JSON."""

import argparse
from pathlib import Path

from finchsched.bench.kernels import run_suite
from finchsched.bench.latency import run_latency

__all__ = ["add_arguments", "run"]

_SUITES = {"kernels": run_suite, "latency": run_latency}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`run SUITE`, what of it, and how often."""
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    action = actions.add_parser("run", help="run a suite", description="Run a suite of benchmarks.")
    about = "kernels: everyday sparse kernels, on one thread; latency: imports, first results, tiny operands"
    action.add_argument("suite", choices=sorted(_SUITES), help=about)
    action.add_argument("--json", type=Path, metavar="FILE", help="write the figures here as JSON")
    action.add_argument(
        "--only", action="append", metavar="NAMES", help="only these kernels or measures, as in spmv,add"
    )
    action.add_argument("--data", action="append", metavar="SETS", help="these data sets only, as in small,rmat")
    action.add_argument("--repeats", type=_positive, default=15, metavar="N", help="rounds a comparison (default 15)")
    action.add_argument("--seconds", type=float, metavar="S", help="end a comparison after about this long")


def run(arguments: argparse.Namespace) -> int:
    """The exit status of the suite: 1 if a result was wrong or a kernel failed, else 0.

    Raises UnknownNameError for a kernel or data set that there is not, FileNotFoundError before anything runs if the
    JSON file has no folder to go to.
    """
    path: Path | None = arguments.json
    if path is not None and not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} to")
    return _SUITES[arguments.suite](
        path,
        only=_names(arguments.only),
        data=_names(arguments.data),
        repeats=arguments.repeats,
        max_seconds=arguments.seconds,
    )


def _names(given: list[str] | None) -> tuple[str, ...]:
    """Names given one by one or joined by commas."""
    return tuple(name.strip() for text in given or () for name in text.split(",") if name.strip())


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a whole number from 1")
    return int(text)
