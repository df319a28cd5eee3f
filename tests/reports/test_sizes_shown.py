"""The table of ``check``: what stands in each row, with bounds, on databases, and where nothing can run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import herbrand as hb
from herbrand.engines.engine import Cost, Refusal
from herbrand.errors import UnsupportedError
from herbrand.reports.sizes import (
    PredicateSize,
    SizeReport,
    _alike,
    _possible_and_cost,
    _predicate_row,
    _together,
)

THEORY = """
predicate friends(person, person): observed
predicate smokes(person)
0.4: smokes(x) and friends(x, y) => smokes(y)
hard: smokes(x) or not smokes(x)
"""
FACTS = {"friends": [("a", "b"), ("b", "c")], "smokes": ["a"]}
BOUNDS = "P(rain) in [0.2, 0.3]\nP(wet | rain) >= 0.9\nP(wet | not rain) <= 0.2"


def rows(report: SizeReport) -> dict[str, tuple[str, str]]:
    found = {name: (size, detail) for name, size, detail in report.cells()}
    assert len(found) == len(report) == report.to_arrow().num_rows, "every row has another name"
    return found


class TestRows:
    def test_types_predicates_and_statements(self) -> None:
        found = rows(hb.size_report(hb.Model(hb.parse(THEORY), FACTS)))
        assert found["type person"] == ("3", "constants")
        assert found["predicate friends"] == ("9", "atoms, 0 latent, closed world")
        assert found["predicate smokes"] == ("3", "atoms, 2 latent, open world")
        assert found["0.4: smokes(x) and friends(x, y) => smokes(y)"] == ("9", "groundings")
        assert found["hard: smokes(x) or not smokes(x)"] == ("3", "groundings")

    def test_engines_tell_their_guarantee_and_cost_or_why_not(self) -> None:
        report = hb.size_report(hb.Model(hb.parse(THEORY), FACTS))
        found = rows(report)
        for name, told in report.engines.items():
            size, detail = found[f"engine {name}"]
            if isinstance(told, Cost):
                assert size == "yes" and detail.startswith(f"{told.guarantee.value}, about ")
            else:
                assert (size, detail) == ("no", told.why)
        assert report.auto is not None
        assert found["engine auto"] == (report.auto.name, report.auto.why)

    def test_bounds_have_a_network_and_engines_of_their_own(self) -> None:
        found = rows(hb.size_report(hb.Model(hb.parse(BOUNDS))))
        assert found["credal network"] == ("2", "open ground atoms, no cycle")
        assert found["ground bounds"] == ("3", "in 2 factors of up to 2 atoms")
        assert found["bound engine exact"][0] == found["bound engine ariel"][0] == "yes"
        assert found["engine exact"] == (
            "no",
            "infer cannot use probability bounds: leave them out by --ignore bounds",
        )
        assert "engine auto" not in found

    def test_cycles_are_counted(self) -> None:
        text = BOUNDS + "\nP(rain | wet) >= 0.1"
        assert rows(hb.size_report(hb.Model(hb.parse(text))))["credal network"][1].endswith(
            "2 on or above cycles"
        )

    def test_nothing_at_all(self) -> None:
        report = hb.size_report(hb.Model(hb.parse("")))
        assert not report.constants and not report.predicates and not report.formulas
        assert {name.split()[0] for name in rows(report)} == {"engine"}

    def test_on_a_database(self, tmp_path: Path) -> None:
        place = f"duckdb:{tmp_path / 'w.duckdb'}"
        found = rows(hb.size_report(hb.Model(hb.parse(THEORY), FACTS, on=place)))
        assert found["facts"] == ("on a database", place)
        assert found["engine exact"] == ("no", "runs in memory only")
        assert found["engine mean-field"][0] == "yes" and f"on {place}, " in found["engine mean-field"][1]
        here = rows(hb.size_report(hb.Model(hb.parse(THEORY), FACTS)))
        assert all(found[name] == here[name] for name in here if not name.startswith("engine"))


class TestCosts:
    @pytest.mark.parametrize(
        ("cost", "shown"),
        [
            (Cost(1234.0, 2048.0), "about 1.2e+03 operations, 2.0 kB"),
            (Cost(), "no estimate"),
            (
                Cost(10.0, 0.0, detail="by a join", handed="slowly"),
                "about 1.0e+01 operations, 0 B; slowly; by a join",
            ),
        ],
    )
    def test_of_an_engine(self, cost: Cost, shown: str) -> None:
        assert _possible_and_cost(cost) == ("yes", f"{cost.guarantee.value}, {shown}")

    def test_of_a_refusal(self) -> None:
        assert _possible_and_cost(Refusal(UnsupportedError("runs in memory only"))) == (
            "no",
            "runs in memory only",
        )


def sizes(*atoms: int, world: Any = "open", known: int = 0) -> list[PredicateSize]:
    return [PredicateSize(f"p{number}", world, count, known) for number, count in enumerate(atoms)]


class TestAlike:
    """Of very many predicates with one atom each, those that say the same are one row."""

    def test_few_stand_one_by_one_in_their_order(self) -> None:
        found = [[size.predicate for size in alike] for alike in _together(sizes(1, 9, 1, 4), _alike)]
        assert found == [["p0"], ["p1"], ["p2"], ["p3"]]

    def test_many_stand_where_the_first_of_them_does(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("herbrand.reports.sizes.MOST_ROWS", 2)
        found = [[size.predicate for size in alike] for alike in _together(sizes(9, 1, 1, 4, 1), _alike)]
        assert found == [["p0"], ["p1", "p2", "p4"], ["p3"]]
        mixed = [*sizes(1, 1, 1), *sizes(1, 1, known=1)]
        assert [len(alike) for alike in _together(mixed, _alike)] == [3, 1, 1]

    def test_their_row_adds_up(self) -> None:
        assert _predicate_row(sizes(1, 1, 1)) == (
            "predicates p0 to p2", "3", "atoms, 3 latent, open world, one each",
        )  # fmt: skip
        assert _predicate_row(sizes(2000, known=500)) == (
            "predicate p0",
            "2,000",
            "atoms, 1,500 latent, open world",
        )

    @pytest.mark.parametrize("statement", ["0.3 :: rain(x) :- day(x)", "-1: count(x: rain(x)) > 1"])
    def test_what_only_circuits_answer(self, statement: str) -> None:
        report = hb.size_report(
            hb.Model(hb.parse(f"predicate day(d): observed\npredicate rain(d)\n{statement}"))
        )
        assert {name for name, told in report.engines.items() if isinstance(told, Cost)} == {"circuit"}
        found = rows(report)
        assert found["engine circuit"] == ("yes", "exact, no estimate")
        assert found["engine auto"][0] == "circuit"
        assert [name for name in found if name.startswith("predicate")] == ["predicate day", "predicate rain"]
