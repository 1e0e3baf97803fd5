"""Kernels on disk: for each, the source a person can read and the machine code.

The folder is FINCHSCHED_CACHE_DIR, else `finchsched` under XDG_CACHE_HOME or ~/.cache.  A kernel is code that will
be run, so the folder must belong to this user and nobody else may write to it.  An entry is named by a digest of
all it depends on; its bytes are preceded by their sha256, checked before anything else looks at them.  Files appear
whole (`os.replace`), so any number of processes may share the folder, and everything in it may be deleted at any
time.
"""

import contextlib
import hashlib
import os
import stat
import threading
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

from finchsched.errors import CacheFolderError

__all__ = ["MAX_BYTES", "KernelCache", "cache_folder", "open_cache"]

MAX_BYTES = 512 << 20
"""When the folder grows beyond this, the entries unused for longest go."""

_SHARE_KEPT = 0.8
_STALE_SECONDS = 3600.0
_DIGEST = hashlib.sha256().digest_size
_warned: set[str] = set()


def cache_folder() -> Path:
    """Where kernels are stored, by the environment as it is now."""
    own = os.environ.get("FINCHSCHED_CACHE_DIR")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    if base and Path(base).is_absolute():
        return Path(base) / "finchsched"
    return Path.home() / ".cache" / "finchsched"


def open_cache() -> "KernelCache | None":
    """The cache in `cache_folder()`, made if it is not there; None, with one warning, if it cannot be made.

    Raises CacheFolderError if the folder belongs to another user, or others can write to it.
    """
    try:
        folder = cache_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except (OSError, RuntimeError) as error:
        _warn_once(f"kernels are not cached, because the cache folder cannot be made: {error}")
        return None
    if hasattr(os, "geteuid"):
        hint = "hint: set FINCHSCHED_CACHE_DIR to a folder of your own"
        if found.st_uid != os.geteuid():
            raise CacheFolderError(f"the cache folder {folder} belongs to another user (id {found.st_uid})\n{hint}")
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            mode = stat.filemode(found.st_mode)
            raise CacheFolderError(f"others can write to the cache folder {folder} ({mode})\n{hint}, or chmod 700 it")
    return KernelCache(folder)


def _is_ours_alone(status: os.stat_result) -> bool:
    """Whether a file belongs to this user, and nobody else can write to it."""
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _warn_once(message: str) -> None:
    if message not in _warned:
        _warned.add(message)
        warnings.warn(f"{message}\nhint: set FINCHSCHED_CACHE_DIR to a folder that can be written", RuntimeWarning, 3)


@dataclass(frozen=True, slots=True)
class KernelCache:
    """The entries in a folder.  `key` is the hexadecimal sha256 of all that an entry depends on."""

    folder: Path

    def source_path(self, name: str, key: str) -> Path:
        """Where the readable source of an entry lies."""
        return self.folder / f"{name[:60]}_{key[:12]}.py"

    def object_path(self, name: str, key: str) -> Path:
        """Where the machine code of an entry lies."""
        return self.folder / f"{name[:60]}_{key[:12]}.obj"

    def put_source(self, name: str, key: str, code: str) -> Path | None:
        """Store the source unless it is there; its path, or None if it cannot be written."""
        path, data = self.source_path(name, key), code.encode()
        with contextlib.suppress(OSError):
            if path.read_bytes() == data:
                return path
        return path if self._write(path, data) else None

    def get_object(self, name: str, key: str) -> bytes | None:
        """The stored machine code; None if there is none.

        What is damaged, or could have been written by another user, is deleted.
        """
        path = self.object_path(name, key)
        try:
            with path.open("rb") as file:
                trusted = _is_ours_alone(os.fstat(file.fileno()))
                data = file.read()
        except OSError:
            return None
        digest, rest = data[:_DIGEST], data[_DIGEST:]
        if not trusted or hashlib.sha256(rest).digest() != digest or rest[:_DIGEST] != bytes.fromhex(key):
            self.drop_object(name, key)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return rest[_DIGEST:]

    def put_object(self, name: str, key: str, data: bytes) -> None:
        """Store machine code, and make room if the folder has grown too large."""
        rest = bytes.fromhex(key) + data
        if self._write(self.object_path(name, key), hashlib.sha256(rest).digest() + rest):
            self.prune()

    def drop_object(self, name: str, key: str) -> None:
        """Delete the machine code of an entry."""
        self.object_path(name, key).unlink(missing_ok=True)

    def prune(self, limit: int = MAX_BYTES) -> None:
        """If the files here exceed `limit` bytes, delete those unused for longest until four fifths of it are left."""
        try:
            found = [(e.stat(), e.path) for e in os.scandir(self.folder) if e.name.endswith((".py", ".obj", ".tmp"))]
        except OSError:
            return
        total = sum(s.st_size for s, _ in found)
        full = total > limit
        for status, path in sorted(found, key=lambda item: item[0].st_mtime):
            stale = path.endswith(".tmp") and time.time() - status.st_mtime > _STALE_SECONDS
            if stale or (full and total > limit * _SHARE_KEPT):
                Path(path).unlink(missing_ok=True)
                total -= status.st_size

    def _write(self, path: Path, data: bytes) -> bool:
        """Write a file that appears whole or not at all; False, with one warning, if that fails."""
        temporary = None
        try:
            # As tempfile does it, whose import costs as much as loading a kernel.
            name = f"{path.name}.{os.getpid()}.{threading.get_ident()}.{time.monotonic_ns()}.tmp"
            handle = os.open(self.folder / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            temporary = self.folder / name
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except OSError as error:
            if temporary is not None:
                temporary.unlink(missing_ok=True)
            _warn_once(f"kernels are not cached, because the cache folder cannot be written: {error}")
            return False
        return True
