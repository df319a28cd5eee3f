"""Small steps of one shape are run as one: the same numbers, in fewer calls."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor

from herbrand.contraction import Contraction, Dense, plan, run, steps
from herbrand.contraction.planner import forget
from herbrand.contraction.steps import Route
from tests.contraction.problems import DTYPES, FLOATING, VALUES
from tests.work import calls


def tree(people: int, algebra: str, seed: int = 1) -> tuple[Contraction, list[Tensor]]:
    """A table for each person and for each link to somebody met earlier; two or three values a person."""
    draw = random.Random(seed)
    sizes = {f"p{person}": draw.choice((2, 2, 3)) for person in range(people)}
    links = [(f"p{person}", f"p{draw.randrange(person)}") for person in range(1, people)]
    operands = (*((name,) for name in sizes), *links)
    values = (0, 1, 1) if algebra == "counting" else VALUES[algebra]
    tables = []
    for axes in operands:
        shape = [sizes[axis] for axis in axes]
        drawn = draw.choices(values, k=torch.Size(shape).numel())
        tables.append(torch.tensor(drawn, dtype=DTYPES.get(algebra, torch.float64)).reshape(shape))
    return Contraction(operands, (), sizes, algebra=algebra), tables


def total(contraction: Contraction, tables: list[Tensor]) -> Tensor:
    return run(plan(contraction), [Dense(table) for table in tables]).to_dense()


def route(contraction: Contraction) -> Route:
    (only,) = plan(contraction).routes
    return only


@contextmanager
def in_turn() -> Iterator[None]:
    """Plans that are made here run their steps one after another."""
    forget()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(steps, "KEPT_AT_ONCE", -1)
        yield
    forget()


def answers(algebra: str, seed: int) -> list[Tensor]:
    """The total, and where the algebra has one its gradient by each table."""
    contraction, tables = tree(40, algebra, seed)
    if algebra not in FLOATING:
        return [total(contraction, tables)]
    tables = [table.requires_grad_() for table in tables]
    found = total(contraction, tables)
    return [found.detach(), *torch.autograd.grad(found, tables, allow_unused=True, materialize_grads=True)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("algebra", VALUES)
def test_answers_and_gradients_are_those_of_single_steps(algebra: str, seed: int) -> None:
    together = answers(algebra, seed)
    with in_turn():
        alone = answers(algebra, seed)
    for one, other in zip(together, alone, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_no_step_of_a_wave_needs_another_and_every_step_is_run_once() -> None:
    found = route(tree(60, "log")[0])
    done = set(range(len(found.inputs)))
    for wave in found.waves:
        for number in wave:
            assert done.issuperset(found.steps[number].slots)
            assert found.steps[number].shapes == found.steps[wave[0]].shapes
        done |= {len(found.inputs) + number for number in wave}
    assert sorted(number for wave in found.waves for number in wave) == list(range(len(found.steps)))
    assert len(found.waves) < len(found.steps) / 2


def test_large_tables_keep_their_turn() -> None:
    with in_turn():
        found = route(tree(10, "log")[0])
        assert found.waves == tuple((number,) for number in range(len(found.steps)))


def test_a_wave_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    forget()
    monkeypatch.setattr(steps, "AT_ONCE", 12)
    found = route(tree(60, "log")[0])
    assert all(len(wave) == 1 or len(wave) * found.steps[wave[0]].joint <= 12 for wave in found.waves)
    assert max(map(len, found.waves)) > 1
    forget()


def test_a_wave_takes_fewer_calls_than_its_steps() -> None:
    contraction, tables = tree(300, "log")

    def work() -> int:
        total(contraction, tables)  # plans
        return calls(total, contraction, tables)

    together = work()
    with in_turn():
        alone = work()
    assert alone - together > 5 * len(route(contraction).steps)
