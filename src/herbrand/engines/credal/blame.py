"""Whether a contradiction needs the Markov condition, and what to do about it then.

``P(g <=> a and b) = 1`` has no condition, so it links nothing, and the Markov condition takes g to be
independent of a and b: together with bounds on these it contradicts itself, though plain probability allows
it. Only what has been tried is said: that the statements named can hold together without independences.

>>> import herbrand as hb
>>> from herbrand.engines.credal.lowering import credal_network
>>> theory = hb.parse("P(a) in [0.3, 0.4]\\nP(g <=> a) = 1")
>>> network = credal_network(hb.Model(theory).program)
>>> blamed(network, [(0, 0), (1, 0)]).splitlines()[0].partition(": ")[2]
'without it (--independence none) all statements can hold together'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from herbrand.engines.credal.interval import Clock, is_consistent
from herbrand.engines.credal.markov import Graph, graph_of
from herbrand.engines.credal.network import NO_LINKS, Network
from herbrand.engines.credal.part import NetworkPart, whole_part
from herbrand.engines.credal.sentence import sentences_of
from herbrand.engines.credal.size import size_of
from herbrand.language.show import show_formula, show_statement
from herbrand.language.syntax import Atom, Bound, Iff, Not, Truth

MOST_ATOMS = 12
MOST_ATOMS_OF_ALL = 100_000
"""In larger networks nothing is tried, nor in larger contradictions."""
MOST_SENTENCES = 2_000
MOST_NAMED = 3
SECONDS = 5.0

Source = tuple[int, int]


def blamed(network: Network, sources: Sequence[Source]) -> str:
    """What to say of these ground sentences, which contradict each other.

    Empty where they do so without independences, or where that is too large to be tried.
    """
    atoms = sorted({int(atom) for group, row in sources for atom in network.groups[group].atoms[row]})
    if len(atoms) > MOST_ATOMS or len(network.atoms) > MOST_ATOMS_OF_ALL:
        return ""
    if not is_consistent(_without_independences(network, sources, atoms), Clock(most=SECONDS)):
        return ""
    lines = [
        f"it is the Markov condition that they contradict: {_without_it(network)}",
        *_independences(network, atoms),
        *_ways_out(network, sources, atoms),
    ]
    return "\n  ".join(lines)


def _without_it(network: Network) -> str:
    """What can hold without the condition: these statements, and perhaps all of them."""
    if len(network) <= MOST_SENTENCES:
        pieces = list(whole_part(network, markov=False).without_barren().pieces())
        if all(size_of(piece).width <= MOST_ATOMS for piece in pieces):
            if all(is_consistent(piece, Clock(most=SECONDS)) for piece in pieces):
                return "without it (--independence none) all statements can hold together"
            return "these can hold together without it, but others contradict each other all the same"
    return "these can hold together without it (--independence none); all together are too many to try"


def _without_independences(network: Network, sources: Sequence[Source], atoms: Sequence[int]) -> NetworkPart:
    number = {atom: place for place, atom in enumerate(atoms)}
    groups = []
    for place, group in enumerate(network.groups):
        rows = [row for where, row in sources if where == place]
        if rows:
            groups.append(group.rows(np.array(rows)))
    said = (sentence.over(number) for sentence in sentences_of(network.only(tuple(groups))))
    graph = Graph.of(len(atoms), NO_LINKS)
    return NetworkPart(graph, tuple(said), tuple(atoms), markov=False)


def _independences(network: Network, atoms: Sequence[int]) -> Iterator[str]:
    """What the Markov condition says of these atoms, as far as they are not each other's consequence."""
    graph, named = graph_of(network), set[frozenset[int]]()
    text = network.atoms.text
    for atom in reversed(atoms):
        statement = graph.statement(atom)
        others = [other for other in statement.others if other in atoms]
        fresh = {frozenset((atom, other)) for other in others} - named
        if not fresh or len(named) >= MOST_NAMED:
            continue
        named |= fresh
        given = f" given {_joined(list(map(text, statement.parents)))}" if statement.parents else ""
        apart = _joined(list(map(text, others)))
        yield f"it takes {text(atom)} to be independent of {apart}{given}: no condition leads there from it"


def _ways_out(network: Network, sources: Sequence[Source], atoms: Sequence[int]) -> Iterator[str]:
    """The first statement without a condition that speaks of several atoms, as it would link them."""
    for group, row in sources:
        stated = network.statements[int(network.groups[group].statement[row])]
        if network.groups[group].arity < 2 or not isinstance(stated, Bound) or stated.given is not None:
            continue
        linking = next(iter(show_statement(Bound(stated.event, Truth(True), stated.lower, stated.upper))))
        verified = set(network.groups[group].atoms[row].tolist()) >= set(atoms)
        together = " (then they can hold together)" if verified else ""
        yield f"a condition links the atoms of a statement, also a sure one: {linking}{together}"
        if isinstance(stated.event, Iff) and stated.lower == 1:
            sides = stated.event.left, stated.event.right
            gate, cause = sides if isinstance(sides[0], Atom) else sides[::-1]
            if isinstance(gate, Atom):
                cases = (show_formula(side) for side in (gate, cause, gate, Not(cause)))
                yield "or state it case by case: P({} | {}) = 1 and P({} | {}) = 0".format(*cases)
        return


def _joined(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
