"""A text file read forward in bounded pieces, with line numbers, plain or compressed.

Nothing here believes what a file says about its own size: a piece has at most `BLOCK_BYTES + LINE_BYTES`, however large
the file is or claims to be.
"""

import os
import re
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from finchsched.errors import FileFormatError
from finchsched.io.compression import DAMAGE, decompressed
from finchsched.io.kinds import suffix_of

__all__ = ["BLOCK_BYTES", "LINE_BYTES", "TextBlock", "TextSource", "open_text", "shown"]

BLOCK_BYTES = 1 << 19
LINE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Consecutive whole lines of a file: their bytes, and the one-based number of the first of them.

    A line whose first word begins with `comment` is a comment.
    """

    first_line: int
    data: bytes
    comment: bytes

    def data_lines(self) -> Iterator[tuple[int, list[bytes]]]:
        """Each line that is neither blank nor a comment, as (one-based line number, its tokens)."""
        for number, line in enumerate(self.data.split(b"\n"), self.first_line):
            tokens = line.split()
            if tokens and not tokens[0].startswith(self.comment):
                yield number, tokens

    def without_comments(self) -> bytes:
        """The text with comments made blank lines."""
        if self.comment not in self.data:
            return self.data
        return re.sub(rb"^[ \t\r]*" + re.escape(self.comment) + rb"[^\n]*", b"", self.data, flags=re.MULTILINE)


class TextSource:
    """An open file at some line.  `line` counts the lines read so far, so it is the number of the last one read."""

    def __init__(self, path: str, stream: BinaryIO, comment: bytes) -> None:
        self.path = path
        self.comment = comment
        self.line = 0
        self._stream = stream

    def read_line(self) -> bytes | None:
        """The next line with its line end, or None at the end of the file.

        Raises FileFormatError for a line of over LINE_BYTES and for damaged compression.
        """
        line = self._read_through_line_end()
        if not line:
            return None
        self.line += 1
        return line

    def blocks(self) -> Generator[TextBlock, None, None]:
        """The rest of the file in blocks of whole lines, each of about BLOCK_BYTES.  Raises like `read_line`.

        A thread decompresses the next block while the caller works on one.
        """
        with ThreadPoolExecutor(max_workers=1) as ahead:
            following = ahead.submit(self._stream.read, BLOCK_BYTES)
            while True:
                with self._decompression_errors():
                    data = following.result()
                if not data:
                    return
                if not data.endswith(b"\n"):
                    data += self._read_through_line_end(data)
                following = ahead.submit(self._stream.read, BLOCK_BYTES)
                first_line = self.line + 1
                self.line += _line_ends(data) + (not data.endswith(b"\n"))
                yield TextBlock(first_line, data, self.comment)

    def refusal(self, line: int, found: str, expected: str, hint: str | None = None) -> FileFormatError:
        """The error for `line` (one-based): what was found there, what was expected, and what may help."""
        text = f"{self.path}, line {line}: found {found}, expected {expected}"
        return FileFormatError(text if hint is None else f"{text}\nhint: {hint}")

    def _read_through_line_end(self, before: bytes = b"") -> bytes:
        """The rest of a line; `before` has been read since the last counted line."""
        with self._decompression_errors():
            line = self._stream.readline(LINE_BYTES)
        if len(line) == LINE_BYTES and not line.endswith(b"\n"):
            raise self.refusal(
                self.line + _line_ends(before) + 1,
                f"a line of over {LINE_BYTES} bytes",
                "short lines of text",
                "the file may be binary",
            )
        return line

    @contextmanager
    def _decompression_errors(self) -> Iterator[None]:
        try:
            yield
        except DAMAGE as error:
            kind = suffix_of(self.path)
            if kind is None or getattr(error, "errno", None) is not None:  # the disk, not the data
                raise
            raise FileFormatError(
                f"{self.path}, after line {self.line}: found damaged or truncated {kind} data ({error}), "
                f"expected a complete {kind} file\n"
                f"hint: copy or download the file again; if it is not compressed, rename it without .{kind}"
            ) from error


@contextmanager
def open_text(path: str | os.PathLike[str], *, comment: bytes = b"%") -> Iterator[TextSource]:
    """Open `path` for reading; a name that ends in `.gz`, `.bz2` or `.xz` (any case) is decompressed.

    Raises what `open` raises: FileNotFoundError, IsADirectoryError, PermissionError.
    """
    name = os.fspath(path)
    with open(name, "rb") as raw, decompressed(raw, name) as stream:
        yield TextSource(name, stream, comment)


def _line_ends(data: bytes) -> int:
    """As `data.count` says, which takes ten times as long where lines are short."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))


def shown(text: bytes, limit: int = 40) -> str:
    """`text` quoted for a message: line ends stripped, at most `limit` characters, other than ASCII escaped."""
    plain = text.strip().decode("ascii", "backslashreplace")
    return repr(plain if len(plain) <= limit else plain[:limit] + "...").replace("\\\\x", "\\x")
