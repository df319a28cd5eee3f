"""Thresholds moved to where they describe examples best, against trying every number."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.induction.cover import Errors
from herbrand.induction.database import Database, World
from herbrand.induction.evaluation import Clause, Condition, Literal, covered
from herbrand.induction.examples import Examples
from herbrand.induction.limits import Effort, Limits
from herbrand.induction.order import order_of, simplest_date
from herbrand.induction.search import search
from herbrand.induction.thresholds import moved, simplest
from tests.laws import tries

PHASES = [Phase.reuse, Phase.generate]


@settings(max_examples=tries(60), deadline=None, phases=PHASES)
@given(st.integers(0, 10**6), st.sampled_from([">=", "<="]), st.sampled_from([0.0, 0.2]))
def test_no_other_threshold_describes_the_examples_in_fewer_bits(seed: int, sign: str, beside: float) -> None:
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 12, 12).tolist()
    things, many = 10, len(numbers)
    facts = {"has": [(thing, things + int(n)) for thing in range(things) for n in rng.integers(0, many, 2)]}
    database = Database.of([World(things + many, facts, (*"abcdefghij", *numbers))])
    examples = Examples("t", np.arange(things)[:, None], rng.random(things) < 0.5)
    others = rng.random(things) < beside
    clause = Clause("t", (0,), (Literal("has", (0, 1)),), (), (Condition(sign, 1, value=6),))

    def bits(one: Clause) -> float:
        return Errors.of(covered(one, database, examples.rows) | others, examples.positive).bits

    def at(value: float) -> Clause:
        return replace(clause, conditions=(Condition(sign, 1, value=value),))

    found = moved(clause, examples, database, others)
    covering_some = [at(v) for v in range(13) if (covered(at(v), database, examples.rows) & ~others).any()]
    assert bits(found) <= min(map(bits, covering_some), default=bits(clause)) + 1e-9


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_the_simplest_number_lies_between(inside: float, outside: float) -> None:
    if inside != outside:
        found = simplest(inside, outside)
        assert min(inside, outside) <= found <= max(inside, outside) and found != outside


@pytest.mark.parametrize(
    ("inside", "outside", "found"),
    [(3, 2, 3), (2, 3, 2), (65, 62, 63), (62, 65, 63), (-0.5, 12.5, 0), (0.5, 0.25, 0.4), (1e-9, 0, 1e-9)],
)
def test_few_digits_near_the_middle(inside: float, outside: float, found: float) -> None:
    assert simplest(inside, outside) == found


def test_dates_and_times_have_the_order_of_time() -> None:
    days = ["0900-01-01", "2019-12-31", "2020-02-29", "2020-03-01", "2021-01-01"]
    assert sorted(days, key=order_of) == days
    times = ["2020-02-29T23:59:59", "2020-03-01T00:00:00", "2020-03-01T00:00:00.500000"]
    assert sorted(times, key=order_of) == times == sorted(times)
    for text in ("anna", "2020-13-01", "20200301", "2020-3-1", "2020-03-01 10:00", "x020-03-01"):
        assert np.isnan(order_of(text))


@pytest.mark.parametrize(
    ("inside", "outside", "found"),
    [
        ("2022-03-07", "2021-11-30", "2022-01-01"),
        ("2021-11-30", "2022-03-07", "2022-01-01"),
        ("2022-03-07", "2022-02-27", "2022-03-01"),
        ("2022-03-07", "2022-03-01", "2022-03-04"),
        ("2022-03-02", "2022-03-01", "2022-03-02"),
        ("2022-03-01", "2022-03-02", "2022-03-01"),
    ],
)
def test_the_simplest_date(inside: str, outside: str, found: str) -> None:
    assert simplest_date(order_of(inside), order_of(outside)) == found


@pytest.mark.parametrize(
    ("calendar", "form"), [("date", "%Y-%m-%d"), ("time", "%Y-%m-%dT%H:%M:%S"), (None, "%Y-%m-%d")]
)
def test_a_date_or_time_may_be_a_threshold(calendar: str | None, form: str, tmp_path: Path) -> None:
    """What comes out runs as a theory and concludes the labels, whether the column is declared or not."""
    rng = np.random.default_rng(1)
    began = {f"p{n}": datetime(2020, 1, 1) + timedelta(hours=int(rng.integers(0, 40_000))) for n in range(40)}
    born = {person: moment.strftime(form) for person, moment in began.items()}
    grown = {person: moment < datetime(2022, 3, 5) for person, moment in began.items()}
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "born.csv").write_text("".join(f"{person},{text}\n" for person, text in born.items()))
    labels = "".join(f"{person},{str(truth).lower()}\n" for person, truth in grown.items())
    (tmp_path / "w" / "t.csv").write_text(f"person,truth\n{labels}")
    declared = f"type day = {calendar}\npredicate born(person, day)\npredicate t(person)" if calendar else ""
    found = hb.induce(hb.parse(declared), target="t", worlds=tmp_path, budget=0.1, engine="search")
    assert not found.errors
    assert len(found.rules) == 1 and found.rules[0].literals == 2
    assert repr(found) == str(found) == f"{found.title}\n{found.reports[0].text}"
    answers = hb.Model(found.theory, {"born": list(born.items())}).query("t(x)").to_dict()["answers"]
    assert {a["bindings"]["x"] for a in answers} == {person for person, truth in grown.items() if truth}


def test_two_dates_are_compared() -> None:
    rng = np.random.default_rng(2)
    days = [f"20{year}-0{month}-1{day}" for year in (20, 21) for month in range(1, 8) for day in range(6)]
    rows = rng.integers(0, len(days), (30, 2)) + 30
    facts = {"lent": [(n, int(a)) for n, (a, _) in enumerate(rows)]}
    facts["returned"] = [(n, int(b)) for n, (_, b) in enumerate(rows)]
    database = Database.of([World(30 + len(days), facts, (*(f"b{n}" for n in range(30)), *days))])
    late = np.array([days[a - 30] < days[b - 30] for a, b in rows])
    found = search(Examples("t", np.arange(30)[:, None], late), database, Limits(effort=Effort(most=2_000)))
    assert (found.missed, found.wrong, len(found.clauses)) == (0, 0, 1)
    assert found.clauses[0].literals == 3
