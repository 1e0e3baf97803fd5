"""Kernels on disk: for each, the source a person can read and the machine code.

They lie in the folder of `finchsched.storage`.  An entry is named by a digest of all it depends on; its bytes are
preceded by their sha256, checked before anything else looks at them.
"""

import contextlib
import hashlib
import os
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

from finchsched.errors import CacheFolderError
from finchsched.storage import cache_folder, is_ours_alone, open_folder, write_whole

__all__ = ["MAX_BYTES", "KernelCache", "cache_folder", "open_cache"]

MAX_BYTES = 512 << 20
"""When the folder grows beyond this, the entries unused for longest go."""

_SHARE_KEPT = 0.8
_STALE_SECONDS = 3600.0
_SUFFIXES = (".py", ".obj", ".proof", ".tmp")
_DIGEST = hashlib.sha256().digest_size
_warned: set[str] = set()


def open_cache() -> "KernelCache | None":
    """The cache in `cache_folder()`, made if it is not there; None, with one warning, if it cannot be made.

    Raises CacheFolderError if the folder belongs to another user, or others can write to it.
    """
    try:
        return KernelCache(open_folder())
    except CacheFolderError:
        raise
    except (OSError, RuntimeError) as error:
        _warn_once(f"kernels are not cached, because the cache folder cannot be made: {error}")
        return None


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
                trusted = is_ours_alone(os.fstat(file.fileno()))
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
            found = [(e.stat(), e.path) for e in os.scandir(self.folder) if e.name.endswith(_SUFFIXES)]
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
        try:
            write_whole(path, data)
        except OSError as error:
            _warn_once(f"kernels are not cached, because the cache folder cannot be written: {error}")
            return False
        return True
