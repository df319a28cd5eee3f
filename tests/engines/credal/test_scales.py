"""Ends are right, and proved, at any scale: closed forms, vertices in fractions, and sampled networks.

Probabilities range over twelve orders of magnitude. What is compared has no tolerance but a relative one for
rounding: an interval holds every network that satisfies the sentences, exactly.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import herbrand as hb
from herbrand.answers.bounds import Interval
from tests.laws import long
from tests.oracles.ariel import holds
from tests.oracles.interval_networks import IntervalNetwork, Table

ENGINES = ["exact", "ariel"]
CLASSES = """
P(y) in [0.027672454, 0.22931224]
P(f0 | y) in [0.001682467, 0.021885679]
P(f0 | not y) in [0.003632223, 0.053697911]
P(f1 | y) in [0.019189934, 0.053749652]
P(f1 | not y) in [0.032854711, 0.046270359]
P(f2 | y) in [0.005428095, 0.019524131]
P(f2 | not y) in [0.000082590, 0.008716534]
P(f3 | y) in [0.029468078, 0.045071781]
P(f3 | not y) in [0.020768913, 0.041617241]
"""


def bounded(text: str, query: str, engine: str = "exact", seconds: float = 2) -> Interval:
    options: dict[str, Any] = {"tolerance": 1e-10} if engine == "exact" else {}
    (row,) = hb.Model(hb.parse(text)).bound(query, engine=engine, time_limit=seconds, **options).rows()
    return row


def is_tightest(row: Interval, lower: float, upper: float) -> bool:
    """Whether an interval is the given one up to rounding, outward, and says so."""
    near = (row.lower, row.upper) == pytest.approx((lower, upper), rel=1e-11)
    return near and row.certified and row.gap is not None and row.gap <= 1e-11 * upper


def test_a_class_given_rare_features() -> None:
    """P(f0 and f1 and f2 and f3) is some 1e-6: the least odds by hand, feature by feature."""
    odds = 0.027672454 / (1 - 0.027672454)
    for given, otherwise in (
        (0.001682467, 0.053697911),
        (0.019189934, 0.046270359),
        (0.005428095, 0.008716534),
        (0.029468078, 0.041617241),
    ):
        odds *= given / otherwise
    row = bounded(CLASSES, "P(y | f0 and f1 and f2 and f3)")
    assert row.lower == pytest.approx(odds / (1 + odds), rel=1e-12) == pytest.approx(0.00016304, rel=1e-4)
    assert row.certified and row.gap is not None and row.gap <= 1e-12


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("p", [1e-1, 1e-3, 3e-4, 1e-4, 1e-6, 1e-12])
def test_a_conjunction_of_rare_causes(count: int, p: float) -> None:
    causes = [f"c{i}" for i in range(count)]
    all_of_them = " and ".join(causes)
    text = "\n".join(f"P({cause}) in [{p}, {2 * p}]" for cause in causes)
    gate = f"\nP(top | {all_of_them}) = 1\nP(top | not ({all_of_them})) = 0"
    assert is_tightest(bounded(text + gate, "P(top)"), p**count, (2 * p) ** count)
    assert is_tightest(bounded(text + gate, f"P({all_of_them})"), p**count, (2 * p) ** count)
    messages = bounded(text + gate, "P(top)", "ariel")
    assert messages.lower <= p**count and messages.upper >= (2 * p) ** count


@pytest.mark.parametrize("chance", [1e-3, 1e-10, 1e-14, 1e-100])
def test_a_noisy_or_of_rare_causes_and_what_they_explain(chance: float) -> None:
    text = f"P(a) in [{chance}, {2 * chance}]\nP(b) = {chance}\nP(e | a and b) = 0.99\n"
    text += "P(e | a and not b) = 0.9\nP(e | not a and b) = 0.8\nP(e | not a and not b) = 0"
    least, most = (
        p * chance * 0.99 + p * (1 - chance) * 0.9 + (1 - p) * chance * 0.8 for p in (chance, 2 * chance)
    )
    assert is_tightest(bounded(text, "P(e)"), least, most)
    of_a = [p * (0.99 * chance + 0.9 * (1 - chance)) for p in (chance, 2 * chance)]
    shares = [part / whole for part, whole in zip(of_a, (least, most), strict=True)]
    assert is_tightest(bounded(text, "P(a | e)"), *shares)


@pytest.mark.parametrize("count", [11, 14])
def test_a_class_with_many_features(count: int) -> None:
    """All observed: a search for this has ended its process."""
    rng = np.random.default_rng(count)
    text, odds = "P(y) in [0.1, 0.2]", [0.1 / 0.9, 0.2 / 0.8]
    for feature in range(count):
        (a, b), (c, d) = np.sort(np.exp(rng.uniform(math.log(1e-4), -0.1, (2, 2))), axis=1).tolist()
        text += f"\nP(f{feature} | y) in [{a!r}, {b!r}]\nP(f{feature} | not y) in [{c!r}, {d!r}]"
        odds = [odds[0] * a / d, odds[1] * b / c]
    row = bounded(text, f"P(y | {' and '.join(f'f{feature}' for feature in range(count))})")
    assert is_tightest(row, odds[0] / (1 + odds[0]), odds[1] / (1 + odds[1]))


def some_chance(rng: np.random.Generator) -> float:
    """Over twelve orders of magnitude, also near 1."""
    chance = float(10 ** rng.uniform(-12, 0))
    return 1 - chance if rng.random() < 0.2 else chance


def some_row(rng: np.random.Generator) -> tuple[float, float]:
    if rng.random() < 0.3:
        return (end := some_chance(rng)), end
    low, high = sorted((some_chance(rng), some_chance(rng)))
    return (0.0, high) if rng.random() < 0.1 else (low, high)


def some_network(rng: np.random.Generator, most_rows: int = 8) -> IntervalNetwork:
    while True:
        count = int(rng.integers(2, 5))
        parents = [
            tuple(sorted(rng.permutation(atom)[: rng.integers(0, 3)].tolist())) for atom in range(count)
        ]
        if sum(2 ** len(its) for its in parents) <= most_rows:
            return IntervalNetwork(
                tuple(Table(its, tuple(some_row(rng) for _ in range(2 ** len(its)))) for its in parents)
            )


def some_question(rng: np.random.Generator, count: int) -> tuple[str, str | None]:
    event, *others = (f"x{atom}" for atom in rng.permutation(count))
    given = [other if rng.random() < 0.7 else f"not {other}" for other in others if rng.random() < 0.6]
    return event, " and ".join(given) or None


def asked(network: IntervalNetwork, more: str, event: str, given: str | None, engine: str) -> Interval | None:
    query = f"P({event})" if given is None else f"P({event} | {given})"
    try:
        return bounded(network.text + more, query, engine)
    except hb.HerbrandError as error:
        assert "cannot be given" in str(error)
        return None


def sampled(network: IntervalNetwork, rng: np.random.Generator) -> list[Fraction]:
    """A number for every row, within its interval; often at an end."""
    found = []
    for table in network.tables:
        for low, high in table.rows:
            between = min(max(low + (high - low) * float(10 ** rng.uniform(-12, 0)), low), high)
            found.append(Fraction([low, high, between][rng.integers(3)]))
    return found


def probability(
    network: IntervalNetwork, rows: list[Fraction], event: str, given: str | None
) -> Fraction | None:
    masses = network.masses(rows)
    told, true = holds(given, range(network.count)), holds(event, range(network.count))
    whole = sum((m for m, one in zip(masses, told, strict=True) if one), Fraction(0))
    both = sum((m for m, one, other in zip(masses, told, true, strict=True) if one and other), Fraction(0))
    return both / whole if whole else None


def check_vertices(seed: int) -> None:
    """Both engines beside all vertices in fractions: the one is tight, both hold every vertex."""
    rng = np.random.default_rng(seed)
    network = some_network(rng)
    event, given = some_question(rng, network.count)
    truth = network.exact_interval(event, given)
    for engine in ENGINES:
        row = asked(network, "", event, given, engine)
        if truth is None or row is None:
            assert row is None and truth is None
            continue
        least, most = truth
        assert Fraction(row.lower) <= least and Fraction(row.upper) >= most, (engine, row, network.text)
        if engine == "exact":
            assert (row.lower, row.upper) == pytest.approx((float(least), float(most)), rel=1e-9, abs=0)
            assert row.certified and row.gap is not None
            assert max(least - Fraction(row.lower), Fraction(row.upper) - most) <= Fraction(row.gap)


def check_samples(seed: int) -> None:
    """With a sentence that joins rows, from a hidden network: what that network says lies within."""
    rng = np.random.default_rng(seed)
    network = some_network(rng)
    event, given = some_question(rng, network.count)
    rows = sampled(network, rng)
    joined, under = f"x{network.count - 1}", f"x{rng.integers(network.count)}"
    formula = str(rng.choice([joined, f"{joined} or {under}", f"not {joined} and {under}"]))
    hidden = probability(network, rows, formula, None)
    assert hidden is not None
    low = float(hidden) * (1 - 1e-9 * int(rng.integers(2))) * (1 - 1e-15)
    high = min(1.0, float(hidden) * (1 + float(10 ** rng.uniform(-6, 1))) * (1 + 1e-15))
    more = f"\nP({formula}) in [{low!r}, {max(low, high)!r}]"
    truth = probability(network, rows, event, given)
    for engine in ENGINES:
        row = asked(network, more, event, given, engine)
        if truth is None:
            continue
        assert row is not None, (engine, network.text, more)
        assert Fraction(row.lower) <= truth <= Fraction(row.upper), (engine, row, float(truth), more)


@pytest.mark.parametrize("seed", long(range(12), 4))
def test_ends_are_those_of_the_vertices(seed: int) -> None:
    check_vertices(seed)


@pytest.mark.parametrize("seed", long(range(12, 18), 2))
def test_so_are_those_of_a_search_that_cuts_boxes_to_the_last_row(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("herbrand.engines.credal.masses.FEW_ENTRIES", 0)
    check_vertices(seed)


@pytest.mark.parametrize("seed", long(range(8), 3))
def test_every_sampled_network_lies_within(seed: int) -> None:
    check_samples(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 400))
def test_ends_are_those_of_the_vertices_in_many_networks(seed: int) -> None:
    check_vertices(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 300))
def test_every_sampled_network_lies_within_in_many_networks(seed: int) -> None:
    check_samples(seed)
