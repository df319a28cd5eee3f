"""What a definition computes of types that hold nothing: no constants, and not even a kind.

An open type learns from its first constant whether it holds text or numbers. Until then a value of it fits
every operation, as there is none: a conjunction that needs one has no rows, and what is aggregated of one is
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from herbrand.language.comparisons import Test, tests_of, variables_of
from herbrand.language.formulas import Aggregate, Arithmetic, Computed, Constant, Expression, Formula
from herbrand.language.scope import bound_variables

NOTHING = Constant(0)
"""The count and the sum of no rows."""


class NoRowsError(Exception):
    """Raised where a test needs a value that no row has."""


@dataclass(frozen=True)
class UnusedTypes:
    """Takes variables without a possible value out of the tests of a body; ``unused`` tells them by name."""

    unused: Callable[[str], bool]

    def tests(self, tests: Iterable[Test]) -> list[Test]:
        """The tests with what nothing adds up to in place of aggregates of nothing; raises
        :class:`NoRowsError` where one has no value."""
        return [self._test(test) for test in tests]

    def _test(self, test: Test) -> Test:
        if not isinstance(test, Computed):
            return test
        return replace(test, left=self._value(test.left), right=self._value(test.right))

    def _value(self, value: Expression) -> Expression:
        match value:
            case Arithmetic(operands=operands):
                return replace(value, operands=tuple(map(self._value, operands)))
            case Aggregate(body=body):
                return self._aggregate(value, body)
        return value

    def _aggregate(self, one: Aggregate, body: Sequence[Formula]) -> Expression:
        plain, tests = tests_of(body)
        try:
            if any(map(self.unused, bound_variables(plain) & variables_of(one).keys())):
                raise NoRowsError
            return replace(one, body=(*plain, *self.tests(tests)))
        except NoRowsError:
            if one.function not in ("count", "sum"):
                raise
            return NOTHING
