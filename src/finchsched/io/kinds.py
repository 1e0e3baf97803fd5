"""Which kind of file a name says."""

import os
from typing import Literal, TypeAlias, get_args

from finchsched.errors import FileFormatError

__all__ = ["COMPRESSED_SUFFIXES", "FileKind", "file_kind", "has_known_suffix", "suffix_of"]

COMPRESSED_SUFFIXES = ("gz", "bz2", "xz")

FileKind: TypeAlias = Literal["mtx", "tns", "npz"]

_KNOWN = ", ".join(f".{kind}" for kind in get_args(FileKind))


def suffix_of(name: str) -> str | None:
    """Which compression the name asks for, in any case; None for none."""
    return next((suffix for suffix in COMPRESSED_SUFFIXES if name.lower().endswith(f".{suffix}")), None)


def has_known_suffix(path: str | os.PathLike[str]) -> bool:
    """Whether `file_kind` knows the kind of the file."""
    return _kind(os.fspath(path)) is not None


def file_kind(path: str | os.PathLike[str]) -> FileKind:
    """The kind that the file's name says, in any case: .mtx and .tns, which may be compressed, or .npz.

    Raises FileFormatError naming the known endings.
    """
    kind = _kind(os.fspath(path))
    if kind is None:
        compressed = ", ".join(f".{suffix}" for suffix in COMPRESSED_SUFFIXES)
        raise FileFormatError(
            f"{os.fspath(path)}: found a name that ends in none of {_KNOWN}\n"
            f"hint: .mtx is Matrix Market, .tns FROSTT, both also followed by {compressed}; .npz is SciPy's or our own"
        )
    return kind


def _kind(name: str) -> FileKind | None:
    compression = suffix_of(name)
    stem = name.lower() if compression is None else name.lower()[: -len(compression) - 1]
    for kind in get_args(FileKind):
        if stem.endswith(f".{kind}") and (compression is None or kind != "npz"):
            found: FileKind = kind
            return found
    return None
