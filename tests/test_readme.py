"""The README's Python blocks run one after the other, and print what the README says they print."""

import contextlib
import io
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)


def test_the_examples_run_and_print_what_they_promise() -> None:
    namespace: dict[str, object] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for number, block in enumerate(blocks("python")):
            exec(compile(block, f"README.md, block {number}", "exec"), namespace)
    assert printed.getvalue().split() == blocks("text")[0].split()


def test_links_lead_somewhere() -> None:
    prose = re.sub(r"^```.*?^```$", "", TEXT, flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\((?!https?:)([^)#]+)", prose)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
