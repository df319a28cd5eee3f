"""Diagrams against the sum over all worlds, and against the search from the top."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.budget import UNLIMITED, Budget, time_beside_compiling
from herbrand.engines.circuit import bounds, compile
from herbrand.engines.circuit.choices import ChoiceConstraints
from herbrand.engines.circuit.circuit import Circuit
from herbrand.engines.circuit.compile import Compilation, problem_of
from herbrand.engines.circuit.diagram_loop import (
    ENTRIES,
    LEVEL,
    NODES,
    Diagrams,
    Rows,
    conjoin,
    decide,
    measure,
)
from herbrand.engines.circuit.diagrams import Making, Subject
from herbrand.engines.circuit.key_table import larger
from herbrand.engines.circuit.search import DONE, GROW, PAUSE
from herbrand.errors import BudgetError
from herbrand.language.dialects import read_theory_text
from herbrand.loops import compiled
from tests.engines.circuit.test_bounds import networks
from tests.engines.circuit.test_sum_over_worlds import check
from tests.laws import long, tries


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """The search finds nothing where diagrams may; whether they did."""
    found: list[bool] = []
    by_diagrams, made_on = bounds.Unfinished._by_diagrams, Making.advanced

    def tried(self: bounds.Unfinished, until: float) -> bounds.Counted | None:
        made = by_diagrams(self, until)
        found.append(made is not None)
        return made

    def advanced(self: bounds.Unfinished, work: int) -> Circuit | None:
        fits = Subject(self.task.net, frozenset(self.task.weighted)).fits
        return None if fits else self.search.advanced(10_000_000)

    monkeypatch.setattr(bounds.Unfinished, "advanced", advanced)
    monkeypatch.setattr(bounds.Unfinished, "_by_products", None)
    monkeypatch.setattr(bounds.Unfinished, "_by_elimination", lambda self: None)
    monkeypatch.setattr(bounds.Unfinished, "_by_diagrams", tried)
    monkeypatch.setattr(Making, "advanced", lambda self, steps, until: made_on(self, 10**9, until))
    return found


@pytest.mark.parametrize("start", long([*range(0, 300, 50), *range(3000, 4000, 50)], 1))
def test_random_programs(start: int, used: list[bool]) -> None:
    """Half of them have answers. Narrow ones are summed by elimination: a fifth needs diagrams."""
    count = tries(50, 20)
    assert sum(check(seed) for seed in range(start, start + count)) >= count // 2 and sum(used) >= count // 5


def circles(count: int) -> str:
    """A graph in which nearly every edge is on circles."""
    edges = "".join(
        f"0.5::edge({i}, {(7 * i + 3) % count}). 0.4::edge({i}, {(3 * i + 1) % count}).\n"
        for i in range(count)
    )
    return f"{edges}path(X, Y) :- edge(X, Y).\npath(X, Y) :- path(X, Z), edge(Z, Y).\n"


@pytest.mark.parametrize("given", ["", "evidence(path(1, 0)).\nevidence(\\+edge(0, 1)).\n"])
def test_paths_among_circles_are_those_of_the_search(given: str, used: list[bool]) -> None:
    text = f"{circles(11)}{given}query(path(0, X)). query(edge(2, 6))."
    found = {row.atom: row.probability for row in hb.Model(read_theory_text(text, "pl")).infer().rows()}
    assert used.count(True) == 1 and len(found) > 3
    with pytest.MonkeyPatch.context() as searching:
        searching.setattr(bounds.Unfinished, "_by_diagrams", lambda self, until: None)
        searching.setattr(bounds.Unfinished, "advanced", lambda self, work: self.search.advanced(10**9))
        expected = hb.Model(read_theory_text(text, "pl")).infer()
    assert found == pytest.approx({row.atom: row.probability for row in expected.rows()}, abs=1e-12)


def test_what_is_rare_keeps_its_digits(used: list[bool]) -> None:
    """Also behind `not`, where 1 less the rest would be 0."""
    rare = "".join(f"1.0e-9 :: a{i}\n" for i in range(4))
    text = f"{rare}0.999999999999 :: b\nall :- a0, a1, a2, a3\nleft :- all, not b\nboth :- left, all\n"
    found = hb.Model(hb.parse(text)).infer(["all", "left", "both"], engine="circuit")
    assert found["all"] == pytest.approx(1e-36, rel=1e-9)
    assert found["left"] == pytest.approx(1e-48, rel=1e-3)
    assert found["both"] == pytest.approx(1e-48, rel=1e-3)
    assert used == [True]


def test_what_is_too_large_goes_on_where_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("herbrand.engines.circuit.diagrams.STEPS_AT_ONCE", 10)
    made = ChoiceConstraints()
    drawn = [made.choice([0.5]).outcomes[0] for _ in range(12)]
    pairs = [made.net.every([drawn[i], drawn[i + 6]]) for i in range(6)]
    asked = made.net.either([*pairs, made.net.every([drawn[0], drawn[7]])])
    task = made.task([asked])
    circuit, weights = made.circuit([asked], Budget())
    making = Making(Subject(task.net, written=[asked]), np.arange(len(task.net)), Budget())
    assert not making.advanced(5, math.inf)
    assert not making.advanced(10_000, time_beside_compiling() - 1)
    assert making.advanced(10_000, math.inf)
    found = making.counted(task.log_weights)
    assert found is not None
    assert found[1][asked] == pytest.approx(circuit.shares(weights, circuit.values(weights))[asked])


def test_memory_that_ends_leaves_the_search_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{circles(11)}query(path(0, 10))."
    expected = hb.Model(read_theory_text(text, "pl")).infer()
    monkeypatch.setattr(bounds, "DIAGRAMS_FROM", 1)
    tried: list[int] = []

    def refused(self: Making, steps: int, until: float) -> bool:
        tried.append(steps)
        raise BudgetError("no memory")

    monkeypatch.setattr(Making, "advanced", refused)
    found = hb.Model(read_theory_text(text, "pl")).infer()
    assert len(tried) == 2
    told = [row.probability for row in expected.rows()]
    assert [row.probability for row in found.rows()] == pytest.approx(told, abs=1e-12)


def test_diagrams_that_grow_too_large_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("herbrand.engines.circuit.diagrams.MOST_NODES", 50)
    monkeypatch.setattr("herbrand.engines.circuit.diagrams.STEPS_AT_ONCE", 10)
    monkeypatch.setattr(bounds, "DIAGRAMS_FROM", 1)
    lost: list[bool] = []
    advanced = Making.advanced

    def watched(self: Making, steps: int, until: float) -> bool:
        found = advanced(self, 10_000, until)
        lost.append(self.too_large)
        return found

    monkeypatch.setattr(Making, "advanced", watched)
    text = f"{circles(11)}query(path(0, 10))."
    expected = 0.37278572  # by the search
    (row,) = hb.Model(read_theory_text(text, "pl")).infer().rows()
    assert lost == [True, True] and row.probability == pytest.approx(expected, abs=1e-12)


def test_the_order_that_has_come_further_gets_more_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("herbrand.engines.circuit.diagrams.EVEN", 500)
    monkeypatch.setattr(bounds, "DIAGRAMS_FROM", 100)
    asked: list[tuple[int, float]] = []
    advanced = Making.advanced

    def watched(self: Making, steps: int, until: float) -> bool:
        asked.append((steps, self.part))
        return advanced(self, steps, until)

    monkeypatch.setattr(Making, "advanced", watched)
    hb.Model(read_theory_text(f"{circles(17)}query(path(0, 16)).", "pl")).infer()
    rounds = [*zip(asked[::2], asked[1::2], strict=False)]
    alike = [(one, other) for one, other in rounds if one[0] == other[0]]
    apart = [sorted(pair, key=lambda told: told[0]) for pair in rounds if pair not in alike]
    assert alike and all(one[0] <= 500 for one, _ in alike)
    assert len(apart) >= 5 and all(behind[1] <= ahead[1] for behind, ahead in apart)
    assert all(behind[0] == max(500, ahead[0] // 4) for behind, ahead in apart)


def test_gates_with_weights_of_their_own_are_decided_too() -> None:
    made = ChoiceConstraints()
    literals = [made.choice([0.5]).outcomes[0] for _ in range(3)]
    both = made.net.every(literals[:2])
    some = made.net.either([both, literals[2]])
    made.weigh(both, 1.0)
    task = made.task([both, some])
    subject = Subject(task.net, frozenset(task.weighted), [both, some])
    assert subject.fits
    making = Making(subject, np.arange(len(task.net)), Budget())
    assert making.advanced(100, math.inf)
    found = making.counted(task.log_weights)
    assert found is not None
    weight = math.exp(1.0)
    assert found[1][both] == pytest.approx(2 * weight / (2 * weight + 6))
    assert found[1][some] == pytest.approx((2 * weight + 3) / (2 * weight + 6))
    assert found[0] == pytest.approx(math.log((2 * weight + 6) / 8))
    made.weigh(some, 1.0)
    task = made.task([both, some])
    assert not Subject(task.net, frozenset(task.weighted)).fits, (
        "nearly every gate is decided: no diagram is small"
    )


@settings(max_examples=tries(200, 60), deadline=None)
@given(networks(), st.randoms(use_true_random=False), st.booleans())
def test_circuits_of_diagrams_are_those_of_the_search(
    network: tuple[ChoiceConstraints, list[int]], random: Random, sums: bool
) -> None:
    """In any order of decisions: the sum, every share, the best assignment, and which are drawn."""
    made, asked = network
    task = made.task(asked)
    net, told, normal = (
        (task.net, task.written, task.normal) if sums else (made.net, made._written(asked), set())
    )
    if not net.consistent or any(one.least != 1 for one in net.restrictions):
        return
    problem = problem_of(net, told, normal, ())
    expected = Compilation(problem, UNLIMITED).advanced(10**9)
    rank = random.sample(range(len(net)), len(net))
    gates = frozenset(v for v in told if net.gates[v])
    making = Making(Subject(net, gates), np.array(rank), UNLIMITED)
    assert expected is not None and making.advanced(10**9, math.inf)
    found = making.circuit(problem.written)
    weights = task.log_weights if sums else made.log_weights()
    values, others = found.values(weights), expected.values(weights)
    assert values[found.root] == pytest.approx(others[expected.root], abs=1e-9)
    if values[found.root] == -math.inf:
        return
    shares = found.shares(weights, values)
    assert shares == pytest.approx(expected.shares(weights, others), abs=1e-9)
    if not sums:
        assert found.best(weights)[1] == pytest.approx(expected.best(weights)[1], abs=1e-9)
        uniform = np.random.default_rng(1).uniform(size=(400, len(net)))
        drawn = found.samples(weights, values, uniform)
        for variable in told:
            assert (drawn[:, variable] == 1).mean() == pytest.approx(shares[2 * variable], abs=0.15)


def test_what_circuits_tell_of_circles_is_found_by_diagrams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Explanations and likeliest worlds, which the search alone finds as well."""
    model = hb.Model(read_theory_text(f"{circles(7)}query(path(0, 6)).", "pl"))
    before = model.explain("path(0, 6)"), model.infer(map=True)
    advanced, made_on = Compilation.advanced, Making.advanced
    monkeypatch.setattr(compile, "CIRCUITS_FROM", 1)
    monkeypatch.setattr(Compilation, "advanced", lambda self, work: None if self.work else advanced(self, 1))
    monkeypatch.setattr(Making, "advanced", lambda self, steps, until: made_on(self, 10**9, until))
    after = model.explain("path(0, 6)"), model.infer(map=True)
    assert after[0].value == pytest.approx(before[0].value, abs=1e-12)
    told = {reason.statement: reason.contribution for reason in before[0].reasons}
    assert {one.statement: one.contribution for one in after[0].reasons} == pytest.approx(told, abs=1e-9)
    assert after[1].log_weight == pytest.approx(before[1].log_weight, abs=1e-9)


@pytest.mark.parametrize("run", [conjoin, compiled(conjoin)], ids=["plain", "compiled"])
@pytest.mark.parametrize("seed", range(20))
def test_conjunctions_are_those_of_truth_tables(seed: int, run: Callable[..., int]) -> None:
    """Whatever ends first, and wherever: nodes, the table, or the steps that are allowed."""
    rng = np.random.default_rng(seed)
    inputs, count = 5, 25
    worlds = np.array(list(itertools.product((False, True), repeat=inputs)))
    truth = [worlds[:, slot] for slot in range(inputs)]
    rows: list[list[int]] = []
    for slot in range(inputs, inputs + count):
        literals = rng.integers(0, 2 * slot, rng.integers(0, 4)).tolist()
        rows.append(literals)
        every = [truth[literal >> 1] != bool(literal & 1) for literal in literals]
        truth.append(np.logical_and.reduce(every) if every else np.ones(len(worlds), bool))
    starts = np.cumsum([0, *map(len, rows)])
    literals = np.array([literal for row in rows for literal in row], np.int64)
    given = Rows(starts, literals, np.arange(inputs, inputs + count))
    order = rng.permutation(inputs)
    made = Diagrams.empty(given, inputs, inputs + count)
    made = made._replace(nodes=made.nodes[: inputs + 1].copy())
    ended = Counter[int]()
    with np.errstate(over="ignore"):
        decide(made, order)
        while (code := run(given, made, 1)) != DONE:
            ended[code] += 1
            if code == GROW and made.at[NODES] == len(made.nodes):
                made = made._replace(nodes=np.vstack([made.nodes, np.zeros((1, 3), np.int64)]))
            elif code == GROW:
                keys, values = larger(made.keys, made.values)
                made = made._replace(keys=keys, values=values)
    assert ended[PAUSE] and ended[GROW] and 2 * made.at[ENTRIES] <= len(made.values)
    nodes = made.nodes[: made.at[NODES]]
    assert len(np.unique(nodes[1:], axis=0)) == len(nodes) - 1, "equal functions are one node"
    assert (nodes[nodes[1:, 1:] >> 1, LEVEL] > nodes[1:, :1]).all(), "decisions in their order"
    chances = rng.uniform(size=inputs)
    found = np.empty(2 * len(nodes))
    measure(nodes, len(nodes), np.stack([1 - chances, chances], axis=1), found)
    weights = np.where(worlds[:, order], chances, 1 - chances).prod(axis=1)
    expected = [weights[own].sum() for own in truth]
    assert found[made.edges] == pytest.approx(expected, abs=1e-12)
    same = {edge: own.tobytes() for edge, own in zip(made.edges.tolist(), truth, strict=True)}
    assert len(same) == len({own.tobytes() for own in truth}), "an edge a function"
