"""Queries beside what messages know: formulas, conditions of several kinds, neighbourhoods, reasons."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import herbrand as hb
from herbrand.engines.credal.ariel.independence import Links
from herbrand.engines.credal.ariel.neighbourhood import Incidence, growing, kept_only, with_ends
from herbrand.engines.credal.ariel.query_bounds import ANY, Answering
from herbrand.engines.credal.contradictions import contradiction_of_messages
from herbrand.engines.credal.lowering import credal_network
from herbrand.engines.credal.question import ImpossibleConditionError
from herbrand.engines.credal.shape import FALSE, TRUE, GroundFormula
from herbrand.errors import BudgetError, ContradictionError
from tests.engines.credal.ariel.networks import bayesian, independent
from tests.laws import tries

some = settings(deadline=None, max_examples=tries(12))
seeds = st.integers(0, 2**32 - 1)
CHAIN = (
    "P(a) in [0.2, 0.3]\nP(b | a) in [0.6, 0.7]\nP(b | not a) in [0.1, 0.2]\n"
    "P(c | b) in [0.5, 0.9]\nP(c | not b) <= 0.1"
)


def answering(text: str, lower: list[float], upper: list[float], markov: bool = True) -> Answering:
    network = credal_network(hb.Model(hb.parse(text)).program)
    links = Links.of(network) if markov else None
    return Answering(Incidence(network), links, np.array(lower), np.array(upper))


def test_formulas_that_facts_have_settled() -> None:
    made = answering("P(a) in [0.2, 0.3]", [0.2], [0.3])
    assert made.interval(GroundFormula(TRUE, ()), ()) == (1.0, 1.0)
    assert made.interval(GroundFormula(FALSE, ()), ()) == (0.0, 0.0)


def test_a_conjunction_of_literals_is_bounded_by_its_atoms() -> None:
    """As Fréchet has it, where nothing is known but the atoms' intervals."""
    text = "".join(f"P(x{i}) >= 0\n" for i in range(3))
    made = answering(text, [0.7, 0.8, 0.0], [0.9, 1.0, 0.3], markov=False)
    both = GroundFormula(("and", 0, 1), (0, 1))
    assert made.interval(both, ()) == pytest.approx((0.5, 0.9), abs=1e-6)
    with_not = GroundFormula(("and", 0, ("not", 1)), (0, 2))
    assert made.interval(with_not, ()) == pytest.approx((0.4, 0.9), abs=1e-6)
    assert made._conjunction(GroundFormula(("or", 0, 1), (0, 1)), made.belief) == ANY
    assert made.interval(GroundFormula(("or", 0, 1), (0, 1)), ()) == pytest.approx((0.8, 1.0), abs=1e-6)
    tied = answering(text, [0.7, 0.8, 0.0], [0.9, 1.0, 0.3])
    assert tied.interval(both, ()) == pytest.approx((0.56, 0.9), abs=1e-6)


def test_more_atoms_than_a_factor_takes() -> None:
    """Literals still say what they say; anything else says nothing, and that is sound."""
    count = 14
    made = answering("".join(f"P(x{i}) >= 0\n" for i in range(count)), [0.99] * count, [0.995] * count)
    every = GroundFormula(("and", *range(count)), tuple(range(count)))
    assert made.interval(every, ()) == pytest.approx((1 - count * 0.01, 0.995), abs=1e-9)
    some_of = GroundFormula(("or", *range(count)), tuple(range(count)))
    assert made.interval(some_of, ()) == ANY
    assert (
        made.interval(GroundFormula(0, (0,)), [GroundFormula(("or", *range(13)), tuple(range(1, 14)))]) == ANY
    )


def test_what_is_given_may_settle_the_query_or_contradict_itself() -> None:
    made = answering(CHAIN, [0.2, 0.2, 0.0], [0.3, 0.35, 0.4])
    a, not_a = GroundFormula(0, (0,)), GroundFormula(("not", 0), (0,))
    assert made.interval(a, [a]) == (1.0, 1.0) and made.interval(a, [not_a]) == (0.0, 0.0)
    assert made.interval(not_a, [a]) == (0.0, 0.0) and made.interval(not_a, [not_a]) == (1.0, 1.0)
    with pytest.raises(ImpossibleConditionError):
        made.interval(GroundFormula(0, (1,)), [a, not_a])
    for lower, upper, given_one in (([0.0] * 3, [0.0, 1.0, 1.0], a), ([1.0, 0.0, 0.0], [1.0] * 3, not_a)):
        with pytest.raises(ImpossibleConditionError):
            answering(CHAIN, lower, upper).interval(GroundFormula(0, (1,)), [given_one])


@some
@given(seeds, st.booleans())
def test_every_way_to_answer_holds_the_truth(seed: int, cyclic: bool) -> None:
    """The auxiliary factor, the tree and the star one by one, from the truth's own marginals."""
    hidden = independent(seed, 4, 4) if cyclic else bayesian(seed, 4, tree=True)
    network = credal_network(hb.Model(hb.parse(hidden.text)).program)
    names = network.atoms.texts()
    chances = np.array([hidden.chance(name) for name in names])
    made = Answering(Incidence(network), Links.of(network), chances - 1e-9, chances + 1e-9)
    rng = np.random.default_rng(seed)
    for atom, seen in itertools.permutations(range(len(names)), 2):
        truth = bool(rng.random() < 0.5)
        condition = names[seen] if truth else f"not {names[seen]}"
        expected = hidden.chance(names[atom], condition)
        given_one = GroundFormula(0 if truth else ("not", 0), (seen,))
        ways = [made._auxiliary(GroundFormula(0, (atom,)), [given_one])]
        ways += [
            way for way in (made._by_tree(atom, {seen: truth}), made._by_star(atom, {seen: truth})) if way
        ]
        for low, high in ways:
            assert low - 1e-6 <= expected <= high + 1e-6


def test_shortest_ways_connect_what_is_named() -> None:
    made = answering(CHAIN, [0.0] * 3, [1.0] * 3)
    assert made._way(0, 2) == [2, 1, 0] and made._way(1, 1) == [1]
    assert made._connected([0, 2]) == {0, 1, 2}
    apart = answering("P(a) <= 0.5\nP(b) <= 0.5", [0.0] * 2, [0.5] * 2)
    assert apart._way(0, 1) == [] and apart._connected([0, 1]) == {0, 1}
    long = "\n".join(f"P(x{i + 1:02} | x{i:02}) <= 0.9" for i in range(12))
    network = credal_network(hb.Model(hb.parse(long)).program)
    ends = [network.atoms.texts().index(name) for name in ("x00", "x12")]
    far = Answering(Incidence(network), Links.of(network), np.zeros(13), np.ones(13))
    assert far._connected(ends) == set(ends)  # the way between them is too long to be taken in


# Networks with some sentences changed


@some
@given(seeds)
def test_ends_are_changed_in_one_sentence_alone(seed: int) -> None:
    network = credal_network(hb.Model(hb.parse(bayesian(seed, 4).text)).program)
    index = Incidence(network)
    for number in range(len(network)):
        changed = with_ends(network, index.source(number), 0.0, 1.0)
        other = Incidence(changed)
        for sentence in range(len(network)):
            before, after = index.sentence(sentence), other.sentence(sentence)
            assert before.atoms == after.atoms
            ends = (0.0, 1.0) if sentence == number else (before.lower, before.upper)
            assert (after.lower, after.upper) == ends
    assert [index.sentence(n).lower for n in range(len(network))] == [
        Incidence(network).sentence(n).lower for n in range(len(network))
    ]


@some
@given(seeds, st.integers(0, 3))
def test_neighbourhoods_grow_by_what_speaks_of_their_atoms(seed: int, atom: int) -> None:
    network = credal_network(hb.Model(hb.parse(independent(seed, 5, 4).text)).program)
    index = Incidence(network)
    before: set[int] = set()
    reached = {atom}
    for region in growing(index, (), [atom]):
        expected = {s for s in range(len(network)) if reached & set(index.sentence(s).atoms)}
        assert set(region) == expected | before and region == sorted(region)
        before, reached = set(region), reached | {a for s in region for a in index.sentence(s).atoms}
    assert kept_only(network, before).groups[0].event == network.groups[0].event
    assert len(kept_only(network, before)) == len(before) and len(kept_only(network, ())) == 0


def test_a_smallest_set_is_named_whatever_else_is_near() -> None:
    """A contradiction that only statements further away complete: the neighbourhood grows until it shows."""
    text = "P(a) >= 0.9\nP(b | a) >= 0.9\nP(c | b) >= 0.9\nP(c) <= 0.3\nP(d | c) <= 0.5\nP(e | a) >= 0.2"
    network = credal_network(hb.Model(hb.parse(text)).program)
    index = Incidence(network)
    texts = [network.sentence_text(*index.source(n)) for n in range(len(network))]
    needed = {
        texts.index(said) for said in ("P(a) >= 0.9", "P(b | a) >= 0.9", "P(c | b) >= 0.9", "P(c) <= 0.3")
    }

    def contradicts(kept: list[tuple[int, int]]) -> bool:
        return {index.source(n) for n in needed} <= set(kept)

    told = str(contradiction_of_messages(network, map(index.source, range(len(network))), contradicts, True))
    assert "these 4 statements together" in told
    assert "P(d | c)" not in told and "P(e | a)" not in told
    with pytest.raises(ContradictionError, match="these 4 statements together"):
        hb.Model(hb.parse(text)).bound(engine="ariel")


# Reasons


def test_reasons_add_up_and_are_what_leaving_out_moves() -> None:
    """Each contribution beside a run of the theory without that statement."""
    lines = [*CHAIN.splitlines(), "P(c) >= 0.25"]
    model = hb.Model(hb.parse("\n".join(lines)))
    for query in ("P(b)", "P(a | c)", "P(a or c)"):
        why = model.explain(query, engine="ariel")
        (whole,) = model.bound(query, engine="ariel").rows()
        assert [end.value for end in why.ends] == pytest.approx([whole.lower, whole.upper])
        for side, end in enumerate(why.ends):
            assert end.guarantee == "bound" and end.base == float(side)
            assert end.quantity == ("lower probability", "upper probability")[side]
            total = end.base + end.remainder + sum(reason.contribution for reason in end.reasons)
            assert total == pytest.approx(end.value)
            for reason in end.reasons:
                left = [said if said != reason.statement else f"{said.split(')')[0]}) >= 0" for said in lines]
                (without,) = hb.Model(hb.parse("\n".join(left))).bound(query, engine="ariel").rows()
                moved = (whole.lower, whole.upper)[side] - (without.lower, without.upper)[side]
                assert reason.contribution == pytest.approx(moved, abs=1e-5), (query, reason.statement)
                assert reason.parts[0].statement.startswith("relaxed by 0.01: this end moves by ")


def test_a_question_too_large_for_memory_is_refused_by_its_size() -> None:
    made = hb.Model(hb.parse("\n".join(f"P(x{i} | x{i + 1}) <= 0.5" for i in range(300))))
    with pytest.raises(BudgetError) as raised:
        made.explain("P(x0)", engine="ariel", memory="50kB")
    assert "messages over 301 atoms and 300 ground sentences need about" in str(raised.value)
