"""Tables in text files are read twice: by Python, as small ones are, and by DuckDB, as large ones are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from herbrand.facts.sources import text

READ_BOTH_WAYS = {
    "test_against_oracle",
    "test_bad_text",
    "test_bad_rows",
    "test_column_names",
    "test_addresses",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.module.__name__.rpartition(".")[2] in READ_BOTH_WAYS:
        metafunc.parametrize("reader", ["python", "duckdb"], indirect=True, scope="module")


@pytest.fixture(scope="module", autouse=True)
def reader(request: pytest.FixtureRequest) -> Iterator[None]:
    """What reads text files; Python, as these are small, where a test does not say."""
    with pytest.MonkeyPatch.context() as patch:
        if getattr(request, "param", "python") == "duckdb":
            patch.setattr(text, "SMALL_FILE", -1)
        yield
