"""The part of a network that a query's interval depends on, and its ground sentences one by one.

A sentence is a small table; ``conditional_on`` gives its bounds of one atom's conditional probability.

>>> a_given_b = Sentence((0, 1), np.array([[0, 0], [0, 1]], bool), np.array([[0, 1], [0, 1]], bool), 0.6, 0.7)
>>> cases, lower, upper = a_given_b.conditional_on(0, (1,))
>>> cases, lower, upper
(array([False,  True]), 0.6, 0.7)

Two kinds of atoms are left out of that part, and no others:

- atoms that no sentence and no link connects to the query. The product of distributions of two unconnected
  parts, each satisfying its own sentences and Markov condition, is a distribution of the whole.
- an atom without children, neither in the query nor in its condition, whose sentences can all be satisfied
  case by case of its parents. Whatever the others' distribution, it can be added with such conditional
  probabilities, and they satisfy its sentences and its Markov condition. An atom with a sentence beyond that,
  such as both ``P(x | y)`` and a bound on ``P(x)`` that does not follow from it, bounds its parents and
  stays.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from herbrand.engines.credal.markov import Graph, graph_of
from herbrand.engines.credal.network import NO_LINKS, Network, literal_at
from herbrand.engines.credal.rounding import opposite
from herbrand.engines.credal.shape import spread
from herbrand.graphs import component_of, reached

CaseBound = tuple[np.ndarray, float, float]
"""Mask of the cases of the parents that a sentence is about, and its interval."""


@dataclass(frozen=True, eq=False)
class Sentence:
    """``lower P(given) <= P(event) <= upper P(given)``; the tables have an axis for each of ``atoms``.

    ``event`` is event and condition together; ``source`` is the group and row of the network.
    """

    atoms: tuple[int, ...]
    event: np.ndarray  # (2,) * k bool
    given: np.ndarray  # (2,) * k bool
    lower: float
    upper: float
    source: tuple[int, int] = (0, 0)

    def over(self, number: dict[int, int]) -> Sentence:
        """The sentence with its atoms renumbered."""
        return replace(self, atoms=tuple(number[atom] for atom in self.atoms))

    def in_cases_of(self, scope: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """The cases of a scope with all its atoms where the event holds, and where the condition holds."""
        event, given = (spread(table, self.atoms, scope) for table in (self.event, self.given))
        return event.reshape(-1), given.reshape(-1)

    def vacuous(self) -> Sentence:
        """The sentence with the interval [0, 1]."""
        return replace(self, lower=0.0, upper=1.0)

    def conditional_on(self, atom: int, parents: Sequence[int]) -> CaseBound | None:
        """Cases and interval of a sentence ``P(atom | some cases of the parents)`` or ``P(not atom | ...)``.

        Ends of a negation are complemented and rounded outward. ``None`` for a sentence of another form.
        """
        literal = self.literal_on(atom, parents)
        if literal is None:
            return None
        cases, positive = literal
        ends = self.lower, self.upper
        return (cases, *(ends if positive else opposite(ends)))

    def literal_on(self, atom: int, parents: Sequence[int]) -> tuple[np.ndarray, bool] | None:
        """The cases of such a sentence, and whether it is of the atom itself, not of its negation."""
        if atom not in self.atoms or not set(self.atoms) <= {atom, *parents}:
            return None
        literal = literal_at(self.event, self.given, self.atoms.index(atom))
        if literal is None:
            return None
        others = [other for other in self.atoms if other != atom]
        return spread(literal.cases, others, parents).reshape(-1), literal.positive


def sentences_of(network: Network) -> Iterator[Sentence]:
    """All ground sentences, one by one."""
    for number, group in enumerate(network.groups):
        event, given = group.tables
        columns = group.atoms.tolist(), group.lower.tolist(), group.upper.tolist()
        for row, (atoms, lower, upper) in enumerate(zip(*columns, strict=True)):
            yield Sentence(tuple(atoms), event, given, lower, upper, (number, row))


def single_case_intervals(
    atom: int, parents: Sequence[int], sentences: Iterable[Sentence]
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper ends for P(atom | case), from the sentences about exactly one case of the parents.

    Where lower is above upper the case must have probability 0.
    """
    bounds = (sentence.conditional_on(atom, parents) for sentence in sentences)
    return _case_intervals(parents, [one for one in bounds if one is not None and one[0].sum() == 1])


def satisfied_case_by_case(atom: int, parents: Sequence[int], sentences: Iterable[Sentence]) -> bool:
    """Whether some P(atom | case) for every case satisfies all sentences, whatever the parents' distribution.

    Then each case has a value within all sentences about it, and a sentence about several cases, whose
    probability is a weighted mean of these values, holds too.
    """
    bounds: list[CaseBound] = []
    for sentence in sentences:
        case_bound = sentence.conditional_on(atom, parents)
        if case_bound is None:
            return False
        bounds.append(case_bound)
    lower, upper = _case_intervals(parents, bounds)
    return bool((lower <= upper).all())


def _case_intervals(parents: Sequence[int], bounds: Iterable[CaseBound]) -> tuple[np.ndarray, np.ndarray]:
    """Intersection of the bounds about each case of the parents: lower and upper ends."""
    lower, upper = np.zeros(2 ** len(parents)), np.ones(2 ** len(parents))
    for cases, low, high in bounds:
        lower[cases], upper[cases] = np.maximum(lower[cases], low), np.minimum(upper[cases], high)
    return lower, upper


MOST_PARENTS = 12
"""Most parents of an atom whose cases are enumerated."""
MOST_KEPT = 64
"""Entries of the caches about parts, which an estimate, the search and its checks share."""


@dataclass(frozen=True, eq=False)
class NetworkPart:
    """Sentences over atoms 0, 1, ... of a graph; ``names[a]`` is the number of atom a in the network.

    ``markov``: whether the graph's Markov condition holds; if not, the graph has no links.
    """

    graph: Graph
    sentences: tuple[Sentence, ...]
    names: tuple[int, ...]
    markov: bool

    def local(self, atoms: Iterable[int]) -> tuple[int, ...]:
        """The numbers in this part of atoms of the network."""
        return tuple(self._number[atom] for atom in atoms)

    @cached_property
    def _number(self) -> dict[int, int]:
        return {name: atom for atom, name in enumerate(self.names)}

    def loosened(self, sources: Collection[tuple[int, int]]) -> NetworkPart:
        """The part with some sentences made vacuous; atoms and independences stay."""
        sentences = tuple(s.vacuous() if s.source in sources else s for s in self.sentences)
        return replace(self, sentences=sentences)

    def depended_on(self, queried: Collection[int]) -> NetworkPart:
        """The part that the interval of a query over some atoms depends on, without all other atoms."""
        stays = self._kept(queried)
        kept = set(queried)
        waiting = list(kept)
        while waiting:
            atom = waiting.pop()
            links = [(atom, other) for other in (*self.graph.into[atom], *self.graph.out[atom])]
            for near in (*links, *(self.sentences[number].atoms for number in self.mentions[atom])):
                if stays.issuperset(near):
                    waiting += set(near) - kept
                    kept.update(near)
        return self._restricted(sorted(kept), self._within(kept))

    def below_cuts(self, queried: Collection[int]) -> tuple[NetworkPart, tuple[int, ...]]:
        """The part on which a query in a tree depends, cut above atoms, and these by their numbers in it.

        An atom above which nothing is queried, or has another way to the query, separates all of that from
        the query. Its own sentences, which name its parents, are left out.
        """
        above_first = reached(queried, self.graph.parents)[::-1]
        ways = Counter(parent for atom in above_first for parent in self.graph.parents(atom))
        cut: dict[int, bool] = {}
        for atom in above_first:
            cut[atom] = all(
                parent not in queried and ways[parent] == 1 and cut[parent]
                for parent in self.graph.parents(atom)
            )
        kept = sorted(reached(queried, lambda atom: () if cut[atom] else self.graph.parents(atom)))
        numbers = {atom: place for place, atom in enumerate(kept)}
        inside = self._within(set(kept))
        cuts = tuple(numbers[atom] for atom in kept if cut[atom] and self.graph.parents(atom))
        return self._restricted(kept, inside), cuts

    def _within(self, kept: Collection[int]) -> Iterator[Sentence]:
        """The sentences that name only these atoms, in order."""
        for number in sorted({number for atom in kept for number in self.mentions[atom]}):
            sentence = self.sentences[number]
            if all(atom in kept for atom in sentence.atoms):
                yield sentence

    def without_barren(self) -> NetworkPart:
        """The part without its barren atoms, which can be added to any distribution of the others."""
        kept = self._kept(())
        inside = (sentence for sentence in self.sentences if kept.issuperset(sentence.atoms))
        return self._restricted(sorted(kept), inside)

    def row_ranges(self, atom: int, parents: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of P(atom | case of the parents), by the sentences about single cases.

        [0, 1] where these leave no value: that case must then have probability 0.
        """
        lower, upper = single_case_intervals(atom, parents, (self.sentences[n] for n in self.mentions[atom]))
        empty = lower > upper
        return np.where(empty, 0.0, lower), np.where(empty, 1.0, upper)

    @cached_property
    def mentions(self) -> tuple[list[int], ...]:
        """The numbers of the sentences that name each atom."""
        by_atom: tuple[list[int], ...] = tuple([] for _ in self.names)
        for number, sentence in enumerate(self.sentences):
            for atom in sentence.atoms:
                by_atom[atom].append(number)
        return by_atom

    def _kept(self, queried: Collection[int]) -> set[int]:
        """The atoms that may bound those asked for, connected to them or not."""
        if not self.markov:
            return self._kept_without_graph(queried)
        return self._bounding | self.graph.ancestors(queried)

    @cached_property
    def _bounding(self) -> set[int]:
        """The atoms kept for every query: the core, those that bound their parents, and all ancestors."""
        bounding = set(self.graph.core)
        for atom in set(range(len(self.names))) - bounding:
            below = set(self.graph.out[atom])
            own = [s for n in self.mentions[atom] if below.isdisjoint((s := self.sentences[n]).atoms)]
            parents = self.graph.parents(atom)
            if len(parents) > MOST_PARENTS or not satisfied_case_by_case(atom, parents, own):
                bounding.add(atom)
        return self.graph.ancestors(bounding)

    def _kept_without_graph(self, queried: Collection[int]) -> set[int]:
        """The same without independences: any atom may be tried with its neighbours as its parents."""
        mentions = [set(numbers) for numbers in self.mentions]
        kept = set(range(len(self.names)))
        waiting = list(kept - set(queried))
        while waiting:
            atom = waiting.pop()
            sentences = [self.sentences[number] for number in mentions[atom]]
            near = {other for s in sentences for other in s.atoms} - {atom}
            if atom not in kept or len(near) > MOST_PARENTS:
                continue
            if satisfied_case_by_case(atom, tuple(sorted(near)), sentences):
                kept.discard(atom)
                for other in near:
                    mentions[other] -= mentions[atom]
                waiting += near - set(queried)
        return kept

    def pieces(self) -> Iterator[NetworkPart]:
        """Connected components of the part, by sentences and links."""
        pairs = [(sentence.atoms[0], atom) for sentence in self.sentences for atom in sentence.atoms[1:]]
        links = np.concatenate([np.array(pairs, np.int64).reshape(-1, 2), self.graph.links])
        group = component_of(len(self.names), links).tolist()
        members: dict[int, list[int]] = defaultdict(list)
        for atom, key in enumerate(group):
            members[key].append(atom)
        by_group: dict[int, list[Sentence]] = defaultdict(list)
        for sentence in self.sentences:
            if sentence.atoms:
                by_group[group[sentence.atoms[0]]].append(sentence)
        for key, atoms in members.items():
            yield self._restricted(atoms, by_group[key])

    def _restricted(self, atoms: Sequence[int], sentences: Iterable[Sentence]) -> NetworkPart:
        number = {atom: place for place, atom in enumerate(atoms)}
        links = [(number[p], number[a]) for a in atoms for p in self.graph.parents(a) if p in number]
        graph = Graph.of(len(atoms), np.array(links, np.int64).reshape(-1, 2))
        return NetworkPart(
            graph,
            tuple(sentence.over(number) for sentence in sentences),
            tuple(self.names[atom] for atom in atoms),
            self.markov,
        )


def whole_part(network: Network, markov: bool) -> NetworkPart:
    """The part that is the whole network."""
    count = len(network.atoms)
    graph = graph_of(network) if markov else Graph.of(count, NO_LINKS)
    return NetworkPart(graph, tuple(sentences_of(network)), tuple(range(count)), markov)
