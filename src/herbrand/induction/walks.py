"""Enumeration of walks through a knowledge graph that visit no entity twice.

Bodies of rules are walks, and different variables bind different entities: otherwise a walk that turns back,
``r(x, z), r(w, z), r(w, y)`` with w = x, would derive every triple from itself. Counting walks one by one
takes no memory for the pairs that they connect; a product of sparse matrices does, and counts the walks that
turn back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from herbrand.loops import loop

Numbers = Any
"""An array, typed ``Any``: pyright takes the entries of an array for arrays, and numba checks a loop's
arguments."""


@loop
def met(path: Numbers, depth: int, entity: int) -> bool:
    """Whether an entity is on a path, up to position ``depth``."""
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
    codes_of_pairs: Numbers,
) -> tuple[int, int]:
    """Find the sequences of at most ``length`` steps that lead from the first to the second entity of each
    pair.

    Fill ``codes_of_pairs`` with rows of a pair's number and a code: digits 1 to ``steps`` in base
    ``steps + 1``, the first step lowest. Return the number of rows and the pair to go on with: a pair whose
    codes do not fit is begun again, unless the rows are all its own. Of one pair at most ``most`` steps are
    tried."""
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
                    if count == len(codes_of_pairs):
                        if before > 0:
                            return before, number
                        return count, number + 1
                    codes_of_pairs[count, 0] = number
                    codes_of_pairs[count, 1] = code
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
    """Count the distinct pairs that walks along ``body`` connect, from each entity of ``order`` in turn.

    ``counts``: pairs, those of them in the relation ``head``, those whose first entity has some partner
    there, entities done, and steps. Stop after the entity at which there are more than ``most`` steps."""
    length = len(body)
    size = offsets.shape[1] - 1
    # Marks hold the current first entity, so that neither array is cleared from one entity to the next.
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
