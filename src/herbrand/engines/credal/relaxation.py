"""Why an end of an interval is where it is: what moves when a statement is relaxed or left out.

Every statement that an end depends on is relaxed, and the end is found again: a dual value would give the
same of a linear program only, and only nearby.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from herbrand.answers.explanation import Explanation, Reason
from herbrand.answers.guarantee import Guarantee
from herbrand.engines.credal.interval import Clock, Ends, LocalQuery, one_end
from herbrand.engines.credal.network import Network
from herbrand.engines.credal.part import NetworkPart, Sentence
from herbrand.engines.credal.question import Progress
from herbrand.engines.credal.solve import Optimum
from herbrand.language.show import show_statement

STEP = 0.01
"""How far a statement's ends are moved to see how much an answer moves."""


@dataclass(frozen=True)
class _Effect:
    """What becomes of an end when one ground sentence is left out, and when it is relaxed by a step."""

    without: float
    relaxed: float


def explained(
    network: Network,
    part: NetworkPart,
    query: LocalQuery,
    text: str,
    ends: Ends,
    clock: Clock,
    progress: Progress | None = None,
) -> tuple[Explanation, Explanation]:
    """The lower and the upper end, each with the ground sentences that hold it, strongest first."""
    lower = _explanation(network, part, query, text, ends.lower, True, clock, progress)
    upper = _explanation(network, part, query, text, ends.upper, False, clock, progress)
    return lower, upper


def _explanation(
    network: Network,
    part: NetworkPart,
    query: LocalQuery,
    text: str,
    end: Optimum,
    least: bool,
    clock: Clock,
    progress: Progress | None,
) -> Explanation:
    base = 0.0 if least else 1.0
    said = [s for s in part.sentences if s.lower > 0 or s.upper < 1]
    reasons = []
    for number, sentence in enumerate(said):
        if progress is not None:
            share = (number / len(said) + (not least)) / 2
            progress(f"{text}: statement {number + 1} of {len(said)}", share)
        effect = _effect(part, query, sentence, least, replace(clock, watch=None))
        moved = end.bound - effect.without
        if abs(moved) > clock.tolerance * (abs(end.bound) + abs(effect.without)):
            reasons.append(_reason(network, sentence, moved, end.bound - effect.relaxed))
    held = sum(reason.contribution for reason in reasons)
    note = (
        "A contribution is how far this end would move if the statement were left out. Statements act "
        "together, so contributions need not add up."
    )
    return Explanation(
        f"P({text})",
        "lower probability" if least else "upper probability",
        end.bound,
        "exact",
        Guarantee.EXACT if end.proved else Guarantee.BOUND,
        tuple(reasons),
        base,
        end.bound - base - held,
        note,
    )


def _effect(part: NetworkPart, query: LocalQuery, sentence: Sentence, least: bool, clock: Clock) -> _Effect:
    without = one_end(_with(part, sentence, 0.0, 1.0), query, least, clock)
    low, high = max(0.0, sentence.lower - STEP), min(1.0, sentence.upper + STEP)
    relaxed = one_end(_with(part, sentence, low, high), query, least, clock)
    return _Effect(without.bound, relaxed.bound)


def _with(part: NetworkPart, changed: Sentence, lower: float, upper: float) -> NetworkPart:
    said: Sequence[Sentence] = [
        replace(s, lower=lower, upper=upper) if s is changed else s for s in part.sentences
    ]
    return replace(part, sentences=tuple(said))


def _reason(network: Network, sentence: Sentence, moved: float, stepped: float) -> Reason:
    group, row = sentence.source
    number = int(network.groups[group].statement[row])
    text = next(iter(show_statement(network.statements[number])))
    parts = (Reason(f"relaxed by {STEP}: this end moves by {-stepped:+.4f}", {}, stepped),)
    return Reason(text, network.grounding(group, row), moved, parts)
