"""Programs of operations: in memory and on a database they give what plain loops over rows give."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from herbrand.relations.database import DuckDB
from herbrand.relations.expression import (
    DTYPES,
    Expression,
    Kind,
    cast,
    choose,
    column,
    exp,
    greater,
    lesser,
    log,
    magnitude,
)
from herbrand.relations.fold import Fold, count, largest, least, log_sum, some, total
from herbrand.relations.memory import Memory
from herbrand.relations.relation import Relation
from herbrand.relations.stored import Scratch
from tests.laws import tries

Row = dict[str, Any]
KINDS: dict[str, Kind] = {"a": "int", "b": "int", "t": "text", "x": "float", "p": "bool"}
SMALL = st.integers(-2, 3)
WIDE = st.sampled_from([-(2**40), 2**40, 2**62, -(2**62)])
FLOATS = st.sampled_from([0.0, -0.0, 0.5, -1.25, 3.0, 1e9, math.inf, -math.inf])
TEXTS = st.sampled_from(["", "a", "A", "it's", 'say "hi"', "a\\b", "é", "ab\n"])
ROWS = st.lists(
    st.fixed_dictionaries({"a": SMALL | WIDE, "b": SMALL, "t": TEXTS, "x": FLOATS, "p": st.booleans()}),
    max_size=8,
)


def divided(x: float, y: float) -> float:
    if y:
        return x / y
    return math.nan if x == 0 else math.copysign(math.inf, x) * math.copysign(1, y)


def log_of(x: float) -> float:
    return math.log(x) if 0 < x < math.inf else x if x > 0 else -math.inf if x == 0 else math.nan


COMPUTED: list[tuple[str, Expression, Callable[[Row], Any]]] = [
    ("n", column("b") * 3 - 1, lambda r: r["b"] * 3 - 1),
    ("n", 2 - column("b"), lambda r: 2 - r["b"]),
    ("n", -column("b"), lambda r: -r["b"]),
    ("n", column("a") // 7, lambda r: r["a"] // 7),
    ("n", column("a") % 7, lambda r: r["a"] % 7),
    ("n", column("b") + column("x"), lambda r: r["b"] + r["x"]),
    ("n", column("x") / column("b"), lambda r: divided(r["x"], r["b"])),
    ("n", column("b") / 2, lambda r: r["b"] / 2),
    ("n", exp(lesser(column("x"), 5.0)), lambda r: math.exp(min(r["x"], 5.0))),
    ("n", log(magnitude(column("x"))), lambda r: log_of(abs(r["x"]))),
    ("n", log(column("b")), lambda r: log_of(r["b"])),
    ("n", greater(column("a"), column("b"), 1), lambda r: max(r["a"], r["b"], 1)),
    ("n", greater(column("b"), 0.5), lambda r: float(max(r["b"], 0.5))),
    ("n", choose(column("p"), column("x"), column("b")), lambda r: r["x"] if r["p"] else float(r["b"])),
    ("n", choose(column("x") > 0, "up", column("t")), lambda r: "up" if r["x"] > 0 else r["t"]),
    ("n", choose(column("p"), "yes", "no"), lambda r: "yes" if r["p"] else "no"),
    ("n", cast(column("p"), "int") + 1, lambda r: int(r["p"]) + 1),
    ("n", cast(column("a"), "text"), lambda r: str(r["a"])),
    ("n", cast(column("b"), "float") * 0.5, lambda r: r["b"] * 0.5),
    ("n", (column("a") <= column("b")) & ~column("p"), lambda r: r["a"] <= r["b"] and not r["p"]),
    ("n", (column("t") == "a") | (column("t") > "it's"), lambda r: r["t"] == "a" or r["t"] > "it's"),
    ("n", column("b") != column("x"), lambda r: r["b"] != r["x"]),
    ("n", column("b") * 0 + 4, lambda r: 4),
]
"""An expression, and the same in Python."""


def log_total(values: list[float]) -> float:
    peak = max(values)
    return peak if math.isinf(peak) else peak + math.log(math.fsum(math.exp(v - peak) for v in values))


FOLDED: dict[str, tuple[Fold, Callable[[list[Row]], Any]]] = {
    "n0": (count(), len),
    "n1": (total(column("b")), lambda rows: sum(r["b"] for r in rows)),
    "n2": (total(column("b") * 0.5), lambda rows: sum(r["b"] * 0.5 for r in rows)),
    "n3": (largest(column("x")), lambda rows: max(r["x"] for r in rows)),
    "n4": (least(column("t")), lambda rows: min(r["t"] for r in rows)),
    "n5": (some(column("p")), lambda rows: any(r["p"] for r in rows)),
    "n6": (log_sum(column("x")), lambda rows: log_total([r["x"] for r in rows])),
    "n7": (least(column("a")), lambda rows: min(r["a"] for r in rows)),
}

KEYS = st.lists(st.sampled_from(sorted(KINDS)), unique=True, max_size=4)


def rounded(row: tuple[Any, ...]) -> str:
    return repr([f"{x + 0.0:.9g}" if isinstance(x, float) else x for x in row])


def listed(rows: list[Row], names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name] for name in names) for row in rows)


def assert_rows(found: Relation, wanted: list[Row]) -> None:
    """Equal as bags; floats up to rounding, nan like nan."""
    rows, expected = found.rows(), listed(wanted, found.columns)
    assert len(rows) == len(expected) == found.count()
    for left, right in zip(sorted(rows, key=rounded), sorted(expected, key=rounded), strict=True):
        for one, other in zip(left, right, strict=True):
            assert type(one) is type(other), (left, right)
            if isinstance(one, float):
                assert one == pytest.approx(other, rel=1e-12, nan_ok=True)
            else:
                assert one == other


@pytest.fixture(scope="module")
def scratch() -> Iterator[Scratch]:
    with DuckDB() as database, Scratch(database) as found:
        yield found


def both(rows: list[Row], scratch: Scratch, kinds: dict[str, Kind] = KINDS) -> Iterator[Relation]:
    memory = Memory.of(
        **{name: np.array([row[name] for row in rows], DTYPES[kind]) for name, kind in kinds.items()}
    )
    yield memory
    yield scratch.put(memory)


PLAIN = settings(
    max_examples=tries(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@PLAIN
@given(rows=ROWS, which=st.integers(0, len(COMPUTED) - 1))
def test_expressions(scratch: Scratch, rows: list[Row], which: int) -> None:
    name, expression, meaning = COMPUTED[which]
    for relation in both(rows, scratch):
        assert_rows(relation.let(**{name: expression}), [{**row, name: meaning(row)} for row in rows])


@pytest.mark.parametrize("which", range(len(COMPUTED)))
def test_every_expression(scratch: Scratch, which: int) -> None:
    name, expression, meaning = COMPUTED[which]
    rows = [
        {"a": a, "b": b, "t": t, "x": x, "p": p}
        for a, b, t, x, p in [
            (-8, 0, "it's", 0.0, True),
            (7, 2, "a", -math.inf, False),
            (2**62, -3, "é", 2.5, True),
            (0, 1, "", math.inf, False),
        ]
    ]
    for relation in both(rows, scratch):
        assert_rows(relation.let(**{name: expression}), [{**row, name: meaning(row)} for row in rows])


@PLAIN
@given(rows=ROWS, by=KEYS)
def test_groups(scratch: Scratch, rows: list[Row], by: list[str]) -> None:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    wanted = [
        {**dict(zip(by, key, strict=True)), **{name: fold(group) for name, (_, fold) in FOLDED.items()}}
        for key, group in groups.items()
    ]
    for relation in both(rows, scratch):
        found = relation.group(by, **{name: fold for name, (fold, _) in FOLDED.items()})
        assert_rows(found, wanted)
        assert_rows(relation.only(*by).distinct(), [dict(zip(by, key, strict=True)) for key in groups])
        assert relation.scalar(count()) == len(rows)


@PLAIN
@given(rows=ROWS, others=ROWS, on=KEYS)
def test_joins(scratch: Scratch, rows: list[Row], others: list[Row], on: list[str]) -> None:
    def right_name(name: str) -> str:
        return name if name in on else f"{name}_2"

    def agree(left: Row, right: Row) -> bool:
        return all(left[name] == right[name] for name in on)

    added = {name: f"{name}_2" for name in KINDS if name not in on}
    otherwise = {"a_2": 7, "b_2": -1, "t_2": "none", "x_2": 0.25, "p_2": True}
    otherwise = {name: value for name, value in otherwise.items() if name in added.values()}
    pairs = [
        {**left, **{added[n]: right[n] for n in added}}
        for left in rows
        for right in others
        if agree(left, right)
    ]
    alone = [row for row in rows if not any(agree(row, other) for other in others)]
    for left, right in zip(both(rows, scratch), both(others, scratch), strict=True):
        right = right.renamed(**{new: old for old, new in added.items()})
        assert_rows(left.join(right, on), pairs)
        assert_rows(
            left.left_join(right, on, **otherwise), [*pairs, *({**row, **otherwise} for row in alone)]
        )
        assert_rows(left.without(right, on), alone)
        assert_rows(left.matching(right, on), [row for row in rows if row not in alone])


STEPS = st.lists(
    st.sampled_from(["where", "let", "stack", "distinct", "kept", "group", "self join", "without"]),
    max_size=5,
)


@PLAIN
@given(rows=ROWS, steps=STEPS)
def test_programs(scratch: Scratch, rows: list[Row], steps: list[str]) -> None:
    relations, wanted = list(both(rows, scratch)), rows
    for step in steps:
        if step == "where":
            relations = [r.where((column("b") > 0) | column("p")) for r in relations]
            wanted = [row for row in wanted if row["b"] > 0 or row["p"]]
        elif step == "let":
            relations = [r.let(a=column("b"), b=lesser(column("a"), 2)) for r in relations]
            wanted = [{**row, "a": row["b"], "b": min(row["a"], 2)} for row in wanted]
        elif step == "stack":
            relations = [r.stack(r.where(column("p"))) for r in relations]
            wanted = wanted + [row for row in wanted if row["p"]]
        elif step == "distinct":
            relations = [r.distinct() for r in relations]
            wanted = list({tuple(row[n] for n in KINDS): row for row in wanted}.values())
        elif step == "kept":
            relations = [r.kept() for r in relations]
        elif step == "group":
            relations = [
                r.group(["t", "p"], a=largest(column("a")), b=least(column("b")), x=largest(column("x")))
                for r in relations
            ]
            groups: dict[tuple[Any, ...], list[Row]] = {}
            for row in wanted:
                groups.setdefault((row["t"], row["p"]), []).append(row)
            wanted = [
                {
                    "t": t,
                    "p": p,
                    "a": max(r["a"] for r in group),
                    "b": min(r["b"] for r in group),
                    "x": max(r["x"] for r in group),
                }
                for (t, p), group in groups.items()
            ]
        elif step == "self join":
            keys = [r.group(["b"], a=largest(column("a"))) for r in relations]
            relations = [
                r.only("b", "t", "x", "p").join(k, ["b"]) for r, k in zip(relations, keys, strict=True)
            ]
            wanted = [{**row, "a": max(r["a"] for r in wanted if r["b"] == row["b"])} for row in wanted]
        else:
            relations = [r.without(r.where(column("p")), ["a", "t"]) for r in relations]
            out = {(row["a"], row["t"]) for row in wanted if row["p"]}
            wanted = [row for row in wanted if (row["a"], row["t"]) not in out]
    for relation in relations:
        assert_rows(relation, wanted)
