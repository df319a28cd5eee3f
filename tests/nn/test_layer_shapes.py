"""What a layer takes and gives: batches, precision, sizes 0 and 1, saved states, and calls that are wrong."""

from __future__ import annotations

import copy
import io
import math

import pytest
import torch
from torch import Tensor

import herbrand as hb
from herbrand.errors import HerbrandError, UnsupportedError

HEAD = 'type t = {"a", "b"}\npredicate s(t)\npredicate f(t, t)\npredicate rain\n'
RULES = HEAD + "0.75: s(x) and f(x, y) => s(y)\n0.5: rain => s(x)\n-0.25: rain\n"


def layer_of(text: str = RULES, iterations: int | None = 2, **options: object) -> hb.nn.LogicLayer:
    return hb.nn.LogicLayer(hb.Model(hb.parse(text)), iterations, **options).double()  # type: ignore[arg-type]


def drawn(layer: hb.nn.LogicLayer, *batch: int, seed: int = 0) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        name: torch.randn((*batch, *shape), generator=generator, dtype=torch.float64)
        for name, shape in layer.shapes.items()
    }


@pytest.mark.parametrize("iterations", [2, None])
@pytest.mark.parametrize("batch", [(), (1,), (3,), (2, 3), (0,), (2, 0)])
def test_any_batch_axes(iterations: int | None, batch: tuple[int, ...]) -> None:
    layer = layer_of(iterations=iterations)
    assert layer.shapes == {"s": (2,), "f": (2, 2), "rain": ()}
    logits = drawn(layer, *batch)
    found = layer(logits)
    assert {name: tuple(table.shape) for name, table in found.items()} == {
        name: (*batch, *shape) for name, shape in layer.shapes.items()
    }
    flat = {name: table.reshape((-1, *layer.shapes[name])) for name, table in logits.items()}
    for row in range(math.prod(batch)):
        alone = layer({name: table[row] for name, table in flat.items()})
        for name, table in found.items():
            own = table.reshape((-1, *layer.shapes[name]))[row]
            torch.testing.assert_close(own, alone[name], rtol=0, atol=1e-5)


def test_a_batch_of_one_predicate_is_a_batch_of_all() -> None:
    layer = layer_of()
    logits = drawn(layer, 3)
    found = layer({"rain": logits["rain"]})
    for row in range(3):
        alone = layer({"rain": logits["rain"][row]})
        for name, table in found.items():
            torch.testing.assert_close(table[row], alone[name])


def test_batches_that_broadcast_and_batches_that_do_not() -> None:
    layer = layer_of()
    logits = drawn(layer, 3)
    wide = layer({"s": logits["s"][:, None], "rain": logits["rain"][None, :2]})
    assert wide["f"].shape == (3, 2, 2, 2)
    pair = layer({"s": logits["s"][2], "rain": logits["rain"][1]})
    torch.testing.assert_close(wide["s"][2, 1], pair["s"])
    with pytest.raises(HerbrandError) as error:
        layer({"s": logits["s"], "f": logits["f"][:2]})
    (mistake,) = error.value.mistakes
    assert mistake.message == "the batch axes of the logits do not fit together: s has (3,), f has (2,)"
    assert mistake.hint == "equal ones, or 1, or none"


def test_no_logits_is_logits_of_nothing() -> None:
    layer = layer_of()
    zeros = {name: torch.zeros(shape, dtype=torch.float64) for name, shape in layer.shapes.items()}
    for one, other in zip(layer().values(), layer(zeros).values(), strict=True):
        assert torch.equal(one, other)
    for one, other in zip(layer({}).values(), layer(None).values(), strict=True):
        assert torch.equal(one, other)


QUANTIFIED = """
type t = {"a", "b"}
predicate p(t)
predicate f(t, t)
"""


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    "rule", ["1: exists y: f(x, y)", "-1: (forall y: f(x, y) or p(y)) => p(x)", "1: exists x: p(x)"]
)
def test_quantifiers_in_half_precision(rule: str, precision: torch.dtype) -> None:
    layer = hb.nn.LogicLayer(hb.Model(hb.parse(QUANTIFIED + rule)))
    generator = torch.Generator().manual_seed(5)
    logits = {name: torch.randn((3, *shape), generator=generator) for name, shape in layer.shapes.items()}
    rough = {name: table.to(precision).requires_grad_() for name, table in logits.items()}
    found, expected = layer(rough), layer(logits)
    slopes = torch.autograd.grad(found["f"].sum() + found["p"].sum(), list(rough.values()))
    assert all(slope.dtype == precision and slope.isfinite().all() for slope in slopes)
    for name, table in expected.items():
        assert found[name].dtype == precision
        torch.testing.assert_close(found[name].float(), table, rtol=0, atol=0.03)


def test_the_precision_is_that_of_the_logits_else_of_the_weights() -> None:
    layer = hb.nn.LogicLayer(hb.Model(hb.parse(RULES)), 2)
    assert layer.weights[0].dtype == torch.float32 == layer()["s"].dtype
    assert layer({"s": torch.zeros(2, dtype=torch.float64)})["f"].dtype == torch.float64
    assert layer.double()()["rain"].dtype == torch.float64
    single = {name: table.float() for name, table in drawn(layer).items()}
    for name, table in layer(single).items():
        torch.testing.assert_close(table.double(), layer(drawn(layer))[name], rtol=0, atol=1e-6)


@pytest.mark.parametrize("iterations", [3, None])
def test_log_odds_are_those_of_the_marginals(iterations: int | None) -> None:
    text = RULES + 'predicate m(t) in {"u", "v", "w"}\n0.5: s(x) => m(x) = "u"\ns("b")\nnot m("a") = "v"\n'
    layer = layer_of(text, iterations)
    logits = drawn(layer, 2)
    odds, found = layer.log_odds(logits), layer(logits)
    torch.testing.assert_close(torch.sigmoid(odds["f"]), found["f"])
    torch.testing.assert_close(torch.sigmoid(odds["s"][:, 0]), found["s"][:, 0])
    assert (found["s"][:, 1] == 1).all() and (found["m"][:, 0, 1] == 0).all()
    torch.testing.assert_close(torch.softmax(odds["m"][:, 1], -1), found["m"][:, 1])
    torch.testing.assert_close(found["m"].sum(-1), torch.ones(2, 2, dtype=torch.float64))


def test_extreme_logits_stay_probabilities() -> None:
    layer = layer_of()
    for size in (50.0, 800.0, 1e6):
        logits = {"s": torch.tensor([size, -size], dtype=torch.float64, requires_grad=True)}
        found = layer(logits)
        assert found["s"].tolist() == pytest.approx([1.0, 0.0], abs=1e-12)
        assert all(((table >= 0) & (table <= 1)).all() for table in found.values())
        sum(table.sum() for table in found.values()).backward()  # type: ignore[union-attr]
        assert logits["s"].grad is not None and torch.isfinite(logits["s"].grad).all()


def test_predicates_of_no_one_and_of_one() -> None:
    none = layer_of("type t\npredicate s(t)\npredicate rain\n0.5: s(x) and rain\n0.75: rain\n")
    assert none.shapes == {"rain": ()}
    assert none()["rain"].item() == pytest.approx(1 / (1 + math.exp(-0.75 * 0.75)), abs=1e-9)
    one = layer_of(
        'type t = {"a"}\npredicate s(t)\npredicate f(t, t)\n1: s(x) and f(x, y) => s(y)\n0.5: f(x, y)\n'
    )
    assert one()["s"].tolist() == [0.5]  # the rule says nothing of one constant alone
    assert (one()["f"] > 0.5).all()


def test_nothing_open_is_nothing_to_tell() -> None:
    layer = layer_of('type t = {"a"}\npredicate k(t): observed\nk("a")\n0.5: k(x)\n')
    assert layer.shapes == {} and layer() == {}
    assert layer.expected({}).item() == 0.5
    with pytest.raises(HerbrandError, match="there is no open predicate 'k' to take logits"):
        layer({"k": torch.zeros(1)})


@pytest.mark.parametrize("known", ['type t = {"a"}\npredicate s(t)\ns("a")\n', "type t\npredicate s(t)\n"])
def test_logits_of_a_predicate_of_which_all_is_known(known: str) -> None:
    """It was said not to be open, and is."""
    layer = layer_of(known + "predicate rain\n0.5: s(x) => rain\n")
    assert list(layer.shapes) == ["rain"]
    with pytest.raises(HerbrandError, match="no atom of s is uncertain, so it takes no logits"):
        layer({"s": torch.zeros(1)})


def test_a_saved_layer_and_a_copied_one_answer_the_same() -> None:
    layer = layer_of(iterations=None)
    with torch.no_grad():
        layer.weights[0].fill_(1.5)
    logits = drawn(layer)
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    loaded = layer_of(iterations=None)
    loaded.load_state_dict(torch.load(file))
    copied = copy.deepcopy(layer)
    with torch.no_grad():
        layer.weights[1].fill_(-3.0)
    for name, table in loaded(logits).items():
        assert torch.equal(table, copied(logits)[name])
        assert not torch.equal(table, layer(logits)[name])
    assert [name for name, _ in layer.named_parameters()] == ["weights.0", "weights.1", "weights.2"]


def test_without_gradients_the_numbers_are_the_same() -> None:
    for iterations in (3, None):
        layer = layer_of(iterations=iterations)
        logits = drawn(layer, 2)
        with torch.no_grad():
            plain = layer(logits)
        recorded = layer({name: table.requires_grad_() for name, table in logits.items()})
        for name, table in recorded.items():
            assert table.requires_grad and not plain[name].requires_grad
            torch.testing.assert_close(table.detach(), plain[name], rtol=0, atol=1e-6)


def test_weights_that_are_held_fixed_take_no_gradient() -> None:
    layer = layer_of()
    layer.requires_grad_(False)
    logits = {name: table.requires_grad_() for name, table in drawn(layer).items()}
    layer(logits)["s"].sum().backward()
    assert layer.weights[0].grad is None
    assert logits["f"].grad is not None and logits["f"].grad.abs().sum() > 0


@pytest.mark.parametrize("iterations", [3, None])
def test_where_nothing_takes_a_gradient_none_is_recorded(iterations: int | None) -> None:
    layer = layer_of(iterations=iterations)
    layer.requires_grad_(False)
    assert not any(table.requires_grad for table in layer(drawn(layer)).values())


def test_second_derivatives_of_an_unrolled_layer() -> None:
    layer = layer_of('type t = {"a", "b"}\npredicate s(t)\n0.75: s(x) and s(y) where x != y\n0.5: s(x)\n')
    logits = torch.tensor([0.3, -0.8], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x: layer({"s": x})["s"], (logits,))


@pytest.mark.parametrize("read", ["forward", "log_odds"])
def test_second_derivatives_of_a_settled_layer_are_refused(read: str) -> None:
    """They are not 0, which is what a backward pass that forgets where it stands makes of them."""
    text = 'type t = {"a", "b"}\npredicate s(t)\n0.75: s(x) and s(y) where x != y\n0.5: s(x)\n'
    layer = layer_of(text, iterations=None)
    logits = torch.tensor([0.3, -0.8], dtype=torch.float64, requires_grad=True)
    total = getattr(layer, read)({"s": logits})["s"].sum()
    (slope,) = torch.autograd.grad(total, logits, create_graph=True)
    (again,) = torch.autograd.grad(getattr(layer, read)({"s": logits})["s"].sum(), logits)
    torch.testing.assert_close(slope.detach(), again)
    with pytest.raises(UnsupportedError, match="second derivatives"):
        torch.autograd.grad(slope.sum(), logits)


def test_what_does_not_settle_says_so() -> None:
    """Thirty people who all repel each other, given too few rounds to come to rest."""
    names = ", ".join(f'"p{i}"' for i in range(30))
    text = f"type t = {{{names}}}\npredicate s(t)\n-3: s(x) and s(y) where x != y\n40: s(x)\n"
    layer = layer_of(text, None, tolerance=1e-300)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("herbrand.nn.logic_layer.MOST_ITERATIONS", 3)
        layer()
        assert not layer.converged
    layer.tolerance = 1e-6
    layer()
    assert layer.converged


WRONG = [
    ({"clauses": "both"}, "clauses are 'both'\n  one of exact, independent"),
    ({"damping": -0.1}, "--damping is a number from 0 up to, not including, 1, not -0.1"),
    ({"damping": math.nan}, "--damping is a number from 0 up to, not including, 1, not nan"),
    ({"iterations": -2}, "--iterations is a whole number from 1 on, not -2"),
    ({"clip": 0.0}, "--clip is a number above 0, not 0.0"),
    (
        {"clip": 1.0, "iterations": None},
        "clipped messages have no gradient at a fixed point\n  say how many iterations to unroll",
    ),
]


@pytest.mark.parametrize(("options", "told"), WRONG)
def test_wrong_options_are_told(options: dict, told: str) -> None:
    with pytest.raises(HerbrandError) as error:
        hb.nn.LogicLayer(hb.Model(hb.parse(RULES)), **options)
    assert str(error.value) == told


def test_wrong_logits_are_told() -> None:
    layer = layer_of()
    for logits, told in [
        ({"S": torch.zeros(2)}, "there is no open predicate 'S' to take logits\n  open: s, f, rain"),
        ({"s": torch.zeros(())}, "the logits of s have shape ()\n  expected (2,), after any batch axes"),
        ({"f": torch.zeros(2)}, "the logits of f have shape (2,)\n  expected (2, 2), after any batch axes"),
        (
            {"f": torch.zeros(2, 3)},
            "the logits of f have shape (2, 3)\n  expected (2, 2), after any batch axes",
        ),
    ]:
        with pytest.raises(HerbrandError) as error:
            layer(logits)
        assert str(error.value) == told
