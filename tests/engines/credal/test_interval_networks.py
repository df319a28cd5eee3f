"""Both engines beside every corner of networks of interval tables: events, conditions, facts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.bounds import Bounds
from herbrand.errors import ContradictionError
from tests.laws import tries
from tests.oracles.interval_networks import IntervalNetwork, Table, some_networks

few = settings(deadline=None, max_examples=6, phases=[Phase.reuse, Phase.generate])
many = settings(deadline=None, max_examples=tries(15), phases=[Phase.reuse, Phase.generate])
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
EVENTS = ["x0", "not x1", "x2", "x0 and not x2", "x1 or x2", "x0 xor x1", "(x0 and x1) or (x2 and not x1)"]
CONDITIONS = [None, "x2", "not x2", "x0", "x1 and x2", "x1 or not x2", "x0 xor x2", "not (x0 and x1)"]


def a_network(rng: np.random.Generator, count: int = 3, most_parents: int = 2) -> IntervalNetwork:
    return next(some_networks(rng, count, most_parents))


def asked(
    network: IntervalNetwork, event: str, condition: str | None, engine: str, **options: object
) -> Bounds:
    query = f"P({event})" if condition is None else f"P({event} | {condition})"
    return hb.Model(hb.parse(network.text)).bound(query, engine=engine, **options)  # type: ignore[arg-type]


def told(
    network: IntervalNetwork, event: str, condition: str | None, engine: str
) -> tuple[float, float] | None:
    """The interval that an engine gives; ``None`` where it says that the condition is impossible."""
    try:
        (row,) = asked(network, event, condition, engine).rows()
    except ContradictionError as error:
        assert "cannot be given" in str(error)
        return None
    return row.lower, row.upper


@pytest.mark.parametrize("event", EVENTS)
def test_events_are_exact(event: str) -> None:
    pytest.importorskip("pyscipopt")
    rng = np.random.default_rng(len(event))
    for _ in range(3):
        network = a_network(rng)
        assert told(network, event, None, "exact") == pytest.approx(network.interval(event), abs=1e-5), (
            network
        )


@pytest.mark.parametrize("condition", CONDITIONS[1:])
def test_conditions_are_exact_however_rare(condition: str) -> None:
    """Also where some of the distributions make them impossible, and where all do: then it is an error."""
    pytest.importorskip("pyscipopt")
    rng = np.random.default_rng(len(condition) + 100)
    for event in ("x0", "x0 or not x1"):
        network = a_network(rng)
        truth = network.interval(event, condition)
        found = told(network, event, condition, "exact")
        if truth is None or found is None:
            assert truth is found is None, network
        else:
            assert found == pytest.approx(truth, abs=1e-4), network


@pytest.mark.slow
@settings(few, max_examples=150)
@given(seeds, st.integers(3, 4), st.sampled_from(EVENTS), st.sampled_from(CONDITIONS))
def test_exact_at_length(rng: np.random.Generator, count: int, event: str, condition: str | None) -> None:
    pytest.importorskip("pyscipopt")
    network = a_network(rng, count)
    truth, found = network.interval(event, condition), told(network, event, condition, "exact")
    if truth is None or found is None:
        assert truth is found is None
    else:
        assert found == pytest.approx(truth, abs=1e-4)


@many
@given(seeds, st.integers(3, 4), st.sampled_from(EVENTS), st.sampled_from(CONDITIONS))
def test_messages_hold_the_truth(
    rng: np.random.Generator, count: int, event: str, condition: str | None
) -> None:
    """A condition that messages call impossible is so."""
    network = a_network(rng, count)
    truth, found = network.interval(event, condition), told(network, event, condition, "ariel")
    if found is None:
        assert truth is None
    elif truth is not None:
        assert found[0] - 1e-6 <= truth[0] and truth[1] <= found[1] + 1e-6


@many
@given(seeds, st.integers(2, 4))
def test_atoms_of_trees_are_exact_by_messages(rng: np.random.Generator, count: int) -> None:
    """With one parent at most no two ways lead to an atom."""
    network = a_network(rng, count, most_parents=1)
    found = hb.Model(hb.parse(network.text)).bound(engine="ariel")
    for atom in range(count):
        row = found[f"x{atom}"]
        assert (row.lower, row.upper) == pytest.approx(network.interval(f"x{atom}"), abs=1e-6)


@many
@given(seeds, st.integers(2, 4), st.integers(0, 3), st.booleans())
def test_one_observation_in_a_chain_is_exact_by_messages(
    rng: np.random.Generator, count: int, seen: int, truth: bool
) -> None:
    network = a_network(rng, count, most_parents=1)
    atom, condition = f"x{(seen + 1) % count}", f"{'' if truth else 'not '}x{seen % count}"
    expected, found = network.interval(atom, condition), told(network, atom, condition, "ariel")
    if expected is not None and found is not None:
        assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("engine", ["exact", "ariel"])
def test_facts_condition_as_what_is_given_does(engine: str) -> None:
    pytest.importorskip("pyscipopt")
    rng = np.random.default_rng(5)
    for network in itertools.islice(some_networks(rng, 3, 1), 2):
        if network.interval("x0", "x2 and not x1") is None:
            continue
        given = asked(network, "x0", "x2 and not x1", engine)
        for facts, condition in ((["x2", "not x1"], None), (["x2"], "not x1"), (["not x1"], "x2 and x2")):
            (row,) = asked(network, "x0", condition, engine, given=facts).rows()
            assert (row.lower, row.upper) == pytest.approx((given.lower[0], given.upper[0]), abs=1e-5)


@few
@given(seeds)
def test_complement_and_certainty(rng: np.random.Generator) -> None:
    """P(not q) is 1 - P(q) with the ends exchanged; what is sure has probability 1 whatever is given."""
    network = a_network(rng, 3, most_parents=1)
    model = hb.Model(hb.parse(network.text))
    for engine in ("exact", "ariel"):
        found = model.bound(["P(x2)", "P(not x2)", "P(x2 or not x2)", "P(x1 and not x1)"], engine=engine)
        rows = [(row.lower, row.upper) for row in found.rows()]
        assert rows[1] == pytest.approx((1 - rows[0][1], 1 - rows[0][0]), abs=1e-5)
        assert rows[2] == pytest.approx((1, 1), abs=1e-6) and rows[3] == pytest.approx((0, 0), abs=1e-6)


def test_a_rare_condition_has_all_of_its_ratios() -> None:
    """P(wet) may be 0, yet what is known given wet is known: by Bayes, row by row, as worked out by hand."""
    network = IntervalNetwork((Table((), ((0.0, 0.4),)), Table((0,), ((0.1, 0.1), (0.6, 0.8)))))
    rain = 0.4 * 0.8 / (0.4 * 0.8 + 0.6 * 0.1)
    assert network.interval("x0", "x1") == pytest.approx((0.0, rain))
    for engine in ("exact", "ariel"):
        assert told(network, "x0", "x1", engine) == pytest.approx((0.0, rain), abs=1e-5)
        assert told(network, "x1", "x0", engine) == pytest.approx((0.6, 0.8), abs=1e-5)
        assert told(network, "x1", "not x0", engine) == pytest.approx((0.1, 0.1), abs=1e-5)


@pytest.mark.parametrize("engine", ["exact", "ariel"])
def test_what_can_never_be_is_not_given(engine: str) -> None:
    network = IntervalNetwork((Table((), ((0.0, 0.0),)), Table((0,), ((0.1, 0.2), (0.6, 0.8)))))
    assert network.interval("x1", "x0") is None
    with pytest.raises(ContradictionError) as raised:
        asked(network, "x1", "x0", engine)
    assert str(raised.value).startswith("the upper probability of what is given in P(x1 | x0) is 0")
    assert "look at it as a query of its own" in str(raised.value)
