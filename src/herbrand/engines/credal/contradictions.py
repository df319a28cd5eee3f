"""Which statements contradict each other: a smallest set, found by leaving out one block after another.

Independences stay those of the whole theory while statements are left out, so that whatever contradicts
itself still does with more statements, and none of the set that is found could be left out. What messages
find is looked at by the exact programs as well, as far as these are small: they see more than messages do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from herbrand.engines.credal.blame import MOST_SENTENCES, blamed
from herbrand.engines.credal.interval import Clock, is_consistent
from herbrand.engines.credal.network import Network
from herbrand.engines.credal.part import NetworkPart, whole_part
from herbrand.engines.credal.size import size_of
from herbrand.errors import ContradictionError, Mistake
from herbrand.language.show import show_statement

Source = tuple[int, int]
SECONDS = 2.0
"""For a set of statements that messages have found, without one block of them."""


def contradiction(network: Network, part: NetworkPart, clock: Clock) -> ContradictionError:
    """The error that names statements of an inconsistent part that no distribution satisfies together."""
    stated = (said.source for said in part.sentences if said.lower > 0 or said.upper < 1)
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
    found: dict[int, list[Source]] = {}
    for group, row in sources:
        found.setdefault(int(network.groups[group].statement[row]), []).append((group, row))
    return found


def _prover(
    part: NetworkPart, by_statement: Mapping[int, Sequence[Source]], clock: Clock
) -> Callable[[Sequence[int]], bool]:
    """Whether it is proved that some of these statements contradict each other, nothing else being said."""

    def inconsistent(statements: Sequence[int]) -> bool:
        kept = {source for number in statements for source in by_statement[number]}
        dropped = {said.source for said in part.sentences} - kept
        pieces = part.loosened(dropped).without_barren().pieces()
        return any(size_of(piece).fits(None) and not is_consistent(piece, clock) for piece in pieces)

    return inconsistent


def smallest(everything: Sequence[int], inconsistent: Callable[[Sequence[int]], bool]) -> list[int]:
    """A set that is inconsistent, none of which could be left out; ``everything`` is inconsistent.

    >>> smallest(range(100), lambda kept: {3, 77} <= set(kept))
    [3, 77]
    """
    kept = list(everything)
    block = max(1, len(kept) // 2)
    start = 0
    while True:
        rest = kept[:start] + kept[start + block :]
        if start < len(kept) and inconsistent(rest):
            kept = rest
        else:
            start += block
        if start >= len(kept):
            if block == 1:
                return kept
            block, start = max(1, min(block, len(kept)) // 2), 0


def _named(network: Network, sources: Sequence[Sequence[Source]], markov: bool) -> ContradictionError:
    """The error for statements that cannot hold together, each given by its ground sentences.

    ``markov``: with the independences of the network, which may be part of the reason.
    """
    count = len(sources)
    together = "this statement" if count == 1 else f"these {count} statements together"
    mistakes = []
    for statements in sources:
        group, row = statements[0]
        number = int(network.groups[group].statement[row])
        said = network.statements[number]
        message = f"no distribution satisfies {together}"
        text = next(iter(show_statement(said)))
        mistakes.append(
            Mistake(message if said.span else f"{message}: {text}", said.span, _instance(network, statements))
        )
    reason = blamed(network, [source for statements in sources for source in statements]) if markov else ""
    if reason:
        last = mistakes[-1]
        mistakes[-1] = replace(last, hint="\n  ".join(filter(None, (last.hint, reason))))
    return ContradictionError(mistakes)


def _instance(network: Network, sources: Sequence[Source]) -> str:
    """An instance of a statement that has variables."""
    group, row = sources[0]
    if not network.grounding(group, row):
        return ""
    more = f", and {len(sources) - 1:,} more" if len(sources) > 1 else ""
    return f"among its instances {network.sentence_text(group, row)}{more}"
