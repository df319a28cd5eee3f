"""Every choice that the engine makes by size or by estimate, made otherwise: answers must not feel it.

Random programs are small, and small states all take the same road through the engine. Here the limits at
which it changes its mind are drawn too, and so is the order in which literals are joined.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pytest
from hypothesis import strategies as st

from herbrand.program.join_order import Candidate, Order

CHOICES: dict[str, Sequence[object]] = {
    "table.SMALL_GRID": (2**13, 0),
    "table.DENSE_SHARE": (0.02, 0.4, 2.0),
    "table.LARGEST_GRID": (2**23, 0),
    "table.FEW_KEYS": (4, 0, 1000),
    "table.MOST_WAITING": (2**20, 0),
    "unrolled.MOST_DIRECT": (2, 0, 1, 100),
    "unrolled.GRID_CACHE": (2**19, 1, 6),
    "unrolled.FEWEST_ROWS": (16, 1),
    "recursion_loop.MOST_RELATIONS": (4, 4, 0),
    "recursion_loop.BLOCK": (64, 2, 1),
    "recursion_loop.DENSE_SHARE": (0.08, 0.0, 2.0),
    "recursion_loop.CHUNK": (2**20, 1),
    "join_sum.CHUNK": (2**20, 1),
    "fixpoint.DENSE_BYTES": (2**28, 0),
    "planning.LED_FROM": (1e4, 0.0),
    "planning.LED_SHARE": (0.5, math.inf),
    "planning.LED_ROWS": (16, 0),
}

roads = st.fixed_dictionaries(
    {name: st.sampled_from(values) for name, values in CHOICES.items()}
    | {
        "order": st.one_of(st.none(), st.integers(0, 2**16)),
        "compiled": st.booleans(),
        "short": st.booleans(),
    }
)


@contextmanager
def taken(choices: Mapping[str, object]) -> Iterator[None]:
    """With these limits; ``order``: the seed of a random order of literals, or the best one;
    ``compiled``: loops are, however small; ``short``: they come back as soon as they can."""

    def any_order(candidates: Sequence[Candidate], *_: object) -> Order:
        order = list(range(len(candidates)))
        random.Random(f"{choices['order']} {candidates}").shuffle(order)
        return Order(1.0, tuple(order))

    with pytest.MonkeyPatch.context() as patch:
        for name in CHOICES:
            patch.setattr(f"herbrand.engines.proof.{name}", choices[name])
        if choices.get("compiled"):
            patch.setattr("herbrand.loops.MOST_PLAIN", -1.0)
        if choices.get("short"):
            patch.setattr("herbrand.loops.AT_ONCE_PLAIN", 0)
            patch.setattr("herbrand.loops.AT_ONCE_COMPILED", 0)
        if choices["order"] is not None:
            patch.setattr("herbrand.engines.proof.planning.best_order", any_order)
        yield
