"""The neighbourhood of a query in a large network, by an index from atoms to their sentences.

The index also gives the forms of the sentences within a scope. Here are also functions that change or drop
sentences of a network.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from herbrand.engines.credal.network import Network
from herbrand.engines.credal.network_part import Sentence
from herbrand.engines.credal.rounding import at_least, at_most, stated_ends
from herbrand.row_keys import by_number


@dataclass(frozen=True, eq=False)
class Incidence:
    """An index of a network's ground sentences by atom; sentences are numbered group after group."""

    network: Network

    @cached_property
    def _index(self) -> tuple[np.ndarray, np.ndarray]:
        """Start of each atom's sentences, and the numbers of the sentences by atom."""
        atoms, sentences, first = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
        for group in self.network.groups:
            atoms.append(group.atoms.reshape(-1))
            sentences.append(first + np.repeat(np.arange(len(group)), group.arity))
            first += len(group)
        keys, values = np.concatenate(atoms), np.concatenate(sentences)
        order, starts = by_number(keys, len(self.network.atoms))
        return starts, values[order]

    @cached_property
    def _first(self) -> np.ndarray:
        """The number of each group's first sentence."""
        return np.cumsum([0, *map(len, self.network.groups)])

    def source(self, sentence: int) -> tuple[int, int]:
        """The group and row of a sentence."""
        group = int(np.searchsorted(self._first, sentence, side="right")) - 1
        return group, sentence - int(self._first[group])

    def about(self, atom: int) -> np.ndarray:
        """The numbers of the sentences over an atom."""
        start, sentences = self._index
        return sentences[start[atom] : start[atom + 1]]

    def sentence(self, sentence: int) -> Sentence:
        """A sentence with its stated bounds rounded outward by one double."""
        number, row = self.source(sentence)
        group = self.network.groups[number]
        lower, upper = map(float, stated_ends(group.lower[row], group.upper[row]))
        return Sentence(tuple(group.atoms[row].tolist()), *group.tables, lower, upper, (number, row))

    def neighbours(self, atom: int) -> set[int]:
        """The atoms that share a sentence with an atom."""
        return {
            other for sentence in self.about(atom).tolist() for other in self.sentence(sentence).atoms
        } - {atom}

    @cached_property
    def _arity(self) -> np.ndarray:
        """Number of atoms of each sentence."""
        groups = self.network.groups
        return np.repeat([group.arity for group in groups], list(map(len, groups)))

    def within(self, scope: Collection[int]) -> Iterator[Sentence]:
        """The sentences all of whose atoms lie in a scope, each once."""
        named = np.concatenate([self.about(atom) for atom in scope])
        sentences, counts = np.unique(named, return_counts=True)
        for sentence in sentences[counts == self._arity[sentences]].tolist():
            yield self.sentence(sentence)

    def forms(self, scope: Sequence[int]) -> np.ndarray:
        """[forms, 2^k] Constraints ``forms @ p >= 0`` of sentences within a scope on its cases' masses p."""
        forms = []
        for sentence in self.within(scope):
            event, given = sentence.in_cases_of(scope)
            forms += [at_least(event, given, sentence.lower)] if sentence.lower > 0 else []
            forms += [at_most(event, given, sentence.upper)] if sentence.upper < 1 else []
        return np.array(forms).reshape(-1, 2 ** len(scope))


def kept_only(network: Network, sentences: Collection[int]) -> Network:
    """The network with these ground sentences (their numbers) and no others."""
    kept = np.zeros(len(network), bool)
    kept[list(sentences)] = True
    groups, first = [], 0
    for group in network.groups:
        groups.append(group.rows(kept[first : first + len(group)]))
        first += len(group)
    return network.only(tuple(groups))


def with_ends(network: Network, source: tuple[int, int], lower: float, upper: float) -> Network:
    """The network with other bounds for one ground sentence, given by group and row."""
    number, row = source
    group = network.groups[number]
    lowers, uppers = group.lower.copy(), group.upper.copy()
    lowers[row], uppers[row] = lower, upper
    groups = list(network.groups)
    groups[number] = replace(group, lower=lowers, upper=uppers)
    return network.only(tuple(groups))


def growing(incidence: Incidence, sentences: Iterable[int], atoms: Iterable[int]) -> Iterator[list[int]]:
    """Growing sets of sentences around a start, each with all sentences over the atoms of the one before."""
    region = set(sentences)
    seen: set[int] = set()
    reached = {*atoms, *(atom for sentence in region for atom in incidence.sentence(sentence).atoms)}
    while True:
        fresh = reached - seen
        new = {sentence for atom in fresh for sentence in incidence.about(atom).tolist()} - region
        seen |= fresh
        if seen and not new and len(region):
            yield sorted(region)
            return
        if not new:
            return
        region |= new
        yield sorted(region)
        reached = {atom for sentence in new for atom in incidence.sentence(sentence).atoms}
