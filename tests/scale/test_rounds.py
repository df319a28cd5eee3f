"""Rounds of belief propagation in a database, message by message, against dictionaries and plain loops."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from herbrand.contraction.relational_databases import DuckDB
from herbrand.scale.belief.factor_families import Family, Layer, Staged, families_of, kinds_table
from herbrand.scale.belief.messages import Messages, shares
from tests.oracles.belief import Factor, Graph, Message, log_sum

Scope = tuple[int, ...]
Own = dict[int, list[float]]
"""The weights of each value of each atom."""


@pytest.fixture(scope="module")
def database() -> Iterator[DuckDB]:
    with DuckDB() as opened:
        yield opened


@dataclass
class There:
    """A factor graph as tables of a database."""

    database: DuckDB
    own: Own
    families: tuple[Family, ...]
    messages: Messages
    step: int = 0

    @property
    def sizes(self) -> list[int]:
        return sorted({len(weights) for weights in self.own.values()})

    def make_totals(self) -> None:
        for size in self.sizes:
            self.database.make(f"totals_{size}", self.messages.totals(size, self.step))

    def round(self, damping: float = 0.0) -> float:
        """One more round; how far messages moved."""
        self.make_totals()
        for family in self.families:
            table = self.messages.table(family, self.step + 1)
            self.database.make(table, self.messages.round(family, self.step, damping))
        self.step += 1
        moved = [
            self.database.number(f"SELECT MAX(d) FROM {self.messages.table(f, self.step)}")
            for f in self.families
        ]
        return max(moved, default=0.0)

    def told(self) -> dict[tuple[Scope, int], Message]:
        """By scope and slot the message to the atom there."""
        found = {}
        for family in self.families:
            for slot, size in enumerate(family.sizes):
                columns = ", ".join((*family.slots, *(f"m{slot}_{value}" for value in range(size))))
                for row in self.database.rows(
                    f"SELECT {columns} FROM {self.messages.table(family, self.step)}"
                ):
                    found[row[: family.width], slot] = list(row[family.width :])
        return found

    def marginals(self) -> dict[int, list[float]]:
        self.make_totals()
        found = {}
        for size in self.sizes:
            beliefs = ", ".join(f"{one} AS b{v}" for v, one in enumerate(self.messages.log_beliefs(size)))
            chances = ", ".join(shares([f"b{value}" for value in range(size)]))
            query = f"SELECT atom, {chances} FROM (SELECT atom, {beliefs} FROM totals_{size}) b"
            found |= {atom: list(chances) for atom, *chances in self.database.rows(query)}
        return found

    def bethe(self) -> float:
        self.make_totals()
        queries = [self.messages.bethe_of_axes(size) for size in self.sizes]
        queries += [self.messages.bethe_of_factors(family, self.step) for family in self.families]
        return math.fsum(self.database.number(query) or 0.0 for query in queries)


def there(database: DuckDB, own: Own, factors: Sequence[tuple[Scope, np.ndarray]]) -> There:
    for size in {len(weights) for weights in own.values()}:
        rows = [(atom, *weights) for atom, weights in own.items() if len(weights) == size]
        columns = ["atom", *(f"u{value}" for value in range(size))]
        database.put(f"axes_{size}", pa.table(dict(zip(columns, zip(*rows, strict=True), strict=True))))
    families = []
    for number, shape in enumerate(dict.fromkeys(table.shape for _, table in factors)):
        alike = [(scope, table) for scope, table in factors if table.shape == shape]
        kinds = list({table.tobytes(): table for _, table in alike}.values())
        places = {table.tobytes(): kind for kind, table in enumerate(kinds)}
        columns = {f"s{slot}": [scope[slot] for scope, _ in alike] for slot in range(len(shape))}
        own_kinds = np.array([places[table.tobytes()] for _, table in alike], np.int32)
        database.put(f"factors_{number}", pa.table({**columns, "kind": own_kinds}))
        order = tuple(range(len(shape)))
        families.append(Family(number, shape, (order,), tuple(kinds), len(alike)))
    never = [np.array(weights) for weights in own.values()] + [table for _, table in factors]
    messages = Messages(tuple(families), False, any(np.isneginf(one).any() for one in never))
    for family in families:
        database.make(messages.table(family, 0), messages.first(family))
        if len(family.potentials) > 1:
            database.put(f"potentials_{family.number}", kinds_table(family))
    return There(database, own, tuple(families), messages)


def by_loops(own: Own, factors: Sequence[tuple[Scope, np.ndarray]]) -> Graph:
    weights = [Factor((atom,), {(v,): w for v, w in enumerate(told)}) for atom, told in own.items()]
    tables = [
        Factor(scope, {index: float(w) for index, w in np.ndenumerate(table)}) for scope, table in factors
    ]
    return Graph({atom: len(told) for atom, told in own.items()}, [*weights, *tables])


def drawn(seed: int, tree: bool, never: float = 0.0) -> tuple[Own, list[tuple[Scope, np.ndarray]]]:
    """Five atoms, one of them of three values, in factors of two or three; a table may stand for several."""
    rng = np.random.default_rng(seed)
    own = {atom: rng.normal(size=2 + (atom == 4)).tolist() for atom in range(5)}
    scopes: list[Scope] = [(0, 1), (1, 2, 3), (4, 3)]
    if not tree:
        scopes += [(2, 0), (3, 0)]
    known: dict[tuple[int, ...], np.ndarray] = {}
    factors = []
    for scope in scopes:
        shape = tuple(len(own[atom]) for atom in scope)
        table = known.get(shape) if rng.random() < 0.4 else None
        if table is None:
            table = rng.normal(size=shape)
            table[rng.random(shape) < never] = -math.inf
            known[shape] = table
        factors.append((scope, table))
    return own, factors


@pytest.mark.parametrize(("damping", "never"), [(0.0, 0.1), (0.3, 0.0), (0.3, 0.1)])
def test_messages_are_those_of_loops(database: DuckDB, damping: float, never: float) -> None:
    compared = 0
    for seed in range(2):
        own, factors = drawn(seed, False, never)
        here, graph = there(database, own, factors), by_loops(own, factors)
        for _ in range(2):
            before = here.told()
            graph.round(damping)
            moved = here.round(damping)
            messages = [
                graph.messages[number + len(own), slot]
                for number, (scope, _) in enumerate(factors)
                for slot in range(len(scope))
            ]
            if any(math.isnan(value) for message in messages for value in message):
                assert math.isnan(moved), "an atom has no value left, and that is told"
                break
            told = here.told()
            expected = {
                (scope, slot): graph.messages[number + len(own), slot]
                for number, (scope, _) in enumerate(factors)
                for slot in range(len(scope))
            }
            assert told.keys() == expected.keys()
            for key, message in expected.items():
                assert told[key] == pytest.approx(message, abs=1e-9), key
            compared += 1
            changes = [
                0.0 if new == old else abs(new - old) / (1 - damping)
                for key, message in told.items()
                for new, old in zip(message, before[key], strict=True)
            ]
            assert moved == pytest.approx(max(changes), abs=1e-9)
    assert compared > 1


def test_on_a_tree_marginals_and_the_sum_over_worlds_are_exact(database: DuckDB) -> None:
    for seed in range(2):
        own, factors = drawn(seed, True, never=0.1 * (seed % 2))
        here = there(database, own, factors)
        moved = [here.round() for _ in range(4)]
        assert moved[-1] < 1e-9
        ranges = [range(len(own[atom])) for atom in range(5)]
        logs = {
            world: sum(own[atom][value] for atom, value in enumerate(world))
            + sum(float(table[tuple(world[atom] for atom in scope)]) for scope, table in factors)
            for world in itertools.product(*ranges)
        }
        total = log_sum(list(logs.values()))
        assert here.bethe() == pytest.approx(total, abs=1e-9)
        for atom, chances in here.marginals().items():
            expected = [0.0] * len(chances)
            for world, log in logs.items():
                expected[world[atom]] += math.exp(log - total)
            assert chances == pytest.approx(expected, abs=1e-9)


def test_atoms_that_no_factor_names_have_their_own_weights(database: DuckDB) -> None:
    own = {7: [0.0, 1.0], 9: [0.5, -math.inf], 11: [1.0, 2.0, 3.0]}
    here = there(database, own, [])
    assert here.round() == 0.0
    for atom, chances in here.marginals().items():
        total = log_sum(own[atom])
        assert chances == pytest.approx([math.exp(weight - total) for weight in own[atom]])
    assert here.bethe() == pytest.approx(sum(log_sum(weights) for weights in own.values()))


@pytest.mark.parametrize("weight", [1e-300, 1.0, 500.0, 1e6, -1e6])
def test_weights_of_any_size(database: DuckDB, weight: float) -> None:
    """Two atoms that agree by one weight, one of which leans by another: nothing under- or overflows."""
    table = np.array([[weight, 0.0], [0.0, weight]])
    own: Own = {0: [0.0, 2.0], 1: [0.0, 0.0]}
    here = there(database, own, [((0, 1), table)])
    for _ in range(3):
        here.round()
    logs = {(a, b): own[0][a] + weight * (a == b) for a, b in itertools.product(range(2), repeat=2)}
    total = log_sum(list(logs.values()))
    found = here.marginals()
    for value in range(2):
        first, second = (
            sum(math.exp(log - total) for world, log in logs.items() if world[atom] == value)
            for atom in range(2)
        )
        assert (found[0][value], found[1][value]) == pytest.approx((first, second), abs=1e-9)
    assert here.bethe() == pytest.approx(total, rel=1e-12)


def test_what_has_no_value_left_is_told_as_not_a_number(database: DuckDB) -> None:
    never = -math.inf
    table = np.array([[0.0, never], [never, never]])  # both must have the first value
    here = there(database, {0: [never, 0.0], 1: [0.0, 0.0]}, [((0, 1), table)])
    assert math.isnan(here.round())


class TestFamilies:
    """Layers over the same atoms are one factor; those alike up to the order of atoms have one table."""

    def made(self, database: DuckDB, layers: Sequence[tuple[Sequence[Scope], np.ndarray]]) -> list[Family]:
        by_shape: dict[tuple[int, ...], list[Layer]] = {}
        for number, (scopes, table) in enumerate(layers):
            columns = {f"s{slot}": [scope[slot] for scope in scopes] for slot in range(table.ndim)}
            database.put(f"layer_{number}", pa.table(columns))
            chosen = ", ".join(columns)
            query = f"SELECT {chosen}, %d AS layer FROM layer_{number}"
            by_shape.setdefault(table.shape, []).append(Layer(query, table))
        staged = Staged(database)
        found = list(families_of(by_shape, staged))
        staged.drop()
        return found

    def weights(self, database: DuckDB, found: Sequence[Family]) -> dict[frozenset[int], dict[tuple, float]]:
        """By the atoms of a factor the weight of each of their values, as pairs of atom and value."""
        told: dict[frozenset[int], dict[tuple, float]] = {}
        for family in found:
            for *scope, kind in database.rows(f"SELECT {', '.join(family.slots)}, kind FROM {family.table}"):
                assert frozenset(scope) not in told, "one factor over the same atoms"
                told[frozenset(scope)] = {
                    tuple(sorted(zip(scope, index, strict=True))): float(weight)
                    for index, weight in np.ndenumerate(family.potentials[kind])
                }
        return told

    def test_random_layers_add_up(self, database: DuckDB) -> None:
        for seed in range(6):
            rng = np.random.default_rng(seed)
            layers = []
            for _ in range(int(rng.integers(1, 4))):
                width = int(rng.integers(2, 4))
                pairs = itertools.permutations(range(4), width)
                scopes = [scope for scope in pairs if list(scope) == sorted(scope) and rng.random() < 0.7]
                if scopes:
                    layers.append((scopes, rng.integers(-1, 2, (2,) * width).astype(float)))
            expected: dict[frozenset[int], dict[tuple, float]] = {}
            for scopes, table in layers:
                for scope in scopes:
                    own = expected.setdefault(frozenset(scope), {})
                    for index, weight in np.ndenumerate(table):
                        key = tuple(sorted(zip(scope, index, strict=True)))
                        own[key] = own.get(key, 0.0) + float(weight)
            found = self.made(database, layers)
            assert self.weights(database, found) == expected
            assert sum(family.rows for family in found) == len(expected)

    def test_turned_tables_are_of_one_kind(self, database: DuckDB) -> None:
        table = np.array([[0.0, 1.0], [2.0, 3.0]])
        (family,) = self.made(database, [([(0, 1)], table), ([(2, 3)], table.T.copy())])
        assert len(family.potentials) == 1 and family.symmetries == ((0, 1),)
        assert family.rows == 2
        rows = {tuple(row) for row in database.rows(f"SELECT s0, s1 FROM {family.table}")}
        assert rows in ({(0, 1), (3, 2)}, {(1, 0), (2, 3)})

    def test_tables_that_turning_leaves_alone_have_symmetries(self, database: DuckDB) -> None:
        alike = np.array([[1.0, 0.0], [0.0, 1.0]])
        (family,) = self.made(database, [([(0, 1), (1, 2)], alike)])
        assert set(family.symmetries) == {(0, 1), (1, 0)}

    def test_entries_of_kinds_stand_in_the_order_of_c(self) -> None:
        one, other = np.arange(6.0).reshape(2, 3), -np.arange(6.0).reshape(2, 3)
        told = kinds_table(Family(0, (2, 3), ((0, 1),), (one, other), 0)).to_pylist()
        assert told == [
            {"kind": 0, **{f"t{entry}": float(entry) for entry in range(6)}},
            {"kind": 1, **{f"t{entry}": -float(entry) for entry in range(6)}},
        ]
