"""What may surprise is noted once, in few lines: on standard error, and in ``Model.notes``."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

import herbrand as hb

THEORY = """predicate friends(p, p): observed
predicate likes(p, p): observed
predicate smokes(p)
predicate idle(p)
1.5: smokes(x) and friends(x, y) => smokes(y)
0.3: likes(x, y) => smokes(x)
"""


def test_observed_without_facts_unused_and_new_constants() -> None:
    told: list[str] = []
    model = hb.Model(hb.parse(THEORY), {"friends": [("anna", "bob")]}, note=told.append)
    model.infer(given='smokes("ana")')
    model.infer(given='smokes("anna")')
    assert told == [
        "observed, but without facts, so that all their atoms are false: likes",
        "declared, but no statement uses them and no facts are given: idle",
        "--given names a new constant of type p, \"ana\"; did you mean 'anna'?",
    ]
    assert model.notes == tuple(told)


def test_evidence_on_a_predicate_that_nothing_else_names() -> None:
    """A misspelt name changes no answer, so it has to be noted; one that facts have too is no new one."""
    for theory in ("0.3 :: wet", "1: wet => slippery", "P(wet) <= 0.3"):
        told: list[str] = []
        model = hb.Model(hb.parse(theory), {"cold": [()]}, note=told.append)
        ask = model.bound if theory.startswith("P") else model.infer
        ask("wet", given=["wett", "cold"])
        assert [text for text in told if "--given" in text] == [
            "--given names a new predicate, wett; did you mean 'wet'?"
        ]


@pytest.mark.parametrize("on", [None, "duckdb"])
def test_a_variable_that_only_a_head_has(on: str | None, tmp_path: Path) -> None:
    """Most likely it is misspelt; one that only a `not` binds is meant."""
    rules = "uncle(x, w) :- parent(x, z), brother(z, y)\nalone(x) :- not parent(x, x)\n"
    theory = hb.parse(f'{rules}parent("a", "b")\nbrother("b", "c")')
    model = hb.Model(theory, on=on and f"duckdb:{tmp_path / 'family.duckdb'}")
    assert len(model.query('uncle("a", y)')) == 0
    assert model.notes == (
        "a variable of a head that its body lacks stands for every constant of its type: "
        "w of uncle(x, w) :- parent(x, z), brother(z, y)",
    )


def test_facts_of_almost_the_name_of_a_predicate_without_any() -> None:
    theory = hb.parse("1.5: smokes(x) and friends(x, y) => smokes(y)")
    pairs = [("anna", "bob")]
    for facts, expected in [
        ({"friend": pairs}, ("friend has facts, but no statement uses it; did you mean 'friends'?",)),
        ({"friend": pairs, "friends": pairs}, ()),
        ({"friend": ["anna"], "near": pairs, "closed": pairs}, ()),
    ]:
        model = hb.Model(theory, facts)
        model.infer()
        assert tuple(text for text in model.notes if "statement uses" in text) == expected


def test_a_new_constant_that_evidence_names_twice() -> None:
    told: list[str] = []
    model = hb.Model(hb.parse(THEORY), {"friends": [("anna", "bob")]}, note=told.append)
    model.infer(given=['smokes("zed")', 'friends("zed", "bob")', 'not friends("zed", "anna")'])
    assert told[-1] == '--given names a new constant of type p, "zed"'


def test_a_new_constant_is_among_the_notes_of_a_model_that_reports_none() -> None:
    """A misspelt constant of evidence changed nothing, and a program was not told."""
    model = hb.Model(hb.parse(THEORY), {"friends": [("anna", "bob")]})
    model.infer(given=['smokes("ana")'])
    assert "--given names a new constant of type p, \"ana\"; did you mean 'anna'?" in model.notes


def test_a_new_constant_beside_what_counts_the_uncertain() -> None:
    told: list[str] = []
    theory = """predicate chosen(item)
chosen("a") ~ 0.5
hard: count(x: chosen(x)) = 1
"""
    found = hb.Model(hb.parse(theory), note=told.append).infer(given='not chosen("b")')
    assert found['chosen("a")'] == 1.0
    assert told == ['--given names a new constant of type item, "b"']


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("carl", " carl"),
        ("Carl", "carl"),
        ("new  york", "new york"),
        (unicodedata.normalize("NFC", "zoë"), unicodedata.normalize("NFD", "zoë")),
    ],
)
def test_constants_that_look_alike(one: str, other: str) -> None:
    model = hb.Model(hb.parse("p(x) :- q(x)"), {"q": [one, other, "bob"]})
    assert len(model.query("p(x)")) == 3
    (note,) = model.notes
    assert "differ in case, blanks or Unicode form alone" in note and "bob" not in note
    assert not hb.Model(hb.parse("p(x) :- q(x)"), {"q": ["anna", "bob"]}).notes


SETTLED = """
type t = {"a", "b"}
predicate p(t)
predicate area(t) in {"u", "v"}
p("a")
not p("b")
area("a") = "u"
area("b") = "v"
0.5: p(x) => area(x) = "u"
"""


@pytest.mark.parametrize(
    ("query", "note", "rows"),
    [
        ([], "facts settle every atom, so nothing is left to infer", []),
        (["p"], "facts settle every atom of p: those that hold are listed", [('p("a")', None, 1.0)]),
        (["p(x)"], None, [('p("a")', None, 1.0), ('p("b")', None, 0.0)]),
        (
            ["area"],
            "facts settle every atom of area: those that hold are listed",
            [(f'area("{x}")', v, float((x, v) in (("a", "u"), ("b", "v")))) for x in "ab" for v in "uv"],
        ),
    ],
)
def test_where_facts_settle_all_that_is_asked_that_is_noted(
    query: list[str], note: str | None, rows: list[tuple[str, str | None, float]]
) -> None:
    told: list[str] = []
    found = hb.Model(hb.parse(SETTLED)).infer(query, note=told.append)
    assert [(row.atom, row.value, row.probability) for row in found.rows()] == rows
    assert [text for text in told if "facts settle" in text] == [
        t for t in told if note and t.startswith(note)
    ]
    assert (note is None) == (not any("facts settle" in text for text in told))
    open_again = hb.parse(SETTLED.replace('not p("b")\n', "").replace('area("b") = "v"\n', ""))
    hb.Model(open_again).infer(query, note=(later := list[str]()).append)
    assert not any("facts settle" in text for text in later)


def test_closed_predicates_are_named() -> None:
    told: list[str] = []
    theory = 'smokes("anna")\nfriends("anna", "bob")\n1.5: smokes(x) and friends(x, y) => smokes(y)\n'
    hb.Model(hb.parse(theory)).infer(note=told.append)
    assert any("every predicate is closed" in text and "--open PRED" in text for text in told)
    assert not any("herbrand query" in text for text in told)


def test_what_a_rule_computes_is_no_predicate_that_is_named() -> None:
    told: list[str] = []
    theory = (
        "type n = number\npredicate on(n): observed\npredicate d(n)\non(1)\nd(i) :- on(i), not on(i - 1)\n"
    )
    hb.Model(hb.parse(theory)).infer(note=told.append)
    assert any("nothing is left to infer: on, d; " in text for text in told)


def test_rules_alone_are_asked_by_query() -> None:
    told: list[str] = []
    theory = 'parent("a", "b")\nold(x) :- parent(x, y)\n'
    hb.Model(hb.parse(theory)).infer(note=told.append)
    assert any(text.endswith("what rules derive (old) is asked by herbrand query") for text in told)
    told.clear()
    hb.Model(hb.parse(THEORY), {"friends": [("anna", "bob")]}).infer("friends", note=told.append)
    assert any("friends is closed (it is declared observed)" in text for text in told)


def test_a_variable_named_as_a_constant_is_told() -> None:
    """Most likely its quotes are missing."""
    model = hb.Model(hb.parse('predicate near(town, town)\n1: near(x, y)\nnear("bern", "x")'))
    for query, names in (
        ("near(bern, x)", ["bern"]),
        ('near("bern", y)', []),
        ("near", []),
        ("near(x, x)", []),
    ):
        told = list[str]()
        model.infer(query, note=told.append)
        assert [text.split()[0] for text in told if "is a variable, and stands" in text] == names


def test_a_theory_of_nothing_is_told() -> None:
    told = list[str]()
    hb.Model(hb.parse("# nothing yet")).infer(note=told.append)
    assert "the theory names no predicate, so there is nothing to infer" in told
