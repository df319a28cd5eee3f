"""The fast path for plain facts gives exactly what the grammar gives."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.errors import LanguageError
from herbrand.language import parse
from herbrand.language.parse import parse_theory
from herbrand.language.theory import Theory
from tests.laws import tries

spaces = st.sampled_from(["", "", " ", "\t", "  "])
bad_cells = ['"\\q"', '"\\ud800"', "1e999", "9" * 30, "123456789012345678901", "x"]
cells = st.one_of(
    st.sampled_from(['"a"', '"b c"', '"#"', '""', '"a\\"b"', '"\\u00e9"', '"\\\\"', '"é"', '"x\ty"']),
    st.sampled_from(["1", "-2", "0", "1.0", "2.5", "-1e3", "1E+2", "1e300", "-0", "007"]),
    st.sampled_from(bad_cells),
)
good_cells = cells.filter(lambda cell: cell not in bad_cells)
good_endings = st.sampled_from(["", "", "~0.5", " ~ 1", "@2", " @ -1e-3", " # note ) and", "#", "  "])
endings = st.one_of(good_endings, st.sampled_from([" ~ 1.5", " @ 1e999"]))
names = st.sampled_from(["p", "p", "q", "alarm", "`a b`", "名前"])


def _lines(cells: st.SearchStrategy[str], endings: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    arguments = st.builds(
        lambda cells, before, after: f"({before}{f'{before},{after}'.join(cells)}{after})" if cells else "",
        st.lists(cells, max_size=2),
        spaces,
        spaces,
    )
    value = st.one_of(st.just(""), cells.map(" = {}".format))
    negation = st.sampled_from(["", "", "not "])
    return st.builds(lambda *parts: "".join(parts), spaces, negation, names, arguments, value, endings)


others = st.sampled_from(
    ["", "# note", "1: p(x)", "type t", "not", "p(", "[l] p(1)", "p(1) ~ 2", "q = 1 = 2"]
)
any_text = st.lists(st.one_of(_lines(cells, endings), others), max_size=12).map("\n".join)
plain_text = st.lists(_lines(good_cells, good_endings), max_size=12).map("\n".join)


def outcome(text: str) -> Theory | str:
    try:
        return parse_theory(text)
    except LanguageError as error:
        return str(error)


def slow_outcome(text: str) -> Theory | str:
    with patch.object(parse, "read_block", lambda source, start: None):
        return outcome(text)


def places(theory: Theory | str) -> list[tuple[object, ...]]:
    rows = theory.facts if isinstance(theory, Theory) else ()
    return [(r.predicate, r.row(i), r.row_span(i).place) for r in rows for i in range(r.row_count)]


@settings(max_examples=tries(400), deadline=None)
@given(any_text)
def test_both_roads_agree_on_any_text(text: str) -> None:
    assert outcome(text) == slow_outcome(text)
    assert places(outcome(text)) == places(slow_outcome(text))


@settings(max_examples=tries(200), deadline=None)
@given(plain_text)
def test_both_roads_agree_on_facts(text: str) -> None:
    fast, slow = outcome(text), slow_outcome(text)
    assert fast == slow
    if isinstance(fast, Theory) and isinstance(slow, Theory):
        kinds = [[list(map(type, column)) for column in rows.columns] for rows in fast.facts]
        assert kinds == [[list(map(type, column)) for column in rows.columns] for rows in slow.facts]


@pytest.mark.parametrize(
    "text",
    [
        "not p ~ 0.5",
        "P(1)",
        "true",
        "in(1)",
        "type",
        "hard",
        "p ~",
        "p()",
        "p(1,)",
        "p(1 2)",
        "p(x)",
        'p("a)',
        "p(.5)",
        "p(+1)",
        "p(1.)",
        "p(1)\n=>",
        "p(1) and",
        "p(1),\nq(2)",
        "p(1) ~ -0.5",
        "not not p",
        "p = x",
    ],
)
def test_what_is_no_plain_fact_is_left_to_the_grammar(text: str) -> None:
    assert outcome(text) == slow_outcome(text)


@pytest.mark.parametrize("bad", ["p(1e999)", 'p("\\q")', "p(x)", 'p("a") ~ 7'])
@pytest.mark.parametrize("before", [0, 1, 15, 16, 17, 47, 48, 49, 200])
def test_a_row_that_cannot_be_taken_is_found_wherever_it_stands(bad: str, before: int) -> None:
    sign = " ~ 0.5" if "~" in bad else ""
    rows = [f'p("{i}"){sign}\nq({i})' for i in range(before)]
    with pytest.raises(LanguageError) as error:
        parse_theory("\n".join([*rows, bad, *rows]))
    assert [mistake.span.line for mistake in error.value.mistakes] == [2 * before + 1]
