"""A smallest set of statements that contradict each other, found by leaving out one block after another.

Independences stay those of the whole theory while statements are left out, so that every superset of a
contradictory set is contradictory, and no statement of the resulting set can be left out. A set that messages
find is shrunk further by the exact programs where these are small, since they detect more contradictions.

A contradiction may need the Markov condition; the error then says so and suggests how to restate the theory.
``P(g <=> a and b) = 1`` has no condition, so it links nothing, and the Markov condition takes g to be
independent of a and b: together with bounds on these it contradicts itself, though plain probability allows
it. The error claims only what has been checked: that these statements can hold together without
independences.

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
from herbrand.errors import ContradictionError, Mistake, all_of
from herbrand.language.show import show_formula, statement_text
from herbrand.language.syntax import Atom, Bound, Iff, Not, Truth

Source = tuple[int, int]
SECONDS = 2.0
"""Time limit of each exact consistency check while a set found by messages is shrunk."""


def contradiction(network: Network, part: NetworkPart, clock: Clock) -> ContradictionError:
    """The error that names a smallest contradictory set of statements of an inconsistent part."""
    stated = (sentence.source for sentence in part.sentences if sentence.lower > 0 or sentence.upper < 1)
    by_statement = statements_of(network, stated)
    needed = smallest(sorted(by_statement), _prover(part, by_statement, clock))
    return _named(network, [by_statement[number] for number in needed], part.markov)


def contradiction_of_messages(
    network: Network, sources: Iterable[Source], contradicts: Callable[[list[Source]], bool], markov: bool
) -> ContradictionError:
    """The same error where messages prove that these ground sentences contradict each other.

    ``contradicts``: whether messages prove it for a subset of them.
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
    """A test of a set of statements: whether it is proved that they alone contradict each other."""

    def inconsistent(statements: Sequence[int]) -> bool:
        kept = {source for number in statements for source in by_statement[number]}
        dropped = {sentence.source for sentence in part.sentences} - kept
        pieces = part.loosened(dropped).without_barren().pieces()
        return any(size_of(piece).fits(None) and not is_consistent(piece, clock) for piece in pieces)

    return inconsistent


def _named(network: Network, sources: Sequence[Sequence[Source]], markov: bool) -> ContradictionError:
    """The error for statements that cannot hold together, each given by its ground sentences.

    ``markov``: whether the independences of the network were assumed, which may be part of the reason.
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
    """Text that names one instance of a statement with variables, preferably one whose event is false.

    Empty where the statement has no variables.
    """
    impossible = (source for source in sources if network.stated(*source).event == Truth(False))
    place = next(impossible, sources[0])
    if not network.grounding(*place):
        return ""
    more = f", and {len(sources) - 1:,} more" if len(sources) > 1 else ""
    return f"among its instances {network.sentence_text(*place)}{more}{_left_out(network, place)}"


def _left_out(network: Network, place: Source) -> str:
    """Advice for excluding an instance whose event is false because its type has no such value; or empty."""
    stated = network.statement(*place)
    if not isinstance(stated, Bound) or network.stated(*place).event != Truth(False):
        return ""
    way_out = without_last_value(stated.event, network.grounding(*place))
    return way_out and f"\n  there {way_out}"


MOST_ATOMS = 12
MOST_ATOMS_OF_ALL = 100_000
"""Largest contradiction and largest network, in atoms, that are checked without the Markov condition."""
MOST_SENTENCES = 2_000
"""Ground sentences of the largest network that is checked as a whole."""
MOST_NAMED = 3
"""Independent pairs of atoms after which an error names no more of them."""
SECONDS_TO_BLAME = 5.0


def blamed(network: Network, sources: Sequence[Source]) -> str:
    """Explain whether the Markov condition causes the contradiction between these ground sentences.

    Empty where they contradict each other without independences too, or where that is too large to check.
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
    """Report whether all statements can hold together without the Markov condition, if they are few."""
    if len(network) <= MOST_SENTENCES:
        pieces = list(whole_part(network, markov=False).without_barren().pieces())
        if all(size_of(piece).width <= MOST_ATOMS for piece in pieces):
            if all(is_consistent(piece, Clock(most=SECONDS_TO_BLAME)) for piece in pieces):
                return "without it (--independence none) all statements can hold together"
            return "these can hold together without it, but others contradict each other all the same"
    return "these can hold together without it (--independence none); all together are too many to try"


def _without_independences(network: Network, sources: Sequence[Source], atoms: Sequence[int]) -> NetworkPart:
    number = {atom: place for place, atom in enumerate(atoms)}
    statements = set(sources)
    kept = (sentence.over(number) for sentence in sentences_of(network) if sentence.source in statements)
    graph = Graph.of(len(atoms), NO_LINKS)
    return NetworkPart(graph, tuple(kept), tuple(atoms), markov=False)


def _independences(network: Network, atoms: Sequence[int]) -> Iterator[str]:
    """Texts of the independences between these atoms, each pair named once, until ``MOST_NAMED`` pairs."""
    graph, named = graph_of(network), set[frozenset[int]]()
    text = network.atoms.text
    for atom in reversed(atoms):
        statement = graph.statement(atom)
        others = [other for other in statement.others if other in atoms]
        fresh = {frozenset((atom, other)) for other in others} - named
        if not fresh or len(named) >= MOST_NAMED:
            continue
        named |= fresh
        given = f" given {all_of([*map(text, statement.given)], 'and')}" if statement.given else ""
        apart = all_of([*map(text, others)], "and")
        yield f"it takes {text(atom)} to be independent of {apart}{given}: no condition leads there from it"


def _ways_out(network: Network, sources: Sequence[Source], atoms: Sequence[int]) -> Iterator[str]:
    """Suggest how to restate the first unconditional statement over several atoms so that it links them."""
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
