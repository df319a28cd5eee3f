"""The loops of messages, each by itself: compiled and as they are written, beside sums over all entries."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.engines.belief import kernels
from herbrand.engines.belief.kernels import NEVER
from herbrand.engines.belief.messages import flood, no_messages, sweep
from herbrand.factors.graph import SOME, Assembly, FactorGraph, Somes, Tables
from herbrand.loops import compiled
from tests.engines.belief.energies import edges_of
from tests.laws import tries

quick = settings(deadline=None, max_examples=tries(30))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def both(name: str) -> tuple[Callable[..., object], Callable[..., object]]:
    plain = getattr(kernels, name)
    return compiled(plain), plain


def log_sum(terms: list[float]) -> float:
    largest = max(terms, default=-math.inf)
    return (
        largest
        if largest == -math.inf
        else largest + math.log(math.fsum(math.exp(t - largest) for t in terms))
    )


LOGS = [-math.inf, -1000.0, -40.0, -1.5, 0.0, 1e-9, 2.0, 700.0, 1e5]


def test_sums_of_logarithms() -> None:
    for run in both("_log_sum"):
        for a, b in itertools.product(LOGS, repeat=2):
            assert run(a, b) == pytest.approx(log_sum([a, b]), rel=1e-15), (a, b)


def test_one_minus_a_probability_keeps_its_digits() -> None:
    """For probabilities near 0 and near 1: log(1 - e^x) is about log(-x), and about -e^x."""
    for run in both("_log_one_minus"):
        assert run(0.0) == run(1e-20) == -math.inf
        assert run(-1e-300) == pytest.approx(math.log(1e-300), rel=1e-15)
        assert run(-1e-12) == pytest.approx(math.log(1e-12) - 5e-13, rel=1e-15)
        assert run(-math.log(2)) == pytest.approx(-math.log(2), rel=1e-15)
        assert run(-50.0) == pytest.approx(-math.exp(-50.0), rel=1e-12)
        assert run(-800.0) == 0.0
        assert run(-math.inf) == 0.0


def test_whether_some_member_holds() -> None:
    """``none``: that none does; surely one, nobody can, and from whichever number has the digits."""
    for run in both("_some_of"):
        assert run(-0.3, -1.0, 3.0) == 0.0
        assert run(0.0, -math.inf, 0.0) == -math.inf
        assert run(-0.3, math.log(1 - math.exp(-0.3)), 0.0) == pytest.approx(math.log(1 - math.exp(-0.3)))
        assert run(-50.0, 0.0, 0.0) == pytest.approx(-math.exp(-50.0), rel=1e-12)
        assert run(0.0, -1e5, 0.0) == -1e5, "a chance that underflows is no exclusion"


def test_some_of_several_copies() -> None:
    for run in both("_some_copy"):
        assert run(-math.inf, 0.0, 3.0) == -math.inf
        assert run(-1.0, -0.5, 0.0) == -math.inf
        assert run(0.0, -math.inf, 2.0) == 0.0
        assert run(math.log(0.25), math.log(0.75), 2.0) == pytest.approx(math.log(1 - 0.75**2))
        assert run(-800.0, -0.0, 5.0) == pytest.approx(-800.0 + math.log(5))


def test_members_that_hardly_ever_hold_are_not_impossible() -> None:
    """The messages of "some holds" in exact arithmetic: chances far below the smallest number."""
    for run in both("_from_some"):
        incoming = np.array([-2000.0, 0.0, 0.0, -900.0, 0.0, -1000.0])
        out, after, more = np.empty(6), np.empty(3), np.empty(3)
        allowed = np.array([0, 0, 0, 1, 0, 1], np.uint8)
        starts, ones = np.array([0, 2, 4]), np.ones(3)
        run(np.full(3, 2), 0, 3, allowed, starts, ones, incoming, starts, after, more, out)
        assert out.tolist() == pytest.approx([0.0, -900.0, -1000.0, 0.0, -900.0, 0.0])


@quick
@given(seeds, st.lists(st.integers(2, 3), min_size=1, max_size=4))
def test_a_tables_messages_are_sums_over_its_entries(rng: np.random.Generator, sizes: list[int]) -> None:
    """With impossible entries, impossible incoming values, and numbers that underflow beside others."""
    entries = math.prod(sizes)
    tables = rng.normal(0, rng.choice([1.0, 300.0]), entries)
    tables[rng.random(entries) < 0.2] = NEVER
    incoming = rng.normal(0, rng.choice([1.0, 300.0]), sum(sizes))
    incoming[rng.random(sum(sizes)) < 0.2] = NEVER
    places = np.cumsum([0, *sizes])[:-1]
    expected = []
    for axis, size in enumerate(sizes):
        for value in range(size):
            terms = []
            for number, cell in enumerate(itertools.product(*map(range, sizes))):
                if cell[axis] == value:
                    told = [incoming[places[i] + v] for i, v in enumerate(cell) if i != axis]
                    terms.append(float(tables[number] + sum(told)))
            expected.append(log_sum(terms))
    for run in both("_from_table"):
        out, joint, shares = np.empty(sum(sizes)), np.empty(entries), np.empty(entries)
        before = incoming.copy()
        run(np.array(sizes), 0, len(sizes), tables, 0, incoming, places, joint, shares, out)
        assert incoming.tolist() == before.tolist(), "what came in is as it was"
        assert out.tolist() == pytest.approx(expected, rel=1e-11, abs=1e-9)


@quick
@given(seeds, st.lists(st.integers(2, 3), min_size=1, max_size=4))
def test_a_quantifiers_messages_are_sums_over_its_table(rng: np.random.Generator, sizes: list[int]) -> None:
    """Members several times over count as so many members that hear the same."""
    times = [int(rng.integers(1, 3)) for _ in sizes]
    allowed_sets = [
        sorted(rng.choice(size, int(rng.integers(1, size + 1)), replace=False).tolist()) for size in sizes
    ]
    heard = [rng.normal(0, 2, size) for size in (2, *sizes)]
    for message in heard:
        if rng.random() < 0.3:
            message[int(rng.integers(len(message)))] = NEVER
    every = [2, *sizes]
    places, starts = (np.cumsum([0, *every])[:-1] for _ in range(2))
    allowed = np.zeros(sum(every), np.uint8)
    for place, values in enumerate(allowed_sets):
        allowed[starts[place + 1] + np.array(values)] = 1
    copies = [0, *(place for place, count in enumerate(times, 1) for _ in range(count))]

    def message_to(copy: int, value: int) -> float:
        terms = []
        for cell in itertools.product(*(range(every[place]) for place in copies)):
            holds = any(v in allowed_sets[p - 1] for p, v in zip(copies[1:], cell[1:], strict=True))
            if cell[copy] == value and cell[0] == int(holds):
                told = [heard[p][v] for i, (p, v) in enumerate(zip(copies, cell, strict=True)) if i != copy]
                terms.append(float(sum(told)))
        return log_sum(terms)

    for run in both("_from_some"):
        out, after, more = np.empty(sum(every)), np.empty(len(every)), np.empty(len(every))
        incoming = np.concatenate(heard)
        run(
            np.array(every),
            0,
            len(every),
            allowed,
            starts,
            np.array([1.0, *map(float, times)]),
            incoming,
            places,
            after,
            more,
            out,
        )
        for place in range(len(every)):
            copy = copies.index(place)
            expected = np.array([message_to(copy, value) for value in range(every[place])])
            found = out[places[place] : places[place] + every[place]]
            if (expected == NEVER).all():
                continue
            assert (found - found.max()).tolist() == pytest.approx(
                (expected - expected.max()).tolist(), abs=1e-8
            )


@pytest.mark.parametrize("damping", [0.0, 0.25, 0.9])
def test_a_message_is_written_normalised_and_damped(damping: float) -> None:
    """The largest value is 0; an impossible value stays so once it is, where there is damping."""
    for run in both("_written"):
        out = np.full(3, 7.0)
        moved = run(3, 0, 0, np.array([1.0, 3.0, 0.0]), np.array([0.0, 0.0, -1.0]), damping, out)
        expected = [
            (1 - damping) * new + damping * old for new, old in ((-2.0, 0.0), (0.0, 0.0), (-3.0, -1.0))
        ]
        assert moved == 2.0 and out.tolist() == pytest.approx(expected)
        moved = run(3, 0, 0, np.array([1.0, NEVER, 0.0]), np.array([0.0, 0.0, NEVER]), damping, out)
        assert moved == math.inf
        assert out[:2].tolist() == [0.0, NEVER]
        assert out[2] == (NEVER if damping else -1.0)
        moved = run(2, 0, 0, np.array([NEVER, 5.0]), np.array([NEVER, 0.0]), damping, out)
        assert moved == 0.0 and out[:2].tolist() == [NEVER, 0.0]
        assert math.isnan(run(2, 0, 0, np.array([NEVER, NEVER]), np.zeros(2), damping, out))
        moved = run(2, 0, 0, np.array([-1e150, 0.0]), np.array([-1e100, 0.0]), damping, out)
        assert moved == math.inf and out[:2].tolist() == [-1e100, 0.0], "far away, and neither at rest"
        assert run(2, 0, 0, np.array([-1e20, 0.0]), np.array([-1e20, 0.0]), damping, out) > 1e3


def test_what_is_taken_out_of_a_total_was_told_before() -> None:
    """Impossible values are counted, not subtracted; so often as they were told."""
    for run in both("_tell"):
        total, impossible = np.array([1.0, 2.0, 3.0]), np.zeros(3)
        messages = np.array([9.0, -1.5, NEVER])
        run(2, 1, 1, 3.0, messages, total, impossible)
        assert total.tolist() == [1.0, 2.0 - 4.5, 3.0] and impossible.tolist() == [0.0, 0.0, 3.0]
        run(2, 1, 1, 0.0, messages, total, impossible)
        run(2, 1, 1, -3.0, messages, total, impossible)
        assert total.tolist() == [1.0, 2.0, 3.0] and impossible.tolist() == [0.0, 0.0, 0.0]


def test_what_an_axis_tells_a_factor_leaves_out_what_it_heard_from_it() -> None:
    """One copy of it only: others that say the same are still heard."""
    for run in both("_incoming"):
        out = np.empty(2)
        run(2, 0, 0, np.array([-1.0, 0.0]), np.array([-4.0, -1.0]), np.zeros(2), out, 0)
        assert out.tolist() == [-2.0, 0.0]
        run(2, 0, 0, np.array([NEVER, 0.0]), np.array([0.5, 0.0]), np.array([1.0, 0.0]), out, 0)
        assert out.tolist() == [0.0, -0.5], "only this factor excludes it"
        run(2, 0, 0, np.array([NEVER, 0.0]), np.array([0.5, 0.0]), np.array([2.0, 0.0]), out, 0)
        assert out.tolist() == [NEVER, 0.0], "another one does too"
        run(2, 0, 0, np.array([0.0, 0.0]), np.zeros(2), np.ones(2), out, 0)
        assert out.tolist() == [NEVER, NEVER]


@st.composite
def graphs(draw: st.DrawFn) -> FactorGraph:
    """Axes and factors that stand for several."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = np.concatenate([[2, 2, 2], rng.integers(2, 4, 2)])
    assembly = Assembly(sizes, rng.integers(1, 4, 5))
    assembly.unary[:] = rng.normal(size=len(assembly.unary))
    for _ in range(int(rng.integers(1, 4))):
        scope = rng.choice(5, int(rng.integers(2, 4)), replace=False)
        table = rng.normal(size=(1, *sizes[scope]))
        exponents = rng.integers(0, 3, (1, len(scope))).astype(float)
        assembly.add_tables(Tables(scope[None], np.zeros(1, np.int64), table, None, exponents))
    members = rng.integers(1, 5, 3)
    times, heard = rng.integers(1, 3, 3).astype(float), rng.integers(0, 3, 3).astype(float)
    pointers, patterns = np.array([0, 3]), rng.integers(0, 2, 3)
    assembly.add_somes(Somes(np.array([0]), pointers, members, patterns, [(0,), (1,)], None, times, heard))
    return assembly.build()


@quick
@given(graphs(), seeds)
def test_totals_are_what_all_messages_say(graph: FactorGraph, rng: np.random.Generator) -> None:
    messages = rng.normal(size=graph.message_count)
    messages[rng.random(graph.message_count) < 0.2] = NEVER
    expected, barred = graph.unary.copy(), np.zeros(len(graph.unary))
    for edge in range(graph.edge_count):
        for value in range(int(graph.edge_sizes[edge])):
            message = messages[graph.message_starts[edge] + value]
            at = graph.edge_starts[edge] + value
            if graph.exponents[edge] and message == NEVER:
                barred[at] += graph.exponents[edge]
            elif graph.exponents[edge]:
                expected[at] += graph.exponents[edge] * message
    for run in both("totals"):
        total, impossible = np.empty(len(graph.unary)), np.empty(len(graph.unary))
        run(graph, messages, total, impossible)
        assert total.tolist() == pytest.approx(expected.tolist())
        assert impossible.tolist() == barred.tolist()


@quick
@given(graphs(), st.sampled_from([0.0, 0.4]))
def test_a_sweep_is_floods_of_one_factor_each(graph: FactorGraph, damping: float) -> None:
    """Factor after factor: what a flood would give that one, the others' messages left as they are."""
    order = np.random.default_rng(graph.edge_count).permutation(graph.factor_count)
    messages = expected = no_messages(graph)
    farthest = 0.0
    for factor in order.tolist():
        fresh, _ = flood(graph, expected, damping)
        undamped, _ = flood(graph, expected, 0.0)
        expected = expected.copy()
        for edge in edges_of(graph, factor):
            here = slice(
                int(graph.message_starts[edge]), int(graph.message_starts[edge] + graph.edge_sizes[edge])
            )
            farthest = max(farthest, float(np.abs(undamped[here] - expected[here]).max()))
            expected[here] = fresh[here]
    found, moved = sweep(graph, messages, order, damping)
    assert found.tolist() == pytest.approx(expected.tolist(), abs=1e-9)
    assert moved == pytest.approx(farthest, abs=1e-9)
    assert not messages.any(), "the messages before are kept"


@settings(quick, max_examples=tries(20))
@given(graphs())
def test_rounds_as_written_are_the_compiled_ones(graph: FactorGraph) -> None:
    messages, _ = flood(graph, no_messages(graph), 0.1)
    order = np.arange(graph.factor_count)
    for at_once in (True, False):
        by_numba, written = (run(graph, messages, order, 0.1, at_once) for run in both("rounds"))
        assert written[0].tolist() == pytest.approx(by_numba[0].tolist(), abs=1e-12)
        assert written[1] == pytest.approx(by_numba[1], abs=1e-12)
    assert kernels.bethe(graph, messages) == pytest.approx(
        compiled(kernels.bethe)(graph, messages), abs=1e-12
    )


def test_the_workspace_holds_the_widest_factor() -> None:
    assembly = Assembly([2] * 12)
    assembly.add_tables(Tables(np.array([[0, 1, 2]]), np.array([0]), np.zeros((1, 2, 2, 2))))
    assembly.add_somes(
        Somes(np.array([0]), np.array([0, 11]), np.arange(1, 12), np.zeros(11, np.int64), [(1,)])
    )
    graph = assembly.build()
    assert graph.table_starts.tolist() == [0, SOME]
    for run in both("_workspace"):
        incoming, outgoing, places, joint, shares = run(graph)
        assert (len(incoming), len(outgoing), len(places)) == (24, 24, 12)
        assert len(joint) == len(shares) == 12


def test_a_graph_of_no_factors_is_its_axes() -> None:
    assembly = Assembly([2, 3], [2.0, 1.0])
    assembly.unary[:] = [0.0, 1.0, 0.5, NEVER, 0.0]
    assembly.constant = 0.25
    graph = assembly.build()
    expected = 0.25 + 2 * math.log(1 + math.e) + math.log(math.exp(0.5) + 1)
    for run in both("bethe"):
        assert run(graph, np.zeros(0)) == pytest.approx(expected)
    assembly.unary[:2] = NEVER
    assert kernels.bethe(assembly.build(), np.zeros(0)) == -math.inf
