"""Rules of knowledge graphs: every count is that of plain loops over all entities."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import herbrand as hb
from herbrand.errors import FactsError, HerbrandError, UnsupportedError
from herbrand.induction import ranking
from herbrand.induction.database import Database, World
from herbrand.induction.evaluation import derived
from herbrand.induction.graph import KnowledgeGraph
from herbrand.induction.link_prediction import link_scores
from herbrand.induction.mining import MinedRule, MiningLimits, mine
from herbrand.induction.ranking import KEPT
from herbrand.induction.walks import measured, signatures
from herbrand.loops import compiled
from herbrand.options.table import LONGEST_BODY
from tests.oracles import knowledge_graph as oracle

SIZE = 7


def triples(seed: int, relations: int = 2) -> dict[str, set[tuple[int, int]]]:
    rng = np.random.default_rng(seed)
    return {
        f"r{n}": {(int(a), int(b)) for a, b in np.argwhere(rng.random((SIZE, SIZE)) < 0.2)}
        for n in range(relations)
    }


def graph_of(known: dict[str, set[tuple[int, int]]]) -> KnowledgeGraph:
    tables = {name: np.array(sorted(rows), np.int64).reshape(-1, 2) for name, rows in known.items()}
    return KnowledgeGraph.of(tables, SIZE, [(None, False, number) for number in range(SIZE)])


def step_of(graph: KnowledgeGraph, step: int) -> oracle.Step:
    return graph.relations[step % len(graph.relations)], step >= len(graph.relations)


def derives(graph: KnowledgeGraph, known: oracle.Triples, rule: MinedRule) -> set[tuple[int, int]]:
    if rule.constant < 0:
        return oracle.walked(known, [step_of(graph, step) for step in rule.steps], SIZE)
    end = None if rule.end < 0 else rule.end
    step = step_of(graph, rule.steps[0])
    return oracle.with_constants(known, step, rule.constant, end, rule.of_subject, SIZE)


@pytest.mark.parametrize("seed", range(3))
def test_counts_are_those_of_plain_loops(seed: int) -> None:
    known = triples(seed)
    graph = graph_of(known)
    rules = mine(graph, MiningLimits(length=3, support=1, confidence=0.0))
    for rule in rules:
        head = graph.relations[rule.head]
        expected = oracle.counts(known, head, derives(graph, known, rule), int(rule.of_subject))
        assert (rule.support, rule.body, rule.pca_body) == expected and rule.exact
    walks = {
        (graph.relations[r.head], tuple(step_of(graph, s) for s in r.steps)) for r in rules if r.constant < 0
    }
    for head in known:
        for body in oracle.every_body(known, 3):
            support = oracle.counts(known, head, oracle.walked(known, body, SIZE))[0]
            assert ((head, body) in walks) == (support > 0 and body != ((head, False),))


@pytest.mark.parametrize("seed", range(3))
def test_every_rule_with_constants_is_mined(seed: int) -> None:
    known = triples(seed + 10)
    graph = graph_of(known)
    rules = mine(graph, MiningLimits(length=1, support=2, confidence=0.0))
    found = {
        (graph.relations[r.head], step_of(graph, r.steps[0]), r.constant, r.end, r.of_subject)
        for r in rules
        if r.constant >= 0
    }
    for head in known:
        for step in oracle.every_step(known):
            for constant in range(SIZE):
                for end in range(-1, SIZE):
                    for of_subject in (False, True):
                        if step == (head, of_subject) and end in (-1, constant):
                            continue
                        pairs = oracle.with_constants(
                            known, step, constant, None if end < 0 else end, of_subject, SIZE
                        )
                        right = oracle.counts(known, head, pairs)[0]
                        assert ((head, step, constant, end, of_subject) in found) == (right >= 2)


@pytest.mark.parametrize("seed", range(3))
def test_a_rule_as_it_is_written_derives_what_was_counted(seed: int) -> None:
    """The inequalities that a rule has are those that it needs."""
    known = triples(seed + 20)
    graph = graph_of(known)
    database = Database.of([World(SIZE, {n: sorted(rows) for n, rows in known.items()}, tuple(range(SIZE)))])
    rules = mine(graph, MiningLimits(length=3, support=2))
    assert any(one.operator == "!=" for rule in rules for one in rule.clause(graph).conditions)
    for rule in rules:
        pairs = {tuple(row) for row in derived(rule.clause(graph), database).tolist()}
        assert pairs == derives(graph, known, rule)


def test_length_four_and_compiled_loops_agree_with_plain_ones() -> None:
    known = triples(5)
    graph = graph_of(known)
    body = (0, 3, 1, 2)
    expected = oracle.counts(known, "r0", oracle.walked(known, [step_of(graph, s) for s in body], SIZE))
    for run in (measured, compiled(measured)):
        counts = np.zeros(5, np.int64)
        run(np.array(body), 0, np.arange(SIZE), graph.offsets, graph.targets, 10**9, counts)
        assert tuple(counts[:3]) == expected
    found = []
    for run in (signatures, compiled(signatures)):
        buffer = np.empty((100_000, 2), np.int64)
        count, end = run(graph.rows(0), 0, 3, graph.steps, *graph.around, 10**9, buffer)
        assert end == len(graph.rows(0))
        found.append(buffer[:count].copy())
    assert np.array_equal(*found)


def test_a_small_buffer_gives_the_same_signatures() -> None:
    graph = graph_of(triples(6))
    rows = graph.rows(0)
    whole, small = np.empty((100_000, 2), np.int64), np.empty((400, 2), np.int64)
    count, _ = signatures(rows, 0, 2, graph.steps, *graph.around, 10**9, whole)
    parts, begin = [], 0
    while begin < len(rows):
        filled, begin = signatures(rows, begin, 2, graph.steps, *graph.around, 10**9, small)
        parts.append(small[:filled].copy())
    assert np.array_equal(np.concatenate(parts), whole[:count])


def test_a_part_of_the_subjects_estimates_the_rest() -> None:
    """A chain with shortcuts: the estimate from half of the subjects is near the count."""
    rng = np.random.default_rng(0)
    rows = np.unique(rng.integers(0, 300, (1500, 2)), axis=0)
    graph = KnowledgeGraph.of({"r": rows[rows[:, 0] != rows[:, 1]]}, 300)
    whole, part = np.zeros(5, np.int64), np.zeros(5, np.int64)
    order = rng.permutation(300)
    measured(np.array([0, 0]), 0, order, graph.offsets, graph.targets, 10**9, whole)
    measured(np.array([0, 0]), 0, order, graph.offsets, graph.targets, int(whole[4]) // 2, part)
    assert whole[3] == 300 and 100 < part[3] < 200
    assert part[0] * 300 / part[3] == pytest.approx(whole[0], rel=0.1)


@pytest.mark.parametrize("loops", ["plain", "compiled"])
@pytest.mark.parametrize("seed", range(4))
def test_ranks_are_those_of_plain_loops(seed: int, loops: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if loops == "compiled":
        monkeypatch.setattr(ranking, "chosen", lambda function, _: compiled(function))
    known = triples(seed + 30)
    graph = graph_of(known)
    rules = mine(graph, MiningLimits(length=2, support=1, confidence=0.0))
    rng = np.random.default_rng(seed)
    left_out = {(int(a), int(b)) for a, b in rng.integers(0, SIZE, (6, 2))} - known["r0"]
    left_out = {(a, b) for a, b in left_out if a != b}
    got = link_scores(graph, rules, np.array([(0, a, b) for a, b in sorted(left_out)]))
    right = known["r0"] | left_out
    own = [rule for rule in rules if rule.head == 0]
    pairs = [derives(graph, known, rule) for rule in own]
    best, noisy = [], []
    for subject, object in left_out:
        for asked in ("object", "subject"):
            scores, sums = [], []
            for one in range(SIZE):
                pair = (subject, one) if asked == "object" else (one, object)
                fired = [number for number, rule in enumerate(own) if pair in pairs[number]]
                # more rules are better, and an earlier one is better than a later one
                scores.append(tuple(-number for number in fired[:KEPT]))
                sums.append(-sum(np.log1p(-own[number].weight) for number in fired))
            answer = object if asked == "object" else subject
            at = 0 if asked == "object" else 1
            others = {pair[1 - at] for pair in right if pair[at] == (subject, object)[at]} - {answer}
            best.append(oracle.rank(scores, answer, others))
            noisy.append(oracle.rank(np.round(sums, 12).tolist(), answer, others))
    assert got.questions == len(best)
    assert got.by_max[0] == pytest.approx(np.mean([1 / one for one in best]))
    assert got.by_max[3] == pytest.approx(np.mean([one <= 10 for one in best]))
    assert got.by_noisy_or[0] == pytest.approx(np.mean([1 / one for one in noisy]))


def family(folder: Path) -> Path:
    """Grandparents are parents of parents; each person has one home, and most have that of their parent."""
    folder.mkdir()
    parents = [(f"p{n}", f"p{n // 2}") for n in range(2, 60)]
    of = dict(parents)
    (folder / "parent.csv").write_text("".join(f"{a},{b}\n" for a, b in parents))
    grand = [(a, of[b]) for a, b in parents if b in of]
    (folder / "grandparent.csv").write_text("".join(f"{a},{b}\n" for a, b in grand[::2]))
    left_out = folder.parent / "left_out"
    left_out.mkdir()
    (left_out / "grandparent.csv").write_text("".join(f"{a},{b}\n" for a, b in grand[1::2]))
    return folder


def test_rules_of_a_graph_answer_queries(tmp_path: Path) -> None:
    """What is mined is a theory that goes straight into a query."""
    folder = family(tmp_path / "family")
    found = hb.mine(facts=str(folder), target="grandparent", length=2, held_out=str(tmp_path / "left_out"))
    assert "grandparent(x, y) :- parent(x, z), parent(z, y)" in found.text
    assert found.links is not None and found.links.by_max[0] > 0.5
    assert repr(found) == f"{found.title}\n{found.report}"
    answers = hb.Model(found.theory, str(folder)).query(
        'grandparent("p9", y)', depth=1, algebra="independent"
    )
    assert "p2" in str(answers.to_dict())


def test_mining_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    folder = family(tmp_path / "family")
    with pytest.raises(FactsError, match="no relation 'grandparant'"):
        hb.mine(facts=str(folder), target="grandparant")
    with pytest.raises(UnsupportedError, match="--length"):
        hb.mine(facts=str(folder), length=9)
    with pytest.raises(FactsError, match=r"two columns(.|\n)*example worlds by --worlds"):
        hb.mine(facts={"red": [("a",)]})


def test_longer_bodies_are_advised_as_far_as_they_are_taken() -> None:
    facts = {"likes": [("a", "b")], "knows": [("b", "c")]}
    hints = []
    for length in (3, LONGEST_BODY):
        with pytest.raises(HerbrandError) as error:
            hb.mine(facts=facts, length=length)
        hints.append(error.value.mistakes[0].hint)
    assert hints == ["more facts, or a larger --length", "more facts"]
