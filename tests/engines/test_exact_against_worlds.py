"""The exact engine against the oracle that walks through every world."""

from __future__ import annotations

import math

import pytest
from hypothesis import HealthCheck, Phase, given, settings

import herbrand as hb
from herbrand.errors import ContradictionError
from herbrand.language.syntax import Theory
from tests.laws import tries
from tests.oracles.worlds import Universe, exact_answers
from tests.program_generators import models

slow_to_draw = settings(
    phases=[Phase.reuse, Phase.generate],
    max_examples=tries(50),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@slow_to_draw
@given(models(hard=True))
def test_partition_and_marginals(model: tuple[Theory, Universe]) -> None:
    assert_exact(*model)


@pytest.mark.slow
@settings(slow_to_draw, max_examples=2000)
@given(models(hard=True))
def test_partition_and_marginals_at_length(model: tuple[Theory, Universe]) -> None:
    assert_exact(*model)


def assert_exact(theory: Theory, universe: Universe) -> None:
    log_z, marginals, _ = exact_answers(universe, theory.formulas)
    if log_z == -math.inf:
        with pytest.raises(ContradictionError):
            hb.Model(theory).infer(engine="exact")
        return
    answer = hb.Model(theory).infer(engine="exact")
    assert answer.log_partition == pytest.approx(log_z, abs=1e-9)
    for row in answer.rows():
        assert row.predicate is not None
        value = True if row.value is None else row.value
        expected = marginals.get(((row.predicate, row.arguments), value), 0.0)
        assert row.probability == pytest.approx(expected, abs=1e-9), row
