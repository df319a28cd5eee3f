"""A program prepared for mean field: its unknowns and its score, with hard statements propagated.

Used by the engine, by the layer of :mod:`herbrand.nn`, and by learning of weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from herbrand.budget import UNLIMITED, Budget
from herbrand.contraction.blocks import one_thread
from herbrand.engines.mean_field.clipping import clipped
from herbrand.engines.mean_field.grounded import GroundScore, Leaders
from herbrand.engines.mean_field.hard import SettledAtoms
from herbrand.engines.mean_field.outline import Outline, outlined
from herbrand.engines.mean_field.products import products_of
from herbrand.engines.mean_field.score import Score, Weights
from herbrand.engines.mean_field.tables import PredicateTable
from herbrand.engines.mean_field.unknowns import Ties, Unknowns
from herbrand.extras import Tensor, torch
from herbrand.program.evidence import Evidence
from herbrand.program.ground import LatentAtoms
from herbrand.program.program import Program, Template


@dataclass(frozen=True, eq=False)
class Problem:
    """A program's score and unknowns. ``score``: of the ``regular`` templates, which are sums of products
    over variables; ``grounded``: of all others.

    ``settled``: the consequences of hard statements, if there are any, for all latent atoms.
    ``clip``: how far one statement may move an atom, times its weight; ``None``: without a limit.
    """

    program: Program
    evidence: Evidence
    unknowns: Unknowns
    score: Score
    grounded: GroundScore | None
    settled: SettledAtoms | None
    budget: Budget
    clip: float | None = None
    regular: tuple[Template, ...] = ()

    def __deepcopy__(self, memo: object) -> Problem:
        """The problem itself, as nothing in it changes: copies of a layer share it."""
        return self

    def leaders(self, atoms: LatentAtoms) -> Leaders:
        """The ties of all latent atoms, by their numbers."""
        return Leaders.nobody(atoms.count) if self.settled is None else self.settled.leaders

    def without_plan(self, templates: Sequence[Template], grounded: bool) -> Problem | None:
        """The problem of these regular templates, and the ground score if ``grounded``; ``None`` without
        any."""
        ground_score = self.grounded if grounded else None
        if not templates and ground_score is None:
            return None
        products = products_of(self.program, templates, self.evidence)
        score = Score(self.score.relations, self.unknowns.tables, products)
        return replace(self, score=score, grounded=ground_score, regular=tuple(templates))

    @cached_property
    def weights(self) -> list[Tensor | float]:
        """The program's weights; those learned for each constant as tables, which start at 0."""
        return [
            torch.zeros([len(self.program.domain(name)) for name in weight.by], dtype=torch.float64)
            if weight.by
            else weight.value
            for weight in self.program.weights
        ]

    def value(self, marginals: Mapping[str, Tensor], weights: Weights, batch: int | None = None) -> Tensor:
        """Compute the expected log-weight [batch], without soft evidence; differentiable.

        Marginals in half precision are summed in single precision, as contractions take no other.
        """
        tables = {name: table.float() if table.itemsize < 4 else table for name, table in marginals.items()}
        total = self.score.value(tables, weights, batch)
        total = total if self.grounded is None else total + self.grounded.value(tables, weights)
        like = next(iter(marginals.values()), total)
        return total.to(like.dtype) if like.itemsize < 4 else total

    def sent(self, marginals: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The messages of the program's statements to every atom, clipped if there is a clip."""
        if self.clip is None:
            return self.messages(marginals, self.weights)[1]
        sent = clipped(
            self.unknowns,
            lambda weights: self.messages(marginals, weights)[1],
            self.weights,
            self.clip,
        )
        return sent or self.messages(marginals, self.weights)[1]

    def messages(self, marginals: Mapping[str, Tensor], weights: Weights) -> tuple[float, dict[str, Tensor]]:
        """The expected log-weight, and its messages to every atom (or value); no graph is kept."""
        value, messages = self.score.messages(marginals, weights)
        if self.grounded is not None:
            with one_thread():
                more, gradients = self.grounded.messages(marginals, weights)
            value += more
            for name, gradient in gradients.items():
                messages[name] = messages[name] + gradient if name in messages else gradient
        for name, table in self.unknowns.tables.items():
            if name not in messages:
                messages[name] = torch.zeros(table.shape, dtype=torch.float64)
        return value, messages


def prepared(
    program: Program, budget: Budget = UNLIMITED, listing: bool = True, clip: float | None = None
) -> Problem:
    """Prepare a program; raises what :func:`herbrand.engines.mean_field.outline.outlined` does."""
    return problem_of(outlined(program, budget, listing, clip), budget, clip)


def problem_of(outline: Outline, budget: Budget, clip: float | None) -> Problem:
    """The outline with its numbers, as tensors."""
    evidence, tables, done = outline.evidence, outline.tables, outline.settled
    program = evidence.program
    ties = () if outline.atoms is None or done is None else tuple(_ties(outline.atoms, done.leaders))
    constant = sum(
        evidence.settled_opinions(name) for name in program.signature.predicates if name not in tables
    )
    ground_score = None
    if outline.irregular is not None:
        leaders = Leaders.nobody(outline.irregular.atoms.count) if done is None else done.leaders
        ground_score = GroundScore(outline.irregular, leaders, tables)
    return Problem(
        program,
        evidence,
        Unknowns(tables, _opinions(tables, evidence), ties, constant),
        outline.score,
        ground_score,
        done,
        # Only the limit of memory is kept: a problem outlives the share of time in which it was prepared.
        Budget(budget.memory),
        clip,
        outline.regular,
    )


def _ties(atoms: LatentAtoms, leaders: Leaders) -> Sequence[Ties]:
    """Tied atoms, grouped by the predicates of follower and leader."""
    followers = np.flatnonzero(leaders.leader != np.arange(atoms.count))
    names = list(atoms.codes)
    starts = np.array([atoms.start[name] for name in names])

    def place(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        which = np.searchsorted(starts, numbers, side="right") - 1
        codes = np.array([atoms.codes[names[w]][n - starts[w]] for w, n in zip(which, numbers, strict=True)])
        return which, codes.astype(np.int64)

    here, codes = place(followers)
    there, leading = place(leaders.leader[followers])
    ties = []
    for one, other in sorted(set(zip(here.tolist(), there.tolist(), strict=True))):
        chosen = (here == one) & (there == other)
        opposite = leaders.opposite[followers[chosen]]
        parts = map(torch.from_numpy, (codes[chosen], leading[chosen], opposite))
        ties.append(Ties(names[one], names[other], *parts))
    return ties


def _opinions(tables: Mapping[str, PredicateTable], evidence: Evidence) -> dict[str, Tensor]:
    """Log-weights of soft evidence, for the predicates that have any."""
    by_name = {}
    for name, table in tables.items():
        codes, values, log_weights = evidence.opinions(name)
        if not len(codes):
            continue
        unary = torch.zeros(table.shape, dtype=torch.float64)
        places = table.positions(codes)
        if not table.true_or_false:
            places = places * table.shape[-1] + values
        unary.view(-1).index_add_(0, torch.from_numpy(places), torch.tensor(log_weights))
        by_name[name] = unary
    return by_name
