"""What is asked of a database comes back as from memory: patterns, cuts and answers too large to hold."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

import herbrand as hb
from herbrand import budget
from herbrand.errors import BudgetError, HerbrandError, UnsupportedError
from herbrand.scale import reading
from tests.laws import long

THEORY = """
predicate met(t, t): observed
predicate likes(t, t)
predicate good(t)
predicate mood(t) in {"fine", "sad", "calm"}
predicate alarm
predicate old(t): observed
0.7: met(x, y) => likes(x, y)
-1.1: likes(x, y)
0.4: likes(x, x) and good(x)
0.6: good(x) => mood(x) = "fine"
0.3: alarm and mood(x) = "sad"
good("a")
not good("b")
likes("a", "c")
mood("d") = "calm"
not mood("a") = "sad"
good("e") ~ 0.8
"""
NAMES = "abcdef"
FACTS = {"met": [(a, b) for a, b in zip(NAMES, NAMES[2:] + NAMES[:2], strict=True)], "old": ["a", "b"]}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[hb.Model, hb.Model]:
    place = f"duckdb:{tmp_path_factory.mktemp('asked') / 'w.duckdb'}"
    return hb.Model(hb.parse(THEORY), FACTS), hb.Model(hb.parse(THEORY), FACTS, on=place)


def rows(answer: Any) -> list[tuple[str, float]]:
    return [(row.text, round(row.probability, 9)) for row in answer.rows()]


QUERIES = [
    [],
    ["likes"],
    ["likes(x, x)"],
    ['likes("a", y)'],
    ['likes(x, "c")', 'likes("c", y)'],
    ['likes("a", "c")'],
    ["good"],
    ['good("a")', 'good("b")', 'good("c")'],
    ["mood"],
    ['mood("a")', 'mood("d")'],
    ["alarm"],
    ["alarm", "good(x)", "likes(x, x)", 'mood("f")'],
]


CASES = [*itertools.product(["mean-field"], QUERIES), *long(itertools.product(["bp"], QUERIES), 2)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "; ".join([case[0], *case[1]]))
def test_patterns(both: tuple[hb.Model, hb.Model], case: tuple[str, list[str]]) -> None:
    """Known atoms too where they are named; every atom once, whichever patterns it fits."""
    engine, asked = case
    rounds = 1 if engine == "mean-field" else 100  # on a forest only the ends of bp can be compared
    here, there = (
        model.infer(asked, engine=engine, schedule="parallel", iterations=rounds) for model in both
    )
    assert sorted(rows(here)) == sorted(rows(there)) and rows(here)


@pytest.mark.parametrize(
    "cut",
    [{"top": 1}, {"top": 4}, {"top": 1000}, {"min": 0.5}, {"min": 0.9999}, {"top": 3, "min": 0.6}],
    ids=str,
)
@pytest.mark.parametrize("asked", long([["good", "alarm"], ["likes"], ["mood"], []], 1), ids=str)
def test_cuts(both: tuple[hb.Model, hb.Model], asked: list[str], cut: dict[str, Any]) -> None:
    """Cut in the database as in memory, up to the order of equal ones."""
    here, there = (
        model.infer(asked, engine="mean-field", schedule="parallel", iterations=1, **cut) for model in both
    )
    assert [p for _, p in rows(here)] == [p for _, p in rows(there)]
    least = min((p for _, p in rows(here)), default=0.0)
    assert {row for row in rows(here) if row[1] > least} == {row for row in rows(there) if row[1] > least}


class TestRefusals:
    @pytest.mark.parametrize(
        ("asked", "said"),
        [
            (["old"], "'old' has no latent atom"),
            (['good("z")'], '"z" is no constant of type t'),
            (["god"], "did you mean 'good'"),
            (["good(x, y)"], "takes 1 argument, not 2"),
        ],
    )
    def test_what_cannot_be_asked(self, both: tuple[hb.Model, hb.Model], asked: list[str], said: str) -> None:
        with pytest.raises(HerbrandError, match=said):
            both[1].infer(asked, engine="mean-field")

    def test_an_answer_that_memory_does_not_hold(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Refused before any work, unless it is cut or part of it is asked for."""
        monkeypatch.setattr(reading, "BYTES_A_ROW", 10**10)
        model = hb.Model(hb.parse(THEORY), FACTS, on=f"duckdb:{tmp_path / 'w.duckdb'}")
        with pytest.raises(BudgetError, match=r"the answer would have 45 rows") as caught:
            model.infer(engine="mean-field", memory="1GB")
        assert "--top K" in str(caught.value) and "--query" in str(caught.value)
        assert len(model.infer(engine="mean-field", memory="1GB", top=2)) == 2

    def test_most_probable_worlds_are_asked_in_memory(self, both: tuple[hb.Model, hb.Model]) -> None:
        for engine in ("mean-field", "bp"):
            with pytest.raises(UnsupportedError, match="most probable world"):
                both[1].infer(map=True, engine=engine)


def test_memory_is_shared_between_database_and_process(tmp_path: Path) -> None:
    """What is said of the place is what it may take."""
    model = hb.Model(hb.parse(THEORY), FACTS, on=f"duckdb:{tmp_path / 'w.duckdb'}")
    where = model.infer(engine="mean-field", iterations=1, memory="1GB").status.where
    assert where.endswith(f"{budget.readable(int(2**30 * 0.8))} of memory")


CHOSEN = "predicate person(who): observed\npredicate ill(who)\n0.3 :: ill(x) :- person(x)\n0.5: ill(x)"
NETWORK = """network rain {}
variable rain { type discrete [ 2 ] { yes, no }; }
probability ( rain ) { table 0.2, 0.8; }
"""


@pytest.mark.parametrize("engine", ["auto", "bp", "mean-field"])
def test_choices_and_tables_of_networks_are_refused(engine: str, tmp_path: Path) -> None:
    """They had been left out, and the answers called exact."""
    (tmp_path / "rain.bif").write_text(NETWORK)
    for theory in (hb.parse(CHOSEN), hb.read(tmp_path / "rain.bif")):
        facts = {"person": ["a"]} if theory.choices else None
        model = hb.Model(theory, facts, on=f"duckdb:{tmp_path}/world.duckdb")
        with pytest.raises(UnsupportedError, match="on a database infer cannot use this statement") as error:
            model.infer(engine=engine)
        assert ("or ask by query" in str(error.value)) == bool(theory.choices)
