"""Counts and sums of what is uncertain, in formulas and rules, against the sum over worlds by loops."""

from __future__ import annotations

import itertools
import math
import operator
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

import herbrand as hb
from herbrand.errors import ContradictionError, FactsError, UnsupportedError
from tests.laws import long
from tests.oracles.choices import worlds_of
from tests.oracles.worlds import GroundAtom

PEOPLE = ("a", "b", "c")
COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, "=": operator.eq,
    "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
World = Mapping[GroundAtom, object]
BASES = (
    "0.4: s(x)\n-0.3: e(x, y)",
    "0.4: s(x)\n0.7: s(x) and e(x, y) => s(y)",
    "0.3 :: s(x) :- t(x)\n0.6: s(x) and e(x, y)",
    "s(x) :- e(x, x)\n0.5: e(x, y)",
    '0.3 :: s(x) :- e(x, y), x != y\nhard: e(x, x) or e("a", x)',
    "predicate r(t)\ns(x) :- r(x)\n0.4 :: r(x) :- t(x)\n-0.5: e(x, x)",
)
SOME_OPEN = 'not e("a", "c")\nnot e("b", "c")\ne("c", "a")\nnot e("c", "b")\n'
"""Few enough worlds for loops."""


@dataclass(frozen=True)
class Body:
    """What is counted over ``names``, as text and as a function of the world; ``x`` may stand outside."""

    text: str
    names: tuple[str, ...]
    holds: Callable[[World, Mapping[str, str]], bool]


BODIES = (
    Body("s(y)", ("y",), lambda w, b: bool(w["s", (b["y"],)])),
    Body("e(x, y)", ("y",), lambda w, b: bool(w["e", (b["x"], b["y"])])),
    Body("e(y, z)", ("y", "z"), lambda w, b: bool(w["e", (b["y"], b["z"])])),
    Body("e(x, y), not s(y)", ("y",), lambda w, b: bool(w["e", (b["x"], b["y"])] and not w["s", (b["y"],)])),
    Body("s(y), e(y, _)", ("y",),
         lambda w, b: any(w["s", (b["y"],)] and w["e", (b["y"], z)] for z in PEOPLE)),
)  # fmt: skip


COSTS: Mapping[str, float] = {"a": 1.5, "b": 2, "c": -1}
COST = "predicate cost(t, number): observed\n" + "".join(f'cost("{p}", {c})\n' for p, c in COSTS.items())


def counted(body: Body, world: World, x: str) -> float:
    rows = itertools.product(PEOPLE, repeat=len(body.names))
    return sum(body.holds(world, {"x": x, **dict(zip(body.names, row, strict=True))}) for row in rows)


def summed(body: Body, world: World, x: str) -> float:
    """The costs of the first of the names, over all that hold."""
    rows = itertools.product(PEOPLE, repeat=len(body.names))
    return sum(
        COSTS[row[0]]
        for row in rows
        if body.holds(world, {"x": x, **dict(zip(body.names, row, strict=True))})
    )


@dataclass(frozen=True)
class Compared:
    """A comparison of counts and sums; the text of what is compared, and its value in a world."""

    text: str
    sign: str
    left: Callable[[World, str], float]
    right: Callable[[World, str], float]

    @property
    def outside(self) -> bool:
        return "x" in self.text

    def holds(self, world: World, x: str) -> bool:
        return COMPARED[self.sign](self.left(world, x), self.right(world, x))


def drawn(dice: random.Random, forms: int = 1) -> Compared:
    one, other, number = dice.choice(BODIES), dice.choice(BODIES), dice.randrange(4)
    sign, form = dice.choice(list(COMPARED)), dice.randrange(forms)
    count, rest = (f"count({', '.join(body.names)}: {body.text})" for body in (one, other))
    total = f"sum(c, {', '.join(other.names)}: cost({other.names[0]}, c), {other.text})"
    double = f"sum(2 * c + 1, {', '.join(other.names)}: cost({other.names[0]}, c), {other.text})"
    left, right = {
        0: (count, str(number)),
        1: (count, rest),
        2: (f"2 * {count} - {rest}", f"{number - 1}"),
        3: (str(number + 0.5), total),
        4: (total, f"{count} - 1"),
        5: (double, f"-{total} + {number}"),
    }[form]
    values: Mapping[int, tuple[Callable[[World, str], float], Callable[[World, str], float]]] = {
        0: (lambda w, x: counted(one, w, x), lambda w, x: number),
        1: (lambda w, x: counted(one, w, x), lambda w, x: counted(other, w, x)),
        2: (lambda w, x: 2 * counted(one, w, x) - counted(other, w, x), lambda w, x: number - 1),
        3: (lambda w, x: number + 0.5, lambda w, x: summed(other, w, x)),
        4: (lambda w, x: summed(other, w, x), lambda w, x: counted(one, w, x) - 1),
        5: (
            lambda w, x: 2 * summed(other, w, x) + counted(other, w, x),
            lambda w, x: number - summed(other, w, x),
        ),
    }
    return Compared(f"{left} {sign} {right}", sign, *values[form])


@cache
def weighted_worlds(base: str) -> list[tuple[World, float]]:
    """Many theories have the same base."""
    return worlds_of(hb.parse(base)).weighted


def stated(
    seed: int, forms: int, bases: Sequence[str] = BASES
) -> tuple[str, list[tuple[Mapping[GroundAtom, object], float]]]:
    """A theory with a weighted or hard statement about a count, alone or beside an atom, and its worlds."""
    dice = random.Random(seed)
    compared, form = drawn(dice, forms), dice.randrange(3)
    weight = dice.choice((None, 0.8, -1.1))
    base = "type t = {" + ", ".join(f'"{p}"' for p in PEOPLE) + "}\npredicate t(t): observed\n"
    base += "predicate s(t)\npredicate e(t, t)\n" + SOME_OPEN
    base += COST if forms > 1 else ""
    base += "".join(f't("{p}")\n' for p in PEOPLE) + dice.choice(bases) + "\n"
    shape = ("{}", "{} or s(x)", "s(x) => {}")[form]
    per_x = compared.outside or form > 0
    lead = "hard" if weight is None else str(weight)
    text = f"{base}{lead}: {shape.format(compared.text)}\n"
    weighted = []
    for world, chance in weighted_worlds(base):
        total = 0.0
        for x in PEOPLE if per_x else PEOPLE[:1]:
            told, s_holds = compared.holds(world, x), bool(world["s", (x,)])
            truth = (told, told or s_holds, not s_holds or told)[form]
            total += (0.0 if truth else -math.inf) if weight is None else weight * truth
        weighted.append((world, chance * math.exp(total)))
    return text, weighted


def check_formula(seed: int, forms: int = 1) -> bool:
    """The marginals beside loops; whether any world is left."""
    text, weighted = stated(seed, forms)
    whole = sum(w for _, w in weighted)
    model = hb.Model(hb.parse(text))
    if whole == 0:
        with pytest.raises((ContradictionError, FactsError)):
            model.infer("s(x)")
        return False
    asked = ["s(x)", "e(x, y)"]
    for row in model.infer(asked).rows():
        key = (row.predicate, tuple(row.arguments))
        expected = sum(w for world, w in weighted if world[key]) / whole  # type: ignore[index]
        assert row.probability == pytest.approx(expected, abs=1e-9), (text, row.atom)
    return True


@pytest.mark.parametrize("start", long(range(0, 200, 25), 1))
def test_formulas(start: int) -> None:
    assert sum(check_formula(seed) for seed in range(start, start + 25)) >= 12


@pytest.mark.parametrize("start", long(range(5000, 5200, 25), 1))
def test_formulas_of_several_counts_and_sums(start: int) -> None:
    assert sum(check_formula(seed, forms=6) for seed in range(start, start + 25)) >= 10


@pytest.mark.parametrize("engine", ["auto", "integer", "circuit"])
@pytest.mark.parametrize("seed", long(range(7000, 7040), 15))
def test_the_most_probable_world(seed: int, engine: str) -> None:
    """Of theories without choices, in which a world is known by these atoms."""
    text, weighted = stated(seed, 6, [base for base in BASES if "::" not in base])
    best = max(weight for _, weight in weighted)
    model = hb.Model(hb.parse(text))
    if best == 0:
        with pytest.raises((ContradictionError, FactsError)):
            model.infer(["s(x)", "e(x, y)"], map=True, engine=engine)
        return
    found = model.infer(["s(x)", "e(x, y)"], map=True, engine=engine)
    assert found.engine == {"auto": "integer"}.get(engine, engine)
    chosen = {(row.predicate, tuple(row.arguments)): bool(row.probability) for row in found.rows()}
    (weight,) = (w for world, w in weighted if all(bool(world[key]) == chosen[key] for key in chosen))  # type: ignore[index]
    assert weight == pytest.approx(best), text


@pytest.mark.parametrize("seed", long(range(60), 20))
def test_rules(seed: int) -> None:
    """A rule of which the body counts: derived where the count is as it says."""
    dice = random.Random(1000 + seed)
    compared = drawn(dice, 1 if seed < 30 else 6)
    people = "type t = {" + ", ".join(f'"{p}"' for p in PEOPLE) + "}\npredicate t(t): observed\n"
    base = people + "predicate s(t)\npredicate e(t, t)\n" + SOME_OPEN
    base += COST if seed >= 30 else ""
    base += "".join(f't("{p}")\n' for p in PEOPLE) + dice.choice(BASES) + "\n"
    text = f"{base}predicate many(t)\nmany(x) :- t(x), {compared.text}\n"
    weighted = weighted_worlds(base)
    whole = sum(w for _, w in weighted)
    for row in hb.Model(hb.parse(text)).infer("many(x)").rows():
        expected = sum(w for world, w in weighted if compared.holds(world, row.arguments[0])) / whole
        assert row.probability == pytest.approx(expected, abs=1e-9), (text, row.atom)


def test_exactly_so_many_of_many() -> None:
    """Five of thirty, each as probable as the others; log Z is that of the binomial."""
    text = "type t = 1..30\npredicate chosen(t)\nhard: count(x: chosen(x)) = 5\n0.7: chosen(x)"
    answer = hb.Model(hb.parse(text)).infer("chosen(x)")
    assert [row.probability for row in answer.rows()] == pytest.approx([5 / 30] * 30, abs=1e-9)
    assert answer.log_partition == pytest.approx(math.log(math.comb(30, 5)) + 5 * 0.7)


def test_half_of_many() -> None:
    """As many states as counts are left after each atom, not as many as there are subsets."""
    text = "type t = 1..36\npredicate chosen(t)\nhard: count(x: chosen(x)) = 18\n0.7: chosen(x)"
    answer = hb.Model(hb.parse(text)).infer("chosen(x)")
    assert answer.log_partition == pytest.approx(math.log(math.comb(36, 18)) + 18 * 0.7)


def test_a_budget() -> None:
    """The sum of what is chosen against loops over all choices; the best world against the same."""
    costs = {f"i{k}": 3 + 7 * k % 11 for k in range(12)}
    text = (
        "predicate cost(item, number): observed\npredicate chosen(item)\n0.4 * c: cost(x, c) and chosen(x)\n"
        "hard: sum(c, x: chosen(x), cost(x, c)) <= 30\nhard: count(x: chosen(x)) >= 2\n"
    )
    model = hb.Model(hb.parse(text), {"cost": list(costs.items())})
    shares, whole, best = dict.fromkeys(costs, 0.0), 0.0, 0.0
    for picked in itertools.product((0, 1), repeat=len(costs)):
        total = sum(cost for cost, one in zip(costs.values(), picked, strict=True) if one)
        if total <= 30 and sum(picked) >= 2:
            weight = math.exp(0.4 * total)
            whole, best = whole + weight, max(best, 0.4 * total)
            for item, one in zip(costs, picked, strict=True):
                shares[item] += weight * one
    for row in model.infer("chosen(x)").rows():
        assert row.probability == pytest.approx(shares[row.arguments[0]] / whole, abs=1e-9)
    assert model.infer("chosen(x)", map=True).log_weight == pytest.approx(best)


@pytest.mark.parametrize("sign", list(COMPARED))
@pytest.mark.parametrize("limit", ["0.3", "0.4", "0.9", "100.1"])
def test_decimals_add_up_as_they_are_written(sign: str, limit: str) -> None:
    """0.1 + 0.2 is no 0.3 in binary, nor is 0.1 + 0.3 exactly 0.4; nor three times 0.3 0.9."""
    amounts = [Fraction(one) for one in ("0.1", "0.2", "0.3", "99.7")]
    text = "predicate costs(item, number): observed\npredicate p(item)\npredicate q\n"
    text += "0.5 :: p(x) :- costs(x, _)\n"
    text += "".join(f"costs({i}, {float(one)})\n" for i, one in enumerate(amounts))
    sums = [
        sum((one for one, x in zip(amounts, taken, strict=True) if x), Fraction(0))
        + Fraction("0.3") * (sum(taken) - 2)
        for taken in itertools.product((0, 1), repeat=4)
    ]
    total = "sum(c, x: costs(x, c), p(x)) + 0.3 * count(x: p(x)) - 0.6"
    answer = hb.Model(hb.parse(f"{text}q :- {total} {sign} {limit}")).infer("q")
    reached = sum(COMPARED[sign](one, Fraction(limit)) for one in sums)
    assert answer["q"] == pytest.approx(reached / 16, abs=1e-12)


def test_integer_programs_take_tenths() -> None:
    text = "predicate costs(item, number): observed\npredicate p(item)\n0.5 * c: costs(x, c) and p(x)\n"
    text += "costs(1, 0.1)\ncosts(2, 0.2)\ncosts(3, 0.4)\nhard: sum(c, x: costs(x, c), p(x)) <= 0.3\n"
    world = hb.Model(hb.parse(text)).infer("p(x)", map=True, engine="integer")
    assert [row.probability for row in world.rows()] == [1, 1, 0]


@pytest.mark.parametrize("amount", ["1e-9", "300000000000000000"])
def test_amounts_that_no_solver_tells_apart_go_to_circuits(amount: str) -> None:
    """The solver found no world, and said that it lacked time."""
    text = "predicate costs(item, number): observed\npredicate p(item)\ncosts(1, 0.1)\n"
    text += f"costs(2, {amount})\n-3: sum(c, x: costs(x, c), p(x)) >= 0.1\n2: p(1)\n1.5: p(2)\n"
    model = hb.Model(hb.parse(text))
    found = model.infer("p(x)", map=True)
    assert (found.engine, found.guarantee.value) == ("circuit", "exact")
    taken = [row.probability for row in found.rows()]
    # Both and the cost, or the second alone where it costs less than 0.1.
    assert taken == ([0, 1] if float(amount) < 0.1 else [1, 1])
    assert found.log_weight == pytest.approx(1.5 if float(amount) < 0.1 else 0.5)
    with pytest.raises(UnsupportedError, match="cannot add up amounts that are so large beside the steps"):
        model.infer("p(x)", map=True, engine="integer")


@pytest.mark.parametrize(
    ("constraints", "count"),
    [
        ("hard: not e(x, x)\nhard: count(y: e(x, y)) = 1\nhard: count(x: e(x, y)) = 1", 44),
        ("hard: not e(x, x)\nhard: e(x, y) => e(y, x)\nhard: count(y: e(x, y)) = 2", 12),
        ("hard: not e(x, x)\nhard: count(y: e(x, y)) = 1", 4**5),
        ("hard: count(y: e(x, y)) = count(y: e(y, x))\nhard: not e(x, x)\nhard: count(y: e(x, y)) <= 1", 120),
    ],
    ids=["derangements", "two neighbours each", "functions without fixed points", "partial permutations"],
)
def test_worlds_are_counted(constraints: str, count: int) -> None:
    """Closed forms; the derangements of all subsets of five are 1 + 10 * 1 + 10 * 2 + 5 * 9 + 44."""
    text = f"type t = 1..5\npredicate e(t, t)\n{constraints}"
    assert hb.Model(hb.parse(text)).infer().log_partition == pytest.approx(math.log(count))


def test_the_most_probable_world_keeps_a_count() -> None:
    text = (
        "type t = 1..6\npredicate chosen(t)\nhard: count(x: chosen(x)) <= 2\n1.0: chosen(x)\n2.0: chosen(3)"
    )
    world = hb.Model(hb.parse(text)).infer("chosen(x)", map=True)
    chosen = [row.arguments[0] for row in world.rows() if row.probability == 1.0]
    assert len(chosen) == 2 and 3 in chosen


def test_samples_keep_a_count() -> None:
    text = "type t = 1..5\npredicate chosen(t)\nhard: count(x: chosen(x)) = 2"
    drawn_worlds = hb.Model(hb.parse(text)).sample(20, seed=1).to_dict()["worlds"]
    assert all(len(world["true"]) == 2 for world in drawn_worlds)
    assert len({tuple(world["true"]) for world in drawn_worlds}) > 3


@pytest.mark.parametrize("engine", ["mean-field", "bp", "gibbs", "lifted", "exact"])
def test_other_engines_refuse_by_name(engine: str) -> None:
    text = "type t = 1..5\npredicate chosen(t)\nhard: count(x: chosen(x)) = 2"
    with pytest.raises(
        UnsupportedError, match=r"cannot count what is uncertain: count\(x: chosen\(x\)\) = 2"
    ):
        hb.Model(hb.parse(text)).infer(engine=engine)


def test_other_aggregates_of_the_uncertain_are_refused() -> None:
    text = "type t = 1..5\npredicate chosen(t)\nhard: max(x: chosen(x)) <= 4"
    with pytest.raises(hb.errors.HerbrandError, match="only counts and sums are taken"):
        hb.Model(hb.parse(text)).infer()


def test_bounds_do_not_count() -> None:
    """Else the made atoms would be free, and bounds too wide would be called certified."""
    text = 'predicate s(t)\npredicate t(t): observed\nt("a")\nP(count(x: s(x)) >= 1) <= 0.3'
    with pytest.raises(UnsupportedError, match="bound cannot count what is uncertain"):
        hb.Model(hb.parse(text)).bound()
    with pytest.raises(UnsupportedError, match="bound cannot count what is uncertain"):
        hb.Model(hb.parse(text)).explain('P(s("a"))')


@pytest.mark.parametrize("sign", ["= 1", "<= 1", "< 2"])
@pytest.mark.parametrize("shared", [False, True])
def test_a_hard_count_of_one_is_a_count(sign: str, shared: bool) -> None:
    """Three atoms by choices of their own, or two of them by one cause, which counts twice."""
    causes = ("a", "a", "b") if shared else ("a", "b", "c")
    chances = {"a": 0.3, "b": 0.6, "c": 0.2}
    text = "".join(f"{p} :: {name}\n" for name, p in chances.items())
    text += "".join(f"d({i}) :- {cause}\n" for i, cause in enumerate(causes)) + f"hard: count(x: d(x)) {sign}"
    total = found = 0.0
    for world in itertools.product([False, True], repeat=3):
        held = dict(zip("abc", world, strict=True))
        count = sum(held[cause] for cause in causes)
        weight = math.prod(chances[n] if held[n] else 1 - chances[n] for n in "abc")
        if count == 1 or (count == 0 and sign != "= 1"):
            total += weight
            found += weight * held["b"]
    answer = hb.Model(hb.parse(text)).infer("b")
    assert answer["b"] == pytest.approx(found / total, abs=1e-12)
    assert answer.log_partition == pytest.approx(math.log(total), abs=1e-12)


@pytest.mark.parametrize("condition", ["sum(c, y: cost(y, c)) != 3", "count(y: o(y)) = 1", "2 * 3 = 6"])
def test_an_absence_is_of_the_constants_that_uncertain_atoms_bind(condition: str) -> None:
    """Without the open atom ``not r("a", x)`` was of any x, and there is an r("a", "b")."""
    theory = f"""type t = {{"a", "b"}}
predicate o(t): observed
predicate r(t, t): observed
predicate cost(t, number): observed
predicate p(t)
predicate d(t)
o("a")
r("a", "b")
cost("a", 5)
0.25 :: d(x) :- p(x), not r("a", x), {condition}
"""
    found = hb.Model(hb.parse(theory)).infer("d")
    assert (found['d("a")'], found['d("b")']) == (pytest.approx(0.125), 0.0)
