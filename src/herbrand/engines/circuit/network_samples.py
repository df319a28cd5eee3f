"""Samples of a Bayesian network, drawn variable by variable, parents first, without a circuit.

Draws that contradict the evidence are dropped; where nearly all do, a circuit is better.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import ClassVar

import numpy as np

from herbrand.answers.samples import World
from herbrand.budget import Budget
from herbrand.engines.circuit.sampling import LEAST_KEPT, TRIED, drawn_atom, drawn_values
from herbrand.graphs import strong_components
from herbrand.language.network_tables import NetworkTable
from herbrand.program.evidence import Evidence
from herbrand.program.program import Program

AT_ONCE = 10_000


class NetworkSamples:
    """Sampler from the conditional tables of all variables; ``known``: the observed values."""

    engine: ClassVar[str] = "circuit"

    def __init__(self, tables: Mapping[str, NetworkTable], evidence: Evidence) -> None:
        parents = {name: table.scope[:-1] for name, table in tables.items()}
        self.tables = [tables[name] for (name,) in strong_components(parents)]
        self.known = {
            name: int(evidence.known(name).values[0])
            for name in tables
            if not evidence.known(name).all_latent
        }
        program = evidence.program
        self.atoms = {name: drawn_atom(program, name, ()) for name in tables if name not in self.known}

    @classmethod
    def of(cls, program: Program) -> NetworkSamples | None:
        """The sampler; ``None`` where more than the tables of a network weighs worlds, or too few draws agree
        with the evidence."""
        evidence, names = Evidence(program), tuple(program.signature.predicates)
        tables = {table.scope[-1]: table for table in program.tables if table.conditional}
        lone = (
            tables and not program.templates and not program.uncertain and len(tables) == len(program.tables)
        )
        if not lone or set(tables) != set(names) or any(_weighed(name, evidence) for name in names):
            return None
        network = cls(tables, evidence)
        return network if network.share * TRIED >= LEAST_KEPT else None

    @cached_property
    def share(self) -> float:
        """Estimate of the share of draws that agree with the evidence."""
        return len(self.drawn(np.random.default_rng(0), TRIED)[1]) / TRIED

    def drawn(self, random: np.random.Generator, count: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Draw ``count`` times; the values of each variable and the log-weights of the draws that agree with
        the evidence."""
        values: dict[str, np.ndarray] = {}
        weights = np.zeros(count)
        for table in self.tables:
            rows = table.values[tuple(values[name] for name in table.scope[:-1])]
            rows = np.broadcast_to(rows, (count, table.values.shape[-1]))
            values[table.scope[-1]] = value = drawn_values(rows, random)
            weights += np.log(np.take_along_axis(rows, value[:, None], 1)[:, 0])
        agree = np.ones(count, bool)
        for name, value in self.known.items():
            agree &= values[name] == value
        return {name: value[agree] for name, value in values.items()}, weights[agree]

    def worlds(self, count: int, seed: int, budget: Budget) -> Iterator[World]:
        """Draw ``count`` independent worlds."""
        random, left = np.random.default_rng(seed), count
        while left:
            budget.check()
            values, weights = self.drawn(random, min(AT_ONCE, math.ceil(left / self.share)))
            columns = [
                (text, atom.values, values[name].tolist()) for name, (text, atom) in self.atoms.items()
            ]
            for place, weight in enumerate(weights[:left].tolist()):
                yield World((), {text: labels[own[place]] for text, labels, own in columns}, weight)
            left -= min(left, len(weights))


def _weighed(name: str, evidence: Evidence) -> bool:
    """Whether soft evidence or excluded values bear on a variable."""
    return bool(len(evidence.opinions(name)[0])) or any(map(len, evidence.excluded(name)))
