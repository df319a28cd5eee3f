"""Messages clipped statement by statement: another model, in which no statement outweighs all others.

The summed message of all groundings of a statement to an atom, m log-odds at weight 1, counts as m / (1 + |m|
/ clip): less than ``clip`` however many groundings there are, and in the same order. (For a many-valued atom
|m| is the largest difference between its values.) No distribution over worlds has these messages as its mean
field, so there is no log-partition to bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from herbrand.engines.mean_field.grounded import is_silent
from herbrand.engines.mean_field.unknowns import Unknowns
from herbrand.errors import UnsupportedError
from herbrand.extras import Tensor, torch
from herbrand.program.program import Program

Tables = dict[str, Tensor]
MessagesOf = Callable[[Sequence[float]], Tables]
"""Computes the messages to all atoms for given weights of statements."""


def refuse_clip(clip: float | None, program: Program) -> None:
    """Raise ``UnsupportedError`` where messages cannot be clipped."""
    if clip is not None and any(weight.by for weight in program.weights):
        raise UnsupportedError(
            "messages of a statement with a weight for each constant cannot be clipped",
            hint="write its weights out, a statement each, or leave out the clip",
        )


def clipped(
    unknowns: Unknowns, compute_messages: MessagesOf, weights: Sequence[Tensor | float], clip: float
) -> Tables:
    """The sum over statements of weight times clipped message; tied atoms are clipped as one atom."""
    total: Tables = {}
    limit = float(clip)  # torch takes no whole number of more than 64 bits
    for number, weight in enumerate(weights):
        if is_silent(weight):
            continue
        incoming = unknowns.gathered_at_leaders(
            compute_messages([float(one == number) for one in range(len(weights))])
        )
        for name, table in unknowns.tables.items():
            factor = weight.to(incoming[name]) if isinstance(weight, torch.Tensor) else weight
            message = factor * table.limited(incoming[name], limit)
            total[name] = total[name] + message if name in total else message
    return total


def shares(
    unknowns: Unknowns, compute_messages: MessagesOf, count: int, clip: float, predicate: str, place: int
) -> list[float]:
    """For each of ``count`` statements the fraction of its message to one atom that clipping leaves."""
    parts = []
    table = unknowns.tables[predicate]
    for number in range(count):
        incoming = unknowns.gathered_at_leaders(
            compute_messages([float(one == number) for one in range(count)])
        )[predicate]
        parts.append(_share(incoming, table.limited(incoming, float(clip)), place, table.true_or_false))
    return parts


def _share(incoming: Tensor, limited: Tensor, place: int, true_or_false: bool) -> float:
    """Fraction of the message to one atom that clipping leaves; 1 where the message is 0."""
    width = 1 if true_or_false else incoming.shape[-1]
    whole, part = (one.reshape(-1, width)[place] for one in (incoming, limited))
    largest = int(whole.abs().argmax())
    return float(part[largest] / whole[largest]) if whole[largest] else 1.0
