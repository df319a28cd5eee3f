"""Gibbs sampling: worlds drawn one change at a time, by several chains that are compared.

Guarantee: ``approximation``, with a standard error. An answer counts as converged only where the chains
agree: split R-hat at most :attr:`Gibbs.most_r_hat` for every atom. Cost of a sweep: every ground factor once
for each value of each of its atoms.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Event
from typing import ClassVar

import numpy as np

from herbrand.answers.explanation import Explanation
from herbrand.answers.guarantee import Guarantee, Status
from herbrand.answers.marginals import Marginals
from herbrand.budget import UNLIMITED, Budget, refuse_beyond
from herbrand.engines.engine import REFUSALS, Cost, Prepared, Refusal, Settings
from herbrand.engines.gibbs.chains import Chains, begun
from herbrand.engines.gibbs.convergence import convergence
from herbrand.engines.gibbs.explanation import explained
from herbrand.engines.gibbs.kernels import Network, operations, sweeps
from herbrand.engines.reading import ExplainedAtom, looked_up
from herbrand.errors import UnsupportedError
from herbrand.factors.compiled import Compiled, compiled
from herbrand.factors.graph import Array
from herbrand.loops import chosen
from herbrand.program.program import Program
from herbrand.program.question import Question, refuse_formulas

BATCHES = 20
"""Number of batches of each chain's draws; half of them make a half of a split chain."""

OPERATIONS_AT_ONCE = 10_000_000
"""Operations of a chain between two checks of the time: some hundredths of a second."""
SAMPLES = 2000
CHAINS = 4
WARM_BATCHES = BATCHES // 2
"""Number of batches of sweeps before the first draw that counts."""


@dataclass(frozen=True, eq=False)
class GibbsState:
    """State of a run. ``values`` [chain, axis] and ``holding`` [chain, factor]: state of the chains;
    ``counts`` [chain, batch, value of an axis]: draws of each value; ``batch``: number of the next batch
    (negative: warming up).

    Batches of warming up are written at the end, where draws overwrite them.
    """

    lasting: ClassVar[bool] = True
    question: Question
    compiled: Compiled
    network: Network
    values: Array
    holding: Array
    counts: Array
    batch: int

    @property
    def seen(self) -> Array:
        """Draws in an even number of batches, or a single one; for a run stopped before two batches of draws,
        those of warming up."""
        done = min(self.batch, BATCHES)
        if done >= 2:
            return self.counts[:, : done // 2 * 2]
        warm = self.counts[:, BATCHES - WARM_BATCHES : BATCHES + min(self.batch, 0)]
        return warm[:, warm.shape[1] % 2 if warm.shape[1] > 1 else 0 :]


@dataclass(frozen=True)
class Gibbs:
    """Gibbs sampling with ``samples`` draws of each of ``chains`` chains, after half as many sweeps
    of warming up."""

    budget: Budget = UNLIMITED
    seed: int = 0
    chains: int = CHAINS
    samples: int = SAMPLES
    most_r_hat: float = 1.05
    name: str = field(default="gibbs", init=False)
    whole_tables: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        if self.chains < 2:
            raise UnsupportedError(
                f"{self.chains} chain cannot be compared with any other", hint="at least 2 --starts"
            )
        if self.samples < BATCHES:
            raise UnsupportedError(
                f"{self.samples} samples are too few to estimate an error",
                hint=f"at least {BATCHES} --samples",
            )

    @classmethod
    def with_settings(cls, settings: Settings) -> Gibbs:
        chains = CHAINS if settings.starts is None else settings.starts
        samples = SAMPLES if settings.samples is None else settings.samples
        return cls(settings.budget, settings.seed, chains, samples)

    @property
    def batch_size(self) -> int:
        """Sweeps of a batch; the number of draws is rounded up to whole batches."""
        return math.ceil(self.samples / BATCHES)

    @property
    def draws(self) -> int:
        """Sweeps of all chains, warming up included."""
        return self.chains * self.batch_size * (BATCHES + WARM_BATCHES)

    def prepare(self, program: Program, question: Question, within: Budget) -> Prepared[GibbsState] | Refusal:
        try:
            state = self._first_worlds(program, question, within)
        except REFUSALS as error:
            return Refusal(error)
        graph = state.compiled.graph
        bytes_ = graph.bytes + state.counts.nbytes
        return Prepared.ready(state, Cost(2.0 * graph.edge_count * self.draws, bytes_))

    def _first_worlds(self, program: Program, question: Question, within: Budget) -> GibbsState:
        _refuse_what_no_sample_tells(question)
        memory = within.bytes
        network = compiled(program, within, lift=False)
        needed = self.chains * BATCHES * len(network.graph.unary) * 4
        draws = f"the draws of {self.chains} chains over {network.atom_count:,} latent atoms need"
        refuse_beyond(needed, memory, draws)
        network, chains = begun(network, self.chains, lambda chain: self._random(chain, 0), within)
        counts = np.zeros((self.chains, BATCHES, len(network.graph.unary)), np.uint32)
        return GibbsState(
            question, network, chains.network, chains.values, chains.holding, counts, -WARM_BATCHES
        )

    def step(self, state: GibbsState) -> GibbsState:
        """Take one batch of sweeps with every chain, each in its own thread where loops are compiled. If the
        time ends within a batch, it is dropped."""
        values, holding, counts = state.values.copy(), state.holding.copy(), state.counts.copy()
        blocks, cost = len(state.network.state_counts), operations(state.network)
        swept, at_once = chosen(sweeps, self.draws * cost), max(1, int(OPERATIONS_AT_ONCE / max(1.0, cost)))
        stopped = Event()

        def drawn(chain: int) -> Array:
            random = self._random(chain, state.batch + BATCHES)
            seen = np.zeros(counts.shape[2], np.int64)
            for done in range(0, self.batch_size, at_once):
                if self.budget.ended:
                    stopped.set()
                if stopped.is_set():
                    break
                rows = min(at_once, self.batch_size - done)
                swept(state.network, values[chain], holding[chain], random.random((rows, blocks)), seen)
            return seen

        # threads of plain Python would only take turns, and starting them takes as long as a small batch
        every = (
            [drawn(chain) for chain in range(self.chains)]
            if swept is sweeps
            else self._in_threads(drawn, stopped)
        )
        for chain, seen in enumerate(every):
            counts[chain, state.batch] = seen
        if stopped.is_set():
            if state.batch == -WARM_BATCHES:
                raise self.budget.out_of_time()
            return state
        return replace(state, values=values, holding=holding, counts=counts, batch=state.batch + 1)

    def _in_threads(self, drawn: Callable[[int], Array], stopped: Event) -> list[Array]:
        """Call ``drawn`` for every chain, each in its own thread."""
        with ThreadPoolExecutor(min(self.chains, os.cpu_count() or 1)) as threads:
            try:
                return list(threads.map(drawn, range(self.chains)))
            except BaseException:
                stopped.set()  # else this would wait for threads to finish their batch
                raise

    def residual(self, state: GibbsState) -> float:
        """Share of the draws that are still to be made; above 1 while warming up."""
        return (BATCHES - state.batch) / BATCHES

    def read(self, state: GibbsState, status: Status) -> Marginals:
        network = state.compiled
        counts = state.seen
        measured = convergence(_of_atoms(network, counts), self.batch_size)
        totals = counts.sum(axis=(0, 1))
        drawn = self.chains * counts.shape[1] * self.batch_size

        def look_up(predicate: str, codes: Array) -> Array:
            axes = network.axes_of(predicate, codes)
            places = network.graph.starts[axes][:, None] + np.arange(network.program.value_count(predicate))
            return totals[places] / drawn

        return Marginals(
            self.name,
            Guarantee.APPROXIMATION,
            self._judged(status, measured.r_hat),
            tuple(looked_up(network.evidence, look_up, state.question)),
            diagnostics={
                "chains": self.chains,
                "samples": drawn,
                "r_hat": measured.r_hat,
                "effective_samples": measured.effective_samples,
                "standard_error": measured.standard_error,
            },
        )

    def explain(self, state: GibbsState, status: Status) -> Explanation:
        """Explain the log-odds of the queried atom: the contribution of each factor, averaged
        over worlds drawn."""
        network = state.compiled
        queried = ExplainedAtom.of(state.question, network.evidence)
        (axis,) = network.axes_of(queried.predicate, queried.codes)
        place = int(network.graph.starts[axis]) + queried.value
        probability = float(state.seen[:, :, place].mean() / self.batch_size)
        chains = Chains(state.network, state.values, state.holding)
        random = self._random(self.chains, 0)
        return explained(network, queried, chains, probability, random, self.name)

    def _judged(self, status: Status, r_hat: float) -> Status:
        """Status of the answer: chains that disagree have not converged, however many draws were made."""
        if not status.converged or r_hat <= self.most_r_hat:
            return status
        advice = (
            f"the chains disagree (R-hat {r_hat:.2f}, at most {self.most_r_hat} is wanted); "
            "draw more by --samples, or use another engine"
        )
        return replace(status, converged=False, advice=advice)

    def _random(self, chain: int, batch: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, chain, batch + BATCHES])


def _of_atoms(network: Compiled, counts: Array) -> Array:
    """Columns of atoms, without those of helpers."""
    graph, atoms = network.graph, network.atom_count
    return counts[:, :, : int(graph.sizes[:atoms].sum())]


def _refuse_what_no_sample_tells(question: Question) -> None:
    if question.most_probable:
        raise UnsupportedError(
            "gibbs draws worlds, and does not search for the most probable one",
            hint="use --engine exact or lifted for --map",
        )
    refuse_formulas(question, "gibbs", "use --engine exact")
