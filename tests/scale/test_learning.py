"""Pseudo-likelihood on DuckDB against pseudo-likelihood in memory, which its own tests hold against loops."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import HealthCheck, Phase, assume, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.budget import UNLIMITED
from herbrand.errors import ContradictionError, HerbrandError, UnsupportedError
from herbrand.facts.facts import Worlds
from herbrand.language import syntax as s
from herbrand.language.theory import Theory
from herbrand.learning.example import Aim
from herbrand.learning.pseudo_likelihood import PseudoLikelihood, pseudo_likelihood
from herbrand.scale.learning.counted import counted
from herbrand.scale.learning.lesson import StoredExample, stored_example
from herbrand.scale.learning.pseudo_likelihood import stored_objective
from herbrand.scale.place import opened, place_of
from tests.laws import law
from tests.learning.test_pseudo_likelihood import examples_of
from tests.learning.worlds_to_learn_from import Lesson, lessons

SOME = settings(
    max_examples=5,
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def without_quantifiers(lesson: Lesson) -> Lesson:
    def is_plain(statement: s.Statement) -> bool:
        if not isinstance(statement, s.WeightedFormula):
            return True
        return not any(isinstance(part, s.Exists | s.Forall) for part in s.walk(statement.formula))

    return lesson._replace(theory=Theory(tuple(filter(is_plain, lesson.theory.statements))))


def numbers(objective: PseudoLikelihood, seed: int) -> list[Any]:
    """Value, gradient, curvature and second derivatives, weights by their keys."""
    keys = sorted(objective.parameters.keys, key=repr)
    drawn = dict(zip(keys, np.random.default_rng(seed).normal(size=len(keys)), strict=True))
    weights = np.array([drawn[key] for key in objective.parameters.keys])
    order = [objective.parameters.keys.index(key) for key in keys]
    value, gradient = objective.value_and_gradient(weights)
    hessian = objective.hessian(weights)[np.ix_(order, order)]
    curved = objective.curvature(weights)[order]
    return [objective.atom_count, objective.value(weights), value, gradient[order], curved, hessian]


def objective_there(example: StoredExample) -> PseudoLikelihood:
    return stored_objective(example, counted(example, None, lambda what, share: None), None)


@law(st.booleans().flatmap(lambda hard: lessons(hard=hard)), st.booleans(), st.integers(0, 1000))
def check_random_world(lesson: Lesson, in_database: bool, seed: int) -> None:
    lesson = without_quantifiers(lesson)
    assume(any(isinstance(f.weight, s.Learned) for f in lesson.theory.formulas))
    try:
        expected = numbers(pseudo_likelihood([examples_of(lesson)], UNLIMITED), seed)
    except ContradictionError:
        expected = None
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("herbrand.scale.learning.pseudo_likelihood.SHARE_FETCHED", 0.0 if in_database else 0.1)
        model = hb.Model(lesson.theory, on=f"duckdb:{folder}/w.duckdb").stored
        with opened(place_of(f"duckdb:{folder}/w.duckdb")) as database:
            told = Worlds(open=model.signature.predicates)
            signature, facts = model._facts(database, (), (), False, told)
            aim = Aim(lesson.targets)
            if expected is None:
                with pytest.raises(ContradictionError):
                    objective_there(stored_example(lesson.theory, signature, facts, aim))
                return
            found = numbers(objective_there(stored_example(lesson.theory, signature, facts, aim)), seed)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_random_worlds() -> None:
    check_random_world.holds(SOME)


@pytest.mark.slow
def test_more_random_worlds() -> None:
    check_random_world.holds(SOME, max_examples=100)


SMOKERS = """
predicate smokes(person)
predicate friends(person, person): observed
predicate has(person, word): observed
predicate mood(person) in {"good", "bad", "none"}
?: smokes(x) and friends(x, y) => smokes(y)
?: smokes(x)
?[w]: has(x, w) => smokes(x)
?: mood(x) = "bad" => smokes(x)
0.3: smokes(x) and smokes(y) and friends(x, y)
"""
FACTS = {
    "friends": [("a", "b"), ("b", "c"), ("c", "d"), ("a", "a"), ("d", "a")],
    "smokes": ["a", "b"],
    "has": [("a", "fine"), ("b", "odd"), ("d", "fine")],
    "mood": [("a", "bad"), ("b", "good"), ("c", "bad"), ("d", "none")],
}


def learned(facts: Any = None, place: str | None = None, text: str = SMOKERS, **options: Any) -> Any:
    method = options.pop("method", "pseudo-likelihood")
    model = hb.Model(hb.parse(text), FACTS if facts is None else facts, on=place)
    return model.learn(method, **options)


@pytest.fixture(params=["fetched", "summed there"])
def counts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts that are fetched into memory, or added up in the database."""
    share = 0.1 if request.param == "fetched" else 0.0
    monkeypatch.setattr("herbrand.scale.learning.pseudo_likelihood.SHARE_FETCHED", share)


climbs = pytest.mark.parametrize(
    "options", [{"l2": 0.5}, {"l1": 0.05, "l2": 0.1, "target": "smokes"}], ids=["newton", "bfgs"]
)


@climbs
def test_the_same_weights(tmp_path: Path, counts: None, options: dict[str, Any]) -> None:
    place, told = f"duckdb:{tmp_path / 'w.duckdb'}", []
    expected = learned(**options)
    found = learned(place=place, watch=told.append, **options)
    assert len(found.weights) == len(expected.weights)
    for one, other in zip(found.weights, expected.weights, strict=True):
        assert (one.statement, one.constants) == (other.statement, other.constants)
        assert one.weight == pytest.approx(other.weight, abs=1e-7)
        assert one.standard_error == pytest.approx(other.standard_error, rel=1e-6)
        assert one.effect == pytest.approx(other.effect, abs=1e-9)
    assert found.metrics == pytest.approx(expected.metrics)
    assert found.status.where.startswith(place)
    assert told and found.curve == tuple(told)


def test_only_listed_atoms_of_a_latent_target_are_labels(tmp_path: Path) -> None:
    text = "predicate p(t)\npredicate q(t): observed\n?: q(x) => p(x)"
    facts = {"q": ["a", "b", "c"], "p": pandas.DataFrame({"t": ["a", "b"], "truth": [True, False]})}
    for options in ({"target": "p", "latent": "p", "l2": 0}, {"target": "p", "l2": 0}):
        expected = learned(facts, text=text, **options)
        found = learned(facts, f"duckdb:{tmp_path / 'w.duckdb'}", text, **options)
        assert found.metrics["atoms"] == expected.metrics["atoms"]
        assert found.weights[0].weight == pytest.approx(expected.weights[0].weight, abs=1e-6)


def test_what_rules_derive_is_known(tmp_path: Path) -> None:
    text = """
    predicate near(person, person)
    predicate friends(person, person): observed
    predicate smokes(person)
    near(x, y) :- friends(x, y)
    near(x, z) :- near(x, y), friends(y, z)
    ?: smokes(x) and near(x, y) => smokes(y)
    """
    facts = {name: FACTS[name] for name in ("friends", "smokes")}
    expected = learned(facts, text=text, target="smokes")
    found = learned(facts, f"duckdb:{tmp_path / 'w.duckdb'}", text, target="smokes")
    assert found.weights[0].weight == pytest.approx(expected.weights[0].weight, abs=1e-7)
    assert expected.weights[0].weight != 0


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("herbrand.scale.learning.pseudo_likelihood.SHARE_FETCHED", 0.0)
    place = f"duckdb:{tmp_path / 'w.duckdb'}"
    learned(place=place)
    assert not [name for name in tables_of(place) if name.startswith(("flip", "change", "counted"))]


def tables_of(place: str) -> list[str]:
    with opened(place_of(place)) as database:
        return [name for (name,) in database.rows("SELECT table_name FROM duckdb_tables()")]


@climbs
def test_a_run_that_was_cut_off_ends_in_the_same_weights(
    tmp_path: Path, counts: None, options: dict[str, Any]
) -> None:
    """Cut off after a step; what was counted is not counted again."""
    place, file = f"duckdb:{tmp_path / 'w.duckdb'}", str(tmp_path / "weights")
    expected = learned(**options)
    with pytest.raises(KeyboardInterrupt):
        learned(place=place, save=file, resume=file, watch=stop_after(1), **options)
    steps: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("herbrand.scale.learning.pseudo_likelihood.counted", refused)
        patch.setattr("herbrand.scale.inference.stored_facts", refused)
        found = learned(
            place=place, save=file, resume=file, watch=lambda told: steps.append(told.step), **options
        )
    assert steps[0] == 2 and found.status.converged
    assert [w.weight for w in found.weights] == pytest.approx([w.weight for w in expected.weights], abs=1e-6)
    assert not [name for name in tables_of(place) if name.startswith(("flip", "change", "counted"))]
    changed = {**FACTS, "smokes": ["a", "b", "c"]}
    with pytest.raises(UnsupportedError, match="another theory or other facts"):
        learned(changed, f"duckdb:{tmp_path / 'third.duckdb'}", resume=file, **options)


def stop_after(steps: int) -> Any:
    def watch(told: Any) -> None:
        if told.step == steps:
            raise KeyboardInterrupt

    return watch


def refused(*_: Any) -> None:
    raise AssertionError("this was done before")


@pytest.mark.parametrize(
    ("statement", "options", "said"),
    [
        ("?: exists y: friends(x, y) and smokes(y)", {}, "no quantifier"),
        ("", {"method": "layers"}, "does not run on a database"),
        ("", {"worlds": [FACTS]}, "one world"),
        ("", {"method": "auto", "held_out": [FACTS]}, "runs on a database, does not use --held-out"),
        ("", {"method": "auto", "relearn": True}, "runs on a database, does not use --relearn"),
        ("", {"method": "auto", "starts": 3}, "leave out --starts, or --on"),
        ("", {"target": "smoke"}, "no predicate 'smoke'"),
        ("", {"latent": "has"}, "has is latent"),
        ('smokes("z") ~ 0.3', {}, r'smokes\("z"\) ~ 0.3 is soft evidence'),
        ('smokes("z")', {}, "mood has no value for 1 atom"),
        ("hard: friends(x, y) and smokes(x) => smokes(y)", {}, "contradict this hard statement"),
    ],
)
def test_what_is_not_served_is_named(
    tmp_path: Path, statement: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises((UnsupportedError, ContradictionError), match=said):
        learned(place=f"duckdb:{tmp_path / 'w.duckdb'}", text=SMOKERS + statement, **options)


@pytest.mark.parametrize(
    ("law", "broken"),
    [
        ("not friends(x, x)", True),
        ("friends(x, y) => friends(y, x)", True),
        ("friends(x, y) and x != x", True),
        ('has(x, "odd") => friends(x, "a")', True),
        ('mood(x) = "good" => has(x, "fine")', True),
        ('friends(x, y) and mood(x) = "none" => mood(y) in {"good", "none"}', True),
        ('friends("a", "a")', False),
        ('has(x, "odd") => friends(x, "c")', False),
        ('mood(x) = "good" => has(x, "odd") and not friends(x, x)', False),
    ],
)
@pytest.mark.parametrize("where", ["memory", "database"])
def test_facts_that_are_not_predicted_break_no_law(
    tmp_path: Path, where: str, law: str, broken: bool
) -> None:
    place = None if where == "memory" else f"duckdb:{tmp_path / 'w.duckdb'}"
    text = f"{SMOKERS}hard: {law}"
    if broken:
        with pytest.raises(ContradictionError, match="contradict this hard statement") as raised:
            learned(place=place, text=text, target="smokes")
        assert law in str(raised.value)
    else:
        found, without = learned(place=place, text=text, target="smokes"), learned(target="smokes")
        expected = [w.weight for w in without.weights]
        assert [w.weight for w in found.weights] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("law", "broken"),
    [
        ('exists x: friends(x, x) and mood(x) = "good"', True),
        ('forall x: has(x, "fine")', True),
        ("friends(x, y) => exists w: has(y, w)", True),
        ("(exists y: friends(x, y) and friends(y, x)) => (forall w: has(x, w))", True),
        ("exists x: friends(x, x)", False),
        ('not (exists x: mood(x) = "none" and has(x, "odd"))', False),
        ("friends(x, x) => exists w: has(x, w)", False),
        ("(exists w: has(x, w)) or (exists y: friends(x, y))", False),
    ],
)
def test_facts_that_are_not_predicted_break_no_law_with_quantifiers(
    tmp_path: Path, law: str, broken: bool
) -> None:
    """Memory had learned from them without a word, and a database judged by what stands before them alone."""
    text, there = f"{SMOKERS}hard: {law}", f"duckdb:{tmp_path / 'w.duckdb'}"
    with pytest.raises(UnsupportedError, match="on a database learn has no quantifier"):
        learned(place=there, text=text, target="smokes")
    if broken:
        with pytest.raises(ContradictionError, match="the facts contradict this hard statement"):
            learned(text=text, target="smokes")
    else:
        expected = [w.weight for w in learned(target="smokes").weights]
        assert [w.weight for w in learned(text=text, target="smokes").weights] == pytest.approx(expected)


@pytest.mark.parametrize(
    "law", ["has(x, w) => exists y: friends(y, x) and smokes(y)", "exists x: has(x, x) and smokes(x)"]
)
def test_a_law_that_no_prediction_can_keep_is_broken(law: str) -> None:
    """Its facts leave nothing that could be predicted: no atom of the target is in what breaks it."""
    facts = {**FACTS, "has": [*FACTS["has"], ("e", "odd")], "mood": [*FACTS["mood"], ("e", "bad")]}
    text = SMOKERS.replace("has(person, word)", "has(person, person)") if "has(x, x)" in law else SMOKERS
    with pytest.raises(ContradictionError, match="the facts contradict this hard statement"):
        learned(facts if text is SMOKERS else {**FACTS, "has": [("a", "b")]}, text=f"{text}hard: {law}")


def test_a_law_of_what_is_not_known_is_left_open() -> None:
    """Where nothing is known of an atom, no facts break a law over it."""
    text = f"{SMOKERS}predicate odd(person)\nhard: exists x: odd(x)"
    expected = [w.weight for w in learned(target="smokes").weights]
    found = learned(text=text, target="smokes", latent="odd")
    assert [w.weight for w in found.weights] == pytest.approx(expected)
    with pytest.raises(ContradictionError, match="name what is not known: --latent PRED"):
        learned(text=text, target="smokes")


def test_what_has_no_weight_to_be_learned_is_refused(tmp_path: Path) -> None:
    """Where a target is named too: it gave a theory without weights back."""
    known = "\n".join(line for line in SMOKERS.splitlines() if not line.startswith("?"))
    with pytest.raises(UnsupportedError, match="no statement has a weight to be learned"):
        learned(place=f"duckdb:{tmp_path / 'w.duckdb'}", text=known, target="smokes")


def test_too_little_memory(tmp_path: Path) -> None:
    with pytest.raises(HerbrandError, match="a database needs at least"):
        learned(place=f"duckdb:{tmp_path / 'w.duckdb'}", memory="1MB")
