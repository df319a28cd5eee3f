"""One ground sentence as a small table, and what it says of a single atom given its parents.

>>> a_given_b = Sentence((0, 1), np.array([[0, 0], [0, 1]], bool), np.array([[0, 1], [0, 1]], bool), 0.6, 0.7)
>>> cases, lower, upper = a_given_b.conditional_on(0, (1,))
>>> cases, lower, upper
(array([False,  True]), 0.6, 0.7)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from herbrand.engines.credal.network import Network
from herbrand.engines.credal.rounding import complement


@dataclass(frozen=True, eq=False)
class Sentence:
    """``lower P(given) <= P(event) <= upper P(given)``; the tables have an axis for each of ``atoms``.

    ``event`` is the event together with what is given; ``source`` the group and row of the network.
    """

    atoms: tuple[int, ...]
    event: np.ndarray  # (2,) * k bool
    given: np.ndarray | None  # (2,) * k bool
    lower: float
    upper: float
    source: tuple[int, int] = (0, 0)

    def over(self, number: dict[int, int]) -> Sentence:
        """With other numbers for its atoms."""
        return replace(self, atoms=tuple(number[atom] for atom in self.atoms))

    def vacuous(self) -> Sentence:
        """The same with nothing said."""
        return replace(self, lower=0.0, upper=1.0)

    def conditional_on(self, atom: int, parents: Sequence[int]) -> tuple[np.ndarray, float, float] | None:
        """For ``P(atom | some cases of the parents)``, also of its negation: the cases and the interval.

        Ends that are not stated as they stand are rounded outward.

        ``None`` for a sentence of another form.
        """
        found = self.literal_on(atom, parents)
        if found is None:
            return None
        cases, positive = found
        if positive:
            return cases, self.lower, self.upper
        return cases, float(complement(self.upper).low), float(complement(self.lower).high)

    def literal_on(self, atom: int, parents: Sequence[int]) -> tuple[np.ndarray, bool] | None:
        """For ``P(atom | some cases of the parents)``: the cases, and whether it is not of the negation."""
        if atom not in self.atoms or not set(self.atoms) <= {atom, *parents}:
            return None
        axis = self.atoms.index(atom)
        given = np.ones((2,) * len(self.atoms), bool) if self.given is None else self.given
        known, false, true = given.take(0, axis), self.event.take(0, axis), self.event.take(1, axis)
        if (known != given.take(1, axis)).any():
            return None
        others = [other for other in self.atoms if other != atom]
        cases = spread(known, others, parents).reshape(-1)
        if not false.any() and (true == known).all():
            return cases, True
        if not true.any() and (false == known).all():
            return cases, False
        return None


def sentences_of(network: Network) -> Iterator[Sentence]:
    """All ground sentences, one by one."""
    for number, group in enumerate(network.groups):
        shape = (2,) * group.arity
        given = None if group.given is None else group.given_table.reshape(shape)
        event = (group.event_table & group.given_table).reshape(shape)
        columns = group.atoms.tolist(), group.lower.tolist(), group.upper.tolist()
        for row, (atoms, lower, upper) in enumerate(zip(*columns, strict=True)):
            yield Sentence(tuple(atoms), event, given, lower, upper, (number, row))


def spread(table: np.ndarray, atoms: Sequence[int], around: Sequence[int]) -> np.ndarray:
    """A table over some atoms as one over all of ``around``, in their order."""
    places = [list(around).index(atom) for atom in atoms]
    shape = [2 if place in places else 1 for place in range(len(around))]
    return np.broadcast_to(table.transpose(np.argsort(places)).reshape(shape), (2,) * len(around))


def single_case_intervals(
    atom: int, parents: Sequence[int], sentences: Iterable[Sentence]
) -> tuple[np.ndarray, np.ndarray]:
    """The interval for P(atom | case) that sentences about exactly one case of the parents leave.

    Where lower is above upper the case has probability 0.
    """
    lower, upper = np.zeros(2 ** len(parents)), np.ones(2 ** len(parents))
    for sentence in sentences:
        found = sentence.conditional_on(atom, parents)
        if found is not None and found[0].sum() == 1:
            cases, low, high = found
            lower[cases], upper[cases] = np.maximum(lower[cases], low), np.minimum(upper[cases], high)
    return lower, upper


def satisfied_case_by_case(atom: int, parents: Sequence[int], sentences: Iterable[Sentence]) -> bool:
    """Whether some P(atom | case) for every case satisfies all sentences, whatever the parents' distribution.

    Then each case's value may be chosen within all sentences that speak of it, and a sentence about several
    cases, being an average of them, holds too.
    """
    lower, upper = np.zeros(2 ** len(parents)), np.ones(2 ** len(parents))
    for sentence in sentences:
        found = sentence.conditional_on(atom, parents)
        if found is None:
            return False
        cases, low, high = found
        lower[cases], upper[cases] = np.maximum(lower[cases], low), np.minimum(upper[cases], high)
    return bool((lower <= upper).all())
