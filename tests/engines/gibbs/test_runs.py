"""Runs of the sampler as users see them: seeds, batches, budgets, questions, and what is refused."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import herbrand as hb
from herbrand.answers.guarantee import Guarantee, Status
from herbrand.budget import Budget
from herbrand.engines.engine import Settings, first_state
from herbrand.engines.gibbs import engine as module
from herbrand.engines.gibbs.engine import BATCHES, WARM_BATCHES, Gibbs, GibbsState
from herbrand.engines.gibbs.kernels import operations
from herbrand.errors import BudgetError, ContradictionError, OutOfTimeError, UnsupportedError
from herbrand.program.program import Program
from herbrand.program.question import AtomPattern, Question
from tests.engines.estimates import cost_of, refusal_of

T = 'type t = {"a", "b", "c"}\npredicate p(t)\npredicate f(t, t)\n'
TEXT = T + '0.8: p(x) and f(x, y) => p(y)\n-0.3: f(x, y)\n0.4: exists x: p(x)\np("b") ~ 0.7\nf("a", "c")'
FINISHED = Status(True, BATCHES + WARM_BATCHES)


def program_of(text: str = TEXT) -> Program:
    return hb.Model(hb.parse(text)).program


def stepped(engine: Gibbs, state: GibbsState, steps: int) -> GibbsState:
    for _ in range(steps):
        state = engine.step(state)
    return state


def assert_same(one: GibbsState, other: GibbsState) -> None:
    assert one.batch == other.batch
    for a, b in zip(
        (one.values, one.holding, one.counts), (other.values, other.holding, other.counts), strict=True
    ):
        assert (a == b).all()


def test_a_run_is_its_steps() -> None:
    engine = Gibbs(samples=100, seed=4)
    state = stepped(engine, first_state(engine, program_of(), Question()), BATCHES + WARM_BATCHES)
    assert engine.residual(state) == 0.0
    by_steps = engine.read(state, FINISHED)
    at_once = hb.Model(hb.parse(TEXT)).infer(engine="gibbs", samples=100, seed=4)
    assert [row.probability for row in by_steps.rows()] == [row.probability for row in at_once.rows()]
    assert by_steps.diagnostics == at_once.diagnostics
    assert at_once.status.iterations == BATCHES + WARM_BATCHES


def test_a_step_leaves_the_state_before_it_as_it_was() -> None:
    """So that a run may go on from any state that was kept, and goes the same way."""
    engine = Gibbs(samples=60)
    kept = stepped(engine, first_state(engine, program_of(), Question()), 5)
    copies = kept.values.copy(), kept.holding.copy(), kept.counts.copy()
    first = stepped(engine, kept, 7)
    assert all((a == b).all() for a, b in zip(copies, (kept.values, kept.holding, kept.counts), strict=True))
    assert_same(first, stepped(engine, kept, 7))
    assert not (first.counts == kept.counts).all()


@pytest.mark.parametrize("at_once", [1, 7, 50])
def test_how_many_numbers_are_drawn_at_once_changes_nothing(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Gibbs(samples=100)
    whole = stepped(engine, first_state(engine, program_of(), Question()), 4)
    monkeypatch.setattr(module, "OPERATIONS_AT_ONCE", at_once * operations(whole.network))
    assert_same(whole, stepped(engine, first_state(engine, program_of(), Question()), 4))


def test_the_time_ends_a_batch_of_any_length() -> None:
    """Without a whole batch there is nothing to answer with."""
    with pytest.raises(OutOfTimeError, match=r"not done after .* s\n  allow more by --time-limit"):
        hb.Model(hb.parse(TEXT)).infer(engine="gibbs", samples=10**12, time_limit=0.2)


def test_a_batch_that_the_time_cut_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OPERATIONS_AT_ONCE", 1)
    engine = Gibbs(samples=100)
    state = stepped(engine, first_state(engine, program_of(), Question()), 14)
    ticks = itertools.count()
    late = replace(engine, budget=Budget(seconds=6, clock=lambda: float(next(ticks))))
    assert_same(state, late.step(state))


def test_an_interrupted_batch_ends_all_its_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Gibbs(samples=10**12)
    state = first_state(engine, program_of(), Question())
    monkeypatch.setattr(ThreadPoolExecutor, "map", _interrupted)
    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        engine.step(state)
    assert set(threading.enumerate()) <= before


def _interrupted(pool: ThreadPoolExecutor, drawn: Callable[[int], object], chains: range) -> object:
    """As where a signal comes while all chains are at work."""
    working = [pool.submit(drawn, chain) for chain in chains]
    while not working[0].running():
        pass
    raise KeyboardInterrupt


def test_how_many_threads_there_are_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("herbrand.loops.MOST_PLAIN", -1.0)  # plain loops start none
    engine = Gibbs(samples=100, chains=5)
    many = stepped(engine, first_state(engine, program_of(), Question()), 3)
    monkeypatch.setattr("os.cpu_count", lambda: None)
    before = set(threading.enumerate())
    assert_same(many, stepped(engine, first_state(engine, program_of(), Question()), 3))
    assert set(threading.enumerate()) <= before


def test_a_chain_draws_the_same_whatever_other_chains_there_are() -> None:
    few, many = Gibbs(samples=60, chains=2), Gibbs(samples=60, chains=4)
    states = [stepped(engine, first_state(engine, program_of(), Question()), 12) for engine in (few, many)]
    assert (states[0].values == states[1].values[:2]).all()
    assert (states[0].counts == states[1].counts[:2]).all()
    assert not (states[1].values[0] == states[1].values[2]).all(), "chains are different"


@pytest.mark.parametrize(("samples", "batch"), [(20, 1), (21, 2), (40, 2), (2000, 100), (2001, 101)])
def test_draws_are_rounded_up_to_whole_batches(samples: int, batch: int) -> None:
    engine = Gibbs(samples=samples, chains=3)
    assert engine.batch_size == batch
    answer = hb.Model(hb.parse("0.5: p")).infer(engine="gibbs", samples=samples, starts=3)
    assert answer.diagnostics["samples"] == 3 * BATCHES * batch >= 3 * samples
    assert answer.diagnostics["chains"] == 3


def test_every_batch_of_every_chain_is_full() -> None:
    engine = Gibbs(samples=100)
    state = stepped(engine, first_state(engine, program_of(), Question()), BATCHES + WARM_BATCHES)
    graph = state.compiled.graph
    for axis in range(state.compiled.atom_count):
        start = int(graph.starts[axis])
        sums = state.counts[:, :, start : start + int(graph.sizes[axis])].sum(axis=2)
        assert (sums == engine.batch_size).all()
    helpers = state.counts[:, :, int(graph.sizes[: state.compiled.atom_count].sum()) :]
    assert helpers.size and not helpers.any(), "the quantifier's helper is no answer"


@pytest.mark.parametrize(
    ("done", "batches"),
    [(0, 0), (1, 1), (2, 2), (9, 8), (10, 10), (11, 10), (12, 2), (13, 2), (14, 4), (29, 18), (30, 20)],
)
def test_what_a_run_has_seen_so_far(done: int, batches: int) -> None:
    """Warming up counts only as long as nothing better is there; halves are of one length."""
    counts = np.arange(BATCHES, dtype=np.uint32)[None, :, None] + 100
    engine = Gibbs(samples=20)
    first = first_state(engine, program_of("0.5: p"), Question())
    state = GibbsState(
        first.question,
        first.compiled,
        first.network,
        first.values,
        first.holding,
        counts,
        done - WARM_BATCHES,
    )
    seen = state.seen[0, :, 0].tolist()
    assert len(seen) == batches
    if done >= 12:
        assert seen == list(range(100, 100 + batches))
    elif batches:
        assert seen[-1] == 100 + BATCHES - WARM_BATCHES + min(done, 10) - 1 and seen == sorted(seen)
    assert engine.residual(state) == (BATCHES + WARM_BATCHES - done) / BATCHES


def test_asking_for_some_atoms_changes_no_probability() -> None:
    model = hb.Model(hb.parse(TEXT))
    whole = model.infer(engine="gibbs", samples=200)
    some = model.infer(["p", 'f("b", "a")'], engine="gibbs", samples=200)
    assert len(some) == 4 < len(whole)
    assert {row.atom: row.probability for row in some.rows()}.items() <= {
        row.atom: row.probability for row in whole.rows()
    }.items()


def test_known_atoms_are_answered_too_where_they_are_asked_for() -> None:
    answer = hb.Model(hb.parse(TEXT)).infer('f("a", "c")', engine="gibbs", samples=20)
    assert answer['f("a", "c")'] == 1.0


def test_shares_of_many_values_add_up() -> None:
    text = 'type t = {"a", "b"}\npredicate c(t) in {"x", "y", "z"}\nnot c("a") = "y"\n0.9: c(i) = "x"'
    answer = hb.Model(hb.parse(text)).infer(engine="gibbs", samples=400)
    found: dict[str, list[float]] = {}
    for row in answer.rows():
        found.setdefault(row.atom, []).append(row.probability)
        assert row.value != "y" or row.arguments != ("a",) or row.probability == 0.0
    assert [math.fsum(shares) for shares in found.values()] == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("text", ['predicate p(t): observed\np("a")\n0.7: p(x)', "predicate p\np", ""])
def test_no_latent_atoms(text: str) -> None:
    answer = hb.Model(hb.parse(text)).infer(engine="gibbs", samples=20)
    assert len(answer) == 0 and answer.status.converged
    assert (answer.guarantee, answer.log_partition) == (Guarantee.APPROXIMATION, None)
    assert answer.diagnostics["r_hat"] == 1.0 and answer.diagnostics["standard_error"] == 0.0


@pytest.mark.parametrize(
    ("weight", "expected"), [("800", 1.0), ("-800", 0.0), ("1e-300", 0.5), ("0", 0.5), ("1e3", 1.0)]
)
def test_weights_of_any_size(weight: str, expected: float) -> None:
    answer = hb.Model(hb.parse(f"{weight}: p\n0.1: q")).infer(engine="gibbs", samples=2000)
    assert answer["p"] == pytest.approx(expected, abs=0.04)


def test_settings_of_the_command_line() -> None:
    assert Gibbs.with_settings(Settings()) == Gibbs()
    made = Gibbs.with_settings(Settings(seed=3, starts=6, samples=77, budget=Budget(10**8)))
    assert (made.seed, made.chains, made.samples, made.budget.memory) == (3, 6, 77, 10**8)


def test_what_it_would_cost() -> None:
    """Twice the draws are twice the work; what cannot be done says why."""
    one, other = (cost_of(Gibbs(samples=samples), program_of()) for samples in (200, 400))
    assert other.operations == 2 * (one.operations or 0.0) > 0
    assert one.bytes and one.bytes >= BATCHES * 4
    told = refusal_of(Gibbs(), program_of("1: p or q"), Question(most_probable=True))
    assert told == "gibbs draws worlds, and does not search for the most probable one"


@pytest.mark.parametrize(
    ("query", "options", "message"),
    [
        (
            (),
            {"map": True},
            "gibbs draws worlds, and does not search for the most probable one\n"
            "  use --engine exact or lifted for --map",
        ),
        (("p or q",), {}, "gibbs gives the probabilities of atoms, not of formulas"),
    ],
)
def test_what_no_sample_tells_is_refused(
    query: tuple[str, ...], options: dict[str, bool], message: str
) -> None:
    with pytest.raises(UnsupportedError) as told:
        hb.Model(hb.parse("1: p or q")).infer(list(query), engine="gibbs", **options)  # type: ignore[arg-type]
    assert message in str(told.value)


def test_draws_beyond_the_budget_are_refused_before_they_are_made() -> None:
    constants = ", ".join(f'"c{i}"' for i in range(500))
    text = f"type t = {{{constants}}}\npredicate p(t)\n0.5: p(x)"
    with pytest.raises(BudgetError) as told:
        hb.Model(hb.parse(text)).infer(engine="gibbs", memory=2_000_000, starts=50)
    assert str(told.value).startswith("the draws of 50 chains over 500 latent atoms need about ")
    assert "allow more by --memory" in str(told.value)


@pytest.mark.parametrize("text", ["hard: p\nhard: not p", "hard: p <=> q\nhard: p xor q\n1: r"])
def test_contradictions_are_named(text: str) -> None:
    with pytest.raises(ContradictionError, match="these 2 statements together"):
        hb.Model(hb.parse(text)).infer(engine="gibbs")


def test_a_quantifier_that_must_be_false_and_cannot_be() -> None:
    text = T + "hard: not exists x: p(x)\nhard: exists x: p(x) and f(x, x)\n0.1: p(x)"
    with pytest.raises(ContradictionError, match="these 2 statements together"):
        hb.Model(hb.parse(text)).infer(engine="gibbs")


def test_chains_that_never_move_from_different_worlds_disagree() -> None:
    """Each stays where it began, and that is told, not averaged over."""
    text = "400: p <=> q\n400: q <=> r\n0.1: p"
    answers = [hb.Model(hb.parse(text)).infer(engine="gibbs", samples=40, seed=seed) for seed in range(6)]
    apart = [answer for answer in answers if 0 < answer["p"] < 1]
    assert apart
    for answer in apart:
        assert answer.diagnostics["r_hat"] == math.inf and not answer.status.converged
        assert "draw more by --samples, or use another engine" in answer.status.advice


def test_a_question_of_one_atom_reads_that_atom() -> None:
    engine = Gibbs(samples=40)
    program = program_of()
    question = Question((AtomPattern("p", (1,)),))
    state = stepped(engine, first_state(engine, program, question), BATCHES + WARM_BATCHES)
    (row,) = engine.read(state, FINISHED).rows()
    assert row.atom == 'p("b")'
