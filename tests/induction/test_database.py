"""Worlds as one set of tables, against the worlds one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.worlds.tasks import TASKS, task_named
from herbrand.induction.database import Database, World, worlds_of
from herbrand.induction.task import Sample, Task
from tests.laws import tries

ARITIES = {"raining": 0, "tall": 1, "likes": 2, "between": 3}


@st.composite
def made(draw: st.DrawFn) -> list[World]:
    found = []
    for _ in range(draw(st.integers(1, 4))):
        objects = draw(st.integers(1, 4))
        facts = {}
        for name, arity in ARITIES.items():
            every = list(product(range(objects), repeat=arity))
            chosen = draw(st.lists(st.sampled_from(every), unique=True, max_size=5))
            facts[name] = np.array(chosen, np.int64).reshape(len(chosen), arity)
        found.append(World(objects, facts))
    return found


def rows_of(worlds: list[World], name: str) -> list[tuple[int, ...]]:
    """Each world's tuples, its objects numbered on from those of the worlds before."""
    found, start = [], 0
    for number, world in enumerate(worlds):
        rows = world.facts[name]
        found.extend(tuple(int(v) + start for v in row) if ARITIES[name] else (number,) for row in rows)
        start += world.objects
    return found


@settings(max_examples=tries(30))
@given(made())
def test_no_object_belongs_to_two_worlds(worlds: list[World]) -> None:
    database = Database.of(worlds)
    assert database.size == sum(world.objects for world in worlds)
    assert database.world_of.tolist() == [n for n, w in enumerate(worlds) for _ in range(w.objects)]
    for name in ARITIES:
        assert [tuple(row) for row in database.tables[name].tolist()] == rows_of(worlds, name)


@settings(max_examples=tries(30))
@given(made())
def test_the_rows_of_an_object_and_of_a_world(worlds: list[World]) -> None:
    database = Database.of(worlds)
    for name, arity in ARITIES.items():
        rows = rows_of(worlds, name)
        for column in range(arity):
            columns, offsets = database.by_column(name, column)
            for thing in range(database.size):
                found = columns.T[offsets[thing] : offsets[thing + 1]]
                assert [tuple(row) for row in found.tolist()] == [r for r in rows if r[column] == thing]
        columns, offsets = database.by_world(name)
        for number in range(len(worlds)):
            found = columns.T[offsets[number] : offsets[number + 1]]
            own = [r for r in rows if (database.world_of[r[0]] if arity else r[0]) == number]
            assert [tuple(row) for row in found.tolist()] == own


@settings(max_examples=tries(20))
@given(made(), st.integers(0, 3))
def test_every_tuple_stays_within_a_world_and_has_a_code_of_its_own(worlds: list[World], arity: int) -> None:
    database = Database.of(worlds)
    expected, start = [], 0
    for number, world in enumerate(worlds):
        own = range(start, start + world.objects)
        expected += list(product(own, repeat=arity)) if arity else [(number,)]
        start += world.objects
    rows = database.every_tuple(arity)
    assert [tuple(row) for row in rows.tolist()] == expected
    assert len(set(database.codes(rows).tolist())) == len(expected)


def test_a_predicate_that_some_worlds_do_not_have() -> None:
    database = Database.of([World(2, {"p": [(1,)]}), World(1, {"p": [], "q": [(0, 0)]}), World(0, {"q": []})])
    assert database.tables["p"].tolist() == [[1]] and database.tables["q"].tolist() == [[2, 2]]
    assert database.arities == {"p": 1, "q": 2}


def test_another_predicate_leaves_the_others() -> None:
    database = Database.of([World(2, {"p": [(1,)]})])
    more = database.with_table("q", np.array([[0, 1]]), 2)
    assert set(database.tables) == {"p"} and set(more.tables) == {"p", "q"}
    assert more.arities == {"p": 1, "q": 2} and more.by_column("q", 1)[1].tolist() == [0, 0, 1]


@pytest.mark.parametrize("name", TASKS)
def test_a_sample_cell_by_cell(name: str) -> None:
    task = task_named(name)
    sample = task.draw(np.random.default_rng(1), 2, 5)
    for number, world in enumerate(worlds_of(task, sample)):
        assert world.objects == 5
        for arity, names in task.vocabulary.items():
            for channel, predicate in enumerate(names):
                held = {tuple(map(int, row)) for row in world.facts[predicate]}
                for cell in product(range(5), repeat=arity):
                    assert (cell in held) == bool(sample.predicates[arity][(number, *cell, channel)])
        held = {tuple(map(int, row)) for row in world.facts[task.target]}
        for cell in product(range(5), repeat=task.target_arity):
            assert (cell in held) == bool(sample.target[(number, *cell)])


def test_objects_that_a_world_of_a_batch_does_not_have() -> None:
    task = Task("t", "t", 1, {1: ("p",)}, lambda *_: sample, (3, 3), 3, 10)
    sample = Sample({1: torch.ones(2, 3, 1)}, torch.ones(2, 3), torch.tensor([[1, 1, 1], [1, 0, 0]]).bool())
    assert [world.objects for world in worlds_of(task, sample)] == [3, 1]


def test_tuples_of_many_objects_have_codes_of_their_own() -> None:
    """Also where there are more tuples than numbers of 64 bits."""
    database = Database.of([World(1 << 17, {})])
    rows = np.array([[0, 1, 2, 3], [1 << 13, 1, 2, 3], [1 << 14, 1, 2, 3]])
    codes = database.codes(rows)
    assert len(set(codes.tolist())) == 3
    assert np.isin(codes, database.codes(rows[1:2])).tolist() == [False, True, False]
