"""Compression by a file's suffix: gzip, bzip2, xz."""

import bz2
import gzip
import lzma
import zlib
from contextlib import AbstractContextManager, nullcontext
from typing import Any, BinaryIO

from finchsched.io.kinds import suffix_of

__all__ = ["DAMAGE", "compressed", "decompressed"]

DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError)
"""What reading a damaged stream raises (OSError: gzip's BadGzipFile and bzip2's own)."""

_GZIP_LEVEL = 6  # as gzip's own; Python's 9 takes three times as long for a hundredth of the size


def decompressed(raw: BinaryIO, name: str) -> AbstractContextManager[Any]:
    """`raw`, decompressed while it is read if `name` says so."""
    match suffix_of(name):
        case "gz":
            return gzip.GzipFile(fileobj=raw, mode="rb")
        case "bz2":
            return bz2.BZ2File(raw, mode="rb")
        case "xz":
            return lzma.LZMAFile(raw, mode="rb")
        case _:
            return nullcontext(raw)


def compressed(raw: BinaryIO, name: str) -> AbstractContextManager[Any]:
    """`raw`, compressed while it is written if `name` says so.  The same content gives the same bytes at any time."""
    match suffix_of(name):
        case "gz":
            return gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=_GZIP_LEVEL, mtime=0)
        case "bz2":
            return bz2.BZ2File(raw, mode="wb")
        case "xz":
            return lzma.LZMAFile(raw, mode="wb")
        case _:
            return nullcontext(raw)
