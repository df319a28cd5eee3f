"""Answers are found by any way to write an atom, a formula or a probability."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pandas as pd
import pytest

import herbrand as hb

THEORY = """
type number_of = {3, 5}
predicate p(number_of, number_of)
predicate word(label)
type label = {"a b", "c"}
predicate sky in {"blue", "grey"}
0.5: p(x, y)
0.3: word(x)
0.2: sky = "blue"
"""
MODEL = hb.Model(hb.parse(THEORY))


@pytest.mark.parametrize("text", ["p(5, 3)", "p(5,3)", "p( 5,3 )", " p(5, 3)\n", "`p`(5, 3)", "(p(5, 3))"])
def test_an_atom_is_found_however_it_is_written(text: str) -> None:
    answer = MODEL.infer()
    assert answer[text] == answer["p"][5, 3] and text in answer
    assert MODEL.sample(30, seed=1).share(text) == MODEL.sample(30, seed=1).share("p(5, 3)")


def test_atoms_with_values_and_formulas_are_found() -> None:
    answer = MODEL.infer(["sky", 'word("a b") and p(3, 5)'])
    assert set(answer["sky"]) == {"blue", "grey"}
    assert answer['word("a b")and p(3,5)'] == answer['word("a b") and p(3, 5)']
    every = MODEL.infer()
    assert every['sky="blue"'] == every['sky = "blue"'] == every["sky"]["blue"]
    assert 'sky = "blue"' in every and 'sky = "red"' not in every
    assert all(every[row.text] == row.probability for row in every)
    drawn = MODEL.sample(30, seed=1)
    assert drawn.share('sky="blue"') == drawn.share('sky = "blue"')


@pytest.mark.parametrize(
    "query",
    [
        "p(1 + 2, 5)",
        'p(5,3 + 0) or sky = "blue"',
        "count(x: p(x,3))>1",
        'count(x: p(x, 3), sky="grey") > 0',
        "p(3, 3) or abs(1-3) > 1",
        'sky != "blue"',
        'not sky!="blue" => p(3,3)',
        'exists x: p(x, 3) and x != 3 and sky != "grey"',
    ],
)
def test_a_queried_formula_is_found_by_the_text_of_its_query(query: str) -> None:
    answer = MODEL.infer(query)
    assert query in answer
    assert answer[query] == answer.to_dict()["marginals"][0]["probability"]


def test_an_interval_of_a_query_that_computes_is_found_by_its_text() -> None:
    query = "P(q(1+2) | q(3) or q(5))"
    model = hb.Model(hb.parse("type n = {3, 5}\npredicate q(n)\nP(q(x)) = 0.5"))
    assert model.bound(query)[query].query == "q(1 + 2) | q(3) or q(5)"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('p("5", 3)', "; did you mean 'p(5, 3)'?"),
        ("p(5, 4)", "; did you mean 'p(5, 5)'?"),
        ("word(c)", "; did you mean 'word(\"c\")'?"),
        ("words", "; did you mean 'word'?"),
        ("p(5,", "; did you mean 'p(5, 5)'?"),
        ("nothing at all", ""),
    ],
)
def test_a_miss_is_a_key_error_with_the_nearest_text(text: str, hint: str) -> None:
    answer = MODEL.infer()
    assert text not in answer
    with pytest.raises(KeyError) as caught:
        answer[text]
    (message,) = caught.value.args
    assert message.startswith(f"{text} is not among the answers") and message.endswith(hint)


@pytest.mark.parametrize("calendar", ["date", "time"])
def test_dates_of_python_find_the_atoms_that_facts_have_from_them(calendar: str) -> None:
    days = [datetime(2026, 11, 22), datetime(2026, 11, 23)]
    declared = f"type day = {calendar}\npredicate free(day): observed\npredicate open(day)"
    theory = hb.parse(f"{declared}\n2.0: free(x) => open(x)")
    table = hb.Model(theory, {"free": days}).infer()["open"]
    answers = hb.Model(theory, {"free": days}, ignore="weights").query("free(x)")
    spellings: list[Any] = [days[0], days[0].date(), pd.Timestamp(days[0])]
    for day in spellings:
        assert day in table and table[day] == table[next(iter(table)).arguments]
        assert day in answers and answers[day] == 1.0
    with pytest.raises(KeyError, match="2020-01-01"):
        table[date(2020, 1, 1)]
    with pytest.raises(KeyError, match=r"open\(None\) is not among"):
        table[None]  # type: ignore[index]


@pytest.mark.parametrize("text", ["b | a", "P(b | a)", "P( b|a )", "b|a"])
def test_an_interval_is_found_however_it_is_written(text: str) -> None:
    found = hb.Model(hb.parse("P(a) = 0.5\nP(b | a) in [0.2, 0.3]")).bound(["P(b | a)", "P(a)"])
    assert found[text].query == "b | a" and text in found
    assert "P(a | b)" not in found and 5 not in found
    with pytest.raises(KeyError, match=r"P\(a \| b\) is not among the answers"):
        found["P(a | b)"]
