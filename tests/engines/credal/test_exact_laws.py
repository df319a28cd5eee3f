"""What must hold on networks too large for the raw program: hidden distributions, symmetries, limits."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import numpy as np
import pytest

import herbrand as hb
from benchmarks import credal_networks
from herbrand.answers.bounds import Bounds
from herbrand.engines.credal.interval import Clock, LocalQuery, ends_of
from herbrand.engines.credal.lowering import credal_network
from herbrand.engines.credal.markov import graph_of
from herbrand.engines.credal.network_part import NetworkPart, sentences_of
from herbrand.errors import BudgetError, OutOfTimeError
from herbrand.language.dialects import read_theory_text
from herbrand.language.theory import Theory
from tests.laws import long


def lcn(text: str) -> Theory:
    return read_theory_text(text, "lcn")


def hidden_network(kind: str, n: int, seed: int) -> tuple[Theory, np.ndarray]:
    """A network and the marginals of a distribution that satisfies it."""
    return lcn(getattr(credal_networks, kind)(n, seed)), credal_networks.hidden_marginals(kind, n, seed)


@pytest.mark.parametrize(
    ("kind", "n"),
    [("polytree", 8), ("polytree", 12), ("dag", 10), pytest.param("dag", 8, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("seed", long(range(2), 1))
def test_a_hidden_distribution_lies_within(kind: str, n: int, seed: int) -> None:
    theory, marginals = hidden_network(kind, n, seed)
    asked = [f"x{i}" for i in range(n)]
    found = hb.Model(theory).bound(asked, engine="exact", tolerance=1e-5, time_limit=600)
    assert found.status.converged
    assert (found.lower <= marginals + 1e-6).all() and (marginals <= found.upper + 1e-6).all()


@pytest.mark.parametrize("seed", range(3))
def test_leaving_out_what_does_not_matter_changes_nothing(seed: int) -> None:
    network = credal_network(hb.Model(lcn(credal_networks.dag(6, seed))).program)
    count = len(network.atoms)
    whole = NetworkPart(graph_of(network), tuple(sentences_of(network)), tuple(range(count)), True)
    for atom in range(count):
        small = whole.depended_on([atom])
        holds = np.array([False, True])
        large = ends_of(whole, LocalQuery((atom,), holds), Clock(most=20))
        less = ends_of(small, LocalQuery(small.local([atom]), holds), Clock(most=20))
        assert len(small.names) <= count
        assert less.lower.bound == pytest.approx(large.lower.bound, abs=1e-5)
        assert less.upper.bound == pytest.approx(large.upper.bound, abs=1e-5)


def test_a_bound_on_a_child_bounds_its_parent() -> None:
    """No atom with more than a conditional table may be left out, though nothing below it is asked."""
    theory = hb.parse("P(b | a) >= 0.9\nP(b | not a) <= 0.1\nP(b) >= 0.8")
    found = hb.Model(theory).bound("a", engine="exact")
    assert found.lower[0] == pytest.approx(0.7 / 0.9, abs=1e-5)


def stopped_on_the_way(bound: Callable[[float], Bounds]) -> Bounds:
    """With as little time as lets the search begin: longer on a busy machine, as all of it takes longer."""
    for doubled in range(12):
        with contextlib.suppress(OutOfTimeError):
            return bound(0.05 * 2**doubled)
    raise AssertionError("the search never began")


def test_a_search_that_is_stopped_gives_outer_bounds_and_says_so() -> None:
    model = hb.Model(lcn(credal_networks.cyclic(7, 1)))
    full = model.bound(engine="exact", time_limit=2, tolerance=1e-4)
    short = stopped_on_the_way(lambda limit: model.bound(engine="exact", time_limit=limit))
    assert not short.status.converged and short.guarantee == "bound" and "--time-limit" in short.status.advice
    assert short.certified.all()
    assert (short.lower <= full.upper + 1e-6).all() and (short.upper >= full.lower - 1e-6).all()
    assert any(gap and gap > 0 for gap in (row.gap for row in short.rows()))


def test_what_is_too_large_is_refused_before_it_is_made() -> None:
    cycle = "\n".join(f"P(x{i} | x{(i + 1) % 12} and x{(i + 5) % 12}) in [0.2, 0.7]" for i in range(12))
    with pytest.raises(BudgetError, match="12 atoms on or above cycles"):
        hb.Model(hb.parse(cycle)).bound("x0", engine="exact")
    wide = " and ".join(f"x{i}" for i in range(19))
    with pytest.raises(BudgetError, match="--engine ariel"):
        hb.Model(hb.parse(f"P({wide}) in [0.1, 0.2]")).bound("x0", engine="exact")


def test_equal_calls_give_equal_answers() -> None:
    model = hb.Model(lcn(credal_networks.dag(8, 5)))
    first, second = (model.bound(engine="exact") for _ in range(2))
    assert first.lower.tolist() == second.lower.tolist() and first.upper.tolist() == second.upper.tolist()


def test_progress_is_told() -> None:
    told: list[tuple[str, float]] = []
    model = hb.Model(lcn(credal_networks.dag(6, 1)))
    model.bound(engine="exact", progress=lambda what, share: told.append((what, share)))
    shares = [share for _, share in told]
    assert shares == sorted(shares) and shares[-1] == 1
    assert any(what.startswith("x0") for what, _ in told)
