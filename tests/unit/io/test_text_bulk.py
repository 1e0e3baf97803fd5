"""Numbers parsed in bulk are those that Python reads one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finchsched.io.text_bulk import bulk_columns, find_table


@pytest.mark.parametrize(
    "text, width, rows",
    [
        ("1 2 3\n4 5 6\n", 3, 2),
        ("1 2 3\n4 5 6", 3, 2),
        ("\n\n 1\t2 \r\n\n3  4\n \n", 2, 2),
        ("", 2, 0),
        ("\n", 1, 0),
        ("1 2 3\n", 2, None),
        ("1\n2 3\n", 1, None),
        ("1 2 3\n4\n", 2, None),
        ("1 2\n3 4 5 6\n\n", 2, None),
        ("1\n2\n", 2, None),
    ],
)
def test_lines_of_so_many_words(text: str, width: int, rows: int | None) -> None:
    table = find_table(text.encode(), width)
    assert (None if table is None else len(table.starts) // width) == rows


@given(st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=1))
def test_integers_in_bulk(numbers: list[int]) -> None:
    table = find_table("\n".join(map(str, numbers)).encode(), 1)
    assert table is not None
    (values,) = bulk_columns(table, ["integer"]) or [None]
    assert values is not None and values.tolist() == numbers


@pytest.mark.parametrize("token", ["1.5", "1e3", "--1", "+", "-", "1-2", "x", "1" * 19, "nan", "1:", "/1"])
def test_integers_that_need_a_closer_look(token: str) -> None:
    table = find_table(f"1\n{token}\n3".encode(), 1)
    assert table is not None
    assert bulk_columns(table, ["integer"]) is None


@pytest.mark.parametrize("token", ["1.5.5", "e5", "1e", "1e+", "1e5.5", "--1", ".", "-", "1_0", "infx", "1e5e5", "1:0"])
def test_reals_that_need_a_closer_look(token: str) -> None:
    table = find_table(f"1\n{token}\n3".encode(), 1)
    assert table is not None
    assert bulk_columns(table, ["real"]) is None


@given(
    st.lists(
        st.one_of(
            st.floats().map(repr),
            st.floats(width=32).map(repr),
            st.from_regex(r"[+-]?[0-9]{0,22}\.[0-9]{1,22}([eEdD][+-]?[0-9]{1,3})?", fullmatch=True),
            st.from_regex(r"[+-]?[0-9]{1,20}\.?([eEdD][+-]?[0-9]{1,3})?", fullmatch=True),
        ),
        min_size=1,
    )
)
def test_reals_in_bulk(tokens: list[str]) -> None:
    """Every decimal number is rounded once, whichever way it takes."""
    table = find_table("\n".join(tokens).encode(), 1)
    assert table is not None
    (values,) = bulk_columns(table, ["real"]) or [None]
    assert values is not None
    expected = np.array([float(token.lower().replace("d", "e")) for token in tokens])
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(np.signbit(values), np.signbit(expected))


def test_a_sum_of_powers_that_is_almost_halfway_is_rounded_once() -> None:
    """17 digits near the middle of two float64: rounding through a wider type would round some of them twice."""
    middles = [(2**53 + 2 * k + 1) * 2**9 for k in range(2000)]
    tokens = [f"{middle + step}e-{power}" for middle in middles for step in (-1, 0, 1) for power in (0, 7, 22)]
    table = find_table(" \n".join(tokens).encode(), 1)
    assert table is not None
    (values,) = bulk_columns(table, ["real"]) or [None]
    np.testing.assert_array_equal(values, [float(token) for token in tokens])
