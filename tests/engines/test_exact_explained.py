"""Explanations of exact log-odds, against the integral over all worlds."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.language.names import shown_constant
from herbrand.language.scope import with_terms
from herbrand.language.show import show_atom, show_statement
from herbrand.language.syntax import Constant, Hard
from herbrand.language.theory import Theory
from tests.laws import tries
from tests.oracles.attribution import SOFT, attributions
from tests.oracles.worlds import GroundAtom, Universe, exact_answers
from tests.program_generators import models

laws = settings(
    phases=[Phase.reuse, Phase.generate],
    max_examples=tries(20),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@laws
@given(models(hard=True), st.data())
def test_contributions_are_those_of_the_worlds(model: tuple[Theory, Universe], data: st.DataObject) -> None:
    theory, universe = model
    if exact_answers(universe, theory.formulas)[0] == -math.inf:
        return
    predicate, arguments = data.draw(st.sampled_from(universe.atoms()))
    values = universe.predicates[predicate][1]
    value = True if values is None else data.draw(st.sampled_from(values))
    text = show_atom(predicate, arguments)
    why = hb.Model(theory).explain(
        text if values is None else f"{text} = {shown_constant(value)}", engine="exact"
    )
    base, log_odds, expected = attributions(universe, theory.formulas, (predicate, arguments), value)
    if why.engine == "facts":
        assert (why.quantity, log_odds) == ("probability", math.inf if why.value else -math.inf)
        return
    assert why.value == pytest.approx(log_odds, abs=1e-7)
    if not math.isfinite(log_odds):
        assert all(reason.contribution == log_odds for reason in why.reasons)
        return
    assert why.base == pytest.approx(base, abs=1e-7)
    found: dict[str, float] = defaultdict(float)
    for reason in why.reasons:
        found[SOFT if reason.statement.startswith(SOFT) else reason.statement] += reason.contribution
    for statement, share in expected.items():
        assert found[statement] == pytest.approx(share, abs=1e-6), statement
    assert why.base + sum(found.values()) + why.remainder == pytest.approx(why.value, abs=1e-9)


@laws
@given(models(hard=True), st.data())
def test_each_line_is_what_its_groundings_add(model: tuple[Theory, Universe], data: st.DataObject) -> None:
    theory, universe = model
    texts = {next(iter(show_statement(statement))) for statement in theory.formulas}
    assume(len(texts) == len(theory.formulas) and exact_answers(universe, theory.formulas)[0] > -math.inf)
    atom = data.draw(st.sampled_from(universe.atoms()))
    values = universe.predicates[atom[0]][1]
    check_lines(theory, universe, atom, True if values is None else data.draw(st.sampled_from(values)))


@pytest.mark.parametrize("engine", ["exact", "lifted"])
def test_a_large_weight_makes_a_step_at_a_small_scale(engine: str) -> None:
    """Given that a does not hold, b is sure but at scales of 1e-6: there the first formula moves a."""
    theory = hb.parse("predicate a\npredicate b\n1e6: a or b\n-1e6: a\n5: b")
    why = hb.Model(theory).explain("a", engine=engine)
    found = {reason.statement: reason.contribution for reason in why.reasons}
    assert found["1000000.0: a or b"] == pytest.approx(1e6 * math.log(2) / (1e6 + 5), abs=1e-8)
    assert abs(why.remainder) < 1e-8


SEVERAL_CASES = [
    "-0.24: (p(2) or p(x)) xor (p(1) <=> p(x))",
    "1.3: (p(x) or p(y)) => (p(2) <=> p(x))",
    "-0.9: (p(x) xor p(y) xor p(3)) where x != y",
    "0.8: (p(x) <=> p(y)) and (p(1) or p(y) or not p(x))",
]


@pytest.mark.parametrize("several", SEVERAL_CASES)
def test_cases_of_one_grounding_are_one_line(several: str) -> None:
    """What is said of p(2) alone and of p(x) for x = 2 may be said of one grounding."""
    theory = hb.parse(f"type t = 1..3\npredicate p(t)\n{several}\n0.7: p(x)\np(1) ~ 0.9")
    universe = Universe({"t": (1, 2, 3)}, {"p": (("t",), None)}, soft=[(("p", (1,)), True, math.log(9))])
    check_lines(theory, universe, ("p", (3,)), True)


def check_lines(theory: Theory, universe: Universe, atom: GroundAtom, value: object) -> None:
    """Each line is what those groundings add that agree with its constants; one that leaves out a variable is
    about all constants together."""
    predicate, arguments = atom
    text = show_atom(predicate, arguments)
    asked = text if value is True else f"{text} = {shown_constant(str(value))}"
    why = hb.Model(theory).explain(asked, engine="exact")
    if not math.isfinite(why.value) or why.engine == "facts":
        return
    ground, instances = [], []
    for statement in theory.formulas:
        own = next(iter(show_statement(statement)))
        for binding in () if isinstance(statement.weight, Hard) else universe.bindings(statement):
            formula = with_terms(statement.formula, {name: Constant(c) for name, c in binding.items()})
            one = replace(statement, formula=formula, where=(), label=f"g{len(ground)}")
            instances.append((own, binding, next(iter(show_statement(one)))))
            ground.append(one)
    hard = [statement for statement in theory.formulas if isinstance(statement.weight, Hard)]
    _, _, shares = attributions(universe, [*ground, *hard], atom, value)
    lines = [(reason.statement, reason.where) for reason in why.reasons]
    assert len({*lines}) == len(lines)
    for reason in why.reasons:
        if not reason.statement.startswith(SOFT):
            agreeing = [
                shares[name]
                for own, binding, name in instances
                if own == reason.statement and reason.grounding.items() <= binding.items()
            ]
            assert reason.contribution == pytest.approx(math.fsum(agreeing), abs=1e-6), reason


KNOWN = """
predicate p(t): observed
predicate q(t)
predicate r(t) in {"u", "v"}
predicate s(t)
not q("a")
r("a") = "v"
s(x) :- p(x)
0.5: p(x) => q(x)
"""


@pytest.mark.parametrize(
    ("atom", "share", "why"),
    [
        ('p("a")', 1.0, 'p("a") is given: p, row 2'),
        ('p("c")', 0.0, 'not p("c") holds, as no fact lists the atom and p is closed'),
        ('q("a")', 0.0, 'not q("a") is given: <text>:6:1'),
        ('q("c")', 1.0, 'q("c") is given by --given'),
        ('r("a") = "v"', 1.0, 'r("a") = "v" is given: <text>:7:1'),
        ('r("a") = "u"', 0.0, 'r("a") = "v" is given: <text>:7:1'),
    ],
)
def test_of_what_is_given_it_is_said_where(atom: str, share: float, why: str) -> None:
    model = hb.Model(hb.parse(KNOWN), {"p": [("b",), ("a",)]})
    found = model.explain(atom, given=['q("c")'])
    assert (found.quantity, found.value, found.engine) == ("probability", share, "facts")
    assert [(reason.statement, reason.contribution) for reason in found.reasons] == [(why, share)]


def test_beside_choices_what_rules_derive_for_certain_is_said_to_follow() -> None:
    model = hb.Model(hb.parse('0.5 :: c\np("a")\nq(x) :- p(x)\nr(x) :- q(x), p("b")'))
    (follows,), (fails,) = model.explain('q("a")').reasons, model.explain('r("a")').reasons
    assert follows.statement == 'q("a") follows by rules from what is given'
    assert fails.statement == 'not r("a") holds, as no rule derives the atom'


def test_what_forces_an_atom_is_named_and_nothing_else() -> None:
    model = hb.Model(hb.parse('hard: p(x) => q(x)\nhard: q(x) => r(x)\nhard: s(x) => r(x)\np("a")'))
    why = model.explain('r("a")', engine="exact")
    assert why.value == math.inf
    assert {reason.statement for reason in why.reasons} == {"hard: p(x) => q(x)", "hard: q(x) => r(x)"}


@pytest.mark.parametrize("asked", ["p(x)", "p", 'p("a") and p("b")'])
def test_only_one_ground_atom_can_be_explained(asked: str) -> None:
    model = hb.Model(hb.parse("0.5: p(x)"), {"p": [("a",), ("b",)]}, open="p")
    with pytest.raises(hb.HerbrandError, match="an explanation is of one ground atom"):
        model.explain(asked)


def test_a_many_valued_atom_needs_its_value() -> None:
    model = hb.Model(hb.parse('type t = {"c"}\npredicate area(t) in {"a", "b"}\n1: area(x) = "a"'))
    with pytest.raises(hb.HerbrandError, match="name the value to explain"):
        model.explain('area("c")')
    assert model.explain('area("c") = "a"').value == pytest.approx(1.0)
