"""Texts beside computed dates: in the form of their constant they have the order of time, in others they are
refused."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import date, timedelta

import pytest

import herbrand as hb
from herbrand.errors import LanguageError

DAYS = ("2024-01-31", "2024-02-02", "2024-02-05", "2023-12-31")
DUE = "".join(f'due("{day}", date "{day}")\n' for day in DAYS)
DECLARED = f"type day = date\npredicate due(o, day): observed\npredicate late(o)\n{DUE}"
UNDECLARED = DUE.replace("date ", "")
TIMES = 'type t = time\npredicate due(o, t): observed\npredicate late(o)\ndue("a", time "2024-02-02T10:00")\n'
ORDERS: dict[str, Callable[[date, date], bool]] = {"<": operator.lt, ">=": operator.ge, "=": operator.eq}
BESIDE = {
    "d + 1 {} {}": lambda d: d + timedelta(1),
    "e = d - 2, e {} {}": lambda d: d - timedelta(2),
    "e = d + 1, f = e + 1, f {} {}": lambda d: d + timedelta(2),
    "max(e: due(o, e)) {} {}": lambda d: d,
    "max(e + 3: due(o, e)) {} {}": lambda d: d + timedelta(3),
}
"""What stands beside a text, and the day that it is."""


def late(text: str) -> set[str]:
    return {row["bindings"]["o"] for row in hb.Model(hb.parse(text)).query("late(o)").to_dict()["answers"]}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("theory", "beside"),
    [*((DECLARED, beside) for beside in BESIDE), *((UNDECLARED, beside) for beside in BESIDE)],
    ids=[f"{known}: {beside}" for known in ("declared", "undeclared") for beside in BESIDE],
)
def test_computed_dates_are_compared_as_days(theory: str, beside: str, order: str) -> None:
    for limit in ("2024-02-03", "2024-01-29", "2024-02-01"):
        rule = f"late(o) :- due(o, d), {beside.format(order, chr(34) + limit + chr(34))}\n"
        expected = {
            day
            for day in DAYS
            if ORDERS[order](BESIDE[beside](date.fromisoformat(day)), date.fromisoformat(limit))
        }
        assert late(theory + rule) == expected
        assert late(theory + rule.replace(f'"{limit}"', f'date "{limit}"')) == expected


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("form", ["2024-2-3", "20240203", "2024-02-3", "soon"])
def test_another_form_is_refused_where_it_stands(beside: str, form: str) -> None:
    rule = f"late(o) :- due(o, d), {beside.format('>', chr(34) + form + chr(34))}\n"
    with pytest.raises(LanguageError) as caught:
        hb.Model(hb.parse(DECLARED + rule))
    mistake = caught.value.mistakes[0]
    assert mistake.span is not None and mistake.span.text == f'"{form}"'
    assert mistake.message in (f'"{form}" is no date', f'"{form}" is another form of the date "2024-02-03"')
    assert "date " in mistake.hint


@pytest.mark.parametrize(
    "body",
    [
        'd + 1 > "2024-2-3"',
        '"2024-2-3" <= d - 1',
        'd - "2024-2-3" > 1',
        'count(e: due(o, e), e + 1 > "2024-2-3") > 0',
    ],
)
def test_it_is_refused_without_declarations_and_within_aggregates_too(body: str) -> None:
    theory = DECLARED if "count" in body or "- " in body else UNDECLARED
    with pytest.raises(LanguageError, match='"2024-2-3" is no date'):
        hb.Model(hb.parse(f"{theory}late(o) :- due(o, d), {body}\n"))


def test_questions_and_formulas_refuse_it_too() -> None:
    with pytest.raises(LanguageError, match="is no date"):
        hb.Model(hb.parse(DECLARED)).query('due(o, d) and d + 1 > "2024-2-3"')
    with pytest.raises(LanguageError, match="is no date"):
        hb.Model(hb.parse(f'{DECLARED}0.5: late(o) and due(o, d) and d + 1 > "2024-2-3"\n'))


def test_times_have_a_form_of_their_own() -> None:
    assert late(f'{TIMES}late(o) :- due(o, d), d + 1 >= time "2024-02-03T10:00"\n') == {"a"}
    with pytest.raises(LanguageError, match='is another form of the time "2024-02-03T10:00:00"'):
        late(f'{TIMES}late(o) :- due(o, d), d + 1 >= "2024-02-03T10:00"\n')


def test_other_texts_are_compared_as_they_are() -> None:
    theory = 'named("a", "C")\nnamed("b", "A")\n'
    assert late(f'{theory}late(o) :- named(o, n), m = lower(n), m > "b"\n') == {"a"}
    assert late(f'{theory}late(o) :- named(o, n), min(e: named(o, e)) > "B"\n') == {"a"}
