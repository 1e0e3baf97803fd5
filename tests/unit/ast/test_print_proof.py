"""Facts and verdicts as text."""

import pytest

from fact_text import fact
from finchsched.ast.node import Node
from finchsched.ast.print_proof import print_fact, print_verdict
from finchsched.ast.proof import And, Number, Or, Product, Proved, Refuted, Sum, Symbol, Unknown


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("i * 4 + j < n", "i * 4 + j < n"),
        ("(i + j) * 4 <= n", "(i + j) * 4 <= n"),
        ("i // (j * 2) != -3", "i // (j * 2) != -3"),
        ("(i // j) % 4 == i", "i // j % 4 == i"),
        ("i % (j % 4) == i", "i % (j % 4) == i"),
        ("crd[p + 1] >= min(i, n)", "crd[p + 1] >= min(i, n)"),
        ("0 <= i < n", "0 <= i and i < n"),
        ("not (i < n or j < n)", "not (i < n or j < n)"),
        ("implies(i < n, crd[i] < m)", "i < n => crd[i] < m"),
        ("implies(implies(i < n, i < m), i < k)", "(i < n => i < m) => i < k"),
        ("nondecreasing(pos, 0, n + 1)", "nondecreasing(pos[0 .. n + 1])"),
        ("rising(crd, pos[q], pos[q + 1])", "rising(crd[pos[q] .. pos[q + 1]])"),
        ("within(crd, 0, k, 0, n)", "within(crd[0 .. k], 0 .. n)"),
    ],
)
def test_facts(text, printed):
    assert print_fact(fact(text)) == printed


@pytest.mark.parametrize(
    ("node", "printed"),
    [(Sum(()), "0"), (Product(()), "1"), (And(()), "true"), (Or(()), "false"), (Sum((Symbol("i"),)), "i")],
)
def test_of_no_arguments_or_one(node, printed):
    assert print_fact(node) == printed


def test_nestings_that_differ_print_differently():
    a, b, c = Symbol("a"), Symbol("b"), Symbol("c")
    assert print_fact(Sum((a, Sum((b, c))))) == "a + (b + c)"
    assert print_fact(Sum((Sum((a, b)), c))) == "(a + b) + c"
    assert print_fact(Sum((a, b, c))) == "a + b + c"


def test_deep_terms_and_large_numbers():
    term: Node = Symbol("i")
    for _ in range(10_000):
        term = Sum((term, Number(1)))
    assert print_fact(term).endswith(" + 1")
    assert print_fact(Number(10**4000)) == "1" + "0" * 4000


def test_only_facts_print():
    with pytest.raises(TypeError, match="Node is not a fact"):
        print_fact(Node())


def test_verdicts():
    assert print_verdict(Proved("ranges")) == "proved by ranges"
    assert print_verdict(Proved("z3")) == "proved by Z3"
    assert print_verdict(Refuted((("i", 3), ("crd[2]", 5)))) == "refuted: i = 3, crd[2] = 5"
    assert print_verdict(Refuted(())) == "refuted: it is false"
    assert print_verdict(Unknown("too large")) == "unknown: too large"
