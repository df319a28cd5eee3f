"""Belief propagation over classes beside the same messages over ground atoms, and Gibbs sampling.

Seconds here are of the processor, not of the clock: all loops are of one thread, and a busy machine would
favour the short ones.

python -m benchmarks belief
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np

import herbrand as hb
from herbrand.engines.belief.engine import BeliefPropagation, BeliefState
from herbrand.engines.engine import first_state
from herbrand.engines.gibbs.engine import Gibbs
from herbrand.program.question import AtomPattern, Question

TRANSITIVE = """\
predicate smokes(person)
predicate friends(person, person)
-1.0: smokes(x)
1.1: smokes(x) and friends(x, y) => smokes(y)
0.2: friends(x, y) and friends(y, z) => friends(x, z)
-0.5: friends(x, y)
"""
SMOKERS = Question((AtomPattern("smokes", ("x",)),))
SIZES = (10, 30, 100, 1000, 10_000)


def seconds(work: Callable[[], object]) -> float:
    """Processor seconds of one call."""
    began = time.process_time()
    work()
    return time.process_time() - began


def report() -> str:
    return "\n\n".join([_by_size(), _beside_ground(), _large_ground(), _sampled()])


def model(people: int) -> hb.Model:
    names = ", ".join(f'"p{i}"' for i in range(people))
    return hb.Model(hb.parse(f"type person = {{{names}}}\n{TRANSITIVE}"))


def _round_of(state: BeliefState, engine: BeliefPropagation, rounds: int) -> float:
    """Median seconds of a round of messages, ten at a time."""
    box = [engine.step(state)]

    def ten() -> None:
        for _ in range(10):
            box[0] = engine.step(box[0])

    return median(seconds(ten) / 10 for _ in range(rounds))


def _by_size() -> str:
    """Preparation and a round of messages, from 10 constants to 10,000."""
    engine = BeliefPropagation()
    engine.step(first_state(engine, model(3).program, SMOKERS))
    lines = [
        "Lifted messages on smokers with transitive friends, by the number of people (processor time). With "
        "so few classes the loops run as plain Python and are not compiled:",
        "",
        "| people | latent atoms | ground factors | classes | preparation (s) | a round (µs) |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for people in SIZES:
        program = model(people).program
        box: list[BeliefState] = []
        prepared = median(
            seconds(lambda p=program, b=box: b.append(first_state(engine, p, SMOKERS))) for _ in range(3)
        )
        state = box[-1]
        found = state.compiled
        factors = found.graph.factor_counts.sum()
        lines.append(
            f"| {people:,} | {found.atom_count:,} | {factors:.3g} | {found.class_count} | {prepared:.3f} | "
            f"{1e6 * _round_of(state, engine, 11):.0f} |"
        )
    return "\n".join(lines)


def _beside_ground() -> str:
    """The same messages over every ground atom; both are ours and compiled, and give the same beliefs."""
    lines = [
        "Preparation and a round, compared with ground messages by the same compiled kernels:",
        "",
        "| people | ground (s) | lifted (s) | times as fast | ground round (µs) | lifted round (µs) | "
        "times as fast |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for people in (10, 30, 60):
        program = model(people).program
        lifted, ground = BeliefPropagation(), BeliefPropagation(lift=False)
        states = [first_state(engine, program, SMOKERS) for engine in (lifted, ground)]
        preparations = [
            median(seconds(lambda e=engine, p=program: first_state(e, p, SMOKERS)) for _ in range(3))
            for engine in (lifted, ground)
        ]
        rounds = [_round_of(state, engine, 3) for state, engine in zip(states, (lifted, ground), strict=True)]
        lines.append(
            f"| {people} | {preparations[1]:.3f} | {preparations[0]:.3f} | "
            f"{preparations[1] / preparations[0]:.0f} | {1e6 * rounds[1]:.0f} | {1e6 * rounds[0]:.0f} | "
            f"{rounds[1] / rounds[0]:.0f} |"
        )
    return "\n".join(lines)


def _large_ground() -> str:
    """A million factors with no symmetry left."""
    rng = np.random.default_rng(0)
    people = 300_000
    links = rng.integers(0, people, (1_000_000, 2))
    names = np.array([f"p{i}" for i in range(people)])
    facts = {"friends": list(zip(names[links[:, 0]], names[links[:, 1]], strict=True))}
    text = (
        "predicate smokes(person)\npredicate friends(person, person): observed\n"
        "0.4: smokes(x) and friends(x, y) => smokes(y)\n-0.3: smokes(x)\n"
    )
    program = hb.Model(hb.parse(text), facts).program
    engine = BeliefPropagation()
    state = first_state(engine, program, SMOKERS)
    prepared = seconds(lambda: first_state(engine, program, SMOKERS))
    graph = state.compiled.graph
    each = _round_of(state, engine, 1)
    return (
        f"Random links: {graph.axis_count:,} atoms and {graph.factor_count:,} factors, with too little "
        f"symmetry for lifting. Preparation takes {prepared:.2f} s, a round {each:.3f} s "
        f"({1e9 * each / graph.edge_count:.0f} ns a message)."
    )


def _sampled() -> str:
    program = model(20).program
    engine = Gibbs(samples=200)
    state = first_state(engine, program, SMOKERS)
    engine.step(state)
    each = seconds(lambda: engine.step(state)) / (engine.batch_size * engine.chains)
    atoms = state.compiled.atom_count
    return (
        f"Gibbs sampling on the same theory with 20 people ({atoms} atoms, "
        f"{state.compiled.graph.factor_count:,} factors) takes {1e3 * each:.2f} ms a sweep "
        f"({1e6 * each / atoms:.1f} µs an atom, each in {state.compiled.graph.edge_count / atoms:.0f} "
        "factors)."
    )
