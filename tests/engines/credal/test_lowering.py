"""Ground sentences beside plain loops over all constants."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.credal.lowering import Lowering, credal_network
from herbrand.engines.credal.network import Network, SentenceGroup
from herbrand.engines.credal.question import read_bound_question
from herbrand.errors import BudgetError, ContradictionError, LanguageError, UnsupportedError
from herbrand.language import syntax as s
from herbrand.language.scope import Renaming
from herbrand.language.theory import Theory
from tests import program_generators as generators
from tests.laws import tries
from tests.oracles.worlds import Universe

CLOSED = frozenset({"f", "g"})
PREDICATES = {name: typed for name, typed in generators.PREDICATES.items() if typed[1] is None}
OPEN = {name: typed for name, typed in PREDICATES.items() if name not in CLOSED}

FORMULAS = generators.anchored.filter(
    lambda f: not any(isinstance(part, s.ValueIs | s.ValueIn) for part in s.walk(f))
)


def meanings(universe: Universe, bound: s.Bound) -> set[tuple[object, ...]]:
    """Each grounding as what it says: for every world of the open atoms, whether event and given hold."""
    worlds = list(universe.worlds())
    both = s.And((bound.event, bound.given or s.Truth(True)))
    statement = s.WeightedFormula(1.0, Renaming().formula(both))
    found = set()
    for binding in universe.bindings(statement):
        event, given = statement.formula.operands  # type: ignore[union-attr]
        holds, is_known = universe.meaning(event, binding), universe.meaning(given, binding)
        held = tuple(holds(w) and is_known(w) for w in worlds)
        known = tuple(is_known(w) for w in worlds)
        if any(known) and not _says_nothing(held, known, bound):
            found.add((held, known))
    return found


def _says_nothing(held: tuple[bool, ...], known: tuple[bool, ...], bound: s.Bound) -> bool:
    return (held == known and bound.upper == 1) or (not any(held) and bound.lower == 0)


def told(universe: Universe, network: Network, bound: s.Bound) -> set[tuple[object, ...]]:
    """The same of the rows of a network; a condition that cannot hold need not be noticed."""
    worlds = list(universe.worlds())
    names = [
        (atom.predicate, tuple(t.value for t in atom.arguments))
        for atom in map(network.atoms.syntax, range(len(network.atoms)))
    ]  # type: ignore[union-attr]
    found = set()
    for group in network.groups:
        for row in group.atoms.tolist():
            cases = [
                sum(bool(w[names[a]]) << (group.arity - 1 - c) for c, a in enumerate(row)) for w in worlds
            ]
            held = group.event_table & group.given_table
            one = tuple(held[cases].tolist()), tuple(group.given_table[cases].tolist())
            if any(one[1]) and not _says_nothing(*one, bound):
                found.add(one)
    return found


@given(FORMULAS, st.one_of(st.none(), FORMULAS), st.data())
@settings(
    max_examples=tries(60),
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_ground_sentences_say_what_the_statement_says(
    event: s.Formula, condition: s.Formula | None, data: st.DataObject
) -> None:
    bound = s.Bound(event, condition, 0.2, 0.9)
    universe = Universe(generators.DOMAINS, PREDICATES, closed=CLOSED)
    facts, known = [], {}
    for name, arguments in universe.atoms():
        if name in CLOSED and data.draw(st.booleans()):
            known[name, arguments] = True
            facts.append(s.FactRows(name, tuple((a,) for a in arguments), 1))
    universe = Universe(generators.DOMAINS, PREDICATES, known, CLOSED)
    declared = [
        *(
            s.TypeDeclaration(n, tuple(map(s.Constant, v)))
            for n, v in generators.DOMAINS.items()
            if " " not in n
        ),
        *(
            s.PredicateDeclaration(n, types, None, "observed" if n in CLOSED else None)
            for n, (types, _) in PREDICATES.items()
        ),
    ]
    model = hb.Model(Theory((*declared, *facts, bound)))
    expected = meanings(universe, bound)
    try:
        network = credal_network(model.program)
    except ContradictionError:
        assert any(all(known) and (all(held) or not any(held)) for held, known in expected)  # type: ignore[arg-type]
        return
    assert told(universe, network, bound) == expected


def group_rows(network: Network, group: SentenceGroup) -> list[str]:
    number = network.groups.index(group)
    return [network.sentence_text(number, row) for row in range(len(group))]


def test_observed_facts_select_and_shorten() -> None:
    theory = hb.parse(
        "predicate f(p, p): observed\npredicate s(p)\n"
        "P(s(x) | f(x, y) and s(y)) in [0.6, 0.9]\nP(exists y: f(x, y) and s(y)) <= 0.9"
    )
    network = credal_network(hb.Model(theory, {"f": [("a", "b"), ("b", "c"), ("b", "b")]}).program)
    told = sorted(text for group in network.groups for text in group_rows(network, group))
    assert told == [
        'P(s("a") | s("b")) in [0.6, 0.9]',
        'P(s("b") or s("c")) <= 0.9',
        'P(s("b") | s("b")) in [0.6, 0.9]',
        'P(s("b") | s("c")) in [0.6, 0.9]',
        'P(s("b")) <= 0.9',
    ]


def test_large_theories_are_a_few_arrays() -> None:
    people = [f"p{i}" for i in range(400)]
    links = [(people[i], people[(i * 7 + k) % 400]) for i in range(400) for k in (1, 2, 3)]
    theory = hb.parse("predicate f(p, p): observed\npredicate s(p)\nP(s(x) | s(y) and f(x, y)) >= 0.2")
    network = credal_network(hb.Model(theory, {"f": links}).program)
    expected = len({(a, b) for a, b in links if a != b})
    pairs = [group for group in network.groups if group.arity == 2]
    assert len(network.groups) <= 2 and sum(map(len, pairs)) == expected
    assert network.grounding(network.groups.index(pairs[0]), 0).keys() == {"x", "y"}


def test_open_facts_condition_and_stay() -> None:
    theory = hb.parse('P(s(x)) <= 0.4\nnot s("a")\npredicate s(p)\ntype p = {"a", "b"}')
    network = credal_network(hb.Model(theory).program)
    assert network.facts.atoms.tolist() == [0] and network.facts.truths.tolist() == [False]
    assert np.concatenate([group.atoms for group in network.groups]).tolist() == [[0], [1]]


@pytest.mark.parametrize(
    ("theory", "kind", "message"),
    [
        ('predicate a(p) in {"u", "v"}\nP(a("x") = "u") <= 0.5', UnsupportedError, "a is many-valued"),
        ('P(a("x")) <= 0.5\na("x") ~ 0.5\npredicate a(p)', UnsupportedError, "soft evidence on a"),
        ("P(true) <= 0.5", ContradictionError, "always holds, which contradicts it"),
        (
            "P(" + " or ".join(f"x{i}" for i in range(25)) + ") >= 0.1",
            UnsupportedError,
            "names 25 open atoms",
        ),
        ("type p = 1..1000\npredicate s(p)\nP(exists x, y: s(x) and s(y)) >= 0.1", BudgetError, "parts"),
    ],
)
def test_what_cannot_be_grounded_is_refused(theory: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        credal_network(hb.Model(hb.parse(theory)).program)


@pytest.mark.parametrize("engine", ["exact", "ariel"])
def test_soft_evidence_and_many_valued_queries_are_refused(engine: str) -> None:
    theory = hb.parse('predicate m in {"u", "v"}\npredicate a\nP(a) <= 0.5')
    with pytest.raises(UnsupportedError, match=r"soft evidence on a\n  state a bound on the atom instead: P"):
        hb.Model(theory).bound("P(a)", given="a ~ 0.3", engine=engine)
    with pytest.raises(UnsupportedError, match="m is many-valued") as raised:
        hb.Model(theory).bound('P(a | m = "u")', engine=engine)
    assert "a predicate for each value" in str(raised.value)
    assert hb.Model(theory).bound(engine=engine).queries == ["a"]


def queries(theory: str, *texts: str, facts: object = None) -> list[str]:
    lowering = Lowering.over(hb.Model(hb.parse(theory), facts).program)
    return [query.text for query in read_bound_question(texts, lowering).queries]


def test_queries_stand_for_every_grounding() -> None:
    theory = 'P(s(x)) >= 0.1\nP(s("a") or s("b")) >= 0.2\npredicate s(p)\npredicate f(p, p): observed'
    facts = {"f": [("a", "b")]}
    assert queries(theory, "P(s(x))", facts=facts) == ['s("a")', 's("b")']
    assert queries(theory, "s", facts=facts) == ['s("a")', 's("b")']
    assert queries(theory, "P(s(x) | s(y) and f(x, y))", facts=facts) == ['s("a") | s("b") and f("a", "b")']
    with pytest.raises(UnsupportedError, match="false by the observed facts"):
        queries(theory, 'P(s("a") | f("b", "a"))', facts=facts)
    with pytest.raises(LanguageError, match="did you mean"):
        queries(theory, 'P(s("a") | ff("b", "a"))', facts=facts)


def test_every_case_is_in_its_place() -> None:
    network = credal_network(hb.Model(hb.parse("P(a and not b => c | b) >= 0.5")).program)
    (group,) = network.groups
    names = [network.atoms.text(atom) for atom in group.atoms[0]]
    for number, values in enumerate(itertools.product((False, True), repeat=3)):
        case = dict(zip(names, values, strict=True))
        assert group.given_table[number] == case["b"]
        assert group.event_table[number] == (not (case["a"] and not case["b"]) or case["c"])


@pytest.mark.parametrize("constant", ["plain", "with a ` back-quote"])
def test_quantifiers_may_share_a_name_whatever_constants_are_called(constant: str) -> None:
    theory = hb.parse(
        'type t = {"t1", "t2"}\ntype u = {"u1", "u2", "u3"}\npredicate p(t)\npredicate q(u)\npredicate r(v)\n'
        f'P((exists x: p(x)) and (exists x: q(x)) and r("{constant}")) <= 0.5'
    )
    (group,) = credal_network(hb.Model(theory).program).groups
    assert group.arity == 6


def test_a_condition_may_give_a_quantified_variable_its_type() -> None:
    """And a comparison does: y is of the type of x, in bounds and in queries."""
    theory = hb.parse(
        'type t = {"a", "b"}\npredicate p(t)\npredicate q(t)\n'
        "P(q(x) and (forall y: y = x or not p(y)) | p(x)) <= 0.5"
    )
    network = credal_network(hb.Model(theory).program)
    told = sorted(text for group in network.groups for text in group_rows(network, group))
    assert told == [
        'P(q("a") and not p("b") | p("a")) <= 0.5',
        'P(q("b") and not p("a") | p("b")) <= 0.5',
    ]
    only_compared = hb.parse('type t = {"a", "b"}\npredicate p(t)\nP(p(x) and (exists y: y != x)) <= 0.5')
    answer = hb.Model(only_compared).bound("P(p(x) or (forall y: y = x))", engine="ariel")
    assert answer.queries == ['p("a") or (forall y: y = "a")', 'p("b") or (forall y: y = "b")']
    assert answer.upper.tolist() == pytest.approx([0.5, 0.5], abs=1e-6)


def test_anonymous_variables_of_a_query_have_every_constant() -> None:
    theory = 'P(s(x)) <= 0.4\npredicate s(p)\ntype p = {"a", "b"}'
    assert queries(theory, "P(s(_) or s(_))") == [f's("{x}") or s("{y}")' for x in "ab" for y in "ab"]
