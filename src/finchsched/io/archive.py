"""NumPy's .npz archives, read without trust and written whole."""

import errno
import math
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from finchsched.errors import FileFormatError
from finchsched.io.atomic import replace_file

__all__ = ["Arrays", "read_archive", "write_archive"]

Arrays: TypeAlias = dict[str, NDArray[Any]]

_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    tokenize.TokenError,  # from NumPy's reader of headers, as the next ones
    SyntaxError,
    ValueError,
    TypeError,
    EOFError,
    KeyError,
    IndexError,
    OverflowError,
    NotImplementedError,  # a compression that Python's zipfile does not know
    RuntimeError,  # an encrypted member
)


_EXPANSION = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1040}
"""By how much at most a compression makes bytes fewer; NumPy uses these two."""


def read_archive(path: str | os.PathLike[str]) -> Arrays:
    """The arrays of an archive by name, in the machine's byte order; no object is ever unpickled.

    Raises FileFormatError for a file that is no archive of arrays, damaged or untrue; OSError if it cannot be opened.
    """
    name = os.fspath(path)
    with open(name, "rb") as raw:
        try:
            with zipfile.ZipFile(raw) as archive:
                _check_directory(archive, os.fstat(raw.fileno()).st_size)
                return {
                    member.filename.removesuffix(".npy"): _read_member(archive, member) for member in archive.infolist()
                }
        except (*_BROKEN, OSError) as error:
            if getattr(error, "errno", None) not in (None, errno.EINVAL):  # EINVAL: asked to read before the start
                raise
            raise FileFormatError(
                f"{name}: found no complete archive of arrays ({str(error) or type(error).__name__})\n"
                "hint: a .npz file is what finchsched.write, scipy.sparse.save_npz and numpy.savez make"
            ) from error


def _check_directory(archive: zipfile.ZipFile, size: int) -> None:
    if sum(member.compress_size for member in archive.infolist()) > size:
        raise ValueError("its directory promises more than the file has")


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    if not member.filename.endswith(".npy"):
        raise ValueError(f"the member {member.filename!r} is no array")
    with archive.open(member) as stream:
        _check_size(stream, member)
    with archive.open(member) as stream:
        array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
        if stream.read(1):  # also checks the member's checksum
            raise ValueError(f"the array {member.filename!r} is followed by something else")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _check_size(stream: Any, member: zipfile.ZipInfo) -> None:
    """Raise ValueError unless header, directory and what is there agree: memory is allocated by what they promise."""
    if (
        member.compress_type not in _EXPANSION
        or member.file_size > _EXPANSION[member.compress_type] * member.compress_size
    ):
        raise ValueError(f"the member {member.filename!r} cannot have {member.file_size} bytes")
    major, _ = np.lib.format.read_magic(stream)
    read_header = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
    try:
        shape, _, dtype = read_header(stream)
    except MemoryError as error:  # of Python's parser
        raise ValueError(f"the array {member.filename!r} has a strange header") from error
    promised, there = math.prod((dtype.itemsize, *shape)), member.file_size - stream.tell()
    if dtype.hasobject or min(shape, default=0) < 0 or promised != there:
        raise ValueError(f"the array {member.filename!r} promises {promised} bytes, found {there}")


def write_archive(path: str | os.PathLike[str], arrays: Mapping[str, Any], *, compressed: bool) -> None:
    """Write arrays that hold no objects.  The file appears when it is complete; equal arrays give equal bytes."""
    save: Any = np.savez_compressed if compressed else np.savez
    with replace_file(path) as stream:
        save(stream, **arrays)
