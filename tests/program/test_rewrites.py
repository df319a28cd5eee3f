"""Rewrites keep what they say they keep: value variables their meaning, clauses their conjunction."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.errors import LanguageError, UnsupportedError
from herbrand.language.parse import parse_formula
from herbrand.language.show import show_formula
from herbrand.language.syntax import (
    And,
    Atom,
    Comparison,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Truth,
    Variable,
    Xor,
)
from herbrand.program.independent_clauses import clauses, with_independent_clauses
from tests.language.test_precedence import LETTERS, value
from tests.laws import tries
from tests.oracles.worlds import Universe
from tests.program.test_lowering import assert_same_weights

leaves = st.one_of(st.sampled_from(LETTERS).map(Atom), st.booleans().map(Truth))
propositional: st.SearchStrategy[Formula] = st.recursive(
    leaves,
    lambda parts: st.one_of(
        parts.map(Not),
        st.lists(parts, min_size=2, max_size=3).map(lambda some: And(tuple(some))),
        st.lists(parts, min_size=2, max_size=3).map(lambda some: Or(tuple(some))),
        st.lists(parts, min_size=2, max_size=3).map(lambda some: Xor(tuple(some))),
        st.builds(Implies, parts, parts),
        st.builds(Iff, parts, parts),
    ),
    max_leaves=8,
)


class TestClauses:
    @settings(max_examples=tries(80), deadline=None)
    @given(propositional)
    def test_all_of_them_hold_where_the_formula_does(self, formula: Formula) -> None:
        """Unless it never holds: nothing is said by a clause without literals."""
        found = list(clauses(formula))
        worlds = [
            dict(zip(LETTERS, values, strict=True)) for values in product([False, True], repeat=len(LETTERS))
        ]
        holds = [value(formula, world) for world in worlds]
        together = [all(value(clause, world) for clause in found) for world in worlds]
        assert together == holds or not any(holds)

    @settings(max_examples=tries(80), deadline=None)
    @given(propositional)
    def test_each_is_a_literal_or_a_disjunction_of_them_and_can_fail(self, formula: Formula) -> None:
        found = list(clauses(formula))
        assert len(set(found)) == len(found)
        for clause in found:
            parts = clause.operands if isinstance(clause, Or) else (clause,)
            literals = [part.operand if isinstance(part, Not) else part for part in parts]
            assert all(isinstance(literal, Atom) for literal in literals)
            assert len(set(literals)) == len(literals)

    @pytest.mark.parametrize(
        ("formula", "expected"),
        [
            ("a and b", ["a", "b"]),
            ("a => b", ["not a or b"]),
            ("a <=> b", ["not a or b", "a or not b"]),
            ("(a and b) or (c and d)", ["a or c", "a or d", "b or c", "b or d"]),
            ("not (a or b)", ["not a", "not b"]),
            ("a or not a", []),
            ("true", []),
            ("a or true", []),
            ("a xor b", ["a or b", "not a or not b"]),
            ("x != y or p(x)", ["p(x) or not x = y"]),
        ],
    )
    def test_by_hand(self, formula: str, expected: list[str]) -> None:
        found = {frozenset(show_formula(one).split(" or ")) for one in clauses(parse_formula(formula))}
        assert found == {frozenset(text.split(" or ")) for text in expected}

    def test_too_many_are_refused_before_they_are_made(self) -> None:
        """2⁶⁰ of them."""
        pairs = tuple(And((Atom(f"a{i}"), Atom(f"b{i}"))) for i in range(60))
        with pytest.raises(UnsupportedError, match="the formula has more than 10,000 clauses"):
            list(clauses(Or(pairs)))

    def test_choices_that_come_to_the_same_clauses_are_few(self) -> None:
        same = And((Atom("a"), Atom("b")))
        assert {show_formula(one) for one in clauses(Or((same,) * 60))} == {"a", "b", "a or b"}

    def test_each_has_the_weight_of_its_formula(self) -> None:
        text = "predicate a\npredicate b\npredicate c\n2.0: a and b\nhard: a or c\n0.5: b => c"
        program = with_independent_clauses(hb.Model(hb.parse(text)).program)
        assert [weight.value for weight in program.weights] == [2.0, 0.5]
        weighted = [template for template in program.templates if template.conjunction.literals]
        assert {(one.weight, one.formula) for one in weighted} == {(0, 0), (0, 1), (None, 2), (1, 3)}


DOMAINS = {"t": ("c1", "c2"), "colour": ("r", "g", "b")}
PREDICATES = {"area": (("t",), DOMAINS["colour"]), "next": (("t",), DOMAINS["colour"]), "p": (("t",), None)}
DECLARED = """
type t = {"c1", "c2"}
type colour = {"r", "g", "b"}
predicate area(t) in colour
predicate next(t) in colour
predicate p(t)
"""


class TestValueVariables:
    @pytest.mark.parametrize(
        "statement",
        [
            "1.5: area(x) = v and next(x) = v",
            "-0.7: area(x) = v => next(y) = v",
            "0.4: area(x) = v and next(x) = w and v != w",
            '1.1: area(x) = v and p(x) where v != "r"',
            '1.1: area(x) = v and next(y) = v where v = "g" and x != y',
            "0.9: exists v: area(x) = v and next(x) = v",
            '0.9: exists v: area(x) = v and v != "b"',
            "-1.2: forall v: area(x) = v or next(x) = v or p(x)",
            "0.3: forall v: exists y: area(y) = v and (next(x) = v or x != y)",
            "hard: area(x) = v => next(x) = v",
        ],
    )
    def test_every_world_weighs_the_same(self, statement: str) -> None:
        """Each world's weight by templates, which know constant values only, and by the statement itself."""
        known = Universe(
            {**DOMAINS, "area value": DOMAINS["colour"], "next value": DOMAINS["colour"]}, PREDICATES
        )
        assert_same_weights(hb.parse(f"{DECLARED}{statement}"), known)

    def test_a_learned_weight_for_each_value(self) -> None:
        program = hb.Model(hb.parse(f"{DECLARED}?[v]: area(x) = v and p(x)")).program
        (weight,) = program.weights
        assert weight.learned and weight.by == ("colour",)
        chosen = {template.weight_arguments for template in program.templates}
        assert chosen == {(0,), (1,), (2,)}

    def test_conditions_on_values_are_settled_where_they_are_known(self) -> None:
        text = f'{DECLARED}1.0: area(x) = v where v = "r" and v != "r"'
        assert hb.Model(hb.parse(text)).program.templates == ()

    def test_too_many_choices_are_refused(self) -> None:
        text = (
            "type n = 1..400\npredicate a(t) in n\npredicate b(t) in n\n"
            '1.0: a(x) = v and b(x) = w and v != w\na("k") = 1'
        )
        with pytest.raises(LanguageError) as error:
            hb.Model(hb.parse(text)).program  # noqa: B018
        (mistake,) = error.value.mistakes
        assert mistake.message == "the variables v, w stand for 160,000 choices of values"
        assert mistake.span is not None and mistake.span.line == 4
        assert mistake.hint == "at most 100,000 are taken"


def test_a_comparison_and_its_opposite_are_one_leaf() -> None:
    """x = y or x != y always holds: it is no clause."""
    same, other = (Comparison(sign, Variable("x"), Variable("y")) for sign in ("=", "!="))  # type: ignore[arg-type]
    assert list(clauses(Or((same, other)))) == []
    assert list(clauses(Or((same, Not(same))))) == []
