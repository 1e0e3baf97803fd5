"""What a reader of Logic IR or Loop IR refuses, and where it points."""

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from finchsched.ast.parse_logic import parse_logic
from finchsched.ast.parse_loop import parse_loop
from finchsched.errors import IRSyntaxError
from finchsched.formats import levels

VOCABULARY = {name: getattr(levels, name) for name in levels.__all__}

LOGIC = """\
slot A: Dense(Dense(Element(0.0: float64)))
alias S: Dense(Element(0.0: float64))
"""
LOOP = """\
input A: Dense(Element(0.0: float64))
output S: Dense(Element(0.0: float64))
"""


def refusal(parse, text):
    with pytest.raises(IRSyntaxError) as info:
        parse(text, VOCABULARY)
    return str(info.value)


def test_line_column_caret_and_hint():
    message = refusal(parse_logic, LOGIC + "S[i] := Aggregate(add, 0.0: float64, B[i, j], [j])\nreturn S\n")
    assert message == (
        "line 3, column 38: no tensor is called 'B'\n"
        "    S[i] := Aggregate(add, 0.0: float64, B[i, j], [j])\n"
        "                                         ^\n"
        "hint: declare it above, as in slot A: Dense(Element(0.0: float64))"
    )


def test_the_caret_stands_under_the_word_in_an_indented_line():
    message = refusal(parse_loop, LOOP + "nest S by dense:\n    for i:\n        S[i] = A[i] +\nreturn S\n")
    assert message.splitlines()[:3] == [
        "line 5, column 22: found the end of the line, expected an expression",
        "            S[i] = A[i] +",
        "                         ^",
    ]


@pytest.mark.parametrize(
    "text, place, message",
    [
        ("", "1, column 1", "expected 'return' or a query"),
        ("return S", "1, column 8", "no tensor is called 'S'"),
        (LOGIC + "return S,", "3, column 10", "expected an alias"),
        (LOGIC + "return A", "3, column 8", "'A' is a slot, expected an alias"),
        (LOGIC + "return S\nreturn S", "4, column 1", "nothing follows 'return'"),
        (LOGIC + "slot A: Element(0: int64)\nreturn", "3, column 6", "'A' is declared twice"),
        (LOGIC + "S[i] := A[i, j]\nreturn S", "3, column 2", "hint: write S[i, j], or put a Reorder"),
        (LOGIC + "S[i] = A[i, j]\nreturn S", "3, column 6", "hint: a query is written S[i] := expression"),
        (LOGIC + "A[i, j] := A[i, j]\nreturn S", "3, column 1", "'A' is a slot"),
        (LOGIC + "A[i, j]\nA[i, j]", "3, column 1", "an expression stands alone"),
        (LOGIC + "MapJoin(plus, A[i, j])", "3, column 9", "no operator is called 'plus'"),
        (LOGIC + "Mapjoin(add, A[i, j])", "3, column 1", "the constructors are MapJoin,"),
        (LOGIC + "MapJoin(add, A[i, j]", "3, column 21", "found the end of the line, expected ')'"),
        (LOGIC + "MapJoin(add, A[i j])", "3, column 18", "expected ',' or ']'"),
        (LOGIC + "A[i, ]", "3, column 6", "found ']', expected an index"),
        (LOGIC + "A[i, j] order", "3, column 9", "expected the end of the line"),
        ("2.5", "1, column 4", "hint: a literal is written with its type"),
        ("2.5: float16", "1, column 6", "'float16' is not an element type"),
        ("2.5: double", "1, column 6", "hint: write float64"),
        ("9" * 5000 + ": int64", "1, column 1", "too many digits"),
        ("$v: float64", "1, column 12", "hint: the kinds of a value are zero,"),
        ("$v: float64 ~some", "1, column 14", "expected one of zero,"),
        ("2.5: float64 ?", "1, column 14", "'?' has no meaning here"),
        (
            "slot A: Sparse(Element(0: int64))",
            "1, column 9",
            "the levels are Dense, SparseByteMap, SparseCOO, SparseList and",
        ),
        ("slot A: Dense[int32](Element(0: int64))", "1, column 9", "Dense has 0 parameters, found 1"),
        ("slot A: SparseList[int32](Element(0: int64))", "1, column 9", "2 parameters (pos, crd), found 1"),
        ("slot A: Dense(Element(size(i)))", "1, column 30", "a computed fill is followed by its type"),
        ("slot A: Dense(Element(i))", "1, column 23", "expected a scalar"),
        ("slot A: Dense(Element(0: int64)", "1, column 32", "expected ')'"),
        ("slot A: Element(0: int64) perm (0.5)", "1, column 33", "expected the number of an axis"),
        ("slot A: Element(0: int64) perm (i)", "1, column 33", "expected the number of an axis"),
    ],
)
def test_logic(text, place, message):
    found = refusal(parse_logic, text)
    assert found.startswith(f"line {place}: ")
    assert message in found


@pytest.mark.parametrize(
    "text, place, message",
    [
        ("", "1, column 1", "expected a nest, a statement or an expression"),
        ("nest S by dense:\n    pass", "1, column 6", "no tensor is called 'S'"),
        (LOOP + "nest S by force:\n    pass", "3, column 11", "found 'force', expected one of dense, append"),
        (LOOP + "nest S by dense:\nreturn S", "4, column 1", "expected an indented line under 'nest'"),
        (LOOP + "nest S by dense:", "3, column 17", "expected an indented line under 'nest'"),
        (LOOP + "nest S by dense:\n    for i:\n    pass\nreturn S", "5, column 5", "an indented line under 'for'"),
        (LOOP + "for i:\n    pass\n  pass", "5, column 3", "this line is indented unlike those around it"),
        (LOOP + "for i:\n    pass\n      pass", "5, column 7", "this line is indented unlike those around it"),
        (LOOP + "  pass", "3, column 3", "this line is indented unlike those around it"),
        (LOOP + "for i:\n\tpass", "4, column 1", "hint: indent with spaces"),
        (LOOP + "for i:\n    nest S by dense:\n        pass", "4, column 5", "a nest stands inside another"),
        (LOOP + "pass\nreturn S", "4, column 1", "a program consists of nests"),
        (LOOP + "nest S by dense:\n    pass\nreturn", "2, column 1", "'S' is declared output but is not returned"),
        (LOOP.replace("output", "temp") + "return S", "2, column 1", "'S' is declared temp but is returned"),
        (LOOP + "return S\npass", "4, column 1", "nothing follows 'return'"),
        (LOOP + "scalar S: int64\npass", "3, column 8", "'S' is declared twice"),
        (LOOP + "for i:\n    A[i]", "4, column 5", "hint: assign it, as in S[i] = expression"),
        (LOOP + "A[i]\npass", "4, column 5", "only statements may follow each other"),
        (LOOP + "t = A[i]", "3, column 1", "hint: define it, as in var t: float64"),
        (LOOP + "A[i] + A[j] = A[i]", "3, column 1", "only an element of a tensor or a scalar can be assigned"),
        (LOOP + "S[i] plus= A[i]", "3, column 6", "no operator is called 'plus'"),
        (LOOP + "S[i] : A[i]", "3, column 6", "expected '=' or an operator and '='"),
        (LOOP + "S[i] = A[i] A[j]", "3, column 13", "expected the end of the line"),
        (LOOP + "S[i] = foo(A[i])", "3, column 8", "no operator is called 'foo'"),
        (LOOP + "S[i] = (A[i]", "3, column 13", "expected ')'"),
        (LOOP + "S[i] = A[i])", "3, column 12", "expected the end of the line"),
        (LOOP + "S[i] = i < j < k", "3, column 14", "hint: write parentheses"),
        (LOOP + "S[i] = i ** j ** k", "3, column 15", "hint: write parentheses"),
        (LOOP + "S[i] = B[i]", "3, column 8", "no tensor is called 'B'"),
        (LOOP + "var for: int64 = 1: int64", "3, column 5", "begins a statement"),
        (LOOP + "if i == 1: int64\n    pass", "3, column 17", "expected ':'"),
        (LOOP + "S[i] = -True: bool", "3, column 9", "expected a number"),
        (LOOP + "freeze B", "3, column 8", "no tensor is called 'B'"),
    ],
)
def test_loop(text, place, message):
    found = refusal(parse_loop, text)
    assert found.startswith(f"line {place}: ")
    assert message in found


WORDS = [
    *"slot alias input work scalar return nest by dense for if var declare freeze pass block order".split(),
    *"MapJoin Aggregate Reorder Reformat Subquery add min A S i t 0 1.5 -1 1e5 True inf nan float64 int64 size".split(),
    *"$ ~ finite @ : := = += == ( ) [ ] , + * ** < Dense SparseList Element perm".split(),
    *("\n", "\n    ", "\n        "),
]


@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join), st.sampled_from(["", LOGIC, LOOP]))
@example("(" * 20_000, "")
@example("MapJoin(add, " * 20_000, "")
@example("neg(" * 20_000, "")
@example("slot A: " + "Dense(" * 20_000, "")
def test_any_text_is_read_or_refused(text, header):
    for parse in (parse_logic, parse_loop):
        with suppress(IRSyntaxError):
            parse(header + text, VOCABULARY)
