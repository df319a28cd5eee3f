"""What the engine says beside numbers: what it cannot lift, what it explains, how large answers are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import pytest

import herbrand as hb
from herbrand.answers.explanation import Explanation
from herbrand.answers.guarantee import Status
from herbrand.budget import Budget
from herbrand.engines.engine import Settings, first_state
from herbrand.engines.lifted import costs
from herbrand.engines.lifted.engine import Lifted, lifted
from herbrand.engines.regions.engine import Regions
from herbrand.errors import BudgetError, ContradictionError, HerbrandError, OutOfTimeError
from herbrand.program.question import Question
from tests.engines.estimates import cost_of, refusal_of

SMOKERS = """\
type person = {{{people}}}
predicate smokes(person)
predicate friends(person, person)
1.5: smokes(x) and friends(x, y) => smokes(y)
-1.0: smokes(x)
-0.8: friends(x, y)
"""


def smokers(count: int, more: str = "") -> hb.Model:
    people = ", ".join(f'"p{i}"' for i in range(count))
    return hb.Model(hb.parse(SMOKERS.format(people=people) + more))


def test_hundreds_of_people_are_counted_and_agree_with_each_other() -> None:
    answer = smokers(300).infer(engine="lifted")
    assert len(answer) == 90_300 and answer.status.advice == ""
    friends = answer["friends"]
    assert 0 < friends["p3", "p7"] == friends["p299", "p0"] < 0.5


def test_another_opinion_on_each_keeps_it_polynomial() -> None:
    def operations(count: int) -> float:
        opinions = "".join(f'smokes("p{i}") ~ {0.2 + i / 200}\n' for i in range(count))
        return cost_of(lifted(), smokers(count, opinions).program).operations or 0.0

    assert operations(60) < 2**3 * operations(30)


def test_links_among_a_few_people_are_exact() -> None:
    links = 'friends("p0", "p1")\nnot friends("p1", "p2")\nfriends("p3", "p2") ~ 0.9\nsmokes("p5")\n'
    model = smokers(6, links)
    lifted, ground = (model.infer(engine=name) for name in ("lifted", "exact"))
    assert lifted.log_partition == pytest.approx(ground.log_partition, abs=1e-9)
    assert [r.probability for r in lifted.rows()] == pytest.approx(
        [r.probability for r in ground.rows()], abs=1e-9
    )


TRANSITIVE = "predicate f(t, t)\n0.7: f(x, y) and f(y, z) => f(x, z)\n-0.4: f(x, y)\n"


def test_what_cannot_be_lifted_is_grounded_and_says_so() -> None:
    model = hb.Model(hb.parse('type t = {"a", "b", "c"}\n' + TRANSITIVE))
    answer = model.infer(engine="lifted")
    assert answer.engine == "lifted"
    assert answer.status.advice == (
        "answered by ground elimination, since a formula links more than two variables through atoms of two "
        "arguments"
    )
    assert answer.log_partition == pytest.approx(model.infer(engine="exact").log_partition, abs=1e-12)


def test_what_can_be_neither_lifted_nor_grounded_gives_both_reasons() -> None:
    constants = ", ".join(f'"c{i}"' for i in range(16))
    with pytest.raises(BudgetError) as caught:
        hb.Model(hb.parse(f"type t = {{{constants}}}\n{TRANSITIVE}")).infer(engine="lifted")
    assert "lifted inference does not apply: a formula links more than two variables" in str(caught.value)
    assert "ground" in str(caught.value)


def test_limits_are_kept() -> None:
    assert refusal_of(lifted(Budget(1000)), smokers(300).program).startswith(
        "lifted inference does not apply"
    )
    hurried = Lifted.with_settings(Settings(budget=Budget(seconds=1e-4, clock=lambda: 0.0)))
    told = refusal_of(hurried, smokers(300).program)
    assert "counting would take about 6e+03 operations; at most 3e+03 are allowed" in told


def test_many_atoms_are_not_listed_beyond_the_budget() -> None:
    with pytest.raises(BudgetError, match="the answer would list 250,500 atoms"):
        smokers(500).infer(engine="lifted", memory=2_000_000)
    asked = smokers(500).infer("smokes", engine="lifted", memory=2_000_000)
    assert len(asked) == 500


def test_contradictions_are_named() -> None:
    with pytest.raises(ContradictionError) as caught:
        smokers(4, "[a] hard: smokes(x) and not friends(x, y)\n[b] hard: friends(x, x)\n").infer(
            engine="lifted"
        )
    assert [m.span.text for m in caught.value.mistakes if m.span is not None] == [
        "[a] hard: smokes(x) and not friends(x, y)",
        "[b] hard: friends(x, x)",
    ]


def test_a_large_contradiction_is_told_without_grounding() -> None:
    with pytest.raises(ContradictionError):
        smokers(200, "hard: smokes(x) and not friends(x, y)\nhard: friends(x, x)\n").infer(engine="lifted")


@pytest.mark.parametrize("query", ['smokes("p1") and not friends("p1", "p2")', "exists x: smokes(x)"])
def test_queried_formulas(query: str) -> None:
    model = smokers(5, 'smokes("p0")\n')
    lifted, ground = (list(model.infer(query, engine=name).rows()) for name in ("lifted", "exact"))
    assert lifted[0].probability == pytest.approx(ground[0].probability, abs=1e-9)


@pytest.mark.parametrize("atom", ['smokes("p1")', 'friends("p0", "p1")', 'friends("p2", "p2")'])
def test_reasons_add_up_and_agree_with_the_ground(atom: str) -> None:
    model = smokers(4, 'smokes("p0")\nsmokes("p3") ~ 0.8\n')
    lifted, ground = (model.explain(atom, engine=name) for name in ("lifted", "exact"))
    assert isinstance(lifted, Explanation) and isinstance(ground, Explanation)
    assert lifted.value == pytest.approx(ground.value, abs=1e-8)
    assert lifted.base == pytest.approx(ground.base, abs=1e-8)
    summed: dict[str, float] = {}
    for reason in ground.reasons:
        text = "soft evidence" if reason.statement.startswith("soft") else reason.statement
        summed[text] = summed.get(text, 0.0) + reason.contribution
    assert {r.statement: r.contribution for r in lifted.reasons} == pytest.approx(summed, abs=1e-8)
    assert math.isclose(lifted.remainder, 0.0, abs_tol=1e-8)


def test_empty_domains_and_theories_without_atoms() -> None:
    for text in (
        "type t\npredicate p(t)\n1.0: p(x)",
        "type t\npredicate p(t)\n1: exists x: p(x)",
        "predicate rain\n0.5: rain",
        "",
    ):
        try:
            ground = hb.Model(hb.parse(text)).infer(engine="exact")
        except hb.HerbrandError as error:
            with pytest.raises(type(error)):
                hb.Model(hb.parse(text)).infer(engine="lifted")
            continue
        lifted = hb.Model(hb.parse(text)).infer(engine="lifted")
        assert lifted.log_partition == pytest.approx(ground.log_partition, abs=1e-12)


def test_atoms_of_three_arguments_that_nothing_speaks_of() -> None:
    text = (
        'type t = {"a", "b"}\npredicate between(t, t, t)\npredicate p(t)\n0.3: p(x)\n'
        'between("a", "b", "a") ~ 0.9\nbetween("a", "a", "a")\n'
    )
    lifted, ground = (hb.Model(hb.parse(text)).infer(engine=name) for name in ("lifted", "exact"))
    assert lifted.log_partition == pytest.approx(ground.log_partition, abs=1e-12)
    assert [r.probability for r in lifted.rows()] == pytest.approx(
        [r.probability for r in ground.rows()], abs=1e-12
    )


@pytest.mark.parametrize("engine", [Lifted, Regions])
def test_the_probabilities_of_pairs_are_read_within_the_time(engine: type[Lifted] | type[Regions]) -> None:
    """Each person of whom something else is known is held in turn: a second of counting was read for ten."""
    now = [0.0]
    asked = engine(budget=Budget(seconds=60, clock=lambda: now[0]))
    opinions = "".join(f'smokes("p{i}") ~ {0.2 + i / 20}\n' for i in range(8))
    state = asked.step(first_state(asked, smokers(8, opinions).program, Question()))
    now[0] = 65.0  # an answer that is nearly written is worth a little more time
    assert len(list(asked.read(state, Status(True, 1)).rows())) == 72
    state = asked.step(state)
    now[0] = 67.0
    with pytest.raises(OutOfTimeError):
        asked.read(state, Status(True, 1))


def test_by_the_command_line(herbrand: Callable[..., object]) -> None:
    outcome = herbrand(
        "infer", "examples/smokers/smokers.hb", "--facts", "examples/smokers/facts", "--engine", "lifted"
    )
    assert outcome.status == 0, outcome.err  # type: ignore[attr-defined]


def test_estimates_of_large_networks_are_made_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of the elimination measures the hubs beside it again, and not all."""
    measured, joint = 0, costs.shape_of_product

    def counted(shapes: Iterable[costs.PolynomialShape]) -> costs.PolynomialShape:
        nonlocal measured
        measured += 1
        return joint(shapes)

    def measurements(nodes: int) -> int:
        nonlocal measured
        measured = 0
        links = "".join(f"link({i}, {(7 * i + 3 * k + 1) % nodes})\n" for i in range(nodes) for k in range(4))
        declared = "predicate link(node, node): observed\npredicate p(node)\n"
        model = hb.Model(hb.parse(f"{declared}1: p(x) and link(x, y) => p(y)\n0.3: p(x)\n{links}"))
        with pytest.raises(HerbrandError, match="more than any machine has"):
            model.infer(engine="lifted")
        return measured

    monkeypatch.setattr(costs, "shape_of_product", counted)
    assert 0 < measurements(400) < 3 * measurements(200)
