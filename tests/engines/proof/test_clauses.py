"""How rules become clauses: equations merge variables, constants get names, what cannot hold disappears."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

import herbrand as hb
from herbrand.engines.proof import planning
from herbrand.engines.proof.goals import components, is_part, split
from herbrand.engines.proof.horn_program import HornProgram
from herbrand.engines.proof.planning import Plans
from herbrand.errors import LanguageError
from herbrand.language.formulas import OPPOSITES, ORDERS
from herbrand.language.totals import MIRRORED
from herbrand.program.clauses import Absence, Clause, Compared, Lookup
from herbrand.program.dependencies import check_strata

DECLARED = """\
type year = number
predicate e(person, person): observed
predicate born(person, year): observed
predicate area(person) in {"ai", "db"}: observed
predicate p(person, person)
predicate q(person)
e("ann", "bob")
born("ann", 1990)
born("bob", 2000)
area("ann") = "ai"
"""


def program(rules: str) -> HornProgram:
    model = hb.Model(hb.parse(f"{DECLARED}{rules}"))
    told = model.stated_program
    return HornProgram.of(model.theory.rules, told.signature, told.facts)


@pytest.mark.parametrize(
    ("rule", "clause"),
    [
        ("p(x, y) :- e(x, z), e(z, y)", "p(x, y) :- e(x, z), e(z, y)"),
        ("p(x, y) :- e(x, z), z = y", "p(x, y) :- e(x, y)"),
        ("p(x, y) :- e(x, _), y = x", "p(x, x) :- e(x, _)"),
        ("p(x, y) :- e(x, u), e(v, y), u = w, w = v", "p(x, y) :- e(x, v), e(v, y)"),
        ('q(x) :- e(x, y), y = "bob"', 'q(x) :- e(x, "bob")'),
        ('q(x) :- e(x, "bob")', 'q(x) :- e(x, "bob")'),
        ('q("ann") :- e(_, _)', 'q("ann") :- e(_, _)'),
        ('q(x) :- e(x, y), y != "bob"', 'q(x) :- e(x, y), y != "bob"'),
        ('q(x) :- e(x, y), y != "eve"', 'q(x) :- e(x, y), y != "eve"'),
        ("q(x) :- born(x, a), a < 1995", "q(x) :- born(x, a), a < 1995"),
        ("q(x) :- born(x, a), 1995 <= a", "q(x) :- born(x, a), a >= 1995"),
        ("q(x) :- born(x, a), born(y, b), a > b", "q(x) :- born(x, a), born(y, b), a > b"),
        ('q(x) :- area(x) = "ai"', 'q(x) :- area(x, "ai")'),
        ('q(x) :- e(x, _), not area(x) = "ai"', 'q(x) :- e(x, _), not area(x, "ai")'),
        (
            'q(x) :- e(x, _), not area(x) in {"ai", "db"}',
            'q(x) :- e(x, _), not area(x, "ai"), not area(x, "db")',
        ),
        ('q(x) :- area(x) in {"ai", "db"}', "q(x) :- area(x, area), area in {0, 1}"),
        ("q(x) :- e(x, y), true, not false, 1 < 2", "q(x) :- e(x, y)"),
        ("q(x) :- e(x, y), not q2(y)", "q(x) :- e(x, y), not q2(y)"),
    ],
)  # fmt: skip
def test_a_rule_as_a_clause(rule: str, clause: str) -> None:
    (found,) = program(f"predicate q2(person): observed\n{rule}").clauses[rule[0]]
    assert str(found) == clause


@pytest.mark.parametrize(
    "body",
    [
        "false", "not true", "1 > 2", '"a" = 1', '"b" < "a"', 'e(x, y), y = "ann", y = "bob"', "2 != 2",
        "born(x, 3), 5 = 6",
    ],
)  # fmt: skip
def test_a_body_that_cannot_hold_makes_no_clause(body: str) -> None:
    known = program(f"q(x) :- e(x, _), {body}\np(x, y) :- e(x, y), q(x)")
    assert known.clauses["q"] == () and known.is_derived("q")


def test_facts_of_what_rules_derive_are_a_clause_before_the_others() -> None:
    known = program('q(x) :- e(x, _) @ 0.5\nq(x) :- e(_, x)\nq("bob")\np(x, y) :- e(x, y) @ ?')
    assert list(map(str, known.clauses["q"])) == ["q(x0) :- q(x0)", "q(x) :- e(x, _)", "q(x) :- e(_, x)"]
    assert [clause.weight for clause in known.clauses["q"]] == [None, 0, None]
    assert [rule.head.predicate for rule in known.weighted] == ["q", "p"]
    assert not known.is_derived("e") and known.column_types("area") == ("person", "area value")


def test_texts_are_compared_with_texts_alone() -> None:
    assert program("q(x) :- e(x, y), x < y").is_derived("q")
    with pytest.raises(LanguageError, match="type person holds 1 and"):
        program("q(x) :- e(x, y), x < 1")


def test_signs_turned_around() -> None:
    numbers = (1, 2, 3)
    for sign, holds in ORDERS.items():
        for one in numbers:
            for other in numbers:
                assert ORDERS[OPPOSITES[sign]](one, other) == (not holds(one, other))
                if sign in MIRRORED:
                    assert ORDERS[MIRRORED[sign]](other, one) == holds(one, other)


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ("q(x) :- e(x, _), not q(x)", ["q"]),
        ("q(x) :- e(x, _), not p(x, x)\np(x, y) :- e(x, y), q(y)", ["q"]),
        ("q(x) :- e(x, _), p(x, x)\np(x, y) :- e(x, y), not q(y)", ["p"]),
        ("q(x) :- e(x, _), not p(x, x)\np(x, y) :- e(x, y), not q(y)", ["q", "p"]),
        ("q(x) :- e(x, _), not p(x, x)\np(x, y) :- e(x, y), p(y, x)", []),
        ("q(x) :- e(x, _), q(x), not e(x, x)", []),
    ],
)
def test_every_rule_that_rests_on_its_own_negation_is_named(rules: str, told: list[str]) -> None:
    parsed = hb.parse(rules).rules
    if not told:
        check_strata(parsed)
        return
    with pytest.raises(LanguageError) as refused:
        check_strata(parsed)
    assert [mistake.message for mistake in refused.value.mistakes] == [
        f"{name} depends on its own negation" for name in told
    ]


# Branches


def clause(text: str, constants: tuple[str, ...] = ()) -> Clause:
    """``p(x,y): q(x,z) r(z,y)``"""
    head, _, body = text.partition(": ")

    def atom(part: str) -> Lookup | Absence | Compared:
        if part.startswith("-"):
            name, _, rest = part[1:].partition("(")
            return Absence(name, tuple(rest.rstrip(")").split(",")))
        if "!=" in part:
            return Compared("!=", *part.split("!="))
        name, _, rest = part.partition("(")
        return Lookup(name, tuple(filter(None, rest.rstrip(")").split(","))))

    name, _, rest = head.partition("(")
    names = tuple(filter(None, rest.rstrip(")").split(",")))
    return Clause(name, names, tuple(map(atom, body.split())), {}, dict.fromkeys(constants, 0))


@pytest.mark.parametrize(
    ("text", "bound", "parts"),
    [
        ("p(x,y): q(x,z) r(z,y)", "x", ["p(x, y) :- q(x, z), r(z, y)"]),
        (
            "p(x,z): q(x,z) s(z,w) t(w,u)",
            "x",
            ["p(x, z) :- q(x, z), P(z)", "P(z) :- s(z, w), t(w, u)"],
        ),
        ("p(x): q(x,y) s(u,v)", "x", ["p(x) :- q(x, y), P", "P :- s(u, v)"]),
        ("p(x): q(x,y)", "x", ["p(x) :- q(x, y)"]),
        ("p(x): q(x,y) r(y,z)", "x", ["p(x) :- q(x, y), r(y, z)"]),
        ("p(x,y): q(x,z) r(z,y) s(z,w)", "x", ["p(x, y) :- q(x, z), r(z, y), s(z, w)"]),
        ("p(x,y): q(x,y) s(y,w) w!=c", "x", ["p(x, y) :- q(x, y), s(y, w), w != c"]),
    ],
)
def test_what_hangs_on_one_variable_becomes_a_predicate(text: str, bound: str, parts: list[str]) -> None:
    whole, made = split(clause(text, ("c",)), bound, "n")
    shown = [str(one) for one in (whole, *made)]
    assert all(is_part(one.predicate) for one in made) and not is_part(whole.predicate)
    assert [line.replace("n`0", "P") for line in shown] == parts


def test_parts_that_share_a_variable_stay_together() -> None:
    whole = clause("p(x): q(x,y) r(y) s(u,v) t(v) -a(y) -b(w)")
    found = [[part.predicate for part in some] for some in components(whole.body, None, whole)]  # type: ignore[union-attr]
    assert found == [["q", "r", "a"], ["s", "t"], ["b"]]
    without = [[part.predicate for part in some] for some in components(whole.body, "y", whole)]  # type: ignore[union-attr]
    assert without == [["q"], ["r"], ["s", "t"], ["a"], ["b"]]


# Plans


@pytest.mark.parametrize(
    ("rule", "mode", "steps"),
    [
        ("p(x, y) :- e(x, y)", (0,), ["join e(x, y) by x, keep y"]),
        ("p(x, y) :- e(x, y)", (0, 1), ["join e(x, y) by x, y, keep nothing"]),
        ("p(x, y) :- e(x, y)", (), ["join e(x, y) by nothing, keep x, y"]),
        ('q(x) :- e(x, "bob")', (0,), ['put "bob"', 'join e(x, "bob") by x, "bob", keep nothing']),
        ('p(x, "bob") :- e(x, _)', (1,), ['keep rows with "bob"', "join e(x, _) by nothing, keep x"]),
        ('p(x, "bob") :- e(x, _)', (0,), ["join e(x, _) by x, keep nothing", 'put "bob"']),
        ("q(x) :- e(x, y), x != y", (0,), ["join e(x, y) by x, keep x, y", "test x, y"]),
        ("q(x) :- e(x, _), not e(x, x)", (0,), ["exclude e(x, x)", "join e(x, _) by x, keep nothing"]),
        ("q(x) :- born(x, a), a < 1995", (), ["join born(x, a) by nothing, keep x, a", "test a"]),
        ("q(x) :- e(x, y), q(y)", (0,), ["join e(x, y) by x, keep y", "ask q(y) by y, keep nothing"]),
    ],
)  # fmt: skip
def test_the_steps_of_a_plan(rule: str, mode: tuple[int, ...], steps: list[str]) -> None:
    (plan,) = Plans(program(rule)).plan(rule[0], mode).clauses
    assert [line.strip() for line in str(plan).splitlines()[1:]] == steps


def test_calls_without_recursion_end_at_their_height() -> None:
    rules = (
        "q(x) :- e(x, _)\np(x, y) :- q(x), e(x, y)\np(x, y) :- e(y, x), p2(x)\n"
        "p2(x) :- e(x, y), q(y)\nl(x) :- l(x)"
    )
    plans = Plans(program(f"predicate p2(person)\npredicate l(person)\n{rules}"))
    assert [plans.height(name) for name in ("q", "p2", "p", "l")] == [0, 1, 2, None]


def test_goals_that_threads_ask_at_once_have_names_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is told when what it names is there, however long that takes."""

    def slowly(clause: Clause, **changes: str) -> Clause:
        time.sleep(0.01)
        return replace(clause, **changes)  # type: ignore[arg-type]

    monkeypatch.setattr(planning, "replace", slowly)
    told = program("".join(f"p(x, y) :- e(x, y), born(x, {year})\n" for year in (1990, 2000)))
    goals = told.clauses["p"] * 3
    plans = Plans(told)
    with ThreadPoolExecutor(len(goals)) as threads:
        found = threads.map(lambda goal: plans.clauses(plans.with_goal(goal)), goals)
        for goal, named in zip(goals, found, strict=True):
            assert [one.body for one in named] == [goal.body]
