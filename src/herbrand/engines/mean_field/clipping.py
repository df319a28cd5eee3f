"""Messages clipped statement by statement: another model, in which no statement drowns the others.

What all groundings of a statement together say to an atom, m log-odds at weight 1, counts as
m / (1 + |m| / clip): less than ``clip`` however many they are, and in the same order. (Of a many-valued atom
|m| is how far it sets two values apart.) No distribution over worlds has these messages as its mean field, so
there is no log-partition to bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from herbrand.engines.mean_field.grounded import is_silent
from herbrand.engines.mean_field.unknowns import Unknowns
from herbrand.errors import UnsupportedError
from herbrand.extras import Tensor, torch
from herbrand.program.program import Program

Tables = dict[str, Tensor]
Speak = Callable[[Sequence[float]], Tables]
"""What statements of these weights say to all atoms."""


def refuse_clip(clip: float | None, program: Program) -> None:
    """Raise where messages cannot be clipped."""
    if clip is not None and any(weight.by for weight in program.weights):
        raise UnsupportedError(
            "messages of a statement with a weight for each constant cannot be clipped",
            hint="write its weights out, a statement each, or leave out the clip",
        )


def clipped(unknowns: Unknowns, speak: Speak, weights: Sequence[Tensor | float], clip: float) -> Tables:
    """The sum over statements of weight times clipped message, atoms that are one taken together."""
    total: Tables = {}
    limit = float(clip)  # torch takes no whole number of more than 64 bits
    for number, weight in enumerate(weights):
        if is_silent(weight):
            continue
        heard = unknowns.heard(speak([float(one == number) for one in range(len(weights))]))
        for name, table in unknowns.tables.items():
            worth = weight.to(heard[name]) if isinstance(weight, torch.Tensor) else weight
            message = worth * table.limited(heard[name], limit)
            total[name] = total[name] + message if name in total else message
    return total


def shares(
    unknowns: Unknowns, speak: Speak, count: int, clip: float, predicate: str, place: int
) -> list[float]:
    """For each of ``count`` statements the share of its message to one atom that is left."""
    parts = []
    table = unknowns.tables[predicate]
    for number in range(count):
        heard = unknowns.heard(speak([float(one == number) for one in range(count)]))[predicate]
        parts.append(_share(heard, table.limited(heard, float(clip)), place, table.true_or_false))
    return parts


def _share(heard: Tensor, limited: Tensor, place: int, true_or_false: bool) -> float:
    """Which part of what is said to one atom is left; all of it where nothing is said."""
    width = 1 if true_or_false else heard.shape[-1]
    whole, part = (one.reshape(-1, width)[place] for one in (heard, limited))
    largest = int(whole.abs().argmax())
    return float(part[largest] / whole[largest]) if whole[largest] else 1.0
