"""Both evaluations of rules in memory: plain loops over few rows, and joins of columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from herbrand.program import few_rows

ROADS = ("loops", "columns")


@contextmanager
def evaluated_by(road: str) -> Iterator[None]:
    """Rules by ``columns``: no work is little enough for loops."""
    with pytest.MonkeyPatch.context() as patch:
        if road == "columns":
            patch.setattr(few_rows, "MOST_WORK", -1)
            patch.setattr(few_rows, "MORE_A_ROUND", 0)
            patch.setattr(few_rows, "MORE_COMPUTED", 0)
        yield


@pytest.fixture(params=ROADS)
def road(request: pytest.FixtureRequest) -> Iterator[str]:
    with evaluated_by(request.param):
        yield request.param
