"""Rules over few rows in plain loops: the same as joins of columns, and as a sum over worlds."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

import herbrand as hb
from herbrand.budget import Budget
from herbrand.errors import HerbrandError, OutOfTimeError
from herbrand.program import few_rows
from herbrand.program.clause_rows import ClauseRows
from herbrand.program.clauses import Clause, Lookup
from tests.program.conftest import ROADS, evaluated_by

OPERATIONS = ("{x} + {k}", "{x} - {k}", "{x} * {k}", "-({x}) + {k}", "abs({x} - {k})", "min({x}, {k}) + 1")
OPERATIONS += ("max({x}, {k}) - 2", "({x} * 3 + {k}) % 5", "({x} - 9) // {k}")
LEAST, MOST = -2, 3


def _value(operation: str, x: int, k: int) -> int:
    return eval(operation.format(x=f"({x})", k=k), {"abs": abs, "min": min, "max": max})


def _recursion(rng: random.Random) -> tuple[str, list[tuple[float, int | None, int]], str]:
    """A program, its choices (probability, from, to), and how ``pair`` combines two numbers."""
    starts = [(round(rng.uniform(0.1, 0.9), 2), rng.randint(LEAST, MOST)) for _ in range(2)]
    steps = [
        (round(rng.uniform(0.1, 0.9), 2), rng.choice(OPERATIONS), rng.choice([1, 2, -3])) for _ in range(1)
    ]
    combined = rng.choice(["{x} + {y}", "{x} * {y}", "{x} - {y}"])
    choices: list[tuple[float, int | None, int]] = [(p, None, value) for p, value in starts]
    lines = [f"type n = {LEAST}..{MOST}", *(f"{p} :: at({value})" for p, value in starts)]
    for p, operation, k in steps:
        lines.append(f"{p} :: at(y) :- at(x), y = {operation.format(x='x', k=k)}")
        reached = [(x, _value(operation, x, k)) for x in range(LEAST, MOST + 1)]
        choices += [(p, x, y) for x, y in reached if LEAST <= y <= MOST]
    lines.append(f"pair(z) :- at(x), at(y), x < y, z = {combined.format(x='x', y='y')}")
    lines.append("alone(x) :- at(x), not pair(x)")
    types = "predicate at(n)\npredicate pair(n)\npredicate alone(n)\n"
    return types + "\n".join(lines), choices, combined


def _summed(choices: list[tuple[float, int | None, int]], combined: str) -> dict[str, float]:
    """The probability of every atom, world by world."""
    found: dict[str, float] = {}
    for made in product([True, False], repeat=len(choices)):
        weight, at = 1.0, set[int]()
        for holds, (p, _, _) in zip(made, choices, strict=True):
            weight *= p if holds else 1 - p
        while more := {
            to for holds, (_, start, to) in zip(made, choices, strict=True)
            if holds and (start is None or start in at) and to not in at
        }:  # fmt: skip
            at |= more
        pairs = {eval(combined.format(x=f"({x})", y=f"({y})")) for x in at for y in at if x < y}
        pairs = {z for z in pairs if LEAST <= z <= MOST}
        atoms = [("at", at), ("pair", pairs), ("alone", at - pairs)]
        for text in (f"{name}({value})" for name, values in atoms for value in values):
            found[text] = found.get(text, 0.0) + weight
    return found


@pytest.mark.parametrize("seed", range(40))
def test_recursion_over_numbers_is_a_sum_over_worlds(seed: int) -> None:
    text, choices, combined = _recursion(random.Random(seed))
    expected = _summed(choices, combined)
    for road in ROADS:
        with evaluated_by(road):
            rows = hb.Model(hb.parse(text)).infer(["at(x)", "pair(x)", "alone(x)"]).rows()
            found = {row.atom: row.probability for row in rows if row.probability}
        assert found == pytest.approx({a: p for a, p in expected.items() if p}, abs=1e-12), (road, text)


COUNTDOWN = """
    0.5 :: left(10)
    0.8 :: left(y) :- left(x), x > 0, y = x - 1
"""


def test_numbers_are_made_without_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> Any:
        raise AssertionError("few rows need no join of columns")

    monkeypatch.setattr(ClauseRows, "of", none)
    found = hb.Model(hb.parse(COUNTDOWN)).infer("left(x)")
    assert found["left(7)"] == pytest.approx(0.5 * 0.8**3)
    assert len(list(found.rows())) == 11


def test_recursion_of_many_rounds_is_few_where_each_of_them_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClauseRows, "of", None)
    text = "predicate at(n)\nat(4000)\nat(y) :- at(x), x > 0, y = x - 1"
    assert len(hb.Model(hb.parse(text)).program.facts.tables["at"].true) == 4001


@pytest.mark.parametrize("limit", ["MOST_AT_ONCE", "MORE_COMPUTED"])
def test_rows_that_are_many_at_once_are_left_to_columns(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(few_rows, limit, 3)
    monkeypatch.setattr(few_rows, "MOST_WORK", 20)
    text = "predicate at(n)\nat(50)\nat(y) :- at(x), x > 0, y = x - 1"
    assert len(hb.Model(hb.parse(text)).program.facts.tables["at"].true) == 51


def test_rows_a_step_apart_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work grows with the steps, not with their square: in both directions, and where a row is missing."""
    monkeypatch.setattr(ClauseRows, "of", None)
    monkeypatch.setattr(few_rows, "MORE_COMPUTED", 50)
    steps = [(n,) for n in range(600)]
    for rule in ("at(y) :- at(x), tick(y), y = x + 1", "at(y) :- tick(y), at(x), x = y - 1, y != 400"):
        theory = hb.parse(f"predicate tick(n): observed\npredicate at(n)\nat(0)\n{rule}")
        found = hb.Model(theory, {"tick": steps}).program.facts.tables["at"].true
        assert len(found) == (400 if "400" in rule else 600)


def test_loops_ask_the_clock() -> None:
    text = "predicate at(n)\nat(50)\nat(y) :- at(x), x > 0, y = x - 1"
    program = hb.Model(hb.parse(text)).program
    clause = Clause("at", ("x",), (Lookup("at", ("x",)),), {"x": "n"})
    few = few_rows.FewRows(program.signature, program.facts, Budget(seconds=0.0))
    with pytest.raises(OutOfTimeError):
        few.complete([few_rows.Derivation(clause)])


NOT_FEW = {
    "fractions": ("out(y) :- v(x), y = x / 2", [(1,), (4,)], {0.5, 2}),
    "text": ('out(y) :- w(x), y = x + 1', [("2026-11-26",)], {"2026-11-27"}),
    "aggregates": ("out(s) :- v(x), s = sum(y: v(y))", [(1,), (4,)], {5}),
    "large numbers": ("out(y) :- v(x), y = x - 1", [(2**53 + 2,)], {2**53 + 1}),
    "much work": ("out(s) :- v(x), v(y), v(z), s = x + y + z", [(n,) for n in range(30)], set(range(88))),
}  # fmt: skip


@pytest.mark.parametrize("why", NOT_FEW)
def test_what_is_not_few_is_left_to_columns(why: str) -> None:
    rule, rows, expected = NOT_FEW[why]
    name = "w" if "w(" in rule else "v"
    found = hb.Model(hb.parse(rule), {name: rows}).query("out(x)").to_dict()["answers"]
    assert {row["bindings"]["x"] for row in found} == expected


def test_what_is_wrong_is_told_as_by_columns() -> None:
    text = "type n = number\npredicate v(n): observed\npredicate out(n)\nout(y) :- v(x), y = 6 // x"
    told = []
    for road in ROADS:
        with evaluated_by(road), pytest.raises(HerbrandError) as error:
            hb.Model(hb.parse(text), {"v": [(0,), (3,)]}).query("out(y)")
        told.append(str(error.value))
    assert told[0] == told[1]
    assert "division by zero for x = 0" in told[0]


@pytest.mark.parametrize("road", ROADS, indirect=True)
def test_a_head_ranges_over_numbers_that_are_made(road: str) -> None:
    """A variable that no atom binds has all constants of its type, new ones too."""
    text = """
        type n = number
        predicate v(n): observed
        predicate next(n)
        predicate any(n)
        next(y) :- v(x), x < 4, y = x + 1
        any(z) :- next(x), w = x + 1
    """
    found = hb.Model(hb.parse(text), {"v": [(1,), (2,)]}).infer("any(z)").rows()
    assert sorted(row.arguments[0] for row in found if row.probability == 1) == [1, 2, 3]


@pytest.mark.parametrize("road", ROADS, indirect=True)
def test_all_constants_of_a_type_that_has_got_some(road: str) -> None:
    """What ranges over a type finds the made numbers, each once, when a later definition needs it."""
    text = """
        predicate p(n): observed
        predicate r(n)
        predicate any(n)
        predicate q(m)
        r(y) :- p(x), y = x + 1
        any(z) :- r(y)
        q(w) :- any(z), w = z * 2
    """
    found = hb.Model(hb.parse(text), {"p": [(1,), (5,)]}).infer(["any", "q"]).rows()
    held = {(row.predicate, row.arguments[0]) for row in found if row.probability == 1}
    assert held == {*(("any", n) for n in (1, 2, 5, 6)), *(("q", 2 * n) for n in (1, 2, 5, 6))}
