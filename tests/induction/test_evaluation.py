"""Clauses as joins: parts by hand, rules and clauses there and back, limits, and laws of what is derived."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from herbrand.errors import BudgetError, LanguageError, UnsupportedError
from herbrand.induction import evaluation
from herbrand.induction.database import Database, World
from herbrand.induction.evaluation import (
    NAMES,
    ORIGIN,
    WORLD,
    Clause,
    Condition,
    Literal,
    bindings,
    covered,
    derived,
    evaluated,
)
from herbrand.language.parse import parse_theory
from herbrand.language.show import show_statement
from tests.induction.rule_clauses import clause_of
from tests.laws import tries

PHASES = [Phase.reuse, Phase.generate]
ARITIES = {"wet": 0, "red": 1, "edge": 2, "between": 3}


def clause(text: str) -> Clause:
    (rule,) = parse_theory(text).rules
    return clause_of(rule)


@st.composite
def made(draw: st.DrawFn) -> list[World]:
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    return [
        World(objects, {n: np.argwhere(rng.random((objects,) * a) < 0.4) for n, a in ARITIES.items()})
        for objects in draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    ]


@st.composite
def clauses(draw: st.DrawFn) -> Clause:
    """Any clause over three variables, safe or not: what no literal binds is any object of the world."""
    body = draw(
        st.lists(
            st.sampled_from([*ARITIES, "absent"]).flatmap(
                lambda name: st.builds(
                    Literal,
                    st.just(name),
                    st.tuples(*[st.integers(0, 2)] * ARITIES.get(name, 1)),
                    st.booleans(),
                )
            ),
            max_size=4,
        )
    )
    heads = tuple(draw(st.lists(st.integers(0, 2), max_size=3)))
    apart = tuple(draw(st.lists(st.sampled_from([(0, 1), (0, 2), (1, 2)]), unique=True, max_size=2)))
    return Clause("t", heads, tuple(body), apart)


def by_loops(one: Clause, worlds: list[World]) -> set[tuple[int, ...]]:
    """Every assignment of objects to variables, world by world; rows as a database numbers them."""
    found: set[tuple[int, ...]] = set()
    first = 0
    names = sorted(
        {*one.variables, *(v for x in one.body for v in x.variables), *itertools.chain(*one.apart)}
    )
    for number, world in enumerate(worlds):
        known = {name: {tuple(map(int, row)) for row in rows} for name, rows in world.facts.items()}
        for objects in itertools.product(range(world.objects), repeat=len(names)):
            at = dict(zip(names, objects, strict=True))
            holds = all(
                (tuple(at[v] for v in x.variables) in known.get(x.predicate, set())) != x.negated
                for x in one.body
            )
            if holds and all(at[a] != at[b] for a, b in one.apart):
                found.add(tuple(first + at[v] for v in one.variables) or (number,))
        first += world.objects
    return found


@settings(max_examples=tries(60), deadline=None, phases=PHASES)
@given(made(), clauses())
def test_what_a_clause_derives_is_what_some_assignment_satisfies(worlds: list[World], one: Clause) -> None:
    database, expected = Database.of(worlds), by_loops(one, worlds)
    rows = derived(one, database)
    assert {tuple(map(int, row)) for row in rows} == expected
    assert len(rows) == len(expected), "each row once"
    every = database.every_tuple(len(one.variables))
    told = covered(one, database, every)
    assert {tuple(map(int, row)) for row in every[told]} == expected


@settings(max_examples=tries(25), deadline=None, phases=PHASES)
@given(made(), clauses(), st.data())
def test_the_order_of_literals_and_the_names_of_variables_change_nothing(
    worlds: list[World], one: Clause, data: st.DataObject
) -> None:
    database = Database.of(worlds)
    names = data.draw(st.permutations([0, 1, 2]))
    other = Clause(
        "t",
        tuple(names[v] for v in one.variables),
        tuple(
            Literal(x.predicate, tuple(names[v] for v in x.variables), x.negated)
            for x in data.draw(st.permutations(one.body))
        ),
        tuple((names[b], names[a]) for a, b in one.apart),
    )
    assert derived(other, database).tolist() == derived(one, database).tolist()


@settings(max_examples=tries(25), deadline=None, phases=PHASES)
@given(made(), clauses(), st.sampled_from(sorted(ARITIES)), st.data())
def test_one_more_condition_never_derives_more(
    worlds: list[World], one: Clause, name: str, data: st.DataObject
) -> None:
    database = Database.of(worlds)
    more = Literal(name, tuple(data.draw(st.integers(0, 2)) for _ in range(ARITIES[name])))
    tighter = Clause("t", one.variables, (*one.body, more), one.apart)
    every = database.every_tuple(len(one.variables))
    assert (covered(tighter, database, every) <= covered(one, database, every)).all()


class TestStarts:
    DATABASE = Database.of([World(3, {"edge": [(0, 1), (1, 2)]}), World(2, {"edge": [(0, 1)]})])

    def test_rows_are_told_in_their_own_order_and_as_often_as_they_are_asked(self) -> None:
        asked = np.array([[1], [2], [0], [1], [4], [3]])
        told = covered(clause("t(x) :- edge(x, y)"), self.DATABASE, asked)
        assert told.tolist() == [True, False, True, True, False, True]

    def test_a_variable_that_stands_twice_in_the_head_is_one_object(self) -> None:
        asked = np.array([[0, 0], [0, 1], [1, 1]])
        assert covered(clause("t(x, x) :- edge(x, y)"), self.DATABASE, asked).tolist() == [True, False, True]

    def test_no_row_is_asked_about(self) -> None:
        for one in ("t(x) :- edge(x, y)", "t(x, y) :- edge(x, y), x != y", "t(x) :- edge(y, z), edge(x, z)"):
            arity = len(clause(one).variables)
            assert covered(clause(one), self.DATABASE, np.empty((0, arity), np.int64)).tolist() == []

    def test_worlds_are_asked_about_by_number(self) -> None:
        wet = Database.of([World(1, {"wet": [()]}), World(1, {"wet": np.empty((0, 0), np.int64)})])
        assert covered(clause("t :- wet"), wet, np.array([[0], [1]])).tolist() == [True, False]
        assert covered(clause("t :- not wet"), wet, np.array([[0], [1]])).tolist() == [False, True]

    def test_bindings_tell_the_row_they_came_from(self) -> None:
        found = bindings(clause("t(x) :- edge(x, y)"), self.DATABASE, starts=np.array([[1], [0], [2]]))
        assert sorted(found[ORIGIN].tolist()) == [0, 1]
        assert found[WORLD].tolist() == [0, 0]


class TestLimits:
    def test_a_join_that_is_too_large_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(evaluation, "MOST_ROWS", 50)
        database = Database.of([World(8, {"edge": list(itertools.product(range(8), repeat=2))})])
        with pytest.raises(BudgetError) as caught:
            derived(clause("t(x, z) :- edge(x, y), edge(y, z)"), database)
        assert str(caught.value) == "a rule has 512 bindings\n  fewer or smaller worlds, or shorter rules"
        assert len(derived(clause("t(x, y) :- edge(x, y)"), database)) == 64

    def test_so_is_a_variable_that_nothing_binds(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(evaluation, "MOST_ROWS", 50)
        database = Database.of([World(8, {"red": [(0,)]})])
        with pytest.raises(BudgetError, match="64 bindings"):
            derived(Clause("t", (0, 1), ()), database)
        assert len(derived(Clause("t", (0,), ()), database)) == 8

    def test_rows_of_many_variables_are_kept_apart(self) -> None:
        """The numbers of rows of nine objects would not fit into 64 bits together."""
        objects = 200
        ring = [(i, (i + 1) % objects) for i in range(objects)]
        body = tuple(Literal("next", (v, v + 1)) for v in range(9))
        found = derived(Clause("t", tuple(range(10)), body), Database.of([World(objects, {"next": ring})]))
        expected = [[(first + step) % objects for step in range(10)] for first in range(objects)]
        assert found.tolist() == sorted(expected)


class TestRulesAndClauses:
    @settings(max_examples=tries(25), deadline=None, phases=PHASES)
    @given(clauses().filter(lambda one: {0, 1, 2} == {v for x in one.body for v in x.variables}))
    def test_a_clause_is_itself_after_a_rule(self, one: Clause) -> None:
        again = clause_of(one.to_rule())
        renamed = dict(zip(again.variables, one.variables, strict=True))
        for mine, other in zip(again.body, one.body, strict=True):
            renamed |= dict(zip(mine.variables, other.variables, strict=True))
        for mine, other in zip(again.apart, one.apart, strict=True):
            renamed |= dict(zip(mine, other, strict=True))
        back = Clause(
            "t",
            tuple(renamed[v] for v in again.variables),
            tuple(
                Literal(x.predicate, tuple(renamed[v] for v in x.variables), x.negated) for x in again.body
            ),
            tuple((renamed[a], renamed[b]) for a, b in again.apart),
        )
        assert back == one and len(set(renamed.values())) == len(renamed)

    def test_variables_are_named_as_they_are_met(self) -> None:
        one = Clause("t", (7, 3), (Literal("edge", (7, 5)), Literal("red", (3,), True)), ((5, 3),))
        text = next(show_statement(one.to_rule()))
        assert text == "t(x, y) :- edge(x, z), not red(y), z != y"

    def test_there_is_a_name_for_every_variable(self) -> None:
        body = tuple(Literal("edge", (v, v + 1)) for v in range(14))
        text = next(show_statement(Clause("t", (0,), body).to_rule()))
        assert NAMES[8:] == ("c", "d") and "edge(c, d), edge(d, x10), edge(x10, x11)" in text
        assert parse_theory(text).rules

    def test_each_anonymous_variable_is_another(self) -> None:
        one = clause("t(x) :- edge(x, _), edge(_, x)")
        assert one.body == (Literal("edge", (0, 1)), Literal("edge", (2, 0)))

    @pytest.mark.parametrize(
        "text",
        [
            't(x) :- edge(x, "a")',
            't("a", x) :- edge(x, y), y >= 3',
            "t(x) :- edge(x, y), x < y",
            't(x) :- edge(x, y), y != "b", x != y',
        ],
    )
    def test_constants_and_comparisons_stay(self, text: str) -> None:
        (rule,) = parse_theory(text).rules
        shown = next(show_statement(clause(text).to_rule()))
        assert next(show_statement(rule)).split(" :- ")[0] == shown.split(" :- ")[0]
        assert set(shown.split(" :- ")[1].split(", ")) == set(text.split(" :- ")[1].split(", "))

    def test_constants_are_compared_with_variables(self) -> None:
        with pytest.raises(UnsupportedError, match="this rule has more than atoms"):
            clause('t(x) :- edge(x, y), "a" = "b"')


class TestEvaluated:
    WORLD = World(4, {"edge": [(0, 1), (1, 2), (2, 3)], "red": [(3,)]})

    def rows(self, text: str, name: str) -> list[list[int]]:
        clauses = [clause_of(rule) for rule in parse_theory(text).rules]
        return evaluated(clauses, Database.of([self.WORLD])).tables[name].tolist()

    def test_predicates_are_made_before_they_are_read_whatever_the_order(self) -> None:
        rules = ["far(x, y) :- two(x, z), edge(z, y)", "two(x, y) :- edge(x, z), edge(z, y)"]
        assert self.rows("\n".join(rules), "far") == self.rows("\n".join(reversed(rules)), "far") == [[0, 3]]

    def test_clauses_of_one_head_add_up_and_facts_of_it_stay(self) -> None:
        assert self.rows("warm(x) :- red(x)\nwarm(x) :- edge(y, x)", "warm") == [[1], [2], [3]]
        database = Database.of([World(3, {"warm": [(0,)], "red": [(2,), (0,)]})])
        assert evaluated([clause("warm(x) :- red(x)")], database).tables["warm"].tolist() == [[0], [2]]

    @pytest.mark.parametrize(
        "text",
        [
            "t(x) :- red(x), not t(x)",
            "t(x) :- red(x), not u(x)\nu(x) :- red(x), not t(x)",
            "t(x) :- red(x), not u(x)\nu(x) :- edge(x, y), t(y)",
        ],
    )
    def test_recursion_through_a_negation_is_refused(self, text: str) -> None:
        with pytest.raises(LanguageError, match="depends on its own negation"):
            self.rows(text, "t")

    @pytest.mark.parametrize(
        ("text", "rows"),
        [
            ("t(x) :- red(x)\nt(x) :- edge(x, y), t(y)", [[0], [1], [2], [3]]),
            ("t(x) :- red(x)\nt(x) :- edge(x, y), u(y)\nu(x) :- edge(x, y), t(y)", [[1], [3]]),
            ("t(x) :- edge(x, y), t(y)", []),
        ],
    )
    def test_recursion_ends_at_the_least_fixpoint(self, text: str, rows: list[list[int]]) -> None:
        assert self.rows(text, "t") == rows


class TestConditions:
    """Constants, thresholds and order, by trying every pair of objects."""

    WORLDS = (
        World(4, {"edge": [(0, 1), (1, 2), (2, 3), (3, 0)]}, ("a", 3, 5.5, "b")),
        World(2, {"edge": [(0, 1), (1, 0)]}, (4, "a")),
    )

    @pytest.mark.parametrize("sign", ["=", "!=", "<", "<=", ">", ">="])
    @pytest.mark.parametrize("value", [3, 4.0, "a", None])
    def test_each_comparison_is_that_of_the_constants(self, sign: str, value: float | str | None) -> None:
        if isinstance(value, str) and sign not in ("=", "!="):
            pytest.skip("there is no order among text")
        right = 1 if value is None else None
        one = Clause("t", (0, 1), (Literal("edge", (0, 1)),), (), (Condition(sign, 0, right, value),))
        expected = []
        first = 0
        for world in self.WORLDS:
            for x, y in world.facts["edge"]:
                left = world.constants[x]
                other = world.constants[y] if value is None else value
                numeric = not isinstance(left, str) and not isinstance(other, str)
                holds = {
                    "=": left == other,
                    "!=": left != other,
                    "<": numeric and left < other,
                    "<=": numeric and left <= other,
                    ">": numeric and left > other,
                    ">=": numeric and left >= other,
                }[sign]
                if holds:
                    expected.append([first + x, first + y])
            first += world.objects
        assert derived(one, Database.of(self.WORLDS)).tolist() == sorted(expected)


def test_a_rule_about_one_constant_alone_can_be_read_back() -> None:
    """A body of nothing is no body in the language."""
    alone = Clause("t", (0,), (), (), (Condition("=", 0, None, "n6"),))
    text = next(iter(show_statement(alone.to_rule())))
    assert text == 't("n6") :- true'
    (rule,) = parse_theory(text).rules
    assert clause_of(rule) == alone
