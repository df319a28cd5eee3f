"""The search over distributions beside the closed forms, on the shapes that both can take.

Two roads to one answer: half-planes and curves in a rectangle, and linear programs with branch and bound.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from herbrand.engines.credal.ariel.conditional_tables import tighten_table
from herbrand.engines.credal.ariel.factors import intervals_at_once, intervals_of, truths_of
from herbrand.engines.credal.ariel.independence import cells_of, pairwise
from herbrand.engines.credal.ariel.pairs import tighten_linked, tighten_unlinked
from herbrand.engines.credal.ariel.programs import tighten
from herbrand.engines.credal.ariel.scopes import Pattern, Scope
from herbrand.engines.credal.ariel.simplex import Cells, workspace
from herbrand.engines.credal.ariel.sweeps import forms_needed
from herbrand.engines.credal.markov import Separation
from tests.engines.credal.ariel.test_closed_forms import FIRST, SECOND, box_around, forms_through
from tests.laws import tries

quick = settings(deadline=None, max_examples=tries(60))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
APART = cells_of(2, (Separation(0, (), (1,)),))
NODES = 400
HAIR = 1e-7
"""Of probability: what a search may leave a sentence unmet by."""


def searched(
    forms: np.ndarray, box: np.ndarray, cells: Cells, lows: np.ndarray, highs: np.ndarray
) -> np.ndarray | None:
    """The box after the search; ``None`` where nothing is left."""
    atoms, states = lows.shape
    most = forms_needed(len(forms), atoms, cells)
    working, found = np.zeros((most, states)), box.reshape(-1, 2).copy()
    working[: len(forms)] = forms
    seen = np.full((2 * atoms, atoms, 2), np.nan)
    room = workspace(most, states)
    done = tighten(working, len(forms), lows, highs, cells, found, seen, NODES, room)
    return found.reshape(-1) if done else None


def close(found: np.ndarray, closed: np.ndarray, widened: np.ndarray) -> bool:
    """Whether ends lie beside those in closed form, or between them and those of sentences with a hair more
    room: where sentences touch in one point, that hair moves an end by its root."""
    outward = np.resize([-1, 1], len(found))
    least, most = outward * closed, outward * widened
    return bool((outward * found >= least - 1e-5).all() and (outward * found <= most + 1e-5).all())


@quick
@given(seeds, st.integers(0, 4), st.booleans())
@example(np.random.default_rng(1_073_741_824), 4, False)
def test_pairs(rng: np.random.Generator, count: int, linked: bool) -> None:
    a, b = rng.random(2)
    q = rng.dirichlet(np.ones(4)) if linked else np.outer((1 - a, a), (1 - b, b)).reshape(-1)
    forms, box = forms_through(rng, q, count), box_around(rng, FIRST @ q, SECOND @ q)
    tightened = tighten_linked if linked else tighten_unlinked
    closed, widened = box.copy(), box.copy()
    possible = tightened(forms, closed)
    tightened(forms + HAIR, widened)
    found = searched(forms, box, cells_of(2, ()) if linked else APART, truths_of(2), truths_of(2))
    if found is None:
        assert not possible
    elif possible:
        assert close(found, closed, widened)


@quick
@given(seeds, st.booleans())
def test_tables_of_two_parents(rng: np.random.Generator, unlinked: bool) -> None:
    """The child as a third atom whose probability lies between two functions of the parents'."""
    low = rng.random(4)
    high = np.minimum(1, low + rng.random(4) * 0.4)
    q = rng.dirichlet(np.ones(4))
    if unlinked:
        a, b = rng.random(2)
        q = np.outer((1 - a, a), (1 - b, b)).reshape(-1)
    child = low @ q + rng.random() * (high - low) @ q
    box = np.concatenate([box_around(rng, child), box_around(rng, FIRST @ q, SECOND @ q)])
    closed = box.copy()
    assert tighten_table(low, high, unlinked, closed)
    lows, highs = np.vstack([low, truths_of(2)]), np.vstack([high, truths_of(2)])
    cells = APART if unlinked else cells_of(2, ())
    shifted = cells._replace(atom=np.where(cells.atom >= 0, cells.atom + 1, -1))
    found = searched(np.empty((0, 4)), box, shifted, lows, highs)
    assert found is not None
    assert found == pytest.approx(closed, abs=1e-5)


@quick
@given(seeds, st.integers(2, 4), st.integers(0, 5))
def test_an_event_given_another_is_the_ratio_that_it_can_be(
    rng: np.random.Generator, columns: int, count: int
) -> None:
    """The hidden distribution's own ratio lies inside; a distribution that is told whole leaves a point."""
    states = 2**columns
    q = rng.dirichlet(np.ones(states))
    given = rng.random(states) < 0.6
    assume(given.any())
    event = given & (rng.random(states) < 0.5)
    truth = q[event].sum() / q[given].sum()
    forms = forms_through(rng, q, count)
    forms = forms[forms @ q >= -1e-12]
    box = box_around(rng, *(truths_of(columns) @ q)).reshape(1, -1, 2)
    told = np.vstack([np.eye(states) - q[:, None], q[:, None] - np.eye(states)])
    for own, exact in ((forms, False), (told, True)):
        found, failed = intervals_at_once(
            own, np.array([0, len(own)]), truths_of(columns), event.astype(float), given.astype(float),
            float(q[given].sum()), cells_of(columns, ()), box,
        )  # fmt: skip
        assert failed == -1
        assert found[0, 0] - 1e-6 <= truth <= found[0, 1] + 1e-6
        if exact:
            assert found[0].tolist() == pytest.approx([truth, truth], abs=1e-5)


def test_what_no_distribution_satisfies_names_its_factor() -> None:
    """P(x) >= 0.8 in the second of three factors whose atoms lie below a half."""
    forms = truths_of(2)[:1] - 0.8
    box = np.tile([[0.0, 0.5], [0.0, 1.0]], (3, 1, 1))
    start, event = np.array([0, 0, 1, 1]), SECOND.copy()
    _, failed = intervals_at_once(forms, start, truths_of(2), event, np.ones(4), 1.0, cells_of(2, ()), box)
    assert failed == 1


@pytest.mark.parametrize("nodes", [0, 1, 3, 20])
def test_a_search_that_is_cut_short_is_only_wider(nodes: int) -> None:
    """Three atoms, each two apart, with a bound on all of them: more nodes narrow what is found."""
    cells = cells_of(3, pairwise(range(3)))
    forms = np.zeros((1, 8))
    forms[0] = np.prod(truths_of(3), axis=0) - 0.2
    lows = truths_of(3)
    widths = []
    for most in (nodes, 400):
        room = workspace(forms_needed(1, 3, cells), 8)
        working = np.zeros((forms_needed(1, 3, cells), 8))
        working[:1] = forms
        box = np.tile([0.0, 0.7], (3, 1))
        seen = np.full((6, 3, 2), np.nan)
        assert tighten(working, 1, lows, lows, cells, box, seen, most, room)
        widths.append(box[:, 1] - box[:, 0])
    assert (widths[0] >= widths[1] - 1e-9).all()
    low = 0.7 - widths[1][0]
    assert low >= 0.2 / 0.7 - 1e-6, "P(x) P(y) >= P(all) >= 0.2"


def scope_of_one(rows: list[tuple[int, bool, float, float]]) -> Scope:
    """Sentences about single atoms: the atom, whether it is said of the atom or its negation, the ends."""
    rows = sorted(rows, key=lambda row: row[0])
    atoms = sorted({row[0] for row in rows})
    start = [next(i for i, row in enumerate(rows) if row[0] == atom) for atom in atoms]
    patterns = tuple(Pattern(np.array(event, bool), np.ones(2, bool)) for event in ([0, 1], [1, 0]))
    return Scope(
        np.array(atoms)[:, None],
        np.array([*start, len(rows)]),
        np.array([0 if positive else 1 for _, positive, _, _ in rows]),
        np.array([low for *_, low, _ in rows]),
        np.array([high for *_, high in rows]),
        np.arange(len(rows)),
        patterns,
    )


@quick
@given(
    st.lists(
        st.tuples(
            st.integers(0, 4),
            st.booleans(),
            st.tuples(st.integers(0, 10), st.integers(0, 10)).map(sorted),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_single_atoms_have_the_intersection_of_what_is_said(
    told: list[tuple[int, bool, list[int]]],
) -> None:
    rows = [(atom, positive, low / 10, high / 10) for atom, positive, (low, high) in told]
    lower, upper = intervals_of(scope_of_one(rows), 6)
    for atom in range(6):
        ends = [(lo, hi) if positive else (1 - hi, 1 - lo) for a, positive, lo, hi in rows if a == atom]
        expected = max([0.0, *(low for low, _ in ends)]), min([1.0, *(high for _, high in ends)])
        assert (lower[atom], upper[atom]) == pytest.approx(expected)


def test_every_case_has_a_column_for_each_atom() -> None:
    for columns in range(1, 5):
        assert truths_of(columns).T.tolist() == [list(c) for c in itertools.product((0, 1), repeat=columns)]
