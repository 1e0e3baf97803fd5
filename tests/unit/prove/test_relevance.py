"""Which facts have to do with a question."""

from fact_text import fact, facts
from finchsched.prove.relevance import facts_about


def test_facts_are_reached_through_each_other_and_keep_their_order() -> None:
    known = facts("k < m", "j < k", "a < b", "i < j")
    assert facts_about(fact("0 <= i"), known) == facts("k < m", "j < k", "i < j")


def test_an_array_is_reached_by_its_name_but_is_not_the_symbol_of_that_name() -> None:
    known = facts("crd[p] < n", "crd < m", "within(crd, 0, k, 0, w)")
    assert facts_about(fact("0 <= crd[q]"), known) == facts("crd[p] < n", "within(crd, 0, k, 0, w)")


def test_a_fact_that_is_repeated_is_taken_once() -> None:
    assert facts_about(fact("0 <= i"), facts("i < n", "i < n")) == facts("i < n")


def test_nothing_is_about_a_question_without_names() -> None:
    assert facts_about(fact("0 <= 1"), facts("i < n")) == ()
