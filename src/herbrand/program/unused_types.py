"""Definitions over types without any constants, whose kind is still unknown.

An open type gets its kind, text or numbers, from its first constant. Until then there is no value for an
operation to reject: a conjunction that needs one has no rows, and an aggregate is over no rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from herbrand.language.comparisons import Test, bound_variables, tests_of, variables_of, with_aggregates
from herbrand.language.formulas import Aggregate, Constant, Expression

NOTHING = Constant(0)
"""Count or sum of no rows."""


class NoRowsError(Exception):
    """Raised if a test needs a value that no row has."""


@dataclass(frozen=True)
class UnusedTypes:
    """Removes variables of empty types from the tests of a body; ``unused`` decides by the variable's
    name."""

    unused: Callable[[str], bool]

    def tests(self, tests: Iterable[Test]) -> list[Test]:
        """The tests with 0 in place of counts and sums of no rows; raise :class:`NoRowsError` if a test has
        no value."""
        return [with_aggregates(test, self._aggregate) for test in tests]

    def _aggregate(self, one: Aggregate) -> Expression:
        plain, tests = tests_of(one.body)
        try:
            if any(map(self.unused, bound_variables(plain) & variables_of(one).keys())):
                raise NoRowsError
            return replace(one, body=(*plain, *self.tests(tests)))
        except NoRowsError:
            if one.function not in ("count", "sum"):
                raise
            return NOTHING
