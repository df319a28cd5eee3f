"""Compiled circuits against all assignments, and the counts of classical objects."""

from __future__ import annotations

import itertools
import math
import operator as operators
import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np
import pytest

from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.circuit.compile import Compilation, Order, compiled, is_possible, problem_of
from herbrand.engines.circuit.constraints import FALSE, TRUE, Constraints, negated
from herbrand.errors import OutOfTimeError

COMPARED: Mapping[str, Callable[[Fraction | int, Fraction], bool]] = {
    "<": operators.lt, "<=": operators.le, "=": operators.eq,
    "!=": operators.ne, ">": operators.gt, ">=": operators.ge,
}  # fmt: skip


def _count(net: Constraints) -> int:
    return round(math.exp(compiled(net, UNLIMITED).total(np.zeros((len(net), 2)))))


@pytest.mark.parametrize("seed", range(60))
def test_totals_shares_and_best_of_random_constraints(seed: int) -> None:
    chance = random.Random(seed)
    net = Constraints()
    inputs = [net.variable() for _ in range(chance.randint(2, 7))]
    literals = [2 * v + sign for v in inputs for sign in (0, 1)]
    gates: list[tuple[int, bool, list[int]]] = []
    for _ in range(chance.randint(0, 4)):
        own, every = [chance.choice(literals) for _ in range(chance.randint(2, 4))], chance.random() < 0.5
        gate = net.every(own) if every else net.either(own)
        if gate >= 0:
            gates.append((gate, every, own))
            literals += [gate, negated(gate)]
    required = [
        [chance.choice(literals) for _ in range(chance.randint(1, 3))] for _ in range(chance.randint(0, 4))
    ]
    for clause in required:
        net.require(clause)
    sums = [
        ([(chance.randint(-2, 4), chance.choice(literals)) for _ in range(4)], chance.randint(0, 6))
        for _ in range(chance.randint(0, 2))
    ]
    for weighted, least in sums:
        net.require_sum(weighted, least)
    group = [2 * v for v in chance.sample(inputs, 2)]
    if chance.random() < 0.5:
        net.exactly_one(group)
        required += [group, [negated(literal) for literal in group]]
    weights = np.zeros((len(net), 2))
    for v in inputs:
        weights[v] = np.log([chance.random(), chance.random()])

    total, best, shares = 0.0, 0.0, np.zeros(len(net))
    for values in itertools.product((0, 1), repeat=len(inputs)):
        world = {2 * v: bool(x) for v, x in zip(inputs, values, strict=True)}
        world |= {literal + 1: not x for literal, x in world.items()}
        for gate, every, own in gates:
            world[gate] = (all if every else any)(world[literal] for literal in own)
            world[negated(gate)] = not world[gate]
        enough = all(sum(w for w, x in weighted if world[x]) >= least for weighted, least in sums)
        if enough and all(any(world[literal] for literal in clause) for clause in required):
            weight = math.exp(sum(weights[v, x] for v, x in zip(inputs, values, strict=True)))
            total, best = total + weight, max(best, weight)
            shares += [weight * world.get(2 * v, False) for v in range(len(net))]

    told = {gate >> 1 for gate, _, _ in gates}
    circuit = compiled(net, UNLIMITED, told)
    values = circuit.values(weights)
    assert math.exp(values[circuit.root]) == pytest.approx(total, abs=1e-12)
    if total:
        found = circuit.shares(weights, values).reshape(-1, 2)[[*inputs, *told]]
        assert found[:, 0] == pytest.approx(shares[[*inputs, *told]] / total, abs=1e-12)
        assert found.sum(axis=1) == pytest.approx(np.ones(len(found)))
        assert math.exp(circuit.best(weights)[1]) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("scale", [1.0, 2.0**-40, 2.0**58])
def test_totals_of_weights_are_compared_as_sums_are(seed: int, scale: float) -> None:
    """Also where they leave 64 bits, and of equal and opposite literals, and those that always hold."""
    chance = random.Random(seed)
    net = Constraints()
    literals = [2 * net.variable() + chance.randint(0, 1) for _ in range(5)]
    members = [*literals, *(chance.choice([*literals, literals[0] ^ 1, TRUE, FALSE]) for _ in range(2))]
    weighted = [(chance.choice([-1, 0.5, 1, 1, 2]) * scale + chance.randint(0, 1), x) for x in members]
    number = chance.choice([0.5, 1, 2, 2.5]) * scale + chance.randint(0, 2)
    operator = chance.choice(list(COMPARED))
    net.require([net.totalled(weighted, operator, number, UNLIMITED)])

    def holds(values: Sequence[int]) -> bool:
        world = {2 * v: bool(x) for v, x in enumerate(values)} | {TRUE: True, FALSE: False}
        world |= {literal + 1: not x for literal, x in world.items() if literal >= 0}
        return COMPARED[operator](sum(Fraction(w) for w, x in weighted if world[x]), Fraction(number))

    expected = sum(map(holds, itertools.product((0, 1), repeat=5)))
    assert _count(net) == expected


def test_needs_that_are_a_power_of_two_apart_are_told_apart() -> None:
    """Keys end in zeros here, as one of some hundred does: needs had changed nothing but its highest bits."""
    weights = [*[2**58] * 6, 2**58 - 8, 1, 1, 1]
    net = Constraints()
    net.require_sum([(weight, 2 * net.variable()) for weight in weights], 2**59 + 2)
    problem = problem_of(net, (), (), ())
    problem = problem._replace(constraint_keys=problem.constraint_keys << np.uint64(6))
    circuit = Compilation(problem, UNLIMITED).advanced(10**6)
    assert circuit is not None
    taken = itertools.product((0, 1), repeat=len(weights))
    expected = sum(sum(map(operators.mul, weights, one)) >= 2**59 + 2 for one in taken)
    assert round(math.exp(circuit.total(np.zeros((len(net), 2))))) == expected


@pytest.mark.parametrize(("count", "most"), [(100, 40), (300, 120)])
def test_a_count_takes_a_case_for_each_number_that_may_be_left(count: int, most: int) -> None:
    net = Constraints()
    counted = [(1, 2 * net.variable()) for _ in range(count)]
    net.require([net.at_least(counted, most)])
    circuit = compiled(net, UNLIMITED)
    assert circuit.size < 20 * count * most
    expected = sum(math.comb(count, n) for n in range(most, count + 1))
    assert circuit.total(np.zeros((len(net), 2))) == pytest.approx(math.log(expected), abs=1e-9)


def test_a_count_over_a_chain_goes_along_the_chain() -> None:
    """All are linked by what is counted, yet two parts of the chain are never open at once."""
    sizes = list[int]()
    for count in (30, 60):
        net = Constraints()
        links = [2 * net.variable() for _ in range(count)]
        for one, other in itertools.pairwise(links):
            net.require([negated(one), other])
        net.require_sum([(1, link) for link in links], count // 3)
        sizes.append(compiled(net, UNLIMITED).size)
        assert _count(net) == count - count // 3 + 1
    assert sizes[1] < 6 * sizes[0]


def test_counts_of_queens_matchings_orders_and_equivalences() -> None:
    assert _count(_queens(8)) == 92
    assert _count(_matchings(6)) == math.factorial(6)
    assert _count(_orders(6)) == math.factorial(6)
    assert _count(_equivalences(7)) == 877


def test_chains_take_linear_circuits() -> None:
    net = Constraints()
    links = [net.variable() for _ in range(800)]
    reached = TRUE
    for link in links:
        reached = net.every([reached, 2 * link])
    circuit = compiled(net, UNLIMITED, [reached >> 1], links)
    assert circuit.size < 20 * 800
    weights = np.zeros((len(net), 2))
    weights[links] = math.log(0.999), math.log(0.001)
    weights[links] = math.log(0.001), math.log(0.999)
    shares = circuit.shares(weights, circuit.values(weights))
    assert shares[reached] == pytest.approx(0.999**800, rel=1e-9)


@pytest.mark.parametrize("seed", range(60))
def test_whether_constraints_can_hold_is_what_all_assignments_say(seed: int) -> None:
    chance = random.Random(seed)
    net = Constraints()
    variables = [net.variable() for _ in range(6)]
    clauses = [
        [2 * v + chance.randint(0, 1) for v in chance.sample(variables, 3)]
        for _ in range(chance.randint(18, 40))
    ]
    for clause in clauses:
        net.require(clause)
    worlds = itertools.product((0, 1), repeat=6)
    expected = any(all(any(world[lit >> 1] != lit & 1 for lit in one) for one in clauses) for world in worlds)
    assert is_possible(net, UNLIMITED) is expected


def test_one_world_takes_a_path_and_not_a_circuit() -> None:
    def searched(one_world: bool) -> tuple[int, float]:
        net = _orders(8)
        search = Compilation(problem_of(net, (), (), (), one_world), UNLIMITED)
        circuit = search.advanced(10_000_000)
        assert circuit is not None
        return search.work, circuit.total(np.zeros((len(net), 2)))

    (one, total), (every, _) = searched(True), searched(False)
    assert 0 <= total < math.inf and 20 * one < every


def test_what_cannot_hold_has_no_weight() -> None:
    net = Constraints()
    a = 2 * net.variable()
    net.require([a])
    net.require([negated(a)])
    assert compiled(net, UNLIMITED).total(np.zeros((1, 2))) == -math.inf


def test_the_clock_ends_a_compilation() -> None:
    with pytest.raises(OutOfTimeError):
        compiled(_orders(16), Budget(seconds=0.2))


@pytest.mark.parametrize("looks", [1, 20])
def test_an_order_that_the_clock_ends_serves(looks: int) -> None:
    """What is not eliminated by then keeps the order of the program."""
    net, ticks = _queens(4), itertools.count()
    order = Order.of(net, Budget(seconds=looks, clock=lambda: float(next(ticks))))
    assert order.width == math.inf and sorted(order.ranks) == list(range(16))
    problem = problem_of(net, (), (), (), order=order)
    circuit = Compilation(problem, UNLIMITED).advanced(10**6)
    assert circuit is not None and round(math.exp(circuit.total(np.zeros((16, 2))))) == 2


def _queens(size: int) -> Constraints:
    net = Constraints()
    cells = {(i, j): 2 * net.variable() for i in range(size) for j in range(size)}
    for row in range(size):
        net.require(cells[row, column] for column in range(size))
    for (i, j), (k, m) in itertools.combinations(cells, 2):
        if i == k or j == m or abs(i - k) == abs(j - m):
            net.require([negated(cells[i, j]), negated(cells[k, m])])
    return net


def _matchings(size: int) -> Constraints:
    net = Constraints()
    cells = [[2 * net.variable() for _ in range(size)] for _ in range(size)]
    for row in [*cells, *map(list, zip(*cells, strict=True))]:
        net.exactly_one(row)
    return net


def _orders(size: int) -> Constraints:
    net = Constraints()
    before = {}
    for i, j in itertools.combinations(range(size), 2):
        before[i, j] = 2 * net.variable()
        before[j, i] = negated(before[i, j])
    for i, j, k in itertools.permutations(range(size), 3):
        net.require([negated(before[i, j]), negated(before[j, k]), before[i, k]])
    return net


def _equivalences(size: int) -> Constraints:
    net = Constraints()
    same = {}
    for i, j in itertools.combinations(range(size), 2):
        same[i, j] = same[j, i] = 2 * net.variable()
    for i, j, k in itertools.permutations(range(size), 3):
        net.require([negated(same[i, j]), negated(same[j, k]), same[i, k]])
    return net


def test_a_search_that_goes_on_compiled_ends_where_a_plain_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Permutations of four: 24, wherever the compiled loop takes over."""
    net = Constraints()
    square = [[2 * net.variable() for _ in range(4)] for _ in range(4)]
    for line in (*square, *zip(*square, strict=True)):
        net.exactly_one(list(line))
    monkeypatch.setattr("herbrand.loops.often", lambda function, operations: function)
    circuits = []
    for work in (0, 200, 10**9):
        monkeypatch.setattr("herbrand.engines.circuit.compile.PLAIN_WORK", work)
        circuits.append(compiled(net, UNLIMITED))
    assert [round(math.exp(c.total(np.zeros((16, 2))))) for c in circuits] == [24] * 3
    assert all(np.array_equal(c.kids, circuits[0].kids) for c in circuits)
