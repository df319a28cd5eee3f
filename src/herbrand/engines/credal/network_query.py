"""For each query of a question the part of the network that it depends on, and the query over its atoms.

Facts of open predicates condition every query, as its own condition does. Facts of pieces that the Markov
condition makes independent of the query's pieces are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from herbrand.engines.credal.branch_and_bound import End
from herbrand.engines.credal.interval import LocalQuery
from herbrand.engines.credal.markov import Graph
from herbrand.engines.credal.masses import Masses, masses_of, separate_masses, separate_tables
from herbrand.engines.credal.nearby_facts import NearbyFacts
from herbrand.engines.credal.network import Network
from herbrand.engines.credal.network_part import MOST_KEPT, NetworkPart, whole_part
from herbrand.engines.credal.question import (
    BoundQuery,
    BoundQuestion,
    ImpossibleGivenError,
    cannot_be_given,
)
from herbrand.engines.credal.shape import (
    TRUE,
    GroundFormula,
    Shape,
    columns_of,
    conjunction,
    literals_of,
    negation,
    settled,
)
from herbrand.engines.credal.tree_intervals import Forward, forward
from herbrand.errors import BudgetError
from herbrand.graphs import linked

MOST_ATOMS = 16
"""Most atoms that a query and its condition may name together."""


@dataclass(frozen=True, eq=False)
class NetworkQuestion:
    """A question over a network in unconnected pieces; ``markov``: whether its Markov condition holds."""

    network: Network
    question: BoundQuestion
    markov: bool

    @cached_property
    def whole(self) -> NetworkPart:
        """The part that is the whole network."""
        return whole_part(self.network, self.markov)

    @cached_property
    def forward(self) -> Forward:
        """The intervals in closed form."""
        return forward(self.network) if self.markov else Forward(np.zeros(len(self.network.atoms), bool))

    @cached_property
    def facts(self) -> NearbyFacts:
        """The facts of open predicates by component."""
        return NearbyFacts(self.network, self.markov)

    @cached_property
    def pieces(self) -> tuple[NetworkPart, ...]:
        return tuple(self.whole.pieces())

    @cached_property
    def bounding_pieces(self) -> tuple[NetworkPart, ...]:
        """The pieces without barren atoms, which can be added to any distribution of the others."""
        return tuple(self.whole.without_barren().pieces())

    @cached_property
    def _piece(self) -> dict[int, int]:
        """The number of each atom's piece."""
        return {name: number for number, piece in enumerate(self.pieces) for name in piece.names}

    def queries(self) -> Iterator[BoundQuery]:
        """The queries of the question one by one."""
        return self.question.each(self.network.atoms)

    def unrelated(self, query: BoundQuery) -> BoundQuery | None:
        """The part of the condition that is independent of the query, as a query: it must be possible.

        None where there is no such part.
        """
        apart = self._split(query)[1]
        return None if apart is None else BoundQuery(query.text, apart)

    def facts_apart(self, queries: Iterable[BoundQuery]) -> Iterator[BoundQuery]:
        """A query of one fact's atom for each component on which no query depends, to check its facts.

        Components with more than ``MOST_ATOMS`` facts are left out.
        """
        for facts in self.facts.apart_from(self._related(query).atoms for query in queries):
            if len(facts) <= MOST_ATOMS:
                atom = next(iter(facts))
                yield BoundQuery(self.network.atoms.text(atom), GroundFormula(0, (atom,)))

    @cached_property
    def _split(self) -> Callable[[BoundQuery], tuple[GroundFormula | None, GroundFormula | None]]:
        return lru_cache(MOST_KEPT)(self._in_two)

    def _in_two(self, query: BoundQuery) -> tuple[GroundFormula | None, GroundFormula | None]:
        """Split the condition into the conjuncts of the query's pieces, or linked to these, and the rest.

        Nothing is split off without the Markov condition, or where both parts lie in pieces with cycles.
        """
        if query.given is None or not query.event.atoms or not self.markov:
            return query.given, None
        shape = query.given.over_atoms()
        conjuncts = shape[1:] if isinstance(shape, tuple) and shape[0] == "and" else (shape,)
        (event, *kept), *groups = linked([query.event.over_atoms(), *conjuncts], self._pieces_with)
        others = [part for group in groups for part in group]
        if not others or (self._is_cyclic(event, *kept) and self._is_cyclic(*others)):
            return query.given, None
        return GroundFormula.of(conjunction(kept)) if kept else None, GroundFormula.of(conjunction(others))

    def _is_cyclic(self, *shapes: Shape) -> bool:
        pieces = set().union(*map(self._pieces_with, shapes))
        return any(self.pieces[piece].graph.core for piece in pieces)

    def _pieces_with(self, shape: Shape) -> set[int]:
        return {self._piece[atom] for atom in columns_of(shape)}

    @cached_property
    def part_of(self) -> Callable[[BoundQuery], tuple[NetworkPart, LocalQuery]]:
        """The part that a query depends on, and the query over its atoms, conditioned on facts.

        Results for the latest queries are cached: an estimate, the search and its checks need the same.
        """
        return lru_cache(MOST_KEPT)(self._made_part)

    def _made_part(self, query: BoundQuery) -> tuple[NetworkPart, LocalQuery]:
        about = self._about(query)
        part = about.joined.depended_on(about.joined.local(about.atoms))
        return part, about.within(part)

    @cached_property
    def masses_of(self) -> Callable[[BoundQuery], Masses | None]:
        """The masses of a query in a network of separate rows; ``None`` where they are not, or are too large.

        In a tree in closed form, an atom that separates all above it from the query has its interval as its
        only row: what lies above decides its probability, independently of all rows below.
        """
        return lru_cache(MOST_KEPT)(self._made_masses)

    def _made_masses(self, query: BoundQuery) -> Masses | None:
        about = self._about(query)
        if about.atoms and self.forward.settled[list(about.atoms)].all():
            part, cuts = about.joined.below_cuts(about.joined.local(about.atoms))
            tables = separate_tables(part)
            if tables:
                tables = [
                    self.forward.row(part.names[atom]) if atom in cuts else table
                    for atom, table in enumerate(tables)
                ]
                local = about.within(part)
                return masses_of(tables, local.atoms, local.event, local.given)
        part, local = self.part_of(query)
        return separate_masses(part, local.atoms, local.event, local.given)

    def _about(self, query: BoundQuery) -> _About:
        """What a query is about, conditioned on facts."""
        query = self._related(query)
        facts = self.facts.relevant_to(query.atoms)
        touched = sorted({self._piece[atom] for atom in (*query.atoms, *facts)})
        event = settled(query.event.over_atoms(), facts)
        condition = TRUE if query.given is None else settled(query.given.over_atoms(), facts)
        literals = [atom if truth else negation(atom) for atom, truth in facts.items()]
        given = conjunction([condition, *literals])
        atoms = GroundFormula.of(("", event, given)).atoms
        if len(atoms) > MOST_ATOMS:
            raise BudgetError(
                f"P({query.text}) and what is given name {len(atoms):,} atoms that depend on each other; the "
                f"exact engine takes {MOST_ATOMS}",
                hint="--engine ariel takes more",
            )
        return _About(_joined([self.pieces[piece] for piece in touched]), atoms, event, given)

    def _related(self, query: BoundQuery) -> BoundQuery:
        """The query with only the part of its condition that matters to it."""
        return replace(query, given=self._split(query)[0])

    def atom_of(self, query: BoundQuery) -> int | None:
        """The atom of a query for one atom without relevant condition or facts; else ``None``."""
        query = self._related(query)
        if query.event.shape != 0 or query.given is not None or self.facts.relevant_to(query.atoms):
            return None
        return query.event.atoms[0]

    def closed_form(self, query: BoundQuery) -> tuple[End, End] | None:
        """The ends of a query in closed form; ``None`` where it has none."""
        if not query.event.atoms and query.given is None and not self.facts.relevant_to(()):
            sure = End(truth := float(query.event.shape == TRUE), truth, 0)
            return sure, sure
        if query.event.shape != 0 or not self.forward.settled[atom := query.event.atoms[0]]:
            return None
        known = self._known_about(self._related(query))
        return None if known is None else self.forward.ends(atom, known)

    def _known_about(self, query: BoundQuery) -> dict[int, bool] | None:
        """Truth values that the condition and facts fix.

        ``None`` where the condition is no conjunction of literals, or contradicts itself or the facts.
        """
        given = {} if query.given is None else literals_of(query.given.over_atoms())
        if given is None:
            return None
        facts = self.facts.relevant_to(query.atoms)
        excluded = any(facts.get(atom, truth) != truth for atom, truth in given.items())
        return None if excluded else {**facts, **given}

    def impossible(self, query: BoundQuery) -> ImpossibleGivenError:
        """The error that the condition of a query has upper probability 0."""
        return cannot_be_given(query, bool(self.facts.relevant_to(query.atoms)))


@dataclass(frozen=True, eq=False)
class _About:
    """Event and condition over atoms of the network, and the pieces that they touch, joined."""

    joined: NetworkPart
    atoms: tuple[int, ...]
    event: Shape
    given: Shape

    def within(self, part: NetworkPart) -> LocalQuery:
        """The query over the atoms of a part of these pieces."""
        event, given = (GroundFormula.of(shape).table(self.atoms) for shape in (self.event, self.given))
        return LocalQuery(part.local(self.atoms), event, None if self.given == TRUE else given)


@lru_cache(maxsize=1)
def network_question(network: Network, question: BoundQuestion, markov: bool) -> NetworkQuestion:
    """The question over the network; the latest is cached, with its own caches."""
    return NetworkQuestion(network, question, markov)


def _joined(parts: Sequence[NetworkPart]) -> NetworkPart:
    """Join unconnected parts into one part."""
    if len(parts) == 1:
        return parts[0]
    names = tuple(name for part in parts for name in part.names)
    links, sentences, start = [np.empty((0, 2), np.int64)], [], 0
    for part in parts:
        links.append(part.graph.links + start)
        moved = {atom: atom + start for atom in range(len(part.names))}
        sentences += [sentence.over(moved) for sentence in part.sentences]
        start += len(part.names)
    markov = all(part.markov for part in parts)
    return NetworkPart(Graph.of(len(names), np.concatenate(links)), tuple(sentences), names, markov)
