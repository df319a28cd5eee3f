"""Opinions about one atom are independent: what each adds to the log-weight adds up, whoever holds it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from tests.laws import tries

ENGINES = ("exact", "lifted", "bp", "regions", "mean-field", "gibbs")
VALUES = ("ai", "db", "theory")
THEORY = """
type person = {"anna", "bob"}
type paper = {"p"}
predicate smokes(person)
predicate area(paper) in {"ai", "db", "theory"}
predicate alarm
0: smokes(x) and alarm
"""
probabilities = st.sampled_from([0.1, 0.25, 0.5, 0.6, 0.9, 0.999])
opinions = st.lists(st.tuples(st.sampled_from(["smokes", "alarm", *VALUES]), probabilities), max_size=6)


def expected(told: Sequence[tuple[str, float]]) -> dict[str, float]:
    """By products over the values of each atom."""
    found = {}
    for name in ("smokes", "alarm"):
        true = false = 1.0
        for about, p in told:
            if about == name:
                true, false = true * p, false * (1 - p)
        found[name] = true / (true + false)
    shares = dict.fromkeys(VALUES, 1.0)
    for about, p in told:
        if about in VALUES:
            for value in VALUES:
                shares[value] *= p if value == about else (1 - p) / 2
    return found | {value: share / sum(shares.values()) for value, share in shares.items()}


def literal(about: str) -> str:
    return f'area("p") = "{about}"' if about in VALUES else {"smokes": 'smokes("anna")'}.get(about, about)


def answers(result: Any) -> dict[str, float]:
    found = {}
    for row in result.rows():
        if row.predicate == "area":
            found[row.value] = row.probability
        elif row.arguments != ("bob",):
            found[row.predicate] = row.probability
    return found


@pytest.mark.parametrize("engine", ENGINES)
@given(told=opinions)
@settings(max_examples=8, deadline=None)
def test_statements(engine: str, told: list[tuple[str, float]]) -> None:
    text = THEORY + "\n".join(f"{literal(about)} ~ {p}" for about, p in told)
    options = {"samples": 400, "seed": 1} if engine == "gibbs" else {}
    found = answers(hb.Model(hb.parse(text)).infer(engine=engine, **options))
    assert found == pytest.approx(expected(told), abs=0.1 if engine == "gibbs" else 1e-9)


@given(stated=opinions, table=opinions, more=opinions)
@settings(max_examples=tries(10), deadline=None)
def test_statements_tables_and_what_is_given(
    stated: list[tuple[str, float]], table: list[tuple[str, float]], more: list[tuple[str, float]]
) -> None:
    """Equal rows of a table are one; a row and a statement are two."""
    table = [one for one in table if one[0] == "smokes"]
    text = THEORY + "\n".join(f"{literal(about)} ~ {p}" for about, p in stated)
    columns = {"person": ["anna"] * len(table), "probability": [p for _, p in table]}
    model = hb.Model(hb.parse(text), {"smokes": pd.DataFrame(columns)} if table else None)
    given = [f"{literal(about)} ~ {p}" for about, p in more]
    assert answers(model.infer(given=given, engine="exact")) == pytest.approx(
        expected([*stated, *dict.fromkeys(table), *more]), abs=1e-9
    )


@pytest.mark.parametrize("engine", ["bp", "mean-field"])
@given(stated=opinions)
@settings(max_examples=4, deadline=None)
def test_on_a_database(tmp_path_factory: Any, engine: str, stated: list[tuple[str, float]]) -> None:
    folder: Path = tmp_path_factory.mktemp("opinions")
    text = THEORY + "\n".join(f"{literal(about)} ~ {p}" for about, p in stated)
    (folder / "smokes.csv").write_text("person,probability\nanna,0.75\nanna,0.75\nanna,0.6\n")
    model = hb.Model(hb.parse(text), folder / "smokes.csv", on=f"duckdb:{folder}/work.duckdb")
    told = [*stated, ("smokes", 0.75), ("smokes", 0.6)]
    found = model.infer(engine=engine)
    assert answers(found) == pytest.approx(expected(told), abs=1e-6)


@pytest.mark.parametrize("engine", ["exact", "lifted", "bp", "mean-field"])
def test_sure_opinions_that_cancel(engine: str) -> None:
    """Together they are surer than a number below 1 can tell, and yet one against them counts."""
    told = [("alarm", 0.999)] * 20 + [("alarm", 0.001)] * 19
    text = THEORY + "\n".join(f"{literal(about)} ~ {p}" for about, p in told)
    found = answers(hb.Model(hb.parse(text)).infer(engine=engine))
    assert found["alarm"] == pytest.approx(0.999, abs=1e-9)


@pytest.mark.parametrize("algebra", ["probability", "count"])
def test_answers_weigh_all_opinions(algebra: str) -> None:
    theory = hb.parse('likes("u", "a") ~ 0.9\nlikes("u", "a") ~ 0.6\ngood(i) :- likes(u, i)')
    (answer,) = hb.Model(theory, open=["likes"]).query("good(i)", algebra=algebra).rows()
    assert answer.weight == pytest.approx(0.9 * 0.6 / (0.9 * 0.6 + 0.1 * 0.4))


STORED = ("bp", "mean-field")
SETTLED = """
predicate rain
predicate wet
predicate mood in {"good", "bad", "none"}
rain ~ 0.2
mood = "bad" ~ 0.7
1: rain => wet
"""


@pytest.mark.parametrize("fact", ["rain", "not rain", 'rain\nmood = "bad"', 'not rain\nmood = "good"'])
@pytest.mark.parametrize(
    "engine", ["exact", "circuit", "lifted", "regions", *STORED, *map("on {}".format, STORED)]
)
def test_opinions_about_settled_atoms_count_in_log_z(fact: str, engine: str, tmp_path: Path) -> None:
    holds = not fact.startswith("not")
    log_z = math.log(1 + math.e) if holds else 1 + math.log(2)  # of rain => wet
    log_z += math.log(0.2 / 0.8) if holds else 0.0
    shares = {"bad": 0.7 / 0.15, "good": 1.0, "none": 1.0}
    known = [value for value in shares if f'mood = "{value}"' in fact] or list(shares)
    log_z += math.log(sum(shares[value] for value in known))
    on = f"duckdb:{tmp_path}/world.duckdb" if engine.startswith("on ") else None
    engine = engine.removeprefix("on ")
    found = hb.Model(hb.parse(f"{SETTLED}\n{fact}"), on=on).infer(engine=engine, log_partition=True)
    assert found.log_partition == pytest.approx(log_z, abs=1e-9)
