"""Query layers under probabilities beside the sum over all worlds, and what comes with a call."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

import herbrand as hb
from herbrand.errors import ContradictionError, FactsError, UnsupportedError
from herbrand.language.check import check
from herbrand.language.parse import parse_formula
from herbrand.language.syntax import Atom
from herbrand.language.theory import Theory
from herbrand.nn import QueryLayer
from tests.engines.circuit.programs import random_program
from tests.engines.circuit.test_sum_over_worlds import world_count
from tests.engines.circuit.test_uncertain_counts import PEOPLE, stated
from tests.engines.proof.test_conditioning import LONG, QUICK
from tests.engines.proof.uncertain_programs import (
    MOST_WORLDS,
    NUMBERS,
    VALUES,
    Uncertain,
    _shared,
    count_worlds,
    uncertain,
)
from tests.laws import long, tries
from tests.oracles.choices import worlds_of
from tests.oracles.worlds import Universe
from tests.program_generators import models

GRAPH = """
type node = {"a", "b", "c"}
predicate edge(node, node): observed
predicate closed(node): observed
predicate path(node, node)
path(x, y) :- edge(x, y), not closed(y)
path(x, z) :- path(x, y), edge(y, z), not closed(z)
"""
SUMS = """
type image = {"i", "j", "k"}
type number = 0..2
type total = 0..4
predicate digit(image) in number: observed
predicate plus(number, number, total): observed
predicate sum(image, image, total)
sum(a, b, s) :- digit(a) = x, digit(b) = y, plus(x, y, s)
"""


def neural_of(program: Uncertain) -> dict[str, list[float]]:
    """Predicates that may take scores, with what is stated of their facts."""
    found: dict[str, list[float]] = {}
    for name in "et":
        rows = sorted(atom for atom in program.facts if atom[0] == name)
        if rows:
            found[name] = [program.facts[atom] for atom in rows]
    if len(program.hues) == len(NUMBERS) and all(1.0 not in one.values() for one in program.hues.values()):
        found["hue"] = [_shared(program.hues[number]).get(v, 0.0) for number in NUMBERS for v in VALUES]
    return found


def check_program(program: Uncertain, neural: set[str]) -> None:
    program = replace(program, given={})
    assume(count_worlds(program) <= MOST_WORLDS)
    chance, expected = program.expected()
    numbers = {name: told for name, told in neural_of(program).items() if name in neural}
    for goal, wanted in zip(program.goal_texts(), expected, strict=True):
        layer = QueryLayer(
            program.model(), goal, given=[], neural=list(numbers), algebra="probability", depth="fixpoint"
        )
        scores = {
            name: torch.tensor(told, dtype=torch.float64).reshape(layer.shapes[name])
            for name, told in numbers.items()
        }
        if not chance:
            with pytest.raises(ContradictionError, match="the evidence has probability 0"):
                layer({}, scores)
            continue
        found = layer({}, scores)[0]
        for row in product(*map(range, found.shape)):
            key = tuple(layer.constants(name)[place] for name, place in zip(layer.asked, row, strict=True))
            assert found[row].item() == pytest.approx(wanted.get(key, 0.0), rel=1e-5, abs=1e-7), key


@QUICK
@given(uncertain(), st.sets(st.sampled_from(["e", "t", "hue"])))
def test_answers_are_those_of_all_worlds(program: Uncertain, neural: set[str]) -> None:
    check_program(program, neural)


@pytest.mark.slow
@LONG
@given(uncertain(), st.sets(st.sampled_from(["e", "t", "hue"])))
def test_more_answers_are_those_of_all_worlds(program: Uncertain, neural: set[str]) -> None:
    check_program(program, neural)


def test_evidence_does_not_weigh_values_that_it_does_not_rest_on() -> None:
    text = """
    predicate e(n)
    predicate hue(n) in {"red", "green", "blue"}
    predicate d
    d
    d :- not e(o)
    e(1) @ 0.5
    e(2) @ 0.5
    hue(1) = "red" ~ 0.25
    hue(1) = "green" ~ 0.75
    """
    layer = QueryLayer(
        hb.Model(hb.parse(text)),
        'not hue(1) = "red"',
        given=[],
        neural=["e"],
        algebra="probability",
        depth="fixpoint",
    )
    scores = torch.tensor([0.5, 0.25], requires_grad=True)
    found = layer({}, {"e": scores})
    assert found.item() == pytest.approx(0.75)
    (slope,) = torch.autograd.grad(found, scores)
    assert slope.tolist() == pytest.approx([0.0, 0.0], abs=1e-6)


def test_answers_that_no_world_has_weigh_nothing() -> None:
    text = """
    predicate e(n)
    predicate b
    predicate f(n)
    b :- e(1)
    b :- e(2)
    f(x) :- e(x), not b
    e(1) @ 0.5
    e(2) @ 0.5
    e(3) @ 0.5
    """
    layer = QueryLayer(hb.Model(hb.parse(text)), "f(x)", given=[], neural=["e"], algebra="probability")
    scores = torch.tensor([[0.5, 0.25, 1.0], [0.0, 0.5, 0.5]], requires_grad=True)
    found = layer({}, {"e": scores})
    assert found.tolist() == [[0.0, 0.0, 0.375], [0.0, 0.0, 0.25]]
    (slope,) = torch.autograd.grad(found.sum(), scores)
    assert slope.tolist() == [[-0.75, -0.5, 0.375], [-0.25, -0.5, 0.5]]


def sums() -> QueryLayer:
    plus = [(x, y, x + y) for x in range(3) for y in range(3)]
    model = hb.Model(hb.parse(SUMS), {"plus": plus})
    return QueryLayer(model, "sum(a, b, s)", given=["a", "b"], neural=["digit"], algebra="probability")


def digits(scenes: int | None = None, dtype: torch.dtype = torch.float64) -> Tensor:
    shape = (3, 3) if scenes is None else (scenes, 3, 3)
    return (
        torch.rand(shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
        .softmax(-1)
        .to(dtype)
    )


def by_hand(digits: Tensor, first: int, second: int) -> Tensor:
    return torch.stack(
        [
            sum(digits[..., first, x] * digits[..., second, s - x] for x in range(3) if 0 <= s - x < 3)  # type: ignore[misc]
            for s in range(5)
        ],
        -1,
    )


def test_a_question_in_many_scenes_and_a_scene_for_each_question() -> None:
    layer, scenes = sums(), digits(4)
    one = layer({"a": ["i"], "b": ["k"]}, {"digit": scenes})
    assert torch.allclose(one, by_hand(scenes, 0, 2))
    each = layer({"a": ["i", "j", "k", "i"], "b": ["k", "i", "j", "k"]}, {"digit": scenes})
    pairs = [(0, 2), (1, 0), (2, 1), (0, 2)]
    for number, (first, second) in enumerate(pairs):
        assert torch.allclose(each[number], by_hand(scenes[number], first, second))
    several = layer({"a": ["i", "j"], "b": ["j", "k"]}, {"digit": scenes[0]})
    assert torch.allclose(several, torch.stack([by_hand(scenes[0], 0, 1), by_hand(scenes[0], 1, 2)]))
    assert layer({"a": [], "b": []}, {"digit": scenes[0]}).shape == (0, 5)
    with pytest.raises(UnsupportedError, match="2 questions in 4 scenes"):
        layer({"a": ["i", "j"], "b": ["j", "k"]}, {"digit": scenes})


@pytest.mark.parametrize("algebra", ["count", "max", "top-k"])
def test_scenes_in_other_algebras_are_calls_of_their_own(algebra: str) -> None:
    layer = QueryLayer(hb.Model(hb.parse(PATHS)), "path(x, y)", neural=["edge"], algebra=algebra, depth=3)
    scenes = torch.rand(3, 3, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    whole = layer({"x": ["a", "b", "c"]}, {"edge": scenes.requires_grad_()})
    alone = [layer({"x": [x]}, {"edge": scene})[0] for x, scene in zip("abc", scenes, strict=True)]
    assert torch.allclose(whole, torch.stack(alone))
    (slope,) = torch.autograd.grad(whole.sum(), scenes)
    assert torch.allclose(slope, torch.autograd.grad(torch.stack(alone).sum(), scenes)[0])


SEEN = "type t = {0, 1}\npredicate seen(t): observed\npredicate hit(t)\nhit(x) :- seen(x)\n"


def seen_layer(algebra: str) -> QueryLayer:
    return QueryLayer(hb.Model(hb.parse(SEEN)), "hit(x)", given=[], neural=["seen"], algebra=algebra)


@pytest.mark.parametrize("algebra", ["probability", "top-k"])
@pytest.mark.parametrize("wrong", [1.5, -0.25, math.nan, math.inf])
def test_scores_that_are_no_probabilities_are_refused(algebra: str, wrong: float) -> None:
    layer, told = seen_layer(algebra), f"a fact of seen weighs {wrong:g}, which is no probability"
    told += "\n  scores are from 0 to 1, as torch.sigmoid makes them; algebra='count' takes any"
    for scores in (torch.tensor([0.5, wrong]), torch.tensor([[0.5, 0.5], [wrong, 0.5]])):
        with pytest.raises(UnsupportedError, match=told):
            layer(scores={"seen": scores})
    with pytest.raises(UnsupportedError, match=told):
        torch.func.vmap(lambda each: layer(scores={"seen": each}))(torch.tensor([[0.5, wrong]]))


@pytest.mark.parametrize("algebra", ["probability", "top-k"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.int64], ids=str)
def test_scores_may_be_certain_and_off_by_rounding(algebra: str, dtype: torch.dtype) -> None:
    scores = torch.tensor([0, 1], dtype=dtype)
    if dtype.is_floating_point:
        scores[1] += torch.finfo(dtype).eps
    found = seen_layer(algebra)(scores={"seen": scores})
    torch.testing.assert_close(found.flatten().double(), torch.tensor([0.0, 1.0], dtype=torch.float64))


SHOWN = "type t = {0, 1}\npredicate shown(t) in {0, 1, 2}\npredicate hit(t)\nhit(x) :- shown(x) = 1\n"


def shown_layer(algebra: str, facts: str = "") -> QueryLayer:
    return QueryLayer(
        hb.Model(hb.parse(SHOWN + facts)), "hit(x)", given=[], neural=["shown"], algebra=algebra
    )


@pytest.mark.parametrize("algebra", ["probability", "top-k"])
@pytest.mark.parametrize(("row", "total"), [([1.0, 0.5, 0.0], "1.5"), ([0.1, 0.2, 0.0], "0.3")])
def test_scores_of_values_that_are_no_distribution_are_refused(
    algebra: str, row: list[float], total: str
) -> None:
    layer, right = shown_layer(algebra), [0.2, 0.3, 0.5]
    told = f"the scores of the values of shown\\(1\\) add up to {total}"
    for scores in ([right, row], [[right, right], [right, row]]):
        with pytest.raises(UnsupportedError, match=told):
            layer(scores={"shown": torch.tensor(scores)})
    with pytest.raises(UnsupportedError, match=told):
        torch.func.vmap(lambda each: layer(scores={"shown": each}))(torch.tensor([[right, row]]))
    with pytest.raises(UnsupportedError, match=r"shown\(0\) add up to 0.7"):
        shown_layer(algebra, "shown(0) = 1\n")(scores={"shown": torch.tensor([0.7])})


@pytest.mark.parametrize("algebra", ["probability", "top-k"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_distributions_may_be_off_by_rounding(algebra: str, dtype: torch.dtype) -> None:
    scores = torch.randn(50, 2, 3, generator=torch.Generator().manual_seed(1)).to(dtype).softmax(-1)
    found = shown_layer(algebra)(scores={"shown": scores})
    torch.testing.assert_close(found, scores[..., 1])


@pytest.mark.parametrize("algebra", ["probability", "top-k"])
def test_a_score_may_be_moved_to_measure_a_slope(algebra: str) -> None:
    layer, step = shown_layer(algebra), 1e-3
    scores = torch.tensor([[0.2, 0.3, 0.5], [0.1, 0.6, 0.3]], dtype=torch.float64, requires_grad=True)
    layer(scores={"shown": scores}).sum().backward()
    for place in ((0, 1), (1, 0), (1, 1)):
        moved = scores.detach().clone()
        moved[place] += step
        with torch.no_grad():
            rise = layer(scores={"shown": moved}).sum() - layer(scores={"shown": scores}).sum()
        assert scores.grad is not None
        assert float(rise) / step == pytest.approx(float(scores.grad[place]), abs=1e-6)


@pytest.mark.parametrize("algebra", ["probability", "top-k", "count", "max"])
def test_false_facts_that_scores_would_hide_are_refused(algebra: str) -> None:
    """They were left out in silence. Opinions are stood in for by scores."""
    with pytest.raises(UnsupportedError, match="shown takes a score for every choice of constants"):
        shown_layer(algebra, "not shown(0) = 1\n")
    assert shown_layer(algebra, "shown(0) = 1 ~ 0.5\n").shapes == {"shown": (2, 3)}


@pytest.mark.parametrize("algebra", ["count", "max"])
def test_other_algebras_take_any_scores(algebra: str) -> None:
    found = seen_layer(algebra)(scores={"seen": torch.tensor([0.5, 1.5])})
    assert found.flatten().tolist() == [0.5, 1.5]


@pytest.mark.parametrize("algebra", ["count", "max", "probability", "top-k"])
def test_one_scene_and_none(algebra: str) -> None:
    layer = QueryLayer(hb.Model(hb.parse(PATHS)), "path(x, y)", neural=["edge"], algebra=algebra, depth=3)
    scores = torch.rand(3, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    whole = layer({"x": ["a", "b", "c"]}, {"edge": scores})
    assert torch.equal(layer({"x": ["a", "b", "c"]}, {"edge": scores[None]}), whole)
    assert layer({"x": ["a"]}, {"edge": scores[None][:0]}).shape == (0, 3)
    assert layer({"x": []}, {"edge": scores}).shape == (0, 3)


def test_questions_that_differ_in_constants_have_one_form() -> None:
    layer = sums()
    layer({"a": ["i", "j", "k"], "b": ["k", "i", "j"]}, {"digit": digits()})
    assert len(layer._road._forms) == 1  # type: ignore[attr-defined]


def test_not_has_slopes() -> None:
    layer = QueryLayer(
        hb.Model(hb.parse(GRAPH)),
        "path(x, y)",
        neural=["edge", "closed"],
        algebra="probability",
        depth="fixpoint",
    )
    drawn = torch.Generator().manual_seed(2)
    edge, closed = (torch.rand(s, generator=drawn, dtype=torch.float64) for s in ((3, 3), (3,)))

    def answers(edge: Tensor, closed: Tensor) -> Tensor:
        return layer({"x": ["a", "b"]}, {"edge": edge, "closed": closed})

    assert torch.autograd.gradcheck(answers, (edge.requires_grad_(), closed.requires_grad_()))
    found = answers(edge, closed).sum()
    (slope,) = torch.autograd.grad(found, closed)
    assert bool((slope <= 0).all()) and float(slope.sum()) < 0


PATHS = """
type node = {"a", "b", "c"}
predicate edge(node, node): observed
predicate path(node, node)
path(x, y) :- edge(x, y)
path(x, z) :- edge(x, y), path(y, z)
"""
LEARNED = """
type node = {"a", "b", "c"}
predicate edge(node, node): learned
predicate path(node, node)
edge("a", "b") @ 0.3
edge("b", "c") @ 0.6
edge("a", "c")
path(x, y) :- edge(x, y) @ ?
path(x, z) :- edge(x, y), path(y, z)
"""


def test_learned_probabilities_stay_probabilities_and_are_written() -> None:
    model = hb.Model(hb.parse(LEARNED))
    layer = QueryLayer(model, "path(x, y)", algebra="probability", depth=3)
    assert layer.weights.facts()["edge"].tolist() == pytest.approx([0.3, 0.5, 0.6])
    optimiser = torch.optim.SGD(layer.parameters(), 50.0)
    wanted = torch.tensor([0.05, 0.2, 0.9])
    for _ in range(200):
        optimiser.zero_grad()
        loss = (layer({"x": ["a"]})[0] - wanted).square().sum()
        loss.backward()
        optimiser.step()
    assert loss.item() < 0.01
    learned = hb.Model(layer.to_theory()).query('path("a", y)', algebra="probability", depth=3)
    found = {row["y"]: row["weight"] for row in learned.to_arrow().to_pylist()}
    assert [found.get(y, 0.0) for y in "abc"] == pytest.approx(layer({"x": ["a"]})[0].tolist(), abs=1e-6)


CHOICES = """
type node = {"a", "b", "c"}
predicate edge(node, node): observed
predicate path(node, node)
0.8 :: path(x, y) :- edge(x, y)
? :: path(x, z) :- edge(x, y), path(y, z)
0.3 :: path("a", "a")
"""


def test_choices_of_one_head_are_those_of_inference() -> None:
    layer = QueryLayer(
        hb.Model(hb.parse(CHOICES)), "path(x, y)", neural=["edge"], algebra="probability", depth="fixpoint"
    )
    with torch.no_grad():
        layer.weights.of_rules.fill_(0.4)
    scores = torch.rand(3, 3, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    found = layer({"x": list("abc")}, {"edge": scores})
    stated = "".join(
        f'{scores[i, j]:.17g} :: edge("{x}", "{y}")\n'
        for i, x in enumerate("abc")
        for j, y in enumerate("abc")
    )
    written = hb.show(layer.to_theory()).replace("predicate edge(node, node): observed", "")
    inferred = hb.Model(hb.parse(f"predicate edge(node, node)\n{written}\n{stated}")).infer()
    for (i, x), (j, y) in product(enumerate("abc"), enumerate("abc")):
        assert found[i, j].item() == pytest.approx(inferred["path"][x, y])


def test_heads_that_are_no_atoms_with_numbers_are_refused() -> None:
    """Numbers that are learned among several heads, and several heads for algebras that draw none."""
    text = 'type t = {"a"}\npredicate p(t)\npredicate q(t)\n? :: p("a"); 0.5 :: q("a")\n'
    with pytest.raises(UnsupportedError, match="a query layer cannot use this statement"):
        QueryLayer(hb.Model(hb.parse(text)), "q(x)", algebra="probability")
    heads = hb.Model(
        hb.parse('type t = {"a"}\npredicate p(t)\npredicate q(t)\n0.4 :: p("a"); 0.6 :: q("a")\n')
    )
    for algebra in ("count", "max"):
        with pytest.raises(UnsupportedError, match="a query layer cannot use this statement") as refused:
            QueryLayer(heads, "p(x)", given=[], algebra=algebra)
        assert refused.value.mistakes[0].hint == "algebra='probability' takes choices"
    assert QueryLayer(heads, "p(x)", given=[], algebra="probability")({}, {}).tolist() == [
        [pytest.approx(0.4)]
    ]
    with pytest.raises(UnsupportedError, match="a query layer cannot use this statement"):
        QueryLayer(hb.Model(hb.parse(CHOICES)), "path(x, y)", neural=["edge"])


def check_choices(seed: int) -> int:
    """How many queries of a random program a layer answers as the sum over worlds does."""
    program = random_program(seed)
    theory, queries = hb.parse(program.text), list(program.queries)
    alternatives = (one.head for choice in theory.choices for one in choice.alternatives)
    heads = {(head if isinstance(head, Atom) else head.atom).predicate for head in alternatives}
    heads |= {rule.head.predicate for rule in theory.rules}
    worlds = worlds_of(theory)
    known = {*check(theory).predicates} == {*heads, "link"} or theory.formulas
    if not known or world_count(worlds) > MOST_WORLDS:
        return 0  # without formulas an atom that nothing derives is open to ``infer`` alone
    if not worlds.total:
        with pytest.raises((ContradictionError, FactsError)):
            answers_of(theory, queries)
        return len(queries)
    expected = worlds.probabilities([*map(parse_formula, queries)])
    assert answers_of(theory, queries) == pytest.approx(expected, rel=1e-5, abs=1e-6), program.text
    return len(queries)


def answers_of(theory: Theory, queries: list[str]) -> list[float]:
    model = hb.Model(theory)
    layers = [QueryLayer(model, query, algebra="probability", depth="fixpoint") for query in queries]
    return [layer({}, {}).item() for layer in layers]


@pytest.mark.parametrize("start", long([*range(0, 60, 20), *range(1000, 2500, 50)], 3))
def test_choices_of_several_heads_are_those_of_all_worlds(start: int) -> None:
    assert sum(map(check_choices, range(start, start + 20))) >= 12


def test_probabilities_that_facts_name() -> None:
    text = "predicate road(n, n, p): observed\npredicate e(n, n)\npredicate r(n, n)\n"
    text += 'road("a", "b", 0.25)\nroad("b", "c", 0.5)\np :: e(x, y) :- road(x, y, p)\n'
    text += "r(x, y) :- e(x, y)\nr(x, z) :- r(x, y), e(y, z)\n"
    layer = QueryLayer(hb.Model(hb.parse(text)), "r(x, y)", algebra="probability")
    assert layer({"x": ["a", "b", "c"]}).tolist() == [[0, 0.25, 0.125], [0, 0, 0.5], [0, 0, 0]]


def test_gradients_of_answers_beside_choices_of_several_heads() -> None:
    """Of a score that meets two of three outcomes, one of which is none."""
    text = "predicate e(n)\npredicate a(n)\npredicate b(n)\npredicate r(n)\ne(1)\ne(2)\n"
    text += "0.25 :: a(x); 0.5 :: b(x) :- e(x)\nr(x) :- a(x)\nr(x) :- b(x), e(x)\n"
    layer = QueryLayer(hb.Model(hb.parse(text)), "r(x)", given=[], neural=["e"], algebra="probability")
    scores = torch.tensor([0.5, 0.25], requires_grad=True)
    for same in (layer, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        found = same({}, {"e": scores})
        assert found.tolist() == [[0.375, 0.1875]]
        (slope,) = torch.autograd.grad(found.sum(), scores)
        assert slope.tolist() == [0.75, 0.75]


VALUED = """
type ball = {"a", "b"}
predicate r(ball): observed
predicate c(ball) in {"red", "blue"}
0.2 :: c(x) = "red"; 0.7 :: c(x) = "blue"
0.4 :: c(x) = "blue" :- r(x)
"""


def test_values_that_several_choices_give_exclude_each_other() -> None:
    """Worlds in which an atom has two values do not count: 0.2 (1 - 0.4 r) for red of 1 - 0.08 r."""
    layer = QueryLayer(hb.Model(hb.parse(VALUED)), "c(x) = v", neural=["r"], algebra="probability")
    scores = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
    found = layer({"x": ["a", "b"]}, {"r": scores})
    blue = [0.7 + 0.1 * 0.4 * r for r in (0.5, 1.0)]
    expected = [
        [0.2 * (1 - 0.4 * r) / (1 - 0.08 * r), b / (1 - 0.08 * r)]
        for r, b in zip((0.5, 1.0), blue, strict=True)
    ]
    assert found.tolist() == [pytest.approx(row) for row in expected]
    assert torch.autograd.gradcheck(lambda r: layer({"x": ["a", "b"]}, {"r": r}), (scores,))


def test_two_certain_values_have_no_world() -> None:
    text = f'{VALUED}1.0 :: c("a") = "red"\n1.0 :: c("a") = "blue"\n'
    layer = QueryLayer(hb.Model(hb.parse(text)), "c(x) = v", given=[], neural=["r"], algebra="probability")
    with pytest.raises(ContradictionError, match="the evidence has probability 0"):
        layer({}, {"r": torch.tensor([0.5, 0.5])})


@pytest.mark.parametrize("weight", ["0.5", "?"])
def test_a_choice_without_a_body_ranges_over_its_type(weight: str) -> None:
    text = f'type ball = {{"a", "b"}}\npredicate r(ball)\npredicate s\n{weight} :: r(x)\ns :- r(x)\n'
    layer = QueryLayer(hb.Model(hb.parse(text)), "s", algebra="probability")
    assert layer().item() == pytest.approx(0.75)


FORMULA_GOALS = {"p(x)": "p", "rain": "rain", "area(w) = v": "area", "f(x, y)": "f"}


def check_formulas(theory: Theory, universe: Universe) -> None:
    """Open atoms and formulas with quantifiers, opinions and evidence: answers are sums over worlds."""
    log_weight = universe.weight_of_worlds(theory.formulas)
    weights = [(world, math.exp(log_weight(world))) for world in universe.worlds()]
    total = math.fsum(weight for _, weight in weights)
    for goal, name in FORMULA_GOALS.items():
        layer = partial(QueryLayer, hb.Model(theory), goal, given=[], algebra="probability", depth="fixpoint")
        if not total:
            with pytest.raises((ContradictionError, FactsError)):
                layer()()
            continue
        found = layer()()[0] if "(" in goal else layer()()
        types, values = universe.predicates[name]
        constants = [universe.domains[one] for one in types] + ([] if values is None else [values])
        for row, places in zip(product(*constants), np.ndindex(*map(len, constants)), strict=True):
            atom, value = ((name, row), True) if values is None else ((name, row[:-1]), row[-1])
            held = math.fsum(weight for world, weight in weights if world[atom] == value)
            assert found[places].item() == pytest.approx(held / total, abs=1e-5), (goal, row)


@settings(max_examples=tries(60), suppress_health_check=[HealthCheck.too_slow])
@given(models(hard=True))
def test_formulas_condition_the_worlds_of_a_layer(drawn: tuple[Theory, Universe]) -> None:
    check_formulas(*drawn)


def test_choices_leave_open_what_nothing_derives() -> None:
    """As in ``infer`` and ``query``; such atoms had been false where no formula stood beside the choices."""
    text = """
    type ball = {"a", "b"}
    predicate marked(ball)
    predicate shade(ball) in {"dark", "light", "grey"}
    predicate won(ball)
    predicate drawn(ball)
    not marked("b")
    shade("b") = "light" ~ 0.8
    0.5 :: drawn(x)
    won(x) :- drawn(x), marked(x), shade(x) = "dark"
    won(x) :- drawn(x), not marked(x), not shade(x) = "light"
    """
    model = hb.Model(hb.parse(text))
    layer = QueryLayer(model, "won(x)", given=[], algebra="probability")
    wanted = [0.5 * (0.5 / 3 + 0.5 * 2 / 3), 0.5 * 0.2]
    assert layer().tolist()[0] == pytest.approx(wanted)
    assert [model.infer("won")[f'won("{x}")'] for x in "ab"] == pytest.approx(wanted)


CONSTRAINED = """
type image = {"i", "j"}
type number = 0..2
predicate digit(image) in number: observed
predicate even(image)
hard: digit(x) = 2 => even(x)
1.5: even(x) and even(y) where x != y
even(x) :- digit(x) = 0
"""


def test_slopes_of_scores_beside_formulas() -> None:
    """A hard formula rules out the digit 2, and both even counts for exp(3): its grounding for each order."""
    model = hb.Model(hb.parse(CONSTRAINED))
    layer = QueryLayer(model, "even(x)", given=[], neural=["digit"], algebra="probability")
    scores = torch.tensor([[0.5, 0.25, 0.25], [0.2, 0.5, 0.3]], dtype=torch.float64, requires_grad=True)
    both, first, second, none = math.exp(3) * 0.5 * 0.2, 0.5 * 0.5, 0.25 * 0.2, 0.25 * 0.5
    total = both + first + second + none
    for same in (layer, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        found = same({}, {"digit": scores})
        assert found.tolist() == [pytest.approx([(both + first) / total, (both + second) / total])]
        assert torch.autograd.gradcheck(lambda digit, same=same: same({}, {"digit": digit}), (scores,))


@pytest.mark.parametrize("formula", ["?: a", "1.5 * n: b(n)"])
def test_weights_that_are_no_numbers_are_refused(formula: str) -> None:
    model = hb.Model(hb.parse(f"type t = 1..2\npredicate a\npredicate b(t)\n0.5 :: a\n{formula}\n"))
    with pytest.raises(UnsupportedError, match="weight of this formula"):
        QueryLayer(model, "a", algebra="probability")


@pytest.mark.parametrize("seed", range(12))
def test_counts_and_sums_are_those_of_all_worlds(seed: int) -> None:
    """Formulas that compare counts and sums of what formulas weigh, choices draw and rules derive."""
    text, weighted = stated(seed, forms=6)
    total = math.fsum(weight for _, weight in weighted)
    layer = partial(QueryLayer, hb.Model(hb.parse(text)), "e(x, y)", given=[], algebra="probability")
    if not total:
        with pytest.raises((ContradictionError, FactsError)):
            layer()()
        return
    found = layer()()[0]
    for i, j in np.ndindex(3, 3):
        held = math.fsum(weight for world, weight in weighted if world["e", (PEOPLE[i], PEOPLE[j])])
        assert found[i, j].item() == pytest.approx(held / total, abs=1e-5)


def test_soft_evidence_of_an_atom_with_one_possible_value() -> None:
    """The logarithm of its number of other values, 0, was taken."""
    theory = hb.parse("""
    type shade = {"red"}
    type thing = {"a", "b"}
    predicate of(thing) in shade
    predicate bright(thing)
    of("a") = "red" ~ 0.7
    0.5 :: bright(x) :- of(x) = "red"
    """)
    layer = hb.nn.QueryLayer(hb.Model(theory), "bright(x)", given=[], algebra="probability")
    assert layer()[0].tolist() == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize(("declared", "holds"), [("type t", True), ('type t = {"a"}', False)])
def test_values_of_a_type_without_constants(declared: str, holds: bool) -> None:
    """There are no atoms, or atoms that can have no value."""
    text = f"{declared}\ntype m\npredicate c(t) in m\npredicate a\n0.3 :: a\n1.0: c(x) = v => a\n"
    if holds:
        assert QueryLayer(hb.Model(hb.parse(text)), "a", algebra="probability")().item() == pytest.approx(0.3)
    else:
        with pytest.raises(FactsError, match="the atom of c has no value in any world"):
            QueryLayer(hb.Model(hb.parse(text)), "a", algebra="probability")


def test_counts_of_facts_with_weights_are_refused() -> None:
    text = "type n = 1..3\npredicate a(n)\npredicate z\na(1) @ 0.5\nz :- count(x: a(x)) >= 2\n"
    with pytest.raises(UnsupportedError, match=r"^count\(x: a\(x\)\) >= 2 depends on weights of proofs"):
        QueryLayer(hb.Model(hb.parse(text)), "z", algebra="probability")


@pytest.mark.parametrize(
    "counting",
    [
        "-1: count(x: not p(x)) >= 1",
        "hard: count(x: not h(x)) = 1",
        'k :- count(x: not p(x)) >= 1\n0.7: k => h("a")',
        "0.5 :: k :- count(x: not p(x), not h(x)) >= 1",
    ],
)
def test_counts_of_absent_atoms_range_over_the_type_as_for_infer(counting: str) -> None:
    declared = 'type t = {"a", "b"}\npredicate p(t)\npredicate h(t)\npredicate k\n0.3 :: h(x) :- p(x)\n'
    model = hb.Model(hb.parse(declared + counting))
    layer = QueryLayer(model, "h(x)", algebra="probability")
    expected = [row.probability for row in model.infer("h").rows()]
    for same in (layer, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert same()[0].tolist() == pytest.approx(expected, rel=1e-5)
    goal = "k" if "k :-" in counting else "h"
    whole = QueryLayer(model, "k" if goal == "k" else 'h("a")', algebra="probability")()
    assert whole.item() == pytest.approx(next(model.infer(goal).rows()).probability, rel=1e-5)


def test_layers_are_copied_kept_and_asked_for_other_goals() -> None:
    layer = QueryLayer(hb.Model(hb.parse(LEARNED)), "path(x, y)", algebra="probability", depth=3)
    first = layer({"x": ["a"]})
    for same in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(same({"x": ["a"]}), first)
        with torch.no_grad():
            same.weights.of_facts[0].add_(1)
        assert torch.equal(layer({"x": ["a"]}), first)
    other = layer.with_goal("path(x, y) and path(y, z)", given=["x"])
    assert other.asked == ("y", "z") and other.weights is layer.weights
    with torch.no_grad():
        layer.weights.of_facts[0].fill_(0.0)
    assert not torch.equal(layer({"x": ["a"]}), first)
    assert torch.equal(other.weights.of_facts[0], layer.weights.of_facts[0])


def test_each_kind_of_numbers_and_transforms() -> None:
    layer = sums()
    exact = by_hand(digits(2), 0, 1)
    rows = {"a": ["i"], "b": ["j"]}
    for dtype, near in ((torch.float64, 1e-12), (torch.float32, 1e-6), (torch.bfloat16, 1e-2)):
        found = layer(rows, {"digit": digits(2, dtype)})
        assert found.dtype == dtype and torch.allclose(found.double(), exact, atol=near)
    mapped = torch.func.vmap(lambda scene: layer(rows, {"digit": scene})[0])(digits(2))
    assert torch.allclose(mapped, exact)
    scores = digits().requires_grad_()
    (slope,) = torch.autograd.grad(layer(rows, {"digit": scores}).sum(), scores, create_graph=True)
    with pytest.raises(UnsupportedError, match="second derivatives of probabilities"):
        torch.autograd.grad(slope.sum(), scores)


def test_evidence_that_scores_exclude() -> None:
    layer = QueryLayer(
        hb.Model(hb.parse(PATHS + 'path("a", "c")\n')),
        "path(x, y)",
        neural=["edge"],
        algebra="probability",
        depth=3,
    )
    scores = torch.zeros(3, 3)
    scores[0, 1], scores[1, 2] = 0.5, 0.5
    assert layer({"x": ["a"]}, {"edge": scores})[0].tolist() == [0.0, 1.0, 1.0]
    scores[1, 2] = 0.0
    with pytest.raises(ContradictionError, match="probability 0 by the scores of example 0"):
        layer({"x": ["a"]}, {"edge": scores})


Meant = Callable[[bool, bool, bool], bool]
EXTREME: list[tuple[str, Meant, Meant]] = [
    ("e(x) :- a(x), b(x). g(x) :- c(x)", lambda a, b, c: a and b, lambda a, b, c: c),
    ("e(x) :- a(x), b(x). g(x) :- b(x), c(x)", lambda a, b, c: a and b, lambda a, b, c: b and c),
    (
        "e(x) :- a(x), b(x). e(x) :- a(x), c(x). g(x) :- b(x), not c(x)",
        lambda a, b, c: a and (b or c),
        lambda a, b, c: b and not c,
    ),
    (
        "e(x) :- a(x), b(x). e(x) :- c(x), not b(x). g(x) :- a(x). g(x) :- b(x), c(x)",
        lambda a, b, c: (a and b) or (c and not b),
        lambda a, b, c: a or (b and c),
    ),
]


def extreme(text: str) -> QueryLayer:
    named = "".join(f"predicate {name}(t)\n" for name in "abceg")
    theory = hb.parse(named + 'type t = {"1"}\ne("1")\n' + text.replace(". ", "\n"))
    return QueryLayer(hb.Model(theory), "g(x)", given=(), neural=["a", "b", "c"], algebra="probability")


@pytest.mark.parametrize("chances", [(1e-300, 0.7, 0.3), (1e-150, 1e-150, 1e-5), (1e-300, 0.5, 1e-300)])
@pytest.mark.parametrize(("text", "evidence", "goal"), EXTREME)
def test_slopes_of_evidence_of_extreme_scores(
    text: str, evidence: Meant, goal: Meant, chances: tuple[float, ...]
) -> None:
    """Beside sums over worlds in fractions; what answers do not depend on has a slope of exactly 0."""
    given = (torch.tensor([chance], dtype=torch.float64, requires_grad=True) for chance in chances)
    scores = dict(zip("abc", given, strict=True))

    def weights(fixed: int | None = None) -> tuple[Fraction, Fraction]:
        """Of goal and evidence, and of the evidence; or their slopes in a chance."""
        both = alone = Fraction(0)
        for world in product((False, True), repeat=3):
            weight = Fraction(1)
            for place, (chance, holds) in enumerate(zip(chances, world, strict=True)):
                own = 1 if place == fixed else Fraction(chance)
                weight *= own if holds else (-1 if place == fixed else 1 - own)
            alone += weight * evidence(*world)
            both += weight * (evidence(*world) and goal(*world))
        return both, alone

    found = extreme(text)(None, scores)
    found.sum().backward()
    both, alone = weights()
    assert found.item() == pytest.approx(float(both / alone), rel=1e-9)
    for place, score in enumerate(scores.values()):
        more, most = weights(place)
        right = (more * alone - both * most) / alone**2
        assert score.grad is not None and score.grad.item() == pytest.approx(
            float(right), rel=1e-6, abs=1e-15
        )


def test_evidence_too_improbable_for_floats_is_refused() -> None:
    """Its slopes were no numbers."""
    layer = extreme(EXTREME[3][0])
    for kind, less, said in ((torch.float64, 1e-320, "give less extreme"), (torch.float32, 1e-40, "float64")):
        scores = {name: torch.tensor([less if name != "b" else 0.5], dtype=kind) for name in "abc"}
        with pytest.raises(UnsupportedError, match=r"below .* by the scores of example 0") as caught:
            layer(None, scores)
        assert said in str(caught.value)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no accelerator")
@pytest.mark.parametrize("algebra", ["count", "max", "probability", "top-k"])
def test_another_device(algebra: str) -> None:
    layer = QueryLayer(hb.Model(hb.parse(PATHS)), "path(x, y)", neural=["edge"], algebra=algebra, depth=3)
    scores = torch.rand(5, 3, 3, generator=torch.Generator().manual_seed(1))
    here = layer({"x": ["a"]}, {"edge": scores.requires_grad_()})
    (slope,) = torch.autograd.grad(here.sum(), scores)
    there = scores.detach().cuda().requires_grad_()
    found = layer({"x": ["a"]}, {"edge": there})
    (other,) = torch.autograd.grad(found.sum(), there)
    assert found.is_cuda and torch.allclose(found.cpu(), here, atol=1e-6)
    assert torch.allclose(other.cpu(), slope, atol=1e-5)


@pytest.mark.parametrize("algebra", ["max", "probability", "top-k"])
def test_scores_stay_where_they_are_whatever_the_default_device(algebra: str) -> None:
    model, scores = hb.Model(hb.parse(PATHS)), torch.rand(3, 3, generator=torch.Generator().manual_seed(1))

    def answered() -> Tensor:
        layer = QueryLayer(model, "path(x, y)", neural=["edge"], algebra=algebra, depth=3)
        return layer({"x": ["a", "b"]}, {"edge": scores})

    here = answered()
    with torch.device("meta"):
        there = answered()
    assert torch.equal(here, there)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no accelerator")
@pytest.mark.parametrize("algebra", ["count", "max", "probability", "top-k"])
def test_the_default_device_may_be_another(algebra: str) -> None:
    model = hb.Model(hb.parse(LEARNED))
    here = QueryLayer(model, "path(x, y)", algebra=algebra, depth=3)({"x": ["a", "b"]})
    with torch.device("cuda"):
        there = QueryLayer(model, "path(x, y)", algebra=algebra, depth=3)({"x": ["a", "b"]})
    assert there.is_cuda and torch.allclose(there.cpu(), here, atol=1e-6)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no accelerator")
def test_learned_weights_on_another_device() -> None:
    for algebra in ("count", "max", "probability", "top-k"):
        layer = QueryLayer(hb.Model(hb.parse(LEARNED)), "path(x, y)", algebra=algebra, depth=3)
        here = layer({"x": ["a"]}).detach()
        found = layer.cuda()({"x": ["a"]})
        found.sum().backward()
        assert torch.allclose(found.cpu(), here, atol=1e-6)
        assert all(parameter.grad is not None for parameter in layer.weights.of_facts)
