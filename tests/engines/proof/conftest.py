"""Loops run as they are written in small tests: here they are compiled too."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from herbrand import loops


@pytest.fixture(params=[np.inf, -1.0], ids=["plain", "compiled"], scope="module")
def loops_both_ways(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops, "MOST_PLAIN", request.param)
        yield
