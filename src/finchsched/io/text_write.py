"""Columns of numbers to text."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from finchsched.io.atomic import replace_file
from finchsched.io.compression import compressed

__all__ = ["create_text", "write_comment", "write_rows"]

_ROWS_AT_ONCE = 1 << 16


@contextmanager
def create_text(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A text file that appears under `path` when the block ends, compressed if its name says so."""
    with replace_file(path) as raw, compressed(raw, os.fspath(path)) as stream:
        yield stream


def write_comment(stream: BinaryIO, comment: str, mark: str) -> None:
    """Each line of `comment` after a `mark`."""
    for line in comment.splitlines():
        stream.write(f"{mark} {line}".rstrip().encode(errors="backslashreplace") + b"\n")


def write_rows(stream: BinaryIO, columns: Sequence[NDArray[Any]]) -> None:
    """A line for each k with `columns[.][k]`.

    Integers are exact, bools 0 and 1, floats the shortest decimals that read back as the same float64, complex numbers
    two of them.
    """
    parts = [part for column in columns for part in _parts(column)]
    for start in range(0, len(parts[0]) if parts else 0, _ROWS_AT_ONCE):
        texts = [map(repr, part[start : start + _ROWS_AT_ONCE].tolist()) for part in parts]
        stream.write(("\n".join(map(" ".join, zip(*texts, strict=True))) + "\n").encode("ascii"))


def _parts(column: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    match column.dtype.kind:
        case "c":
            return column.real, column.imag
        case "b":
            return (column.astype(np.int8),)
        case _:
            return (column,)
