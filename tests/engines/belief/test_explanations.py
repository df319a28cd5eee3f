"""Why messages give an atom its belief: sums, what each factor is made of, and what forces an atom."""

from __future__ import annotations

import math
from collections import defaultdict

import pytest

import herbrand as hb
from herbrand.answers.explanation import Explanation, Reason
from herbrand.answers.guarantee import Guarantee, Status
from herbrand.engines.belief.engine import BeliefPropagation
from herbrand.engines.belief.origins import reason_of
from herbrand.engines.engine import first_state
from herbrand.errors import HerbrandError
from herbrand.language.names import shown_constant
from herbrand.language.show import show_atom
from herbrand.program.question import read_explained
from tests.engines.belief.theories import FACTS, SENTENCES, declarations
from tests.engines.unseen import theory

SETTLE = "(facts and hard statements settle it)"


def explained(model: hb.Model, atom: str, lift: bool = True, rounds: int = 5) -> Explanation:
    """After some rounds, settled or not."""
    program = model.program
    question = read_explained(atom, program.signature, program.facts)
    engine = BeliefPropagation(lift=lift)
    state = first_state(engine, program, question)
    for _ in range(1 if state.order is not None else rounds):
        state = engine.step(state)
    return engine.explain(state, RUNNING)


def by_statement(why: Explanation) -> dict[str, float]:
    """What each statement adds; factors of several share out nothing, so their texts are joined."""
    found: dict[str, float] = defaultdict(float)
    for reason in why.reasons:
        texts = [part.statement for part in reason.parts] or [reason.statement]
        found[" & ".join(sorted(texts))] += reason.contribution
    return {text: worth for text, worth in found.items() if abs(worth) > 1e-9}


RUNNING = Status(False, 0, 0.0)
CONSTANTS = ("c0", "c1", "c2", "c3")
ASKED = ['q("c3")', 'f("c0", "c3")']


@pytest.mark.parametrize("facts", ["\n".join(FACTS[2:4])])
def test_classes_explain_as_the_ground_does(facts: str) -> None:
    """Every sentence beside one about single atoms; the sums by statement, whatever stands for whatever."""
    for sentence in SENTENCES:
        text = "\n".join([*declarations(CONSTANTS), facts, f"0.7: {sentence}", "0.3: p(x)\n-0.2: f(x, y)"])
        model = hb.Model(hb.parse(text))
        for atom in ASKED:
            one, other = explained(model, atom), explained(model, atom, lift=False)
            assert one.value == pytest.approx(other.value, abs=1e-8), (sentence, atom)
            assert by_statement(one) == pytest.approx(by_statement(other), abs=1e-8), (sentence, atom)
            assert (one.base, other.base) == (0.0, 0.0)
            assert one.remainder == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("lift", [True, False])
def test_messages_add_up_on_any_theory(lift: bool) -> None:
    """Of many values too: what the slopes leave out is the remainder. What is forced has reasons."""
    finite = forced = 0
    for seed in range(200, 224):
        text, universe = theory(seed)
        model = hb.Model(hb.parse(text))
        for name, arguments in universe.atoms()[:4]:
            values = universe.predicates[name][1]
            atom = show_atom(name, arguments)
            asked = atom if values is None else f"{atom} = {shown_constant(values[0])}"
            if (name, arguments) in universe.known or name in universe.closed:
                continue
            try:
                why = explained(model, asked, lift)
            except HerbrandError:
                break
            contributions = [reason.contribution for reason in why.reasons]
            if math.isinf(why.value):
                forced += 1
                assert contributions and set(contributions) == {why.value}, text
                continue
            finite += 1
            assert math.fsum([why.base, why.remainder, *contributions]) == pytest.approx(why.value, abs=1e-8)
            if values is None:
                assert why.remainder == pytest.approx(0.0, abs=1e-8)
    assert finite > 30 and forced > 1


T = 'type t = {"a", "b", "c"}\n'


def reasons(text: str, atom: str, **options: bool) -> dict[str, dict[str, object]]:
    why = explained(hb.Model(hb.parse(T + text)), atom, **options)
    return {reason.statement: dict(reason.grounding) for reason in why.reasons}


def test_a_quantifier_is_named_by_its_statement() -> None:
    """The factor next to the atom belongs to a helper, or to a helper's helper."""
    text = 'predicate p(t)\npredicate q(t)\nq("c") ~ 0.9\n'
    one = "0.5: exists x: p(x) and q(x)"
    other = "0.4: forall x: exists y: q(x) or p(y) and q(y)"
    for lift in (True, False):
        told = reasons(f"{text}{one}\n{other}", 'p("a")', lift=lift)
        assert set(told) == {one, other}
        assert told[one] == {}


@pytest.mark.parametrize("lift", [True, False])
def test_a_quantifier_that_many_groundings_share_names_none_of_them(lift: bool) -> None:
    """``exists y: q(y)`` is one thing for all x: q("a") hears from all of them at once."""
    text = 'predicate p(t)\npredicate q(t)\np("a") ~ 0.7\n0.5: p(x) and exists y: q(y)\n0.2: q(x)'
    told = reasons(text, 'q("a")', lift=lift)
    assert told == {"0.5: p(x) and (exists y: q(y))": {}, "0.2: q(x)": {"x": "a"}}


def test_groundings_about_the_same_constants_are_told_as_one_of_them() -> None:
    text = 'predicate f(t, t)\nf("b", "a") ~ 0.6\nf("c", "c") ~ 0.3\n0.5: f(x, y) <=> f(y, x)'
    for lift in (True, False):
        told = reasons(text, 'f("a", "b")', lift=lift)
        assert set(told) == {"0.5: f(x, y) <=> f(y, x)"}
    assert reasons(text, 'f("a", "b")', lift=False) in (
        {"0.5: f(x, y) <=> f(y, x)": {"x": "a", "y": "b"}},
        {"0.5: f(x, y) <=> f(y, x)": {"x": "b", "y": "a"}},
    )


def test_a_factor_of_several_statements_rests_on_each_of_them() -> None:
    text = 'predicate p(t)\npredicate f(t, t)\np("b") ~ 0.6\n0.5: p(x) => f(x, y)\n-0.3: f(x, y) and p(x)'
    for lift in (True, False):
        (reason,) = explained(hb.Model(hb.parse(T + text)), 'f("b", "a")', lift=lift).reasons
        assert reason.statement == "2 statements about the same atoms"
        assert {part.statement for part in reason.parts} == {"0.5: p(x) => f(x, y)", "-0.3: f(x, y) and p(x)"}
        assert reason.contribution != 0 and all(part.contribution == 0 for part in reason.parts)
        assert all(part.grounding == {"x": "b", "y": "a"} for part in reason.parts)


def test_what_one_reason_tells_of_several_groundings() -> None:
    x, y, z = (("x", "a"), ("y", "b")), (("x", "b"), ("y", "a")), (("x", "a"), ("y", "c"))
    assert reason_of((("1: s", x),), 0.5) == Reason("1: s", {"x": "a", "y": "b"}, 0.5)
    assert reason_of((("1: s", x), ("1: s", y)), 0.5) == Reason("1: s", {"x": "a", "y": "b"}, 0.5)
    assert reason_of((("1: s", x), ("1: s", z)), 0.5) == Reason("1: s", {"x": "a"}, 0.5)
    assert reason_of((("1: s", x), ("1: s", y), ("1: s", z)), 0.5) == Reason("1: s", {}, 0.5)
    both = reason_of((("1: s", x), ("2: r", ()), ("1: s", z)), -1.0)
    assert both.contribution == -1.0
    assert both.parts == (Reason("1: s", {"x": "a"}), Reason("2: r", {}))


@pytest.mark.parametrize("lift", [True, False])
def test_constants_in_a_statement_are_no_variables(lift: bool) -> None:
    told = reasons('predicate f(t, t)\n0.5: f("a", x)\n-1: f(x, x)', 'f("a", "b")', lift=lift)
    assert told == {'0.5: f("a", x)': {"x": "b"}}


VALUED = 'predicate a(t) in {"x", "y", "z"}\npredicate p(t)\n'


@pytest.mark.parametrize("lift", [True, False])
@pytest.mark.parametrize(
    ("said", "asked", "value", "told"),
    [
        ('hard: not a(i) = "x"\nhard: not a(i) = "y"', "z", math.inf, ['a(i) = "x"', 'a(i) = "y"']),
        ('not a("a") = "x"\nhard: not a(i) = "y"', "z", math.inf, ['a(i) = "y"']),
        ('not a("a") = "x"\nnot a("a") = "y"', "z", math.inf, [SETTLE]),
        ('not a("a") = "x"', "x", -math.inf, [SETTLE]),
        ('hard: not a(i) = "x"', "x", -math.inf, ['a(i) = "x"']),
        ('hard: a(i) = "x" => p(i)\nnot p("a")', "x", -math.inf, ['a(i) = "x" => p(i)']),
        ('hard: a(i) in {"x", "y"} => p(i)\nnot p("a")', "z", math.inf, ['in {"x", "y"} => p(i)']),
    ],
)
def test_what_forces_a_value_is_named(
    said: str, asked: str, value: float, told: list[str], lift: bool
) -> None:
    """Each statement that leaves out some of the other values; facts alone are told as such."""
    text = f'{T}{VALUED}0.4: a(i) = "x"\n0.3: p(i)\n{said}'
    why = explained(hb.Model(hb.parse(text)), f'a("a") = "{asked}"', lift)
    assert why.value == value and (why.base, why.remainder) == (0.0, 0.0)
    found = [reason.statement for reason in why.reasons]
    assert len(found) == len(told)
    assert all(any(part in text for text in found) for part in told), found
    assert {reason.contribution for reason in why.reasons} == {value}


def test_only_what_forces_an_atom_is_named() -> None:
    text = 'predicate p(t)\npredicate q(t)\nhard: p(x) => q(x)\np("a")\n0.5: q(x)\n0.3: p(x) or q(x)'
    told = reasons(text, 'q("a")')
    assert told == {"hard: p(x) => q(x)": {"x": "a"}}


def test_an_atom_of_one_value_is_settled() -> None:
    why = explained(hb.Model(hb.parse(T + 'predicate a(t) in {"x"}\n0.5: a(i) = "x"')), 'a("a") = "x"')
    assert (why.value, [r.statement for r in why.reasons]) == (math.inf, [SETTLE])


@pytest.mark.parametrize("lift", [True, False])
def test_soft_evidence_is_on_the_atom_whichever_value_it_is_about(lift: bool) -> None:
    text = f'{T}{VALUED}a("a") = "y" ~ 0.7\n0.5: a(i) = "z"'
    why = explained(hb.Model(hb.parse(text)), 'a("a") = "z"', lift)
    told = {reason.statement: reason.contribution for reason in why.reasons}
    assert set(told) == {'soft evidence on a("a")', '0.5: a(i) = "z"'}
    assert told['0.5: a(i) = "z"'] == pytest.approx(0.5)
    assert told['soft evidence on a("a")'] < 0 and why.base == pytest.approx(-math.log(2))
    weights = [0.0, math.log(0.7) - math.log(0.15), 0.5]
    expected = weights[2] - math.log(sum(math.exp(w) for w in weights[:2]))
    assert why.value == pytest.approx(expected)


def test_soft_evidence_and_statements_on_one_atom_are_told_apart() -> None:
    text = f'{T}predicate p(t)\np("a") ~ 0.9\n0.5: p(x)\n-1.25: not p(x)'
    for lift in (True, False):
        why = explained(hb.Model(hb.parse(text)), 'p("a")', lift)
        assert {reason.statement: reason.contribution for reason in why.reasons} == pytest.approx(
            {'soft evidence on p("a")': math.log(9), "0.5: p(x)": 0.5, "-1.25: not p(x)": 1.25}
        )


def test_a_wide_conjunction_is_one_reason() -> None:
    """Its table would be too large, so the atom hears from a helper."""
    text = "\n".join(f"{0.1 * i}: p{i}" for i in range(1, 13))
    text += "\n4.0: " + " and ".join(f"p{i}" for i in range(1, 13))
    model = hb.Model(hb.parse(text))
    for lift in (True, False):
        why = explained(model, "p3", lift)
        wide = [reason for reason in why.reasons if reason.statement.startswith("4.0: ")]
        assert len(wide) == 1 and wide[0].contribution > 0
        assert why.guarantee is Guarantee.EXACT
        assert math.fsum(r.contribution for r in why.reasons) == pytest.approx(why.value, abs=1e-9)


def test_explaining_does_not_need_the_ground() -> None:
    """Ten thousand constants: the class of the atom, and what stands for a hundred million messages."""
    constants = ", ".join(f'"c{i}"' for i in range(10_000))
    text = f"type t = {{{constants}}}\npredicate p(t)\npredicate f(t, t)\n0.3: p(x)\n"
    text += "0.001: p(x) and f(x, y) => p(y)"
    program = hb.Model(hb.parse(text)).program
    question = read_explained('p("c77")', program.signature, program.facts)
    engine = BeliefPropagation()
    state = engine.step(first_state(engine, program, question))
    assert state.compiled.built.ground is None, "made of classes"
    why = engine.explain(state, RUNNING)
    told = {reason.statement: reason for reason in why.reasons}
    assert told["0.3: p(x)"].grounding == {"x": "c77"}
    assert told["0.3: p(x)"].contribution == pytest.approx(0.3)
    assert math.fsum(r.contribution for r in why.reasons) == pytest.approx(why.value, abs=1e-6)
