"""What the engine answers: exact where regions have no cycles, near where they have, and what it says."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from typer.testing import CliRunner

import herbrand as hb
from herbrand.answers.explanation import Explanation
from herbrand.answers.guarantee import Guarantee
from herbrand.answers.marginals import Marginals
from herbrand.cli.app import program
from herbrand.engines.engine import Settings
from herbrand.engines.loop import Limits, run
from herbrand.engines.regions.engine import Regions, with_messages
from herbrand.errors import BudgetError, ContradictionError, UnsupportedError
from herbrand.program.program import Program
from herbrand.program.question import Question
from tests.engines.estimates import cost_of
from tests.engines.lifted.symmetric_theories import theories

LOOP = """\
type a = {{{a}}}
type b = {{{b}}}
type c = {{{c}}}
predicate r(a)
predicate s(b)
predicate t(c)
0.8: r(x) or s(y)
-0.9: s(y) or t(z)
0.5: r(x) or t(z)
"""
TRANSITIVE = (
    'type t = {"a", "b", "c"}\npredicate f(t, t)\n0.7: f(x, y) and f(y, z) => f(x, z)\n-0.4: f(x, y)\n'
)


def loop(size: int, more: str = "") -> hb.Model:
    """A cycle over three counts."""
    constants = {name: ", ".join(f'"{name}{i}"' for i in range(size)) for name in "abc"}
    return hb.Model(hb.parse(LOOP.format(**constants) + more))


def answered(engine: Any, program: Program, limits: Limits | None = None) -> Marginals:
    """All marginals by an engine with settings of its own."""
    return run(engine, program, Question(), limits)


def largest_difference(one: Marginals, other: Marginals) -> float:
    pairs = zip(one.rows(), other.rows(), strict=True)
    return max((abs(ours.probability - theirs.probability) for ours, theirs in pairs), default=0.0)


def assert_exact_where_said(text: str) -> None:
    """With and without merging; every atom, of one argument or two, whatever is known."""
    model = hb.Model(hb.parse(text))
    try:
        exact = model.infer(engine="exact", time_limit=1.0)
    except BudgetError:
        return
    except ContradictionError:
        with pytest.raises(ContradictionError):
            model.infer(engine="regions")
        return
    for cost in (None, 16.0):
        answer = model.infer(engine="regions", cost=cost)
        if answer.guarantee is Guarantee.EXACT:
            assert answer.log_partition == pytest.approx(exact.log_partition, abs=1e-7)
            assert largest_difference(answer, exact) < 1e-8


generated = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@generated
@given(theories())
def test_regions_without_cycles_are_exact(text: str) -> None:
    assert_exact_where_said(text)


@pytest.mark.slow
@settings(generated, max_examples=500)
@given(theories())
def test_regions_without_cycles_are_exact_at_length(text: str) -> None:
    assert_exact_where_said(text)


def test_one_region_is_exact_and_smaller_ones_come_nearer_than_bp() -> None:
    model = loop(3, 's("b1")\nt("c2") ~ 0.7\n')
    exact = model.infer(engine="exact")
    whole = model.infer(engine="regions")
    assert whole.guarantee is Guarantee.EXACT
    assert largest_difference(whole, exact) < 1e-9
    clusters = model.infer(engine="regions", cost=16)
    assert clusters.guarantee is Guarantee.APPROXIMATION
    assert 1e-6 < largest_difference(clusters, exact) < largest_difference(model.infer(engine="bp"), exact)


def test_joint_counts_make_a_tree_of_what_is_a_loop_on_the_ground() -> None:
    text = """\
type a = {"1", "2", "3", "4", "5", "6"}
type b = {"1", "2", "3", "4", "5", "6"}
type c = {"1", "2", "3", "4", "5", "6"}
predicate r(a)
predicate s(b)
predicate t(c)
0.4: r(x) or s(y)
-0.5: r(x) or t(z)
"""
    model = hb.Model(hb.parse(text))
    exact = model.infer(engine="lifted")
    answer = answered(Regions(merge=False), model.program)
    assert answer.guarantee is Guarantee.EXACT
    assert answer.log_partition == pytest.approx(exact.log_partition, abs=1e-9)
    assert largest_difference(answer, exact) < 1e-9
    assert model.infer(engine="bp").guarantee is Guarantee.APPROXIMATION


def test_a_cost_below_every_formula_leaves_the_messages_of_bp() -> None:
    model = loop(3)
    answer, bp = model.infer(engine="regions", cost=3), model.infer(engine="bp")
    assert largest_difference(answer, bp) < 1e-12 and answer.log_partition == bp.log_partition
    assert answer.status.advice == (
        "messages are those of bp, since a formula's table over counts would have 4 entries, and 3 are "
        "allowed (--cost)"
    )
    told = cost_of(with_messages(Regions(cost=3)), model.program)
    assert told.handed == answer.status.advice and "classes" in told.detail


def test_auto_asks_bp_itself_where_regions_would_hand_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("herbrand.engines.choice.AT_ONCE", 0.0)
    monkeypatch.setattr("herbrand.engines.choice.AFFORDABLE", 0.0)
    assert hb.Model(hb.parse(TRANSITIVE)).infer().engine == "bp"
    assert loop(3).infer(cost=16).engine == "regions"


def test_several_starts_end_in_the_one_of_largest_free_energy() -> None:
    """Two modes, one likelier: everything true, or everything false."""
    constants = ", ".join(f'"{i}"' for i in range(12))
    names = "abcd"
    text = "".join(f"type {n} = {{{constants}}}\npredicate p{n}({n})\n" for n in names)
    text += "".join(f"0.09: p{m}(x) <=> p{n}(y)\n" for m in names for n in names if m < n)
    text += "".join(f"0.15: p{n}(x)\n" for n in names)
    model = hb.Model(hb.parse(text))
    runs = [Regions(cost=13**2, starts=starts) for starts in (1, 6)]
    one, several = (answered(engine, model.program) for engine in runs)
    assert one.log_partition is not None and several.log_partition is not None
    assert several.log_partition >= one.log_partition - 1e-6
    again = answered(Regions(cost=13**2, starts=6), model.program)
    assert again.log_partition == several.log_partition  # seeds reproduce


def test_propositions_that_pairs_depend_on_are_summed_over() -> None:
    text = """\
type t = {"a", "b", "c"}
predicate rain
predicate wet(t)
predicate near(t, t)
0.7: rain and near(x, y) => wet(y)
0.5: wet(x) and near(x, y) => wet(y)
-0.3: rain
"""
    model = hb.Model(hb.parse(text))
    answer, exact = model.infer(engine="regions"), model.infer(engine="exact")
    assert answer.log_partition == pytest.approx(exact.log_partition, abs=1e-9)
    assert largest_difference(answer, exact) < 1e-9


def test_contradictions_name_the_statements() -> None:
    with pytest.raises(ContradictionError, match="no world satisfies"):
        loop(2, "hard: r(x) or s(y)\nhard: not r(x)\nhard: not s(y)\n").infer(engine="regions")


def test_contradictions_that_only_messages_find() -> None:
    """Each formula is possible with what is known, but not both."""
    more = 'hard: r(x) => s(y)\nhard: s(y) => t(z)\nr("a0")\nnot t("c0")\n'
    with pytest.raises(ContradictionError, match="2 statements together"):
        loop(2, more).infer(engine="regions", cost=9)


@pytest.mark.parametrize("question", [{"map": True}, {"query": "exists x: r(x)"}])
def test_what_messages_cannot_say_is_refused(question: dict) -> None:
    with pytest.raises(UnsupportedError, match="regions gives"):
        loop(2).infer(engine="regions", **question)


@pytest.mark.parametrize("wrong", [{"schedule": "random"}, {"damping": 1.0}])
def test_settings_are_checked(wrong: dict) -> None:
    with pytest.raises(UnsupportedError):
        Regions.with_settings(Settings(**wrong))


@pytest.mark.parametrize("schedule", ["parallel", "sequential"])
def test_schedules_come_to_the_same_rest(schedule: str) -> None:
    answer = answered(Regions(cost=16, schedule=schedule), loop(3).program, Limits(1e-10))
    assert answer.status.converged
    assert answer['r("a1")'] == pytest.approx(0.9755, abs=5e-2)


def test_explanations_add_up() -> None:
    model = loop(3, 's("b1")\nt("c2") ~ 0.7\n')
    for cost in (16, None):
        answer = model.infer(engine="regions", cost=cost)
        for atom in ('r("a1")', 's("b0")', 't("c2")', 't("c0")'):
            why = model.explain(atom, engine="regions", cost=cost)
            assert isinstance(why, Explanation)
            p = answer[atom]
            assert why.value == pytest.approx(math.log(p / (1 - p)), abs=1e-9)
            told = why.base + math.fsum(reason.contribution for reason in why.reasons)
            assert told == pytest.approx(why.value, abs=1e-5)
            assert abs(why.remainder) < 1e-5 and why.reasons


def test_the_command_line_says_that_another_method_did_the_work(tmp_path: Path) -> None:
    path = tmp_path / "friends.hb"
    path.write_text(TRANSITIVE)
    for engine, said in (
        ("lifted", "answered by ground elimination, since"),
        ("regions", "those of bp, since"),
    ):
        told = CliRunner().invoke(program(), ["infer", str(path), "--engine", engine])
        assert told.exit_code == 0
        assert said in told.stdout.splitlines()[0]
        assert said in told.stderr


PAIRS = """\
type t = {{{names}}}
predicate s(t)
predicate c(t) in {{"a", "b", "n"}}
predicate f(t, t)
0.4: s(x) and f(x, y) => s(y)
0.3: c(x) = "a" and f(x, y) => c(y) = "a"
0.2: c(x) = "b" and f(x, y) => c(y) = "b"
-0.2: f(x, y) and f(y, x)
0.5: s(x) => c(x) = "a"
"""


def friends(size: int, facts: str = "") -> hb.Model:
    names = ", ".join(f'"p{i}"' for i in range(size))
    return hb.Model(hb.parse(PAIRS.format(names=names) + facts))


@pytest.mark.parametrize("facts", ["", 's("p0")\n', 's("p0") ~ 0.8\nnot c("p0") = "b"\n'])
def test_two_constants_at_a_time_where_all_counts_are_too_many(facts: str) -> None:
    """Of two constants one region is all there is: exact. Of more, the pairs overlap."""
    for size in (1, 2, 3):
        model = friends(size, facts)
        exact = model.infer(engine="lifted")
        engine: Any = Regions(cost=60.0, partial=True)
        answer = answered(engine, model.program, Limits(1e-10))
        assert answer.status.converged
        assert ("not compared with bp" in answer.status.advice) == (answer.guarantee is not Guarantee.EXACT)
        if size < 3:
            assert answer.guarantee is Guarantee.EXACT
            assert answer.log_partition == pytest.approx(exact.log_partition, abs=1e-9)
            assert largest_difference(answer, exact) < 1e-9
        else:
            assert largest_difference(answer, exact) < 0.02


def test_partial_regions_reach_where_no_count_does() -> None:
    """Six profiles of 400 constants have 9e10 vectors of counts."""
    model = friends(400, "-6: f(x, y)\n")
    plain = model.infer(engine="regions", query="s")
    assert "those of bp" in plain.status.advice
    partial = model.infer(engine="regions", structure="partial", query="s")
    assert "not compared with bp" in partial.status.advice and partial.status.converged
    assert 0 < partial['s("p7")'] < 1
    assert "some constants at a time" in cost_of(Regions(partial=True), model.program).detail


def test_a_star_of_single_constants_is_exact() -> None:
    """Given all of s, each r(x) stands alone: copies that share what is counted."""
    constants = {name: ", ".join(f'"{name}{i}"' for i in range(4)) for name in "ab"}
    text = f"type a = {{{constants['a']}}}\ntype b = {{{constants['b']}}}\npredicate r(a)\npredicate s(b)\n"
    text += "0.7: (exists y: s(y)) => r(x)\n0.3: r(x) or s(y)\n-0.4: s(y)\n"
    model = hb.Model(hb.parse(text))
    engine: Any = Regions(cost=12.0, partial=True)
    answer, exact = answered(engine, model.program), model.infer(engine="exact")
    assert answer.guarantee is Guarantee.EXACT
    assert answer.log_partition == pytest.approx(exact.log_partition, abs=1e-9)
    assert largest_difference(answer, exact) < 1e-9


def test_structures_by_name() -> None:
    model = loop(3)
    ground, bp = model.infer(engine="regions", structure="ground"), model.infer(engine="bp")
    assert largest_difference(ground, bp) < 1e-12
    assert "one ground formula" in ground.status.advice
    counts = model.infer(engine="regions", structure="counts")
    assert largest_difference(counts, answered(Regions(merge=False), model.program)) < 1e-12
    elements = model.infer(engine="regions", structure="elements")
    assert largest_difference(elements, counts) > 1e-6
    with pytest.raises(UnsupportedError, match="no structure 'count'"):
        model.infer(engine="regions", structure="count")


def clauses(number: int, size: int, deviation: float) -> str:
    """Seven clauses over three of seven predicates each, every one over a type of its own."""
    dice = random.Random(number)
    listed = ", ".join(f'"c{i}"' for i in range(size))
    lines = [f"type t{p} = {{{listed}}}\npredicate r{p}(t{p})" for p in range(7)]
    for _ in range(7):
        a, b, c = dice.sample(range(7), 3)
        lines.append(f"{dice.gauss(0, deviation)!r}: r{a}(x) or r{b}(y) or r{c}(z)")
    return "\n".join(lines)


def check_clauses(number: int, size: int, deviation: float, structure: str) -> float:
    """The largest error of what regions at rest answer: none where they say that they are exact, and on
    average never more than that of ``bp``, whatever mode that is in."""
    model = hb.Model(hb.parse(clauses(number, size, deviation)))
    sure = model.infer(engine="lifted", memory="4GB")
    answer = model.infer(engine="regions", structure=structure)
    assert sure.log_partition is not None and answer.log_partition is not None
    if not answer.status.converged:
        return math.inf
    expected = {row.atom: row.probability for row in sure.rows()}
    found = {row.atom: row.probability for row in answer.rows()}
    if answer.guarantee == "exact":
        assert found == pytest.approx(expected, abs=1e-8)
        assert answer.log_partition == pytest.approx(sure.log_partition, abs=1e-8)
    loopy = model.infer(engine="bp")
    errors = [abs(found[atom] - expected[atom]) for atom in expected]
    of_bp = [abs(row.probability - expected[row.atom]) for row in loopy.rows()]
    assert np.mean(errors) <= np.mean(of_bp) + 0.01, (number, size, deviation)
    return max(errors)


@pytest.mark.parametrize("structure", ["merged", "counts"])
@pytest.mark.parametrize("number", [15, 25, 28, 29, 33])
def test_regions_rest_only_when_they_agree_about_what_is_improbable_too(number: int, structure: str) -> None:
    """Regions that agreed about what is probable, but not about the rest, used to end in other modes here."""
    assert check_clauses(number, 10, 0.5, structure) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("structure", ["merged", "counts"])
def test_modes_at_length(structure: str) -> None:
    for number in range(100, 200):
        check_clauses(number, 3 + number % 8, (0.2, 0.5, 1.0)[number % 3], structure)
