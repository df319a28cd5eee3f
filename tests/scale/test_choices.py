"""Choices on a database: answers by joins, as in memory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import herbrand as hb
from herbrand.errors import HerbrandError, UnsupportedError
from tests.engines.circuit.test_whole_tables import CIRCUIT, FACTS, WHOLE, program, theory_of
from tests.laws import long
from tests.scale.test_proofs import agree, on_duckdb


def stated(text: str) -> hb.Theory:
    return hb.parse(theory_of({*re.findall(r"\b[abcepqr]\b", text)}, FACTS, text))


@pytest.mark.parametrize("name", WHOLE)
def test_as_in_memory(name: str) -> None:
    text, asked = WHOLE[name]
    found = on_duckdb(stated(text), asked)
    agree(found, hb.Model(stated(text)).query(asked))
    assert found.guarantee == "exact"


@pytest.mark.parametrize("name", CIRCUIT)
def test_what_needs_a_circuit_is_refused(name: str) -> None:
    text, asked = CIRCUIT[name]
    with pytest.raises(UnsupportedError, match=r"on a database choices \(::\) have|query cannot use"):
        on_duckdb(stated(text), asked)


BLOCKS = [range(8), range(8, 20), *(range(start, start + 20) for start in range(20, 400, 20))]


@pytest.mark.parametrize("seeds", long(BLOCKS, 1), ids=str)
def test_random_programs(seeds: range, tmp_path: Path) -> None:
    served = 0
    for seed in seeds:
        text, asked = program(seed)
        theory = hb.parse(text)
        here, there = hb.Model(theory), hb.Model(theory, on=f"duckdb:{tmp_path}/{seed}.duckdb")
        for goal in asked:
            try:
                expected = here.query(goal)
                found = there.query(goal)
            except UnsupportedError as error:
                assert "on a database choices" in str(error) or "goal" in str(error)
            else:
                agree(found, expected)
                served += 1
    assert served >= len(seeds) // 4


@pytest.mark.parametrize(
    ("more", "options"),
    [
        ("r", {}),
        ("not a(1)", {}),
        ("a(1) ~ 0.4", {}),
        ("near(1, 1) @ 0.5", {}),
        ("near(1, 1) ~ 0.5", {}),
        ("", {"given": "a(1)"}),
        ("", {"given": "near(2, 1)"}),
        ("", {"engine": "circuit"}),
    ],
)
def test_what_bears_on_choices_is_refused(more: str, options: dict[str, str]) -> None:
    theory = stated(f"0.5 :: a(x)\n0.2 :: b(x, y) :- near(x, y)\nr :- a(x), b(x, y)\n{more}")
    with pytest.raises(HerbrandError):
        on_duckdb(theory, "r", **options)


def test_numbers_that_are_no_probabilities_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="independent choices"):
        on_duckdb(stated("w :: a(x) :- worth(x, w)\nworth(2, 1.5)"), "a(x)")


def test_several_goals_at_once() -> None:
    theory = stated("0.5 :: a(x)\n0.3 :: b(x, y) :- near(x, y)")
    found = on_duckdb(theory, ["a(x)", "b(1, y)"])
    for one, goal in zip(found, ["a(x)", "b(1, y)"], strict=True):
        agree(one, hb.Model(theory).query(goal))
