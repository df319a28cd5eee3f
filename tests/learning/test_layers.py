"""Learning through layers: against a logistic regression, finite differences, and latent predicates."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

import herbrand as hb
from herbrand.errors import UnsupportedError
from herbrand.learning.example import Aim, Example, World, example
from herbrand.learning.layers import Unrolled
from herbrand.learning.messages import statement_messages
from herbrand.learning.parameters import Parameters

THEORY = """\
predicate links(page, page): observed
predicate has(page, word): observed
predicate topic(page)
?: topic(x) and links(x, y) => topic(y)
?[w]: has(x, w) => topic(x)
0.5: not topic(x)
"""


def facts(seed: int, pages: int = 8) -> dict[str, list]:
    rng = np.random.default_rng(seed)
    names = [f"p{i}" for i in range(pages)]
    pairs = rng.random((pages, pages)) < 0.25
    words = rng.random((pages, 3)) < 0.5
    return {
        "links": [(names[i], names[j]) for i, j in np.argwhere(pairs)],
        "has": [(names[i], f"w{j}") for i, j in np.argwhere(words)],
        "topic": [names[i] for i in range(pages) if words[i, 0] or rng.random() < 0.2],
    }


def world(text: str, told: dict[str, list], aim: Aim) -> Example:
    theory = hb.parse(text)
    model = hb.Model(theory, told)
    return example(theory, World(model.signature, model.program.facts), aim)


@pytest.mark.parametrize("layers", [1, 4])
def test_the_gradient_is_that_of_the_value(layers: int) -> None:
    parameters = Parameters()
    unrolled = Unrolled.of(world(THEORY, facts(0), Aim(("topic",))), parameters, layers, None)
    weights = torch.tensor(np.random.default_rng(1).normal(size=len(parameters)), requires_grad=True)
    assert torch.autograd.gradcheck(unrolled.log_likelihood, (weights,))


def test_one_layer_is_a_logistic_regression_on_the_messages() -> None:
    text = THEORY.replace("?[w]", "?").replace("0.5: not", "?: not")
    told = facts(2, 30)
    found = hb.Model(hb.parse(text), told).learn("layers", target="topic", layers=1, l2=0.7)
    seen = world(text, told, Aim(("topic",)))
    features = statement_messages(seen, "topic")
    labels = seen.labels("topic", np.arange(30))
    library = LogisticRegression(C=1 / 0.7, fit_intercept=False, tol=1e-9, max_iter=5000).fit(
        features, labels
    )
    assert [w.weight for w in found.weights] == pytest.approx(library.coef_[0], abs=2e-3)


def test_messages_by_plain_counting() -> None:
    """From uniform marginals, each grounding of a => b says half of what it would if its a were certain."""
    told = {"links": [("a", "b"), ("c", "b"), ("b", "b")], "has": [("a", "w")], "topic": ["a"]}
    seen = world(THEORY.replace("?[w]", "?"), told, Aim(("topic",)))
    assert statement_messages(seen, "topic")[:, :2].tolist() == [[-0.5, 1], [1, 0], [-0.5, 0]]


def test_weights_are_learned_through_latent_predicates() -> None:
    """Only via the latent middle can the evidence explain what is observed."""
    text = """\
        predicate cause(t): observed
        predicate middle(t)
        predicate effect(t)
        ?: cause(x) <=> middle(x)
        ?: middle(x) <=> effect(x)
        """
    told = {"cause": [f"c{i}" for i in range(10)], "effect": [f"c{i}" for i in range(10)]}
    theory = hb.parse(text + "type t = {" + ", ".join(f'"c{i}"' for i in range(20)) + "}\n")
    found = hb.Model(theory, told).learn("layers", latent="middle", l2=0.01)
    first, second = (w.weight for w in found.weights)
    assert first * second > 1
    assert found.metrics["log_likelihood"] > 0.3 * found.metrics["log_likelihood_at_zero"]
    again = hb.Model(theory, told).learn("layers", latent="middle", l2=0.01)
    assert again.text == found.text


def test_worlds_share_their_weights() -> None:
    theory = hb.parse(THEORY)
    together = hb.Model(theory).learn("layers", target="topic", worlds=[facts(3), facts(4)], layers=2)
    swapped = hb.Model(theory).learn("layers", target="topic", worlds=[facts(4), facts(3)], layers=2)
    one, other = (
        {(w.statement, *w.constants.values()): w.weight for w in found.weights}
        for found in (together, swapped)
    )
    assert one.keys() == other.keys()
    assert [other[key] for key in one] == pytest.approx(list(one.values()), abs=1e-2)


def test_many_values() -> None:
    text = """\
        predicate links(page, page): observed
        predicate topic(page) in {"a", "b", "c"}
        ?: links(x, y) and topic(x) = v => topic(y) = v
        ?[v]: topic(x) = v
        """
    told = {"links": [("p", "q")], "topic": [("p", "b"), ("q", "b"), ("r", "a")]}
    found = hb.Model(hb.parse(text), told).learn("layers", layers=3)
    weights = {w.constants.get("v"): w.weight for w in found.weights}
    assert weights["b"] > weights["a"] > weights["c"]


def test_nothing_to_learn_is_told() -> None:
    with pytest.raises(UnsupportedError, match="no statement has a weight to be learned"):
        hb.Model(hb.parse("1.0: p(x)"), {"p": ["a"]}).learn("layers", target="p")


@pytest.mark.parametrize("layers", [1, 3])
def test_a_rule_without_exceptions_has_no_finite_weight_without_a_penalty(layers: int) -> None:
    """It came out as 10, and as converged."""
    theory = hb.parse("predicate s(t): observed\npredicate c(t)\n?: s(x) => c(x)\n?: c(x)")
    known = {"s": [1, 2], "c": [1, 2, 3, 5]}
    model = hb.Model(theory + hb.parse("type t = 1..6"), known)
    found = model.learn("layers", target="c", layers=layers, l2=0)
    assert not found.status.converged and "grows without end" in found.status.advice
    assert model.learn("layers", target="c", layers=layers, l2=0.01).status.converged
    excepted = hb.Model(theory + hb.parse("type t = 1..6"), {**known, "s": [1, 2, 4]})
    assert excepted.learn("layers", target="c", layers=layers, l2=0).status.converged
