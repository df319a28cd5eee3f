"""What counting makes of a program before any number: families, classes, pools, what is known of pairs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

import herbrand as hb
from herbrand.engines.lifted.elements import element_count, known_values, own_codes
from herbrand.engines.lifted.exchangeable_model import ExchangeableModel, exchangeable_model_of
from herbrand.engines.lifted.families import Family, binary_groups, families_of
from herbrand.engines.lifted.pairs import covers, turned
from herbrand.engines.lifted.terms import PROPOSITIONS, NotLiftableError, Own, Slot
from herbrand.errors import HerbrandError
from herbrand.program.evidence import LATENT, Evidence
from tests.engines.belief.energies import value_number
from tests.engines.unseen import theory
from tests.oracles.worlds import GroundAtom, Universe


def model(text: str, by_class: bool = False) -> ExchangeableModel:
    program = hb.Model(hb.parse(text)).program
    return exchangeable_model_of(program, program.templates, Evidence(program), by_class)


def scenes(count: int, start: int = 500) -> Iterator[tuple[ExchangeableModel, Universe]]:
    """Of random theories that counting takes."""
    for seed in itertools.count(start):
        text, universe = theory(seed, liftable=True)
        try:
            found = model(text)
        except (NotLiftableError, HerbrandError):
            continue
        yield found, universe
        count -= 1
        if not count:
            return


def told(universe: Universe, atom: GroundAtom) -> tuple[int, list[float]]:
    """The number of the known value, or ``LATENT``; what opinions and exclusions add to each value."""
    values = universe.predicates[atom[0]][1] or (False, True)
    known = LATENT
    if len(universe.choices(atom)) == 1:
        known = value_number(universe, atom, universe.choices(atom)[0])
    added = [0.0] * len(values)
    for other, value, weight in universe.soft:
        if other == atom:
            added[value_number(universe, atom, value)] += weight
    for other, value in universe.excluded:
        if other == atom:
            added[value_number(universe, atom, value)] = -math.inf
    return known, added


def own_atom(model: ExchangeableModel, type_name: str, own: Own, element: int) -> GroundAtom:
    if type_name == PROPOSITIONS:
        return own.predicate, ()
    constant = model.program.domain(type_name).value(element)
    return own.predicate, (constant,) * (2 if own.diagonal else 1)


@pytest.mark.parametrize("sizes", [(), (2,), (3, 2), (2, 3, 2)])
def test_a_cell_is_a_choice_of_values(sizes: tuple[int, ...]) -> None:
    """The last own atom is the fastest; a family of no atoms has one cell."""
    owns = tuple(Own(f"p{i}") for i in range(len(sizes)))
    family = Family("t", owns, sizes)
    cells = list(itertools.product(*map(range, sizes)))
    assert family.cells == len(cells)
    for place, own in enumerate(owns):
        assert family.values(own).tolist() == [cell[place] for cell in cells]
    if len(owns) > 1:
        holding = family.holding(((owns[0], (1,)), (owns[-1], (0, 1))))
        assert holding.tolist() == [cell[0] == 1 and cell[-1] in (0, 1) for cell in cells]
    assert family.holding(()).all()


def test_every_own_atom_that_matters_is_in_one_family() -> None:
    """And no term speaks, of one element, of two families."""
    for found, _ in scenes(18):
        owned = [(family.type, own) for family in found.families for own in family.owns]
        assert len(set(owned)) == len(owned)
        for number, family in enumerate(found.families):
            assert family.sizes == tuple(found.program.value_count(own.predicate) for own in family.owns)
            assert all(found.family_with(family.type, own) == number for own in family.owns)
        for name, predicate in found.program.signature.predicates.items():
            if found.program.is_open(name):
                if predicate.arity < 2:
                    assert ((*predicate.types, PROPOSITIONS)[0], Own(name)) in owned
                elif predicate.arity == 2 and len(set(predicate.types)) == 1:
                    assert (predicate.types[0], Own(name, True)) in owned
        slots = [slot for term in found.terms.counts for slot in term.slots]
        slots += [slot for term in found.terms.pairs for slot in (term.left, term.right)]
        for slot in slots:
            assert len({found.family_with(slot.type, own) for own, _ in slot.literals}) <= 1


def test_a_class_knows_what_is_known_of_its_elements() -> None:
    """Possible cells and opinions, as facts give them; elements of one class are told the same."""
    for found, universe in scenes(18, 540):
        for family, elements in zip(found.families, found.elements, strict=True):
            assert elements.count == element_count(family.type, found.program)
            for element in range(elements.count):
                klass = int(elements.class_of[element])
                assert elements.class_of[elements.first[klass]] == klass
                possible, weights = [], []
                for cell in range(family.cells):
                    fits, weight = True, 0.0
                    for own in family.owns:
                        value = int(family.values(own)[cell])
                        known, added = told(universe, own_atom(found, family.type, own, element))
                        fits &= known in (LATENT, value) and added[value] > -math.inf
                        weight += added[value]
                    possible.append(fits)
                    weights.append(weight if fits else 0.0)
                assert elements.possible[klass].tolist() == possible
                assert elements.opinions[klass].tolist() == pytest.approx(weights)


def test_own_atoms_are_looked_up_by_their_codes() -> None:
    found = model(
        'type t = {"a", "b", "c"}\npredicate f(t, t)\npredicate rain\nf("b", "b")\nnot rain\n1: f(x, y)'
    )
    diagonal = Own("f", True)
    assert own_codes(diagonal, 3).tolist() == [0, 4, 8]
    assert known_values(diagonal, 3, found.evidence).tolist() == [LATENT, 1, LATENT]
    assert known_values(Own("rain"), 1, found.evidence).tolist() == [0]


@pytest.mark.parametrize("by_class", [False, True])
def test_pools_part_the_elements_of_each_family(by_class: bool) -> None:
    for seed in range(500, 524):
        try:
            found = model(theory(seed, liftable=True)[0], by_class)
        except (NotLiftableError, HerbrandError):
            continue
        for number, elements in enumerate(found.elements):
            pools = [found.pools[i] for i in found.pools_of[number]]
            every = np.concatenate([pool.elements for pool in pools]) if pools else np.empty(0)
            assert sorted(every.tolist()) == list(range(elements.count))
            for i in found.pools_of[number]:
                assert (found.pool_of[number][found.pools[i].elements] == i).all()
                if by_class:
                    assert len(set(elements.class_of[found.pools[i].elements].tolist())) == 1


T = 'type t = {"a", "b", "c", "d"}\npredicate p(t)\npredicate q(t)\npredicate f(t, t)\n'


@pytest.mark.parametrize(
    ("stated", "sizes"),
    [
        ("1: p(x) or p(y)", [4]),
        ('1: p(x) or p(y)\n0.5: p("b")', [4]),
        ('1: p(x) or p("b")', [1, 3]),
        ('1: p(x) and p(y) where x != "b" and y != "c"', [1, 1, 2]),
        ('1: f(x, "d") and p(x)', [1, 3]),
    ],
)
def test_constants_that_several_elements_are_told_apart_by_are_alone(stated: str, sizes: list[int]) -> None:
    """A statement about one constant only gives that one a class, and leaves it in its pool."""
    found = model(T + stated)
    family = found.family_with("t", Own("p"))
    assert sorted(len(found.pools[i]) for i in found.pools_of[family]) == sizes
    if '0.5: p("b")' in stated:
        assert len(set(found.elements[family].class_of.tolist())) == 2


def test_which_pools_a_slot_ranges_over() -> None:
    everybody, others = frozenset[int](), frozenset({1})
    free, named, all_but = Slot("t"), Slot("t", (), 1), Slot("t", (), None, frozenset({1}))
    assert covers(free, everybody) and covers(free, 1) and covers(free, others)
    assert covers(named, 1) and not covers(named, 2) and not covers(named, others)
    assert covers(all_but, 2) and not covers(all_but, 1) and covers(all_but, others)


def test_pools_are_found_by_slot_as_one_by_one() -> None:
    """Of random theories, some of whose formulas name constants: every slot, and what each pool hears."""
    for found, _ in scenes(20, 600):
        said: list[list[object]] = [[] for _ in found.pools]
        for term in found.terms.counts:
            for slot in term.slots:
                if not slot.literals:
                    continue
                family = found.family_with(slot.type, slot.literals[0][0])
                here = [i for i, p in enumerate(found.pools) if p.family == family and covers(slot, p.range)]
                assert list(found.pools_in(slot)) == here
                for pool in here if term.single is None else ():
                    said[pool] += [slot.literals] if slot.literals not in said[pool] else []
        assert list(map(list, found.literals_of)) == said


def test_slots_without_literals_are_counted() -> None:
    found = model(T + "1: p(x)")
    assert found.elements_in(Slot("t")) == 4
    assert found.elements_in(Slot("t", (), 2)) == 1
    assert found.elements_in(Slot("t", (), None, frozenset({0, 3}))) == 2


@pytest.mark.parametrize(
    ("stated", "linear"),
    [
        ("1: p(x) and q(y)", {"p", "q"}),
        ("1: p(x) and p(y)", set()),
        ("hard: p(x) and q(y)", set()),
        ("1: p(x) and exists y: q(y)", {"p"}),
    ],
)
def test_in_which_counts_a_term_is_linear(stated: str, linear: set[str]) -> None:
    found = model(T + stated)
    for term in found.terms.counts:
        if term.single is None:
            names = {found.families[found.pools[p].family].owns[0].predicate for p in found.linear_in(term)}
            assert names == linear


def test_propositions_that_pairs_depend_on_are_switches() -> None:
    found = model(T + "predicate rain\npredicate snow\n1: f(x, y) and rain\n1: snow and p(x)")
    assert found.switches == ("rain",)


def test_binary_predicates_that_a_formula_ties_are_one_group() -> None:
    text = T + "predicate g(t, t)\npredicate h(t, t)\npredicate e(t, t): observed\n"
    text += "1: f(x, y) and g(y, x)\n0.2: h(x, y)"
    found = model(text)
    assert binary_groups(found.terms.pairs, found.program) == [("f", "g"), ("h",)]
    (both, alone) = found.groups
    assert both.atoms == (("f", True), ("f", False), ("g", True), ("g", False)) and both.within
    assert alone.atoms == (("h", True), ("h", False))
    assert len(families_of(found.terms, found.program)) <= len(found.families)


def test_what_is_known_of_each_pair() -> None:
    """Its pattern, or that of nearly all pairs, says of each atom what facts say."""
    unusual = 0
    for found, universe in scenes(25, 600):
        for group, knowledge in zip(found.groups, found.knowledge, strict=True):
            left, right = (found.program.domain(name) for name in group.types)
            listed = {
                tuple(pair): n for pair, n in zip(knowledge.pairs.tolist(), knowledge.pattern_of, strict=True)
            }
            assert len(listed) == len(knowledge.pairs)
            for one, other in itertools.product(range(len(left)), range(len(right))):
                if group.within and one >= other:
                    assert (one, other) not in listed, "each pair once"
                    continue
                pattern = knowledge.patterns[listed.get((one, other), 0)]
                unusual += (one, other) in listed
                for place, (name, way) in enumerate(group.atoms):
                    straight = found.program.signature.predicates[name].types == group.types
                    names = (left.value(one), right.value(other))
                    ordered = names if (way if group.within else straight) else names[::-1]
                    known, added = told(universe, (name, ordered))
                    assert pattern.values[place] == known
                    assert pattern.opinions[place].tolist() == pytest.approx(added)
    assert unusual > 5


def test_a_pattern_seen_from_the_other_element() -> None:
    found = model(
        T + 'predicate g(t, t)\n1: f(x, y) or g(y, x)\nf("a", "b")\nnot g("a", "b")\ng("b", "a") ~ 0.8'
    )
    (group,), (knowledge,) = found.groups, found.knowledge
    (special,) = knowledge.patterns[1:]
    assert special.values == (1, LATENT, 0, LATENT)
    other = turned(group, special)
    assert other.values == (LATENT, 1, LATENT, 0)
    assert [o.tolist() for o in other.opinions] == [special.opinions[i].tolist() for i in (1, 0, 3, 2)]
    again = turned(group, other)
    assert again.values == special.values


def test_facts_that_most_pairs_have_are_what_is_usual() -> None:
    """Eleven of twelve links are there: the missing one is listed."""
    links = [f'f("{x}", "{y}")' for x in "abcd" for y in "abcd" if x != y and (x, y) != ("c", "a")]
    found = model(
        T.replace("f(t, t)", "f(t, t): observed") + "1: p(x) and f(x, y) => p(y)\n" + "\n".join(links)
    )
    (knowledge,) = found.knowledge
    assert knowledge.patterns[0].values == (1, 1)
    assert knowledge.pairs.tolist() == [[0, 2]]
    assert knowledge.patterns[1].values == (1, 0)


def test_too_many_cells_are_told_with_their_predicates() -> None:
    names = [f"p{i}" for i in range(13)]
    text = 'type t = {"a", "b"}\n' + "".join(f"predicate {n}(t)\n" for n in names)
    with pytest.raises(NotLiftableError) as error:
        model(text + "0.1: " + " or ".join(f"{n}(x)" for n in names))
    assert "p0, p1" in str(error.value)
    assert "hang together about one constant, which makes 8,192 cells; at most 4,096 are taken" in str(
        error.value
    )
