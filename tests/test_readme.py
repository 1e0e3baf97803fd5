"""The README's Python blocks run one after the other, and print what the README says they print, or nothing."""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(
    r"^```python\n(.*?)^```$(?:\s*^It prints$\s*^```text\n(.*?)^```$)?", flags=re.MULTILINE | re.DOTALL
)


def test_the_examples_run_and_print_what_they_promise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    examples = EXAMPLE.findall(TEXT)
    assert len(examples) == TEXT.count("```python") and sum(bool(promised) for _, promised in examples) == 2
    namespace: dict[str, object] = {}
    for number, (block, promised) in enumerate(examples):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, f"README.md, example {number}", "exec"), namespace)
        assert printed.getvalue().split() == promised.split()


def test_links_lead_somewhere() -> None:
    prose = re.sub(r"^```.*?^```$", "", TEXT, flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\((?!https?:)([^)#]+)", prose)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
