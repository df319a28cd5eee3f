"""The engine: what it answers, refuses, tells and explains."""

from __future__ import annotations

import math

import pytest

import herbrand as hb
from herbrand.engines.belief.engine import BeliefPropagation
from herbrand.engines.engine import first_state
from herbrand.errors import BudgetError, ContradictionError, UnsupportedError
from herbrand.program.question import AtomPattern, Question
from herbrand.reports.sizes import size_report

SMOKERS = """
predicate smokes(person)
predicate friends(person, person)
1.1: smokes(x) and friends(x, y) => smokes(y)
-1.0: smokes(x)
"""


def named(count: int) -> str:
    listed = ", ".join('"p' + str(i) + '"' for i in range(count))
    return f"type person = {{{listed}}}\n"


def test_a_hundred_million_atoms_without_grounding() -> None:
    model = hb.Model(hb.parse(named(10_000) + SMOKERS + 'smokes("p3")\nnot smokes("p5")'))
    state = first_state(BeliefPropagation(), model.program, Question((AtomPattern("smokes", ("x",)),)))
    assert state.compiled.built.ground is None, "made of classes"
    assert state.compiled.atom_count == 10_000**2 + 9_998
    answer = model.infer("smokes", engine="bp")
    assert len(answer) == 9_998
    assert len({round(row.probability, 12) for row in answer.rows()}) == 1


def test_no_symmetry_left_is_ground_propagation() -> None:
    """Every constant has an opinion of its own."""
    opinions = "\n".join(f'smokes("p{i}") ~ {0.3 + 0.05 * i}' for i in range(6))
    model = hb.Model(hb.parse(named(6) + SMOKERS + opinions))
    lifted, ground = BeliefPropagation(), BeliefPropagation(lift=False)
    states = [first_state(engine, model.program, Question()) for engine in (lifted, ground)]
    assert states[0].compiled.graph.factor_count == states[1].compiled.graph.factor_count
    for _ in range(5):
        states = [e.step(s) for e, s in zip((lifted, ground), states, strict=True)]
    assert states[0].pace.moved == pytest.approx(states[1].pace.moved, abs=1e-12)


def test_check_tells_the_classes() -> None:
    report = size_report(hb.Model(hb.parse(named(30) + SMOKERS + 'smokes("p3")')))
    assert report.engines["bp"].detail == "4 classes of 929 latent atoms"


@pytest.mark.parametrize("schedule", ["parallel", "sequential"])
def test_schedules_find_the_same_fixed_point(schedule: str) -> None:
    model = hb.Model(hb.parse(named(4) + SMOKERS + 'smokes("p1")'))
    answer = model.infer(engine="bp", schedule=schedule, tolerance=1e-11)
    assert answer.status.converged
    other = model.infer(engine="bp", damping=0.6, tolerance=1e-11)
    assert answer.log_partition == pytest.approx(other.log_partition, abs=1e-8)
    assert [r.probability for r in answer.rows()] == pytest.approx([r.probability for r in other.rows()])


def test_damping_grows_where_rounds_swing() -> None:
    """Everybody wants to differ from everybody: undamped rounds jump between two states."""
    differ = named(60) + "predicate p(person)\n-0.5: p(x) and p(y) where x != y\n3: p(x)"
    program = hb.Model(hb.parse(differ)).program
    undamped = hb.Model(hb.parse(differ)).infer(engine="bp", damping=0.0, iterations=100)
    assert not undamped.status.converged
    assert hb.Model(hb.parse(differ)).infer(engine="bp", iterations=400).status.converged
    assert first_state(BeliefPropagation(), program, Question()).pace.damping == 0.0


@pytest.mark.parametrize(("option", "value"), [("schedule", "random"), ("damping", 1.0), ("damping", -0.1)])
def test_wrong_settings(option: str, value: object) -> None:
    with pytest.raises(UnsupportedError):
        hb.Model(hb.parse("1: p")).infer(engine="bp", **{option: value})  # type: ignore[arg-type]


def test_a_contradiction_names_its_statements() -> None:
    theory = hb.parse('0.3: q(x)\nhard: p(x)\nhard: p(x) => q(x)\nhard: not q("a")\ntype thing = {"a", "b"}')
    with pytest.raises(ContradictionError, match="these 3 statements together"):
        hb.Model(theory).infer(engine="bp")


def test_what_it_refuses() -> None:
    model = hb.Model(hb.parse("1: p or q"))
    with pytest.raises(UnsupportedError, match="no most probable world"):
        model.infer(engine="bp", map=True)
    with pytest.raises(UnsupportedError, match="not of formulas"):
        model.infer("p or q", engine="bp")
    with pytest.raises(BudgetError, match="latent atoms"):
        hb.Model(hb.parse(named(10_000) + SMOKERS)).infer(engine="bp", memory="500MB")


def test_no_atoms_at_all() -> None:
    answer = hb.Model(hb.parse('predicate p(t): observed\np("a")\n0.7: p(x)')).infer(engine="bp")
    assert answer.log_partition == pytest.approx(0.7)
    assert not len(answer)


def test_a_wide_conjunction_costs_its_width() -> None:
    literals = " and ".join(f"p{i}" for i in range(40))
    answer = hb.Model(hb.parse(f"3: {literals}")).infer(engine="bp")
    assert answer.guarantee == "exact"
    assert answer.log_partition == pytest.approx(math.log(2**40 - 1 + math.exp(3)), abs=1e-9)


def test_a_long_chain_takes_one_round() -> None:
    links = "\n".join(f'next("c{i:04}", "c{i + 1:04}")' for i in range(3000))
    rule = "2: p(x) and next(x, y) => p(y)\nhard: next(x, y) and p(y) => p(x)"
    declared = "predicate next(t, t): observed\npredicate p(t)"
    theory = hb.parse(f'{declared}\n{links}\n{rule}\np("c3000")')
    answer = hb.Model(theory).infer(engine="bp")
    assert answer.guarantee == "exact" and answer.status.iterations == 1
    assert answer['p("c0000")'] == 1.0


@pytest.mark.parametrize("facts", ["", 'smokes("p1")\nfriends("p0", "p1")\nsmokes("p2") ~ 0.9'])
def test_an_explanation_adds_up(facts: str) -> None:
    text = named(4) + SMOKERS + "0.8: exists y: friends(x, y) and smokes(y)\n" + facts
    model = hb.Model(hb.parse(text))
    why = model.explain('smokes("p0")', engine="bp", tolerance=1e-10)
    p = model.infer('smokes("p0")', engine="bp", tolerance=1e-10)['smokes("p0")']
    assert why.value == pytest.approx(math.log(p / (1 - p)), abs=1e-8)
    told = math.fsum(reason.contribution for reason in why.reasons)
    assert told + why.base + why.remainder == pytest.approx(why.value, abs=1e-9)
    assert abs(why.remainder) < 1e-9
    unary = next(r for r in why.reasons if r.statement == "-1.0: smokes(x)")
    assert unary.contribution == pytest.approx(-1.0) and unary.grounding == {"x": "p0"}


def test_one_class_is_counted_in_the_singular() -> None:
    report = size_report(hb.Model(hb.parse("1: a")))
    assert report.engines["bp"].detail == "1 class of 1 latent atom"
    assert report.engines["regions"].detail == (
        "1 region over 1 class of alike constants, the largest of 1 entry"
    )
