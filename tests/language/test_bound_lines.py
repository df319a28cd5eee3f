"""The fast path for ground bounds gives exactly what the grammar gives, every place included."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from herbrand.errors import LanguageError
from herbrand.language import parse
from herbrand.language.ground_lines import read_bounds
from herbrand.language.parse import parse_probability, parse_theory, plain_source
from herbrand.language.syntax import Atom, Bound, Formula, Statement, walk

laws = settings(phases=[Phase.reuse, Phase.generate], deadline=None)
ATOMS = ["a", "`b c`", 's("x")', 's("a)")', 'r(1 ,"z")', 's ( "é\\n" )', "nota", "名前", "`and`(2.5)"]
ODD = ["s(x)", 'r(1, "q#")', 's("\\q")', "s(99999999999999999999)", 'm = "k"', "x != y", "P(a)", "1", "1a"]
ODD += ["exists x: s(x)", "_", ")", "(", "|", "", "true", "false", "a b", 'm in {"a"}', "s(true)"]
literals = st.builds(
    "{}{}".format, st.sampled_from(["", "", "not ", "not not ", "not("]), st.sampled_from(ATOMS)
)
closed = literals.map(lambda text: text + ")" * text.count("not("))
connected = st.builds(
    str.format,
    st.sampled_from(
        ["{} and {}", "({})  or\t{}", "{} xor {} xor a", "{}=>{}", "({} <=> {})", "not ({} and true or {})"]
    ),
    closed,
    closed,
)
good_parts = st.one_of(closed, connected)
parts = st.one_of(good_parts, good_parts, good_parts, st.sampled_from(ODD), literals)
labels = st.sampled_from(["", "", "", "[l1] ", '[ "x y" ]', "[`q`]\t", "[3] "])
good_ends = st.sampled_from(
    [
        "in [0.2, 0.4]",
        "in[0,1]",
        " >= 0.5",
        "<=1",
        " = 0.5 ",
        "in [1e-1, 0.2] independent",
        "<= 0.3independent",
    ]
)
ends = st.one_of(good_ends, st.sampled_from(["in [0.5, 0.2]", ">= 2", "= .5", ">= 0.2;", "", ">= 0.1 or"]))
notes = st.sampled_from(["", "", " ", " # P(a) in [0, 1]", "\n\n# a note\n"])


def lines(parts: st.SearchStrategy[str], ends: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    given = st.one_of(st.just(""), parts.map(" | {}".format))
    return st.builds("{}P({}{}){}{}".format, labels, parts, given, ends, notes)


others = st.sampled_from(
    ["", 's("x")', "predicate t(u)", "0.5: a", "P(", "not P(a) >= 0.2", "[l] p(1)", "P = 2"]
)
any_text = st.lists(st.one_of(lines(parts, ends), lines(parts, ends), others), max_size=4).map("\n".join)


def outcome(text: str) -> object:
    try:
        return [(statement, places(statement)) for statement in parse_theory(text).statements]
    except LanguageError as error:
        return str(error)


def places(statement: Statement) -> object:
    if not isinstance(statement, Bound):
        return None
    found = [part for formula in (statement.event, statement.given) if formula for part in walk(formula)]
    return span(statement), [span(part) for part in found], [terms(part) for part in found]


def terms(part: Formula) -> object:
    return [span(term) for term in part.arguments] if isinstance(part, Atom) else None


def span(part: object) -> tuple[int, int] | None:
    found = part.span  # type: ignore[attr-defined]
    return found and (found.start, found.end)


@laws
@given(any_text)
def test_both_roads_agree_on_any_text(text: str) -> None:
    fast = outcome(text)
    with patch.object(parse, "read_bounds", lambda source, start, read: None):
        assert fast == outcome(text)


@laws
@given(st.lists(lines(good_parts, good_ends), min_size=1, max_size=4).map("\n".join))
def test_good_lines_take_the_fast_road(text: str) -> None:
    source = plain_source(text, "t.hb")
    position = 0
    while position < len(source.text):
        position = parse.skip_blank(source.text, position)
        block = read_bounds(source, position, parse_probability)
        if position < len(source.text):
            assert block is not None, source.text[position:]
            position = block.end


def test_a_form_is_read_once() -> None:
    """However many lines say it: else a file of 100,000 bounds would take half a minute."""
    asked: list[str] = []

    def read(text: str) -> tuple[Formula, Formula | None]:
        asked.append(text)
        return parse_probability(text)

    text = "".join(f'P(s("p{i}") | s("p{i + 1}") and not a) >= 0.{i % 9}\n' for i in range(1000))
    block = read_bounds(plain_source(text, "t.hb"), 0, read)
    assert block is not None and len(block.statements) == 1000 and len(asked) == 1
