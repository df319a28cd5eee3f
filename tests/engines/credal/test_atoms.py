"""Numbers of ground atoms and their names again: every atom there and back, whatever it is called."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.credal.lowering import Lowering, credal_network
from herbrand.engines.credal.network import Atoms, KnownAtoms, Network, SentenceGroup, Stated, formula_of
from herbrand.engines.credal.shape import GroundFormula
from herbrand.facts.domain import Domain
from herbrand.language.parse import parse_formula
from herbrand.language.show import show_formula
from herbrand.language.syntax import Atom, Constant, Variable
from tests.laws import tries

some = settings(deadline=None, max_examples=tries(20))
CONSTANTS = ["a", "b", "1", "it's", 'say "hi"', "é", "日本", " ", "", "a\nb", "`"]
NAMES = ["p", "rain", "two words", "P", "hard", "exists", "über", "x1"]


@st.composite
def vocabularies(draw: st.DrawFn) -> dict[str, tuple[Domain, ...]]:
    """Predicates over text and numbers, some without arguments, some over an empty type."""
    text = Domain.of("text", draw(st.lists(st.sampled_from(CONSTANTS), unique=True, max_size=4)))
    number = Domain.of("number", draw(st.lists(st.integers(-3, 3), unique=True, max_size=3)))
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=4))
    return {name: tuple(draw(st.lists(st.sampled_from([text, number]), max_size=3))) for name in names}


@some
@given(vocabularies())
def test_every_atom_has_a_number_and_the_number_its_atom(domains: dict[str, tuple[Domain, ...]]) -> None:
    atoms = Atoms.of(domains)
    expected = [
        Atom(name, tuple(map(Constant, values)))
        for name, typed in domains.items()
        for values in itertools.product(*(list(domain) for domain in typed))
    ]
    assert len(atoms) == len(expected)
    for number, atom in enumerate(expected):
        assert atoms.number(atom) == number
        assert atoms.syntax(number) == atom
    assert atoms.texts() == [atoms.text(number) for number in range(len(atoms))]
    assert atoms.texts() == [show_formula(atom) for atom in expected]
    assert atoms.start == dict(zip(domains, atoms.starts, strict=False))


@some
@given(vocabularies())
def test_the_names_are_read_back(domains: dict[str, tuple[Domain, ...]]) -> None:
    atoms = Atoms.of(domains)
    for number, text in enumerate(atoms.texts()):
        assert parse_formula(text) == atoms.syntax(number)


def test_what_has_no_number() -> None:
    people = Domain.of("person", ["anna", "bob"])
    atoms = Atoms.of({"rain": (), "knows": (people, people)})
    anna, bob = Constant("anna"), Constant("bob")
    assert [atoms.number(Atom("rain")), atoms.number(Atom("knows", (bob, anna)))] == [0, 3]
    none = [
        Atom("snow"),
        Atom("rain", (anna,)),
        Atom("knows", (anna,)),
        Atom("knows", (anna, Constant("carl"))),
    ]
    none += [Atom("knows", (anna, Variable("x"))), Atom("knows", (Constant(1), anna))]
    assert [atoms.number(atom) for atom in none] == [None] * len(none)


def test_a_number_is_no_string() -> None:
    atoms = Atoms.of({"p": (Domain.of("number", [1, 2]),), "q": (Domain.of("text", ["1", "2"]),)})
    assert atoms.number(Atom("p", (Constant(2),))) == 1 and atoms.number(Atom("q", (Constant("2"),))) == 3
    assert (
        atoms.number(Atom("p", (Constant("2"),))) is None and atoms.number(Atom("q", (Constant(2),))) is None
    )
    assert atoms.texts() == ["p(1)", "p(2)", 'q("1")', 'q("2")']


def test_no_atoms_at_all() -> None:
    atoms = Atoms.of({})
    assert len(atoms) == 0 and atoms.texts() == [] and atoms.number(Atom("a")) is None
    empty = Atoms.of({"p": (Domain.of("t", []),), "q": ()})
    assert len(empty) == 1 and empty.texts() == ["q"] and empty.number(Atom("q")) == 0


def test_formulas_get_their_names_back() -> None:
    atoms = Atoms.of({"a": (), "b": (), "s": (Domain.of("p", ["x", "y"]),)})
    shown = {
        ("and", 0, ("not", 1)): 's("y") and not a',
        ("or", ("and", 0, 1), ("not", ("xor", 0, 1))): 's("y") and a or not (s("y") xor a)',
        ("iff", 0, ("not", 1)): 's("y") <=> not a',
        0: 's("y")',
        ("true",): "true",
        ("false",): "false",
    }
    for shape, text in shown.items():
        assert show_formula(formula_of(GroundFormula(shape, (3, 0)), atoms)) == text


THEORY = """
type p = {"x", "y", "z"}
predicate near(p, p): observed
predicate s(p)
predicate t(p)
near("x", "y")
near("y", "z")
[first] P(s(v) | t(w) and near(v, w)) in [0.2, 0.4]
P(s("x") or t("x")) >= 0.3
[flag] P(s(v) and t(v) | s("z")) <= 0.9 independent
"""


def rows_of(network: Network) -> list[tuple[int, int]]:
    return [(g, r) for g, group in enumerate(network.groups) for r in range(len(group))]


def test_ground_sentences_are_told_as_statements_that_say_the_same() -> None:
    """A sentence that is printed, read and grounded again is itself: shape, atoms, ends and flag."""
    network = credal_network(hb.Model(hb.parse(THEORY)).program)
    told = [network.sentence_text(g, r) for g, r in rows_of(network)]
    assert 'P(s("x") | t("y")) in [0.2, 0.4]' in told and 'P(s("x") or t("x")) >= 0.3' in told
    assert 'P(s("y") and t("y") | s("z")) <= 0.9 independent' in told
    declared = 'type p = {"x", "y", "z"}\npredicate near(p, p): observed\npredicate s(p)\npredicate t(p)\n'
    again = credal_network(hb.Model(hb.parse(declared + "\n".join(told))).program)
    assert sorted(said(again)) == sorted(said(network))


def said(network: Network) -> list[tuple[object, ...]]:
    found = []
    for g, r in rows_of(network):
        group = network.groups[g]
        ends = float(group.lower[r]), float(group.upper[r])
        shapes = repr(group.event), repr(group.given), group.independent
        found.append((*shapes, tuple(group.atoms[r].tolist()), *ends))
    return found


def test_groundings_tell_the_constants_of_a_statement_alone() -> None:
    network = credal_network(hb.Model(hb.parse(THEORY)).program)
    found = {network.sentence_text(g, r): network.grounding(g, r) for g, r in rows_of(network)}
    assert found['P(s("x") | t("y")) in [0.2, 0.4]'] == {"v": "x", "w": "y"}
    assert found['P(s("y") | t("z")) in [0.2, 0.4]'] == {"v": "y", "w": "z"}
    assert found['P(s("x") or t("x")) >= 0.3'] == {}
    places = {network.stated(g, r).span for g, r in rows_of(network)}
    assert {span.line for span in places if span} == {8, 9, 10}


def test_a_group_keeps_some_of_its_rows() -> None:
    network = credal_network(hb.Model(hb.parse(THEORY)).program)
    group = max(network.groups, key=len)
    kept = np.arange(len(group)) % 2 == 0
    part = group.rows(kept)
    assert len(part) == kept.sum() and part.event == group.event and part.given == group.given
    for name in ("atoms", "lower", "upper", "statement", "binding"):
        assert (getattr(part, name) == getattr(group, name)[kept]).all()
    assert len(group.rows(np.zeros(len(group), bool))) == 0


def test_tables_of_a_group_tell_each_case() -> None:
    """Column 0 is the high bit; without a condition everything is given."""
    one = np.zeros(1)
    group = SentenceGroup(
        ("and", 0, ("not", 1)), ("or", 1, 2), False, np.array([[4, 5, 6]]), one, one, one, one
    )
    for case in range(8):
        a, b, c = case >> 2 & 1, case >> 1 & 1, case & 1
        assert group.event_table[case] == bool(a and not b) and group.given_table[case] == bool(b or c)
    assert set(group.links) == {(0, 1), (1, 0), (2, 0), (2, 1)}
    alone = SentenceGroup(0, None, False, np.array([[4]]), one, one, one, one)
    assert alone.given_table.all() and alone.links == []
    flagged = SentenceGroup(("or", 0, 1), 2, True, np.array([[4, 5, 6]]), one, one, one, one)
    assert set(flagged.links) == {(2, 0), (2, 1)} and flagged.arity == 3


def test_a_network_counts_its_sentences_and_may_have_none() -> None:
    nothing = Network(Atoms.of({"a": ()}), (), KnownAtoms(np.empty(0, np.int64), np.empty(0, bool)))
    assert len(nothing) == 0 and isinstance(nothing.statements, Stated)
    network = credal_network(hb.Model(hb.parse(THEORY)).program)
    # two pairs that are near, one sentence of constants, and three of the last: at z two atoms are one
    assert len(network) == 2 + 1 + 3
    assert len(network.only(network.groups[:1])) == len(network.groups[0])
    assert network.only(()).atoms is network.atoms


@pytest.mark.parametrize("engine", ["exact", "ariel"])
def test_a_theory_without_bounds_leaves_every_atom_free(engine: str) -> None:
    model = hb.Model(hb.parse('type p = {"x"}\npredicate s(p)\npredicate a\nP(true) <= 1'))
    found = model.bound(engine=engine)
    assert found.queries == ['s("x")', "a"]
    assert found.lower.tolist() == [0.0, 0.0] and found.upper.tolist() == [1.0, 1.0]
    empty = hb.Model(hb.parse("predicate s(p)\nP(s(x)) <= 0.3")).bound(engine=engine)
    assert len(empty.queries) == 0 and len(empty.lower) == 0


def test_every_open_atom_is_in_the_network_once() -> None:
    """Those that no sentence mentions and those that facts settle, too."""
    theory = hb.parse(THEORY + 'predicate lone\npredicate u(p, p)\nnot s("x")')
    lowering = Lowering.over(hb.Model(theory).program)
    texts = lowering.network().atoms.texts()
    assert len(texts) == len(set(texts)) == 3 + 3 + 1 + 9
    assert "lone" in texts and 's("x")' in texts and not any("near" in text for text in texts)
    facts = lowering.network().facts
    assert [texts[a] for a in facts.atoms.tolist()] == ['s("x")'] and facts.truths.tolist() == [False]


@pytest.mark.parametrize("ignored", ["1.0: count(x: a(x)) >= 1", "hard: n(x, k) and k > 2 => a(x)"])
def test_what_ignored_statements_compute_is_no_atom(ignored: str) -> None:
    theory = 'type t = {"x"}\ntype v = 1..3\npredicate a(t)\npredicate n(t, v): observed\nP(a(x)) >= 0.5\n'
    found = hb.Model(hb.parse(theory + ignored), ignore="weights").bound()
    assert found.queries == ['a("x")']
