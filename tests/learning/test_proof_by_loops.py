"""Learning by proofs beside plain loops: questions, features, Adam's steps, whole runs on counted proofs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.adam import Adam
from herbrand.engines.proof.features import learned_predicates, with_features
from herbrand.errors import LanguageError, UnsupportedError
from herbrand.facts.domain import Domain
from herbrand.facts.facts import Facts, FactTable
from herbrand.language import syntax as s
from herbrand.language.signature import Predicate, Signature
from herbrand.learning.proof.questions import Questions
from tests.laws import tries
from tests.oracles.proofs import Proofs, Row, Weights

quick = settings(deadline=None, max_examples=tries(30))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


class PlainAdam:
    """Kingma and Ba's algorithm, number by number."""

    def __init__(self, values: Sequence[float], rate: float) -> None:
        self.values, self.rate, self.step_count = list(values), rate, 0
        self.means, self.squares = [0.0] * len(values), [0.0] * len(values)

    def step(self, slopes: Sequence[float]) -> None:
        self.step_count += 1
        for place, slope in enumerate(slopes):
            self.means[place] = 0.9 * self.means[place] + 0.1 * slope
            self.squares[place] = 0.999 * self.squares[place] + 0.001 * slope**2
            mean = self.means[place] / (1 - 0.9**self.step_count)
            square = self.squares[place] / (1 - 0.999**self.step_count)
            self.values[place] -= self.rate * mean / (math.sqrt(square) + 1e-8)


@quick
@given(seeds, st.integers(0, 4))
def test_steps_are_adams(rng: np.random.Generator, left: int) -> None:
    """Kept and restored after some steps, too; a parameter without a slope drifts on by its mean."""
    start, slopes = rng.normal(size=3), rng.normal(size=(6, 3))
    plain = PlainAdam(start.tolist(), 0.2)
    parameters = [torch.tensor(start[:2], requires_grad=True), torch.tensor(start[2:], requires_grad=True)]
    adam = Adam.of(parameters, 0.2)
    for number, slope in enumerate(slopes):
        parameters[0].grad = torch.tensor(slope[:2])
        parameters[1].grad = torch.tensor(slope[2:]) if number != 3 else None
        adam.step()
        plain.step([*slope[:2], slope[2] if number != 3 else 0.0])
        assert parameters[0].grad is None and parameters[1].grad is None
        if number == left:
            kept = {name: t.clone() for name, t in adam.tensors().items()}
            adam = Adam.of(parameters, 0.2)
            adam.restore(kept)
    found = [*parameters[0].tolist(), *parameters[1].tolist()]
    assert found == pytest.approx(plain.values, rel=1e-9)


def facts_of(rows: Mapping[Row, float], sizes: Sequence[int], weighted: bool) -> tuple[Signature, Facts]:
    types = tuple(f"t{place}" for place in range(len(sizes)))
    array = np.asfortranarray(np.array(sorted(rows), np.int32).reshape(len(rows), len(sizes)))
    weights = np.array([rows[row] for row in sorted(rows)]) if weighted else None
    none = np.empty((0, len(sizes)), np.int32)
    table = FactTable(array, none, none, np.empty(0), np.empty(0), weights, "closed")
    domains = {name: Domain.of(name, range(size)) for name, size in zip(types, sizes, strict=True)}
    return Signature({}, {"p": Predicate("p", types)}), Facts(domains, {"p": table})


@quick
@given(seeds)
def test_facts_are_questions_with_right_answers(rng: np.random.Generator) -> None:
    sizes = rng.integers(1, 4, rng.integers(1, 4)).tolist()
    possible = list(np.ndindex(*sizes))
    rows = {row: float(rng.integers(1, 4)) for row in possible if rng.random() < 0.5}
    weighted = bool(rng.random() < 0.5)
    asked = int(rng.integers(0, len(sizes) + 1)) or None
    signature, facts = facts_of(rows, sizes, weighted)
    found = Questions.of("p", signature, facts, asked)
    place = len(sizes) - 1 if asked is None else asked - 1
    wanted: dict[Row, dict[int, float]] = {}
    for row in sorted(rows):
        wanted.setdefault(row[:place] + row[place + 1 :], {})[row[place]] = rows[row] if weighted else 1.0
    assert len(found) == len(wanted)
    assert found.given == tuple(f"x{number}" for number in range(len(sizes)) if number != place)
    read: dict[Row, dict[int, float]] = {}
    for number, inputs in enumerate(found.inputs.tolist()):
        part = slice(found.pointers[number], found.pointers[number + 1])
        read[tuple(inputs)] = dict(
            zip(found.answers[part, 0].tolist(), found.shares[part].tolist(), strict=True)
        )
    assert read.keys() == wanted.keys()
    for inputs, shares in wanted.items():
        total = sum(shares.values())
        assert read[inputs] == pytest.approx({answer: weight / total for answer, weight in shares.items()})
    some = np.array([n for n in range(len(found)) if rng.random() < 0.6], np.int64)
    part = found.part(some)
    assert len(part) == len(some) and part.pointers[-1] == len(part.answers) == len(part.shares)
    for number, original in enumerate(some.tolist()):
        assert part.inputs[number].tolist() == found.inputs[original].tolist()
        mine = part.answers[part.pointers[number] : part.pointers[number + 1]]
        theirs = found.answers[found.pointers[original] : found.pointers[original + 1]]
        assert mine.tolist() == theirs.tolist()


@pytest.mark.parametrize("weight", [0.0, -1.0])
def test_a_right_answer_weighs_something(weight: float) -> None:
    signature, facts = facts_of({(0, 0): 1.0, (0, 1): weight}, [1, 2], True)
    with pytest.raises(UnsupportedError) as refused:
        Questions.of("p", signature, facts, None)
    assert str(refused.value) == (
        f"a right answer of p weighs {weight:g}, and weights above 0 share out what each should have\n"
        "  leave the fact out if it is no right answer"
    )


@pytest.mark.parametrize("more", ['f("a", "c") @ 0', 'f("a", "c") @ -2', "p(x, y) :- e(x, y) @ -3"])
def test_answers_without_a_logarithm_are_told(more: str) -> None:
    text = 'p(x, y) :- e(x, y), f(x, y) @ ?\np("a", "b")\ne("a", "b")\ne("a", "c")\nf("a", "b")'
    model = hb.Model(hb.parse(f"{text}\n{more}"))
    for loss in ("cross-entropy", "margin"):
        with pytest.raises(
            UnsupportedError, match="this loss takes weights above 0\n  give the facts and rules"
        ):
            model.learn("proof", loss=loss)
    assert math.isfinite(float(model.learn("proof", loss="softmax", iterations=2).metrics["loss"]))


# Whole runs

PROGRAMS: dict[str, tuple[str, dict[str, dict[Row, float]], dict[Row, float]]] = {
    "rules": (
        "p(x, y) :- e(x, y) @ ?\np(x, y) :- f(x, y) @ ?\np(x, y) :- f(x, z), e(z, y) @ 0.5",
        {"e": {("a", "b"): 1, ("b", "c"): 2}, "f": {("a", "c"): 1, ("a", "b"): 1, ("b", "a"): 1}},
        {("a", "b"): 1, ("b", "a"): 1},
    ),
    "recursion": (
        "p(x, y) :- e(x, y) @ ?\np(x, y) :- e(x, z), p(z, y) @ ?\np(x, y) :- e(y, x)",
        {"e": {("a", "b"): 0.5, ("b", "c"): 0.25, ("c", "a"): 0.5, ("a", "a"): 0.25}},
        {("a", "c"): 1, ("b", "c"): 3, ("b", "a"): 1},
    ),
    "two right": (
        "p(x, y) :- e(x, y) @ ?\np(x, y) :- e(y, x) @ ?",
        {"e": {("a", "b"): 1, ("c", "a"): 1, ("a", "c"): 3}},
        {("a", "b"): 1, ("a", "c"): 1, ("c", "c"): 1},
    ),
}


def plain_loss(loss: str, answers: Weights, wanted: Mapping[Row, float]) -> float:
    """The mean over the questions that have a proved right answer."""
    losses = []
    for x in sorted({row[0] for row in wanted}):
        weights = {row: weight for row, weight in answers.items() if row[0] == x and weight}
        rights = {row: share for row, share in wanted.items() if row[0] == x and row in weights}
        if not rights:
            continue
        if loss == "cross-entropy":
            terms = {row: -math.log(weights[row] / sum(weights.values())) for row in rights}
        else:
            total = math.exp(-10) + sum(map(math.exp, weights.values()))
            terms = {row: math.log(total) - weights[row] for row in rights}
        losses.append(sum(rights[row] * terms[row] for row in rights) / sum(rights.values()))
    questions = len({row[0] for row in wanted})
    return sum(losses) / questions


@pytest.mark.parametrize("loss", ["cross-entropy", "softmax"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_whole_runs_are_steps_on_counted_proofs(name: str, loss: str) -> None:
    """Slopes by differences of all proofs, Adam by hand: the same weights after some steps."""
    text, facts, wanted = PROGRAMS[name]
    theory = hb.parse(text)
    learned = [place for place, rule in enumerate(theory.rules) if isinstance(rule.weight, s.Learned)]

    def value(logs: Sequence[float]) -> float:
        rules = list(theory.rules)
        for place, log in zip(learned, logs, strict=True):
            rules[place] = replace(rules[place], weight=math.exp(log))
        answers = Proofs(rules, facts, "abc", {}).answers("p", 4)
        return plain_loss(loss, answers, wanted) + 0.05 * sum(log**2 for log in logs) / 2

    plain = PlainAdam([0.0] * len(learned), 0.1)
    for _ in range(6):
        slopes = []
        for place in range(len(learned)):
            moved = [list(plain.values), list(plain.values)]
            moved[0][place] += 1e-5
            moved[1][place] -= 1e-5
            slopes.append((value(moved[0]) - value(moved[1])) / 2e-5)
        plain.step(slopes)
    rows = {
        known: [(*row, weight) for row, weight in some.items()]
        for known, some in {**facts, "p": wanted}.items()
    }
    lines = [f'{known}("{row[0]}", "{row[1]}") @ {row[2]}' for known, some in rows.items() for row in some]
    found = hb.Model(hb.parse("\n".join([text, *lines]))).learn(
        "proof", iterations=6, loss=loss, depth=3, l2=0.05
    )
    assert [math.log(weight.weight) for weight in found.weights] == pytest.approx(plain.values, abs=1e-4)
    assert found.metrics["questions"] == len({row[0] for row in wanted})


def test_neither_order_nor_names_matter_to_learning() -> None:
    text, facts, wanted = PROGRAMS["rules"]
    lines = [
        f'{name}("{row[0]}", "{row[1]}") @ {weight}'
        for name, some in {**facts, "p": wanted}.items()
        for row, weight in some.items()
    ]
    plain = hb.Model(hb.parse("\n".join([text, *lines]))).learn("proof", iterations=8)
    turned = hb.Model(hb.parse("\n".join([*reversed(lines), *reversed(text.splitlines())]))).learn(
        "proof", iterations=8
    )
    assert [w.weight for w in turned.weights] == pytest.approx([w.weight for w in reversed(plain.weights)])
    swapped = "\n".join([text, *lines]).replace('"a"', '"zoe"').replace('"b"', '"Åke"')
    renamed = hb.Model(hb.parse(swapped)).learn("proof", iterations=8)
    assert [w.weight for w in renamed.weights] == pytest.approx([w.weight for w in plain.weights])
    twice = hb.Model(hb.parse("\n".join([text.replace("@ ?", "@ ?", 1), *lines, *lines[:1]])))
    assert [w.weight for w in twice.learn("proof", iterations=8).weights] == [w.weight for w in plain.weights]


# Features


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("t(d, k) :- word(d, w), label(k), about(w, k)", {(w, k) for w in ("x", "y") for k in ("l", "m")}),
        ("t(d, k) :- word(d, w), label(k), about(w, k), w != \"x\"", {("y", "l"), ("y", "m")}),
        ("t(d, k) :- word(d, w), about(w, k), k = \"l\"", {("x", "l"), ("y", "l")}),
        ("t(d, k) :- word(d, w), good(w), label(k), about(w, k)", {("x", "l"), ("x", "m")}),
        ("t(d, k) :- about(d, k), word(d, _), label(k), not good(d)", {("d1", "l"), ("d1", "m")}),
    ],
)  # fmt: skip
def test_features_are_what_the_rest_of_a_body_leads_to(rule: str, expected: set[tuple[str, str]]) -> None:
    facts = {"word": [("d1", "x"), ("d1", "y")], "label": ["l", "m"], "good": ["x"]}
    theory = hb.parse(f"{rule}\nu(w) :- good(w), word(_, w)")
    model = hb.Model(theory, facts)
    told = model.stated_program
    learned = learned_predicates(theory.rules, told.signature, told.facts)
    assert learned == ("about",)
    made = with_features(theory.rules, told.signature, told.facts, learned)
    predicate = told.signature.predicates["about"]
    assert set(made.rows(predicate, made.tables["about"].true)) == expected
    again = with_features(theory.rules, told.signature, made, learned)
    assert again is made


def test_features_that_nothing_bounds_are_told() -> None:
    theory = hb.parse("t(d, k) :- word(d, w), about(w, k)")
    told = hb.Model(theory, {"word": [("d", "x")]}).stated_program
    with pytest.raises(LanguageError, match="state the facts of about, whose weights are to be learned"):
        with_features(theory.rules, told.signature, told.facts, ["about"])
