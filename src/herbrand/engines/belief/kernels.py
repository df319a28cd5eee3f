"""Loops of messages over a factor graph, in log space, which never compute infinity minus infinity.

Takes a :class:`~herbrand.factors.graph.FactorGraph` and messages from factors to axes, flat arrays of
log-values; an impossible value is minus infinity. Sums over an axis keep their finite part and the number of
messages that exclude a value separately, so that one message can be subtracted from them again exactly. The
loops run as plain Python on small graphs, and compiled on large ones (:mod:`herbrand.loops`).

The inner functions take arrays one by one, not the graph: numba counts references at every access to a tuple,
which made a message twenty times as expensive.
"""

from __future__ import annotations

import math

import numpy as np

from herbrand.factors.graph import Array, FactorGraph
from herbrand.loops import loop

NEVER = -math.inf
LEAST_SUM = 1e-280
"""Sum of shares below which digits are lost to underflow, so that it is computed again by itself."""
FARTHEST = 1e100
"""Largest magnitude of a log-message, so that sums of them stay finite for any number of copies."""
ROUNDING = 2.0**-53
"""Relative rounding of a message: smaller moves cannot be seen, so that no smaller residual is reported."""


@loop
def totals(graph: FactorGraph, messages: Array, total: Array, impossible: Array) -> None:
    """Write the finite parts of the log-beliefs, and the number of messages that exclude each value."""
    unary, exponents = graph.unary, graph.exponents
    edge_sizes, edge_starts, message_starts = graph.edge_sizes, graph.edge_starts, graph.message_starts
    for i in range(len(unary)):
        barred = unary[i] == NEVER
        total[i] = 0.0 if barred else unary[i]
        impossible[i] = 1.0 if barred else 0.0
    for edge in range(len(edge_sizes)):
        _tell(
            edge_sizes[edge],
            edge_starts[edge],
            message_starts[edge],
            exponents[edge],
            messages,
            total,
            impossible,
        )


@loop
def _tell(
    size: int, at: int, start: int, times: float, messages: Array, total: Array, impossible: Array
) -> None:
    """Add a message to its axis's total, or with negative ``times`` remove it."""
    if times == 0.0:
        return
    for value in range(size):
        message = messages[start + value]
        if message == NEVER:
            impossible[at + value] += times
        else:
            total[at + value] += times * message


@loop
def _incoming(
    size: int,
    at: int,
    start: int,
    messages: Array,
    total: Array,
    impossible: Array,
    out: Array,
    place: int,
) -> None:
    """Write the message of an axis to a factor: the total less one copy of the factor's own message, with
    largest value 0.

    If no value is possible, all are minus infinity.
    """
    largest = NEVER
    for value in range(size):
        message = messages[start + value]
        barred, outgoing = impossible[at + value], total[at + value]
        if message == NEVER:
            barred -= 1.0
        else:
            outgoing -= message
        out[place + value] = NEVER if barred > 0.5 else outgoing
        largest = max(largest, out[place + value])
    if largest > NEVER:
        for value in range(size):
            out[place + value] -= largest


@loop
def _log_sum(a: float, b: float) -> float:
    high, low = (a, b) if a > b else (b, a)
    return high if low == NEVER else high + math.log1p(math.exp(low - high))


@loop
def _log_one_minus(x: float) -> float:
    """log(1 - exp(x)) for x <= 0, without cancellation: by expm1 near 0, by log1p
    elsewhere (Mächler, 2012)."""
    if x >= 0.0:
        return NEVER
    return math.log(-math.expm1(x)) if x > -0.6931471805599453 else math.log1p(-math.exp(x))


@loop
def _joint(
    sizes: Array,
    first: int,
    stop: int,
    tables: Array,
    base: int,
    incoming: Array,
    places: Array,
    joint: Array,
) -> int:
    """Write the log-weights of a table's entries under the incoming messages; return their number."""
    count = 1
    joint[0] = 0.0
    for edge in range(first, stop):
        size = sizes[edge]
        for entry in range(count - 1, -1, -1):
            before = joint[entry]
            for value in range(size - 1, -1, -1):
                joint[entry * size + value] = before + incoming[places[edge - first] + value]
        count *= size
    for entry in range(count):
        joint[entry] += tables[base + entry]
    return count


@loop
def _from_table(
    sizes: Array,
    first: int,
    stop: int,
    tables: Array,
    base: int,
    incoming: Array,
    places: Array,
    joint: Array,
    shares: Array,
    out: Array,
) -> None:
    """Write the messages of a table to its axes to ``out`` at ``places``."""
    count = _joint(sizes, first, stop, tables, base, incoming, places, joint)
    largest = NEVER
    for entry in range(count):
        largest = max(largest, joint[entry])
    for entry in range(count):
        shares[entry] = 0.0 if largest == NEVER else math.exp(joint[entry] - largest)
    stride = count
    for edge in range(first, stop):
        size, place = int(sizes[edge]), int(places[edge - first])
        stride //= size
        for value in range(size):
            out[place + value] = 0.0
        entry = 0
        while entry < count:
            for value in range(size):
                for _ in range(stride):
                    out[place + value] += shares[entry]
                    entry += 1
        for value in range(size):
            received = incoming[place + value]
            # An axis that excludes the value makes all its entries impossible: they are computed again as if
            # it did not.
            if received == NEVER:
                incoming[place + value] = 0.0
                _joint(sizes, first, stop, tables, base, incoming, places, shares)
                out[place + value] = _log_sum_at(shares, count, value, stride, size)
                incoming[place + value] = NEVER
                for entry in range(count):
                    shares[entry] = 0.0 if largest == NEVER else math.exp(joint[entry] - largest)
            elif out[place + value] >= LEAST_SUM:
                out[place + value] = largest + math.log(out[place + value]) - received
            else:
                out[place + value] = _log_sum_at(joint, count, value, stride, size) - received


@loop
def _log_sum_at(joint: Array, count: int, value: int, stride: int, size: int) -> float:
    """Log-sum of the entries in which one axis has the value."""
    largest = NEVER
    for block in range(value * stride, count, size * stride):
        for entry in range(block, block + stride):
            largest = max(largest, joint[entry])
    if largest == NEVER:
        return NEVER
    scaled = 0.0
    for block in range(value * stride, count, size * stride):
        for entry in range(block, block + stride):
            scaled += math.exp(joint[entry] - largest)
    return largest + math.log(scaled)


@loop
def _holds(size: int, allowed: Array, start: int, incoming: Array, place: int) -> tuple[float, float, float]:
    """Log-probability that a member has an allowed value, that it has another, and the log-sum
    of its message."""
    yes = no = NEVER
    for value in range(size):
        if allowed[start + value]:
            yes = _log_sum(yes, incoming[place + value])
        else:
            no = _log_sum(no, incoming[place + value])
    both = _log_sum(yes, no)
    if both == NEVER:
        return NEVER, NEVER, NEVER
    if yes == NEVER or no == NEVER:
        return yes - both, no - both, both
    return -_log_one_plus(no - yes), -_log_one_plus(yes - no), both


@loop
def _log_one_plus(x: float) -> float:
    """log(1 + exp(x)) without overflow."""
    return x + math.log1p(math.exp(-x)) if x > 0.0 else math.log1p(math.exp(x))


@loop
def _some_copy(yes: float, no: float, times: float) -> float:
    """Log-probability that at least one of ``times`` copies of a member holds."""
    if yes == NEVER or times < 0.5:
        return NEVER
    if no == NEVER:
        return 0.0
    none = times * no
    return _log_one_minus(none) if none < -LEAST_SUM else yes + math.log(times)


@loop
def _some_of(none: float, some: float, sure: float) -> float:
    """Log-probability that some member holds. ``some`` adds up small probabilities without subtracting
    from 1, where one below 1e-16 would vanish and look impossible; for probabilities above 1/2 ``none``
    has the digits."""
    if sure > 0.5:
        return 0.0
    return _log_one_minus(none) if none < -0.6931471805599453 else some


@loop
def _none_holds(
    sizes: Array,
    first: int,
    stop: int,
    allowed: Array,
    message_starts: Array,
    multiplicities: Array,
    incoming: Array,
    places: Array,
) -> tuple[float, float, float, float]:
    """Over all members: the finite part of the log-probability that none holds, the log-probability that some
    does, the number that certainly do, and the log of the incoming messages' sums."""
    none = sure = scale = 0.0
    some = NEVER
    for edge in range(first + 1, stop):
        yes, no, both = _holds(sizes[edge], allowed, message_starts[edge], incoming, places[edge - first])
        times = multiplicities[edge]
        scale += times * both
        some = _log_sum(some, none + _some_copy(yes, no, times))
        if no == NEVER:
            sure += times
        else:
            none += times * no
    return none, some, sure, scale


@loop
def _from_some(
    sizes: Array,
    first: int,
    stop: int,
    allowed: Array,
    message_starts: Array,
    multiplicities: Array,
    incoming: Array,
    places: Array,
    none_after: Array,
    some_after: Array,
    out: Array,
) -> None:
    """Write the messages of a quantifier's factor, in time linear in its width.

    The other members of each are summed from both sides: removing one from the whole sum would
    lose small terms.
    """
    false, true = float(incoming[places[0]]), float(incoming[places[0] + 1])
    none, some, sure, _ = _none_holds(
        sizes, first, stop, allowed, message_starts, multiplicities, incoming, places
    )
    out[places[0]] = NEVER if sure > 0.5 else none
    out[places[0] + 1] = _some_of(none, some, sure)
    none, some = 0.0, NEVER
    for edge in range(stop - 1, first, -1):
        none_after[edge - first], some_after[edge - first] = none, some
        yes, no, _ = _holds(sizes[edge], allowed, message_starts[edge], incoming, places[edge - first])
        here = 0.0 if no == NEVER else multiplicities[edge] * no
        some = _log_sum(_some_copy(yes, no, multiplicities[edge]), here + some)
        none += here
    none, some = 0.0, NEVER
    for edge in range(first + 1, stop):
        place, times, start = places[edge - first], multiplicities[edge], message_starts[edge]
        yes, no, both = _holds(sizes[edge], allowed, start, incoming, place)
        finite = 0.0 if no == NEVER else no
        copies = none + (times - 1.0) * finite
        others = float(copies + none_after[edge - first])
        others_some = _log_sum(some, none + _some_copy(yes, no, times - 1.0))
        others_some = _log_sum(others_some, copies + some_after[edge - first])
        others_sure = sure - 1.0 if no == NEVER else sure
        some = _log_sum(some, none + _some_copy(yes, no, times))
        none += times * finite
        fails = _log_sum(
            NEVER if others_sure > 0.5 else false + others,
            true + _some_of(others, others_some, others_sure),
        )
        for value in range(sizes[edge]):
            out[place + value] = NEVER if both == NEVER else true if allowed[start + value] else fails


@loop
def _written(
    size: int, start: int, place: int, outgoing: Array, messages: Array, damping: float, out: Array
) -> float:
    """Write a message normalised and damped; return how far it moved, nan if it leaves no value.

    A value is impossible only if a table or an incoming message makes it so: a number that runs away stops at
    :data:`FARTHEST`, and counts as not at rest.
    """
    largest = NEVER
    for value in range(size):
        largest = max(largest, outgoing[place + value])
    if largest == NEVER:
        return math.nan
    moved = 0.0
    for value in range(size):
        new = outgoing[place + value] - largest
        old = messages[start + value]
        if NEVER < new < -FARTHEST:
            new, moved = -FARTHEST, math.inf
        if new == NEVER or old == NEVER:
            if new != old:
                moved = math.inf
            out[start + value] = NEVER if damping > 0.0 and old == NEVER else new
        else:
            moved = max(moved, abs(new - old), ROUNDING * abs(new))
            out[start + value] = new if damping == 0.0 else (1.0 - damping) * new + damping * old
    return moved


@loop
def _workspace(graph: FactorGraph) -> tuple[Array, Array, Array, Array, Array]:
    """Buffers for the widest factor: incoming and outgoing values, begin of each edge's values, and
    twice its entries."""
    factor_edges, table_starts, edge_sizes = graph.factor_edges, graph.table_starts, graph.edge_sizes
    widest = entries = values = 1
    for factor in range(len(table_starts)):
        first, stop = factor_edges[factor], factor_edges[factor + 1]
        product, total = 1, 0
        for edge in range(first, stop):
            total += edge_sizes[edge]
            if table_starts[factor] >= 0:
                product *= edge_sizes[edge]
        widest, values = max(widest, stop - first), max(values, total)
        entries = max(entries, product, stop - first)
    places = np.empty(widest, np.int64)
    return np.empty(values), np.empty(values), places, np.empty(entries), np.empty(entries)


@loop
def rounds(
    graph: FactorGraph, messages: Array, order: Array, damping: float, at_once: bool
) -> tuple[Array, float]:
    """Compute new messages of the factors in this order, and the largest change before damping.

    ``at_once``: all from the old messages; else each factor receives what those before it sent. The change is
    nan if some message leaves its axis no value.
    """
    factor_edges, table_starts, tables = graph.factor_edges, graph.table_starts, graph.tables
    sizes, at, starts = graph.edge_sizes, graph.edge_starts, graph.message_starts
    exponents, multiplicities, allowed = graph.exponents, graph.multiplicities, graph.allowed
    total, impossible = np.empty(len(graph.unary)), np.empty(len(graph.unary))
    totals(graph, messages, total, impossible)
    incoming, outgoing, places, joint, shares = _workspace(graph)
    now = messages if at_once else messages.copy()
    fresh = messages.copy()
    moved = 0.0
    for turn in range(len(order)):
        factor = int(order[turn])
        first, stop = factor_edges[factor], factor_edges[factor + 1]
        place = 0
        for edge in range(first, stop):
            places[edge - first] = place
            _incoming(sizes[edge], at[edge], starts[edge], now, total, impossible, incoming, place)
            place += int(sizes[edge])
        base = table_starts[factor]
        if base >= 0:
            _from_table(sizes, first, stop, tables, base, incoming, places, joint, shares, outgoing)
        else:
            _from_some(
                sizes, first, stop, allowed, starts, multiplicities, incoming, places, joint, shares, outgoing
            )
        for edge in range(first, stop):
            place = int(places[edge - first])
            change = _written(sizes[edge], starts[edge], place, outgoing, now, damping, fresh)
            if math.isnan(change):
                return fresh, change
            moved = max(moved, change)
        if not at_once:
            for edge in range(first, stop):
                times = exponents[edge]
                _tell(sizes[edge], at[edge], starts[edge], -times, now, total, impossible)
                for value in range(starts[edge], starts[edge] + sizes[edge]):
                    now[value] = fresh[value]
                _tell(sizes[edge], at[edge], starts[edge], times, now, total, impossible)
    return fresh, moved


@loop
def bethe(graph: FactorGraph, messages: Array) -> float:
    """Bethe log-partition: axes plus factors minus edges, each times its number of ground copies.

    Minus infinity if some axis has no value left.
    """
    factor_edges, table_starts, tables = graph.factor_edges, graph.table_starts, graph.tables
    sizes, at, starts = graph.edge_sizes, graph.edge_starts, graph.message_starts
    multiplicities, allowed, factor_counts = graph.multiplicities, graph.allowed, graph.factor_counts
    total, impossible = np.empty(len(graph.unary)), np.empty(len(graph.unary))
    totals(graph, messages, total, impossible)
    energy = graph.constant
    for axis in range(len(graph.sizes)):
        own = NEVER
        for value in range(graph.starts[axis], graph.starts[axis] + graph.sizes[axis]):
            if impossible[value] < 0.5:
                own = _log_sum(own, total[value])
        if own == NEVER:
            return NEVER
        energy += graph.counts[axis] * own
    incoming, _, places, joint, _ = _workspace(graph)
    for factor in range(len(factor_counts)):
        first, stop = factor_edges[factor], factor_edges[factor + 1]
        place, on_edges = 0, 0.0
        for edge in range(first, stop):
            places[edge - first] = place
            _incoming(sizes[edge], at[edge], starts[edge], messages, total, impossible, incoming, place)
            shared = NEVER
            for value in range(sizes[edge]):
                shared = _log_sum(shared, messages[starts[edge] + value] + incoming[place + value])
            on_edges += multiplicities[edge] * shared
            place += int(sizes[edge])
        base = table_starts[factor]
        if base >= 0:
            own = NEVER
            for entry in range(_joint(sizes, first, stop, tables, base, incoming, places, joint)):
                own = _log_sum(own, joint[entry])
        else:
            none, some, sure, scale = _none_holds(
                sizes, first, stop, allowed, starts, multiplicities, incoming, places
            )
            fails = NEVER if sure > 0.5 else incoming[0] + none
            own = scale + _log_sum(fails, incoming[1] + _some_of(none, some, sure))
        energy += factor_counts[factor] * (own - on_edges)
    return energy
