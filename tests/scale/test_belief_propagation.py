"""Belief propagation on DuckDB against the engine in memory: the same theory, facts, rounds and numbers."""

from __future__ import annotations

import contextlib
import math
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.guarantee import Guarantee
from herbrand.answers.marginals import Marginals
from herbrand.errors import BudgetError, ContradictionError, UnsupportedError
from herbrand.language.theory import Theory
from herbrand.relations.database import DuckDB
from herbrand.scale import inference
from herbrand.scale.belief import engine as belief_propagation
from herbrand.scale.belief.engine import StoredBeliefPropagation
from tests.laws import law
from tests.program_generators import models
from tests.scale.test_mean_field import without_quantifiers

SOME = settings(
    max_examples=3,
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)


def on_duckdb(theory: Theory, facts: Any = None, **options: Any) -> Marginals:
    with tempfile.TemporaryDirectory() as folder:
        return hb.Model(theory, facts, on=f"duckdb:{folder}/world.duckdb").infer(engine="bp", **options)


def in_memory(theory: Theory, facts: Any = None, **options: Any) -> Marginals:
    return hb.Model(theory, facts).infer(engine="bp", **options)


def agree(found: Marginals, expected: Marginals) -> None:
    """On a forest the rounds differ, and only the ends can be compared."""
    agree_at_the_end(found, expected)
    if expected.guarantee is not Guarantee.EXACT:
        assert found.status.iterations == expected.status.iterations
        assert found.status.trace == pytest.approx(expected.status.trace, rel=1e-6, abs=1e-9)


def agree_at_the_end(found: Marginals, expected: Marginals) -> None:
    rows = {row.text: row.probability for row in found.rows()}
    assert rows == pytest.approx({row.text: row.probability for row in expected.rows()}, abs=1e-9)
    assert found.log_partition == pytest.approx(expected.log_partition, rel=1e-9, abs=1e-9)
    assert found.guarantee is expected.guarantee


@law(models(hard=True), st.sampled_from([1, 3, 40]))
def check_random_model(model: tuple[Theory, Any], iterations: int) -> None:
    theory = without_quantifiers(model[0])
    try:
        expected = in_memory(theory, iterations=iterations)
    except ContradictionError:
        with pytest.raises(ContradictionError):
            on_duckdb(theory, iterations=100)
        return
    if expected.guarantee is Guarantee.EXACT:
        iterations = 100
    agree(on_duckdb(theory, iterations=iterations), expected)


def test_random_models() -> None:
    check_random_model.holds(SOME)


@pytest.mark.slow
def test_more_random_models() -> None:
    check_random_model.holds(SOME, max_examples=300)


AREAS = """
predicate friends(person, person): observed
predicate smokes(person)
predicate area(person) in {"ai", "db", "theory"}
0.6: smokes(x) and friends(x, y) => smokes(y)
0.5: area(x) = "ai" and friends(x, y) => area(y) in {"ai", "theory"}
-0.4: smokes(x) and area(x) = "db"
smokes("p1")
smokes("p2") ~ 0.7
not area("p3") = "db"
"""


QUESTIONED = """
predicate friends(person, person): observed
predicate smokes(person)
predicate area(person) in {"ai", "db", "theory"}
0.6: smokes(x) and friends(x, y) => smokes(y)
-0.4: smokes(x) and area(x) = "db"
smokes("p1")
smokes("p2") ~ 0.7
area("p3") = "db"
"""


@pytest.fixture
def links() -> list[tuple[str, str]]:
    chosen = random.Random(0)
    names = [f"p{number}" for number in range(20)]
    return sorted({(chosen.choice(names), chosen.choice(names)) for _ in range(40)})


class TestSymmetry:
    def test_a_symmetric_model_costs_classes(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """All of 15² pairs alike: one class of each predicate, one factor a formula."""
        names = ", ".join(f'"c{number}"' for number in range(15))
        theory = hb.parse(
            f"type t = {{{names}}}\npredicate f(t, t)\npredicate p(t)\n"
            "0.2: f(x, y) and p(x) => p(y)\n0.1: f(x, y) => f(y, x)\n-0.4: p(x)"
        )
        begun, states = StoredBeliefPropagation._begun, []
        monkeypatch.setattr(
            StoredBeliefPropagation, "_begun", lambda *a: states.append(begun(*a)) or states[-1]
        )
        agree(on_duckdb(theory), in_memory(theory))
        assert [family.rows for family in states[0].rounds.families] == [1, 1]

    @pytest.mark.slow
    def test_classes_and_atoms_say_the_same(self) -> None:
        """A ring with two marked places, whose mirror images are alike; with and without lifting."""
        theory = hb.parse(
            "predicate next(n, n): observed\npredicate p(n)\npredicate kind(n) in {1, 2, 3}\n"
            "1.1: next(x, y) => (p(x) <=> p(y))\n0.3: p(x)\np(0)\n0.2: p(x) and kind(x) = 3\n"
            "0.4: next(x, y) and kind(x) = 1 => kind(y) in {1, 2}\nnot p(9)"
        )
        facts = {"next": [(a, (a + 1) % 18) for a in range(18)]}
        agree(on_duckdb(theory, facts, iterations=4), in_memory(theory, facts, iterations=4))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(belief_propagation, "lifted", lambda *a: None)
            agree(on_duckdb(theory, facts, iterations=4), in_memory(theory, facts, iterations=4))

    def test_a_chain_is_exact_at_the_far_end(self) -> None:
        theory = hb.parse(
            "predicate next(n, n): observed\npredicate p(n)\n2.0: next(x, y) => (p(x) <=> p(y))\np(0)"
        )
        facts = {"next": [(a, a + 1) for a in range(25)]}
        found = on_duckdb(theory, facts)
        agree(found, in_memory(theory, facts))
        assert found.guarantee is Guarantee.EXACT

    def test_chances_that_are_nearly_certain(self) -> None:
        """Log-odds of hundreds: where shares underflow, logarithms do not."""
        theory = hb.parse(
            "predicate next(n, n): observed\npredicate p(n)\n400.0: next(x, y) => (p(x) <=> p(y))\n"
            "-300.0: p(x)\n250.0: next(x, y) and p(y) => p(x)"
        )
        facts = {"next": [(a, (a + 1) % 7) for a in range(7)] + [(0, 3)]}
        agree(on_duckdb(theory, facts, iterations=6), in_memory(theory, facts, iterations=6))


class TestHard:
    def test_a_world_that_is_forced(self) -> None:
        theory = hb.parse(
            "predicate next(n, n): observed\npredicate p(n)\n"
            "hard: next(x, y) => (p(x) => p(y))\n0.3: p(x)\np(3)"
        )
        facts = {"next": [(a, (a + 1) % 10) for a in range(10)]}
        agree(on_duckdb(theory, facts), in_memory(theory, facts))

    @pytest.mark.parametrize(
        "text",
        [
            "hard: next(x, y) => (p(x) => p(y))\np(3)\nnot p(4)",
            "hard: next(x, y) => p(x)\nnot p(1)",
            "hard: next(x, y) => next(y, x)\n1.0: p(x)",
        ],
    )
    def test_contradictions(self, text: str) -> None:
        theory = hb.parse(f"predicate next(n, n): observed\npredicate p(n)\n{text}")
        facts = {"next": [(a, (a + 1) % 6) for a in range(6)]}
        for run in (in_memory, on_duckdb):
            with pytest.raises(ContradictionError):
                run(theory, facts)


class TestGoingOn:
    @pytest.mark.slow
    def test_a_run_that_was_cut_off_ends_in_the_same_answer(
        self, tmp_path: Path, links: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Cut off wherever a table is made: before the first note, between and within rounds."""
        theory, facts = hb.parse(QUESTIONED), {"friends": links}
        whole = in_memory(theory, facts, iterations=2)
        made: list[str] = []
        make = DuckDB.make
        monkeypatch.setattr(DuckDB, "make", lambda *a: (made.append(a[1]), make(*a))[1])
        on_duckdb(theory, facts, iterations=2)
        count = len(made)
        for cut in random.Random(1).sample(range(count), 2):
            place = f"duckdb:{tmp_path / f'{cut}.duckdb'}"
            with monkeypatch.context() as patch:
                _cut_off_at(cut, patch)
                with pytest.raises(KeyboardInterrupt):
                    hb.Model(theory, facts, on=place).infer(engine="bp", iterations=2)
            with contextlib.suppress(UnsupportedError):  # nothing was kept yet
                agree_at_the_end(
                    hb.Model(theory, facts, on=place).infer(engine="bp", iterations=2, resume=True), whole
                )
            agree(hb.Model(theory, facts, on=place).infer(engine="bp", iterations=2), whole)

    def test_iterations_of_both_calls_count(self, tmp_path: Path, links: list[tuple[str, str]]) -> None:
        model = hb.Model(hb.parse(QUESTIONED), {"friends": links}, on=f"duckdb:{tmp_path / 'w.duckdb'}")
        assert not model.infer(engine="bp", iterations=2).status.converged
        found = model.infer(engine="bp", iterations=5, resume=True)
        agree_at_the_end(found, in_memory(hb.parse(QUESTIONED), {"friends": links}, iterations=5))
        assert found.status.iterations == 5
        with pytest.raises(UnsupportedError, match="keeps no run"):
            model.infer(engine="mean-field", resume=True)

    def test_damping_is_given_or_raised(self) -> None:
        """Frustrated pairs, whose messages never settle undamped."""
        theory = hb.parse(
            "predicate near(n, n): observed\npredicate p(n)\n-6.0: near(x, y) and (p(x) <=> p(y))\n0.1: p(x)"
        )
        facts = {"near": [(a, b) for a in range(4) for b in range(4) if a < b]}
        agree(on_duckdb(theory, facts, iterations=25), in_memory(theory, facts, iterations=25))
        agree(
            on_duckdb(theory, facts, iterations=2, damping=0.4),
            in_memory(theory, facts, iterations=2, damping=0.4),
        )


def _cut_off_at(count: int, patch: pytest.MonkeyPatch) -> None:
    made, left = DuckDB.make, [count]

    def cut(*arguments: Any) -> Any:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return made(*arguments)

    patch.setattr(DuckDB, "make", cut)


class TestRefusals:
    @pytest.mark.parametrize(
        ("statement", "options", "said"),
        [
            ("1.0: exists y: friends(x, y) and smokes(y)", {}, "quantifier"),
            ("", {"schedule": "sequential"}, "is parallel"),
            ("", {"map": True}, "most probable world"),
            ("", {"query": "smokes(x) and smokes(y)"}, "not of formulas"),
            ("", {"damping": 1.0}, "--damping is a number from 0 up to, not including, 1"),
        ],
    )
    def test_what_is_not_served_is_named(
        self, statement: str, options: dict[str, Any], said: str, links: list[tuple[str, str]]
    ) -> None:
        with pytest.raises(UnsupportedError, match=said):
            on_duckdb(hb.parse(AREAS + statement), {"friends": links}, **options)

    def test_messages_that_the_disk_does_not_hold(
        self, links: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(inference.StoredModel, "_room", 1000)
        with pytest.raises(BudgetError, match="messages between all atoms"):
            on_duckdb(hb.parse(AREAS), {"friends": links})


def test_questions(links: list[tuple[str, str]], tmp_path: Path) -> None:
    """Atoms, known ones among them, whole predicates, the most probable, and evidence for one call."""
    theory, facts = hb.parse(QUESTIONED), {"friends": links}
    here, there = hb.Model(theory, facts), hb.Model(theory, facts, on=f"duckdb:{tmp_path / 'w.duckdb'}")
    for options in (
        {"query": ['smokes("p1")', 'area("p3")', 'area("p7")', "smokes(x)"]},
        {"query": ["area"]},
        {"given": ['smokes("p7")', 'not smokes("p8")', 'area("p9") = "ai"']},
        {"top": 5},
        {"min": 0.5},
    ):
        found, expected = (m.infer(engine="bp", iterations=1, **options) for m in (there, here))
        agree(found, expected)


def test_auto_takes_the_engine_that_serves_the_theory(links: list[tuple[str, str]], tmp_path: Path) -> None:
    """Mean field keeps less, and serves no hard statements about latent atoms; a run goes on with its own."""
    soft = hb.parse("1.0: smokes(x) and friends(x, y) => smokes(y)")
    hard = hb.parse("hard: old(x) => smokes(x)") + soft
    assert hb.Model(soft, {"friends": links}, on=f"duckdb:{tmp_path}/a.duckdb").infer().engine == "mean-field"
    notes: list[str] = []
    model = hb.Model(hard, {"friends": links}, on=f"duckdb:{tmp_path}/b.duckdb")
    agree(model.infer(iterations=2, note=notes.append), in_memory(hard, {"friends": links}, iterations=2))
    assert any(
        note.startswith("engine bp on duckdb:")
        and "; on a database mean field has no hard statements about latent atoms" in note
        for note in notes
    )
    assert model.infer(iterations=3, resume=True).status.iterations == 3
    with pytest.raises(UnsupportedError, match="mean field has no quantifier"):
        exists = hb.parse("hard: exists y: friends(x, y) and smokes(y)")
        hb.Model(soft + exists, {"friends": links}, on=f"duckdb:{tmp_path}/c.duckdb").infer()


def test_rules_feed_weighted_formulas() -> None:
    """Derived predicates, recursive and negated, on a database as in memory; by both engines."""
    theory = hb.parse(
        "predicate edge(n, n): observed\npredicate path(n, n)\npredicate far(n, n)\npredicate good(n)\n"
        "path(x, y) :- edge(x, y)\npath(x, z) :- path(x, y), edge(y, z)\n"
        "far(x, y) :- path(x, y), not edge(x, y), x != y\n"
        "0.3: path(x, y) and good(x) => good(y)\n0.4: far(x, y) and good(y) => good(x)\n-0.2: good(x)\n"
        "path(1, 1)"
    )
    chosen = random.Random(3)
    facts = {"edge": sorted({(chosen.randrange(12), chosen.randrange(12)) for _ in range(15)})}
    agree(on_duckdb(theory, facts, iterations=1), in_memory(theory, facts, iterations=1))
    with tempfile.TemporaryDirectory() as folder:
        found = hb.Model(theory, facts, on=f"duckdb:{folder}/w.duckdb").infer(engine="mean-field")
    assert found.log_partition == pytest.approx(
        hb.Model(theory, facts).infer(engine="mean-field").log_partition, abs=1e-9
    )
    with pytest.raises(ContradictionError, match="derive path"):
        on_duckdb(theory + hb.parse("not path(2, 2)"), {"edge": [(1, 2), (2, 2)]})


def test_messages_that_run_away_begin_again_more_gently(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly one of four: undamped messages run away, and are not called at rest before they are."""
    some = [f"p{i}" for i in range(4)]
    pairs = [f"hard: not ({one} and {other})" for one in some for other in some if one < other]
    theory = hb.parse("\n".join([*(f"predicate {p}" for p in some), f"hard: {' or '.join(some)}", *pairs]))
    steps, step = [], StoredBeliefPropagation.step
    monkeypatch.setattr(StoredBeliefPropagation, "step", lambda *a: steps.append(step(*a)) or steps[-1])
    found = on_duckdb(theory, iterations=20)
    assert not found.status.converged
    assert "not to be relied on" in found.status.advice and "--damping" in found.status.advice
    assert [state.pace.restarts for state in steps][-1] >= 1
    begun = next(state for state in steps if state.pace.restarts)
    assert begun.pace.damping == 0.5 and begun.pace.mark == math.inf


@pytest.mark.slow
def test_messages_that_began_again_come_to_rest_where_those_in_memory_do() -> None:
    some = [f"p{i}" for i in range(4)]
    pairs = [f"hard: not ({one} and {other})" for one in some for other in some if one < other]
    theory = hb.parse("\n".join([*(f"predicate {p}" for p in some), f"hard: {' or '.join(some)}", *pairs]))
    settings: dict[str, Any] = {"iterations": 200, "tolerance": 1e-9}  # they rest after other rounds there
    agree_at_the_end(on_duckdb(theory, **settings), in_memory(theory, {}, **settings))
