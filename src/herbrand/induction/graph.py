"""A knowledge graph: one large world of binary relations, as neighbours of every entity by relation.

>>> graph = KnowledgeGraph.of({"likes": np.array([[0, 1], [0, 2]])}, 3)
>>> graph.neighbours(0, 0).tolist(), graph.neighbours(1, 2).tolist()
([1, 2], [0])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from herbrand.budget import allowed_bytes, readable
from herbrand.errors import BudgetError, FactsError
from herbrand.facts.source import fact_sources
from herbrand.induction.database import Rows
from herbrand.induction.objects import Object, known_facts, numbered
from herbrand.language.check import check
from herbrand.language.theory import Theory
from herbrand.program.usable import IGNORABLE, refuse_unusable
from herbrand.row_keys import by_number


@dataclass(frozen=True, eq=False)
class KnowledgeGraph:
    """A knowledge graph. ``offsets`` [step, entity]: where in ``targets`` the neighbours of an entity begin.
    Step r goes along relation r, and step r + R, of R relations, against it."""

    relations: tuple[str, ...]
    offsets: Rows
    targets: Rows
    entities: tuple[Object, ...] = ()

    @classmethod
    def of(cls, tables: Mapping[str, Rows], size: int, entities: Sequence[Object] = ()) -> KnowledgeGraph:
        """Build a graph of ``tables``, rows of two entity numbers by relation; refuse one whose index is too
        large."""
        steps = 2 * len(tables)
        needed = steps * (size + 1) * 8
        if needed > allowed_bytes() / 2:
            raise BudgetError(
                f"an index of {len(tables)} relations over {size:,} entities takes {readable(needed)}",
                hint="mine a part of the relations, or join rare relations into one",
            )
        offsets = np.zeros((steps, size + 1), np.int64)
        parts = []
        start = 0
        forward = [np.unique(rows.reshape(-1, 2), axis=0) for rows in tables.values()]
        for step, rows in enumerate([*forward, *(rows[:, ::-1] for rows in forward)]):
            order = np.lexsort((rows[:, 1], rows[:, 0]))
            offsets[step] = start + np.searchsorted(rows[order, 0], np.arange(size + 1))
            parts.append(rows[order, 1])
            start += len(rows)
        targets = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        return cls(tuple(tables), offsets, np.ascontiguousarray(targets), tuple(entities))

    @property
    def size(self) -> int:
        return self.offsets.shape[1] - 1

    @property
    def steps(self) -> int:
        return len(self.offsets)

    @property
    def triples(self) -> int:
        return len(self.targets) // 2

    def inverse(self, step: int) -> int:
        return (step + len(self.relations)) % self.steps

    def neighbours(self, step: int, entity: int) -> Rows:
        return self.targets[self.offsets[step, entity] : self.offsets[step, entity + 1]]

    def count(self, step: int) -> int:
        return int(self.offsets[step, -1] - self.offsets[step, 0])

    def rows(self, step: int) -> Rows:
        """Pairs of entities that a step connects, sorted."""
        sources = np.repeat(np.arange(self.size), np.diff(self.offsets[step]))
        return np.stack([sources, self.targets[self.offsets[step, 0] : self.offsets[step, -1]]], 1)

    def sources(self, step: int) -> np.ndarray:
        """Whether the step leads on from each entity."""
        return np.diff(self.offsets[step]) > 0

    def loops(self, step: int) -> bool:
        """Whether the step leads from some entity to itself."""
        rows = self.rows(step)
        return bool((rows[:, 0] == rows[:, 1]).any())

    def matrix(self, step: int) -> Any:
        """Sparse matrix of a step, with entries 1."""
        first, last = self.offsets[step, 0], self.offsets[step, -1]
        data = (np.ones(last - first, np.int64), self.targets[first:last], self.offsets[step] - first)
        return scipy.sparse.csr_matrix(data, shape=(self.size, self.size))

    @cached_property
    def around(self) -> tuple[Rows, Rows, Rows]:
        """``starts, steps, ends``: all steps from each entity, whatever their relation."""
        sources = np.concatenate([self.rows(step)[:, 0] for step in range(self.steps)])
        steps = np.repeat(np.arange(self.steps), [self.count(step) for step in range(self.steps)])
        order, starts = by_number(sources, self.size)
        return starts, steps[order], self.targets[order]

    @cached_property
    def number_of(self) -> dict[Object, int]:
        return {entity: number for number, entity in enumerate(self.entities)}


def read_graph(theory: Theory, facts: Any, header: bool | None = None) -> tuple[KnowledgeGraph, list[str]]:
    """Read the graph of all binary relations of a theory's facts and of ``facts``, rules applied; also return
    notes on what was assumed in reading tables. Raise FactsError if no relation has two arguments."""
    refuse_unusable(theory.statements, "induce", *IGNORABLE)
    tables, entities, notes = _pairs(theory, facts, header)
    if not any(len(rows) for rows in tables.values()):
        raise FactsError(
            "no table has two columns of constants",
            hint="a knowledge graph is given as one table of two columns for each relation, by --facts; "
            "example worlds by --worlds",
        )
    return KnowledgeGraph.of(tables, len(entities), entities), notes


def read_triples(theory: Theory, facts: Any, graph: KnowledgeGraph, header: bool | None = None) -> Rows:
    """Read triples ``[relation, subject, object]`` of other facts about a graph; an entity or relation that
    the graph lacks is -1."""
    tables, entities, _ = _pairs(theory, facts, header)
    places = np.array([graph.number_of.get(entity, -1) for entity in entities], np.int64)
    triples = [np.zeros((0, 3), np.int64)]
    for name, rows in tables.items():
        relation = graph.relations.index(name) if name in graph.relations else -1
        triples.append(np.column_stack([np.full(len(rows), relation), places[rows]]))
    return np.concatenate(triples)


def _pairs(
    theory: Theory, facts: Any, header: bool | None
) -> tuple[dict[str, Rows], tuple[Object, ...], list[str]]:
    """True rows of every predicate with two arguments, the constants in the order of their numbers, and notes
    on what was assumed in reading tables."""
    known, loaded = known_facts(theory, check(theory), fact_sources(facts), header)
    binary = [p for p in known.predicates.values() if p.arity == 2 and p.value_type is None]
    types = dict.fromkeys(t for predicate in binary for t in predicate.types)
    numbers: dict[Object, int] = {}
    places = numbered(known, loaded, types, numbers)
    tables = {
        p.name: np.stack([places[t][loaded.tables[p.name].true[:, i]] for i, t in enumerate(p.types)], 1)
        for p in binary
    }
    return tables, tuple(numbers), list(loaded.notes)
