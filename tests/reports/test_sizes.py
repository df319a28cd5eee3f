"""``check``: what it counts, counted by plain loops; what it shows of very many predicates."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

import herbrand as hb
from herbrand.engines.engine import Cost, Refusal
from herbrand.errors import ContradictionError, LanguageError, UnsupportedError
from herbrand.language.theory import Theory
from herbrand.reports.sizes import MOST_ROWS
from tests.laws import tries
from tests.oracles.worlds import Universe
from tests.program_generators import models


@given(models())
@settings(
    max_examples=tries(15),
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_counts_are_those_of_loops(model: tuple[Theory, Universe]) -> None:
    theory, universe = model
    try:
        report = hb.size_report(hb.Model(theory))
    except ContradictionError:
        return
    assert {name: report.constants[name] for name in ("t", "u")} == {
        name: len(universe.domains[name]) for name in ("t", "u")
    }
    for size in report.predicates:
        atoms = [atom for atom in universe.atoms() if atom[0] == size.predicate]
        known = [atom for atom in atoms if len(universe.choices(atom)) == 1]
        assert (size.atoms, size.known) == (len(atoms), len(known))
        assert size.latent == len(atoms) - len(known)
        assert size.world == ("closed" if size.predicate in universe.closed else "open")
    counts = [len(list(universe.bindings(statement))) for statement in theory.formulas]
    assert [count for _, count in report.formulas] == counts
    assert report.auto is not None and isinstance(report.engines[report.auto.name], Cost)


def told(text: str, facts: Any = None, **options: Any) -> dict[str, Any]:
    found = hb.size_report(hb.Model(hb.parse(text), facts), **options).to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    return found


def test_types_that_only_computed_values_have_are_not_listed() -> None:
    assert told('w("a", 2)\np :: k(x) :- w(x, v), p = 1 / v')["constants"] == {"w_1": 1, "w_2": 1}


def test_every_engine_says_what_it_would_cost_or_why_it_cannot() -> None:
    found = told("predicate p(t)\ntype t = 1..3\n1.0: p(x)")
    by_name = {row["engine"]: row for row in found["engines"]}
    assert "--engine circuit" in by_name.pop("circuit")["reason"]
    for row in by_name.values():
        assert row["possible"] and row["guarantee"] in ("exact", "approximation")
        assert row["operations"] >= 0 and row["bytes"] >= 0
    refused = told("predicate p(t)\ntype t = 1..3\n1.0: p(x)", memory=8)["engines"]
    refused = [row for row in refused if row["engine"] != "circuit"]
    assert all(not row["possible"] and "8 B" in row["reason"] and row["guarantee"] is None for row in refused)
    assert told("predicate p(t)\ntype t = 1..3\n1.0: p(x)", memory=8)["auto"] is None


@pytest.mark.parametrize("count", [MOST_ROWS, MOST_ROWS + 1])
def test_very_many_predicates_of_one_atom_are_one_row(count: int) -> None:
    report = hb.size_report(hb.Model(hb.parse("".join(f"1.0: q{number}\n" for number in range(count)))))
    rows = [cells for cells in report.cells() if cells[0].startswith("predicate")]
    assert len(report.predicates) == count
    if count <= MOST_ROWS:
        assert len(rows) == count
    else:
        assert rows == [
            (f"predicates q0 to q{count - 1}", str(count), f"atoms, {count} latent, open world, one each")
        ]
    assert len(report) == len(list(report.cells())) == report.to_arrow().num_rows


@pytest.mark.parametrize("count", [MOST_ROWS, MOST_ROWS + 1])
def test_very_many_types_with_as_many_constants_are_one_row(count: int) -> None:
    lines = [f"predicate q{number} in {{1, 2, 3}}" for number in range(count)]
    lines += ["type other = 1..2", "predicate p(other)", "1.0: p(x)"]
    report = hb.size_report(hb.Model(hb.parse("\n".join(lines))))
    rows = [cells for cells in report.cells() if cells[0].startswith("type")]
    assert len(report.constants) == count + 1 and ("type other", "2", "constants") in rows
    if count <= MOST_ROWS:
        assert len(rows) == count + 1
    else:
        assert (f"types q0 value to q{count - 1} value", "3", f"constants each, {count} types") in rows
        assert len(rows) == 2


def test_what_rules_derive_is_counted() -> None:
    text = "near(x, y) :- road(x, y)\nnear(x, z) :- near(x, y), road(y, z)\n1.0: good(x) and near(x, y)"
    found = told(text, {"road": [("a", "b"), ("b", "c")]})
    sizes = {row["predicate"]: (row["atoms"], row["latent"], row["world"]) for row in found["predicates"]}
    assert sizes == {"near": (9, 0, "closed"), "road": (9, 0, "closed"), "good": (3, 3, "open")}


def test_no_engine_runs_what_infer_refuses_before_any() -> None:
    """Sizes are told without the rules then; the engines were told to run it, as if there were no rules."""
    model = hb.Model(hb.parse('predicate o(k)\npredicate p(k)\no("u")\np(x) :- o(x)\n1.0: p(x)'))
    with pytest.raises(UnsupportedError) as refused:
        model.infer()
    report = hb.size_report(model)
    assert [(size.predicate, size.atoms) for size in report.predicates] == [("o", 1), ("p", 1)]
    assert {row["possible"] for row in report.to_dict()["engines"]} == {False}
    assert {row["reason"] for row in report.to_dict()["engines"]} == {refused.value.mistakes[0].message}


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("1.0: smokes(x) and friends(x, y) => smokes(y)\n0.5: likes(p, 3)", {}),
        ("predicate friends(t, t): observed\npredicate smokes(t)\n1.0: smokes(x) and friends(x, y)", {}),
        ("predicate friends(t, t): observed\n1.0: friends(x, y)", {"open": "friends"}),
        ("1.0: smokes(x) and friends(x, y)", {"closed": "smokes"}),
        ("near(x, y) :- friends(x, y)\n1.0: smokes(x) and near(x, y) => smokes(y)", {}),
        ('predicate mood(t) in {"a", "b"}\npredicate friends(t, t): observed\n1.0: mood(x) = "a"', {}),
    ],
)
def test_declarations_that_are_told_say_the_same_again(text: str, options: dict[str, str]) -> None:
    """Types and worlds, whether they were declared, inferred or chosen for the call."""
    facts = {"friends": [("a", "b"), ("b", "c")]}
    found = hb.size_report(hb.Model(hb.parse(text), facts, **options))
    others = "\n".join(line for line in text.splitlines() if not line.startswith("predicate"))
    again = hb.size_report(hb.Model(hb.parse(found.declarations + others), facts))
    assert (again.constants, again.predicates, again.formulas) == (
        found.constants, found.predicates, found.formulas,
    )  # fmt: skip
    assert again.declarations == found.declarations


@pytest.mark.parametrize("where", ["", " where x != y", " where x = y", ' where x != "c"'])
def test_conditions_drop_groundings(where: str) -> None:
    found = told(f'type t = {{"a", "b", "c"}}\npredicate f(t, t)\n1.0: f(x, y){where}')
    pairs = list(itertools.product("abc", repeat=2))
    kept = {
        "": pairs,
        " where x != y": [p for p in pairs if p[0] != p[1]],
        " where x = y": [p for p in pairs if p[0] == p[1]],
        ' where x != "c"': [p for p in pairs if p[0] != "c"],
    }[where]
    assert found["formulas"][0]["groundings"] == len(kept)


SMOKERS = """
predicate friends(person, person): observed
predicate smokes(person)
predicate cancer(person)
1.5: smokes(x) and friends(x, y) => smokes(y)
0.4: smokes(x) => cancer(x)
"""
FRIENDS = {"friends": [("anna", "bob"), ("bob", "carl")]}


@pytest.mark.parametrize("on", ["memory", "database"])
def test_what_is_given_is_known_and_what_is_asked_decides_who_can(on: str, tmp_path: Path) -> None:
    place = None if on == "memory" else f"duckdb:{tmp_path / 'world.duckdb'}"
    model = hb.Model(hb.parse(SMOKERS), FRIENDS, on=place)
    known = {
        size.predicate: size.known for size in hb.size_report(model, given=['smokes("anna")']).predicates
    }
    assert known == {"friends": 9, "smokes": 1, "cancer": 0}
    with pytest.raises(LanguageError, match="did you mean 'smokes'"):
        hb.size_report(model, query="smoks")
    with pytest.raises(LanguageError, match="expected a formula"):
        hb.size_report(model, query="P(smokes(x))")


def test_engines_of_atoms_refuse_formulas_and_evidence_lowers_costs() -> None:
    model = hb.Model(hb.parse(SMOKERS), FRIENDS)
    everything, formula = hb.size_report(model), hb.size_report(model, query="count(x: smokes(x)) > 1")
    assert isinstance(everything.engines["bp"], Cost) and isinstance(formula.engines["bp"], Refusal)
    given = hb.size_report(model, query="cancer", given='smokes("anna")')
    before, after = everything.engines["exact"], given.engines["exact"]
    assert isinstance(before, Cost) and isinstance(after, Cost)
    assert (after.operations or 0) < (before.operations or 0)


def test_queries_of_bounds_are_those_of_bound() -> None:
    model = hb.Model(hb.parse("P(a) <= 0.3\nP(b | a) >= 0.6\nP(b | not a) <= 0.2"))
    costs = []
    for query in ((), "P(b)", ["P(a)", "P(b | not a)"]):
        network = hb.size_report(model, query=query).network
        assert network is not None
        cost = network.engines["exact"]
        assert isinstance(cost, Cost)
        costs.append(cost.operations or 0)
    assert costs[1] < costs[0] <= costs[2]
    with pytest.raises(LanguageError, match="no predicate 'zz'"):
        hb.size_report(model, query="P(zz)")
