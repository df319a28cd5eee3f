"""What a query depends on: what may be left out, pieces, numbers of atoms, sentences that are loosened."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.credal.branch_and_bound import End
from herbrand.engines.credal.interval import Clock, LocalQuery, ends_of
from herbrand.engines.credal.lowering import Lowering, credal_network
from herbrand.engines.credal.network_part import NetworkPart
from herbrand.engines.credal.network_query import NetworkQuestion
from herbrand.engines.credal.question import BoundQuery, BoundQuestion, read_bound_question
from herbrand.engines.credal.shape import GroundFormula
from herbrand.errors import BudgetError
from tests.engines.credal.ariel.networks import bayesian, independent
from tests.laws import tries

some = settings(deadline=None, max_examples=tries(10))
seeds = st.integers(0, 2**32 - 1)
TABLES = """
predicate a
predicate b
predicate c
predicate d
predicate e
predicate f
P(a) in [0.2, 0.3]
P(b | a) in [0.6, 0.7]
P(b | not a) in [0.1, 0.2]
P(c | b) in [0.4, 0.5]
P(c | not b) in [0.3, 0.35]
P(d | b) <= 0.8
P(e) in [0.1, 0.2]
P(f | e) <= 0.5
"""


def asked(
    text: str, *queries: str, markov: bool = True, facts: object = None
) -> tuple[NetworkQuestion, list[BoundQuery]]:
    lowering = Lowering.over(hb.Model(hb.parse(text), facts).program)
    question = read_bound_question(queries, lowering)
    return NetworkQuestion(lowering.network(), question, markov), list(question.queries)


def proved(ends: tuple[End, End] | None) -> tuple[float, ...]:
    """Both bounds, each reached."""
    assert ends is not None and all(end.proved and end.value == end.bound for end in ends)
    return tuple(end.bound for end in ends)


def names(made: NetworkQuestion, part: NetworkPart) -> str:
    return "".join(sorted(made.network.atoms.text(name) for name in part.names))


@pytest.mark.parametrize(
    ("query", "needed"),
    [
        ("P(a)", "a"),
        ("P(b)", "ab"),
        ("P(c)", "abc"),  # d hangs below b and binds nothing
        ("P(d)", "abd"),
        ("P(a | c)", "abc"),
        ("P(a | d and c)", "abcd"),
        ("P(f)", "ef"),
        ("P(e)", "e"),
        ("P(f and c)", "abcef"),  # two pieces that the query joins
        ("P(f | c)", "ef"),  # c is independent of it
    ],
)
def test_what_is_needed_for_a_query(query: str, needed: str) -> None:
    made, (one,) = asked(TABLES, query)
    part, local = made.part_of(one)
    assert names(made, part) == needed
    assert set(local.atoms) <= set(range(len(part.names)))
    for sentence in part.sentences:
        assert set(sentence.atoms) <= set(range(len(part.names)))


def test_a_bound_that_binds_its_parents_stays() -> None:
    """``P(d | b) <= 0.8``: with P(d) of 0.85 b cannot be sure; with 0.3 any P(b) will do."""
    for bound, needed in (("P(d) >= 0.85", "abd"), ("P(d) >= 0.3", "a"), ("P(d) <= 1", "a")):
        made, (one,) = asked(f"{TABLES}{bound}", "P(a)")
        assert names(made, made.part_of(one)[0]) == needed


def test_without_independence_what_sentences_leave_free_is_left_out_too() -> None:
    for query, needed in (("P(a)", "a"), ("P(b)", "ab"), ("P(c)", "abc"), ("P(f)", "ef")):
        made, (one,) = asked(TABLES, query, markov=False)
        assert names(made, made.part_of(one)[0]) == needed
    made, (one,) = asked(TABLES, "P(f | c)", markov=False)
    assert names(made, made.part_of(one)[0]) == "abcef"  # c may tell anything of f


def test_atoms_on_cycles_and_above_them_stay() -> None:
    made, (one,) = asked("P(a | b) <= 0.5\nP(b | a) <= 0.5\nP(b | c) <= 0.9\nP(d | a) <= 0.4", "P(d)")
    assert names(made, made.part_of(one)[0]) == "abcd"
    assert names(made, made.whole.without_barren()) == "abc"


def test_facts_of_the_same_piece_are_given_and_asked_settled() -> None:
    made, (one, other) = asked(f"{TABLES}c\nnot f\n", "P(a)", "P(e | a)")
    part, local = made.part_of(one)
    assert names(made, part) == "abc" and local.given is not None
    assert made.atom_of(one) is None and made.closed_form(one) is None
    part, local = made.part_of(other)
    assert names(made, part) == "ef" and local.given is not None
    free, (plain,) = asked(TABLES, "P(a)")
    assert proved(free.closed_form(plain)) == (0.2, 0.3) and free.atom_of(plain) == 0


def test_an_event_that_facts_settle_is_certain() -> None:
    for fact, value in (("b", 1.0), ("not b", 0.0)):
        found = hb.Model(hb.parse(f"{TABLES}{fact}")).bound("P(b)", engine="exact")
        assert (found.lower[0], found.upper[0]) == pytest.approx((value, value), abs=1e-9)


@some
@given(seeds, st.booleans())
def test_pieces_share_nothing_and_leave_nothing_out(seed: int, cyclic: bool) -> None:
    text = "\n".join(
        (independent(s, 3, 2) if cyclic else bayesian(s, 3))
        .text.replace("x", f"{'uv'[k]}x")
        .replace(f"{'uv'[k]}xor", "xor")
        for k, s in enumerate((seed, seed + 1))
    )
    made = NetworkQuestion(credal_network(hb.Model(hb.parse(text)).program), BoundQuestion(), True)
    pieces = made.pieces
    told = sorted(name for piece in pieces for name in piece.names)
    assert told == list(range(len(made.network.atoms)))
    assert sum(len(piece.sentences) for piece in pieces) == len(made.whole.sentences)
    for piece in pieces:
        for sentence in piece.sentences:
            group, row = sentence.source
            whole = made.network.groups[group].atoms[row].tolist()
            assert tuple(piece.names[a] for a in sentence.atoms) == tuple(whole)
        links = {(piece.names[s], piece.names[t]) for s, t in piece.graph.links.tolist()}
        assert links == {
            pair for pair in map(tuple, made.whole.graph.links.tolist()) if pair[0] in piece.names
        }
        # in one piece all atoms are connected by sentences
        reached = {0}
        for _ in piece.names:
            reached |= {a for s in piece.sentences if reached & set(s.atoms) for a in s.atoms}
        assert reached == set(range(len(piece.names)))


def test_numbers_within_a_part_are_its_own() -> None:
    made, _ = asked(TABLES, "P(f)")
    part = made.whole.depended_on([1, 2])
    assert part.local(part.names) == tuple(range(len(part.names)))
    assert [part.names[a] for a in part.local((2, 1))] == [2, 1]
    with pytest.raises(KeyError):
        part.local([5])


def test_what_is_loosened_says_nothing_and_links_all_the_same() -> None:
    made, (one,) = asked(TABLES, "P(c)")
    part, local = made.part_of(one)
    tight = ends_of(part, local, Clock(most=9))
    for number, sentence in enumerate(part.sentences):
        loose = part.loosened({sentence.source})
        assert loose.sentences[number].lower == 0 and loose.sentences[number].upper == 1
        assert loose.graph is part.graph and len(loose.sentences) == len(part.sentences)
        wide = ends_of(loose, local, Clock(most=9))
        assert wide.lower.bound <= tight.lower.bound + 1e-7 and wide.upper.bound >= tight.upper.bound - 1e-7
    free = ends_of(part.loosened({s.source for s in part.sentences}), local, Clock(most=9))
    assert (free.lower.bound, free.upper.bound) == pytest.approx((0, 1), abs=1e-7)


@some
@given(seeds, st.integers(0, 4))
def test_a_linear_interval_needs_nothing_that_is_left_out(seed: int, atom: int) -> None:
    """Without independence: the linear program of the whole and that of the part have one optimum."""
    network = credal_network(hb.Model(hb.parse(independent(seed, 5, 5).text)).program)
    made = NetworkQuestion(network, BoundQuestion(), False)
    part, local = made.part_of(BoundQuery("", GroundFormula(0, (atom,))))
    holds = np.array([False, True])
    small = ends_of(part, local, Clock())
    large = ends_of(made.whole, LocalQuery((atom,), holds), Clock())
    ends = [(found.lower.bound, found.upper.bound) for found in (small, large)]
    assert ends[0] == pytest.approx(ends[1], abs=1e-6)


def test_too_many_atoms_in_one_question_are_refused() -> None:
    chain = "\n".join(f"P(x{i + 1} | x{i}) in [0.2, 0.6]" for i in range(17))
    wide = " and ".join(f"x{i}" for i in range(17))
    with pytest.raises(BudgetError) as raised:
        hb.Model(hb.parse(chain)).bound(f"P({wide})", engine="exact")
    assert "name 17 atoms that depend on each other; the exact engine takes 16" in str(raised.value)
    assert "--engine ariel takes more" in str(raised.value)
    assert hb.Model(hb.parse(chain)).bound(f"P({wide})").engine == "ariel"


def test_what_is_given_is_split_once_for_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    made, (one, two) = asked(TABLES, "P(a | c and e)", "P(a | e)")
    calls: list[BoundQuery] = []
    in_two = NetworkQuestion._in_two
    monkeypatch.setattr(
        NetworkQuestion, "_in_two", lambda self, query: calls.append(query) or in_two(self, query)
    )
    for query in (one, two, one):
        made.unrelated(query), made.closed_form(query), made.atom_of(query), made.part_of(query)
    assert calls == [one, two]
    apart = made.unrelated(one)
    assert apart is not None and apart.event.atoms == (made.network.atoms.texts().index("e"),)
    assert made.atom_of(one) is None and made.atom_of(two) == 0
    assert proved(made.closed_form(two)) == (0.2, 0.3)


@pytest.mark.parametrize("facts", ["", "c\n", "e\n", "c\nnot e\n"])
def test_the_error_names_what_cannot_be_given(facts: str) -> None:
    made, (one, two) = asked(f"{TABLES}{facts}", "P(a | c)", "P(a)")
    told = str(made.impossible(one))
    near = "c" in facts
    what = "what is given and the facts" if near else "what is given"
    assert told.startswith(f"the upper probability of {what} in P(a | c) is 0, so it cannot be given")
    assert ("the facts" in str(made.impossible(two))) == near


@some
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=6), st.integers(0, 4))
def test_what_is_kept_is_closed_upwards(links: list[tuple[int, int]], atom: int) -> None:
    """An atom never stays without its parents, so that its Markov condition is that of the whole."""
    text = [f"P(x{i}) >= 0" for i in range(5)]
    text += [f"P(x{t} | x{s}) in [0.2, 0.9]" for s, t in links if s != t]
    text += ["P(x4) in [0.3, 0.4]"]
    made = NetworkQuestion(credal_network(hb.Model(hb.parse("\n".join(text))).program), BoundQuestion(), True)
    for part in (made.whole.depended_on([atom]), made.whole.without_barren()):
        kept = set(part.names)
        for name, place in itertools.product(kept, [0]):
            reached = made.whole.depended_on([atom]).names if place else part.names
            inside = [p for p in made.whole.graph.parents(name) if made.whole.mentions[p]]
            assert set(inside) <= kept and name in reached
