"""Joint shares of atoms at the rim of a network, from messages already sent, beside sums over all worlds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.elimination import Elimination, planned
from herbrand.engines.leaf_joints import anchored_scopes
from tests.engines.hand_made import HandMade
from tests.engines.test_leaves import sparse_network
from tests.laws import tries

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def joint_of(network: HandMade, scope: tuple[int, ...]) -> np.ndarray:
    """The joint distribution of some axes, world by world."""
    joint = np.zeros([network.sizes[axis] for axis in scope])
    for world in itertools.product(*map(range, network.sizes)):
        weight = network.log_weight(dict(enumerate(world)))
        joint[tuple(world[axis] for axis in scope)] += math.exp(weight)
    return joint / joint.sum()


@given(seeds, st.integers(2, 7), st.integers(0, 2))
@settings(deadline=None, max_examples=tries(60))
def test_scopes_hang_from_what_is_left(rng: np.random.Generator, atoms: int, more: int) -> None:
    network = sparse_network(rng, atoms, more, 0.0)
    plan = planned(network.graph, atoms, "log")
    scopes = [
        tuple(sorted(rng.choice(atoms, int(rng.integers(1, min(atoms, 4) + 1)), replace=False).tolist()))
        for _ in range(5)
    ]
    for scope, own in zip(scopes, anchored_scopes(plan.leaves, plan.graph.sizes, scopes), strict=True):
        assert len(own.parts) == 1 or plan.core.present[list(own.anchors)].all()
        found = own.shares(joint_of(network, own.anchors))
        np.testing.assert_allclose(found, joint_of(network, scope), atol=1e-12)


def tree(count: int, parents: list[int]) -> str:
    links = "".join(f'link("n{parent}", "n{own + 1}")\n' for own, parent in enumerate(parents))
    names = ", ".join(f'"n{number}"' for number in range(count))
    return (
        f"type node = {{{names}}}\npredicate on(node)\npredicate link(node, node): observed\n"
        f"0.7: link(x, y) and on(x) => on(y)\n0.3: on(x)\n{links}"
    )


def test_far_apart_atoms_of_a_tree_need_one_elimination(monkeypatch: pytest.MonkeyPatch) -> None:
    """Along a chain, transfer matrices give each pair; no table over pairs is eliminated."""

    def refused(*_: object) -> None:
        raise AssertionError("a table over queried atoms was eliminated")

    monkeypatch.setattr(Elimination, "joint_shares", refused)
    count = 60
    model = hb.Model(hb.parse(tree(count, list(range(count - 1)))))
    pairs = [(0, 59), (3, 41), (7, 8), (30, 12), (20, 59), (1, 58)]
    asked = [f'on("n{one}") and not on("n{other}")' for one, other in pairs]
    own, link = np.exp([0.0, 0.3]), np.exp([[0.7, 0.7], [0.0, 0.7]])
    for (one, other), row in zip(pairs, model.infer(asked, engine="exact").rows(), strict=True):
        total = both = np.ones(2)
        for atom in range(count):
            total, both = (message * own for message in (total, both))
            both = both * {one: [0, 1], other: [1, 0]}.get(atom, [1, 1])
            if atom < count - 1:
                total, both = total @ link, both @ link
        assert row.probability == pytest.approx(both.sum() / total.sum(), rel=1e-12)


def test_three_atoms_trees_apart_and_a_ring() -> None:
    """Formulas over branches of one ring, over two components, and over an atom with its neighbour."""
    ring = "".join(f'link("r{i}", "r{(i + 1) % 5}")\n' for i in range(5))
    rim = 'link("r0", "a")\nlink("a", "b")\nlink("r2", "c")\nlink("r2", "d")\nlink("x", "y")\n'
    text = (
        "predicate on(node)\npredicate link(node, node): observed\n"
        "0.7: link(x, y) and on(x) => on(y)\n0.3: on(x)\n" + ring + rim
    )
    asked = [
        'on("b") and on("c")',
        'on("b") and on("c") and not on("d")',
        'on("b") xor on("y")',
        'on("a") or on("b") or on("x")',
        'on("c") <=> on("r4")',
        'on("r1") and on("r3")',
    ]
    together = [row.probability for row in hb.Model(hb.parse(text)).infer(asked, engine="exact").rows()]
    for question, found in zip(asked, together, strict=True):
        hard = hb.Model(hb.parse(f"{text}hard: {question}\n")).infer(engine="exact").log_partition
        free = hb.Model(hb.parse(text)).infer(engine="exact").log_partition
        assert hard is not None and free is not None
        assert found == pytest.approx(math.exp(hard - free), rel=1e-10)
