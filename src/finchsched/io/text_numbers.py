"""Columns of numbers in text: parsed in bulk, and line by line where a line is odd or wrong.

Both ways accept the same texts and give the same values.  The bulk way answers None for whatever it is not sure of, so
every error message comes from the line-by-line way, which knows the line number.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from finchsched.errors import FileFormatError
from finchsched.io.text_bulk import REAL, Kind, bulk_columns, find_table, real_number
from finchsched.io.text_source import TextBlock, TextSource, shown

__all__ = ["INT64_MAX", "INT64_MIN", "Column", "parse_rows"]

Number: TypeAlias = int | float

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

_BULK_BYTES = b"0123456789+-.eEdDinfatyINFATY \t\r\n"  # digits, signs, exponents, the letters of inf, infinity and nan
_INTEGER = re.compile(rb"[+-]?[0-9]+")
_UINT64_MAX = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: what a message calls it, and what its numbers are.

    index: int64.  real: float64.  integer: int64, but where a block holds larger numbers, which go up to 2**64 - 1,
    uint64, or Python integers if some of the block's numbers are negative.
    """

    name: str
    kind: Kind

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type of a column of no rows."""
        return np.dtype(np.float64 if self.kind == "real" else np.int64)


def parse_rows(source: TextSource, block: TextBlock, columns: Sequence[Column]) -> list[NDArray[Any]]:
    """The numbers of `block`, one array of shape (rows,) a column; blank lines and comment lines are skipped.

    Integers are exact; reals are rounded correctly.  Raises FileFormatError, naming the line, for a line with another
    number of tokens, for a token that is not a number of its column's kind, and for an integer that is too large.
    """
    parsed = _parse_in_bulk(block, [column.kind for column in columns])
    return _parse_by_line(source, block, columns) if parsed is None else parsed


def _parse_in_bulk(block: TextBlock, kinds: Sequence[Kind]) -> list[NDArray[Any]] | None:
    data = block.without_comments()
    if not kinds or data.translate(None, _BULK_BYTES):
        return None
    table = find_table(data, len(kinds))
    return None if table is None else bulk_columns(table, kinds)


def _parse_by_line(source: TextSource, block: TextBlock, columns: Sequence[Column]) -> list[NDArray[Any]]:
    rows: list[list[Number]] = [[] for _ in columns]
    for line, tokens in block.data_lines():
        if len(tokens) != len(columns):
            raise source.refusal(
                line,
                f"{len(tokens)} word{'s' if len(tokens) > 1 else ''} in {shown(b' '.join(tokens))}",
                f"{len(columns)} a line ({', '.join(column.name for column in columns)})",
            )
        for column, token, values in zip(columns, tokens, rows, strict=True):
            values.append(_parse_token(source, line, column, token))
    return [_array(values, column) for values, column in zip(rows, columns, strict=True)]


def _array(values: list[Number], column: Column) -> NDArray[Any]:
    if column.kind == "integer" and max(values, default=0) > INT64_MAX:
        return np.array(values, dtype=object if min(values) < 0 else np.uint64)
    return np.array(values, dtype=column.dtype)


def _parse_token(source: TextSource, line: int, column: Column, token: bytes) -> Number:
    if column.kind == "real":
        if not REAL.fullmatch(token):
            raise source.refusal(line, f"{shown(token)} as {column.name}", "a number")
        return real_number(token)
    if not _INTEGER.fullmatch(token):
        hint = None
        if column.kind == "integer" and REAL.fullmatch(token):
            hint = "a file with fractions, inf or nan needs the field real; it can be read with dtype=float"
        raise source.refusal(line, f"{shown(token)} as {column.name}", "an integer", hint)
    digits = token.lstrip(b"+-").lstrip(b"0") or b"0"
    value = int(digits) if len(digits) <= len(str(_UINT64_MAX)) else _UINT64_MAX + 1
    value = -value if token.startswith(b"-") else value
    largest = INT64_MAX if column.kind == "index" else _UINT64_MAX
    if not INT64_MIN <= value <= largest:
        raise _beyond_64_bits(source, line, column, token, largest)
    return value


def _beyond_64_bits(source: TextSource, line: int, column: Column, token: bytes, largest: int) -> FileFormatError:
    expected = f"an integer from {INT64_MIN} to {largest}"
    hint = "values that large can be read, rounded, with dtype=float" if column.kind == "integer" else None
    return source.refusal(line, f"{shown(token)} as {column.name}", expected, hint)
