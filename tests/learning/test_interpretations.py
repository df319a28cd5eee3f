"""Probabilities learned from worlds that are partly known, against closed forms and sums over worlds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.errors import FactsError, HerbrandError, LanguageError, UnsupportedError
from herbrand.language.dialects import read_theory_text
from herbrand.language.parse import parse_theory
from herbrand.language.show import show_statement
from herbrand.language.syntax import Choice, Learned
from herbrand.language.theory import Theory, show
from herbrand.learning.learned import Learning
from tests.laws import tries
from tests.oracles.interpretations import Chances, Interpretations


def test_complete_worlds_give_shares() -> None:
    model = hb.Model(hb.parse("? :: a; ? :: b"))
    worlds = [hb.parse(text) for text in ("a", "a", "a", "b")]
    found = model.learn("likelihood", worlds=worlds)
    assert [w.weight for w in found.weights] == pytest.approx([0.75, 0.25], abs=1e-6)
    assert found.metrics["log_likelihood"] == pytest.approx(3 * math.log(0.75) + math.log(0.25), abs=1e-6)


def test_hidden_causes_are_summed_out() -> None:
    model = hb.Model(hb.parse("? :: rain\n0.5 :: leak\nwet :- rain\nwet :- leak"))
    worlds = [hb.parse(text) for text in ("wet", "wet", "wet", "wet", "not wet")]
    found = model.learn("likelihood", worlds=worlds)
    assert found.weights[0].weight == pytest.approx(0.6, abs=1e-3)  # 1 - 0.5 (1 - p) = 4/5
    values = [progress.value for progress in found.curve]
    assert values[0] < max(values) == pytest.approx(4 * math.log(0.8) + math.log(0.2), abs=1e-6)


NUMBERS = "type n = number\npredicate o(n): observed\npredicate d(n)\npredicate e(n)\no(1)\no(2)\no(5)\n"


@pytest.mark.parametrize(
    ("statements", "worlds", "expected"),
    [
        ("? :: d(x) :- o(x), x * 2 > 3", ("d(2)", "not d(5)", "not d(2)"), [1 / 3]),
        ("? :: d(x) :- o(x), count(y: o(y), y < x) >= 1", ("d(2)", "not d(5)", "not d(2)"), [1 / 3]),
        ("? :: d(x) :- o(x)\ne(y) :- d(x), y = x + 1", ("e(3)", "not e(6)", "not e(2)"), [1 / 3]),
        ("?[z] :: e(z) :- o(x), z = x * 2 + 1", ("e(5)", "not e(11)", "not e(5)"), [1 / 2, 0]),
        # d(5), and one of the others: p (1 - (1 - p)^2) is 1/2
        ("? :: d(x) :- o(x)\ne(1) :- sum(y: d(y)) >= 6", ("e(1)", "not e(1)"), [0.5970]),
    ],
)
def test_what_statements_compute_and_count(
    statements: str, worlds: tuple[str, ...], expected: list[float]
) -> None:
    found = hb.Model(hb.parse(NUMBERS + statements)).learn("likelihood", worlds=[*map(hb.parse, worlds)])
    assert [w.weight for w in found.weights] == pytest.approx(expected, abs=1e-3)
    assert "`" not in found.text


def test_heads_that_compute_are_shown_as_they_are_written() -> None:
    """One of several had the equations of the others behind it, and names of values in back-quotes."""
    statement = "? :: d(x + 1); 0.25 :: e(x + 2); ? :: d(x - 1) :- o(x), not d(x + 7)"
    found = hb.Model(hb.parse(NUMBERS + statement)).learn(worlds=[*map(hb.parse, ("d(2)", "not d(2)"))])
    assert [w.statement for w in found.weights] == [
        "? :: d(x + 1) :- o(x), not d(x + 7)",
        "? :: d(x - 1) :- o(x), not d(x + 7)",
    ]


@pytest.mark.parametrize("head", ["e(1)", "d(x)", "d(x); ?[k] :: e(k)"])
def test_a_probability_for_each_computed_value_needs_an_atom_that_has_it(head: str) -> None:
    """It was a ``KeyError``."""
    statement = f"?[k] :: {head} :- o(x), k = x + 1"
    with pytest.raises(UnsupportedError, match="for each value of k, which neither an atom of the body nor"):
        hb.Model(hb.parse(NUMBERS + statement)).learn(worlds=[*map(hb.parse, ("d(2)\ne(1)", "not d(2)"))])


BIF = """network unknown {}
variable m { type discrete [ 2 ] { x, y }; }
variable k { type discrete [ 2 ] { a, b }; }
probability ( m ) { table 0.3, 0.7; }
probability ( k | m ) { (x) 0.2, 0.8; (y) 0.9, 0.1; }
"""


@pytest.mark.parametrize("ending", ["hb", "bif"])
def test_the_tables_of_a_network_are_learned_anew(tmp_path: Path, ending: str) -> None:
    (tmp_path / "n.bif").write_text(BIF)
    (tmp_path / "n.hb").write_text(show(hb.read(tmp_path / "n.bif")))
    model = hb.Model(hb.read(tmp_path / f"n.{ending}"))
    worlds = [f'm = "{m}"\nk = "{k}"' for m, k in ("xa", "xb", "xb", "ya", "ya", "yb", "ya", "yb")]
    found = model.learn(worlds=[*map(hb.parse, worlds)], relearn=True)
    assert [w.weight for w in found.weights] == pytest.approx(
        [3 / 8, 5 / 8, 1 / 3, 2 / 3, 3 / 5, 2 / 5], abs=1e-4
    )


def _learned(folder: Path, program: str, examples: str) -> Learning:
    (folder / "program.pl").write_text(program)
    (folder / "examples.ev").write_text(examples)
    model = hb.Model(hb.read(folder / "program.pl"))
    return model.learn("likelihood", worlds=folder / "examples.ev")


def _numbers(found: Learning) -> dict[str, float]:
    return {w.statement: round(w.weight, 6) for w in found.weights}


def test_a_head_that_nobody_saw_gets_what_the_likelihood_leaves_open(tmp_path: Path) -> None:
    """b³ (1 − b) says nothing of c, which is unknown where b is false: 0.25 is as good as 0."""
    examples = "evidence(a,false).\nevidence(b).\nevidence(c,false).\n---\nevidence(a).\nevidence(b).\n"
    examples += "evidence(c,false).\n---\nevidence(b,false).\n---\nevidence(b)."
    found = _learned(tmp_path, "t(_)::b; t(_)::c.\n0.5::a:-b.", examples)
    assert _numbers(found) == {"? :: b": 0.75, "? :: c": 0.25}
    assert found.metrics["log_likelihood"] == pytest.approx(math.log(0.25 * 0.75**3 * 0.25), abs=1e-9)


def test_no_head_at_all_is_learned_where_worlds_need_it(tmp_path: Path) -> None:
    examples = (
        "evidence(b).\n---\nevidence(c).\n---\nevidence(b,false).\nevidence(c,false).\n---\nevidence(b)."
    )
    found = _learned(tmp_path, "t(_)::b; t(_)::c.", examples)
    assert _numbers(found) == {"? :: b": 0.5, "? :: c": 0.25}


def test_starts_are_kept(tmp_path: Path) -> None:
    """Nothing bears on c, one cause of two explains all, and what starts at 0 stays there."""
    program = "t(0.0)::a. t(0.5)::b. t(0.3)::c. d :- a. d :- b."
    found = _learned(tmp_path, program, "evidence(d).\n---\nevidence(d).\n---\nevidence(d, false).")
    numbers = _numbers(found)
    assert numbers["? :: a"] == 0.0
    assert numbers["? :: b"] == pytest.approx(2 / 3, abs=1e-4)
    assert "? :: c" not in numbers, "no world rests on it"
    needed = _learned(tmp_path, "t(0.0)::a.", "evidence(a).\n---\nevidence(a, false).")
    assert _numbers(needed) == {"? :: a": 0.5}


def test_a_start_of_0_ends_at_0_exactly_whatever_else_is_learned(tmp_path: Path) -> None:
    """Circuits take 1e-300 for 0, which is no probability to write into a theory."""
    program = "t(0.0)::a. t(0.3)::b; t(0.9)::c. d :- a. d :- b."
    examples = "evidence(d).\n---\nevidence(d, false).\nevidence(b, false).\n---\nevidence(c)."
    assert _learned(tmp_path, program, examples).text.startswith("0.0 :: a\n")


@pytest.mark.parametrize(
    "observed", ["evidence(a(X), false).", "evidence(a(1)) :- d(1).", "evidence(\\+a(_))."]
)
def test_an_example_observes_ground_atoms(tmp_path: Path, observed: str) -> None:
    """Those of a variable are instances that the program has, of which the file of examples knows nothing."""
    with pytest.raises(LanguageError, match=r"examples.ev:3:1: an example observes ground atoms"):
        _learned(tmp_path, "t(_)::a(X) :- d(X). d(1). d(2).", f"evidence(a(2)).\n---\n{observed}")


def test_variables_of_heads_range_over_what_worlds_name(tmp_path: Path) -> None:
    examples = "evidence(a(1)).\n---\nevidence(a(2), false).\nevidence(b(2), false).\n---\n"
    examples += "evidence(a(2)).\nevidence(b(1)).\n---\nevidence(a(1))."
    assert _numbers(_learned(tmp_path, "t(_)::a(X).\nt(_)::b(X).", examples)) == {
        "? :: a(X)": 0.75,
        "? :: b(X)": 0.5,
    }
    examples = "evidence(a(1)).\nevidence(a(2)).\nevidence(a(3), false)."
    own = {w.constants["X"]: w.weight for w in _learned(tmp_path, "t(_,X)::a(X).", examples).weights}
    assert own == pytest.approx({1: 1.0, 2: 1.0, 3: 0.0}, abs=1e-9)


def test_variables_that_equations_bind(tmp_path: Path) -> None:
    program = "t(_,X)::a(X,Y); t(_,X)::b(X,Y) :- X=Y, between(1,2,X), between(1,2,Y)."
    examples = "evidence(a(2,2)).\n---\nevidence(b(1,1)).\n---\nevidence(a(1,1))."
    found = _learned(tmp_path, program, examples)
    numbers = {(w.statement.split(" :: ")[1][0], w.constants["X"]): round(w.weight, 6) for w in found.weights}
    assert numbers == {("a", 1): 0.5, ("b", 1): 0.5, ("a", 2): 1.0, ("b", 2): 0.0}


def test_facts_of_the_program_are_evidence_that_holds(tmp_path: Path) -> None:
    found = _learned(tmp_path, "t(_)::a. b(1).", "evidence(a).\nevidence(b(1)).\n---\nevidence(a,false).")
    assert _numbers(found) == {"? :: a": 0.5}
    for wrong in ("evidence(b(2)).", "evidence(b(1), false).", "evidence(unknown)."):
        with pytest.raises(HerbrandError, match="the evidence of world 2 has probability 0"):
            _learned(tmp_path, "t(_)::a. b(1).", f"evidence(a).\n---\n{wrong}")
        with pytest.raises(HerbrandError, match="the evidence has probability 0"):
            _learned(tmp_path, "t(_)::a. b(1).", wrong)


@pytest.mark.parametrize(
    "certain",
    [
        "1 :: a",
        "0.25 :: a; 0.75 :: a",
        "a :- b\n1 :: c\na :- c",
        "? :: a\n1 :: a",
        "type chance = number\npredicate o(chance): observed\npredicate a\npredicate b\no(1)\np :: a :- o(p)",
    ],
)
@pytest.mark.parametrize("evidence", ["not a", "not a\nb ~ 0.9"])
def test_what_is_certain_cannot_be_denied(certain: str, evidence: str) -> None:
    """No probability to be learned makes up for a choice whose outcomes leave nothing."""
    model = hb.Model(hb.parse(f"? :: b\n{certain}"))
    with pytest.raises(HerbrandError, match="the evidence of world 2 has probability 0: not a"):
        model.learn("likelihood", worlds=[hb.parse("b"), hb.parse(evidence)])
    found = model.learn("likelihood", worlds=[hb.parse("a\nb"), hb.parse("not b")])
    assert [w.weight for w in found.weights if w.statement == "? :: b"] == pytest.approx([0.5], abs=1e-6)
    assert found.metrics["log_likelihood"] == pytest.approx(2 * math.log(0.5), abs=1e-9)


@pytest.mark.parametrize(
    ("program", "reason"),
    {
        "t(1.5)::a.": "1.5 is no start of a probability",
        "t(b)::a.": "b is no start of a probability",
        "0.7::a; 0.7::b; t(_)::c.": "probabilities of this statement add up to 1.4",
    }.items(),
)
def test_wrong_starts_are_refused(tmp_path: Path, program: str, reason: str) -> None:
    with pytest.raises(HerbrandError, match=reason):
        _learned(tmp_path, program, "evidence(a).")


@pytest.mark.parametrize(
    ("program", "steps"),
    [
        ("t(0.9)::a; t(0.3)::b. 0.5::c :- a. c :- b.", "t(0.75)::a; t(0.25)::b. 0.5::c :- a. c :- b."),
        ("0.2::a; t(0.6)::b; t(0.6)::c. d :- b. d :- c.", "0.2::a; t(0.4)::b; t(0.4)::c. d :- b. d :- c."),
    ],
)
def test_starts_that_add_up_to_more_are_shares(tmp_path: Path, program: str, steps: str) -> None:
    """As in ProbLog, which scales them. ``d`` alone says nothing of how its two ways share it: starts do."""
    last = "d" if "d" in program else "c"
    examples = f"evidence({last}).\n---\nevidence(a).\n---\nevidence({last},false).\nevidence(a,false)."
    found, expected = (_learned(tmp_path, text, examples) for text in (program, steps))
    assert [w.weight for w in found.weights] == pytest.approx([w.weight for w in expected.weights], abs=1e-6)
    assert found.metrics == pytest.approx(expected.metrics, abs=1e-9)
    beside = _learned(tmp_path, "t(0.9)::a; t(0.9)::b; t(_)::c.", "evidence(a).\n---\nevidence(c).")
    assert [w.weight for w in beside.weights] == pytest.approx([0.5, 0, 0.5], abs=1e-6)


def test_equal_worlds_count_each(tmp_path: Path) -> None:
    examples = "---\n".join(["evidence(a).\n"] * 30 + ["evidence(a,false).\n"] * 10)
    found = _learned(tmp_path, "t(_)::a.", examples)
    assert _numbers(found) == {"? :: a": 0.75}
    assert found.metrics["worlds"] == 40


def test_opinions_count_a_world_by_their_chance() -> None:
    found = hb.Model(hb.parse("? :: wet")).learn(worlds=[hb.parse("wet ~ 0.7"), hb.parse("not wet")])
    assert _numbers(found) == {"? :: wet": pytest.approx(1 / 8, abs=1e-3)}
    assert found.metrics["log_likelihood"] == pytest.approx(math.log(0.7 / 8 + 0.3 * 7 / 8) + math.log(7 / 8))
    valued = hb.Model(hb.parse('predicate c in {"r", "g", "b"}\n? :: c = "r"; ? :: c = "g"'))
    found = valued.learn(worlds=[hb.parse(text) for text in ('c = "b" ~ 0.7', 'c = "g"', 'c = "r"')])
    assert found.metrics["log_likelihood"] == pytest.approx(math.log(0.15 / 4))


def test_the_curve_never_falls_over_several_starts() -> None:
    model = hb.Model(hb.parse("? :: a\n? :: b\nc :- a, not b\nc :- b, not a"))
    found = model.learn(worlds=[hb.parse(text) for text in ("c", "not c", "c")], starts=5)
    values = [point.value for point in found.curve]
    assert values == pytest.approx(sorted(values), abs=1e-12)
    assert values[-1] == pytest.approx(found.metrics["log_likelihood"])


def test_an_opinion_lists_its_atom_where_others_are_closed() -> None:
    """One of two coins may be heads, by 0.8, the other is not: (0.2 + 0.6 p) (1 - p) is largest at 1/3."""
    text = 'predicate coin(t): observed\npredicate heads(t)\n? :: heads(c) :- coin(c)\ncoin("a")\ncoin("b")'
    found = hb.Model(hb.parse(text), closed=["heads"]).learn(worlds=[hb.parse('heads("a") ~ 0.8')])
    assert found.weights[0].weight == pytest.approx(1 / 3, abs=1e-3)
    assert found.metrics["log_likelihood"] == pytest.approx(math.log(0.4 * 2 / 3))
    text = text.replace("heads(t)", 'side(t) in {"h", "t"}')
    text = text.replace("? :: heads(c)", '? :: side(c) = "h"; ? :: side(c) = "t"')
    found = hb.Model(hb.parse(text), closed=["side"]).learn(worlds=[hb.parse('side("a") = "h" ~ 0.8')])
    assert [w.weight for w in found.weights] == pytest.approx([1 / 3, 0], abs=1e-3)


def test_what_is_open_counts_as_all_that_it_may_be() -> None:
    theory = hb.parse("predicate o(t)\npredicate w(t)\n? :: w(x) :- o(x)")
    opinion = hb.parse('o("1") ~ 0.9\nnot w("1")')
    found = hb.Model(theory, open=["o"]).learn(worlds=[opinion, hb.parse('w("1")')])
    p = found.weights[0].weight
    assert found.metrics["log_likelihood"] == pytest.approx(math.log(1 - 0.9 * p) + math.log(p / 2))
    assert p == pytest.approx(1 / 1.8, abs=1e-3)


def test_variables_of_a_network_are_no_free_atoms() -> None:
    network = "variable a { type discrete [ 2 ] { y, n }; }\nprobability ( a ) { table 0.25, 0.75; }"
    theory = read_theory_text(network, "bif") + hb.parse('predicate b\n? :: b :- a = "y"')
    worlds = [hb.parse("b"), hb.parse("not b")]
    for open_ones in ([], ["a"]):
        found = hb.Model(theory, open=open_ones).learn(worlds=worlds)
        assert found.metrics["log_likelihood"] == pytest.approx(math.log(0.25) + math.log(0.75), abs=1e-6)


def test_a_file_of_a_network_is_learned_beside_as_its_choices_are() -> None:
    network = """variable a { type discrete [ 2 ] { y, n }; }
variable b { type discrete [ 2 ] { y, n }; }
probability ( a ) { table 0.25, 0.75; }
probability ( b | a ) { (y) 0.9, 0.1; (n) 0.4, 0.6; }"""
    choices = """predicate a in {"y", "n"}\npredicate b in {"y", "n"}
0.25 :: a = "y"; 0.75 :: a = "n"
0.9 :: b = "y"; 0.1 :: b = "n" :- a = "y"
0.4 :: b = "y"; 0.6 :: b = "n" :- a = "n"
"""
    worlds = [hb.parse(text) for text in ('c\nb = "y"', 'not c\nb = "n"', "not c", 'c\na = "y"')]
    told = hb.parse('predicate c\n? :: c :- b = "y"\n0.2 :: c :- a = "n"')
    found = [
        hb.Model(theory + told).learn(worlds=worlds)
        for theory in (read_theory_text(network, "bif"), hb.parse(choices))
    ]
    assert found[0].metrics == pytest.approx({**found[1].metrics}, abs=1e-9)
    (p,) = (weight.weight for weight in found[0].weights)
    assert 0.3 < p < 1


def test_statements_that_may_give_an_atom_two_values_are_refused() -> None:
    predicate, world = 'predicate c in {"r", "g"}\n', [hb.parse('c = "r"')]
    with pytest.raises(UnsupportedError, match="several statements may give an atom of c values"):
        hb.Model(hb.parse(predicate + '? :: c = "r"\n? :: c = "g"')).learn(worlds=world)
    apart = 'predicate a\npredicate c in {"r", "g"}\n0.5 :: a\n? :: c = "r" :- a\n? :: c = "g" :- not a'
    assert "predicate" in hb.Model(hb.parse(apart)).learn(worlds=world).text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"<text>:1:1: no listed atom depends on a probability to be learned"),
        ({"worlds": [hb.parse("not other")]}, "no listed atom depends on a probability to be learned"),
        ({"worlds": [hb.parse("wet")], "l2": 1.0}, "--l2 is for weights"),
        ({"worlds": [hb.parse("wet")], "l1": 1.0}, "--l1 is for weights"),
    ],
)
def test_what_teaches_no_probability_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        hb.Model(hb.parse("? :: wet\nother :- dry")).learn(**options)


@pytest.mark.parametrize("statement", ["? :: wet", "?: wet"])
@pytest.mark.parametrize("world", ["open", "closed"])
def test_worlds_of_unknown_predicates_are_refused(statement: str, world: str) -> None:
    with pytest.raises(FactsError, match=f"{world}: there is no predicate 'wett'\n  did you mean 'wet'"):
        hb.Model(hb.parse(f"{statement}\nwet"), **{world: ["wett"]}).learn()


def test_a_world_states_no_formulas() -> None:
    with pytest.raises(UnsupportedError, match="choices and rules alone"):
        hb.Model(hb.parse("? :: wet")).learn(worlds=[hb.parse("wet\n2.0: wet")])


# Laws, on random ground programs

ATOMS = ("a", "b", "c", "d", "e")


@st.composite
def lessons(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A program whose later atoms rest on earlier ones, with starts, and what is known of some worlds."""
    lines = []
    for place, atom in enumerate(ATOMS[:4]):
        below = draw(st.lists(st.sampled_from(ATOMS[:place]), max_size=2, unique=True)) if place else []
        body = ", ".join(draw(st.sampled_from((x, f"\\+{x}"))) for x in below)
        start = draw(st.sampled_from(("t(0.2)", "t(0.5)", "0.3")))
        heads = f"{start}::{atom}"
        if draw(st.booleans()):
            heads += f"; {draw(st.sampled_from(('t(0.3)', '0.4')))}::{atom}{atom}"
        lines.append(heads + (f" :- {body}." if body else "."))
    lines.append("e :- a, \\+c.\ne :- b, d.")
    said = st.sampled_from(("{}", "not {}", "{}", "not {}", "{} ~ 0.3", "{} ~ 0.8"))
    facts = st.dictionaries(st.sampled_from(ATOMS), said, min_size=1, max_size=3)
    worlds = draw(st.lists(facts, min_size=1, max_size=4))
    texts = ["\n".join(says.format(atom) for atom, says in world.items()) for world in worlds]
    return "\n".join(lines), texts


def _chances(one: Interpretations, found: Learning) -> Chances:
    chances, numbers = one.starts(), {w.statement: w.weight for w in found.weights}
    for number, own in chances.items():
        for place, shown in enumerate(_shown(one, number)):
            own[place] = numbers.get(shown, own[place])
    return chances


def _shown(one: Interpretations, number: int) -> list[str]:
    choice = one.theory.statements[number]
    assert isinstance(choice, Choice)
    return [next(iter(show_statement(replace(choice, alternatives=(a,))))) for a in choice.alternatives]


@settings(max_examples=tries(60), deadline=None)
@given(lessons())
def test_each_step_is_that_of_the_sum_over_worlds(lesson: tuple[str, list[str]]) -> None:
    theory = read_theory_text(lesson[0], "pl")
    worlds = [parse_theory(text) for text in lesson[1]]
    one = Interpretations(theory, worlds)
    chances = one.starts()
    assume(all(w.total > 0 for w in one._sums(chances)))
    if all(isinstance(a.probability, float) for c in theory.choices for a in c.alternatives):
        return
    learned = {number for number, choice in one._choices().items() if choice.learned}
    if not any(learned & one._beneath(world) for world in worlds):
        with pytest.raises(UnsupportedError, match="no listed atom depends on a probability to be"):
            hb.Model(theory).learn("likelihood", worlds=worlds)
        return
    for _ in range(3):
        model, chances = hb.Model(_started(theory, chances)), one.improved(chances)
        found = model.learn("likelihood", worlds=worlds, iterations=1, starts=1)
        for number, own in _chances(one, found).items():
            assert own == pytest.approx(chances[number], abs=1e-9)
        assert found.metrics["log_likelihood"] == pytest.approx(one.log_likelihood(chances), abs=1e-8)


def _started(theory: Theory, chances: Chances) -> Theory:
    """The theory that starts at these probabilities."""

    def started(choice: Choice, own: Sequence[float]) -> Choice:
        pairs = zip(choice.alternatives, own, strict=True)
        return replace(
            choice,
            alternatives=tuple(
                replace(one, probability=Learned(start=chance))
                if isinstance(one.probability, Learned)
                else one
                for one, chance in pairs
            ),
        )

    statements = enumerate(theory.statements)
    return Theory(tuple(started(s, chances[n]) if isinstance(s, Choice) else s for n, s in statements))


CLIMBS = {
    "a cause that is not needed": (
        "t(0.5)::rain. 0.5::leak. wet :- rain. wet :- leak.",
        ("wet", "not wet"),
    ),
    "one that is hardly needed": (
        "t(0.5)::rain. 0.5::leak. wet :- rain. wet :- leak.",
        (*["wet"] * 11, *["not wet"] * 10),
    ),
    "one that must hold": ("t(0.5)::a. 0.9::b. c :- a, b.", ("c", "c", "c", "c", "c")),
    "either of two": ("t(0.5)::a. t(0.4)::b. c :- a. c :- b.", ("c", "not c", "c\na", "c\nnot b")),
    "one of two": ("t(0.4)::a. t(0.2)::b. c :- a, \\+b. c :- b, \\+a.", ("c", "c", "c", "not c")),
    "heads beside each other": (
        "t(0.3)::a; t(0.3)::b. 0.3::n. c :- a. c :- b, n. d :- b.",
        ("c", "d", "not c", "not a", "c\nd"),
    ),
    "a given head": ("0.4::a; t(0.3)::b. 0.9::n. c :- a. c :- b, n.", ("c", "c", "c", "not c")),
    "away from a saddle": ("t(0.5)::a. t(0.501)::b. c :- a, \\+b. c :- b, \\+a.", ("c", "c", "not c")),
}
"""Programs whose tops lie inside or at 0 or 1, and what is known of their worlds."""


@pytest.mark.parametrize("name", CLIMBS)
def test_leaps_end_as_high_as_plain_steps_and_as_a_grid(name: str) -> None:
    theory, worlds = read_theory_text(CLIMBS[name][0], "pl"), [parse_theory(w) for w in CLIMBS[name][1]]
    one = Interpretations(theory, worlds)
    found = hb.Model(theory).learn("likelihood", worlds=worlds, starts=1)
    assert found.status.converged
    chances = _chances(one, found)
    assert all(min(own) >= 0 and sum(own) <= 1 + 1e-12 for own in chances.values())
    assert found.metrics["log_likelihood"] == pytest.approx(one.log_likelihood(chances), abs=1e-9)
    assert found.metrics["log_likelihood"] >= one.climbed(100) - 1e-9
    assert found.metrics["log_likelihood"] >= max(map(one.log_likelihood, one.grid(20))) - 1e-9


def test_leaps_need_few_steps_where_the_top_is_at_0() -> None:
    """Plain steps come near p = 0 as 1 / step, since the likelihood is level there."""
    program, worlds = CLIMBS["a cause that is not needed"]
    model = hb.Model(read_theory_text(program, "pl"))
    found = model.learn("likelihood", worlds=[parse_theory(w) for w in worlds], starts=1)
    assert found.weights[0].weight < 1e-4
    assert found.status.iterations < 60  # plain ones: 2,433


@settings(max_examples=tries(60), deadline=None)
@given(lessons(), st.integers(0, 1000))
def test_the_likelihood_never_falls_and_its_top_stays(lesson: tuple[str, list[str]], seed: int) -> None:
    theory = read_theory_text(lesson[0].replace("t(0.2)", "t(_)").replace("t(0.5)", "t(_)"), "pl")
    worlds = [parse_theory(text) for text in lesson[1]]
    try:
        found = hb.Model(theory).learn("likelihood", worlds=worlds, seed=seed)
    except HerbrandError:
        return
    last = -math.inf
    for progress in found.curve:
        assert progress.value >= (last if progress.step else -math.inf) - 1e-9
        last = progress.value
    one = Interpretations(read_theory_text(lesson[0], "pl"), worlds)
    chances = _chances(one, found)
    assert found.metrics["log_likelihood"] == pytest.approx(one.log_likelihood(chances), abs=1e-7)
    assert one.log_likelihood(one.improved(chances)) <= one.log_likelihood(chances) + 1e-7
