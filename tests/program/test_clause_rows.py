"""Bodies of rules as joins over relations, in memory and in a database, against plain loops."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.budget import UNLIMITED, Budget
from herbrand.contraction.algebra import Algebra, algebra_named
from herbrand.errors import BudgetError
from herbrand.program.bindings import TRUTH, WEIGHT
from herbrand.program.clause_rows import ClauseRows, Source, least_model
from herbrand.program.clauses import Absence, Clause, Compared, Literal, Lookup, Measured, Never, OneOf
from herbrand.program.join_order import Candidate, best_order
from herbrand.relations.database import DuckDB
from herbrand.relations.memory import Memory
from herbrand.relations.relation import Relation
from herbrand.relations.stored import Scratch
from tests.laws import tries

REAL, MAX_PRODUCT = algebra_named("real"), algebra_named("max_product")
SIZE = 3
NUMBERS = (-1.5, 0.0, 2.0)
ARITIES = {"e": 2, "u": 1, "n": 0}
Facts = dict[str, dict[tuple[int, ...], float]]
Add = Callable[[list[float]], float]


@dataclass(frozen=True)
class Small(Source):
    """Facts of one type of three constants; ``put`` brings relations to where they are evaluated."""

    stated: Facts
    put: Callable[[Memory], Relation]
    budget: Budget = UNLIMITED

    def facts(self, predicate: str) -> Relation:
        return self.put(relation(self.stated[predicate], ARITIES[predicate], self.budget))

    def rows(self, predicate: str) -> int:
        return len(self.stated[predicate])

    def domain(self, type_name: str) -> Relation:
        return self.put(Memory.of(self.budget, id=np.arange(SIZE)))

    def numbers(self, type_name: str) -> Relation:
        return self.put(Memory.of(self.budget, id=np.arange(SIZE), value=np.array(NUMBERS)))

    def size(self, type_name: str) -> int:
        return SIZE

    def unit(self) -> Relation:
        return self.put(Memory({}, 1, self.budget))


def relation(rows: dict[tuple[int, ...], float], arity: int, budget: Budget = UNLIMITED) -> Memory:
    columns = np.array(list(rows), np.int64).reshape(len(rows), arity)
    data = {f"a{place}": columns[:, place] for place in range(arity)}
    return Memory({**data, WEIGHT: np.array(list(rows.values()), float)}, len(rows), budget)


@pytest.fixture(scope="module")
def places() -> Iterator[list[Callable[[Memory], Relation]]]:
    """In memory as it is, and as tables of a database."""
    with DuckDB() as database, Scratch(database) as scratch:
        yield [lambda rows: rows, scratch.put]


def by_loops(
    clause: Clause, facts: Facts, add: Callable[[list[float]], float]
) -> dict[tuple[int, ...], float]:
    """Every assignment of the clause's variables, one after another."""
    names = clause.variables()
    found: dict[tuple[int, ...], list[float]] = {}
    for values in itertools.product(range(SIZE), repeat=len(names)):
        at = {**dict(zip(names, values, strict=True)), **clause.constants}
        weights = [_weight(part, at, facts) for part in clause.body]
        if all(weight is not None for weight in weights):
            head = tuple(at[name] for name in clause.head)
            found.setdefault(head, []).append(math.prod(w for w in weights if w is not None))
    return {head: add(weights) for head, weights in found.items()}


def _weight(part: Literal, at: dict[str, int], facts: Facts) -> float | None:
    """1 for a test that is passed; none where the literal does not hold."""
    match part:
        case Lookup(predicate=name, arguments=arguments):
            return facts[name].get(tuple(at[one] for one in arguments))
        case Absence(predicate=name, arguments=arguments):
            own = sorted(set(arguments) - at.keys())
            for values in itertools.product(range(SIZE), repeat=len(own)):
                whole = {**at, **dict(zip(own, values, strict=True))}
                if tuple(whole[one] for one in arguments) in facts[name]:
                    return None
            return 1.0
        case Compared(operator="!=", left=left, right=right):
            return 1.0 if at[left] != at[right] else None
        case Compared(operator="<", left=left, right=right):
            return 1.0 if NUMBERS[at[left]] < NUMBERS[at[right]] else None
        case Measured(variable=name, operator=">", number=number):
            return 1.0 if NUMBERS[at[name]] > number else None
        case OneOf(variable=name, allowed=allowed):
            return 1.0 if at[name] in allowed else None
        case Never():
            return None
    raise AssertionError(part)


variables = st.sampled_from(["x", "y", "z", "#1"])
lookups = st.one_of(
    st.builds(lambda a, b: Lookup("e", (a, b)), variables, variables),
    st.builds(lambda a: Lookup("u", (a,)), variables),
    st.just(Lookup("n", ())),
)
tests = st.one_of(
    st.builds(Compared, st.sampled_from(["!=", "<"]), variables, variables),
    st.builds(Measured, variables, st.just(">"), st.sampled_from([-2.0, 0.0, 0.5])),
    st.builds(OneOf, variables, st.lists(st.integers(0, SIZE - 1), max_size=2).map(tuple)),
    st.builds(
        lambda a, b: Absence("e", (a, b)), st.sampled_from(["x", "own"]), st.sampled_from(["y", "own"])
    ),
    st.just(Never()),
)
weights = st.sampled_from([0.5, 1.0, 3.0])


@st.composite
def clauses(draw: st.DrawFn) -> Clause:
    body = [*draw(st.lists(lookups, max_size=3)), *draw(st.lists(tests, max_size=2))]
    head = draw(st.lists(variables, max_size=2))
    types = dict.fromkeys(["x", "y", "z", "own", "#1"], "t")
    return Clause("p", tuple(head), tuple(draw(st.permutations(body))), types, {"#1": 1})


@st.composite
def stated(draw: st.DrawFn) -> Facts:
    return {
        name: draw(st.dictionaries(st.tuples(*[st.integers(0, SIZE - 1)] * arity), weights, max_size=6))
        for name, arity in ARITIES.items()
    }


def rows_of(found: Relation) -> dict[tuple[int, ...], float]:
    arrays = found.arrays()
    values = arrays.pop(WEIGHT, np.ones(found.count())).tolist()
    heads = list(zip(*(one.tolist() for one in arrays.values()), strict=True)) or [()] * len(values)
    assert len(set(heads)) == len(heads), "each head once"
    return dict(zip(heads, values, strict=True))


@pytest.mark.parametrize(
    ("semiring", "add"), [(REAL, math.fsum), (MAX_PRODUCT, max), (TRUTH, lambda weights: 1.0)]
)
@settings(max_examples=tries(60), deadline=None)
@given(clause=clauses(), facts=stated())
def test_bodies(
    places: Sequence[Callable[[Memory], Relation]],
    semiring: Algebra,
    add: Add,
    clause: Clause,
    facts: Facts,
) -> None:
    expected = by_loops(clause, facts, add)
    for put in places:
        source = Small(facts, put)
        found = rows_of(ClauseRows(source, source.facts, semiring).of(clause, {}))
        assert found == pytest.approx(expected)


def test_weights_of_rules_count_once_an_answer() -> None:
    source = Small({"e": {(0, 1): 2.0, (0, 2): 3.0}, "u": {}, "n": {}}, lambda rows: rows)
    clause = Clause("p", ("x",), (Lookup("e", ("x", "y")),), {"x": "t", "y": "t"}, weight=0)
    assert rows_of(ClauseRows(source, source.facts, REAL, [0.5]).of(clause, {})) == {(0,): 2.5}


def test_only_what_is_new_is_joined_again() -> None:
    """A ring of n links needs n rounds, and each round derives each of its n atoms from one new row."""
    number = 30
    ring = {(at, (at + 1) % number): 1.0 for at in range(number)}
    types = dict.fromkeys("xyz", "t")
    step = Clause("p", ("x", "y"), (Lookup("e", ("x", "y")),), types)
    longer = Clause("p", ("x", "z"), (Lookup("p", ("x", "y")), Lookup("e", ("y", "z"))), types)
    source = Small({"e": ring, "u": {}, "n": {}}, lambda rows: rows)
    derived: list[int] = []
    nothing = {"p": Memory.of(a0=np.empty(0, np.int64), a1=np.empty(0, np.int64))}
    rows = ClauseRows(source, source.facts)
    found = least_model(
        {"p": [step, longer]}, rows, nothing, lambda clause, heads: derived.append(heads.count())
    )
    assert found.tables["p"].count() == number**2
    assert found.rounds == number and max(derived) == number


def test_a_body_too_wide_names_its_rule() -> None:
    source = Small({"e": {}, "u": {}, "n": {}}, lambda rows: rows, Budget(memory=100))
    clause = Clause("p", ("x", "y", "z"), (), dict.fromkeys("xyz", "t"))
    with pytest.raises(BudgetError, match="a join of"):
        ClauseRows(source, source.facts).of(clause, {})


def test_orders_of_joins_begin_with_what_is_small() -> None:
    candidates = [Candidate(("x",), 1e6), Candidate(("x",), 10.0)]
    assert best_order(candidates, (), {"x"}, {"x": 10**6}).places == (1, 0)
