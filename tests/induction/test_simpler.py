"""Shorter clauses and fewer: what they cover, and that nothing more can be left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from herbrand.errors import BudgetError
from herbrand.induction import simpler
from herbrand.induction.database import Database, World
from herbrand.induction.evaluation import Clause, Literal, covered, evaluated
from herbrand.induction.examples import Examples
from herbrand.induction.simpler import covering, safe, simplified
from herbrand.language.parse import parse_theory
from tests.induction.rule_clauses import clause_of
from tests.laws import tries

PHASES = [Phase.reuse, Phase.generate]
ARITIES = {"red": 1, "old": 1, "edge": 2, "near": 2}


def clause(text: str) -> Clause:
    (rule,) = parse_theory(text).rules
    return clause_of(rule)


@st.composite
def databases(draw: st.DrawFn, objects: int = 4) -> Database:
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    return Database.of(
        [
            World(objects, {n: np.argwhere(rng.random((objects,) * a) < 0.5 / a) for n, a in ARITIES.items()})
            for _ in range(2)
        ]
    )


@st.composite
def clauses(draw: st.DrawFn, arity: int) -> Clause:
    """Safe clauses over three variables, perhaps with a negation and inequalities."""
    literals = draw(
        st.lists(
            st.sampled_from(sorted(ARITIES)).flatmap(
                lambda name: st.builds(
                    Literal, st.just(name), st.tuples(*[st.integers(0, 2)] * ARITIES[name]), st.booleans()
                )
            ),
            min_size=1,
            max_size=4,
            unique=True,
        )
    )
    positive = [literal for literal in literals if not literal.negated] or [
        replace(literal, negated=False) for literal in literals
    ]
    bound = {v for literal in positive for v in literal.variables}
    heads = tuple(draw(st.sampled_from(sorted(bound))) for _ in range(arity))
    negated = [x for x in literals if x.negated and x not in positive and set(x.variables) <= bound]
    pairs = list(combinations(sorted(bound), 2))
    apart = tuple(draw(st.lists(st.sampled_from(pairs), unique=True))) if pairs else ()
    return Clause("t", heads, (*positive, *negated), apart)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Database, Examples, Clause]:
    """A clause and examples of which it is right about most."""
    arity = draw(st.integers(1, 2))
    database, one = draw(databases()), draw(clauses(arity))
    rows = database.every_tuple(arity)
    flipped = np.random.default_rng(draw(st.integers(0, 99))).random(len(rows)) < draw(
        st.sampled_from([0, 0.2])
    )
    positive = covered(one, database, rows) ^ flipped
    return database, Examples("t", rows, positive), one


def shorter_ones(one: Clause) -> Iterator[Clause]:
    """Without all inequalities, without one, and without a literal."""
    if one.apart:
        yield replace(one, apart=())
    for pair in one.apart:
        yield replace(one, apart=tuple(p for p in one.apart if p != pair))
    for literal in one.body:
        rest = tuple(x for x in one.body if x != literal)
        if rest:
            kept = {v for x in rest for v in x.variables} | set(one.variables)
            yield replace(one, body=rest, apart=tuple(p for p in one.apart if set(p) <= kept))


class TestSimplified:
    @settings(max_examples=tries(25), deadline=None, phases=PHASES)
    @given(cases())
    def test_covers_as_much_and_nothing_wrong_in_addition(
        self, case: tuple[Database, Examples, Clause]
    ) -> None:
        database, examples, one = case
        before = covered(one, database, examples.rows)
        found = simplified(one, examples, database)
        after = covered(found, database, examples.rows)
        assert (after >= before).all(), "all that was covered still is"
        assert not (after & ~before & ~examples.positive).any(), "what is new is right"
        assert set(found.body) <= set(one.body) and set(found.apart) <= set(one.apart)
        assert found.variables == one.variables and safe(found)

    @settings(max_examples=tries(25), deadline=None, phases=PHASES)
    @given(cases())
    def test_says_nothing_that_could_be_left_out(self, case: tuple[Database, Examples, Clause]) -> None:
        database, examples, one = case
        found = simplified(one, examples, database)
        assert simplified(found, examples, database) == found
        wrong = covered(found, database, examples.rows) & ~examples.positive
        for other in filter(safe, shorter_ones(found)):
            after = covered(other, database, examples.rows)
            assert (after & ~examples.positive & ~wrong).any(), other

    def test_by_hand(self) -> None:
        """The way back says nothing new, and x and z differ anyway."""
        database = Database.of(
            [World(4, {"edge": [(0, 1), (1, 2), (2, 3)], "back": [(1, 0), (2, 1), (3, 2)]})]
        )
        examples = Examples.of("t", np.array([[0, 2], [1, 3]]), 2, database)
        long = clause("t(x, y) :- back(z, x), edge(x, z), edge(z, y), x != y, x != z")
        assert simplified(long, examples, database) == clause("t(x, y) :- edge(x, z), edge(z, y)")

    def test_a_literal_that_only_a_needless_negation_needs_goes_too(self) -> None:
        database = Database.of([World(3, {"red": [(0,), (1,)], "edge": [(0, 1), (1, 2)], "old": [(2,)]})])
        examples = Examples.of("t", np.array([[0], [1]]), 1, database)
        long = clause("t(x) :- edge(x, y), red(x), not edge(y, x)")
        assert simplified(long, examples, database) == clause("t(x) :- red(x)")

    def test_the_last_literal_stays(self) -> None:
        database = Database.of([World(2, {"red": [(0,), (1,)]})])
        examples = Examples.of("t", np.array([[0], [1]]), 1, database)
        only = clause("t(x) :- red(x)")
        assert simplified(only, examples, database) == only

    def test_a_variable_of_the_head_stays_bound(self) -> None:
        """Every pair is right, so that either literal would do; but each binds a variable of the head."""
        database = Database.of([World(2, {"red": [(0,), (1,)], "old": [(0,), (1,)]})])
        examples = Examples.of("t", database.every_tuple(2), 2, database)
        both = clause("t(x, y) :- red(x), old(y)")
        assert simplified(both, examples, database) == both

    def test_what_is_too_dear_to_try_stays(self, monkeypatch: pytest.MonkeyPatch) -> None:
        database = Database.of([World(3, {"red": [(0,), (1,)], "edge": [(0, 1), (1, 2)]})])
        examples = Examples.of("t", np.array([[0], [1]]), 1, database)
        long = clause("t(x) :- red(x), edge(x, y), x != y")

        def dear(tried: Clause, *told: object) -> np.ndarray:
            if tried != long:
                raise BudgetError("too many")
            return covered(tried, *told)  # type: ignore[arg-type]

        monkeypatch.setattr(simpler, "covered", dear)
        assert simplified(long, examples, database) == long


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (Clause("t", (0,), (Literal("red", (0,)),)), True),
        (Clause("t", (0, 1), (Literal("red", (0,)),)), False),
        (Clause("t", (0,), (Literal("red", (0,), True),)), False),
        (Clause("t", (0,), (Literal("red", (0,)), Literal("edge", (0, 1), True))), False),
        (Clause("t", (0,), (Literal("edge", (0, 1)), Literal("near", (1, 0), True))), True),
        (Clause("t", (), ()), True),
    ],
)
def test_safe_clauses_bind_what_heads_and_negations_name(one: Clause, expected: bool) -> None:
    assert safe(one) is expected


class TestCovering:
    @settings(max_examples=tries(25), deadline=None, phases=PHASES)
    @given(databases(), st.lists(clauses(1), max_size=3))
    def test_is_what_any_clause_of_the_target_derives(
        self, database: Database, several: list[Clause]
    ) -> None:
        examples = Examples.of("t", np.empty((0, 1), np.int64), 1, database)
        found = covering([*several, clause("other(x) :- red(x)")], examples, database)
        derived: set[int] = set()
        if several:
            derived = {int(row[0]) for row in evaluated(several, database).tables["t"]}
        assert {int(row[0]) for row in examples.rows[found]} == derived
