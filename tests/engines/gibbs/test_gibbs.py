"""Sampling against the walk through all worlds, within the error that it tells."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.engine import first_state
from herbrand.engines.gibbs.convergence import convergence, effective_samples, split_r_hat
from herbrand.engines.gibbs.engine import Gibbs
from herbrand.engines.gibbs.kernels import Network, sweeps
from herbrand.errors import ContradictionError, UnsupportedError
from herbrand.factors.compiled import Compiled
from herbrand.language.theory import Theory
from herbrand.program.question import Question
from tests.laws import tries
from tests.oracles.worlds import GroundAtom, Universe, exact_answers
from tests.program_generators import models

SURE = 6
"""Standard errors: one answer in a hundred million is farther off by chance."""


@settings(
    phases=[Phase.reuse, Phase.generate],
    max_examples=tries(20),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(models(hard=True))
def test_within_the_error_it_tells(model: tuple[Theory, Universe]) -> None:
    theory, universe = model
    log_z, marginals, _ = exact_answers(universe, theory.formulas)
    try:
        answer = hb.Model(theory).infer(engine="gibbs", samples=2000)
    except ContradictionError:
        assert log_z == -math.inf
        return
    except UnsupportedError as error:
        assert "cannot mix" in str(error)
        return
    assert log_z > -math.inf
    allowed = SURE * answer.diagnostics["standard_error"]
    if answer.status.converged:
        for row in answer.rows():
            value = True if row.value is None else row.value
            expected = marginals.get(((str(row.predicate), row.arguments), value), 0.0)
            assert row.probability == pytest.approx(expected, abs=allowed), row


@pytest.mark.parametrize("weight", [-9, -12, -20, 12])
def test_what_was_never_drawn_is_not_certain(weight: float) -> None:
    answer = hb.Model(hb.parse(f"{weight}: p")).infer(engine="gibbs", samples=500)
    error = abs(answer["p"] - 1 / (1 + math.exp(-weight)))
    assert error < SURE * answer.diagnostics["standard_error"] < 0.005


def test_seeds_reproduce() -> None:
    model = hb.Model(hb.parse('type t = {"a", "b", "c"}\npredicate f(t, t)\n0.4: f(x, y) => f(y, x)'))
    first, again, other = (
        [row.probability for row in model.infer(engine="gibbs", seed=seed, samples=100).rows()]
        for seed in (1, 1, 2)
    )
    assert first == again != other


def test_what_hard_statements_tie_is_drawn_together() -> None:
    """One atom at a time would never leave the world it began in."""
    model = hb.Model(hb.parse("hard: p <=> q\nhard: q xor r\n1: p\n0.5: r"))
    answer, exact = model.infer(engine="gibbs"), model.infer(engine="exact")
    assert answer.status.converged
    assert answer["p"] == pytest.approx(exact["p"], abs=0.03)
    assert answer["p"] == answer["q"] == pytest.approx(1 - answer["r"])


def test_hard_quantifiers_too() -> None:
    text = 'type t = {"a", "b", "c"}\npredicate p(t)\nhard: exists x: p(x)\n-1.5: p(x)'
    model = hb.Model(hb.parse(text))
    answer, exact = model.infer(engine="gibbs"), model.infer(engine="exact")
    assert answer['p("a")'] == pytest.approx(exact['p("a")'], abs=0.03)


def test_what_it_cannot_mix_over_is_named() -> None:
    names = ", ".join(f'"c{i}"' for i in range(6))
    text = f"type t = {{{names}}}\npredicate f(t, t)\n0.1: f(x, x)\nhard: f(x, y) and f(y, z) => f(x, z)"
    with pytest.raises(UnsupportedError, match=r"ties 3\d atoms together") as told:
        hb.Model(hb.parse(text)).infer(engine="gibbs")
    assert told.value.mistakes[0].span is not None
    assert told.value.mistakes[0].span.line == 4


def test_contradictions() -> None:
    with pytest.raises(ContradictionError, match="these 2 statements together"):
        hb.Model(hb.parse("hard: p <=> q\nhard: p xor q\n1: p")).infer(engine="gibbs")


def test_chains_that_disagree_have_not_converged() -> None:
    """Two modes with next to nothing between them."""
    names = ", ".join(f'"c{i}"' for i in range(16))
    text = f"type t = {{{names}}}\npredicate p(t)\n1.5: p(x) <=> p(y)"
    answer = hb.Model(hb.parse(text)).infer(engine="gibbs", samples=200)
    assert not answer.status.converged
    assert "R-hat" in answer.status.advice
    assert answer.diagnostics["r_hat"] > 1.05


@pytest.mark.parametrize("iterations", [1, 2, 3, 9, 10, 11, 12, 13, 29])
def test_a_run_that_is_stopped_tells_of_all_that_it_drew(iterations: int) -> None:
    """While warming up these are the sweeps of warming up: better than nothing, and not converged."""
    text = 'predicate a in {"x", "y", "z"}\npredicate p\n0.7: a = "x"\n-1: p\n0.5: p => a = "y"'
    model = hb.Model(hb.parse(text))
    exact = model.infer(engine="exact")
    answer = model.infer(engine="gibbs", iterations=iterations, samples=4000)
    assert not answer.status.converged and "--iterations" in answer.status.advice
    batches = iterations // 2 * 2 if iterations > 1 else 1
    batches = min(batches, 10) if iterations < 12 else (iterations - 10) // 2 * 2
    assert answer.diagnostics["samples"] == 4 * batches * 200
    found = [row.probability for row in answer.rows()]
    assert math.fsum(found[:3]) == pytest.approx(1.0)
    error = SURE * answer.diagnostics["standard_error"]
    assert 0 < error < 0.2
    assert found == pytest.approx([row.probability for row in exact.rows()], abs=error)
    why = model.explain("p", engine="gibbs", iterations=iterations, samples=4000)
    assert why.value == pytest.approx(math.log(answer["p"] / (1 - answer["p"])), abs=0.2)


def test_one_batch_is_compared_between_chains_without_splitting_it() -> None:
    told = convergence(np.array([[[50, 50]], [[50, 50]]]), 100)
    assert told.r_hat == pytest.approx(1.0, abs=0.01)
    assert convergence(np.array([[[0, 100]], [[100, 0]]]), 100).r_hat == math.inf


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("starts", 1, "1 chain cannot be compared with any other\n  at least 2 --starts"),
        ("samples", 3, "3 samples are too few to estimate an error\n  at least 20 --samples"),
        ("samples", 0, "--samples is a whole number from 1 on, not 0"),
    ],
)
def test_wrong_settings(option: str, value: int, message: str) -> None:
    with pytest.raises(UnsupportedError) as told:
        hb.Model(hb.parse("1: p")).infer(engine="gibbs", **{option: value})
    assert str(told.value) == message


def test_diagnostics_are_in_the_json_object() -> None:
    told = hb.Model(hb.parse("1: p")).infer(engine="gibbs").to_dict()
    assert told["guarantee"] == "approximation"
    assert set(told["diagnostics"]) == {
        "chains",
        "samples",
        "r_hat",
        "effective_samples",
        "standard_error",
    }


def test_an_explanation_adds_up() -> None:
    model = hb.Model(hb.parse("1: p\n2: p => q\nhard: q <=> r"))
    why = model.explain("q", engine="gibbs", seed=3)
    told = math.fsum(reason.contribution for reason in why.reasons)
    assert told + why.base + why.remainder == pytest.approx(why.value)
    assert {reason.statement for reason in why.reasons} == {"2.0: p => q"}


def test_effective_samples_of_a_sticky_chain() -> None:
    """A two-state chain that stays with probability 0.9 is worth (1 - 0.8) / (1 + 0.8) of its draws."""
    rng = np.random.default_rng(0)
    chains, batches, batch = 4, 50, 2000
    jumps = rng.random((chains, batches * batch)) < 0.1
    state = (np.cumsum(jumps, axis=1) % 2).reshape(chains, batches, batch)
    counts = state.sum(axis=2)[:, :, None]
    samples, _ = effective_samples(counts, batch)
    assert samples[0] == pytest.approx(chains * batches * batch / 9, rel=0.3)
    assert split_r_hat(counts, batch)[0] < 1.01
    assert convergence(counts, batch).standard_error < 0.005


@settings(
    phases=[Phase.reuse, Phase.generate],
    max_examples=tries(12),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(models(hard=True), st.integers(0, 5))
def test_every_draw_has_the_law_of_worlds(model: tuple[Theory, Universe], seed: int) -> None:
    """Each block goes to the state that its die points at, in the shares of the worlds that differ in this
    block only."""
    theory, universe = model
    try:
        state = first_state(Gibbs(seed=seed), hb.Model(theory).program, Question())
    except (ContradictionError, UnsupportedError):
        return
    network, found = state.network, state.compiled
    names = atoms_by_axis(found)
    values, holding = state.values[0].copy(), state.holding[0].copy()
    seen = np.zeros(state.counts.shape[2], np.int64)
    blocks = len(network.state_counts)
    dice = np.random.default_rng(seed).random(blocks)
    for block in range(blocks):
        alone = only_block(network, block)
        before = values.copy()
        sweeps(alone, values, holding, dice[None, block : block + 1], seen)
        first, last = network.block_starts[block], network.block_starts[block + 1]
        atoms, width = network.block_atoms[first:last], last - first
        start, count = network.state_starts[block], network.state_counts[block]
        states = network.states[start : start + width * count].reshape(count, width)
        weights = []
        for row in states:
            world = before.copy()
            world[atoms] = row
            weights.append(log_weight(universe, theory, names, world))
        shares = np.exp(np.array(weights) - max(weights))
        ends = np.cumsum(shares / shares.sum())
        chosen = next(i for i, row in enumerate(states) if (row == values[atoms]).all())
        assert ends[chosen] >= dice[block] - 1e-9
        assert chosen == 0 or ends[chosen - 1] <= dice[block] + 1e-9


def only_block(network: Network, block: int) -> Network:
    """The network with one block to draw."""

    def cut(starts: np.ndarray) -> np.ndarray:
        return starts[block : block + 2]

    return network._replace(
        block_starts=cut(network.block_starts),
        block_atoms=network.block_atoms[: network.block_starts[block + 1]],
        state_starts=network.state_starts[block : block + 1],
        state_counts=network.state_counts[block : block + 1],
        table_starts=cut(network.table_starts),
        axis_starts=cut(network.axis_starts),
        alone=network.alone[block : block + 1],
    )


def atoms_by_axis(found: Compiled) -> dict[int, GroundAtom]:
    """The latent atom of each axis."""
    named = {}
    for name, declared in found.program.signature.predicates.items():
        domains = [found.program.domain(t).values.to_pylist() for t in declared.types]
        latent = found.evidence.known(name).latent_codes()
        if not len(latent):
            continue
        for code, axis in zip(latent.tolist(), found.axes_of(name, latent), strict=True):
            arguments = []
            for domain in reversed(domains):
                code, place = divmod(code, len(domain))
                arguments.insert(0, domain[place])
            named[int(axis)] = (name, tuple(arguments))
    return named


def log_weight(universe: Universe, theory: Theory, names: dict[int, GroundAtom], values: np.ndarray) -> float:
    """Of the world in which latent atoms have these values, by plain loops."""
    world: dict[GroundAtom, object] = {atom: universe.choices(atom)[0] for atom in universe.atoms()}
    for axis, atom in names.items():
        world[atom] = (universe.predicates[atom[0]][1] or (False, True))[values[axis]]
    if any(world[atom] == value for atom, value in universe.excluded):
        return -math.inf
    return universe.log_weight(world, theory.formulas)


@pytest.mark.parametrize("rule", ["d(x + 1) :- o(x)", "d(y) :- o(x), y = 2 * x, count(z: o(z)) >= 2"])
def test_rules_may_compute(rule: str) -> None:
    """Values that are computed have tables and no latent atoms: asking for their axes was a ``KeyError``."""
    text = "type n = 0..3\npredicate o(n): observed\npredicate d(n)\npredicate f(n)\no(1)\no(2)\n"
    model = hb.Model(hb.parse(f"{text}{rule}\n1.0: d(x) and f(x)\n-0.5: o(x) and x * 2 > 3 and f(x)"))
    sampled, exact = (model.infer("f", engine=engine) for engine in ("gibbs", "exact"))
    for x in range(4):
        assert sampled[f"f({x})"] == pytest.approx(exact[f"f({x})"], abs=0.06)
