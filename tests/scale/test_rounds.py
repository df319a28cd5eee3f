"""Rounds of belief propagation over relations, in memory and in a database, message by message, against
dictionaries and plain loops."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from herbrand.engines.belief.parallel_rounds import Family, Rounds, probabilities
from herbrand.relations.database import DuckDB
from herbrand.relations.expression import column
from herbrand.relations.memory import Memory
from herbrand.relations.relation import Relation
from herbrand.relations.stored import Scratch
from herbrand.scale.belief.factor_families import Layer, StoredFamily, families_of
from tests.oracles.belief import Factor, Graph, Message, log_sum

Scope = tuple[int, ...]
Own = dict[int, list[float]]
"""The weights of each value of each atom."""


Place = Callable[[Memory], Any]


@pytest.fixture(scope="module")
def database() -> Iterator[DuckDB]:
    with DuckDB() as opened:
        yield opened


@pytest.fixture(params=["memory", "database"])
def place(request: pytest.FixtureRequest, database: DuckDB) -> Place:
    """Where relations of a test stand."""
    return Scratch(database).put if request.param == "database" else lambda rows: rows


@dataclass
class There:
    """A factor graph as relations, in memory or in a database."""

    own: Own
    rounds: Rounds
    axes: dict[int, Relation]
    kinds: dict[int, Relation]
    messages: dict[int, Relation]

    @property
    def families(self) -> tuple[Family, ...]:
        return self.rounds.families

    @property
    def totals(self) -> dict[int, Relation]:
        return {size: one.kept() for size, one in self.rounds.totals(self.axes, self.messages).items()}

    def round(self, damping: float = 0.0) -> float:
        """One more round; how far messages moved."""
        totals, before = self.totals, self.messages
        self.messages = {
            f.number: self.rounds.after(f, before[f.number], totals, damping, self.kinds[f.number]).kept()
            for f in self.families
        }
        return self.rounds.moved(self.messages)

    def told(self) -> dict[tuple[Scope, int], Message]:
        """By scope and slot the message to the atom there."""
        found = {}
        for family in self.families:
            for slot in range(family.width):
                columns = (*family.slots, *family.names("m", slot))
                for row in self.messages[family.number].only(*columns).rows():
                    found[row[: family.width], slot] = list(row[family.width :])
        return found

    def marginals(self) -> dict[int, list[float]]:
        found = {}
        for size, totals in self.totals.items():
            chances = {f"p{v}": one for v, one in enumerate(probabilities(self.rounds.log_beliefs(size)))}
            rows = totals.select(atom=column("atom"), **chances).rows()
            found |= {atom: list(chances) for atom, *chances in rows}
        return found

    def bethe(self) -> float:
        return self.rounds.bethe(self.axes, self.messages, self.totals, self.kinds)


def there(place: Place, own: Own, factors: Sequence[tuple[Scope, np.ndarray]]) -> There:
    axes = {}
    for size in {len(weights) for weights in own.values()}:
        atoms = [atom for atom, weights in own.items() if len(weights) == size]
        weights = {f"u{value}": [own[atom][value] for atom in atoms] for value in range(size)}
        axes[size] = place(Memory.of(atom=atoms, **weights))
    families, scopes, kinds = [], {}, {}
    for number, shape in enumerate(dict.fromkeys(table.shape for _, table in factors)):
        alike = [(scope, table) for scope, table in factors if table.shape == shape]
        different = list({table.tobytes(): table for _, table in alike}.values())
        places = {table.tobytes(): kind for kind, table in enumerate(different)}
        columns = {f"s{slot}": [scope[slot] for scope, _ in alike] for slot in range(len(shape))}
        family = Family(number, shape, tuple(different))
        scopes[number] = place(Memory.of(kind=[places[table.tobytes()] for _, table in alike], **columns))
        kinds[number] = place(Memory.of(**family.kinds()))
        families.append(family)
    never = [np.array(weights) for weights in own.values()] + [table for _, table in factors]
    rounds = Rounds(tuple(families), False, any(np.isneginf(one).any() for one in never))
    messages = {f.number: rounds.first(f, scopes[f.number]).kept() for f in families}
    return There(own, rounds, axes, kinds, messages)


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
def test_messages_are_those_of_loops(place: Place, damping: float, never: float) -> None:
    compared = 0
    for seed in range(2):
        own, factors = drawn(seed, False, never)
        here, graph = there(place, own, factors), by_loops(own, factors)
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


def test_on_a_tree_marginals_and_the_sum_over_worlds_are_exact(place: Place) -> None:
    for seed in range(2):
        own, factors = drawn(seed, True, never=0.1 * (seed % 2))
        here = there(place, own, factors)
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


def test_atoms_that_no_factor_names_have_their_own_weights(place: Place) -> None:
    own = {7: [0.0, 1.0], 9: [0.5, -math.inf], 11: [1.0, 2.0, 3.0]}
    here = there(place, own, [])
    assert here.round() == 0.0
    for atom, chances in here.marginals().items():
        total = log_sum(own[atom])
        assert chances == pytest.approx([math.exp(weight - total) for weight in own[atom]])
    assert here.bethe() == pytest.approx(sum(log_sum(weights) for weights in own.values()))


@pytest.mark.parametrize("weight", [1e-300, 1.0, 500.0, 1e6, -1e6])
def test_weights_of_any_size(place: Place, weight: float) -> None:
    """Two atoms that agree by one weight, one of which leans by another: nothing under- or overflows."""
    table = np.array([[weight, 0.0], [0.0, weight]])
    own: Own = {0: [0.0, 2.0], 1: [0.0, 0.0]}
    here = there(place, own, [((0, 1), table)])
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


def test_what_has_no_value_left_is_told_as_not_a_number(place: Place) -> None:
    never = -math.inf
    table = np.array([[0.0, never], [never, never]])  # both must have the first value
    here = there(place, {0: [never, 0.0], 1: [0.0, 0.0]}, [((0, 1), table)])
    assert math.isnan(here.round())


class TestFamilies:
    """Layers over the same atoms are one factor; those alike up to the order of atoms have one table."""

    def made(
        self, database: DuckDB, layers: Sequence[tuple[Sequence[Scope], np.ndarray]]
    ) -> list[StoredFamily]:
        by_shape: dict[tuple[int, ...], list[Layer]] = {}
        scratch = Scratch(database, "factor_parts")
        for scopes, table in layers:
            columns = {f"s{slot}": [scope[slot] for scope in scopes] for slot in range(table.ndim)}
            by_shape.setdefault(table.shape, []).append(Layer(scratch.put(Memory.of(**columns)), table))
        with scratch:
            return list(families_of(by_shape, scratch))

    def weights(
        self, database: DuckDB, found: Sequence[StoredFamily]
    ) -> dict[frozenset[int], dict[tuple, float]]:
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
        told = Family(0, (2, 3), (one, other)).kinds()
        assert told["kind"].tolist() == [0, 1]
        assert {name: told[name].tolist() for name in told if name != "kind"} == {
            f"t{entry}": [float(entry), -float(entry)] for entry in range(6)
        }
