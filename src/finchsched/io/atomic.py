"""Files that appear when they are complete."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

__all__ = ["replace_file"]


@contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A new file in the folder of `path`, which takes its place when the block ends, and is removed if it raises.

    A link is followed: the file that it points to is replaced.  Raises what `open` and `os.replace` raise.
    """
    target = os.path.realpath(os.fspath(path))
    folder, name = os.path.split(target)
    if os.path.isdir(target):
        raise IsADirectoryError(f"{os.fspath(path)} is a folder")
    unfinished = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(8)}.tmp")
    with open(unfinished, "xb") as stream:
        try:
            yield stream
            stream.close()
            os.replace(unfinished, target)
        except BaseException:
            stream.close()
            with suppress(FileNotFoundError):
                os.remove(unfinished)
            raise
