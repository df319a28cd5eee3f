"""The Markov condition is that of the sentences as they are written, whatever observed facts make of them."""

from __future__ import annotations

import itertools
import random

import pytest

import herbrand as hb
from herbrand.engines.credal.lowering import credal_network
from herbrand.engines.credal.markov import graph_of
from herbrand.language import syntax as s
from tests.laws import long
from tests.oracles.credal import Network, holds
from tests.oracles.worlds import GroundAtom, Universe
from tests.oracles.written_bounds import name_of, sentences, written_network

DECLARED = """
type p = {"x", "y"}
predicate friends(p, p): observed
predicate known(p): observed
predicate s(p)
predicate t(p)
"""
QUERIES = ['s("x") and s("y")', 's("x") and t("y")', 's("x") or t("x")', 't("y")', 't("x") xor s("y")']
SIGNATURE = {"friends": (("p", "p"), None), "known": (("p",), None), "s": (("p",), None), "t": (("p",), None)}
EVENTS = [
    "s(a)",
    "s(a) and s(b)",
    "s(a) or t(b)",
    "s(a) xor s(b)",
    "s(a) and (t(b) or friends(a, b))",
    "s(a) or (t(b) and known(b))",
    "known(a) or s(a)",
    "friends(a, b) => s(b)",
    "exists c: friends(a, c) and s(c)",
    "forall c: friends(a, c) => t(c)",
    "s(a) and a != b",
    "known(a)",
    'friends("x", "y") and t(a)',
]
CONDITIONS = [
    None,
    "true",
    "friends(a, b)",
    "not friends(a, b)",
    "friends(a, b) or t(a)",
    "friends(a, b) and t(b)",
    "t(b)",
    "a != b",
    "a = b or t(b)",
    "known(a) => t(b)",
    "known(a) <=> t(a)",
    "exists c: friends(a, c) and t(c)",
    "exists c: friends(a, c) or t(c)",
    "false",
    "s(b) or not s(b)",
]


def random_theory(seed: int) -> tuple[str, Universe, list[s.Bound]]:
    """Bounds that the distribution satisfies in which all open atoms are independent."""
    rng = random.Random(seed)
    known: dict[GroundAtom, object] = {
        ("friends", pair): True for pair in itertools.product("xy", repeat=2) if rng.random() < 0.5
    }
    known |= {("known", (one,)): True for one in "xy" if rng.random() < 0.5}
    universe = Universe({"p": ("x", "y")}, SIGNATURE, known, frozenset({"friends", "known"}))
    chance = {name_of((name, (one,))): rng.uniform(0.1, 0.9) for name in "st" for one in "xy"}
    facts = "\n".join(name + "(" + ", ".join(f'"{one}"' for one in row) + ")" for name, row in known)
    bounds = []
    for _ in range(rng.randint(1, 3)):
        event, given = rng.choice(EVENTS), rng.choice(CONDITIONS)
        inner = event if given is None else f"{event} | {given}"
        flag = " independent" if given is not None and rng.random() < 0.2 else ""
        (stated,) = hb.parse(f"P({inner}) >= 0{flag}").statements
        assert isinstance(stated, s.Bound)
        values = [value for one in sentences(universe, stated) if (value := _value(one, chance)) is not None]
        if not values:
            continue
        low = max(0.0, round(min(values) - rng.choice([0.01, 0.1, 0.3]), 2))
        high = min(1.0, round(max(values) + rng.choice([0.01, 0.1, 0.3]), 2))
        bounds.append(f"P({inner}) in [{low}, {high}]{flag}")
    bounds += [f"P({name}(a)) in [0.05, 0.95]" for name in "st"]
    text = "\n".join([DECLARED, facts, *bounds])
    parsed = [one for one in hb.parse(text).statements if isinstance(one, s.Bound)]
    return text, universe, parsed


def _value(sentence: s.Bound, chance: dict[str, float]) -> float | None:
    """The probability of a sentence where atoms are independent."""
    network = Network((sentence,))
    masses = []
    for case in network.cases():
        mass = 1.0
        for name, truth in case.items():
            mass *= chance[name] if truth else 1 - chance[name]
        masses.append(mass)
    given = network.probability(masses, sentence.given)
    return None if given < 1e-9 else network.probability(masses, network.both(sentence)) / given


def links(text: str) -> set[tuple[str, str]]:
    network = credal_network(hb.Model(hb.parse(text)).program)
    names = [one.replace("(", "_").replace(")", "").replace('"', "") for one in network.atoms.texts()]
    return {(names[source], names[target]) for source, target in graph_of(network).links.tolist()}


def parents_as_written(network: Network) -> set[tuple[str, str]]:
    return {(parent, atom) for atom in network.atoms for parent in network.parents(atom)}


@pytest.mark.parametrize("block", long(range(10), 2))
def test_links_are_those_of_the_sentences_as_written(block: int) -> None:
    for seed in range(40 * block, 40 * block + 40):
        text, universe, bounds = random_theory(seed)
        assert links(text) == parents_as_written(written_network(universe, bounds)), text


def check_intervals(seeds: range, seconds: float) -> None:
    """``exact`` is between what SCIP proves and what it reaches on the raw program; ``ariel`` holds it."""
    for seed in seeds:
        text, universe, bounds = random_theory(seed)
        query = random.Random(seed).choice(QUERIES)
        (asked,) = hb.parse(f"P({query}) >= 0").statements
        assert isinstance(asked, s.Bound)
        ((event,),) = [[one.event for one in sentences(universe, asked)]]
        network = written_network(universe, bounds)
        worth = [float(holds(event, case)) for case in network.cases()]
        model = hb.Model(hb.parse(text))
        exact, ariel = (model.bound(f"P({query})", engine=engine) for engine in ("exact", "ariel"))
        for sign, end, outer in ((1, exact.lower[0], ariel.lower[0]), (-1, exact.upper[0], ariel.upper[0])):
            found = network.proved_and_reached([sign * one for one in worth], seconds=seconds)
            assert found is not None
            proved, reached = found
            assert sign * end <= reached + 2e-5 and sign * outer <= reached + 2e-5, (seed, text)
            if exact.guarantee == "exact":
                assert sign * end >= proved - 2e-5, (seed, text)


def test_intervals_hold_all_that_the_sentences_as_written_allow() -> None:
    pytest.importorskip("pyscipopt")
    check_intervals(range(2), 0.3)


@pytest.mark.slow
def test_many_intervals_hold_all_that_the_sentences_as_written_allow() -> None:
    pytest.importorskip("pyscipopt")
    check_intervals(range(2, 40), 2)


OBSERVED = """
predicate friends(p, p): observed
predicate s(p)
friends("x", "y")
P(s(a)) in [0.3, 0.4]
"""


@pytest.mark.parametrize("engine", ["exact", "ariel"])
@pytest.mark.parametrize(
    "condition",
    [
        "friends(a, b)",
        "friends(a, b) and a != b",
        "friends(a, b) or friends(a, b)",
        "not (not friends(a, b))",
        "exists c: friends(a, b) and friends(a, c)",
        "not friends(b, a) and a != b and friends(a, b)",
    ],
)
def test_an_observed_condition_links_what_it_is_a_condition_of(engine: str, condition: str) -> None:
    pytest.importorskip("pyscipopt")
    text = f"{OBSERVED}P(s(a) and s(b) | {condition}) in [0.05, 0.30]"
    found = hb.Model(hb.parse(text)).bound('P(s("x") and s("y"))', engine=engine)
    assert (found.lower[0], found.upper[0]) == pytest.approx((0.05, 0.30), abs=1e-6)
    # `independent` says that they are not linked
    found = hb.Model(hb.parse(f"{text} independent")).bound('P(s("x") and s("y"))', engine=engine)
    assert (found.lower[0], found.upper[0]) == pytest.approx((0.09, 0.16), abs=1e-6)


@pytest.mark.parametrize("engine", ["exact", "ariel"])
def test_a_sure_condition_links_too(engine: str) -> None:
    text = "P(a) in [0.3, 0.4]\nP(b) in [0.3, 0.4]\nP(a and b | true) in [0.05, 0.3]"
    found = hb.Model(hb.parse(text)).bound("P(a and b)", engine=engine)
    assert (found.lower[0], found.upper[0]) == pytest.approx((0.05, 0.30), abs=1e-6)
    found = hb.Model(hb.parse(text.replace(" | true", ""))).bound("P(a and b)", engine=engine)
    assert (found.lower[0], found.upper[0]) == pytest.approx((0.09, 0.16), abs=1e-6)


@pytest.mark.parametrize("engine", ["exact", "ariel"])
def test_a_sentence_that_says_nothing_links_as_well(engine: str) -> None:
    """P(a or true | b) is 1 whatever is chosen, and a depends on b by it."""
    text = "predicate o: observed\npredicate a\npredicate b\no\nP(a) in [0.3, 0.4]\nP(b) in [0.3, 0.4]\n"
    text += "P(a or o | b) >= 0.5"
    found = hb.Model(hb.parse(text)).bound("P(a and b)", engine=engine)
    assert (found.lower[0], found.upper[0]) == pytest.approx((0.0, 0.4), abs=1e-6)
