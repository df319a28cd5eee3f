"""Formulas taken apart and put together, statements compared, runs of facts: laws that all else relies on."""

from __future__ import annotations

from array import array
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.errors import Source, Span
from herbrand.language.formulas import (
    And,
    Atom,
    Comparison,
    Constant,
    Formula,
    Leaf,
    Not,
    Truth,
    ValueIs,
    Variable,
    children,
    leaf_terms,
    replace_leaves,
    same_value,
    walk,
    with_children,
    with_valued_names,
)
from herbrand.language.parse import parse_formula, parse_theory
from herbrand.language.show import show_statement
from herbrand.language.syntax import Bound, FactRows, Rule, WeightedFormula, merged
from herbrand.language.theory import Theory, show
from tests.language.theories import constants, fact_rows, formulas, statements, theories
from tests.laws import tries

SOME = settings(max_examples=tries(60), deadline=None)


class TestFormulas:
    @SOME
    @given(formulas)
    def test_a_formula_is_its_connective_over_its_children(self, formula: Formula) -> None:
        assert with_children(formula, children(formula)) == formula
        assert replace_leaves(formula, lambda leaf: leaf) == formula

    @SOME
    @given(formulas)
    def test_a_walk_meets_every_part_once_from_the_outside_in(self, formula: Formula) -> None:
        def nested(part: Formula) -> list[Formula]:
            return [part, *(inner for child in children(part) for inner in nested(child))]

        assert list(walk(formula)) == nested(formula)
        for part in walk(formula):
            assert isinstance(part, Leaf) == (not children(part))
            assert isinstance(part, Leaf) or leaf_terms(part) == ()

    @SOME
    @given(formulas)
    def test_replacing_leaves_touches_leaves_alone(self, formula: Formula) -> None:
        found = replace_leaves(formula, lambda leaf: Truth(True))
        kinds = [type(part) for part in walk(formula) if not isinstance(part, Leaf)]
        assert [type(part) for part in walk(found) if not isinstance(part, Leaf)] == kinds
        assert all(part == Truth(True) for part in walk(found) if isinstance(part, Leaf))

    def test_places_are_kept_when_leaves_are_replaced(self) -> None:
        formula = parse_formula("exists x: not (p(x) and q => (r <=> s xor t or u))")
        found = replace_leaves(formula, lambda leaf: leaf)
        assert [part.span for part in walk(found)] == [part.span for part in walk(formula)]

    @pytest.mark.parametrize(
        ("text", "terms"),
        [
            ('p(x, "a", 1)', (Variable("x"), Constant("a"), Constant(1))),
            ("p", ()),
            ('area(x) = "ai"', (Variable("x"), Constant("ai"))),
            ('area(x) in {"ai", "db"}', (Variable("x"),)),
            ("x != 3", (Variable("x"), Constant(3))),
            ("true", ()),
            ("not p(x)", ()),
        ],
    )
    def test_terms_that_stand_in_a_leaf_itself(self, text: str, terms: tuple[object, ...]) -> None:
        assert leaf_terms(parse_formula(text)) == terms


class TestConstants:
    @SOME
    @given(constants, constants)
    def test_equal_constants_are_one_key(self, one: Constant, other: Constant) -> None:
        assert (one == other) == (other == one) == same_value(one.value, other.value)
        if one == other:
            assert hash(one) == hash(other)
        if isinstance(one.value, str) != isinstance(other.value, str):
            assert one != other

    @pytest.mark.parametrize(("one", "other"), [(1, 1.0), (0, -0.0), (2**60, float(2**60)), ("a", "a")])
    def test_one_value_written_twice(self, one: object, other: object) -> None:
        assert Constant(one) == Constant(other)  # type: ignore[arg-type]
        assert len({Constant(one), Constant(other)}) == 1  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("one", "other"), [(1, "1"), ("", 0), ("a", "A"), (2**53, 2**53 + 1), ("é", "e\u0301")]
    )
    def test_different_values(self, one: object, other: object) -> None:
        assert Constant(one) != Constant(other)  # type: ignore[arg-type]
        assert len({Constant(one), Constant(other)}) == 2  # type: ignore[arg-type]

    def test_a_constant_is_nothing_else(self) -> None:
        assert Constant("x") != Variable("x") and Constant("x") != "x"

    def test_only_the_underscore_is_anonymous(self) -> None:
        assert Variable("_").anonymous and not Variable("_x").anonymous and not Variable("__").anonymous


class TestManyValuedNames:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ('m = "a"', ValueIs(Atom("m"), Constant("a"))),
            ('m != "a"', Not(ValueIs(Atom("m"), Constant("a")))),
            ("m = x", ValueIs(Atom("m"), Variable("x"))),
            ('x = "a"', Comparison("=", Variable("x"), Constant("a"))),
            ("x = m", Comparison("=", Variable("x"), Variable("m"))),
            ("m < 3", Comparison("<", Variable("m"), Constant(3))),
            ('"a" = m', Comparison("=", Constant("a"), Variable("m"))),
            ("m", Atom("m")),
            ("m(x)", Atom("m", (Variable("x"),))),
        ],
    )
    def test_a_comparison_is_an_atom_where_its_left_side_names_one(
        self, text: str, expected: Formula
    ) -> None:
        for around in ("{}", "not ({})", "exists y: p(y) and ({})", "a => ({})"):
            formula = parse_formula(around.format(text))
            found = with_valued_names(formula, {"m"})
            assert expected in list(walk(found))
            assert with_valued_names(formula, set()) is formula

    def test_in_every_kind_of_statement(self) -> None:
        theory = parse_theory(
            'predicate m in {"a", "b"}\n'
            '1: m = "a" => p\n'
            'P(m = "a" | m != "b") >= 0.5\n'
            'q(x) :- e(x), m = "a"\n'
            'm = "b"\n'
        )
        (weighted,), (bound,), (rule,) = theory.formulas, theory.bounds, theory.rules
        is_a, is_b = (ValueIs(Atom("m"), Constant(value)) for value in "ab")
        assert list(walk(weighted.formula))[1] == is_a
        assert (bound.event, bound.given) == (is_a, Not(is_b))
        assert rule.body[1] == is_a
        assert theory.facts[0].valued and theory.facts[0].row(0) == ("b",)

    def test_a_predicate_with_arguments_leaves_comparisons_alone(self) -> None:
        theory = parse_theory('predicate m(t) in {"a"}\n1: p(m) and m = "a"')
        assert Comparison("=", Variable("m"), Constant("a")) in list(walk(theory.formulas[0].formula))


class TestRuns:
    @SOME
    @given(st.lists(fact_rows(), max_size=5))
    def test_however_runs_are_cut_the_facts_are_the_same(self, runs: list[FactRows]) -> None:
        """Counted fact by fact; labelled facts stay alone."""
        joined = list(merged(runs))
        assert _rows(joined) == _rows(runs)
        shapes = [(r.predicate, r.kind, r.valued, len(r.columns)) for r in joined if r.label is None]
        if all(run.label is None for run in runs):
            assert len(set(shapes)) == len(shapes)
        assert list(merged(joined)) == joined
        assert Theory(tuple(runs)) == Theory(tuple(joined))
        assert hash(Theory(tuple(runs))) == hash(Theory(tuple(joined)))

    @SOME
    @given(fact_rows(), fact_rows(), statements.filter(lambda one: not isinstance(one, FactRows)))
    def test_no_fact_passes_another_statement(self, one: FactRows, other: FactRows, parting: object) -> None:
        found = list(merged([one, parting, other]))  # type: ignore[list-item]
        assert found == [one, parting, other]

    def test_rows_and_their_places(self) -> None:
        text = 'p("a", 1)\n  p("b", 2)   # note\np("c", 3)'
        (rows,) = parse_theory(text).facts
        assert [rows.row(index) for index in range(3)] == [("a", 1), ("b", 2), ("c", 3)]
        spans = [rows.row_span(index) for index in range(3)]
        assert [span and (span.line, span.place) for span in spans] == [
            (1, "<text>:1:1"),
            (2, "<text>:2:3"),
            (3, "<text>:3:1"),
        ]
        assert FactRows("p", (("a",),), 1).row_span(0) is None

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ('p("a")   # note', 'p("a")'),
            ('p("a")# note', 'p("a")'),
            ('p("a") ~ 0.5\t# with "quotes"', 'p("a") ~ 0.5'),
            ('p("a # b") # and "c"', 'p("a # b")'),
            ('p("say \\"hi\\" # there")# note', 'p("say \\"hi\\" # there")'),
            ('not p("http://x#y") @ 2 ', 'not p("http://x#y") @ 2'),
        ],
    )
    def test_a_row_ends_where_its_comment_begins(self, line: str, said: str) -> None:
        source = Source("s", f"q(1)\n{line}\nq(2)")
        rows = FactRows("p", (("a",),), 1, span=Span(source, 5, 5 + len(line)), starts=array("q", [5]))
        span = rows.row_span(0)
        assert span is not None and span.text == said

    def test_runs_of_one_source_are_joined_with_their_places(self) -> None:
        source = Source("s", "p(1)\np(2)\n")
        runs = [
            FactRows("p", ((number,),), 1, span=Span(source, start, start + 4), starts=(start,))
            for number, start in ((1, 0), (2, 5))
        ]
        (joined,) = merged(runs)
        assert isinstance(joined, FactRows) and joined.span is not None
        assert (joined.span.start, joined.span.end, list(joined.starts)) == (0, 9, [0, 5])
        elsewhere = FactRows("p", ((3,),), 1, span=Span(Source("t", "p(3)"), 0, 4), starts=(0,))
        assert len(list(merged([*runs, elsewhere]))) == 2

    @pytest.mark.parametrize(
        "other",
        [
            FactRows("q", (("a",),), 1),
            FactRows("p", (("b",),), 1),
            FactRows("p", (("a",),), 1, "false"),
            FactRows("p", (("a",),), 1, "soft", (0.5,)),
            FactRows("p", (("a",),), 1, "weighted", (0.5,)),
            FactRows("p", (("a",),), 1, valued=True),
            FactRows("p", (("a",),), 1, label="l"),
            FactRows("p", ((1,),), 1),
            FactRows("p", (("a",), ("a",)), 1),
            FactRows("p", (), 1),
        ],
    )
    def test_facts_that_differ_in_anything_are_different(self, other: FactRows) -> None:
        assert FactRows("p", (("a",),), 1) != other
        assert FactRows("p", (("1",),), 1) != FactRows("p", ((1,),), 1)

    def test_a_label_names_one_fact(self) -> None:
        with pytest.raises(AssertionError, match="a label names one fact"):
            FactRows("p", (("a", "b"),), 2, label="l")


def _rows(runs: object) -> Counter[object]:
    return Counter(
        (r.predicate, r.kind, r.valued, r.label, tuple(map(_typed, r.row(i))), r.numbers[i : i + 1])
        for r in runs  # type: ignore[attr-defined]
        for i in range(r.row_count)
    )


def _typed(value: object) -> tuple[bool, object]:
    return isinstance(value, str), value


class TestTheories:
    @SOME
    @given(theories, theories, theories)
    def test_adding_theories(self, one: Theory, two: Theory, three: Theory) -> None:
        assert (one + two) + three == one + (two + three)
        assert one + Theory() == one == Theory() + one

    @SOME
    @given(theories)
    def test_each_statement_is_of_one_kind(self, theory: Theory) -> None:
        kinds = (
            theory.types,
            theory.predicates,
            theory.facts,
            theory.formulas,
            theory.bounds,
            theory.rules,
            theory.choices,
        )
        assert sum(map(len, kinds)) == len(list(theory.singly())) == len(theory.statements)

    @SOME
    @given(theories)
    def test_a_line_for_each_statement_and_each_fact(self, theory: Theory) -> None:
        count = sum(s.row_count if isinstance(s, FactRows) else 1 for s in theory.statements)
        assert len([line for s in theory.statements for line in show_statement(s)]) == count
        assert show(theory).count("\n") == count

    def test_the_order_of_statements_matters_and_their_places_do_not(self) -> None:
        assert parse_theory("1: a\n2: b") != parse_theory("2: b\n1: a")
        assert parse_theory("1: a\n\n2: b", "x.hb") == parse_theory("1: a # one\n2: b", "y.hb")
        assert Theory() != "nothing" and Theory() != ()

    def test_runs_of_bounds_are_their_bounds(self) -> None:
        text = "P(a) = 0.5\nP(b | a) >= 0.25\nP(c and not b) in [0, 0.5]\n"
        read = parse_theory(text)
        assert read == Theory(tuple(read.bounds))
        assert [(b.lower, b.upper) for b in read.bounds] == [(0.5, 0.5), (0.25, 1.0), (0.0, 0.5)]


class TestStatementsThatNest:
    """Statements built in Python refuse what the reader refuses."""

    def deep(self) -> Formula:
        formula: Formula = Atom("a")
        for _ in range(200):
            formula = Not(formula)
        return formula

    def test_every_kind_of_statement_refuses_what_is_too_deep(self) -> None:
        deep = self.deep()
        for make in (
            lambda: WeightedFormula(1.0, deep),
            lambda: Bound(deep, None, 0.0, 1.0),
            lambda: Bound(Atom("a"), deep, 0.0, 1.0),
            lambda: Rule(Atom("h"), (Atom("a"), deep)),  # type: ignore[arg-type]
            lambda: parse_formula("not " * 200 + "a"),
        ):
            with pytest.raises(Exception, match="nested more than 200 levels deep") as error:
                make()
            assert "name its parts by predicates of their own" in str(error.value)

    def test_wide_is_not_deep(self) -> None:
        wide = And(tuple(Atom(f"a{i}") for i in range(5000)))
        assert WeightedFormula(1.0, wide).formula is wide
