"""Queries that compute: goals and formulas beside the loops over rows, counts beside sums over worlds."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import pyarrow.compute as pc
import pytest

import herbrand as hb
from herbrand.errors import HerbrandError, UnsupportedError
from tests.laws import long
from tests.oracles.arithmetic import least_model
from tests.program.test_computed import random_aggregate, random_facts, random_value, rounded


def goals(rng: random.Random) -> list[tuple[str, list[str]]]:
    """Goals as bodies of rules, each with the variables that it has."""
    value, other = random_value(rng, ["n", "k"]), random_value(rng, ["n", "k"])
    sign = rng.choice(["<", ">=", "!=", ">"])
    return [
        (f"num(x, n), pays(x, y, k), v = 0 + ({value})", ["x", "n", "y", "k", "v"]),
        (f"num(x, n), num(y, k), x != y, {other} {sign} {rng.randint(-2, 4)}", ["x", "n", "y", "k"]),
        (f"person(x), v = {random_aggregate(rng, 'x')}", ["x", "v"]),
        (f"person(x), not link(x, x), {random_aggregate(rng, 'x')} {sign} {rng.randint(0, 4)}", ["x"]),
        ('person(x), x > "b"', ["x"]),
        ("link(x, y), x < y", ["x", "y"]),
        ("num(x, n), m = n + 1, m > 2", ["x", "n", "m"]),
    ]


@pytest.mark.parametrize("seed", long(range(40), 6))
def test_goals_that_compute_equal_loops(seed: int) -> None:
    rng = random.Random(seed)
    facts = random_facts(rng)
    model = hb.Model(hb.parse("one(x, n) :- num(x, n)"), facts)
    rows = {name: set(known) for name, known in facts.items()}
    for body, names in goals(rng):
        rule = hb.parse(f"asked({', '.join(names)}) :- {body}")
        expected = least_model(rule, rows, [["asked"]]).get("asked", set())
        found = model.query(_joined(body))
        answers = [[row["bindings"][n] for n in names] for row in found.to_dict()["answers"]]
        assert rounded(map(tuple, answers)) == rounded(expected), (body, facts)


@pytest.mark.parametrize("on", ["", "duckdb:{}/world.duckdb"], ids=["memory", "database"])
@pytest.mark.parametrize("seed", long(range(3), 1))
def test_several_goals_of_which_some_compute_have_the_answers_of_each(
    seed: int, on: str, tmp_path: Any
) -> None:
    rng = random.Random(seed)
    facts = {name: sorted(rows) for name, rows in random_facts(rng).items() if rows}
    asked = ["one(x, n)", *(_joined(body) for body, _ in goals(rng)[2:]), 'one("a", n)']
    if on:  # a database makes no inferred type wider for a goal
        asked = ["one(x, n)", "one(x, n) and m = n + 1 and m > 2", "num(x, n)"]
    model = hb.Model(hb.parse("one(x, n) :- num(x, n)"), facts, on=on.format(tmp_path) or None)
    each = [model.query(goal).to_dict()["answers"] for goal in asked]
    assert [found.to_dict()["answers"] for found in model.query(asked)] == each
    (alone,) = model.query(asked[1:2])
    assert alone.to_dict()["answers"] == each[1]


def test_bindings_go_with_no_list_of_goals_that_compute() -> None:
    model = hb.Model(hb.parse('num("a", 1)\none(x, n) :- num(x, n)'))
    with pytest.raises(UnsupportedError, match="bindings go with one goal"):
        model.query(["num(x, n) and n + 1 > 1"], bindings={"x": ["a"]})


def _joined(body: str) -> str:
    """The literals of a body with ``and`` between them: commas outside brackets end a literal."""
    depth, text = 0, ""
    for letter in body:
        depth += (letter == "(") - (letter == ")")
        text += " and" if letter == "," and not depth else letter
    return text


FORMULAS = [
    "num(x, n) and pays(x, y, k) and {v} < {w}",
    "num(x, n) and pays(x, y, k) => {v} >= {w}",
    "exists n, k: num(x, n) and pays(x, y, k) and {v} > 1",
    "person(x) and sum(a, y: pays(x, y, a)) > 3",
    "person(x) and (count(y: link(x, y)) = 1 or max(a: pays(x, _, a)) > 2)",
    "link(x, y) and not x > y",
]


@pytest.mark.parametrize(
    ("goal", "answers"),
    [
        ("d(x) and y = x + 1 and not s(y)", [(0, 1), (3, 4)]),
        ("d(x) and x + 1 = y and not s(y)", [(0, 1), (3, 4)]),
        ("d(x) and z = x + 1 and y = z + 1 and not s(y)", [(0, 2), (3, 5)]),
        ("d(x) and y = x + 1 and s(y)", []),
        ("d(x) and y = x and not s(y)", [(0, 0)]),
    ],
)
def test_absences_behind_the_end_of_a_range_hold_of_what_a_goal_computes(
    goal: str, answers: list[tuple[int, int]]
) -> None:
    said = "type i = 0..3\npredicate d(i): observed\npredicate s(i)\nd(0)\nd(3)\ns(x) :- d(x), x > 2"
    rows = hb.Model(hb.parse(said)).query(goal).to_dict()["answers"]
    assert sorted((row["bindings"]["x"], row["bindings"]["y"]) for row in rows) == answers


@pytest.mark.parametrize("seed", long(range(25), 2))
def test_formulas_that_compute_hold_where_loops_say(seed: int) -> None:
    """Each instance of a queried formula has probability 1 or 0, as a rule derives it or not."""
    rng = random.Random(seed)
    facts = random_facts(rng)
    values = {"v": random_value(rng, ["n", "k"]), "w": random_value(rng, ["n", "k"])}
    model = hb.Model(
        hb.parse("0.3: good(x) and person(x)\n0: num(x, n) and pays(x, y, n) and link(x, y)"), facts
    )
    rows = {name: set(known) for name, known in facts.items()}
    v, w = values["v"], values["w"]
    rules = {
        FORMULAS[0]: f"asked(x, n, y, k) :- num(x, n), pays(x, y, k), {v} < {w}",
        FORMULAS[2]: f"asked(x, y) :- num(x, n), pays(x, y, k), {v} > 1",
        FORMULAS[3]: "asked(x) :- person(x), sum(a, y: pays(x, y, a)) > 3",
        FORMULAS[4]: "asked(x) :- person(x), count(y: link(x, y)) = 1\n"
        "asked(x) :- person(x), max(a: pays(x, _, a)) > 2",
        FORMULAS[5]: "asked(x, y) :- link(x, y), x <= y",
    }
    for formula, rule in rules.items():
        expected = least_model(hb.parse(rule), rows, [["asked"]]).get("asked", set())
        found = model.infer(formula.format(**values), engine="exact")
        shares = [row.probability for row in found.rows()]
        assert set(shares) <= {0.0, 1.0}
        assert sum(shares) == len(expected), (formula, values, facts)


def test_counts_of_uncertain_atoms_are_queried() -> None:
    """The probability of each count, summed over the worlds of three atoms with a weighted count."""
    theory = hb.parse(
        'type t = {"a", "b", "c"}\npredicate chosen(t)\n0.4: chosen(x)\n-0.7: count(x: chosen(x)) > 1'
    )
    weights = {
        world: math.exp(0.4 * sum(world) - 0.7 * (sum(world) > 1))
        for world in itertools.product((0, 1), repeat=3)
    }
    total = sum(weights.values())
    model = hb.Model(theory)
    for number in range(4):
        expected = sum(w for world, w in weights.items() if sum(world) == number) / total
        found = model.infer(f"count(x: chosen(x)) = {number}")
        assert next(found.rows()).probability == pytest.approx(expected, abs=1e-12)
    both = next(model.infer('count(x: chosen(x)) >= 2 and chosen("a")').rows())
    expected = sum(w for world, w in weights.items() if sum(world) > 1 and world[0]) / total
    assert both.probability == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("on", ["memory", "database"])
def test_what_is_computed_has_no_predicate_beside_a_predicate_that_has(on: str, tmp_path: Any) -> None:
    """A row of a queried formula has its text and nothing else, and a name beside it is a predicate's."""
    theory = 'age("ann", 3)\nage("bob", 5)\n0.5: s(x) and age(x, _)'
    place = {} if on == "memory" else {"on": f"duckdb:{tmp_path}/w.duckdb", "open": "s"}
    asked = ["age(x, a) and a * 2 > 6", "s"]
    found = hb.Model(hb.parse(theory), **place).infer(asked, engine="mean-field")  # type: ignore[arg-type]
    rows = [(row.atom, row.predicate, row.arguments) for row in found.rows() if row.probability > 0]
    assert sorted(rows, key=str) == [
        ('age("bob", 5) and 5 * 2 > 6', None, ()),
        ('s("ann")', "s", ("ann",)),
        ('s("bob")', "s", ("bob",)),
    ]
    listed = found.to_arrow().filter(pc.field("probability") > 0).to_pylist()
    assert sorted((row["predicate"] or "", row["argument_1"] or "") for row in listed) == [
        ("", ""),
        ("s", "ann"),
        ("s", "bob"),
    ]


def test_a_count_that_is_queried_has_no_predicate() -> None:
    model = hb.Model(hb.parse('type t = {"a", "b"}\npredicate f(t, t)\n0.5: f(x, y)'))
    found = model.infer(["count(y: f(x, y)) >= 1", 'f("a", y)'])
    assert [(row.predicate, row.arguments) for row in found.rows()] == [
        *[(None, ())] * 2,
        ("f", ("a", "a")),
        ("f", ("a", "b")),
    ]
    (first, *_) = found.to_arrow().to_pylist()
    assert first["atom"] == 'count(y: f("a", y)) >= 1' and first["predicate"] is first["argument_1"] is None


GIVEN = """
type amount = number
predicate pays(person, amount): observed
predicate big(person)
predicate rich(person)
pays("a", 3)
pays("b", 7)
big(x) :- pays(x, a), a > 5
"""
WEIGHTED = '0.4: rich(x) and pays(x, _)\n-0.7: count(x: rich(x)) = 2\n0.2: rich("a")\n'


@pytest.mark.parametrize("given", ['pays("c", 100)', 'rich("b")', 'not rich("a")', 'rich("b") ~ 0.8'])
@pytest.mark.parametrize(
    "asked",
    ["count(x: rich(x)) >= 1", "pays(x, a) and a * 2 > 10 and rich(x)", "count(x: big(x)) = 2 xor rich(y)"],
)
def test_what_is_given_beside_a_query_that_computes(asked: str, given: str) -> None:
    """As if it stood among the facts."""
    found = hb.Model(hb.parse(GIVEN + WEIGHTED)).infer(asked, given=given)
    expected = hb.Model(hb.parse(f"{GIVEN}{WEIGHTED}{given}")).infer(asked)
    assert {row.text: row.probability for row in found.rows()} == pytest.approx(
        {row.text: row.probability for row in expected.rows()}, abs=1e-12
    )


@pytest.mark.parametrize("asked", ["pays(x, a) and b = a * 2", "count(x: big(x)) = n", 'big(x) and x > "b"'])
def test_what_is_given_beside_a_goal_that_computes(asked: str) -> None:
    given = 'pays("c", 100)'
    found = hb.Model(hb.parse(GIVEN)).query(asked, given=given).to_dict()["answers"]
    assert found == hb.Model(hb.parse(GIVEN + given)).query(asked).to_dict()["answers"] != []


def test_each_instance_is_printed_with_its_constants() -> None:
    model = hb.Model(hb.parse("0.5: good(x)"), {"age": [("a", 30), ("b", 40)], "good": []}, open="good")
    found = model.infer("age(x, n) and n * 2 > 70")
    assert {row.atom: row.probability for row in found.rows()} == {
        'age("a", 30) and 30 * 2 > 70': 0.0,
        'age("a", 40) and 40 * 2 > 70': 0.0,
        'age("b", 30) and 30 * 2 > 70': 0.0,
        'age("b", 40) and 40 * 2 > 70': 1.0,
    }


def test_a_query_changes_no_other_answer() -> None:
    """New numbers of one query are constants of that query alone."""
    model = hb.Model(hb.parse("more(x, n) :- num(x, n)"), {"num": [("a", 1), ("b", 2)]})
    before = model.query("num(x, n)").to_dict()["answers"]
    assert model.query("num(x, n) and m = n * 100").to_dict()["answers"][0]["bindings"]["m"] in (100, 200)
    assert model.query("num(x, n)").to_dict()["answers"] == before
    with pytest.raises(HerbrandError, match="100"):
        model.query("num(x, 100)")


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        ("num(x, n) and n + m > 1", "m has no value here"),
        ("nums(x, n) and n + 1 > 1", "there is no predicate 'nums'"),
        ("num(x, n) and n + count(y: nums(y, n)) > 1", "there is no predicate 'nums'"),
        ("num(x, n) and n / 0 > 1", "division by zero"),
        ("num(x, n) and x * 2 > 1", "x is text"),
    ],
)
@pytest.mark.parametrize("ask", ["query", "infer"])
def test_what_a_query_cannot_compute(goal: str, words: str, ask: str) -> None:
    model = hb.Model(hb.parse("more(x, n) :- num(x, n)"), {"num": [("a", 1), ("b", 2)]})
    with pytest.raises(HerbrandError, match=words):
        getattr(model, ask)(goal)


@pytest.mark.parametrize(
    ("query", "constant"),
    [
        ('num("z", n) and n > 1', '"z" is no constant of type num_1'),
        ('num(x, 5) and x < "c"', "5 is no constant of type num_2"),
        ("count(x: num(x, 5)) = 0", "5 is no constant of type num_2"),
        ('num(x, n) and n > 1 and not num("z", 1)', '"z" is no constant of type num_1'),
    ],
)
@pytest.mark.parametrize("ask", ["query", "infer"])
@pytest.mark.parametrize("on", ["memory", "database"])
def test_constants_that_no_type_has(query: str, constant: str, ask: str, on: str, tmp_path: Any) -> None:
    """A query that computes names them as any other query does."""
    place = {} if on == "memory" else {"on": f"duckdb:{tmp_path}/w.duckdb"}
    model = hb.Model(hb.parse('num("a", 1)\nnum("b", 2)'), **place)  # type: ignore[arg-type]
    with pytest.raises(HerbrandError, match=constant):
        getattr(model, ask)(query)


def test_what_is_ignored_computes_nothing() -> None:
    """A count of uncertain atoms in a formula that is ignored is no concern of ``query``."""
    theory = hb.parse("predicate m(t, t)\npredicate e(t): observed\npredicate d(t)\nd(x) :- e(x)\n"
                      'hard: count(y: m(x, y)) <= 1\ne("a")')  # fmt: skip
    assert len(hb.Model(theory, ignore="weights").query("d(x)")) == 1


def test_query_counts_what_is_listed() -> None:
    """``query`` takes every predicate as closed, and so counts open ones."""
    theory = hb.parse('predicate f(t, t)\npredicate d(t)\nd(x) :- f(_, x), count(y: f(y, x)) >= 2\n'
                      'f("a", "c")\nf("b", "c")\nf("a", "b")')  # fmt: skip
    assert [row["bindings"] for row in hb.Model(theory).query("d(x)").to_dict()["answers"]] == [{"x": "c"}]


def test_texts_and_dates_have_an_order() -> None:
    theory = hb.parse(
        "type day = date\npredicate due(o, day): observed\npredicate sent(o, day): observed\n"
        'predicate late(o)\nlate(x) :- due(x, d), sent(x, e), d < e\ndue("a", date "2026-01-31")\n'
        'sent("a", date "2026-02-01")\ndue("b", date "2026-03-01")\nsent("b", date "2026-02-28")'
    )
    model = hb.Model(theory)
    assert model.query("late(x)").to_dict()["answers"] == [{"bindings": {"x": "a"}, "weight": 1.0}]
    assert [r.probability for r in model.infer('late("a")').rows()] == [1.0]
    assert [r.probability for r in model.infer('late("b")').rows()] == [0.0]


def test_whole_results_of_fractions_are_constants_like_others() -> None:
    """100 * 1.19 is the whole number 119, of a type that has whole numbers already."""
    model = hb.Model(hb.parse("price(x, p) :- net(x, n), p = n * 1.19"), {"net": [("pen", 100)], "price": []})
    theory = hb.parse("type p = number\npredicate net(t, p): observed\npredicate price(t, p)\n"
                      'price(x, v) :- net(x, n), v = n * 1.19\nnet("pen", 100)')  # fmt: skip
    for one in (model, hb.Model(theory)):
        assert one.query("price(x, v)").to_dict()["answers"][0]["bindings"] == {"x": "pen", "v": 119}


def test_a_database_refuses_a_query_that_counts_what_is_uncertain(tmp_path: Any) -> None:
    (tmp_path / "f.csv").write_text("a,b\n")
    model = hb.Model(
        hb.parse("1: f(x, y) => s(y)"), [str(tmp_path / "f.csv")], on=f"duckdb:{tmp_path}/w.duckdb", open="s"
    )
    with pytest.raises(UnsupportedError, match="what is uncertain is counted in memory, not in a database"):
        model.infer("count(x: s(x)) > 1")


NEGATES_WEIGHTS = """predicate e(p, p): observed
predicate k(p)
predicate asked(p)
e("v", "u")
e("u", "v") @ 0.25
k(x) :- e(x, _), BODY
asked(y) :- e(x, y), count(j: k(j)) = NUMBER
"""


@pytest.mark.parametrize(
    ("body", "number"),
    [("not e(x, _)", 0), ('not e(x, "u")', 1), ("e(x, y), not e(y, x)", 0), ("not e(x, x)", 2)],
)
@pytest.mark.parametrize("on", ["memory", "database"])
def test_what_aggregates_are_over_negates_what_has_weights(
    on: str, body: str, number: int, tmp_path: Any
) -> None:
    """An absence holds where nothing is listed, whatever the weights are: it had been left out."""
    place = {} if on == "memory" else {"on": f"duckdb:{tmp_path}/w.duckdb"}
    text = NEGATES_WEIGHTS.replace("BODY", body)
    for counted in range(3):
        model = hb.Model(hb.parse(text.replace("NUMBER", str(counted))), **place)  # type: ignore[arg-type]
        found = [
            (row["bindings"]["x"], row["weight"]) for row in model.query("asked(x)").to_dict()["answers"]
        ]
        assert found == ([("u", 1.0), ("v", 0.25)] if counted == number else [])


def test_what_is_counted_and_computed_with_is_refused_where_it_negates_weights() -> None:
    """Weights may be probabilities for the one, and the other takes what is listed."""
    text = NEGATES_WEIGHTS.replace("BODY", "not e(x, x)").replace("NUMBER", "1")
    text += "predicate num(p, n): observed\npredicate more(p)\ntype n = number\n"
    text += "more(x) :- k(x), num(x, i), i + 1 > 2"
    with pytest.raises(HerbrandError, match="count is over k, and a body that computes reads k too"):
        hb.Model(hb.parse(text)).query("asked(x)")
