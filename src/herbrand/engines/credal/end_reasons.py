"""Explanation of an interval's ends: how far each moves when a statement is relaxed or left out.

Every sentence that an end may depend on is left out, and relaxed by a step, and the ends are computed again.
A dual value would give this only for linear programs, and only for small steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from herbrand.answers.explanation import Explanation, Reason
from herbrand.answers.guarantee import Guarantee
from herbrand.engines.credal.interval import Clock, Ends, LocalQuery, ends_of
from herbrand.engines.credal.network import Network
from herbrand.engines.credal.network_part import NetworkPart, Sentence
from herbrand.engines.credal.question import Progress
from herbrand.language.show import statement_text

STEP = 0.01
"""Amount by which both ends of a statement are relaxed to measure how far an answer moves."""
NOTE = (
    "A contribution is how far this end would move if the statement were left out. Statements act "
    "together, so contributions need not add up."
)
Interval = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Relaxation:
    """A sensitivity analysis of the interval ``ends`` of the query ``text`` under the sentences ``stated``.

    ``answer`` computes the ends with a sentence's number and its new bounds; ``differ``: whether two ends
    differ by more than the tolerance.
    """

    network: Network
    text: str
    stated: Sequence[Sentence]
    ends: Interval
    answer: Callable[[int, float, float], Interval]
    differ: Callable[[float, float], bool]
    progress: Progress | None = None

    def explained(
        self, values: Interval, engine: str, guarantees: Sequence[Guarantee], note: str = NOTE
    ) -> tuple[Explanation, Explanation]:
        """Explanations of the lower and the upper end by the ground sentences that each depends on."""
        lower, upper = (
            self._explanation(end, value, engine, guarantee, reasons, note)
            for end, value, guarantee, reasons in zip(
                (0, 1), values, guarantees, self._reasons(), strict=True
            )
        )
        return lower, upper

    def _reasons(self) -> tuple[list[Reason], list[Reason]]:
        reasons: tuple[list[Reason], list[Reason]] = ([], [])
        for number, one in enumerate(self.stated):
            if self.progress is not None:
                count = len(self.stated)
                self.progress(f"{self.text}: statement {number + 1} of {count}", number / count)
            without = self.answer(number, 0.0, 1.0)
            moved = [end for end in (0, 1) if self.differ(self.ends[end], without[end])]
            if not moved:
                continue
            relaxed = self.answer(number, max(0.0, one.lower - STEP), min(1.0, one.upper + STEP))
            for end in moved:
                held, stepped = self.ends[end] - without[end], self.ends[end] - relaxed[end]
                reasons[end].append(self._reason(one, held, stepped))
        return reasons

    def _reason(self, one: Sentence, held: float, stepped: float) -> Reason:
        text = statement_text(self.network.statement(*one.source))
        parts = (Reason(f"relaxed by {STEP}: this end moves by {-stepped:+.4f}", {}, stepped),)
        return Reason(text, self.network.grounding(*one.source), held, parts)

    def _explanation(
        self, end: int, value: float, engine: str, guarantee: Guarantee, reasons: list[Reason], note: str
    ) -> Explanation:
        """Explain one end: 0 for the lower, 1 for the upper, which is also its value with no statements."""
        quantity = ("lower probability", "upper probability")[end]
        rest = value - end - sum(reason.contribution for reason in reasons)
        about = f"P({self.text})", quantity, value, engine, guarantee
        return Explanation(*about, tuple(reasons), float(end), rest, note)


def explained(
    network: Network,
    part: NetworkPart,
    query: LocalQuery,
    text: str,
    ends: Ends,
    clock: Clock,
    progress: Progress | None = None,
) -> tuple[Explanation, Explanation]:
    """Explain both ends of a query by a search without each of the part's sentences in turn."""
    bounding = [one for one in part.sentences if one.lower > 0 or one.upper < 1]

    def answer(number: int, lower: float, upper: float) -> Interval:
        changed = replace(bounding[number], lower=lower, upper=upper)
        sentences = tuple(changed if one is bounding[number] else one for one in part.sentences)
        moved = ends_of(replace(part, sentences=sentences), query, replace(clock, watch=None))
        return moved.lower.bound, moved.upper.bound

    def differ(one: float, other: float) -> bool:
        return abs(one - other) > clock.tolerance * (abs(one) + abs(other))

    both = ends.lower, ends.upper
    values = both[0].bound, both[1].bound
    guarantees = [Guarantee.EXACT if end.proved else Guarantee.BOUND for end in both]
    relaxation = Relaxation(network, text, bounding, values, answer, differ, progress)
    return relaxation.explained(values, "exact", guarantees)
