"""The command `finchsched`, and `python -m finchsched`.

A command is a module with `add_arguments(parser)` and `run(arguments) -> exit status`.  Only the module of the command
that was asked for is loaded, by its name: `cli` and `bench` do not import each other.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from finchsched.errors import FinchschedError
from finchsched.version import __version__

__all__ = ["COMMANDS", "Command", "main"]


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its name, the module that runs it, and a line of help."""

    name: str
    module: str
    summary: str


COMMANDS = (
    Command("demo", "finchsched.cli.demo", "fuse a sampled matrix product on a real matrix, beside SciPy"),
    Command("explain", "finchsched.cli.explain", "show what the compiler makes of an einsum"),
    Command("bench", "finchsched.bench.command", "time the kernel suite"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status: 0, 1 if a command found something wrong, 2 for bad input."""
    given = sys.argv[1:] if argv is None else list(argv)
    parser = argparse.ArgumentParser(prog="finchsched", description="A compiler for sparse and dense arrays.")
    parser.add_argument("--version", action="version", version=f"finchsched {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        child = commands.add_parser(
            command.name,
            help=command.summary,
            description=f"{command.summary[0].upper()}{command.summary[1:]}.",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if command.name in given[:1]:
            module = importlib.import_module(command.module)
            module.add_arguments(child)
            child.set_defaults(run=module.run)
    arguments = parser.parse_args(given)
    try:
        status: int = arguments.run(arguments)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        sys.stderr.close()
        return 0
    except (FinchschedError, OSError, MemoryError) as error:
        print(f"finchsched {given[0]}: {_message(error)}", file=sys.stderr)
        return 2
    return status


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__
