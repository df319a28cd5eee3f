"""What users see of choices: infer, query, evidence, errors."""

from __future__ import annotations

import gc
import itertools
import math

import pytest

import herbrand as hb
from herbrand.budget import Budget
from herbrand.engines.circuit.network import WeightedConstraints
from herbrand.errors import ContradictionError, OutOfTimeError, UnsupportedError
from herbrand.factors.ground_graph import ground_graph
from herbrand.language.parse import parse_formula
from herbrand.program.ground import ground
from tests.oracles.choices import worlds_of

PATHS = """
0.5 :: open(x, y) :- road(x, y)
path(x, y) :- open(x, y)
path(x, z) :- path(x, y), open(y, z)
"""
ROADS = {"road": [("a", "b"), ("b", "a"), ("b", "c"), ("a", "c"), ("c", "b")]}


def test_query_and_infer_agree() -> None:
    model = hb.Model(hb.parse(PATHS), ROADS)
    asked = model.infer('path("a", y)', given=['not open("a", "c")'])
    answers = model.query('path("a", y)', given=['not open("a", "c")'])
    assert answers.variables == ("y",)
    assert len(answers) == 3
    for value in ("a", "b", "c"):
        assert answers[value] == pytest.approx(asked[f'path("a", "{value}")'], abs=1e-12)


def test_query_of_a_ground_goal() -> None:
    answers = hb.Model(hb.parse(PATHS), ROADS).query('path("a", "c")')
    assert answers.weights.tolist() == pytest.approx([0.625])


def test_numbers_in_a_head_and_in_its_body_are_different_constants() -> None:
    theory = """
    0.9 :: wet(1)
    0.4 :: wet(2)
    0.3 :: wet(3)
    next(2) :- wet(1)
    next(3) :- not wet(2)
    either(3) :- wet(1), not next(3)
    """
    found = {row.atom: row.probability for row in hb.Model(hb.parse(theory)).infer().rows()}
    assert found["next(2)"] == pytest.approx(0.9, abs=1e-12)
    assert found["next(3)"] == pytest.approx(0.6, abs=1e-12)
    assert found["either(3)"] == pytest.approx(0.9 * 0.4, abs=1e-12)


def test_evidence_of_probability_0_names_the_statements() -> None:
    model = hb.Model(hb.parse("0.5 :: a\n0.5 :: b\nboth :- a, b"))
    with pytest.raises(ContradictionError, match="probability 0: not a and both"):
        model.infer("b", given=["both", "not a", "b"])


def test_a_number_of_the_body_is_the_probability() -> None:
    theory = hb.parse("p :: open(x, y) :- road(x, y, p)\nway(x) :- open(x, y)")
    model = hb.Model(theory, {"road": [("a", "b", 0.5), ("a", "c", 0.25)]})
    assert model.infer('way("a")')['way("a")'] == pytest.approx(1 - 0.5 * 0.75)


def test_probabilities_of_an_instance_above_1_are_an_error() -> None:
    theory = hb.parse("p :: heads(c); p :: tails(c) :- coin(c, p)")
    with pytest.raises(UnsupportedError, match=r"add up to 1\.2"):
        hb.Model(theory, {"coin": [("a", 0.6)]}).infer("heads(x)")


def test_a_long_chain_is_answered() -> None:
    theory = hb.parse(PATHS.replace("path(x, y), open(y, z)", "open(x, y), path(y, z)"))
    model = hb.Model(theory, {"road": [(f"n{i:03}", f"n{i + 1:03}") for i in range(300)]})
    assert model.infer('path("n000", "n300")')['path("n000", "n300")'] == pytest.approx(0.5**300)


def test_the_most_probable_world_of_choices() -> None:
    model = hb.Model(hb.parse("0.4 :: a\n0.7 :: b\nc :- a\nc :- b"))
    best = {row.atom: row.probability for row in model.infer(map=True, given=["c"]).rows()}
    assert best == {"a": 0, "b": 1}


def test_other_engines_refuse_choices() -> None:
    with pytest.raises(UnsupportedError, match=r"exact cannot use this statement: 0\.3 :: rain"):
        hb.Model(hb.parse("0.3 :: rain")).infer(engine="exact")


def test_a_choice_whose_heads_compute_is_refused_by_its_own_text() -> None:
    """It was called a count of what is uncertain, as a rule of totals is."""
    text = "type n = 0..1\npredicate s(n): observed\npredicate c(n)\ns(0)\n"
    text += "0.6 :: c(x + 1); 0.3 :: c(x) :- s(x)"
    with pytest.raises(UnsupportedError, match=r"exact cannot use this statement: 0\.6 ::"):
        hb.Model(hb.parse(text)).infer(engine="exact")


def test_weighted_theories_agree_with_the_exact_engine() -> None:
    theory = hb.parse(
        'predicate match(man, woman)\n0.7: match("a", y)\n1.1: match(x, "v") => match("b", "u")\n'
        "hard: exists y: match(x, y)\nhard: match(x, y) and match(x, z) => y = z\n"
        'hard: match(x, y) and match(z, y) => x = z\ntype man = {"a", "b", "c"}\n'
        'type woman = {"u", "v", "w"}'
    )
    one, other = hb.Model(theory).infer(engine="circuit"), hb.Model(theory).infer(engine="exact")
    assert one.log_partition == pytest.approx(other.log_partition, abs=1e-9)
    for row in other.rows():
        assert one[row.atom] == pytest.approx(row.probability, abs=1e-9)


VALUED = """
predicate ball(thing): observed
predicate colour(thing) in {{"red", "blue"}}
ball("b")
0.3 :: colour(x) = "red"; {} :: colour(x) = "blue" :- ball(x)
"""


def test_a_formula_about_an_atom_that_has_a_value_in_every_world() -> None:
    model = hb.Model(hb.parse(VALUED.format(0.7) + '1.5: not colour(x) = "red"'))
    red = 0.3 / (0.3 + 0.7 * math.exp(1.5))
    found = model.infer(query=['colour("b")', 'not colour("b") = "red"'])
    assert found['not colour("b") = "red"'] == pytest.approx(1 - red, abs=1e-12)


ABOUT_VALUES = (
    'colour("b") in {"red", "blue"}',
    'not colour("b") in {"red", "blue"}',
    'not colour("b") = "red"',
    'colour("b") != "blue"',
    'colour("b") = "red" or colour("b") = "blue"',
    'colour("b") = "red" xor colour("b") in {"blue"}',
    'exists z: colour("b") = z',
    'forall x: colour(x) in {"red", "blue"} => rolls(x)',
    'not (exists x: colour(x) != "red" and rolls(x))',
)


@pytest.mark.parametrize("formula", ABOUT_VALUES)
def test_a_formula_about_an_atom_that_may_lack_a_value(formula: str) -> None:
    """Without a value an atom has none of those that a formula names: queried, weighted and always true."""
    base = VALUED.format(0.6) + "predicate rolls(thing)\n"
    asked = parse_formula(formula, "", frozenset({"colour"}))
    for statement in ("", f"1.5: {formula}", f"hard: {formula}"):
        theory = hb.parse(base + statement)
        worlds, found = (
            worlds_of(theory),
            hb.Model(theory).infer(["colour", "rolls", f"({formula}) and true"]),
        )
        marginals = worlds.marginals()
        for row in found.rows():
            value = True if row.value is None else row.value
            atom = marginals.get(((str(row.predicate), row.arguments), value), 0.0)
            expected = worlds.probability(asked) if row.predicate is None else atom
            assert row.probability == pytest.approx(expected, abs=1e-12), (statement, row.text)
        best = hb.Model(theory).infer(map=True).log_weight
        assert best == pytest.approx(math.log(max(weight for _, weight in worlds.weighted)), abs=1e-9)


@pytest.mark.parametrize("rule", ["p(x, z) :- e(x, y), p(y, z)", "p(x, z) :- p(x, y), e(y, z)"])
@pytest.mark.parametrize("command", ["infer", "query"])
def test_a_run_gives_its_memory_back_at_once(rule: str, command: str) -> None:
    """Nothing holds in a circle what a run makes: no collector is needed between questions."""
    pairs = [f'e("{n}", "{(n + 1) % 6}")' for n in range(6)]
    links = "\n".join(f"0.5 :: {pair}" if command == "infer" else f"{pair} @ 0.5" for pair in pairs)
    theory = hb.parse(f"{links}\np(x, y) :- e(x, y)\n{rule}\n")
    options = {"algebra": "probability"} if command == "query" else {}

    def run() -> None:
        getattr(hb.Model(theory), command)('p("0", x)', **options)

    run()
    gc.collect()
    gc.disable()
    try:
        run()
        left = gc.collect()
    finally:
        gc.enable()
    assert left < 100


def test_atoms_that_nothing_names_take_no_memory() -> None:
    """Paths between 30,000 places are 9 * 10^8 atoms; only what is asked for is made."""
    edges = [(i, i + 1) for i in range(29_999)]
    theory = "0.5 :: edge(x, y) :- road(x, y)\npath(x, y) :- edge(x, y)\npath(x, y) :- edge(x, z), path(z, y)"
    model = hb.Model(hb.parse(theory), {"road": edges})
    assert model.infer("path(29989, 29999)", memory="500MB")["path(29989, 29999)"] == pytest.approx(0.5**10)
    answers = model.query("path(29989, y)", memory="500MB")
    assert [row.bindings["y"] for row in answers.rows()] == list(range(29990, 30000))


def test_of_many_atoms_those_are_listed_that_may_hold() -> None:
    facts = {"road": [(i, i + 1) for i in range(1_500)]}
    model = hb.Model(hb.parse("0.5 :: edge(x, y) :- road(x, y)"), facts)
    found = model.infer("edge")
    assert len(found) == 1_500 and found["edge(3, 4)"] == 0.5
    assert model.infer("edge(4, 3)")["edge(4, 3)"] == 0.0
    assert len(model.infer()) == 1_500


LOOPS = """
type n = 1..5
predicate e(n, n): observed
predicate r(n, n)
0.5 :: r(x, y) :- e(x, y)
0.2 :: r(x, x) :- e(x, y)
"""


@pytest.mark.parametrize("query", [[], ["r"], ["r(1, y)", "r(4, 5)"], ["r(2, 1)", "r(x, x)"], ["r(5, 4)"]])
@pytest.mark.parametrize("given", [[], ["r(2, 3)", "not r(1, 2)", "not r(5, 5)"]])
def test_where_impossible_atoms_are_left_out_all_others_and_named_ones_are_as_ever(
    query: list[str], given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    facts, notes = {"e": [(1, 2), (1, 3), (2, 3), (4, 4)]}, list[str]()

    def answers(asked: list[str], given: list[str]) -> dict[str, float]:
        found = hb.Model(hb.parse(LOOPS), facts).infer(asked, given=given, note=notes.append)
        return {row.atom: row.probability for row in found.rows()}

    possible = {atom for atom, p in answers(["r"], []).items() if p}
    wanted = {atom: p for atom, p in answers(query, given).items() if atom in possible or atom in query}
    assert not any("left out" in note for note in notes)
    monkeypatch.setattr("herbrand.engines.circuit.engine.MOST_LISTED", 3)
    assert answers(query, given) == pytest.approx(wanted)
    assert any("atoms of r that cannot hold are left out" in note for note in notes) == (query != ["r(5, 4)"])


def test_evidence_on_a_few_of_very_many_derived_atoms_lists_none_of_the_others() -> None:
    """4 * 10^10 atoms: their list had been refused as soon as one of them was evidence."""
    text = LOOPS.replace("1..5", "1..200000") + "predicate p(n, n)\np(x, z) :- r(x, y), r(y, z)"
    model = hb.Model(hb.parse(text), {"e": [(1, 2), (2, 3), (2, 4)]})
    found = model.infer(["p(2, y)", "r(2, 199999)"], given=["not r(1, 3)", "not r(2, 3)", "r(2, 2)"])
    assert {row.atom: row.probability for row in found.rows()} == pytest.approx(
        {"p(2, 2)": 1.0, "p(2, 3)": 0.0, "p(2, 4)": 0.5, "r(2, 199999)": 0.0}
    )


def test_what_rests_on_choices_is_not_said_to_be_known() -> None:
    notes: list[str] = []
    hb.Model(hb.parse('t("a")\n0.3 :: r(x) :- t(x)\nq(x) :- r(x)')).infer("q", note=notes.append)
    assert not any("is known" in note for note in notes)


def test_a_probability_that_is_text_names_the_type_to_declare() -> None:
    model = hb.Model(hb.parse("p :: r(x) :- t(x, p)"), {"t": [("a", "0.5")]})
    with pytest.raises(
        UnsupportedError, match=r'(?s)p is "0.5" in an instance .* declare `type t_2 = number`'
    ):
        model.infer()


ORDERS = """type n = 1..8
predicate before(n, n)
hard: before(x, y) xor before(y, x) where x != y
hard: not before(x, x)
hard: before(x, y) and before(y, z) => before(x, z)
"""


def test_auto_compiles_what_hard_statements_leave_few_worlds_of() -> None:
    notes: list[str] = []
    found = hb.Model(hb.parse(ORDERS)).infer(log_partition=True, note=notes.append)
    assert (found.engine, found.guarantee) == ("circuit", "exact")
    assert found.log_partition == pytest.approx(math.lgamma(9))
    assert notes == ["engine circuit, exact at once: about 9.5e+03 operations"]
    weighted = hb.Model(hb.parse(f"{ORDERS}1.5: before(1, x)"))
    known = weighted.infer(engine="circuit")
    assert {row.atom: row.probability for row in weighted.infer().rows()} == pytest.approx(
        {row.atom: row.probability for row in known.rows()}, abs=1e-12
    )


@pytest.mark.parametrize("limit", ["TRIED_WORK", "TRIED_ROWS"])
def test_auto_leaves_what_takes_more_work(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"herbrand.engines.circuit.engine.{limit}", 10)
    found = hb.Model(hb.parse(ORDERS)).infer()
    assert found.guarantee == "approximation" and found.engine != "circuit"
    assert hb.Model(hb.parse(ORDERS)).infer(engine="circuit").guarantee == "exact"


def test_auto_says_that_hard_statements_hold_in_no_world() -> None:
    with pytest.raises(ContradictionError):
        hb.Model(hb.parse(f"{ORDERS}hard: before(1, 2)\nhard: before(2, 1)")).infer()


BY_A_RULE = """
0.3 :: rain
0.2 :: wind
wet :- rain
[wet] hard: wet
[dry] hard: not rain
[other] hard: wind or rain
"""
BY_COUNTS = """
type task = {"dig", "build"}
type person = {"anna", "bob"}
predicate does(person, task)
predicate takes(task, hours): observed
takes("dig", 3)
takes("build", 2)
[wet] hard: count(x: does(x, t)) = 1
[dry] hard: sum(h, t: does(x, t), takes(t, h)) <= 2
[other] hard: does("anna", "build") or does("bob", "build")
"""


@pytest.mark.parametrize("most_probable", [False, True])
@pytest.mark.parametrize("text", [BY_A_RULE, BY_COUNTS])
def test_hard_statements_that_rules_or_counts_make_contradictory_are_named(
    text: str, most_probable: bool
) -> None:
    with pytest.raises(ContradictionError) as error:
        hb.Model(hb.parse(text)).infer(map=most_probable)
    told = str(error.value)
    assert "with the facts, choices and rules, no world satisfies these 2 statements together" in told
    assert "[wet]" in told and "[dry]" in told and "[other]" not in told


def test_where_it_takes_long_to_find_a_smallest_set_every_hard_statement_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("herbrand.engines.circuit.engine.BLAMING", -1.0)
    with pytest.raises(ContradictionError) as error:
        hb.Model(hb.parse(BY_A_RULE)).infer()
    assert str(error.value).count("together; this is one of them") == 3


def test_choices_that_leave_no_world_blame_no_hard_statement() -> None:
    text = 'predicate c in {"x", "y"}\npredicate d\n1 :: c = "x"\n1 :: c = "y"\n0.3 :: d\nhard: d'
    with pytest.raises(ContradictionError, match="together with the choices and what rules derive") as error:
        hb.Model(hb.parse(text)).infer(["c", "d"])
    assert "hard: d" not in str(error.value)


def test_the_clock_is_asked_while_formulas_become_constraints() -> None:
    """A second may pass at each look: all factors were taken before the first."""
    model = hb.Model(hb.parse("type p = 1..40\npredicate f(p, p)\n1: f(x, y) => f(y, x)"))
    graph, ticks = ground_graph(ground(model.program), by_formula=False).graph, itertools.count()
    budget = Budget(seconds=3.0, clock=lambda: float(next(ticks)))
    made = WeightedConstraints()
    with pytest.raises(OutOfTimeError):
        made.add(graph, lambda axis: made.add_axis(int(graph.sizes[axis])), budget)
