"""Tables over many-valued variables: conditional probabilities or potentials of a network.

Readers of Bayesian and Markov networks make one :class:`NetworkTable` for each variable or factor. A
statement for each cell would mean the same, but networks have tens of thousands of cells.

>>> rain = NetworkTable(("rain",), (("yes", "no"),), np.array([0.2, 0.8]), conditional=True)
>>> rain == NetworkTable(("rain",), (("yes", "no"),), np.array([0.2, 0.8]), conditional=True)
True
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from herbrand.errors import LanguageError, Span

MOST_VARIABLES = 64
"""Most axes that an array of NumPy has."""


@dataclass(frozen=True, slots=True, eq=False)
class NetworkTable:
    """A table over many-valued predicates without arguments, whose names are the ``scope``.

    ``values`` has one axis for each name, with one entry for each of its ``labels``. The weight of a world is
    multiplied by the entry at the world's values. ``conditional``: the entries are probabilities of the last
    variable given all others, and add up to 1 along the last axis.
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
        """Always ``None``: tables have no label."""
        return None


def refuse_wide(variables: int, span: Span | None) -> None:
    """Raise LanguageError if a table has more variables than an array can have axes."""
    if variables > MOST_VARIABLES:
        message = f"a table over {variables:,} variables; at most {MOST_VARIABLES} are taken"
        raise LanguageError(message, span=span)
