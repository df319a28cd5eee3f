"""The neighbourhood of a question in a large network, and networks with some sentences changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

import numpy as np

from herbrand.engines.credal.ariel.incidence import Incidence
from herbrand.engines.credal.network import Network


def kept_only(network: Network, sentences: Collection[int]) -> Network:
    """The network with these ground sentences (their numbers) and no others."""
    wanted = np.zeros(len(network), bool)
    wanted[list(sentences)] = True
    groups, first = [], 0
    for group in network.groups:
        groups.append(group.rows(wanted[first : first + len(group)]))
        first += len(group)
    return network.only(tuple(groups))


def with_ends(network: Network, source: tuple[int, int], lower: float, upper: float) -> Network:
    """The network with one ground sentence, by group and row, saying something else."""
    number, row = source
    group = network.groups[number]
    lowers, uppers = group.lower.copy(), group.upper.copy()
    lowers[row], uppers[row] = lower, upper
    groups = list(network.groups)
    groups[number] = replace(group, lower=lowers, upper=uppers)
    return network.only(tuple(groups))


def growing(incidence: Incidence, sentences: Iterable[int], atoms: Iterable[int]) -> Iterator[list[int]]:
    """Sets of sentences around a start, each with all that speaks of the atoms of the one before."""
    found = set(sentences)
    seen: set[int] = set()
    reached = {*atoms, *(atom for sentence in found for atom in incidence.said(sentence).atoms)}
    while True:
        fresh = reached - seen
        new = {sentence for atom in fresh for sentence in incidence.about(atom).tolist()} - found
        seen |= fresh
        if seen and not new and len(found):
            yield sorted(found)
            return
        if not new:
            return
        found |= new
        yield sorted(found)
        reached = {atom for sentence in new for atom in incidence.said(sentence).atoms}
