"""All calls of a linear recursion in one compiled loop: block by block of questions, call by call.

A slot is a set of constants, each with an amount for every question of a block: an array of amounts, marks of
the constants in the set, and a list of these. Only facts of constants in a slot are visited. One question at
a time is faster while frontiers are small; where frontiers have most constants, the questions of a block
share the walk. The loop returns now and then, so that time limits and interrupts take effect.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from herbrand.engines.proof.kernels import Array
from herbrand.loops import loop

LISTED = 2
"""If the visited facts are this many times fewer than the constants, the reached constants are listed."""

AS_IT_IS = -1
"""Marks a move without a relation: a slot is added to another, times a factor."""

QUESTION, CALL, FILLED, CUT, REST, WALKED = range(6)
"""Entries of a loop's state: the first question of the block; the number of its calls done
(:data:`TO_ASK`, then :data:`TO_BEGIN` before the first); the number of answers written; the first question
whose calls were cut, or -1, and the number of constants left in its frontier; the number of facts visited."""
TO_ASK, TO_BEGIN = -2, -1


class Questions(NamedTuple):
    """The first frontier of each question: ``pivots`` from ``starts`` on, with amounts ``values``."""

    starts: Array
    pivots: Array
    values: Array


class Moves(NamedTuple):
    """The operations between slots: each of ``moves`` is (slot, relation, slot) with a factor.

    Those before ``begin`` compute the first frontier, the others are those of each call; ``onward`` [2] is
    the slot of the next frontier of either.
    """

    moves: Array
    factors: Array
    begin: int
    onward: Array


class Relations(NamedTuple):
    """The facts of each relation in compressed rows: ``pointers`` delimit each constant's ``columns``.

    ``weights`` of a relation is empty if all are 1.
    """

    pointers: tuple[Array, ...]
    columns: tuple[Array, ...]
    weights: tuple[Array, ...]


class Slots(NamedTuple):
    """Sets of constants with ``amounts`` [slot, constant, question].

    ``inside`` marks the constants of a set, ``members`` lists them, and ``counts`` is their number. Slot s is
    at ``places[s]``, and the last one is for answers.
    """

    amounts: Array
    inside: Array
    members: Array
    counts: Array
    places: Array


class Answers(NamedTuple):
    """The answers ``found`` with ``totals``, and their number for each question.

    ``rest`` has the constants left in the frontier of the first question whose calls were cut.
    """

    found: Array
    totals: Array
    numbers: Array
    rest: Array


@loop
def run(
    questions: Questions,
    moves: Moves,
    relations: Relations,
    best: bool,
    until: int,
    calls: int,
    breath: int,
    slots: Slots,
    answers: Answers,
    state: Array,
) -> None:
    """Continue from ``state`` with the questions before ``until``, while there is room for answers.

    Stops early after about ``breath`` visits of facts, times questions. Slots are empty before and after each
    block.
    """
    work, block = 0, slots.amounts.shape[2]
    counts, places = slots.counts, slots.places
    while state[QUESTION] < until:
        first = state[QUESTION]
        last = min(first + block, until)
        if state[CALL] == TO_ASK:
            if state[FILLED] + (last - first) * len(answers.rest) > len(answers.found):
                return
            _ask(first, last, questions, places[0], slots)
            state[CALL] = TO_BEGIN if moves.begin else 0
        while state[CALL] < calls and counts[places[0]] > 0:
            if work > breath:
                return
            walked = _called(state[CALL] == TO_BEGIN, moves, relations, best, slots)
            work += walked * block
            state[WALKED] += walked
            state[CALL] += 1
        _keep_rest(first, last, places[0], slots, answers.rest, state)
        _clear(places[0], slots)
        _write(first, last, slots, answers, state)
        state[QUESTION], state[CALL] = last, TO_ASK


@loop
def _called(is_first: bool, moves: Moves, relations: Relations, best: bool, slots: Slots) -> Any:
    """Run one call of all questions of a block; return the number of facts visited."""
    places, block = slots.places, slots.amounts.shape[2]
    number, stop, next_slot, work = moves.begin, len(moves.moves), moves.onward[1], 0
    if is_first:
        number, stop, next_slot = 0, moves.begin, moves.onward[0]
    while number < stop:
        source, relation = places[moves.moves[number, 0]], moves.moves[number, 1]
        target = places[moves.moves[number, 2]]
        if relation == AS_IT_IS:
            work += _added(source, target, moves.factors[number], best, slots)
        else:
            pointers, columns = relations.pointers[relation], relations.columns[relation]
            weights = relations.weights[relation]
            if block == 1:
                work += _pushed(source, target, pointers, columns, weights, best, slots)
            else:
                work += _pushed_block(source, target, pointers, columns, weights, best, slots)
        number += 1
    for slot in range(len(places) - 1):
        if slot != next_slot:
            _clear(places[slot], slots)
    places[0], places[next_slot] = places[next_slot], places[0]
    return work


@loop
def _ask(first: int, last: int, questions: Questions, slot: int, slots: Slots) -> None:
    """Fill an empty slot with the first frontiers of a block of questions."""
    amounts, inside, members, counts = slots.amounts, slots.inside, slots.members, slots.counts
    for question in range(first, last):
        for place in range(questions.starts[question], questions.starts[question + 1]):
            pivot = questions.pivots[place]
            amounts[slot, pivot, question - first] = questions.values[place]
            if not inside[slot, pivot]:
                inside[slot, pivot] = True
                members[slot, counts[slot]] = pivot
                counts[slot] += 1


@loop
def _write(first: int, last: int, slots: Slots, answers: Answers, state: Array) -> None:
    """Write the answers of a block, question by question, and clear their slot."""
    amounts, members, slot = slots.amounts, slots.members, len(slots.counts) - 1
    for question in range(first, last):
        filled = state[FILLED]
        for place in range(slots.counts[slot]):
            member = members[slot, place]
            amount = amounts[slot, member, question - first]
            if amount != 0.0:
                answers.found[filled], answers.totals[filled] = member, amount
                filled += 1
        answers.numbers[question] = filled - state[FILLED]
        state[FILLED] = filled
    _clear(slot, slots)


@loop
def _pushed(
    source: Any, target: Any, pointers: Array, columns: Array, weights: Array, best: bool, slots: Slots
) -> Any:
    """Push one question's slot through a relation into an empty slot; return the number of facts visited.

    If facts are few, reached constants are listed during the push. Else a scan of all constants lists them at
    the end, which takes half the time; then 0 means not reached, as in a grid.
    """
    amounts, inside, members, counts = slots.amounts, slots.inside, slots.members, slots.counts
    plain, work = len(weights) == 0, 0
    of, into = amounts[source].reshape(amounts.shape[1]), amounts[target].reshape(amounts.shape[1])
    is_inside, listed = inside[target], members[target]
    for place in range(counts[source]):
        pivot = members[source, place]
        work += pointers[pivot + 1] - pointers[pivot]
    listing = LISTED * work < len(into)
    filled = 0
    for place in range(counts[source]):
        pivot = members[source, place]
        amount = of[pivot]
        entry, stop = np.uint64(pointers[pivot]), np.uint64(pointers[pivot + 1])
        if listing:
            for place in range(entry, stop):
                column = np.uint32(columns[place])
                if not is_inside[column]:
                    listed[filled] = column
                    filled += 1
                is_inside[column] = True
                term = amount if plain else amount * weights[place]
                into[column] = max(into[column], term) if best else into[column] + term
        else:
            for place in range(entry, stop):
                column = np.uint32(columns[place])
                term = amount if plain else amount * weights[place]
                into[column] = max(into[column], term) if best else into[column] + term
    if not listing:
        for column in range(np.uint64(len(into))):
            listed[filled] = column
            filled += into[column] != 0.0
    counts[target] = filled
    return work


@loop
def _pushed_block(
    source: Any, target: Any, pointers: Array, columns: Array, weights: Array, best: bool, slots: Slots
) -> Any:
    """:func:`_pushed` for a block of questions."""
    amounts, inside, members, counts = slots.amounts, slots.inside, slots.members, slots.counts
    plain, block, work = len(weights) == 0, amounts.shape[2], 0
    of, into = amounts[source], amounts[target]
    is_inside, listed, filled = inside[target], members[target], 0
    for place in range(counts[source]):
        pivot = np.uint32(members[source, place])
        work += pointers[pivot + 1] - pointers[pivot]
        for entry in range(pointers[pivot], pointers[pivot + 1]):
            column = np.uint32(columns[entry])
            weight = 1.0 if plain else weights[entry]
            if not is_inside[column]:
                is_inside[column] = True
                listed[filled] = column
                filled += 1
                for one in range(block):
                    into[column, one] = of[pivot, one] * weight
            elif best:
                for one in range(block):
                    into[column, one] = max(into[column, one], of[pivot, one] * weight)
            else:
                for one in range(block):
                    into[column, one] += of[pivot, one] * weight
    counts[target] = filled
    return work


@loop
def _added(source: Any, target: Any, factor: float, best: bool, slots: Slots) -> Any:
    """Add one slot to another, times a factor; return the number of its constants."""
    amounts, inside, members, counts = slots.amounts, slots.inside, slots.members, slots.counts
    block = amounts.shape[2]
    of, into = amounts[source], amounts[target]
    is_inside, listed, filled = inside[target], members[target], counts[target]
    for place in range(counts[source]):
        pivot = np.uint32(members[source, place])
        if not is_inside[pivot]:
            is_inside[pivot] = True
            listed[filled] = pivot
            filled += 1
        if block == 1:  # a loop of one step would cost more than the step
            term = of[pivot, 0] * factor
            into[pivot, 0] = max(into[pivot, 0], term) if best else into[pivot, 0] + term
        elif best:
            for one in range(block):
                into[pivot, one] = max(into[pivot, one], of[pivot, one] * factor)
        else:
            for one in range(block):
                into[pivot, one] += of[pivot, one] * factor
    counts[target] = filled
    return counts[source]


@loop
def _keep_rest(first: int, last: int, slot: Any, slots: Slots, rest: Array, state: Array) -> None:
    """Store the constants left in the frontier of the first cut question, unless there was one before."""
    amounts, members, counts = slots.amounts, slots.members, slots.counts
    if counts[slot] == 0 or state[CUT] >= 0:
        return
    for question in range(first, last):
        for place in range(counts[slot]):
            member = members[slot, place]
            if amounts[slot, member, question - first] != 0.0:
                rest[state[REST]] = member
                state[REST] += 1
        if state[REST] > 0:
            state[CUT] = question
            return


@loop
def _clear(slot: Any, slots: Slots) -> None:
    amounts, members, counts = slots.amounts, slots.members, slots.counts
    of, is_inside = amounts[slot], slots.inside[slot]
    for place in range(counts[slot]):
        member = np.uint32(members[slot, place])
        is_inside[member] = False
        of[member, 0] = 0.0
        for one in range(1, amounts.shape[2]):
            of[member, one] = 0.0
    counts[slot] = 0
