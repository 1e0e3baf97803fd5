"""Verdicts that were found before: in memory, and Z3's on disk.

On disk a verdict lies in a file of its own, named by a digest of the canonical question, Z3's version and the format
below; its content is preceded by its sha256.  A file that is damaged, or that another user could have written, counts
as absent and is written again.  Nothing here changes a verdict: what is not found is worked out.
"""

import json
import os
import threading
from collections import OrderedDict
from collections.abc import Hashable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, TypeVar

from finchsched.ast.proof import Proved, Refuted, Unknown, Verdict
from finchsched.errors import CacheFolderError
from finchsched.storage import is_ours_alone, open_folder, write_whole

__all__ = ["FORMAT", "DiskMemo", "Memo"]

FORMAT = 1
"""To be raised whenever the prover may answer a question differently than before."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Memo(Generic[K, V]):
    """The results used last, at most `size` of them; safe to use from several threads."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._found: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """What was put in for a key, which is thereby used."""
        with self._lock:
            value = self._found.get(key)
            if value is not None:
                self._found.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> None:
        """Keep a result; the one unused for longest goes if there are too many."""
        with self._lock:
            self._found[key] = value
            self._found.move_to_end(key)
            if len(self._found) > self._size:
                self._found.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._found.clear()


class DiskMemo:
    """Verdicts in the cache folder.  A folder that cannot be used holds nothing: proofs are not worth a warning."""

    def __init__(self, version: str) -> None:
        self._version = version

    def path(self, digest: str) -> Path | None:
        """Where the verdict on a question lies, which need not exist; None if there is no folder to trust."""
        try:
            folder = open_folder()
        except (OSError, RuntimeError, CacheFolderError):
            return None
        return folder / f"{self._key(digest)[:32]}.proof"

    def get(self, digest: str) -> Verdict | None:
        """The stored verdict; None if there is none that can be trusted."""
        path = self.path(digest)
        if path is None:
            return None
        try:
            with path.open("rb") as file:
                trusted = is_ours_alone(os.fstat(file.fileno()))
                checksum, _, content = file.read().partition(b"\n")
        except OSError:
            return None
        if not trusted or sha256(content).hexdigest().encode() != checksum:
            return None
        with suppress(OSError):
            os.utime(path)
        return _decode(content, self._key(digest))

    def put(self, digest: str, verdict: Verdict) -> None:
        """Store a verdict, if the folder can be written."""
        path = self.path(digest)
        if path is not None:
            content = _encode(verdict, self._key(digest))
            with suppress(OSError):
                write_whole(path, sha256(content).hexdigest().encode() + b"\n" + content)

    def _key(self, digest: str) -> str:
        return sha256(f"proof {FORMAT} z3 {self._version} {digest}".encode()).hexdigest()


def _encode(verdict: Verdict, key: str) -> bytes:
    match verdict:
        case Proved(by):
            value: list[Any] = ["proved", by]
        case Refuted(model):
            value = ["refuted", [list(pair) for pair in model]]
        case Unknown(reason):
            value = ["unknown", reason]
    return json.dumps([key, *value]).encode()


def _decode(content: bytes, key: str) -> Verdict | None:
    """The verdict in a file whose checksum is right; None for another question's, or another format's."""
    try:
        found, kind, value = json.loads(content)
        if found != key:
            return None
        match kind:
            case "proved":
                return Proved(str(value))
            case "refuted":
                return Refuted(tuple((str(name), int(number)) for name, number in value))
            case "unknown":
                return Unknown(str(value))
    except (ValueError, TypeError):
        pass
    return None
