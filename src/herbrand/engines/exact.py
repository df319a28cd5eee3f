"""Exact inference: the log-partition by variable elimination, all marginals at once as its gradient.

Guarantee: ``exact``, up to rounding. Cost: exponential in the width of the ground network, which the
planner estimates before any work; above the memory budget or :attr:`Exact.most_operations` the engine
refuses. The most probable world is the same elimination in the max algebra, whose gradient points at one
best assignment.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch

from herbrand.answers.guarantee import Guarantee, PartitionGuarantee
from herbrand.answers.marginals import Marginals, Row
from herbrand.answers.status import Status
from herbrand.contraction import Contraction, Dense, Plan, Statistics, contract, plan
from herbrand.contraction.memory import budget
from herbrand.engines.components import Batch, batches, component_labels
from herbrand.engines.contradiction import smallest_contradiction
from herbrand.engines.engine import Settings, Support
from herbrand.engines.ground_network import Network, Scope, add_template, network_of
from herbrand.engines.reading import atom_tables
from herbrand.errors import BudgetError, UnsupportedError
from herbrand.language.show import show_formula
from herbrand.language.syntax import Formula
from herbrand.program.ground import Ground, ground, ground_template
from herbrand.program.instances import instances
from herbrand.program.lower import forbidding
from herbrand.program.program import Program
from herbrand.program.question import Question

FLOAT = torch.float64
OPERATIONS_A_SECOND = 1e8
"""A cautious figure, to tell beforehand whether a time limit can be kept."""


@dataclass(frozen=True, eq=False)
class State:
    """The network, and after the one step what was found."""

    ground: Ground
    network: Network
    question: Question
    batches: tuple[Batch, ...]
    found: Found | None = None
    formulas: tuple[Row, ...] = ()


@dataclass(frozen=True, eq=False)
class Found:
    """``total`` is the log-partition, or the largest log-weight; ``shares`` [atom, value] its gradient."""

    total: float
    shares: np.ndarray
    component_totals: dict[int, float]


@dataclass(frozen=True)
class Exact:
    """Variable elimination over ground templates, within ``memory`` bytes and ``most_operations``."""

    memory: int | None = None
    most_operations: float = 1e12
    name: str = field(default="exact", init=False)

    @classmethod
    def with_settings(cls, settings: Settings) -> Exact:
        if settings.seconds is None:
            return cls(settings.memory)
        return cls(settings.memory, OPERATIONS_A_SECOND * settings.seconds)

    def supports(self, program: Program, question: Question) -> Support:
        try:
            plans = self._plans(self.start(program, question))
        except (BudgetError, UnsupportedError) as error:
            return Support(False, error.mistakes[0].message)
        return Support(True, "", sum(p.operations for p in plans), max((p.bytes for p in plans), default=0))

    def start(self, program: Program, question: Question) -> State:
        grounded = ground(program, budget(self.memory))
        network = network_of(grounded)
        return State(grounded, network, question, batches(network))

    def step(self, state: State) -> State:
        self._refuse_too_much(self._plans(state))
        algebra = "maximum" if state.question.most_probable else "log"
        found = _eliminated(state.network, state.batches, algebra, self.memory)
        found = _with_isolated(state.network, found, algebra)
        if found.total == -math.inf:
            raise smallest_contradiction(state.ground, self._satisfiable)
        answered = replace(state, found=found)
        return replace(answered, formulas=self._formula_rows(answered, found))

    def residual(self, state: State) -> float:
        return 0.0

    def read(self, state: State, status: Status) -> Marginals:
        assert state.found is not None
        likeliest = state.question.most_probable
        return Marginals(
            self.name,
            Guarantee.EXACT,
            status,
            tuple(atom_tables(state.ground, state.found.shares, state.question)),
            state.formulas,
            None if likeliest else state.found.total,
            None if likeliest else PartitionGuarantee.EXACT,
            likeliest,
            state.found.total if likeliest else None,
        )

    def _plans(self, state: State) -> list[Plan]:
        algebra = "maximum" if state.question.most_probable else "log"
        return [
            plan(contraction, [Statistics()] * len(contraction.operands), self.memory, True)
            for contraction in (_contraction(state.network, batch, algebra) for batch in state.batches)
        ]

    def _refuse_too_much(self, plans: Sequence[Plan]) -> None:
        operations = sum(p.operations for p in plans)
        if operations > self.most_operations:
            raise BudgetError(
                f"exact inference would take about {operations:.0e} operations; at most "
                f"{self.most_operations:.0e} are allowed"
            )

    def _satisfiable(self, network: Network) -> bool:
        """Whether some world has a weight."""
        return _eliminated(network, batches(network), "maximum", self.memory).total > -math.inf

    def _formula_rows(self, state: State, found: Found) -> tuple[Row, ...]:
        """The probability of every instance of the queried formulas."""
        if not state.question.formulas:
            return ()
        parts = _Parts(state.network, found)
        return tuple(
            Row(show_formula(formula), None, (), self._probability(state, found, parts, formula))
            for asked in state.question.formulas
            for formula in instances(asked, state.ground.program)
        )

    def _probability(self, state: State, found: Found, parts: _Parts, formula: Formula) -> float:
        """The share of the partition that worlds with the formula have; 1 or 0 in the most probable world."""
        extra = Network(list(state.network.sizes), state.network.atom_count)
        for template in forbidding(state.ground.program, formula):
            rows = ground_template(template, state.ground.evidence, state.ground.atoms, budget(self.memory))
            add_template(extra, rows, ())
        if extra.constant == -math.inf:
            return 0.0
        labels = parts.touched(extra)
        joint = parts.joined(extra, labels)
        algebra = "maximum" if state.question.most_probable else "log"
        pieces = batches(joint)
        plans = [
            plan(c, [Statistics()] * len(c.operands), self.memory, True)
            for c in (_contraction(joint, batch, algebra) for batch in pieces)
        ]
        self._refuse_too_much(plans)
        with_formula = _eliminated(joint, pieces, algebra, self.memory, gradient=False).total
        without = sum(found.component_totals[label] for label in labels)
        if state.question.most_probable:
            return float(math.isclose(with_formula, without, abs_tol=1e-9))
        return min(1.0, math.exp(with_formula - without))


@dataclass(frozen=True, eq=False)
class _Parts:
    """The components of a network, to look at a few of them again."""

    network: Network
    found: Found

    @cached_property
    def labels(self) -> np.ndarray:
        return component_labels(self.network)

    @cached_property
    def scopes(self) -> dict[int, list[Scope]]:
        found: dict[int, list[Scope]] = defaultdict(list)
        for scope in self.network.tables:
            found[int(self.labels[scope[0]])].append(scope)
        return found

    def touched(self, extra: Network) -> set[int]:
        """The components whose atoms the extra tables speak of."""
        count = len(self.network.sizes)
        return {int(self.labels[axis]) for scope in extra.tables for axis in scope if axis < count}

    def joined(self, extra: Network, labels: set[int]) -> Network:
        joint = Network(extra.sizes, extra.atom_count, constant=extra.constant)
        for label in labels:
            for scope in self.scopes.get(label, ()):
                joint.tables[scope] = self.network.tables[scope]
        for scope, table in extra.tables.items():
            joint.add(scope, table)
        return joint


def _contraction(network: Network, batch: Batch, algebra: str) -> Contraction:
    """One elimination for all components of a batch: an unary operand for each atom, then the tables."""
    names = [f"a{i}" for i in range(len(batch.sizes))]
    unary = [("batch", names[i]) for i in _atoms(network, batch)]
    tables = [("batch", *(names[i] for i in scope)) for scope in batch.scopes]
    sizes = {"batch": len(batch), **dict(zip(names, batch.sizes, strict=True))}
    return Contraction((*unary, *tables), ("batch",), sizes, algebra=algebra)


def _atoms(network: Network, batch: Batch) -> list[int]:
    """The local axes that are atoms, not helpers; the same ones in every component of a batch."""
    return [i for i, axis in enumerate(batch.axes[0]) if axis < network.atom_count]


def _eliminated(
    network: Network, pieces: Sequence[Batch], algebra: str, memory: int | None, gradient: bool = True
) -> Found:
    """Everything summed (or maximised) out, and the share of each atom's values in it."""
    sizes = np.array(network.sizes[: network.atom_count], dtype=np.int64)
    shares = np.zeros((len(sizes), int(sizes.max(initial=2))))
    totals: dict[int, float] = {}
    labels = component_labels(network)
    for batch in pieces:
        atoms = _atoms(network, batch)
        unary = [torch.zeros(len(batch), batch.sizes[i], dtype=FLOAT, requires_grad=gradient) for i in atoms]
        operands = [Dense(u) for u in unary] + [Dense(torch.from_numpy(t)) for t in batch.tables]
        total = contract(_contraction(network, batch, algebra), operands, memory).to_dense()
        totals |= dict(zip(labels[batch.axes[:, 0]].tolist(), total.tolist(), strict=True))
        if gradient and atoms:
            possible = total[total > -math.inf]
            for i, share in zip(atoms, torch.autograd.grad(possible.sum(), unary), strict=True):
                shares[batch.axes[:, i], : batch.sizes[i]] = share.numpy()
    return Found(network.constant + sum(totals.values()), shares, totals)


def _with_isolated(network: Network, found: Found, algebra: str) -> Found:
    """Atoms that no table speaks of take every value alike; their first, in the most probable world."""
    labels = component_labels(network)[: network.atom_count]
    isolated = np.flatnonzero(~np.isin(labels, list(found.component_totals)))
    sizes = np.array(network.sizes[: network.atom_count], dtype=np.int64)[isolated]
    if algebra == "maximum":
        sizes = np.ones_like(sizes)
    alone = np.log(sizes)
    taken = np.arange(found.shares.shape[1]) < sizes[:, None]
    found.shares[isolated] = taken / taken.sum(axis=1, keepdims=True)
    totals = found.component_totals | dict(zip(labels[isolated].tolist(), alone.tolist(), strict=True))
    return Found(found.total + float(alone.sum()), found.shares, totals)
