"""Engines read the tables of networks whole, and refuse wide ones without going through their cells."""

from __future__ import annotations

import math
from itertools import count, product

import numpy as np
import pytest

import herbrand as hb
from herbrand.budget import UNLIMITED, Budget
from herbrand.engines.choice import choices, readable_by
from herbrand.engines.circuit.engine import CircuitEngine
from herbrand.engines.circuit.network import WeightedConstraints
from herbrand.engines.engine import Prepared, Refusal, Settings
from herbrand.engines.exact import Exact
from herbrand.engines.registry import INFERENCE, engine_named
from herbrand.errors import OutOfTimeError
from herbrand.factors.graph import Assembly, Tables
from herbrand.language.dialects import read_theory_text
from herbrand.language.theory import Theory
from herbrand.program.program import Program
from herbrand.program.question import Question
from tests.oracles.networks import Table, summed
from tests.work import calls

Read = tuple[tuple[int, ...], np.ndarray]


def random_network(count: int, size: int, parents: int, seed: int = 0) -> list[Read]:
    """For each variable its parents and itself, and a table of random rows."""
    random = np.random.default_rng(seed)
    found = []
    for child in range(count):
        chosen = sorted(random.choice(child, min(child, parents), replace=False).tolist())
        rows = random.dirichlet(np.ones(size), (size,) * len(chosen))
        found.append(((*chosen, child), rows))
    return found


def uai(network: list[Read]) -> str:
    sizes = " ".join(str(table.shape[-1]) for _, table in network)
    lines = ["BAYES", str(len(network)), sizes, str(len(network))]
    lines += [f"{len(scope)} {' '.join(map(str, scope))}" for scope, _ in network]
    lines += [f"{table.size} {' '.join(map(repr, table.ravel().tolist()))}" for _, table in network]
    return "\n".join(lines)


def model_of(network: list[Read]) -> hb.Model:
    return hb.Model(read_theory_text(uai(network), "uai"))


def prepared(program: Program, name: str) -> Prepared[object]:
    engine = engine_named("infer", name, Settings())
    found = engine.prepare(readable_by(engine, program), Question(), UNLIMITED)
    assert isinstance(found, Prepared)
    return found


@pytest.mark.parametrize("name", ["regions", "bp", "mean-field", "gibbs"])
def test_no_engine_goes_through_the_cells_of_a_wide_network(name: str) -> None:
    """Seven times as many cells take about as many calls."""

    def work(size: int) -> int:
        program = model_of(random_network(30, size, 3)).measured(UNLIMITED, (), ())[0]
        return calls(lambda: prepared(program, name).cost())

    work(2)
    assert work(5) < 1.5 * work(3)

    def work(size: int) -> int:
        (program, question) = model_of(random_network(60, size, 3)).measured(UNLIMITED, (), ())
        engine = engine_named("infer", "lifted", Settings())
        return calls(lambda: engine.prepare(program, question, UNLIMITED))

    work(3)
    assert work(5) < 1.5 * work(4)


def test_no_circuit_is_tried_for_a_network_of_many_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of its cells are impossible, as in the tables of a plant that follows itself."""
    monkeypatch.setattr("herbrand.engines.circuit.engine.TRIED_ROWS", 40)
    for size, tried in ((6, True), (7, False)):
        copied = np.eye(size)
        model = model_of([((0,), np.full(size, 1 / size)), ((0, 1), copied)])
        program, question = model.measured(UNLIMITED, (), ())
        offer = engine_named("infer", "circuit", Settings()).prepare(program, question, UNLIMITED)
        assert isinstance(offer, Prepared)
        told = offer.cost()
        assert tried is not isinstance(told, Refusal)
        assert tried or (isinstance(told, Refusal) and "many cells" in told.why)


def wide_table(parents: int) -> list[Read]:
    """A random table of one variable given all others."""
    return random_network(parents, 2, 0) + random_network(parents + 1, 2, parents)[-1:]


def with_zeros(network: list[Read]) -> list[Read]:
    """The network with other entries, of which many are 0 and others equal."""
    random = np.random.default_rng(2)
    entries = [(scope, random.choice([0.0, 0.0, 1.0, 3.0], table.shape)) for scope, table in network]
    entries = [(scope, np.where(own.any(axis=-1, keepdims=True), own, 1.0)) for scope, own in entries]
    return [(scope, own / own.sum(axis=-1, keepdims=True)) for scope, own in entries]


@pytest.mark.parametrize("evidence", [{}, {4: 1}, {0: 0, 4: 1}])
@pytest.mark.parametrize(
    "network",
    [wide_table(4), random_network(5, 3, 3), random_network(5, 4, 2), with_zeros(random_network(5, 3, 4))],
)
def test_circuits_of_tables_are_exact(network: list[Read], evidence: dict[int, int]) -> None:
    tables = [Table(scope, tuple(table.ravel().tolist())) for scope, table in network]
    sizes = [table.shape[-1] for _, table in network]
    want = summed(sizes, tables, evidence)
    given = [f'`{name}` = "{value}"' for name, value in evidence.items()]
    found = model_of(network).infer(given=given, engine="circuit", log_partition=True)
    assert found.log_partition == pytest.approx(math.log(want.total))
    for row in found.to_dict()["marginals"]:
        assert row["probability"] == pytest.approx(want.marginals[int(row["predicate"])][int(row["value"])])
    best = model_of(network).infer(given=given, engine="circuit", map=True).log_weight
    assert best == pytest.approx(model_of(network).infer(given=given, engine="exact", map=True).log_weight)


def test_cells_of_a_wide_table_share_gates() -> None:
    """Each cell was a statement of its own at all stages, and a gate over all variables of the table."""

    def literals(parents: int) -> int:
        ((_, table),) = wide_table(parents)[-1:]
        made = WeightedConstraints()
        assembly = Assembly(np.full(parents + 1, 2))
        assembly.add_tables(Tables(np.arange(parents + 1)[None], np.zeros(1, np.int64), np.log(table)[None]))
        made.add(assembly.build(), lambda axis: made.add_axis(2))
        return sum(len(one.literals) for one in made.net.restrictions)

    assert literals(10) < 15 * 2**11
    assert literals(12) < 4.2 * literals(10)


def test_the_clock_is_asked_within_one_table() -> None:
    """A second may pass at each look."""
    program, question = model_of(wide_table(10)).measured(UNLIMITED, (), ())
    ticks = count()
    engine = CircuitEngine(Budget(seconds=60.0, clock=lambda: float(next(ticks))))
    with pytest.raises(OutOfTimeError):
        engine.started(program, question)


def test_check_asks_every_engine_of_a_network() -> None:
    model = model_of(random_network(4, 2, 2))
    assert {offer.name for offer in choices(Settings(), *model.measured(UNLIMITED, (), ()))} == set(INFERENCE)


@pytest.mark.parametrize("evidence", [{}, {5: 1}, {0: 0, 3: 1}])
def test_mean_field_is_at_rest_where_the_tables_say_so(evidence: dict[int, int]) -> None:
    """Each variable's log-odds are the expected logarithms of the tables over all worlds of the others."""
    network = random_network(6, 2, 2, 1)
    given = [f'`{name}` = "{value}"' for name, value in evidence.items()]
    found = model_of(network).infer(given=given, engine="mean-field", tolerance=1e-12).to_dict()
    beliefs = [np.eye(2)[evidence.get(number, 0)] for number in range(6)]
    for row in found["marginals"]:
        beliefs[int(row["predicate"])][int(row["value"])] = row["probability"]

    def expected(fixed: dict[int, int]) -> float:
        total = 0.0
        for world in product(range(2), repeat=6):
            if all(world[number] == value for number, value in (evidence | fixed).items()):
                chance = math.prod(beliefs[i][v] for i, v in enumerate(world) if i not in fixed)
                logs = (math.log(table[tuple(world[i] for i in scope)]) for scope, table in network)
                total += chance * sum(logs)
        return total

    for number in set(range(6)) - set(evidence):
        belief = beliefs[number]
        odds = expected({number: 1}) - expected({number: 0})
        assert math.log(belief[1] / belief[0]) == pytest.approx(odds, abs=1e-6)
    entropy = -sum(float(p * math.log(p)) for belief in beliefs for p in belief if p > 0)
    assert found["log_partition"] == pytest.approx(expected({}) + entropy, abs=1e-9)
    tables = [Table(scope, tuple(table.ravel().tolist())) for scope, table in network]
    assert found["log_partition"] <= math.log(summed([2] * 6, tables, evidence).total)


def test_mean_field_of_a_network_of_which_all_is_known() -> None:
    network = random_network(3, 2, 2)
    found = model_of(network).infer(given=['`0` = "0"', '`1` = "1"', '`2` = "0"'], engine="mean-field")
    want = network[0][1][0] * network[1][1][0, 1] * network[2][1][0, 1, 0]
    assert found.log_partition == pytest.approx(math.log(want))


@pytest.mark.parametrize("engine", ["gibbs", "mean-field"])
def test_impossible_cells_of_whole_tables_stay_impossible(engine: str) -> None:
    """A copies B where that is 1; what is given leaves A no other value."""
    model = hb.Model(read_theory_text("MARKOV\n2\n2 3\n1\n2 0 1\n6\n1 2 0 0 3 4\n", "uai"))
    found = model.infer(given=['`1` = "0"'], engine=engine)
    assert [row.probability for row in found.rows()] == [1, 0]


def test_gibbs_draws_from_whole_tables() -> None:
    network = random_network(8, 3, 2, 2)
    tables = [Table(scope, tuple(table.ravel().tolist())) for scope, table in network]
    want = summed([3] * 8, tables, {7: 2}).marginals
    found = model_of(network).infer(given=['`7` = "2"'], engine="gibbs", samples=20_000).to_dict()
    for row in found["marginals"]:
        assert row["probability"] == pytest.approx(want[int(row["predicate"])][int(row["value"])], abs=0.02)


def test_auto_asks_elimination_first_for_the_likeliest_world_of_a_network() -> None:
    """It is there at once; the estimate of an integer program goes through every cell."""
    network = random_network(5, 3, 2)
    found = model_of(network).infer(map=True)
    want = max(
        math.prod(float(table[tuple(world[i] for i in scope)]) for scope, table in network)
        for world in product(range(3), repeat=5)
    )
    assert found.engine == "exact"
    assert found.log_weight == pytest.approx(math.log(want))


def markov(sizes: list[int], scopes: list[tuple[int, ...]]) -> hb.Model:
    random = np.random.default_rng(0)
    lines = ["MARKOV", str(len(sizes)), " ".join(map(str, sizes)), str(len(scopes))]
    lines += [f"{len(scope)} {' '.join(map(str, scope))}" for scope in scopes]
    for scope in scopes:
        entries = random.random(math.prod(sizes[i] for i in scope))
        lines.append(f"{len(entries)} {' '.join(map(str, entries))}")
    return hb.Model(read_theory_text("\n".join(lines), "uai"))


def grid(side: int) -> hb.Model:
    right = [(i, i + 1) for i in range(side * side) if (i + 1) % side]
    return markov([2] * side * side, [*right, *((i, i + side) for i in range(side * (side - 1)))])


def long_chain(count: int) -> hb.Model:
    return markov([4] * count, [(i, i + 1, i + 2) for i in range(count - 2)])


@pytest.mark.parametrize(
    ("model", "taken"),
    [
        (grid(16), 0.6),
        (grid(18), 3.0),
        (markov([60] * 4, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]), 0.5),
    ],
)
def test_a_time_limit_refuses_an_elimination_that_takes_longer(model: hb.Model, taken: float) -> None:
    """``taken``: seconds of a processor of a 2020s server."""
    program, question = model.measured(UNLIMITED, (), ())

    def refused(seconds: float) -> bool:
        return isinstance(Exact(Budget(seconds=seconds)).prepare(program, question, UNLIMITED), Refusal)

    assert refused(taken)
    assert not refused(3 * taken + 1)


def test_many_small_steps_take_time_too() -> None:
    """3,000 tables of 64 entries: half a million operations, and more than a second."""
    program, question = long_chain(3000).measured(UNLIMITED, (), ())
    assert isinstance(Exact(Budget(seconds=1.3)).prepare(program, question, UNLIMITED), Refusal)
    assert isinstance(Exact(Budget(seconds=5)).prepare(program, question, UNLIMITED), Prepared)


def test_what_was_done_before_is_no_time_left() -> None:
    program, question = grid(16).measured(UNLIMITED, (), ())
    now = [0.0]
    engine = Exact(Budget(seconds=10, clock=lambda: now[0]))
    assert isinstance(engine.prepare(program, question, UNLIMITED), Prepared)
    now[0] = 9.5
    told = engine.prepare(program, question, UNLIMITED)
    assert isinstance(told, Refusal) and "at most 2e+07 are allowed" in told.why


@pytest.mark.parametrize("evidence", [{}, {3: 1}, {5: 0, 1: 2}])
def test_worlds_of_a_network_are_drawn_as_likely_as_they_are(evidence: dict[int, int]) -> None:
    network = random_network(6, 3, 2, 3)
    given = [f'`{name}` = "{value}"' for name, value in evidence.items()]
    found = model_of(network).sample(20_000, given=given)
    tables = [Table(scope, tuple(table.ravel().tolist())) for scope, table in network]
    marginals = summed([3] * 6, tables, evidence).marginals
    drawn = [
        [evidence[i] if i in evidence else int(str(world.values[f"`{i}`"])) for i in range(6)]
        for world in found.worlds
    ]
    for number, shares in enumerate(marginals):
        counts = np.bincount([world[number] for world in drawn], minlength=3)
        assert counts / len(drawn) == pytest.approx(shares, abs=0.015)
    for world, values in zip(found.worlds[:20], drawn, strict=False):
        weight = math.prod(float(table[tuple(values[i] for i in scope)]) for scope, table in network)
        assert world.log_weight == pytest.approx(math.log(weight))
    assert (
        model_of(network).sample(5, given=given, seed=4).to_dict()["worlds"]
        == (model_of(network).sample(5, given=given, seed=4).to_dict()["worlds"])
    )


def test_no_circuit_is_compiled_for_worlds_of_a_wide_network() -> None:
    """A circuit of it would be larger than any machine."""
    assert len(model_of(random_network(60, 4, 3)).sample(3).worlds) == 3


@pytest.mark.parametrize("more", ['not `0` = "0"', '`1` = "2" ~ 0.9', '1.0: `2` = "1"'])
def test_what_weighs_worlds_beside_the_tables_counts_in_those_drawn(more: str) -> None:
    network = random_network(3, 3, 2, 5)
    theory = read_theory_text(uai(network), "uai")
    declared = "".join(f'predicate `{i}` in {{"0", "1", "2"}}\n' for i in range(3))
    extra = hb.parse(declared + more)
    both = Theory(tuple(dict.fromkeys((*theory.statements, *extra.statements))))
    want = hb.Model(both).infer(engine="exact")
    found = hb.Model(both).sample(20_000)
    for name in ("`0`", "`1`", "`2`"):
        for value in "012":
            share = sum(world.values[name] == value for world in found.worlds) / 20_000
            assert share == pytest.approx(want[name][value], abs=0.015)
