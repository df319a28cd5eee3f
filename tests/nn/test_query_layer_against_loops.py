"""The query layer beside plain loops over proofs: answers, and slopes by differences of the loops."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

import herbrand as hb
from herbrand.errors import LanguageError
from herbrand.language import syntax as s
from herbrand.language.theory import Theory
from tests.oracles import proofs as oracle
from tests.oracles.logic_layer import slope

EDGES = """\
type node = {"a", "b", "c"}
predicate edge(node, node): learned
predicate red(node): observed
predicate path(node, node)
edge("a", "b") @ 0.5
edge("b", "c") @ 2
edge("c", "a") @ 1.5
edge("a", "a") @ 0.25
red("b")
red("c")
"""
DEPTH = 4


@dataclass(frozen=True)
class Case:
    """``goal`` with all variables free; ``learned`` facts are weighed; those of ``neural`` with each call."""

    rules: str
    head: str = EDGES
    goal: str = "path(x, y)"
    neural: tuple[str, ...] = ()


CASES = {
    "a copy": Case("path(x, y) :- edge(x, y)\n"),
    "two steps": Case("path(x, z) :- edge(x, y), edge(y, z)\n"),
    "recursion": Case("path(x, y) :- edge(x, y)\npath(x, z) :- edge(x, y), path(y, z)\n"),
    "weights of rules": Case("path(x, y) :- edge(x, y) @ ?\npath(x, z) :- edge(x, y), path(y, z) @ ?\n"),
    "stated and learned weights": Case("path(x, y) :- edge(x, y) @ 0.7\npath(x, y) :- edge(y, x) @ ?\n"),
    "a loop at one node": Case("path(x, y) :- edge(x, x), edge(x, y)\n"),
    "what is not so": Case(
        "path(x, y) :- edge(x, y), not red(x)\npath(x, y) :- edge(y, x), not edge(x, x)\n"
    ),
    "comparisons": Case('path(x, y) :- edge(x, z), edge(z, y), x != y\npath(x, y) :- edge(x, y), x = "a"\n'),
    "the same fact twice": Case("path(x, y) :- edge(x, y), edge(x, y)\n"),
    "one call for two": Case(
        "predicate near(node, node)\npath(x, y) :- near(x, y), near(y, x)\n"
        "near(x, y) :- edge(x, z), edge(z, y) @ ?\n"
    ),
    "anything": Case("path(x, y) :- edge(x, _), edge(_, y)\n"),
    "neural": Case("path(x, y) :- edge(x, y)\npath(x, z) :- edge(x, y), path(y, z) @ ?\n", neural=("edge",)),
    "neural and learned": Case(
        "path(x, y) :- edge(x, z), look(z, y)\n",
        EDGES + 'predicate look(node, node): learned\nlook("b", "c") @ 3\nlook("b", "a")\n',
        neural=("look",),
    ),
    "neural without facts": Case(
        "path(x, y) :- edge(x, z), shows(z, y), not red(y)\n",
        EDGES + "predicate shows(node, node): learned\n",
        neural=("shows",),
    ),
}


@dataclass(frozen=True)
class Twins:
    """A layer whose goal is given its first variable, and the same rules and facts for the loops."""

    layer: hb.nn.QueryLayer
    theory: Theory
    nodes: list[s.Value]
    facts: dict[str, oracle.Weights]
    scores: dict[str, Tensor]

    @staticmethod
    def of(case: Case) -> Twins:
        theory = hb.parse(case.head + case.rules)
        layer = hb.nn.QueryLayer(hb.Model(theory), case.goal, neural=case.neural, depth=DEPTH)
        nodes: list[s.Value] = list("abc")
        facts: dict[str, oracle.Weights] = {}
        for rows in theory.facts:
            for number in range(rows.row_count):
                weight = rows.numbers[number] if len(rows.numbers) else 1.0
                facts.setdefault(rows.predicate, {})[rows.row(number)] = weight
        for name in case.neural:
            facts.setdefault(name, {(x, y): 1.0 for x in nodes for y in nodes})
        generator = torch.Generator().manual_seed(3)
        scores = {
            name: torch.rand(shape, generator=generator, dtype=torch.float64).requires_grad_()
            for name, shape in layer.shapes.items()
        }
        return Twins(layer, theory, nodes, facts, scores)

    def found(self) -> Tensor:
        return self.layer({"x": self.nodes}, self.scores)

    def expected(self, facts: dict[str, oracle.Weights], rules: list[float]) -> oracle.Weights:
        """Answers by loops; ``rules`` are the weights of those that are learned."""
        waiting = iter(rules)
        weighed = [
            replace(rule, weight=next(waiting)) if isinstance(rule.weight, s.Learned) else rule
            for rule in self.theory.rules
        ]
        known = {name: frozenset(rows) for name, rows in facts.items()}
        return oracle.Proofs(weighed, facts, self.nodes, known).answers("path", DEPTH + 1)

    def weights(self) -> tuple[dict[str, oracle.Weights], list[float]]:
        """What the layer's parameters and scores are, for the loops."""
        facts = {name: dict(rows) for name, rows in self.facts.items()}
        for name, logs in zip(self.layer.weights.predicates, self.layer.weights.of_facts, strict=True):
            rows = zip(*self.layer.weights.rows(name), strict=True)
            facts[name] = dict(zip(rows, logs.exp().tolist(), strict=True))
        for name, table in self.scores.items():
            facts[name] = dict(zip(self.listed(name), table.reshape(-1).tolist(), strict=True))
        return facts, self.layer.weights.of_rules.exp().tolist()

    def listed(self, name: str) -> list[oracle.Row]:
        """The rows of a neural predicate in the order of its scores."""
        return list(zip(*self.layer.rows(name), strict=True))

    def loss(self, answers: oracle.Weights) -> float:
        """A sum of all answers, each with a number of its own."""
        return sum(
            math.cos(i) * answers.get((x, y), 0.0)
            for i, (x, y) in enumerate((x, y) for x in self.nodes for y in self.nodes)
        )


@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_of_all_proofs(name: str) -> None:
    twins = Twins.of(CASES[name])
    with torch.no_grad():
        twins.layer.weights.of_rules.uniform_(-1, 1, generator=torch.Generator().manual_seed(1))
    expected = twins.expected(*twins.weights())
    found = twins.found()
    assert found.shape == (3, 3) and found.dtype == (torch.float64 if twins.scores else torch.float32)
    for i, x in enumerate(twins.nodes):
        for j, y in enumerate(twins.nodes):
            assert found[i, j].item() == pytest.approx(expected.get((x, y), 0.0), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_slopes_of_facts_rules_and_scores(name: str) -> None:
    """Parameters are logarithms of weights, scores are weights themselves."""
    twins = Twins.of(CASES[name])
    layer = twins.layer
    with torch.no_grad():
        layer.weights.of_rules.uniform_(-1, 1, generator=torch.Generator().manual_seed(1))
    factors = torch.tensor([math.cos(i) for i in range(9)], dtype=torch.float64).reshape(3, 3)
    (twins.found().double() * factors).sum().backward()
    facts, rules = twins.weights()

    def along_fact(predicate: str, row: oracle.Row, logarithm: bool) -> float:
        def value(step: float) -> float:
            own = facts[predicate][row]
            moved = {**facts[predicate], row: own * math.exp(step) if logarithm else own + step}
            return twins.loss(twins.expected({**facts, predicate: moved}, rules))

        return slope(value)

    for predicate, logs in zip(layer.weights.predicates, layer.weights.of_facts, strict=True):
        slopes = [0.0] * len(logs) if logs.grad is None else logs.grad.tolist()
        for row, told in zip(zip(*layer.weights.rows(predicate), strict=True), slopes, strict=True):
            assert told == pytest.approx(along_fact(predicate, row, True), rel=1e-5, abs=1e-6), row
    for predicate, table in twins.scores.items():
        assert table.grad is not None
        for row, told in zip(twins.listed(predicate), table.grad.reshape(-1).tolist(), strict=True):
            assert told == pytest.approx(along_fact(predicate, row, False), rel=1e-5, abs=1e-6), row
    for number in range(len(rules)):
        told = layer.weights.of_rules.grad

        def along_rule(step: float, number: int = number) -> float:
            moved = [w * math.exp(step * (i == number)) for i, w in enumerate(rules)]
            return twins.loss(twins.expected(facts, moved))

        assert told is not None
        assert told[number].item() == pytest.approx(slope(along_rule), rel=1e-5, abs=1e-6)


def test_questions_are_answered_each_by_itself() -> None:
    """Repeated, in any order, by name or by index; and none at all."""
    twins = Twins.of(CASES["recursion"])
    whole = twins.layer({"x": ["a", "b", "c"]})
    assert torch.equal(twins.layer({"x": ["c", "a", "c", "c"]}), whole[[2, 0, 2, 2]])
    assert torch.equal(twins.layer({"x": torch.tensor([2, 0])}), whole[[2, 0]])
    assert twins.layer({"x": []}).shape == (0, 3)
    assert twins.layer({"x": torch.zeros(0, dtype=torch.int64)}).shape == (0, 3)


def test_shares_sum_to_one_where_there_is_an_answer() -> None:
    twins = Twins.of(CASES["a copy"])
    shares = twins.layer.log_shares({"x": ["a", "b", "c"]}).exp()
    assert shares.sum(1).tolist() == pytest.approx([1.0, 1.0, 1.0])
    assert shares[0].tolist() == pytest.approx([0.25 / 0.75, 0.5 / 0.75, 0.0])


def test_depth_cuts_calls() -> None:
    theory = hb.parse(CASES["recursion"].head + CASES["recursion"].rules)
    model = hb.Model(theory)
    for depth in range(4):
        layer = hb.nn.QueryLayer(model, "path(x, y)", depth=depth)
        answers = model.query('path("a", y)', depth=depth).to_arrow().to_pylist()
        by_node = {row["y"]: row["weight"] for row in answers}
        assert layer({"x": ["a"]})[0].tolist() == pytest.approx([by_node.get(y, 0.0) for y in "abc"])


def test_a_layer_learns_what_made_its_answers() -> None:
    """From equal weights back to those that gave the answers."""
    twins = Twins.of(CASES["two steps"])
    goal = twins.layer({"x": twins.nodes}).detach()
    with torch.no_grad():
        twins.layer.weights.of_facts[0].zero_()
    losses = []
    for _ in range(200):
        loss = (twins.layer({"x": twins.nodes}) - goal).square().sum()
        (slopes,) = torch.autograd.grad(loss, [twins.layer.weights.of_facts[0]])
        losses.append(loss.item())
        with torch.no_grad():
            twins.layer.weights.of_facts[0].sub_(0.03 * slopes)
    assert losses[-1] < 1e-3 * losses[0]


def test_rows_tell_which_fact_a_score_is_of() -> None:
    """Facts stand in the order of the constants, however they were stated."""
    twins = Twins.of(CASES["neural"])
    assert twins.listed("edge") == [("a", "a"), ("a", "b"), ("b", "c"), ("c", "a")]
    pairs = Twins.of(CASES["neural without facts"])
    assert pairs.listed("shows") == [(x, y) for x in "abc" for y in "abc"]
    assert pairs.layer.rows("edge")[1] == ("a", "b", "c", "a")
    with pytest.raises(LanguageError) as error:
        pairs.layer.rows("show")
    assert str(error.value) == "'show' has no scores and no learned weights\n  did you mean 'shows'?"
    with pytest.raises(LanguageError) as error:
        pairs.layer.rows("red")
    assert str(error.value) == "'red' has no scores and no learned weights\n  neural or learned: shows, edge"


def test_a_copy_keeps_its_own_weights() -> None:
    layer = Twins.of(CASES["weights of rules"]).layer
    copied = copy.deepcopy(layer)
    before = copied(["a"])
    with torch.no_grad():
        layer.weights.of_rules.fill_(2.0)
        layer.weights.of_facts[0].fill_(1.0)
    assert torch.equal(copied(["a"]), before) and not torch.equal(layer(["a"]), before)
