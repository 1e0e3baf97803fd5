"""The before -> after example in the docstring of every pass is what the pass does.

An example leaves declarations out, and `return R` where it returns R: tensors on the left of := and in Subqueries are
dense aliases, all others sparse slots, with the fill 0.
"""

import importlib
import re

import pytest

from finchsched.ast.logic import Plan
from finchsched.ast.names import Names
from finchsched.ast.parse_logic import parse_logic
from finchsched.ast.print_logic import print_logic
from finchsched.formats.levels import Dense, SparseList
from finchsched.passes.logic.normal_form import NORMAL_FORM
from finchsched.passes.logic.query_root import all_names
from finchsched.rewrite import RuleContext

LEVELS = {"Dense": Dense, "SparseList": SparseList}
EXAMPLE = re.compile(r"^((?:    .*\n)+?)      ->\n((?:    .*\n)+)", re.MULTILINE)


def declarations(body: str) -> str:
    aliases = re.findall(r"^(\w+)\[.*:=|Subquery\((\w+),", body, re.MULTILINE)
    made = {name for pair in aliases for name in pair if name}
    ranks: dict[str, int] = {}
    for name, index in re.findall(r"\b(?!SparseList|Dense)(\w+)\[([^\]]*)\]", body):
        ranks.setdefault(name, len(re.findall(r"\w+", index)))
    lines = []
    for name in dict.fromkeys((*ranks, *made)):
        level, kind = ("Dense", "alias") if name in made else ("SparseList[int64,int64]", "slot")
        rank = ranks.get(name, 1)
        lines.append(f"{kind} {name}: {f'{level}(' * rank}Element(0.0: float64){')' * rank}")
    return "\n".join(lines)


def statements(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if ":=" in line or line.strip().startswith("return")]


@pytest.mark.parametrize("name", [name for name, _ in NORMAL_FORM])
def test_the_example_of_a_pass(name: str) -> None:
    module = importlib.import_module(f"finchsched.passes.logic.{name}")
    example = EXAMPLE.search(module.__doc__)
    assert example is not None
    before, after = ("\n".join(statements(part)) for part in example.groups())
    if "return" not in before:
        before, after = f"{before}\nreturn R", f"{after}\nreturn R"
    plan = parse_logic(f"{declarations(before)}\n{before}", LEVELS)
    assert isinstance(plan, Plan)
    made = dict(NORMAL_FORM)[name](plan, RuleContext(Names(all_names(plan))))
    assert statements(print_logic(made)) == after.splitlines()
