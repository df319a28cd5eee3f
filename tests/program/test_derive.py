"""Derived predicates against the oracle that applies every rule to every assignment."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.errors import ContradictionError, LanguageError, UnsupportedError
from herbrand.language import syntax as s
from herbrand.language.theory import Theory
from tests.laws import tries
from tests.oracles.least_model import least_model
from tests.program.conftest import ROADS, evaluated_by

CONSTANTS = (1, 2, 3)
NAMES = ("x", "y", "z")

terms = st.one_of(st.sampled_from(NAMES).map(s.Variable), st.sampled_from(CONSTANTS).map(s.Constant))


def atoms(*predicates: str) -> st.SearchStrategy[s.Atom]:
    return st.builds(lambda name, a, b: s.Atom(name, (a, b)), st.sampled_from(predicates), terms, terms)


comparisons = st.builds(
    s.Comparison,
    st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
    st.sampled_from(NAMES).map(s.Variable),
    terms,
)


@st.composite
def rules(draw: st.DrawFn, head: str, positive: tuple[str, ...], negative: tuple[str, ...]) -> s.Rule:
    body: list[s.Formula] = draw(st.lists(atoms(*positive), min_size=1, max_size=2))
    body += map(s.Not, draw(st.lists(atoms(*negative), max_size=1)))
    body += draw(st.lists(comparisons, max_size=1))
    typed = {
        t.name
        for part in body
        for leaf in s.walk(part)
        for t in s.leaf_terms(leaf)
        if isinstance(t, s.Variable)
    }
    given_a_type = [s.Atom("e", (s.Variable(name), s.Variable(name))) for name in typed - _in_atoms(body)]
    head_terms = tuple(draw(terms) for _ in range(2))
    return s.Rule(s.Atom(head, head_terms), (*body, *given_a_type))  # type: ignore[arg-type]


def _in_atoms(body: list[s.Formula]) -> set[str]:
    leaves = (leaf for part in body for leaf in s.walk(part) if isinstance(leaf, s.Atom))
    return {t.name for leaf in leaves for t in leaf.arguments if isinstance(t, s.Variable)}


first = st.lists(rules("p", ("e", "p"), ("e",)), min_size=1, max_size=2)
second = st.lists(rules("q", ("e", "p", "q"), ("p", "e")), max_size=2)
links = st.sets(st.tuples(st.sampled_from(CONSTANTS), st.sampled_from(CONSTANTS)), max_size=5)


@settings(max_examples=tries(150), deadline=None)
@given(first, second, links)
def test_least_model(lower: list[s.Rule], upper: list[s.Rule], edges: set[tuple[int, int]]) -> None:
    declared = (
        s.TypeDeclaration("t", tuple(map(s.Constant, CONSTANTS))),
        s.PredicateDeclaration("e", ("t", "t"), role="observed"),
        s.PredicateDeclaration("p", ("t", "t")),
        s.PredicateDeclaration("q", ("t", "t")),
    )
    facts = {("e", edge) for edge in edges}
    expected = least_model([lower, upper], facts, CONSTANTS)  # type: ignore[arg-type]
    for name, road in product(("p", "q") if upper else ("p",), ROADS):
        model = hb.Model(Theory((*declared, *upper, *lower)), {"e": sorted(edges)} if edges else None)
        with evaluated_by(road):
            rows = model.program.facts.rows(model.signature.predicate(name), model.program.table(name).true)
        assert {(name, row) for row in rows} == {atom for atom in expected if atom[0] == name}, road


def test_derived_predicates_feed_weighted_formulas() -> None:
    theory = hb.parse(
        "near(x, y) :- road(x, y)\nnear(x, z) :- near(x, y), road(y, z)\n"
        "1.0: rain(x) and near(x, y) => rain(y)"
    )
    model = hb.Model(theory, {"road": [("a", "b"), ("b", "c")]})
    same = hb.parse("1.0: rain(x) and near(x, y) => rain(y)")
    spelled = hb.Model(same, {"near": [("a", "b"), ("b", "c"), ("a", "c")]})
    assert model.infer("rain").to_dict()["marginals"] == spelled.infer("rain").to_dict()["marginals"]


def test_rules_derive_from_what_is_known() -> None:
    with pytest.raises(UnsupportedError) as caught:
        hb.Model(hb.parse('p(x) :- q(x), r(x)\n1.0: q(x)\nr("a")')).infer()
    assert str(caught.value) == (
        "<text>:1:1: this rule derives from q, which is open: p(x) :- q(x), r(x)\n"
        "  p(x) :- q(x), r(x)\n"
        "  ^^^^^^^^^^^^^^^^^^\n"
        "  rules derive from what is known: declare q observed, or --closed q"
    )


def test_a_cycle_through_negation_is_refused() -> None:
    with pytest.raises(LanguageError, match="p depends on its own negation"):
        hb.Model(hb.parse('p(x) :- e(x), not q(x)\nq(x) :- e(x), not p(x)\ne("a")')).infer()


def test_deriving_what_is_false_is_a_contradiction() -> None:
    with pytest.raises(ContradictionError, match=r'this rule derives p\("a"\), which is stated to be false'):
        hb.Model(hb.parse('p(x) :- e(x)\ne("a")\nnot p("a")')).infer()


def test_head_variables_that_no_body_binds_range_over_their_type() -> None:
    model = hb.Model(hb.parse('p(x, y) :- e(x)\ne("a")\nlinked("a", "b")\nhard: linked(x, y) => p(x, y)'))
    assert model.infer("p(x, y)")['p("a", "b")'] == 1.0
