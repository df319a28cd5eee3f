"""Which fixed point is believed: lower bounds are bounds, and belief propagation is a start and a rival."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

import herbrand as hb
from herbrand.engines.engine import first_state
from herbrand.engines.fallback import HandOverError, SecondState
from herbrand.engines.loop import Limits, settle
from herbrand.engines.regions import engine as module
from herbrand.engines.regions.engine import Regions
from herbrand.program.question import Question
from tests.engines.regions.monadic import theories
from tests.engines.regions.test_engine import clauses
from tests.laws import tries
from tests.oracles.worlds import Universe, exact_answers

quick = settings(
    phases=[Phase.reuse, Phase.generate],
    deadline=None,
    max_examples=tries(20),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def check_bounds(case: tuple[str, Universe]) -> None:
    """Of every start, and of belief propagation, at rest or not."""
    theory = hb.parse(case[0])
    log_z = exact_answers(case[1], theory.formulas)[0]
    if log_z == -math.inf:
        return
    engine: Any = Regions(merge=False)
    begin = partial(first_state, engine, hb.Model(theory).program, Question())
    try:
        state, _ = settle(engine, begin, Limits(iterations=30))
    except HandOverError:
        return
    if isinstance(state, SecondState) or len(state.parts) > 1:
        return
    elsewhere = float(state.problem.elsewhere.detach())
    bounds = [run.bound for run in state.runs[0]]
    bounds += [state.loopy.bound(state.parts[0])] if state.loopy is not None else []
    assert all(bound + elsewhere <= log_z + 1e-9 for bound in bounds), (bounds, elsewhere, log_z)


@quick
@given(theories(predicates=4, constants=2, facts=True, bent=True))
def test_lower_bounds_are_below_the_log_partition(case: tuple[str, Universe]) -> None:
    check_bounds(case)


@pytest.mark.slow
@settings(quick, max_examples=500)
@given(theories(predicates=5, constants=2, facts=True, bent=True))
def test_lower_bounds_are_below_the_log_partition_at_length(case: tuple[str, Universe]) -> None:
    check_bounds(case)


def test_belief_propagation_is_one_of_the_starts() -> None:
    program = hb.Model(hb.parse(clauses(2, 6, 0.5))).program
    state = first_state(Regions(merge=False), program, Question())
    assert state.loopy is not None and len(state.runs[0]) == 2
    alone = first_state(Regions(merge=False, starts=1), program, Question())
    assert alone.loopy is None and len(alone.runs[0]) == 1


def test_a_bound_near_the_truth_is_that_of_its_mode() -> None:
    """Bounds of runs that end in the exact mode are the largest."""
    model = hb.Model(hb.parse(clauses(16, 10, 0.5)))
    sure, loopy = model.infer(engine="lifted"), model.infer(engine="bp")
    answer = model.infer(engine="regions", structure="counts")
    expected = {row.atom: row.probability for row in sure.rows()}
    assert {row.atom: row.probability for row in answer.rows()} == pytest.approx(expected, abs=1e-6)
    assert {row.atom: row.probability for row in loopy.rows()} != pytest.approx(expected, abs=0.2)


def test_where_messages_between_atoms_are_better_they_answer_and_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module.Loopy, "bound", lambda self, part: math.inf)
    model = hb.Model(hb.parse(clauses(2, 6, 0.5)))
    answer = model.infer(engine="regions", structure="counts", tolerance=1e-9)
    loopy = model.infer(engine="bp", tolerance=1e-9)
    assert answer.engine == "regions" and "lower bound" in answer.status.advice
    expected = {row.atom: row.probability for row in loopy.rows()}
    assert {row.atom: row.probability for row in answer.rows()} == pytest.approx(expected, abs=1e-6)


NOT_COMPARED: dict[str, tuple[str, dict[str, Any], str]] = {
    "one start": ("", {"starts": 1}, "there is one start"),
    "parts": ("predicate rain\npredicate f(t0, t1)\n0.3: rain and f(x, y) and r0(x)", {}, "2 parts"),
    "no bound": ("", {}, "neither gives a lower bound"),
    "restless": ("", {}, "has not come to rest"),
}


@pytest.mark.parametrize("case", NOT_COMPARED.values(), ids=list(NOT_COMPARED))
def test_what_is_not_compared_with_bp_is_noted(
    case: tuple[str, dict[str, Any], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    more, chosen, why = case
    if "bound" in why:
        monkeypatch.setattr(module.Loopy, "bound", lambda self, part: -math.inf)
        monkeypatch.setattr(module.RegionRun, "bound", -math.inf)
    if "rest" in why:
        monkeypatch.setattr(module.Loopy, "of", lambda *arguments: None)
    model = hb.Model(hb.parse(f"{clauses(2, 6, 0.5)}\n{more}"))
    answer = model.infer("r0", engine="regions", structure="counts", **chosen)
    assert answer.guarantee == "approximation" and why in answer.status.advice
    assert "not compared with bp" in answer.status.advice


def test_what_is_compared_or_exact_has_no_note() -> None:
    model = hb.Model(hb.parse(clauses(2, 6, 0.5)))
    assert model.infer("r0", engine="regions", structure="counts").status.advice == ""
    alone = hb.Model(hb.parse('type t = {"a", "b"}\npredicate p(t)\n1: p(x) and p(y)'))
    assert alone.infer("p", engine="regions", starts=1).status.advice == ""
