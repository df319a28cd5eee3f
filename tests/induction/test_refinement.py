"""Bodies that grow for all examples at once, against plain loops over every assignment."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from herbrand.induction.database import Database, World
from herbrand.induction.evaluation import ANY, Clause, Literal
from herbrand.induction.refinement import Partial
from herbrand.induction.vocabulary import Join, Vocabulary
from tests.laws import tries

PHASES = [Phase.reuse, Phase.generate]
ARITIES = {"wet": 0, "red": 1, "edge": 2, "between": 3}


def made(seed: int, count: int, objects: int) -> list[World]:
    rng = np.random.default_rng(seed)
    return [
        World(
            objects,
            {n: np.argwhere(rng.random((objects,) * a) < 0.5 / max(a, 1)) for n, a in ARITIES.items()},
            tuple(int(n) for n in rng.integers(0, 4, objects)),
        )
        for _ in range(count)
    ]


def holds(clause: Clause, worlds: list[World], target: tuple[int, ...], number: int) -> bool:
    """Whether some assignment of a world's objects to the variables satisfies the body."""
    world = worlds[number]
    known = {name: {tuple(map(int, row)) for row in rows} for name, rows in world.facts.items()}
    names = {v for x in clause.body for v in x.named} | {v for pair in clause.apart for v in pair}
    names |= {v for one in clause.conditions for v in one.variables} | set(clause.variables)
    free = sorted(names - set(clause.variables))
    for objects in itertools.product(range(world.objects), repeat=len(free)):
        at = dict(zip(clause.variables, target, strict=True)) | dict(zip(free, objects, strict=True))
        value = {v: world.constants[o] for v, o in at.items()}
        order = {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__, "=": int.__eq__}
        if (
            all(stands(x, at, known[x.predicate]) != x.negated for x in clause.body)
            and all(at[a] != at[b] for a, b in clause.apart)
            and all(
                order[one.operator](value[one.left], one.value if one.right is None else value[one.right])
                for one in clause.conditions
            )
        ):
            return True
    return False


def stands(literal: Literal, at: dict[int, int], rows: set[tuple[int, ...]]) -> bool:
    """Whether a row agrees with every variable that stands for one object."""
    return any(
        all(v == ANY or at[v] == o for v, o in zip(literal.variables, row, strict=True)) for row in rows
    )


@settings(max_examples=tries(25), deadline=None, phases=PHASES)
@given(st.integers(0, 10**6), st.integers(0, 2), st.data())
def test_coverage_with_every_test_is_that_of_plain_loops(seed: int, arity: int, data: st.DataObject) -> None:
    """Two joins at random, then every test of what they bind, or the last of them for good."""
    worlds = made(seed, 2, 3)
    database = Database.of(worlds)
    examples = database.every_tuple(arity)
    heads = examples[:, :0] if arity == 0 else examples
    vocabulary = Vocabulary.of(database, list(ARITIES), heads)
    partial = Partial.root(vocabulary, examples, arity == 0)
    for _ in range(data.draw(st.integers(0, 2))):
        joins = vocabulary.joins(partial.kinds, arity == 0)
        grown = partial.joined(data.draw(st.sampled_from(joins)), 10_000) if joins else None
        partial = partial if grown is None else grown
    left = partial.covered_with_each_test()
    covered = partial.covered()
    numbers = [n for n, test in enumerate(partial.tests) if test is not None]
    assert set(covered.tolist()) == by_loops(partial.clause("t"), worlds, examples, arity)
    for number in numbers[:: max(len(numbers) // 12, 1)]:
        grown = partial.with_test(number)
        expected = by_loops(grown.clause("t"), worlds, examples, arity)
        assert set(grown.covered().tolist()) == expected
        told = set(covered[left[:, number] > 0].tolist()) if left.size else set()
        assert told == expected or grown.rows == partial.rows, "or the test holds in every row"


def by_loops(clause: Clause, worlds: list[World], examples: np.ndarray, arity: int) -> set[int]:
    found = set()
    for number, row in enumerate(examples):
        world = int(row[0]) if arity == 0 else int(row[0]) // 3
        target = () if arity == 0 else tuple(int(o) - 3 * world for o in row)
        if holds(clause, worlds, target, world):
            found.add(number)
    return found


def test_the_example_itself_does_not_explain_itself() -> None:
    """The target in a body is never the example's own tuple."""
    worlds = [World(3, {"edge": [(0, 1), (1, 2)]})]
    database = Database.of(worlds).with_table("t", np.array([[0], [2]]), 1)
    vocabulary = Vocabulary.of(database, ["edge", "t"], np.array([[0], [1], [2]]), recursive="t")
    root = Partial.root(vocabulary, np.array([[0], [1], [2]]), False)
    assert not any(getattr(test.literal, "predicate", "") == "t" for test in root.tests if test)
    to = next(j for j in vocabulary.joins(root.kinds, False) if j == Join("edge", (0, None)))
    after = root.joined(to, 100)
    assert after is not None
    number = next(n for n, p in enumerate(after.tests) if p and getattr(p.literal, "predicate", "") == "t")
    assert after.with_test(number).covered().tolist() == [1]


def test_a_repeated_literal_may_bind_another_object() -> None:
    """Two edges from one object: the join comes a second time, with different ends."""
    edges = [(0, 1), (0, 2), (1, 2)]
    database = Database.of([World(3, {"edge": edges})])
    rows = np.array([[0], [1], [2]])
    root = Partial.root(Vocabulary.of(database, ["edge"], rows), rows, False)
    one = root.joined(Join("edge", (0, None)), 100)
    assert one is not None
    join = next(j for j in one.joins(False) if j.variables == (0, None) and j.apart)
    assert join.apart == ((1, 2),)
    two = one.joined(join, 100)
    assert two is not None
    expected = {(x, y, z) for x, y in edges for a, z in edges if a == x and y != z}
    assert {tuple(map(int, row)) for row in two.columns.T} == expected
    assert two.clause("t").apart == ((1, 2),)
