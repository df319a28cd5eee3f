"""The fast roads of ``.lcn`` files give what the slow ones give: whole files against lines, rows against
descent, names checked in bulk against one by one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.credal.lowering import credal_network
from herbrand.errors import HerbrandError, LanguageError, Source
from herbrand.language.check import check
from herbrand.language.dialects import read_theory_text
from herbrand.language.dialects.lcn import rows, theory
from herbrand.language.parse import parse_theory
from herbrand.language.syntax import Bound, BoundRows, Formula, walk
from herbrand.language.theory import Theory, show
from tests.laws import tries

laws = settings(phases=[Phase.reuse, Phase.generate], deadline=None, max_examples=tries(150))
NAMES = ["a", "b", "c1", "ab", "x_y", "1x", "é", "andy", "P"]
SIGNS = ["!", "not ", "¬", "&", " and ", " or ", "^", " xor ", "(", ")", "|", " nor ", "=", "/", " "]
ODD = ["1", "0", "true", "2", "-", "a(", ")(", "", "\t", "→", "\u2028"]
insides = st.lists(st.sampled_from([*NAMES * 3, *SIGNS * 2, *ODD]), max_size=9).map("".join)
tables = st.builds(
    lambda child, given: f"{child} | {' and '.join(given)}",
    st.sampled_from(NAMES),
    st.lists(
        st.builds("{}{}".format, st.sampled_from(["", "!", "not "]), st.sampled_from(NAMES)), min_size=1
    ),
)
lines = st.one_of(
    st.builds(
        "{}:{}{} <= P({}) <= {}{}".format,
        st.sampled_from([f"s{i}" for i in range(30)]),
        st.sampled_from(["", " ", "\t"]),
        st.sampled_from([*["0", "0.2", "1e-1", ".5"] * 4, "1_0", "nan"]),
        st.one_of(tables, tables, tables, tables, insides),
        st.sampled_from([*["1", "0.9", "1."] * 5, "2", "x"]),
        st.sampled_from(["", "", "", " ; True", ";", " \f", "; # no comment"]),
    ),
    st.sampled_from(["", "# a note", "  ", "nothing", "s1: 0 <= P(a", "\x0b", "s99: 0 <= P(a) <= 1\r"]),
)


def outcome(read: Any, text: str) -> object:
    """What is read, all places included, or what is said."""
    try:
        return [_located(bound) for bound in read(Source("t.lcn", text)).bounds]
    except LanguageError as error:
        return str(error)


def _located(bound: Bound) -> object:
    return bound, _span(bound), [_span(p) for f in (bound.event, bound.given) if f for p in walk(f)]


def _span(part: Formula | Bound) -> tuple[int, int] | None:
    return (part.span.start, part.span.end) if part.span else None


def line_by_line(source: Source) -> Theory:
    """The reader without its fast road."""
    return theory.read_lines(source)


@laws
@given(st.lists(lines, max_size=6).map("\n".join))
@example("s1: 0 <= P(a) <= 1\n\ns2: 0 <= P(b) <= 1\n")
@example("# only\n")
def test_files_are_read_as_their_lines_are(text: str) -> None:
    assert outcome(theory.read_lcn, text) == outcome(line_by_line, text)


def test_stretches_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"s{i}: 0.1 <= P(x{i % 7} | !x{i % 5} and y{i}) <= 0.{i % 9 + 1}\n" for i in range(60))
    (whole,) = read_theory_text(text, "lcn").statements
    monkeypatch.setattr(rows, "_CHARACTERS_AT_ONCE", 100)
    (cut,) = read_theory_text(text, "lcn").statements
    assert isinstance(whole, BoundRows) and isinstance(cut, BoundRows)
    for name in ("forms", "form", "names", "atoms", "lower", "upper", "labels", "starts", "places"):
        assert list(getattr(cut, name)) == list(getattr(whole, name)), name
    assert [
        whole.span.source.text[p : p + len(n)] for p, n in zip(whole.places, whole.names, strict=True)
    ] == [*whole.names]


# What is made of them


def sentences(said: Theory) -> list[tuple[Any, ...]]:
    network = credal_network(hb.Model(said).program)
    found = []
    for group in network.groups:
        for row in range(len(group)):
            ends = group.lower[row], group.upper[row], int(group.statement[row])
            found.append((group.event, group.given, group.independent, tuple(group.atoms[row]), ends))
    return sorted(found, key=lambda sentence: sentence[-1][-1])


@laws
@given(st.lists(lines, min_size=1, max_size=6).map("\n".join))
@example("s1: 0 <= P(a | a) <= 0.5\ns2: 0.1 <= P(b | !b and c) <= 0.5\ns3: 0.1 <= P(a | b) <= 0.4")
@example("s1: 0.1 <= P(a and 1 | b) <= 0.5\ns2: 0 <= P(1) <= 1\ns3: 0.1 <= P(c | 1) <= 0.5")
def test_runs_are_lowered_as_single_bounds_are(text: str) -> None:
    try:
        said = read_theory_text(text, "lcn")
        singles = Theory(said.bounds)
        assert sentences(said) == sentences(singles)
    except HerbrandError:
        return
    assert said == singles == parse_theory(show(said))
    assert check(said) == check(singles)


def test_wide_sentences_are_refused_with_their_place() -> None:
    wide = " and ".join(f"x{i}" for i in range(25))
    said = read_theory_text(f"s1: 0 <= P(a) <= 1\ns2: 0.1 <= P(a | {wide}) <= 0.5", "lcn", "t.lcn")
    with pytest.raises(HerbrandError, match=r"t\.lcn:2:1: a ground instance of this bound names 26"):
        credal_network(hb.Model(said).program)


TWO = "s1: 0.1 <= P(a | b) <= 0.5\ns2: 0.1 <= P(b | c) <= 0.5"


@pytest.mark.parametrize(
    "declared",
    [
        "predicate a\npredicate b\npredicate c",
        "predicate a\npredicate b",
        "predicate a(person)\ntype person",
        "predicate b in {\"x\", \"y\"}",
        "a",
        "[s2] P(c) = 0.5\nP(d) = 0.1",
        "P(d) = 0.1",
        "b(\"anna\")",
    ],
)  # fmt: skip
def test_runs_fit_into_a_theory_as_single_bounds_do(declared: str) -> None:
    said, other = read_theory_text(TWO, "lcn", "t.lcn"), parse_theory(declared, "t.hb")

    def told(whole: Theory) -> object:
        try:
            found = check(whole)
        except LanguageError as error:
            return str(error)
        return found, [p.span and p.span.place for p in found.predicates.values()], sentences(whole)

    assert told(other + said) == told(other + Theory(said.bounds))
    assert told(said + other) == told(Theory(said.bounds) + other)


def test_two_runs_may_not_share_labels() -> None:
    first, second = read_theory_text(TWO, "lcn", "t.lcn"), read_theory_text(TWO, "lcn", "u.lcn")
    with pytest.raises(LanguageError) as raised:
        check(first + second)
    assert [str(mistake).splitlines()[0] for mistake in raised.value.mistakes] == [
        "u.lcn:1:1: the label [s1] is given twice",
        "u.lcn:2:1: the label [s2] is given twice",
    ]


def test_commands_that_cannot_use_bounds_name_the_first() -> None:
    model = hb.Model(read_theory_text(TWO, "lcn", "t.lcn"))
    with pytest.raises(HerbrandError, match=r"t\.lcn:1:1: infer cannot use this statement \(and 1 more of"):
        model.infer()
    ignoring = hb.Model(read_theory_text(TWO, "lcn"), ignore="bounds")
    assert ignoring.bound("P(a)", engine="ariel")["a"].upper == 1
