"""A whole table over many-valued variables: the conditional probabilities or the potentials of a network.

Readers of Bayesian and Markov networks give one :class:`NetworkTable` a variable or factor. A statement for
each of its cells would mean the same; networks have tens of thousands of cells.

>>> rain = NetworkTable(("rain",), (("yes", "no"),), np.array([0.2, 0.8]), conditional=True)
>>> rain == NetworkTable(("rain",), (("yes", "no"),), np.array([0.2, 0.8]), conditional=True)
True
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from herbrand.errors import LanguageError, Span

MOST_VARIABLES = 64
"""So many axes an array of NumPy has at most."""


@dataclass(frozen=True, slots=True, eq=False)
class NetworkTable:
    """``values`` has an axis for each name of ``scope``, of as many entries as it has ``labels``.

    Names are many-valued predicates without arguments. The weight of a world is multiplied by the entry at
    its values. ``conditional``: entries are the probabilities of the last variable given all others, and add
    up to 1 along the last axis.
    """

    scope: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    values: np.ndarray
    conditional: bool
    span: Span | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        assert self.values.shape == tuple(map(len, self.labels)), "an axis for each variable"
        assert len(set(self.scope)) == len(self.scope), "no variable twice"
        assert self.scope or not self.conditional, "a probability is that of a variable"
        self.values.setflags(write=False)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, NetworkTable)
            and (self.scope, self.labels, self.conditional) == (other.scope, other.labels, other.conditional)
            and np.array_equal(self.values, other.values)
        )

    def __hash__(self) -> int:
        return hash((self.scope, self.labels, self.conditional))

    @property
    def label(self) -> None:
        """A table has no label of its own."""
        return None


def refuse_wide(variables: int, span: Span | None) -> None:
    """Raise where a table over so many variables cannot be kept."""
    if variables > MOST_VARIABLES:
        message = f"a table over {variables:,} variables; at most {MOST_VARIABLES} are taken"
        raise LanguageError(message, span=span)
