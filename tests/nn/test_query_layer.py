"""The query layer: answers as the engine gives them, gradients to weights and scores, wrong calls."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch

import herbrand as hb
from herbrand.errors import HerbrandError

SUMS = """
type picture = {"p", "q", "r"}
type digit = 0..2
type total = 0..4
predicate shows(picture, digit)
predicate plus(digit, digit, total): observed
predicate sum(picture, picture, total)
sum(a, b, s) :- shows(a, x), shows(b, y), plus(x, y, s)
"""
PLUS = [(x, y, x + y) for x in range(3) for y in range(3)]
PATHS = """
predicate edge(node, node): learned
predicate path(node, node)
path(x, y) :- edge(x, y)
path(x, y) :- edge(x, z), path(z, y) @ ?
edge("a", "b") @ 0.5
edge("b", "c") @ 2
edge("c", "d") @ 3
"""


NEGATED = """
type n = {"a", "b"}
predicate h(n): observed
predicate s(n)
predicate r(n)
predicate q(n)
predicate k(n)
predicate z(n)
h("a")
h("b")
r(x) :- s(x)
q(x) :- h(x), not s(x)
k(x) :- h(x), not r(x)
z(x) :- h(x), s(x)
"""


@pytest.mark.parametrize(
    ("statement", "algebra"),
    [
        *product(["1.5: r(x)", 'hard: not s("a")'], ["count", "max", "top-k"]),
        *product(['P(s("a")) <= 0.3'], ["count", "max", "probability", "top-k"]),
    ],
)
def test_statements_that_a_layer_does_not_weigh_are_refused(statement: str, algebra: str) -> None:
    """To pass over them would give another distribution than ``infer`` and ``query`` have."""
    theory = hb.parse(f"{NEGATED}{statement}\n")
    with pytest.raises(HerbrandError, match="a query layer cannot use this statement"):
        hb.nn.QueryLayer(hb.Model(theory), "z(x)", neural=["s"], given=[], algebra=algebra)
    kept = hb.Model(theory, ignore=["weights", "bounds"])
    layer = hb.nn.QueryLayer(kept, "z(x)", neural=["s"], given=[], algebra=algebra)
    assert layer({}, {"s": torch.tensor([0.25, 0.5])}).tolist() == [[0.25, 0.5]]


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ("q(x)", "'not' stands before s: s takes scores"),
        ("k(x)", "'not' stands before r, which rests on s: s takes scores"),
        ("z(x) and not s(x)", "'not' stands before s: s takes scores"),
    ],
)
def test_not_before_what_takes_scores_is_refused(goal: str, message: str) -> None:
    """Every atom with a score has a proof, so that `not` would give 0 and no gradient."""
    model = hb.Model(hb.parse(NEGATED))
    with pytest.raises(HerbrandError, match=message):
        hb.nn.QueryLayer(model, goal, given=[], neural=["s"])
    layer = hb.nn.QueryLayer(model, "z(x)", given=[], neural=["s"])
    assert layer({}, {"s": torch.tensor([0.1, 0.9])}).tolist() == [pytest.approx([0.1, 0.9])]


def sums(**options: object) -> hb.nn.QueryLayer:
    model = hb.Model(hb.parse(SUMS), {"plus": PLUS})
    return hb.nn.QueryLayer(model, "sum(a, b, s)", given=["a", "b"], neural=["shows"], **options)  # type: ignore[arg-type]


COMPUTING = """
type thing = {"a", "b", "c"}
type num = number
predicate v(thing, num): observed
predicate u(thing): observed
predicate p(thing)
v("a", 1)
v("b", 2)
v("c", 3)
"""
SCORES = [0.25, 0.5, 0.125]


@pytest.mark.parametrize("facts", ["", 'u("a")\nu("b")\nu("c")\n'])
@pytest.mark.parametrize("test", ["n + 1 < 5", 'x <= "c"'])
@pytest.mark.parametrize("algebra", ["count", "max", "probability", "top-k"])
def test_scores_beside_what_is_computed(facts: str, test: str, algebra: str) -> None:
    """The tests hold of all that v has, whatever tables list of the neural predicate."""
    rules = {"u(x)": SCORES, "not u(x)": [1 - score for score in SCORES]}
    for literal, expected in rules.items():
        if literal == "u(x)" or algebra == "probability":
            model = hb.Model(hb.parse(f"{COMPUTING}{facts}p(x) :- v(x, n), {literal}, {test}"))
            layer = hb.nn.QueryLayer(model, "p(x)", neural=["u"], algebra=algebra)
            assert layer({}, {"u": torch.tensor(SCORES)})[0].tolist() == pytest.approx(expected)


@pytest.mark.parametrize("facts", ["", 'u("a")\nu("b")\n'])
@pytest.mark.parametrize("algebra", ["count", "max", "top-k"])
def test_aggregates_of_what_takes_scores_are_refused(facts: str, algebra: str) -> None:
    model = hb.Model(hb.parse(f"{COMPUTING}{facts}p(x) :- v(x, n), count(y: u(y)) >= 2"))
    with pytest.raises(HerbrandError, match="count is over u"):
        hb.nn.QueryLayer(model, "p(x)", neural=["u"], algebra=algebra)({}, {"u": torch.tensor([0.5, 0.5])})


def test_counts_and_sums_of_what_takes_scores_are_compared() -> None:
    """Two of three hold, or those that do weigh 3 or more: 1 + 2, 3 with or without others."""
    a, b, c = SCORES
    expected = {
        "count(y: u(y)) >= 2": a * b * (1 - c) + a * c * (1 - b) + b * c * (1 - a) + a * b * c,
        "sum(m, y: u(y), v(y, m)) >= 3": c + (1 - c) * a * b,
    }
    for compared, chance in expected.items():
        model = hb.Model(hb.parse(f"{COMPUTING}p(x) :- v(x, n), {compared}"))
        layer = hb.nn.QueryLayer(model, "p(x)", neural=["u"], algebra="probability")
        scores = torch.tensor(SCORES, dtype=torch.float64, requires_grad=True)
        assert layer({}, {"u": scores})[0].tolist() == pytest.approx([chance] * 3)
        assert torch.autograd.gradcheck(lambda u, layer=layer: layer({}, {"u": u}), (scores,))


@pytest.mark.parametrize("neural", [[], ["u"]])
def test_facts_that_a_database_holds_are_not_overlooked(neural: list[str]) -> None:
    model = hb.Model(hb.parse(f"{COMPUTING}p(x) :- v(x, n), u(x), n + 1 < 5"), on="duckdb:unused")
    with pytest.raises(HerbrandError, match="run on duckdb:unused"):
        hb.nn.QueryLayer(model, "p(x)", neural=neural)


def test_digits_are_added_by_arithmetic() -> None:
    theory = """
    type image = {"first", "second"}
    type number = 0..2
    type total = 0..4
    predicate digit(image) in number: observed
    predicate sum(image, image, total)
    sum(a, b, s) :- digit(a) = x, digit(b) = y, s = x + y
    """
    layer = hb.nn.QueryLayer(
        hb.Model(hb.parse(theory)), "sum(a, b, s)", given=["a", "b"], neural=["digit"], algebra="probability"
    )
    one, other = [0.5, 0.25, 0.25], [0.1, 0.2, 0.7]
    sums = [sum(one[x] * other[s - x] for x in range(3) if 0 <= s - x < 3) for s in range(5)]
    found = layer({"a": ["first"], "b": ["second"]}, {"digit": torch.tensor([one, other])})
    assert found[0].tolist() == pytest.approx(sums)


def test_a_neural_predicate_is_summed_over_every_pair() -> None:
    scores = torch.rand(3, 3, dtype=torch.float64, requires_grad=True)
    layer = sums()
    found = layer({"a": ["p", "q"], "b": ["r", "q"]}, {"shows": scores})
    assert layer.constants("s") == (0, 1, 2, 3, 4) and found.shape == (2, 5)
    for question, (a, b) in enumerate([(0, 2), (1, 1)]):
        for total in range(5):
            pairs = [(x, y) for x in range(3) for y in range(3) if x + y == total]
            expected = sum(scores[a, x] * scores[b, y] for x, y in pairs)
            torch.testing.assert_close(found[question, total], expected)
    assert torch.autograd.gradcheck(lambda s: layer({"a": ["p"], "b": ["q"]}, {"shows": s}), (scores,))


def test_scores_of_zero_have_slopes() -> None:
    scores = torch.zeros(3, 3, requires_grad=True)
    sums()({"a": ["p"], "b": ["q"]}, {"shows": scores + torch.eye(3) * 0.5})[0, 0].backward()
    assert scores.grad is not None
    assert scores.grad.tolist() == [[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 0.0]]


def test_scores_of_stated_facts_only() -> None:
    theory = hb.parse(
        'predicate e(n, n)\npredicate p(n, n)\np(x, y) :- e(x, z), e(z, y)\ne("a", "b")\ne("b", "c")'
    )
    layer = hb.nn.QueryLayer(hb.Model(theory), "p(x, y)", neural=["e"])
    assert layer.shapes == {"e": (2,)}
    scores = torch.tensor([2.0, 5.0], requires_grad=True)
    found = layer({"x": ["a"]}, {"e": scores})
    assert found.tolist() == [[0.0, 0.0, 10.0]]
    found.sum().backward()
    assert scores.grad is not None and scores.grad.tolist() == [5.0, 2.0]


def test_one_column_needs_no_name() -> None:
    layer = hb.nn.QueryLayer(hb.Model(hb.parse(PATHS)), "path(x, y)")
    by_name = layer({"x": ["a", "c"]})
    assert torch.equal(layer(["a", "c"]), by_name) and torch.equal(layer(torch.tensor([0, 2])), by_name)
    with pytest.raises(HerbrandError, match=r"the goal path\(x, y\) is given x"):
        layer("a")
    with pytest.raises(HerbrandError, match="is given a, b"):
        sums()(["p"], {"shows": torch.ones(3, 3)})


def test_weights_of_facts_and_rules_are_parameters() -> None:
    model = hb.Model(hb.parse(PATHS))
    layer = hb.nn.QueryLayer(model, "path(x, y)", depth=5)
    assert layer.given == ("x",) and layer.asked == ("y",)
    found = layer({"x": ["a", "c"]})
    for question, start in enumerate("ac"):
        answer = model.query(f'path("{start}", y)', depth=5)
        expected = [answer.to_arrow().to_pylist()]
        weights = {row["y"]: row["weight"] for row in expected[0]}
        assert found[question].tolist() == pytest.approx([weights.get(y, 0.0) for y in layer.constants("y")])
    found[0, 3].backward()  # a to d: 0.5 * 2 * 3, and the rule's weight twice
    of_facts, of_rules = layer.weights.of_facts[0], layer.weights.of_rules
    assert of_facts.grad is not None and of_rules.grad is not None
    assert of_facts.grad.tolist() == pytest.approx([3.0, 3.0, 3.0])
    assert of_rules.grad.tolist() == pytest.approx([6.0])
    assert sorted(name for name, _ in layer.named_parameters()) == ["weights.of_facts.0", "weights.of_rules"]
    again = hb.nn.QueryLayer(model, "path(x, y)", depth=5)
    with torch.no_grad():
        layer.weights.of_rules.fill_(0.3)
    again.load_state_dict(layer.state_dict())
    assert torch.equal(again({"x": ["a"]}), layer({"x": ["a"]}))


def test_shares_in_log_space() -> None:
    layer = hb.nn.QueryLayer(hb.Model(hb.parse(PATHS)), "path(x, y)")
    shares = layer.log_shares({"x": ["a", "d"]})
    assert shares[0].exp().tolist() == pytest.approx([0.0, 0.5 / 4.5, 1 / 4.5, 3 / 4.5])
    assert shares[1].tolist() == [-math.inf] * 4  # nothing leads away from d
    shares[0, 3].backward()
    gradient = layer.weights.of_facts[0].grad
    assert gradient is not None and torch.isfinite(gradient).all()


def test_goals_of_other_shapes() -> None:
    model = hb.Model(hb.parse(PATHS))
    whole = hb.nn.QueryLayer(model, "path(x, y)", given=[])
    assert whole().shape == (1, 4, 4) and whole()[0, 0, 1].item() == pytest.approx(0.5)
    backwards = hb.nn.QueryLayer(model, "path(x, y)", given=["y"])
    assert torch.equal(backwards({"y": torch.tensor([3])})[0], whole()[0, :, 3])
    fixed = hb.nn.QueryLayer(model, 'path("a", y)')
    assert torch.equal(fixed()[0], whole()[0, 0])


def test_wrong_calls_are_told() -> None:
    model, layer = hb.Model(hb.parse(SUMS), {"plus": PLUS}), sums()
    good, rows = torch.rand(3, 3), {"a": ["p"], "b": ["q"]}
    wrong = [
        (lambda: hb.nn.QueryLayer(model, "summ(a, b, s)"), "no predicate 'summ'"),
        (lambda: hb.nn.QueryLayer(model, "sum(a, b, s)", neural=["show"]), "no predicate 'show'"),
        (lambda: hb.nn.QueryLayer(model, "sum(a, b, s)", given=["c"]), "no variable 'c'"),
        (lambda: hb.nn.QueryLayer(model, "sum(a, b, s)", depth=-1), "no depth"),
        (lambda: hb.nn.QueryLayer(model, 'sum("z", b, s)'), "no constant of type picture"),
        (lambda: sums(memory=10), "too many"),
        (lambda: layer(rows), "the scores of shows are missing"),
        (lambda: layer(rows, {"shows": good[:2]}), "have shape"),
        (lambda: layer(rows, {"shows": good, "plus": good}), "'plus' takes no scores"),
        (lambda: layer({"a": ["p"]}, {"shows": good}), "the constants of 'b' are missing"),
        (lambda: layer({**rows, "s": [1]}, {"shows": good}), "'s' is not given"),
        (lambda: layer({"a": ["p"], "b": ["z"]}, {"shows": good}), '"z" is no constant of type picture'),
        (lambda: layer({"a": ["p"], "b": torch.tensor([3])}, {"shows": good}), "not below 3"),
        (lambda: layer({"a": ["p"], "b": torch.tensor([0.5])}, {"shows": good}), "whole numbers"),
        (lambda: layer({"a": ["p"], "b": ["q", "r"]}, {"shows": good}), "differ in length"),
        (lambda: layer.constants("c"), "no variable 'c'"),
    ]
    for call, message in wrong:
        with pytest.raises(HerbrandError, match=message):
            call()
