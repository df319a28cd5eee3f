"""Long tables cost what their rows cost, and look as short ones do."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from hypothesis import given
from hypothesis import strategies as st

from herbrand.answers.columns import TOGETHER, aligned, in_columns, width
from herbrand.cli.tables import Table, lines
from herbrand.visible import visible

CELLS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=8)


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1), st.sets(st.integers(0, 1)))
def test_columns_stand_under_each_other(rows: list[tuple[str, str]], words: set[int]) -> None:
    seen = [(visible(left), visible(right)) for left, right in rows]
    first = max(width(row[0]) for row in seen)
    second = max(width(row[1]) for row in seen)
    found = chain.from_iterable(aligned(lambda: in_columns(rows), words))
    for (left, right), line in zip(seen, found, strict=True):
        padded = [" " * (first - width(left)), " " * (second - width(right))]
        expected = left + padded[0] if 0 in words else padded[0] + left
        expected += "  " + (right + padded[1] if 1 in words else padded[1] + right)
        assert line == expected.rstrip()


def test_a_table_on_a_terminal_has_the_same_words() -> None:
    table = Table(("who", "score"), lambda: [("anna", "0.5000"), ("[bob]", "0.2500")], "scores")
    plain = list(chain.from_iterable(lines([table, table], on_terminal=False)))
    assert plain == [*(half := ["scores", "who     score", "anna   0.5000", "[bob]  0.2500"]), "", *half]
    drawn = " ".join(chain.from_iterable(lines([table], on_terminal=True)))
    assert all(word in drawn for word in ("scores", "anna", "0.5000", "[bob]"))


def test_a_long_table_is_written_as_it_is_read() -> None:
    seen = 0

    def rows() -> Iterator[tuple[str, str]]:
        nonlocal seen
        seen = 0
        for number in range(10 * TOGETHER):
            seen += 1
            yield str(number), "x"

    written = chain.from_iterable(lines([Table(("number", "sign"), rows)], on_terminal=True))
    assert next(written).startswith("number")
    assert list(islice(written, 5))[-1].startswith("4") and seen <= TOGETHER
