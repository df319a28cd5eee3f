"""Counting against ground elimination, for symmetric theories with evidence over a few more constants."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings

import herbrand as hb
from herbrand.answers.marginals import Marginals
from herbrand.errors import BudgetError, ContradictionError, FactsError
from tests.engines.lifted.symmetric_theories import theories
from tests.laws import tries

generated = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    max_examples=tries(20),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def both(text: str, most: bool) -> tuple[hb.Model, Marginals, Marginals] | None:
    """The model and its answers by counting and on the ground; ``None`` where the latter would take long."""
    model = hb.Model(hb.parse(text))
    try:
        ground = model.infer(engine="exact", map=most, time_limit=1.0)
    except (BudgetError, FactsError):
        return None
    except ContradictionError:
        with pytest.raises(ContradictionError):
            model.infer(engine="lifted", map=most)
        return None
    return model, model.infer(engine="lifted", map=most), ground


def assert_same(text: str) -> None:
    found = both(text, False)
    if found is None:
        return
    _, lifted, ground = found
    assert lifted.log_partition == pytest.approx(ground.log_partition, abs=1e-8)
    for one, other in zip(lifted.rows(), ground.rows(), strict=True):
        assert one.text == other.text
        assert one.probability == pytest.approx(other.probability, abs=1e-8), one


@generated
@given(theories())
def test_partition_and_marginals(text: str) -> None:
    assert_same(text)


@pytest.mark.slow
@settings(generated, max_examples=1000)
@given(theories())
def test_partition_and_marginals_at_length(text: str) -> None:
    assert_same(text)


@generated
@given(theories())
def test_most_probable_world(text: str) -> None:
    found = both(text, True)
    if found is None:
        return
    model, lifted, ground = found
    assert lifted.log_weight == pytest.approx(ground.log_weight, abs=1e-8)
    world = []
    for row in lifted.rows():
        assert row.probability in (0.0, 1.0)
        if row.value is None:
            world.append(row.atom if row.probability else f"not {row.atom}")
        elif row.probability:
            world.append(row.text)
    assert model.infer(engine="exact", given=world).log_partition == pytest.approx(
        ground.log_weight, abs=1e-8
    )
