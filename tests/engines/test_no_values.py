"""Atoms of a many-valued predicate whose value type has no constants: no world, whatever engine is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import herbrand as hb
from herbrand.engines.registry import INFERENCE
from herbrand.errors import FactsError

PEOPLE = 'type person = {"anna", "bob", "carl"}\npredicate p(person)\n'
STATED = {
    "an argument": PEOPLE + "predicate mood(person) in level\n1: p(x)\n",
    "a pair": PEOPLE + "predicate mood(person, person) in level\n1: p(x)\n",
    "a proposition": "predicate mood in level\npredicate p\n1: p\n",
    "in a formula": PEOPLE + "predicate mood(person) in level\n1: p(x) and mood(x) = v\n",
    "hard": PEOPLE + "predicate mood(person) in level\nhard: p(x) => mood(x) = v\n",
}
QUESTIONS: list[dict[str, Any]] = [{}, {"query": "p"}, {"map": True}]


@pytest.mark.parametrize("engine", ["auto", *INFERENCE])
@pytest.mark.parametrize("text", STATED.values(), ids=list(STATED))
def test_infer_refuses_and_names_the_type(engine: str, text: str) -> None:
    model = hb.Model(hb.parse(text))
    for question in QUESTIONS:
        if question.get("map") and engine not in ("auto", "exact", "lifted"):
            continue
        with pytest.raises(
            FactsError, match=r"of mood ha.* no value in any world: type level has no constants"
        ):
            model.infer(engine=engine, **question)


@pytest.mark.parametrize("text", STATED.values(), ids=list(STATED))
def test_so_do_check_and_a_database(text: str, tmp_path: Path) -> None:
    for number, on in enumerate((None, f"duckdb:{tmp_path}/facts.duckdb")):
        model = hb.Model(hb.parse(text), on=on)
        with pytest.raises(FactsError, match="type level has no constants"):
            hb.size_report(model)
        if number:
            with pytest.raises(FactsError, match="type level has no constants"):
                model.infer(engine="bp")


@pytest.mark.parametrize("engine", list(INFERENCE))
def test_without_atoms_nothing_lacks_a_value(engine: str) -> None:
    """Nobody has a mood where there is nobody."""
    model = hb.Model(hb.parse("predicate mood(person) in level\npredicate p\n1: p\n"))
    assert model.infer("p", engine=engine)["p"] == pytest.approx(0.731, abs=0.05)


@pytest.mark.parametrize("engine", ["exact", "bp", "lifted"])
def test_a_fact_that_names_a_value_gives_one_to_all(engine: str) -> None:
    model = hb.Model(hb.parse(STATED["an argument"]), {"mood": [("anna", "happy")]})
    rows = list(model.infer("mood", engine=engine).rows())
    assert [(row.arguments, row.value) for row in rows] == [(("bob",), "happy"), (("carl",), "happy")]
    assert [row.probability for row in rows] == pytest.approx([1.0, 1.0])
