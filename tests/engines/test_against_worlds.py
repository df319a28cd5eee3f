"""The engines that are exact for any theory, against the oracle that walks through every world."""

from __future__ import annotations

import math

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings

import herbrand as hb
from herbrand.errors import ContradictionError
from herbrand.language import syntax as s
from herbrand.language.show import show_formula
from herbrand.language.theory import Theory
from tests.laws import tries
from tests.oracles.worlds import Universe, exact_answers, free_names
from tests.program_generators import anchored, models

generated = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    max_examples=tries(30),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
every_engine = pytest.mark.parametrize("engine", ["exact", "lifted"])


def assert_exact(engine: str, theory: Theory, universe: Universe) -> None:
    log_z, marginals, _ = exact_answers(universe, theory.formulas)
    if log_z == -math.inf:
        with pytest.raises(ContradictionError):
            hb.Model(theory).infer(engine=engine)
        return
    answer = hb.Model(theory).infer(engine=engine)
    assert answer.engine == engine
    assert answer.log_partition == pytest.approx(log_z, abs=1e-9)
    for row in answer.rows():
        assert row.predicate is not None
        value = True if row.value is None else row.value
        expected = marginals.get(((row.predicate, row.arguments), value), 0.0)
        assert row.probability == pytest.approx(expected, abs=1e-9), row


@every_engine
@generated
@given(model=models(hard=True))
def test_partition_and_marginals(engine: str, model: tuple[Theory, Universe]) -> None:
    assert_exact(engine, *model)


@pytest.mark.slow
@every_engine
@settings(generated, max_examples=2000)
@given(model=models(hard=True))
def test_partition_and_marginals_at_length(engine: str, model: tuple[Theory, Universe]) -> None:
    assert_exact(engine, *model)


@every_engine
@generated
@given(model=models(hard=True), query=anchored)
def test_probability_of_any_formula(engine: str, model: tuple[Theory, Universe], query: s.Formula) -> None:
    theory, universe = model
    names = sorted(set(free_names(query)))
    closed = s.Exists(tuple(map(s.Variable, names)), query) if names else query
    log_z, _, expected = exact_answers(universe, theory.formulas, [closed])
    assume(log_z > -math.inf)
    answer = hb.Model(theory).infer(show_formula(closed), engine=engine)
    assert [row.probability for row in answer.rows()] == pytest.approx(expected, abs=1e-9)
