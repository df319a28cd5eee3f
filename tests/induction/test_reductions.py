"""Quantifiers and products of the layer, against plain loops, whatever the tiles that they are walked in."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.induction import tiles
from herbrand.induction.max_plus import reduced_sum
from herbrand.induction.products import expanded_addends, permuted_product
from herbrand.induction.reductions import index_type, reduced
from herbrand.induction.tiles import exclude, fill_diagonals
from tests.laws import tries
from tests.oracles.logic_machine import quantified


@pytest.fixture(params=[1, 5, 40, 1 << 18])
def floats(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(tiles.tiles, "__defaults__", (request.param,))
    return request.param


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("arity", [0, 1, 2, 3])
def test_quantifiers_cell_by_cell(arity: int, floats: int) -> None:
    objects, worlds = 4, 3
    group = drawn(worlds, *[objects] * (arity + 1), 2)
    present = torch.tensor([[True] * 4, [True, True, True, False], [True, False, False, False]])
    for given_present in (None, present):
        found = reduced(group, given_present)
        for world in range(worlds):
            there = [o for o in range(objects) if given_present is None or given_present[world, o]]
            for place in product(there, repeat=arity):
                expected = quantified(group[world].numpy(), place, there)
                assert found[(world, *place)].tolist() == pytest.approx(expected, abs=0), (world, place)


@pytest.mark.parametrize("arity", [1, 2])
def test_gradients_of_quantifiers(arity: int, floats: int) -> None:
    group = drawn(2, *[3] * (arity + 1), 2).requires_grad_()
    present = torch.tensor([[True, True, True], [True, True, False]])
    assert torch.autograd.gradcheck(lambda g: reduced(g, present), (group,))


@pytest.mark.parametrize("arity", [1, 2, 3])
def test_a_sum_is_quantified_as_if_it_had_been_made(arity: int, floats: int) -> None:
    """Addend e does not depend on axis e; the whole is never stored."""
    objects, width = 4, 2
    addends = [drawn(2, *[objects] * arity, width, seed=n) * 4 - 2 for n in range(arity + 1)]
    bias = drawn(width, seed=9)
    present = torch.tensor([[True] * 4, [True, True, True, False]])
    whole = sum(addend.unsqueeze(1 + axis) for axis, addend in enumerate(addends)) + bias
    expected = reduced(torch.sigmoid(whole), present)
    found = reduced_sum(addends, bias, present)
    for world in range(2):
        there = [o for o in range(objects) if present[world, o]]
        for place in product(there, repeat=arity):
            torch.testing.assert_close(found[(world, *place)], expected[(world, *place)])


def test_gradients_of_a_sum_never_made(floats: int) -> None:
    addends = [(drawn(2, 3, 3, 2, seed=n) * 4 - 2).requires_grad_() for n in range(3)]
    bias = drawn(2, seed=9).requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b, c, w: reduced_sum([a, b, c], w), (*addends, bias))


def by_loops(
    blocks: list[torch.Tensor], weight: torch.Tensor, addends: list[torch.Tensor], bias: torch.Tensor
) -> np.ndarray:
    """Every cell: the channels of all blocks at each permutation of its objects, times the weights."""
    worlds, objects = blocks[0].shape[:2]
    arity = blocks[0].dim() - 2
    result = np.zeros((worlds, *[objects] * arity, len(weight)))
    for world in range(worlds):
        for cell in product(range(objects), repeat=arity):
            features: list[float] = []
            for order in permutations(range(arity)):
                place = [0] * arity
                for position, axis in enumerate(order):
                    place[axis] = cell[position]
                for block in blocks:
                    features += block[(world, *place)].tolist()
            value = weight.numpy() @ np.array(features) + bias.numpy()
            for axis, addend in enumerate(addends):
                value = value + addend[(world, *cell[:axis], *cell[axis + 1 :])].numpy()
            result[(world, *cell)] = value
    return result


@pytest.mark.parametrize("arity", [1, 2, 3])
@pytest.mark.parametrize("activation", ["none", "relu", "sigmoid"])
def test_products_over_permutations(arity: int, activation: str, floats: int) -> None:
    objects, width = 3, 2
    blocks = [drawn(2, *[objects] * arity, channels, seed=channels) for channels in (1, 3)]
    weight = drawn(width, len(list(permutations(range(arity)))) * 4, seed=5) - 0.5
    addends = [drawn(2, *[objects] * (arity - 1), width, seed=20 + n) - 0.5 for n in range(arity)]
    bias = drawn(width, seed=7) - 0.5
    plain = by_loops(blocks, weight, addends, bias)
    expected = {"none": plain, "relu": plain.clip(0), "sigmoid": 1 / (1 + np.exp(-plain))}[activation]
    found = permuted_product(blocks, weight, addends, bias, activation, objects)  # type: ignore[arg-type]
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("arity", [1, 2, 3])
def test_gradients_of_products(arity: int, floats: int) -> None:
    blocks = [drawn(2, *[3] * arity, channels, seed=channels).requires_grad_() for channels in (1, 2)]
    count = len(list(permutations(range(arity))))
    weight = (drawn(2, count * 3, seed=5) - 0.5).requires_grad_()
    addends = [drawn(2, *[3] * (arity - 1), 2, seed=20 + n).requires_grad_() for n in range(arity)]
    bias = drawn(2, seed=7).requires_grad_()

    def outcome(w: torch.Tensor, b: torch.Tensor, *rest: torch.Tensor) -> torch.Tensor:
        return permuted_product(rest[:2], w, rest[2:], b, "sigmoid", 3)

    assert torch.autograd.gradcheck(outcome, (weight, bias, *blocks, *addends))


@settings(max_examples=tries(10))
@given(st.integers(1, 3), st.integers(0, 99))
def test_expanding_before_or_after_the_product_is_the_same(arity: int, seed: int) -> None:
    """A narrower block stands, in every permutation, where its arguments come before the new one."""
    objects, channels, width = 3, 2, 2
    block = drawn(1, *[objects] * (arity - 1), channels, seed=seed)
    orders = list(permutations(range(arity)))
    weight = drawn(width, len(orders), channels, seed=seed + 1)
    wide = block.unsqueeze(-2).expand(1, *[objects] * arity, channels)
    expected = permuted_product([wide], weight.flatten(1), (), None, "none", objects)
    addends = expanded_addends([block], weight, arity, objects)
    found = permuted_product((), None, addends, None, "none", objects)
    torch.testing.assert_close(found, expected)


@settings(max_examples=tries(30))
@given(st.integers(1, 4), st.integers(1, 6), st.integers(0, 3), st.integers(1, 5), st.integers(1, 200))
def test_tiles_cover_every_cell_once(worlds: int, objects: int, arity: int, width: int, floats: int) -> None:
    seen = torch.zeros(worlds, *[objects] * max(arity, 1))
    for place in tiles.tiles(worlds, objects, arity, width, floats):
        seen[place] += 1
        cells = (place[0].stop - place[0].start) * (place[1].stop - place[1].start)
        rest = objects ** max(arity - 1, 0)
        alone = place[0].stop - place[0].start == 1 and (arity == 0 or place[1].stop - place[1].start == 1)
        assert alone or arity == 0 or cells * rest * width <= floats
    assert (seen == 1).all()


def test_diagonals_are_found_by_their_place_in_the_whole() -> None:
    whole = torch.zeros(1, 4, 4, 4, 1)
    fill_diagonals(whole, 1.0, 3)
    for cell in product(range(4), repeat=3):
        assert bool(whole[(0, *cell)]) == (len(set(cell)) < 3)
    part = torch.zeros(1, 2, 4, 4, 1)
    exclude(part, 1.0, 3, (slice(0, 1), slice(2, 4)), None)
    assert torch.equal(part, whole[:, 2:])


def test_places_take_two_bytes_while_they_fit() -> None:
    assert index_type(2**15 - 1) == torch.int16 and index_type(2**15) == torch.int32
