"""Seeds change no interval, only how soon it is proved; and what large graphs are found by arrays alone."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from benchmarks import credal_networks
from herbrand.budget import Budget
from herbrand.engines.credal import seeding
from herbrand.engines.credal.branch_and_bound import TOLERANCE, End
from herbrand.engines.credal.interval import Clock, Ends, ends_of
from herbrand.engines.credal.lowering import Lowering, credal_network
from herbrand.engines.credal.markov import Graph, graph_of
from herbrand.engines.credal.network import Atoms, KnownAtoms, Network, SentenceGroup
from herbrand.engines.credal.network_query import NetworkQuestion
from herbrand.engines.credal.question import BoundQuestion, read_bound_question
from herbrand.engines.credal.seeding import Seeds
from herbrand.language.dialects import read_theory_text
from herbrand.language.theory import Theory
from tests.engines.credal.ariel.networks import bayesian
from tests.engines.credal.theories import theories
from tests.laws import long, tries

laws = settings(phases=[Phase.reuse, Phase.generate], deadline=None)


@settings(laws, max_examples=tries(10))
@given(theories(most_atoms=3))
def test_seeds_change_no_interval(theory: Theory) -> None:
    pytest.importorskip("pyscipopt")
    model = hb.Model(theory)
    seeded = model.bound(engine="exact")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seeding, "MOST_SENTENCES", -1)
        plain = model.bound(engine="exact")
    assert seeded.lower == pytest.approx(plain.lower, abs=3e-6)
    assert seeded.upper == pytest.approx(plain.upper, abs=3e-6)


def test_a_search_without_time_is_as_good_as_the_messages() -> None:
    pytest.importorskip("pyscipopt")
    model = hb.Model(read_theory_text(credal_networks.dag(15, 0), "lcn"))
    messages = model.bound(engine="ariel")
    # a second of this process, whatever else the machine has to do
    hurried = model.bound(engine="exact", within=Budget(seconds=1.0, clock=time.process_time))
    assert (hurried.lower >= messages.lower * (1 - TOLERANCE)).all()
    assert (hurried.upper <= messages.upper * (1 + TOLERANCE)).all()


def test_seeds_of_rare_atoms_are_as_tight_as_messages() -> None:
    text = "P(a) in [1e-12, 2e-12]\nP(b | a) = 0.5\nP(b | not a) = 0"
    lowering = Lowering.over(hb.Model(hb.parse(text)).program)
    seeds = Seeds(lowering.network())
    assert seeds.interval(0) == pytest.approx((1e-12, 2e-12), rel=1e-9)
    assert seeds.interval(1) == pytest.approx((5e-13, 1e-12), rel=1e-9)


def test_ends_of_rows_that_are_not_proved_at_once_are_not_wider_than_messages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is stopped is intersected with what messages prove, after a search over vertices too."""
    text = "P(y) in [0.1, 0.2]\n" + "".join(
        f"P(f{i} | y) in [0.{i + 2}, 0.{i + 3}]\nP(f{i} | not y) in [0.1, 0.{i + 2}]\n" for i in range(4)
    )
    model = hb.Model(hb.parse(text))
    query = "P(y | f0 and not f1 and f2 and not f3)"
    (messages,) = model.bound(query, engine="ariel").rows()
    stopped = End(0.0, None, 0, proved=False), End(1.0, None, 0, proved=False)
    for search in ("ends_of", "vertex_ends"):
        monkeypatch.setattr(f"herbrand.engines.credal.exact.{search}", lambda *_, **__: Ends(*stopped))
    found = model.bound(query, engine="exact", time_limit=600)
    (row,) = found.rows()
    assert (row.lower, row.upper) == (messages.lower, messages.upper) and 0 < row.lower < row.upper < 1
    assert row.certified and row.gap == pytest.approx(row.upper - row.lower)
    assert found.guarantee == "bound" and not found.status.converged


def test_contradictions_leave_no_seeds() -> None:
    pytest.importorskip("pyscipopt")
    text = "P(a) in [0.2, 0.3]\nP(b) in [0.2, 0.3]\nP(a and b) >= 0.5"
    with pytest.raises(hb.HerbrandError, match="no distribution satisfies these 2 statements"):
        hb.Model(hb.parse(text)).bound(engine="exact")


def test_a_gap_knows_what_both_searches_reached() -> None:
    """A value that one search reached limits the other end too; and the ends are each other's limits."""
    both = Ends(End(0.1, 0.2, 1), End(0.9, 0.5, 1))
    assert both.gaps == pytest.approx((0.1, 0.4))
    other = Ends(End(0.1, None, 1), End(0.9, 0.3, 1))
    assert other.gaps == pytest.approx((0.2, 0.6))
    neither = Ends(End(0.1, None, 1), End(0.25, None, 1))
    assert neither.gap == pytest.approx(0.15)


def test_a_search_that_goes_on_only_adds() -> None:
    """What messages had proved beyond the search stays proved."""
    before = Ends(
        End(0.1, 0.3, 5, lambda seconds: End(0.2, 0.3, 8)),
        End(0.9, 0.5, 1, lambda seconds: End(0.95, 0.6, 3)),
    )
    after = before.searched_on(True, 1.0).searched_on(False, 1.0)
    assert after == Ends(End(0.2, 0.3, 8), End(0.9, 0.6, 3))


def test_searches_go_on_where_they_stopped() -> None:
    """Slice by slice a search comes to its end: its nodes are counted on, not anew."""
    pytest.importorskip("pyscipopt")
    model = hb.Model(read_theory_text(credal_networks.cyclic(4, 4), "lcn"))
    asked = NetworkQuestion(credal_network(model.program), BoundQuestion(), markov=True)
    part, query = asked.part_of(next(iter(asked.queries())))
    found, nodes = ends_of(part, query, Clock(most=0.05)), [0]
    while found.upper.more is not None:
        found = found.searched_on(False, 0.05 * len(nodes))
        assert found.upper.nodes >= nodes[-1]
        nodes.append(found.upper.nodes)
    whole = ends_of(part, query, Clock(most=600.0))
    assert found.upper.bound == pytest.approx(whole.upper.bound, abs=1e-5)


def test_intervals_are_intersected() -> None:
    ends = Ends(End(0.1, 0.2, 1), End(0.9, 0.5, 1)).within(0.15, 0.95)
    assert (ends.lower.bound, ends.upper.bound) == (0.15, 0.9)
    assert dataclasses.replace(ends.lower, bound=0.1) == End(0.1, 0.2, 1)


@laws
@given(st.integers(1, 8), st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14))
def test_atoms_on_and_above_cycles(count: int, links: list[tuple[int, int]]) -> None:
    pairs = np.array([(a % count, b % count) for a, b in links if a % count != b % count], np.int64)
    pairs = pairs.reshape(-1, 2)
    nothing = np.zeros(len(pairs))
    group = SentenceGroup(
        0, 1, False, pairs[:, [1, 0]], nothing, nothing, nothing.astype(int), nothing.astype(int)
    )
    atoms = Atoms.of({f"x{i}": () for i in range(count)})
    network = Network(atoms, (group,), KnownAtoms(np.empty(0, np.int64), np.empty(0, bool)))
    assert tuple(np.flatnonzero(graph_of(network).is_core)) == Graph.of(count, pairs).core


def test_seeds_of_large_networks_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeding, "MOST_SENTENCES", 1)
    atoms = Atoms.of({"a": ()})
    empty = np.zeros(2)
    group = SentenceGroup(
        0, None, False, np.zeros((2, 1), np.int64), empty, empty, empty.astype(int), empty.astype(int)
    )
    network = Network(atoms, (group,), KnownAtoms(np.empty(0, np.int64), np.empty(0, bool)))
    assert Seeds(network).interval(0) == (0.0, 1.0)


@pytest.mark.parametrize("seed", long(range(4), 2))
def test_what_messages_know_of_a_query_holds_the_exact_interval(seed: int) -> None:
    """Of formulas and conditions, facts given, with independence and without."""
    pytest.importorskip("pyscipopt")
    hidden = bayesian(seed, 4, most_parents=2)
    declared = "".join(f"predicate x{i}\n" for i in range(4))
    for facts, independence in (("", "markov"), ("", "none"), ("x3\n", "markov"), ("not x0\n", "none")):
        model = hb.Model(hb.parse(f"{declared}{hidden.text}\n{facts}"))
        lowering = Lowering.over(model.program)
        seeds = Seeds(lowering.network(), independence == "markov")
        texts = ["P(x1)", "P(x1 or x2)", "P(x1 | x2)", "P(x0 and x1 | not x2)"]
        exact = model.bound(texts, engine="exact", independence=independence)
        for query, row in zip(read_bound_question(texts, lowering).queries, exact.rows(), strict=True):
            low, high = seeds.interval_of(query)
            assert 0 <= low <= row.lower + 1e-6 and row.upper - 1e-6 <= high <= 1


def test_what_messages_know_of_a_query_that_cannot_be() -> None:
    """Whether it is impossible is for the search to say."""
    text = "predicate a\npredicate b\nP(a) = 0\nP(b | a) <= 0.4"
    lowering = Lowering.over(hb.Model(hb.parse(text)).program)
    (query,) = read_bound_question(["P(b | a)"], lowering).queries
    assert Seeds(lowering.network()).interval_of(query) == (0.0, 1.0)
    crossed = Lowering.over(hb.Model(hb.parse(f"{text}\nP(b) >= 0.5\nP(b) <= 0.3")).program)
    assert Seeds(crossed.network()).interval_of(query) == (0.0, 1.0)
