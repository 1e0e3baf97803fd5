"""The golden-file format itself: what is read, compared, rewritten and refused."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from golden_file import GoldenFileError, check_pair, load_pairs, rewrite_pair, update_refusal

TEXT = """\
Remarks above the first pair are kept.

=== first
--- before
a = b
  c

d
--- after
A

=== second, still empty
--- before
x
--- after
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "pairs.txt"
    file.write_text(TEXT, encoding="utf-8")
    return file


def test_pairs_are_read_in_order(path: Path) -> None:
    first, second = load_pairs(path)
    assert (first.name, first.before, first.after) == ("first", "a = b\n  c\n\nd", "A")
    assert (second.name, second.before, second.after) == ("second, still empty", "x", "")
    assert str(second) == "second, still empty"


def test_equal_text_passes_and_leaves_the_file(path: Path) -> None:
    check_pair(load_pairs(path)[0], "\nA\n", update=True)
    assert path.read_text(encoding="utf-8") == TEXT


def test_different_text_fails_with_a_diff(path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"(?s)first.*--update-golden.*-A\n\+B"):
        check_pair(load_pairs(path)[0], "B", update=False)
    assert path.read_text(encoding="utf-8") == TEXT


def test_update_rewrites_only_the_pairs_that_differ(path: Path) -> None:
    first, second = load_pairs(path)
    check_pair(first, "B\n\nC", update=True)
    check_pair(second, "X\n", update=True)
    assert path.read_text(encoding="utf-8") == TEXT.replace("\nA\n", "\nB\n\nC\n") + "X\n"
    assert [pair.after for pair in load_pairs(path)] == ["B\n\nC", "X"]


def test_a_text_that_reads_as_a_marker_is_refused(path: Path) -> None:
    with pytest.raises(GoldenFileError, match="marker"):
        rewrite_pair(load_pairs(path)[0], "A\n--- after\nB")
    assert path.read_text(encoding="utf-8") == TEXT


@pytest.mark.parametrize(
    "text, message",
    [
        ("only remarks\n", "no pair"),
        ("=== a\n--- before\nx\n", "not complete"),
        ("=== a\n--- after\nx\n--- before\ny\n", ":2: '--- after' where"),
        ("=== a\nstray\n--- before\nx\n--- after\ny\n", ":1: .* were expected"),
        ("--- before\nx\n", ":1: .* were expected"),
        ("=== a\n--- before\n--- after\n=== a\n--- before\n--- after\n", "same name"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "pairs.txt"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(GoldenFileError, match=message):
        load_pairs(file)


def test_update_is_allowed_only_by_hand() -> None:
    assert update_refusal(ci=False, parallel=False) is None
    assert "CI=true" in (update_refusal(ci=True, parallel=False) or "")
    assert "-n" in (update_refusal(ci=False, parallel=True) or "")


def test_pytest_refuses_the_option_in_ci() -> None:
    command = [sys.executable, "-m", "pytest", "--update-golden", "--collect-only", "-p", "no:cacheprovider", __file__]
    run = subprocess.run(command, env={**os.environ, "CI": "true"}, capture_output=True, text=True, check=False)
    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    assert "refused when CI=true" in run.stderr
