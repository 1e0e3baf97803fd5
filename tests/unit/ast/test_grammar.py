"""The grammar block at the top of each node file is the one that its dataclasses give."""

import importlib
import sys
import textwrap

import pytest

from finchsched.ast.grammar import grammar_of

HEADING = "(generated from the dataclasses):\n\n"


@pytest.mark.parametrize("name", ["scalar", "format", "logic", "loop", "kernel", "looplet", "proof"])
def test_grammar_blocks_are_current(name):
    module = importlib.import_module(f"finchsched.ast.{name}")
    _, _, after = (module.__doc__ or "").partition(HEADING)
    block = textwrap.dedent(after.partition("\n\n")[0]).strip()
    assert block == grammar_of(module)


def test_provenance_class_variables_and_foreign_names(tmp_path, monkeypatch):
    (tmp_path / "made_up_nodes.py").write_text(
        "from dataclasses import dataclass, field\n"
        "from typing import ClassVar\n"
        "from finchsched.algebra.dtypes import Scalar as Plain\n"
        "from finchsched.ast.node import Node\n"
        "@dataclass(frozen=True, slots=True, eq=False)\n"
        "class Leaf(Node):\n"
        "    value: Plain\n"
        "    inner: tuple['Leaf', ...]\n"
        "    name: ClassVar[str] = 'leaf'\n"
        "    span: str = field(default='', kw_only=True, compare=False)\n"
        "class Other:\n"
        "    x: int\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("made_up_nodes")
    sys.modules.pop("made_up_nodes")
    assert grammar_of(module) == "Leaf(value: Scalar, inner: tuple[Leaf, ...])"
