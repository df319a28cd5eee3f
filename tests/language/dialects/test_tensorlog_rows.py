"""Files of weighted facts beside a reader that takes one line after the other."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.errors import LanguageError, Source
from herbrand.language.dialects.tensorlog.facts import read_cfacts
from tests.laws import tries

NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
Weights = dict[tuple[str, tuple[str, ...]], float]


def by_loop(lines: list[list[str]], declared: dict[str, int]) -> Weights | None:
    """The weight of each fact; ``None`` where a row fits its predicate neither with a weight nor without."""
    rows: dict[str, list[list[str]]] = defaultdict(list)
    for functor, *cells in lines:
        rows[functor].append(cells)
    found: Weights = {}
    for functor, its in rows.items():
        widths = sorted({len(cells) for cells in its})
        numeric = {
            width: width > 0 and all(NUMBER.fullmatch(cells[-1]) for cells in its if len(cells) == width)
            for width in widths
        }
        plain = [width for width in widths if not numeric[width]]
        if functor in declared:
            arity = declared[functor]
        elif plain:
            arity = plain[0]
        else:
            arity = widths[0] if len(widths) > 1 else max(1, widths[0] - 1)
        for cells in its:
            if len(cells) == arity:
                row, weight = tuple(cells), 1.0
            elif len(cells) == arity + 1 and numeric[arity + 1]:
                row, weight = tuple(cells[:-1]), float(cells[-1])
            else:
                return None
            found[functor, row] = found.get((functor, row), 0.0) + weight
    return found


def read(text: str) -> Weights:
    found: Weights = {}
    for rows in read_cfacts(Source("t", text)):
        listed = list(zip(*rows.columns, strict=True)) if rows.columns else [()] * rows.row_count
        numbers = rows.numbers or [1.0] * rows.row_count
        for row, weight in zip(listed, numbers, strict=True):
            assert (rows.predicate, row) not in found, "each fact once"
            found[rows.predicate, row] = weight
    return found


cells = st.sampled_from(["a", "b", "c d", "7", "0.5", "-2", "1e-3", "x1", "1."])
lines = st.builds(lambda functor, row: [functor, *row], st.sampled_from("pq"), st.lists(cells, max_size=3))


@settings(max_examples=tries(150), deadline=None)
@given(st.lists(lines, max_size=6), st.sampled_from([{}, {"p": 1}, {"p": 2}, {"p": 1, "q": 2}]))
def test_rows_are_what_a_loop_finds(said: list[list[str]], declared: dict[str, int]) -> None:
    comments = [f"# :- {name}({','.join(['t'] * arity)})" for name, arity in declared.items()]
    text = "\n".join([*comments, *("\t".join(line) for line in said)])
    if "\t" not in text:
        said = [part.split() for line in said for part in [" ".join(line)]]
    expected = by_loop(said, declared)
    if expected is None:
        with pytest.raises(LanguageError, match="follow it here"):
            read(text)
    else:
        assert read(text) == pytest.approx(expected)


@settings(max_examples=tries(60), deadline=None)
@given(
    st.lists(lines.filter(lambda line: "c d" not in line), max_size=6), st.sampled_from(["\t", " ", "   "])
)
def test_blanks_and_tabs_part_the_same_columns(said: list[list[str]], between: str) -> None:
    expected = by_loop(said, {})
    text = "\n\n".join(between.join(line) for line in said)
    if expected is None:
        with pytest.raises(LanguageError):
            read(text)
    else:
        assert read(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("# only a comment\n\n", {}),
        ("p", {("p", ()): 1.0}),
        ("p\np", {("p", ()): 2.0}),
        ("p\ta", {("p", ("a",)): 1.0}),
        ("p\t3", {("p", ("3",)): 1.0}),
        ("p\ta\t3", {("p", ("a",)): 3.0}),
        ("p\ta\t3\np\ta\tb", {("p", ("a", "3")): 1.0, ("p", ("a", "b")): 1.0}),
        ("p\ta\t3\np\ta", {("p", ("a",)): 4.0}),
        ("# :- p(t,t)\np\ta\t3", {("p", ("a", "3")): 1.0}),
        ("# :- p(t,t)\np\ta\t3\t0.5", {("p", ("a", "3")): 0.5}),
        ("p\ta b\tc\t2\np\ta b\tc\t2", {("p", ("a b", "c")): 4.0}),
        ("  p\ta\t2  \n\tq\tb\t3", {("p", ("a",)): 2.0, ("q", ("b",)): 3.0}),
        ("p\ta\t1\np\tb\t2\np\tc\t1", {("p", ("a",)): 1.0, ("p", ("b",)): 2.0, ("p", ("c",)): 1.0}),
        ("p\ta\t0.5\np\ta\t0.5", {("p", ("a",)): 1.0}),
        ("p\ta\t-1\np\ta\t1", {("p", ("a",)): 0.0}),
    ],
)
def test_columns_and_weights(text: str, expected: Weights) -> None:
    assert read(text) == pytest.approx(expected)


def test_facts_of_weight_one_are_true_and_the_others_weighted() -> None:
    rows = read_cfacts(Source("t", "p\ta\t2\np\tb\t1\nq\tc\np\td\t0.5\np\tb\t0"))
    assert [(r.predicate, r.kind, r.columns, r.numbers) for r in rows] == [
        ("p", "weighted", (("a", "d"),), (2.0, 0.5)),
        ("p", "true", (("b",),), ()),
        ("q", "true", (("c",),), ()),
    ]
    assert [rows[0].row_span(place).text for place in range(2)] == ["p\ta\t2", "p\td\t0.5"]
