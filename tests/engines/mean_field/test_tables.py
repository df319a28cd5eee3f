"""Tables of marginals beside plain loops: readings and their derivatives, evidence, entropies, exceptions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from herbrand.engines.mean_field.literal_view import Reading
from herbrand.engines.mean_field.tables import CERTAIN, DenseTable, ListedTable
from herbrand.engines.mean_field.unknowns import Ties, Unknowns
from herbrand.program.evidence import codes_of
from herbrand.program.program import FALSE, TRUE
from tests.laws import tries

quick = settings(deadline=None, max_examples=tries(20))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
SIZE = 3


@st.composite
def readings(draw: st.DrawFn, values: int | None) -> Reading:
    arity = draw(st.integers(0, 3))
    arguments = tuple(draw(st.sampled_from(["x", "y", "z", 0, 2])) for _ in range(arity))
    if values is None:
        return Reading("p", arguments, draw(st.sampled_from([TRUE, FALSE])))
    chosen = draw(st.sets(st.integers(0, values - 1), min_size=1))
    return Reading("p", arguments, tuple(sorted(chosen)))


def cells(reading: Reading) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """For each assignment of the reading's axes, which atom is read."""
    found = []
    for place in itertools.product(range(SIZE), repeat=len(reading.axes)):
        binding = dict(zip(reading.axes, place, strict=True))
        found.append((place, tuple(binding[a] if isinstance(a, str) else a for a in reading.arguments)))
    return found


def chance(table: Tensor, atom: tuple[int, ...], reading: Reading, valued: bool) -> float:
    """That an atom has an allowed value."""
    if valued:
        return sum(float(table[(*atom, value)]) for value in reading.allowed)
    return float(table[atom]) if reading.allowed == TRUE else 1 - float(table[atom])


@quick
@given(seeds, st.sampled_from([None, 2, 3]), st.booleans(), st.data())
def test_what_is_read_of_every_atom(
    rng: np.random.Generator, values: int | None, batched: bool, data: st.DataObject
) -> None:
    """Constants, repeated variables and any choice of values; derivatives come back to the same atoms."""
    reading = data.draw(readings(values))
    table = DenseTable("p", (SIZE,) * len(reading.arguments), values)
    lead = (2,) if batched else ()
    numbers = torch.from_numpy(rng.random((*lead, *table.shape)))
    found = table.relation(table.leaf(numbers, reading, batched), reading).to_dense()
    assert found.shape == (*lead, *(SIZE,) * len(reading.axes))
    for batch in np.ndindex(*lead):
        for place, atom in cells(reading):
            expected = chance(numbers[batch], atom, reading, values is not None)
            assert float(found[(*batch, *place)]) == pytest.approx(expected)
    leaf = [one.detach().requires_grad_() for one in table.leaf(numbers, reading, batched)]
    weights = torch.from_numpy(rng.normal(size=found.shape))
    (table.relation(leaf, reading).to_dense() * weights).sum().backward()
    message = torch.zeros_like(numbers)
    gradients = [one.grad for one in leaf if one.grad is not None]
    for batch in np.ndindex(*lead):
        table.add(message[batch], [gradient[batch] for gradient in gradients], reading)
    expected = torch.zeros_like(numbers)
    sign = -1.0 if values is None and reading.allowed == FALSE else 1.0
    for batch in np.ndindex(*lead):
        for place, atom in cells(reading):
            slope = sign * float(weights[(*batch, *place)])
            for value in [()] if values is None else [(v,) for v in reading.allowed]:
                expected[(*batch, *atom, *value)] += slope
    torch.testing.assert_close(message, expected)
    whole = None if batched else table.whole(gradients, reading)
    if whole is not None:
        torch.testing.assert_close(whole, expected)


@quick
@given(seeds, st.integers(0, 2), st.sampled_from([None, 3]), st.booleans())
def test_evidence_is_put_in_and_entropies_leave_it_out(
    rng: np.random.Generator, arity: int, values: int | None, batched: bool
) -> None:
    count = SIZE**arity
    known = np.sort(rng.choice(count, int(rng.integers(0, count + 1)), replace=False)).astype(np.int64)
    settled = rng.integers(0, values or 2, len(known))
    excluded = np.empty(0, np.int64)
    others = np.setdiff1d(np.arange(count), known)
    if values and len(others):
        excluded = np.array([others[0] * values + 1])
    table = DenseTable("p", (SIZE,) * arity, values, known, settled, excluded)
    lead = (2,) if batched else ()
    logits = torch.tensor(rng.normal(size=(*lead, *table.shape)) * 3)
    found = table.probabilities(logits)
    assert found.shape == logits.shape
    for batch in np.ndindex(*lead):
        own = found[batch].reshape(count, -1)
        scores = logits[batch].reshape(count, -1)
        entropies = None if batched else table.entropies(logits, found)
        for code in range(count):
            if values is None:
                p = 1 / (1 + math.exp(-float(scores[code, 0])))
                expected = [p]
            else:
                weights = [math.exp(float(s)) for s in scores[code]]
                weights = [w * (code * values + v not in excluded) for v, w in enumerate(weights)]
                expected = [w / sum(weights) for w in weights]
            if code in known:
                value = int(settled[known.tolist().index(code)])
                expected = [float(value)] if values is None else [float(v == value) for v in range(values)]
            assert own[code].tolist() == pytest.approx(expected, abs=1e-12)
            chances = [1 - expected[0], expected[0]] if values is None else expected
            entropy = -sum(p * math.log(p) for p in chances if p > 0)
            if entropies is not None:
                assert float(entropies[code]) == pytest.approx(entropy, abs=1e-9)


@quick
@given(seeds, st.sampled_from([None, 3]), st.sampled_from([0.2, 1.0, 30.0]))
def test_messages_are_limited_in_their_order(
    rng: np.random.Generator, values: int | None, limit: float
) -> None:
    table = DenseTable("p", (4,), values)
    message = torch.from_numpy(rng.normal(size=table.shape) * 10)
    found = table.limited(message, limit)
    for atom in range(4):
        before, after = message[atom].reshape(-1).tolist(), found[atom].reshape(-1).tolist()
        apart = abs(before[0]) if values is None else max(before) - min(before)
        assert after == pytest.approx([m / (1 + apart / limit) for m in before])
        left = abs(after[0]) if values is None else max(after) - min(after)
        assert left < limit and left <= apart


def test_certain_logits_take_the_best_value_that_is_possible() -> None:
    plain = DenseTable("p", (3,))
    assert plain.certain(torch.tensor([0.2, -3.0, 0.0])).tolist() == [CERTAIN, -CERTAIN, -CERTAIN]
    valued = DenseTable("p", (2,), 3, excluded=np.array([0, 5]))
    told = torch.tensor([[9.0, 1.0, 2.0], [1.0, 0.0, 9.0]])
    chosen = valued.probabilities(valued.certain(told))
    assert chosen.tolist() == [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]


LISTED = st.sets(st.integers(0, SIZE * SIZE - 1), max_size=6).map(sorted)


@quick
@given(seeds, LISTED, st.sampled_from([TRUE, FALSE]), st.sampled_from([("x", "y"), ("y", "x")]))
def test_exceptions_and_a_default_are_the_whole_table(
    rng: np.random.Generator, codes: list[int], allowed: tuple[int, ...], arguments: tuple[str, str]
) -> None:
    """The last entry stands for every atom that is not listed."""
    listed = ListedTable("p", (SIZE, SIZE), np.array(codes, np.int64))
    numbers = torch.from_numpy(rng.random(len(codes) + 1))
    every = listed.positions(np.arange(SIZE * SIZE))
    whole = numbers[torch.from_numpy(every)].reshape(SIZE, SIZE)
    dense, reading = DenseTable("p", (SIZE, SIZE)), Reading("p", arguments, allowed)
    found = listed.relation(listed.leaf(numbers, reading, False), reading).to_dense()
    expected = dense.relation(dense.leaf(whole, reading, False), reading).to_dense()
    torch.testing.assert_close(found, expected)
    assert (listed.listed, listed.others) == (len(codes), SIZE * SIZE - len(codes))
    counts = listed.counts()
    assert counts is not None and counts.tolist() == np.bincount(every, minlength=len(codes) + 1).tolist()
    leaf = [one.detach().requires_grad_() for one in listed.leaf(numbers, reading, False)]
    weights = torch.full((SIZE, SIZE), 1.0, dtype=torch.float64)
    (listed.relation(leaf, reading).to_dense() * weights).sum().backward()
    message = torch.zeros_like(numbers)
    listed.add(message, [torch.zeros_like(o) if o.grad is None else o.grad for o in leaf], reading)
    sign = 1.0 if allowed == TRUE else -1.0
    assert message[:-1].tolist() == [sign] * len(codes)
    assert float(message[-1]) == (sign if listed.others else 0.0)


@quick
@given(seeds, LISTED)
def test_entropies_of_exceptions_count_all_atoms(rng: np.random.Generator, codes: list[int]) -> None:
    known = np.array(codes[:1], np.int64)
    listed = ListedTable("p", (SIZE, SIZE), np.array(codes, np.int64), known, np.ones_like(known))
    logits = torch.from_numpy(rng.normal(size=len(codes) + 1))
    found = listed.probabilities(logits)
    assert found[torch.from_numpy(listed.fixed)].tolist() == [1.0] * len(known)
    total = 0.0
    for code in range(SIZE * SIZE):
        p = float(found[int(listed.positions(np.array([code]))[0])])
        total -= sum(q * math.log(q) for q in (p, 1 - p) if q > 0)
    assert float(listed.entropies(logits, found).sum()) == pytest.approx(total)


@quick
@given(st.permutations(range(8)), st.integers(0, 4), seeds)
def test_atoms_that_are_one_share_what_they_are_told(
    order: list[int], count: int, rng: np.random.Generator
) -> None:
    """Followers take their leaders' marginals, turned round where they are opposite; leaders hear for all."""
    leaders, followers = order[:4], order[4 : 4 + count]
    leading = [int(rng.choice(leaders)) for _ in followers]
    opposite = rng.random(count) < 0.5
    tables = {"p": DenseTable("p", (8,))}
    tie = Ties(
        "p", "p", torch.tensor(followers, dtype=torch.int64), torch.tensor(leading, dtype=torch.int64),
        torch.from_numpy(opposite),
    )  # fmt: skip
    unknowns = Unknowns(tables, {}, (tie,))
    logits = {"p": torch.from_numpy(rng.normal(size=8))}
    marginals = unknowns.marginals(logits)["p"]
    told = torch.from_numpy(rng.normal(size=8))
    heard = unknowns.gathered_at_leaders({"p": told})["p"]
    gathered = unknowns.gathered({"p": told})["p"]
    for atom in range(8):
        if atom in followers:
            place = followers.index(atom)
            leader = float(marginals[leading[place]])
            assert float(marginals[atom]) == pytest.approx(1 - leader if opposite[place] else leader)
            assert heard[atom] == 0
            continue
        assert float(marginals[atom]) == pytest.approx(1 / (1 + math.exp(-float(logits["p"][atom]))))
        expected = float(told[atom]) + sum(
            (-1 if turned else 1) * float(told[one])
            for one, by, turned in zip(followers, leading, opposite, strict=True)
            if by == atom
        )
        assert float(heard[atom]) == float(gathered[atom]) == pytest.approx(expected)
    alone = Unknowns(tables, {}).entropy(logits, {"p": marginals})
    free = unknowns.free("p")
    assert free is not None and free.tolist() == [atom not in followers for atom in range(8)]
    lost = sum(
        -sum(q * math.log(q) for q in (p, 1 - p))
        for p in (1 / (1 + math.exp(-float(logits["p"][a]))) for a in followers)
    )
    if not count:
        assert unknowns.entropy(logits, {"p": marginals}) == pytest.approx(alone) and lost == 0


def test_a_reading_names_its_axes_as_diagonals_leave_them() -> None:
    told = {
        ("x", "y"): ("x", "y"),
        ("x", 1, "y"): ("x", "y"),
        ("x", "x", "y"): ("y", "x"),
        ("x", "y", "x", "y"): ("x", "y"),
        (0, 1): (),
        ("x", "x", "x"): ("x",),
    }
    for arguments, axes in told.items():
        assert Reading("p", arguments).axes == axes, arguments
    table = torch.arange(27.0).reshape(3, 3, 3)
    region = Reading("p", ("x", "x", "y")).region(table, False)
    assert all(region[y, x] == table[x, x, y] for x in range(3) for y in range(3))
    assert codes_of(np.array([[1, 2]]), (3, 3)).tolist() == [5]
