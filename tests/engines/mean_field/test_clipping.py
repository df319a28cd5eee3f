"""Messages clipped statement by statement, against plain loops; and all that a changed model refuses."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.mean_field.problem import prepared
from herbrand.engines.mean_field.run import in_parallel
from herbrand.errors import UnsupportedError
from herbrand.language.theory import Theory
from tests.engines.mean_field.beliefs import beliefs
from tests.engines.mean_field.test_schedules import random_run
from tests.engines.mean_field.theories import people
from tests.laws import tries
from tests.oracles import mean_field as oracle
from tests.oracles.worlds import Universe
from tests.program_generators import models

few = settings(
    phases=[Phase.reuse, Phase.generate],
    max_examples=tries(10),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
CROWDED = f"""{people(3)}
predicate k(t): observed
k("p1")
1.5: s(x) and f(x, y) => s(y)
-2: exists y: f(x, y) and s(y)
0.4: k(x) => s(x)
0.3: s(x)
"""
MOODS = """
predicate mood(t) in {"u", "v", "w"}
1.2: s(x) and f(y, x) => mood(y) = "u"
predicate o(t)
hard: s(x) <=> not o(x)
0.8: o(x) and f(x, y) => o(y)
s("p2") ~ 0.7
"""


@few
@given(models(), st.integers(0, 10**6), st.sampled_from([0.1, 0.7, 50.0]))
def test_a_clipped_step_is_the_oracles(model: tuple[Theory, Universe], seed: int, clip: float) -> None:
    theory, universe = model
    assume(oracle.world_count(universe) <= 200)
    problem = prepared(hb.Model(theory).program, clip=clip)
    slow = oracle.MeanField(universe, ())
    run = random_run(problem, seed)
    expected = oracle.clipped_update(universe, theory.formulas, beliefs(problem, run.marginals, slow), clip)
    after = beliefs(problem, in_parallel(problem, run, adaptive=False).marginals, slow)
    for atom, told in expected.items():
        assert after[atom] == pytest.approx(told, abs=1e-9)


@pytest.mark.parametrize("wide", [1e8, 10**30])
def test_a_wide_clip_is_the_theorys_own_model(wide: float) -> None:
    model = hb.Model(hb.parse(CROWDED))
    clipped, whole = (model.infer(engine="mean-field", clip=c) for c in (wide, None))
    assert [row.probability for row in clipped.rows()] == pytest.approx(
        [row.probability for row in whole.rows()], abs=1e-5
    )


def test_a_rule_of_many_groundings_stays_below_its_clip() -> None:
    theory = hb.parse(
        "\n".join(
            ["predicate k(p): observed", "predicate a", *(f"k({i})" for i in range(40)), "2: k(x) => a"]
        )
    )
    odds = {}
    for clip in (1.0, 3.0, None):
        (row,) = hb.Model(theory).infer("a", engine="mean-field", clip=clip).rows()
        odds[clip] = math.log(row.probability / (1 - row.probability)) if row.probability < 1 else math.inf
    assert odds[1.0] == pytest.approx(2 * 40 / 41)
    assert odds[3.0] == pytest.approx(2 * 40 / (1 + 40 / 3))
    assert odds[None] > 30


def test_the_answer_names_the_changed_model_and_bounds_nothing() -> None:
    found = hb.Model(hb.parse(CROWDED)).infer(engine="mean-field", clip=0.5)
    told = found.to_dict()
    assert told["engine"] == "mean-field (clip 0.5)"
    assert told["guarantee"] == "approximation"
    assert told["log_partition"] is None and told["log_partition_guarantee"] is None


def test_clipped_contributions_sum_to_the_reported_log_odds() -> None:
    theory = hb.parse(CROWDED + MOODS)
    model = hb.Model(theory)
    options = {"engine": "mean-field", "clip": 0.3, "tolerance": 1e-9}
    for row in model.infer(['s("p2")', 'o("p2")', 'f("p1", "p2")'], **options).rows():
        found = model.explain(row.cells()[0], **options)
        parts = found.base + found.remainder + sum(reason.contribution for reason in found.reasons)
        assert parts == pytest.approx(found.value)
        assert 1 / (1 + math.exp(-found.value)) == pytest.approx(row.probability, abs=1e-7)
    moods = {row.cells()[0]: row.probability for row in model.infer("mood", **options).rows()}
    found = model.explain('mood("p0") = "u"', **options)
    parts = found.base + found.remainder + sum(reason.contribution for reason in found.reasons)
    assert parts == pytest.approx(math.log(moods['mood("p0") = "u"'] / moods['mood("p0") = "v"']), abs=1e-6)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"clip": 0.0}, "--clip is a number above 0, not 0.0"),
        ({"clip": math.nan}, "--clip is a number above 0, not nan"),
        ({"clip": 1.0, "schedule": "sequential"}, "a bound on log Z, and clipped messages have none"),
        ({"clip": 1.0, "starts": 2}, "a bound on log Z, and clipped messages have none"),
        ({"clip": 1.0, "map": True}, "worlds have no weights to compare"),
        ({"clip": 1.0, "engine": "exact"}, "does not use --clip"),
        ({"clip": 1.0, "engine": "auto"}, "does not use --clip"),
    ],
)
def test_what_a_changed_model_cannot_do_is_refused(options: dict, told: str) -> None:
    with pytest.raises(UnsupportedError, match=told):
        hb.Model(hb.parse(CROWDED)).infer(**{"engine": "mean-field", **options})


def test_weights_by_constant_cannot_be_clipped() -> None:
    theory = hb.parse("?[w]: has(d, w) => topic(d)\nhas(1, 2)")
    with pytest.raises(UnsupportedError, match="a weight for each constant cannot be clipped"):
        prepared(hb.Model(theory).program, clip=1.0)


def test_the_layer_is_the_engine() -> None:
    model = hb.Model(hb.parse(CROWDED))
    layer = hb.nn.LogicLayer(model, 3, clip=0.4, damping=0.5).double()
    found = model.infer(engine="mean-field", clip=0.4, damping=0.5, iterations=3)
    rows = [row.probability for row in found.rows() if row.predicate == "s"]
    assert layer()["s"].tolist() == pytest.approx(rows, abs=1e-6)


@pytest.mark.parametrize("clauses", ["exact", "independent"])
def test_gradients_of_clipped_layers(clauses: str) -> None:
    layer = hb.nn.LogicLayer(hb.Model(hb.parse(CROWDED)), 2, clip=0.6, clauses=clauses).double()
    logits = {
        n: torch.randn(s, generator=torch.Generator().manual_seed(3), dtype=torch.float64).requires_grad_()
        for n, s in layer.shapes.items()
    }

    def value() -> torch.Tensor:
        return layer.log_odds(logits)["s"].sum()

    value().backward()
    with torch.no_grad():
        for leaf in (logits["s"], logits["f"], *layer.weights):
            assert leaf.grad is not None
            flat, slopes = leaf.view(-1), leaf.grad.view(-1)
            for place in range(min(3, len(flat))):
                kept, found = flat[place].item(), []
                for step in (1e-6, -1e-6):
                    flat[place] = kept + step
                    found.append(value().item())
                flat[place] = kept
                assert slopes[place].item() == pytest.approx((found[0] - found[1]) / 2e-6, abs=1e-5)


def test_a_clipped_layer_is_unrolled() -> None:
    with pytest.raises(UnsupportedError, match="no gradient at a fixed point"):
        hb.nn.LogicLayer(hb.Model(hb.parse(CROWDED)), None, clip=1.0)
