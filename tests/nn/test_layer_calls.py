"""Facts and constants of each example, penalties, weights written back, and torch's ways to run a module."""

from __future__ import annotations

import gc
import itertools
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed
import torch.multiprocessing
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

import herbrand as hb
from herbrand.errors import HerbrandError, UnsupportedError
from tests.nn.test_query_layer_transforms import ASKED, scores
from tests.nn.test_query_layer_transforms import layer as query_layer

NAMES = ("a", "b", "c", "d")
RULES = """\
predicate s(t)
predicate f(t, t)
predicate mood(t) in {"u", "v"}
predicate e(t, t): observed
0.7: s(x) and e(x, y) => s(y)
-0.4: f(x, y) and not e(x, y) and s(x) where x != y
1.1: f(x, y) and f(y, z) => f(x, z) where x != y and y != z and x != z
0.6: mood(x) = "u" and e(x, y) => mood(y) = "u"
0.3: s(x)
"""


def typed(names: tuple[str, ...] = NAMES) -> str:
    return "type t = {" + ", ".join(f'"{name}"' for name in names) + "}\n" + RULES


def layer_of(text: str, facts: object = None, **options: object) -> hb.nn.LogicLayer:
    layer = hb.nn.LogicLayer(hb.Model(hb.parse(text), facts), 3, **options).double()  # type: ignore[arg-type]
    with torch.no_grad():
        for number, parameter in enumerate(layer.weights):
            parameter.fill_(0.9 - 0.3 * number)
    return layer


def drawn(layer: hb.nn.LogicLayer, *lead: int) -> dict[str, Tensor]:
    made = torch.Generator().manual_seed(4)
    return {n: torch.randn((*lead, *s), generator=made, dtype=torch.float64) for n, s in layer.shapes.items()}


@pytest.mark.parametrize("clip", [None, 2.0])
def test_facts_of_each_example(clip: float | None) -> None:
    """As a layer for each example that has its facts in the model."""
    layer = layer_of(typed(), observed=["e"], clip=clip)
    assert layer.fact_shapes == {"e": (4, 4)}
    logits, facts = (
        drawn(layer, 3),
        torch.randint(0, 2, (3, 4, 4), generator=torch.Generator().manual_seed(1)),
    )
    found = layer(logits, {"e": facts})
    for row in range(3):
        pairs = [(NAMES[i], NAMES[j]) for i, j in facts[row].nonzero().tolist()]
        alone = layer_of(typed(), {"e": pairs}, clip=clip)
        for name, table in alone({n: t[row] for n, t in logits.items()}).items():
            torch.testing.assert_close(found[name][row], table)


def test_facts_that_are_likely_have_slopes() -> None:
    layer = layer_of(typed(), observed=["e"])
    facts = torch.rand(2, 4, 4, dtype=torch.float64, requires_grad=True)
    logits = drawn(layer, 2)
    assert torch.autograd.gradcheck(lambda e: tuple(layer(logits, {"e": e}).values()), (facts,))


TWICE = """
type t = {"a", "b"}
predicate s(t)
predicate e(t, t): observed
0.9: e(x, y) and e(y, z) and s(x) => s(z)
-0.5: (e(x, y) <=> e(y, x)) and s(x)
1.3: s(x) or e(x, x) and e("a", x)
"""


@pytest.mark.parametrize("clauses", ["exact", "independent"])
def test_an_atom_that_is_likely_is_one_wherever_it_stands(clauses: str) -> None:
    """One update is linear in what is said, so it is the mean over all facts that there may be."""
    layer = hb.nn.LogicLayer(
        hb.Model(hb.parse(TWICE)), 1, damping=0, observed=["e"], clauses=clauses
    ).double()
    logits = {"s": torch.tensor([0.4, -1.1], dtype=torch.float64)}
    likely = torch.tensor([[0.3, 0.8], [0.5, 0.1]], dtype=torch.float64)
    expected = torch.zeros(2, dtype=torch.float64)
    for bits in itertools.product((0.0, 1.0), repeat=4):
        certain = torch.tensor(bits, dtype=torch.float64).reshape(2, 2)
        chance = (certain * likely + (1 - certain) * (1 - likely)).prod()
        expected += chance * layer.log_odds(logits, {"e": certain})["s"]
    torch.testing.assert_close(layer.log_odds(logits, {"e": likely})["s"], expected)


@pytest.mark.parametrize("iterations", [3, None])
def test_constants_of_each_example(iterations: int | None) -> None:
    """As a layer over those constants alone; what is absent is false."""
    layer = layer_of(typed(), observed=["e"], ragged=["t"])
    layer.iterations = iterations
    logits = drawn(layer, 3)
    facts = torch.randint(0, 2, (3, 4, 4), generator=torch.Generator().manual_seed(2))
    present = torch.tensor([[1, 1, 1, 1], [1, 0, 1, 1], [0, 1, 0, 1]]).bool()
    found = layer(logits, {"e": facts}, {"t": present})
    for row in range(3):
        kept = present[row].nonzero()[:, 0]
        alone = layer_of(typed(tuple(NAMES[i] for i in kept)), observed=["e"])
        alone.iterations = iterations
        own = {n: t[row][kept] if n != "f" else t[row][kept][:, kept] for n, t in logits.items()}
        expected = alone(own, {"e": facts[row][kept][:, kept]})
        for name, table in expected.items():
            part = found[name][row][kept] if name != "f" else found[name][row][kept][:, kept]
            torch.testing.assert_close(part, table, rtol=1e-5, atol=1e-5)
        gone = (~present[row]).nonzero()[:, 0]
        assert not found["s"][row][gone].any() and not found["mood"][row][gone].any()
        assert not found["f"][row][gone].any() and not found["f"][row][:, gone].any()


def test_calls_that_are_refused() -> None:
    layer = layer_of(typed(), observed=["e"], ragged=["t"])
    zeros = torch.zeros(4, 4)
    for call, told in [
        (({}, {}, {}), "the facts of e are missing"),
        (({}, {"e": zeros[0]}, {}), "the facts of e have shape"),
        (({"s": zeros[0] * 1j}, {"e": zeros}, {}), "the logits of s are complex numbers"),
        (({}, {"e": zeros, "s": zeros}, {}), "no observed predicate 's'"),
        (({}, {"e": zeros}, {"u": zeros}), "no ragged type 'u'"),
        (({}, {"e": zeros}, {"t": zeros[:, 0, None]}), "the constants of t have shape"),
        (({}, {"e": zeros + 2}, {}), "the facts of e have the number 2"),
        (({}, {"e": zeros - math.nan}, {}), "the facts of e have the number nan"),
        (({}, {"e": zeros}, {"t": zeros[0] - 1}), "the constants of t have the number -1"),
    ]:
        with pytest.raises(HerbrandError, match=told):
            layer(*call)
    for text, options, told in [
        (typed(), {"observed": ["s"]}, "s is open"),
        (typed(), {"observed": ["k"]}, "no predicate 'k'"),
        (typed(), {"ragged": ["u"]}, "no type 'u'"),
        (typed() + "hard: e(x, y) => s(x)\n", {"observed": ["e"]}, "a hard statement is about e"),
        (typed() + "hard: s(x) => r(x)\npredicate r(t)\n", {"ragged": ["t"]}, "a hard statement is about t"),
        (typed() + "hard: forall x: s(x)\n", {"ragged": ["t"]}, "a hard statement is about t"),
        (typed() + "0.5: exists y: e(x, y) and s(y)\n", {"observed": ["e"]}, "quantifiers"),
        (typed(), {"hard": "often"}, "hard statements are 'often'"),
        (typed(), {"hard": "penalised", "penalty": -1.0}, "a penalty is a number above 0, not -1.0"),
    ]:
        with pytest.raises(HerbrandError, match=told):
            layer_of(text, **options)


HARD = 'type t = {"a", "b", "c"}\npredicate s(t)\npredicate r(t)\n0.5: s(x)\n'
HARD += "hard: s(x) => r(x)\nhard: r(x) <=> r(y)\n"


@pytest.mark.parametrize(
    ("logits", "told"),
    [
        ({"s": [0.1, 0.2]}, "the logits of s are of type list"),
        ({"s": None}, "the logits of s are of type NoneType"),
        ([0.1, 0.2], "a mapping, not of type list"),
        ("s", "a mapping, not of type str"),
    ],
)
def test_what_is_no_tensor_is_refused_by_name(logits: Any, told: str) -> None:
    layer = hb.nn.LogicLayer(hb.Model(hb.parse('type t = {"a", "b"}\npredicate s(t)\n0.7: s(x)\n')), 3)
    with pytest.raises(HerbrandError, match=told):
        layer(logits)


def test_whole_numbers_are_numbers() -> None:
    layer = hb.nn.LogicLayer(hb.Model(hb.parse('type t = {"a", "b"}\npredicate s(t)\n0.7: s(x)\n')), 3)
    found = layer({"s": torch.tensor([1, -2])})["s"]
    torch.testing.assert_close(found, layer({"s": torch.tensor([1.0, -2.0])})["s"])
    theory = hb.parse(
        'predicate d(t)\npredicate e(t): observed\npredicate q(t)\nq(x) :- d(x), e(x)\ne("a")\ne("b")\n'
    )
    asked = hb.nn.QueryLayer(hb.Model(theory), "q(x)", neural=["d"])
    found = asked(scores={"d": torch.tensor([1, 0])})
    assert found.is_floating_point() and found.tolist() == [[1.0, 0.0]]
    with pytest.raises(HerbrandError, match="scores of d are of type list"):
        asked(scores={"d": [1.0, 0.5]})  # type: ignore[dict-item]


def test_memory_is_an_amount_as_people_write_it() -> None:
    for memory in ("1GB", "50%", 2**30):
        assert torch.equal(layer_of(typed(), memory=memory)()["s"], layer_of(typed())()["s"])
    with pytest.raises(UnsupportedError, match="'1 XB' is not an amount of memory"):
        layer_of(typed(), memory="1 XB")


def test_hard_statements_as_penalties() -> None:
    """As the statement with that weight; what single atoms can keep stays hard."""
    with pytest.raises(HerbrandError, match="cannot keep this hard statement"):
        layer_of(HARD)
    layer = layer_of(HARD, hard="penalised", penalty=4.0)
    stated = layer_of(HARD.replace("hard: s", "4.0: s"))
    with torch.no_grad():
        stated.weights[1].fill_(4.0)
    assert len(layer.weights) == 1 and layer.penalties == [4.0]
    logits = drawn(layer, 2)
    for name, table in stated(logits).items():
        torch.testing.assert_close(layer(logits)[name], table)
    odds = layer.log_odds(logits)["r"]
    torch.testing.assert_close(odds, odds[:, :1].expand(2, 3))


def test_annealed_penalties_grow_to_the_whole() -> None:
    layer = layer_of(HARD, hard="annealed", penalty=6.0, damping=0.0)
    steps = [layer_of(HARD, hard="penalised", penalty=p, damping=0.0) for p in (2.0, 4.0, 6.0)]
    logits = drawn(layer)
    found = {name: table[None] for name, table in logits.items()}
    unknowns = layer.problem.unknowns
    found = unknowns.gathered(found)
    for one in steps:
        said = one.messages(unknowns.marginals(found))
        found = unknowns.gathered({name: logits[name][None] + said[name] for name in logits})
    for name, table in unknowns.marginals(found).items():
        torch.testing.assert_close(layer(logits)[name], table[0])


def test_weights_are_written_back_and_explained() -> None:
    text = 'type w = {"u", "v"}\npredicate has(d, w): observed\npredicate topic(d)\n0.1: topic(x)\n'
    text += '?[x]: has(d, x) => topic(d)\nhas("k", "u")\nhas("k", "v")\n'
    layer = hb.nn.LogicLayer(hb.Model(hb.parse(text)), None, tolerance=1e-12).double()
    with torch.no_grad():
        layer.weights[0].fill_(-0.25)
        layer.weights[1].copy_(torch.tensor([1.5, 0.5]))
    shown = repr(layer)
    assert "weights.0 = -0.25: topic(x)" in shown and "weights.1 = (2,) numbers" in shown
    assert "iterations=None, damping=0.5\n" in shown
    model = hb.Model(layer.to_theory())
    (row,) = model.infer(engine="exact").to_dict()["marginals"]
    assert row["probability"] == pytest.approx(layer()["topic"].item())
    told = {reason.contribution for reason in model.explain('topic("k")').reasons}
    assert sorted(told) == pytest.approx([-0.25, 0.5, 1.5])


def test_a_layer_shows_how_it_was_made() -> None:
    ways = {"observed": ["e"], "clip": 2.0, "hard": "penalised", "penalty": 4.0}
    shown = repr(layer_of(typed(), **ways))
    assert "iterations=3, damping=0.5, clip=2, observed=['e'], hard=penalised, penalty=4\n" in shown


@pytest.mark.parametrize(
    ("name", "told"),
    [("k", "k is many-valued.*\n  state the facts in the model"), ("s", "s is open.*\n  declare it")],
)
def test_why_a_predicate_takes_no_facts_with_each_call(name: str, told: str) -> None:
    """A many-valued one was to be declared as it was."""
    text = 'type t = {"a"}\npredicate k(t) in {"u", "v"}: observed\npredicate s(t)\n0.1: k(x) = "u" => s(x)\n'
    with pytest.raises(UnsupportedError, match=told):
        layer_of(text, observed=[name])


@pytest.mark.parametrize("precision", [torch.float32, torch.float64, torch.bfloat16])
def test_weights_are_written_in_their_own_precision(precision: torch.dtype) -> None:
    """The shortest decimals that are read back as the same numbers."""
    layer = layer_of('type t = {"a"}\npredicate s(t)\n0.1: s(x)\n').to(precision)
    with torch.no_grad():
        layer.weights[0].fill_(0.7)
    (statement,) = layer.to_theory().formulas
    assert torch.tensor(statement.weight, dtype=precision) == layer.weights[0]
    assert statement.weight == 0.7 or precision == torch.bfloat16


def test_vmap_export_compile_and_bfloat16() -> None:
    layer = layer_of(typed(), observed=["e"]).float()
    layer.iterations = 2
    logits = {name: table.float() for name, table in drawn(layer, 4).items()}
    facts = torch.randint(0, 2, (4, 4, 4), generator=torch.Generator().manual_seed(3)).float()
    expected = layer(logits, {"e": facts})

    def check(found: dict[str, Tensor], close: float = 1e-5) -> None:
        for name, table in expected.items():
            torch.testing.assert_close(found[name].float(), table, rtol=0, atol=close)

    check(torch.func.vmap(lambda z, e: layer(z, {"e": e}))(logits, facts))
    batch = torch.export.Dim("batch")
    each = ({name: {0: batch} for name in logits}, {"e": {0: batch}})
    program = torch.export.export(layer, (logits, {"e": facts}), dynamic_shapes=each)
    twice = {name: torch.cat([table, table]) for name, table in logits.items()}
    found = program.module()(twice, {"e": torch.cat([facts, facts])})
    check({name: table[4:] for name, table in found.items()})
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    leaves = {name: table.clone().requires_grad_() for name, table in logits.items()}
    made = compiled(leaves, {"e": facts})
    check(made)
    made["s"].sum().backward()
    (slope,) = torch.autograd.grad(layer(leaves, {"e": facts})["s"].sum(), leaves["f"])
    torch.testing.assert_close(leaves["f"].grad, slope)
    rough = layer({name: table.bfloat16() for name, table in logits.items()}, {"e": facts})
    assert {table.dtype for table in rough.values()} == {torch.bfloat16}
    check(rough, 0.03)


def test_settled_layers_refuse_transforms_and_can_be_compiled() -> None:
    layer = hb.nn.LogicLayer(hb.Model(hb.parse(SHORT)), None).double()
    logits = torch.tensor([[0.3, -0.8], [1.0, 0.5]], dtype=torch.float64, requires_grad=True)
    plain = logits.detach()

    def settled(table: Tensor) -> Tensor:
        return layer({"s": table})["s"]

    def by_weight(weight: Tensor) -> Tensor:
        return torch.func.functional_call(layer, {"weights.0": weight}, ({"s": plain},))["s"]

    weight = layer.weights[0].detach()
    transforms: list[Callable[[], object]] = [
        lambda: torch.func.vmap(settled)(plain),
        lambda: torch.func.jacrev(settled)(plain),
        lambda: torch.func.hessian(settled)(plain),
        lambda: torch.func.jacfwd(by_weight)(weight),
        lambda: torch.export.export(layer, ({"s": plain},)),
    ]
    for transform in transforms:
        with pytest.raises(UnsupportedError, match="runs until it settles"):
            transform()
    compiled = torch.compile(layer, backend="aot_eager")({"s": logits})["s"]
    torch.testing.assert_close(compiled, settled(logits))
    (found,) = torch.autograd.grad(compiled.square().sum(), logits)
    (expected,) = torch.autograd.grad(settled(logits).square().sum(), logits)
    torch.testing.assert_close(found, expected)


class Examples(Dataset):
    """Marginals and answers made by workers of their own."""

    def __init__(self) -> None:
        self.marginals, self.answers = hb.nn.LogicLayer(hb.Model(hb.parse(SHORT)), 2), query_layer()
        self.scores = scores(4)

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        marginals = self.marginals({"s": torch.full((2,), float(index))})["s"]
        return marginals.detach(), self.answers(ASKED, {"shows": self.scores[index]}).detach()


SHORT = 'type t = {"a", "b"}\npredicate s(t)\n0.5: s(x) and s(y) where x != y\n'


def test_workers_of_a_data_loader() -> None:
    """One for both kinds of layers, since each process takes seconds to start."""
    data = Examples()
    loader = DataLoader(data, batch_size=2, num_workers=1, multiprocessing_context="spawn")
    marginals, answers = map(torch.cat, zip(*loader, strict=True))
    expected = [*map(torch.stack, zip(*(data[i] for i in range(4)), strict=True))]
    assert torch.equal(marginals, expected[0])
    torch.testing.assert_close(answers, expected[1])


def _trained(rank: int, file: str, results: str, processes: int) -> None:
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{file}", rank=rank, world_size=processes
    )
    layer = DistributedDataParallel(hb.nn.LogicLayer(hb.Model(hb.parse(SHORT)), 2))
    layer({"s": torch.tensor([1.0 + rank, -0.5])})["s"].sum().backward()
    (parameter,) = layer.parameters()
    if rank == 0:
        torch.save(parameter.grad, results)


def _trained_apart(rank: int, folder: str, processes: int) -> None:
    """In a process of its own, which ends at once when all have their gradients.

    gloo takes it for an error that a colleague leaves before the threads of the group have ended, and aborts.
    """
    _trained(rank, f"{folder}/meet", f"{folder}/slope", processes)
    Path(folder, f"done{rank}").touch()
    while not all(Path(folder, f"done{other}").exists() for other in range(processes)):
        time.sleep(0.01)
    os._exit(0)


@pytest.fixture
def folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as path:
        yield path


def _shared_slope(folder: str, processes: int) -> None:
    layer = hb.nn.LogicLayer(hb.Model(hb.parse(SHORT)), 2)
    each = [layer({"s": torch.tensor([1.0 + rank, -0.5])})["s"].sum() for rank in range(processes)]
    loss = torch.stack(each).mean()
    (slope,) = torch.autograd.grad(loss, list(layer.parameters()))
    assert math.isclose(torch.load(f"{folder}/slope").item(), slope.item(), rel_tol=1e-6)


def test_a_group_of_one_has_its_gradient(folder: str) -> None:
    """In this process: each other one takes five seconds to start."""
    _trained(0, f"{folder}/meet", f"{folder}/slope", 1)
    gc.collect()  # no reducer keeps the group's threads beyond the group
    torch.distributed.destroy_process_group()
    _shared_slope(folder, 1)


@pytest.mark.slow
def test_two_processes_share_the_gradient(folder: str) -> None:
    torch.multiprocessing.spawn(_trained_apart, (folder, 2), nprocs=2)
    _shared_slope(folder, 2)
