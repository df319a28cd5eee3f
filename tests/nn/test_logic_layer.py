"""The layer against the oracle's updates, its gradients, and what it refuses."""

from __future__ import annotations

import weakref

import pytest
import torch
from torch import Tensor

import herbrand as hb
from herbrand.errors import UnsupportedError
from herbrand.language.theory import Theory
from tests.engines.mean_field.beliefs import beliefs
from tests.engines.mean_field.theories import people, universe_of
from tests.oracles import mean_field as oracle

RULES = people(2) + "0.9: s(x) and f(x, y) => s(y)\n0.7: s(x) and c(x)\n-0.4: exists y: f(x, y) and c(y)\n"
VALUED = (
    'type p = {"p", "q"}\npredicate area(p) in {"u", "v", "w"}\npredicate cites(p, p)\n'
    '0.9: area(x) = "u" and cites(x, y) => area(y) in {"u", "w"}\n'
)


@pytest.fixture(autouse=True)
def double_precision() -> object:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def random_logits(layer: hb.nn.LogicLayer, *batch: int, seed: int = 0) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        n: torch.randn(*batch, *s, generator=generator, requires_grad=True) for n, s in layer.shapes.items()
    }


@pytest.mark.parametrize("text", [RULES, VALUED])
def test_unrolled_layers_are_the_oracles_updates(text: str) -> None:
    theory = hb.parse(text)
    layer = hb.nn.LogicLayer(hb.Model(theory), iterations=3, damping=0.0)
    slow = oracle.MeanField(universe_of(theory), theory.formulas)
    believed = slow.uniform()
    for _ in range(3):
        believed = slow.updated(believed)
    found = beliefs(layer.problem, layer(), slow)
    for atom, told in believed.items():
        assert found[atom] == pytest.approx(told, abs=1e-6)


@pytest.mark.parametrize("iterations", [2, None])
def test_a_batch_is_its_members(iterations: int | None) -> None:
    layer = hb.nn.LogicLayer(hb.Model(hb.parse(RULES + VALUED)), iterations)
    logits = random_logits(layer, 2, 3)
    together = layer(logits)
    for i in range(2):
        for j in range(3):
            alone = layer({name: table[i, j] for name, table in logits.items()})
            for name, table in together.items():
                assert torch.allclose(table[i, j], alone[name], atol=1e-5)


def test_a_predicate_without_logits_and_one_without_batches() -> None:
    layer = hb.nn.LogicLayer(hb.Model(hb.parse(RULES)))
    logits = random_logits(layer, 4)
    some = {"s": logits["s"], "f": logits["f"][0]}
    full = {"s": logits["s"], "f": logits["f"][0].expand(4, 2, 2), "c": torch.zeros(4, 2)}
    for name, table in layer(some).items():
        assert table.shape == (4, *layer.shapes[name])
        assert torch.allclose(table, layer(full)[name])


@pytest.mark.parametrize("text", [RULES, VALUED, RULES + 'hard: f(x, y) <=> f(y, x)\nf("p0", "p0")'])
def test_gradients_of_unrolled_layers(text: str) -> None:
    layer = hb.nn.LogicLayer(hb.Model(hb.parse(text)), iterations=2)
    logits = random_logits(layer)
    names = list(logits)

    def marginals(*tables: Tensor) -> tuple[Tensor, ...]:
        return tuple(layer(dict(zip(names, tables, strict=True))).values())

    assert torch.autograd.gradcheck(marginals, tuple(logits.values()))


@pytest.mark.parametrize("text", [RULES, VALUED, RULES + 'hard: f(x, y) <=> f(y, x)\nf("p0", "p0")'])
def test_implicit_gradients_are_those_of_many_layers(text: str) -> None:
    model = hb.Model(hb.parse(text))
    gradients = []
    for iterations in (None, 120):
        layer = hb.nn.LogicLayer(model, iterations, tolerance=1e-12)
        logits = random_logits(layer, 2)
        loss = sum((table**2).sum() for table in layer(logits).values())
        assert layer.converged
        gradients.append(torch.autograd.grad(loss, [*logits.values(), *layer.weights]))  # type: ignore[arg-type]
    for implicit, unrolled in zip(*gradients, strict=True):
        assert torch.allclose(implicit, unrolled, atol=1e-7)


def test_weights_are_parameters_that_learn() -> None:
    layer = hb.nn.LogicLayer(hb.Model(hb.parse(people(3) + "0.0: s(x) => c(x)")), iterations=None)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
    given = {"s": torch.full((3,), 6.0)}
    for _ in range(120):
        optimizer.zero_grad()
        (layer(given)["c"].mean() - 0.9).square().backward()
        optimizer.step()
    assert layer(given)["c"].mean().item() == pytest.approx(0.9, abs=0.01)
    assert layer.weights[0].item() > 1


def test_a_weight_for_each_constant() -> None:
    text = 'type w = {"u", "v"}\ntype d = {"a"}\npredicate has(d, w): observed\npredicate topic(d)\n'
    text += "?[x]: has(d, x) => topic(d)"
    layer = hb.nn.LogicLayer(hb.Model(hb.parse(text + '\nhas("a", "v")')), iterations=1, damping=0.0)
    assert layer.weights[0].shape == (2,)
    with torch.no_grad():
        layer.weights[0].copy_(torch.tensor([5.0, 0.7]))
    assert layer()["topic"].item() == pytest.approx(float(torch.sigmoid(torch.tensor(0.7))))
    layer()["topic"].sum().backward()
    assert layer.weights[0].grad is not None and layer.weights[0].grad[0] == 0 != layer.weights[0].grad[1]


def test_the_published_convention_weighs_clauses_apart() -> None:
    model = hb.Model(hb.parse(people(1) + "1.2: s(x) and c(x)"))
    apart = hb.nn.LogicLayer(model, 1, damping=0.0, clauses="independent")
    whole = hb.nn.LogicLayer(model, 1, damping=0.0)
    assert len(apart.weights) == 1
    assert torch.logit(apart()["s"])[0].item() == pytest.approx(1.2)
    assert torch.logit(whole()["s"])[0].item() == pytest.approx(0.6)


def test_clauses_of_one_clause_are_no_other_model() -> None:
    model = hb.Model(hb.parse(people(2) + "1.2: s(x) and f(x, y) => s(y)\n0.3: f(x, y) or f(y, x)"))
    first, second = (hb.nn.LogicLayer(model, clauses=clauses)() for clauses in ("exact", "independent"))
    for name, table in first.items():
        assert torch.allclose(table, second[name])


def test_independent_clauses_are_a_model_of_clauses() -> None:
    formula = "(s(x) or c(x)) and (not s(x) or f(x, x)) and c(x)"
    spelled = hb.parse(people(2) + "0.8: s(x) or c(x)\n0.8: not s(x) or f(x, x)\n0.8: c(x)")
    joint: Theory = hb.parse(people(2) + f"0.8: {formula}")
    apart = hb.nn.LogicLayer(hb.Model(joint), clauses="independent")()
    for name, table in hb.nn.LogicLayer(hb.Model(spelled))().items():
        assert torch.allclose(table, apart[name])


def test_single_precision_in_single_precision_out() -> None:
    layer = hb.nn.LogicLayer(hb.Model(hb.parse(RULES)), iterations=None)
    double, logits = layer(random_logits(layer)), random_logits(layer)
    single = layer({name: table.detach().float() for name, table in logits.items()})
    for name, table in single.items():
        assert table.dtype == torch.float32
        assert torch.allclose(table.double(), double[name], atol=1e-4)


def test_evidence_is_put_in_and_gets_no_gradient() -> None:
    layer = hb.nn.LogicLayer(hb.Model(hb.parse(RULES + 's("p0")\nnot c("p1")')))
    logits = random_logits(layer)
    found = layer(logits)
    assert found["s"][0] == 1 and found["c"][1] == 0
    found["f"].sum().backward()
    assert logits["s"].grad is not None and logits["s"].grad[0] == 0 != logits["s"].grad[1]


def test_bounds_are_refused() -> None:
    theory = hb.parse(f"{RULES}P(s(x)) <= 0.3\n")
    with pytest.raises(UnsupportedError, match="a logic layer cannot use this statement"):
        hb.nn.LogicLayer(hb.Model(theory))
    assert set(hb.nn.LogicLayer(hb.Model(theory, ignore=["bounds"]))()) == {"s", "f", "c"}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no accelerator")
def test_the_default_device_may_be_another() -> None:
    here = hb.nn.LogicLayer(hb.Model(hb.parse(RULES + VALUED)))()
    with torch.device("cuda"):
        there = hb.nn.LogicLayer(hb.Model(hb.parse(RULES + VALUED)))()
    for name, table in there.items():
        assert table.is_cuda and torch.allclose(table.cpu(), here[name], atol=1e-5)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no accelerator")
def test_another_device() -> None:
    layer = hb.nn.LogicLayer(hb.Model(hb.parse(RULES + VALUED)), iterations=None).cuda()
    logits = {name: table.detach().cuda() for name, table in random_logits(layer).items()}
    for name, table in layer(logits).items():
        assert table.is_cuda
        assert torch.allclose(
            table.cpu(), layer.cpu()({n: t.cpu() for n, t in logits.items()})[name], atol=1e-6
        )
        layer.cuda()


def test_a_layer_is_made_on_the_default_device() -> None:
    with torch.device("meta"):
        layer = hb.nn.LogicLayer(hb.Model(hb.parse(RULES + VALUED)))
    assert {parameter.device.type for parameter in layer.parameters()} == {"meta"}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"clauses": "cnf"}, "'cnf'"),
        ({"damping": 1.0}, "up to, not including, 1, not 1.0"),
        ({"iterations": 0}, "from 1 on, not 0"),
    ],
)
def test_wrong_options(options: dict[str, object], told: str) -> None:
    with pytest.raises(UnsupportedError, match=told):
        hb.nn.LogicLayer(hb.Model(hb.parse(RULES)), **options)  # type: ignore[arg-type]


def test_wrong_logits() -> None:
    layer = hb.nn.LogicLayer(hb.Model(hb.parse(RULES)))
    with pytest.raises(UnsupportedError, match="no open predicate 'smokes'"):
        layer({"smokes": torch.zeros(2)})
    with pytest.raises(UnsupportedError, match=r"shape \(3,\)"):
        layer({"s": torch.zeros(3)})


class Kept:
    """A tensor that waits for the backward pass, for as long as it does."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


def kept_bytes(layer: hb.nn.LogicLayer) -> int:
    """What a forward pass leaves behind for the backward pass."""
    waiting: weakref.WeakSet[Kept] = weakref.WeakSet()

    def pack(tensor: Tensor) -> Kept:
        waiting.add(kept := Kept(tensor))
        return kept

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept.tensor):
        found = layer(random_logits(layer))
    assert found["s"].requires_grad
    storages = {kept.tensor.untyped_storage().data_ptr(): kept.tensor.untyped_storage() for kept in waiting}
    return sum(storage.nbytes() for storage in storages.values())


def test_memory_grows_with_unrolled_layers_but_not_with_iterations_to_the_fixed_point() -> None:
    model = hb.Model(hb.parse(people(4) + "0.9: s(x) and f(x, y) => s(y)\n"))
    rough, fine = (hb.nn.LogicLayer(model, None, tolerance=t) for t in (1e-1, 1e-8))
    assert kept_bytes(rough) == kept_bytes(fine)
    few, many = (hb.nn.LogicLayer(model, count) for count in (2, 8))
    assert kept_bytes(many) > 3 * kept_bytes(few)
