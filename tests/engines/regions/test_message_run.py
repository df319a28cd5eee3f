"""How a run goes on: damping that is raised by itself, gentler regions, starts, and which run is believed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.guarantee import Guarantee
from herbrand.engines.belief.pace import Pace
from herbrand.engines.engine import first_state
from herbrand.engines.loop import Limits, Patience, Schedule, run, settle
from herbrand.engines.regions.engine import ROUNDS_A_START, Regions, RegionState
from herbrand.engines.regions.graph import choices
from herbrand.engines.regions.message_run import (
    DAMPING,
    PATIENCE,
    RegionRun,
    begun,
    drawn_leanings,
    first_messages,
    stepped,
)
from herbrand.engines.regions.messages import Messages, Propagation
from herbrand.engines.regions.parts import RegionPart
from herbrand.program.question import Question
from tests.engines.regions.test_engine import largest_difference, loop
from tests.laws import tries

quick = settings(deadline=None, max_examples=tries(40))


@dataclass(frozen=True, eq=False)
class Scripted(Propagation):
    """Regions whose rounds only tell how far they moved, one number after another."""

    script: Iterator[float] = field(default_factory=lambda: iter(()))

    def round(self, messages: Messages, damping: float) -> tuple[Messages, float]:
        return messages, next(self.script)

    sweep = round


def scripted(of: Propagation, numbers: Sequence[float]) -> Scripted:
    """The last number again and again."""

    def told() -> Iterator[float]:
        yield from numbers
        while True:
            yield numbers[-1]

    return Scripted(of.counts, of.graph, told())


def part_of(model: hb.Model, engine: Regions) -> RegionPart:
    (part,) = first_state(engine, model.program, Question()).parts
    return part


CYCLE = Regions(cost=16, starts=1)


@cache
def cycle() -> Propagation:
    return part_of(loop(2), CYCLE).propagation


@quick
@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=200), st.sampled_from([0.0, 0.5, 0.9]))
def test_damping_is_raised_where_the_residual_has_not_halved(residuals: list[float], first: float) -> None:
    """Round by round beside a plain loop: so many undamped rounds' worth of patience, then a look."""
    propagation = scripted(cycle(), residuals)
    state = begun(propagation, first)
    damping, mark, waited = first, math.inf, 0
    for residual in residuals:
        state = stepped(state, Schedule.sequential, free=True)
        waited += 1
        if waited * (1 - damping) >= 20:
            if residual > mark / 2:
                damping = 1 - max(0.01, (1 - damping) / 2)
            mark, waited = residual, 0
        assert (state.pace.damping, state.pace.moved, state.pace.since) == (damping, residual, waited)
    assert state.rounds == len(residuals)


def test_damping_that_was_asked_for_is_kept() -> None:
    propagation = scripted(cycle(), [1.0])
    state = begun(propagation, 0.3)
    for _ in range(300):
        state = stepped(state, Schedule.parallel, free=False)
    assert state.pace.damping == 0.3 and state.rounds == 300


def test_damping_never_stops_a_run() -> None:
    propagation = scripted(cycle(), [1.0])
    state = begun(propagation, None)
    seen = set()
    for _ in range(6000):
        state = stepped(state, Schedule.sequential, free=True)
        seen.add(state.pace.damping)
    assert sorted(seen) == pytest.approx([0.0, 0.5, 0.75, 0.875, 0.9375, 0.96875, 0.984375, 0.99])


def test_patience_as_a_value() -> None:
    patience = Patience(rounds=3, least_step=0.25)
    assert [patience.is_over(n, 0.0) for n in (2, 3)] == [False, True]
    assert [patience.is_over(n, 0.5) for n in (5, 6)] == [False, True]
    assert patience.raised(0.0, moved=0.5, mark=1.0) == 0.0
    assert patience.raised(0.0, moved=0.51, mark=1.0) == 0.5
    assert patience.raised(0.5, moved=1.0, mark=1.0) == patience.raised(0.75, moved=1.0, mark=1.0) == 0.75
    assert (PATIENCE.rounds, PATIENCE.least_step) == (20, 0.01)


def test_nothing_is_damped_that_needs_none() -> None:
    """Without cycles, or on two levels; three levels with cycles start half-way."""
    tree = part_of(loop(2), Regions()).propagation
    assert tree.graph.acyclic and begun(tree, None).pace.damping == 0.0
    flat = cycle()
    assert flat.graph.flat and not flat.graph.acyclic and begun(flat, None).pace.damping == 0.0
    assert begun(tree, 0.7).pace.damping == begun(flat, 0.7).pace.damping == 0.7
    deep = part_of(ring(3), Regions(cost=64, starts=1)).propagation
    assert not deep.graph.flat and not deep.graph.acyclic
    assert begun(deep, None).pace.damping == DAMPING


def ring(size: int, more: str = "") -> hb.Model:
    """Five kinds in a ring, three at a time: clusters that share pairs and singles, with a cycle."""
    constants = ", ".join(f'"{i}"' for i in range(size))
    lines = [
        f"type t{k} = {{{constants}}}\npredicate r{k}(t{k})\n{0.2 * k - 0.5:.1f}: r{k}(x)" for k in range(5)
    ]
    lines += [
        f"{0.9 if k % 2 else -0.8}: r{k}(x) or r{(k + 1) % 5}(y) or not r{(k + 2) % 5}(z)" for k in range(5)
    ]
    return hb.Model(hb.parse("\n".join(lines) + "\n" + more))


@cache
def structured(name: str) -> Propagation:
    model, engine = {
        "cycle": (loop(3), CYCLE),
        "deep": (ring(2), Regions(cost=27, starts=1)),
        "elements": (loop(3), Regions(merge=False, joint=False, starts=1)),
    }[name]
    return part_of(model, engine).propagation


@quick
@given(st.integers(0, 10**6), st.sampled_from(["cycle", "deep", "elements"]))
def test_starts_lean_every_element_of_a_variable_alike(seed: int, structure: str) -> None:
    """All messages into a region together say of each of its elements how it leans, whoever else takes it."""
    propagation = structured(structure)
    graph, counts = propagation.graph, propagation.counts
    found = first_messages(propagation, drawn_leanings(propagation, np.random.default_rng(seed)))
    dice = np.random.default_rng(seed)
    lean = [dice.uniform(-4.0, 4.0, v.all_profiles) for v in counts.variables]
    total = [np.zeros(counts.shape(region)) for region in graph.regions]
    for (parent, child), message in zip(graph.edges, found, strict=True):
        assert message.max() == 0.0
        copies = choices(graph.regions[child], graph.regions[parent], graph.elements)
        total[child] = total[child] + copies * message
    for child in {child for _, child in graph.edges}:
        region = graph.regions[child]
        for place in np.ndindex(total[child].shape):
            expected = sum(
                float(counts.variables[v].counts(number)[row] @ lean[v])
                for (v, number), row in zip(region.taken, place, strict=True)
            )
            first = sum(float(counts.variables[v].counts(n)[0] @ lean[v]) for v, n in region.taken)
            ours = total[child][place] - total[child][(0,) * len(place)]
            assert ours == pytest.approx(expected - first, abs=1e-9)
    assert all((message == 0).all() for message in first_messages(propagation, None))


@pytest.mark.parametrize("schedule", [Schedule.parallel, Schedule.sequential])
def test_regions_without_cycles_forget_how_they_began(schedule: Schedule) -> None:
    model = loop(3, 's("b1")\n')
    propagation = part_of(model, Regions()).propagation
    tree = part_of(hb.Model(hb.parse(chain_text(3))), Regions(cost=16.0, merge=False, starts=1)).propagation
    for one in (propagation, tree):
        assert one.graph.acyclic
        ends = []
        for seed in (None, 1, 2):
            state = begun(
                one, None, None if seed is None else drawn_leanings(one, np.random.default_rng(seed))
            )
            for _ in range(30):
                state = stepped(state, schedule, free=True)
            assert state.pace.moved < 1e-12
            ends.append(one.free_energy(state.messages))
        assert ends == pytest.approx([ends[0]] * 3, abs=1e-9)


def chain_text(size: int) -> str:
    constants = ", ".join(f'"{i}"' for i in range(size))
    text = "".join(f"type t{k} = {{{constants}}}\npredicate r{k}(t{k})\n" for k in range(4))
    return text + "0.7: r0(x) or r1(y)\n-0.9: r1(x) or r2(y)\n0.4: r2(x) or not r3(y)\n0.3: r0(x)\n"


def restless(
    engine: Regions, model: hb.Model, numbers: Sequence[float], gentler: Sequence[Any]
) -> RegionState:
    """A state whose first regions only tell these numbers, with gentler ones to go on with."""
    state = first_state(engine, model.program, Question())
    (part,) = state.parts
    fake = replace(part, propagation=scripted(part.propagation, numbers), gentler=tuple(gentler))
    return replace(state, parts=(fake,), runs=(engine._begun(fake),), loopy=None)


def test_gentler_regions_are_tried_where_the_first_do_not_rest() -> None:
    model, engine = loop(3), Regions(cost=16)
    real = part_of(model, engine).propagation
    state = restless(engine, model, [0.5], [scripted(real, [0.4]), real])
    found, status = settle(engine, lambda: state, Limits(1e-8, 5000))
    assert status.converged
    ((first, second, third, fourth),) = found.runs
    assert [one.rounds for one in (first, second, third)] == [ROUNDS_A_START] * 3
    assert fourth.propagation is real and fourth.rounds == status.iterations - 3 * ROUNDS_A_START
    assert all(math.isinf(moved) for moved in status.trace[: 3 * ROUNDS_A_START])
    answer = engine.read(found, status)
    expected = run(engine, model.program, Question(), Limits(1e-8))
    assert answer.guarantee is Guarantee.APPROXIMATION
    assert answer.log_partition == pytest.approx(expected.log_partition, abs=1e-5)
    assert largest_difference(answer, expected) < 1e-5


def test_where_nothing_rests_the_nearest_to_rest_goes_on_and_is_believed() -> None:
    model, engine = loop(2), Regions(cost=16, starts=2)
    real = part_of(model, engine).propagation
    state = restless(engine, model, [0.5], [scripted(real, [0.3]), scripted(real, [0.4])])
    most = 4 * ROUNDS_A_START + 7
    found, status = settle(engine, lambda: state, Limits(1e-8, most))
    assert not status.converged and "--iterations" in status.advice
    assert [one.rounds for one in found.runs[0]] == [300, 300, 307, 300]
    assert status.trace[-1] == 0.3 and math.isinf(status.trace[0])
    assert engine.read(found, status).guarantee is Guarantee.APPROXIMATION


def test_a_run_that_rests_ends_its_turn_and_no_gentler_one_is_begun() -> None:
    model, engine = loop(2), Regions(cost=16, starts=3)
    real = part_of(model, engine).propagation
    first = first_state(engine, model.program, Question())
    found, status = settle(engine, lambda: first, Limits(1e-8))
    assert status.converged and len(found.runs[0]) == 3
    state = restless(engine, model, [0.5, 0.5, 1e-9], [real])
    found, status = settle(engine, lambda: state, Limits(1e-8))
    assert [one.rounds for one in found.runs[0]] == [3, 1, 1] and status.iterations == 5


def test_of_runs_at_rest_the_largest_free_energy_is_believed() -> None:
    model, engine = loop(2), Regions(cost=16)
    propagation = part_of(model, engine).propagation
    runs = []
    for seed in range(4):
        messages = first_messages(propagation, drawn_leanings(propagation, np.random.default_rng(seed)))
        runs.append(RegionRun(propagation, messages, Pace(moved=1e-12)))
    energies = [propagation.free_energy(one.messages) for one in runs]
    assert engine._best(tuple(runs)) is runs[energies.index(max(energies))]
    runs[energies.index(max(energies))] = replace(runs[energies.index(max(energies))], pace=Pace(moved=0.9))
    left = [e for e in energies if e != max(energies)]
    assert engine._best(tuple(runs)) is runs[energies.index(max(left))]
    nowhere = tuple(replace(one, pace=Pace(moved=0.5 - 0.1 * i)) for i, one in enumerate(runs))
    assert engine._best(nowhere) is nowhere[3]


def test_steps_leave_earlier_states_as_they_were() -> None:
    """Going on from a kept state is the same as never having stopped."""
    model, engine = ring(2), Regions(cost=27, starts=2, seed=4)
    state = first_state(engine, model.program, Question())
    kept, energies = [state], []
    for _ in range(12):
        state = engine.step(state)
        kept.append(state)
    for again in (kept[0], kept[5]):
        number = kept.index(again)
        for later in kept[number + 1 :]:
            again = engine.step(again)
            for one, other in zip(again.runs[0], later.runs[0], strict=True):
                assert one.pace.moved == other.pace.moved or math.isinf(one.pace.moved)
                assert all((a == b).all() for a, b in zip(one.messages, other.messages, strict=True))
            energies.append(engine.residual(again) == engine.residual(later))
    assert all(energies)


def test_equal_seeds_are_equal_and_others_differ() -> None:
    model = ring(2)
    found = []
    for seed in (1, 1, 2):
        state = first_state(Regions(cost=27, starts=3, seed=seed), model.program, Question())
        found.append([m for one in state.runs[0] for m in one.messages])
    assert all((a == b).all() for a, b in zip(found[0], found[1], strict=True))
    assert any((a != b).any() for a, b in zip(found[0], found[2], strict=True))
    answers = [model.infer(engine="regions", cost=27.0, seed=seed).log_partition for seed in (1, 1)]
    assert answers[0] == answers[1]
