"""The corpus: every verdict as stated, whatever was asked before, with and without memory, in any process."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from finchsched.ast.node import Node, walk
from finchsched.ast.proof import Proved, Refuted, Symbol, Unknown, Verdict
from finchsched.prove.canonical import canonical
from finchsched.prove.evaluate import Values, is_counterexample
from finchsched.prove.obligations import substitute
from finchsched.prove.prover import Prover
from finchsched.prove.z3_solver import ask_z3
from unit.prove.corpus import CORPUS, Case

KIND = {Proved: "proved", Refuted: "refuted", Unknown: "unknown"}
TESTS = Path(__file__).resolve().parents[2]


def answers(prover: Prover, cases: list[Case]) -> dict[str, Verdict]:
    return {case.name: prover.holds(case.fact, case.assumptions) for case in cases}


@pytest.fixture(scope="module")
def expected() -> dict[str, Verdict]:
    return answers(Prover(memory=False, disk=False), CORPUS)


def test_names_differ():
    assert len({case.name for case in CORPUS}) == len(CORPUS) >= 60


@pytest.mark.parametrize("case", CORPUS, ids=[case.name for case in CORPUS])
def test_the_verdict_is_as_stated(case, expected):
    assert KIND[type(expected[case.name])] == case.verdict


@pytest.mark.parametrize("case", CORPUS, ids=[case.name for case in CORPUS])
def test_quick_methods_decide_what_they_should_and_agree(case, expected):
    verdict = Prover(disk=False).holds(case.fact, case.assumptions, use_z3=False)
    if case.quick:
        assert verdict == expected[case.name]
    else:
        assert isinstance(verdict, Unknown)


@pytest.mark.parametrize("case", CORPUS, ids=[case.name for case in CORPUS])
def test_z3_alone_comes_to_the_same(case):
    question = canonical(case.fact, case.assumptions)
    assert KIND[type(ask_z3(question.fact, question.assumptions))] == case.verdict


@pytest.mark.parametrize("case", [c for c in CORPUS if c.verdict == "refuted"], ids=lambda case: case.name)
def test_counterexamples_are_counterexamples(case, expected):
    verdict = expected[case.name]
    assert isinstance(verdict, Refuted)
    assert is_counterexample(case.fact, case.assumptions, Values.of_model(verdict.model))


def test_neither_order_nor_memory_matters(expected, tmp_path, monkeypatch):
    monkeypatch.setenv("FINCHSCHED_CACHE_DIR", str(tmp_path))
    shuffled = random.Random(5).sample(CORPUS, len(CORPUS))
    remembering = Prover()
    for prover in (Prover(disk=False), remembering, remembering, Prover()):
        assert answers(prover, shuffled) == expected
    assert remembering.statistics.by_method()["memo"] == len(CORPUS)


def test_the_order_of_assumptions_does_not_matter(expected):
    rng = random.Random(7)
    prover = Prover(memory=False, disk=False)
    for case in CORPUS:
        mixed = rng.sample(case.assumptions, len(case.assumptions))
        assert prover.holds(case.fact, [*mixed, *mixed[:1]]) == expected[case.name], case.name


def test_names_do_not_matter(expected):
    """Renamed so that their order is reversed: the same verdict, and the same model under the new names."""
    prover = Prover(memory=False, disk=False)
    for case in CORPUS:
        names = {name: f"{chr(122 - number % 26)}{number}" for number, name in enumerate(_names(case))}
        renamed = [_rename(each, names) for each in (case.fact, *case.assumptions)]
        verdict, before = prover.holds(renamed[0], renamed[1:]), expected[case.name]
        if isinstance(before, Refuted):
            assert isinstance(verdict, Refuted), case.name
            assert dict(verdict.model) == {_renamed_key(key, names): value for key, value in before.model}, case.name
        else:
            assert verdict == before, case.name


def _names(case: Case) -> list[str]:
    nodes = [node for each in (case.fact, *case.assumptions) for node in walk(each)]
    return list(
        dict.fromkeys(
            [n.name for n in nodes if isinstance(n, Symbol)] + [n.array for n in nodes if hasattr(n, "array")]
        )
    )


def _rename(node: Node, names: dict[str, str]) -> Node:
    moved = substitute(node, {old: Symbol(new) for old, new in names.items()})
    return _rename_arrays(moved, names)


def _rename_arrays(node: Node, names: dict[str, str]) -> Node:
    changes = {}
    for field in node.__dataclass_fields__:
        value = getattr(node, field)
        if isinstance(value, Node):
            changes[field] = _rename_arrays(value, names)
        elif isinstance(value, tuple):
            changes[field] = tuple(_rename_arrays(item, names) for item in value)
        elif field == "array":
            changes[field] = names[value]
    return node.replace(**changes)


def _renamed_key(key: str, names: dict[str, str]) -> str:
    name, bracket, rest = key.partition("[")
    return names[name] + bracket + rest


def test_other_processes_come_to_the_same(expected):
    here = json.dumps({name: repr(verdict) for name, verdict in expected.items()})
    script = (
        "import json\n"
        "from unit.prove.corpus import CORPUS\n"
        "from finchsched.prove.prover import Prover\n"
        "prover = Prover(disk=False)\n"
        "found = {c.name: repr(prover.holds(c.fact, c.assumptions)) for c in reversed(CORPUS)}\n"
        "print(json.dumps(found, sort_keys=True))"
    )
    paths = os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])
    environment = {**os.environ, "PYTHONHASHSEED": "4242", "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == json.loads(here)


def test_quick_answers_never_import_z3():
    script = (
        "import sys\n"
        "from unit.prove.corpus import CORPUS\n"
        "from finchsched.prove.prover import Prover\n"
        "prover = Prover()\n"
        "for c in CORPUS:\n"
        "    prover.holds(c.fact, c.assumptions, use_z3=c.quick)\n"
        "assert 'z3' not in sys.modules"
    )
    paths = os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])
    subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": paths}, check=True)


def test_elements_of_a_model_are_named_by_array_and_index(expected):
    verdict = expected["a histogram"]
    assert isinstance(verdict, Refuted)
    assert dict(verdict.model)["x[0]"] == dict(verdict.model)["x[1]"]
