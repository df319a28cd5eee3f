"""Counts of rules in a knowledge graph, and ranks of answers, by trying every entity for every variable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, product

Triples = Mapping[str, set[tuple[int, int]]]
Step = tuple[str, bool]
"""A relation, and whether it is gone against its direction."""


def every_step(triples: Triples) -> list[Step]:
    return [(name, False) for name in triples] + [(name, True) for name in triples]


def holds(triples: Triples, step: Step, first: int, second: int) -> bool:
    name, back = step
    return ((second, first) if back else (first, second)) in triples[name]


def walked(triples: Triples, body: Sequence[Step], size: int) -> set[tuple[int, int]]:
    """Pairs that a body connects, different variables standing for different entities."""
    return {
        (walk[0], walk[-1])
        for walk in permutations(range(size), len(body) + 1)
        if all(holds(triples, step, walk[i], walk[i + 1]) for i, step in enumerate(body))
    }


def every_body(triples: Triples, length: int) -> Iterator[tuple[Step, ...]]:
    for many in range(1, length + 1):
        yield from product(every_step(triples), repeat=many)


def counts(
    triples: Triples, head: str, derived: set[tuple[int, int]], place: int = 0
) -> tuple[int, int, int]:
    """Derived pairs that are known, all of them, and those whose entity at a place has a known triple."""
    known = {pair[place] for pair in triples[head]}
    return len(derived & triples[head]), len(derived), sum(pair[place] in known for pair in derived)


def with_constants(
    triples: Triples, step: Step, constant: int, end: int | None, of_subject: bool, size: int
) -> set[tuple[int, int]]:
    """Pairs of the constant and each other entity that the step leads on from: to ``end``, or to any."""
    sources = [
        one
        for one in range(size)
        if one != constant
        and any(holds(triples, step, one, other) for other in (range(size) if end is None else [end]))
    ]
    return {(constant, one) if of_subject else (one, constant) for one in sources}


def rank(scores: Sequence[object], answer: int, right: set[int]) -> float:
    """The mean rank of an answer by scores, of which larger ones are better, without other right answers."""
    others = [score for one, score in enumerate(scores) if one != answer and one not in right]
    better = sum(score > scores[answer] for score in others)  # type: ignore[operator]
    return 1 + better + sum(score == scores[answer] for score in others) / 2
