"""Questions that facts ask, scores of their answers, and steps of Adam, against dictionaries and loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.adam import Adam
from herbrand.engines.proof.table import ROW, Table
from herbrand.errors import UnsupportedError
from herbrand.facts.facts import Facts, FactTable
from herbrand.learning.proof.losses import LOSSES, Scored, refuse_infinite
from herbrand.learning.proof.questions import Questions
from tests.laws import tries

PHASES = [Phase.reuse, Phase.generate]
SIGNATURES = {
    arity: hb.Model(hb.parse(f"type t = 0..3\npredicate p({', '.join('t' * arity)})")) for arity in (1, 2, 3)
}
Row = tuple[int, ...]


def questions(
    rows: Sequence[Row], arity: int, asked: int | None, weights: Sequence[float] | None = None
) -> Questions:
    model = SIGNATURES[arity]
    facts = model.program.facts
    none = np.empty((0, arity), np.int32)
    table = FactTable(
        np.array(rows, np.int32).reshape(len(rows), arity), none, none, np.empty(0), np.empty(0),
        None if weights is None else np.array(weights, float), "closed",
    )  # fmt: skip
    return Questions.of("p", model.signature, Facts(facts.domains, {**facts.tables, "p": table}), asked)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Row], int, int | None, list[float] | None]:
    arity = draw(st.integers(1, 3))
    rows = sorted(draw(st.sets(st.tuples(*[st.integers(0, 3)] * arity), max_size=8)))
    weights = draw(
        st.none() | st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=len(rows), max_size=len(rows))
    )
    return rows, arity, draw(st.none() | st.integers(1, arity)), weights


def by_dictionary(
    rows: Sequence[Row], arity: int, asked: int | None, weights: Sequence[float] | None
) -> dict[Row, dict[Row, float]]:
    """By what is given the share of each right answer."""
    place = arity - 1 if asked is None else asked - 1
    found: dict[Row, dict[Row, float]] = {}
    for number, row in enumerate(rows):
        given_, answer = tuple(c for i, c in enumerate(row) if i != place), (row[place],)
        found.setdefault(given_, {})[answer] = 1.0 if weights is None else weights[number]
    return {key: {a: w / sum(own.values()) for a, w in own.items()} for key, own in found.items()}


def told(found: Questions) -> dict[Row, dict[Row, float]]:
    ends = found.pointers.tolist()
    answers = [tuple(row) for row in found.answers.tolist()]
    return {
        tuple(row): dict(zip(answers[start:end], found.shares[start:end].tolist(), strict=True))
        for row, start, end in zip(found.inputs.tolist(), ends, ends[1:], strict=False)
    }


class TestQuestions:
    @settings(max_examples=tries(60), deadline=None, phases=PHASES)
    @given(tables())
    def test_are_one_for_each_choice_of_what_is_given(self, table: Any) -> None:
        found = questions(*table)
        expected = by_dictionary(*table)
        assert told(found) == {key: pytest.approx(own) for key, own in expected.items()}
        assert len(found) == len(expected) and found.pointers[-1] == len(table[0])

    @settings(max_examples=tries(40), deadline=None, phases=PHASES)
    @given(tables(), st.data())
    def test_some_of_them_are_themselves(self, table: Any, data: st.DataObject) -> None:
        found = questions(*table)
        places = data.draw(st.lists(st.integers(0, len(found) - 1), max_size=5)) if len(found) else []
        part = found.part(np.array(places, np.int64))
        whole = list(told(found).items())
        assert [tuple(row) for row in part.inputs.tolist()] == [whole[place][0] for place in places]
        ends = part.pointers.tolist()
        for number, place in enumerate(places):
            own = slice(ends[number], ends[number + 1])
            answers = map(tuple, part.answers[own].tolist())
            assert dict(zip(answers, part.shares[own].tolist(), strict=True)) == whole[place][1]
        assert (part.goal, part.given, part.sizes) == (found.goal, found.given, found.sizes)

    def test_goals_name_all_arguments_and_give_the_others(self) -> None:
        for asked, given_ in ((None, ("x0", "x1")), (1, ("x1", "x2")), (2, ("x0", "x2"))):
            found = questions([(0, 1, 2)], 3, asked)
            assert (found.goal, found.given) == ("p(x0, x1, x2)", given_)
        assert questions([(0,)], 1, None).given == ()

    def test_a_predicate_without_arguments_is_asked_whether_it_holds(self) -> None:
        model = hb.Model(hb.parse("predicate rain\nrain"))
        found = Questions.of("rain", model.signature, model.program.facts, None)
        assert (found.goal, found.given, len(found)) == ("rain", (), 1)
        assert found.answers.shape == (1, 0) and found.shares.tolist() == [1.0]

    @pytest.mark.parametrize(
        ("arity", "asked", "said"), [(1, 2, "1 argument"), (2, 3, "2 arguments"), (2, 0, "2 arguments")]
    )
    def test_an_argument_that_is_not_there(self, arity: int, asked: int, said: str) -> None:
        with pytest.raises(UnsupportedError) as caught:
            questions([], arity, asked)
        assert str(caught.value) == f"--asked {asked}: p has {said}\n  the arguments are counted from 1"


Answers = list[dict[int, float]]
"""For each question the weight of every answer that is proved."""


@st.composite
def answered(draw: st.DrawFn) -> tuple[Answers, list[dict[int, float]]]:
    """Proved answers in any order, and the shares of right ones, proved or not."""
    weights, rights = [], []
    for _ in range(draw(st.integers(1, 3))):
        proved = draw(st.dictionaries(st.integers(0, 3), st.sampled_from([0.5, 1.0, 1.0, 4.0]), max_size=4))
        right = draw(st.dictionaries(st.integers(0, 3), st.sampled_from([1.0, 3.0]), min_size=1, max_size=3))
        weights.append(proved)
        rights.append({answer: share / sum(right.values()) for answer, share in right.items()})
    return weights, rights


def scored(weights: Answers, rights: list[dict[int, float]], order: Sequence[int] | None = None) -> Scored:
    counts = [len(own) for own in rights]
    asked = Questions(
        "p", "p(x, y)", ("x",), np.arange(len(rights))[:, None], np.append(0, np.cumsum(counts)),
        np.array([[answer] for own in rights for answer in own]).reshape(-1, 1),
        np.array([share for own in rights for share in own.values()]), (4,),
    )  # fmt: skip
    rows = [(number, answer, weight) for number, own in enumerate(weights) for answer, weight in own.items()]
    rows = [rows[place] for place in order] if order is not None else rows
    columns = np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows], np.int64)
    values = torch.tensor([row[2] for row in rows], dtype=torch.float64)
    return Scored.of(Table((ROW, "o0"), columns, values), asked)


class TestScored:
    @settings(max_examples=tries(40), deadline=None, phases=PHASES)
    @given(answered(), st.randoms(use_true_random=False))
    def test_by_loops_whatever_the_order_of_answers(self, drawn: Any, random: Any) -> None:
        weights, rights = drawn
        count = sum(map(len, weights))
        order = random.sample(range(count), count)
        found = scored(weights, rights, order)
        missing = [
            sum(s for a, s in right.items() if a not in own)
            for own, right in zip(weights, rights, strict=True)
        ]
        assert found.missing.tolist() == pytest.approx(missing)
        assert found.answerable.tolist() == [share < 1 - 1e-9 for share in missing]
        hits = []
        for own, right in zip(weights, rights, strict=True):
            best = [answer for answer, weight in own.items() if weight == max(own.values())]
            hits.append(sum(answer in right for answer in best) / max(len(best), 1))
        assert found.accuracy().tolist() == pytest.approx(hits)

    @settings(max_examples=tries(40), deadline=None, phases=PHASES)
    @given(answered(), st.sampled_from(sorted(LOSSES)))
    def test_losses_are_of_the_right_answers_that_have_a_proof(self, drawn: Any, loss: str) -> None:
        weights, rights = drawn
        expected = []
        for own, right in zip(weights, rights, strict=True):
            proved = {answer: share for answer, share in right.items() if answer in own}
            if not proved:
                continue
            wrong = [math.log(weight) for answer, weight in own.items() if answer not in right]
            losses = {
                "cross-entropy": lambda w, own=own: -math.log(w / sum(own.values())),
                "softmax": lambda w, own=own: -w + math.log(math.exp(-10) + sum(map(math.exp, own.values()))),
                "margin": lambda w, wrong=wrong: max(0.0, 1 + max(wrong, default=-math.inf) - math.log(w)),
            }
            total = sum(share * losses[loss](own[answer]) for answer, share in proved.items())
            expected.append(total / sum(proved.values()))
        assert LOSSES[loss](scored(weights, rights)).tolist() == pytest.approx(expected, abs=1e-9)

    def test_nothing_is_proved(self) -> None:
        found = scored([{}, {}], [{0: 1.0}, {1: 1.0}])
        assert found.accuracy().tolist() == [0.0, 0.0] and not found.answerable.any()
        for loss in LOSSES.values():
            assert loss(found).tolist() == []

    @pytest.mark.parametrize("weight", [math.inf, math.nan])
    def test_weights_beyond_floats_are_refused(self, weight: float) -> None:
        refuse_infinite(torch.tensor([1e300], dtype=torch.float64))
        with pytest.raises(UnsupportedError) as caught:
            refuse_infinite(torch.tensor([1.0, weight]))
        assert str(caught.value).startswith(
            "the weight of an answer is larger than any float\n  start with smaller"
        )


class TestAdam:
    """As torch's own, bit for bit."""

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
    @pytest.mark.parametrize("rate", [0.5, 0.01])
    def test_steps_are_those_of_torch(self, rate: float, dtype: torch.dtype) -> None:
        generator = torch.Generator().manual_seed(1)
        shapes = [(3,), (2, 2), ()]
        ours, theirs = (
            [
                torch.randn(shape, generator=torch.Generator().manual_seed(7), dtype=dtype).requires_grad_()
                for shape in shapes
            ]
            for _ in range(2)
        )
        adam, other = Adam.of(ours, rate), torch.optim.Adam(theirs, lr=rate)
        for step in range(6):
            for mine, its in zip(ours, theirs, strict=True):
                slope = torch.randn(mine.shape, generator=generator, dtype=dtype)
                if step == 3:
                    slope = torch.zeros_like(slope)
                mine.grad, its.grad = slope.clone(), slope.clone()
            adam.step()
            other.step()
            for mine, its in zip(ours, theirs, strict=True):
                assert torch.equal(mine, its)
                assert mine.grad is None, "slopes are forgotten"

    def test_what_is_restored_goes_on_as_if_nothing_had_been(self) -> None:
        def made() -> tuple[torch.Tensor, Adam]:
            weights = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
            return weights, Adam.of([weights], 0.1)

        def step(weights: torch.Tensor, adam: Adam) -> None:
            weights.square().sum().backward()
            adam.step()

        weights, adam = made()
        other, again = made()
        for _ in range(3):
            step(weights, adam)
        kept = {name: tensor.clone() for name, tensor in adam.tensors().items()}
        with torch.no_grad():
            other.copy_(weights)
        again.restore(kept)
        for _ in range(3):
            step(weights, adam)
            step(other, again)
        assert other.tolist() == weights.tolist() and again.steps == 6
        assert sorted(kept) == ["adam.mean.0", "adam.square.0", "adam.steps"]

    def test_a_parameter_without_a_slope_keeps_going_as_before(self) -> None:
        weights = torch.ones(1, dtype=torch.float64, requires_grad=True)
        adam = Adam.of([weights], 0.1)
        adam.step()
        assert weights.tolist() == [1.0] and adam.steps == 1
