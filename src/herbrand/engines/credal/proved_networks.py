"""Networks that are proved to satisfy sentences: how far a search for the ends of a query has reached.

From a point, Newton's method goes to rows that satisfy the sentences that state one value, and those that do
not hold at the point. Rounded numbers satisfy no equation exactly. So as many rows as there are equations
are left free, all others are fixed, and Krawczyk's test (1969) proves that exactly one choice of the free
rows within a small box solves the equations. The remaining sentences hold everywhere in that box, so some
network in it satisfies everything, and the query's masses are those of the box.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from herbrand.engines.credal.corner_masses import CornerMasses, at_corners

MOST_STEPS = 12
"""Most steps of Newton's method."""
CLOSE = 1e-15
"""Length of a step of Newton's method after which no further one is made."""
INSIDE = 1e-9
"""Distance of a row from the ends of its range from which it can be left free."""
LARGEST_RADIUS = 1e-9
"""Largest radius of a box in which a solution is proved."""
ROUNDED = 1e-12
"""Relative rounding errors of the small matrices of Krawczyk's test, with much to spare."""
NEAR = 1e-6
"""Slack, as a share of its terms, up to which an inequality may have a multiplier."""


class Conditions(NamedTuple):
    """Linear functions of masses, ``of_event * event - of_other * other``: zero, or not negative."""

    sentences: np.ndarray
    of_event: np.ndarray
    of_other: np.ndarray

    def of(self, which: np.ndarray) -> Conditions:
        return Conditions(*(own[which] for own in self))

    def and_also(self, other: Conditions) -> Conditions:
        return Conditions(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))

    def times(self, factors: np.ndarray) -> Conditions:
        return Conditions(self.sentences, factors * self.of_event, factors * self.of_other)

    def values(self, tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The value of each condition, and the sum of its two terms' sizes, for masses on the second axis."""
        events, others = np.split(tables, 2, axis=1)
        one = self.of_event[:, None] * events[:, self.sentences]
        two = self.of_other[:, None] * others[:, self.sentences]
        return one - two, np.abs(one) + np.abs(two)


class ProvedNetwork(NamedTuple):
    """Ranges of the query's two masses in a network that satisfies all sentences, and a point near it."""

    event: tuple[float, float]
    other: tuple[float, float]
    point: np.ndarray


def proved_network(masses: CornerMasses, point: np.ndarray) -> ProvedNetwork | None:
    """A network near a point that satisfies all sentences.

    ``None`` where none was proved, or where the query's condition may be impossible in it.
    """
    equal, others = _equations(masses), _inequalities(masses)
    point, broken = _solved(masses, equal, others, point)
    radius = _proved_radius(masses, equal.and_also(others.of(broken)), point)
    if radius is None:
        return None
    tables = np.concatenate([masses.tables, masses.possible[None]])
    values = at_corners(tables, *(end[None] for end in _box(point, radius)))
    values, possible = values[:, :-1], values[0, -1].min()
    slack, size = others.of(~broken).values(values)
    if (slack < masses.error * size).any():
        return None
    event, other = (
        (float(own.min() * (1 - masses.error)), float(own.max() * (1 + masses.error)))
        for own in (values[0, len(masses.event) - 1], values[0, -1])
    )
    return ProvedNetwork(event, other, point) if possible > 0 and event[0] + other[0] > 0 else None


def with_multipliers(masses: CornerMasses, objective: Conditions, point: np.ndarray) -> Conditions:
    """An objective with multiples of sentences added, so that its slope at a point is as small as they allow.

    Added are values that are 0, or not negative, wherever the sentences hold.
    """
    equal, others = _equations(masses), _inequalities(masses)
    slack, size = _at_point(masses, others, point)
    near = others.of(slack <= NEAR * size)
    inside = (point > masses.row_lower) & (point < masses.row_upper)
    slopes, wanted = (_slopes(masses, own, point)[:, inside] for own in (equal.and_also(near), objective))
    factors = np.linalg.lstsq(slopes.T, -wanted.sum(0))[0]
    of_equal, of_near = np.split(factors, [len(equal.sentences)])
    added = _multiples(masses, of_equal).and_also(near.times(np.maximum(of_near, 0.0)))
    return objective.and_also(added)


def _equations(masses: CornerMasses) -> Conditions:
    at = np.flatnonzero(masses.equations)
    share = (masses.lower[at] + masses.upper[at]) / 2
    return Conditions(at, 1 - share, share)


def _multiples(masses: CornerMasses, factors: np.ndarray) -> Conditions:
    """Multiples of equations, of any sign, that are not negative wherever the sentences hold.

    The two ends of an equation may differ a little, and a factor can be large: each sign takes its own end.
    """
    at = np.flatnonzero(masses.equations)
    share = np.where(factors >= 0, masses.lower[at], masses.upper[at])
    return Conditions(at, 1 - share, share).times(factors)


def _inequalities(masses: CornerMasses) -> Conditions:
    above = np.flatnonzero(~masses.equations & (masses.lower > 0))
    below = np.flatnonzero(~masses.equations & (masses.upper < 1))
    lower, upper = masses.lower[above], masses.upper[below]
    return Conditions(
        np.concatenate([above, below]),
        np.concatenate([1 - lower, upper - 1]),
        np.concatenate([lower, -upper]),
    )


def _solved(
    masses: CornerMasses, equal: Conditions, others: Conditions, point: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A nearby point that satisfies equations and inequalities; which inequalities it solves as equations."""
    broken = np.zeros(len(others.sentences), bool)
    for _ in range(MOST_STEPS):
        slack, _ = _at_point(masses, others, point)
        broken |= slack < 0
        step = _step(masses, equal.and_also(others.of(broken)), point)
        moved = np.clip(point + step, masses.row_lower, masses.row_upper)
        near = np.abs(moved - point).max() <= CLOSE
        point = moved
        if near:
            break
    return point, broken


def _step(masses: CornerMasses, tight: Conditions, point: np.ndarray) -> np.ndarray:
    """A step of Newton's method; rows at an end of their range stay where it would move them beyond it."""
    residual, slopes = _at_point(masses, tight, point)[0], _slopes(masses, tight, point)
    free = masses.row_lower < masses.row_upper
    while True:  # each round leaves fewer rows free
        step = np.zeros(len(point))
        step[free] = np.linalg.lstsq(slopes[:, free], -residual)[0]
        beyond = (point + step < masses.row_lower) & (point <= masses.row_lower)
        beyond |= (point + step > masses.row_upper) & (point >= masses.row_upper)
        if not beyond.any():
            return step
        free = free & ~beyond


def _at_point(
    masses: CornerMasses, conditions: Conditions, point: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """[conditions] The value of each condition at a point, and the sum of its two terms' sizes."""
    values, size = conditions.values(at_corners(masses.tables, point[None], point[None]))
    return values[0, :, 0], size[0, :, 0]


def _slopes(masses: CornerMasses, conditions: Conditions, point: np.ndarray) -> np.ndarray:
    """[conditions, rows] Derivative of each condition by each row at a point."""
    middle, _ = _slopes_around(masses, conditions, point, np.zeros(len(point)))
    return middle


def _slopes_around(
    masses: CornerMasses, conditions: Conditions, point: np.ndarray, radius: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """[conditions, rows] Middle and radius of the derivatives within a box: differences of opposite sides."""
    lower, upper = (np.tile(end, (len(point), 1)) for end in _box(point, radius))
    np.fill_diagonal(lower, 0.0)
    np.fill_diagonal(upper, 1.0)
    values, size = conditions.values(at_corners(masses.tables, lower, upper))
    least, most = np.empty((2, len(conditions.sentences), len(point)))
    for row in range(len(point)):
        false, true = np.moveaxis(values[row].reshape(len(least), *(2,) * len(point)), row + 1, 0)
        differences = (true - false).reshape(len(least), 2 ** (len(point) - 1))
        error = 4 * masses.error * size[row].max(1, initial=0.0)
        least[:, row], most[:, row] = differences.min(1) - error, differences.max(1) + error
    return (least + most) / 2, (most - least) / 2 * (1 + ROUNDED)


def _box(point: np.ndarray, radius: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest rows within a radius of a point, rounded outward."""
    moves = radius > 0
    lower, upper = np.nextafter(point - radius, -1), np.nextafter(point + radius, 2)
    return np.where(moves, lower, point), np.where(moves, upper, point)


def _proved_radius(masses: CornerMasses, tight: Conditions, point: np.ndarray) -> np.ndarray | None:
    """[rows] Radius of a box around a point in which a solution is proved, 0 for rows that stay fixed.

    ``None`` where none is proved.
    """
    radius = np.zeros(len(point))
    count = len(tight.sentences)
    if not count:
        return radius
    slopes = _slopes(masses, tight, point)
    free = _left_free(masses, slopes, point)
    if len(free) < count:
        return None
    inverse = np.linalg.pinv(slopes[:, free])
    values, size = _at_point(masses, tight, point)
    off = np.abs(values) + masses.error * size
    move = np.abs(inverse) @ off * (1 + ROUNDED)
    radius[free] = 4 * move + 1e-300
    if radius.max() > min(LARGEST_RADIUS, INSIDE):
        return None
    middle, around = _slopes_around(masses, tight, point, radius)
    left = np.abs(np.eye(count) - inverse @ middle[:, free]) + np.abs(inverse) @ around[:, free]
    left += ROUNDED * (1 + np.abs(inverse) @ np.abs(middle[:, free]))
    return radius if (move + left @ radius[free] * (1 + ROUNDED) < radius[free]).all() else None


def _left_free(masses: CornerMasses, slopes: np.ndarray, point: np.ndarray) -> np.ndarray:
    """As many rows inside their ranges as there are equations, with the largest independent slopes."""
    inside = np.flatnonzero((point - masses.row_lower > INSIDE) & (masses.row_upper - point > INSIDE))
    if len(inside) < len(slopes):
        return inside[:0]
    left, chosen = slopes[:, inside], []
    for _ in slopes:
        sizes = np.linalg.norm(left, axis=0)
        best = int(sizes.argmax())
        if sizes[best] == 0:
            return inside[:0]
        chosen.append(best)
        unit = left[:, best] / sizes[best]
        left = left - np.outer(unit, unit @ left)
        left[:, best] = 0.0
    return inside[chosen]
