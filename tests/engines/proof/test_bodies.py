"""Every kind of literal that a rule's body may hold, against a plain walk through all assignments."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import herbrand as hb
from herbrand.errors import LanguageError, UnsupportedError

PAPERS = ("p1", "p2", "p3", "p4")
AREA = {"p1": "ai", "p2": "db", "p3": "x"}
CITES = {("p1", "p2"), ("p2", "p2"), ("p3", "p1"), ("p4", "p4")}
YEAR = {"p1": 1990, "p2": 2000, "p3": 2010, "p4": 2000}
TEXT = "\n".join(
    [
        "type paper = {" + ", ".join(f'"{name}"' for name in PAPERS) + "}",
        "predicate paper(paper): observed",
        "predicate cites(paper, paper): observed",
        "predicate year(paper, number): observed",
        'predicate area(paper) in {"ai", "db", "x"}: observed',
        "predicate found(paper)",
        *(f'paper("{name}")' for name in PAPERS),
        *(f'cites("{one}", "{other}")' for one, other in sorted(CITES)),
        *(f'year("{name}", {year})' for name, year in YEAR.items()),
        *(f'area("{name}") = "{value}"' for name, value in AREA.items()),
    ]
)
Holds = Callable[[str, str], bool]
BODIES: list[tuple[str, Holds]] = [
    ("paper(x), paper(y), true", lambda x, y: True),
    ("paper(x), paper(y), false", lambda x, y: False),
    ("paper(x), paper(y), not false", lambda x, y: True),
    ("paper(x), paper(y), not true", lambda x, y: False),
    ('paper(x), paper(y), area(x) = "ai"', lambda x, y: AREA.get(x) == "ai"),
    ('paper(x), paper(y), not area(x) = "ai"', lambda x, y: AREA.get(x) != "ai"),
    ('paper(x), paper(y), area(x) in {"ai", "db"}', lambda x, y: AREA.get(x) in ("ai", "db")),
    ('paper(x), paper(y), not area(x) in {"ai", "db"}', lambda x, y: AREA.get(x) not in ("ai", "db")),
    ("paper(x), paper(y), area(x) = v, area(y) = v", lambda x, y: x in AREA and AREA[x] == AREA.get(y)),
    ("paper(x), paper(y), cites(x, y), x = y", lambda x, y: (x, y) in CITES and x == y),
    ("paper(x), paper(y), not cites(x, y)", lambda x, y: (x, y) not in CITES),
    ("paper(x), paper(y), not cites(x, x), x = y", lambda x, y: (x, x) not in CITES and x == y),
    ("paper(x), paper(y), not cites(x, _)", lambda x, y: not any(a == x for a, _ in CITES)),
    ('paper(x), paper(y), x = "p1", y = x', lambda x, y: x == y == "p1"),
    ('paper(x), paper(y), x = "p1", x = "p2"', lambda x, y: False),
    ('paper(x), paper(y), x = "p1", y = "p2", x = y', lambda x, y: False),
    ('paper(x), paper(y), x = "p1", y = "p1", x = y', lambda x, y: x == y == "p1"),
    ('paper(x), paper(y), x != "p1", "p2" != y', lambda x, y: x != "p1" and y != "p2"),
    ("paper(x), paper(y), 1 < 2", lambda x, y: True),
    ("paper(x), paper(y), 2 <= 1", lambda x, y: False),
    ('paper(x), paper(y), "a" != 1', lambda x, y: True),
    ('paper(x), paper(y), "a" = 1', lambda x, y: False),
    ("paper(x), paper(y), year(x, a), year(y, b), a < b", lambda x, y: YEAR[x] < YEAR[y]),
]


@pytest.mark.parametrize("algebra", ["count", "boolean", "max", "probability"])
@pytest.mark.parametrize(("body", "holds"), BODIES, ids=[body for body, _ in BODIES])
def test_a_body_holds_where_a_walk_says_so(body: str, holds: Holds, algebra: str) -> None:
    text = TEXT.replace("predicate found(paper)", "predicate found(paper, paper)")
    model = hb.Model(hb.parse(f"{text}\nfound(x, y) :- {body}"))
    answers = model.query("found(x, y)", algebra=algebra)
    found = {
        (row["bindings"]["x"], row["bindings"]["y"]): row["weight"] for row in answers.to_dict()["answers"]
    }
    assert found == {(x, y): 1.0 for x in PAPERS for y in PAPERS if holds(x, y)}


@pytest.mark.parametrize(
    ("rules", "algebra", "message"),
    [
        ("found(x) :- cites(x, y) @ -2", "max", "max takes weights of 0 or more, and this rule weighs -2"),
        (
            'w("p1") @ -3\nfound(x) :- w(x)',
            "max",
            "max takes weights of 0 or more, and a fact of w weighs -3",
        ),
    ],
)
def test_a_product_of_two_losses_is_no_gain(rules: str, algebra: str, message: str) -> None:
    text = TEXT.replace("predicate found", "predicate w(paper): observed\npredicate found")
    model = hb.Model(hb.parse(f"{text}\n{rules}"))
    with pytest.raises(UnsupportedError, match=message):
        model.query("found(x)", algebra=algebra)
    assert all(row["weight"] < 0 for row in model.query("found(x)").to_dict()["answers"]), "count takes them"


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("cites(x, y) or cites(y, x)", ""),
        ("cites(x, y) => cites(y, x)", ""),
        ("exists y: cites(x, y)", ""),
        ("cites(x, y), not (paper(x) and paper(y))", ""),
        ("cites(x, y), not x = y", "write its opposite: != instead of ="),
        ("year(x, a), year(y, b), not a < b", "write its opposite: >= instead of <"),
    ],
)
def test_what_a_body_cannot_hold(body: str, hint: str) -> None:
    with pytest.raises(LanguageError) as refused:
        hb.Model(hb.parse(f"{TEXT}\nfound(x) :- {body}")).query("found(x)")
    assert "a rule's body holds atoms, 'not' before an atom, and comparisons" in str(refused.value)
    assert hint in str(refused.value)
