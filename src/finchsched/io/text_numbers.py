"""Columns of numbers in text: parsed in bulk, and line by line where a line is odd or wrong.

Both ways accept the same texts and give the same values.  The bulk way answers None for whatever it is not sure of, so
every error message comes from the line-by-line way, which knows the line number.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from finchsched.errors import FileFormatError
from finchsched.io.text_source import TextBlock, TextSource, shown

__all__ = ["Column", "parse_rows"]

Number: TypeAlias = int | float

_SPACE = b" \t\r\n"
_INTEGER_BYTES = b"0123456789+-" + _SPACE
_REAL_BYTES = _INTEGER_BYTES + b".eEinfatyINFATY"  # the letters of inf, infinity and nan
_INTEGER = re.compile(rb"[+-]?[0-9]+")
_REAL = re.compile(rb"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)", re.IGNORECASE)
_FORTRAN_REAL = re.compile(rb"[+-]?[0-9.]+d[+-]?[0-9]+", re.IGNORECASE)
_COMMENT_LINE = re.compile(rb"^[ \t\r]*%[^\n]*", re.MULTILINE)
_MISPLACED_SIGN = re.compile(rb"[0-9+-][+-]|[+-](?![0-9])")
_INT64_MIN, _INT64_MAX, _UINT64_MAX = -(2**63), 2**63 - 1, 2**64 - 1
_BULK_INTEGER_LIMIT = 10**18  # np.fromstring saturates at the int64 limits, so larger magnitudes are parsed one by one


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: what a message calls it, and whether its numbers are int64 or float64."""

    name: str
    kind: Literal["integer", "real"]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type of the parsed column."""
        return np.dtype(np.int64 if self.kind == "integer" else np.float64)


def parse_rows(source: TextSource, block: TextBlock, columns: Sequence[Column]) -> list[NDArray[Any]]:
    """The numbers of `block`, one array of shape (rows,) a column; blank lines and `%` comment lines are skipped.

    Integers are exact; reals are rounded correctly.  Raises FileFormatError, naming the line, for a line with another
    number of tokens, for a token that is not a number of its column's kind, and for an integer outside int64.
    """
    parsed = _parse_in_bulk(block.data, columns)
    return _parse_by_line(source, block, columns) if parsed is None else parsed


def _parse_in_bulk(data: bytes, columns: Sequence[Column]) -> list[NDArray[Any]] | None:
    if b"%" in data:
        data = _COMMENT_LINE.sub(b"", data)
    width = len(columns)
    all_integer = all(column.kind == "integer" for column in columns)
    if data.translate(None, _INTEGER_BYTES if all_integer else _REAL_BYTES):
        return None
    if not _every_line_has(data, width):
        return None
    if all_integer:
        flat = _bulk_integers(data)
        return None if flat is None else [flat[k::width] for k in range(width)]
    tokens = data.split()
    parsed = []
    for k, column in enumerate(columns):
        texts = tokens[k::width]
        values = _bulk_integers(b" ".join(texts)) if column.kind == "integer" else _bulk_reals(texts)
        if values is None:
            return None
        parsed.append(values)
    return parsed


def _every_line_has(data: bytes, width: int) -> bool:
    """Whether each line has `width` tokens or none.  `data` must hold no control bytes other than white space."""
    text = np.frombuffer(data, dtype=np.uint8)
    solid = text > ord(" ")
    starts = solid.copy()
    starts[1:] &= ~solid[:-1]
    line_ends = np.append(np.flatnonzero(text == ord("\n")), text.size)
    counts = np.diff(np.searchsorted(np.flatnonzero(starts), line_ends), prepend=0)
    return bool(np.all((counts == width) | (counts == 0)))


def _bulk_integers(data: bytes) -> NDArray[np.int64] | None:
    if not data.strip():
        return np.empty(0, dtype=np.int64)
    if data.translate(None, _INTEGER_BYTES):
        return None
    if (b"-" in data or b"+" in data) and _MISPLACED_SIGN.search(data):
        return None
    values = np.fromstring(data, dtype=np.int64, sep=" ")
    if values.max() >= _BULK_INTEGER_LIMIT or values.min() <= -_BULK_INTEGER_LIMIT:
        return None
    return values


def _bulk_reals(texts: list[bytes]) -> NDArray[np.float64] | None:
    try:
        return np.fromiter(map(float, texts), dtype=np.float64, count=len(texts))
    except ValueError:
        return None


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
    return [np.array(values, dtype=column.dtype) for column, values in zip(columns, rows, strict=True)]


def _parse_token(source: TextSource, line: int, column: Column, token: bytes) -> Number:
    if column.kind == "real":
        if not _REAL.fullmatch(token):
            raise _not_a_real(source, line, column, token)
        return float(token)
    if not _INTEGER.fullmatch(token):
        hint = "a file with fractions, inf or nan needs the field real" if _REAL.fullmatch(token) else None
        raise source.refusal(line, f"{shown(token)} as {column.name}", "an integer", hint)
    digits = token.lstrip(b"+-").lstrip(b"0") or b"0"
    value = int(digits) if len(digits) <= len(str(_UINT64_MAX)) else _UINT64_MAX + 1
    value = -value if token.startswith(b"-") else value
    if not _INT64_MIN <= value <= _INT64_MAX:
        raise _beyond_int64(source, line, column, token, value)
    return value


def _not_a_real(source: TextSource, line: int, column: Column, token: bytes) -> FileFormatError:
    hint = "write the exponent with e instead of Fortran's d" if _FORTRAN_REAL.fullmatch(token) else None
    return source.refusal(line, f"{shown(token)} as {column.name}", "a number", hint)


def _beyond_int64(source: TextSource, line: int, column: Column, token: bytes, value: int) -> FileFormatError:
    hint = "values that large can be read, rounded, under the field real"
    if _INT64_MAX < value <= _UINT64_MAX:
        hint = f"unsigned 64-bit values are not supported by this reader; {hint}"
    expected = f"an integer from {_INT64_MIN} to {_INT64_MAX} (int64)"
    return source.refusal(line, f"{shown(token)} as {column.name}", expected, hint)
