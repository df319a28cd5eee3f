"""What is given of atoms that nothing connects to the query: it must be possible, and changes nothing."""

from __future__ import annotations

import pytest

import herbrand as hb
from herbrand.engines.credal.lowering import Lowering
from herbrand.engines.credal.network_query import NetworkQuestion
from herbrand.engines.credal.question import read_bound_question
from herbrand.errors import ContradictionError

LINKED = "P(a) in [0.2, 0.3]\nP(b | a) in [0.6, 0.7]\nP(b | not a) in [0.1, 0.2]\n"
APART = "P(c) in [0.1, 0.4]\nP(d | c) >= 0.5\n"
CYCLES = "P(a | b) <= 0.5\nP(b | a) <= 0.5\nP(c | d) <= 0.5\nP(d | c) <= 0.5\n"


def ends(text: str, query: str, **options: object) -> tuple[float, float]:
    found = hb.Model(hb.parse(text)).bound(query, engine="exact", **options)  # type: ignore[arg-type]
    assert found.guarantee == "exact"
    return float(found.lower[0]), float(found.upper[0])


@pytest.mark.parametrize(
    ("query", "same"),
    [
        ("P(a | c)", "P(a)"),
        ("P(a | c and d)", "P(a)"),
        ("P(a | c or d)", "P(a)"),
        ("P(a or b | not c)", "P(a or b)"),
        ("P(a | b and c)", "P(a | b)"),
        ("P(a | c and b and not d)", "P(a | b)"),
        ("P(d | a and b and c)", "P(d | c)"),
    ],
)
def test_it_is_left_out(query: str, same: str) -> None:
    assert ends(LINKED + APART, query) == pytest.approx(ends(LINKED + APART, same), abs=1e-9)


def test_facts_of_it_too() -> None:
    assert ends(LINKED + APART, "P(a | c)", given="d") == pytest.approx((0.2, 0.3))
    assert ends(LINKED + APART, "P(a | c)", given=["b", "d"]) == pytest.approx(
        ends(LINKED, "P(a | b)"), abs=1e-9
    )


@pytest.mark.parametrize(
    ("text", "query", "given_too"),
    [
        ("P(a) <= 0.4\nP(b) = 0", "P(a | b)", []),
        ("P(a) <= 0.4\nP(b) <= 0.5\nP(c | b) = 0", "P(a | b and c)", []),
        ("P(a) <= 0.4\nP(b) <= 0.5\nP(c | b) = 0", "P(a | c)", ["b"]),
    ],
)
def test_it_must_be_possible(text: str, query: str, given_too: list[str]) -> None:
    with pytest.raises(ContradictionError, match="is 0, so it cannot be given"):
        hb.Model(hb.parse(text)).bound(query, given=given_too, engine="exact")


def test_it_must_not_contradict_itself() -> None:
    text = "P(a) <= 0.4\n[x] P(b) <= 0.2\n[y] P(b) >= 0.3"
    with pytest.raises(ContradictionError, match="these 2 statements together"):
        hb.Model(hb.parse(text)).bound("P(a | b)", engine="exact")


@pytest.mark.parametrize(
    ("text", "markov", "apart"),
    [
        (LINKED + APART, True, True),
        (LINKED + APART, False, False),  # no independence is asked: c may tell anything of a
        (CYCLES, True, False),  # two cycles need not be independent of each other
        (CYCLES.replace("P(c | d) <= 0.5", "P(c) <= 0.5"), True, True),
    ],
)
def test_only_what_is_sure_to_be_independent_is_apart(text: str, markov: bool, apart: bool) -> None:
    lowering = Lowering.over(hb.Model(hb.parse(text)).program)
    question = read_bound_question(["a | c"], lowering)
    network = lowering.network()
    asked = NetworkQuestion(network, question, markov)
    assert (asked.unrelated(question.queries[0]) is not None) == apart
    part, _ = asked.part_of(question.queries[0])
    assert (network.atoms.texts().index("c") not in part.names) == apart


@pytest.mark.parametrize(
    ("text", "independence", "engine"),
    [
        (LINKED + APART, "none", "exact"),  # no independence is asked: c may tell anything of a
        (LINKED + APART, "none", "ariel"),
        (LINKED + APART, "markov", "exact"),
        (LINKED + APART, "markov", "ariel"),
        (CYCLES, "none", "exact"),
        (CYCLES, "none", "ariel"),
        (CYCLES, "markov", "ariel"),  # nor are two cycles sure to be independent
        (CYCLES + "P(e) in [0.2, 0.3]\n", "markov", "ariel"),
        pytest.param(CYCLES, "markov", "exact", marks=pytest.mark.slow),
    ],
)
def test_facts_tell_as_much_as_the_same_given(text: str, independence: str, engine: str) -> None:
    pytest.importorskip("pyscipopt")
    declared = "".join(f"predicate {name}\n" for name in "abcde")
    options = {"engine": engine, "independence": independence, "tolerance": 1e-5}
    for fact, query in (("c", "a"), ("not c", "a"), ("not d", "b"), ("c", "a | b"), ("c", "e")):
        condition = f"{query} and {fact}" if "|" in query else f"{query} | {fact}"
        given = hb.Model(hb.parse(declared + text)).bound(f"P({condition})", **options)  # type: ignore[arg-type]
        for theory, facts in ((text, [fact]), (f"{text}{fact}\n", [])):
            model = hb.Model(hb.parse(declared + theory))
            found = model.bound(f"P({query})", given=facts, **options)  # type: ignore[arg-type]
            assert (found.lower[0], found.upper[0]) == pytest.approx(
                (given.lower[0], given.upper[0]), abs=1e-4
            )


def test_what_tells_nothing_without_cycles_may_tell_something_without_independence() -> None:
    text = "".join(f"predicate {name}\n" for name in "abcd") + LINKED + APART + "c\n"
    model = hb.Model(hb.parse(text))
    for engine in ("exact", "ariel"):
        apart = model.bound("a", engine=engine)
        assert (apart.lower[0], apart.upper[0]) == pytest.approx((0.2, 0.3))
        tied = model.bound("a", engine=engine, independence="none")
        # P(c) is 0.4 at most: a and c may hold together as much as they can, or not at all
        assert (tied.lower[0], tied.upper[0]) == pytest.approx((0.0, 1.0), abs=1e-6)


@pytest.mark.parametrize(
    ("text", "markov", "told"),
    [
        (LINKED + APART, True, "a"),
        (LINKED + APART, False, "ac"),
        (CYCLES, True, "abcd"),
        (CYCLES.replace("P(c | d) <= 0.5", "P(c) <= 0.5"), True, "ab"),
    ],
)
def test_the_part_of_a_query_has_the_facts_that_may_tell(text: str, markov: bool, told: str) -> None:
    declared = "".join(f"predicate {name}\n" for name in "abcd")
    lowering = Lowering.over(hb.Model(hb.parse(f"{declared}{text}c\n")).program)
    asked = NetworkQuestion(lowering.network(), read_bound_question(["a"], lowering), markov)
    part, local = asked.part_of(asked.question.queries[0])
    assert "".join(asked.network.atoms.text(name) for name in part.names) == told
    assert (local.given is not None) == ("c" in told)
