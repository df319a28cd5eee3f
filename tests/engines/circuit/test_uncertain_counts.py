"""Counts of what is uncertain, in formulas and rules, against the sum over worlds that counts by loops."""

from __future__ import annotations

import itertools
import math
import operator
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

import herbrand as hb
from herbrand.errors import ContradictionError, FactsError, UnsupportedError
from tests.oracles.choices import worlds_of
from tests.oracles.worlds import GroundAtom

PEOPLE = ("a", "b", "c")
COMPARED: Mapping[str, Callable[[float, float], bool]] = {
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


@dataclass(frozen=True)
class Counted:
    """A comparison of a count with a number."""

    body: Body
    sign: str
    number: int

    @property
    def text(self) -> str:
        return f"count({', '.join(self.body.names)}: {self.body.text}) {self.sign} {self.number}"

    @property
    def outside(self) -> bool:
        return "x" in self.body.text

    def holds(self, world: World, x: str) -> bool:
        rows = itertools.product(PEOPLE, repeat=len(self.body.names))
        found = sum(
            self.body.holds(world, {"x": x, **dict(zip(self.body.names, row, strict=True))}) for row in rows
        )
        return COMPARED[self.sign](found, self.number)


def drawn(dice: random.Random) -> Counted:
    return Counted(dice.choice(BODIES), dice.choice(list(COMPARED)), dice.randrange(4))


def check_formula(seed: int) -> bool:
    """A weighted or hard statement about a count, alone or beside an atom; whether any world is left."""
    dice = random.Random(seed)
    counted, form = drawn(dice), dice.randrange(3)
    weight = dice.choice((None, 0.8, -1.1))
    base = "type t = {" + ", ".join(f'"{p}"' for p in PEOPLE) + "}\npredicate t(t): observed\n"
    base += "predicate s(t)\npredicate e(t, t)\n" + SOME_OPEN
    base += "".join(f't("{p}")\n' for p in PEOPLE) + dice.choice(BASES) + "\n"
    shape = ("{}", "{} or s(x)", "s(x) => {}")[form]
    per_x = counted.outside or form > 0
    lead = "hard" if weight is None else str(weight)
    text = f"{base}{lead}: {shape.format(counted.text)}\n"
    worlds = worlds_of(hb.parse(base))
    weighted = []
    for world, chance in worlds.weighted:
        total = 0.0
        for x in PEOPLE if per_x else PEOPLE[:1]:
            told, s_holds = counted.holds(world, x), bool(world["s", (x,)])
            truth = (told, told or s_holds, not s_holds or told)[form]
            total += (0.0 if truth else -math.inf) if weight is None else weight * truth
        weighted.append((world, chance * math.exp(total)))
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


@pytest.mark.parametrize("start", range(0, 200, 25))
def test_formulas(start: int) -> None:
    assert sum(check_formula(seed) for seed in range(start, start + 25)) >= 12


@pytest.mark.parametrize("seed", range(30))
def test_rules(seed: int) -> None:
    """A rule of which the body counts: derived where the count is as it says."""
    dice = random.Random(1000 + seed)
    counted = drawn(dice)
    people = "type t = {" + ", ".join(f'"{p}"' for p in PEOPLE) + "}\npredicate t(t): observed\n"
    base = people + "predicate s(t)\npredicate e(t, t)\n" + SOME_OPEN
    base += "".join(f't("{p}")\n' for p in PEOPLE) + dice.choice(BASES) + "\n"
    text = f"{base}predicate many(t)\nmany(x) :- t(x), {counted.text}\n"
    weighted = worlds_of(hb.parse(base)).weighted
    whole = sum(w for _, w in weighted)
    for row in hb.Model(hb.parse(text)).infer("many(x)").rows():
        expected = sum(w for world, w in weighted if counted.holds(world, row.arguments[0])) / whole
        assert row.probability == pytest.approx(expected, abs=1e-9), (text, row.atom)


def test_exactly_so_many_of_many() -> None:
    """Five of thirty, each as probable as the others; log Z is that of the binomial."""
    text = "type t = 1..30\npredicate chosen(t)\nhard: count(x: chosen(x)) = 5\n0.7: chosen(x)"
    answer = hb.Model(hb.parse(text)).infer("chosen(x)")
    assert [row.probability for row in answer.rows()] == pytest.approx([5 / 30] * 30, abs=1e-9)
    assert answer.log_partition == pytest.approx(math.log(math.comb(30, 5)) + 5 * 0.7)


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
    text = "type t = 1..5\npredicate chosen(t)\nhard: sum(x: chosen(x)) <= 4"
    with pytest.raises(hb.errors.HerbrandError, match="only counts are taken"):
        hb.Model(hb.parse(text)).infer()


def test_bounds_do_not_count() -> None:
    """Else the made atoms would be free, and bounds too wide would be called certified."""
    text = 'predicate s(t)\npredicate t(t): observed\nt("a")\nP(count(x: s(x)) >= 1) <= 0.3'
    with pytest.raises(UnsupportedError, match="bound cannot count what is uncertain"):
        hb.Model(hb.parse(text)).bound()
    with pytest.raises(UnsupportedError, match="bound cannot count what is uncertain"):
        hb.Model(hb.parse(text)).explain('P(s("a"))')
