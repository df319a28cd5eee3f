"""The compiler's loop: decide a variable, propagate, split into components, and look each up in a cache.

The result is written as nodes of a circuit whose sums decide a variable (deterministic), whose products share
none (decomposable), and whose branches all have the same variables (smooth). A component is keyed by its
variables, its active constraints, and what each of these still needs, which together determine what is left
of it (sharpSAT's observation); the key is 128 random bits a member, times what it needs, combined by
exclusive or.

A component in which every active constraint only defines a variable restricts nothing: whatever its inputs
are, its gates follow. It is left out, and its inputs are summed freely.

The loop keeps all its state in arrays and never allocates: it returns :data:`GROW` where an array may become
too small, and :data:`PAUSE` after so much work, and goes on where it stopped. So a search may begin as plain
Python, which waits for no compiler, and go on compiled.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from herbrand.engines.circuit.key_table import Array, look_up, remember
from herbrand.loops import in_place

DONE, GROW, PAUSE = 0, 1, 2
SILENT, NORMAL, FULL = 0, 1, 2
"""How a variable is written: no literal of it; only decided ones, since its two weights add up to 1; all."""

FALSE_NODE, TRUE_NODE = 0, 1
PRODUCT, SUM, MAXIMUM = 0, 1, 2
"""Kinds of nodes; a maximum decides a variable too, one whose best value is wanted."""

SPREAD, HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
"""Multiplier and shift that spread what a constraint needs over 64 bits before it multiplies keys. Needs that
are 2^60 apart, as sums of powers of two have, would give products that differ only by the last four bits of a
key."""

DEPTH, TRAIL, POOL, KIDS, PARTS, NODES, STORE, STAMP, CACHED, ROOT, WORK = range(11)
"""Places in :attr:`SearchState.at`."""
LOW, HIGH, VARIABLE, PHASE, TRAIL_BASE, KIDS_BASE, PARTS_BASE, NEXT, FIRST, POOL_BASE, FAILED = range(11)
"""Columns of :attr:`SearchState.frames`."""


class Problem(NamedTuple):
    """Constraints as compressed rows. ``occurs``: the constraints of each literal; ``occurs_weights``: its
    weight in each; ``spare``: how much of a constraint's weight may fail; ``widest``: its largest weight.
    ``one_world``: the second value of a variable is not tried where the first has led to a world."""

    starts: Array
    literals: Array
    weights: Array
    least: Array
    spare: Array
    widest: Array
    owner: Array
    occurs_starts: Array
    occurs: Array
    occurs_weights: Array
    rank: Array
    gate: Array
    written: Array
    maximized: Array
    variable_keys: Array
    constraint_keys: Array
    one_world: bool = False


class SearchState(NamedTuple):
    """All changing state of a search; arrays may be replaced by longer ones between two calls. ``needed``:
    what each constraint still has to reach; ``spare``: how much of its open weight may fail."""

    at: Array
    value: Array
    needed: Array
    spare: Array
    trail: Array
    seen_variable: Array
    seen_constraint: Array
    frames: Array
    frame_keys: Array
    pool: Array
    kids: Array
    parts: Array
    part_keys: Array
    node_kind: Array
    node_start: Array
    store: Array
    cache_keys: Array
    cache_values: Array


@in_place
def assign(p: Problem, s: SearchState, literal: Any) -> None:
    s.value[literal >> 1] = 1 - (literal & 1)
    s.trail[s.at[TRAIL]] = literal
    s.at[TRAIL] += 1
    for k in range(p.occurs_starts[literal], p.occurs_starts[literal + 1]):
        s.needed[p.occurs[k]] -= p.occurs_weights[k]
    opposite = literal ^ 1
    for k in range(p.occurs_starts[opposite], p.occurs_starts[opposite + 1]):
        s.spare[p.occurs[k]] -= p.occurs_weights[k]


@in_place
def _undo(p: Problem, s: SearchState, to: Any) -> None:
    while s.at[TRAIL] > to:
        s.at[TRAIL] -= 1
        literal = s.trail[s.at[TRAIL]]
        s.value[literal >> 1] = -1
        for k in range(p.occurs_starts[literal], p.occurs_starts[literal + 1]):
            s.needed[p.occurs[k]] += p.occurs_weights[k]
        opposite = literal ^ 1
        for k in range(p.occurs_starts[opposite], p.occurs_starts[opposite + 1]):
            s.spare[p.occurs[k]] += p.occurs_weights[k]


@in_place
def _propagate(p: Problem, s: SearchState, head: Any) -> bool:
    """Assign all literals implied by the trail from ``head`` on; false where a constraint is broken."""
    while head < s.at[TRAIL]:
        opposite = s.trail[head] ^ 1
        head += 1
        for k in range(p.occurs_starts[opposite], p.occurs_starts[opposite + 1]):
            c = p.occurs[k]
            spare = s.spare[c]
            if spare < 0:
                return False
            if spare < p.widest[c] and s.needed[c] > 0:
                for i in range(p.starts[c], p.starts[c + 1]):
                    if p.weights[i] > spare and s.value[p.literals[i] >> 1] < 0:
                        assign(p, s, p.literals[i])
    return True


@in_place
def _split(p: Problem, s: SearchState, frame: Any) -> bool:
    """Write the nodes that are already known below a frame's branch, and list its open components.

    False where one of them is known to have no world.
    """
    variables = len(p.rank)
    s.at[STAMP] += 1
    stamp = s.at[STAMP]
    for place in range(s.frames[frame, LOW], s.frames[frame, HIGH]):
        first = s.pool[place]
        if s.value[first] >= 0 or s.seen_variable[first] == stamp:
            continue
        low = s.at[POOL]
        high = low + 1
        s.pool[low] = first
        s.seen_variable[first] = stamp
        one, two = np.uint64(0), np.uint64(0)
        active, only_definitions = 0, True
        reader = low
        while reader < high:
            v = s.pool[reader]
            reader += 1
            s.at[WORK] += p.occurs_starts[2 * v + 2] - p.occurs_starts[2 * v] + 1
            one ^= p.variable_keys[v, 0]
            two ^= p.variable_keys[v, 1]
            if p.gate[v] and p.written[v] == FULL:
                only_definitions = False
            for k in range(p.occurs_starts[2 * v], p.occurs_starts[2 * v + 2]):
                c = p.occurs[k]
                if s.seen_constraint[c] == stamp or s.needed[c] <= 0:
                    continue
                s.seen_constraint[c] = stamp
                active += 1
                need = np.uint64(s.needed[c]) * SPREAD
                need ^= need >> HALF
                one ^= p.constraint_keys[c, 0] * need
                two ^= p.constraint_keys[c, 1] * need
                if p.owner[c] < 0 or s.value[p.owner[c]] >= 0:
                    only_definitions = False
                for i in range(p.starts[c], p.starts[c + 1]):
                    u = p.literals[i] >> 1
                    if s.value[u] < 0 and s.seen_variable[u] != stamp:
                        s.seen_variable[u] = stamp
                        s.pool[high] = u
                        high += 1
        if active == 0 or only_definitions:
            for i in range(low, high):
                v = s.pool[i]
                if p.written[v] == FULL and not (p.gate[v] and active > 0):
                    s.kids[s.at[KIDS]] = 2 + 2 * variables + v
                    s.at[KIDS] += 1
            continue
        node = look_up(s.cache_keys, s.cache_values, one, two)
        if node == FALSE_NODE:
            return False
        if node > 0:
            s.kids[s.at[KIDS]] = node
            s.at[KIDS] += 1
            continue
        part = s.at[PARTS]
        s.at[PARTS] += 1
        s.parts[part, 0], s.parts[part, 1] = low, high
        s.part_keys[part, 0], s.part_keys[part, 1] = one, two
        s.at[POOL] = high
    return True


@in_place
def _write(s: SearchState, kind: Any, first: Any, last: Any) -> Any:
    """Write a node over the kids between two places; its number."""
    node = s.at[NODES]
    s.node_kind[node] = kind
    s.node_start[node] = s.at[STORE]
    for i in range(first, last):
        s.store[s.at[STORE]] = s.kids[i]
        s.at[STORE] += 1
    s.at[NODES] += 1
    s.node_start[node + 1] = s.at[STORE]
    return node


@in_place
def _push(p: Problem, s: SearchState, low: Any, high: Any, one: Any, two: Any, decide: bool) -> None:
    """Push a frame for a component; it decides the variable of the lowest rank."""
    frame = s.at[DEPTH]
    best = np.int64(-1)
    if decide:
        best = s.pool[low]
        for i in range(low + 1, high):
            if p.rank[s.pool[i]] < p.rank[best]:
                best = s.pool[i]
    s.frames[frame, LOW], s.frames[frame, HIGH] = low, high
    s.frames[frame, VARIABLE] = best
    s.frames[frame, PHASE] = 0
    s.frames[frame, TRAIL_BASE] = s.at[TRAIL]
    s.frames[frame, KIDS_BASE] = s.at[KIDS]
    s.frames[frame, PARTS_BASE] = s.at[PARTS]
    s.frames[frame, NEXT] = s.at[PARTS]
    s.frames[frame, FIRST] = 0
    s.frames[frame, POOL_BASE] = s.at[POOL]
    s.frames[frame, FAILED] = 0
    s.frame_keys[frame, 0], s.frame_keys[frame, 1] = one, two
    s.at[DEPTH] += 1


@in_place
def _begin_branch(p: Problem, s: SearchState, frame: Any) -> bool:
    """Decide, propagate and split; false where the branch has no world."""
    variable = s.frames[frame, VARIABLE]
    if variable >= 0:
        assign(p, s, 2 * variable + (1 if s.frames[frame, PHASE] > 0 else 0))
    if not _propagate(p, s, s.frames[frame, TRAIL_BASE]):
        return False
    for place in range(s.frames[frame, TRAIL_BASE], s.at[TRAIL]):
        literal = s.trail[place]
        if p.written[literal >> 1] != SILENT:
            s.kids[s.at[KIDS]] = 2 + literal
            s.at[KIDS] += 1
    return _split(p, s, frame)


@in_place
def _end_branch(p: Problem, s: SearchState, frame: Any, holds: bool) -> None:
    """Write the branch's product; after the second branch the frame's sum, handed to the frame above."""
    base = s.frames[frame, KIDS_BASE]
    node = np.int64(FALSE_NODE)
    if holds:
        count = s.at[KIDS] - base
        if count == 0:
            node = np.int64(TRUE_NODE)
        elif count == 1:
            node = s.kids[base]
        else:
            node = _write(s, PRODUCT, base, s.at[KIDS])
    _undo(p, s, s.frames[frame, TRAIL_BASE])
    s.at[KIDS], s.at[PARTS] = base, s.frames[frame, PARTS_BASE]
    s.at[POOL] = s.frames[frame, POOL_BASE]
    s.frames[frame, NEXT] = s.at[PARTS]
    s.frames[frame, FAILED] = 0
    ended = p.one_world and node != FALSE_NODE
    if s.frames[frame, VARIABLE] >= 0 and s.frames[frame, PHASE] < 2 and not ended:
        s.frames[frame, FIRST] = node
        s.frames[frame, PHASE] = 2
        return
    if s.frames[frame, VARIABLE] >= 0:
        first = s.frames[frame, FIRST]
        if first != FALSE_NODE and node != FALSE_NODE:
            s.kids[s.at[KIDS]], s.kids[s.at[KIDS] + 1] = first, node
            kind = MAXIMUM if p.maximized[s.frames[frame, VARIABLE]] else SUM
            node = _write(s, kind, s.at[KIDS], s.at[KIDS] + 2)
        elif node == FALSE_NODE:
            node = first
    remember(s.cache_keys, s.cache_values, s.frame_keys[frame, 0], s.frame_keys[frame, 1], node)
    s.at[CACHED] += 1
    s.at[DEPTH] -= 1
    if frame == 0:
        s.at[ROOT] = node
        return
    s.kids[s.at[KIDS]] = node
    s.at[KIDS] += 1
    if node == FALSE_NODE:
        s.frames[frame - 1, FAILED] = 1


@in_place
def search(p: Problem, s: SearchState, work: Any) -> Any:
    """Continue until all is compiled (:data:`DONE`, the circuit's root in ``at[ROOT]``), an array is full or
    work ends.

    ``work``: total number of visited pairs of a variable and a constraint at which to pause.
    """
    variables = len(p.rank)
    while s.at[DEPTH] > 0:
        if (
            s.at[POOL] + variables > len(s.pool)
            or s.at[KIDS] + 2 * variables + 4 > len(s.kids)
            or s.at[PARTS] + variables > len(s.parts)
            or s.at[NODES] + 4 > len(s.node_kind)
            or s.at[STORE] + 2 * variables + 8 > len(s.store)
            or 2 * s.at[CACHED] + 2 > len(s.cache_values)
            or s.at[DEPTH] + 1 > len(s.frames)
        ):
            return GROW
        frame = s.at[DEPTH] - 1
        if s.frames[frame, PHASE] % 2 == 0:
            if s.at[WORK] >= work:
                return PAUSE
            s.at[WORK] += 1
            if not _begin_branch(p, s, frame):
                s.frames[frame, FAILED] = 1
            s.frames[frame, PHASE] += 1
        elif s.frames[frame, FAILED] == 0 and s.frames[frame, NEXT] < s.at[PARTS]:
            part = s.frames[frame, NEXT]
            s.frames[frame, NEXT] += 1
            one, two = s.part_keys[part, 0], s.part_keys[part, 1]
            node = look_up(s.cache_keys, s.cache_values, one, two)
            if node >= 0:
                s.kids[s.at[KIDS]] = node
                s.at[KIDS] += 1
                s.frames[frame, FAILED] = 1 if node == FALSE_NODE else 0
            else:
                low, high = s.parts[part, 0], s.parts[part, 1]
                _push(p, s, low, high, one, two, True)
        else:
            _end_branch(p, s, frame, s.frames[frame, FAILED] == 0)
    return DONE


def begin(p: Problem, s: SearchState, assumed: Iterable[int]) -> None:
    """Push the first frame: all variables, only the assumed and the immediately implied literals assigned."""
    variables = len(p.rank)
    s.pool[:variables] = np.arange(variables)
    s.at[POOL] = variables
    s.at[NODES] = 2 + 3 * variables
    _push(p, s, np.int64(0), np.int64(variables), np.uint64(1), np.uint64(1), False)
    for literal in assumed:
        assign(p, s, literal)
    for c in np.flatnonzero(p.spare < p.widest):
        for i in range(p.starts[c], p.starts[c + 1]):
            if p.weights[i] > p.spare[c] and s.value[p.literals[i] >> 1] < 0:
                assign(p, s, p.literals[i])
