"""One distribution whichever command is asked: explanations, evidence, best worlds, samples, marginals."""

from __future__ import annotations

import math
import random
import re
from itertools import product

import pytest

import herbrand as hb
from herbrand.answers.explanation import Explanation
from herbrand.errors import HerbrandError
from tests.engines.circuit.programs import random_program
from tests.laws import long


def _check(seed: int) -> int:
    """How many numbers of the random program were compared; 0 where it has no world."""
    program = random_program(seed)
    model = hb.Model(hb.parse(program.text))
    try:
        marginals = {row.cells()[0]: row.probability for row in model.infer().rows()}
    except HerbrandError:
        return 0
    atoms = random.Random(seed).sample(sorted(marginals), min(4, len(marginals)))
    compared = sum(_explained(model, atom, marginals[atom]) for atom in atoms)
    compared += sum(_conditioned(model, atom, marginals[atom], atoms[0]) for atom in atoms)
    best = model.infer(map=True).log_weight
    assert best is not None
    for world in model.sample(20, seed=seed).worlds:
        assert world.log_weight is None or world.log_weight <= best + 1e-9, program.text
    return compared + 1


def _explained(model: hb.Model, atom: str, probability: float) -> bool:
    """An explanation starts from the probability, or from its log-odds, and its parts add up to it."""
    try:
        why = model.explain(atom)
    except HerbrandError:
        return False
    assert isinstance(why, Explanation)
    parts = (why.base, why.remainder, *(reason.contribution for reason in why.reasons))
    assert math.fsum(parts) == pytest.approx(why.value, abs=1e-8)
    value = why.value if why.quantity == "probability" else 1 / (1 + math.exp(-why.value))
    assert value == pytest.approx(probability, abs=1e-8), (model.theory, atom)
    return True


def _conditioned(model: hb.Model, given: str, probability: float, atom: str) -> bool:
    """P(q | e) P(e) = P(q and e)."""
    if not 1e-9 < probability < 1:
        return False
    (both,) = model.infer(f"({atom}) and ({given})").rows()
    (found,) = model.infer(f"({atom}) and true", given=[given]).rows()
    assert found.probability * probability == pytest.approx(both.probability, abs=1e-9), (atom, given)
    return True


@pytest.mark.parametrize("start", long(range(0, 60, 20), 1))
def test_random_programs(start: int) -> None:
    assert sum(_check(seed) for seed in range(start, start + 25)) >= 60


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1600, 50))
def test_many_random_programs(start: int) -> None:
    assert sum(_check(seed) for seed in range(start, start + 50)) >= 150


MIXED = """
type t = {"a", "b"}
predicate seen(t): observed
predicate c(t)
predicate open(t)
predicate near(t, t)
predicate kind(t) in {"red", "blue"}
seen("a")
seen("b")
0.3 :: c(x)
0.5 :: kind(x) = "red"; 0.2 :: kind(x) = "blue" :- seen(x)
near(x, y) :- c(x), c(y), x != y
0.8: open(x) => c(x)
hard: near("a", "b") or not c("a") => open("a")
"""
GOALS = {
    "c(x) and near(x, y)": "c({x}) and near({x}, {y})",
    "c(x) and not near(x, _)": "c({x}) and not (exists y: near({x}, y))",
    "seen(x) and not near(x, y)": "seen({x}) and not (exists y: near({x}, y))",
    "kind(x) = v": "kind({x}) = {v}",
    "kind(x) = v and c(y) and x != y": "kind({x}) = {v} and c({y}) and {x} != {y}",
    "kind(x) != v and c(x)": "c({x}) and not (exists v: kind({x}) = v)",
    'open(x) and x < "b"': 'open({x}) and {x} = "a"',
    "c(x) and y = x": "c({x}) and {y} = {x}",
    "near(_, x)": "exists y: near(y, {x})",
    'not c("a") and open("b")': 'not c("a") and open("b")',
}


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("given", [(), ('not near("a", "b")',)])
def test_goals_that_join_atoms_have_the_answers_of_infer(goal: str, given: tuple[str, ...]) -> None:
    model = hb.Model(hb.parse(MIXED))
    found = model.query(goal, given=given)
    answers = [answer["bindings"] for answer in found.to_dict()["answers"]]
    names = [name for name in "xyv" if "{" + name + "}" in GOALS[goal]]
    assert all(set(one) == set(names) for one in answers)
    for row in product(*(["red", "blue"] if name == "v" else ["a", "b"] for name in names)):
        constants = {name: f'"{value}"' for name, value in zip(names, row, strict=True)}
        (expected,) = model.infer(f"({GOALS[goal].format(**constants)}) and true", given=given).rows()
        weights = [
            answer["weight"]
            for answer in found.to_dict()["answers"]
            if tuple(answer["bindings"][name] for name in names) == row
        ]
        assert math.fsum(weights) == pytest.approx(expected.probability, abs=1e-9), (goal, row)
        assert len(weights) == (expected.probability > 0)


COUNTED = """
type n = 1..4
predicate even(n): observed
predicate c(n)
predicate open(n)
even(2)
even(4)
0.3 :: c(x)
0.8: open(x) => c(x)
hard: open(1) or c(2)
"""
COMPUTING = (
    "c(x) and open(x + 1)",
    "c(x) and not open(x + 1)",
    "c(x) and open(5 - x) and x * 2 > 3",
    "even(x) and count(y: c(y), y > x) >= 1",
    "even(x) and sum(y: c(y)) >= x",
    "open(x) and count(y: c(y)) > count(y: open(y))",
)


@pytest.mark.parametrize("goal", COMPUTING)
@pytest.mark.parametrize("given", [(), ("not c(3)",)])
def test_goals_that_compute_have_the_answers_of_infer(goal: str, given: tuple[str, ...]) -> None:
    model = hb.Model(hb.parse(COUNTED))
    found = {
        one["bindings"]["x"]: one["weight"] for one in model.query(goal, given=given).to_dict()["answers"]
    }
    for x in range(1, 5):
        asked = re.sub(r"\bx\b", str(x), goal)
        (expected,) = model.infer(f"({asked}) and true", given=given).rows()
        assert found.pop(x, 0.0) == pytest.approx(expected.probability, abs=1e-9), (goal, x)
    assert not found


def test_a_goal_under_choices_makes_numbers_of_its_own() -> None:
    model = hb.Model(
        hb.parse("type n = number\npredicate c(n)\n0.3 :: c(x) :- x < 3\npredicate e(n): observed\ne(1)")
    )
    answers = model.query("c(x) and y = x + 1").to_dict()["answers"]
    assert answers == [{"bindings": {"x": 1, "y": 2}, "weight": pytest.approx(0.3)}]
    assert len(model.query(["c(x)", "count(x: c(x)) >= 1"])[1]) == 1


def test_choices_that_make_up_a_network_are_asked_by_query_as_others_are() -> None:
    """They are read as tables, of which query knew nothing until a rule stood beside them."""
    network = """
    predicate rain in {"yes", "no"}
    predicate wet in {"yes", "no"}
    0.2 :: rain = "yes"; 0.8 :: rain = "no"
    0.9 :: wet = "yes"; 0.1 :: wet = "no" :- rain = "yes"
    0.1 :: wet = "yes"; 0.9 :: wet = "no" :- rain = "no"
    """
    for beside in ("", 'predicate soaked\nsoaked :- wet = "yes"'):
        found = hb.Model(hb.parse(network + beside)).query("rain = v", given='wet = "yes"')
        assert {one["bindings"]["v"]: one["weight"] for one in found.to_dict()["answers"]} == pytest.approx(
            {"yes": 0.18 / 0.26, "no": 0.08 / 0.26}
        )


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        ("c(x) or open(x)", "a query is an atom, or atoms, negated atoms and comparisons"),
        ("c(x) and y < 3", "no atom of the goal binds y"),
        ("c(x, y)", "c takes 1 argument, not 2"),
        ("kind(x)", "kind is many-valued and needs a value"),
        ("kin(x) = v", "predicate 'kin'"),
    ],
)
def test_goals_that_join_something_else_are_refused(goal: str, said: str) -> None:
    text = "predicate c(t)\npredicate open(t)\npredicate kind(t) in {1, 2}\n0.3 :: c(1)"
    with pytest.raises(HerbrandError, match=said):
        hb.Model(hb.parse(text)).query(goal)


CAUSES = """
predicate ill(person): observed
predicate flu(person)
predicate cold(person)
predicate coughs(person)
ill("ann")
ill("bob")
ill("eve")
0.3 :: flu(x) :- ill(x)
0.4 :: cold(x) :- ill(x)
coughs(x) :- flu(x)
coughs(x) :- cold(x)
coughs("ann")
not coughs("bob")
"""


def test_what_no_fact_of_a_closed_derived_predicate_lists_is_evidence() -> None:
    """``closed`` was ignored beside choices, but for learning."""
    theory, alone = hb.parse(CAUSES), ("flu", "cold")
    closed, told = hb.Model(theory, closed="coughs"), hb.Model(theory)
    given = ['not coughs("eve")']
    found, expected = closed.infer(alone), told.infer(alone, given=given)
    assert {row.atom: row.probability for row in found.rows()} == {
        row.atom: pytest.approx(row.probability) for row in expected.rows()
    }
    assert found.log_partition == pytest.approx(expected.log_partition)
    assert found['flu("eve")'] == 0 < told.infer(alone)['flu("eve")']
    assert closed.query("coughs(x)").to_dict()["answers"] == [{"bindings": {"x": "ann"}, "weight": 1.0}]
    assert all('flu("eve")' not in world.true for world in closed.sample(20).worlds)
    assert closed.infer(map=True).log_weight == pytest.approx(told.infer(map=True, given=given).log_weight)


def test_closing_what_rules_make_true_names_the_atom() -> None:
    theory = hb.parse(CAUSES + 'coughs("eve") :- ill("eve")')
    with pytest.raises(HerbrandError, match=r'the evidence has probability 0: not coughs\("eve"\)'):
        hb.Model(theory, closed="coughs").infer("flu")


@pytest.mark.parametrize("engine", ["integer", "circuit"])
def test_the_best_world_keeps_what_is_closed(engine: str) -> None:
    theory = hb.parse(
        'predicate member(person): observed\nmember("ann")\nmember("bob")\npredicate likes(person, person)\n'
        "predicate popular(person)\n0.3: likes(x, y)\n"
        'popular(x) :- member(x), count(y: likes(y, x)) >= 2\npopular("ann")'
    )
    closed, told = hb.Model(theory, closed="popular"), hb.Model(theory)
    best = closed.infer(map=True, engine=engine)
    assert best.log_weight == pytest.approx(0.9)
    given = ['not popular("bob")']
    assert best.log_weight == pytest.approx(told.infer(map=True, engine=engine, given=given).log_weight)
