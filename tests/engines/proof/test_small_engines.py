"""Parts that stand alone: orders of joins, ranked proofs, relations; by brute force."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.engines.proof.best_proofs import ProofTree, heaviest
from herbrand.engines.proof.derivations import Derivations, Fact, Instance, Node
from herbrand.engines.proof.horn_program import HornProgram, IndexedFacts
from herbrand.engines.proof.plan import Join
from herbrand.engines.proof.planning import Plans
from herbrand.facts.facts import FactTable
from herbrand.facts.load import fact_sources, load_facts
from herbrand.language.check import check
from herbrand.language.parse import parse_theory
from herbrand.model import Model
from herbrand.program.clauses import Clause
from herbrand.program.join_order import MOST_EXACT, Candidate, best_order
from herbrand.program.join_order import _Search as Search
from tests.laws import tries

quick = settings(deadline=None, max_examples=tries(40))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)

# Orders of joins


def cost(search: Search, order: Sequence[int]) -> float:
    return math.fsum(
        search._cost(sum(1 << one for one in order[:step]), place) for step, place in enumerate(order)
    )


@quick
@given(seeds)
def test_no_order_is_cheaper_than_the_best(rng: np.random.Generator) -> None:
    sizes = {name: int(rng.integers(1, 200)) for name in "xyzw"}
    candidates = [
        Candidate(
            tuple(rng.permutation(list("xyzw"))[: rng.integers(0, 4)].tolist()),
            float(rng.uniform(0, 500)),
            bool(rng.random() < 0.3),
        )
        for _ in range(int(rng.integers(1, 5)))
    ]
    bound, outputs = (set(rng.permutation(list("xyzw"))[: rng.integers(0, 3)].tolist()) for _ in range(2))
    search = Search(candidates, frozenset(bound), frozenset(outputs), sizes)
    found = best_order(candidates, bound, outputs, sizes).places
    assert sorted(found) == list(range(len(candidates)))
    least = min(cost(search, order) for order in itertools.permutations(range(len(candidates))))
    assert cost(search, found) == pytest.approx(least)
    assert best_order(candidates, bound, outputs, sizes).cost == pytest.approx(least if len(found) > 1 else 0)
    assert sorted(search.greedy().places) == sorted(found)


def test_a_long_body_is_ordered_step_by_step() -> None:
    """A chain of fourteen relations from its known end: one after the other."""
    names = [f"v{place}" for place in range(MOST_EXACT + 4)]
    links = [Candidate((a, b), 50.0) for a, b in itertools.pairwise(names)]
    sizes = dict.fromkeys(names, 100)
    turned = links[::-1]
    assert best_order(turned, {"v0"}, {names[-1]}, sizes).places == tuple(range(len(links)))[::-1]


# The heaviest proofs


def trees(graph: Derivations, node: Node, fact: dict[int, float], rule: dict[str, float]) -> list[float]:
    """The weights of all proofs of a node of a graph without cycles."""
    found = []
    for made in graph.instances[node]:
        parts = [
            [fact[part.place]] if isinstance(part, Fact) else trees(graph, part, fact, rule)
            for part in made.parts
        ]
        found += [rule[made.clause.predicate] * math.prod(some) for some in itertools.product(*parts)]
    return found


def weight_of(tree: ProofTree | Fact, fact: dict[int, float], rule: dict[str, float]) -> float:
    if isinstance(tree, Fact):
        return fact[tree.place]
    return rule[tree.instance.clause.predicate] * math.prod(
        weight_of(part, fact, rule) for part in tree.parts
    )


@quick
@given(seeds, st.integers(1, 7))
def test_ranked_proofs_are_the_largest_of_all(rng: np.random.Generator, count: int) -> None:
    """By absolute value; each is a proof of its own, and weighs what its facts and rules say."""
    facts = {place: float(rng.choice([-2.0, -0.5, 0.5, 1.0, 3.0])) for place in range(4)}
    rules = {f"p{level}": float(rng.choice([0.5, 1.0, 2.0])) for level in range(4)}
    nodes = [Node(f"p{level}", (), None) for level in range(4)]
    graph = Derivations()
    for level, node in enumerate(nodes):
        clause = Clause(node.predicate, (), (), {})
        below: list[Node | Fact] = [*nodes[:level], *(Fact("e", (place,), place) for place in facts)]
        graph.instances[node] = [
            Instance(clause, (("n", number),), tuple(below[i] for i in rng.integers(0, len(below), 2)))
            for number in range(int(rng.integers(0, 3)))
        ]
    ranked = heaviest(
        graph, nodes[-1], lambda part: facts[part.place], lambda made: rules[made.clause.predicate]
    )
    found = list(itertools.islice(ranked, count))
    wanted = sorted(map(abs, trees(graph, nodes[-1], facts, rules)), reverse=True)[:count]
    assert [abs(proof.weight) for proof in found] == pytest.approx(wanted)
    assert all(proof.weight == pytest.approx(weight_of(proof, facts, rules)) for proof in found)
    assert len({(proof.instance, proof.parts) for proof in found}) <= len(found)


def test_what_a_node_rests_on_comes_before_it() -> None:
    one, two, three = (Node(name, (), None) for name in "abc")
    clause = Clause("a", (), (), {})

    def made(*parts: Node) -> list[Instance]:
        return [Instance(clause, (), parts)]

    chain = Derivations({one: made(two, three), two: made(three), three: []})
    assert chain.reachable(one) == [three, two, one] and chain.reachable(three) == [three]
    ring = Derivations({one: made(two), two: made(one, three), three: made(three)})
    assert sorted(node.predicate for node in ring.reachable(one)) == ["a", "b", "c"]
    assert ring.reachable(one)[-1] == one


# Relations


def table_of(
    rows: list[tuple[int, ...]], soft: dict[tuple[int, ...], float], weights: list[float] | None, width: int
) -> FactTable:
    def array(some: list[tuple[int, ...]]) -> np.ndarray:
        return np.asfortranarray(np.array(some, np.int32).reshape(len(some), width))

    probabilities = np.array(list(soft.values()), np.float64)
    return FactTable(
        array(rows), array([]), array(list(soft)), probabilities, probabilities,
        None if weights is None else np.array(weights), "open",
    )  # fmt: skip


@quick
@given(seeds)
def test_rows_by_any_of_their_columns(rng: np.random.Generator) -> None:
    """Soft facts weigh their probability, unless the fact is stated too or its probability is 0."""
    sizes = tuple(rng.integers(1, 4, rng.integers(1, 4)).tolist())
    possible = list(np.ndindex(*sizes))
    rows = [row for row in possible if rng.random() < 0.5]
    soft = {row: float(rng.choice([0.0, 0.25, 0.5])) for row in possible if rng.random() < 0.4}
    weights = rng.random(len(rows)).tolist() if rng.random() < 0.5 else None
    relation = IndexedFacts.of(table_of(rows, soft, weights, len(sizes)), sizes, len(sizes))
    expected = dict(zip(rows, weights or [1.0] * len(rows), strict=True))
    expected = {row: p for row, p in soft.items() if p > 0 and row not in expected} | expected
    assert relation.count == len(expected)
    held = relation.weights if relation.weights is not None else np.ones(relation.count)
    for bound in itertools.chain.from_iterable(
        itertools.combinations(range(len(sizes)), count) for count in range(len(sizes) + 1)
    ):
        index = relation.index(bound)
        assert relation.index(bound) is index
        asked = [tuple(int(rng.integers(sizes[place])) for place in bound) for _ in range(4)]
        columns = [np.array(column, np.int64) for column in zip(*asked, strict=True)] if bound else []
        first, counts = index.ranges(columns, 4)
        ordered = index.in_order("weights", held)
        for one, start, count in zip(asked, first.tolist(), counts.tolist(), strict=True):
            found = {}
            for place in range(start, start + count):
                row = tuple(int(index.column(column)[place]) for column in range(len(sizes)))
                own = tuple(int(c[index.entries(np.array([place]))[0]]) for c in relation.columns)
                assert own == row and all(row[b] == v for b, v in zip(bound, one, strict=True))
                found[row] = float(ordered[place])
            wanted = {
                r: w for r, w in expected.items() if all(r[b] == v for b, v in zip(bound, one, strict=True))
            }
            assert found == wanted
        assert index.is_unary == (len(bound) == 1)
        least = math.prod(max(1, sizes[place]) for place in bound)
        assert relation.fanout(bound) == pytest.approx(len(expected) / least)


# Leads


def test_few_values_lead_to_few_rows_of_a_large_relation() -> None:
    """Pairs of amounts above a sum: payments of high amounts are joined, not all of them."""
    rng = np.random.default_rng(0)
    pays = sorted({tuple(row) for row in rng.integers(0, (4_000, 4_000, 300), (40_000, 3)).tolist()})
    text = (
        "type person = 0..3999\ntype amount = 0..299\npredicate pays(person, person, amount): observed\n"
        "predicate high(amount, amount): observed\npredicate r(person, person)\n"
        "r(x, z) :- pays(x, y, a), pays(y, z, b), high(a, b)"
    )
    high = [(a, b) for a in range(300) for b in range(300) if a + b > 540]
    theory = parse_theory(text)
    loaded = load_facts((), check(theory), fact_sources({"pays": pays, "high": high}))
    plans = Plans(HornProgram.of(theory.rules, *loaded))
    (clause,) = plans.plan("r", ()).clauses
    first, second = clause.steps[:2]
    assert isinstance(first, Join) and first.predicate == plans.program.standing("high", 0)
    assert isinstance(second, Join) and second.predicate == "pays"
    found = Model(theory, {"pays": pays, "high": high}).query("r(x, z)", algebra="count")
    after: dict[int, list[tuple[int, int]]] = {}
    for y, z, b in pays:
        after.setdefault(y, []).append((z, b))
    counts = Counter((x, z) for x, y, a in pays for z, b in after.get(y, ()) if a + b > 540)
    assert len(found) == len(counts)
    assert all(found[pair] == count for pair, count in counts.items())
