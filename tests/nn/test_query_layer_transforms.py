"""The query layer under ``torch.func`` and ``torch.compile``, and its weights as a theory."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import herbrand as hb
from herbrand.errors import UnsupportedError

SUMS = """
type picture = {"p", "q", "r"}
type digit = 0..2
type total = 0..4
predicate shows(picture, digit)
predicate plus(digit, digit, total): observed
predicate sum(picture, picture, total)
sum(a, b, s) :- shows(a, x), shows(b, y), plus(x, y, s) @ ?
"""
PLUS = [(x, y, x + y) for x in range(3) for y in range(3)]
ASKED = {"a": torch.tensor([0, 1]), "b": torch.tensor([1, 2])}


def layer() -> hb.nn.QueryLayer:
    model = hb.Model(hb.parse(SUMS), {"plus": PLUS})
    return hb.nn.QueryLayer(model, "sum(a, b, s)", given=["a", "b"], neural=["shows"])


def scores(*lead: int) -> Tensor:
    made = torch.Generator().manual_seed(2)
    return torch.rand(*lead, 3, 3, generator=made, dtype=torch.float64)


def test_vmap_asks_for_each_examples_scores() -> None:
    sums, table = layer(), scores(4)
    found = torch.func.vmap(lambda own: sums(ASKED, {"shows": own}))(table)
    torch.testing.assert_close(found, torch.stack([sums(ASKED, {"shows": own}) for own in table]))


def test_slopes_by_torch_func_are_those_of_autograd() -> None:
    sums, table = layer(), scores(2)

    def loss(own: Tensor) -> Tensor:
        return sums(ASKED, {"shows": own}).square().sum()

    each = [torch.autograd.grad(loss(own), own)[0] for own in table.clone().requires_grad_().unbind()]
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(loss))(table), torch.stack(each))
    rows = torch.func.jacrev(lambda own: sums(ASKED, {"shows": own}))(table[0])
    ones = torch.autograd.functional.jacobian(lambda own: sums(ASKED, {"shows": own}), table[0])
    torch.testing.assert_close(rows, ones)
    weights = {name: one.detach() for name, one in sums.named_parameters()}

    def by_weights(given: dict[str, Tensor]) -> Tensor:
        return torch.func.functional_call(sums, given, (ASKED, {"shows": table[0]})).sum()

    (slope,) = torch.func.grad(by_weights)(weights).values()
    (expected,) = torch.autograd.grad(sums(ASKED, {"shows": table[0]}).sum(), list(sums.parameters()))
    torch.testing.assert_close(slope, expected)


def test_compiled_it_answers_the_same() -> None:
    sums, table = layer(), scores().requires_grad_()
    compiled = torch.compile(sums, backend="aot_eager")
    found = compiled(ASKED, {"shows": table})
    torch.testing.assert_close(found, sums(ASKED, {"shows": table}))
    (slope,) = torch.autograd.grad(found.square().sum(), table)
    (expected,) = torch.autograd.grad(sums(ASKED, {"shows": table}).square().sum(), table)
    torch.testing.assert_close(slope, expected)


def test_what_is_refused_says_so() -> None:
    sums, table = layer(), scores()
    rows = torch.tensor([[0], [1]])

    def answers(own: Tensor) -> Tensor:
        return sums(ASKED, {"shows": own})

    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: torch.export.export(sums, (ASKED, {"shows": table})), "cannot be exported"),
        (lambda: torch.func.jacfwd(answers)(table), "forward-mode"),
        (lambda: torch.func.jacrev(torch.func.jacrev(answers))(table), "second derivatives"),
        (
            lambda: torch.func.vmap(lambda r: sums({"a": r, "b": r}, {"shows": table}))(rows),
            "constants of 'a'",
        ),
    ]
    for call, message in calls:
        with pytest.raises(UnsupportedError, match=message):
            call()


def test_second_derivatives_are_refused() -> None:
    """They are not those parts of them that are left where slopes count as constants."""
    sums, table = layer(), scores().requires_grad_()
    (slope,) = torch.autograd.grad(sums(ASKED, {"shows": table}).sum(), table, create_graph=True)
    (again,) = torch.autograd.grad(sums(ASKED, {"shows": table}).sum(), table)
    torch.testing.assert_close(slope.detach(), again)
    with pytest.raises(UnsupportedError, match="second derivatives"):
        torch.autograd.grad(slope.sum(), table)


@pytest.mark.parametrize("asked", [{"a": [], "b": []}, {"a": ["p"], "b": ["q"]}])
def test_where_nothing_is_proved_slopes_are_zero(asked: dict[str, list[str]]) -> None:
    """A batch without questions, and one without proofs, do not end a training."""
    model = hb.Model(hb.parse(SUMS), {"plus": []})
    sums = hb.nn.QueryLayer(model, "sum(a, b, s)", given=["a", "b"], neural=["shows"])
    table = scores().requires_grad_()
    found = sums(asked, {"shows": table})
    assert found.shape == (len(asked["a"]), 5) and not found.any()
    found.sum().backward()
    assert table.grad is not None and not table.grad.any()
    assert all(weights.grad is not None and not weights.grad.any() for weights in sums.parameters())


def test_weights_are_written_back() -> None:
    text = (
        "predicate e(n, n): learned\npredicate p(n, n)\np(x, y) :- e(x, y) @ ?\np(x, y) :- e(x, z), p(z, y)\n"
    )
    text += 'e("a", "b") @ 0.5\ne("b", "c") @ 2\n'
    paths = hb.nn.QueryLayer(hb.Model(hb.parse(text)), "p(x, y)")
    with torch.no_grad():
        for parameter in paths.parameters():
            parameter.add_(torch.linspace(-0.4, 0.7, len(parameter)).to(parameter))
    shown = repr(paths)
    assert "weights.of_rules[0]: 0.6703 for p(x, y) :- e(x, y) @ ?" in shown
    assert "weights.of_facts.0: 2 weights of facts of e" in shown
    written = hb.Model(paths.to_theory())
    answers = written.query('p("a", y)').to_dict()["answers"]
    found = {answer["bindings"]["y"]: answer["weight"] for answer in answers}
    there = dict(zip(paths.constants("y"), paths(["a"])[0].tolist(), strict=True))
    assert found == pytest.approx({name: weight for name, weight in there.items() if weight})
