"""Which statements contradict each other: a smallest set, found by leaving out one block after another.

Independences stay those of the whole theory while statements are left out, so that whatever contradicts
itself still does with more statements, and none of the set that is found could be left out. What messages
find is looked at by the exact programs as well, as far as these are small: they see more than messages do.

A contradiction may need the Markov condition; the message then tells what to do about it.
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

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from herbrand.engines.credal.interval import Clock, is_consistent, size_of
from herbrand.engines.credal.markov import Graph, graph_of
from herbrand.engines.credal.network import NO_LINKS, Network
from herbrand.engines.credal.network_part import NetworkPart, sentences_of, whole_part
from herbrand.engines.credal.sentence_groups import without_last_value
from herbrand.engines.smallest_set import smallest, together
from herbrand.errors import ContradictionError, Mistake
from herbrand.language.show import show_formula, statement_text
from herbrand.language.syntax import Atom, Bound, Iff, Not, Truth

Source = tuple[int, int]
SECONDS = 2.0
"""For a set of statements that messages have found, without one block of them."""


def contradiction(network: Network, part: NetworkPart, clock: Clock) -> ContradictionError:
    """The error that names statements of an inconsistent part that no distribution satisfies together."""
    stated = (sentence.source for sentence in part.sentences if sentence.lower > 0 or sentence.upper < 1)
    by_statement = statements_of(network, stated)
    needed = smallest(sorted(by_statement), _prover(part, by_statement, clock))
    return _named(network, [by_statement[number] for number in needed], part.markov)


def contradiction_of_messages(
    network: Network, sources: Iterable[Source], contradicts: Callable[[list[Source]], bool], markov: bool
) -> ContradictionError:
    """The same where messages find that these ground sentences contradict each other.

    ``contradicts``: whether messages find it of some of them.
    """
    by_statement = statements_of(network, sources)
    needed = smallest(
        sorted(by_statement), lambda kept: contradicts([s for number in kept for s in by_statement[number]])
    )
    if len(network) <= MOST_SENTENCES:
        whole = whole_part(network, markov)
        needed = smallest(needed, _prover(whole, by_statement, Clock(most=SECONDS)))
    return _named(network, [by_statement[number] for number in needed], markov)


def statements_of(network: Network, sources: Iterable[Source]) -> dict[int, list[Source]]:
    """The ground sentences of each statement, by its number."""
    by_statement: dict[int, list[Source]] = {}
    for group, row in sources:
        by_statement.setdefault(int(network.groups[group].statement[row]), []).append((group, row))
    return by_statement


def _prover(
    part: NetworkPart, by_statement: Mapping[int, Sequence[Source]], clock: Clock
) -> Callable[[Sequence[int]], bool]:
    """Whether it is proved that some of these statements contradict each other, nothing else being said."""

    def inconsistent(statements: Sequence[int]) -> bool:
        kept = {source for number in statements for source in by_statement[number]}
        dropped = {sentence.source for sentence in part.sentences} - kept
        pieces = part.loosened(dropped).without_barren().pieces()
        return any(size_of(piece).fits(None) and not is_consistent(piece, clock) for piece in pieces)

    return inconsistent


def _named(network: Network, sources: Sequence[Sequence[Source]], markov: bool) -> ContradictionError:
    """The error for statements that cannot hold together, each given by its ground sentences.

    ``markov``: with the independences of the network, which may be part of the reason.
    """
    mistakes = []
    for statements in sources:
        statement = network.statement(*statements[0])
        message = f"no distribution satisfies {together(len(sources))}"
        text = statement_text(statement)
        mistakes.append(
            Mistake(
                message if statement.span else f"{message}: {text}",
                statement.span,
                _instance(network, statements),
            )
        )
    reason = blamed(network, [source for statements in sources for source in statements]) if markov else ""
    if reason:
        last = mistakes[-1]
        mistakes[-1] = replace(last, hint="\n  ".join(filter(None, (last.hint, reason))))
    return ContradictionError(mistakes)


def _instance(network: Network, sources: Sequence[Source]) -> str:
    """An instance of a statement that has variables: one whose event is false, if there is any."""
    impossible = (source for source in sources if network.stated(*source).event == Truth(False))
    place = next(impossible, sources[0])
    if not network.grounding(*place):
        return ""
    more = f", and {len(sources) - 1:,} more" if len(sources) > 1 else ""
    return f"among its instances {network.sentence_text(*place)}{more}{_left_out(network, place)}"


def _left_out(network: Network, place: Source) -> str:
    """How an instance is left out whose event is false as its type has no such value."""
    stated = network.statement(*place)
    if not isinstance(stated, Bound) or network.stated(*place).event != Truth(False):
        return ""
    way_out = without_last_value(stated.event, network.grounding(*place))
    return way_out and f"\n  there {way_out}"


MOST_ATOMS = 12
MOST_ATOMS_OF_ALL = 100_000
"""In larger networks nothing is tried, nor in larger contradictions."""
MOST_SENTENCES = 2_000
MOST_NAMED = 3
SECONDS_TO_BLAME = 5.0


def blamed(network: Network, sources: Sequence[Source]) -> str:
    """What to say of these ground sentences, which contradict each other.

    Empty where they do so without independences, or where that is too large to be tried.
    """
    atoms = sorted({int(atom) for group, row in sources for atom in network.groups[group].atoms[row]})
    if len(atoms) > MOST_ATOMS or len(network.atoms) > MOST_ATOMS_OF_ALL:
        return ""
    if not is_consistent(_without_independences(network, sources, atoms), Clock(most=SECONDS_TO_BLAME)):
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
            if all(is_consistent(piece, Clock(most=SECONDS_TO_BLAME)) for piece in pieces):
                return "without it (--independence none) all statements can hold together"
            return "these can hold together without it, but others contradict each other all the same"
    return "these can hold together without it (--independence none); all together are too many to try"


def _without_independences(network: Network, sources: Sequence[Source], atoms: Sequence[int]) -> NetworkPart:
    number = {atom: place for place, atom in enumerate(atoms)}
    wanted = set(sources)
    kept = (sentence.over(number) for sentence in sentences_of(network) if sentence.source in wanted)
    graph = Graph.of(len(atoms), NO_LINKS)
    return NetworkPart(graph, tuple(kept), tuple(atoms), markov=False)


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
        stated = network.statement(group, row)
        if network.groups[group].arity < 2 or not isinstance(stated, Bound) or stated.given is not None:
            continue
        linking = statement_text(Bound(stated.event, Truth(True), stated.lower, stated.upper))
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
