"""Networks taken apart: indices over sentences, neighbourhoods, and parts that are swept elsewhere."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.credal.ariel.engine import outer_run
from herbrand.engines.credal.ariel.independence import Links
from herbrand.engines.credal.ariel.message_part import MessagePart, independences_of
from herbrand.engines.credal.ariel.messages import FoundContradictionError, single_atoms
from herbrand.engines.credal.ariel.neighbourhood import Incidence, growing, kept_only, with_ends
from herbrand.engines.credal.ariel.scopes import Scope, scopes_of
from herbrand.engines.credal.lowering import credal_network
from herbrand.engines.credal.network import Network
from herbrand.engines.credal.network_part import Sentence
from herbrand.engines.credal.rounding import stated_ends
from tests.engines.credal.ariel.networks import Hidden, bayesian, independent
from tests.laws import tries

quick = settings(deadline=None, max_examples=tries(15))
seeds = st.integers(0, 2**32 - 1)


def drawn(seed: int) -> Hidden:
    return independent(seed, 5, 6) if seed % 2 else bayesian(seed, 6)


def network_of(hidden: Hidden) -> Network:
    return credal_network(hb.Model(hb.parse(hidden.text)).program)


def sentences_of(network: Network) -> list[tuple[tuple[int, ...], float, float]]:
    """Each ground sentence's atoms and bounds, in the order of their numbers."""
    return [
        (tuple(atoms), low, high)
        for group in network.groups
        for atoms, low, high in zip(
            group.atoms.tolist(), group.lower.tolist(), group.upper.tolist(), strict=True
        )
    ]


@quick
@given(seeds)
def test_an_index_knows_who_speaks_of_whom(seed: int) -> None:
    network = network_of(drawn(seed))
    incidence = Incidence(network)
    every = [(atoms, *map(float, stated_ends(low, high))) for atoms, low, high in sentences_of(network)]
    for number, (atoms, low, high) in enumerate(every):
        said = incidence.sentence(number)
        assert (said.atoms, said.lower, said.upper) == (atoms, low, high)
        group, row = incidence.source(number)
        assert network.groups[group].atoms[row].tolist() == list(atoms)
    for atom in range(len(network.atoms)):
        speaking = [n for n, (atoms, _, _) in enumerate(every) if atom in atoms]
        assert sorted(incidence.about(atom).tolist()) == speaking
        assert incidence.neighbours(atom) == {a for n in speaking for a in every[n][0]} - {atom}
    for scope in itertools.combinations(range(len(network.atoms)), 3):
        inside = [told for told in every if set(told[0]) <= set(scope)]
        found = [(said.atoms, said.lower, said.upper) for said in incidence.within(scope)]
        assert sorted(found) == sorted(inside)


@quick
@given(seeds)
def test_forms_hold_of_what_satisfies_the_sentences(seed: int) -> None:
    """Of the hidden distribution over a scope; and one end that is missed makes one of them negative."""
    hidden = drawn(seed)
    network = network_of(hidden)
    order = [int(name[1:]) for name in network.atoms.texts()]
    incidence = Incidence(network)
    masses = hidden.masses.reshape((2,) * hidden.count)
    for scope in itertools.combinations(range(len(order)), 3):
        places = [order[atom] for atom in scope]
        others = tuple(set(range(hidden.count)) - set(places))
        kept = sorted(places)
        local = masses.sum(axis=others).transpose([kept.index(p) for p in places]).reshape(-1)
        forms = incidence.forms(scope)
        assert (forms @ local >= -1e-9).all()
        ends = sum((said.lower > 0) + (said.upper < 1) for said in incidence.within(scope))
        assert len(forms) == ends


@given(st.permutations(range(4)), st.integers(0, 4), st.integers(0, 2**32 - 1))
def test_a_table_is_spread_over_a_scope(scope: list[int], count: int, seed: int) -> None:
    table = np.random.default_rng(seed).random(2**count) < 0.5
    atoms = scope[::-1][:count]
    said = Sentence(tuple(atoms), table.reshape((2,) * count), np.full((2,) * count, True), 0.0, 1.0)
    found, given = said.in_cases_of(scope)
    assert given.all()
    for number, case in enumerate(itertools.product((0, 1), repeat=4)):
        value = dict(zip(scope, case, strict=True))
        assert found[number] == table[int("".join(str(value[a]) for a in atoms) or "0", 2)]


@quick
@given(seeds, st.data())
def test_what_is_kept_of_a_network(seed: int, data: st.DataObject) -> None:
    network = network_of(drawn(seed))
    every = sentences_of(network)
    kept = data.draw(st.sets(st.integers(0, len(every) - 1)))
    assert sentences_of(kept_only(network, kept)) == [told for n, told in enumerate(every) if n in kept]
    number = data.draw(st.integers(0, len(every) - 1))
    changed = with_ends(network, Incidence(network).source(number), 0.25, 0.75)
    assert sentences_of(changed) == [
        (atoms, 0.25, 0.75) if n == number else (atoms, low, high)
        for n, (atoms, low, high) in enumerate(every)
    ]
    assert sentences_of(network) == every


@quick
@given(seeds, st.data())
def test_a_neighbourhood_grows_until_it_is_the_component(seed: int, data: st.DataObject) -> None:
    network = network_of(drawn(seed))
    every, incidence = sentences_of(network), Incidence(network)
    atom = data.draw(st.integers(0, len(network.atoms) - 1))
    sets = list(growing(incidence, [], [atom]))
    reached = {atom}
    for found in sets:
        new = sorted(n for n, (atoms, _, _) in enumerate(every) if reached & set(atoms))
        assert found == new
        reached |= {a for n in new for a in every[n][0]}
    connected = [n for n, (atoms, _, _) in enumerate(every) if reached & set(atoms)]
    assert sets[-1] == connected


@quick
@given(seeds, st.booleans())
def test_a_part_swept_elsewhere_finds_what_messages_find(seed: int, markov: bool) -> None:
    """All of a network as one part, sent as bytes: the same intervals as of the engine at rest."""
    network = network_of(drawn(seed))
    count = len(network.atoms)
    links = Links.of(network)
    every = scopes_of(network)
    (known,) = independences_of([every], links)
    part = MessagePart.from_bytes(MessagePart.of(every, known if markov else None).to_bytes())
    lower, upper = np.zeros(count), np.ones(count)
    single = single_atoms(every, count)
    swept = part.swept(single[0][part.atoms], single[1][part.atoms])
    lower[part.atoms], upper[part.atoms] = swept
    engine = outer_run(network, markov).outer_intervals()
    assert engine is not None
    mine = np.arange(count)[np.isin(np.arange(count), part.atoms)]
    assert lower[mine] == pytest.approx(engine[0][mine], abs=1e-5)
    assert upper[mine] == pytest.approx(engine[1][mine], abs=1e-5)


def halves(scopes: tuple[Scope, ...]) -> list[list[Scope]]:
    """Every other factor."""
    found: list[list[Scope]] = [[], []]
    for scope in scopes:
        place = np.arange(len(scope)) % 2
        for side in range(2):
            if (place == side).any():
                found[side].append(scope.part(place == side))
    return found


@quick
@given(seeds)
def test_parts_that_tell_each_other_come_to_the_same_rest(seed: int) -> None:
    """Bounds that never widen, and hold the hidden distribution on the way."""
    hidden = drawn(seed)
    network = network_of(hidden)
    count, every = len(network.atoms), scopes_of(network)
    truth = np.array([hidden.chance(name) for name in network.atoms.texts()])
    pieces = halves(every)
    known = independences_of(pieces, Links.of(network))
    parts = [MessagePart.of(scopes, its) for scopes, its in zip(pieces, known, strict=True)]
    lower, upper = single_atoms(every, count)
    for _ in range(200):
        before = lower.copy(), upper.copy()
        for part in parts:
            if len(part.atoms):
                low, high = part.swept(lower[part.atoms], upper[part.atoms])
                lower[part.atoms] = np.maximum(lower[part.atoms], low)
                upper[part.atoms] = np.minimum(upper[part.atoms], high)
        assert (lower <= truth + 1e-6).all() and (truth <= upper + 1e-6).all()
        if max(abs(lower - before[0]).max(), abs(upper - before[1]).max()) < 1e-9:
            break
    engine = outer_run(network).outer_intervals()
    assert engine is not None
    assert lower == pytest.approx(engine[0], abs=1e-5) and upper == pytest.approx(engine[1], abs=1e-5)


def test_a_part_without_independences_says_so_in_its_bytes() -> None:
    every = scopes_of(network_of(bayesian(3, 4)))
    assert MessagePart.from_bytes(MessagePart.of(every, None).to_bytes()).independences is None
    empty = MessagePart.from_bytes(MessagePart.of([], None).to_bytes())
    assert empty.scopes == () and len(empty.atoms) == 0


def test_a_part_that_contradicts_itself_names_its_places() -> None:
    network = credal_network(hb.Model(hb.parse("P(c) <= 1\nP(a and b) >= 0.5\nP(b and c) >= 0.1")).program)
    part = MessagePart.of([scope for scope in scopes_of(network) if scope.arity == 2], None)
    with pytest.raises(FoundContradictionError) as found:
        part.swept(np.array([0.0, 0.0, 0.0]), np.array([1.0, 1.0, 0.2]))
    assert set(part.atoms[found.value.atoms].tolist()) <= {0, 1, 2}
    low = np.zeros(3)
    high = np.array([0.05, 1.0, 1.0])
    assert outer_run(network).outer_intervals() is not None
    with pytest.raises(FoundContradictionError):
        part.swept(low, high[np.argsort(part.atoms)])
