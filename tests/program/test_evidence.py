"""Codes of ground atoms and what is known of them, against plain dictionaries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.errors import FactsError
from herbrand.language.theory import Theory
from herbrand.program.evidence import LATENT, Evidence, Known, arguments_of, codes_of
from tests.laws import tries
from tests.oracles.worlds import Universe
from tests.program_generators import DOMAINS, PREDICATES, models

laws = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    max_examples=tries(40),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@laws
@given(st.data(), st.lists(st.integers(1, 2**20), max_size=3))
def test_codes_and_back(data: st.DataObject, sizes: list[int]) -> None:
    rows = np.array(
        [[data.draw(st.integers(0, size - 1)) for size in sizes] for _ in range(4)], np.int64
    ).reshape(4, len(sizes))
    codes = codes_of(rows, sizes)
    assert [column.tolist() for column in arguments_of(codes, sizes)] == rows.T.tolist()
    assert all(0 <= code < math.prod(sizes) for code in codes.tolist())
    by_row = sorted(range(4), key=lambda i: (rows[i].tolist(), i))
    assert np.argsort(codes, kind="stable").tolist() == by_row


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint16, np.int64])
def test_codes_do_not_overflow_the_type_of_the_rows(dtype: type) -> None:
    rows = np.full((1, 3), 100, dtype)
    assert codes_of(rows, (1000, 1000, 1000)).tolist() == [100_100_100]


def test_more_atoms_than_64_bits_number() -> None:
    assert codes_of(np.zeros((1, 2), np.int64), (2**31, 2**31)).tolist() == [0]
    rows = np.array([[2**32 - 1, 0], [0, 2**31 - 1]])
    codes = codes_of(rows, (2**32, 2**31))
    assert np.argsort(codes).tolist() == [1, 0]
    assert np.stack(arguments_of(codes, (2**32, 2**31)), axis=1).tolist() == rows.tolist()


@laws
@given(models())
def test_known_is_what_the_facts_say(model: tuple[Theory, Universe]) -> None:
    theory, universe = model
    evidence = Evidence(hb.Model(theory).program)
    for name, (types, values) in PREDICATES.items():
        known = evidence.known(name)
        assert evidence.known(name) is known and evidence.is_valued(name) == (values is not None)
        assert known.sizes == tuple(len(DOMAINS[t]) for t in types) == evidence.sizes(name)
        codes = np.arange(known.atom_count)
        atoms = list(zip(*evidence.atom_arguments(name, codes), strict=True)) or [()]
        told = known.lookup(codes).tolist()
        for arguments, value in zip(atoms, told, strict=True):
            atom = (name, arguments)
            if atom in universe.known:
                truth = universe.known[atom]
                assert value == (int(truth is True) if values is None else values.index(truth))
            else:
                assert value == (0 if name in universe.closed else LATENT)
        latent = [code for code, value in zip(codes.tolist(), told, strict=True) if value == LATENT]
        assert known.latent_codes().tolist() == latent and known.latent_count() == len(latent)
        assert known.all_latent == (len(latent) == known.atom_count and name not in universe.closed)
        shown = [", ".join(f'"{constant}"' for constant in arguments) for arguments in atoms]
        assert evidence.atom_text(name, codes) == [f"{name}({inner})" if inner else name for inner in shown]


@laws
@given(models())
def test_opinions_are_log_odds(model: tuple[Theory, Universe]) -> None:
    theory, universe = model
    evidence = Evidence(hb.Model(theory).program)
    found = []
    for name, (_, values) in PREDICATES.items():
        codes, about, odds = evidence.opinions(name)
        columns = evidence.atom_arguments(name, codes)
        atoms = list(zip(*columns, strict=True)) if columns else [()] * len(codes)
        for arguments, value, weight in zip(atoms, about.tolist(), odds.tolist(), strict=True):
            found.append(((name, arguments), True if values is None else values[value], round(weight, 9)))
    expected = [(atom, value, round(weight, 9)) for atom, value, weight in universe.soft]
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_lookup_where_nothing_is_listed() -> None:
    nothing = np.empty(0, np.int64)
    assert Known((3,), nothing, nothing, LATENT).lookup(np.array([0, 2])).tolist() == [LATENT, LATENT]
    closed = Known((3,), nothing, nothing, 0)
    assert closed.lookup(np.array([0, 2])).tolist() == [0, 0] and closed.latent_count() == 0
    assert len(closed.latent_codes()) == 0 and not closed.all_latent
    assert Known((), nothing, nothing, LATENT).latent_codes().tolist() == [0]
    assert Known((0, 5), nothing, nothing, LATENT).latent_count() == 0


@laws
@given(st.sets(st.integers(0, 11)))
def test_places_among_latent_atoms_are_those_of_their_list(settled: set[int]) -> None:
    codes = np.array(sorted(settled), np.int64)
    known = Known((3, 4), codes, np.ones(len(codes), np.int64), LATENT)
    listed = known.latent_codes()
    assert known.latent_places(listed).tolist() == list(range(len(listed)))
    assert [known.latent_code(place) for place in range(len(listed))] == listed.tolist()


@pytest.mark.parametrize("listed", ['area(1, 1, 1, 1) = "ai"', 'area(1, 1, 1, 3) = "ai"', ""])
def test_one_of_more_atoms_than_64_bits_number_is_named(listed: str) -> None:
    """They had been listed one by one: an internal error, or all of the memory."""
    head = f'type n = 1..60000\npredicate area(n, n, n, n) in {{"ai", "db"}}: observed\n{listed}\n'
    theory = hb.parse(head + 'predicate s(n)\n1.0: area(x, x, x, x) = "ai" => s(x)')
    missing = 2 if "1) =" in listed else 1
    with pytest.raises(
        FactsError, match=rf"area\(1, 1, 1, {missing}\) has no value, though area is observed"
    ):
        hb.Model(theory).infer()


def test_an_observed_many_valued_atom_needs_its_value() -> None:
    theory = hb.parse(
        'predicate area(p) in {"ai", "db"}: observed\npredicate s(p)\narea("x") = "ai"\n1.0: s("y")'
    )
    with pytest.raises(FactsError) as caught:
        hb.Model(theory).infer()
    assert str(caught.value) == (
        'area("y") has no value, though area is observed\n'
        "  list a value for every atom of an observed many-valued predicate, or declare it open"
    )
