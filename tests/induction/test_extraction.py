"""What a search or an extraction says of its rules is true, by trying every binding in every world."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from benchmarks.worlds.tasks import task_named
from herbrand.induction.database import Database, World
from herbrand.induction.examples import Examples
from herbrand.induction.extraction import NEGLIGIBLE, extract, focused_search, relevance, verify
from herbrand.induction.limits import Effort, Limits
from herbrand.induction.search import search
from herbrand.induction.task import Sample
from herbrand.language.parse import parse_theory
from herbrand.language.show import show_statement
from tests.induction.rule_clauses import clause_of
from tests.laws import tries
from tests.oracles.logic_machine import conclusions

PHASES = [Phase.reuse, Phase.generate]
QUICK = Limits(literals=3, beam=8, clauses=6, sample=50)


def slow_errors(found_rules: list, world: World, target: str, positive: set[tuple[int, ...]]) -> int:
    facts = {name: {tuple(map(int, row)) for row in rows} for name, rows in world.facts.items()}
    derived = conclusions(found_rules, facts, range(world.objects)).get(target, set())
    return len(derived ^ positive)


@settings(max_examples=tries(20), deadline=None, phases=PHASES)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 2))
def test_a_search_counts_its_own_errors(seed: int, objects: int, arity: int) -> None:
    """Targets at random: most have no rule, and then what is missed and wrong must be told as it is."""
    rng = np.random.default_rng(seed)
    facts = {"p": np.argwhere(rng.random(objects) < 0.5), "q": np.argwhere(rng.random((objects,) * 2) < 0.4)}
    positive = np.argwhere(rng.random((objects,) * arity) < 0.4)
    world = World(objects, facts)
    database = Database.of([world])
    limits = replace(QUICK, effort=Effort(most=200))
    found = search(Examples.of("t", positive, arity, database), database, limits)
    rules = [clause.to_rule() for clause in found.clauses]
    truth = {tuple(map(int, row)) for row in positive}
    assert slow_errors(rules, world, "t", truth) == found.missed + found.wrong
    assert all(set(rule.head.arguments) <= {t for a in _atoms(rule) for t in a} for rule in rules)


def _atoms(rule: object) -> list[tuple]:
    return [literal.arguments for literal in rule.body if hasattr(literal, "arguments")]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "rules", "right"),
    [
        ("has-father", "has_father(x) :- father(x, y)", True),
        ("has-father", "has_father(x) :- mother(y, x)", False),
        ("grandparents", "grandparents(x, y) :- father(x, z), father(z, y)", False),
        (
            "1-out-degree",
            "e(x) :- edge(x, y), edge(x, z), y != z\nout_degree_1(x) :- edge(x, y), not e(x)",
            True,
        ),
    ],
)
def test_verification_is_exact(name: str, rules: str, right: bool) -> None:
    task = task_named(name)
    theory = parse_theory(rules)
    told = verify(task, [clause_of(r) for r in theory.rules], np.random.default_rng(4), 5, 9, batch=2)
    rng, errors = np.random.default_rng(4), 0
    for size in (2, 2, 1):
        sample = task.draw(rng, size, 9)
        for world in range(size):
            facts = {
                predicate: {tuple(map(int, row)) for row in np.argwhere(table[world, ..., channel].numpy())}
                for arity, names in task.vocabulary.items()
                for table in (sample.predicates[arity],)
                for channel, predicate in enumerate(names)
            }
            truth = {tuple(map(int, row)) for row in np.argwhere(sample.target[world].numpy())}
            errors += len(conclusions(theory.rules, facts, range(9)).get(task.target, set()) ^ truth)
    assert (told.worlds, told.errors) == (5, errors)
    assert told.perfect == right


def test_rules_are_the_machines_and_not_the_truth() -> None:
    """A machine that learned something else is described as it is, and verification says so."""
    task = task_named("has-father")

    def machine(sample: Sample) -> torch.Tensor:
        return 8 * sample.predicates[2][..., 2].amax(2) - 4  # has a son

    found = extract(task, machine, np.random.default_rng(0), 8, QUICK)
    assert found.agreement.perfect and found.relevance["son"] > 0
    assert all(found.relevance[other] == 0 for other in ("father", "mother", "daughter"))
    assert not verify(task, found.clauses, np.random.default_rng(1), 3, 12).perfect


def test_relevance_is_how_far_log_odds_move() -> None:
    task = task_named("has-father")
    sample = task.draw(np.random.default_rng(0), 3, 8)

    def machine(asked: Sample) -> torch.Tensor:
        return 2 * asked.predicates[2][..., 0].sum(2) - 3 * asked.predicates[2][..., 3].sum(2)

    told = relevance(task, machine, sample)
    counts = (sample.predicates[2].sum((1, 2)).mean(0) / 8).tolist()
    assert told == pytest.approx({"father": 2 * counts[0], "mother": 0, "son": 0, "daughter": 3 * counts[3]})


def test_a_predicate_that_was_left_out_is_taken_where_nothing_else_does() -> None:
    """Relevance may mislead; the search then looks at everything."""
    database = Database.of([World(4, {"p": [(0,), (1,)], "q": [(2, 3), (3, 1)]})])
    examples = Examples.of("t", np.array([[2], [3]]), 1, database)
    found = focused_search(examples, database, {"p": 1.0, "q": NEGLIGIBLE / 2}, QUICK)
    assert (found.missed, found.wrong) == (0, 0)
    assert {literal.predicate for clause in found.clauses for literal in clause.body} == {"q"}


def test_objects_in_very_many_facts_do_not_hide_the_rules_of_a_game() -> None:
    """Rock, paper, scissors: every hand is in dozens of games, and who beats whom is said only once."""
    rng = np.random.default_rng(3)
    games, (ann, bob), hands, numbers = range(60), (60, 61), range(62, 65), range(65, 69)
    shown, before = rng.integers(3, size=(60, 2)), rng.integers(3, size=(60, 2))
    points = before + ((shown - shown[:, ::-1]) % 3 == 1)  # each hand beats the one before it
    players = ((0, ann), (1, bob))
    facts = {
        "does": [(g, who, hands[shown[g, i]]) for g in games for i, who in players],
        "score": [(g, who, numbers[before[g, i]]) for g in games for i, who in players],
        "beats": [(hands[i], hands[i - 1]) for i in range(3)],
        "succ": [(numbers[i], numbers[i + 1]) for i in range(3)],
    }
    database = Database.of([World(69, facts)])
    rows = np.array([(g, who, number) for g in games for _, who in players for number in numbers])
    positive = np.array(
        [number == numbers[points[g, i]] for g in games for i, _ in players for number in numbers]
    )
    found = search(
        Examples("next_score", rows, positive),
        database,
        Limits(beam=6, sample=100, effort=Effort(most=5_000)),
    )
    assert (found.missed, found.wrong) == (0, 0)
    assert len(found.clauses) <= 4


def test_a_way_through_an_object_in_very_many_facts_is_found_if_nothing_else_does() -> None:
    """Who has a colour that somebody else has: one colour leads to forty others."""
    colours = [(person, 60 + max(0, person - 39)) for person in range(60)]
    database = Database.of([World(81, {"colour": colours})])
    people = np.arange(60)[:, None]
    found = search(Examples("t", people, people[:, 0] < 40), database, QUICK)
    assert (found.missed, found.wrong) == (0, 0)
    assert [str(next(show_statement(clause.to_rule()))) for clause in found.clauses] == [
        "t(x) :- colour(x, y), colour(z, y), x != z"
    ]
