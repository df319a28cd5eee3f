"""Weights of facts and rules from right answers: losses against plain formulas, and what is learned."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand import loops
from herbrand.engines.proof.table import ROW, Table
from herbrand.errors import HerbrandError, OutOfTimeError, UnsupportedError
from herbrand.learning.proof.losses import LOSSES, Scored
from herbrand.learning.proof.questions import Questions
from tests.conftest import Outcome
from tests.laws import tries

GRID = """
type node = 0..24
predicate edge(node, node): learned
predicate path(node, node)
path(x, y) :- edge(x, y)
path(x, y) :- edge(x, z), path(z, y)
"""
FEATURES = """
topic(d, t) :- word(d, w), label(t), about(w, t)
"""
DOCUMENTS = {
    "word": [
        ("d1", "ball"),
        ("d1", "team"),
        ("d2", "paint"),
        ("d2", "team"),
        ("d3", "ball"),
        ("d4", "paint"),
    ],
    "label": ["sport", "art"],
    "topic": [("d1", "sport"), ("d2", "art")],
}


def grid_facts(side: int, weight: float) -> dict[str, object]:
    """Cells linked to those beside them and to themselves; half of the cells ask for their nearest corner."""
    cells = [(row, column) for row in range(side) for column in range(side)]
    near = [(a, b) for a in cells for b in cells if max(abs(a[0] - b[0]), abs(a[1] - b[1])) <= 1]
    number = {cell: place for place, cell in enumerate(cells)}
    right = {c: (0 if c[0] < side / 2 else side - 1, 0 if c[1] < side / 2 else side - 1) for c in cells}
    edges = {
        "a": [number[a] for a, _ in near],
        "b": [number[b] for _, b in near],
        "weight": [weight] * len(near),
    }
    return {
        "edge": pa.table(edges),
        "path": [(number[cell], number[right[cell]]) for cell in cells[::2]],
    }


@st.composite
def answered(draw: st.DrawFn) -> list[tuple[list[float], list[int]]]:
    """For each question the weights of its answers and which of them are right, one at least."""
    found = []
    for _ in range(draw(st.integers(1, 3))):
        weights = draw(st.lists(st.floats(1e-3, 20), min_size=1, max_size=4))
        rights = draw(st.sets(st.integers(0, len(weights) - 1), min_size=1))
        found.append((weights, sorted(rights)))
    return found


def scored(questions: list[tuple[list[float], list[int]]]) -> Scored:
    counts = [len(rights) for _, rights in questions]
    asked = Questions(
        "p", "p(x, y)", ("x",), np.arange(len(questions))[:, None], np.append(0, np.cumsum(counts)),
        np.array([[right] for _, rights in questions for right in rights]),
        np.array([1 / len(rights) for _, rights in questions for _ in rights]), (5,),
    )  # fmt: skip
    numbers = [place for place, (weights, _) in enumerate(questions) for _ in weights]
    answers = [place for weights, _ in questions for place in range(len(weights))]
    values = torch.tensor([w for weights, _ in questions for w in weights], dtype=torch.float64)
    return Scored.of(Table((ROW, "o0"), (np.array(numbers), np.array(answers)), values), asked)


def plain(loss: str, weights: list[float], rights: list[int]) -> float:
    """The loss of one question as its definition says."""
    shares = {
        "cross-entropy": lambda w: -math.log(w / math.fsum(weights)),
        "softmax": lambda w: -math.log(math.exp(w) / (math.exp(-10) + math.fsum(map(math.exp, weights)))),
        "margin": lambda w: max(
            [0.0, *(1 - math.log(w / v) for place, v in enumerate(weights) if place not in rights)]
        ),
    }
    return math.fsum(shares[loss](weights[right]) for right in rights) / len(rights)


@settings(max_examples=tries(40), deadline=None, phases=[Phase.reuse, Phase.generate])
@given(answered(), st.sampled_from(sorted(LOSSES)))
def test_losses(questions: list[tuple[list[float], list[int]]], loss: str) -> None:
    found = LOSSES[loss](scored(questions)).tolist()
    assert found == pytest.approx([plain(loss, *one) for one in questions], rel=1e-9, abs=1e-12)
    hits = [
        sum(w == max(weights) for place, w in enumerate(weights) if place in rights)
        / weights.count(max(weights))
        for weights, rights in questions
    ]
    assert scored(questions).accuracy().tolist() == pytest.approx(hits)


def test_logarithms_of_small_and_large_weights_have_slopes() -> None:
    """Where a softmax of the weights themselves would be 0 or 1."""
    one = scored([([1e-200, 1e150], [0])])
    one.weights.requires_grad_()
    LOSSES["cross-entropy"](one).sum().backward()
    assert one.weights.grad is not None
    assert (one.weights.grad * one.weights).tolist() == pytest.approx([-1.0, 1.0])


def test_paths_to_the_nearest_corner_are_learned_on_edges_that_exist() -> None:
    facts = grid_facts(5, 0.2)
    found = hb.Model(hb.parse(GRID), facts).learn("proof", depth=3, iterations=40)
    assert found.metrics["accuracy"] == 1.0 and found.metrics["accuracy_at_start"] < 0.6
    model = hb.Model(found.theory)
    edges = {(row.bindings["x"], row.bindings["y"]) for row in model.query("edge(x, y)").rows()}
    stated = facts["edge"].to_pydict()  # type: ignore[attr-defined]
    assert edges == set(zip(stated["a"], stated["b"], strict=True))
    assert len(found.weights) == len(edges) == found.metrics["weights"]
    held_out = 21  # row 4, column 1: not asked for in training
    assert next(model.query(f"path({held_out}, y)", depth=3).rows()).bindings["y"] == 20


def test_parts_of_a_batch_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    model = hb.Model(hb.parse(GRID), grid_facts(5, 0.2))
    whole = model.learn("proof", depth=3, iterations=5)
    monkeypatch.setattr("herbrand.learning.proof.training.MOST_ROWS", 2)
    parts = model.learn("proof", depth=3, iterations=5)
    assert [w.weight for w in parts.weights] == pytest.approx([w.weight for w in whole.weights], rel=1e-9)


def test_features_are_what_rules_lead_to() -> None:
    """``about`` has no facts: it gets those that some document can use, and learns from the labels."""
    found = hb.Model(hb.parse(FEATURES), DOCUMENTS).learn("proof", iterations=50)
    pairs = {weight.statement: weight.weight for weight in found.weights}
    assert sorted(pairs) == sorted(
        f'about("{word}", "{label}")' for word in ("ball", "paint", "team") for label in ("art", "sport")
    )
    assert pairs['about("ball", "sport")'] > 5 * pairs['about("ball", "art")']
    assert pairs['about("team", "sport")'] == pytest.approx(pairs['about("team", "art")'])
    model = hb.Model(found.theory, {name: DOCUMENTS[name] for name in ("word", "label")})
    unseen = model.query('topic("d3", t)', normalize="sum")
    assert unseen["sport"] > 0.8


def test_proofs_are_chosen_where_only_facts_of_a_learned_predicate_have_weights() -> None:
    theory = hb.parse(
        "predicate said(person, word): observed\npredicate tone(word): learned\npredicate good(person)\n"
        "good(x) :- said(x, w), tone(w)"
    )
    facts = {"said": [("ann", "fine"), ("bob", "poor")], "good": ["ann"]}
    found = hb.Model(theory, facts).learn()
    assert (found.method, found.reason) == (
        "proof",
        "only facts of learned predicates have weights to be learned",
    )
    assert found.text == hb.Model(theory, facts).learn("proof").text


def test_rule_features_of_the_original(tmp_path: Path) -> None:
    """``{f(W) : hasWord(X,W)}`` and ``{r}`` of a .ppr file are learned like any predicate."""
    (tmp_path / "t.ppr").write_text(
        "predict(X,Y) :- assign(Y,pos) {posWeight(W): hasWord(X,W)}.\n"
        "predict(X,Y) :- assign(Y,neg) {negWeight(W): hasWord(X,W)}.\n"
        "predict(X,Y) :- label(Y) {prior}.\n"
    )
    rows = [("a", "good"), ("a", "film"), ("b", "bad"), ("b", "film")]
    facts = {"hasWord": rows, "label": ["pos", "neg"], "predict": [("a", "pos"), ("b", "neg")]}
    found = hb.Model(hb.read(tmp_path / "t.ppr"), facts).learn("proof")
    weights = {weight.statement: weight.weight for weight in found.weights}
    assert weights['posWeight("good")'] > 5 > 1 > weights['posWeight("bad")']
    assert 'weighted("prior")' in weights
    assert found.metrics["accuracy"] == 1.0


def test_weights_of_rules(tmp_path: Path) -> None:
    theory = hb.parse("p(x, y) :- a(x, y) @ ?\np(x, y) :- b(x, y) @ 0.5\np(x, y) :- c(x, y) @ ?")
    facts = {"a": [(1, 2)], "b": [(1, 3)], "c": [(1, 4)], "p": [(1, 2)]}
    found = hb.Model(theory, facts).learn("proof", l2=0.05, iterations=300)
    kept = [float(str(rule.weight)) for rule in found.theory.rules]
    assert kept[1] == 0.5 and kept[0] > 1 > kept[2]
    # the slope of -log share + l2/2 log² is 0 at the end
    shares = np.array(kept) / sum(kept)
    assert (shares[0] - 1) + 0.05 * math.log(kept[0]) == pytest.approx(0, abs=1e-3)
    assert shares[2] + 0.05 * math.log(kept[2]) == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_every_loss_learns(loss: str) -> None:
    theory = hb.parse("p(x, y) :- a(x, y) @ ?\np(x, y) :- b(x, y) @ ?")
    facts = {"a": [(1, 2), (5, 6)], "b": [(1, 3), (5, 7)], "p": [(1, 2), (5, 6)]}
    found = hb.Model(theory, facts).learn("proof", loss=loss, iterations=40)
    assert found.weights[0].weight > 2 * found.weights[1].weight
    assert found.metrics["loss"] < found.metrics["loss_at_start"]


def test_any_argument_may_be_asked_for() -> None:
    theory = hb.parse("p(x, y) :- a(x, y) @ ?\np(x, y) :- b(x, y) @ ?")
    facts = {"a": [(1, 2)], "b": [(3, 2)], "p": [(1, 2)]}
    first = hb.Model(theory, facts).learn("proof", asked=1, iterations=20)
    assert first.weights[0].weight > 2 > 1 > first.weights[1].weight
    last = hb.Model(theory, facts).learn("proof", iterations=20)
    assert [w.weight for w in last.weights] == [1.0, 1.0]  # p(1, y) has one answer either way


def test_a_resumed_run_is_an_unbroken_one(tmp_path: Path) -> None:
    model = hb.Model(hb.parse(GRID), grid_facts(5, 0.2))
    options: dict[str, Any] = {"depth": 3, "batch": 4, "seed": 7}
    whole = model.learn("proof", iterations=12, **options)
    path = str(tmp_path / "state.safetensors")
    model.learn("proof", iterations=5, save=path, **options)
    resumed = model.learn("proof", iterations=12, resume=path, **options)
    assert [w.weight for w in resumed.weights] == [w.weight for w in whole.weights]
    other = model.learn("proof", iterations=12, depth=3, batch=4, seed=8)
    assert [w.weight for w in other.weights] != [w.weight for w in whole.weights]
    with pytest.raises(UnsupportedError, match="was trained on another theory or other facts"):
        hb.Model(hb.parse(FEATURES), DOCUMENTS).learn("proof", resume=path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("depth", 5),
        ("loss", "margin"),
        ("l2", 0.5),
        ("batch", 3),
        ("batch", None),
        ("rate", 0.5),
        ("seed", 8),
    ],
)
def test_a_state_of_other_options_is_refused(name: str, value: object, tmp_path: Path) -> None:
    """Some steps were of the one objective, and some of the other."""
    model, path = hb.Model(hb.parse(GRID), grid_facts(3, 0.2)), str(tmp_path / "state")
    options: dict[str, Any] = {"depth": 3, "batch": 4, "seed": 7}
    model.learn("proof", iterations=2, save=path, **options)
    with pytest.raises(UnsupportedError, match=f"trained with another --{name}") as caught:
        model.learn("proof", iterations=3, resume=path, **options | {name: value})
    assert "as it was saved" in str(caught.value)
    assert model.learn("proof", iterations=3, resume=path, rate=0.1, **options).status.iterations == 3


PATHS = """
predicate e(n, n): learned
predicate p(n, n)
p(x, y) :- e(x, y) @ ?
p(x, y) :- e(x, z), p(z, y) @ ?
"""
EDGES = {"e": [("a", "b"), ("b", "c")], "p": [("a", "b"), ("a", "c")]}


@pytest.mark.parametrize(
    ("theory", "facts"),
    [
        (PATHS, {**EDGES, "e": [("a", "b"), ("a", "c")]}),
        (PATHS, {"e": [("u", "v"), ("v", "w")], "p": [("u", "v"), ("u", "w")]}),
        (PATHS, {**EDGES, "p": [("a", "b"), ("b", "c")]}),
        (PATHS + 'e("a", "b") @ 2\n', EDGES),
        (PATHS.replace("e(x, z), p(z, y)", "e(y, x)"), EDGES),
    ],
    ids=["facts", "constants", "answers", "weights", "rules"],
)
def test_a_state_of_another_run_is_refused(theory: str, facts: dict[str, Any], tmp_path: Path) -> None:
    """As many facts and rules are not the same ones: their weights went to others without a word."""
    path = str(tmp_path / "state")
    first = hb.Model(hb.parse(PATHS), EDGES).learn("proof", iterations=3, save=path, resume=path)
    assert first.status.iterations == 3
    assert hb.Model(hb.parse(PATHS), EDGES).learn("proof", iterations=4, resume=path).status.iterations == 4
    with pytest.raises(UnsupportedError, match="was trained on another theory or other facts"):
        hb.Model(hb.parse(theory), facts).learn("proof", iterations=6, resume=path)


def test_compiled_loops_learn_the_same_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that resumes in another process compiles earlier or later: its weights had other last digits."""
    model = hb.Model(hb.parse(GRID), grid_facts(5, 0.2))
    texts = set()
    for most in (-1.0, float("inf")):
        monkeypatch.setattr(loops, "MOST_PLAIN", most)
        texts.add(model.learn("proof", iterations=2).text)
    assert len(texts) == 1


def test_a_time_limit_ends_training_with_what_it_has(tmp_path: Path) -> None:
    """What was learned until then is measured and kept; it was lost, as the clock was asked within a step."""
    model, path = hb.Model(hb.parse(GRID), grid_facts(5, 0.2)), str(tmp_path / "state")
    cut = model.learn("proof", iterations=1_000_000, time_limit=1.0, save=path)
    assert not cut.status.converged and cut.status.advice.startswith("stopped after")
    assert 0 < cut.metrics["loss"] < cut.metrics["loss_at_start"]
    more = cut.status.iterations + 2
    whole = model.learn("proof", iterations=more)
    assert model.learn("proof", iterations=more, resume=path).text == whole.text
    with pytest.raises(OutOfTimeError, match="--time-limit"):
        model.learn("proof", time_limit=0.0)


def test_patience_ends_training() -> None:
    theory = hb.parse("p(x, y) :- a(x, y) @ ?")
    found = hb.Model(theory, {"a": [(1, 2)], "p": [(1, 2)]}).learn("proof", patience=3)
    assert found.status.iterations < 10 and found.status.converged


def test_questions_without_proof_are_told() -> None:
    theory = hb.parse("p(x, y) :- a(x, y) @ ?\np(x, y) :- b(x, y) @ ?")
    facts = {"a": [(1, 2)], "b": [(1, 3)], "p": [(1, 2), (4, 3), (1, 4)]}
    found = hb.Model(theory, facts).learn("proof", iterations=30)
    assert (found.metrics["questions"], found.metrics["without_proof"]) == (2, 1)
    assert found.metrics["accuracy"] == 0.5
    assert found.weights[0].weight > 2


WRONG = {
    "nothing to learn": ("p(x) :- e(x)", {"e": [1], "p": [1]}, {}, "no weight is to be learned"),
    "no labels": ("p(x) :- e(x) @ ?", {"e": [1]}, {}, "nothing is there to learn from"),
    "not derived": ("p(x) :- e(x) @ ?", {"e": [1], "p": [1]}, {"target": "e"}, "no rule derives it"),
    "unknown target": ("p(x) :- e(x) @ ?", {"e": [1], "p": [1]}, {"target": "q"}, "no predicate 'q'"),
    "no proof": ("p(x) :- e(x) @ ?", {"e": [1], "p": [2]}, {}, "no proof leads to the right answer"),
    "latent": ("p(x) :- e(x) @ ?", {"e": [1], "p": [1]}, {"latent": "e"}, "--latent e"),
    "loss": ("p(x) :- e(x) @ ?", {"e": [1], "p": [1]}, {"loss": "crossentropy"}, "there is no loss"),
    "argument": ("p(x) :- e(x) @ ?", {"e": [1], "p": [1]}, {"asked": 2}, "p has 1 argument"),
    "depth": ("p(x) :- e(x) @ ?", {"e": [1], "p": [1]}, {"depth": -1}, "--depth is a whole number from 0 on"),
    "worlds": (
        "predicate e(n): learned\npredicate p(n)\np(x) :- e(x)", {}, {"worlds": [{"e": [1], "p": [1]}] * 2},
        "weights of facts, here those of e, in one world alone",
    ),
    "start": (
        'predicate e(n): learned\npredicate p(n)\np(x) :- e(x)\ne("a") @ -1\np("a")', {}, {},
        "starts above 0",
    ),
    "too large": (
        "p(x, y) :- e(x, y)\np(x, y) :- e(x, z), p(z, y)\np(x, y) :- e(x, y) @ ?\ne(1, 1) @ 1e30\np(1, 1)",
        {}, {"depth": 12}, "larger than any float",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("theory", "facts", "options", "message"), WRONG.values(), ids=WRONG)
def test_wrong_input_is_told(
    theory: str, facts: dict[str, object], options: dict[str, object], message: str
) -> None:
    with pytest.raises(HerbrandError, match=message):
        hb.Model(hb.parse(theory), facts).learn("proof", **options)  # type: ignore[arg-type]


def test_from_the_command_line(tmp_path: Path, herbrand: Callable[..., Outcome]) -> None:
    path = tmp_path / "theory.hb"
    path.write_text('p(x, y) :- a(x, y) @ ?\np(x, y) :- b(x, y) @ ?\na("u", "v")\nb("u", "w")\np("u", "v")\n')
    learned = tmp_path / "learned.hb"
    done = herbrand("learn", path, "--method", "proof", "--format", "json", "-o", learned, "--loss", "margin")
    assert done.status == 0, done.err
    told = json.loads(done.out)
    assert told["metrics"]["accuracy"] == 1.0 and told["method"] == "proof"
    answers = herbrand("query", learned, 'p("u", "w")', "--format", "json")
    assert json.loads(answers.out)["answers"][0]["weight"] == told["weights"][1]["weight"]
    refused = herbrand("learn", path, "--method", "proof", "--loss", "margins")
    assert refused.status == 1 and "margin" in refused.err


def test_right_answers_are_not_written_back() -> None:
    """As facts of the theory they would add 1 to their own answers."""
    rules = "p(x, y) :- e(x, y) @ ?\np(x, y) :- e(x, z), e(z, y) @ ?\n"
    facts = 'e("a", "b")\ne("b", "c")\n'
    stated = hb.parse(rules + facts + 'p("a", "b")\np("b", "c")')
    tables = hb.Model(hb.parse(rules + facts), {"p": [("a", "b"), ("b", "c")]})
    found, other = (model.learn(method="proof", l2=0.1) for model in (hb.Model(stated), tables))
    assert found.text == other.text and 'e("a", "b")' in found.text and 'p("a", "b")' not in found.text
    (answer,) = hb.Model(found.theory).query('p("a", "b")').rows()
    assert answer.weight == pytest.approx(found.weights[0].weight)


def test_not_before_a_feature_is_refused() -> None:
    """As in a layer: a feature has a proof whatever its weight is, so its absence would never hold."""
    text = (
        "predicate h(t): observed\npredicate s(t): learned\npredicate k(t)\npredicate r(t, t)\n"
        'r(x, y) :- h(x), h(y), not k(y)\nk(x) :- s(x), h(x)\nh("a")\nh("b")\nr("a", "a")'
    )
    with pytest.raises(UnsupportedError, match="'not' stands before k, which rests on s"):
        hb.Model(hb.parse(text)).learn(method="proof")
    free = text.replace("not k(y)", "s(y)")
    assert hb.Model(hb.parse(free)).learn(method="proof", iterations=1).weights
