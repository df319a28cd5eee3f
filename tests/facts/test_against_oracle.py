"""Random tables through every format give what dictionaries and sets give."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.errors import FactsError
from herbrand.language.signature import Signature
from herbrand.language.syntax import FactKind, FactRows
from tests.facts.formats import MARKED, PLAIN, Table
from tests.facts.vocabulary import AREAS, SIGNATURE, TYPES, domains, known, load
from tests.laws import tries
from tests.oracles.facts import ContradictionError
from tests.oracles.facts import load as load_by_hand

ODD_TEXTS = [
    "anna",
    "Anna",
    "a,b",
    'say "hi"',
    "two\nlines",
    "return\r\nline",
    "tab\t",
    " ",
    "'",
    "é",
    "日本",
    "1",
    "😀",
]
texts = st.sampled_from(ODD_TEXTS) | st.text(
    st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=4
)
small = st.sampled_from(["a", "b", "c"])
constants_of = {
    "person": texts | small,
    "paper": small,
    "year": st.integers(-(2**53), 2**53) | st.integers(0, 3) | st.sampled_from([0.5, -1.25, 1e300]),
    "level": st.sampled_from(TYPES["level"].values or ()),
    "decade": st.integers(1990, 2030),
    "area value": st.sampled_from(AREAS),
}
marks_of = {
    "truth": st.booleans(),
    "probability": st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1),
    "weight": st.sampled_from([-1.5, 2.0]) | st.floats(-1e6, 1e6),
}
PREDICATES = ("friends", "smokes", "born", "rank", "active", "area")


@st.composite
def tables(draw: st.DrawFn, marked: bool) -> Table:
    predicate = SIGNATURE.predicates[draw(st.sampled_from(PREDICATES))]
    types = predicate.column_types
    rows = draw(st.lists(st.tuples(*(constants_of[name] for name in types)), max_size=8))
    if not marked:
        return Table(predicate.name, types, rows)
    mark = draw(st.sampled_from(sorted(marks_of)))
    marks = draw(st.lists(marks_of[mark], min_size=len(rows), max_size=len(rows)))
    return Table(predicate.name, types, rows, mark, marks)


def signature_of(table: Table) -> Signature:
    predicate = SIGNATURE.predicates[table.predicate]
    types = {name: TYPES[name] for name in predicate.column_types}
    return Signature(types, {predicate.name: predicate}, strict=True)


def agree(facts: object, table: Table, **options: Any) -> None:
    signature = signature_of(table)
    closed = {name: known.values for name, known in signature.types.items() if known.values}
    try:
        expected = load_by_hand(
            [
                *(table.said() if facts is not None else ()),
                *(table.statements() if "rows" in options else ()),
            ],
            {table.predicate: table.types},
            closed,
            ("area",),
        )
    except ContradictionError:
        with pytest.raises(FactsError):
            load(facts, signature, **options)
        return
    loaded = load(facts, signature, **options)
    found = known(loaded, signature)
    assert domains(loaded) == expected[0]
    (mine,), (theirs,) = found.values(), expected[1].values()
    assert (mine.true, mine.false) == (theirs.true, theirs.false)
    assert mine.soft == pytest.approx(theirs.soft, rel=1e-9)
    if table.mark == "weight" and table.rows:
        assert mine.weights == theirs.weights
    else:
        assert loaded.tables[table.predicate].weights is None


@pytest.mark.parametrize("write", MARKED)
@given(table=tables(marked=True))
@settings(max_examples=tries(10), deadline=None)
def test_marked_tables(write, table):
    with tempfile.TemporaryDirectory() as folder:
        agree(write(table, Path(folder)), table, header=True)


@pytest.mark.parametrize("write", PLAIN)
@given(table=tables(marked=False))
@settings(max_examples=tries(10), deadline=None)
def test_plain_tables(write, table):
    with tempfile.TemporaryDirectory() as folder:
        agree(write(table, Path(folder)), table, header=True)


KINDS: dict[str, FactKind] = {"probability": "soft", "weight": "weighted"}


def fact_rows(table: Table) -> list[FactRows]:
    """A run a row, as the reader of a theory would give them."""
    runs = []
    for index, row in enumerate(table.rows):
        mark = table.marks[index] if table.mark else True
        kind: FactKind = KINDS.get(table.mark or "", "true" if mark else "false")
        numbers = (float(mark),) if kind in ("soft", "weighted") else ()
        columns = tuple((value,) for value in row)
        runs.append(FactRows(table.predicate, columns, 1, kind, numbers, valued=table.predicate == "area"))
    return runs


@given(table=tables(marked=True) | tables(marked=False))
@settings(max_examples=tries(100), deadline=None)
def test_facts_of_a_theory(table):
    agree(None, table, rows=fact_rows(table))


@given(table=tables(marked=True))
@settings(max_examples=tries(50), deadline=None)
def test_a_theory_and_an_equal_table(table):
    """Opinions that are stated, and rows of one table, each once: all count."""
    agree({table.predicate: table.arrow()}, table, rows=fact_rows(table))


@given(first=tables(marked=False), second=tables(marked=False))
@settings(max_examples=tries(50), deadline=None)
def test_a_theory_and_a_table_together(first, second):
    columns = {t.predicate: t.types for t in (first, second)}
    signature = Signature(TYPES, {name: SIGNATURE.predicates[name] for name in columns}, strict=True)
    try:
        _, expected = load_by_hand([*first.said(), *second.said()], columns, {}, ("area",))
    except ContradictionError:
        with pytest.raises(FactsError):
            load({second.predicate: second.rows}, signature, fact_rows(first))
        return
    loaded = load({second.predicate: second.rows}, signature, fact_rows(first))
    assert {n: k.true for n, k in known(loaded, signature).items()} == {
        n: k.true for n, k in expected.items()
    }
