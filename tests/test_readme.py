"""The README's Python blocks run one after the other, and print what the README says they print, or nothing.  Links in
every guide lead somewhere.
"""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
GUIDES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md"))]
EXAMPLE = re.compile(
    r"^```python\n(.*?)^```$(?:\s*^It prints$\s*^```text\n(.*?)^```$)?", flags=re.MULTILINE | re.DOTALL
)


def test_the_examples_run_and_print_what_they_promise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = README.read_text(encoding="utf-8")
    examples = EXAMPLE.findall(text)
    assert len(examples) == text.count("```python") and sum(bool(promised) for _, promised in examples) == 2
    namespace: dict[str, object] = {}
    for number, (block, promised) in enumerate(examples):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, f"README.md, example {number}", "exec"), namespace)
        assert printed.getvalue().split() == promised.split()


def prose(path: Path) -> str:
    """The text without what stands in fences."""
    return re.sub(r"^ *```.*?^ *```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(path: Path) -> set[str]:
    """What GitHub calls the headings of a file."""
    headings = re.findall(r"^#+ (.*)$", prose(path), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", prose(path))
    assert links or path != README
    for link, anchor in links:
        target = path.parent / link if link else path
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), anchor
