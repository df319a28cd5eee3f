"""Mining of weighted rules from a knowledge graph: walks from the subject to the object of a relation, and
constants that occur together.

>>> people = [("person", True, name) for name in "abcd"]
>>> tables = {"parent": np.array([[0, 1], [1, 2], [3, 1]]), "grand": np.array([[0, 2]])}
>>> graph = KnowledgeGraph.of(tables, len(people), people)
>>> for rule in mine(graph, MiningLimits(support=1)):
...     if rule.constant < 0 and rule.text(graph).startswith("grand"):
...         print(rule.text(graph), int(rule.support), int(rule.body))
grand(x, y) :- parent(x, z), parent(z, y), x != y @ 0.142857 1 2
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np

from herbrand.induction.evaluation import Clause, Condition, Literal
from herbrand.induction.graph import KnowledgeGraph
from herbrand.induction.journal import Journal
from herbrand.induction.walks import measured, signatures
from herbrand.induction.weighted import weighted
from herbrand.language.show import statement_text
from herbrand.language.syntax import Choice, Rule
from herbrand.loops import chosen

PRIOR = 5
"""Wrong pairs that are added to those of every rule: one that was right twice is not certain."""

BUFFER = 1_000_000
MOST_STEPS = 100_000
"""Most steps that are tried for one sampled triple; around an entity with more, a part is enough."""

HUBS = 5.0
"""Rough ratio of the neighbours of an entity that a walk visits to the mean, since walks visit entities of
many neighbours more often."""

WALK_STEPS = 4_000_000
"""Most steps to measure one body. Above, it is estimated from a random part of the subjects."""


@dataclass(frozen=True)
class MiningLimits:
    """Limits of mining. ``length``: most literals of a body; ``support``: fewest triples that a rule must
    derive; ``confidence``: least confidence; ``sample``: triples of each relation whose surroundings propose
    rules; ``constants``: most rules with constants for each relation."""

    length: int = 3
    support: int = 3
    confidence: float = 0.01
    sample: int = 2_000
    constants: int = 2_000
    seed: int = 0


@dataclass(frozen=True)
class MinedRule:
    """A rule for relation ``head``: a walk of ``steps`` from the subject to the object, or with ``constant``
    the triples of this entity (the object, or with ``of_subject`` the subject) whose other entity is a source
    of the only step, towards ``end`` if that is not -1.

    ``support``: derived pairs that are known, of ``body`` derived pairs; ``pca_body``: those whose subject
    (with ``of_subject``, object) is in some known triple. If not ``exact``, these are estimates from a random
    part of the subjects. ``triples``: size of the relation."""

    head: int
    steps: tuple[int, ...]
    support: float
    body: float
    pca_body: float
    triples: int
    exact: bool = True
    constant: int = -1
    end: int = -1
    of_subject: bool = False

    @property
    def confidence(self) -> float:
        return self.support / max(self.body, 1)

    @property
    def pca_confidence(self) -> float:
        """Confidence under the partial completeness assumption (AMIE): a subject with a known triple has no
        unknown ones."""
        return self.support / max(self.pca_body, 1)

    @property
    def coverage(self) -> float:
        """Share of the head's triples that the rule derives."""
        return self.support / max(self.triples, 1)

    @property
    def weight(self) -> float:
        """Confidence with ``PRIOR`` more wrong pairs."""
        return self.support / (self.body + PRIOR)

    def clause(self, graph: KnowledgeGraph) -> Clause:
        """Clause of the rule as it was measured: with inequalities for variables that could bind the same
        entity."""
        names = graph.relations
        if self.constant >= 0:
            literal = _literal(self.steps[0], 0, 2, graph)
            conditions = [Condition("=", 1, value=graph.entities[self.constant][2])]
            if self.end >= 0:
                conditions.append(Condition("=", 2, value=graph.entities[self.end][2]))
            if self._body_holds_of_constant(graph):
                conditions.append(Condition("!=", 0, value=graph.entities[self.constant][2]))
            head = (1, 0) if self.of_subject else (0, 1)
            return Clause(names[self.head], head, (literal,), (), tuple(conditions))
        last = len(self.steps)
        order = [0, *range(2, last + 1), 1]
        body = tuple(_literal(s, order[i], order[i + 1], graph) for i, s in enumerate(self.steps))
        fits = [graph.sources(self.steps[0])]
        fits += [
            graph.sources(graph.inverse(one)) & graph.sources(other)
            for one, other in zip(self.steps[:-1], self.steps[1:], strict=True)
        ]
        fits.append(graph.sources(graph.inverse(self.steps[-1])))
        apart = tuple(
            (order[i], order[j])
            for i, j in combinations(range(last + 1), 2)
            if (fits[i] & fits[j]).any() and (j > i + 1 or graph.loops(self.steps[i]))
        )
        return Clause(names[self.head], (0, 1), body, apart)

    def _body_holds_of_constant(self, graph: KnowledgeGraph) -> bool:
        """Whether a rule with a constant would derive the pair of this constant with itself, which does not
        count."""
        reached = graph.neighbours(self.steps[0], self.constant)
        return self.end in reached if self.end >= 0 else len(reached) > 0

    def statement(self, graph: KnowledgeGraph, form: str = "proofs") -> Rule | Choice:
        return weighted(self.clause(graph).to_rule(), self.weight, form)

    def text(self, graph: KnowledgeGraph) -> str:
        return statement_text(self.statement(graph))


def _literal(step: int, start: int, end: int, graph: KnowledgeGraph) -> Literal:
    if step < len(graph.relations):
        return Literal(graph.relations[step], (start, end))
    return Literal(graph.relations[step - len(graph.relations)], (end, start))


def mine(
    graph: KnowledgeGraph,
    limits: MiningLimits | None = None,
    heads: Sequence[int] | None = None,
    watch: Callable[[str, float], None] | None = None,
    journal: Journal | None = None,
) -> list[MinedRule]:
    """Mine rules for the relations ``heads``, all of them by default; the largest weight first. ``journal``:
    replays relations that were mined before, and keeps others."""
    limits = limits or MiningLimits()
    rng = np.random.default_rng(limits.seed)
    mined: list[MinedRule] = []
    heads = range(len(graph.relations)) if heads is None else heads
    for number, head in enumerate(heads):
        if watch is not None:
            watch(f"rules for {graph.relations[head]}", number / len(heads))
        known = None if journal is None else journal.taken(head)
        if known is not None:
            rng.bit_generator.state = known["rng"]
            mined += [MinedRule(**{**one, "steps": tuple(one["steps"])}) for one in known["rules"]]
            continue
        candidates = proposed(graph, head, limits, rng)
        rules = [_measured(graph, head, body, rng) for body in candidates]
        rules += _with_constants(graph, head, limits)
        rules = [r for r in rules if r.support >= limits.support and r.confidence >= limits.confidence]
        mined += rules
        if journal is not None:
            journal.add(head, {"rng": rng.bit_generator.state, "rules": list(map(asdict, rules))})
    return sorted(mined, key=lambda r: (-r.weight, r.head, r.constant, r.end, r.steps))


def proposed(
    graph: KnowledgeGraph, head: int, limits: MiningLimits, rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """Bodies that derive at least two of the sampled triples of a relation (one if ``support`` is 1), and
    half of the ``support`` that the sample should have."""
    rows = graph.rows(head)
    share = min(1.0, limits.sample / max(len(rows), 1))
    if share < 1:
        rows = rows[np.sort(rng.choice(len(rows), limits.sample, replace=False))]
    starts, steps, ends = graph.around
    counts: Counter[int] = Counter()
    buffer = np.empty((BUFFER, 2), np.int64)
    degree = graph.around[0][-1] / max(graph.size, 1)
    run = chosen(signatures, len(rows) * (HUBS * degree) ** limits.length)
    begin = 0
    while begin < len(rows):
        filled, begin = run(rows, begin, limits.length, graph.steps, starts, steps, ends, MOST_STEPS, buffer)
        codes, times = np.unique(np.unique(buffer[:filled], axis=0)[:, 1], return_counts=True)
        for code, often in zip(codes.tolist(), times.tolist(), strict=True):
            counts[code] += often
    least = max(min(2, limits.support), limits.support * share / 2)
    bodies = [_body(code, graph.steps) for code, often in sorted(counts.items()) if often >= least]
    return [body for body in bodies if body != (head,)]


def _body(code: int, steps: int) -> tuple[int, ...]:
    body = []
    while code:
        code, digit = divmod(code, steps + 1)
        body.append(digit - 1)
    return tuple(body)


def _measured(graph: KnowledgeGraph, head: int, body: tuple[int, ...], rng: np.random.Generator) -> MinedRule:
    order = np.flatnonzero(graph.sources(body[0]))
    counts = np.zeros(5, np.int64)
    if graph.count(body[0]) * len(body) > WALK_STEPS // 100:
        order = rng.permutation(order)
    degree = graph.around[0][-1] / max(graph.size, 1)
    run = chosen(measured, graph.count(body[0]) * (HUBS * degree) ** (len(body) - 1))
    run(np.array(body), head, order, graph.offsets, graph.targets, WALK_STEPS, counts)
    scale = len(order) / max(counts[3], 1)
    pairs, right, pca = (float(c) * scale for c in counts[:3])
    return MinedRule(head, body, right, pairs, pca, graph.count(head), bool(counts[3] == len(order)))


def _with_constants(graph: KnowledgeGraph, head: int, limits: MiningLimits) -> Iterator[MinedRule]:
    """Rules ``head(x, c) :- step(x, d)`` and ``head(x, c) :- step(x, z)``, and the same for subjects: their
    supports are the entries of a product of sparse matrices."""
    mined: list[MinedRule] = []
    triples = graph.count(head)
    for of_subject in (False, True):
        own = graph.inverse(head) if of_subject else head
        whole = graph.matrix(own)
        often = np.diff(graph.offsets[graph.inverse(own)])
        frequent = np.flatnonzero(often >= limits.support)
        if not len(frequent):
            continue
        constants = whole[:, frequent].T.tocsr()
        known = graph.sources(own).astype(np.int64)
        for step in range(graph.steps):
            towards = graph.matrix(step)
            ends = np.flatnonzero(np.diff(graph.offsets[graph.inverse(step)]) >= limits.support)
            some = graph.sources(step).astype(np.int64)
            bodies = [(constants @ towards[:, ends], ends, towards[:, ends])]
            column = towards.__class__(some[:, None])
            bodies.append((constants @ column, np.array([-1]), column))
            for product, place, matrix in bodies:
                table = product.tocoo()
                keep = table.data >= limits.support
                pairs = np.asarray(matrix.sum(axis=0)).ravel()
                pca = np.asarray(known @ matrix).ravel()
                for row, end, support in zip(table.row[keep], table.col[keep], table.data[keep], strict=True):
                    constant, other = int(frequent[row]), int(place[end])
                    # As in walks, the two entities of a triple differ, so loops are taken off.
                    loop = matrix[constant, end] > 0
                    own_loop = loop and whole[constant, constant] > 0
                    support = int(support) - int(own_loop)
                    body = int(pairs[end]) - int(loop)
                    if step == own and other in (constant, -1):
                        continue  # the body is the triple itself, or any triple of the same relation
                    if support >= limits.support and support >= limits.confidence * body:
                        rest = int(pca[end]) - int(loop and known[constant])
                        mined.append(
                            MinedRule(
                                head, (step,), support, body, rest, triples, True, constant, other, of_subject
                            )
                        )
    mined.sort(key=lambda r: (-r.weight, -r.support, r.constant, r.end, r.steps, r.of_subject))
    yield from mined[: limits.constants]
