"""The layer beside plain loops over all worlds: marginals, messages, and slopes by differences."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

import herbrand as hb
from herbrand.language import syntax as s
from herbrand.language.theory import Theory
from tests.engines.mean_field.beliefs import beliefs, place, values_of
from tests.engines.mean_field.theories import universe_of
from tests.oracles import logic_layer as oracle
from tests.oracles.mean_field import softmax
from tests.oracles.worlds import GroundAtom, Universe

HEAD = """\
type t = {"a", "b"}
predicate s(t)
predicate f(t, t)
predicate mood(t) in {"u", "v", "w"}
"""
SMALL = 'type t = {"a", "b"}\npredicate s(t)\npredicate f(t, t)\n'
THEORIES = {
    "a recursive rule": SMALL + "0.9: s(x) and f(x, y) => s(y)\n",
    "signs and conjunctions": SMALL + "-1.3: s(x) and f(x, x)\n0.4: f(x, y) and f(y, x)\n0: s(x)\n",
    "there is one": SMALL + "1.1: exists y: f(x, y) and s(y)\n-0.2: f(x, y)\n",
    "all are": SMALL + "0.8: s(x) <=> forall y: f(x, y)\n",
    "quantifiers that share atoms": SMALL + "0.9: exists x, y: s(x) and f(x, y) and s(y)\n",
    "many values": 'type t = {"a", "b"}\npredicate mood(t) in {"u", "v", "w"}\npredicate s(t)\n'
    '0.7: s(x) => mood(x) = "u"\n-0.5: mood(x) = v and mood(y) = v where x != y\n'
    '0.3: mood(x) in {"u", "w"}\n',
    "an atom of nobody": 'type t = {"a", "b"}\npredicate s(t)\npredicate rain\n1.2: rain => s(x)\n'
    "0.4: rain\n",
    "constants": SMALL + '0.6: s("a") and f(x, "b") => f("a", x)\n0.4: not f("b", "b")\n',
    "equality": SMALL + "1.2: s(x) and s(y) => x = y\n0.5: f(x, y) where x != y\n",
    "no statement": SMALL,
}


def number(statement: s.WeightedFormula) -> float:
    """Its weight; one that is learned starts at 0."""
    return statement.weight if isinstance(statement.weight, float | int) else 0.0


@dataclass(frozen=True)
class Twins:
    """A layer in double precision and the loops, with logits of one draw for both."""

    layer: hb.nn.LogicLayer
    slow: oracle.LogicLayer
    logits: dict[str, Tensor]
    weights: list[float]

    @staticmethod
    def of(
        text: str, universe: Universe | None = None, seed: int = 0, said: str | None = None, **options: object
    ) -> Twins:
        """``said``: the theory for the loops, where it is another."""
        theory, told = hb.parse(text), hb.parse(said or text)
        layer = hb.nn.LogicLayer(hb.Model(theory), **options).double()  # type: ignore[arg-type]
        slow = oracle.LogicLayer(universe or universe_of(told), told.formulas)
        generator = torch.Generator().manual_seed(seed)
        logits = {
            name: torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()
            for name, shape in layer.shapes.items()
        }
        if said is None:
            with torch.no_grad():  # as they were stated, not rounded to single precision
                for parameter, one in zip(layer.weights, theory.formulas, strict=True):
                    parameter.fill_(number(one))
        return Twins(layer, slow, logits, [number(one) for one in told.formulas])

    def scores(self) -> dict[GroundAtom, dict[object, float]]:
        """The logits as the loops take them."""
        problem, found = self.layer.problem, {}
        for atom, values in self.slow.atoms.items():
            table = self.logits[atom[0]].detach()
            if problem.unknowns.tables[atom[0]].true_or_false:
                found[atom] = {False: 0.0, True: float(table.reshape(-1)[place(problem, atom)])}
            else:
                row = table.reshape(-1, table.shape[-1])[place(problem, atom)].tolist()
                by_value = dict(zip(values_of(problem, atom), row, strict=True))
                found[atom] = {value: by_value[value] for value in values}
        return found

    def believed(self, marginals: Mapping[str, Tensor]) -> dict[GroundAtom, dict[object, float]]:
        return {**beliefs(self.layer.problem, marginals, self.slow)}  # type: ignore[arg-type]

    def loss(self, found: Mapping[GroundAtom, Mapping[object, float]]) -> float:
        """A weighted sum of all marginals, other weights for each."""
        dice = random.Random(5)
        return sum(dice.uniform(-1, 1) * p for told in found.values() for p in told.values())

    def torch_loss(self, marginals: Mapping[str, Tensor]) -> Tensor:
        """The same of the layer's."""
        dice, total = random.Random(5), torch.zeros((), dtype=torch.float64)
        problem = self.layer.problem
        for atom, values in self.slow.atoms.items():
            table = marginals[atom[0]]
            valued = not problem.unknowns.tables[atom[0]].true_or_false
            row = table.reshape(-1, table.shape[-1] if valued else 1)[place(problem, atom)]
            names = values_of(problem, atom)
            for value in values:
                p = row[names.index(value)] if valued else (row[0] if value else 1 - row[0])
                total = total + dice.uniform(-1, 1) * p
        return total


def assert_same_slopes(
    twins: Twins, iterations: int, damping: float, accuracy: float = 1e-8, settled: bool = False
) -> None:
    """Of the loss, along every logit and every weight; ``settled``: where the loops end, from there on."""
    scores, weights = twins.scores(), twins.weights

    begun = twins.slow.run(scores, weights, iterations, damping) if settled else None

    def value(scores: oracle.Logits, weights: list[float]) -> float:
        found = twins.slow.run(scores, weights, iterations, damping, begun)
        return twins.loss({atom: softmax(row) for atom, row in found.items()})

    loss = twins.torch_loss(twins.layer(twins.logits))
    assert loss.item() == pytest.approx(value(scores, weights), abs=1e-8)
    found = torch.autograd.grad(
        loss, [*twins.logits.values(), *twins.layer.parameters()], allow_unused=True, materialize_grads=True
    )
    by_name = dict(zip(twins.logits, found, strict=False))
    for atom, row in scores.items():
        valued = not twins.layer.problem.unknowns.tables[atom[0]].true_or_false
        table = by_name[atom[0]]
        slopes = table.reshape(-1, table.shape[-1] if valued else 1)[place(twins.layer.problem, atom)]
        names = values_of(twins.layer.problem, atom) if valued else [True]
        for value_, told in zip(names, slopes.tolist(), strict=True):
            if value_ not in row:
                assert told == 0.0
                continue

            def moved(step: float, atom: GroundAtom = atom, at: object = value_) -> float:
                return value({**scores, atom: {**scores[atom], at: scores[atom][at] + step}}, weights)

            assert told == pytest.approx(oracle.slope(moved), abs=accuracy), (atom, value_)
    for number, told in enumerate(found[len(by_name) :]):

        def weighed(step: float, number: int = number) -> float:
            return value(scores, [w + step * (i == number) for i, w in enumerate(weights)])

        assert told.item() == pytest.approx(oracle.slope(weighed), abs=accuracy), number


@pytest.mark.parametrize("name", THEORIES)
def test_marginals_messages_and_expectations(name: str) -> None:
    for iterations, damping in ((1, 0.0), (3, 0.0), (2, 0.7)):
        twins = Twins.of(THEORIES[name], iterations=iterations, damping=damping)
        found = twins.believed(twins.layer(twins.logits))
        for atom, told in twins.slow.run(twins.scores(), twins.weights, iterations, damping).items():
            assert found[atom] == pytest.approx(softmax(told), abs=1e-9), (iterations, atom)
    marginals = {n: t.detach() for n, t in twins.layer.problem.unknowns.marginals(twins.logits).items()}
    believed = twins.believed(marginals)
    assert twins.layer.expected(marginals).item() == pytest.approx(
        twins.slow.expected(believed, twins.weights), abs=1e-9
    )
    messages = twins.layer.messages(marginals)
    for atom, told in twins.slow.said(believed, twins.weights).items():
        table = messages[atom[0]].detach()
        if twins.layer.problem.unknowns.tables[atom[0]].true_or_false:
            ours = float(table.reshape(-1)[place(twins.layer.problem, atom)])
            assert ours == pytest.approx(told[True] - told[False], abs=1e-9)
            continue
        row = table.reshape(-1, 3)[place(twins.layer.problem, atom)].tolist()
        apart = [one - row[0] for one in row]
        assert apart == pytest.approx([one - told["u"] for one in told.values()], abs=1e-9)


@pytest.mark.parametrize("name", THEORIES)
def test_slopes_of_unrolled_layers(name: str) -> None:
    assert_same_slopes(Twins.of(THEORIES[name], iterations=2, damping=0.3), 2, 0.3)


@pytest.mark.parametrize("name", ["a recursive rule", "there is one", "many values", "an atom of nobody"])
def test_slopes_at_the_fixed_point(name: str) -> None:
    """Half-way steps of the loops until nothing moves, and the differences of where they end."""
    twins = Twins.of(THEORIES[name], iterations=None, tolerance=1e-13)
    assert_same_slopes(twins, 200, 0.4, 1e-7, settled=True)
    assert twins.layer.converged


EVIDENCE = (
    HEAD + '0.8: s(x) and f(x, y) => s(y)\n0.5: s(x) => mood(x) = "v"\n'
    's("a") ~ 0.8\nf("a", "b")\nnot f("b", "a")\n'
    'mood("a") = "w" ~ 0.6\nnot mood("b") = "u"\nf("a", "a") ~ 0.1\nnot f("b", "b")\n'
)


def test_evidence_hard_and_soft() -> None:
    theory = hb.parse(EVIDENCE)
    plain = universe_of(Theory((*theory.types, *theory.predicates)))
    known = {
        ("f", ("a", "b")): True,
        ("f", ("b", "a")): False,
        ("f", ("b", "b")): False,
    }
    soft = [
        (("s", ("a",)), True, math.log(4)),
        (("mood", ("a",)), "w", math.log(0.6 / 0.2)),
        (("f", ("a", "a")), True, -math.log(9)),
    ]
    universe = replace(plain, known=known, soft=soft, excluded=[(("mood", ("b",)), "u")])
    twins = Twins.of(EVIDENCE, universe, iterations=2, damping=0.0)
    assert_same_slopes(twins, 2, 0.0)
    settled = Twins.of(EVIDENCE, universe, iterations=None, tolerance=1e-13)
    assert_same_slopes(settled, 200, 0.4, 1e-7, settled=True)
    found = twins.layer(twins.logits)
    assert found["f"][0, 1] == 1 and found["f"][1, 0] == 0 and found["mood"][1, 0] == 0


CLAUSES = {
    "a conjunction": ("0.75: s(x) and f(x, x)", ["s(x)", "f(x, x)"]),
    "an equivalence": ("0.75: s(x) <=> f(x, x)", ["s(x) or not f(x, x)", "not s(x) or f(x, x)"]),
    "a choice of conjunctions": (
        "-0.625: (s(x) and f(x, y)) or (f(y, x) and s(y)) where x != y",
        ["s(x) or f(y, x)", "s(x) or s(y)", "f(x, y) or f(y, x)", "f(x, y) or s(y)"],
    ),
    "either": ("0.5: s(x) xor f(x, x)", ["s(x) or f(x, x)", "not s(x) or not f(x, x)"]),
    "what always holds": ("0.5: s(x) or not s(x) or f(x, x)", []),
    "a denied disjunction": (
        "1.125: not (s(x) or f(x, y))",
        ["not s(x) or (f(x, y) and not f(x, y))", "not f(x, y)"],
    ),
}


@pytest.mark.parametrize("name", CLAUSES)
def test_clauses_weighed_apart_are_the_clauses_written_out(name: str) -> None:
    """Each over the variables of the formula; one parameter, whose slope is the sum of theirs."""
    text, clauses = CLAUSES[name]
    body, _, where = text.partition(" where ")
    weight = body.partition(":")[0]
    spelled = "".join(f"{weight}: {one}{' where ' + where if where else ''}\n" for one in clauses)
    apart = Twins.of(SMALL + text + "\n", clauses="independent", iterations=2, said=SMALL + spelled)
    written = Twins.of(SMALL + spelled, iterations=2)
    found, expected = (one.layer(one.logits) for one in (apart, written))
    for predicate, table in expected.items():
        assert torch.allclose(found[predicate], table, atol=1e-7)
    if not clauses:
        return
    (own,) = torch.autograd.grad(apart.torch_loss(found), list(apart.layer.weights))
    each = torch.autograd.grad(written.torch_loss(expected), list(written.layer.weights))
    assert own.item() == pytest.approx(sum(one.item() for one in each), abs=1e-9)


def test_a_weight_for_each_constant_is_a_statement_for_each() -> None:
    head = 'type w = {"u", "v", "x"}\ntype d = {"a", "b"}\npredicate has(d, w)\npredicate topic(d)\n'
    table = Twins.of(head + "?[k]: has(d, k) => topic(d)\n", iterations=3)
    numbers = [0.7, -0.4, 1.3]
    spelled = head + "".join(f'{w}: has(d, "{k}") => topic(d)\n' for w, k in zip(numbers, "uvx", strict=True))
    with torch.no_grad():
        table.layer.weights[0].copy_(torch.tensor(numbers))
    written = Twins.of(spelled, iterations=3)
    found, expected = table.layer(table.logits), written.layer(table.logits)
    for name in expected:
        assert torch.allclose(found[name], expected[name], atol=1e-7)
    (own,) = torch.autograd.grad(written.torch_loss(found), list(table.layer.weights))
    each = torch.autograd.grad(written.torch_loss(expected), list(written.layer.weights))
    assert own.tolist() == pytest.approx([one.item() for one in each], abs=1e-9)
