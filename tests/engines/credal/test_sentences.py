"""What one ground sentence says of an atom given its parents, beside distributions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from herbrand.engines.credal.network_part import Sentence, satisfied_case_by_case, single_case_intervals
from herbrand.engines.credal.shape import spread
from tests.laws import tries

quick = settings(deadline=None, max_examples=tries(60))
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
ATOM, PARENTS = 7, (4, 2, 9)


def cases_of(atoms: tuple[int, ...]) -> list[dict[int, int]]:
    return [dict(zip(atoms, row, strict=True)) for row in itertools.product((0, 1), repeat=len(atoms))]


def chance(masses: np.ndarray, atoms: tuple[int, ...], table: np.ndarray, of: tuple[int, ...]) -> float:
    """The probability of a table over ``of`` by walking through the cases of ``atoms``."""
    return sum(
        mass for mass, case in zip(masses, cases_of(atoms), strict=True) if table[tuple(case[a] for a in of)]
    )


def conditional(rng: np.random.Generator, atom: int, parents: tuple[int, ...]) -> Sentence:
    """P(atom | some cases of some of the parents), or of its negation, atoms in any order."""
    own = tuple(
        rng.permutation([atom, *rng.permutation(parents)[: rng.integers(0, len(parents) + 1)]]).tolist()
    )
    axis = own.index(atom)
    known = rng.random((2,) * (len(own) - 1)) < 0.6
    given = np.stack([known, known], axis)
    event = given.copy()
    np.moveaxis(event, axis, 0)[int(rng.integers(2))] = False
    lower, upper = np.sort(rng.random(2))
    return Sentence(own, event, given, float(lower), float(upper))


@quick
@given(seeds, st.integers(0, 4))
def test_a_table_is_spread_over_more_atoms(rng: np.random.Generator, count: int) -> None:
    around = tuple(rng.permutation(9)[:5].tolist())
    atoms = tuple(rng.permutation(around)[:count].tolist())
    table = rng.random((2,) * count)
    found = spread(table, atoms, around)
    for case in cases_of(around):
        assert found[tuple(case.values())] == table[tuple(case[a] for a in atoms)]


@quick
@given(seeds)
def test_a_conditional_sentence_is_known_as_one(rng: np.random.Generator) -> None:
    """And means the same: it holds of a distribution where its cases and interval say so."""
    sentence = conditional(rng, ATOM, PARENTS)
    found = sentence.conditional_on(ATOM, PARENTS)
    assert found is not None
    cases, lower, upper = found
    atoms = (ATOM, *PARENTS)
    masses = rng.dirichlet(np.full(16, 0.4))
    tables = sentence.given, sentence.event
    told, both = (chance(masses, atoms, table, sentence.atoms) for table in tables)
    chosen = cases.reshape((2,) * len(PARENTS))
    same = chance(masses, atoms, chosen, PARENTS)
    holds = chance(masses, atoms, np.stack([np.zeros_like(chosen), chosen]), atoms)
    assert told == pytest.approx(same)
    stated = sentence.lower * told - 1e-12 <= both <= sentence.upper * told + 1e-12
    assert stated == (lower * same - 1e-12 <= holds <= upper * same + 1e-12)


@pytest.mark.parametrize(
    ("event", "given"),
    [
        ([[0, 1], [1, 0]], [[1, 1], [1, 1]]),  # an equivalence
        ([[0, 0], [0, 1]], [[1, 1], [1, 1]]),  # both: a conjunction is no table's row
        ([[0, 0], [0, 1]], [[0, 1], [1, 1]]),  # given one or the other
        ([[1, 1], [1, 1]], [[1, 1], [1, 1]]),
    ],
)
def test_other_sentences_are_not(event: list[list[int]], given: list[list[int]]) -> None:
    said = Sentence((0, 1), np.array(event, bool), np.array(given, bool), 0.2, 0.9)
    assert said.conditional_on(0, (1,)) is None


def test_nor_are_those_about_others() -> None:
    said = Sentence((0, 1), np.array([[0, 0], [0, 1]], bool), np.array([[0, 1], [0, 1]], bool), 0.2, 0.9)
    assert said.conditional_on(0, (1,)) is not None
    assert said.conditional_on(0, (2, 3)) is None, "an atom that is no parent"
    assert said.conditional_on(5, (0, 1)) is None, "not about the atom"


@quick
@given(seeds, st.integers(0, 6))
def test_rows_of_a_table_are_intersected(rng: np.random.Generator, count: int) -> None:
    """Only sentences about one case count; where they leave nothing the ends are crossed."""
    sentences = [conditional(rng, ATOM, PARENTS) for _ in range(count)]
    lower, upper = single_case_intervals(ATOM, PARENTS, sentences)
    for number, case in enumerate(cases_of(PARENTS)):
        least, most = 0.0, 1.0
        for sentence in sentences:
            cases, low, high = sentence.conditional_on(ATOM, PARENTS) or ((), 0, 1)
            if np.sum(cases) == 1 and cases[number]:
                least, most = max(least, low), min(most, high)
        assert (lower[number], upper[number]) == (least, most), case


@quick
@given(seeds, st.integers(0, 3))
def test_what_is_satisfied_case_by_case_is_so_under_any_parents(rng: np.random.Generator, count: int) -> None:
    """Then the atom can be added to any distribution of its parents, and may be left out."""
    sentences = [conditional(rng, ATOM, PARENTS) for _ in range(count)]
    rows = np.zeros(8), np.ones(8)
    for sentence in sentences:
        cases, low, high = sentence.conditional_on(ATOM, PARENTS) or (np.zeros(8, bool), 0, 1)
        rows[0][cases], rows[1][cases] = np.maximum(rows[0][cases], low), np.minimum(rows[1][cases], high)
    satisfied = satisfied_case_by_case(ATOM, PARENTS, sentences)
    assert satisfied == bool((rows[0] <= rows[1]).all())
    if not satisfied:
        return
    theta = rows[0] + rng.random(8) * (rows[1] - rows[0])
    above = rng.dirichlet(np.full(8, 0.4))
    masses = np.stack([above * (1 - theta), above * theta]).reshape(-1)
    for sentence in sentences:
        tables = sentence.given, sentence.event
        told, both = (chance(masses, (ATOM, *PARENTS), t, sentence.atoms) for t in tables)
        assert sentence.lower * told - 1e-9 <= both <= sentence.upper * told + 1e-9


def test_one_sentence_of_another_form_binds_the_parents() -> None:
    tied = Sentence((0, 1), np.eye(2, dtype=bool), np.full((2, 2), True), 0.9, 1.0)
    assert not satisfied_case_by_case(0, (1,), [tied])
    assert satisfied_case_by_case(0, (1,), [])


def test_a_vacuous_sentence_says_nothing_about_the_same_atoms() -> None:
    said = Sentence((3, 5), np.eye(2, dtype=bool), np.full((2, 2), True), 0.9, 1.0, (2, 4)).vacuous()
    assert (said.lower, said.upper, said.atoms, said.source) == (0.0, 1.0, (3, 5), (2, 4))
