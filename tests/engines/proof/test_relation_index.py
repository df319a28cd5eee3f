"""Rows by values of bound columns, against loops: few choices are searched for, many looked up."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import herbrand as hb
from herbrand.engines.proof.horn_program import HornProgram, IndexedFacts


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("sizes", [(3, 4, 5), (2**40, 5, 2**40)], ids=["numbers", "bytes"])
@pytest.mark.parametrize("count", [0, 1, 7, 200])
def test_ranges_hold_the_rows_of_each_choice(seed: int, sizes: tuple[int, ...], count: int) -> None:
    rng = random.Random(seed)
    drawn = [tuple(rng.randrange(min(size, 5)) for size in sizes) for _ in range(rng.choice([0, 1, 30]))]
    rows = sorted(set(drawn))
    columns = tuple(np.array([row[place] for row in rows], np.int64) for place in range(3))
    relation = IndexedFacts(columns, sizes, len(rows))
    bound = rng.choice([(0,), (1,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
    if sizes[bound[0]] > 2**30 and len(bound) == 1:
        bound = (0, 2)
    index = relation.index(bound)
    wanted = [tuple(rng.randrange(min(sizes[place], 5)) for place in bound) for _ in range(count)]
    choices = [np.array([choice[n] for choice in wanted], np.int64) for n in range(len(bound))]
    first, lengths = index.ranges(choices, count)
    for choice, start, length in zip(wanted, first.tolist(), lengths.tolist(), strict=True):
        places = index.entries(np.arange(len(rows)))[start : start + length]
        expected = [n for n, row in enumerate(rows) if tuple(row[place] for place in bound) == choice]
        assert sorted(places.tolist()) == expected


def test_a_relation_that_another_thread_made_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index knows its relation weakly: one that is in use must not be replaced by a second."""
    model = hb.Model(hb.parse('predicate e(n, n): observed\npredicate p(n)\np(x) :- e(x, _)\ne("a", "b")\n'))
    told = model.stated_program
    program = HornProgram.of(model.theory.rules, told.signature, told.facts)
    make, others = IndexedFacts.of, []

    def made_twice(*given: Any) -> IndexedFacts:
        if not others:
            others.append(None)
            others.append(program.relation("e").index((0,)))
        return make(*given)

    monkeypatch.setattr(IndexedFacts, "of", made_twice)
    relation = program.relation("e")
    assert others[1].column(1).tolist() == relation.columns[1].tolist()
