"""Random programs in random formats agree with the nested-loop oracle in every interpreter and backend."""

import pytest
from hypothesis import HealthCheck, given, settings

from everywhere import check_backend, check_everywhere
from strategies import Program, Seeded, programs, random_program

COMPILED = range(40)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(programs())
def test_interpreters_and_source(program: Program) -> None:
    check_everywhere(program)


@pytest.mark.parametrize("block", range(8))
def test_interpreters_and_source_on_a_fixed_sample(block: int) -> None:
    """Independent of hypothesis, so that a change of its version changes nothing here."""
    for number in range(block, 160, 8):
        check_everywhere(random_program(Seeded(f"everywhere:{number}")))


@pytest.mark.parametrize("number", COMPILED)
def test_compiled(number: int) -> None:
    check_backend(random_program(Seeded(f"numba:{number}")), "numba")
