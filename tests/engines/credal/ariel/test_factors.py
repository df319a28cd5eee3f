"""How factors are sorted into kinds: tables of a child, independences of parents, wide ones, sweeps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import herbrand as hb
from herbrand.engines.credal.ariel import factors, message_part, messages
from herbrand.engines.credal.ariel.factors import (
    Pairs,
    Programs,
    Tables,
    among_parents,
    children_of,
    factors_of,
    nodes_for,
)
from herbrand.engines.credal.ariel.independence import Links
from herbrand.engines.credal.ariel.messages import FoundContradictionError, Messages, single_atoms
from herbrand.engines.credal.ariel.scopes import Scope, scopes_of
from herbrand.engines.credal.ariel.sweeps import Beliefs, learn
from herbrand.engines.credal.ariel.wide import Wide
from herbrand.engines.credal.lowering import credal_network
from herbrand.engines.credal.markov import Separation
from herbrand.engines.credal.network import Network
from tests.engines.credal.ariel.networks import independent
from tests.laws import long, tries

some = settings(deadline=None, max_examples=tries(12))
seeds = st.integers(0, 2**32 - 1)


def network_of(text: str) -> Network:
    return credal_network(hb.Model(hb.parse(text)).program)


def scope_of(text: str, arity: int) -> Scope:
    return next(scope for scope in scopes_of(network_of(text)) if scope.arity == arity)


DECLARED = "".join(f"predicate {name}\n" for name in "abcdefgh")


@pytest.mark.parametrize(
    ("said", "child"),
    [
        ("P(a | b and c) <= 0.5", 0),
        ("P(b | a and c) <= 0.5", 1),
        ("P(c | a and not b) <= 0.5\nP(c | a and b) >= 0.2", 2),
        ("P(not c | a and not b) <= 0.5", 2),
        ("P(a | b and c) <= 0.5\nP(b | a and c) >= 0.1", -1),  # two atoms with rows of their own
        ("P(a | b or c) <= 0.5", -1),
        ("P(a or b | c) <= 0.5", -1),
        ("P(a and b and c) <= 0.5", -1),
        ("P(a xor b | c) <= 0.5 independent", -1),
    ],
)
def test_the_child_of_a_table(said: str, child: int) -> None:
    assert children_of(scope_of(DECLARED + said, 3)).tolist() == [child]


@some
@given(seeds)
def test_rows_of_tables_are_where_their_case_is(seed: int) -> None:
    """A child with parents in any order: the interval of each case of the parents, by a plain loop."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 4))
    atoms = rng.permutation(count + 1).tolist()
    child, parents = atoms[0], atoms[1:]
    text, expected = "".join(f"predicate x{a}\n" for a in range(count + 1)), {}
    for truths in itertools.product((0, 1), repeat=count):
        if rng.random() < 0.2:
            continue
        low, high = np.sort(rng.random(2)).round(3).tolist()
        case = " and ".join(f"x{p}" if t else f"not x{p}" for p, t in zip(parents, truths, strict=True))
        positive = rng.random() < 0.5
        ends = (low, high) if positive else (round(1 - high, 6), round(1 - low, 6))
        text += f"P({'' if positive else 'not '}x{child} | {case}) in [{ends[0]}, {ends[1]}]\n"
        held = dict(zip(parents, truths, strict=True))
        expected[tuple(held[p] for p in sorted(parents))] = low, high
    if not expected:
        return
    scope = scope_of(text, count + 1)
    assert children_of(scope).tolist() == [child]
    low_rows, high_rows = factors._columns_of_tables(scope)
    for number, truths in enumerate(itertools.product((0, 1), repeat=count)):
        ends = expected.get(truths, (0.0, 1.0))
        assert (low_rows[0, number], high_rows[0, number]) == pytest.approx(ends, abs=1e-9)


def test_kinds_of_factors() -> None:
    text = (
        "P(a) <= 0.5\nP(b) >= 0.1\nP(a or b) >= 0.2\nP(c | a and b) <= 0.4\nP(d | c) >= 0.2\n"
        "P(e or f or a) <= 0.9\nP(g | a and b and d) <= 0.3\nP(h | e) <= 0.5"
    )
    network = network_of(DECLARED + text)
    for links in (Links.of(network), None):
        made = list(factors_of(scopes_of(network), links))
        assert [type(one) for one in made] == [Pairs, Programs, Tables, Programs]
        names = [["".join(network.atoms.text(a) for a in row) for row in one.atoms.tolist()] for one in made]
        assert names == [["ab", "cd", "eh"], ["aef"], ["cab"], ["gabd"]]
        pairs, _, tables, _ = made
        assert isinstance(pairs, Pairs) and isinstance(tables, Tables)
        assert pairs.unlinked.tolist() == [links is not None, False, False]
        assert tables.unlinked.tolist() == [links is not None]
        assert {
            s for one in made for f in range(len(one.atoms)) for s in one.scope.sentences(f).tolist()
        } == {*range(2, 8)}


def test_wide_scopes_are_of_their_own_kind() -> None:
    names = [f"y{i:02}" for i in range(factors.WIDEST + 1)]
    network = network_of(f"P({' or '.join(names)}) <= 0.4\nP({' and '.join(names[:-1])}) >= 0.1")
    narrow, wide = factors_of(scopes_of(network), None)
    assert isinstance(wide, Wide) and isinstance(narrow, Programs)
    assert nodes_for(2**factors.WIDEST) > 0 and nodes_for(8) > nodes_for(9) > nodes_for(257)


def test_independences_among_parents_are_over_their_columns() -> None:
    apart = Separation(0, (), (2,))
    assert among_parents((apart,), 1, 3) == (Separation(0, (), (1,)),)
    assert among_parents((Separation(1, (3,), (2,)),), 0, 4) == (Separation(0, (2,), (1,)),)
    assert among_parents((), 1, 3) == ()
    for involved in (Separation(1, (), (2,)), Separation(0, (1,), (2,)), Separation(0, (), (1, 2))):
        assert among_parents((apart, involved), 1, 3) is None


@some
@given(seeds, st.integers(13, 15))
def test_wide_factors_take_one_sentence_and_one_atom_at_a_time(seed: int, count: int) -> None:
    """Beside a linear program over the six cases that a disjunction and one of its atoms tell apart."""
    rng = np.random.default_rng(seed)
    names = [f"y{i:02}" for i in range(count)]
    limit = round(float(rng.uniform(0.3, 0.9)), 3)
    boxes = {name: np.sort(rng.uniform(0, limit, 2)).round(3).tolist() for name in names[:3]}
    text = f"P({' or '.join(names)}) <= {limit}\n"
    text += "\n".join(f"P({name}) in [{low}, {high}]" for name, (low, high) in boxes.items())
    found = hb.Model(hb.parse(text)).bound(engine="ariel")
    for name in names:
        low, high = boxes.get(name, (0.0, 1.0))
        row = found[name]
        assert (row.lower, row.upper) == pytest.approx((low, min(high, limit)), abs=1e-6)


@pytest.mark.parametrize("sign", ["", "not "])
def test_a_wide_conjunction_that_is_given(sign: str) -> None:
    """P(a | wide conjunction) is near its own interval only as far as the conjunction is likely."""
    names = [f"y{i:02}" for i in range(13)]
    condition = " and ".join(names)
    likely = "\n".join(f"P({name}) >= 0.999" for name in names)
    text = f"P({sign}a | {condition}) in [0.6, 0.7]\n{likely}"
    row = hb.Model(hb.parse(text)).bound(engine="ariel", independence="none")["a"]
    least, most = 0.6 * 0.987, 0.7 * 0.987 + 0.013
    ends = (least, most) if not sign else (1 - most, 1 - least)
    assert (row.lower, row.upper) == pytest.approx(ends, abs=1e-6)


@pytest.mark.parametrize("widest", long([9, factors.WIDEST], 1))
def test_a_wide_sentence_that_cannot_hold_is_found(widest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (factors, message_part):
        monkeypatch.setattr(module, "WIDEST", widest)
    names = [f"y{i:02}" for i in range(widest + 1)]
    text = f"P({' or '.join(names)}) <= 0.2\nP(y03) >= 0.5\nP(z) <= 0.3"
    with pytest.raises(hb.HerbrandError) as raised:
        hb.Model(hb.parse(text)).bound(engine="ariel")
    assert "these 2 statements together" in str(raised.value) and "P(z)" not in str(raised.value)


def beliefs(lower: list[float], upper: list[float]) -> Beliefs:
    return Beliefs(
        np.array(lower), np.array(upper), np.zeros(len(lower), np.int64), np.array([5]), np.zeros(1)
    )


def test_what_an_atom_learns_is_met_and_noted() -> None:
    known = beliefs([0.2, 0.0], [0.6, 1.0])
    learn(0, 0.1, 0.7, known)  # nothing new
    assert (known.lower[0], known.upper[0], known.touched[0], known.moved[0]) == (0.2, 0.6, 0, 0.0)
    learn(0, 0.3, 0.9, known)
    assert (known.lower[0], known.upper[0], known.touched[0]) == (0.3, 0.6, 5)
    assert known.moved[0] == pytest.approx(0.1)
    learn(1, 1e-10, 1.0, known)  # below the threshold: taken over, and nobody is woken
    assert known.lower[1] == 1e-10 and known.touched[1] == 0
    learn(0, 0.6 + 1e-12, 0.9, known)  # ends that rounding has crossed
    assert known.lower[0] <= known.upper[0]


@some
@given(seeds)
def test_factors_at_rest_are_not_swept_again(seed: int) -> None:
    network = network_of(independent(seed, 4, 5).text)
    engine = Messages()
    state = engine.start(scopes_of(network), Links.of(network), len(network.atoms))
    for _ in range(200):
        state = engine.step(state)
        if engine.residual(state) == 0:
            break
    swept = int(state.beliefs.clock[0])
    state = engine.step(state)
    assert engine.residual(state) == 0
    assert int(state.beliefs.clock[0]) - swept <= swept
    again = int(state.beliefs.clock[0])
    engine.step(state)
    assert int(state.beliefs.clock[0]) == again


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("P(a) <= 0.2\nP(a) >= 0.3\nP(b) <= 0.5", {0, 1}),
        ("P(a) in [0.2, 0.3]\nP(not a) <= 0.5", {0, 1}),
        ("P(b) <= 0.4\nP(a) = 0.5\nP(a) = 0.6", {1, 2}),
    ],
)
def test_single_atoms_that_contradict_themselves_name_their_sentences(text: str, named: set[int]) -> None:
    network = network_of(text)
    with pytest.raises(FoundContradictionError) as raised:
        single_atoms(scopes_of(network), len(network.atoms))
    sources = np.concatenate([group.statement for group in network.groups])
    assert set(sources[raised.value.sentences].tolist()) == named
    assert len(raised.value.atoms) == 1


def test_ends_that_cross_by_rounding_are_put_in_order() -> None:
    width = messages.CROSSED / 10
    network = network_of(f"P(a) <= 0.3\nP(a) >= {0.3 + width!r}")
    lower, upper = single_atoms(scopes_of(network), 1)
    assert lower[0] == pytest.approx(0.3) and lower[0] <= upper[0] <= lower[0] + 2 * width


@some
@given(seeds, st.integers(2, 4))
def test_forms_say_what_sentences_say(seed: int, arity: int) -> None:
    """Least P(a) over the forms of a scope beside the linear program written out for its sentences."""
    rng = np.random.default_rng(seed)
    names = [f"x{i}" for i in range(arity)]
    text = f"P({' or '.join(names)}) in [{rng.uniform(0.3, 0.5):.3f}, {rng.uniform(0.6, 1):.3f}]\n"
    text += f"P({' and '.join(names)}) >= {rng.uniform(0, 0.2):.3f}\nP({' or '.join(names)} | x0) >= 0.5"
    scope = scope_of(text, arity)
    forms, start = scope.forms()
    assert start.tolist() == [0, len(forms)]
    cases = np.array(list(itertools.product((0, 1), repeat=arity)))
    some_hold, all_hold = cases.any(axis=1), cases.all(axis=1)
    bounds = [float(line.split(">= ")[1]) for line in text.splitlines() if ">= " in line]
    low, high = eval(text.splitlines()[0].split(" in ")[1])
    rows = [low - some_hold, some_hold - high, bounds[0] - all_hold, (0.5 - 1.0) * cases[:, 0]]
    for last in range(arity):
        costs = cases[:, last].astype(float)
        one = linprog(costs, -forms, np.zeros(len(forms)), np.ones((1, 2**arity)), [1.0])
        other = linprog(costs, np.array(rows, float), np.zeros(4), np.ones((1, 2**arity)), [1.0])
        assert one.fun == pytest.approx(other.fun, abs=1e-9)
