"""Ranking of entities as answers to questions about a relation, by the rules of a knowledge graph."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from herbrand.induction.walks import met
from herbrand.loops import chosen, in_place

KEPT = 8
"""Most rules of a candidate, the most confident first, by which candidates are compared."""

OPERATIONS = 20.0
"""Estimated operations for one rule and one question, by which it is decided whether to compile."""

Numbers = Any
"""An array, typed ``Any``: pyright takes the entries of an array for arrays, and numba checks a loop's
arguments."""


class Neighbours(NamedTuple):
    """Adjacency lists: a step leads from an entity to the ``targets`` from ``offsets[step, entity]`` on."""

    offsets: Numbers
    targets: Numbers


class Rules(NamedTuple):
    """The rules of one relation, the most confident first.

    ``steps``, from ``starts[rule]`` on: the walk from the entity that a question names. A rule with constants
    has none, but a row of ``constants``: whether the constant is the subject, the constant, the step of the
    body, and the entity that it leads to, -1 for any. ``misses``: the logarithm of one minus the weight.
    """

    starts: Numbers
    steps: Numbers
    constants: Numbers
    misses: Numbers


class Questions(NamedTuple):
    """Questions about one relation. ``pairs``: an entity and its answer. ``known``, from ``starts[question]``
    on: other right answers."""

    pairs: Numbers
    starts: Numbers
    known: Numbers


class Candidates(NamedTuple):
    """Entities with the rules that give them as answers to one question: the ``best`` rules, how many
    ``rules`` there are, the ``last`` one of them, and the sum of their ``misses``. The first ``count[0]`` of
    ``named`` are the entities with a rule.

    ``right_in``: the last question to which an entity is another right answer.
    """

    best: Numbers
    rules: Numbers
    last: Numbers
    misses: Numbers
    named: Numbers
    count: Numbers
    right_in: Numbers

    @classmethod
    def none(cls, size: int) -> Candidates:
        return cls(
            np.zeros((size, KEPT), np.int64),
            np.zeros(size, np.int64),
            np.full(size, -1, np.int64),
            np.zeros(size),
            np.zeros(size, np.int64),
            np.zeros(1, np.int64),
            np.full(size, -1, np.int64),
        )


def ranks_by(
    rules: Rules, questions: Questions, reverse: bool, neighbours: Neighbours, most: int
) -> np.ndarray:
    """Rank of each answer by the most confident rules that give it (of equal ones the next, up to
    :data:`KEPT`), and by noisy-or; among equals the mean rank counts.

    ``reverse``: whether questions ask for subjects. Of one rule at most ``most`` steps are tried for a
    question.
    """
    longest = int(np.diff(rules.starts).max(initial=1))
    path, place = np.zeros((2, longest + 1), np.int64)
    ranks = np.zeros((len(questions.pairs), 2))
    candidates = Candidates.none(neighbours.offsets.shape[1] - 1)
    run = chosen(ranked, len(ranks) * max(len(rules.misses), 1) * OPERATIONS)
    run(questions, reverse, rules, neighbours, most, path, place, candidates, ranks)
    return ranks


@in_place
def ranked(
    questions: Questions,
    reverse: bool,
    rules: Rules,
    neighbours: Neighbours,
    most: int,
    path: Numbers,
    place: Numbers,
    candidates: Candidates,
    ranks: Numbers,
) -> None:
    """Fill ``ranks``; see :func:`ranks_by`. ``path`` and ``place``: buffers for a walk."""
    for number in range(len(questions.pairs)):
        first, answer = questions.pairs[number, 0], questions.pairs[number, 1]
        begin, end = questions.starts[number], questions.starts[number + 1]
        for at in range(begin, end):
            candidates.right_in[questions.known[at]] = number
        _ask(first, reverse, rules, neighbours, most, path, place, candidates)
        _rank(answer, number, end - begin, candidates, ranks)
        _forget(candidates)


@in_place
def _ask(
    first: int,
    reverse: bool,
    rules: Rules,
    neighbours: Neighbours,
    most: int,
    path: Numbers,
    place: Numbers,
    candidates: Candidates,
) -> None:
    """Note the entities that rules give: those at which their walks end, or by constants."""
    offsets, targets, steps = neighbours.offsets, neighbours.targets, rules.steps
    for rule in range(len(rules.starts) - 1):
        begin, end = rules.starts[rule], rules.starts[rule + 1]
        if begin == end:
            _by_constant(first, rule, reverse, rules, neighbours, candidates)
            continue
        path[0], place[0] = first, offsets[steps[begin], first]
        depth, looked = 0, 0
        while depth >= 0 and looked < most:
            if place[depth] == offsets[steps[begin + depth], path[depth] + 1]:
                depth -= 1
                continue
            entity = targets[place[depth]]
            place[depth] += 1
            looked += 1
            if met(path, depth, entity):
                continue
            if begin + depth + 1 < end:
                depth += 1
                path[depth], place[depth] = entity, offsets[steps[begin + depth], entity]
            else:
                _note(entity, rule, rules.misses[rule], candidates)


@in_place
def _by_constant(
    first: int, rule: int, reverse: bool, rules: Rules, neighbours: Neighbours, candidates: Candidates
) -> None:
    """Note the entities that a rule with constants gives: its constant, or if the question names that, all
    others for which the body holds."""
    offsets, targets, miss = neighbours.offsets, neighbours.targets, rules.misses[rule]
    is_subject, constant = rules.constants[rule, 0] == 1, rules.constants[rule, 1]
    step, end = rules.constants[rule, 2], rules.constants[rule, 3]
    if is_subject == reverse:
        if constant != first and _leads(neighbours, step, first, end):
            _note(constant, rule, miss, candidates)
    elif constant == first and end >= 0:
        back = (step + len(offsets) // 2) % len(offsets)
        for at in range(offsets[back, end], offsets[back, end + 1]):
            if targets[at] != first:
                _note(targets[at], rule, miss, candidates)
    elif constant == first:
        for entity in range(offsets.shape[1] - 1):
            if entity != first and _leads(neighbours, step, entity, end):
                _note(entity, rule, miss, candidates)


@in_place
def _leads(neighbours: Neighbours, step: int, entity: int, end: int) -> bool:
    """Whether a step leads from an entity to ``end``, or anywhere if that is -1."""
    begin, stop = neighbours.offsets[step, entity], neighbours.offsets[step, entity + 1]
    if end < 0:
        return stop > begin
    for at in range(begin, stop):  # noqa: SIM110 - numba compiles plain loops only
        if neighbours.targets[at] == end:
            return True
    return False


@in_place
def _note(entity: int, rule: int, miss: float, candidates: Candidates) -> None:
    """Note that a rule gives an entity; each rule counts once."""
    if candidates.last[entity] == rule:
        return
    candidates.last[entity] = rule
    already = candidates.rules[entity]
    if already == 0:
        candidates.named[candidates.count[0]] = entity
        candidates.count[0] += 1
    if already < KEPT:
        candidates.best[entity, already] = rule
    candidates.rules[entity] += 1
    candidates.misses[entity] += miss


@in_place
def _rank(answer: int, number: int, right: int, candidates: Candidates, ranks: Numbers) -> None:
    """Store the ranks of the answer to a question; ``right``: number of other right answers, which do not
    count."""
    misses = candidates.misses
    better, equal, better_by_sum, equal_by_sum, others = 0, 0, 0, 0, 0
    for at in range(candidates.count[0]):
        entity = candidates.named[at]
        if entity == answer or candidates.right_in[entity] == number:
            continue
        others += 1
        sign = _compared(candidates.best, candidates.rules, entity, answer)
        better += sign > 0
        equal += sign == 0
        better_by_sum += misses[entity] < misses[answer]
        equal_by_sum += misses[entity] == misses[answer]
    if candidates.rules[answer]:
        ranks[number, 0] = 1 + better + equal / 2
        ranks[number, 1] = 1 + better_by_sum + equal_by_sum / 2
    else:
        # Without a rule, the answer has the mean rank of all entities that no rule gives.
        ranks[number, 0] = 1 + others + max(len(misses) - right - 1 - others, 0) / 2
        ranks[number, 1] = ranks[number, 0]


@in_place
def _compared(best: Numbers, rules: Numbers, one: int, other: int) -> int:
    """1 if ``one`` candidate comes before the ``other`` by their best rules in turn, -1 if after, 0 if
    equal."""
    for place in range(KEPT):
        left, right = place < rules[one], place < rules[other]
        if not left or not right:
            return int(left) - int(right)
        if best[one, place] != best[other, place]:
            return 1 if best[one, place] < best[other, place] else -1
    return 0


@in_place
def _forget(candidates: Candidates) -> None:
    for at in range(candidates.count[0]):
        entity = candidates.named[at]
        candidates.rules[entity], candidates.last[entity], candidates.misses[entity] = 0, -1, 0.0
    candidates.count[0] = 0
