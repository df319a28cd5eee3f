"""The layer against plain loops: every arity, sizes below
the breadth, batches of different sizes, gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from herbrand.errors import UnsupportedError
from herbrand.induction import products, tiles
from herbrand.induction.machine import LogicMachine
from herbrand.induction.reductions import reduced
from tests.laws import tries
from tests.oracles import logic_machine as oracle

PHASES = [Phase.reuse, Phase.generate]


def random_groups(inputs: tuple[int, ...], worlds: int, objects: int, seed: int) -> list[torch.Tensor | None]:
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.rand(worlds, *[objects] * arity, count, generator=generator) if count else None
        for arity, count in enumerate(inputs)
    ]


def by_loops(
    machine: LogicMachine, groups: list[torch.Tensor | None], world: int, objects: list[int], residual: bool
) -> list[np.ndarray | None]:
    tables = [None if g is None else g[world].double().numpy() for g in groups]
    tables += [None] * (machine.breadth + 1 - len(tables))
    for layer in machine.layers:
        weights = {
            int(arity): tuple(
                t.detach().double().numpy() for t in (unit.layers[0].weight, unit.layers[0].bias)
            )
            for arity, unit in layer.units.items()
        }
        size = 1 + max(objects)
        tables = [None if t is None else t[(slice(size),) * (t.ndim - 1)] for t in tables]
        tables = oracle.layer(tables, weights, objects, residual)
    return tables


@st.composite
def machines(draw: st.DrawFn) -> tuple[LogicMachine, tuple[int, ...], int, bool]:
    breadth = draw(st.integers(1, 4))
    inputs = tuple(draw(st.integers(0, 2)) for _ in range(min(breadth, 3) + 1))
    if not any(inputs[1:]):
        inputs = (inputs[0], 1, *inputs[2:])
    residual = draw(st.booleans())
    torch.manual_seed(draw(st.integers(0, 99)))
    machine = LogicMachine(inputs, depth=draw(st.integers(1, 2)), breadth=breadth, width=2, residual=residual)
    return machine, inputs, draw(st.integers(1, 4 if breadth < 4 else 3)), residual


@settings(max_examples=tries(25), deadline=None, phases=PHASES)
@given(machines(), st.integers(0, 99))
def test_equals_plain_loops(made: tuple[LogicMachine, tuple[int, ...], int, bool], seed: int) -> None:
    machine, inputs, objects, residual = made
    groups = random_groups(inputs, 2, objects, seed)
    expected = by_loops(machine, groups, 1, list(range(objects)), residual)
    for ours, theirs in zip(machine(groups), expected, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            np.testing.assert_allclose(ours[1].detach().numpy(), theirs, atol=1e-5)


@settings(max_examples=tries(15), deadline=None, phases=PHASES)
@given(machines(), st.integers(0, 99))
def test_a_smaller_world_of_a_batch_is_as_if_alone(
    made: tuple[LogicMachine, tuple[int, ...], int, bool], seed: int
) -> None:
    machine, inputs, objects, _ = made
    groups = random_groups(inputs, 2, objects + 1, seed)
    present = torch.ones(2, objects + 1, dtype=torch.bool)
    present[1, objects] = False
    alone = [None if g is None else g[(slice(1, 2), *[slice(objects)] * (g.dim() - 2))] for g in groups]
    for both, single in zip(machine(groups, present), machine(alone), strict=True):
        if single is not None:
            assert both is not None
            here = both[(slice(1, 2), *[slice(objects)] * (single.dim() - 2))]
            torch.testing.assert_close(here, single)


@pytest.mark.parametrize("kind", [torch.bool, torch.int64, torch.float32])
def test_facts_and_masks_of_any_numbers_are_truth_values(kind: torch.dtype) -> None:
    machine = LogicMachine((0, 1, 1), depth=2, breadth=2).double()
    facts = [None, torch.ones(2, 3, 1), torch.eye(3).expand(2, 3, 3).unsqueeze(-1)]
    there = torch.tensor([[True, True, True], [True, True, False]])
    expected = machine([None if table is None else table.double() for table in facts], there)
    given = [None if table is None else table.to(kind) for table in facts]
    if kind.is_floating_point:
        given = [None if table is None else table.double() for table in facts]
    for ours, theirs in zip(machine(given, there.to(kind)), expected, strict=True):
        assert (ours is None and theirs is None) or torch.equal(ours, theirs)


@pytest.mark.parametrize(
    ("facts", "present", "message"),
    [
        ([None, np.ones((2, 3, 1))], None, "predicates of arity 1 are of type ndarray, not a tensor"),
        ({1: 2}, None, "predicates of arity 1 are of type int, not a tensor"),
        (3, None, "predicates are of type int, not tensors by arity"),
        ([None, torch.ones(())], None, "predicates of arity 1 have the shape ()"),
        (
            [None, torch.ones(2, 3, 1)],
            [[1, 1, 1]] * 2,
            "the mask of present objects is of type list, not a tensor",
        ),
        ([None, torch.ones(2, 3, 1)], torch.ones(3), "the mask of present objects has the shape (3,)"),
        ([None, torch.ones(2, 3, 1)], torch.ones(1, 3), "the mask of present objects has the shape (1, 3)"),
        ([None, torch.ones(2, 3, 1)], torch.ones(2, 4), "the mask of present objects has the shape (2, 4)"),
    ],
)
def test_what_is_no_world_is_refused(facts: Any, present: Any, message: str) -> None:
    with pytest.raises(UnsupportedError) as refused:
        LogicMachine((0, 1), depth=1, breadth=2)(facts, present)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize("arity", [1, 2, 3])
def test_a_quantifier_never_sees_equal_objects(arity: int) -> None:
    """Cells with equal objects hold what would win: 1 for exists, 0 for forall."""
    objects = 4
    group = torch.full((1, *[objects] * (arity + 1), 1), 0.5)
    for cell in np.ndindex(*group.shape[1:-1]):
        if len(set(cell)) <= arity:
            group[(0, *cell)] = float("nan")
    result = reduced(torch.nan_to_num(group, 2.0))[..., 0]
    some_pair = [len(set(cell)) < arity for cell in np.ndindex(*result.shape[1:])]
    expected = torch.where(torch.tensor(some_pair).view(result.shape), 0.0, 0.5)
    assert torch.equal(result, expected)
    result = reduced(torch.nan_to_num(group, -2.0))[..., 1]
    assert torch.equal(result, torch.where(torch.tensor(some_pair).view(result.shape), 1.0, 0.5))


@pytest.mark.parametrize("inputs", [(2, 1), (0, 2, 2), (0, 1, 1, 2)])
@pytest.mark.parametrize("floats", [7, 50, 1 << 18])
def test_gradients_by_differences(
    inputs: tuple[int, ...], floats: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiles.tiles, "__defaults__", (floats,))
    torch.manual_seed(0)
    breadth = len(inputs) - 1
    machine = LogicMachine(inputs, depth=2, breadth=breadth, width=2).double()
    groups = [None if g is None else g.double().requires_grad_() for g in random_groups(inputs, 2, 3, seed=3)]
    given_groups = [g for g in groups if g is not None]

    def outcome(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        rest = iter(tensors)
        results = machine([None if g is None else next(rest) for g in groups])
        return tuple(r for r in results if r is not None)

    assert torch.autograd.gradcheck(outcome, given_groups, atol=1e-6, fast_mode=True)
    weights = dict(machine.named_parameters())
    total = sum(r.square().sum() for r in outcome(*given_groups))
    grads = torch.autograd.grad(total, list(weights.values()))
    for weight, gradient in zip(weights.values(), grads, strict=True):
        place = tuple(torch.randint(size, (1,)).item() for size in weight.shape)
        values = []
        for step in (1e-6, -1e-6):
            with torch.no_grad():
                weight[place] += step
                values.append(sum(r.square().sum() for r in outcome(*given_groups)).item())
                weight[place] -= step
        assert gradient[place].item() == pytest.approx((values[0] - values[1]) / 2e-6, abs=1e-5)


@pytest.mark.parametrize("floats", [10, 1 << 18])
@pytest.mark.parametrize("breadth", [2, 3])
@pytest.mark.parametrize("padded", [False, True])
def test_unstored_groups_equal_stored_ones(
    breadth: int, floats: int, padded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The max-plus products against the same machine whose widest group is written out."""
    monkeypatch.setattr(tiles.tiles, "__defaults__", (floats,))
    torch.manual_seed(1)
    inputs = (0, 2, 0) if breadth == 2 else (0, 1, 2)
    options = {"depth": 3, "breadth": breadth, "width": 3, "rebuild_widest": True}
    lean = LogicMachine(inputs, target_arity=breadth - 1, **options)
    full = LogicMachine(inputs, **options)
    weights = {name: value for name, value in full.state_dict().items() if name in lean.state_dict()}
    lean.load_state_dict(weights)
    groups = random_groups(inputs, 2, 4, seed=5)
    present = torch.tensor([[True] * 4, [True] * 3 + [False]]) if padded else None
    ours, theirs = (machine(groups, present)[breadth - 1] for machine in (lean, full))
    assert lean._unstored(0) == {breadth}
    cells = slice(None) if not padded else (slice(0, 2), *[slice(3)] * (breadth - 1))
    torch.testing.assert_close(ours[cells], theirs[cells])
    for result in (ours, theirs):
        result[cells].square().sum().backward()
    for name, weight in lean.named_parameters():
        torch.testing.assert_close(weight.grad, dict(full.named_parameters())[name].grad)


@settings(max_examples=tries(25), deadline=None, phases=PHASES)
@given(st.integers(1, 9), st.lists(st.integers(1, 3), min_size=1, max_size=3), st.booleans(), st.data())
def test_pairs_in_both_orders_at_once_equal_each_order_for_itself(
    objects: int, channels: list[int], sigmoid: bool, data: st.DataObject
) -> None:
    """Small worlds take one wide product; larger ones lay both orders side by side. Gradients agree too."""
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 99)))

    def rand(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()

    blocks = [rand(2, objects, objects, count) for count in channels]
    weight, bias = rand(3, 2 * sum(channels)), rand(3)
    addends = [rand(2, objects, 3) for _ in range(data.draw(st.sampled_from([0, 2])))]
    activation = "sigmoid" if sigmoid else "none"
    both = torch.cat(blocks, -1)
    plain = torch.cat([both, both.transpose(1, 2)], -1) @ weight.T + bias
    for axis, addend in enumerate(addends):
        plain = plain + addend.unsqueeze(1 + axis)
    plain = torch.sigmoid(plain) if sigmoid else plain
    inputs = [*blocks, weight, bias, *addends]
    expected = torch.autograd.grad(plain.square().sum(), inputs)
    for tile in (1 << 18, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(products, "TILE", tile or 1)
            patch.setattr(tiles.tiles, "__defaults__", (tile or 7,))
            assert products._in_pairs(blocks, weight, 2, objects) == bool(tile) or objects < 3
            ours = products.permuted_product(blocks, weight, addends, bias, activation, objects)
            torch.testing.assert_close(ours, plain)
            for found, wanted in zip(torch.autograd.grad(ours.square().sum(), inputs), expected, strict=True):
                torch.testing.assert_close(found, wanted)


@settings(max_examples=tries(30), deadline=None, phases=PHASES)
@given(st.integers(0, 3), st.integers(1, 5), st.booleans(), st.sampled_from([5, 40, 1 << 18]), st.data())
def test_quantifiers_are_the_same_where_nothing_is_to_be_learned(
    arity: int, objects: int, padded: bool, floats: int, data: st.DataObject
) -> None:
    """Without gradients places are not kept and the memory is laid out otherwise."""
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 99)))
    group = torch.rand(2, *[objects] * (arity + 1), 2, generator=generator)
    present = torch.rand(2, objects, generator=generator) < 0.7 if padded else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles.tiles, "__defaults__", (floats,))
        with_places = reduced(group.clone().requires_grad_(), present)
        with torch.no_grad():
            without = reduced(group, present)
    assert torch.equal(with_places, without)
    for world in range(2):
        here = [o for o in range(objects) if present is None or present[world, o]]
        for cell in np.ndindex(*[objects] * arity):
            if set(cell) <= set(here):
                told = oracle.quantified(group[world].numpy(), cell, here)
                assert without[(world, *cell)].tolist() == pytest.approx(told, abs=1e-6)


@pytest.mark.parametrize("hidden", [(3,), (4, 2)])
def test_hidden_layers_of_units_are_rectified(hidden: tuple[int, ...]) -> None:
    """A unary machine is then an ordinary network applied to each object."""
    torch.manual_seed(0)
    machine = LogicMachine((0, 2), depth=1, breadth=1, width=2, hidden=hidden, residual=False, target_arity=1)
    facts = torch.rand(2, 5, 2)
    unit = machine.each_layer()[0].unit(1)
    assert unit is not None
    value = facts
    for number, layer in enumerate(unit.layers, 1):
        value = layer(value)
        value = torch.sigmoid(value) if number == len(unit.layers) else torch.relu(value)
    torch.testing.assert_close(machine([None, facts])[1], value)


def test_objects_may_be_named_in_any_order() -> None:
    """What is concluded of an object does not depend on where it stands."""
    torch.manual_seed(3)
    machine = LogicMachine((1, 1, 2), depth=3, breadth=3, width=3)
    groups = random_groups((1, 1, 2), 1, 5, seed=1)
    order = torch.tensor([3, 0, 4, 1, 2])

    def moved(group: torch.Tensor | None, arity: int) -> torch.Tensor | None:
        for axis in range(arity):
            group = None if group is None else group.index_select(1 + axis, order)
        return group

    before = machine(groups)
    after = machine([moved(group, arity) for arity, group in enumerate(groups)])
    for arity, result in enumerate(before):
        torch.testing.assert_close(after[arity], moved(result, arity))


def test_only_what_the_target_needs_is_computed() -> None:
    machine = LogicMachine((0, 0, 4), depth=4, breadth=3, target_arity=1)
    assert [sorted(layer.units) for layer in machine.layers] == [
        ["1", "2", "3"],
        ["0", "1", "2", "3"],
        ["0", "1", "2"],
        ["1"],
    ]
    torch.manual_seed(2)
    whole = LogicMachine((0, 0, 4), depth=4, breadth=3)
    machine.load_state_dict({n: v for n, v in whole.state_dict().items() if n in machine.state_dict()})
    groups = random_groups((0, 0, 4), 2, 5, seed=1)
    torch.testing.assert_close(machine(groups)[1], whole(groups)[1])
    assert [result is None for result in machine(groups)] == [True, False, True, True]
