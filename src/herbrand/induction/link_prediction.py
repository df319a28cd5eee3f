"""Link prediction by rules: filtered mean reciprocal rank and hits on triples that were left out.

Each triple gives two questions, for its object and for its subject. The answer is ranked among all entities
except other right answers, known or left out (filtered). A candidate's score is the largest weight of a rule
that derives it, ties broken by the next largest; or noisy-or, one minus the product of one minus each weight.
Among equals the mean rank counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from herbrand.induction.database import Rows
from herbrand.induction.graph import KnowledgeGraph
from herbrand.induction.mining import MinedRule
from herbrand.induction.ranking import Neighbours, Questions, Rules, ranks_by

MOST_STEPS = 20_000
"""Most steps of one rule for one question; a rule that leads to more entities is little evidence for each."""


@dataclass(frozen=True)
class LinkScores:
    """Scores of link prediction. ``questions``: number of them, two for each triple; ``by_max`` and
    ``by_noisy_or``: mean reciprocal rank, and the shares of answers among the first 1, 3 and 10."""

    questions: int
    by_max: tuple[float, float, float, float]
    by_noisy_or: tuple[float, float, float, float]

    @property
    def text(self) -> str:
        lines = []
        for name, (mrr, *hits) in (("max", self.by_max), ("noisy-or", self.by_noisy_or)):
            shares = ", ".join(f"Hits@{k} {hit:.4f}" for k, hit in zip((1, 3, 10), hits, strict=True))
            lines.append(f"link prediction ({name}, filtered): MRR {mrr:.4f}, {shares}")
        return "\n".join(
            [*lines, f"{self.questions:,} questions: subject and object of each triple left out"]
        )

    def to_dict(self) -> dict[str, Any]:
        names = ("mrr", "hits_at_1", "hits_at_3", "hits_at_10")
        return {
            "questions": self.questions,
            "max": dict(zip(names, self.by_max, strict=True)),
            "noisy_or": dict(zip(names, self.by_noisy_or, strict=True)),
        }


def link_scores(graph: KnowledgeGraph, rules: Sequence[MinedRule], triples: Rows) -> LinkScores:
    """Score rules, the largest weight first, on triples ``[relation, subject, object]``; -1 is a name that
    the graph lacks, and both ranks of such a triple are infinite."""
    ranks = [np.zeros((0, 2))]
    for relation in np.unique(triples[:, 0]):
        own = triples[triples[:, 0] == relation, 1:]
        usable = (own >= 0).all(1) & (relation >= 0)
        ranks.append(np.full((2 * int((~usable).sum()), 2), np.inf))
        if usable.any():
            own = own[usable]
            ranks += [_ranks(graph, rules, int(relation), own, reverse) for reverse in (False, True)]
    all_ranks = np.concatenate(ranks)
    return LinkScores(len(all_ranks), _figures(all_ranks[:, 0]), _figures(all_ranks[:, 1]))


def _figures(ranks: np.ndarray) -> tuple[float, float, float, float]:
    if not len(ranks):
        return 0.0, 0.0, 0.0, 0.0
    hits = [float((ranks <= k).mean()) for k in (1, 3, 10)]
    return float((1 / ranks).mean()), hits[0], hits[1], hits[2]


def _ranks(
    graph: KnowledgeGraph, rules: Sequence[MinedRule], relation: int, pairs: Rows, reverse: bool
) -> np.ndarray:
    own = [rule for rule in rules if rule.head == relation]
    walks, constants = [], np.full((len(own), 4), -1, np.int64)
    for number, rule in enumerate(own):
        if rule.constant >= 0:
            constants[number] = (rule.of_subject, rule.constant, rule.steps[0], rule.end)
            walks.append(())
        else:
            back = tuple(graph.inverse(step) for step in reversed(rule.steps))
            walks.append(back if reverse else rule.steps)
    starts = np.cumsum([0, *map(len, walks)])
    steps = np.array([step for walk in walks for step in walk], np.int64)
    misses = np.log1p(-np.array([min(rule.weight, 1 - 1e-12) for rule in own], float))
    queried = np.ascontiguousarray(pairs[:, ::-1] if reverse else pairs)
    questions = Questions(queried, *_also_right(graph, relation, queried, reverse))
    neighbours = Neighbours(graph.offsets, graph.targets)
    return ranks_by(Rules(starts, steps, constants, misses), questions, reverse, neighbours, MOST_STEPS)


def _also_right(graph: KnowledgeGraph, relation: int, questions: Rows, reverse: bool) -> tuple[Rows, Rows]:
    """Other right answers of each question: where those of each begin, and entities."""
    step = graph.inverse(relation) if reverse else relation
    others: dict[int, set[int]] = {}
    for first, answer in questions.tolist():
        others.setdefault(first, set()).add(answer)
    answers = [
        sorted((others[first] | set(graph.neighbours(step, first).tolist())) - {answer})
        for first, answer in questions.tolist()
    ]
    starts = np.cumsum([0, *map(len, answers)])
    return starts, np.array([entity for one in answers for entity in one], np.int64)
