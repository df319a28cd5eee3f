"""Loops of Gibbs sweeps over blocks of atoms, compiled for large networks.

A chain's state is the value of every axis, helpers included, and for each quantifier's factor the number of
its members that hold, so that the change of an atom costs only what depends on it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from herbrand.engines.gibbs.blocks import Blocks
from herbrand.factors.graph import SOME, Array, FactorGraph
from herbrand.loops import chosen, loop

NEVER = -math.inf
MOST_LOG_ODDS = 700.0
"""Log-odds above which the exponential would overflow; the probability of the other value rounds to
0 long before."""


class Network(NamedTuple):
    """A graph and its blocks, with indices of what depends on what.

    ``members``: edges by which axis a is a member of quantifiers' factors, from ``member_starts[a]`` on;
    ``maker`` [axis]: factor that defines a helper, -1 for an atom. ``near_tables`` and ``near_axes``: parts
    of a block's weight; ``strides`` [near table]: distance of the entries of two consecutive values of the
    block's first atom. ``alone`` [block]: whether it is one atom on which no helper depends.
    """

    graph: FactorGraph
    owner: Array
    maker: Array
    member_starts: Array
    members: Array
    block_starts: Array
    block_atoms: Array
    state_starts: Array
    state_counts: Array
    states: Array
    table_starts: Array
    near_tables: Array
    axis_starts: Array
    near_axes: Array
    strides: Array
    alone: Array


def network(graph: FactorGraph, blocks: Blocks) -> Network:
    """Index a ground graph for the sampler."""
    owner, maker = graph.owners, graph.makers
    is_table = graph.table_starts[owner] != SOME
    is_target = np.isin(np.arange(graph.edge_count), graph.factor_edges[maker[maker >= 0]])
    member_starts, members = graph.edges_by_axis(np.flatnonzero(~is_table & ~is_target))
    table_starts, in_tables = graph.edges_by_axis(np.flatnonzero(is_table))
    near = chosen(_near, graph.operations)(
        graph.axis_count,
        graph.factor_count,
        owner,
        graph.edge_axes[graph.factor_edges[:-1]],
        member_starts,
        members,
        table_starts,
        in_tables,
        blocks.pointers,
        blocks.atoms,
    )
    return Network(
        graph,
        owner,
        maker,
        member_starts,
        members,
        blocks.pointers,
        blocks.atoms,
        blocks.state_starts,
        blocks.state_counts,
        blocks.states,
        *near,
        chosen(_strides, graph.operations)(graph, blocks.pointers, blocks.atoms, near[0], near[1]),
        np.diff(near[2]) == 1,
    )


def operations(network: Network) -> float:
    """Estimated number of operations of a sweep: for each state of a block, all that depends on it."""
    near = np.diff(network.table_starts) + np.diff(network.axis_starts)
    return float(8 * (network.state_counts * (1 + near)).sum())


@loop
def _near(
    axis_count: int,
    factor_count: int,
    owner: Array,
    made_by: Array,
    member_starts: Array,
    members: Array,
    table_starts: Array,
    in_tables: Array,
    block_starts: Array,
    block_atoms: Array,
) -> tuple[Array, Array, Array, Array]:
    """Tables whose weight each block may change, and its atoms with the helpers that depend on them."""
    count = len(block_starts) - 1
    tables_from, axes_from = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    tables, axes = np.empty(1024, np.int64), np.empty(1024, np.int64)
    seen_axis, seen_table = np.full(axis_count, -1, np.int64), np.full(factor_count, -1, np.int64)
    for block in range(count):
        first = int(axes_from[block])
        last, end = first, int(tables_from[block])
        for place in range(block_starts[block], block_starts[block + 1]):
            atom = int(block_atoms[place])
            axes = _put(axes, last, atom)
            seen_axis[atom] = block
            last += 1
        while first < last:
            axis = int(axes[first])
            first += 1
            for place in range(table_starts[axis], table_starts[axis + 1]):
                factor = int(owner[in_tables[place]])
                if seen_table[factor] != block:
                    seen_table[factor] = block
                    tables = _put(tables, end, factor)
                    end += 1
            for place in range(member_starts[axis], member_starts[axis + 1]):
                helper = int(made_by[owner[int(members[place])]])
                if seen_axis[helper] != block:
                    seen_axis[helper] = block
                    axes = _put(axes, last, helper)
                    last += 1
        axes_from[block + 1], tables_from[block + 1] = last, end
    return tables_from, tables, axes_from, axes


@loop
def _put(array: Array, place: int, value: int) -> Array:
    """The array with a value at a place, doubled in length if it was too short."""
    if place >= len(array):
        longer = np.empty(2 * len(array), np.int64)
        for i in range(len(array)):  # a slice would take numba two seconds more to compile
            longer[i] = array[i]
        array = longer
    array[place] = value
    return array


@loop
def _strides(
    graph: FactorGraph, block_starts: Array, block_atoms: Array, starts: Array, near_tables: Array
) -> Array:
    """Distance of the entries of two consecutive values of the block's first atom, for each table
    near a block."""
    strides = np.zeros(starts[-1], np.int64)
    for block in range(len(block_starts) - 1):
        atom = block_atoms[block_starts[block]]
        for place in range(starts[block], starts[block + 1]):
            factor, stride = near_tables[place], 1
            for edge in range(graph.factor_edges[factor + 1] - 1, graph.factor_edges[factor] - 1, -1):
                axis = graph.edge_axes[edge]
                if axis == atom:
                    strides[place] += stride
                stride *= graph.sizes[axis]
    return strides


@loop
def begin(network: Network, values: Array, holding: Array, uniforms: Array) -> None:
    """Draw a random possible state for every block, and compute the helpers."""
    graph = network.graph
    for factor in range(len(graph.factor_counts)):
        holding[factor] = 0
    values[:] = 0
    for factor in range(len(graph.factor_counts)):
        if graph.table_starts[factor] < 0:
            for edge in range(graph.factor_edges[factor] + 1, graph.factor_edges[factor + 1]):
                holding[factor] += graph.allowed[graph.message_starts[edge]]
    waiting = np.empty(max(1, len(graph.edge_axes)), np.int64)
    for axis in range(len(values)):
        if network.maker[axis] >= 0:
            waiting[0] = axis
            _settle(network, values, holding, waiting, 1)
    for block in range(len(network.state_counts)):
        possible = 0
        for state in range(network.state_counts[block]):
            possible += _is_open(network, block, state)
        chosen = min(int(uniforms[block] * possible), possible - 1)
        for state in range(network.state_counts[block]):
            if _is_open(network, block, state):
                if chosen == 0:
                    _put_state(network, block, state, values, holding, waiting)
                    break
                chosen -= 1


@loop
def _is_open(network: Network, block: int, state: int) -> bool:
    """Whether the own weights of all atoms allow their values in a state."""
    width = network.block_starts[block + 1] - network.block_starts[block]
    for j in range(width):
        atom = network.block_atoms[network.block_starts[block] + j]
        value = network.states[network.state_starts[block] + state * width + j]
        if network.graph.unary[network.graph.starts[atom] + value] == NEVER:
            return False
    return True


@loop
def _put_state(
    network: Network, block: int, state: int, values: Array, holding: Array, waiting: Array
) -> None:
    width = network.block_starts[block + 1] - network.block_starts[block]
    for j in range(width):
        atom = int(network.block_atoms[network.block_starts[block] + j])
        value = int(network.states[network.state_starts[block] + state * width + j])
        if values[atom] != value:
            count = _change(network, values, holding, waiting, atom, value, 0)
            _settle(network, values, holding, waiting, count)


@loop
def _change(
    network: Network, values: Array, holding: Array, waiting: Array, axis: int, value: int, count: int
) -> int:
    """Set an axis to a value; helpers that this may change are appended to the ``count`` waiting ones."""
    graph = network.graph
    before = values[axis]
    values[axis] = value
    for place in range(network.member_starts[axis], network.member_starts[axis + 1]):
        edge = network.members[place]
        start = graph.message_starts[edge]
        was, now = graph.allowed[start + before], graph.allowed[start + value]
        if was != now:
            factor = network.owner[edge]
            holding[factor] += 1 if now else -1
            waiting[count] = graph.edge_axes[graph.factor_edges[factor]]
            count += 1
    return count


@loop
def _settle(network: Network, values: Array, holding: Array, waiting: Array, count: int) -> None:
    """Set waiting helpers to the values that their members imply."""
    while count > 0:
        count -= 1
        helper = int(waiting[count])
        value = 1 if holding[network.maker[helper]] > 0 else 0
        if values[helper] != value:
            count = _change(network, values, holding, waiting, helper, value, count)


@loop
def table_weight(graph: FactorGraph, factor: int, values: Array) -> float:
    """Log-weight of a table's entry for these values."""
    entry = 0
    for edge in range(graph.factor_edges[factor], graph.factor_edges[factor + 1]):
        axis = int(graph.edge_axes[edge])
        entry = entry * graph.sizes[axis] + values[axis]
    return float(graph.tables[graph.table_starts[factor] + entry])


@loop
def met_entries(graph: FactorGraph, values: Array, met: Array) -> None:
    """Add to ``met`` how often a state meets each value of an axis, and then each entry of a table."""
    for factor in range(len(graph.table_starts)):
        if graph.table_starts[factor] >= 0:
            entry = 0
            for edge in range(graph.factor_edges[factor], graph.factor_edges[factor + 1]):
                axis = graph.edge_axes[edge]
                entry = entry * graph.sizes[axis] + values[axis]
            met[len(graph.unary) + graph.table_starts[factor] + entry] += 1.0
    for axis in range(len(values)):
        met[graph.starts[axis] + values[axis]] += 1.0


@loop
def _weight(network: Network, block: int, values: Array) -> float:
    """Log-weight of everything that a block may change."""
    graph = network.graph
    total = 0.0
    for place in range(network.axis_starts[block], network.axis_starts[block + 1]):
        axis = int(network.near_axes[place])
        total += float(graph.unary[graph.starts[axis] + values[axis]])
    for place in range(network.table_starts[block], network.table_starts[block + 1]):
        total += table_weight(graph, int(network.near_tables[place]), values)
    return total


@loop
def sweeps(network: Network, values: Array, holding: Array, uniforms: Array, seen: Array) -> None:
    """Take a sweep for each row of ``uniforms`` [sweep, block]; ``seen`` counts the values of atoms
    after each sweep.

    Nearly all blocks are one atom, so these are drawn here: a call would pass every array of the network,
    which takes ten times as long as the draw itself.
    """
    graph, block_starts, block_atoms = network.graph, network.block_starts, network.block_atoms
    alone, table_starts, near_tables = network.alone, network.table_starts, network.near_tables
    strides, starts, sizes, unary = network.strides, graph.starts, graph.sizes, graph.unary
    tables, firsts = graph.tables, graph.table_starts
    factor_edges, edge_axes = graph.factor_edges, graph.edge_axes
    most = 1
    for count in network.state_counts:
        most = max(most, count)
    log_weights = np.empty(most)
    waiting = np.empty(max(1, len(edge_axes)), np.int64)
    for row in range(len(uniforms)):
        for block in range(len(alone)):
            if not alone[block]:
                uniform = uniforms[row, block]
                _draw_jointly(network, block, uniform, values, holding, log_weights, waiting)
                continue
            atom = block_atoms[block_starts[block]]
            size, start, before = sizes[atom], starts[atom], values[atom]
            for value in range(size):
                log_weights[value] = unary[start + value]
            no, yes = log_weights[0], log_weights[min(1, size - 1)]
            for place in range(table_starts[block], table_starts[block + 1]):
                factor, entry = near_tables[place], 0
                for edge in range(factor_edges[factor], factor_edges[factor + 1]):
                    axis = edge_axes[edge]
                    entry = entry * sizes[axis] + values[axis]
                stride = strides[place]
                entry += firsts[factor] - before * stride
                if size == 2:
                    no += tables[entry]
                    yes += tables[entry + stride]
                else:
                    for value in range(size):
                        log_weights[value] += tables[entry + value * stride]
            if size != 2:
                values[atom] = _drawn(log_weights, size, uniforms[row, block])
            elif no == NEVER:
                values[atom] = 1
            else:
                # true with probability odds / (1 + odds)
                odds = math.exp(min(yes - no, MOST_LOG_ODDS))
                values[atom] = uniforms[row, block] * (1.0 + odds) >= 1.0
        for atom in block_atoms:
            seen[starts[atom] + values[atom]] += 1


@loop
def _drawn(log_weights: Array, count: Any, uniform: float) -> int:
    """Draw one of the first ``count`` states in proportion to its weight."""
    largest = NEVER
    for state in range(count):
        largest = max(largest, log_weights[state])
    total = 0.0
    for state in range(count):
        log_weights[state] = math.exp(log_weights[state] - largest)
        total += log_weights[state]
    left = uniform * total
    chosen = -1
    for state in range(count):
        if log_weights[state] > 0.0:
            chosen = state
            left -= log_weights[state]
            if left < 0.0:
                break
    return chosen


@loop
def _draw_jointly(
    network: Network,
    block: int,
    uniform: float,
    values: Array,
    holding: Array,
    log_weights: Array,
    waiting: Array,
) -> None:
    """Draw a state of a block and update the helpers that depend on it."""
    count = network.state_counts[block]
    for state in range(count):
        _put_state(network, block, state, values, holding, waiting)
        log_weights[state] = _weight(network, block, values)
    _put_state(network, block, _drawn(log_weights, count, uniform), values, holding, waiting)


@loop
def weights_by_state(network: Network, block: int, values: Array, holding: Array) -> Array:
    """Log-weights of the tables near a block and of its axes, for each of its states: [state, part].

    The block is left in its last state.
    """
    graph = network.graph
    first, stop = network.table_starts[block], network.table_starts[block + 1]
    begin_axes, end_axes = network.axis_starts[block], network.axis_starts[block + 1]
    weights = np.empty((network.state_counts[block], stop - first + end_axes - begin_axes))
    waiting = np.empty(max(1, len(graph.edge_axes)), np.int64)
    for state in range(network.state_counts[block]):
        _put_state(network, block, state, values, holding, waiting)
        for place in range(first, stop):
            weights[state, place - first] = table_weight(graph, network.near_tables[place], values)
        for place in range(begin_axes, end_axes):
            axis = network.near_axes[place]
            own = graph.unary[graph.starts[axis] + values[axis]]
            weights[state, stop - first + place - begin_axes] = own
    return weights
