"""Facts with so many columns over so many constants that 64 bits do not number the possible rows.

Eight columns over 256 constants are 2^64 rows, five over 12,000 are more. Each answer is that of the same
theory with the facts' first two columns alone, which number well.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import herbrand as hb
from herbrand.errors import BudgetError

CONSTANTS = 256
COLUMNS = 8
ROWS = [tuple(f"c{(37 * i + 11 * j) % CONSTANTS:03}" for j in range(COLUMNS)) for i in range(6)]
FACTS = {"name": [f"c{i:03}" for i in range(CONSTANTS)]}
WIDE = {**FACTS, "event": ROWS}
NARROW = {**FACTS, "event": [row[:2] for row in ROWS]}

TYPES = ", ".join(["c"] * COLUMNS)
REST = ", ".join(f"r{place}" for place in range(COLUMNS - 2))
DECLARED = "predicate event({types}): observed\npredicate name(c): observed\npredicate busy(c)\n"
FORMULAS = "1.5: event({xy}) and busy(x) => busy(y)\n-0.3: busy(x)\n"


def wide(text: str) -> str:
    return text.format(types=TYPES, xy=f"x, y, {REST}", yx=f"y, x, {REST}")


def narrow(text: str) -> str:
    return text.format(types="c, c", xy="x, y", yx="y, x")


def both(text: str) -> tuple[hb.Model, hb.Model]:
    return hb.Model(hb.parse(wide(text)), WIDE), hb.Model(hb.parse(narrow(text)), NARROW)


def row_of(row: tuple[str, ...]) -> str:
    return ", ".join(f'"{constant}"' for constant in row)


def probabilities(model: hb.Model, **options: Any) -> list[float]:
    asked = [f'busy("{constant}")' for constant in ROWS[0][:3]]
    return [row.probability for row in model.infer(asked, **options).rows()]


def weights(theory: str) -> list[float]:
    return [float(weight) for weight in re.findall(r"^(-?[\d.e-]+):", theory, re.MULTILINE)]


@pytest.mark.parametrize("engine", ["exact", "lifted", "regions", "bp", "mean-field", "auto"])
def test_marginals(engine: str) -> None:
    model, smaller = both(DECLARED + FORMULAS)
    assert probabilities(model, engine=engine) == pytest.approx(probabilities(smaller, engine=engine), 1e-6)


def test_sampling() -> None:
    model, smaller = both(DECLARED + FORMULAS)
    options = {"engine": "gibbs", "samples": 50, "seed": 3}
    assert probabilities(model, **options) == probabilities(smaller, **options)


def test_most_probable_world_and_reasons() -> None:
    model, smaller = both(DECLARED + FORMULAS)
    asked = f'busy("{ROWS[0][1]}")'
    assert model.infer(map=True)[asked] == smaller.infer(map=True)[asked]
    assert str(model.explain(asked)).splitlines()[0] == str(smaller.explain(asked)).splitlines()[0]


def test_evidence_of_a_wide_fact() -> None:
    model, smaller = both(DECLARED + FORMULAS)
    given, less = (f"event({row_of(row)})" for row in (ROWS[0][:1] * COLUMNS, ROWS[0][:1] * 2))
    assert probabilities(model, given=given) == pytest.approx(probabilities(smaller, given=less))
    assert model.infer(f"event({row_of(ROWS[0])})", given=given).to_dict()["marginals"][0]["probability"] == 1


@pytest.mark.parametrize("engine", ["exact", "ariel"])
def test_bounds(engine: str) -> None:
    text = (
        "predicate event({types}): observed\npredicate busy(c)\n"
        "P(busy(x)) in [0.2, 0.4]\nP(busy(y) | busy(x) and event({xy})) in [0.5, 0.6]\n"
    )
    query = f'P(busy("{ROWS[0][1]}") and busy("{ROWS[0][0]}"))'
    models = (
        hb.Model(hb.parse(wide(text)), {"event": ROWS}),
        hb.Model(hb.parse(narrow(text)), {"event": NARROW["event"]}),
    )
    one, other = (next(model.bound(query, engine=engine).rows()) for model in models)
    assert (one.lower, one.upper) == pytest.approx((other.lower, other.upper))


RULES = """predicate event({types}): observed
near({xy}) :- event({xy})
near({xy}) :- event({yx})
chain({xy}) :- near({xy})
chain({xy}) :- chain({yx})
first(x) :- event({xy})
back(x, y) :- event({xy}), not event({yx})
"""


@pytest.mark.parametrize(
    ("goal", "options"),
    [
        ("event({xy})", {}),
        ("near({xy})", {}),
        ("first(x)", {}),
        ("back(x, y)", {}),
        ("chain({xy})", {"algebra": "boolean", "depth": "fixpoint"}),
        ("chain({xy})", {"algebra": "max", "depth": "fixpoint"}),
        ("chain({xy})", {"algebra": "probability", "depth": 4}),
        ("chain({xy})", {"depth": 4}),
    ],
)
def test_queries(goal: str, options: dict) -> None:
    text = RULES.replace("predicate event({types}): observed\n", "")
    models = (
        hb.Model(hb.parse(wide(text)), {"event": ROWS}),
        hb.Model(hb.parse(narrow(text)), {"event": NARROW["event"]}),
    )
    one = models[0].query(wide(goal), **options)
    other = models[1].query(narrow(goal), **options)
    names = [name for name in ("x", "y") if name in other.variables]
    found, expected = (
        sorted((*(row.bindings[name] for name in names), row.weight) for row in answer.rows())
        for answer in (one, other)
    )
    assert found == expected and len(found) >= len(ROWS)


def test_a_fact_asked_for_and_its_reasons() -> None:
    model = hb.Model(
        hb.parse(wide(RULES.replace("predicate event({types}): observed\n", ""))), {"event": ROWS}
    )
    assert model.query(f"event({row_of(ROWS[3])})").weight == 1
    assert model.query(f"near({row_of(ROWS[3])})").weight == 1
    assert model.query(f"near({row_of(tuple(reversed(ROWS[3])))})").weight == 0
    assert "1.0000" in str(model.explain(f'first("{ROWS[0][0]}")'))


def test_derived_facts_feed_formulas() -> None:
    text = (
        DECLARED
        + FORMULAS.replace("event", "near")
        + ("predicate near({types})\nnear({xy}) :- event({xy})\nnear({xy}) :- event({yx})\n")
    )
    model, smaller = both(text)
    assert probabilities(model) == pytest.approx(probabilities(smaller))


@pytest.mark.parametrize("method", ["pseudo-likelihood", "layers"])
def test_learning(method: str) -> None:
    text = DECLARED + FORMULAS.replace("1.5", "?").replace("-0.3", "?")
    more = {"busy": sorted({*ROWS[0][:2], *ROWS[2][:2], "c007"})}
    one = hb.Model(hb.parse(wide(text)), {**WIDE, **more})
    other = hb.Model(hb.parse(narrow(text)), {**NARROW, **more})
    learned = [weights(model.learn(method, target="busy", iterations=20).text) for model in (one, other)]
    assert learned[0] == pytest.approx(learned[1], abs=1e-6)


def test_check_and_compare() -> None:
    model, smaller = both(DECLARED + FORMULAS)
    assert len(list(hb.size_report(model).cells())) == len(list(hb.size_report(smaller).cells()))
    asked = f'busy("{ROWS[0][1]}")'
    found, expected = (hb.compare(each, ["exact", "bp"], query=asked) for each in (model, smaller))
    assert next(iter(found.cells())) == next(iter(expected.cells()))


@pytest.mark.parametrize("engine", ["mean-field", "bp"])
def test_on_a_database(engine: str, tmp_path: Path) -> None:
    text = wide(DECLARED + FORMULAS)
    stored = hb.Model(hb.parse(text), WIDE, on=f"duckdb:{tmp_path}/wide.duckdb")
    here = hb.Model(hb.parse(text), WIDE)
    assert probabilities(stored, engine=engine) == pytest.approx(probabilities(here, engine=engine), abs=1e-3)


def test_queries_bounds_and_learning_on_a_database(tmp_path: Path) -> None:
    place = f"duckdb:{tmp_path}/wide.duckdb"
    rules = wide(RULES.replace("predicate event({types}): observed\n", ""))
    answers = hb.Model(hb.parse(rules), {"event": ROWS}, on=place).query("back(x, y)")
    assert sorted(row.bindings["x"] for row in answers.rows()) == sorted(row[0] for row in ROWS)
    bounds = wide(
        "predicate event({types}): observed\npredicate busy(c)\n"
        "P(busy(x)) in [0.2, 0.4]\nP(busy(y) | busy(x) and event({xy})) in [0.5, 0.6]\n"
    )
    found = hb.Model(hb.parse(bounds), {"event": ROWS}, on=f"duckdb:{tmp_path}/bounds.duckdb").bound(
        f'P(busy("{ROWS[0][1]}"))'
    )
    assert next(found.rows()).upper == pytest.approx(0.4)
    learned = wide(DECLARED + FORMULAS.replace("1.5", "?").replace("-0.3", "?"))
    facts = {**WIDE, "busy": [ROWS[0][0], ROWS[0][1]]}
    one, other = (
        hb.Model(hb.parse(learned), facts, on=on).learn(target="busy")
        for on in (None, f"duckdb:{tmp_path}/learn.duckdb")
    )
    assert weights(one.text) == pytest.approx(weights(other.text), rel=1e-3)
    assert "2e+19 groundings" in str(one.reason)
    with pytest.raises(BudgetError, match="lost by rounding"):
        hb.Model(hb.parse(learned), facts).learn("likelihood", target="busy")


def test_an_open_wide_predicate() -> None:
    """Mean field lists what the facts single out; other engines refuse plainly."""
    text = DECLARED + "predicate seen({types})\n1.5: event({xy}) and seen({xy}) and busy(x) => busy(y)\n"
    model, smaller = both(text)
    assert probabilities(model, engine="mean-field") == pytest.approx(
        probabilities(smaller, engine="mean-field")
    )
    assert (
        0 < model.infer(f"seen({row_of(ROWS[0])})", engine="mean-field").tables[0].probabilities[0, 1] < 0.5
    )
    for engine in ("exact", "bp", "gibbs", "regions"):
        with pytest.raises(hb.HerbrandError, match=r"latent ground atoms"):
            model.infer(engine=engine)


def test_contradictions_are_named() -> None:
    model = hb.Model(
        hb.parse(
            wide("predicate event({types})\n") + f"event({row_of(ROWS[0])})\nnot event({row_of(ROWS[0])})"
        )
    )
    with pytest.raises(hb.HerbrandError, match="is false, but"):
        model.infer()
    twelve_thousand = {"link": [tuple(f"n{i}" for _ in range(5)) for i in range(12_000)]}
    assert (
        len(hb.Model(hb.parse("first(x) :- link(x, _, _, _, _)"), twelve_thousand).query("first(x)"))
        == 12_000
    )
