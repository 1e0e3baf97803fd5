"""`finchsched explain TEXT NAME=SPEC ...`: what the compiler makes of an einsum."""

import argparse

from finchsched.api import explain
from finchsched.cli import operands

__all__ = ["add_arguments", "run"]

_EXAMPLE = 'finchsched explain "S[i,j] += A[i,j]*X[i,k]*Y[j,k]" A=sample:west0067.mtx X=dense:67x16 Y=dense:67x16'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The einsum and its operands."""
    about = (operands.__doc__ or "").partition("\n\n")[2]
    parser.epilog = f"SPEC is one of\n\n{about}\nexample:\n    {_EXAMPLE}"
    parser.add_argument("text", metavar="TEXT", help="an einsum, such as C[i,j] += A[i,k]*B[k,j]")
    parser.add_argument("operands", nargs="*", metavar="NAME=SPEC", help="an operand of the einsum")
    parser.add_argument("--format", metavar="FORMAT", help="storage format of the result, such as csr or dense")


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation.  Raises FinchschedError and OSError for bad input."""
    bound = operands.parse_operands(arguments.operands)
    print(explain(arguments.text, formats=arguments.format, **bound))
    return 0
