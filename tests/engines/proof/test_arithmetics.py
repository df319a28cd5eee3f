"""What proofs are counted in: each algebra's sums and products beside plain loops, and what each refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.budget import Budget
from herbrand.contraction.algebra import algebra_named
from herbrand.contraction.algebras import counting
from herbrand.engines.proof.arithmetic import Numbers
from herbrand.engines.proof.horn_program import IndexedFacts
from herbrand.engines.proof.request import Request
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.relations.database import DuckDB
from herbrand.relations.expression import column
from herbrand.relations.memory import Memory
from herbrand.relations.relation import Relation as Rows
from herbrand.relations.stored import Scratch
from tests.engines.proof.test_against_proofs import told
from tests.laws import tries

quick = settings(deadline=None, max_examples=tries(40))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
PLUS: dict[str, Callable[[float, float], float]] = {
    "real": lambda a, b: a + b,
    "max_product": max,
    "boolean": max,
    "counting": lambda a, b: a + b,
    "independent": lambda a, b: a + b - a * b,
    "maximum": max,
    "log": lambda a, b: math.log(math.exp(a) + math.exp(b)),
}
"""⊕ of each algebra, by plain numbers."""


@pytest.mark.parametrize("name", PLUS)
@quick
@given(seeds)
def test_sums_of_groups(name: str, rng: np.random.Generator) -> None:
    kind, plus = Numbers.of(name), PLUS[name]
    groups = np.repeat(np.arange(5), rng.integers(1, 4, 5))
    numbers = rng.integers(1, 5, len(groups)) if name == "counting" else rng.random(len(groups))
    values = numbers.astype(object) if name == "counting" else numbers
    expected = [reduce(plus, numbers[groups == group].tolist()) for group in range(5)]
    assert kind.group(values, groups, 5).tolist() == pytest.approx(expected)
    assert kind.group(values[:0], groups[:0], 0).tolist() == []
    zero, one = kind.algebra.zero, kind.algebra.one
    assert kind.nonzero(np.array([zero, one, one], values.dtype)).tolist() == [False, True, True]
    assert kind.concatenate([values[:1], values[1:]]).tolist() == values.tolist()
    assert kind.ones(2).tolist() == [one, one] and kind.ones(2).dtype == values.dtype


@pytest.mark.parametrize("name", PLUS)
@quick
@given(seeds)
def test_each_is_a_semiring_over_arrays(name: str, rng: np.random.Generator) -> None:
    """``independent`` is one over 0 and 1 alone: between them ⊗ does not distribute over its ⊕."""
    kind = Numbers.of(name)
    whole = {"boolean": 2, "independent": 2}.get(name, 5)
    numbers = rng.integers(0, whole, (3, 20))
    a, b, c = numbers.astype(object) if name == "counting" else numbers.astype(float)
    zero, one = np.full(20, kind.algebra.zero, a.dtype), kind.ones(20)

    def plus(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return kind.group(np.stack([left, right], axis=1).reshape(-1), np.repeat(np.arange(20), 2), 20)

    def same(left: np.ndarray, right: np.ndarray) -> None:
        assert left.tolist() == pytest.approx(right.tolist(), rel=1e-12)

    for operation in (plus, kind.multiply):
        same(operation(a, b), operation(b, a))
        same(operation(operation(a, b), c), operation(a, operation(b, c)))
    same(plus(a, zero), a)
    same(a, kind.multiply(a, one))
    same(kind.multiply(a, zero), zero)
    if kind.algebra.folds is not None:
        same(plus(a, b), kind.algebra.pair(a, b))
        assert kind.algebra.idempotent == (kind.algebra.pair(3, 3) == 3)
    same(kind.multiply(a, plus(b, c)), plus(kind.multiply(a, b), kind.multiply(a, c)))


def test_an_algebra_says_whether_products_distribute() -> None:
    """A half of two halves: 3/8 at once, 7/16 apart."""
    half, both = np.full(2, 0.5), np.zeros(2, np.int64)
    for name in PLUS:
        kind = Numbers.of(name)
        values = half if name != "counting" else np.array([2, 2], dtype=object)
        at_once = kind.multiply(values[:1], kind.group(values, both, 1))
        apart = kind.group(kind.multiply(values[[0, 0]], values), both, 1)
        assert (at_once.tolist() == pytest.approx(apart.tolist())) == kind.algebra.distributes


@pytest.mark.parametrize("name", [name for name in PLUS if algebra_named(name).folds])
@quick
@given(seeds)
def test_arrays_and_relations_agree(name: str, rng: np.random.Generator) -> None:
    """The sum of products of groups: by arrays, by relations in memory, and by SQL."""
    size = int(rng.integers(1, 20))
    kind, algebra = Numbers.of(name), algebra_named(name)
    assert algebra.value(algebra.one) == kind.ones(1)[0]
    left, right = rng.integers(0, 2, (2, size)) * (1.0 if name == "boolean" else rng.random((2, size)))
    if name == "counting":
        left, right = rng.integers(-5, 5, (2, size))
    groups = np.sort(rng.integers(0, 4, size))
    there, own = np.unique(groups, return_inverse=True)
    rows = [values.astype(object) if name == "counting" else values for values in (left, right)]
    expected = dict(zip(there.tolist(), kind.group(kind.multiply(*rows), own, len(there)), strict=True))
    as_truth = name == "boolean"
    memory = Memory.of(g=groups, l=left > 0 if as_truth else left, r=right > 0 if as_truth else right)

    def summed(rows: Rows) -> dict[int, float]:
        products = rows.select(g=column("g"), v=algebra.times(column("l"), column("r")))
        found = products.group(["g"], v=algebra.fold(column("v"))).arrays()
        return dict(zip(found["g"].tolist(), found["v"].tolist(), strict=True))

    wanted = {group: pytest.approx(value) for group, value in expected.items()}
    assert summed(memory) == wanted
    with DuckDB() as database, Scratch(database) as scratch:
        assert summed(scratch.put(memory)) == wanted


@pytest.mark.parametrize("kind", [Numbers.of("real"), Numbers.of("max_product")], ids=["count", "max"])
@quick
@given(seeds, st.booleans(), st.booleans())
def test_matrices_add_up_and_leave_those_of_others_alone(
    kind: Numbers, rng: np.random.Generator, owned: bool, told_rows: bool
) -> None:
    one, other = (rng.random((4, 2)) * (rng.random((4, 1)) < 0.6) for _ in range(2))
    rows = one.any(axis=1) if told_rows else None
    other_rows = other.any(axis=1) if told_rows else None
    before, beside = one.copy(), other.copy()
    expected = np.maximum(one, other) if kind.best else one + other
    found = kind.added(one, other, rows, other_rows, owned)
    assert found == pytest.approx(expected) and (other == beside).all()
    assert owned == (found is one) and (owned or (one == before).all())
    places = (np.array([0, 3]), np.array([1, 0]))
    matrix = before.copy()
    again = kind.added_at(matrix, places, np.array([5.0, 6.0]), owned)
    wanted = before.copy()
    for place, value in (((0, 1), 5.0), ((3, 0), 6.0)):
        wanted[place] = max(wanted[place], value) if kind.best else wanted[place] + value
    assert again == pytest.approx(wanted) and (again is matrix) == owned
    spread = kind.spread(np.array([5.0, 6.0]), places, (4, 2))
    assert spread.sum() == 11.0 and spread[0, 1] == 5.0 and spread[3, 0] == 6.0


def relation(weights: list[float] | None) -> IndexedFacts:
    count = 3 if weights is None else len(weights)
    return IndexedFacts(
        (np.arange(count, dtype=np.int32),), (5,), count, None if weights is None else np.array(weights)
    )


@pytest.mark.parametrize(
    ("kind", "weights", "message"),
    [
        ("max_product", [1.0, -0.5, -2.0], "max takes weights of 0 or more, and a fact of e weighs -2"),
        ("counting", [1.0, 2.5], "exact counts need whole weights, and facts of e have others"),
    ],
)
def test_weights_of_facts_that_are_refused(kind: str, weights: list[float], message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        Numbers.of(kind).fact_weights("e", relation(weights))


def test_weights_of_facts() -> None:
    weights = [0.5, 0.0, 3.0]
    for name in ("real", "max_product", "independent"):
        kind = Numbers.of(name)
        assert kind.fact_weights("e", relation(weights)).tolist() == weights
        assert kind.fact_weights("e", relation(None)) is None
    assert Numbers.of("boolean").fact_weights("e", relation(weights)) is None
    whole = Numbers.of("counting").fact_weights("e", relation([2.0, -3.0, 1e15]))
    assert whole.tolist() == [2, -3, 10**15] and whole.dtype == object
    assert Numbers.of("max_product").fact_weights("e", relation([])).tolist() == []


def test_weights_of_rules() -> None:
    half, learned, less = hb.parse("p(x) :- e(x) @ 0.5\np(x) :- e(x) @ ?\np(x) :- e(x) @ -2").rules
    assert [Numbers.of("real").rule_weight(0, rule) for rule in (half, learned, less)] == [0.5, 1.0, -2.0]
    assert [Numbers.of("boolean").rule_weight(0, rule) for rule in (half, learned, less)] == [1.0, 1.0, 1.0]
    assert (
        Numbers.of("counting").rule_weight(0, learned) == 1
        and Numbers.of("counting").rule_weight(0, less) == -2
    )
    with pytest.raises(UnsupportedError, match=r"exact counts need whole weights, not 0\.5"):
        Numbers.of("counting").rule_weight(0, half)
    with pytest.raises(UnsupportedError, match="this rule weighs -2"):
        Numbers.of("max_product").rule_weight(0, less)


def test_integers_have_as_many_digits_as_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "LARGEST", 1000)
    numbers = np.array([30, -40], dtype=object)
    assert Numbers.of("counting").multiply(numbers, np.array([33, 20], dtype=object)).tolist() == [990, -800]
    for factor in (40, -30):
        with pytest.raises(BudgetError, match="a count has more than 4,200 digits\n  take a smaller --depth"):
            Numbers.of("counting").multiply(numbers, np.array([factor, factor], dtype=object))


PATHS = 'p(x, y) :- e(x, y)\np(x, y) :- e(x, z), p(z, y)\ne("a", "b") @ W\ne("b", "c") @ V\ne("a", "c") @ U'


@pytest.mark.parametrize(
    ("weights", "algebra", "expected"),
    [
        ((2, 3, 5), "count", 11.0),
        ((2, 3, 5), "max", 6.0),
        ((0.5, 0.5, 0), "count", 0.25),
        ((0, 1, 0), "count", None),
        ((0, 1, 0), "max", None),
        ((0, 1, 0), "boolean", 1.0),
        ((-1, 3, 3), "count", None),
        ((-1, 3, 3), "boolean", 1.0),
        ((1e-300, 1e-300, 0), "count", None),
        ((1e300, 1, 1e-300), "count", 1e300),
        ((1e200, 1e100, 1), "max", 1e300),
        ((1e-300, 1, 1e-300), "count", 2e-300),
        ((1, 1, 1), "probability", 1.0),
        ((0.5, 0.5, 0.5), "probability", 0.625),
        ((0, 1, 0.25), "probability", 0.25),
        ((0.5, 0.5, 0.5), "independent", 0.625),
        ((1, 1, 0.5), "independent", 1.0),
    ],
)
def test_weights_at_their_edges(weights: tuple[float, ...], algebra: str, expected: float | None) -> None:
    """An answer whose weight comes to 0 is none; truth does not ask what a fact weighs."""
    text = PATHS
    for name, weight in zip("WVU", weights, strict=True):
        text = text.replace(f"@ {name}", f"@ {weight}")
    answer = hb.Model(hb.parse(text)).query('p("a", "c")', algebra=algebra)
    assert told(answer) == ({} if expected is None else {(): pytest.approx(expected, rel=1e-12)})


@pytest.mark.parametrize("algebra", ["count", "max"])
def test_a_weight_beyond_floats_is_told(algebra: str) -> None:
    text = PATHS.replace("@ W", "@ 1e200").replace("@ V", "@ 1e200").replace("@ U", "@ 1")
    with pytest.raises(UnsupportedError, match="a weight is larger than any float"):
        hb.Model(hb.parse(text)).query('p("a", y)', algebra=algebra)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, Request()),
        ({"depth": "4"}, Request(depth=4)),
        ({"depth": " 4 "}, Request(depth=4)),
        ({"depth": "fixpoint"}, Request(depth="fixpoint")),
        ({"time_limit": 2, "memory": "2 kB"}, Request(budget=Budget(2048, 2))),
        ({"top": None, "algebra": "max"}, Request(algebra="max")),
    ],
)
def test_options_of_a_query(options: dict[str, object], expected: Request) -> None:
    assert Request.of(options) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": "-4"}, "'-4' is no depth\n  a whole number from 0 on, or 'fixpoint'"),
        ({"depth": 1.5}, "'1.5' is no depth|depth"),
        ({"depth": "fixpont"}, "'fixpont' is no depth"),
        (
            {"algebra": "tropical"},
            "there is no algebra 'tropical'\n  one of count, boolean, max, probability",
        ),
        ({"algebra": "probabilty"}, "did you mean 'probability'"),
        ({"exact": True, "algebra": "probability"}, "exact integers are for the count algebra"),
        ({"colour": 1}, "query has no option 'colour'\n  options: given, engine, memory"),
        ({"timelimit": 1}, "did you mean 'time_limit'"),
    ],
)
def test_options_that_a_query_does_not_take(options: dict[str, object], message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        Request.of(options)


def test_what_a_weight_is_to_the_question() -> None:
    kinds = {
        (algebra, cut): Request(algebra=algebra).guarantee(cut).value
        for algebra in ("count", "max", "boolean", "probability", "independent")
        for cut in (False, True)
    }
    assert {key for key, value in kinds.items() if value == "bound"} == {("probability", True)}
    assert {key[0] for key, value in kinds.items() if value == "approximation"} == {"independent"}
    assert Request(exact=True).arithmetic().algebra.name == "counting"
    assert math.isclose(sum(value == "exact" for value in kinds.values()), 7)
