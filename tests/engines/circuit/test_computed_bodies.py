"""Bodies that compute beside uncertain atoms: equations, counts, absences; against loops over worlds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

import herbrand as hb
from herbrand.answers.explanation import Explanation

World = dict[tuple[object, ...], bool]


def worlds(*atoms: tuple[object, ...]) -> Iterator[World]:
    for values in itertools.product([False, True], repeat=len(atoms)):
        yield dict(zip(atoms, values, strict=True))


DECLARED = """type n = 0..3
predicate o(n)
predicate p(n)
predicate d(n)
predicate coin
0.5 :: coin
"""
EQUATIONS: dict[str, Callable[[int, int], bool]] = {
    "x = x % 2": lambda x, y: x == x % 2,
    "y = x + 1, x = y - 1": lambda x, y: y == x + 1,
    "y * 2 > 2, y = x + 1": lambda x, y: y * 2 > 2 and y == x + 1,
    "x = z, z = x * y": lambda x, y: x == x * y,
    "0 - x = 0 - y": lambda x, y: x == y,
    "z = x * x + y // 2, z = 1": lambda x, y: x * x + y // 2 == 1,
}


@pytest.mark.parametrize("tests", EQUATIONS)
def test_equations_between_variables_that_only_uncertain_atoms_bind(tests: str) -> None:
    """Of ``y`` and ``x`` each had its value from the other: a ``KeyError``."""
    holds = EQUATIONS[tests]
    found = hb.Model(hb.parse(f"{DECLARED}d(x) :- coin, o(x), p(y), {tests}")).infer("d")
    places = range(4)
    for x in places:
        true = sum(
            world["coin",] and world["o", x] and any(world["p", y] and holds(x, y) for y in places)
            for world in worlds(("coin",), *((name, y) for name in "op" for y in places))
        )
        assert found[f"d({x})"] == pytest.approx(true / 2**9, abs=1e-12)


ROWS = {"a": {2}, "b": {0, 1}, "c": set[int]()}
TABLES = """type t = {"a", "b", "c"}
type n = 0..2
predicate e(t, n): observed
predicate d(t)
predicate named(t): observed
predicate coin
0.5 :: coin
e("a", 2)
e("b", 0)
e("b", 1)
"""


@pytest.mark.parametrize("weighted", [False, True])
def test_some_behind_not_in_what_is_counted_is_any(weighted: bool) -> None:
    """``not e(x, _)`` behind a colon held wherever one number was missing."""
    count = "count(y: e(y, 2), not e(x, _))"
    alone = [x for x, own in ROWS.items() if not own]
    if weighted:
        found = hb.Model(hb.parse(f"{TABLES}1.5: {count} = 1\nd(x) :- coin, e(x, 0)")).infer("coin")
        assert found.log_partition == pytest.approx(1.5 * len(alone))
    else:
        found = hb.Model(hb.parse(f"{TABLES}d(x) :- coin, named(x), {count} = 1"), {"named": [*ROWS]}).infer(
            "d"
        )
        assert [found[f'd("{x}")'] for x in ROWS] == [0.5 * (x in alone) for x in ROWS]


CALLED = """type t = {"a", "b"}
type n = 0..2
predicate s(n): observed
predicate c(t, n)
predicate d(n)
s(0)
s(1)
s(2)
"""
COUNTS = [
    "z = x + 1, count(y: c(y, z)) ",
    "count(y: c(y, z)) {}, z = x + 1",
    "count(y: c(y, x + 1)) ",
    "w = x + 3, z = w - 2, count(y: c(y, z)) ",
    "z = x + 1, 2 * count(y: c(y, z), not c(y, x)) ",
    "z = x + 1, sum(v, y: c(y, v), v >= z, v < z + 1) ",
]


@pytest.mark.parametrize("certain", [False, True])
@pytest.mark.parametrize("compared", ["= 0", ">= 1", "= 2"])
@pytest.mark.parametrize("count", COUNTS)
def test_counts_of_what_an_equation_outside_computes(count: str, compared: str, certain: bool) -> None:
    """Where nothing was uncertain ``z`` was any number; else it was a ``KeyError``."""
    body = count.format(compared) if "{}" in count else count + compared
    chances = {("a", 1): 0.5, ("b", 1): 0.25, ("b", 2): 0.75}
    declared = CALLED
    if certain:
        chances, declared = dict.fromkeys(chances, 1.0), CALLED.replace("c(t, n)", "c(t, n): observed")
    stated = [f'c("{y}", {v})' for y, v in chances]
    if not certain:
        stated = [f"{p} :: {fact}" for p, fact in zip(chances.values(), stated, strict=True)]
    text = declared + "\n".join([*stated, f"d(x) :- s(x), {body}"])
    found = hb.Model(hb.parse(text)).infer(["d(0)", "d(1)", "d(2)"])
    for x in range(3):
        expected = 0.0
        for world in worlds(*chances):
            chance = 1.0
            for atom, p in chances.items():
                chance *= p if world[atom] else 1 - p
            every = [atom for atom, held in world.items() if held]
            total: int = sum(v == x + 1 for _, v in every)
            if "not" in body:
                total = 2 * sum(v == x + 1 and (y, x) not in every for y, v in every)
            if "sum" in body:
                total *= x + 1
            expected += chance * {"= 0": total == 0, ">= 1": total >= 1, "= 2": total == 2}[compared]
        assert found[f"d({x})"] == pytest.approx(expected, abs=1e-12)


def test_an_absence_is_of_what_an_open_value_binds() -> None:
    """``o(x) in {"g"}`` binds ``x``; the absence was of every constant, and nothing was left."""
    text = """type t = {"a", "b", "c"}
predicate e(t): observed
predicate o(t) in {"r", "g"}
predicate d(number)
e("b")
0.3 :: d(2 / 2) :- not e(x), o(x) in {"g"}
"""
    found = hb.Model(hb.parse(text)).infer("d")
    assert found["d(1)"] == pytest.approx(1 - (1 - 0.15) ** 2)


WALK = """type n = 0..3
predicate s(n): observed
predicate at(n)
predicate seen(n)
predicate last(n)
s(0)
s(2)
s(3)
0.5 :: at(0); 0.25 :: at(3)
0.75 :: seen(x) :- s(x)
"""


@pytest.mark.parametrize("open_type", [False, True])
@pytest.mark.parametrize("literal", ["not seen(x + 1)", "y = x + 1, not seen(y)", "not seen(2 * x + 1 - x)"])
def test_an_absence_of_what_is_no_constant_holds(literal: str, open_type: bool) -> None:
    """With a range ``x + 1`` is none behind its end; there the rule gave nothing."""
    text = WALK.replace("type n = 0..3", "type n = number" if open_type else "type n = 0..3")
    found = hb.Model(hb.parse(f"{text}last(x) :- s(x), {literal}")).infer([f"last({x})" for x in (0, 2, 3)])
    assert [round(found[f"last({x})"], 12) for x in (0, 2, 3)] == [1.0, 0.25, 1.0]


def test_an_absence_of_what_is_no_constant_among_known_atoms() -> None:
    text = WALK.partition("0.5 ::")[0] + "last(x) :- s(x), not s(x + 1)"
    model = hb.Model(hb.parse(text))
    assert [row.atom for row in model.infer("last").rows() if row.probability] == ["last(0)", "last(3)"]
    assert sorted(row.bindings["x"] for row in model.query("last(x)")) == [0, 3]
    assert sorted(row.bindings["x"] for row in model.query("s(x) and not s(x + 1)")) == [0, 3]


@pytest.mark.parametrize("counted", ["count(x: s(x), not s(x + 1)) = 2", "sum(x: s(x), not s(x + 1)) = 3"])
def test_an_absence_of_what_is_no_constant_is_counted(counted: str) -> None:
    text = WALK.partition("0.5 ::")[0] + f"last(0) :- {counted}"
    assert hb.Model(hb.parse(text)).infer("last(0)")["last(0)"] == 1.0


@pytest.mark.parametrize("valued", [False, True])
def test_a_head_of_what_is_no_constant_takes_no_other_with_it(valued: bool) -> None:
    """Of a step beyond either end the whole choice went: ``at(0)`` led nowhere."""
    text, value = WALK, ""
    if valued:
        text, value = WALK.replace("seen(n)\n", 'seen(n)\npredicate kind(n) in {"a", "b"}\n'), ' = "a"'
    name = "kind" if valued else "last"
    step = f"0.4 :: {name}(x + 1){value}; 0.6 :: {name}(x - 1){value} :- at(x)"
    model = hb.Model(hb.parse(text + step))
    shown = [f"{name}({x}){value}" for x in range(4)]
    found = model.infer(shown)
    assert [round(found[atom], 12) for atom in shown] == [0.0, 0.2, 0.15, 0.0]
    given = model.infer(shown, given=[f"not {shown[1]}"])
    assert [round(given[atom], 12) for atom in shown] == [0.0, 0.0, round(0.15 / 0.8, 12), 0.0]
    explained = model.explain(shown[1])
    assert isinstance(explained, Explanation)
    assert sum(each.contribution for each in explained.reasons) == pytest.approx(0.2)


@pytest.mark.parametrize("tests", EQUATIONS)
def test_variables_of_heads_range_over_what_equations_test(tests: str) -> None:
    model = hb.Model(hb.parse(f"type n = 0..3\npredicate both(n, n)\n0.25 :: both(x, y) :- {tests}"))
    found = model.infer([f"both({x}, {y})" for x in range(4) for y in range(4)])
    for x, y in itertools.product(range(4), repeat=2):
        assert found[f"both({x}, {y})"] == pytest.approx(0.25 * EQUATIONS[tests](x, y))


@pytest.mark.parametrize("tests", ["x = y + 1", "y = x - 1", "y = x - 1, x = y + 1"])
def test_a_head_beside_one_of_what_is_no_constant_ranges_over_its_type(tests: str) -> None:
    declared = "type n = 0..3\npredicate a(n)\npredicate b(n)\n"
    found = hb.Model(hb.parse(f"{declared}0.5 :: a(x); 0.25 :: b(y) :- {tests}")).infer(["a", "b"])
    listed = found.to_dict()["marginals"]
    assert {row["atom"]: row["probability"] for row in listed if row["atom"] in ("a(1)", "b(0)")} == {
        "a(1)": pytest.approx(0.5),
        "b(0)": pytest.approx(0.25),
    }


@pytest.mark.parametrize("absent", ["not o(i, x)", "o(j, x), not o(i, x)", "not o(i, y)"])
@pytest.mark.parametrize("other", ["d(x, i)", "d(y, i)"])
def test_an_absence_of_what_another_head_ranges_over_is_of_each_constant(absent: str, other: str) -> None:
    """Without the other head it would be of all constants, of which some has always been seen."""
    declared = "type n = 0..2\npredicate o(n, t): observed\npredicate c(t)\npredicate e\npredicate d(t, n)\n"
    facts = 'o(2, "a")\no(2, "b")\no(1, "b")\n'
    choice = f"0.3 :: c(x); 0.1 :: {other} :- {absent}\n"
    plain, computing = (
        hb.Model(hb.parse(f"{declared}{facts}{choice}e :- c(x), o(j, y){test}")).infer("e")["e"]
        for test in ("", ", j >= j - 0")
    )
    assert computing == pytest.approx(plain) and plain > 0
