"""Where what is kept between processes lies, and how a file there is written.

The folder is FINCHSCHED_CACHE_DIR, else `finchsched` under XDG_CACHE_HOME or ~/.cache.  What lies there will be
believed or run, so the folder must belong to this user and nobody else may write to it.  Files appear whole
(`os.replace`), so any number of processes may share the folder, and everything in it may be deleted at any time.
"""

import os
import stat
import threading
import time
from pathlib import Path

from finchsched.errors import CacheFolderError

__all__ = ["cache_folder", "is_ours_alone", "open_folder", "write_whole"]


def cache_folder() -> Path:
    """Where kernels and proofs are stored, by the environment as it is now."""
    own = os.environ.get("FINCHSCHED_CACHE_DIR")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    if base and Path(base).is_absolute():
        return Path(base) / "finchsched"
    return Path.home() / ".cache" / "finchsched"


def open_folder() -> Path:
    """`cache_folder()`, made if it is not there.

    Raises OSError or RuntimeError if it cannot be made, CacheFolderError if it belongs to another user or others can
    write to it.
    """
    folder = cache_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if hasattr(os, "geteuid"):
        hint = "hint: set FINCHSCHED_CACHE_DIR to a folder of your own"
        if found.st_uid != os.geteuid():
            raise CacheFolderError(f"the cache folder {folder} belongs to another user (id {found.st_uid})\n{hint}")
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            mode = stat.filemode(found.st_mode)
            raise CacheFolderError(f"others can write to the cache folder {folder} ({mode})\n{hint}, or chmod 700 it")
    return folder


def is_ours_alone(status: os.stat_result) -> bool:
    """Whether a file belongs to this user, and nobody else can write to it."""
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that appears whole or not at all.  Raises OSError."""
    # As tempfile does it, whose import costs as much as loading a kernel.
    name = f"{path.name}.{os.getpid()}.{threading.get_ident()}.{time.monotonic_ns()}.tmp"
    temporary = path.parent / name
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
