"""Tasks over one variable for equal literals sum to the same as all assignments do, one by one."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

import herbrand as hb
from herbrand.budget import UNLIMITED
from herbrand.engines.circuit.choices import Task
from herbrand.engines.circuit.circuit import Circuit
from herbrand.engines.circuit.compile import Compilation, compiled
from herbrand.engines.circuit.constraints import Constraints
from herbrand.engines.circuit.equal_literals import unified
from herbrand.engines.circuit.search import CACHED


def _holds(net: Constraints, values: tuple[bool, ...]) -> bool:
    """Whether an assignment fulfils all restrictions."""

    def true(literal: int) -> bool:
        return values[literal >> 1] != bool(literal & 1)

    return all(sum(w for w, x in one.weighted if true(x)) >= one.least for one in net.restrictions)


def _summed(net: Constraints, weights: np.ndarray) -> tuple[float, np.ndarray]:
    """The weight of all assignments, and of those in which each literal holds."""
    total, shares = 0.0, np.zeros(2 * len(net))
    for values in itertools.product((False, True), repeat=len(net)):
        if _holds(net, values):
            weight = math.exp(sum(weights[v, int(value)] for v, value in enumerate(values)))
            total += weight
            shares[[2 * v + (not value) for v, value in enumerate(values)]] += weight
    return total, shares


@pytest.mark.parametrize("seed", range(120))
def test_totals_and_shares_are_those_of_all_assignments(seed: int) -> None:
    rng = random.Random(seed)
    net = Constraints()
    inputs = [net.variable() for _ in range(rng.randint(2, 6))]
    literals = [2 * v + sign for v in inputs for sign in (0, 1)]
    for _ in range(rng.randint(0, 2)):
        gate = net.every(rng.sample(literals, 2))
        literals += [gate, gate ^ 1] if gate >= 0 else []
    for _ in range(rng.randint(1, 4)):  # some literal implies another one, and mostly the other way round
        one, other = rng.sample(literals, 2)
        net.require([one ^ 1, other])
        if rng.random() < 0.8:
            net.require([one, other ^ 1])
    for _ in range(rng.randint(0, 2)):
        net.require(rng.sample(literals, min(len(literals), 3)))
    if rng.random() < 0.3:
        net.at_most_one([2 * v for v in rng.sample(inputs, 2)])
    if rng.random() < 0.3:
        net.require_sum([(rng.randint(1, 3), rng.choice(literals)) for _ in range(4)], rng.randint(2, 5))
    weights = np.zeros((len(net), 2))
    weights[inputs] = [[rng.gauss(0, 1), rng.gauss(0, 1)] for _ in inputs]
    told = set(range(len(net)))

    task, places = unified(Task(net, weights, told, set()))
    circuit = compiled(task.net, UNLIMITED, task.written, task.normal)
    values = circuit.values(task.log_weights)
    total, shares = _summed(net, weights)
    assert math.exp(values[circuit.root]) == pytest.approx(total, rel=1e-9)
    if total:
        assert circuit.shares(task.log_weights, values)[places] == pytest.approx(shares / total, abs=1e-9)


def test_a_symmetric_relation_has_a_variable_a_pair() -> None:
    net = Constraints()
    pairs = {(i, j): 2 * net.variable() for i in range(4) for j in range(4) if i != j}
    for i, j in pairs:
        net.require([pairs[i, j] ^ 1, pairs[j, i]])
    task = Task(net, np.zeros((len(net), 2)), set(range(len(net))), set())
    assert len(unified(task)[0].written) == len(pairs) // 2


def test_weights_of_both_directions_count() -> None:
    """Each of two equal atoms has an opinion and a weight of its own, and both have one answer."""
    text = (
        "predicate likes(person, person)\npredicate person_is(person)\n"
        'person_is("a")\nperson_is("b")\n'
        "hard: likes(x, y) <=> likes(y, x)\n"
        '0.7: likes("a", "b")\n0.4: likes("b", "a")\n0.25: likes("a", "a")\n'
    )
    found = hb.Model(hb.parse(text)).infer("likes", engine="circuit", log_partition=True)
    both = math.exp(1.1) / (1 + math.exp(1.1))
    assert found['likes("a", "b")'] == found['likes("b", "a")'] == pytest.approx(both, abs=1e-12)
    assert found['likes("a", "a")'] == pytest.approx(math.exp(0.25) / (1 + math.exp(0.25)), abs=1e-12)


ORDERS = "hard: r(x, y) xor r(y, x) where x != y\nhard: not r(x, x)\n"
EQUIVALENCES = "hard: r(x, x)\nhard: r(x, y) => r(y, x)\n"


@pytest.mark.parametrize(("first", "count"), [(ORDERS, 40320), (EQUIVALENCES, 4140)])
def test_relations_are_decided_element_by_element(
    first: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each case is then what is left of a set, so that there are at most (3^7 + 1) / 2 for eight elements."""
    cases: list[int] = []
    whole = Compilation._circuit

    def counted(self: Compilation) -> Circuit:
        cases.append(int(self._state.at[CACHED]))
        return whole(self)

    monkeypatch.setattr(Compilation, "_circuit", counted)
    text = f"type n = 1..8\npredicate r(n, n)\n{first}hard: r(x, y) and r(y, z) => r(x, z)\n"
    found = hb.Model(hb.parse(text)).infer(engine="circuit", log_partition=True)
    assert math.exp(found.log_partition or 0.0) == pytest.approx(count, rel=1e-9)
    assert 0 < cases[0] <= (3**7 + 1) / 2
