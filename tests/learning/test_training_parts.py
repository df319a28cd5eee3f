"""Parts of a predictor's training against plain loops: its logits, its loss, its teacher, what is drawn."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.answers.guarantee import Status
from herbrand.errors import BudgetError
from herbrand.learning import opinions as told_opinions
from herbrand.learning.batch import Batches, _all_but_one
from herbrand.learning.distillation import logit_loss, training
from herbrand.learning.opinions import all_logits, opinions
from herbrand.learning.predictor import Predictor
from herbrand.learning.sampling import Sampler
from herbrand.learning.settings import LearningSettings
from herbrand.learning.whole_graph import WholeLessons
from herbrand.program.evidence import Evidence
from herbrand.program.program import Program
from tests.laws import tries

PHASES = [Phase.reuse, Phase.generate]
TEXT = """
type t = {"a", "b", "c"}
type u = 1..2
predicate p(t)
predicate f(t, t)
predicate g(t, u, t)
predicate rain
predicate area(u) in {"x", "y", "z"}
1.0: p(x) and f(x, y) => p(y)
0.5: g(x, w, y) and rain => area(w) = "x"
"""


def program(text: str = TEXT) -> Program:
    return hb.Model(hb.parse(text)).program


@pytest.fixture(scope="module")
def known() -> Program:
    return program()


class TestPredictor:
    NAMES = ("p", "f", "g", "rain", "area")

    def made(self, known: Program, seed: int = 0) -> Predictor:
        return Predictor.of(known, self.NAMES, 4, seed)

    @pytest.mark.parametrize("name", NAMES)
    def test_logits_are_sums_over_the_numbers_of_constants(self, known: Program, name: str) -> None:
        predictor = self.made(known)
        kinds = known.signature.predicates[name].types
        ranges = [range(len(known.domain(kind))) for kind in kinds]
        every = list(itertools.product(*ranges))
        rows = torch.tensor(every).reshape(len(every), len(kinds)).long()
        found = predictor(name, rows).detach()
        tables = dict(zip(dict.fromkeys(k for n in self.NAMES for k in known.signature.predicates[n].types),
                          predictor.embeddings.values(), strict=True))  # fmt: skip
        form = list(predictor.forms)[self.NAMES.index(name)]
        bias, linear, bilinear = (
            getattr(predictor.forms[form], part).detach() for part in ("bias", "linear", "bilinear")
        )
        for number, row in enumerate(rows.tolist()):
            own = zip(kinds, row, strict=True)
            numbers = [n for kind, place in own for n in tables[kind][place].tolist()]
            for value in range(len(bias)):
                expected = float(bias[value]) + sum(
                    n * float(w) for n, w in zip(numbers, linear[value], strict=True)
                )
                first, others = numbers[:4], numbers[4:]
                for place, (one, other) in enumerate(itertools.product(first, others)):
                    expected += one * other * float(bilinear[value][place])
                assert float(found[number, value]) == pytest.approx(expected, abs=1e-5)

    def test_equal_seeds_give_equal_predictors(self, known: Program) -> None:
        one, other, third = (self.made(known, seed).state_dict() for seed in (1, 1, 2))
        assert all(torch.equal(one[name], other[name]) for name in one)
        assert not all(torch.equal(one[name], third[name]) for name in one)

    def test_values_of_many_valued_atoms_have_a_logit_each(self, known: Program) -> None:
        predictor = self.made(known)
        assert predictor("area", torch.tensor([[0], [1]])).shape == (2, 3)
        assert predictor("rain", torch.empty(1, 0, dtype=torch.int64)).shape == (1, 2)


@settings(max_examples=tries(60), deadline=None, phases=PHASES)
@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=3, max_size=3), min_size=1, max_size=4)
)
def test_products_of_all_but_one(rows: list[list[float]]) -> None:
    """Also where some are 0, which a quotient would not do."""
    found = _all_but_one(torch.tensor(rows))
    for number, row in enumerate(rows):
        expected = [math.prod(row[:place] + row[place + 1 :]) for place in range(3)]
        assert found[number].tolist() == pytest.approx(expected)


@settings(max_examples=tries(60), deadline=None, phases=PHASES)
@given(
    st.lists(st.tuples(*[st.floats(-3, 3)] * 6), min_size=1, max_size=4),
    st.lists(st.integers(1, 3), min_size=4, max_size=4),
)
def test_the_loss_by_loops(rows: list[tuple[float, ...]], counts: list[int]) -> None:
    """The squared distance of logits, what all values of an atom have in common taken off."""
    told = torch.tensor(rows, dtype=torch.float64).reshape(len(rows), 2, 3)
    possible = torch.arange(3)[None, :] < torch.tensor(counts[: len(rows)])[:, None]
    unary = torch.where(possible, told[:, 0], -math.inf)
    taught = torch.where(possible, told[:, 1], -math.inf)
    total = 0.0
    for row, count in zip(rows, counts, strict=False):
        apart = [row[value] - row[3 + value] for value in range(count)]
        mean = sum(apart) / count
        total += sum((one - mean) ** 2 for one in apart)
    assert float(logit_loss(unary, taught, possible)) == pytest.approx(total / len(rows), abs=1e-9)
    assert float(logit_loss(unary + 5.0, taught, possible)) == pytest.approx(total / len(rows), abs=1e-9)
    assert float(logit_loss(unary, unary, possible)) == 0.0


class TestLessons:
    def test_the_whole_names_every_latent_atom_once(self, known: Program) -> None:
        lesson = WholeLessons.of(known, 2, None)
        evidence = Evidence(known)
        for name, rows in lesson.atoms.items():
            assert len(rows) == evidence.known(name).latent_count()
            assert len({tuple(row) for row in rows.tolist()}) == len(rows)
        assert len(lesson.possible) == sum(map(len, lesson.atoms.values()))
        assert lesson.draw() is lesson and lesson.state() == {}

    def test_impossible_values_stay_as_they_are(self, known: Program) -> None:
        lesson = WholeLessons.of(known, 1, None)
        unary = torch.where(lesson.possible, 0.0, -math.inf)
        taught = lesson.taught(unary, 1)
        assert torch.isneginf(taught[~lesson.possible]).all()
        assert torch.isfinite(taught[lesson.possible]).all()

    def test_nothing_drawn_is_an_empty_batch(self, known: Program) -> None:
        batch = Batches(Evidence(known)).of([])
        assert len(batch) == 0 and batch.atoms == {} and batch.signed_weights.tolist() == []

    def test_a_step_on_an_empty_batch_moves_nothing(self) -> None:
        """All that could be drawn is known already."""
        observed = program(
            'predicate p(t): observed\npredicate q(t)\n1.0: p(x) => q(x)\nq("b") ~ 0.5\np("a")'
        )
        state = training(observed, LearningSettings(batch=4, size=2))
        before = {name: tensor.clone() for name, tensor in state.predictor.state_dict().items()}
        nothing = Batches(Evidence(observed)).of([])
        state.lessons = SimpleNamespace(draw=lambda: nothing)  # type: ignore[assignment]
        assert state.step() == 0.0 and state.steps == 1
        assert all(torch.equal(before[name], tensor) for name, tensor in state.predictor.state_dict().items())


class TestSampler:
    def test_listed_atoms_are_drawn_more_than_others(self) -> None:
        known = program(
            "predicate e(t, t): observed\npredicate p(t)\n1.0: e(x, y) and p(x) => p(y)\n"
            'e("a", "b")\ne("b", "c")\ne("c", "a")\ne("a", "c")'
        )
        sampler = Sampler(Evidence(known), observed=1.0, seed=0)
        counts = np.zeros((3, 3))
        for template, rows in sampler.draw(4000):
            assert len(template.conjunction.literals) == 3
            np.add.at(counts, (rows.column("x"), rows.column("y")), 1)
        listed = np.zeros((3, 3), bool)
        listed[[0, 1, 2, 0], [1, 2, 0, 2]] = True
        assert counts[listed].sum() > 0.6 * counts.sum()

    def test_equal_seeds_draw_alike_and_others_otherwise(self, known: Program) -> None:
        def drawn(seed: int) -> list[list[int]]:
            sampler = Sampler(Evidence(known), observed=0.5, seed=seed)
            return [
                rows.column(name).tolist()
                for template, rows in sampler.draw(40)
                for name, _ in template.conjunction.variables
            ]

        assert drawn(1) == drawn(1) != drawn(2)

    def test_statements_are_equally_likely_however_many_groundings_they_have(self, known: Program) -> None:
        sampler = Sampler(Evidence(known), observed=0.0, seed=0)
        by_statement = dict.fromkeys({t.statement for t in sampler.templates}, 0.0)
        for template, share in zip(sampler.templates, sampler.shares, strict=True):
            by_statement[template.statement] += share
        assert list(by_statement.values()) == pytest.approx([0.5, 0.5])

    def test_what_no_latent_atom_is_in_is_not_drawn(self) -> None:
        known = program("predicate e(t): observed\npredicate p(t)\n1.0: e(x)\n0.5: p(x)\ne(1)")
        sampler = Sampler(Evidence(known), observed=0.5, seed=0)
        assert {template.statement for template, _ in sampler.draw(20)} == {sampler.templates[0].statement}
        assert len({t.statement for t in sampler.templates}) == 1


class TestOpinions:
    def test_are_the_softmax_of_the_logits(self, known: Program) -> None:
        predictor = Predictor.of(known, TestPredictor.NAMES, 3, 5)
        found = opinions(predictor, known, ["area", "p"], Status(True, 1), "distillation")
        for name, values in (("area", 3), ("p", 2)):
            logits = all_logits(predictor, Evidence(known), name)
            table = next(table for table in found.tables if table.predicate == name)
            for row, own in zip(table.probabilities.tolist(), logits.tolist(), strict=True):
                total = sum(math.exp(logit) for logit in own)
                assert row == pytest.approx([math.exp(logit) / total for logit in own]) and len(row) == values

    def test_too_many_atoms_are_not_told_one_by_one(
        self, known: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(told_opinions, "MOST_OPINIONS", 8)
        predictor = Predictor.of(known, TestPredictor.NAMES, 3, 5)
        assert len(all_logits(predictor, Evidence(known), "p")) == 3
        with pytest.raises(BudgetError) as caught:
            all_logits(predictor, Evidence(known), "f")
        assert str(caught.value) == (
            "f has 9 latent atoms, too many to give an opinion of each\n"
            "  name the predicates to have opinions of: --target PRED"
        )
