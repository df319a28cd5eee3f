"""Why an end of an interval is where it is: what moves when a sentence near the query is left out.

Every sentence of the neighbourhood is left out, and relaxed by a step, and the messages are run again.
"""

from __future__ import annotations

from collections.abc import Callable

from herbrand.answers.explanation import Explanation, Reason
from herbrand.answers.guarantee import Guarantee
from herbrand.engines.credal.ariel.regions import Incidence, growing, kept_only, with_ends
from herbrand.engines.credal.ariel.trees import Interval
from herbrand.engines.credal.network import Network
from herbrand.engines.credal.question import BoundQuery, Progress
from herbrand.language.show import show_statement

STEP = 0.01
MOST_SENTENCES = 200
SEEN = 1e-6
NOTE = (
    "A contribution is how far this end would move if the statement were left out. Statements act "
    "together, so contributions need not add up."
)
NEARBY = f" Only the {MOST_SENTENCES} statements nearest to the query were tried."


def explained(
    incidence: Incidence,
    query: BoundQuery,
    whole: Interval,
    guarantee: Guarantee,
    answer: Callable[[Network], Interval],
    progress: Progress | None,
) -> tuple[Explanation, Explanation]:
    """The lower and the upper end with the ground sentences that hold them, strongest first."""
    network = incidence.network
    atoms = {*query.event.atoms, *(query.given.atoms if query.given else ()), *network.facts.atoms.tolist()}
    near: list[int] = []
    complete = True
    for region in growing(incidence, (), atoms):
        complete = len(region) <= MOST_SENTENCES
        near = region if complete else near or region[:MOST_SENTENCES]
        if not complete:
            break
    small = kept_only(network, near)
    index = Incidence(small)
    reasons: tuple[list[Reason], list[Reason]] = ([], [])
    base = answer(small)
    for number in range(len(near)):
        if progress is not None:
            progress(f"{query.text}: statement {number + 1} of {len(near)}", number / len(near))
        source = index.source(number)
        said = index.said(number)
        without = answer(with_ends(small, source, 0.0, 1.0))
        moved = [base[end] - without[end] for end in range(2)]
        if max(map(abs, moved)) <= SEEN:
            continue
        low, high = max(0.0, said.lower - STEP), min(1.0, said.upper + STEP)
        relaxed = answer(with_ends(small, source, low, high))
        for end in range(2):
            if abs(moved[end]) > SEEN:
                reasons[end].append(_reason(small, source, moved[end], relaxed[end] - base[end]))
    note = NOTE if complete else NOTE + NEARBY
    return _explanation(query, whole[0], 0.0, guarantee, reasons[0], note), _explanation(
        query, whole[1], 1.0, guarantee, reasons[1], note
    )


def _reason(network: Network, source: tuple[int, int], moved: float, stepped: float) -> Reason:
    group, row = source
    statement = network.statements[int(network.groups[group].statement[row])]
    text = next(iter(show_statement(statement)))
    parts = (Reason(f"relaxed by {STEP}: this end moves by {stepped:+.4f}", {}, stepped),)
    return Reason(text, network.grounding(group, row), moved, parts)


def _explanation(
    query: BoundQuery, value: float, base: float, guarantee: Guarantee, reasons: list[Reason], note: str
) -> Explanation:
    quantity = "lower probability" if base == 0.0 else "upper probability"
    rest = value - base - sum(reason.contribution for reason in reasons)
    return Explanation(
        f"P({query.text})", quantity, value, "ariel", guarantee, tuple(reasons), base, rest, note
    )
