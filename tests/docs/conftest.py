"""What the examples of the pages register is forgotten after each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from herbrand.contraction.algebras import ADDED
from herbrand.engines.registry import INFERENCE
from herbrand.language.dialects import DIALECTS
from herbrand.options.algebras import QUERY_ALGEBRAS


@pytest.fixture(autouse=True)
def registered_for_one_test() -> Iterator[None]:
    tables: list[dict[str, object]] = [ADDED, QUERY_ALGEBRAS, INFERENCE, DIALECTS]  # type: ignore[list-item]
    before = [dict(table) for table in tables]
    yield
    for table, kept in zip(tables, before, strict=True):
        table.clear()
        table.update(kept)
