"""No end is inside the truth by a bit: closed forms in fractions, over twelve orders of magnitude and more.

Decimals are taken as they are written: 1e-8 is one in a hundred million, which no double is.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pytest

import herbrand as hb
from herbrand.answers.bounds import Bounds
from herbrand.engines.credal.rounding import opposite, stated_ends

SCALES = [10.0**-power for power in range(13)]
Ends = tuple[Fraction, Fraction]


def holds(found: Bounds, query: str, truth: Ends) -> None:
    row = found[query]
    assert row.certified
    assert Fraction(row.lower) <= truth[0] and Fraction(row.upper) >= truth[1], (query, row, truth)


def decimals(rng: random.Random, scale: float) -> tuple[str, str]:
    """Two decimals of about this size."""
    low, high = sorted(rng.uniform(0.1, 0.9) * scale for _ in range(2))
    return f"{low:.4g}", f"{high:.4g}"


def fractions(ends: tuple[str, str]) -> Ends:
    return Fraction(ends[0]), Fraction(ends[1])


def cases(count: int) -> Iterator[tuple[random.Random, float, float]]:
    for seed in range(count):
        rng = random.Random(seed)
        yield rng, rng.choice(SCALES), rng.choice(SCALES)


def mixed(table: dict[tuple[int, ...], Ends], parents: list[Ends]) -> Ends:
    """The ends of an atom below independent parents: at ends of all."""

    def average(side: int, chosen: tuple[Fraction, ...]) -> Fraction:
        total = Fraction(0)
        for case, ends in table.items():
            weight = Fraction(1)
            for true, chance in zip(case, chosen, strict=True):
                weight *= chance if true else 1 - chance
            total += weight * ends[side]
        return total

    corners = list(product(*parents))
    return min(average(0, c) for c in corners), max(average(1, c) for c in corners)


def network(rng: random.Random, parents: int, scale: float, other: float) -> tuple[str, Ends, list[Ends]]:
    """An atom below some independent ones, its text and the ends of all."""
    stated = [decimals(rng, rng.choice([scale, other])) for _ in range(parents)]
    lines = [f"P(x{i}) in [{low}, {high}]" for i, (low, high) in enumerate(stated)]
    table = {}
    for case in product((0, 1), repeat=parents):
        given = " and ".join(f"x{i}" if true else f"not x{i}" for i, true in enumerate(case))
        ends = decimals(rng, rng.choice([scale, other]))
        if rng.random() < 0.3:
            ends = rng.choice([("0", "0"), ("1", "1"), ("0", ends[1]), (ends[0], "1")])
        lines.append(f"P(y | {given}) in [{ends[0]}, {ends[1]}]")
        table[case] = fractions(ends)
    tops = [fractions(ends) for ends in stated]
    return "\n".join(lines), mixed(table, tops), tops


def check_tables(count: int) -> None:
    for rng, scale, other in cases(count):
        text, child, parents = network(rng, rng.choice([1, 2, 2, 2, 3]), scale, other)
        found = hb.Model(hb.parse(text)).bound(engine="ariel")
        holds(found, "y", child)
        for number, ends in enumerate(parents):  # each is confined by the others no further
            holds(found, f"x{number}", ends)


def check_rare_evidence(count: int) -> None:
    """P(y | features): by Bayes' rule, with features as rare as you like."""
    for rng, scale, other in cases(count):
        features = rng.randint(1, 6)
        prior = decimals(rng, rng.choice([1.0, scale]))
        lines = [f"P(y) in [{prior[0]}, {prior[1]}]"]
        odds = [Fraction(end) / (1 - Fraction(end)) for end in prior]
        for number in range(features):
            yes, no = (decimals(rng, rng.choice([scale, other])) for _ in range(2))
            lines += [
                f"P(f{number} | y) in [{yes[0]}, {yes[1]}]",
                f"P(f{number} | not y) in [{no[0]}, {no[1]}]",
            ]
            odds = [
                odds[0] * Fraction(yes[0]) / Fraction(no[1]),
                odds[1] * Fraction(yes[1]) / Fraction(no[0]),
            ]
        query = "y | " + " and ".join(f"f{number}" for number in range(features))
        found = hb.Model(hb.parse("\n".join(lines))).bound(f"P({query})", engine="ariel")
        truth = odds[0] / (1 + odds[0]), odds[1] / (1 + odds[1])
        holds(found, query, truth)
        # and it says something
        row = found[query]
        assert row.lower >= float(truth[0]) * (1 - 1e-6)
        assert 1 - row.upper >= float(1 - truth[1]) * (1 - 1e-6) - 1e-14


def check_conjunctions(count: int) -> None:
    """Of independent atoms, asked for as formulas, and linked ones (Fréchet's bounds)."""
    for rng, scale, other in cases(count):
        ends = [decimals(rng, scale), decimals(rng, other)]
        text = "\n".join(f"P(x{i}) in [{low}, {high}]" for i, (low, high) in enumerate(ends))
        (a, b), (c, d) = map(fractions, ends)
        queries = ["x0 and x1", "x0 or x1", "x0 and not x1"]
        apart = hb.Model(hb.parse(text)).bound([f"P({query})" for query in queries], engine="ariel")
        holds(apart, "x0 and x1", (a * c, b * d))
        holds(apart, "x0 or x1", (1 - (1 - a) * (1 - c), 1 - (1 - b) * (1 - d)))
        holds(apart, "x0 and not x1", (a * (1 - d), b * (1 - c)))
        linked = hb.Model(hb.parse(text + "\nP(x0 and x1 | true) <= 1"))
        found = linked.bound([f"P({query})" for query in queries], engine="ariel")
        holds(found, "x0 and x1", (max(Fraction(0), a + c - 1), min(b, d)))
        holds(found, "x0 or x1", (max(a, c), min(Fraction(1), b + d)))


FORMULAS = [
    "{a}",
    "not {a}",
    "{a} and {b}",
    "{a} or {b}",
    "{a} and not {b}",
    "{a} xor {b}",
    "{a} and {b} or {c}",
]


def check_hidden_products(count: int) -> None:
    """Sentences of any shape that independent atoms of any size satisfy: these lie within every interval."""
    for rng, scale, other in cases(count):
        atoms = [f"x{i}" for i in range(rng.randint(2, 4))]
        chance = {
            atom: Fraction(f"{rng.uniform(0.1, 0.9) * rng.choice([scale, other]):.3g}") for atom in atoms
        }

        def probability(*parts: str, chance: dict[str, Fraction] = chance) -> Fraction:
            total = Fraction(0)
            for case in product((False, True), repeat=len(chance)):
                truths = dict(zip(chance, case, strict=True))
                if all(eval(part.replace("xor", "!="), {}, truths) for part in parts):
                    mass = Fraction(1)
                    for atom, true in truths.items():
                        mass *= chance[atom] if true else 1 - chance[atom]
                    total += mass
            return total

        def drawn(rng: random.Random = rng, atoms: list[str] = atoms) -> tuple[str, str | None]:
            names = {key: rng.choice(atoms) for key in "abc"}
            event, given = (rng.choice(FORMULAS).format(**names) for _ in range(2))
            return f"({event})", f"({given})" if rng.random() < 0.5 else None

        def stated(event: str, given: str | None) -> Fraction | None:
            known = Fraction(1) if given is None else probability(given)
            return probability(event, *([given] if given else [])) / known if known else None

        lines = [f"P({atom}) >= 0" for atom in atoms]
        for event, given in [drawn() for _ in range(rng.randint(2, 5))]:
            if (value := stated(event, given)) is not None:
                low, high = value * rng.choice([1, 1, Fraction(1, 2), 0]), value * rng.choice([1, 1, 2])
                # as decimals, the lower one below and the upper one above
                least, most = map(float, stated_ends(*stated_ends(float(low), min(float(high), 1.0))))
                lines.append(f"P({event}{f' | {given}' if given else ''}) in [{least!r}, {most!r}]")
        queries = [*((atom, None) for atom in atoms), *(drawn() for _ in range(3))]
        asked = [f"P({event} | {given})" if given else f"P({event})" for event, given in queries]
        model = hb.Model(hb.parse("\n".join(lines)))
        for (event, given), query in zip(queries, asked, strict=True):
            if (value := stated(event, given)) is not None:
                row = next(iter(model.bound(query, engine="ariel").rows()))
                assert Fraction(row.lower) <= value <= Fraction(row.upper), (lines, query, row, float(value))


def test_hidden_products_lie_inside() -> None:
    check_hidden_products(20)


def test_tables_hold_their_closed_forms() -> None:
    check_tables(75)


def test_rare_evidence_holds_bayes_rule() -> None:
    check_rare_evidence(50)


def test_conjunctions_hold_products_and_frechets_bounds() -> None:
    check_conjunctions(30)


@pytest.mark.slow
def test_many_closed_forms_are_held() -> None:
    check_tables(3000)
    check_rare_evidence(1500)
    check_conjunctions(800)
    check_hidden_products(1500)


@pytest.mark.parametrize("scale", SCALES)
def test_powers_of_ten(scale: float) -> None:
    """What a lower end of 1.0000000050e-8 for a truth of 1e-8 was found with."""
    p = f"{scale * 0.1:.0e}"
    chance = Fraction(p)
    chain = f"P(a) = {p}\nP(b | a) = {p}\nP(b | not a) = 0\nP(c | a and b) = 1\nP(c | not (a and b)) = 0"
    found = hb.Model(hb.parse(chain)).bound(engine="ariel")
    holds(found, "a", (chance, chance))
    holds(found, "b", (chance * chance, chance * chance))
    holds(found, "c", (chance * chance, chance * chance))
    gate = f"P(a) = {p}\nP(b) = {p}\nP(top | a and b) = 1\nP(top | not (a and b)) = 0"
    found = hb.Model(hb.parse(gate)).bound(engine="ariel")
    holds(found, "top", (chance * chance, chance * chance))
    # backwards: what a table says of a parent
    turned = f"P(b | a) = 1\nP(b | not a) = 0\nP(b) in [{p}, {p}]\nP(c | a) = {p}\nP(c | not a) = 0"
    found = hb.Model(hb.parse(turned)).bound(engine="ariel")
    holds(found, "a", (chance, chance))
    holds(found, "c", (chance * chance, chance * chance))
    unlinked = f"P(a) in [{p}, 0.5]\nP(b) in [{p}, 0.5]\nP(a and b) = {p}"
    found = hb.Model(hb.parse(unlinked)).bound(engine="ariel")
    holds(found, "a", (2 * chance, Fraction(1, 2)))
    assert found["a"].lower == pytest.approx(2 * float(chance), rel=1e-3, abs=1e-12)


def test_gates_of_independent_causes_keep_their_scale() -> None:
    for scale in SCALES[1:]:
        low, high = f"{scale:.0e}", f"{2 * scale:.0e}"
        causes = f"P(a) in [{low}, {high}]\nP(b) in [{low}, {high}]"
        text = f"{causes}\nP(top | a and b) = 1\nP(top | not (a and b)) = 0"
        # the second sentence speaks of three cases: the general way, right but for 1e-10
        found = hb.Model(hb.parse(text)).bound(engine="ariel")
        holds(found, "top", (Fraction(low) ** 2, Fraction(high) ** 2))
        rows = "\n".join(f"P(top | {case}) = 0" for case in ("a and not b", "not a and b", "not a and not b"))
        found = hb.Model(hb.parse(text.rsplit("\n", 1)[0] + "\n" + rows)).bound(engine="ariel")
        holds(found, "top", (Fraction(low) ** 2, Fraction(high) ** 2))
        row = found["top"]
        assert (row.lower, row.upper) == pytest.approx((scale**2, 4 * scale**2), rel=1e-12)


def test_stated_ends_move_by_a_unit_and_certain_ones_do_not() -> None:
    for certain in (0.0, 1.0):
        assert stated_ends(certain, certain) == (certain, certain)
    for text in ("0.1", "0.2", "0.3", "1e-12", "0.7"):
        lower, upper = map(float, stated_ends(float(text), float(text)))
        assert Fraction(lower) <= Fraction(text) <= Fraction(upper)
        low, high = opposite((float(text), float(text)))
        assert Fraction(low) <= 1 - Fraction(float(text)) <= Fraction(high)
    assert opposite((0.0, 1.0)) == (0.0, 1.0)
    found = hb.Model(hb.parse("P(a) = 1\nP(b) = 0\nP(c | a) = 1\nP(d) = 0.1")).bound(engine="ariel")
    assert [(row.lower, row.upper) for row in found.rows()][:2] == [(1.0, 1.0), (0.0, 0.0)]
    holds(found, "d", (Fraction("0.1"), Fraction("0.1")))
