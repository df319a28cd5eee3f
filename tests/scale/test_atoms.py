"""Atoms and groundings of facts in a database, as queries, against loops over constants."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import herbrand as hb
from herbrand.engines.mean_field.products import is_relation
from herbrand.errors import FactsError
from herbrand.program.evidence import LATENT, Evidence, arguments_of
from herbrand.program.ground import SATISFIED
from herbrand.program.program import Conjunction, Literal
from herbrand.relations.database import DuckDB
from herbrand.scale.atoms import StoredAtoms
from herbrand.scale.evidence import StoredEvidence, keys_of_mixed, mixed
from herbrand.scale.groundings import expected_groundings, groundings

THEORY = """
type t = {"a", "b", "c"}
type u = 1..2
predicate p(t)
predicate f(t, t)
predicate g(t, u): observed
predicate rain
predicate hot
predicate wind: observed
predicate area(t) in {"x", "y", "z"}
predicate kind(u) in {"k", "l"}: observed
1.0: p(x) and f(x, y) and x != y
0.5: g(x, w) and p(x) => area(x) = "x"
0.3: rain or p(x)
not p("b")
p("c")
f("a", "b")
not f("b", "a")
f("c", "c") ~ 0.7
g("a", 1)
g("b", 2)
hot
area("a") = "y"
not area("b") = "z"
kind(1) = "l"
kind(2) = "k"
"""
SIZES = {"t": 3, "u": 2}
VALUES = {"area": 3, "kind": 2}
KNOWN: dict[tuple[Any, ...], int] = {
    ("p", 1): 0, ("p", 2): 1, ("f", 0, 1): 1, ("f", 1, 0): 0, ("g", 0, 0): 1, ("g", 1, 1): 1, ("hot",): 1,
    ("area", 0): 1, ("kind", 0): 1, ("kind", 1): 0,
}  # fmt: skip
OPEN = ("p", "f", "rain", "hot", "area")
TYPES = {
    "p": "t", "f": "tt", "g": "tu", "rain": "", "hot": "", "wind": "", "area": "t", "kind": "u",
}  # fmt: skip


@pytest.fixture(scope="module")
def there() -> Iterator[StoredEvidence]:
    with DuckDB() as database:
        yield hb.Model(hb.parse(THEORY), on="duckdb:unused").stored.evidence_of(database)


def rows_of(predicate: str) -> list[tuple[int, ...]]:
    return list(itertools.product(*(range(SIZES[kind]) for kind in TYPES[predicate])))


def value_of(predicate: str, row: Sequence[int]) -> int | None:
    """What facts settle of an atom; of a closed predicate all is settled."""
    known = KNOWN.get((predicate, *row))
    return 0 if known is None and predicate not in OPEN else known


class TestEvidence:
    @pytest.mark.parametrize("predicate", TYPES)
    def test_atoms_are_what_facts_say(self, there: StoredEvidence, predicate: str) -> None:
        found = there.known(predicate)
        expected = [value_of(predicate, row) for row in rows_of(predicate)]
        codes = np.arange(len(expected))
        assert found.lookup(codes).tolist() == [LATENT if v is None else v for v in expected]
        assert found.lookup(codes[::-1]).tolist() == [LATENT if v is None else v for v in expected[::-1]]
        assert found.lookup(codes[:0]).tolist() == []
        assert found.latent_count() == expected.count(None)
        assert found.all_latent == all(value is None for value in expected)
        assert found.atom_count == len(expected)

    @pytest.mark.parametrize("predicate", TYPES)
    def test_as_in_memory(self, there: StoredEvidence, predicate: str) -> None:
        memory = Evidence(hb.Model(hb.parse(THEORY)).program).known(predicate)
        found, codes = there.known(predicate), np.arange(memory.atom_count)
        assert found.lookup(codes).tolist() == memory.lookup(codes).tolist()
        assert (found.atom_count, found.latent_count()) == (memory.atom_count, memory.latent_count())

    def test_the_table_of_questions_goes_away(self, there: StoredEvidence) -> None:
        there.known("p").lookup(np.arange(3))
        assert not there.database.rows("SELECT * FROM duckdb_tables() WHERE table_name LIKE 'asked%'")

    def test_observed_atoms_without_a_value_are_told(self) -> None:
        theory = hb.parse(
            'type t = 1..5\npredicate kind(t) in {"a", "b"}: observed\n1.0: kind(x) = "a"\nkind(2) = "a"'
        )
        with DuckDB() as database, pytest.raises(FactsError) as caught:
            hb.Model(theory, on="duckdb:unused").stored.evidence_of(database).known("kind")
        assert str(caught.value) == (
            "kind has no value for 4 atoms, though it is observed\n"
            "  list a value for every atom of an observed many-valued predicate, or declare it open"
        )


@pytest.mark.parametrize("sizes", [(), (1,), (4,), (3, 5), (2, 3, 4), (10**6, 10**6, 10**6)], ids=str)
def test_mixed_numbers_are_those_of_a_clock(there: StoredEvidence, sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    for _ in range(3):
        row = [int(rng.integers(size)) for size in sizes]
        expected = 0
        for place, size in zip(row, sizes, strict=True):
            expected = expected * size + place
        assert there.database.number(f"SELECT {mixed(list(map(str, row)), sizes)}") == expected


def test_what_64_bits_do_not_hold_is_a_text(there: StoredEvidence) -> None:
    sizes, rows = [10**6] * 4, [(0, 5, 999_999, 7), (12, 0, 0, 0)]
    mixtures = [there.database.rows(f"SELECT {mixed(list(map(str, row)), sizes)}")[0][0] for row in rows]
    keys = keys_of_mixed(mixtures, sizes)
    assert [tuple(row) for row in np.stack(arguments_of(keys, sizes), axis=1).tolist()] == rows


class TestAtoms:
    def test_numbers_follow_each_other_predicate_by_predicate(self, there: StoredEvidence) -> None:
        atoms, expected, start = StoredAtoms(there), {}, 0
        for predicate in TYPES:
            if any(value_of(predicate, row) is None for row in rows_of(predicate)):
                expected[predicate] = start
                start += len(rows_of(predicate))
        assert atoms.starts == expected
        one = there.queries.numbers("one", 1)
        for predicate, first in expected.items():
            for number, row in enumerate(rows_of(predicate)):
                assert one.select(told=atoms.number(predicate, row)).rows() == [(first + number,)]

    @pytest.mark.parametrize("predicate", TYPES)
    def test_every_settled_and_latent_one(self, there: StoredEvidence, predicate: str) -> None:
        assert there.every_atom(predicate).rows() == rows_of(predicate)
        listed = {row: KNOWN[predicate, *row] for row in rows_of(predicate) if (predicate, *row) in KNOWN}
        told = there.settled(predicate).only(*there.columns(predicate), "value").rows()
        assert {tuple(row[:-1]): row[-1] for row in told} == listed and len(told) == len(listed)
        if predicate in OPEN:
            latent = [row for row in rows_of(predicate) if row not in listed]
            assert StoredAtoms(there).latent(predicate).rows() == latent


def literal(predicate: str, *arguments: str | int, allowed: tuple[int, ...] = (1,)) -> Literal:
    return Literal(predicate, arguments, allowed)


CONJUNCTIONS: list[tuple[list[Literal], dict[str, str], list[tuple[Any, Any]]]] = [
    ([literal("p", "x")], {"x": "t"}, []),
    ([literal("p", "x", allowed=(0,))], {"x": "t"}, []),
    ([literal("p", "x"), literal("f", "x", "y")], {"x": "t", "y": "t"}, [("x", "y")]),
    ([literal("f", "x", "x"), literal("p", 1)], {"x": "t"}, []),
    ([literal("f", "x", 0, allowed=(0,)), literal("f", 0, "x")], {"x": "t"}, [("x", 0)]),
    ([literal("g", "x", "w"), literal("p", "x")], {"x": "t", "w": "u"}, []),
    ([literal("g", "x", "w", allowed=(0,)), literal("p", "x")], {"x": "t", "w": "u"}, []),
    ([literal("g", "x", 1, allowed=(0,))], {"x": "t"}, []),
    ([literal("g", "x", "w", allowed=(0, 1)), literal("rain")], {"x": "t", "w": "u"}, []),
    ([literal("g", "x", "w", allowed=())], {"x": "t", "w": "u"}, []),
    ([literal("rain"), literal("hot")], {}, []),
    ([literal("hot", allowed=(0,))], {}, []),
    ([literal("wind", allowed=(0,)), literal("rain")], {}, []),
    ([literal("wind"), literal("rain")], {}, []),
    (
        [literal("area", "x", allowed=(0, 1)), literal("area", "y", allowed=(2,))],
        {"x": "t", "y": "t"},
        [("x", "y")],
    ),
    ([literal("area", "x", allowed=())], {"x": "t"}, []),
    ([literal("kind", "w", allowed=(1,)), literal("g", "x", "w")], {"x": "t", "w": "u"}, []),
    ([literal("kind", "w", allowed=(0, 1)), literal("area", "x", allowed=(1,))], {"x": "t", "w": "u"}, []),
    ([literal("g", "x", "w"), literal("g", "y", "w"), literal("p", "y")], {"x": "t", "y": "t", "w": "u"}, []),
]


@pytest.mark.parametrize("case", CONJUNCTIONS, ids=lambda case: " ".join(map(str, case[0]))[:60])
def test_groundings_are_those_that_facts_leave_possible(
    there: StoredEvidence, case: tuple[list[Literal], dict[str, str], list[tuple[Any, Any]]]
) -> None:
    literals, types, apart = case
    conjunction = Conjunction(tuple(types.items()), tuple(literals), frozenset(apart))
    atoms = StoredAtoms(there)
    expected = []
    for values in itertools.product(*(range(SIZES[kind]) for kind in types.values())):
        at = dict(zip(types, values, strict=True))

        def place(argument: str | int, at: dict[str, int] = at) -> int:
            return at[argument] if isinstance(argument, str) else argument

        if any(place(a) == place(b) for a, b in apart):
            continue
        row: list[int] | None = []
        for one in literals:
            arguments = tuple(map(place, one.arguments))
            value = value_of(one.predicate, arguments)
            if value is not None and value not in one.allowed:
                row = None
                break
            if value is None:
                row.append(atoms.starts[one.predicate] + rows_of(one.predicate).index(arguments))
            else:
                row.append(SATISFIED)
        if row is not None:
            expected.append((*values, *row))
    chosen = [*(f"k{i}" for i in range(len(types))), *(f"c{i}" for i in range(len(literals)))]
    found = groundings(conjunction, list(types), atoms).only(*chosen)
    assert found.rows() == sorted(expected)


class TestExpected:
    """How many there are, about, before any is made."""

    def conjunction(self, *literals: Literal, **types: str) -> Conjunction:
        return Conjunction(tuple(types.items()), literals, frozenset())

    def test_a_known_relation_bounds_its_variables_together(self, there: StoredEvidence) -> None:
        atoms = StoredAtoms(there)
        related = self.conjunction(literal("g", "x", "w"), literal("p", "x"), x="t", w="u")
        assert expected_groundings(related, atoms) == 2
        free = self.conjunction(literal("g", "x", "w", allowed=(0,)), literal("p", "x"), x="t", w="u")
        assert expected_groundings(free, atoms) == 6
        assert expected_groundings(self.conjunction(literal("f", "x", "y"), x="t", y="t"), atoms) == 9
        assert expected_groundings(self.conjunction(literal("rain")), atoms) == 1

    @pytest.mark.parametrize(
        ("one", "expected"),
        [
            (literal("g", "x", "w"), True),
            (literal("g", "x", "w", allowed=(0,)), False),
            (literal("g", "x", "w", allowed=(0, 1)), False),
            (literal("kind", "w", allowed=(0,)), True),
            (literal("p", "x"), False),
            (literal("area", "x", allowed=(0,)), False),
        ],
    )
    def test_what_is_a_relation(self, there: StoredEvidence, one: Literal, expected: bool) -> None:
        assert is_relation(one, there) is expected
