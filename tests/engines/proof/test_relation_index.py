"""Rows by values of bound columns, against loops: few choices are searched for, many looked up."""

from __future__ import annotations

import random

import numpy as np
import pytest

from herbrand.engines.proof.horn_program import IndexedFacts


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
