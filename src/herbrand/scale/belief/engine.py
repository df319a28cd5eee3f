"""Belief propagation over tables of a database: the engine ``bp``, its messages rows of factors.

The rounds are those of :mod:`herbrand.engines.belief` with the parallel schedule, number for number, between
atoms or, where colour refinement puts them together, between classes. Guarantee: ``exact`` where the ground
factor graph is a forest, else ``approximation``. Cost of a round: for each atom of each factor a join and a
grouped sum. A round is kept in the database as soon as it is done.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from herbrand.answers.guarantee import Guarantee, PartitionGuarantee
from herbrand.answers.marginals import Marginals
from herbrand.answers.status import Status
from herbrand.contraction.relational_databases import Database
from herbrand.engines.belief.engine import PATIENCE, refuse_what_is_no_marginal
from herbrand.engines.contradiction_error import every_hard_statement
from herbrand.engines.engine import Settings
from herbrand.engines.loop import Limits
from herbrand.program.question import Question
from herbrand.scale.atoms import StoredAtoms
from herbrand.scale.belief.colours import COLOURS, lifted
from herbrand.scale.belief.factor_families import Family, kinds_table
from herbrand.scale.belief.factor_sizes import expected_size
from herbrand.scale.belief.factor_tables import factor_tables
from herbrand.scale.belief.forests import is_forest
from herbrand.scale.belief.messages import Messages, shares
from herbrand.scale.beliefs import Layout
from herbrand.scale.evidence import StoredEvidence
from herbrand.scale.operands import Marginals as Table
from herbrand.scale.reading import tables_asked_for
from herbrand.scale.run import Run, refuse_foreign_settings

AT_REST = 1e-9
"""A residual that is rounding alone: sums of a database come in any order."""


RESTLESS = (
    "on a database messages that run away do not begin again more gently: these probabilities are not to be "
    "relied on; leave out --on, or raise --damping"
)


@dataclass(frozen=True, eq=False)
class State:
    """``step``: how many rounds were taken; the messages after it stand in the tables of ``messages``.

    ``since`` counts the rounds since the residual was ``mark``, to see whether it falls.
    """

    evidence: StoredEvidence
    question: Question
    atoms: StoredAtoms
    sizes: tuple[int, ...]
    messages: Messages
    constant: float
    forest: bool
    step: int = 0
    damping: float = 0.0
    moved: float = math.inf
    mark: float = math.inf
    since: int = 0


@dataclass(frozen=True)
class StoredBeliefPropagation:
    """``damping`` keeps a share of the old log-message, and is raised by itself where rounds do not help
    unless it is given; ``lift``: messages between classes, where there are fewer than atoms."""

    run: Run
    damping: float | None = None
    lift: bool = True
    name: str = field(default="bp", init=False)

    @classmethod
    def of(cls, run: Run, settings: Settings) -> StoredBeliefPropagation:
        """The engine as far as settings say; raises for those that it does not know here."""
        refuse_foreign_settings(settings, "belief propagation")
        return cls(run, settings.damping)

    @staticmethod
    def estimate(evidence: StoredEvidence) -> tuple[float, float]:
        """Messages of a round between atoms, and bytes of disk; raises for what is not served."""
        return expected_size(StoredAtoms(evidence))

    @property
    def database(self) -> Database:
        return self.run.database

    def begun(self, evidence: StoredEvidence, question: Question) -> State:
        """The first state, or, where the run is resumed, the last one that is kept."""
        refuse_what_is_no_marginal(question, self.name)
        if self.run.resume:
            return self._resumed(evidence, question)
        self.run.begin()
        graph = factor_tables(StoredAtoms(evidence), self.run.room)
        self._refuse_impossible(graph.sizes, evidence)
        forest = is_forest(graph.families, self.database)
        classes = lifted(graph, self.database) if self.lift else None
        families = (classes or graph).families
        messages = Messages(families, classes is not None, graph.barring)
        for family in families:
            self.database.make(messages.table(family, 0), messages.first(family))
            self.database.drop(family.table)
        self._put_potentials(families)
        state = State(evidence, question, graph.atoms, graph.sizes, messages, graph.constant, forest)
        state = replace(state, damping=self.damping or 0.0)
        self._keep(state)
        return state

    def limits(self, state: State, limits: Limits) -> Limits:
        """On a forest messages come to rest of themselves, and are exact there."""
        return replace(limits, tolerance=min(limits.tolerance, AT_REST)) if state.forest else limits

    def step(self, state: State) -> State:
        self._make_totals(state)
        for family in state.messages.families:
            table = state.messages.table(family, state.step + 1)
            self.database.make(table, state.messages.round(family, state.step, state.damping))
        far = self._farthest(state.messages, state.step + 1)
        if math.isnan(far):
            raise every_hard_statement(state.evidence.program)
        after = self._damped(replace(state, step=state.step + 1, moved=far, since=state.since + 1))
        self._keep(after)
        return after

    def _farthest(self, messages: Messages, step: int) -> float:
        """How far messages have moved: one query for all tables, which databases far away wait for."""
        tables = [messages.table(family, step) for family in messages.families]
        every = " UNION ALL ".join(f"SELECT MAX(d) AS d FROM {table}" for table in tables)
        return (self.database.number(f"SELECT MAX(d) FROM ({every}) m") or 0.0) if tables else 0.0

    def _damped(self, state: State) -> State:
        """More damping where rounds do not help, if it is ours to choose; a forest needs none."""
        if self.damping is not None or state.forest or not PATIENCE.is_over(state.since, state.damping):
            return state
        damping = PATIENCE.raised(state.damping, state.moved, state.mark)
        return replace(state, damping=damping, mark=state.moved, since=0)

    def residual(self, state: State) -> float:
        return state.moved

    def read(self, state: State, status: Status) -> Marginals:
        self._make_totals(state)
        bethe = self._bethe(state)
        beliefs = {name: self._beliefs(name, state) for name in state.atoms.starts}
        layouts = {name: self._layout(name, state.evidence) for name in state.atoms.starts}
        exact = state.forest and state.moved <= AT_REST
        tables = tables_asked_for(
            state.evidence, layouts, beliefs, state.question, self.run.top, self.run.least
        )
        return Marginals(
            self.name,
            Guarantee.EXACT if exact else Guarantee.APPROXIMATION,
            _with_note(status),
            tuple(tables),
            log_partition=bethe,
            log_partition_guarantee=PartitionGuarantee.EXACT if exact else PartitionGuarantee.APPROXIMATION,
        )

    def _bethe(self, state: State) -> float:
        """Atoms plus factors minus edges."""
        queries = [state.messages.bethe_of_axes(size) for size in state.sizes]
        queries += [state.messages.bethe_of_factors(one, state.step) for one in state.messages.families]
        parts = [self.database.number(query) or 0.0 for query in queries]
        total = state.constant + math.fsum(parts) if not any(map(math.isinf, parts)) else -math.inf
        if math.isnan(total) or total == -math.inf:
            raise every_hard_statement(state.evidence.program)
        return total

    def _make_totals(self, state: State) -> None:
        for size in state.sizes:
            self.database.make(f"totals_{size}", state.messages.totals(size, state.step))

    def _put_potentials(self, families: tuple[Family, ...]) -> None:
        for family in families:
            if len(family.potentials) > 1:
                self.database.put(f"potentials_{family.number}", kinds_table(family))

    def _refuse_impossible(self, sizes: tuple[int, ...], evidence: StoredEvidence) -> None:
        """An atom that its own weights leave no value."""
        for size in sizes:
            lost = " AND ".join(f"u{value} = CAST('-inf' AS DOUBLE)" for value in range(size))
            if self.database.number(f"SELECT COUNT(*) FROM axes_{size} WHERE {lost}"):
                raise every_hard_statement(evidence.program)

    def _layout(self, name: str, evidence: StoredEvidence) -> Layout:
        number = list(evidence.program.signature.predicates).index(name)
        rows = evidence.known(name).atom_count
        return Layout(name, number, tuple(evidence.columns(name)), evidence.is_valued(name), rows)

    def _beliefs(self, name: str, state: State) -> Table:
        """The marginals of a predicate's atoms as a query: arguments, ``q``, and what facts settle, ``f``."""
        evidence, atoms = state.evidence, state.atoms
        columns, size = evidence.columns(name), atoms.value_count(name)
        beliefs = ", ".join(f"{one} AS b{v}" for v, one in enumerate(state.messages.log_beliefs(size)))
        told = shares([f"b{value}" for value in range(size)])
        totals = f"SELECT atom, {beliefs} FROM totals_{size}"
        source = f"({atoms.every(name)}) x"
        settled = atoms.settled(name)
        matches = " AND ".join(f"k.{column} = x.{column}" for column in columns) or "TRUE"
        if settled is not None:
            source += f" LEFT JOIN ({settled}) k ON {matches}"
        number = atoms.number(name, [f"x.{column}" for column in columns])
        if state.messages.lifted:
            source += f" LEFT JOIN {COLOURS} c ON c.atom = {number} LEFT JOIN ({totals}) t ON t.atom = c.c"
        else:
            source += f" LEFT JOIN ({totals}) t ON t.atom = {number}"
        fact = "k.f" if settled is not None else "CAST(NULL AS INT)"
        chosen = [f"x.{column}" for column in columns]
        if not evidence.is_valued(name):
            query = f"SELECT {', '.join((*chosen, f'{told[1]} AS p', f'{fact} AS f'))} FROM {source}"
            q = "CASE WHEN f IS NULL THEN p ELSE CAST(f AS DOUBLE) END AS q"
            return Table(f"(SELECT {', '.join((*columns, q, 'f'))} FROM ({query}) r) m", 0)
        parts = [
            f"SELECT {', '.join((*chosen, f'{value} AS val', f'{told[value]} AS p', f'{fact} AS f'))} "
            f"FROM {source}"
            for value in range(size)
        ]
        q = "CASE WHEN f IS NULL THEN p ELSE CAST(1 AS DOUBLE) END AS q"
        query = f"SELECT {', '.join((*columns, 'val', q, 'f'))} FROM ({' UNION ALL '.join(parts)}) r"
        return Table(f"({query} WHERE f IS NULL OR f = val) m", 0)

    def _keep(self, state: State) -> None:
        messages = state.messages
        families = [
            [one.number, one.sizes, one.symmetries, [p.tolist() for p in one.potentials], one.rows]
            for one in messages.families
        ]
        self.run.keep(
            {
                "families": families,
                "lifted": messages.lifted,
                "barring": messages.barring,
                "sizes": state.sizes,
                "constant": state.constant,
                "forest": state.forest,
                "step": state.step,
                "damping": state.damping,
                "moved": state.moved,
                "mark": state.mark,
                "since": state.since,
            }
        )

    def _resumed(self, evidence: StoredEvidence, question: Question) -> State:
        kept = self.run.kept()
        families = tuple(map(_family, kept.pop("families")))
        messages = Messages(families, kept.pop("lifted"), kept.pop("barring"))
        sizes = tuple(kept.pop("sizes"))
        return State(evidence, question, StoredAtoms(evidence), sizes, messages, **_without_mark(kept))


def _with_note(status: Status) -> Status:
    """With what else to do where messages have not come to rest."""
    return status if status.converged else replace(status, advice=f"{status.advice}; {RESTLESS}")


def _without_mark(kept: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in kept.items() if name != "fingerprint"}


def _family(kept: list[Any]) -> Family:
    number, sizes, symmetries, potentials, rows = kept
    tables = tuple(np.array(one, dtype=float) for one in potentials)
    return Family(number, tuple(sizes), tuple(map(tuple, symmetries)), tables, rows)
