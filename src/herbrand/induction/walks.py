"""Walks through a knowledge graph that meet no entity twice: what they connect, counted one by one.

Bodies of rules are walks, and different variables stand for different entities: otherwise a walk that turns
back, ``r(x, z), r(w, z), r(w, y)`` with w = x, would derive every triple from itself. Counting walks takes no
memory for the pairs that they connect; a product of sparse matrices does, and counts the ones that turn back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from herbrand.loops import loop

KEPT = 8
"""Rules that speak for a candidate, the most confident first, by which candidates are compared."""

Numbers = Any
"""An array: pyright takes the entries of one for arrays, and a loop's arguments are checked by numba."""


@loop
def met(path: Numbers, depth: int, entity: int) -> bool:
    """Whether an entity is among the first ones of a path."""
    for place in range(depth + 1):  # noqa: SIM110 - numba compiles plain loops only
        if path[place] == entity:
            return True
    return False


@loop
def signatures(
    pairs: Numbers,
    begin: int,
    length: int,
    steps: int,
    starts: Numbers,
    step_of: Numbers,
    end_of: Numbers,
    most: int,
    found: Numbers,
) -> tuple[int, int]:
    """Which sequences of at most ``length`` steps lead from the first to the second entity of each pair.

    Fills ``found`` with rows of a pair's number and a code, digits 1 to ``steps`` in base ``steps + 1``, the
    first step lowest. Returns how many rows there are and the pair to go on with: a pair whose codes have no
    room left is begun again, unless it is the first one. Of one pair at most ``most`` steps are looked at."""
    base = steps + 1
    path = np.zeros(length + 1, np.int64)
    place = np.zeros(length + 1, np.int64)
    codes = np.zeros(length + 1, np.int64)
    powers = np.ones(length + 1, np.int64)
    for i in range(1, length + 1):
        powers[i] = powers[i - 1] * base
    count = 0
    for number in range(begin, len(pairs)):
        first, last = pairs[number, 0], pairs[number, 1]
        before = count
        path[0] = first
        place[0] = starts[first]
        depth = 0
        looked = 0
        while depth >= 0:
            if place[depth] == starts[path[depth] + 1] or looked >= most:
                depth -= 1
                continue
            at = place[depth]
            place[depth] += 1
            looked += 1
            entity = end_of[at]
            code = codes[depth] + (step_of[at] + 1) * powers[depth]
            if entity == last:
                if first != last:
                    if count == len(found):
                        if before > 0:
                            return before, number
                        return count, number + 1
                    found[count, 0] = number
                    found[count, 1] = code
                    count += 1
            elif depth + 1 < length and not met(path, depth, entity):
                depth += 1
                path[depth] = entity
                place[depth] = starts[entity]
                codes[depth] = code
    return count, len(pairs)


@loop
def measured(
    body: Numbers, head: int, order: Numbers, offsets: Numbers, targets: Numbers, most: int, counts: Numbers
) -> None:
    """The pairs that a walk by the steps of ``body`` connects, from each entity of ``order`` in turn.

    ``counts``: pairs, those of them in the relation ``head``, those whose first entity has some partner
    there, the entities that were taken, and the steps. It ends after the entity that makes more than
    ``most`` steps."""
    length = len(body)
    size = offsets.shape[1] - 1
    seen = np.full(size, -1, np.int64)
    true = np.full(size, -1, np.int64)
    path = np.zeros(length + 1, np.int64)
    place = np.zeros(length + 1, np.int64)
    for number in range(len(order)):
        first = order[number]
        begin, end = offsets[head, first], offsets[head, first + 1]
        for at in range(begin, end):
            true[targets[at]] = first
        path[0] = first
        place[0] = offsets[body[0], first]
        depth = 0
        while depth >= 0:
            if place[depth] == offsets[body[depth], path[depth] + 1]:
                depth -= 1
                continue
            entity = targets[place[depth]]
            place[depth] += 1
            counts[4] += 1
            if met(path, depth, entity):
                continue
            if depth + 1 < length:
                depth += 1
                path[depth] = entity
                place[depth] = offsets[body[depth], entity]
            elif seen[entity] != first:
                seen[entity] = first
                counts[0] += 1
                if true[entity] == first:
                    counts[1] += 1
                if end > begin:
                    counts[2] += 1
        counts[3] += 1
        if counts[4] > most:
            break


@loop
def ranked(
    questions: Numbers,
    reverse: bool,
    rule_starts: Numbers,
    rule_steps: Numbers,
    constants: Numbers,
    misses: Numbers,
    offsets: Numbers,
    targets: Numbers,
    known_starts: Numbers,
    known: Numbers,
    most: int,
    ranks: Numbers,
) -> None:
    """The rank of each answer among all entities that are not ``known`` to be right as well.

    ``questions``: rows of an entity and its answer. Rules come the most confident first: the steps of their
    walks, or of a rule with constants none and a row of ``constants``: whether the constant is the subject,
    the constant, the step of the body, and the entity that it leads to, -1 for any. ``reverse``: subjects are
    asked for; walks are turned already. ``misses``: the logarithm of one minus each rule's weight. ``ranks``
    [question, 2]: by the most confident rules (of equal ones the next, up to KEPT), and by noisy-or; among
    equals the mean rank counts. Of one rule at most ``most`` steps are looked at for a question."""
    size = offsets.shape[1] - 1
    rules = len(rule_starts) - 1
    half = len(offsets) // 2
    longest = 1
    for rule in range(rules):
        longest = max(longest, rule_starts[rule + 1] - rule_starts[rule])
    path = np.zeros(longest + 1, np.int64)
    place = np.zeros(longest + 1, np.int64)
    best = np.zeros((size, KEPT), np.int64)
    spoken = np.zeros(size, np.int64)
    by_rule = np.full(size, -1, np.int64)
    sums = np.zeros(size)
    touched = np.zeros(size, np.int64)
    excluded = np.full(size, -1, np.int64)
    for number in range(len(questions)):
        first, answer = questions[number, 0], questions[number, 1]
        for at in range(known_starts[number], known_starts[number + 1]):
            excluded[known[at]] = number
        count = 0
        for rule in range(rules):
            stamp = number * rules + rule
            begin, length = rule_starts[rule], rule_starts[rule + 1] - rule_starts[rule]
            looked = 0
            depth = 0
            if length:
                path[0] = first
                place[0] = offsets[rule_steps[begin], first]
            else:
                subject, constant = constants[rule, 0], constants[rule, 1]
                step, end = constants[rule, 2], constants[rule, 3]
                depth = -1
                if (subject == 1) == reverse:
                    fires = end < 0 and offsets[step, first + 1] > offsets[step, first]
                    if end >= 0:
                        for at in range(offsets[step, first], offsets[step, first + 1]):
                            if targets[at] == end:
                                fires = True
                    if fires and constant != first:
                        count = _noted(
                            constant, rule, stamp, misses[rule], best, spoken, by_rule, sums, touched, count
                        )
                elif constant == first:
                    if end >= 0:
                        back = (step + half) % (2 * half)
                        for at in range(offsets[back, end], offsets[back, end + 1]):
                            if targets[at] != first:
                                count = _noted(
                                    targets[at],
                                    rule,
                                    stamp,
                                    misses[rule],
                                    best,
                                    spoken,
                                    by_rule,
                                    sums,
                                    touched,
                                    count,
                                )
                    else:
                        for entity in range(size):
                            if entity != first and offsets[step, entity + 1] > offsets[step, entity]:
                                count = _noted(
                                    entity,
                                    rule,
                                    stamp,
                                    misses[rule],
                                    best,
                                    spoken,
                                    by_rule,
                                    sums,
                                    touched,
                                    count,
                                )
            while depth >= 0 and looked < most:
                if place[depth] == offsets[rule_steps[begin + depth], path[depth] + 1]:
                    depth -= 1
                    continue
                entity = targets[place[depth]]
                place[depth] += 1
                looked += 1
                if met(path, depth, entity):
                    continue
                if depth + 1 < length:
                    depth += 1
                    path[depth] = entity
                    place[depth] = offsets[rule_steps[begin + depth], entity]
                else:
                    count = _noted(
                        entity, rule, stamp, misses[rule], best, spoken, by_rule, sums, touched, count
                    )
        better, equal, other_better, other_equal, others = 0, 0, 0, 0, 0
        for at in range(count):
            entity = touched[at]
            if entity == answer or excluded[entity] == number:
                continue
            others += 1
            if spoken[answer] == 0:
                continue
            sign = _compared(best, spoken, entity, answer)
            if sign > 0:
                better += 1
            elif sign == 0:
                equal += 1
            if sums[entity] < sums[answer]:
                other_better += 1
            elif sums[entity] == sums[answer]:
                other_equal += 1
        if spoken[answer]:
            ranks[number, 0] = 1 + better + equal / 2
            ranks[number, 1] = 1 + other_better + other_equal / 2
        else:
            left = size - (known_starts[number + 1] - known_starts[number]) - 1 - others
            ranks[number, 0] = 1 + others + max(left, 0) / 2
            ranks[number, 1] = ranks[number, 0]
        for at in range(count):
            spoken[touched[at]] = 0
            sums[touched[at]] = 0.0


@loop
def _noted(
    entity: int,
    rule: int,
    stamp: int,
    miss: float,
    best: Numbers,
    spoken: Numbers,
    by_rule: Numbers,
    sums: Numbers,
    touched: Numbers,
    count: int,
) -> int:
    """Count a rule once for a candidate; returns how many candidates there are."""
    if by_rule[entity] == stamp:
        return count
    by_rule[entity] = stamp
    if spoken[entity] == 0:
        touched[count] = entity
        count += 1
    if spoken[entity] < KEPT:
        best[entity, spoken[entity]] = rule
    spoken[entity] += 1
    sums[entity] += miss
    return count


@loop
def _compared(best: Numbers, spoken: Numbers, one: int, other: int) -> int:
    """1 if the rules for one candidate come before those for the other, -1 if after, 0 if they are alike."""
    for place in range(KEPT):
        left, right = place < spoken[one], place < spoken[other]
        if not left or not right:
            return int(left) - int(right)
        if best[one, place] != best[other, place]:
            return 1 if best[one, place] < best[other, place] else -1
    return 0
