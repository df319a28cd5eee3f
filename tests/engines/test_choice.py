"""What ``auto`` takes: the surest answer that is affordable, from what engines say of their cost."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.guarantee import Guarantee
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.belief.engine import BeliefPropagation
from herbrand.engines.choice import (
    AFFORDABLE,
    AT_ONCE,
    PATIENT,
    Choice,
    Offer,
    Refused,
    alternative,
    best,
    choices,
    choose,
)
from herbrand.engines.engine import Cost, Refusal, Settings
from herbrand.engines.exact import Exact
from herbrand.engines.gibbs.engine import Gibbs
from herbrand.engines.mean_field.engine import MeanField
from herbrand.engines.registry import engine_named
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.program.question import Question

EXACT, APPROXIMATION = Guarantee.EXACT, Guarantee.APPROXIMATION
SLOW = 10 * AT_ONCE
DEAR = 10 * AFFORDABLE
LINKED = "0.3: f(x, y) and f(y, z) => f(x, z)\n0.1: f(x, y)"
"""Three variables: counting cannot take it, and regions leave it to bp."""


def said(
    name: str, operations: float | None, guarantee: Guarantee = EXACT, handed: str = ""
) -> Offer | Refused:
    """An engine that would take so many operations; ``None``: it cannot run."""
    if operations is None:
        return Refused(name, Refusal(UnsupportedError(f"{name} is ill")))
    return Offer(name, Cost(operations, guarantee=guarantee, handed=handed))


def program_of(text: str, count: int) -> Any:
    constants = ", ".join(f'"c{i}"' for i in range(count))
    return hb.Model(hb.parse(f"type t = {{{constants}}}\npredicate f(t, t)\n{text}")).program


@pytest.mark.parametrize(
    ("engines", "taken", "why"),
    [
        ([said("a", 10.0), said("b", 1.0)], "a", "exact at once"),
        (
            [said("a", SLOW), said("b", 2 * SLOW), said("c", 1.0, APPROXIMATION)],
            "a",
            "the cheapest exact answer",
        ),
        ([said("a", 2 * SLOW), said("b", 1.0), said("c", 1.0, APPROXIMATION)], "b", "exact at once"),
        ([said("a", DEAR), said("b", SLOW)], "b", "the cheapest exact answer"),
        (
            [said("a", DEAR), said("b", 1.0, APPROXIMATION), said("c", 1.0)],
            "b",
            "the first quick approximation, as no exact answer is affordable",
        ),
        (
            [
                said("a", None),
                said("b", 1.0, APPROXIMATION, "c does the work"),
                said("c", 5.0, APPROXIMATION),
            ],
            "c",
            "the first quick approximation, as no exact answer is affordable",
        ),
        (
            [said("a", 2 * PATIENT, APPROXIMATION), said("b", PATIENT, APPROXIMATION)],
            "b",
            "the first quick approximation, as no exact answer is affordable",
        ),
        (
            [said("a", 2 * PATIENT, APPROXIMATION), said("b", 3 * PATIENT, APPROXIMATION)],
            "a",
            "the first approximation, as no exact answer is affordable",
        ),
        ([said("a", 2 * DEAR), said("b", DEAR)], "b", "as nothing cheaper can run"),
        ([said("a", None), said("b", 2 * DEAR)], "b", "as nothing cheaper can run"),
    ],
)
def test_the_surest_that_is_affordable(engines: list[Offer | Refused], taken: str, why: str) -> None:
    found = best(engines)
    assert (found.name, found.why) == (taken, why)
    assert str(found) == f"engine {taken}, {why}: about {found.operations:.1e} operations"


@given(
    st.lists(
        st.tuples(
            st.sampled_from([None, 0.0, 1.0, SLOW, 2 * SLOW, DEAR, 2 * DEAR]),
            st.sampled_from([EXACT, APPROXIMATION]),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_no_answer_that_is_sure_and_affordable_is_passed_over(
    told: list[tuple[float | None, Guarantee]],
) -> None:
    engines = [said(str(place), *one) for place, one in enumerate(told)]
    able = [offer for offer in engines if isinstance(offer, Offer)]
    if not able:
        with pytest.raises(BudgetError) as refused:
            best(engines)
        assert len(refused.value.mistakes) == len(engines)
        return
    found = best(engines)
    assert found in able
    sure = [offer.exact and offer.operations <= AFFORDABLE for offer in able]
    approximations = [place for place, offer in enumerate(able) if not offer.exact]
    quick = (place for place in approximations if any(sure[:place]) or able[place].operations <= PATIENT)
    end = next(quick, len(able))
    affordable = [offer.operations for offer, is_sure in zip(able[:end], sure[:end], strict=True) if is_sure]
    if affordable:
        assert found.exact and (found.operations <= AT_ONCE or found.operations == min(affordable))
    elif approximations:
        assert found is able[end if end < len(able) else approximations[0]]
    else:
        assert found.operations == min(offer.operations for offer in able)


def test_where_none_can_run_each_says_why() -> None:
    with pytest.raises(BudgetError) as refused:
        best([said(name, None) for name in ("a", "b")])
    assert str(refused.value) == "a cannot run it: a is ill\nb cannot run it: b is ill"


def test_where_none_can_run_advice_stands_once() -> None:
    hints = ("rest", "rest", "", "run")
    with pytest.raises(BudgetError) as refused:
        best([Refused("a", Refusal(UnsupportedError("ill", hint=hint))) for hint in hints])
    assert [mistake.hint for mistake in refused.value.mistakes] == ["rest", "", "", "run"]


def test_engines_are_asked_only_until_one_answers_at_once() -> None:
    program = hb.Model(hb.parse("0.5: p => q")).program
    asked = []

    def noted() -> Any:
        for choice in choices(Settings(), program, Question()):
            asked.append(choice.name)
            yield choice

    assert best(noted()).name == "exact"
    assert asked == ["exact"]


def test_what_regions_leave_to_bp_is_begun_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    prepare = BeliefPropagation.prepare
    monkeypatch.setattr(BeliefPropagation, "prepare", lambda *told: asked.append(told) or prepare(*told))
    every = choices(Settings(damping=0.3), program_of(LINKED, 3), Question())
    found = {offer.name: offer for offer in every if isinstance(offer, Choice)}
    assert len(asked) == 1
    bp, regions = found["bp"], found["regions"]
    assert regions.cost.handed.startswith("messages are those of bp, since ") and not bp.cost.handed
    assert (bp.operations, bp.cost.bytes) == (regions.operations, regions.cost.bytes)
    assert bp.engine == asked[0][0] == BeliefPropagation(damping=0.3)
    assert bp.begin() is regions.begin().state


def test_what_counting_leaves_to_elimination_is_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """``exact`` is asked before ``lifted``, which hands everything to it where it cannot count."""
    asked = list[str]()
    prepare = Exact.prepare

    def noted(engine: Exact, *given: Any) -> Any:
        asked.append(engine.name)
        return prepare(engine, *given)

    monkeypatch.setattr(Exact, "prepare", noted)
    program = program_of(LINKED, 8)
    offers = {offer.name: offer for offer in choices(Settings(), program, Question())}
    assert "lifted" in offers and asked == ["exact"]
    lifted = engine_named("infer", "lifted", Settings())
    alone = lifted.prepare(program, Question(), UNLIMITED)
    assert type(offers["lifted"]) is (Refused if isinstance(alone, Refusal) else Choice)


def test_the_state_that_the_estimate_made_is_gone_on_with() -> None:
    program = program_of("0.5: f(x, x)", 2)
    chosen = choose("auto", Settings(), program, Question())
    assert chosen.name == "exact" and chosen.begin() is chosen.begin()
    named = choose("bp", Settings(), program, Question())
    assert named.cost == Cost() and named.begin() is not named.begin(), "who is named is not asked"


def test_what_could_run_it_instead() -> None:
    program, question, error = program_of(LINKED, 12), Question(), BudgetError("too large")
    other = alternative(error, ["exact"], Settings(), program, question)
    assert str(other) == str(choose("auto", Settings(), program, question))
    assert str(other).startswith("engine bp, the first quick approximation")
    other = alternative(error, ["exact", "bp"], Settings(), program, question)
    assert str(other).startswith("engine mean-field, "), "those that refused are not asked"
    hurried = Settings(budget=Budget(seconds=8, clock=map(float, itertools.count()).__next__))
    assert alternative(error, ["exact"], hurried, program, question) is None, "there was no time to ask"
    clipped = Settings(clip=2.0)
    assert alternative(error, ["exact"], clipped, program, question) is None, "no other has that model"


def test_an_engine_that_hands_all_to_one_that_refused_is_not_taken() -> None:
    program = program_of("0.5: f(x, y) and f(y, z)", 2)
    handing = [one.name for one in choices(Settings(), program, Question()) if handed(one)]
    assert "lifted" in handing
    left = [one.name for one in choices(Settings(), program, Question(), without=["exact"])]
    assert not {"exact", "lifted"} & set(left)


def handed(one: Choice | Refused) -> bool:
    return isinstance(one, Choice) and bool(one.cost.handed)


GRID = "predicate s(n)\npredicate e(n, n): observed\n0.2: s(x) and e(x, y) => s(y)\n" + "\n".join(
    f'e("c{i}_{j}", "c{i + 1}_{j}")\ne("c{i}_{j}", "c{i}_{j + 1}")' for i in range(14) for j in range(14)
)


def test_auto_goes_on_with_another_engine_where_a_run_turns_out_too_large() -> None:
    """The marginals of the grid fit into 8 MB, the queried formula does not: exact sums it beside them."""
    asked = [f's("c{i}_0") and s("c0_{i}") and s("c13_{i}")' for i in (5, 6)]
    model = hb.Model(hb.parse(GRID))
    assert model.infer(memory="8MB").engine == "exact"
    noted: list[str] = []
    found = model.infer(asked, memory="8MB", note=noted.append)
    assert found.guarantee == "approximation" and len(found) == len(asked)
    assert noted[0].startswith("engine exact, ") and noted[-1].startswith(f"engine {found.engine}, ")
    exact = model.infer(asked)
    for one, other in zip(found.rows(), exact.rows(), strict=True):
        assert one.probability == pytest.approx(other.probability, abs=0.02)
    with pytest.raises(BudgetError, match=r"(?s)exact inference needs .*what can run it: engine "):
        model.infer(asked, engine="exact", memory="8MB")


def test_a_refusal_asks_no_more_engines_than_a_choice_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some import a library or compile loops to say that they can run."""
    asked: list[str] = []
    for engine in (MeanField, Gibbs, BeliefPropagation):
        prepare = engine.prepare
        monkeypatch.setattr(
            engine, "prepare", lambda own, *told, of=prepare: asked.append(own.name) or of(own, *told)
        )
    program = program_of("0.5: f(x, x)", 2)
    other = alternative(BudgetError("too large"), ["bp"], Settings(), program, Question())
    assert "exact" in str(other) and "mean-field" not in str(other)
    assert not {"mean-field", "gibbs", "bp"} & set(asked), "nor the one that refused"
    program = program_of(LINKED, 12)
    other = alternative(BudgetError("too large"), ["exact"], Settings(), program, Question())
    assert "engine bp, " in str(other) and set(asked) == {"bp"}, "nor those behind a quick approximation"


def test_what_only_approximates_is_not_asked_beside_an_affordable_exact_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    prepare = MeanField.prepare
    monkeypatch.setattr(MeanField, "prepare", lambda *told: asked.append(told) or prepare(*told))
    matching = hb.parse(
        "hard: m(x, y) and m(x, z) => y = z\nhard: m(x, y) and m(z, y) => x = z\n1.0: m(x, y)\n"
        "predicate m(left, right)\ntype left = 1..60\ntype right = 1..60"
    )
    program, question = hb.Model(matching).program, Question(most_probable=True)
    chosen = choose("auto", Settings(), program, question)
    assert chosen.name == "integer" and chosen.operations > 0 and not asked
    assert "mean-field" in [offer.name for offer in choices(Settings(), program, question)]
    assert asked, "a listing of all engines asks it"


def test_no_engine_is_named_for_more_instances_than_any_answers() -> None:
    """Another engine and a scratch database were named beside the reason, and refused it alike."""
    model = hb.Model(hb.parse("type t = 1..60\npredicate e(t, t)\n1: e(x, y)"))
    for engine in ("auto", "lifted"):
        with pytest.raises(BudgetError) as refused:
            model.infer("e(x, y) and e(y, z)", engine=engine)
        (mistake,) = refused.value.mistakes
        assert mistake.message == "the queried formula has 216,000 instances; at most 100,000 are answered"
