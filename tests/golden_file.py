"""Golden files: text files of named before/after pairs (tests/golden/README.md describes the format)."""

import difflib
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"
_MARKER = re.compile(r"^(?:=== (?P<name>.+)|--- (?P<part>before|after))$", re.MULTILINE)


class GoldenFileError(ValueError):
    """A golden file, or a text to be written into one, does not have the form of the format."""


@dataclass(frozen=True, slots=True)
class GoldenPair:
    """One pair.  `path` is the file that holds it; `before` and `after` have no empty lines around them."""

    path: Path
    name: str
    before: str
    after: str

    def __str__(self) -> str:
        return self.name


def load_pairs(path: str | Path) -> list[GoldenPair]:
    """The pairs of a file, in its order.  A relative path is taken from tests/golden."""
    path = GOLDEN / path
    text = path.read_text(encoding="utf-8")
    marks = list(_MARKER.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    bodies = [text[mark.end() : end].strip("\n") for mark, end in zip(marks, ends, strict=False)]
    kinds = [mark["part"] or "name" for mark in marks]
    for at, kind in enumerate(kinds):
        expected = ("name", "before", "after")[at % 3]
        if kind != expected or (kind == "name" and bodies[at]):
            line = text.count("\n", 0, marks[at].start()) + 1
            raise GoldenFileError(f"{path}:{line}: {marks[at][0]!r} where name, before, after were expected in turn")
    if not marks or len(marks) % 3:
        raise GoldenFileError(f"{path}: {'the last pair is not complete' if marks else 'no pair'}")
    pairs = [GoldenPair(path, marks[k]["name"], bodies[k + 1], bodies[k + 2]) for k in range(0, len(marks), 3)]
    if len({pair.name for pair in pairs}) < len(pairs):
        raise GoldenFileError(f"{path}: two pairs have the same name")
    return pairs


def rewrite_pair(pair: GoldenPair, after: str) -> None:
    """Replace the `after` of one pair in its file; all other text stays as it is."""
    if _MARKER.search(after):
        raise GoldenFileError(f"{pair.path}: {pair.name}: the new text has a line that reads as a marker")
    text = pair.path.read_text(encoding="utf-8")
    marks = list(_MARKER.finditer(text))
    at = next(k for k, mark in enumerate(marks) if mark["name"] == pair.name) + 2
    rest = "\n" + text[marks[at + 1].start() :] if at + 1 < len(marks) else ""
    pair.path.write_text(f"{text[: marks[at].end()]}\n{after}\n{rest}", encoding="utf-8")


def check_pair(pair: GoldenPair, actual: str, *, update: bool) -> None:
    """Fail with a diff unless `actual` is the pair's `after`; under `update`, write it instead."""
    actual = actual.strip("\n")
    if actual == pair.after:
        return
    if update:
        rewrite_pair(pair, actual)
        return
    diff = difflib.unified_diff(pair.after.splitlines(), actual.splitlines(), "golden", "actual", lineterm="")
    pytest.fail("\n".join([f"{pair.path}: {pair.name} (accept with --update-golden)", *diff]), pytrace=False)


def update_refusal(*, ci: bool, parallel: bool) -> str | None:
    """Why `--update-golden` is refused here, if it is."""
    if ci:
        return "--update-golden is refused when CI=true: golden files are changed by hand and reviewed"
    if parallel:
        return "--update-golden is refused with -n: several processes would rewrite the same files"
    return None
