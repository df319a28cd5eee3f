"""Clusters and the program over their tables: every distribution of the network is in it, others not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.credal.cluster_program import Cluster, TableProgram, clusters_of, table_program
from herbrand.engines.credal.interval import MOST_CORE, MOST_WIDTH, WIDE, LocalQuery, Size, size_of
from herbrand.engines.credal.lowering import credal_network
from herbrand.engines.credal.markov import Graph, graph_of
from herbrand.engines.credal.network_part import NetworkPart, sentences_of
from herbrand.engines.credal.polynomial import PolynomialProgram
from herbrand.errors import BudgetError
from tests.engines.credal.ariel.networks import Hidden, bayesian, independent
from tests.laws import tries
from tests.work import lines

some = settings(deadline=None, max_examples=tries(15))
seeds = st.integers(0, 2**32 - 1)


def part_of(text: str, markov: bool = True) -> NetworkPart:
    network = credal_network(hb.Model(hb.parse(text)).program)
    count = len(network.atoms)
    graph = graph_of(network) if markov else Graph.of(count, np.empty((0, 2), np.int64))
    return NetworkPart(graph, tuple(sentences_of(network)), tuple(range(count)), markov)


def hidden_of(seed: int, cyclic: bool) -> Hidden:
    return independent(seed, 4, 4) if cyclic else bayesian(seed, 5, most_parents=3)


def named(hidden: Hidden, part: NetworkPart) -> np.ndarray:
    """The hidden masses with an axis for each atom of the part, in the order of the theory."""
    network = credal_network(hb.Model(hb.parse(hidden.text)).program)
    places = [int(text[1:]) for text in network.atoms.texts()]
    missing = [a for a in range(hidden.count) if a not in places]
    masses = hidden.masses.reshape((2,) * hidden.count)
    return masses.transpose(places + missing).sum(axis=tuple(range(len(places), hidden.count)))


@some
@given(seeds, st.booleans(), st.booleans())
def test_clusters_eliminate_every_atom_that_is_on_no_cycle(seed: int, cyclic: bool, markov: bool) -> None:
    part = part_of(hidden_of(seed, cyclic).text, markov)
    clusters, core = clusters_of(part), set(part.graph.core)
    assert [c.atom for c in clusters] == list(dict.fromkeys(c.atom for c in clusters))
    assert {c.atom for c in clusters} | core == set(range(part.graph.count))
    gone: set[int] = set()
    for cluster in clusters:
        assert gone.isdisjoint(cluster.neighbours) and cluster.atom not in cluster.neighbours
        assert not set(part.graph.out[cluster.atom]) - gone, "children go first"
        assert set(cluster.parents) <= set(cluster.neighbours)
        if not markov:
            assert cluster.parents == cluster.neighbours
        assert cluster.width == len(cluster.neighbours) + 1
        gone.add(cluster.atom)


@some
@given(seeds, st.booleans(), st.sets(st.integers(0, 3), max_size=3))
def test_every_sentence_and_scope_lies_within_one_table(seed: int, cyclic: bool, scope: set[int]) -> None:
    part = part_of(hidden_of(seed, cyclic).text)
    tables = [{c.atom, *c.neighbours} for c in clusters_of(part, [scope])] + [set(part.graph.core)]
    for wanted in (scope, *(set(sentence.atoms) for sentence in part.sentences)):
        assert any(wanted <= table for table in tables)
    for earlier, later in itertools.pairwise(clusters_of(part, [scope])):
        assert earlier.atom not in later.neighbours


def test_clusters_of_a_collider_and_of_a_chain() -> None:
    chain = NetworkPart(Graph.of(3, np.array([[0, 1], [1, 2]])), (), (0, 1, 2), True)
    assert clusters_of(chain) == (Cluster(2, (1,), (1,)), Cluster(1, (0,), (0,)), Cluster(0, (), ()))
    assert clusters_of(chain, [(0, 2)]) == (
        Cluster(2, (0, 1), (1,)),
        Cluster(1, (0,), (0,)),
        Cluster(0, (), ()),
    )
    collider = NetworkPart(Graph.of(3, np.array([[0, 2], [1, 2]])), (), (0, 1, 2), True)
    assert clusters_of(collider)[0] == Cluster(2, (0, 1), (0, 1))
    assert clusters_of(NetworkPart(Graph.of(0, np.empty((0, 2), np.int64)), (), (), True)) == ()


def values_of(made: TableProgram, masses: np.ndarray) -> np.ndarray:
    """The variables of a program for a distribution: tables are marginals, the others quotients of these."""
    found = np.full(made.program.size, np.nan)
    found[made.cases.total] = masses.sum()
    everything = set(range(masses.ndim))
    for table in made.cases.tables:
        over = masses.sum(axis=tuple(sorted(everything - set(table.atoms))))
        over = over.transpose(np.argsort(np.argsort(table.atoms))).reshape((2,) * len(table.atoms))
        if table.split is None:
            found[table.whole] = over.reshape(-1)
        else:
            found[table.whole] = over.sum(axis=-1).reshape(-1)
            part, rest = table.split
            found[part] = over[..., 1].reshape(-1)
            found[rest] = over[..., 0].reshape(-1)
    return found


def complete(made: TableProgram, found: np.ndarray) -> np.ndarray:
    """Conditional probabilities from the products that define them; free ones within their bounds."""
    program = made.program
    for _ in range(2):
        for result, theta, whole in program.products.tolist():
            if np.isnan(found[theta]) and found[whole] > 1e-12 and not np.isnan(found[result]):
                found[theta] = found[result] / found[whole]
    loose = np.isnan(found)
    found[loose] = ((program.lower + program.upper) / 2)[loose]
    return found


def violation(program: PolynomialProgram, found: np.ndarray) -> float:
    rows = program.rows @ found
    worst = [0.0, (program.row_lower - rows).max(initial=0), (rows - program.row_upper).max(initial=0)]
    worst += [(program.lower - found).max(initial=0), (found - program.upper).max(initial=0)]
    products = program.products
    worst.append(np.abs(found[products[:, 0]] - found[products[:, 1]] * found[products[:, 2]]).max(initial=0))
    return float(max(worst))


@some
@given(seeds)
def test_a_distribution_of_the_network_satisfies_the_program(seed: int) -> None:
    """And one with other conditional probabilities does not."""
    hidden = bayesian(seed, 4, most_parents=3)
    part = part_of(hidden.text)
    masses = named(hidden, part)
    made = table_program(part)
    found = complete(made, values_of(made, masses))
    assert violation(made.program, found) <= 1e-6
    for sentence in part.sentences:
        event = made.cases.expectation(sentence.atoms, sentence.event)
        axes = tuple(a for a in range(masses.ndim) if a not in sentence.atoms)
        local = masses.sum(axis=axes).transpose(np.argsort(np.argsort(sentence.atoms)))
        assert float(event.factors @ found[event.variables]) == pytest.approx(
            float(local[sentence.event].sum())
        )


@some
@given(seeds)
def test_one_that_breaks_an_independence_or_a_sentence_does_not(seed: int) -> None:
    part = part_of("P(a) in [0.2, 0.3]\nP(b) in [0.6, 0.7]\nP(a and b) >= 0\nP(a or b) <= 0.9")
    made = table_program(part)
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(0.2, 0.3), rng.uniform(0.6, 0.7)
    good = np.outer((1 - a, a), (1 - b, b))
    linked = good + np.array([[1, -1], [-1, 1]]) * 0.05
    outside = np.outer((0.5, 0.5), (1 - b, b))
    assert violation(made.program, complete(made, values_of(made, good))) <= 1e-9
    for wrong in (linked, outside):
        assert violation(made.program, complete(made, values_of(made, wrong))) > 1e-3


def test_probabilities_of_what_is_over_no_atom_are_parts_of_the_whole() -> None:
    made = table_program(part_of("P(a) <= 0.5"))
    for truth in (True, False):
        found = made.cases.expectation((), np.array(truth))
        assert found.variables.tolist() == [made.cases.total] and found.factors.tolist() == [float(truth)]


@some
@given(seeds, st.booleans(), st.booleans())
def test_the_size_is_told_before_the_program_is_made(seed: int, cyclic: bool, asked: bool) -> None:
    part = part_of(hidden_of(seed, cyclic).text)
    query = LocalQuery((0, 2), np.ones((2, 2), bool)) if asked else None
    made = table_program(part, [] if query is None else [query.atoms])
    size = size_of(part, query)
    assert size.core == len(part.graph.core)
    assert size.width == max(len(table.atoms) for table in made.cases.tables)
    held = sum(2 ** len(table.atoms) for table in made.cases.tables)
    assert size.entries == held + (0 if part.graph.core else 1)  # an empty core counts one
    assert (size.products > 0) == (len(made.program.products) > 0)
    assert size.products >= len(made.program.products)
    assert size.fits(None) and size.seconds > 0


@some
@given(seeds, st.booleans(), st.booleans())
def test_the_atom_that_links_fewest_of_its_neighbours_goes_first(
    seed: int, cyclic: bool, markov: bool
) -> None:
    part = part_of(hidden_of(seed, cyclic).text, markov)
    scopes = [part.graph.core, *(sentence.atoms for sentence in part.sentences)]
    scopes += [(atom, *part.graph.parents(atom)) for atom in range(part.graph.count)]
    linked = {frozenset(pair) for scope in scopes for pair in itertools.combinations(set(scope), 2)}
    left = set(range(part.graph.count)) - set(part.graph.core)

    def around(atom: int) -> list[int]:
        return sorted(other for pair in linked if atom in pair for other in pair - {atom})

    def rank(atom: int) -> tuple[int, int, int]:
        pairs = map(frozenset, itertools.combinations(around(atom), 2))
        return len(set(pairs) - linked), len(around(atom)), atom

    for cluster in clusters_of(part):
        assert cluster.atom == min((a for a in left if not left & set(part.graph.out[a])), key=rank)
        assert list(cluster.neighbours) == around(cluster.atom)
        linked |= set(map(frozenset, itertools.combinations(cluster.neighbours, 2)))
        linked = {pair for pair in linked if cluster.atom not in pair}
        left.remove(cluster.atom)


def linked_atoms(count: int, distances: Sequence[int]) -> NetworkPart:
    stated = (f"P(a{i} or a{(i * d + d) % count}) >= 0.3" for i in range(count) for d in distances)
    return part_of("\n".join(stated), markov=False)


def test_the_work_for_the_size_grows_as_the_network_does() -> None:
    """Each atom that went cost a look at all others: 2,000 atoms took minutes, under any time limit."""
    small, large = (lines(clusters_of, linked_atoms(count, [1])) for count in (100, 400))
    assert large < 6 * small
    wide = linked_atoms(300, [1, 7, 11])
    assert size_of(wide).width > WIDE and not size_of(wide).fits(None)
    assert len(clusters_of(wide, (), WIDE)) < 0.95 * len(clusters_of(wide))


def test_what_does_not_fit_is_refused_in_words() -> None:
    assert Size(28, 2, 0, 3).fits(None) and not Size(28, 2, 0, 3).fits(1000)
    assert not Size(0, 0, MOST_CORE + 1, 3).fits(None) and not Size(10, 0, 0, MOST_WIDTH + 1).fits(None)
    Size(28, 2, MOST_CORE, MOST_WIDTH).check(None, "a")
    with pytest.raises(BudgetError) as raised:
        Size(0, 0, 1200, 3).check(None, "a | b")
    assert (
        "P(a | b) depends on 1,200 atoms on or above cycles of the network; the exact engine takes 10"
        in str(raised.value)
    )
    with pytest.raises(BudgetError) as raised:
        Size(2**20, 0, 0, 17).check(None, "a")
    assert "P(a) needs a table over 17 atoms, about 2.0 GB in all" in str(raised.value)
    assert "--engine ariel takes larger ones" in str(raised.value)
    assert Size(100, 5, 0, 3).seconds < Size(100, 50, 0, 3).seconds < Size(100_000, 50, 0, 3).seconds


def test_a_core_of_cycles_is_one_table_with_its_own_statements() -> None:
    """Four atoms on one ring: each is independent of the opposite one given its neighbour above."""
    ring = "\n".join(f"P(x{i} | x{(i + 1) % 4}) in [0.2, 0.7]" for i in range(4))
    part = part_of(ring)
    assert part.graph.core == (0, 1, 2, 3) and clusters_of(part) == ()
    made = table_program(part)
    (table,) = made.cases.tables
    assert table.split is None and len(table.whole) == 16
    uniform = np.full((2,) * 4, 1 / 16)
    assert math.isclose(float(values_of(made, uniform)[table.whole].sum()), 1.0)


def test_a_sentence_about_one_case_bounds_the_conditional_itself() -> None:
    """So that a search knows it from the start; where such sentences cross the case has no probability."""
    text = "P(c | a and b) in [0.2, 0.3]\nP(c and d) >= 0\nP(d | e) <= 0.5\nP(e | d) <= 0.5"
    for more, known in (("", True), ("\nP(c | a and b) >= 0.25", False), ("\nP(c | a and b) >= 0.6", False)):
        program = table_program(part_of(text + more)).program
        theta = np.unique(program.products[:, 1])
        ends = set(zip(program.lower[theta].tolist(), program.upper[theta].tolist(), strict=True))
        assert ((0.2, 0.3) in ends) == known and ((0.25, 0.3) in ends) == more.endswith("0.25")
        assert all(low <= high for low, high in ends)
