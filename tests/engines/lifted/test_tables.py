"""Tables of pairs beside loops over their atoms; cells that need not be told apart, and flat tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

import herbrand as hb
from herbrand import arrays
from herbrand.contraction.algebra import algebra_named
from herbrand.engines.lifted.pairs import PairTables, Pattern
from herbrand.engines.lifted.problem import Problem, problem_of
from herbrand.engines.lifted.tabulated import SEPARABLE, Cells, Link, Tabulated, numbers_of, pair_count
from herbrand.engines.lifted.terms import NotLiftableError, PairTerm, Slot
from herbrand.errors import HerbrandError
from herbrand.program.evidence import LATENT, Evidence
from tests.engines.unseen import theory


def problem(text: str, most: bool = False, scale: float = 1.0) -> Problem:
    program = hb.Model(hb.parse(text)).program
    return problem_of(program, Evidence(program), (), most, scale)


PAIRS = """\
0.7: p(x) and f(x, y) => p(y)
-0.4: f(x, y) <=> f(y, x)
0.3: f(x, x) and q(x)
-0.2: f("c1", y) and q(y)
hard: p(x) and q(y) => f(x, y) where x != "c0"
f("c0", "c1")
not f("c2", "c1")
f("c1", "c2") ~ 0.8
p("c2")
"""


def tabulations(count: int, start: int, most: bool = False) -> Iterator[Tabulated]:
    """Of a theory about pairs of every kind, and of random ones that counting takes."""
    yield problem(people(4) + PAIRS, most).summations[0].tabulated
    for seed in itertools.count(start):
        try:
            found = problem(theory(seed, liftable=True)[0], most)
        except (NotLiftableError, HerbrandError):
            continue
        for summation in found.summations:
            yield summation.tabulated
        count -= 1
        if not count:
            return


def in_slot(slot: Slot, tabulated: Tabulated, pool: int, cell: int) -> bool:
    """Whether the elements of a pool are in a slot when they are in a cell."""
    elements = tabulated.model.pools[pool].range
    if isinstance(elements, int):
        here = slot.constant in (None, elements) and elements not in slot.excluded
    else:
        here = slot.constant is None
    family = tabulated.model.families[tabulated.model.pools[pool].family]
    return here and all(int(family.values(own)[cell]) in allowed for own, allowed in slot.literals)


def term_worth(
    tabulated: Tabulated, link: Link, term: PairTerm, cells: tuple[int, int], values: tuple
) -> float:
    """What one term gives a pair in two cells whose atoms have these values."""
    group = tabulated.tables[link].group
    for own, allowed in term.given:
        if tabulated.given[own.predicate] not in allowed:
            return 0.0
    worth = 0.0
    for straight in (True, False) if group.within else (term.left.type == group.types[0],):
        left, right = (term.left, term.right) if straight else (term.right, term.left)
        if not (in_slot(left, tabulated, link[1], cells[0]) and in_slot(right, tabulated, link[2], cells[1])):
            continue
        held = True
        for name, way, allowed in term.atoms:
            place = group.atoms.index((name, way == straight if group.within else True))
            held &= values[place] in allowed
        if held and term.weight is None:
            return -math.inf
        if held:
            assert term.weight is not None
            worth += term.sign * term.times * float(tabulated.numbers[term.weight].detach())
    return worth


def by_loops(
    tabulated: Tabulated, link: Link, pattern: Pattern, cells: tuple[int, int]
) -> dict[tuple, float]:
    """The log-weight of every choice of values for a pair's atoms."""
    found, group = {}, tabulated.tables[link].group
    for values in itertools.product(*map(range, group.sizes)):
        weight = 0.0
        for value, settled, added in zip(values, pattern.values, pattern.opinions, strict=True):
            weight += float(added[value]) if settled in (LATENT, value) else -math.inf
        for term in group.terms:
            weight += term_worth(tabulated, link, term, cells, values)
        found[values] = weight
    return found


@pytest.mark.parametrize("most", [False, True])
def test_tables_of_pairs_are_those_of_loops_over_their_atoms(most: bool) -> None:
    """Summed or maximised out, and the share of each value of each atom; whatever is known of the pair."""
    compared = 0
    for tabulated in tabulations(8, 700, most):
        for link, made in tabulated.tables.items():
            for pattern in tabulated.model.knowledge[link[0]].patterns:
                summed, shares = made.summed(pattern).detach(), made.shares(pattern)
                for cells in itertools.product(*(range(len(kinds)) for kinds in made.kinds)):
                    if compared > 1200:
                        return
                    weights = by_loops(tabulated, link, pattern, cells)
                    kinds = made.kinds[0][cells[0]], made.kinds[1][cells[1]]
                    largest = max(weights.values())
                    if largest == -math.inf:
                        assert float(summed[kinds]) == -math.inf
                        continue
                    relative = {values: math.exp(w - largest) for values, w in weights.items()}
                    total = math.fsum(relative.values())
                    expected = largest if most else largest + math.log(total)
                    assert float(summed[kinds]) == pytest.approx(expected, abs=1e-9)
                    for place, share in enumerate(shares):
                        assert share[kinds].sum() == pytest.approx(1.0)
                        for value, found in enumerate(share[kinds].tolist()):
                            having = [w for values, w in relative.items() if values[place] == value]
                            if most:
                                assert found in (0.0, 1.0)
                                assert found == 0.0 or max(having) == pytest.approx(1.0)
                            else:
                                assert found == pytest.approx(math.fsum(having) / total, abs=1e-9)
                    compared += 1
    assert compared > 200


def test_cells_that_are_one_profile_are_treated_alike() -> None:
    """By all usual tables and all terms over counts; those of one state by unusual tables too."""
    merged = 0
    for tabulated in tabulations(20, 730):
        model = tabulated.model
        for number, cells in enumerate(tabulated.cells):
            pool = model.pools[number]
            family = model.families[pool.family]
            classes = np.unique(model.elements[pool.family].class_of[pool.elements])
            weights = tabulated.weights[pool.family].detach().numpy()[classes]
            possible = (weights > -np.inf).any(0)
            assert ((cells.state >= 0) == possible).all() and ((cells.profile >= 0) == possible).all()
            for profile in range(cells.profiles):
                alike = np.flatnonzero(cells.profile == profile)
                merged += len(alike) > 1
                for link, made in tabulated.tables.items():
                    if number not in link[1:] or link in tabulated.flat:
                        continue
                    table = made.summed(model.knowledge[link[0]].patterns[0]).detach().numpy()
                    left, right = (kinds[alike] for kinds in made.kinds)
                    if number == link[1]:
                        assert (table[left] == table[left[0]]).all()
                    if number == link[2]:
                        assert (table[:, right] == table[:, right[:1]]).all()
                for term in model.terms.counts:
                    for slot in term.slots if term.single is None else ():
                        if slot.literals and number in model.pools_in(slot):
                            holds = family.holding(slot.literals)[alike]
                            assert holds.all() or not holds.any()
            for state in range(cells.states):
                assert len(set(cells.profile[cells.state == state].tolist())) == 1
            assert cells.profile_of == [
                int(cells.profile[np.flatnonzero(cells.state == state)[0]]) for state in range(cells.states)
            ]
    assert merged > 10


def test_cells_by_hand() -> None:
    cells = Cells(np.array([1, -1, 0, 1, 0]), np.array([2, -1, 0, 1, 0]))
    assert (cells.profiles, cells.states) == (2, 3)
    assert cells.profile_of == [0, 1, 1]
    assert cells.first_of(True).tolist() == [2, 0] and cells.first_of(False).tolist() == [2, 3, 0]
    nothing = Cells(np.array([-1, -1]), np.array([-1, -1]))
    assert (nothing.profiles, nothing.states, nothing.profile_of) == (0, 0, [])


T = "type t = {{{}}}\npredicate p(t)\npredicate q(t)\npredicate f(t, t)\n"


def people(count: int) -> str:
    return T.format(", ".join(f'"c{i}"' for i in range(count)))


@pytest.mark.parametrize(
    ("stated", "flat"),
    [
        ("0.7: f(x, y)", True),
        ("0.7: f(x, y) and p(x)", True),
        ("0.7: f(x, y) <=> f(y, x)", True),
        ("0.7: f(x, y) and p(x)\n0.4: f(x, y) and p(y)", False),
        ("0.7: p(x) and f(x, y) => p(y)", False),
        ("hard: p(x) => f(x, y)", True),
        ("hard: p(x) and f(x, y) => p(y)\nhard: f(x, y)", False),
    ],
)
def test_which_tables_say_nothing_of_two_elements_together(stated: str, flat: bool) -> None:
    """These need no counts, so that any number of constants costs the same."""
    (summation,) = problem(people(5) + stated).summations
    tabulated = summation.tabulated
    assert bool(tabulated.flat) == flat
    for link in tabulated.flat:
        table = tabulated.tables[link].summed(summation.model.knowledge[link[0]].patterns[0]).numpy()
        apart = table - table[:, :1] - table[:1] + table[0, 0]
        assert np.abs(apart).max() <= SEPARABLE * (1 + np.abs(table).max())


@pytest.mark.parametrize("count", [1, 2, 7])
def test_flat_tables_are_given_to_the_elements(count: int) -> None:
    """Each pair once: a formula about links from smokers, in closed form."""
    found = problem(people(count) + "0.7: f(x, y) and p(x)\n0.2: p(x) and q(y) and q(x)\n").total
    pairs = [math.log(1 + math.exp(0.7)), math.log(2)]
    terms = []
    for ps, qs in itertools.product(range(count + 1), repeat=2):
        for joint in range(max(0, ps + qs - count), min(ps, qs) + 1):
            ways = math.factorial(count) / (
                math.factorial(joint)
                * math.factorial(ps - joint)
                * math.factorial(qs - joint)
                * math.factorial(count - ps - qs + joint)
            )
            weight = count * (ps * pairs[0] + (count - ps) * pairs[1]) + 0.2 * joint * qs
            terms.append(math.log(ways) + weight)
    largest = max(terms)
    expected = largest + math.log(math.fsum(math.exp(t - largest) for t in terms))
    assert found == pytest.approx(expected, rel=1e-12)


def test_shares_that_differ_by_their_last_digits_do_not_depend() -> None:
    """Four hundred constants in three unary predicates are too many counts, and need none."""
    rules = "0.7: f(x, y) and p(x)\n0.3: f(x, y) and q(x)\n-0.45: f(x, y) and r(x)\n0.2: p(x) or q(x) or r(x)"
    model = hb.Model(hb.parse(people(400) + "predicate r(t)\n" + rules))
    answer = model.infer(['p("c3")', 'f("c1", "c2")', 'f("c2", "c2")'], engine="lifted")
    assert not answer.status.advice
    states = list(itertools.product((0, 1), repeat=3))
    weights = {s: 0.7 * s[0] + 0.3 * s[1] - 0.45 * s[2] for s in states}
    logs = {s: 400 * math.log1p(math.exp(w)) + 0.2 * any(s) for s, w in weights.items()}
    largest = max(logs.values())
    total = math.fsum(math.exp(log - largest) for log in logs.values())
    assert answer.log_partition == pytest.approx(400 * (largest + math.log(total)), rel=1e-13)
    linked = math.fsum(math.exp(logs[s] - largest) / (1 + math.exp(-weights[s])) for s in states) / total
    smoking = math.fsum(math.exp(logs[s] - largest) for s in states if s[0]) / total
    assert [row.probability for row in answer.rows()] == pytest.approx([smoking, linked, linked], abs=1e-12)


def test_how_many_pairs_a_link_has() -> None:
    (summation,) = problem(people(5) + '0.7: f(x, "c1") and p(x)\n0.1: f(x, y) and p(x) and q(y)').summations
    model = summation.model
    for link in summation.tabulated.tables:
        one, other = (len(model.pools[i]) for i in link[1:])
        assert pair_count(model, link) == (one * (one - 1) // 2 if link[1] == link[2] else one * other)
    assert sum(pair_count(model, link) for link in summation.tabulated.tables) == 10


def test_an_unusual_pair_is_worth_what_it_has_beyond_a_usual_one() -> None:
    text = people(4) + '0.7: p(x) and f(x, y) => p(y)\nf("c0", "c1")\nnot f("c2", "c3")\nf("c3", "c1") ~ 0.9'
    (summation,) = problem(text).summations
    tabulated = summation.tabulated
    (knowledge,) = summation.model.knowledge
    assert len(knowledge.patterns) == 4
    for pattern in range(1, 4):
        extra = tabulated.unusual(0, pattern, 0, 0)
        states = tabulated.cells[0].first_of(False)
        usual, special = (
            tabulated.tables[0, 0, 0].summed_at(knowledge.patterns[k], states, states) for k in (0, pattern)
        )
        expected = (special - usual).numpy()
        assert np.allclose(extra.numpy(), expected)
        assert not tabulated.unusual(0, 0, 0, 0).numpy().any()


def test_a_fact_that_a_hard_statement_forbids_of_most_pairs_is_not_counted() -> None:
    """What is impossible of usual pairs cannot be corrected by a difference."""
    text = people(3).replace("f(t, t)", "f(t, t): observed") + "0.4: p(x) or q(x)\n"
    text += 'hard: p(x) and q(y) => f(x, y) where x != y\nf("c0", "c1")'
    with pytest.raises(
        NotLiftableError, match="a fact makes possible what a hard statement forbids of most pairs"
    ):
        assert problem(text).total
    lifted, ground = (hb.Model(hb.parse(text)).infer(engine=name) for name in ("lifted", "exact"))
    assert lifted.log_partition == pytest.approx(ground.log_partition)
    assert "a fact makes possible" in lifted.status.advice


def test_weights_are_scaled_and_trust_comes_last() -> None:
    program = hb.Model(hb.parse("0.5: p\n-2: q\np ~ 0.7")).program
    assert numbers_of(program).tolist() == [0.5, -2.0, 1.0]
    assert numbers_of(program, 0.5).tolist() == [0.25, -1.0, 0.5]


@pytest.mark.parametrize("scale", [0.0, 0.3, 1.0])
def test_slopes_are_those_of_small_steps(scale: float) -> None:
    """Of each weight, and of the trust in soft evidence."""
    stated = ["0.7: p(x) and f(x, y) => p(y)", "-0.3: p(x) or p(y)", "0.2: exists x: q(x) and p(x)"]
    soft = 'p("c1") ~ 0.8\nf("c0", "c2") ~ 0.3\n'
    found = problem(people(3) + soft + "\n".join(stated), scale=scale).slopes()
    step = 1e-5
    for place, text in enumerate(stated):
        weight, formula = text.split(": ", 1)
        ends = []
        for moved in (step, -step):
            # Scaled weights are scale times the given ones; the slope is by the scaled weight.
            others = [
                t if t != text else f"{float(weight) + moved / max(scale, 1e-3)}: {formula}" for t in stated
            ]
            ends.append(problem(people(3) + soft + "\n".join(others), scale=scale).total)
        if scale > 0:
            assert found[place] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-5)
    assert len(found) == len(stated) + 1


def test_tables_beyond_what_is_taken_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("herbrand.engines.lifted.pairs.MOST_ENTRIES", 15)
    with pytest.raises(NotLiftableError) as told:
        problem(people(3) + "0.1: p(x) and f(x, y) => p(y)")
    assert str(told.value) == "a pair's table over f would be too large"


def test_values_of_many_switches_are_not_all_tried() -> None:
    names = [f"s{i}" for i in range(9)]
    text = 'type t = {"a", "b"}\npredicate f(t, t)\n' + "".join(f"predicate {n}\n" for n in names)
    stated = "\n".join(f"0.1: {n} and f(x, y)" for n in names)
    with pytest.raises(
        NotLiftableError, match="pairs depend on 9 propositions, whose values would all be tried"
    ):
        problem(text + stated)
    few = "\n".join(stated.splitlines()[:3])
    assert len(problem(text + few).summations) == 8


def test_atoms_that_no_term_of_a_pair_speaks_of_make_no_larger_tables() -> None:
    """Constants that are named give every element own atoms about them; the links are about one or two."""
    text = people(5) + 'predicate c(t) in {"a", "b", "c"}\npredicate g(t, t)\n0.7: p(x) and f(x, y) => q(y)\n'
    text += '0.3: c(x) = "a" and g("c1", x) and f(x, "c1") and p(x) and g(x, "c1")'
    (summation,) = problem(text).summations
    tables = summation.tabulated.tables
    assert max(len(kinds) for made in tables.values() for kinds in made.kinds) >= 48
    assert all(max(made.potential.shape[:2]) <= 8 for made in tables.values())
    model = hb.Model(hb.parse(text.replace('"c2", "c3", "c4"', '"c2"')))
    lifted, ground = (model.infer(engine=name) for name in ("lifted", "exact"))
    assert lifted.log_partition == pytest.approx(ground.log_partition, abs=1e-10)
    for one, other in zip(lifted.rows(), ground.rows(), strict=True):
        assert one.probability == pytest.approx(other.probability, abs=1e-10)


@pytest.mark.parametrize("algebra", ["log", "maximum"])
def test_shares_where_nothing_is_possible_are_shares_still(algebra: str) -> None:
    """So that what is impossible never meets what is not a number."""
    (summation,) = problem(people(3) + "0.5: p(x) and f(x, y)").summations
    made = next(iter(summation.tabulated.tables.values()))
    barred = PairTables(
        made.group,
        made.kinds,
        algebra_named(algebra),
        arrays.full(made.potential.shape, -math.inf),
        made.trust,
    )
    pattern = summation.model.knowledge[0].patterns[0]
    assert (barred.summed(pattern) == -math.inf).all()
    for share in barred.shares(pattern):
        assert np.isfinite(share).all() and share.sum(2) == pytest.approx(np.ones(share.shape[:2]))
